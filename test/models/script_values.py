# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists, dicts, strings and numbers of TorchScript programs, which are known when compiling, each with what it computes in numpy."""
import numpy as np

from script_case import drawn, scripted

CASES = {}
X = drawn(1, 3, 4)
ROWS = ["--input-shape", "x=n,4"]


def add(name, *given, **more):
    CASES[name] = lambda: scripted(*given, **more)


def two(function):
    """Runs of 2 and of 5 rows."""
    return [({"x": drawn(n, n, 4)}, function(drawn(n, n, 4))) for n in (2, 5)]


add("list_sort", "x: Tensor", """
a = [3, 1, 2, 0]
torch.sort(a, False)
b = sorted([5, 4, 9])
i = torch.index(b, 9)
c = torch.count([1, 1, 2], 1)
torch.remove(a, 0)
y = torch.index_select(x, 1, torch.tensor(a))
return torch.add(torch.mul(y, i), c)""", two(lambda x: x[:, [1,2,3]]*2+2), ROWS)

add("dict_ops", "x: Tensor", """
d = annotate(Dict[str, Tensor], {"a": x, "b": torch.neg(x)})
e = annotate(Dict[str, Tensor], {"c": torch.mul(x, 2)})
torch.update(d, e)
p = torch.pop(d, "a")
s = torch.setdefault(d, "z", torch.mul(x, 3))
torch.Delete(d, "b")
out = torch.mul(p, 0.5)
for k in torch.keys(d):
  v = d[k]
  out = torch.add(out, v)
return torch.add(out, torch.len(d))""", two(lambda x: x*np.float32(0.5)+x*5+2), ROWS)

add("dict_iter_items", "x: Tensor", """
d = annotate(Dict[int, Tensor], {1: x, 2: torch.neg(x)})
out = x
_0 = torch.items(d)
for _1 in range(torch.len(_0)):
  k, v, = _0[_1]
  out = torch.add(out, torch.mul(v, k))
return out""", two(lambda x: x + x - 2*x), ROWS)

add("zip_enumerate", "x: Tensor", """
ws = self.ws
parts = torch.unbind(x, 1)
_0 = [torch.len(ws), torch.len(parts), 9223372036854775807]
out = torch.zeros([torch.size(x, 0)], dtype=None, layout=None, device=None, pin_memory=None)
for i in range(ops.prim.min(_0)):
  w = ws[i]
  p = parts[i]
  out = torch.add(out, torch.mul(torch.mul(p, w), i))
return out""", two(lambda x: x[:,1]*np.float32(.5)+ x[:,2]*np.float32(.25)*2), ROWS, {"ws":[1.,.5,.25]}, "ws : List[float]")

add("strings", "x: Tensor", """
s = "conv1d, relu"
parts = torch.split(s, ", ", -1)
a = torch.len(parts)
b = torch.ord("a")
c = torch.count("banana", "a", 0, -1)
d = torch.rfind(s, "r", 0, -1)
e = torch.slice(s, 0, 4, 1)
f = __torch__.pick(e, )
g = torch.percentFormat("%s_%d", "k", 3)
if torch.eq(g, "k_3"):
  h = 1
else:
  h = 0
i = torch.__getitem__(s, -1)
if torch.eq(i, "u"):
  k = 1
else:
  k = 0
l = torch.isdigit("12")
if l:
  m = int("12")
else:
  m = 0
return torch.add(torch.mul(x, a), torch.add(torch.add(torch.add(torch.add(torch.add(b, c), d), f), h), torch.add(k, m)))""",
 two(lambda x: x*2 + (97+3+8+5+1+1+12)), ROWS, extra="""def pick(s: str) -> int:
  if torch.eq(s, "conv"):
    _0 = 5
  else:
    _0 = 9
  return _0
""")

