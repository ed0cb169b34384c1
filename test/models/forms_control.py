# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops, scans and branches, and bags of embeddings as PyTorch writes them."""

import numpy as np

from form import F, T, case

case("loop_cond_data", T('''g (float[n] x, float lim) => (float[n] y, int64 c) {
    one = Constant<value: tensor = int64 {1}>()
    zero = Constant<value: tensor = int64 {0}>()
    t = Constant<value: tensor = bool {1}>()
    y, c = Loop <body = b (int64 i, bool cc, float[n] a, int64 k) => (bool co, float[n] ao, int64 ko) { ao = Add(a, a)
    ko = Add(k, one)
    s = ReduceSum<keepdims=0>(ao)
    co = Less(s, lim) }> ("", t, x, zero) }'''),
  dict(x=np.array([1, 2, 3], np.float32), lim=np.float32(100)), dict(x=np.array([1.], np.float32), lim=np.float32(1)))
case("loop_trip_input", T('''g (int64 n, float[k] x) => (float[k] y, float[m, k] all) {
    y, all = Loop <body = b (int64 i, bool cc, float[k] a) => (bool co, float[k] ao, float[k] s) { f = Cast<to=1>(i)
    ao = Add(a, f)
    s = Identity(ao)
    co = Identity(cc) }> (n, "", x) }'''),
  dict(n=np.int64(4), x=F(3)), dict(n=np.int64(1), x=F(5)))
case("loop_trip_1elem", T('''g (int64[1] n, float[k] x) => (float[k] y) {
    y = Loop <body = b (int64 i, bool cc, float[k] a) => (bool co, float[k] ao) { ao = Mul(a, x)
    co = Identity(cc) }> (n, "", x) }'''),
  dict(n=np.array([3]), x=F(3)), dict(n=np.array([0]), x=F(2)))
case("loop_scan_cond", T('''g (float[n] x, int64 m) => (float[p] all) {
    t = Constant<value: tensor = bool {1}>()
    z = Constant<value: tensor = float {0.0}>()
    last, all = Loop <body = b (int64 i, bool cc, float a) => (bool co, float ao, float s) { e = Gather<axis=0>(x, i)
    ao = Add(a, e)
    s = Identity(ao)
    lim = Constant<value: tensor = float {5.0}>()
    co = Less(ao, lim) }> (m, t, z) }'''),
  dict(x=np.ones(8, np.float32), m=np.int64(8)), dict(x=np.ones(8, np.float32) * 3, m=np.int64(8)), dict(x=np.ones(8, np.float32), m=np.int64(2)))
case("if_shapes", T('''g (bool c, float[n] x) => (float[k] y) {
    two = Constant<value_ints = [2]>()
    y = If(c) <then_branch = a () => (float[p] o) { o = Tile(x, two) }, else_branch = b () => (float[q] o2) { o2 = Neg(x) }> }'''),
  dict(c=np.array(True), x=F(3)), dict(c=np.array(False), x=F(3)))
case("if_nested_loop", T('''g (bool c, float[n] x, int64 k) => (float[n] y) {
    y = If(c) <then_branch = a () => (float[n] o) { o = Loop<body = bb (int64 i, bool cc, float[n] v) => (bool co, float[n] vo) { z = Constant<value: tensor = int64 {0}>()
    two = Constant<value: tensor = int64 {2}>()
    md = Mod(i, two)
    ev = Equal(md, z)
    vo = If(ev) <then_branch = e1 () => (float[n] w) { w = Add(v, x) }, else_branch = e2 () => (float[n] w2) { w2 = Mul(v, x) }> co = Identity(cc) }> (k, "", x) }, else_branch = b () => (float[n] o2) { o2 = Identity(x) }> }'''),
  dict(c=np.array(True), x=F(3), k=np.int64(5)), dict(c=np.array(False), x=F(3), k=np.int64(2)), dict(c=np.array(True), x=F(3), k=np.int64(0)))
