# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reals that come of sizes, tensors that get other sizes in place, and what is taken from them, as calls of TorchScript."""
import numpy as np

from script_case import drawn, scripted, softmax

CASES = {}
X = drawn(1, 3, 4)
ROWS = ["--input-shape", "x=n,4"]


def add(name, *given, **more):
    CASES[name] = lambda: scripted(*given, **more)


def two(function):
    """Runs of 2 and of 5 rows."""
    return [({"x": drawn(n, n, 4)}, function(drawn(n, n, 4))) for n in (2, 5)]


add("squeeze_inplace", "x: Tensor", """
y = torch.mul(x, 2)
z = y
_0 = torch.unsqueeze_(y, 0)
_1 = torch.transpose_(y, 1, 2)
_2 = torch.add_(z, 1.)
w = torch.squeeze_(z, 0)
v = torch.t_(torch.clone(w))
return (y, v)""", [({"x": X}, [(X*2+1).T, X*2+1])], ["--input-shape","x=3,4"], ret="Tuple[Tensor, Tensor]")

add("resize", "x: Tensor", """
y = torch.clone(x)
_0 = torch.resize_(y, [4, 3])
z = torch.clone(x)
_1 = torch.resize_(z, [2, 3])
_3 = torch.add_(z, 10)
w = torch.empty([0], dtype=6, layout=None, device=None, pin_memory=None, memory_format=None)
_2 = torch.resize_(w, [2, 2])
_4 = torch.fill_(w, 3)
return (y, z, w)""", [({"x": X}, [X.reshape(4,3), X.ravel()[:6].reshape(2,3)+10, np.full((2,2),3,np.float32)])], ["--input-shape","x=3,4"], ret="Tuple[Tensor, Tensor, Tensor]")

add("resize_view_refused", "x: Tensor", """
y = torch.t(torch.clone(x))
_0 = torch.resize_(y, [3, 4])
return y""", "resizing a view", ["--input-shape","x=3,4"])

add("squeeze_weight_refused", "x: Tensor", """
w = self.w
_0 = torch.unsqueeze_(w, 0)
return torch.add(x, w)""", "changes the sizes of 'w', which the module keeps", ["--input-shape","x=3,4"], {"w": X}, "w : Tensor")

add("pad_seq", "x: Tensor", """
a = torch.slice(x, 0, 0, 2, 1)
y = torch.pad_sequence([x, a], True, -1.)
return y""", [({"x": X}, np.stack([X, np.concatenate([X[:2], -np.ones((1,4),np.float32)])]))], ["--input-shape","x=3,4"])

add("dyn_pad_seq", "a: Tensor,\n    b: Tensor", """
y = torch.pad_sequence([a, b], False, 0., "left")
return y""", [({"a": drawn(1,2,4), "b": drawn(2,5,4)}, np.stack([np.concatenate([np.zeros((3,4),np.float32), drawn(1,2,4)]), drawn(2,5,4)], 1))], ["--input-shape","a=n,4","--input-shape","b=m,4"])

add("rnn_packed", "x: Tensor,\n    lengths: Tensor", """
data, sizes, = torch._pack_padded_sequence(x, lengths, True)
y, n, = torch._pad_packed_sequence(data, sizes, True, 0., 4)
return y""", "pack", ["--input-shape","x=3,4,2", "--input-shape", "lengths=3", "--input-type", "lengths=i64"])

add("while_counter_tensor", "x: Tensor", """
i = torch.tensor(0)
y = x
_0 = bool(torch.lt(i, 3))
while _0:
  y0 = torch.add(y, i)
  _1 = torch.add_(i, 1)
  _0, y = bool(torch.lt(i, 3)), y0
return y""", two(lambda x: x+3), ROWS)

add("index_put_list", "x: Tensor", """
y = torch.clone(x, memory_format=None)
i = torch.tensor([0, 2])
_0 = annotate(List[Optional[Tensor]], [None, i])
_1 = torch.index_put_(y, _0, torch.tensor(9.), True)
_2 = torch.copy_(torch.slice(torch.select(y, 0, 0), 0, 1, 3, 1), torch.tensor([5., 6.]))
return y""", [({"x": X}, (lambda y: (y.__setitem__((slice(None),[0,2]), y[:,[0,2]]+9), y.__setitem__((0,slice(1,3)), [5,6]), y)[2])(X.copy()))], ["--input-shape","x=3,4"])

