# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kpc with PyTorch: kpc.compile of modules, tensors of torch, torch.compile(backend="kpc").

    pip install build/wheels/kpc-*.whl torch
    KPC_SOURCE=. python python/tests/torch_test.py -v             # on a GPU, too, where there is one

It is no part of CI, whose machines have no torch, and skips without it. KPC_TORCH_VIA=onnx takes the way through PyTorch's
ONNX exporter (needs onnxscript) instead of .pt2 files.
"""

import os
import tempfile
import unittest
import warnings

import digits
import kpc
import numpy as np

try:
    import torch
except ImportError:
    torch = None

VIA = os.environ.get("KPC_TORCH_VIA", "pt2")


def devices():
    return ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def arch_of(device):
    return "host" if device == "cpu" else "portable"


def network():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.LayerNorm(64), torch.nn.Linear(64, 8)).eval()


def near(got, want):
    np.testing.assert_allclose(got.detach().cpu().numpy(), want.detach().cpu().numpy(), rtol=1e-3, atol=1e-3)


@unittest.skipIf(torch is None, "torch is not installed")
class Tensors(unittest.TestCase):
    """No exporter is needed: the model is examples/digits."""

    def test_tensors_in_and_out(self):
        expected = digits.artifact().session("host")(digits.IMAGES[:4])
        for device in devices():
            with self.subTest(device):
                session = digits.fat_artifact().session(device)
                images = torch.from_numpy(np.ascontiguousarray(digits.IMAGES[:4])).to(device)
                for _ in range(3):  # the second run has outputs of torch's own
                    scores = session(images)
                    self.assertEqual((scores.device.type, scores.dtype), (device, torch.float32))
                    np.testing.assert_allclose(scores.cpu().numpy(), expected, rtol=1e-3, atol=1e-3)
                turned = images.transpose(2, 3).contiguous().transpose(2, 3)
                near(session(turned), scores)
                near(session(images.requires_grad_()), scores)
                if device == "cuda":
                    self.assertEqual(session.copied, [])

    @unittest.skipUnless(torch is not None and torch.cuda.is_available(), "needs an NVIDIA GPU")
    def test_streams(self):
        session = digits.fat_artifact().session("cuda")
        images = torch.from_numpy(np.ascontiguousarray(digits.IMAGES[:4])).cuda()
        expected = session(images).clone()
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            later = images * 0 + 1
            torch.cuda._sleep(10_000_000)
            later.copy_(images)
            scores = session(later)  # must wait for the copy
        stream.synchronize()
        near(scores, expected)
        call = session.call({"image": images})
        near(call()["scores"], expected)
        near(session.run({"image": images}, stream=stream)["scores"], expected)


@unittest.skipIf(torch is None, "torch is not installed")
class Modules(unittest.TestCase):
    def test_modules_and_exported_programs(self):
        module, x = network(), torch.randn(4, 32)
        program = torch.export.export(module, (x,))
        for model, options in ((module, {"example_inputs": (x,)}), (module, {"example_inputs": x}), (program, {})):
            artifact = kpc.compile(model, arch="host", via=VIA, **options)
            near(artifact.session("host")(x), module(x))

    def test_dynamic_shapes(self):
        module = network()
        artifact = kpc.compile(module, example_inputs=(torch.randn(4, 32),), arch="host", via=VIA,
                               dynamic_shapes=({0: torch.export.Dim("batch", min=1, max=64)},))
        self.assertEqual(len(artifact.dims), 1)
        session = artifact.session("host")
        for batch in (2, 5):
            x = torch.randn(batch, 32)
            near(session(x), module(x))

    def test_sizes_that_data_decides(self):
        class Kept(torch.nn.Module):
            def forward(self, x, y):
                return x[y > 0]

        x, positive = torch.randn(6, 4), torch.tensor([1.0, -1, 1, 1, -1, 1])
        artifact = kpc.compile(Kept().eval(), example_inputs=(x, positive), arch=["host", "portable"], via=VIA)
        self.assertEqual(len(artifact.data_sizes), 1)
        for device in devices():
            session = artifact.session(device)
            for y in (positive, -positive, positive * 0, positive * 0 + 1, positive):  # other sizes for inputs of the same shapes
                with self.subTest(device):
                    near(session(x.to(device), y.to(device)), Kept()(x, y))

    def test_what_is_refused(self):
        with self.assertRaisesRegex(kpc.UsageError, "example_inputs"):
            kpc.compile(network(), arch="host")
        with self.assertRaisesRegex(kpc.UsageError, "training mode"):
            kpc.compile(network().train(), example_inputs=(torch.randn(4, 32),), arch="host")


@unittest.skipIf(torch is None, "torch is not installed")
class Backend(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.options = {"cache_dir": folder.name, "via": VIA}
        torch._dynamo.reset()
        from kpc import torch_backend
        torch_backend._warned.clear()

    def compiled(self, module, device="cpu", **more):
        return torch.compile(module, backend="kpc", options={**self.options, "arch": arch_of(device)}, **more)

    def test_it_is_found_by_its_name(self):
        self.assertIn("kpc", torch._dynamo.list_backends())

    def test_results_and_the_cache(self):
        for device in devices():
            with self.subTest(device), torch.inference_mode(), warnings.catch_warnings():
                warnings.simplefilter("error", kpc.CompileWarning)  # nothing may fall back
                module, x = network().to(device), torch.randn(4, 32, device=device)
                near(self.compiled(module, device)(x), module(x))
                kept = set(os.listdir(self.options["cache_dir"]))
                torch._dynamo.reset()
                near(self.compiled(module, device)(x), module(x))
                self.assertEqual(set(os.listdir(self.options["cache_dir"])), kept)

    def test_dynamic_sizes(self):
        with torch.inference_mode(), warnings.catch_warnings():
            warnings.simplefilter("error", kpc.CompileWarning)
            module = network()
            fast = self.compiled(module, dynamic=True)
            for batch in (4, 7, 3):
                x = torch.randn(batch, 32)
                near(fast(x), module(x))

    def test_weights_of_their_own(self):
        with torch.inference_mode():
            first, second = network(), network()
            with torch.no_grad():
                second[0].weight.mul_(2)
            x = torch.randn(4, 32)
            near(self.compiled(first)(x), first(x))
            near(self.compiled(second)(x), second(x))

    def test_training_falls_back_with_one_warning(self):
        module, x = network().train(), torch.randn(4, 32)
        fast = self.compiled(module)
        with self.assertWarnsRegex(kpc.CompileWarning, "gradients"):
            fast(x).sum().backward()
        self.assertIsNotNone(module[0].weight.grad)
        torch._dynamo.reset()
        with warnings.catch_warnings():
            warnings.simplefilter("error", kpc.CompileWarning)
            self.compiled(module)(x)

    def test_what_does_not_compile_falls_back(self):
        # An operator of this test's own: kpc cannot know it, whatever it learns.
        @torch.library.custom_op("kpc_test::halved", mutates_args=())
        def halved(x: torch.Tensor) -> torch.Tensor:
            return x / 2

        @halved.register_fake
        def _(x):
            return torch.empty_like(x)

        class Strange(torch.nn.Module):
            def forward(self, x):
                return halved(x) + 1

        x = torch.randn(4, 4)
        with torch.inference_mode(), self.assertWarnsRegex(kpc.CompileWarning, "falls back"):
            near(self.compiled(Strange())(x), Strange()(x))

    def test_unknown_options(self):
        with self.assertRaises(Exception) as caught, torch.inference_mode():
            torch.compile(network(), backend="kpc", options={"speed": 1})(torch.randn(4, 32))
        self.assertIn("speed", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
