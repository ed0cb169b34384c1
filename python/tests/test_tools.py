# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kpc.inspect, bench, verify, targets, ops; the console script; the examples in docstrings."""

import ast
import doctest
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import digits
import kpc
import kpc._compile
import kpc._errors
import kpc._session
import kpc._tools
import numpy as np


class Tools(unittest.TestCase):
    def test_inspect(self):
        found = digits.artifact().inspect(dims={"batch": 8})
        self.assertEqual(found["memory_for"], {"batch": 8})
        self.assertIn("target  host:", repr(found))
        self.assertIn("input   image: float[batch, 1, 8, 8]", repr(kpc.inspect(digits.MODEL)))
        with self.assertRaises(kpc.CompileError):
            kpc.inspect("nothing.onnx")

    def test_bench(self):
        measured = kpc.bench(digits.artifact(), inputs={"image": digits.IMAGES[:4]}, iterations=20, threads=1)
        self.assertEqual(measured["dims"], {"batch": 4})
        self.assertGreater(measured.latency_ms["p50"], 0)
        self.assertIn("conv2+relu2", repr(measured))
        self.assertIn("<html", measured.html.lower())
        self.assertIn("srcdoc", measured._repr_html_())

    def test_verify(self):
        verdict = digits.artifact().verify(digits.MODEL, dims={"batch": 2})
        self.assertTrue(verdict)
        self.assertTrue(repr(verdict).startswith("right on host:"))
        inputs = {"image": digits.IMAGES[:3]}
        scores = digits.artifact().session()(digits.IMAGES[:3])
        self.assertTrue(kpc.verify(digits.artifact(), reference={"scores": scores}, inputs=inputs))
        wrong = kpc.verify(digits.artifact(), reference={"scores": scores + 1}, inputs=inputs)
        self.assertFalse(wrong)
        self.assertIn("drifts", repr(wrong))
        with self.assertRaises(TypeError):
            kpc.verify(digits.artifact())

    def test_lists(self):
        self.assertIn("sm_90a", [target.name for target in kpc.targets()])
        self.assertIn("Hopper", repr(kpc.targets()))
        self.assertIn("<table>", kpc.targets()._repr_html_())
        self.assertEqual([op.name for op in kpc.ops("gemm")], ["Gemm"])
        with self.assertRaisesRegex(kpc.UsageError, "Nothing"):
            kpc.ops("Nothing")
        self.assertEqual({op.domain for op in kpc.ops(domain="ai.onnx.ml")}, {"ai.onnx.ml"})
        self.assertEqual({op.domain for op in kpc.ops(domain="torchvision")}, {"torchvision"})
        with self.assertRaisesRegex(kpc.UsageError, "ai.onnx.ml"):
            kpc.ops(domain="nowhere")
        refused = [op for op in kpc.ops(domain="aten") if not op.compiles]
        self.assertIn("make the random numbers an input", refused[-1].limits)

    def test_modules_import_from_those_in_front(self):
        order = ["_runtime", "_errors", "_executable", "_specs", "_session", "_model_file", "_tools", "_artifact", "_compile",
                 "_torch", "torch_backend"]
        folder = pathlib.Path(kpc.__file__).parent
        for name in order[1:]:
            tree = ast.parse((folder / f"{name}.py").read_text())
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.level == 1:
                    for other in [node.module] if node.module else [alias.name for alias in node.names]:
                        late = name == "_model_file" and other == "_torch"  # only where torch is there
                        self.assertTrue(late or order.index(other) < order.index(name), f"{name} imports {other}")

    def test_the_console_script(self):
        script = pathlib.Path(sys.executable).parent / "kpc"
        out = subprocess.run([script, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertTrue(out.startswith(f"kpc {kpc.__version__}\n"), out)

    def test_examples_in_docstrings(self):
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "digits.onnx").write_bytes(digits.MODEL.read_bytes())
            os.chdir(folder)
            try:
                names = {"kpc": kpc, "np": np, "artifact": digits.artifact(), "session": digits.artifact().session("host")}
                for module in (kpc._compile, kpc._errors, kpc._session, kpc._tools):
                    result = doctest.testmod(module, extraglobs=names)
                    self.assertEqual(result.failed, 0, module.__name__)
                    self.assertGreater(result.attempted, 0, module.__name__)
            finally:
                os.chdir(before)


if __name__ == "__main__":
    unittest.main()