case("scan_two_states_reverse", T('''g (float[k] a, float[k] b, float[n, k] x) => (float[k] a1, float[k] b1, float[n, k] y) {
    a1, b1, y = Scan<num_scan_inputs = 1, scan_input_directions=[1], scan_output_directions=[1], body = bd (float[k] p, float[k] q, float[k] e) => (float[k] p1, float[k] q1, float[k] o) { p1 = Add(p, e)
    q1 = Mul(q, p1)
    o = Sub(q1, e) }>(a, b, x) }'''),
  dict(a=F(3), b=F(3), x=F(4, 3)), dict(a=F(2), b=F(2), x=F(1, 2)))
case("scan_axes", T('''g (float[k] a, float[k, n] x) => (float[k] a1, float[k, n] y) {
    a1, y = Scan<num_scan_inputs = 1, scan_input_axes=[1], scan_output_axes=[-1], body = bd (float[k] p, float[k] e) => (float[k] p1, float[k] o) { p1 = Add(p, e)
    o = Tanh(p1) }>(a, x) }'''),
  dict(a=F(3), x=F(3, 5)))
case("scan_opset8", T('''g (float[b, k] a, float[b, n, k] x) => (float[b, k] a1, float[b, n, k] y) {
    a1, y = Scan<num_scan_inputs = 1, body = bd (float[k] p, float[k] e) => (float[k] p1, float[k] o) { p1 = Add(p, e)
    o = Identity(p1) }>("", a, x) }''', opset=8, ir=4),
  dict(a=F(2, 3), x=F(2, 4, 3)))
SQ = '''g (float[n, m] x) => (y) { s = Shape(x)
    one = Constant<value: tensor = int64 {1}>()
    i = Constant<value: tensor = int64 {1}>()
    d = Gather<axis=0>(s, i)
    c = Equal(d, one)
    ax = Constant<value_ints = [1]>()
    y = If(c) <then_branch = a () => (o) { o = Squeeze(x, ax) }, else_branch = b () => (o2) { o2 = Identity(x) }> }'''
case("pt_squeeze_ranks_dim", T(SQ), dict(x=F(3, 4)), args=["--dim", "m=2..64"])
case("pt_squeeze_fixed", T(SQ.replace("float[n, m]", "float[n, 1]")), dict(x=F(3, 1)))
SB = SQ.replace("o2 = Identity(x)", "o2 = ReduceSum<keepdims=0>(x, ax)")
case("pt_squeeze_same_rank_dim", T(SB), dict(x=F(3, 4)), args=["--dim", "m=2..64"])
case("size_branch", T('''g (float[n, m] x) => (y) { s = Shape(x)
    t = Constant<value: tensor = int64 {3}>()
    i = Constant<value: tensor = int64 {1}>()
    d = Gather<axis=0>(s, i)
    c = Greater(d, t)
    three = Constant<value_ints = [3]>()
    z = Constant<value_ints = [0]>()
    ax = Constant<value_ints = [1]>()
    y = If(c) <then_branch = a () => (float[n, p] o) { o = Slice(x, z, three, ax) }, else_branch = b () => (float[n, q] o2) { o2 = Identity(x) }> }'''), dict(x=F(2, 7)), dict(x=F(2, 2)))
