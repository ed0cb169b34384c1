# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops of TorchScript that write to a tensor from outside and hand on others, or what may be the same one, and values that no iteration hands on."""
import numpy as np

from script_case import drawn, scripted

CASES = {}
SHORT = ("decode_token", "decode_itself", "decode_view", "nested_handed_on", "cells")  # what each run of the tests has time for
X = drawn(1, 3, 4)


def add(name, *given, **more):
    CASES[name] = lambda: scripted(*given, **more)


# Greedy decoding: each iteration writes a column of a tensor from outside, and hands on what it chose.
TOKENS = drawn(21, 5, 5) * np.float32(0.4)


def chosen(h, steps=4):
    """The tensor, the last token, and how many steps there were."""
    out, token, step = np.zeros((len(h), steps), np.int64), np.zeros(len(h), np.int64), 0
    while step < steps:
        h = np.tanh(h @ TOKENS + token[:, None].astype(np.float32) * np.float32(0.125))
        token = h.argmax(-1)
        out[:, step] = token
        step += 1
        if (token == 3).all():
            break
    return out, token, step


def summed(h):
    out, token = np.zeros((len(h), 4), np.int64), np.zeros(len(h), np.int64)
    seen = token
    for step in range(chosen(h)[2]):
        out[:, step] = chosen(h)[0][:, step]
        seen = (out + seen[:, None]).sum(1)
    return seen


def nested(x):
    out, y, i = np.zeros_like(x), x, 0
    while i < 3 and y.sum() > 0:
        z = y
        while z.max() > 1:
            z = z * np.float32(0.5)
            out[i] += z[i]
        y, i = y - 2, i + 1
    return [out, out + 1]


def decoding(name, hand, result, wanted, first="torch.zeros([torch.size(x, 0)], dtype=4)", early=""):
    """`hand` computes, behind the write, what is handed on as `seen`, which begins as `first`."""
    runs = wanted if isinstance(wanted, str) else [({"x": h}, wanted(h)) for h in (drawn(3, 2, 5), drawn(4, 1, 5))]
    add(name, "x: Tensor", f"""
w = self.w
out = torch.zeros([torch.size(x, 0), 4], dtype=4)
h = x
token = torch.zeros([torch.size(x, 0)], dtype=4)
seen = {first}
step = 0
_0 = True
while _0:
  h1 = torch.tanh(torch.add(torch.matmul(h, w), torch.mul(torch.unsqueeze(token, 1), 0.125)))
  token1 = torch.argmax(h1, -1)
{early}
  _1 = torch.copy_(torch.select(torch.slice(out), 1, step), token1)
{hand}
  if bool(torch.all(torch.eq(token1, 3))):
    _2, h2, token2, given2 = False, h1, token1, given
  else:
    _2, h2, token2, given2 = True, h1, token1, given
  step1 = torch.add(step, 1)
  _3 = torch.__and__(torch.lt(step1, 4), _2)
  _0, h, token, step, seen = _3, h2, token2, step1, given2
return {result}""", runs, ["--input-shape", "x=rows,5"], {"w": TOKENS}, "w : Tensor", ret="Tuple[Tensor, Tensor]")


decoding("decode_token", "  given = token1", "(out, seen)", lambda h: chosen(h)[:2])
decoding("decode_clone", "  given = torch.clone(torch.select(out, 1, 0))", "(out, seen)",
         lambda h: (chosen(h)[0], chosen(h)[0][:, 0]))
decoding("decode_computed", "  given = torch.sum(torch.add(out, torch.unsqueeze(seen, 1)), [1])", "(out, seen)",
         lambda h: (chosen(h)[0], summed(h)))
decoding("decode_itself", "  given = seen", "(out, torch.mul(seen, 2))", lambda h: (chosen(h)[0], chosen(h)[0] * 2), first="out")
decoding("decode_view_not_read", "  given = torch.select(out, 1, 0)", "(out, token)", lambda h: chosen(h)[:2],
         first="torch.select(out, 1, 0)")
decoding("decode_view_read_after_loop", "  given = torch.select(out, 1, 0)", "(out, seen)",
         lambda h: (chosen(h)[0], chosen(h)[0][:, 0]))
