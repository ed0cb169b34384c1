#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which operators are far slower than the chip allows, for every type, size and target.

    tools/cliffs --kpc build/dev/bin/kpc                     what is beside the list of known ones, test/cliffs/known.txt
    tools/cliffs --kpc build/dev/bin/kpc --only softmax -v   how a few stand
    tools/cliffs --kpc build/dev/bin/kpc --part 3/20         every 20th of what the list calls swept, from the third on
    tools/cliffs --kpc build/dev/bin/kpc --all --update      sweeps all, and writes the list; then give new entries a reason
    tools/cliffs --kpc kpc --runtime libkpc_runtime.so --gpu  measures the listed ones beside PyTorch

Each case is an ONNX model of an operator (cases_*.py). It is compiled for all targets, and its time is estimated from the
artifact: by the cost models of kernels that have one, and from the PTX of all others (estimate.py). A cliff takes more
than 3 times the roofline: inputs, outputs and weights moved once, products at the best rate of the product that stands for the
target. Exit code 0: what is over is what the list says. The estimate needs numpy; --gpu needs torch instead.
"""

import argparse
import json
import pathlib
import re
import sys
import tempfile
import time
import zlib

HERE = pathlib.Path(__file__).resolve().parent


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kpc", type=pathlib.Path, required=True, help="the program to check")
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose 'name type' matches")
    parser.add_argument("--arch", default="", help="targets (default: sm_80, sm_90a, sm_100a, sm_120a and portable; with --gpu this machine's)")
    parser.add_argument("--quick", action="store_true", help="a few cases for sm_90a, sm_100a and sm_120a, in seconds")
    parser.add_argument("--part", metavar="K/N", help="every N-th case and type from the K-th on; list/N: K follows from the list's bytes")
    parser.add_argument("--known", type=pathlib.Path, default=HERE / "known.txt", help="the list (default: test/cliffs/known.txt)")
    parser.add_argument("--update", action="store_true", help="write the list")
    parser.add_argument("--json", type=pathlib.Path, help="all figures, one object a line")
    parser.add_argument("--ptxas", help="NVIDIA's assembler (default: the tests' stand-in, so that no result depends on its version)")
    parser.add_argument("--work-dir", type=pathlib.Path, help="for models and artifacts (default: a temporary folder)")
    parser.add_argument("--jobs", type=int, default=1, help="models that are compiled at a time (default: 1)")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every case")
    parser.add_argument("--gpu", action="store_true", help="measure the listed cases on this machine's GPU beside PyTorch")
    parser.add_argument("--all", action="store_true",
                        help="sweep what the list does not call swept, too; of --gpu: all cases that PyTorch has, listed or not")
    parser.add_argument("--runtime", type=pathlib.Path, help="of --gpu: libkpc_runtime.so (default: beside kpc)")
    parser.add_argument("--limit", type=float, default=600, help="of --gpu: seconds for everything (default: 600)")
    parser.add_argument("--dry-run", action="store_true", help="of --gpu: on the processor, without PyTorch; each case once")
    options = parser.parse_args()
    options.kpc = options.kpc.resolve()
    return options


def line(one):
    if one.problem:
        return f"{one.case:42} {one.kind:5} {one.problem}"
    return (f"{one.case:42} {one.kind:5} {one.target:10} {one.factor:7.2f}  {one.microseconds:9.1f} us of {one.least:8.1f}  "
            f"{one.launches:4} launches  {one.family}: {one.limit}")


def part_of(pairs, listed, part, path):
    """Every N-th pair of a case and a type. Entries of the list come first, in its order: so all large causes are in each part."""
    which, _, count = part.partition("/")
    count = int(count)
    # A tree is always judged by the same part, and by another when its list has changed.
    number = zlib.crc32(path.read_bytes()) % count if which == "list" else int(which) - 1
    place = {key: number for number, key in enumerate(listed.entries)}
    print(f"part {number + 1}/{count}; --part {number + 1}/{count} takes it again")
    return sorted(pairs, key=lambda pair: place.get((pair[0].name, pair[1]), len(place)))[number::count]


def targets_of(wanted, listed, options):
    """Pairs of a case and a type by the targets that they are compiled for: where neither these nor a choice is asked for, those of the list."""
    import sweep
    if options.arch or options.all or options.only:
        return [(options.arch or sweep.ARCHS, wanted)]
    groups = {}
    for case, kind in wanted:
        names = {"portable" if target.startswith("compute") else target for target in listed.targets(case.name, kind)}
        groups.setdefault(",".join(sorted(names)), []).append((case, kind))
    return sorted(groups.items())


def estimate(options):
    try:
        import numpy  # noqa: F401
    except ImportError as missing:
        print(f"SKIPPED: {missing}")
        return 77
    import dataclasses

    import known
    import sweep
    options.ptxas = options.ptxas or sweep.ASSEMBLER
    listed = known.read(options.known)
    pairs = [(case, kind) for case in sweep.all_cases() for kind in case.types]
    wanted = [(case, kind) for case, kind in pairs
              if re.search(options.only, f"{case.name} {kind}") and (not options.quick or case.quick and kind == case.types[0])]
    if not options.arch and options.quick:
        options.arch = "sm_90a,sm_100a,sm_120a"
    elif not options.arch and not options.all and not options.only:
        wanted = [(case, kind) for case, kind in wanted if listed.targets(case.name, kind)]
        print(f"{len(pairs) - len(wanted)} of {len(pairs)} pairs of a case and a type have not been swept; --all does")
    if options.part:
        wanted = part_of(wanted, listed, options.part, options.known)
    start, rows = time.monotonic(), options.json and options.json.open("w")

    def report(one):
        if options.verbose:
            print(line(one), flush=True)
        if rows:
            rows.write(json.dumps({**dataclasses.asdict(one), "factor": round(one.factor, 3)}) + "\n")
            rows.flush()

    verdicts = []
    for targets, some in targets_of(wanted, listed, options):
        options.arch = targets
        verdicts += sweep.sweep(options, some, report)
    there = {(case.name, kind) for case, kind in pairs}
    print(f"{len(wanted)} cases, {len(verdicts)} figures in {time.monotonic() - start:.0f} s; {len(listed.entries)} entries are in the list")
    if options.update:
        known.update(options.known, listed, verdicts, there)
        return 0
    problems = known.compare(listed, verdicts, there)
    for problem in problems:
        print(problem)
    return 1 if problems or not wanted else 0


def main():
    options = parse_arguments()
    with tempfile.TemporaryDirectory() as folder:
        options.work_dir = options.work_dir or pathlib.Path(folder)
        options.work_dir.mkdir(parents=True, exist_ok=True)
        from case import write_weights
        write_weights(options.work_dir)
        if options.gpu:
            import beside_torch
            return beside_torch.measure(options)
        return estimate(options)


if __name__ == "__main__":
    sys.exit(main())
