# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic, operators with many forms, and files that are sloppy."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, parser

from form import F, T, case, r, u8

case("int_arith", T('''g (int64[n] a, int64[n] b, int32[n] c) => (d, m, f, s, x, p) { d = Div(a, b)
    m = Mod(a, b)
    f = Mod<fmod=1>(a, b)
    s = Sub(a, b)
    x = BitwiseXor(a, b)
    t = Constant<value: tensor = int32 {3}>()
    p = Pow(c, t) }''', opset=18), dict(a=np.array([7, -7, 7, -7]), b=np.array([3, 3, -3, -3]), c=np.array([2, -3, 0, 5], np.int32)))
case("bitshift_u8", T('''g (uint8[n] a, uint8[n] b) => (l, rr) { l = BitShift<direction="LEFT">(a, b)
    rr = BitShift<direction="RIGHT">(a, b) }''', opset=11, ir=6), dict(a=u8(5), b=np.array([0, 1, 3, 7, 2], np.uint8)))
case("scatter_red", T('''g (float[n, m] x, int64[k, m] i, float[k, m] u) => (a, b, c) { a = ScatterElements<reduction="add">(x, i, u)
    b = ScatterElements<axis=0, reduction="max">(x, i, u)
    c = ScatterElements<axis=0>(x, i2, u2) }''', dict(i2=np.array([[-1, 0]]), u2=F(1, 2)), opset=18), dict(x=F(4, 2), i=np.array([[0, 3], [1, 2]]), u=F(2, 2)))
case("gathernd_batch", T('''g (float[b, n, m] x, int64[b, k, 1] i) => (y) { y = GatherND<batch_dims=1>(x, i) }''', opset=13), dict(x=F(2, 4, 3), i=np.array([[[0], [-1]], [[2], [1]]])))
case("gatherelem_neg", T('''g (float[n, m] x, int64[n, k] i) => (y) { y = GatherElements<axis=1>(x, i) }''', opset=13), dict(x=F(2, 4), i=np.array([[-1, 0, 3], [2, -4, 1]])))
case("trilu_k", T('''g (float[n, m, p] x, int64 k) => (y, z) { y = Trilu(x, k)
    z = Trilu<upper=0>(x) }''', opset=14), dict(x=F(2, 4, 5), k=np.int64(1)), dict(x=F(2, 4, 5), k=np.int64(-2)))
case("eyelike", T('''g (int32[n, m] x) => (y, z) { y = EyeLike<k=1, dtype=1>(x)
    z = EyeLike(x) }''', opset=9, ir=4), dict(x=np.ones((3, 4), np.int32)))
case("d2s_crd", T('''g (float[n, 8, h, w] x) => (y, z) { y = DepthToSpace<blocksize=2, mode="CRD">(x)
    z = SpaceToDepth<blocksize=2>(y) }''', opset=13), dict(x=F(1, 8, 2, 3)))
case("roialign", T('''g (float[b, c, h, w] x, float[k, 4] rois, int64[k] bi) => (y, z) { y = RoiAlign<output_height=3, output_width=2, sampling_ratio=2, spatial_scale=0.5>(x, rois, bi)
    z = RoiAlign<output_height=2, output_width=2, sampling_ratio=1, mode="max", coordinate_transformation_mode="output_half_pixel">(x, rois, bi) }''', opset=16), dict(x=F(2, 3, 8, 8), rois=np.float32([[1, 1, 9, 9], [0, 2, 6, 15]]), bi=np.array([0, 1])))
case("gridsample", T('''g (float[b, c, h, w] x, float[b, p, q, 2] gr) => (y, z, n) { y = GridSample<mode="bicubic", padding_mode="reflection", align_corners=1>(x, gr)
    z = GridSample<mode="bilinear", padding_mode="border">(x, gr)
    n = GridSample<mode="nearest">(x, gr) }''', opset=16), dict(x=F(1, 2, 5, 6), gr=F(1, 3, 4, 2)))
case("affinegrid", T('''g (float[b, 2, 3] t) => (y) { s = Constant<value_ints=[2, 1, 3, 4]>()
    y = AffineGrid<align_corners=0>(t, s) }''', opset=20), dict(t=F(2, 2, 3)))
case("softmax11", T('''g (float[n, 3, 4] x) => (y, z, h) { y = Softmax<axis=1>(x)
    z = LogSoftmax(x)
    h = Hardmax(x) }''', opset=11, ir=6), dict(x=F(2, 3, 4)))
case("clip_forms", T('''g (float[n] x, int64[n] i, float lo) => (a, b, c, d) { hi = Constant<value: tensor = float {0.5}>()
    a = Clip(x, "", hi)
    b = Clip(x, lo)
    il = Constant<value: tensor = int64 {-1}>()
    c = Clip(i, il)
    d = Clip(x) }''', opset=13), dict(x=F(6), i=np.array([-5, 0, 7, 1, 2, 3]), lo=np.float32(-0.1)))