add("strings2", "x: Tensor", """
a = torch.len(torch.split("a b  c", None, -1))
b = torch.find(torch.capitalize("hello"), "H", 0, -1)
c = torch.len(torch.rjust("7", 4, "0"))
d, e, f, = torch.partition("key=value", "=")
g = torch.len(f)
h = torch.index("abc", "c", 0, -1)
i = torch.len(torch.mul("ab", 3))
k = torch.len(torch.splitlines("a\\nb\\n", False))
l = torch.len(torch.replace("aaa", "a", "bb", 2))
m = torch.len(torch.list("abc"))
return torch.add(x, torch.add(torch.add(torch.add(torch.add(torch.add(torch.add(torch.add(torch.add(a, b), c), g), h), i), k), l), m))""", two(lambda x: x+3+0+4+5+2+6+2+5+3), ROWS)

add("escapes", "x: Tensor", r"""
s = "a\r\n\tb\"\'\\\303\251"
n = torch.len(s)
return torch.add(x, n)""", two(lambda x: x+10), ROWS)

add("math_fns", "x: Tensor", """
a = torch.gcd(12, 18)
q, r, = torch.divmod(17, 5)
b = torch.degrees(3.1415926535897931)
c = torch.copysign(2., -1.)
d = torch.hypot(3., 4.)
e = torch.isnan(0.5)
f = torch.factorial(4)
g = torch.asinh(0.)
h = torch.lgamma(1.)
n = torch.fmod(7, 4)
if e:
  z = 100
else:
  z = 0
return torch.add(torch.mul(x, a), torch.add(torch.add(torch.add(torch.add(torch.add(torch.add(torch.add(torch.add(torch.add(q, r), b), c), d), f), g), h), n), z))""",
 two(lambda x: x*6 + (3+2+180-2+5+24+0+0+3)), ROWS)

add("tolist", "x: Tensor", """
_0 = torch.tensor([3, 1, 2])
a = annotate(List[int], _0.tolist())
y = x
for i in range(torch.len(a)):
  k = a[i]
  y = torch.add(y, k)
return y""", two(lambda x: x+6), ROWS)

add("empty_forward_tolist2d", "x: Tensor", """
_0 = torch.tensor([[1, 2], [3, 4]])
a = annotate(List[List[int]], (_0).tolist())
b = a[1]
s = torch.sum(x, annotate(List[int], []), False, dtype=None)
return torch.mul(s, b[0])""", [({"x": X}, X.sum()*3)], ["--input-shape","x=3,4"])

add("shape_compare", "x: Tensor,\n    y: Tensor", """
if torch.eq(torch.size(x), torch.size(y)):
  z = torch.add(x, y)
else:
  z = x
a, b, = torch.size(x)
return torch.view(z, [torch.mul(a, b)])""", [({"x":drawn(3,3,4),"y":drawn(4,3,4)}, (drawn(3,3,4)+drawn(4,3,4)).ravel())], ["--input-shape","x=n,4","--input-shape","y=n,4"])

add("scalar_bool_and", "x: Tensor", """
n = torch.size(x, 0)
if torch.gt(n, 1):
  _0 = torch.lt(n, 100)
else:
  _0 = False
if _0:
  y = torch.mul(x, 2)
else:
  y = x
return y""", [({"x": drawn(5,5,4)}, drawn(5,5,4)*2)], ["--input-shape","x=5,4"])

add("neg_slice_step", "x: Tensor", """
a = torch.slice([1, 2, 3, 4, 5], None, None, -2)
b = torch.add([1], [2, 3])
c = torch.mul([0], 3)
d = torch.__contains__(b, 3)
e = torch.list(range(2))
if torch.eq(a, [5, 3, 1]):
  k = 10
else:
  k = 0
if d:
  k0 = torch.add(k, 1)
else:
  k0 = k
return torch.add(x, torch.add(k0, torch.len(c)))""", two(lambda x: x+14), ROWS)

