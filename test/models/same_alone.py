#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows that a target's part of an artifact does not depend on the other targets in it.

    python3 same_alone.py --kpc build/dev/bin/kpc --flatc flatc --schema runtime/format/artifact.fbs \\
        --model graphs/vit.dynamo.onnx --arch sm_90a,portable --arch host,sm_80 --work-dir DIR [--precision fp16]

The model is compiled for each target alone, then for each list of targets. A target's code, kernels, launches, buffers
(and so its workspace), loops and values must be the same in both: bytes of code, and records once their indices into
the file's shared tables (expressions, symbols, weights) are replaced by what they name.
"""

import argparse
import hashlib
import json
import pathlib
import struct
import subprocess
import sys

import weights

NONE = 0xFFFFFFFF
TABLE_AT = 24  # in the header: the table's offset and size
# Fields that are positions in the table of expressions, by the record that they are in.
EXPRESSIONS = {
    "buffers": {"size"},
    "params": {"offset", "length", "size"},
    "tensor_map": {"dims", "strides"},
    "launch": {"grid", "shared", "work", "flops"},
    "action": {"grid", "shared", "work", "flops", "source_offset", "destination_offset", "bytes", "offset"},
    "bounds": {"size"},
    "values": {"offset", "dims"},
    "controls": {"count", "condition_offset"},
}


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(str(word) for word in command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def table_of(artifact, flatc, schema, folder):
    """The artifact's bytes and its table, as flatc turns it into JSON."""
    data = artifact.read_bytes()
    offset, size = struct.unpack_from("<QQ", data, TABLE_AT)
    binary = folder / "table.bin"
    binary.write_bytes(data[offset:offset + size])
    run(flatc, "--json", "--raw-binary", "--strict-json", "--defaults-json", "-o", folder, schema, "--", binary)
    return data, json.loads((folder / "table.json").read_text())


class Reader:
    """Records of one file without indices into its shared tables."""

    def __init__(self, data, table):
        self.data, self.table = data, table

    def expression(self, index):
        if index == NONE:
            return None
        words, text = self.table["exprs"][index]["words"], []
        at = 0
        while at < len(words):
            if words[at] in (0, 1):  # a number, a symbol
                text.append(words[at + 1] if words[at] == 0 else self.table["symbols"][words[at + 1]]["name"])
                at += 1
            else:
                text.append(f"op{words[at]}")
            at += 1
        return text

    def range(self, where):
        if not where or not where["length"]:
            return None
        start = self.table["segments"][where["segment"]]["offset"] + where["offset"]
        return hashlib.sha256(self.data[start:start + where["length"]]).hexdigest()

    def weight(self, index):
        weight = self.table["weights"][index]
        start = self.table["segments"][weight["segment"]]["offset"] + weight["offset"]
        return weight["type"], weight.get("dims"), hashlib.sha256(self.data[start:start + weight["length"]]).hexdigest()

    def plain(self, value, record):
        if isinstance(value, list):
            return [self.plain(item, record) for item in value]
        if not isinstance(value, dict):
            return value
        if record == "buffers" and value["kind"] == "Weight":
            # A weight's name counts the constants before it, other plans' among them.
            value = {**value, "index": self.weight(value["index"]), "name": ""}
        if record == "controls" and value["counter"] != NONE:
            value = {**value, "counter": self.table["symbols"][value["counter"]]["name"]}
        return {key: self.field(key, item, record) for key, item in value.items()}

    def field(self, key, item, record):
        if key in EXPRESSIONS.get(record, ()):
            return [self.expression(i) for i in item] if isinstance(item, list) else self.expression(item)
        return self.plain(item, key)

    def target(self, name):
        found = next(t for t in self.table["targets"] if t["name"] == name)
        code = [[self.range(m.get("image")), self.range(m.get("ptx"))] for m in found.get("modules", [])]
        return {"code": code, **{key: self.field(key, item, "target") for key, item in found.items() if key != "modules"}}


def first_difference(a, b, path=""):
    if type(a) is not type(b):
        return f"{path}: {a!r} alone, {b!r} among others"
    if isinstance(a, dict):
        for key in sorted(set(a) | set(b)):
            if found := first_difference(a.get(key), b.get(key), f"{path}.{key}"):
                return found
    elif isinstance(a, list):
        if len(a) != len(b):
            return f"{path}: {len(a)} records alone, {len(b)} among others"
        for i, (one, other) in enumerate(zip(a, b)):
            if found := first_difference(one, other, f"{path}[{i}]"):
                return found
    elif a != b:
        return f"{path}: {a!r} alone, {b!r} among others"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", required=True)
    parser.add_argument("--flatc", required=True)
    parser.add_argument("--schema", required=True, type=pathlib.Path)
    parser.add_argument("--model", required=True, type=pathlib.Path)
    parser.add_argument("--arch", required=True, action="append", help="targets of one artifact; repeatable")
    parser.add_argument("--precision", default="fp16")
    parser.add_argument("--work-dir", required=True, type=pathlib.Path)
    options = parser.parse_args()
    folder = options.work_dir
    folder.mkdir(parents=True, exist_ok=True)
    model = options.model
    if model.parent.name == "graphs":  # without its weights
        run(sys.executable, pathlib.Path(weights.__file__), model, "--output-dir", folder)
        model = folder / model.name

    def compiled(arch):
        artifact = folder / f"{arch.replace(':', '-')}.kpc"
        run(options.kpc, "compile", model, "--arch", arch, "--precision", options.precision, "-o", artifact, "-q",
            "--cache-dir", folder / "cache")
        return Reader(*table_of(artifact, options.flatc, options.schema, folder))

    alone, failures, compared = {}, 0, 0
    for arch in options.arch:
        among = compiled(arch)
        for asked in arch.split(","):
            if asked not in alone:
                alone[asked] = compiled(asked)
            for target in alone[asked].table["targets"]:
                name = target["name"]
                compared += 1
                if why := first_difference(alone[asked].target(name), among.target(name)):
                    print(f"{name} in --arch {arch}: {why}")
                    failures += 1
    print(f"{compared} targets compared, {failures} differ from what they are alone")
    sys.exit(1 if failures or not compared else 0)


if __name__ == "__main__":
    main()
