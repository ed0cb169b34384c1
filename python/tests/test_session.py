# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sessions: arrays in and out, what is refused, threads, the emulated GPU."""

import copy
import gc
import pickle
import threading
import unittest
import weakref

import digits
import kpc
import numpy as np


class DlPackOnly:
    """An array of a library that is not numpy: DLPack is all that it has."""

    def __init__(self, array, versioned=True):
        self.array, self.versioned = array, versioned

    def __dlpack__(self, **options):
        if not self.versioned and "max_version" in options:
            raise TypeError("an unexpected argument max_version")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Host(unittest.TestCase):
    def setUp(self):
        self.session = digits.artifact().session("host")
        self.images = np.ascontiguousarray(digits.IMAGES[:4])
        self.expected = self.session(self.images)

    def test_digits_are_recognised(self):
        scores = self.session(digits.IMAGES[:360])
        self.assertGreater((scores.argmax(1) == digits.LABELS[:360]).mean(), 0.95)
        self.assertEqual((scores.dtype, scores.shape), (np.dtype("f4"), (360, 10)))
        self.assertTrue(scores.flags.writeable)

    def test_forms_of_a_call(self):
        for result in (self.session(image=self.images), self.session.run({"image": self.images})["scores"],
                       self.session(self.images.tolist()), self.session(DlPackOnly(self.images)),
                       self.session(DlPackOnly(self.images, versioned=False))):
            np.testing.assert_array_equal(result, self.expected)
            self.assertIsInstance(result, np.ndarray)

    def test_arrays_of_any_layout(self):
        turned = np.asfortranarray(self.images)
        np.testing.assert_array_equal(self.session(turned), self.expected)
        self.assertEqual(self.session.copied, [kpc.Copied("image", "it is not contiguous")])
        with self.assertRaisesRegex(ValueError, r"not contiguous; .*\(kpc.aligned"):
            self.session.call({"image": turned})
        swapped = self.images.astype(">f4")
        np.testing.assert_array_equal(self.session(swapped), self.expected)
        self.assertIn("another order", self.session.copied[0].reason)
        self.assertTrue(kpc.aligned(swapped).dtype.isnative)
        every_second = np.repeat(self.images, 2, axis=0)[::2]
        np.testing.assert_array_equal(self.session(every_second), self.expected)
        read_only = self.images.copy()
        read_only.flags.writeable = False
        np.testing.assert_array_equal(self.session(read_only), self.expected)
        self.assertEqual(self.session(self.images[:1]).shape, (1, 10))

    def test_copies_are_told(self):
        memory = kpc.empty((5, 1, 8, 8))
        memory[:4] = self.images
        self.session(memory[:4])
        self.assertEqual(self.session.copied, [])
        beside = np.empty(4 * 64 + 17, np.float32)[1:][-4 * 64 - 1:-1]
        if beside.ctypes.data % 64 == 0:
            beside = np.empty(4 * 64 + 17, np.float32)[2:2 + 4 * 64]
        beside = beside.reshape(4, 1, 8, 8)
        beside[...] = self.images
        np.testing.assert_array_equal(self.session(beside), self.expected)
        self.assertEqual([(copy.name, copy.reason) for copy in self.session.copied],
                         [("image", "its address is no multiple of 64")])
        self.assertIs(kpc.aligned(memory), memory)
        self.assertEqual(kpc.aligned(beside).ctypes.data % 64, 0)

    def test_outputs_outlive_everything(self):
        artifact = kpc.load(bytes(digits.artifact()))
        session = artifact.session()
        scores = session(self.images)
        gone = weakref.ref(session)
        del session, artifact
        gc.collect()
        self.assertIsNone(gone())
        np.testing.assert_array_equal(scores, self.expected)
        tensor = self.session._session.run((self.images,), 0)[0]
        for consumer in (np.from_dlpack, lambda made: np.from_dlpack(DlPackOnly(made))):
            view = consumer(tensor)
            np.testing.assert_array_equal(view, self.expected)
        del tensor
        gc.collect()
        np.testing.assert_array_equal(view, self.expected)

    def test_what_is_refused(self):
        good = self.images
        for run, code, text in (
                (lambda: self.session(good.astype(np.float64)), "KPC_ERROR_WRONG_TYPE", r"f64, expected f32"),
                (lambda: self.session(good[0]), "KPC_ERROR_WRONG_SHAPE", "rank 3"),
                (lambda: self.session(np.zeros((4, 1, 8, 9), np.float32)), "KPC_ERROR_WRONG_SHAPE", "image"),
                (lambda: self.session(np.zeros((600, 1, 8, 8), np.float32)), "KPC_ERROR_OUT_OF_RANGE", "1 to 512"),
                (lambda: self.session(np.zeros((0, 1, 8, 8), np.float32)), "KPC_ERROR_OUT_OF_RANGE", "1 to 512"),
                (lambda: self.session(picture=good), "KPC_ERROR_UNKNOWN_NAME", "no input 'picture'"),
                (lambda: self.session(), "KPC_ERROR_MISSING", "the input 'image' was not given"),
                (lambda: self.session.prepare(batch=0), "KPC_ERROR_OUT_OF_RANGE", "batch"),
                (lambda: self.session.prepare(), "KPC_ERROR_MISSING", "batch"),
                (lambda: digits.artifact().session("cuda", driver="/nothing.so"), "KPC_ERROR_", "")):
            with self.subTest(text), self.assertRaisesRegex(kpc.RunError, text) as caught:
                run()
            self.assertTrue(caught.exception.code.startswith(code), caught.exception.code)
        for run, kind in ((lambda: self.session(good, good), TypeError), (lambda: self.session(object()), TypeError),
                          (lambda: self.session(good, image=good), TypeError), (lambda: self.session([["a"]]), TypeError),
                          (lambda: self.session(np.array(["text"])), TypeError),
                          (lambda: self.session(good.astype(object)), TypeError),
                          (lambda: self.session.run(good), TypeError), (lambda: self.session({"image": good}), TypeError),
                          (lambda: self.session.prepare(batch="8"), TypeError), (lambda: self.session.run(image=good), TypeError),
                          (lambda: digits.artifact().session("host", threads="2"), TypeError),
                          (lambda: digits.artifact().session("gpu"), ValueError),
                          (lambda: pickle.dumps(self.session), TypeError), (lambda: copy.copy(self.session), TypeError),
                          (lambda: self.session.call({"image": good.astype(">f4")}), ValueError),
                          (lambda: self.session.run({"image": good}, stream=1), ValueError),
                          (lambda: digits.artifact().session("tpu"), ValueError)):
            with self.subTest(kind), self.assertRaises(kind):
                run()
        np.testing.assert_array_equal(self.session(good), self.expected)
        with self.assertRaises(kpc.RunError) as caught:
            self.session(good.astype(np.float64))
        self.assertEqual(caught.exception.hint, "image.astype('float32')")

    def test_empty_takes_shapes_of_any_kind(self):
        for shape, wanted in ((3, (3,)), (np.int64(3), (3,)), (np.array([2, 3]), (2, 3)), ([2, 3], (2, 3)), ((), ()),
                              (np.array(4), (4,)), (np.array([5]), (5,))):
            with self.subTest(shape):
                self.assertEqual(kpc.empty(shape).shape, wanted)

    def test_a_scalar_of_other_bytes_stays_a_scalar(self):
        swapped = np.array(2.5, ">f4")
        self.session._spread = []
        given = self.session._argument(0, swapped)
        self.assertEqual((given.shape, given.dtype.isnative, float(given)), ((), True, 2.5))

    def test_a_session_is_closed(self):
        with digits.artifact().session("HOST") as session:
            scores = session(self.images)
            call = session.call({"image": self.images})
        np.testing.assert_array_equal(scores, self.expected)
        np.testing.assert_array_equal(call()["scores"], self.expected)
        self.assertIn("scores: float32[4, 10]", repr(call))
        with self.assertRaisesRegex(kpc.RunError, "the session is closed"):
            session(self.images)
        self.assertIn("closed)", repr(session))
        session.close()

    def test_calls_that_are_ready(self):
        image = kpc.empty((4, 1, 8, 8))
        call = self.session.call({"image": image})
        image[...] = self.images
        np.testing.assert_array_equal(call()["scores"], self.expected)
        self.assertEqual(call.copied, [])
        image[...] = 0
        self.assertFalse(np.array_equal(call()["scores"], self.expected))
        into = np.zeros((4, 10), np.float32)
        self.session.call({"image": self.images}, {"scores": into})()
        np.testing.assert_array_equal(into, self.expected)
        into.flags.writeable = False
        with self.assertRaises((ValueError, BufferError)):
            self.session.call({"image": self.images}, {"scores": into})
        with self.assertRaises(kpc.RunError):
            self.session.call({"image": self.images}, {})
        with self.assertRaisesRegex(kpc.RunError, "scores"):
            self.session.call({"image": self.images}, {"scores": np.zeros((3, 10), np.float32)})()

    def test_shapes_are_prepared(self):
        self.session.prepare(batch=7)
        self.session.prepare({"batch": 9})
        self.assertGreaterEqual(self.session.memory["bound_shapes"], 2)
        self.assertEqual(self.session(digits.IMAGES[:7]).shape, (7, 10))

    def test_threads_take_turns(self):
        failed = []

        def work(count):
            images = np.ascontiguousarray(digits.IMAGES[:count])
            expected = digits.artifact().session("host", threads=1)(images)
            for _ in range(50):
                if not np.array_equal(self.session(images), expected):
                    failed.append(count)

        threads = [threading.Thread(target=work, args=(count,)) for count in (1, 2, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])

    def test_a_profile(self):
        profile = self.session.profile({"image": self.images})
        self.assertEqual(len(profile.steps), 6)
        self.assertEqual(profile.steps[0].nodes, "conv1, relu1")
        self.assertIn("conv2+relu2", repr(profile))
        self.assertIn("traceEvents", profile.trace)

    def test_bf16_is_bits(self):
        artifact = kpc.compile(digits.MODEL, arch="host", precision="bf16", io_precision="bf16", jobs=1)
        self.assertEqual(artifact.inputs[0].type, "bf16")
        bits = (self.images.view(np.uint32) >> 16).astype(np.uint16)
        scores = artifact.session()(bits)
        self.assertEqual(scores.dtype, np.uint16)
        numbers = (scores.astype(np.uint32) << 16).view(np.float32)
        np.testing.assert_array_equal(numbers.argmax(1), self.expected.argmax(1))
        with self.assertRaisesRegex(kpc.RunError, "expected bf16"):
            artifact.session()(self.images)
        try:
            import ml_dtypes
        except ImportError:
            return
        np.testing.assert_array_equal(artifact.session()(bits.view(ml_dtypes.bfloat16)), scores)

    def test_lists_lose_nothing(self):
        spec = kpc.TensorSpec("x", "i64", (2,))
        made = kpc._session._array_of([1, 2], spec)
        self.assertEqual((made.dtype, made.tolist()), (np.dtype("i8"), [1, 2]))
        self.assertEqual(kpc._session._array_of([], spec).dtype, np.dtype("i8"))
        for value, kind in (([1.5, 2], "i64"), ([1], "bool"), ([300], "u8"), ([-1], "u8"), ([1j], "f32"), ([1], "bf16"),
                            ([[1], [1, 2]], "f32"), ("text", "f32"), (None, "f32")):
            with self.subTest(value=value, kind=kind), self.assertRaisesRegex(TypeError, "the input x: "):
                kpc._session._array_of(value, kpc.TensorSpec("x", kind, ("n",)))
        self.assertEqual(kpc._session._array_of(True, kpc.TensorSpec("x", "f32", ())), np.float32(1))

    def test_fp16(self):
        artifact = kpc.compile(digits.MODEL, arch="host", precision="fp16", io_precision="fp16", jobs=1)
        scores = artifact.session()(self.images.astype(np.float16))
        self.assertEqual(scores.dtype, np.float16)
        np.testing.assert_allclose(scores.astype(np.float32), self.expected, atol=0.1)


class Device(unittest.TestCase):
    """The emulated GPU: the runtime's way with a device, on any machine."""

    def test_host_arrays_are_carried_over(self):
        images = digits.IMAGES[:2]
        session = digits.fat_artifact().session("emulate:sm_90a")
        self.assertEqual(session.device, "cuda:0")
        self.assertTrue(session.target.startswith("compute_"), session.target)
        scores = session(images)
        np.testing.assert_allclose(scores, digits.artifact().session()(images), rtol=1e-4, atol=1e-4)
        self.assertEqual([copy.reason for copy in session.copied], ["it is not on the session's device"])

    def test_without_a_gpu_the_host_is_taken(self):
        session = digits.fat_artifact().session(driver="/no/driver.so")
        self.assertEqual(session.device, "host")


if __name__ == "__main__":
    unittest.main()
