# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands inspect, bench, verify, targets and ops as functions."""

from __future__ import annotations

import dataclasses
import html
import os
import pathlib
import tempfile
from typing import Any, List, Mapping, Sequence, TypeVar, Union

import numpy as np

from ._executable import WRONG_USAGE, ask
from ._model_file import PathLike, model_file
from ._specs import Loaded

ArtifactLike = Union[Loaded, PathLike]
Inputs = Union[Mapping[str, Any], str, None]

_REGRESSION, _DRIFT = 3, 4


def bytes_text(count: float) -> str:
    """
    >>> bytes_text(2048), bytes_text(5 << 20)
    ('2.0 KiB', '5.0 MiB')
    """
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} bytes" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their texts; the first to the left, the others to the right but the last."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) if i in (0, len(row) - 1) else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _path(artifact: ArtifactLike) -> str:
    return os.fspath(artifact.path if isinstance(artifact, Loaded) else artifact)


def _input_options(inputs: Inputs, folder: str, seed: int | None, dims: Mapping[str, int] | None, device: Any) -> list[str]:
    options: list[str] = []
    if isinstance(inputs, str):  # "random" or "zeros"
        options += ["--input", inputs]
    elif inputs:
        for number, (name, value) in enumerate(inputs.items()):
            if isinstance(value, str):
                options += ["--input", f"{name}={value}"]
            else:
                path = pathlib.Path(folder, f"{number}.npy")
                np.save(path, np.asarray(value), allow_pickle=False)
                options += ["--input", f"{name}={path}"]
    if seed is not None:
        options += ["--seed", str(seed)]
    for name, size in (dims or {}).items():
        options += ["--dim", f"{name}={size}"]
    return options + (["--device", str(device).replace("cpu", "host")] if device is not None else [])


