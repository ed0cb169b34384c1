# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs artifacts one after the other in one process, for run_conformance.py --runtime.

A process with a CUDA context of its own for each test takes most of the time that the tests of a GPU take. This one is
given a test a line, as JSON on standard input, and answers a line on standard output. It ends when an error may have spoilt
the context; SessionProcess starts another one then, or where it crashed or did not answer.

    {"artifact": FILE, "inputs": {NAME: [FILE.pb or FILE.npy, kind, element]}, "out": FOLDER}  ->  {"code": 0 or 1, "output": WORDS}
"""

import json
import pathlib
import select
import subprocess
import sys
import threading

import numpy as np

import onnx_files

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "device"))

import runtime_library

# Of numpy's types, what ONNX calls them. A narrow type, kept as bits, is not among them.
FIRST_OF = {np.dtype(kept): element for element, kept in sorted(onnx_files.NUMPY_TYPES.items(), reverse=True)}
FIRST_FATAL = 500  # kpc_status: errors of the driver and lost sessions


def packed(value):
    """The bytes of a tensor as the runtime takes them."""
    bits = onnx_files.SUB_BYTE.get(value.data_type)
    if not bits:
        return np.ascontiguousarray(value.array)
    whole = value.array.reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    parts = np.pad(whole, (0, -whole.size % (8 // bits))).reshape(-1, 8 // bits)
    return np.bitwise_or.reduce(parts << np.arange(0, 8, bits, dtype=np.uint8), axis=1).astype(np.uint8)


def unpacked(data, element, shape):
    """What kpc run would store as .npy."""
    kept, bits = np.dtype(onnx_files.NUMPY_TYPES[element]), onnx_files.SUB_BYTE.get(element)
    if not bits:
        return data.view(kept).reshape(shape)
    return onnx_files.unpack_bits(data, bits, int(np.prod(shape)), kept.kind == "i").astype(kept).reshape(shape)


def value_of(array):
    return onnx_files.Value(array, FIRST_OF[array.dtype])


def array_of(path):
    return value_of(np.load(path))


def run(library, device, test, opened):
    """`opened` holds the session of the test before: the context would go with the last one."""
    session = runtime_library.Session(library, test["artifact"], device)
    opened.append(session)
    if len(opened) > 1:
        opened.pop(0).close()
    values = {}
    for name, (path, kind, element) in test["inputs"].items():
        values[name] = array_of(path) if path.endswith(".npy") else onnx_files.read_value(path, onnx_files.Port(name, kind, element))
    for name, array in results(session, values).items():
        np.save(pathlib.Path(test["out"]) / (name.replace("/", "_") + ".npy"), array)


def results(session, values):
    """name -> array, as kpc run would store it; `values`: name -> onnx_files.Value."""
    given, inputs, shapes, arrays = [], [], {}, {}
    for name, value in values.items():
        given.append(packed(value))
        shapes[name], arrays[name] = value.array.shape, value.array
        inputs.append(runtime_library.named_tensor(name, given[-1].ctypes.data, value.array.shape, value.data_type,
                                                   runtime_library.HOST))
    outputs, stored = [], []
    most = 1 << 16  # of a dim, where data decides it and nothing bounds it
    for (name, element), shape in zip(session.outputs(), session.output_shapes(session.input_dims(shapes, arrays))):
        bits = onnx_files.SUB_BYTE.get(element) or 8 * np.dtype(onnx_files.NUMPY_TYPES[element]).itemsize
        shape = [most if size == 0x7fffffff else size for size in shape]
        data = np.zeros((int(np.prod(shape)) * bits + 7) // 8, np.uint8)
        stored.append((name, data, element, shape))
        outputs.append(runtime_library.named_tensor(name, data.ctypes.data, shape, element, runtime_library.HOST))
    session.run(inputs, outputs)
    found = {}
    for (name, data, element, _), shape in zip(stored, session.shapes_now()):
        bits = onnx_files.SUB_BYTE.get(element) or 8 * np.dtype(onnx_files.NUMPY_TYPES[element]).itemsize
        data = data[:(int(np.prod(shape)) * bits + 7) // 8]
        found[name] = unpacked(data, element, shape)
    return found


def main():
    library, device, opened = sys.argv[1], sys.argv[2], []
    kind, _, index = device.partition(":")
    where = runtime_library.cuda(int(index or 0)) if kind == "cuda" else runtime_library.HOST
    for line in sys.stdin:
        answer, status = {"code": 0, "output": ""}, 0
        try:
            run(library, where, json.loads(line), opened)
        except runtime_library.Failed as error:
            answer, status = {"code": 1, "output": str(error)}, error.status
        print(json.dumps(answer), flush=True)
        if status >= FIRST_FATAL:
            break


class SessionProcess:
    """The other end: one test at a time, whoever asks."""

    def __init__(self, library, device, limit):
        self.command = [sys.executable, __file__, str(library), device]
        self.limit, self.process, self.lock = limit, None, threading.Lock()

    def run(self, artifact, inputs, out):
        """(exit code as that of kpc run, None where it took too long; words)"""
        with self.lock:
            if self.process is None or self.process.poll() is not None:
                self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            try:
                self.process.stdin.write(json.dumps({"artifact": str(artifact), "inputs": inputs, "out": str(out)}) + "\n")
                self.process.stdin.flush()
            except BrokenPipeError:
                pass  # ended: there is no answer either
            if not select.select([self.process.stdout], [], [], self.limit)[0]:
                self.process.kill()
                self.process.wait()
                return None, ""
            line = self.process.stdout.readline()
            if not line:
                return self.process.wait() or -1, "the process ended"
            answer = json.loads(line)
            if answer["code"]:
                self.process.stdin.close()
                self.process.wait()  # whatever state the context is in, the next test gets another
            return answer["code"], answer["output"]

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait()


if __name__ == "__main__":
    main()
