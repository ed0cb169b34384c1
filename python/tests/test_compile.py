# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kpc.compile, kpc.check and kpc.load: models of all kinds, diagnostics, progress, interrupts."""

import copy
import io
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
import warnings
from unittest import mock

import digits
import kpc
import numpy as np


class Compile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_what_an_artifact_says(self):
        artifact = digits.artifact()
        self.assertEqual(str(artifact.inputs), "[image: f32[batch, 1, 8, 8]]")
        self.assertEqual(artifact.outputs[0].dims, ("batch", 10))
        self.assertEqual((artifact.dims["batch"].min, artifact.dims["batch"].max), (1, 512))
        self.assertEqual([target.device for target in artifact.targets], ["host"])
        self.assertEqual(artifact.name, "digits.onnx")
        self.assertIn("--dim=batch=1..512", artifact.provenance("options"))
        self.assertIsNone(artifact.provenance("nothing"))
        self.assertGreater(artifact.report.bytes, artifact.report.weight_bytes)
        self.assertIn("kernels", artifact.report.phases)
        self.assertIn("input   image: f32[batch, 1, 8, 8]", repr(artifact))

    def test_torchscript_takes_shapes_and_types(self):
        scripts = digits.FOLDER.parents[1] / "test" / "models" / "scripts"
        artifact = kpc.compile(scripts / "mlp_scripted.pt", arch="host", jobs=1, input_shape={"x": ("batch", 8)})
        self.assertEqual(str(artifact.inputs), "[x: f32[batch, 8]]")
        reference = np.load(scripts / "mlp_scripted.npz")
        np.testing.assert_allclose(artifact.session("host")(reference["in0"]), reference["out0"], atol=1e-5)
        stateful = kpc.compile(scripts / "stateful.pt", arch="host", jobs=1, input_shape={"x": np.load(scripts / "stateful.npz")["in0"].shape},
                               input_type={"x": np.float32}, state="explicit")
        self.assertEqual([port.name for port in stateful.inputs][0], "x")
        self.assertGreater(len(stateful.inputs), 1)
        with self.assertRaises(kpc.CompileError) as caught:
            kpc.compile(scripts / "mlp_scripted.pt", arch="host", input_shape={"y": (1, 8)})
        self.assertTrue(caught.exception.diagnostics)

    def test_types_are_chosen_layer_by_layer(self):
        data, plan = self.folder / "images.npz", self.folder / "digits.plan"
        np.savez(data, image=digits.IMAGES[:16])
        where = {"arch": ["portable", "host"], "dims": {"batch": kpc.Dim(1, 512, opt=256)}, "jobs": 1, "progress": False}
        chosen = kpc.compile(digits.MODEL, precision="auto", accuracy_budget="sqnr=30dB", data=data, precision_plan_out=plan, **where)
        self.assertIn("--precision=fp16", chosen.provenance("options"))
        self.assertIn("* fp16\n", plan.read_text())
        given = kpc.compile(digits.MODEL, precision_plan=plan, **where)
        x = digits.IMAGES[:64]
        np.testing.assert_array_equal(given.session("host")(x), chosen.session("host")(x))
        with self.assertRaises(kpc.CompileError) as caught:
            kpc.compile(digits.MODEL, precision="auto", accuracy_budget="sqnr=150dB", data=data, **where)
        self.assertEqual([d.code for d in caught.exception.diagnostics], ["KPC-C0006"])

    def test_custom_operators_are_allowed_where_they_were_given(self):
        example = digits.FOLDER.parents[0] / "custom-operator"
        subprocess.run([sys.executable, example / "make_model.py", self.folder], check=True)
        operators = [example / "row_softcap.json"]
        self.assertFalse(kpc.check(self.folder / "scores.onnx", arch="host"))
        self.assertTrue(kpc.check(self.folder / "scores.onnx", arch="host", operators=operators))
        artifact = kpc.compile(self.folder / "scores.onnx", self.folder / "scores.kpc", arch="host", jobs=1, operators=operators)
        x = np.ones((1, 2, 64), np.float32)
        y, largest = artifact.session("host")(x)
        self.assertEqual((y.shape, largest.shape), ((1, 2, 64), (1, 2)))
        self.assertTrue((np.abs(y - x).max(axis=-1) <= largest + 1e-6).all())
        with self.assertRaises(kpc.RunError) as caught:
            kpc.load(self.folder / "scores.kpc").session("host")
        self.assertIn("custom operator", str(caught.exception))
        allowed = kpc.load(self.folder / "scores.kpc", custom_code=True).session("host")
        np.testing.assert_array_equal(allowed(x)[0], y)

    def test_bytes_and_protos_are_models(self):
        expected = digits.artifact().session("host")(digits.IMAGES[:2])

        class Proto:  # what onnx.ModelProto has
            def SerializeToString(self):
                return digits.MODEL.read_bytes()

        for model in (digits.MODEL.read_bytes(), memoryview(digits.MODEL.read_bytes()), Proto(), str(digits.MODEL)):
            artifact = kpc.compile(model, arch="host", jobs=1)
            np.testing.assert_array_equal(artifact.session()(digits.IMAGES[:2]), expected)

    def test_an_output_stays_and_a_temporary_file_goes(self):
        kept = self.folder / "kept.kpc"
        artifact = kpc.compile(digits.MODEL, kept, arch="host", jobs=1)
        self.assertEqual(artifact.path, kept)
        temporary = kpc.compile(digits.MODEL, arch="host", jobs=1)
        path, session = temporary.path, temporary.session()
        saved = temporary.save(self.folder / "saved.kpc")
        self.assertEqual(saved.read_bytes(), bytes(temporary))
        del temporary
        self.assertEqual(session(digits.IMAGES[:1]).shape, (1, 10))
        del session
        self.assertFalse(path.exists())
        del artifact
        self.assertTrue(kept.exists())

    def test_files_of_text_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "model")
            for data in (b"abc", b"KPC\xff\xfe"):
                path.write_bytes(data)
                for take in (kpc.load, kpc.compile):
                    with open(path, encoding="utf-8") as file, self.assertRaisesRegex(TypeError, "open it with 'rb'"):
                        take(file)
        for take in (kpc.load, kpc.compile):
            with self.assertRaisesRegex(TypeError, "got StringIO, which is read as str; open it with 'rb'"):
                take(io.StringIO("abc"))

    def test_a_module_may_have_a_method_read(self):
        class Module:
            def read(self):
                raise AssertionError("a module's method was called")

        torch = mock.Mock()
        torch.nn.Module = Module
        with mock.patch.dict(sys.modules, {"torch": torch, "torch.export": None}):
            with mock.patch("kpc._torch.save_model", return_value=pathlib.Path("saved.pt2"), create=True) as save:
                with kpc._compile.model_file(Module()) as path:
                    self.assertEqual(path, "saved.pt2")
        save.assert_called_once()

    def test_bytes_load(self):
        data = bytes(digits.artifact())
        loaded = kpc.load(bytearray(data), verify_weights=True)
        self.assertEqual(bytes(loaded), data)
        self.assertEqual(loaded.path.read_bytes(), data)
        self.assertEqual(loaded.session()(digits.IMAGES[:3]).shape, (3, 10))
        loaded.verify_weights()
        with self.assertRaisesRegex(kpc.RunError, "not a kpc artifact") as caught:
            kpc.load(b"nothing of kpc's")
        self.assertEqual((caught.exception.status, caught.exception.code), (101, "KPC_ERROR_NOT_AN_ARTIFACT"))
        with self.assertRaises(kpc.RunError):
            kpc.load(data[:-100], verify_weights=True)
        with self.assertRaisesRegex(kpc.RunError, "nothing.kpc"):
            kpc.load(self.folder / "nothing.kpc")
        with self.assertRaises(kpc.RunError) as caught:
            kpc.load(data, host_code=False).session("host")
        self.assertEqual(caught.exception.code, "KPC_ERROR_NO_TARGET")

    def test_artifacts_are_pickled(self):
        other = pickle.loads(pickle.dumps(digits.artifact()))
        self.assertEqual(bytes(other), bytes(digits.artifact()))
        np.testing.assert_array_equal(other.session("host")(digits.IMAGES[:3]), digits.artifact().session("host")(digits.IMAGES[:3]))
        self.assertIs(copy.deepcopy(other), other)
        with open(other.path, "rb") as file:
            self.assertEqual(bytes(kpc.load(file)), bytes(other))
        with self.assertRaisesRegex(IsADirectoryError, "give the name of a file"):
            other.save(self.folder)
        with self.assertRaisesRegex(TypeError, "got int"):
            kpc.load(3)
        error = pickle.loads(pickle.dumps(kpc.UsageError("text")))
        self.assertEqual(type(error).__module__, "kpc")

    def test_diagnostics_are_exceptions(self):
        with self.assertRaises(kpc.CompileError) as caught:
            kpc.compile(self.folder / "nothing.onnx", arch="host")
        diagnostic = caught.exception.errors[0]
        self.assertEqual(diagnostic.code, "KPC-I0001")
        self.assertEqual(diagnostic.hint, "check the path and its permissions")
        self.assertIn("error[KPC-I0001]", str(caught.exception))
        with self.assertRaises(kpc.CompileError) as caught:
            kpc.compile(b"no model", arch="host")
        self.assertTrue(caught.exception.errors)
        with self.assertRaises(kpc.CompileError):
            kpc.compile(b"", arch="host")

    def test_a_node_that_does_not_compile_is_named(self):
        data = digits.MODEL.read_bytes()
        with self.assertRaises(kpc.CompileError) as caught:
            kpc.compile(data.replace(b"Relu", b"Rela"), arch="host")
        names = {d.node for d in caught.exception.errors}
        self.assertLessEqual({"relu1", "relu2", "relu3"}, names)
        self.assertEqual({d.op for d in caught.exception.errors}, {"Rela"})
        verdict = kpc.check(data.replace(b"Relu", b"Rela"), arch="host")
        self.assertFalse(verdict)
        self.assertIn("does not compile", repr(verdict))
        self.assertEqual({d.node for d in verdict.diagnostics}, names)

    def test_wrong_arguments(self):
        for options, text in (({"arch": "sm_99"}, "did you mean"), ({"precision": "fp12"}, "fp12"),
                              ({"dims": {"batch": 1.5}}, "expected a number"), ({"dims": {"batch": (4, 1)}}, "batch")):
            with self.subTest(options), self.assertRaisesRegex(kpc.UsageError, text):
                kpc.compile(digits.MODEL, **options)
        with self.assertRaisesRegex(kpc.CompileError, "no dim 'nothing'"):
            kpc.compile(digits.MODEL, arch="host", dims={"nothing": 2})
        with self.assertRaisesRegex(TypeError, "load_state_dict"):
            kpc.compile({"weight": 1}, arch="host")
        with self.assertRaisesRegex(kpc.UsageError, "for a torch.nn.Module, and the model is a str"):
            kpc.compile(str(digits.MODEL), example_inputs=(1,), arch="host")
        with self.assertRaisesRegex(kpc.UsageError, r"in Python: dims=\{"):
            kpc.compile(digits.MODEL, arch="host", dims={"batch": (4, 1)})
        with self.assertRaisesRegex(TypeError, "got int"):
            kpc.compile(7)
        with self.assertRaises(kpc.CompileError):
            kpc.compile(digits.artifact().path, arch="host")
        with self.assertRaisesRegex(kpc.RunError, "kpc.compile makes one"):
            kpc.load(digits.MODEL)

    def test_dims(self):
        fixed = kpc.compile(digits.MODEL, arch="host", dims={"batch": 3}, jobs=1)
        self.assertEqual(fixed.inputs[0].dims, (3, 1, 8, 8))
        ranged = kpc.compile(digits.MODEL, arch="host", dims={"image": [kpc.Dim(4, 64, opt=8, div=4), 1, 8, "?"]}, jobs=1)
        batch = ranged.dims["batch"]
        self.assertEqual((batch.min, batch.max, batch.optimum, batch.divisor), (4, 64, 8, 4))

    def test_warnings(self):
        many = {"arch": "host", "precision": "fp16", "precision_for": {"flatten": "fp32"}, "jobs": 1}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            artifact = kpc.compile(digits.MODEL, **many)
        said, = (w for w in caught if issubclass(w.category, kpc.CompileWarning))
        self.assertEqual(said.filename, __file__)
        self.assertIn("KPC-U0008", str(said.message))
        self.assertEqual([d.code for d in artifact.report.diagnostics], ["KPC-U0008"])
        self.assertEqual(len(artifact.report.slow_paths), 0)
        with self.assertRaisesRegex(kpc.CompileError, "KPC-U0008"):
            kpc.compile(digits.MODEL, strict=True, **many)

    def test_progress_is_told_and_its_faults_raised(self):
        seen = []
        kpc.compile(digits.MODEL, arch="host", jobs=1, cache=False, progress=lambda *now: seen.append(now))
        self.assertIn(("kernels", 6, 6), seen)

        def fail(phase, done, total):
            raise RuntimeError("the callback's own")

        with self.assertRaisesRegex(RuntimeError, "the callback's own"):
            kpc.compile(digits.MODEL, arch="host", jobs=1, cache=False, progress=fail)

    def test_a_bar_is_drawn_and_taken_away(self):
        with mock.patch("sys.stderr", io.StringIO()) as screen:
            kpc.compile(digits.MODEL, arch="host", jobs=1, cache=False, progress=True)
        self.assertRegex(screen.getvalue(), r"kernels +\[=+\] 6/6")
        self.assertTrue(screen.getvalue().endswith("\r\033[K"))

    def test_caches(self):
        cache = self.folder / "cache"
        for hits in (0, 6):
            artifact = kpc.compile(digits.MODEL, arch="host", jobs=1, cache=cache)
            self.assertEqual(artifact.report.targets[0]["cache_hits"], hits)

    def test_threads_compile_side_by_side(self):
        made = []
        threads = [threading.Thread(target=lambda: made.append(kpc.compile(digits.MODEL, arch="host", jobs=1)))
                   for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len({bytes(artifact) for artifact in made}), 1)

    def test_an_interrupt_ends_the_compiler(self):
        program = textwrap.dedent("""
            import kpc, signal, sys
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
            try:
                kpc.compile(sys.argv[1], arch="host", jobs=1, cache=False, progress=lambda *now: print(*now, flush=True))
            except KeyboardInterrupt:
                print("interrupted", flush=True)
        """)
        environment = {**os.environ, "KPC_CRASH_FOR_TESTING": "hang"}  # in a worker: the compilation never ends by itself
        process = subprocess.Popen([sys.executable, "-c", program, str(digits.MODEL)], stdout=subprocess.PIPE, text=True,
                                   env=environment)
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        try:
            out, _ = process.communicate(timeout=30)
        finally:
            process.kill()
        self.assertEqual(out.splitlines()[-1], "interrupted")

    def test_a_crash_of_the_compiler_is_an_exception(self):
        with mock.patch.dict(os.environ, KPC_CRASH_FOR_TESTING="abort", TMPDIR=str(self.folder)):
            with self.assertRaises(kpc.InternalError) as caught:
                kpc.compile(digits.MODEL, arch="host", jobs=1, cache=False)
        self.assertTrue(str(caught.exception))


if __name__ == "__main__":
    unittest.main()
