# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dims of several names that an operator needs to be equal, and those that it does not."""

import numpy as np

from form import T, case

r = np.random.default_rng(6)


def F(*shape):
    return r.standard_normal(shape).astype(np.float32)


def ints(values):
    return np.array(values, np.int64)



case("named_scatternd", T('''g (float[n, m] x, int64[k, l] i, float[q, p] u) => (y) { y = ScatterND(x, i, u) }''', opset=16),
     dict(x=F(5, 4), i=ints([[1], [3]]), u=F(2, 4)), dict(x=F(3, 2), i=ints([[0], [2], [1]]), u=F(3, 2)))
case("named_scatterel", T('''g (float[n, m] x, int64[k, l] i, float[q, p] u) => (y) { y = ScatterElements<axis=1>(x, i, u) }''', opset=16),
     dict(x=F(5, 4), i=ints([[0, 3], [2, 1]]), u=F(2, 2)))
case("named_gathernd", T('''g (float[n, m, 3] x, int64[k, l, 1] i) => (y) { y = GatherND<batch_dims=1>(x, i) }''', opset=13),
     dict(x=F(2, 4, 3), i=ints([[[0], [3]], [[2], [1]]])))
case("named_gatherel", T('''g (float[n, m] x, int64[k, l] i, int64[k, 1] c) => (y, z) { y = GatherElements<axis=1>(x, i)
    z = GatherElements<axis=0>(x, c) }''', opset=13),
     dict(x=F(5, 6), i=ints([[0, 5], [-6, 2], [1, 3]]), c=ints([[4], [0], [-1]])), dict(x=F(2, 1), i=ints([[0, 0, 0]]), c=ints([[1]])))
case("named_einsum", T('''g (float[b, s, h, d] q, float[c, t, i, e] k, float[n, 1] v, float[f] w) => (y, z) {
    y = Einsum<equation="bqhd,bkhd->bhqk">(q, k)
    z = Einsum<equation="ij,j->i">(v, w) }''', opset=13), dict(q=F(2, 3, 4, 5), k=F(2, 6, 4, 5), v=F(3, 1), w=F(4)))
case("named_gridsample", T('''g (float[b, c, h, w] x, float[n, p, q, l] gr) => (y) { y = GridSample(x, gr) }''', opset=16),
     dict(x=F(2, 2, 5, 6), gr=F(2, 3, 4, 2)))
case("named_roialign", T('''g (float[b, c, h, w] x, float[k, l] rois, int64[n] bi) => (y) { y = RoiAlign<output_height=2, output_width=2, sampling_ratio=1>(x, rois, bi) }''', opset=16),
     dict(x=F(2, 3, 8, 8), rois=np.float32([[1, 1, 7, 7], [0, 2, 6, 5]]), bi=ints([0, 1])))
case("named_reshape", T('''g (float[n, 4] x, float[m, 2, 2] z) => (y) { s = Shape(z)
    y = Reshape(x, s) }''', opset=13), dict(x=F(3, 4), z=F(3, 2, 2)))
case("named_tensorscatter", T('''g (float[b, s, d] x, float[c, t, e] u, int64[n] at) => (y) { y = TensorScatter<axis=1>(x, u, at) }''', opset=24, ir=11),
     dict(x=F(2, 6, 4), u=F(2, 2, 4), at=ints([0, 3])))
case("named_unpool", T('''g (float[b, c, h, w] x, int64[n, k, p, q] i) => (y) { y = MaxUnpool<kernel_shape=[2, 2], strides=[2, 2]>(x, i) }''', opset=11, ir=6),
     dict(x=F(1, 1, 2, 2), i=ints([[[[0, 3], [8, 15]]]])))
case("named_topk", T('''g (float[n, m] x, int64[l] k) => (v, i) { v, i = TopK(x, k) }''', opset=13),
     dict(x=F(3, 9), k=ints([4])), dict(x=F(3, 9), k=ints([9])))
case("named_nms", T('''g (float[b, n, 4] x, float[c, k, m] s, int64[l] most) => (y) { y = NonMaxSuppression(x, s, most) }''', opset=11, ir=6),
     dict(x=(r.random((2, 6, 4)) * 9).astype(np.float32), s=F(2, 3, 6), most=ints([3])))
