# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forms of ONNX's own operators that its node tests do not have, or have only with shapes as inputs."""

import numpy as np

from case import Case, Const

rng = np.random.default_rng(29)


def f(*shape, kind=np.float32):
    return rng.standard_normal(shape).astype(kind)


def sizes(*values):
    return Const(values, np.int64)


def col2im():
    return [Case("Col2Im", f(2, 12, 12), sizes(4, 5), sizes(2, 2), opset=18),
            Case("Col2Im", f(1, 18, 4), sizes(5, 5), sizes(3, 3), strides=[2, 2], opset=18, name="strides"),
            Case("Col2Im", f(1, 12, 42), sizes(5, 6), sizes(2, 3), pads=[1, 1, 1, 2], opset=18, name="pads"),
            Case("Col2Im", f(1, 8, 6), sizes(5, 4), sizes(2, 2), dilations=[2, 2], opset=18, name="dilations"),
            Case("Col2Im", f(1, 16, 12), sizes(3, 4, 3), sizes(2, 2, 2), opset=18, name="volume")]


def norms():
    return [Case("LRN", f(2, 5, 3, 3), size=99, alpha=0.5, opset=13, name="beyond"), Case("LRN", f(2, 5, 3, 3), size=3, alpha=0.5, opset=13)]


def regions():
    x = f(2, 3, 8, 9)
    boxes = np.array([[0, 0, 0, 5, 4], [1, 2, 1, 8, 7], [0, 3, 3, 3, 3]], np.float32)
    places = np.array([[0.0, 0.0, 5.0, 4.0], [2.0, 1.0, 8.0, 7.5], [-1.0, -2.0, 9.5, 10.0]], np.float32)
    images = np.array([0, 1, 0], np.int64)
    return [Case("MaxRoiPool", x, boxes, pooled_shape=[2, 3], opset=1), Case("MaxRoiPool", x, boxes, pooled_shape=[3, 2], spatial_scale=0.5,
                                                                             opset=1, name="scale"),
            Case("RoiAlign", x, places, images, output_height=2, output_width=3, sampling_ratio=2, opset=16),
            Case("RoiAlign", x, places, images, output_height=2, output_width=3, sampling_ratio=3, spatial_scale=0.5, opset=10, name="old"),
            Case("RoiAlign", x, places, images, output_height=2, output_width=2, sampling_ratio=2, mode="max", opset=16, name="max"),
            Case("RoiAlign", x, places, images, output_height=2, output_width=3, opset=16, name="by-size"),
            Case("RoiAlign", x, places, images, output_height=3, output_width=2, spatial_scale=0.5, opset=10, name="old-by-size"),
            Case("RoiAlign", x, places, images, output_height=2, output_width=2, mode="max", opset=16, name="max-by-size")]


class Transform(Case):
    """Beside numpy in f64: onnxruntime's angles are f32, which long transforms show."""

    def reference(self):
        x = self.inputs[0].astype(np.float64)
        signal = x[..., 0] + 1j * (x[..., 1] if x.shape[-1] == 2 else 0)
        if self.op == "STFT":
            step, window = (self.inputs[i].value for i in (1, 2))
            starts = range(0, signal.shape[1] - len(window) + 1, int(step))
            spectrum = np.stack([np.fft.rfft(signal[:, s:s + len(window)].real * window.astype(np.float64)) for s in starts], 1)
        elif self.attributes.get("inverse") and self.attributes.get("onesided"):
            return {"y0": np.fft.irfft(signal, int(self.inputs[1].value), axis=1)[..., None].astype(np.float32)}
        else:
            spectrum = np.fft.ifft(signal, axis=1) if self.attributes.get("inverse") else np.fft.fft(signal, axis=1)
            spectrum = spectrum[:, :x.shape[1] // 2 + 1] if self.attributes.get("onesided") else spectrum
        return {"y0": np.stack([spectrum.real, spectrum.imag], -1).astype(np.float32)}


def transforms():
    """Lengths that are taken apart, a prime, and frames of a length with two factors. The error is of the greatest element."""
    def of(length, parts, name, **attributes):
        bins = length // 2 + 1 if attributes.get("inverse") and attributes.get("onesided") else length
        scale = 1 if attributes.get("inverse") else length ** 0.5
        return Transform("DFT", f(2, bins, parts), Const(np.int64(length)) if bins < length else None, Const(np.int64(1)), opset=20, name=name,
                         absolute=1e-5 * scale, relative=0, **attributes)
    return [of(1000, 1, "factors", onesided=1), of(2310, 2, "many-factors"), of(1031, 2, "prime", inverse=1), of(2053, 1, "long-prime"),
            of(999, 2, "real", inverse=1, onesided=1),
            Transform("STFT", f(2, 6000, 1), Const(np.int64(300)), Const(np.hanning(1200).astype(np.float32)), Const(np.int64(1200)), opset=17,
                      absolute=3e-4, relative=0)]


def others():
    tokens = rng.integers(0, 4, (3, 9))
    pool = dict(min_gram_length=1, max_gram_length=2, max_skip_count=2, ngram_counts=[0, 3], ngram_indexes=[0, 2, 1, 4, 3],
                pool_int64s=[1, 2, 3, 1, 2, 3, 3])
    volume = f(1, 2, 4, 5, 6)
    grid = rng.uniform(-1.3, 1.3, (1, 3, 4, 2, 3)).astype(np.float32)
    cases = [Case("TfIdfVectorizer", tokens, mode=mode, weights=[0.5, 1.0, 1.5, 2.0, 2.5], opset=9, name=mode, **pool)
             for mode in ("TF", "IDF", "TFIDF")]
    cases += [Case("GridSample", volume, grid, mode="linear", padding_mode=pads, opset=20, name=pads)
              for pads in ("zeros", "border", "reflection")]
    return cases + [
        Case("AffineGrid", f(2, 2, 3), sizes(2, 1, 4, 5), opset=20), Case("AffineGrid", f(1, 3, 4), sizes(1, 1, 3, 4, 5), opset=20,
                                                                         align_corners=1, name="volume"),
        Case("CenterCropPad", f(7, 4), sizes(4, 9), opset=18), Case("Resize", f(1, 1, 5, 6), None, Const([1, 1, 0.6, 1.7], np.float32),
                                                                    mode="cubic", antialias=1, opset=18),
    ]


def cases():
    return col2im() + norms() + regions() + transforms() + others()
