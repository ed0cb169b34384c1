# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Classes, members of Enums, hooks, tasks and the kinds of inputs of TorchScript modules, each with what it computes in numpy."""
import numpy as np

from script_case import Member, drawn, module, scripted

CASES = {}
X = drawn(1, 3, 4)
ROWS = ["--input-shape", "x=n,4"]


def add(name, *given, **more):
    CASES[name] = lambda: scripted(*given, **more)


def two(function):
    """Runs of 2 and of 5 rows."""
    return [({"x": drawn(n, n, 4)}, function(drawn(n, n, 4))) for n in (2, 5)]


TWICE_AND_MORE = """class A(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def run(self: __torch__.A,
    x: Tensor) -> Tensor:
    return torch.mul(x, 2)
class B(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  k : int
  def run(self: __torch__.B,
    x: Tensor) -> Tensor:
    k = self.k
    return torch.add(x, k)
"""

add("class_obj", "x: Tensor", """
c = __torch__.Counter.__new__(__torch__.Counter)
_0 = (c).__init__(3, )
_1 = (c).step(x, )
_2 = (c).step(x, )
n = c.n
total = c.total
return torch.mul(total, n)""", two(lambda x: (x+x+1)*5), ROWS, extra="""class Counter:
  n : int
  total : Tensor
  def __init__(self: __torch__.Counter,
    n: int) -> NoneType:
    self.n = n
    self.total = torch.ones([1], dtype=None, layout=None, device=None, pin_memory=None)
    return None
  def step(self: __torch__.Counter,
    x: Tensor) -> int:
    total = self.total
    self.total = torch.add(total, x)
    n = self.n
    self.n = torch.add(n, 1)
    n0 = self.n
    return n0
""")

add("class_magic", "x: Tensor", """
a = __torch__.Vec.__new__(__torch__.Vec)
_0 = (a).__init__(x, )
b = __torch__.Vec.__new__(__torch__.Vec)
_1 = (b).__init__(torch.mul(x, 2), )
c = (a).__add__(b, )
v = c.v
return torch.mul(v, (c).__len__())""", two(lambda x: x*3*4), ROWS, extra="""class Vec:
  v : Tensor
  def __init__(self: __torch__.Vec,
    v: Tensor) -> NoneType:
    self.v = v
    return None
  def __add__(self: __torch__.Vec,
    other: __torch__.Vec) -> __torch__.Vec:
    v = self.v
    w = other.v
    _0 = __torch__.Vec.__new__(__torch__.Vec)
    _1 = (_0).__init__(torch.add(v, w), )
    return _0
  def __len__(self: __torch__.Vec) -> int:
    v = self.v
    return torch.size(v, 1)
""")

add("enum", "x: Tensor", """
mode = __torch__.Mode.FAST
_0 = torch.eq(mode, __torch__.Mode.FAST)
if _0:
  y = torch.mul(x, 2)
else:
  y = x
if torch.ne(mode, __torch__.Mode.SLOW):
  z = torch.add(y, 1)
else:
  z = y
return torch.mul(z, (__torch__.Mode.SLOW).value)""", two(lambda x: (x*2+1)*7), ROWS, extra="""class Mode(Enum):
  FAST = 3
  SLOW = 7
""")

add("enum_attr", "x: Tensor", """
mode = self.mode
if torch.eq(mode, __torch__.Mode.SLOW):
  y = torch.mul(x, 2)
else:
  y = x
if torch.eq((mode).name, "SLOW"):
  z = torch.add(y, (mode).value)
else:
  z = y
return z""", two(lambda x: x*2+7), ROWS, {"mode": Member("__torch__.Mode", 7)}, "mode : __torch__.Mode", extra="""class Mode(Enum):
  FAST = 3
  SLOW = 7
""")

add("fork_wait", "x: Tensor", """
k = 2
def __forked_function():
  _1 = torch.mul(x, k)
  return _1
_0 = fork(__forked_function)
y = torch.wait(_0)
return torch.add(y, x)""", two(lambda x: x*3), ROWS, extra="""def unused(x: Tensor) -> Tensor:
  return x
""")

