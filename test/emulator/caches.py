#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Caches that are written where they lie, on the emulator.   caches.py KPC DRIVER RUNTIME TARGET FOLDER

`TensorScatter` of new rows, and attention that reads what came of it: with a memory of its own for the present keys, and in that
of the past ones. Both must give the rows that numpy gives, and bits that do not differ. One kernel writes two caches, also where
only one of them is in its place.
"""

import ctypes
import os
import pathlib
import subprocess
import sys

try:
    import numpy as np
    from onnx import TensorProto, helper, save
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "device"))
from runtime_library import NamedTensor, Session, cuda, named_tensor  # noqa: E402

F16, F32, I64 = 10, 1, 7  # kpc/runtime.h
BATCH, HEADS, LENGTH, DEPTH, NEW = 3, 2, 40, 64, 2


def info(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def model(element, reads):
    nodes = [helper.make_node("TensorScatter", ["past", "new", "at"], ["present"], axis=-2)]
    inputs = [info("past", element, ["batch", HEADS, LENGTH, DEPTH]), info("new", element, ["batch", HEADS, NEW, DEPTH]),
              info("at", TensorProto.INT64, ["batch"])]
    outputs = [info("present", element, ["batch", HEADS, LENGTH, DEPTH])]
    if reads:
        nodes.append(helper.make_node("Attention", ["q", "present", "present"], ["y"]))
        inputs.append(info("q", element, ["batch", HEADS, 1, DEPTH]))
        outputs.append(info("y", element, ["batch", HEADS, 1, DEPTH]))
    return helper.make_model(helper.make_graph(nodes, "caches", inputs, outputs), opset_imports=[helper.make_opsetid("", 24)], ir_version=11)


def pair(element):
    """Two caches, rows of both replaced at the same places."""
    nodes, inputs, outputs = [], [info("at", TensorProto.INT64, ["batch"])], []
    for name in "kv":
        nodes.append(helper.make_node("TensorScatter", [f"past_{name}", f"new_{name}", "at"], [f"present_{name}"], axis=-2))
        inputs += [info(f"{what}_{name}", element, ["batch", HEADS, rows, DEPTH]) for what, rows in (("past", LENGTH), ("new", NEW))]
        outputs.append(info(f"present_{name}", element, ["batch", HEADS, LENGTH, DEPTH]))
    return helper.make_model(helper.make_graph(nodes, "caches", inputs, outputs), opset_imports=[helper.make_opsetid("", 24)], ir_version=11)


class Memory:
    """The emulator's, through the driver's interface."""

    def __init__(self, driver):
        self.lib = ctypes.CDLL(str(driver))
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.check(self.lib.cuInit(0))
        self.check(self.lib.cuDeviceGet(ctypes.byref(device), 0))
        self.check(self.lib.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        self.check(self.lib.cuCtxSetCurrent(context))

    @staticmethod
    def check(status):
        assert status == 0, f"the driver says {status}"

    def put(self, array):
        pointer = ctypes.c_uint64()
        self.check(self.lib.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(array.nbytes)))
        self.check(self.lib.cuMemcpyHtoD_v2(pointer, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes)))
        return pointer.value

    def get(self, pointer, like):
        array = np.empty_like(like)
        self.check(self.lib.cuMemcpyDtoH_v2(ctypes.c_void_p(array.ctypes.data), ctypes.c_uint64(pointer), ctypes.c_size_t(array.nbytes)))
        return array


def wrong_pairs(memory, kpc, runtime, target, folder):
    source, artifact, wrong = folder / "pair.onnx", folder / "pair.kpc", 0
    save(pair(TensorProto.FLOAT16), source)
    subprocess.run([kpc, "compile", source, "--arch", target, "--dim", "batch=1..8:opt=3", "-o", artifact, "--no-cache", "--quiet"], check=True)
    shown = subprocess.run([kpc, "inspect", artifact, "--dim", "batch=3"], capture_output=True, text=True, check=True).stdout
    if "present_k+present_v" not in shown or "present_v  f16[batch,2,40,64]  may take the memory of past_v" not in shown:
        wrong += 1
        print(f"pair: no kernel writes both caches in their places:\n{shown}")
    rng = np.random.default_rng(1)
    arrays = {f"{what}_{name}": rng.standard_normal((BATCH, HEADS, rows, DEPTH)).astype(np.float16)
              for name in "kv" for what, rows in (("past", LENGTH), ("new", NEW))}
    arrays["at"] = np.array([LENGTH - NEW, 0, 17], np.int64)
    want = {name: arrays[f"past_{name}"].copy() for name in "kv"}
    for name in "kv":
        for batch, row in enumerate(arrays["at"]):
            want[name][batch, :, row:row + NEW] = arrays[f"new_{name}"][batch]
    session = Session(runtime, artifact, cuda(0))
    for in_place in ("", "k", "v", "kv"):
        given = {name: memory.put(array) for name, array in arrays.items()}
        present = {name: given[f"past_{name}"] if name in in_place else memory.put(np.zeros_like(want[name])) for name in "kv"}
        inputs = [named_tensor(name, given[name], array.shape, I64 if name == "at" else F16, cuda(0)) for name, array in arrays.items()]
        outputs = [named_tensor(f"present_{name}", present[name], want[name].shape, F16, cuda(0)) for name in "kv"]
        session.run((NamedTensor * len(inputs))(*inputs), (NamedTensor * len(outputs))(*outputs))
        memory.check(memory.lib.cuCtxSynchronize())
        for name in "kv":
            if not np.array_equal(memory.get(present[name], want[name]), want[name]):
                wrong += 1
                print(f"pair: present_{name} is not what numpy gives, with '{in_place}' in their places")
    return wrong


def main():
    kpc, driver, runtime, target, folder = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.update(KPC_CUDA_DRIVER=driver, KPC_EMULATE_TARGET="sm_80" if target == "portable" else target)
    memory, wrong = Memory(driver), 0
    for name, proto, kind, code, reads in (("f16", TensorProto.FLOAT16, np.float16, F16, False), ("f32", TensorProto.FLOAT, np.float32, F32, False),
                                           ("read", TensorProto.FLOAT16, np.float16, F16, True)):
        source, artifact = folder / f"{name}.onnx", folder / f"{name}.kpc"
        save(model(proto, reads), source)
        precision = ["--precision", "fp16", "--io-precision", "fp16"] if code == F16 else []
        subprocess.run([kpc, "compile", source, "--arch", target, "--dim", "batch=1..8:opt=3", *precision, "-o", artifact, "--no-cache",
                        "--quiet"], check=True)
        shown = subprocess.run([kpc, "inspect", artifact, "--dim", "batch=3"], capture_output=True, text=True, check=True).stdout
        if "may take the memory of past" not in shown:
            wrong += 1
            print(f"{name}: inspect does not say that present may take the memory of past")
        rng = np.random.default_rng(0)
        past, new, q = (rng.standard_normal((BATCH, HEADS, rows, DEPTH)).astype(kind) for rows in (LENGTH, NEW, 1))
        at = np.array([0, 17, LENGTH - NEW], np.int64)
        want = past.copy()
        for batch, row in enumerate(at):
            want[batch, :, row:row + NEW] = new[batch]
        session, found = Session(runtime, artifact, cuda(0)), []
        for in_place in (False, True):
            given = memory.put(past)
            present = given if in_place else memory.put(np.zeros_like(past))
            def tensor(name, pointer, array):
                return named_tensor(name, pointer, array.shape, I64 if array.dtype == np.int64 else code, cuda(0))
            inputs = [tensor("past", given, past), tensor("new", memory.put(new), new), tensor("at", memory.put(at), at)]
            outputs, y = [tensor("present", present, past)], None
            if reads:
                inputs.append(tensor("q", memory.put(q), q))
                y = memory.put(np.zeros_like(q))
                outputs.append(tensor("y", y, q))
            session.run((NamedTensor * len(inputs))(*inputs), (NamedTensor * len(outputs))(*outputs))
            memory.check(memory.lib.cuCtxSynchronize())
            if not np.array_equal(memory.get(present, past), want):
                wrong += 1
                print(f"{name}: present is not what numpy gives, {'in the memory of past' if in_place else 'in a memory of its own'}")
            found.append(memory.get(y, q) if reads else want)
        if found[0].tobytes() != found[1].tobytes():
            wrong += 1
            print(f"{name}: attention reads other keys where they are written in place")
    wrong += wrong_pairs(memory, kpc, runtime, target, folder)
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
