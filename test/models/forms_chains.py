# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chains of what changes an open size: each size is made of the one before, and must not grow with it."""

import numpy as np

from form import T, case

LEVELS = 12
draw = np.random.default_rng(7)
CONSTANTS = dict(zero=[0], one=[1], two=[2], three=[3], sixteen=[16], last=[-1], third_last=[-3], second_last=[-2],
                 front=[-9223372036854775807], end=[9223372036854775807], pads=[1, 1], crop=[-1, -1], outer=[0, 1], threes=[-1, 3])


def chain(name, level, *sizes):
    """`level` makes {y} of {x}; {k} is its number."""
    lines = [f"{key} = Constant<value_ints={values}>()" for key, values in CONSTANTS.items()]
    lines.append("twice = Constant<value_floats=[1.0, 1.0, 2.0]>()")
    for k in range(LEVELS):
        lines += [line.format(k=k, x=f"x{k}" if k else "x", y=f"x{k + 1}") for line in level.split("; ")]
    body = "\n    ".join([*lines, f"y = Identity(x{LEVELS})"])
    case(f"chain_{name}", T(f"g (float[n] x) => (y) {{ {body} }}"),
         *[dict(x=draw.standard_normal(size).astype(np.float32)) for size in sizes])


chain("differences", "a{k} = Slice({x}, one, end); b{k} = Slice({x}, zero, last); {y} = Sub(a{k}, b{k})", 16, 37)
chain("second_differences", "a{k} = Slice({x}, two, end); b{k} = Slice({x}, one, last); c{k} = Slice({x}, zero, second_last); "
      "d{k} = Add(a{k}, c{k}); {y} = Sub(d{k}, b{k})", 37, 64)
chain("without_the_first", "s{k} = Shape({x}); t{k} = Min(s{k}, sixteen); a{k} = Slice({x}, zero, t{k}); "
      "z{k} = ReduceSum<keepdims=1>(a{k}); d{k} = Slice({x}, one, end); {y} = Add(d{k}, z{k})", 37)
chain("halves", "a{k} = Slice({x}, zero, end, zero, two); s{k} = Shape(a{k}); b{k} = Slice({x}, zero, s{k}); {y} = Add(a{k}, b{k})", 37, 40000)
chain("even_and_odd", "a{k} = Slice({x}, zero, end, zero, two); b{k} = Slice({x}, one, end, zero, two); s{k} = Shape(b{k}); "
      "c{k} = Slice(a{k}, zero, s{k}); {y} = Add(b{k}, c{k})", 40000)
chain("rolls", "a{k} = Slice({x}, one, end); b{k} = Slice({x}, zero, one); c{k} = Concat<axis=0>(a{k}, b{k}); {y} = Add(c{k}, {x})", 1, 37)
chain("rolls_from_the_end", "a{k} = Slice({x}, third_last, end); b{k} = Slice({x}, zero, third_last); "
      "c{k} = Concat<axis=0>(a{k}, b{k}); {y} = Add(c{k}, {x})", 2, 37)
chain("turns", "a{k} = Slice({x}, last, front, zero, last); {y} = Sub(a{k}, {x})", 37)
chain("pads_and_crops", "a{k} = Pad({x}, pads); b{k} = Slice(a{k}, two, end); c{k} = Slice(a{k}, zero, second_last); {y} = Add(b{k}, c{k})", 37)
chain("crops", "{y} = Pad({x}, crop)", 37)
chain("doubles", "a{k} = Concat<axis=0>({x}, {x}); b{k} = Slice(a{k}, one, end); {y} = Relu(b{k})", 2, 5)
chain("swapped_halves", "s{k} = Shape({x}); h{k} = Div(s{k}, two); a{k} = Slice({x}, zero, h{k}); b{k} = Slice({x}, h{k}, end); "
      "c{k} = Concat<axis=0>(b{k}, a{k}); {y} = Add(c{k}, {x})", 37)
chain("pools", "a{k} = Unsqueeze({x}, outer); b{k} = AveragePool<kernel_shape=[3], strides=[2], pads=[1, 1]>(a{k}); {y} = Squeeze(b{k}, outer)", 37, 40000)
chain("down_and_up", "a{k} = Unsqueeze({x}, outer); b{k} = MaxPool<kernel_shape=[2], strides=[2], ceil_mode=1>(a{k}); "
      "c{k} = Resize<mode=\"nearest\">(b{k}, , twice); d{k} = Squeeze(c{k}, outer); s{k} = Shape({x}); "
      "e{k} = Slice(d{k}, zero, s{k}); {y} = Add(e{k}, {x})", 37)
chain("whole_threes", "s{k} = Shape({x}); h{k} = Mod(s{k}, three); r{k} = Sub(s{k}, h{k}); a{k} = Slice({x}, zero, r{k}); "
      "b{k} = Reshape(a{k}, threes); {y} = ReduceMean<axes=[1], keepdims=0>(b{k})", 3 ** 8)