def bag(mode, weights=False, include=False):
    red = {"sum": "ReduceSum<keepdims=0>(em, z0)", "mean": "ReduceMean<axes=[0], keepdims=0>(em)", "max": "ReduceMax<axes=[0], keepdims=0>(em)"}[mode]
    pw = "wr = Slice(pw, su, eu, z0) one = Constant<value_ints=[1]>() wu = Unsqueeze(wr, one) em = Mul(em0, wu)" if weights else "em = Identity(em0)" if False else ""
    em = "em0" if weights else "em"
    return T(f'''g (int64[n] idx, int64[m] off, float[v, d] w{", float[n] pw" if weights else ""}) => (y) {{
    t = Constant<value: tensor = bool {{1}}>()
    z0 = Constant<value_ints=[0]>()
    n = Shape(idx) {"offs = Identity(off)" if include else "offs = Concat<axis=0>(off, n)"}
    one1 = Constant<value_ints=[1]>()
    big = Constant<value_ints=[9223372036854775807]>()
    st = Slice(offs, z0, big, z0, one1)
    en = Slice(offs, one1, big, z0, one1)
    es = Shape(en)
    zs = Constant<value: tensor = int64 {{0}}>()
    k = Gather<axis=0>(es, zs)
    y = Loop<body = b (int64 i, bool cc) => (bool co, float[d] o) {{ s = Gather<axis=0>(st, i)
    e = Gather<axis=0>(en, i)
    su = Unsqueeze(s, z0)
    eu = Unsqueeze(e, z0)
    part = Slice(idx, su, eu, z0) {em} = Gather<axis=0>(w, part) {pw} o = {red} co = Identity(cc) }}>(k, t) }}''')
for mode in ("sum", "mean", "max"):
    case(f"bags_{mode}", bag(mode), dict(idx=np.array([1, 2, 4, 5, 4, 3]), off=np.array([0, 2, 3]), w=F(7, 3)), dict(idx=np.array([1, 2]), off=np.array([0]), w=F(7, 3)))
case("bags_sum_empty", bag("sum"), dict(idx=np.array([1, 2, 4]), off=np.array([0, 0, 2, 2]), w=F(7, 3)))
case("bags_weights", bag("sum", True), dict(idx=np.array([1, 2, 4, 5, 4, 3]), off=np.array([0, 2, 3]), w=F(7, 3), pw=F(6)))
case("bags_include_last", bag("sum", False, True), dict(idx=np.array([1, 2, 4, 5, 4, 3]), off=np.array([0, 2, 3, 6]), w=F(7, 3)), dict(idx=np.array([1, 2, 4, 5, 4, 3]), off=np.array([1, 2, 5]), w=F(7, 3)))
case("convt_output_shape_small", T('''g (float[1, 3, h, w] x, float[3, 2, 3, 3] k, float[2] b) => (y) { y = ConvTranspose<strides=[2,2], output_shape=[8, 9]>(x, k, b) }'''), dict(x=F(1, 3, 4, 5), k=F(3, 2, 3, 3), b=F(2)), dict(x=F(1, 3, 5, 6), k=F(3, 2, 3, 3), b=F(2)))
case("slice_back_many", T('''g (float[n] x) => (a, b, c, d) { m1 = Constant<value_ints=[-1]>()
    m2 = Constant<value_ints=[-2]>()
    z = Constant<value_ints=[0]>()
    f = Constant<value_ints=[4]>()
    one = Constant<value_ints=[1]>()
    mn = Constant<value_ints=[-9223372036854775807]>()
    m3 = Constant<value_ints=[-3]>()
    a = Slice(x, m1, z, z, m1)
    b = Slice(x, f, one, z, m2)
    c = Slice(x, m2, mn, z, m2)
    d = Slice(x, f, m3, z, m1) }'''), *[dict(x=F(k)) for k in (1, 2, 3, 4, 5, 6, 9)])
case("unique_axis_dyn", T('''g (float[k, 2] z) => (w, i, j, c) { w, i, j, c = Unique<axis=0>(z) }''', opset=11, ir=6), dict(z=np.float32([[1, 2], [0, 1], [1, 2]])))
case("loop_given_condition", T('''g (float[4] x, bool c) => (float[4] y) {
    y = Loop<body = b (int64 i, bool ci, float[4] s) => (bool co, float[4] t) { t = Add(s, s)
    co = Identity(ci) }>("", c, x) }'''), dict(x=F(4), c=np.array(False)))
