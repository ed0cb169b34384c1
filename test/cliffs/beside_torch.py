# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The listed cliffs measured beside PyTorch on a machine with a GPU. Needs a kpc program, its runtime, and torch alone.

PyTorch's side is what a case says in `torch`, recorded as a CUDA graph where it can be; without, kpc is measured alone, beside
a copy of the bytes that the case moves. In fp32, TF32 is allowed beside kpc's default and off beside `--precision fp32`.
"""

import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import time

import known
from case import ELEMENT, WEIGHT_BLOCK, model, weight_block
from sweep_cases import all_cases, graph_of, kpc_command

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "device"))
CODES = {"f32": "float32", "fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "f64": "float64", "i8": "int8", "u8": "uint8", "i16": "int16",
         "i32": "int32",
         "i64": "int64", "bool": "bool"}
BY_NUMBER = {1: "float32", 2: "uint8", 3: "int8", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64", 16: "bfloat16"}


def chosen(options):
    listed = known.read(options.known).entries
    for case in all_cases():
        for kind in case.types:
            entry = listed.get((case.name, kind))
            wanted = options.all and case.torch or entry and "refused" not in entry.factors
            if wanted and re.search(options.only, f"{case.name} {kind}"):
                yield case, kind, entry


def default_arch(options):
    if options.arch or options.dry_run:
        return options.arch or "host"
    found = shutil.which("ptxas") or pathlib.Path("/usr/local/cuda/bin/ptxas").exists()
    return "sm_90a" if found else "portable"


def optima(case):
    """Sizes of dynamic dims: those that kpc tunes for."""
    return {dim.partition("=")[0]: int(re.search(r"opt=(\d+)", dim)[1]) for dim in case.dims}


class Side:
    """Tensors of a case, and both programs that compute it."""

    def __init__(self, torch, case, kind, graph, options):
        self.torch, self.case = torch, case
        device = "cuda"
        dims = optima(case)
        torch.manual_seed(0)
        self.values = {}
        for name, (kind_of, shape) in graph.shapes.items():
            shape = [dims.get(size, size) for size in shape]
            dtype = getattr(torch, CODES[kind_of]) if kind_of in CODES else None
            if name.startswith("w"):
                self.values[name] = self.weight(kind_of, dtype, shape)
            elif dtype.is_floating_point:
                self.values[name] = torch.randn(shape, device=device, dtype=torch.float32 if kind_of != "f64" else dtype).to(dtype)
            else:
                self.values[name] = torch.randint(0, graph.highest.get(name) or (2 if kind_of == "bool" else 100), shape, device=device).to(dtype)
        from kpc_session import Session
        self.session = Session(options.runtime, str(options.work_dir / "case.kpc"))
        self.inputs = {name: value for name, value in self.values.items() if name.startswith("x")}
        named = [name for name, _ in self.session.outputs()]
        sizes = self.session.output_shapes(self.session.input_dims({name: list(value.shape) for name, value in self.inputs.items()}))
        self.outputs = {name: torch.empty(shape, device=device, dtype=getattr(torch, BY_NUMBER[number]))
                        for name, (_, number), shape in zip(named, self.session.outputs(), sizes)}
        self.moved = sum(value.numel() * value.element_size() for value in [*self.values.values(), *self.outputs.values()] if value is not None)

    def weight(self, kind, dtype, shape):
        """What the file of weights holds."""
        if dtype is None:
            return None
        torch, count = self.torch, math.ceil(math.prod(shape) * ELEMENT[kind])
        block = torch.frombuffer(bytearray(weight_block()), dtype=torch.uint8).cuda()
        whole = block.repeat(math.ceil(max(count, 1) / WEIGHT_BLOCK))[:count]
        return (whole.view(dtype) if dtype != torch.bool else whole.bool()).reshape(shape)

    def ours(self):
        self.session.run(self.inputs, self.outputs)

    def theirs(self):
        if not self.case.torch:
            source = self.torch.empty(max(1, self.moved // 2), dtype=self.torch.uint8, device="cuda")
            target = self.torch.empty_like(source)
            return lambda: target.copy_(source)
        code = compile(self.case.torch, self.case.name, "eval")
        def call():
            return eval(code, {"torch": self.torch}, dict(self.values))
        stream = self.torch.cuda.Stream()
        with self.torch.no_grad(), self.torch.cuda.stream(stream):
            for _ in range(3):
                call()
        self.torch.cuda.synchronize()
        try:
            graph = self.torch.cuda.CUDAGraph()
            with self.torch.no_grad(), self.torch.cuda.graph(graph):
                kept = call()
            graph.kept = kept
            return graph.replay
        except RuntimeError:
            self.torch.cuda.synchronize()
            return call


def time_case(torch, case, kind, graph, options):
    from side_by_side import compare_bursts
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = kind != "fp32"
    side = Side(torch, case, kind, graph, options)
    try:
        times = compare_bursts({"kpc": side.ours, "peer": side.theirs()}, 3)
    finally:
        side.session.close()
    return {"us": times["kpc"], "peer_us": times["peer"], "peer": "PyTorch" if case.torch else "copy", "ratio": times["peer"] / times["kpc"]}


def measure(options):
    torch = None
    if not options.dry_run:
        import torch
        torch.backends.cudnn.benchmark = True
    options.arch = default_arch(options)
    options.runtime = options.runtime or next((path for path in (options.kpc.parent / "libkpc_runtime.so",
                                                                 options.kpc.parent.parent / "lib/libkpc_runtime.so") if path.exists()), None)
    end, rows, failed = time.monotonic() + options.limit, options.json and options.json.open("w"), 0
    count = 0
    for case, kind, entry in chosen(options):
        if time.monotonic() > end:
            print(f"the {options.limit:.0f} s are over")
            break
        count += 1
        graph = graph_of(case, kind)
        path = options.work_dir / "case.kpc"
        path.with_suffix(".onnx").write_bytes(model([graph]))
        row = {"case": case.name, "kind": kind, "listed": entry.factors.get(options.arch) if entry else None}
        words = kpc_command(kind, path, options, case.dims, case.options)
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=300)
            if done.returncode:
                raise RuntimeError(done.stderr.strip().splitlines()[0] if done.stderr.strip() else f"exit code {done.returncode}")
            if options.dry_run:
                row["compiled"] = True
            else:
                row.update(time_case(torch, case, kind, graph, options))
        except Exception as problem:  # one case must not hide the others
            failed += 1
            row["problem"] = f"{type(problem).__name__}: {problem}".splitlines()[0][:200]
        if torch:
            torch.cuda.empty_cache()
        text = row.get("problem") or ("compiles" if options.dry_run else f"{row['us']:9.1f} us, {row['peer']} {row['peer_us']:9.1f}, ratio {row['ratio']:.2f}")
        print(f"{case.name:42} {kind:5} {text}", flush=True)
        if rows:
            rows.write(json.dumps(row) + "\n")
            rows.flush()
    print(f"{count} cases, {failed} without a figure")
    return 1 if failed or not count else 0
