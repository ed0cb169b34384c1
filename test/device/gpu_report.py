# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tools/gpu-check found, as Markdown for docs/performance.md and docs/kernels."""

import statistics

from kernel_families import FAMILIES


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]) + "\n"


def models_table(step):
    """The worse of the batches, a row a model."""
    worst, stems = {}, []
    for entry in step.get("results", []):
        key = entry["model"], entry["precision"]
        if entry["model"] not in stems:
            stems.append(entry["model"])
        if "error" in entry:
            worst[key] = "failed"
        elif worst.get(key) != "failed" and entry["rms"] >= worst.get(key, (-1.0,))[0]:
            worst[key] = (entry["rms"], entry["good"])
    precisions = sorted({precision for _, precision in worst}, key=["fp32", "fp16", "bf16"].index)

    def cell(stem, precision):
        value = worst.get((stem, precision), "")
        if isinstance(value, str):
            return value
        return f"{value[0]:.1e}" + ("" if value[1] else " **too far**")

    rows = [[stem] + [cell(stem, precision) for precision in precisions] for stem in stems]
    return f"RMS error over the reference's RMS, the worse of the batches, against {step.get('peer')} in fp32.\n\n" + \
        table(["model"] + precisions, rows)


def bench_table(step):
    peers = {(p["model"].split(".")[0], p["precision"], p["batch"]): p["ms"] for p in step.get("peers", [])}
    rows = []
    for entry in step.get("results", []):
        measured, key = entry["bench"], (entry["model"], entry["precision"], entry["batch"])
        latency, moved = measured["latency_ms"], sum(kernel["bytes"] for kernel in measured["kernels"])
        peer = peers.get((key[0].split(".")[0], *key[1:]))
        rows.append([*key, f"{latency['p50']:.3f}", f"{latency['least']:.3f}", f"{measured['samples_per_second']:.0f}",
                     f"{peer:.3f}" if peer else "", f"{peer / latency['p50']:.2f}" if peer else "",
                     len(measured["kernels"]), f"{moved / 2**20:.1f}",
                     f"{measured['memory']['workspace_bytes'] / 2**20:.1f}"])
    return table(["model", "precision", "batch", "p50, ms", "least, ms", "samples/s", "PyTorch, ms", "PyTorch / p50",
                  "kernels", "MiB moved", "workspace, MiB"], rows)


def kernels_table(step, most=8):
    """The slowest kernels of the slowest model: where the time goes."""
    results = [r for r in step.get("results", []) if r["bench"]["kernels"]]
    if not results:
        return ""
    slowest = max(results, key=lambda r: r["bench"]["latency_ms"]["p50"])
    rows = [[f"{k['us']:.1f}", f"{k['bytes'] / max(k['us'], 1e-9) / 1e3:.0f}", k["name"], k["nodes"]]
            for k in slowest["bench"]["kernels"][:most]]
    return f"The slowest kernels of {slowest['model']}, {slowest['precision']}, batch {slowest['batch']}:\n\n" + \
        table(["us", "GB/s", "kernel", "nodes"], rows)


def cell(text, row):
    try:
        return text.format(**row)
    except KeyError:  # the peer has no such kernel
        return ""


def family_table(one, step):
    """What has figures, in the order of the cases, by purpose; then how many were right."""
    timed = [row for row in step["results"] if any(cell(text, row) for _, text in one.columns)]
    lines, columns = [], (("case", one.case), *one.columns)
    for purpose in dict.fromkeys(row["purpose"] for row in timed):
        rows = [row for row in timed if row["purpose"] == purpose]
        lines.append(table([header for header, _ in columns], [[cell(text, row) for _, text in columns] for row in rows]))
        ratios = [row["ratio"] for row in rows if "ratio" in row]
        if ratios:
            lines.append(f"{purpose}: geometric mean of {len(ratios)} {statistics.geometric_mean(ratios):.3f}, least {min(ratios):.3f}.\n")
    right = sum(row["right"] for row in step["results"])
    lines.append(f"{right} of {len(step['results'])} are right, and the same in a second run.\n")
    return "\n".join(lines)


def section(name, step):
    for one in FAMILIES:
        if name == one.name and "results" in step:
            return f"{one.what[0].upper() + one.what[1:]}, beside {one.peer}.\n\n" + family_table(one, step)
    if name == "digits" and "accuracy" in step:
        return f"{step['accuracy']:.4f} of {step['images']} images are right.\n"
    if name == "models":
        return models_table(step)
    if name == "cases" and "summary" in step:
        return f"{step['summary']}\n\n```\n" + "\n".join(step["benchmarks"]) + "\n```\n"
    if name == "sanitizer":
        return table(["model", "tool", "says", "s"], [[r["model"], r["tool"], r["says"], r["seconds"]]
                                                      for r in step.get("results", [])])
    if name == "nodes":
        rows = [[suite, found["counts"].get("right", 0), sum(found["counts"].values()), found["summary"]]
                for suite, found in step.get("suites", {}).items()]
        return table(["tests that are right on the host", "right", "run", "summary"], rows)
    if name == "bench":
        return bench_table(step) + "\n" + kernels_table(step)
    return ""


def markdown(results):
    lines = ["# Measured by tools/gpu-check", "",
             table(["what", "value"], sorted({**results["machine"], "arch": results["arch"],
                                              "device": results["device"]}.items()))]
    if results["dry_run"]:
        lines.append("A dry run on the processor: these figures say nothing of a GPU.\n")
    lines.append(table(["step", "outcome", "s"], [[name, step["status"], step["seconds"]]
                                                  for name, step in results["steps"].items()]))
    for name, step in results["steps"].items():
        lines += [f"## {name}", "", step["reason"] + "\n" if "reason" in step else section(name, step)]
        if step["problems"]:
            lines += [f"{len(step['problems'])} problems:", ""]
            lines += [f"- {problem}" for problem in step["problems"][:60]] + [""]
    return "\n".join(lines)