add("mask_assign", "x: Tensor", """
y = torch.clone(x)
m = torch.lt(y, 0)
_0 = torch.masked_fill_(y, m, 0)
n = torch.sum(m, dtype=None)
z = torch.masked_select(x, torch.gt(x, 0))
return (y, n, torch.sum(z, dtype=None))""", [({"x": X}, [np.maximum(X,0), (X<0).sum(), X[X>0].sum()])], ["--input-shape","x=3,4"], ret="Tuple[Tensor, Tensor, Tensor]")

add("dyn_numel_div", "x: Tensor", """
n = torch.numel(x)
return torch.div(torch.sum(x, dtype=None), n)""", two(lambda x: np.float32(x.mean())), ROWS)

add("float_of_size", "x: Tensor", """
n = torch.size(x, 0)
s = torch.div(1., torch.sqrt(n))
return torch.mul(x, s)""", [({"x": drawn(4,4,4)}, drawn(4,4,4)/2)], ["--input-shape","x=4,4"])

add("dyn_float_of_size", "x: Tensor", """
n = torch.size(x, 0)
s = torch.div(1., torch.sqrt(n))
return torch.mul(x, s)""", two(lambda x: x/np.float32(np.sqrt(len(x)))), ROWS)

add("dyn_scale_dim", "x: Tensor", """
n = float(torch.size(x, 0))
return torch.mul(x, torch.div(n, 2.))""", two(lambda x: x*len(x)/2), ROWS)

add("dyn_pow", "x: Tensor", """
n = torch.size(x, 0)
k = torch.pow(n, 2)
return torch.mul(x, k)""", two(lambda x: x*np.float32(len(x)**2)), ROWS)