decoding("decode_view_read_before", "  given = torch.select(out, 1, 0)", "(out, seen)",
         lambda h: (chosen(h)[0], chosen(h)[0][:, 0]), early="  early = torch.add(seen, 0)")
decoding("decode_view", "  early = torch.add(seen, 0)\n  given = torch.select(out, 1, 0)", "(out, seen)",
         "writes to a tensor from outside that an iteration also hands on to the next one; hand on a clone of it")
decoding("decode_view_written_after_loop", "  given = torch.select(out, 1, 0)", "(torch.add_(out, 1), seen)",
         "after a write to the tensor that it may be")


add("nested_handed_on", "x: Tensor", """
out = torch.zeros_like(x)
y = x
kept = out
i = 0
_0 = bool(torch.gt(torch.sum(y), 0.))
while _0:
  z = y
  inner = kept
  _1 = bool(torch.gt(torch.max(z), 1.))
  while _1:
    z1 = torch.mul(z, 0.5)
    _2 = torch.add_(torch.select(out, 0, i), torch.select(z1, 0, i))
    inner1 = inner
    _1, z, inner = bool(torch.gt(torch.max(z1), 1.)), z1, inner1
  y1 = torch.sub(y, 2.)
  i1 = torch.add(i, 1)
  kept1 = inner
  _3 = torch.__and__(torch.lt(i1, 3), bool(torch.gt(torch.sum(y1), 0.)))
  _0, y, i, kept = _3, y1, i1, kept1
return (out, torch.add(kept, 1))""", [({"x": v}, nested(v)) for v in (np.abs(X[:3]) * 4, X[:3] * 0 - 1)], ["--input-shape", "x=3,4"], ret="Tuple[Tensor, Tensor]")

add("branch_of_what_is_written", "x: Tensor", """
y = torch.clone(x)
if bool(torch.gt(torch.sum(x), 0)):
  z = y
else:
  z = torch.neg(x)
_0 = torch.add_(y, 1)
return torch.add(z, y)""", "after a write to the tensor that it may be", ["--input-shape", "x=3,4"])

add("branch_that_gives_one_tensor", "x: Tensor", """
y = torch.clone(x)
if bool(torch.gt(torch.sum(x), 0)):
  z, k = y, torch.neg(x)
else:
  z, k = y, x
_0 = torch.add_(y, 1)
return torch.add(z, k)""", [({"x": v}, v + 1 + (-v if v.sum() > 0 else v)) for v in (np.abs(X), -np.abs(X))], ["--input-shape", "x=3,4"])


def cells():
    """A loop that data ends, with values that each iteration makes anew: a cell's state as a tuple, a list of parts."""
    rows, weight = 3, drawn(3, 4, 4) * np.float32(0.5)

    def run(x):
        h, c, out = x, np.zeros_like(x), np.zeros((6, rows, 4), np.float32)
        for step in range(6):
            c = c + np.tanh(h @ weight)
            h = np.tanh(c) * x
            out[step] = h * 3
            if (np.abs(c) > 1).all():
                break
        return {"x": x}, {"output_0": out, "output_1": h}

    x = drawn(4, rows, 4)
    return scripted("x: Tensor", """
out = torch.zeros([6, 3, 4])
c = torch.zeros_like(x)
weight = self.weight
h, c0 = x, c
_0 = 0
_1 = True
while _1:
  _2 = torch.add(c0, torch.tanh(torch.matmul(h, weight)))
  _3 = (torch.mul(torch.tanh(_2), x), _2)
  h0, c1, = _3
  parts = [h0, h0]
  _4 = torch.append(parts, h0)
  _5 = torch.copy_(torch.select(out, 0, _0), torch.sum(torch.stack(parts), [0]))
  if bool(torch.all(torch.gt(torch.abs(c1), 1))):
    _6 = False
  else:
    _6 = True
  _7 = torch.add(_0, 1)
  _8 = torch.__and__(torch.lt(_7, 6), _6)
  _1, h, c0, _0 = _8, h0, c1, _7
return (out, h)""", [run(value) for value in (x, 5 * x, np.abs(x) + 2)], ["--input-shape", "x=3,4"], {"weight": weight}, "weight : Tensor",
                    result="Tuple[Tensor, Tensor]")


CASES["cells"] = cells
