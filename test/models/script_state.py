# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What TorchScript modules keep between calls, in tensors, tuples, lists and dicts, and what one method leaves to another."""
import numpy as np

from script_case import drawn, scripted

CASES = {}
X, H, C = drawn(1, 2, 3), drawn(2, 2, 3), drawn(3, 2, 3)
EXPLICIT = ["--state", "explicit"]
SHAPE = ["--input-shape", "x=2,3", *EXPLICIT]


def add(name, *given, **more):
    CASES[name] = lambda: scripted(*given, **more)


add("state_in_a_tuple", "x: Tensor", """
state = self.state
h, c, = state
h0 = torch.add(h, x)
c0 = torch.mul(c, h0)
self.state = (h0, c0)
return c0""", [({"x": X, "state.0": H, "state.1": C}, {"output": C * (H + X), "state.0_out": H + X, "state.1_out": C * (H + X)})],
    SHAPE, {"state": (np.zeros((2, 3), np.float32), np.ones((2, 3), np.float32))}, "state : Tuple[Tensor, Tensor]")

add("state_in_a_list", "x: Tensor", """
hs = self.hs
h = hs[1]
_0 = torch._set_item(hs, 1, torch.add(h, x))
return torch.mul(hs[1], hs[0])""", [({"x": X, "hs.0": H, "hs.1": C}, {"output": (C + X) * H, "hs.0_out": H, "hs.1_out": C + X})],
    SHAPE, {"hs": [np.zeros((2, 3), np.float32)] * 2}, "hs : List[Tensor]")

add("state_in_a_dict", "x: Tensor", """
cache = self.cache
k = cache["k"]
_0 = torch._set_item(cache, "k", torch.add(k, x))
return torch.mul(k, 2)""", [({"x": X, "cache.k": H}, {"output": H * 2, "cache.k_out": H + X})],
    SHAPE, {"cache": {"k": np.zeros((2, 3), np.float32)}}, "cache : Dict[str, Tensor]")

add("state_that_is_none_at_first", "x: Tensor", """
state = self.state
if torch.__is__(state, None):
  h, c, = (torch.zeros_like(x), torch.ones_like(x))
else:
  h, c, = unchecked_cast(Tuple[Tensor, Tensor], state)
h0 = torch.add(h, x)
self.state = (h0, c)
return torch.mul(h0, c)""", [({"x": X, "state.0": H, "state.1": C}, {"output": (H + X) * C, "state.0_out": H + X, "state.1_out": C})],
    SHAPE, {"state": None}, "state : Optional[Tuple[Tensor, Tensor]]")

add("state_in_a_tuple_refused", "x: Tensor", """
state = self.state
h, c, = state
self.state = (torch.add(h, x), c)
return h""", "keeps 'state' between calls", ["--input-shape", "x=2,3"], {"state": (H, C)}, "state : Tuple[Tensor, Tensor]")

add("state_that_grows", "x: Tensor", """
seen = self.seen
_0 = torch.append(seen, x)
return torch.cat(seen, 0)""", "has another shape or value after each call", SHAPE, {"seen": [H]}, "seen : List[Tensor]")

METHODS = """  def reset(self: __torch__.M) -> NoneType:
    self.h = torch.zeros([2, 3], dtype=None, layout=None, device=None, pin_memory=None)
    return None
  def peek(self: __torch__.M) -> Tensor:
    h = self.h
    return torch.mul(h, 3)
"""
STEP = ("x: Tensor", """
h = self.h
h0 = torch.add(h, x)
self.h = h0
return torch.mul(h0, 2)""")
for name, options, runs in (
        ("a_method_that_steps", SHAPE, [({"x": X, "h": H}, {"output": (H + X) * 2, "h_out": H + X})]),
        ("a_method_that_reads", ["--method", "peek", *EXPLICIT], [({"h": H}, {"output": H * 3})]),
        ("a_method_that_sets", ["--method", "reset", *EXPLICIT], [({}, {"h_out": np.zeros((2, 3), np.float32)})]),
        ("a_method_alone", ["--method", "peek"], [({}, {"output": C * 3})])):
    add(name, *STEP, runs, options, {"h": C}, "h : Tensor", methods=METHODS)
