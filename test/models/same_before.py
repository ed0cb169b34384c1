#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows that a change of the compiler leaves what it makes as it was.

    python3 same_before.py --before OLD/kpc --kpc build/dev/bin/kpc --model graphs/vit.dynamo.onnx --model graphs/bert.dynamo.onnx \\
        --arch host --arch sm_80,sm_90a --precision fp32 --precision fp16 --work-dir DIR

Each model is compiled by both for each list of targets in each precision. A target's code, kernels, launches and buffers
must be the same, as in same_alone.py, but for the digest in a kernel's symbol, which is of the kernel's linalg form. What is compiled stays in DIR under the digest of its compiler, so that a second run
only compiles what is new. `OLD/kpc` is a copy from before the change; exit code 1 where something differs.
"""

import argparse
import hashlib
import pathlib
import sys

import weights
from same_alone import Reader, first_difference, run, table_of

ROOT = pathlib.Path(__file__).resolve().parents[2]


class NamelessReader(Reader):
    """Records of one file in which a kernel's symbol is its number, padded so that code keeps its length."""

    def __init__(self, data, table):
        super().__init__(data, table)
        self.numbers = {}

    def target(self, name):
        kernels = next(t for t in self.table["targets"] if t["name"] == name).get("kernels", [])
        self.numbers = {k["symbol"]: f"{number}".ljust(len(k["symbol"]), "_") for number, k in enumerate(kernels)}
        return super().target(name)

    def range(self, where):
        if not where or not where["length"]:
            return None
        start = self.table["segments"][where["segment"]]["offset"] + where["offset"]
        data = self.data[start:start + where["length"]]
        for symbol, number in self.numbers.items():
            data = data.replace(symbol.encode(), number.encode())
        return hashlib.sha256(data).hexdigest()

    def plain(self, value, record):
        return self.numbers.get(value, value) if isinstance(value, str) else super().plain(value, record)


class Compiler:
    """One kpc, and what it has compiled."""

    def __init__(self, kpc, folder):
        self.kpc = kpc
        self.folder = folder / hashlib.sha256(kpc.read_bytes()).hexdigest()[:16]
        self.folder.mkdir(parents=True, exist_ok=True)

    def compiled(self, model, arch, precision, flatc, schema):
        artifact = self.folder / f"{model.stem}.{arch.replace(':', '-').replace(',', '.')}.{precision}.kpc"
        if not artifact.exists():
            run(self.kpc, "compile", model, "--arch", arch, "--precision", precision, "-o", artifact, "-q",
                "--cache-dir", self.folder / "cache")
        return NamelessReader(*table_of(artifact, flatc, schema, self.folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--before", required=True, type=pathlib.Path, help="kpc from before the change")
    parser.add_argument("--kpc", required=True, type=pathlib.Path)
    parser.add_argument("--flatc", default="flatc")
    parser.add_argument("--schema", default=ROOT / "runtime/format/artifact.fbs", type=pathlib.Path)
    parser.add_argument("--model", required=True, action="append", type=pathlib.Path)
    parser.add_argument("--arch", required=True, action="append", help="targets of one artifact; repeatable")
    parser.add_argument("--precision", action="append", help="fp32, tf32, fp16 or bf16; repeatable")
    parser.add_argument("--work-dir", required=True, type=pathlib.Path)
    options = parser.parse_args()
    folder = options.work_dir
    before, after = Compiler(options.before, folder), Compiler(options.kpc, folder)
    compared, failures = 0, 0
    for model in options.model:
        if model.parent.name == "graphs":  # without its weights
            run(sys.executable, pathlib.Path(weights.__file__), model, "--output-dir", folder)
            model = folder / model.name
        for arch in options.arch:
            for precision in options.precision or ["fp16"]:
                old, new = (one.compiled(model, arch, precision, options.flatc, options.schema) for one in (before, after))
                for target in old.table["targets"]:
                    name = target["name"]
                    compared += 1
                    if why := first_difference(old.target(name), new.target(name)):
                        why = why.replace(" alone", " before").replace(" among others", " after")
                        print(f"{model.name}, {name}, {precision}: {why}")
                        failures += 1
    print(f"{compared} targets compared, {failures} differ from what they were")
    sys.exit(1 if failures or not compared else 0)


if __name__ == "__main__":
    main()