class _Facts:
    """The JSON of a command as attributes: `data` holds all of it."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    def __getitem__(self, key: str) -> Any:
        return self.data[key]


class Inspection(_Facts):
    """What is in a model or an artifact: `data` is what `kpc inspect --json` prints."""

    def __repr__(self) -> str:
        data = self.data
        lines = [data["file"]]
        for kind in ("inputs", "outputs"):
            for port in data.get(kind, []):
                dims = ", ".join(map(str, port["dims"])) if port.get("dims") is not None else "…"
                lines.append(f"  {kind[:-1]:<7} {port['name']}: {port['type']}[{dims}]")
        if "weights" in data:
            lines.append(f"  weights {data['weights']['tensors']} tensors, {bytes_text(data['weights']['bytes'])}")
        for target in data.get("targets", []):
            lines.append(f"  target  {target['name']}: {len(target['kernels'])} kernels, {target['steps']} steps, "
                         f"workspace {bytes_text(target['least_workspace_bytes'])} at least")
            lines += [f"    {kernel['name']}  {kernel['family']}" for kernel in target["kernels"]]
        return "\n".join(lines)


def inspect(source: Any, *, dims: Mapping[str, int] | None = None) -> Inspection:
    """What is in an artifact, or in a model before it is compiled. `dims` are the sizes that memory and operations are
    computed for.

    >>> inspect("digits.onnx")["inputs"]
    [{'name': 'image', 'type': 'float', 'dims': ['batch', 1, 8, 8]}]
    """
    options = [text for name, size in (dims or {}).items() for text in ("--dim", f"{name}={size}")]
    if isinstance(source, Loaded):
        return Inspection(ask(["inspect", _path(source), "--json", *options]).json())
    with model_file(source) as path:
        return Inspection(ask(["inspect", path, "--json", *options]).json())


class BenchResult(_Facts):
    """How long an artifact takes. Times are in milliseconds; `data` is what `kpc bench --json` prints, `html` the page
    that a notebook shows."""

    def __init__(self, data: dict[str, Any], page: str) -> None:
        super().__init__(data)
        self.html = page

    @property
    def latency_ms(self) -> dict[str, float]:
        """"p50", "p90", "p99", "least", "most" and "mean"."""
        return dict(self.data["latency_ms"])

    @property
    def runs_per_second(self) -> float:
        return float(self.data["runs_per_second"])

    @property
    def kernels(self) -> list[dict[str, Any]]:
        """Each with `name`, `us`, `bytes`, `flops` and `nodes`; timed one by one."""
        return list(self.data["kernels"])

    def save(self, path: PathLike) -> None:
        """Writes the page: one file of HTML, which needs nothing else."""
        pathlib.Path(path).write_text(self.html, encoding="utf-8")

    def __repr__(self) -> str:
        data, latency = self.data, self.latency_ms
        dims = ", ".join(f"{name}={value}" for name, value in data["dims"].items())
        lines = [f"{data['target']} on {data['device_name']}" + (f" with {dims}" if dims else ""),
                 f"  latency     p50 {latency['p50']:.4g} ms  p90 {latency['p90']:.4g} ms  p99 {latency['p99']:.4g} ms",
                 f"  throughput  {data['runs_per_second']:.4g} runs/s",
                 f"  memory      {bytes_text(data['memory']['workspace_bytes'])} workspace, "
                 f"{bytes_text(data['memory']['weight_bytes'])} weights"]
        whole = sum(kernel["us"] for kernel in self.kernels) or 1
        longest = sorted(self.kernels, key=lambda kernel: -kernel["us"])[:10]
        rows = [["  kernel", "us", "share"]]
        rows += [["  " + kernel["name"], f"{kernel['us']:.1f}", f"{kernel['us'] / whole:.1%}"] for kernel in longest]
        return "\n".join([*lines, _table(rows)])

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.html)}" style="width:100%;height:40em;border:0"></iframe>'


def bench(artifact: ArtifactLike, *, inputs: Inputs = None, dims: Mapping[str, int] | None = None, device: Any = None,
          threads: int | None = None, streams: int = 1, warmup: int | None = None, iterations: int | None = None,
          duration: float | None = None, transfers: bool = True, seed: int | None = None) -> BenchResult:
    """Measures an artifact in a process of its own.

    `inputs` are arrays by name, "random" (the default) or "zeros". `duration` is in seconds (default: 3), `iterations`
    says how many runs instead. `streams` sessions run side by side. `transfers=False`: on a GPU inputs and outputs stay
    on the device.
    """
    with tempfile.TemporaryDirectory(prefix="kpc-") as folder:
        page = pathlib.Path(folder, "page.html")
        options = ["--json", "--report", str(page), "--streams", str(streams),
                   *_input_options(inputs, folder, seed, dims, device)]
        for name, value in (("--threads", threads), ("--warmup", warmup), ("--iterations", iterations),
                            ("--duration", duration)):
            if value is not None:
                options += [name, str(value)]
        reply = ask(["bench", _path(artifact), *options, *([] if transfers else ["--no-transfers"])])
        data = reply.json()
        return BenchResult(data, page.read_text(encoding="utf-8"))


class VerifyResult(_Facts):
    """How far results are from a reference. It is true where they are right; `data` is what `kpc verify --json` prints."""

    def __bool__(self) -> bool:
        return bool(self.data["good"])

    @property
    def values(self) -> list[dict[str, Any]]:
        """All values of all runs, each with `name`, `rms_error`, `largest` and `good`."""
        return [{"dims": run["dims"], **value} for run in self.data["runs"] for value in run["values"]]

    def __repr__(self) -> str:
        rows = [["value", "rms error", "largest", ""]]
        rows += [[value["name"], f"{value['rms_error']:.2e}", f"{value['largest']:.2e}", "" if value["good"] else "drifts"]
                 for value in self.values]
        return f"{'right' if self else 'wrong'} on {self.data['target']}\n{_table(rows)}"


def verify(artifact: ArtifactLike, model: Any = None, *, reference: Mapping[str, Any] | None = None, inputs: Inputs = None,
           dims: Mapping[str, int] | None = None, device: Any = None, values: bool = False, rms: float | None = None,
           largest: float | None = None, seed: int | None = None) -> VerifyResult:
    """Compares an artifact's results with those of the model (fp32, unfused, on the host), or with `reference`: arrays by
    output, of the given `inputs`. `rms` and `largest` are the allowed errors, relative to the reference's RMS.
    """
    if (model is None) == (reference is None):
        raise TypeError("verify: give either the model or a reference")
    with tempfile.TemporaryDirectory(prefix="kpc-") as folder:
        options = ["--json", *_input_options(inputs, folder, seed, dims, device), *(["--values"] if values else [])]
        for name, value in (("--rms", rms), ("--largest", largest)):
            if value is not None:
                options += [name, str(value)]
        for number, (name, array) in enumerate((reference or {}).items()):
            path = pathlib.Path(folder, f"reference{number}.npy")
            np.save(path, np.asarray(array), allow_pickle=False)
            options += ["--reference", f"{name}={path}"]
        if model is None:
            return VerifyResult(ask(["verify", _path(artifact), *options]).json())
        with model_file(model) as source:
            return VerifyResult(ask(["verify", _path(artifact), "--model", source, *options]).json())


Row = TypeVar("Row")


class Table(List[Row]):
    """A list of rows that prints as a table."""

    def __init__(self, rows: Sequence[Row], columns: Sequence[str]) -> None:
        super().__init__(rows)
        self._columns = columns

    def __repr__(self) -> str:
        rows = [list(self._columns), *([str(getattr(row, name)) for name in self._columns] for row in self)]
        return _table(rows)

    def _repr_html_(self) -> str:
        def line(tag: str, cells: Sequence[str]) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        return "<table>" + line("th", self._columns) + "".join(
            line("td", [str(getattr(row, name)) for name in self._columns]) for row in self) + "</table>"


@dataclasses.dataclass(frozen=True)
class Target:
    """What kpc compiles for."""

    name: str
    kind: str  #: "gpu" or "cpu"
    summary: str
    facts: dict[str, Any] = dataclasses.field(repr=False, default_factory=dict)  #: what `kpc targets --json` says


def targets() -> Table[Target]:
    """The targets that kpc compiles for.

    >>> [target.name for target in targets() if target.kind == "gpu"][:2]
    ['sm_80', 'sm_86']
    """
    rows = [Target(entry["name"], entry["kind"], entry.get("summary", ""), entry)
            for entry in ask(["targets", "--json"]).json()["targets"]]
    return Table(rows, ("name", "kind", "summary"))


@dataclasses.dataclass(frozen=True)
class Operator:
    """An operator that kpc compiles."""

    name: str
    domain: str  #: "" is ONNX's own
    since: int  #: the first opset; 0 where there are none
    until: int  #: the last one
    limits: str  #: what does not compile; "" for nothing
    compiles: bool = True  #: False for the few that are refused; `limits` then says what to do instead


def ops(name: str | None = None, *, domain: str | None = None) -> Table[Operator]:
    """The operators that kpc compiles, or the one of this name (in any case).

    `domain` is "onnx" (the default: those of all ONNX models), "aten" (those of all programs of PyTorch), or one domain:
    "ai.onnx", "ai.onnx.ml", "com.microsoft", "torchvision", "quantized_decomposed". A name or a domain that is not there is
    a :class:`kpc.UsageError`, which names those that are.

    >>> ops("Gemm")[0].name
    'Gemm'
    >>> ops(domain="ai.onnx.ml")[0]
    Operator(name='ArrayFeatureExtractor', domain='ai.onnx.ml', since=1, until=5, limits='', compiles=True)
    >>> ops("linalg_eig", domain="aten")[0].compiles
    False
    """
    reply = ask(["ops", *([name] if name else []), *(["--domain", domain] if domain else []), "--json"])
    if reply.code == WRONG_USAGE or not reply.out:
        reply.fail()
    entries = reply.json()
    rows = [Operator(entry["name"], entry.get("domain", domain or ""), entry.get("since", 0), entry.get("until", 0),
                     entry["limits"], entry["compiles"]) for entry in entries]
    # Operators of PyTorch have no opsets.
    opsets = all("since" in entry for entry in entries)
    return Table(rows, ("name", "domain", "since", "until", "limits") if opsets else ("name", "limits"))
