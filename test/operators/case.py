# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model of one node with its inputs, and what kpc and onnxruntime make of it."""

import subprocess

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper


class Const:
    """An input that is an initializer of the model."""

    def __init__(self, value, kind=None):
        self.value = np.asarray(value, kind)


class Case:
    """`op(inputs…)`: an input is an array, a Const, or None where it is left out.

    `outputs` is a number, or a string of a letter each: 'y' wanted, '-' left out. `absolute` and `relative` bound
    the error; integers may differ by `steps`, as quantised results do where a sum lies between two of them.
    """

    def __init__(self, op, *inputs, domain="", opset=1, outputs=1, absolute=2e-5, relative=1e-4, steps=0, name="", **attributes):
        self.op, self.inputs, self.domain, self.opset = op, inputs, domain, opset
        self.outputs = "y" * outputs if isinstance(outputs, int) else outputs
        self.absolute, self.relative, self.steps = absolute, relative, steps
        self.attributes = attributes
        self.name = f"{op}.{name}" if name else op

    def model(self, results=None):
        names = ["" if x is None else f"x{i}" for i, x in enumerate(self.inputs)]
        outputs = [f"y{i}" if letter == "y" else "" for i, letter in enumerate(self.outputs)]
        node = helper.make_node(self.op, names, outputs, name="node", domain=self.domain, **self.attributes)
        given, weights = [], []
        for name, x in zip(names, self.inputs):
            if isinstance(x, Const):
                weights.append(numpy_helper.from_array(x.value, name))
            elif x is not None:
                given.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape))
        results = results or {}
        declared = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(results[n].dtype), results[n].shape)
                    if n in results else onnx.ValueInfoProto(name=n) for n in outputs if n]
        graph = helper.make_graph([node], "graph", given, declared, weights)
        opsets = [helper.make_opsetid("", 21 if self.domain else self.opset)]
        if self.domain:
            opsets.append(helper.make_opsetid(self.domain, self.opset))
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    def given(self):
        return {f"x{i}": x for i, x in enumerate(self.inputs) if x is not None and not isinstance(x, Const)}

    def reference(self):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(self.model().SerializeToString(), options, ["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(names, self.given())))

    def computed(self, kpc, arch, device, work, results):
        """The outputs by name, or a message."""
        work.mkdir(parents=True, exist_ok=True)
        onnx.save(self.model(results), work / "model.onnx")
        words = []
        for name, x in self.given().items():
            np.save(work / f"{name}.npy", x)
            words += ["--input", f"{name}={work / name}.npy"]
        for command in (["compile", work / "model.onnx", "--arch", arch, "-O0", "--precision", "fp32", "-o", work / "model.kpc", "--quiet"],
                        ["run", work / "model.kpc", "--output-dir", work / "out", "--device", device, *words]):
            done = subprocess.run([str(word) for word in [kpc, *command]], capture_output=True, text=True, timeout=300)
            if done.returncode != 0:
                return f"kpc {command[0]} exits {done.returncode}: {(done.stdout + done.stderr).strip()[-600:]}"
        return {name: np.load(work / "out" / f"{name}.npy") for name in results}

    def problem(self, kpc, arch, device, work):
        """None where kpc gives what onnxruntime gives."""
        want = {name: np.asarray(value) for name, value in self.reference().items()}
        got = self.computed(kpc, arch, device, work, want)
        if isinstance(got, str):
            return got
        for name, value in want.items():
            text = self.difference(got[name], value)
            if text:
                return f"{name}: {text}"
        return None

    def difference(self, got, want):
        if got.shape != want.shape or got.dtype != want.dtype:
            return f"{got.dtype} {list(got.shape)} instead of {want.dtype} {list(want.shape)}"
        if want.dtype.kind == "f":
            wide = got.astype(np.float64)
            if np.allclose(wide, want.astype(np.float64), self.relative, self.absolute, equal_nan=True):
                return None
            return f"differs by up to {np.nanmax(np.abs(wide - want)):.3g}"
        off = np.abs(got.astype(np.int64) - want.astype(np.int64)).max(initial=0)
        return None if off <= self.steps else f"differs by up to {off}"