add("nested_lists", "x: Tensor", """
g = self.grid
t0 = torch.tensor(g, dtype=6, device=ops.prim.device(x), requires_grad=False)
y = torch.matmul(x, t0)
row = g[1]
return torch.add(y, row[0])""", two(lambda x: x@np.array([[1,2],[3,4],[5,6],[7,8]],np.float32)+3), ROWS, {"grid": [[1,2],[3,4],[5,6],[7,8]]}, "grid : List[List[int]]")

add("default_dict_comprehension", "x: Tensor", """
_0 = annotate(Dict[int, Tensor], {})
for i in range(3):
  torch._set_item(_0, i, torch.mul(x, i))
_1 = annotate(List[Tensor], [])
_2 = torch.values(_0)
for _3 in range(torch.len(_2)):
  v = _2[_3]
  _4 = torch.append(_1, torch.add(v, 1))
return torch.stack(_1, 0)""", two(lambda x: np.stack([x*0+1,x+1,2*x+1])), ROWS)

add("round_div", "x: Tensor", """
a = torch.round(2.5)
b = torch.floordiv(-7, 2)
c = torch.remainder(-7, 3)
d = torch.div(7, 2)
e = torch.pow(2, 10)
f = torch.pow(2, -1)
g = torch.ceil(2.1)
h = int(3.9)
i = torch.floor(-2.5)
k = 2.67
return torch.add(x, torch.add(torch.add(torch.add(torch.add(torch.add(torch.add(torch.add(torch.add(torch.add(a, b), c), d), e), f), g), h), i), k))""",
 two(lambda x: x + np.float32(2-4+2+3.5+1024+.5+3+3-3+2.67)), ROWS)

add("dict_from_pairs", "x: Tensor", """
d = torch.dict([("a", x), ("b", torch.mul(x, 2))])
k = torch.list(torch.keys(d))
e = torch.copy(d)
torch.clear(d)
if torch.eq(k[1], "b"):
  y = e["b"]
else:
  y = x
p, q, = torch.popitem(e)
return torch.add(torch.add(y, torch.len(d)), q)""", two(lambda x: x*4), ROWS)

add("tuple_slice", "x: Tensor", """
p = (x, torch.mul(x, 2), torch.mul(x, 3), 4)
q = (p)[1:3]
a, b, = q
c = (p)[-1]
d = (p)[0:1]
e, = d
return torch.add(torch.add(a, b), torch.mul(e, c))""", two(lambda x: x*9), ROWS)

add("list_of_sizes", "x: Tensor", """
s = torch.size(x)
t = torch.slice(s, 0, 1, 1)
u = torch.add(torch.list(t), [2, 2])
y = torch.view(x, u)
n = torch.numel(y)
return torch.div(torch.sum(y, [1, 2], False, dtype=None), n)""", [({"x": drawn(3,3,4)}, drawn(3,3,4).sum(1)/12)], ["--input-shape","x=3,4"])

add("early_return", "x: Tensor", """
_0 = uninitialized(Tensor)
if torch.gt(torch.size(x, 1), 3):
  _1, _2 = True, torch.mul(x, 2)
else:
  _1, _2 = False, _0
if _1:
  _3 = _2
else:
  _3 = torch.add(x, 1)
return _3""", two(lambda x: x*2), ROWS)

add("break_loop", "x: Tensor", """
out = x
_1 = True
_2 = 0
while _1:
  out0 = torch.mul(out, 2)
  if torch.gt(_2, 2):
    _3 = False
  else:
    _3 = True
  _4 = torch.__and__(torch.lt(torch.add(_2, 1), 10), _3)
  _1, out, _2 = _4, out0, torch.add(_2, 1)
return out""", two(lambda x: x*16), ROWS)

add("a_list_that_doubles", "x: Tensor", """
l = [x]
for _0 in range(60):
  l = torch.add(l, l)
return x""", "makes lists and strings of more than 5000000 elements", ROWS)