add("with_nograd", "x: Tensor", """
_0 = __torch__.torch.autograd.grad_mode.no_grad.__new__(__torch__.torch.autograd.grad_mode.no_grad)
_1 = (_0).__init__()
with _0:
  y = torch.mul(x, 2)
return y""", two(lambda x: x*2), ROWS, files={"__torch__/torch/autograd/grad_mode.py": """class no_grad(NoGradContextManager):
  prev : bool
  def __init__(self: __torch__.torch.autograd.grad_mode.no_grad) -> NoneType:
    self.prev = False
    return None
  def __enter__(self: __torch__.torch.autograd.grad_mode.no_grad) -> NoneType:
    self.prev = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    return None
  def __exit__(self: __torch__.torch.autograd.grad_mode.no_grad,
    exc_type: Any,
    exc_value: Any,
    traceback: Any) -> NoneType:
    prev = self.prev
    torch.set_grad_enabled(prev)
    return None
"""})

add("hooks", "x: Tensor", """
return torch.mul(x, 2)""", two(lambda x: (x+1)*2-3), ROWS, decl='__forward_pre_hooks__ = ["pre", ]\n__forward_hooks__ = ["post", ]', methods="""  def post(self: __torch__.M,
    input: Tuple[Tensor],
    output: Tensor) -> Tensor:
    return torch.sub(output, 3)
  def pre(self: __torch__.M,
    input: Tuple[Tensor]) -> Tuple[Tensor]:
    x, = input
    return (torch.add(x, 1),)
""")

add("container_index", "x: Tensor", """
layers = self.layers
y = x
for i in range(2):
  layer : __torch__.Iface = layers[i]
  y = (layer).run(y, )
last : __torch__.Iface = layers[-1]
return (last).run(y, )""", two(lambda x: x*2+3+3), ROWS, {"layers": module("__torch__.L", {"0": module("__torch__.A", {}), "1": module("__torch__.B", {"k": 3})})}, 'layers : __torch__.L', extra="""class L(Module):
  __parameters__ = []
  __buffers__ = []
  __annotations__ = []
  __annotations__["0"] = __torch__.A
  __annotations__["1"] = __torch__.B
  training : bool
  def __len__(self: __torch__.L) -> int:
    return 2
""" + TWICE_AND_MORE)

add("interface_modulelist", "x: Tensor", """
_0 = getattr(self, "0")
_1 = getattr(self, "1")
return (_1).run((_0).run(x, ), )""", two(lambda x: (x*2)+3), ROWS, {"0": module("__torch__.A", {}), "1": module("__torch__.B", {"k": 3})}, '__annotations__["0"] = __torch__.Iface\n__annotations__["1"] = __torch__.Iface', extra="""class Iface(ModuleInterface):
  def run(self,
    x: Tensor) -> Tensor:
    pass
""" + TWICE_AND_MORE)

add("optional_attr", "x: Tensor,\n    mask: Optional[Tensor]=None", """
b = self.b
if torch.__isnot__(b, None):
  _0 = ops.prim.unchecked_unwrap_optional(b)
  y = torch.add(x, _0)
else:
  y = x
if torch.__is__(mask, None):
  mask0 = torch.ones_like(x, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None)
else:
  mask0 = unchecked_cast(Tensor, mask)
return torch.mul(y, mask0)""", two(lambda x: x), ROWS, {"b": None}, "b : Optional[Tensor]")

add("dict_of_lists", "xs: Dict[str, List[Tensor]]", """
a = xs["img"]
b = xs["txt"]
return torch.add(torch.add(a[0], a[1]), b[0])""", [({"xs_img_0": X, "xs_img_1": X*2, "xs_txt_0": X*3}, X*6)], ["--input-shape","xs_img_0=3,4","--input-shape","xs_img_1=3,4","--input-shape","xs_txt_0=3,4"])

add("namedtuple_out", "x: Tensor", """
_0 = __torch__.Out(torch.mul(x, 2), torch.sum(x))
return _0""", [({"x": X}, {"scaled": X*2, "total": X.sum()})], ["--input-shape","x=3,4"], extra="""class Out(NamedTuple):
  scaled : Tensor
  total : Tensor
""", ret="__torch__.Out")

add("namedtuple_in", "batch: __torch__.Batch,\n    device: Device", """
ids = (batch).ids
mask = batch.mask
return torch.mul(ids, mask)""", [({"batch_ids": X, "batch_mask": X}, X*X)], ["--input-shape","batch_ids=3,4","--input-shape","batch_mask=3,4"], extra="""class Batch(NamedTuple):
  ids : Tensor
  mask : Tensor
""")

