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


def regions():
    x = f(2, 3, 8, 9)
    boxes = np.array([[0, 0, 0, 5, 4], [1, 2, 1, 8, 7], [0, 3, 3, 3, 3]], np.float32)
    places = np.array([[0.0, 0.0, 5.0, 4.0], [2.0, 1.0, 8.0, 7.5], [-1.0, -2.0, 9.5, 10.0]], np.float32)
    images = np.array([0, 1, 0], np.int64)
    return [Case("MaxRoiPool", x, boxes, pooled_shape=[2, 3], opset=1), Case("MaxRoiPool", x, boxes, pooled_shape=[3, 2], spatial_scale=0.5,
                                                                             opset=1, name="scale"),
            Case("RoiAlign", x, places, images, output_height=2, output_width=3, sampling_ratio=2, opset=16),
            Case("RoiAlign", x, places, images, output_height=2, output_width=3, sampling_ratio=3, spatial_scale=0.5, opset=10, name="old"),
            Case("RoiAlign", x, places, images, output_height=2, output_width=2, sampling_ratio=2, mode="max", opset=16, name="max")]


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
    return col2im() + regions() + others()