add("dyn_int_ceil", "x: Tensor", """
n = torch.size(x, 0)
k = torch.ceil(torch.div(n, 2))
y = torch.slice(x, 0, 0, k, 1)
return y""", two(lambda x: x[:-(-len(x)//2)]), ROWS)

add("dyn_int_half", "x: Tensor", """
n = torch.size(x, 0)
k = int(torch.mul(n, 0.5))
y = torch.slice(x, 0, 0, k, 1)
return y""", two(lambda x: x[:len(x)//2]), ROWS)

add("einsum_meshgrid", "x: Tensor", """
a = torch.einsum("ij,kj->ik", [x, x], path=None)
g = torch.meshgrid([torch.arange(3), torch.arange(2)], indexing="ij")
return [a, g[0], g[1]]""", [({"x": X}, [X@X.T, *np.meshgrid(np.arange(3),np.arange(2),indexing="ij")])], ["--input-shape","x=3,4"], ret="List[Tensor]")

add("where1", "x: Tensor", """
w = torch.where(torch.gt(x, 0))
r = w[0]
c = w[1]
return [r, c]""", [({"x": X}, list(np.nonzero(X>0)))], ["--input-shape","x=3,4"], ret="List[Tensor]")

add("complex_math", "x: Tensor", """
y = torch.fft_rfft(x, None, -1, None)
return torch.abs(y)""", two(lambda x: np.abs(np.fft.rfft(x)).astype(np.float32)), ROWS)

add("mha_native", "q: Tensor", """
y = torch.scaled_dot_product_attention(q, q, q, None, 0., True, scale=None)
return y""", [({"q": drawn(1,1,2,5,4)}, (lambda q: (lambda s: softmax(np.where(np.tril(np.ones((5,5),bool)), s, -np.inf))@q)(q@q.transpose(0,1,3,2)/2))(drawn(1,1,2,5,4)))], ["--input-shape","q=1,2,n,4"])

add("unfold_view", "x: Tensor", """
y = torch.unfold(x, 0, 2, 1)
z = torch.movedim(y, -1, 0)
return torch.sum(z, [0], False, dtype=None)""", two(lambda x: x[:-1]+x[1:]), ["--input-shape","x=n,4"])

add("reshape_in_pairs", "x: Tensor", """
return torch.reshape(x, [-1, 8])""", [({"x": drawn(n,n,4)}, drawn(n,n,4).reshape(-1,8)) for n in (2, 6)], ROWS)

# Two names for one size: told, and checked when a model is bound.
for kind, call in {"add": "torch.add(x, y)", "mm": "torch.mm(torch.t(x), y)", "cat": "torch.cat([x, y], 1)"}.items():
    add(f"two_names_{kind}", "x: Tensor,\n    y: Tensor", f"""
return {call}""", [({"x": drawn(n, n, 4), "y": drawn(n + 9, n, 4)},
                    {"add": np.add, "mm": lambda a, b: a.T @ b, "cat": lambda a, b: np.concatenate([a, b], 1)}[kind](drawn(n, n, 4), drawn(n + 9, n, 4))) for n in (2, 5)],
        ["--input-shape", "x=n,4", "--input-shape", "y=m,4"])

# The means of groups of rows: how many groups there are data decides, and the sums say.
GROUPS = np.array([0, 1, 1])
add("grouped_means", "x: Tensor,\n    groups: Tensor", """
sums = torch.index_add_(torch.zeros([2, 4]), 0, groups, x)
counts = torch.bincount(groups, None, 2)
return torch.div(sums, torch.unsqueeze(counts, 1))""",
    [({"x": X, "groups": GROUPS}, np.stack([X[0], X[1:].mean(0)])), ({"x": X, "groups": GROUPS * 0}, np.stack([X.mean(0), np.full(4, np.nan, np.float32)])),
     ({"x": X, "groups": GROUPS * 4}, "the data decides a size of 5, but it must be 2")],
    ["--input-shape", "x=3,4", "--input-shape", "groups=3", "--input-type", "groups=i64"])

SIGNED = np.abs(X) * np.float32([[1], [-1], [1]])
add("found_rows", "x: Tensor,\n    y: Tensor", """
rows = torch.index_select(x, 0, torch.squeeze(torch.nonzero(torch.gt(torch.select(x, 1, 0), 0)), 1))
return torch.add(rows, y)""",
    [({"x": SIGNED, "y": X[:2]}, SIGNED[::2] + X[:2]), ({"x": -SIGNED, "y": X[:1]}, -SIGNED[1:2] + X[:1]),
     ({"x": SIGNED, "y": X}, "the data decides a size of 2, but it must be m = 3")], [*ROWS, "--input-shape", "y=m,4"])

# A place or a key that a size decides is no other place or key.
for _name, _line in (("insert", "torch.insert(ws, n, x)"), ("pop", "_0 = torch.pop(ws, n)"), ("delete", "torch.Delete(ws, n)")):
    add(f"open_{_name}_refused", "x: Tensor", f"""
n = torch.size(x, 0)
ws = [x, torch.mul(x, 2), torch.mul(x, 3)]
{_line}
return ws[0]""", "needs a number when compiling", ROWS)

add("open_key_refused", "x: Tensor", """
d = annotate(Dict[int, Tensor], {2: x, 3: torch.neg(x)})
return torch.get(d, torch.size(x, 0), torch.mul(x, 5))""", "it looks for a size in a dict", ROWS)

add("open_key_asked_refused", "x: Tensor", """
d = annotate(Dict[int, Tensor], {2: x})
if torch.__contains__(d, torch.size(x, 0)):
  y = torch.neg(x)
else:
  y = torch.clone(x)
return torch.add(y, torch.len(d))""", "it looks for a size in a dict", ROWS)

# Sizes that are known are keys and places; so are names.
add("known_keys", "x: Tensor", """
d = annotate(Dict[int, Tensor], {4: x, 3: torch.neg(x)})
n = torch.size(x, 1)
ws = [torch.mul(x, 2)]
torch.insert(ws, n, d[n])
return torch.add(torch.pop(ws, -1), ws[0])""", two(lambda x: x * 3), ROWS)

# No type of PyTorch has such lists.
add("endless_list_refused", "x: Tensor", """
a = annotate(List[List[Tensor]], [])
_0 = torch.append(a, a)
return (x, a)""", "or one holds itself", ROWS, ret="Tuple[Tensor, List[List[Tensor]]]")

add("endless_lists_compared_refused", "x: Tensor", """
a = annotate(List[List[int]], [])
_0 = torch.append(a, a)
b = annotate(List[List[int]], [])
_1 = torch.append(b, b)
if torch.eq(a, b):
  x = torch.neg(x)
else:
  pass
return x""", "or one holds itself", ROWS)

add("shared_lists_refused", "x: Tensor", """
a = [x]
for _0 in range(40):
  a = [a, a]
return a""", "elements", ROWS, ret="List[Tensor]")

add("deep_lists_refused", "x: Tensor", """
a = [x]
for _0 in range(200000):
  a = [a]
return a""", "nest deeper than 100 levels", ROWS, ret="List[Tensor]")

# The list is held by what goes away alone.
add("deep_lists_let_go", "x: Tensor", """
a = [x]
for _0 in range(200000):
  a = [a]
return torch.neg(x)""", two(lambda x: -x), ROWS)

# The first target changes the list that is taken apart.
add("targets_that_change_the_list", "x: Tensor", """
p = [1, 2]
out = x
for _0 in range(2):
  a, b, = p
  out = torch.add(torch.mul(out, a), b)
return out""", two(lambda x: (x + 2) + 2), ROWS)