case("clip6", T('''g (float[n] x) => (a) { a = Clip<min=-0.5>(x) }''', opset=6, ir=3), dict(x=F(6)))
case("casts", T('''g (float[n] x) => (b, h, u, i, s) { b = Cast<to=9>(x)
    h = Cast<to=10>(x)
    u = Cast<to=7>(x)
    i = Cast<to=3>(x)
    s = Cast<to=11>(x) }''', opset=13), dict(x=np.float32([0, -0.0, 1.7, -1.7, 3e3 / 100, 1e-8])))
case("reduce_forms", T('''g (float[n, m] x, bool[n, m] bb) => (a, b, c, d, e) { no = Constant<value: tensor = int64[0] {}>()
    a = ReduceSum(x, no)
    b = ReduceSum<noop_with_empty_axes=1>(x, no)
    c = ReduceLogSumExp<keepdims=0>(x)
    ax = Constant<value_ints=[-1]>()
    d = ReduceMax<keepdims=0>(bb, ax)
    e = ReduceL2(x, ax) }''', opset=20), dict(x=F(3, 4), bb=r.random((3, 4)) > 0.7))
def func():
    return parser.parse_model('''<ir_version: 9, opset_import: ["" : 17, "my" : 1]>
g (float[n, m] x) => (y, z) { y = my.Scaled<alpha = 2.5>(x)
    z = my.Twice(y) }
<domain: "my", opset_import: ["" : 17]> Scaled <alpha> (a) => (b) { c = Constant<value_float: float = @alpha>()
    b = Mul(a, c) }
<domain: "my", opset_import: ["" : 17, "my" : 1]> Twice (a) => (b) { d = my.Scaled<alpha = 0.5>(a)
    b = Add(d, a) }''')
case("functions", func, dict(x=F(2, 3)))
def func_default():
    m = func(); f = m.functions[0]; del f.attribute[:]
    f.attribute_proto.append(helper.make_attribute("alpha", 3.0)); del m.graph.node[0].attribute[:]
    return m
case("function_default_attr", func_default, dict(x=F(2, 3)))
def sloppy():
    m = T('''g (float[n, 4] x, float[4, 3] w) => (float[n, 3] y) { a = MatMul(x, w)
    y = Add(a, b) }''', dict(w=F(4, 3), b=F(3), unused=F(1000)))
    n = list(m.graph.node); del m.graph.node[:]; m.graph.node.extend(n[::-1])
    m.graph.value_info.append(helper.make_tensor_value_info("a", 1, [7, 3, 2])); m.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 9
    return m
case("sloppy_all", sloppy, dict(x=F(2, 4)))
def no_opset():
    m = T('''g (float[n, 4] x) => (float[n, 4] y) { y = Relu(x) }'''); del m.opset_import[:]; return m
def two_opsets():
    m = T('''g (float[n, 4] x) => (float[n, 4] y) { y = Relu(x) }'''); m.opset_import.append(helper.make_opsetid("ai.onnx", 13)); m.opset_import.append(helper.make_opsetid("com.microsoft.experimental", 1)); return m
case("opset_doubled", two_opsets, dict(x=F(2, 4)))
def domain_named():
    m = T('''g (float[n, 4] x) => (float[n, 4] y) { y = Relu(x) }'''); m.graph.node[0].domain = "ai.onnx"; return m
case("domain_ai_onnx", domain_named, dict(x=F(2, 4)))
def dup_names():
    m = T('''g (float[n, 4] x) => (y) { a = Relu(x)
    b = Neg(a)
    y = Add(a, b) }''')
    for n in m.graph.node: n.name = "same"
    return m
case("out_is_input", T('''g (float[n] x) => (float[n] x, y, w) { y = Neg(x)
    w = Identity(c) }''', dict(c=F(2))), dict(x=F(3)), drop_out=1)
case("no_inputs", T('''g () => (y) { y = Add(a, a) }''', dict(a=F(2, 2))), {})
def f16_int32data():
    t = TensorProto(name="w", data_type=10, dims=[3]); t.int32_data.extend(int(v) for v in np.float16([1, -2, 0.5]).view(np.uint16))
    m = T('''g (float16[n, 3] x) => (y) { y = Mul(x, w) }'''); m.graph.initializer.append(t); return m
case("f16_int32_data", f16_int32data, dict(x=F(2, 3, k=np.float16)), tol=1e-2)
case("zero_rows", T('''g (float[n, 4] x, float[4, 2] w) => (y, s, m) { y = MatMul(x, w)
    s = ReduceSum<keepdims=0>(x)
    ax = Constant<value_ints=[1]>()
    m = ReduceMean<axes=[1]>(x) }'''), dict(x=F(0, 4), w=F(4, 2)), dict(x=F(2, 4), w=F(4, 2)))
