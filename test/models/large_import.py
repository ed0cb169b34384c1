#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports 4 GiB of weights from a .pt2 archive and from ONNX with external data; compares times and memory.

  large_import.py --kpc KPC --work-dir FOLDER [--gigabytes 4] [--rounds 3]

The network is linear layers of 8192 by 8192. Most of each file is a hole, so it takes little room on a disk. Time is that of
`kpc compile --emit graph`, the least of the rounds; memory is the greatest anonymous part of what is resident, seen every
5 ms. Mapped pages of the files do not count: the system takes them back.
"""
import argparse
import io
import pathlib
import subprocess
import sys
import time

try:
    import numpy as np
    import onnx
except ImportError:
    sys.exit(77)

from program_writer import Program

WIDTH = 8192
HOLE = 1 << 20  # bytes
MOST_SECONDS = 2.0  # beyond ONNX's
MOST_MEMORY = 64 << 20  # bytes beyond ONNX's; the weights are 64 times as much


class SparseFile(io.FileIO):
    """Leaves holes where it should write zeros."""

    def write(self, data):
        view = memoryview(data)
        zeros = bytes(HOLE)
        for at in range(0, len(view), HOLE):
            part = view[at:at + HOLE]
            if len(part) == HOLE and part == zeros:
                self.seek(HOLE, io.SEEK_CUR)
            else:
                super().write(part)
        return len(view)


def weight(layer):
    array = np.zeros((WIDTH, WIDTH), np.float32)
    array[0], array[-1] = np.random.default_rng(layer).standard_normal((2, WIDTH))
    return array


def write_program(path, layers):
    program = Program(ranges={"s0": (1, 64)})
    value = program.input("x", ("s0", WIDTH))
    for layer in range(layers):
        held = program.weight(f"layer{layer}.weight", weight(layer))
        shape = [("f4", ("s0", WIDTH))]
        value = program.node("aten.linear.default", {"input": value, "weight": held}, shape)[0]
        value = program.node("aten.relu.default", {"self": value}, shape)[0]
    program.output(value)
    with SparseFile(path, "w") as file:
        program.save(file)


def write_onnx(path, layers):
    data = path.with_suffix(".data")
    nodes, weights, value = [], [], "x"
    with SparseFile(data, "w") as file:
        for layer in range(layers):
            held = onnx.TensorProto(name=f"w{layer}", data_type=onnx.TensorProto.FLOAT, dims=[WIDTH, WIDTH],
                                    data_location=onnx.TensorProto.EXTERNAL)
            for key, text in (("location", data.name), ("offset", file.tell()), ("length", 4 * WIDTH * WIDTH)):
                held.external_data.add(key=key, value=str(text))
            file.write(weight(layer).tobytes())
            weights.append(held)
            nodes += [onnx.helper.make_node("Gemm", [value, held.name], [f"g{layer}"], transB=1),
                      onnx.helper.make_node("Relu", [f"g{layer}"], [f"r{layer}"])]
            value = f"r{layer}"
    ports = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", WIDTH]) for name in ("x", value)]
    graph = onnx.helper.make_graph(nodes, "large", ports[:1], ports[1:], weights)
    path.write_bytes(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)]).SerializeToString())


def anonymous(process):
    try:
        for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("RssAnon"):
                return int(line.split()[1]) << 10
    except OSError:
        pass
    return 0


def imported(kpc, model, folder):
    """Seconds, and the greatest anonymous memory in bytes."""
    began = time.monotonic()
    with open(folder / "errors.txt", "w") as errors:
        process = subprocess.Popen([kpc, "compile", model, "--arch", "host", "--emit", "graph", "-q"], cwd=folder, stderr=errors)
        most = 0
        while process.poll() is None:
            most = max(most, anonymous(process.pid))
            time.sleep(0.005)
    seconds = time.monotonic() - began
    if process.returncode:
        sys.exit(f"{model}: {(folder / 'errors.txt').read_text()}")
    return seconds, most


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kpc", required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--gigabytes", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    folder = options.work_dir.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    layers = (options.gigabytes << 30) // (4 * WIDTH * WIDTH)
    models = {"pt2": folder / "large.pt2", "onnx": folder / "large.onnx"}
    try:
        write_program(models["pt2"], layers)
        write_onnx(models["onnx"], layers)
        seconds, memory = {name: [] for name in models}, dict.fromkeys(models, 0)
        for _ in range(options.rounds):
            for name, model in models.items():
                took, most = imported(pathlib.Path(options.kpc).resolve(), model, folder)
                seconds[name].append(took)
                memory[name] = max(memory[name], most)
    finally:
        for file in (*models.values(), folder / "large.data"):
            file.unlink(missing_ok=True)
    for name in models:
        print(f"{name}: {options.gigabytes} GiB of weights, {min(seconds[name]):.2f} s ({', '.join(f'{s:.2f}' for s in seconds[name])}), "
              f"{memory[name] / 2**20:.0f} MiB of anonymous memory")
    slower = min(seconds["pt2"]) - min(seconds["onnx"])
    larger = memory["pt2"] - memory["onnx"]
    print(f"the .pt2 takes {slower:+.2f} s and {larger / 2**20:+.0f} MiB beside ONNX")
    sys.exit(1 if slower > MOST_SECONDS or larger > MOST_MEMORY else 0)


if __name__ == "__main__":
    main()