add("union_isinstance", "x: Union[Tensor, List[Tensor]]", """
if isinstance(x, Tensor):
  x0 = unchecked_cast(Tensor, x)
  y = torch.mul(x0, 2)
else:
  x1 = unchecked_cast(List[Tensor], x)
  y = x1[0]
return y""", [({"x": X}, X*2)], ["--input-shape","x=3,4"])

add("union_list", "x: Union[Tensor, List[Tensor]]", """
if isinstance(x, Tensor):
  x0 = unchecked_cast(Tensor, x)
  y = torch.mul(x0, 2)
else:
  x1 = unchecked_cast(List[Tensor], x)
  y = x1[1]
return y""", [({"x_0": X, "x_1": X*3}, X*3)], ["--input-shape","x_0=3,4","--input-shape","x_1=3,4"])

add("device_move", "x: Tensor", """
d = torch.device("cuda:0")
y = torch.to(x, d, 5, False, False, None)
z = torch.to(y, torch.device("cpu"), None, False, False)
w = torch.to(z, dtype=6, layout=0, device=torch.device("cuda"), pin_memory=None, non_blocking=False, copy=False, memory_format=None)
if torch.eq(ops.prim.type(ops.prim.device(x)), "cuda"):
  v = torch.mul(w, 1)
else:
  v = w
return v""", [({"x": X}, X.astype(np.float16).astype(np.float32))], ["--input-shape","x=3,4"])

add("profiler", "x: Tensor", """
_0 = ops.profiler._record_function_enter_new("fwd", None)
y = torch.mul(x, 2)
_1 = ops.profiler._record_function_exit(_0)
return y""", [({"x": X}, X*2)], ["--input-shape","x=3,4"])

add("method_calls", "x: Tensor", """
return (self).helper(x, 3, scale=2., )""", two(lambda x: x*3+2), ROWS, methods="""  def helper(self: __torch__.M,
    x: Tensor,
    k: int,
    scale: float=1.) -> Tensor:
    return torch.add(torch.mul(x, k), scale)
""")

add("any_optional_list", "x: Tensor,\n    sizes: Optional[List[int]]=None,\n    mode: str=\"mean\"", """
if torch.__is__(sizes, None):
  s = [torch.size(x, 0), 4]
else:
  s = unchecked_cast(List[int], sizes)
y = torch.view(x, s)
if torch.__contains__(["mean", "sum"], mode):
  z = torch.mean(y, [1], True, dtype=None)
else:
  z = y
return z""", two(lambda x: x.mean(1, keepdims=True)), ROWS)

add("global_class_const", "x: Tensor", """
k = self.k
heads = self.heads
y = torch.reshape(x, [-1, heads, torch.floordiv(4, heads)])
return torch.mul(torch.sum(y, [-1], False, dtype=None), k)""", two(lambda x: x.reshape(-1,2,2).sum(-1)*np.float32(.125)), ROWS, decl="k : Final[float] = 0.125\nheads : Final[int] = 2")

add("nested_func_optional_tuple", "x: Tensor", """
r = __torch__.split_pair(x, None, )
a, b, = r
if torch.__is__(b, None):
  y = a
else:
  b0 = unchecked_cast(Tensor, b)
  y = torch.add(a, b0)
return y""", two(lambda x: x*2), ROWS, extra="""def split_pair(x: Tensor,
    y: Optional[Tensor]) -> Tuple[Tensor, Optional[Tensor]]:
  if torch.__isnot__(y, None):
    y0 : Optional[Tensor] = y
  else:
    y0 = None
  return (torch.mul(x, 2), y0)
""")

add("set_attr_nontensor", "x: Tensor", """
self.calls = torch.add(self.calls, 1)
return torch.mul(x, 2)""", "keeps 'calls' between calls", ROWS, {"calls": 0}, "calls : int")

add("assert_msg", "x: Tensor", """
_0 = torch.eq(torch.size(x, 1), 5)
if _0:
  pass
else:
  ops.prim.RaiseException(torch.format("expected 5, got {}", torch.size(x, 1)), "builtins.AssertionError")
return x""", "expected 5, got 4", ROWS)