case("scalars", T('''g (float a, int64 i) => (b, c, d) { b = Exp(a)
    c = Cast<to=1>(i)
    d = Mul(b, c) }'''), dict(a=np.float32(0.5), i=np.int64(3)))
case("f64", T('''g (double[n, 4] x, double[4, 3] w) => (y, s) { y = MatMul(x, w)
    s = Softmax(y) }'''), dict(x=F(2, 4, k=np.float64), w=F(4, 3, k=np.float64)))
case("shadow_capture", T('''g (float[n] x, bool c) => (y) { a = Relu(x)
    y = If(c) <then_branch = t () => (o) { q = Neg(a)
    o = Add(q, x) }, else_branch = e () => (o) { q = Abs(a)
    o = Mul(q, x) }> }'''), dict(x=F(3), c=np.array(True)), dict(x=F(3), c=np.array(False)))
case("consts", T('''g (float[n] x) => (y, z) { a = Constant<value_float=2.5>()
    b = Constant<value_floats=[1.0, 2.0, 3.0]>()
    i = Constant<value_int=2>()
    f = Cast<to=1>(i)
    y = Mul(x, a)
    q = Mul(b, f)
    z = Add(q, x) }'''), dict(x=F(3)))
def sparse():
    m = T('''g (float[n, 3] x) => (y) { y = MatMul(x, w) }''')
    v = numpy_helper.from_array(F(3), "w"); i = numpy_helper.from_array(np.array([0, 4, 7]), "wi")
    m.graph.sparse_initializer.append(onnx.SparseTensorProto(values=v, indices=i, dims=[3, 3])); return m
case("sparse_init", sparse, dict(x=F(2, 3)))
case("windows_stft", T('''g (float[1, 40, 1] x) => (y, h) { w = HannWindow(L)
    st = Constant<value: tensor = int64 {8}>()
    y = STFT(x, st, w)
    h = HammingWindow<periodic=0>(L) }''', dict(L=np.int64(16))), dict(x=F(1, 40, 1)), tol=1e-3)
case("melweights", T('''g (int64 b) => (y) { y = MelWeightMatrix(n, d, sr, lo, hi) }''', dict(n=np.int64(8), d=np.int64(16), sr=np.int64(8192), lo=np.float32(0), hi=np.float32(4096))), dict(b=np.int64(1)))
case("attention23", T('''g (float[b, 2, s, 8] q, float[b, 2, t, 8] k, float[b, 2, t, 8] v) => (y) { y = Attention<is_causal=1>(q, k, v) }''', opset=23, ir=11), dict(q=F(1, 2, 3, 8), k=F(1, 2, 3, 8), v=F(1, 2, 3, 8)), tol=1e-3)
case("rmsnorm_rope", T('''g (float[b, s, 16] x, float[9, 4] c, float[9, 4] sn, int64[b, s] p) => (z) { y = RMSNormalization(x, w)
    z = RotaryEmbedding<num_heads=2>(y, c, sn, p) }''', dict(w=F(16)), opset=23, ir=11), dict(x=F(1, 3, 16), c=F(9, 4), sn=F(9, 4), p=np.array([[1, 5, 2]])), tol=1e-3)
case("losses", T('''g (float[n, c] x, int64[n] t, float[c] w) => (a, b, l) { a, l = SoftmaxCrossEntropyLoss<reduction="mean", ignore_index=-1>(x, t, w)
    ls = LogSoftmax(x)
    b = NegativeLogLikelihoodLoss<reduction="none">(ls, tt) }''', dict(tt=np.array([0, 1, 2]))), dict(x=F(3, 4), t=np.array([1, -1, 3]), w=np.abs(F(4))))
case("col2im_center", T('''g (float[1, 5, 5] x) => (y) { im = Constant<value_ints=[5, 5]>()
    bl = Constant<value_ints=[1, 5]>()
    y = Col2Im(x, im, bl) }''', opset=18), dict(x=F(1, 5, 5)))
case("det_dyn", T('''g (float[b, n, n] x) => (y) { y = Det(x) }'''), dict(x=F(2, 5, 5)), dict(x=F(1, 3, 3)), dict(x=F(1, 1, 1)), tol=1e-3)
case("det_6", T('''g (float[2, 6, 6] x) => (y) { y = Det(x) }'''), dict(x=F(2, 6, 6)), dict(x=np.ones((2, 6, 6), np.float32)), tol=1e-3)
case("range_float", T('''g (float a, float b, float c) => (y) { y = Range(a, b, c) }'''), dict(a=np.float32(1), b=np.float32(3), c=np.float32(0.5)),
  dict(a=np.float32(3), b=np.float32(0), c=np.float32(-0.7)), dict(a=np.float32(3), b=np.float32(0), c=np.float32(1)))
