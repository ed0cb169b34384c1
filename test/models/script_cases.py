# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small TorchScript modules in the words of PyTorch's printer, each with what it computes in numpy."""
import dataclasses
import math

import numpy as np

from script_writer import Module, Tensor


@dataclasses.dataclass
class Case:
    top: Module
    code: dict
    options: list  # of kpc compile
    runs: list  # for each run: the inputs, then the outputs, by name
    constants: list = dataclasses.field(default_factory=list)


def tensor(value):
    kinds = {"float32": "Float", "int64": "Long", "bool": "Bool", "float16": "Half"}
    return Tensor(value.shape, type=kinds[str(value.dtype)], data=np.ascontiguousarray(value).tobytes())


def drawn(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def kept_boxes(boxes, scores, most):
    """The places of boxes that overlap no better one by more than a share, the best first."""
    low, high, kept = boxes[:, :2], boxes[:, 2:], []
    for i in np.argsort(-scores):
        both = [np.prod(np.maximum(np.minimum(high[i], high[j]) - np.maximum(low[i], low[j]), 0)) for j in kept]
        areas = [np.prod(high[i] - low[i]) + np.prod(high[j] - low[j]) for j in kept]
        if all(b <= most * (a - b) for a, b in zip(areas, both)):
            kept.append(i)
    return np.array(kept)


def module(name, attributes):
    return Module(name, {"training": False, "_is_full_backward_hook": None} | attributes)


LINEAR = """class Linear(Module):
  __parameters__ = ["weight", "bias", ]
  __buffers__ = []
  weight : Tensor
  bias : Tensor
  training : bool
  _is_full_backward_hook : Optional[bool]
  in_features : Final[int] = 4
  def forward(self: __torch__.torch.nn.modules.linear.Linear,
    input: Tensor) -> Tensor:
    weight = self.weight
    bias = self.bias
    return torch.linear(input, weight, bias)
"""
FUNCTIONAL = """def relu(input: Tensor,
    inplace: bool=False) -> Tensor:
  if inplace:
    result = torch.relu_(input)
  else:
    result = torch.relu(input)
  return result
def softmax(input: Tensor,
    dim: Optional[int]=None,
    _stacklevel: int=3,
    dtype: Optional[int]=None) -> Tensor:
  if torch.__is__(dim, None):
    dim1 = -1
  else:
    dim1 = unchecked_cast(int, dim)
  if torch.__is__(dtype, None):
    ret = torch.softmax(input, dim1)
  else:
    ret = torch.softmax(input, dim1, unchecked_cast(int, dtype))
  return ret
"""


def linear(weight, bias):
    return module("__torch__.torch.nn.modules.linear.Linear", {"weight": tensor(weight), "bias": tensor(bias)})


def mlp():
    """Scripted: a Sequential, functions with defaults, attributes by getattr; the batch is dynamic."""
    w1, b1, w2, b2 = drawn(1, 16, 8), drawn(2, 16), drawn(3, 4, 16), drawn(4, 4)
    layers = module("__torch__.torch.nn.modules.container.Sequential",
                    {"0": linear(w1, b1), "1": module("__torch__.torch.nn.modules.activation.ReLU", {}),
                     "2": linear(w2, b2)})
    code = {
        "__torch__.py": """class Mlp(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  layers : __torch__.torch.nn.modules.container.Sequential
  def forward(self: __torch__.Mlp,
    x: Tensor) -> Tensor:
    _0 = __torch__.torch.nn.functional.softmax
    layers = self.layers
    _1 = (layers).forward(x, )
    return _0(_1, -1, 3, None, )
""",
        "__torch__/torch/nn/modules/container.py": """class Sequential(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  __annotations__["0"] = __torch__.torch.nn.modules.linear.Linear
  __annotations__["1"] = __torch__.torch.nn.modules.activation.ReLU
  __annotations__["2"] = __torch__.torch.nn.modules.linear.Linear
  def forward(self: __torch__.torch.nn.modules.container.Sequential,
    input: Tensor) -> Tensor:
    _0 = getattr(self, "0")
    _1 = getattr(self, "1")
    _2 = getattr(self, "2")
    input0 = (_0).forward(input, )
    input1 = (_1).forward(input0, )
    return (_2).forward(input1, )
  def __len__(self: __torch__.torch.nn.modules.container.Sequential) -> int:
    return 3
""",
        "__torch__/torch/nn/modules/activation.py": """class ReLU(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  inplace : Final[bool] = True
  def forward(self: __torch__.torch.nn.modules.activation.ReLU,
    input: Tensor) -> Tensor:
    _0 = __torch__.torch.nn.functional.relu(input, True, )
    return _0
""",
        "__torch__/torch/nn/modules/linear.py": LINEAR, "__torch__/torch/nn/functional.py": FUNCTIONAL}

    def run(batch):
        x = drawn(batch, batch, 8)
        return {"x": x}, {"output": softmax(np.maximum(x @ w1.T + b1, 0) @ w2.T + b2)}

    return Case(module("__torch__.Mlp", {"layers": layers}), code, ["--input-shape", "x=batch,8"], [run(1), run(5)])


def convolved(x, w, stride, pad):
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    size = w.shape[-1]
    windows = np.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3))[:, :, ::stride, ::stride]
    return np.einsum("nchwij,ocij->nohw", windows, w)


def convnet():
    """Traced: _convolution with all its arguments, a batch norm, in-place operators, sizes as tensors."""
    w, scale, bias, mean, var = drawn(1, 6, 3, 3, 3), drawn(2, 6), drawn(3, 6), drawn(4, 6), np.abs(drawn(5, 6)) + 1
    fw, fb = drawn(6, 5, 6), drawn(7, 5)
    code = {"__torch__.py": """class Net(Module):
  __parameters__ = ["w", "fw", "fb", ]
  __buffers__ = ["mean", "var", ]
  w : Tensor
  scale : Tensor
  bias : Tensor
  mean : Tensor
  var : Tensor
  fw : Tensor
  fb : Tensor
  training : bool
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    fb = self.fb
    fw = self.fw
    var = self.var
    mean = self.mean
    bias = self.bias
    scale = self.scale
    w = self.w
    _0 = torch._convolution(x, w, None, [2, 2], [1, 1], [1, 1], False, [0, 0], 1, False, False, True, True)
    _1 = torch.batch_norm(_0, scale, bias, mean, var, False, 0.10000000000000001, 1.0000000000000001e-05, True)
    input = torch.relu_(_1)
    input0 = torch.max_pool2d(input, [2, 2], [2, 2], [0, 0], [1, 1], False)
    _2 = torch.adaptive_avg_pool2d(input0, [1, 1])
    _3 = ops.prim.NumToTensor(torch.size(_2, 0))
    _4 = int(_3)
    _5 = ops.prim.NumToTensor(torch.size(_2, 1))
    _6 = int(torch.mul(_5, CONSTANTS.c0))
    _7 = torch.view(_2, [_4, _6])
    return torch.addmm(fb, _7, torch.t(fw), beta=1, alpha=1)
"""}

    def run(batch):
        x = drawn(batch, batch, 3, 16, 16)
        y = convolved(x, w, 2, 1)
        at = (slice(None), None, None)
        y = np.maximum((y - mean[at]) / np.sqrt(var[at] + 1e-5) * scale[at] + bias[at], 0)
        y = y.reshape(batch, 6, 4, 2, 4, 2).max((3, 5)).mean((2, 3))
        return {"x": x}, {"output": y @ fw.T + fb}

    attributes = {"w": w, "scale": scale, "bias": bias, "mean": mean, "var": var, "fw": fw, "fb": fb}
    return Case(module("__torch__.Net", {name: tensor(value) for name, value in attributes.items()}), code,
                ["--input-shape", "x=batch,3,16,16"], [run(1), run(3)], [tensor(np.array(1, np.int64))])


def attention():
    """Traced: one product for queries, keys and values, taken apart by chunk; batch and length are dynamic."""
    w, b, o = drawn(1, 24, 8), drawn(2, 24), drawn(3, 8, 8)
    code = {"__torch__/___torch_mangle_0.py": """class Block(Module):
  __parameters__ = ["w", "b", "o", ]
  __buffers__ = []
  w : Tensor
  b : Tensor
  o : Tensor
  training : bool
  def forward(self: __torch__.___torch_mangle_0.Block,
    x: Tensor) -> Tensor:
    o = self.o
    b = self.b
    w = self.w
    _0 = ops.prim.NumToTensor(torch.size(x, 0))
    _1 = int(_0)
    _2 = int(_0)
    _3 = ops.prim.NumToTensor(torch.size(x, 1))
    _4 = int(_3)
    _5 = int(_3)
    q, k, v, = torch.chunk(torch.linear(x, w, b), 3, -1)
    _6 = torch.transpose(torch.view(q, [_1, _4, 2, 4]), 1, 2)
    _7 = torch.transpose(torch.view(k, [_2, -1, 2, 4]), 1, 2)
    _8 = torch.transpose(torch.view(v, [_2, -1, 2, 4]), 1, 2)
    _9 = torch.matmul(_6, torch.transpose(_7, -2, -1))
    _10 = torch.softmax(torch.div(_9, CONSTANTS.c0), -1)
    _11 = torch.transpose(torch.matmul(_10, _8), 1, 2)
    _12 = torch.reshape(torch.contiguous(_11), [_1, _5, 8])
    return torch.linear(_12, o)
"""}

    def run(batch, length):
        x = drawn(batch, batch, length, 8)
        q, k, v = (part.reshape(batch, length, 2, 4).transpose(0, 2, 1, 3) for part in np.split(x @ w.T + b, 3, -1))
        y = softmax(q @ k.transpose(0, 1, 3, 2) / np.float32(2)) @ v
        return {"x": x}, {"output": y.transpose(0, 2, 1, 3).reshape(batch, length, 8) @ o.T}

    top = module("__torch__.___torch_mangle_0.Block", {"w": tensor(w), "b": tensor(b), "o": tensor(o)})
    return Case(top, code, ["--input-shape", "x=batch,length,8"], [run(1, 3), run(2, 6)],
                [tensor(np.array(2, np.float32))])


def control():
    """Scripted: loops, branches, lists, a dict, an optional, a check that is left out, a string that chooses."""
    weights = [drawn(i, 6, 6) for i in range(3)]
    code = {"__torch__.py": """class Control(Module):
  __parameters__ = ["a", "b", "c", ]
  __buffers__ = []
  a : Tensor
  b : Tensor
  c : Tensor
  mode : str
  sizes : List[int]
  training : bool
  def forward(self: __torch__.Control,
    x: Tensor,
    scale: float=2.,
    bias: Optional[Tensor]=None,
    double: bool=False) -> Dict[str, Tensor]:
    _0 = "expected two dims, got {}"
    if torch.eq(torch.dim(x), 2):
      pass
    else:
      ops.prim.RaiseException(torch.format(_0, torch.dim(x)), "builtins.AssertionError")
    if torch.gt(torch.size(x, 0), 100):
      ops.prim.RaiseException("too many", "builtins.ValueError")
    else:
      pass
    seen = annotate(List[Tensor], [])
    a = self.a
    b = self.b
    c = self.c
    weights = [a, b, c]
    y = x
    for i in range(torch.len(weights)):
      w = weights[i]
      y0 = torch.add(torch.matmul(y, w), torch.mul(i, 0.5))
      if torch.eq(torch.remainder(i, 2), 0):
        _1 = torch.append(seen, y0)
      else:
        pass
      mode = self.mode
      if torch.eq(mode, "relu"):
        y1 = torch.relu(y0)
      else:
        ops.prim.RaiseException(torch.add("unknown mode ", mode), "builtins.ValueError")
        y1 = y0
      y = torch.mul(y1, scale)
    n = 8
    rounds = 0
    while torch.gt(n, 1):
      n0 = torch.floordiv(n, 2)
      rounds0 = torch.add(rounds, 1)
      n, rounds = n0, rounds0
    if torch.__isnot__(bias, None):
      bias0 = unchecked_cast(Tensor, bias)
      y2 = torch.add(y, bias0)
    else:
      y2 = y
    if double:
      y3 = torch.add(y2, y2)
    else:
      y3 = torch.add(y2, rounds)
    sizes = self.sizes
    parts = torch.split_with_sizes(y3, sizes, 1)
    first, second, = parts
    out = annotate(Dict[str, Tensor], {"sum": torch.add(first, second)})
    torch._set_item(out, "all", torch.cat(torch.slice(seen, 0, 2, 1), 1))
    return out
"""}

    def run(batch, bias):
        x = y = drawn(batch, batch, 6)
        seen = []
        for i, w in enumerate(weights):
            y = y @ w + np.float32(0.5 * i)
            if i % 2 == 0:
                seen.append(y)
            y = np.maximum(y, 0) * np.float32(3)
        y = y + bias + 3
        outputs = {"sum": y[:, :3] + y[:, 3:], "all": np.concatenate(seen, 1)}
        return {"x": x, "bias": bias}, outputs

    top = module("__torch__.Control", {name: tensor(w) for name, w in zip("abc", weights)} |
                 {"mode": "relu", "sizes": [3, 3]})
    return Case(top, code, ["--input-shape", "x=batch,6", "--input-shape", "bias=6", "--value", "scale=3"],
                [run(2, drawn(9, 6))])


def writes():
    """Writes through views, and nested outputs."""
    code = {"__torch__.py": """class InPlace(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.InPlace,
    pair: Tuple[Tensor, Tensor]) -> Tuple[Tensor, List[Tensor], int]:
    x, k, = pair
    _0 = torch.add(torch.size(x, 1), 2)
    _1 = ops.prim.dtype(x)
    y = torch.zeros([torch.size(x, 0), _0], dtype=_1, layout=None, device=ops.prim.device(x), pin_memory=None)
    _2 = torch.slice(torch.slice(y), 1, 1, -1)
    _3 = torch.copy_(_2, x)
    _4 = torch.add_(torch.select(y, 0, 0), 1.)
    z = torch.view(y, [-1])
    _5 = torch.mul_(z, 2.)
    _6 = torch.copy_(torch.select(torch.slice(y), 1, 0), torch.sub(torch.select(torch.slice(y), 1, -1), 3.))
    _7 = torch.masked_fill_(y, torch.lt(y, 0), -inf)
    n = torch.size(y, 1)
    return (y, [torch.index(k, [torch.tensor([1, 0])]), torch.to(k, 6)], n)
"""}

    def run():
        x, k = drawn(1, 3, 4), np.arange(2, dtype=np.int64)
        y = np.zeros((3, 6), np.float32)
        y[:, 1:-1] = x
        y[0] += 1
        y *= 2
        y[:, 0] = y[:, -1] - 3
        y[y < 0] = -np.inf
        return {"pair_0": x, "pair_1": k}, {"output_0": y, "output_1_0": k[::-1], "output_1_1": k.astype(np.float32),
                                             "output_2": np.array(6)}

    return Case(module("__torch__.InPlace", {}), code,
                ["--input-shape", "pair_0=rows,4", "--input-shape", "pair_1=2", "--input-type", "pair_1=i64"], [run()])


def state():
    """A sum that the module keeps between calls; its first call makes it."""
    code = {"__torch__.py": """class Sum(Module):
  __parameters__ = []
  __buffers__ = []
  total : Tensor
  calls : int
  training : bool
  def forward(self: __torch__.Sum,
    x: Tensor) -> Tensor:
    total = self.total
    if torch.eq(torch.len(total), 0):
      total0 = torch.zeros_like(x)
    else:
      total0 = total
    y = torch.add(total0, x)
    self.total = y
    return torch.mul(y, 2)
  def twice(self: __torch__.Sum,
    x: Tensor) -> Tensor:
    return torch.mul(x, 2)
"""}
    x, total = drawn(1, 2, 3), drawn(2, 2, 3)
    run = {"x": x, "total": total}, {"output": (x + total) * 2, "total_out": x + total}
    top = module("__torch__.Sum", {"total": tensor(np.zeros(0, np.float32)), "calls": 0})
    return Case(top, code, ["--input-shape", "x=batch,3", "--state", "explicit"], [run])


def recurrent():
    """Scripted: LSTM of one layer with its weights in lists, half precision casts, layer norm of frozen constants."""
    w, r, b = drawn(1, 20, 3), drawn(2, 20, 5), drawn(3, 20)
    scale = drawn(4, 5)
    code = {"__torch__.py": """class Lstm(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _flat_weights : List[Tensor]
  def forward(self: __torch__.Lstm,
    x: Tensor) -> Tuple[Tensor, Tensor]:
    _flat_weights = self._flat_weights
    h = torch.zeros([1, torch.size(x, 0), 5], dtype=ops.prim.dtype(x), layout=None, device=None)
    _0 = [h, h]
    y, h_n, c_n, = torch.lstm(x, _0, _flat_weights, True, 1, 0., False, False, True)
    _1 = torch.layer_norm(y, [5], CONSTANTS.c0, None, 1.0000000000000001e-05)
    return (torch.to(torch.to(_1, 5), 6), h_n)
"""}

    def run():
        x = drawn(5, 2, 4, 3)
        h = c = np.zeros((2, 5), np.float32)
        ys = []
        for t in range(4):
            i, f, g, o = np.split(x[:, t] @ w.T + b + h @ r.T + b, 4, -1)
            sigmoid = lambda v: 1 / (1 + np.exp(-v))
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            ys.append(h)
        y = np.stack(ys, 1)
        n = (y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + 1e-5) * scale
        return {"x": x}, {"output_0": n.astype(np.float16).astype(np.float32), "output_1": h[None]}

    flat = [tensor(w), tensor(r), tensor(b), tensor(b)]
    return Case(module("__torch__.Lstm", {"_flat_weights": flat}), code, ["--input-shape", "x=batch,4,3"], [run()],
                [tensor(scale)])


def operators():
    """Calls without names or overloads: which form is meant, what is left out, what results are; one output each."""
    x, image, table, ids = drawn(1, 3, 8), drawn(2, 2, 4, 4, 4), drawn(3, 50, 4), np.array([[1, 2, 0]])
    kernel, scores = drawn(4, 4, 3, 2), x[:, :, None] @ x[:, None]
    line = image.reshape(2, 4, 16)
    grouped = line.reshape(2, 2, 32)
    normed = (grouped - grouped.mean(-1, keepdims=True)) / np.sqrt(grouped.var(-1, keepdims=True) + 1e-5)
    heads = image @ image.swapaxes(-1, -2) / np.float32(2)
    projections = [drawn(5, 12, 4), drawn(6, 12), drawn(7, 4, 4), drawn(8, 4)]

    def native(cross, hidden=False):
        """Two heads; the values attended to, and the keys by the mean of the weights."""
        w, b, out, bias = projections
        of = [image[:, 0]] + 2 * [image[:, 1, :3] if cross else image[:, 0]]
        parts = [v @ w[i * 4:i * 4 + 4].T + b[i * 4:i * 4 + 4] for i, v in enumerate(of)]
        q, k, v = (part.reshape(2, -1, 2, 2).swapaxes(1, 2) for part in parts)
        weights = softmax(np.where(hidden, -np.inf, q @ k.swapaxes(-1, -2) / np.sqrt(np.float32(2))))
        return (weights @ v).swapaxes(1, 2).reshape(2, -1, 4) @ out.T + bias, weights.mean(1) @ of[1]

    put = x.copy()
    put[:, 0], put[:, 3] = 1, 7
    channels = image.mean((0, 2, 3), keepdims=True), image.var((0, 2, 3), keepdims=True)
    patches = np.stack([image[:, :, i:i + 3:2, j:j + 3] for i in range(2) for j in range(2)], 2)
    pooled = image.reshape(2, 4, 2, 2, 2, 2).swapaxes(3, 4).reshape(2, 4, 2, 2, 4)
    rows = "s = torch.slice(torch._shape_as_tensor(image), 0, -2, 9223372036854775807)"
    spread = np.where(pooled == pooled.max(-1, keepdims=True), pooled, 0)
    spread = spread.reshape(2, 4, 2, 2, 2, 2).swapaxes(3, 4).reshape(image.shape)
    calls = {  # name: (lines, of which the last is the result; what numpy makes of it)
        "slice_most": ("torch.slice(torch.slice(x, 0, 0, 9223372036854775807), 1, 0, 9223372036854775807, 2)",
                       x[:, ::2]),
        "slice_end": ("torch.slice(x, 1, -3)", x[:, -3:]),
        "slice_less": ("torch.slice(x, 0, 0, -1)", x[:-1]),
        "view_rest": ("torch.view(x, [-1, 4])", x.reshape(-1, 4)),
        "flatten_part": ("torch.flatten(torch.unsqueeze(x, 1), 1)", x),
        "flatten_all": ("torch.flatten(x)", x.ravel()),
        "expand": ("torch.expand(torch.unsqueeze(x, 1), [-1, 2, -1])", np.repeat(x[:, None], 2, 1)),
        "arange_size": ("torch.arange(torch.size(x, 0), dtype=None, layout=None, device=torch.device(\"cpu\"))",
                        np.arange(3)),
        "arange_step": ("torch.index_select(x, 1, torch.arange(0, 8, 2))", x[:, ::2]),
        "sum_bools": ("torch.sum(torch.gt(x, 0), [1], False, dtype=None)", (x > 0).sum(1)),
        "mean_all": ("torch.mean(x, None, False, dtype=None)", x.mean()),
        "max_pair": ("(torch.max(x, -1, True))[1]", x.argmax(-1)[:, None]),
        "std_unbiased": ("torch.std(x, [1], True, False)", x.std(1, ddof=1)),
        "var_kept": ("torch.var(x, [1], False, True)", x.var(1, keepdims=True)),
        "clamp_low": ("torch.clamp(x, -0.5, None)", np.maximum(x, -0.5)),
        "clamp_integers": ("torch.clamp(torch.to(torch.mul(x, 3), 3), 0, 1)", np.clip((x * 3).astype(np.int32), 0, 1)),
        "full_integer": ("torch.full([2, torch.size(x, 0)], 3, dtype=None)", np.full((2, 3), 3)),
        "full_like": ("torch.full_like(x, 1.5)", np.full_like(x, 1.5)),
        "where_number": ("torch.where(torch.gt(x, 0), x, 0.)", np.where(x > 0, x, 0)),
        "stack_last": ("torch.stack([x, x], -1)", np.stack([x, x], -1)),
        "cat_types": ("torch.cat([x, torch.to(torch.gt(x, 0), 4)], 0)",
                      np.concatenate([x, (x > 0).astype(np.float32)])),
        "unbind": ("(torch.unbind(x, 1))[-1]", x[:, -1]),
        "tensor_split": ("(torch.tensor_split(x, 3, 1))[0]", x[:, :3]),
        "chunk": ("(torch.chunk(x, 3, 1))[2]", x[:, 6:]),
        "pad": ("torch.pad(x, [1, 2], \"constant\", 0.)", np.pad(x, ((0, 0), (1, 2)))),
        "einsum": ("torch.einsum(\"bi,bj->bij\", [x, x])", scores),
        "attention": ("torch.scaled_dot_product_attention(image, image, image, None, 0., True, scale=None)",
                      softmax(np.where(np.tril(np.ones((4, 4))) > 0, heads, -np.inf)) @ image),
        "native_attention": ("q = torch.select(image, 1, 0)\na, b = torch._native_multi_head_attention(q, q, q, 4, 2, "
                             "CONSTANTS.c3, CONSTANTS.c4, CONSTANTS.c5, CONSTANTS.c6, None, False)\na",
                             native(False)[0]),
        "native_cross": ("k = torch.slice(torch.select(image, 1, 1), 1, 0, 3)\n"
                         "a, b = torch._native_multi_head_attention(q, k, k, 4, 2, CONSTANTS.c3, CONSTANTS.c4, "
                         "CONSTANTS.c5, CONSTANTS.c6)\ntorch.cat([a, torch.matmul(b, k)], 1)",
                         np.concatenate(native(True), 1)),
        "native_padding": ("q = torch.select(image, 1, 0)\nm = torch.gt(torch.select(torch.select(image, 1, 1), 1, 0), 0.5)\n"
                           "_0 = torch.fill_(torch.select(m, 1, 0), False)\n"
                           "a, b = torch._native_multi_head_attention(q, q, q, 4, 2, CONSTANTS.c3, CONSTANTS.c4, CONSTANTS.c5, "
                           "CONSTANTS.c6, m, False, True, 1)\na",
                           native(False, ((image[:, 1, 0] > 0.5) & (np.arange(4) > 0))[:, None, None])[0]),
        "native_triangle": ("q = torch.select(image, 1, 0)\nm = torch.triu(torch.mul(torch.ones([4, 4]), -inf), 1)\n"
                            "a, b = torch._native_multi_head_attention(q, q, q, 4, 2, CONSTANTS.c3, CONSTANTS.c4, CONSTANTS.c5, "
                            "CONSTANTS.c6, m, True, True, 0)\ntorch.cat([a, torch.matmul(b, q)], 1)",
                            np.concatenate(native(False, np.triu(np.ones((4, 4)), 1) > 0), 1)),
        "native_each": ("q = torch.select(image, 1, 0)\nm = torch.expand(torch.triu(torch.ones([4, 4], dtype=11), 1), [2, 2, 4, 4])\n"
                        "a, b = torch._native_multi_head_attention(q, q, q, 4, 2, CONSTANTS.c3, CONSTANTS.c4, CONSTANTS.c5, "
                        "CONSTANTS.c6, m, False, True, 2)\na", native(False, np.triu(np.ones((4, 4)), 1) > 0)[0]),
        "upsample_factor": ("torch.upsample_nearest2d(image, None, [2., 2.])", image.repeat(2, 2).repeat(2, 3)),
        "upsample_size": ("torch.upsample_nearest2d(image, [8, 8], None)", image.repeat(2, 2).repeat(2, 3)),
        "write_places": ("y = torch.clone(x)\n_0 = torch.fill_(torch.select(y, 1, 0), 1)\n"
                         "_1 = torch.index_put_(y, [None, torch.tensor([3])], torch.tensor(7.))\ny", put),
        "write_shared": ("y = torch.mul(x, 1)\nz = y\n_0 = torch.add_(y, 1)\nz", x + 1),
        "size_tensors": ("n = ops.prim.NumToTensor(torch.size(x, 1))\n_0 = int(torch.floor_divide(n, CONSTANTS.c0))\n"
                         "_1 = int(torch.div(n, CONSTANTS.c0, rounding_mode=\"trunc\"))\n"
                         "torch.view(x, [-1, _0, torch.floordiv(_1, 2)])", x.reshape(-1, 4, 2)),
        "size_padding": ("n = ops.prim.NumToTensor(torch.size(x, 1))\n"
                         "_0 = torch.rsub(torch.remainder(n, 5), 5)\n"
                         "torch.pad(x, [0, int(torch.remainder(_0, 5))])", np.pad(x, ((0, 0), (0, 2)))),
        "size_factor": ("n = torch.add(ops.prim.NumToTensor(torch.size(x, 1)), 4, 2)\ntorch.mul(x, int(n))", x * 16),
        "root_of_size": ("torch.mul(x, torch.div(1., torch.sqrt(torch.size(x, 1))))", x / np.sqrt(np.float32(8))),
        "mask": ("m = torch.triu(torch.ones([8, 8], dtype=11), 1)\n"
                 "torch.masked_fill(torch.matmul(torch.unsqueeze(x, 2), torch.unsqueeze(x, 1)), m, -inf)",
                 np.where(np.triu(np.ones((8, 8)), 1) > 0, -np.inf, scores)),
        "embedding": ("torch.embedding(CONSTANTS.c1, ids, 0, False, False)", table[ids]),
        "topk": ("(torch.topk(x, 2, -1, True, True))[0]", np.sort(x, -1)[:, ::-1][:, :2]),
        "repeat": ("torch.repeat(x, [1, 2])", np.tile(x, (1, 2))),
        "softplus": ("torch.softplus(x, 1, 20)", np.log1p(np.exp(x))),
        "gelu_tanh": ("torch.gelu(x, approximate=\"tanh\")",
                      0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))),
        "layer_norm": ("torch.layer_norm(x, [8])",
                       (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)),
        "one_hot": ("torch.one_hot(ids, 5)", np.eye(5, dtype=np.int64)[ids]),
        "broadcast": ("a, b = torch.broadcast_tensors([x, torch.ones([1, 8])])\ntorch.add(a, b)", x + 1),
        "meshgrid": ("a, b = torch.meshgrid([torch.arange(3), torch.arange(4)], indexing=\"ij\")\ntorch.sub(a, b)",
                     np.arange(3)[:, None] - np.arange(4)),
        "group_norm": ("torch.group_norm(torch.flatten(image, 2), 2, None, None, 1.0000000000000001e-05)",
                       normed.reshape(2, 4, 16)),
        "transposed": ("torch._convolution(torch.flatten(image, 2), CONSTANTS.c2, None, [2], [0], [1], True, [0], 1, "
                       "False, False, True, True)", np.einsum("ncl,cok->nolk", line, kernel).reshape(2, 3, 32)),
        "batch_statistics": ("torch.batch_norm(image, None, None, None, None, True, 0., 1.0000000000000001e-05, True)",
                             (image - channels[0]) / np.sqrt(channels[1] + 1e-5)),
        "broadcast_to": ("torch.broadcast_to(torch.unsqueeze(x, 1), [-1, 2, -1])", np.repeat(x[:, None], 2, 1)),
        "copysign": ("torch.copysign(x, torch.neg(torch.abs(x)))", -np.abs(x)),
        "sorted_rows": ("torch.msort(x)", np.sort(x, 0)),
        "put": ("torch.put(torch.zeros_like(x), torch.tensor([1, -1]), torch.tensor([5., 6.]))",
                np.array([0, 5] + [0] * 21 + [6], np.float32).reshape(3, 8)),
        "where_true": ("torch.stack(torch.where(torch.gt(image, 0)), 1)", np.argwhere(image > 0)),
        "patches": ("torch.im2col(image, [2, 2], [1, 1], [0, 0], [2, 1])", patches.reshape(2, 16, 6)),
        "folded": ("torch.col2im(torch.im2col(image, [2, 2], [1, 1], [0, 0], [2, 2]), [4, 4], [2, 2], [1, 1], [0, 0], "
                   "[2, 2])", image),
        "unpooled": ("a, b = torch.max_pool2d_with_indices(image, [2, 2])\ntorch.max_unpool2d(a, b, [4, 4])", spread),
        "antialias": ("torch._upsample_bilinear2d_aa(image, [2, 2], False, None)",
                      np.einsum("ih,nchw,jw->ncij", np.array([[3, 3, 1, 0], [0, 1, 3, 3]]) / 7, image,
                                np.array([[3, 3, 1, 0], [0, 1, 3, 3]]) / 7)),
        "boxes": ("b = torch.cat([torch.slice(x, 1, 0, 2), torch.add(torch.slice(x, 1, 0, 2), 3)], 1)\n"
                  "ops.torchvision.nms(b, torch.select(x, 1, 7), 0.40000000000000002)",
                  kept_boxes(np.concatenate([x[:, :2], x[:, :2] + 3], 1), x[:, 7], 0.4)),
        "shape_tensor": ("torch._shape_as_tensor(x)", np.array([3, 8])),
        "scaled_by_shape": (rows + "\nlow = torch.to(torch.min(s), 6)\nhigh = torch.to(torch.max(s), 6)\n"
                            "f = torch.min(torch.mul(torch.reciprocal(low), 6.), torch.mul(torch.reciprocal(high), 7.))\n"
                            "n = torch.to(ops.prim.NumToTensor(torch.size(image, 2)), 6)\n"
                            "_0 = int(torch.floor(torch.to(torch.mul(n, f), 6)))\n"
                            "torch.upsample_nearest2d(image, [_0, _0], None)",
                            image[:, :, [0, 0, 1, 2, 2, 3]][:, :, :, [0, 0, 1, 2, 2, 3]]),
        "batched_by_shape": ("m = torch.stack([ops.prim.NumToTensor(torch.size(x, 1)), "
                             "ops.prim.NumToTensor(torch.size(image, 1))])\n"
                             "most = torch.to(torch.max(torch.to(m, 6)), 4)\n"
                             "whole = torch.mul(torch.ceil(torch.div(torch.to(most, 6), 5.)), 5.)\n"
                             "_0 = torch.sub(torch.to(whole, 4), torch.size(x, 1))\n"
                             "torch.pad(x, [0, int(_0)])", np.pad(x, ((0, 0), (0, 2)))),
        "padded_rows": ("n = ops.prim.NumToTensor(torch.size(x, 0))\n"
                        "torch.pad(x, [0, 0, 0, int(torch.remainder(torch.neg(n), 4))])", np.pad(x, ((0, 1), (0, 0)))),
        "few_rows": ("n = torch.unsqueeze(torch.select(torch._shape_as_tensor(x), 0, 0), 0)\n"
                     "k = torch.min(torch.cat([torch.tensor([2]), n]))\n(torch.topk(x, int(k), 0, True, True))[0]",
                     np.sort(x, 0)[:0:-1]),
        "device": ("if torch.__contains__([\"cpu\", \"cuda\"], ops.prim.type(ops.prim.device(x))):\n  y = x\nelse:\n"
                   "  y = torch.neg(x)\ny", x),
        "of_type": ("if isinstance(x, Tensor):\n  y = x\nelse:\n  y = torch.neg(x)\ny", x),
    }
    body = ["out = annotate(Dict[str, Tensor], {})"]
    for name, (lines, _) in calls.items():
        *before, result = lines.split("\n")
        body += [*before, f'_9 = torch._set_item(out, "{name}", {result})']
    head = """class Calls(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Calls,
    x: Tensor,
    image: Tensor,
    ids: Tensor) -> Dict[str, Tensor]:
"""
    code = {"__torch__.py": head + "".join(f"    {line}\n" for line in [*body, "return out"])}
    wanted = {name: np.asarray(value) for name, (_, value) in calls.items()}
    wanted = {name: value.astype(np.float32) if value.dtype == np.float64 else value for name, value in wanted.items()}
    return Case(module("__torch__.Calls", {}), code,
                ["--input-shape", "x=n,8", "--input-shape", "image=2,4,4,4", "--input-shape", "ids=m,3",
                 "--input-type", "ids=i64"], [({"x": x, "image": image, "ids": ids}, wanted)],
                [tensor(np.array(2, np.int64)), tensor(table), tensor(kernel), *map(tensor, projections)])


def choices():
    """Branches that data decides, one in the other; numbers and tensors come of them, and a weight is read in one."""
    code = {"__torch__.py": """class Choices(Module):
  __parameters__ = ["weight", ]
  __buffers__ = []
  weight : Tensor
  training : bool
  def forward(self: __torch__.Choices,
    x: Tensor) -> Tuple[Tensor, Tensor]:
    total = torch.sum(x)
    scale = 1
    if bool(torch.gt(total, 0)):
      weight = self.weight
      y = torch.softmax(torch.matmul(x, weight), -1)
      if bool(torch.gt(torch.max(y), 0.75)):
        _0 = torch.matmul(torch.softmax(y, 0), weight)
        y0, scale = _0, 3
      else:
        y0, scale = torch.mul(torch.ones_like(y), torch.sum(torch.exp(y), [0], True)), 4
      z = torch.add(y, y0)
    else:
      z = torch.cumsum(torch.softmax(x, -1), 0)
    if torch.__and__(bool(torch.lt(total, 3)), torch.__not__(bool(torch.lt(total, -3)))):
      small = torch.ones_like(total)
    else:
      small = torch.zeros_like(total)
    return (torch.mul(torch.matmul(z, self.weight), scale), small)
"""}
    weight = drawn(3, 4, 4)

    def run(x):
        total, scale = x.sum(), 1
        if total > 0:
            y = softmax(x @ weight)
            e = np.exp(y - y.max(0))
            y0, scale = ((e / e.sum(0)) @ weight, 3) if y.max() > 0.75 else (np.exp(y).sum(0, keepdims=True), 4)
            z = y + y0
        else:
            z = np.cumsum(softmax(x), 0)
        return {"x": x}, {"output_0": z @ weight * scale, "output_1": np.float32(-3 <= total < 3)}

    x = drawn(4, 3, 4) * np.float32(0.1)
    runs = [x - x.mean() + np.float32(0.01), x - x.mean() - 1, x - x.mean() + 1, 5 * (x - x.mean()) + np.float32(0.1)]
    return Case(module("__torch__.Choices", {"weight": tensor(weight)}), code, ["--input-shape", "x=rows,4"],
                [run(value) for value in runs])


def until():
    """A loop that data ends: state of several types, a weight that is read first inside, a branch and another loop in
    each iteration; numbers as state; a condition of f16."""
    code = {"__torch__.py": """class Until(Module):
  __parameters__ = ["weight", ]
  __buffers__ = []
  weight : Tensor
  training : bool
  def forward(self: __torch__.Until,
    x: Tensor,
    h: Tensor) -> Tuple[Tensor, Tensor, int, Tensor, float]:
    _0 = torch.lt(torch.sum(h), 40)
    seen = torch.gt(torch.sum(x), 1000)
    rounds = 1
    scale = 1.
    y = x
    h0 = h
    _1 = bool(_0)
    while _1:
      weight = self.weight
      y0 = torch.add(torch.matmul(y, weight), x)
      if bool(torch.gt(torch.max(y0), 3)):
        y1, seen0 = torch.softmax(torch.matmul(y0, weight), -1), torch.ones_like(seen)
      else:
        y1, seen0 = torch.mul(y0, scale), seen
      low = torch.mul(torch.abs(y1), 9)
      _2 = bool(torch.gt(torch.max(low), 1))
      steps = 0
      while _2:
        low0 = torch.mul(low, 0.5)
        steps0 = torch.add(steps, 1)
        _2, low, steps = bool(torch.gt(torch.max(low0), 1)), low0, steps0
      h1 = torch.add(torch.add(h0, 0.5), torch.remainder(rounds, 2))
      rounds0 = torch.add(rounds, 1)
      scale0 = torch.mul(scale, 0.75)
      y2 = torch.add(y1, torch.mul(low, steps))
      _1, y, h0, rounds, seen, scale = bool(torch.lt(torch.sum(h1), 40)), y2, h1, rounds0, seen0, scale0
    return (torch.add(y, self.weight), h0, torch.mul(rounds, 2), seen, scale)
"""}
    weight = drawn(3, 4, 4) * np.float32(0.4)

    def run(x, h):
        y, seen, rounds, scale = x, x.sum() > 1000, 1, 1.0
        start = h
        while h.astype(np.float32).sum() < 40:
            y = y @ weight + x
            if y.max() > 3:
                y, seen = softmax(y @ weight), np.bool_(True)
            else:
                y = y * np.float32(scale)
            low, steps = np.abs(y) * np.float32(9), 0
            while low.max() > 1:
                low, steps = low * np.float32(0.5), steps + 1
            h = h + np.float16(0.5 + rounds % 2)
            rounds, scale, y = rounds + 1, scale * 0.75, y + low * np.float32(steps)
        return {"x": x, "h": start}, {"output_0": y + weight, "output_1": h, "output_2": np.array(2 * rounds),
                                      "output_3": np.bool_(seen), "output_4": np.float32(scale)}

    x = drawn(4, 4, 4)
    runs = [run(x * np.float32(by), np.full((3,), start, np.float16)) for by in (0.1, 1, 300) for start in (-2, 12, 14)]
    return Case(module("__torch__.Until", {"weight": tensor(weight)}), code,
                ["--input-shape", "x=4,4", "--input-shape", "h=3", "--input-type", "h=f16"], runs)


def breaks():
    """A `for` that data may leave, as the printer writes it, and a branch on a size."""
    code = {"__torch__.py": """class Breaks(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Breaks,
    x: Tensor,
    limit: Tensor) -> Tuple[Tensor, int]:
    rows = torch.size(x, 0)
    if torch.gt(rows, 3):
      x0 = torch.softmax(x, 0)
    else:
      x0 = torch.cumsum(x, 0)
    _0 = True
    y = x0
    last = 0
    _1 = 0
    while _0:
      y0 = torch.mul(y, 1.5)
      if bool(torch.gt(torch.sum(y0), limit)):
        _2, last0 = False, _1
      else:
        _2, last0 = True, last
      _3 = torch.add(_1, 1)
      _4 = torch.__and__(torch.lt(_3, 12), _2)
      _0, y, last, _1 = _4, y0, last0, _3
    return (y, last)
"""}

    def run(x, limit):
        y, last = softmax(x.T).T if len(x) > 3 else np.cumsum(x, 0), 0
        for i in range(12):
            y = y * np.float32(1.5)
            if y.sum() > limit:
                last = i
                break
        return {"x": x, "limit": np.float32(limit)}, {"output_0": y, "output_1": np.array(last)}

    runs = [run(np.abs(drawn(rows, rows, 3)), limit) for rows in (2, 5) for limit in (0, 9, 20, 1e6)]
    return Case(module("__torch__.Breaks", {}), code, ["--input-shape", "x=rows,3", "--input-shape", "limit="], runs)


def steps():
    """A recurrence over as many steps as the input has, forwards and from the end."""
    code = {"__torch__.py": """class Steps(Module):
  __parameters__ = ["weight", ]
  __buffers__ = []
  weight : Tensor
  training : bool
  def forward(self: __torch__.Steps,
    x: Tensor) -> Tuple[Tensor, Tensor, int]:
    h = torch.zeros_like(torch.select(x, 0, 0))
    g = h
    count = 0
    for i in range(torch.size(x, 0)):
      weight = self.weight
      row = torch.select(x, 0, i)
      last = torch.select(x, 0, torch.sub(-1, i))
      h0 = torch.tanh(torch.add(torch.matmul(h, weight), row))
      g0 = torch.tanh(torch.add(torch.matmul(g, weight), torch.mul(last, torch.add(i, 1))))
      count0 = torch.add(count, i)
      h, g, count = h0, g0, count0
    return (torch.add(h, self.weight), g, count)
"""}
    weight = drawn(3, 4, 4) * np.float32(0.4)

    def run(x):
        h = g = np.zeros((4, 4), np.float32)
        for i in range(len(x)):
            h, g = np.tanh(h @ weight + x[i]), np.tanh(g @ weight + x[-1 - i] * np.float32(i + 1))
        return {"x": x}, {"output_0": h + weight, "output_1": g, "output_2": np.array(sum(range(len(x))))}

    return Case(module("__torch__.Steps", {"weight": tensor(weight)}), code, ["--input-shape", "x=steps,4,4"],
                [run(drawn(n, n, 4, 4)) for n in (1, 2, 40)])


def decode():
    """Each iteration of a loop that data ends writes to a row that its counter names, and a side of a branch to another."""
    code = {"__torch__.py": """class Decode(Module):
  __parameters__ = ["weight", ]
  __buffers__ = []
  weight : Tensor
  training : bool
  def forward(self: __torch__.Decode,
    h: Tensor) -> Tuple[Tensor, Tensor, Tensor, int]:
    weight = self.weight
    out = torch.zeros([torch.size(h, 0), 10], dtype=4)
    first = torch.select(out, 1, 0)
    seen = torch.zeros([2], dtype=6)
    _0 = True
    h0 = h
    step = 0
    while _0:
      h1 = torch.tanh(torch.matmul(h0, weight))
      token = torch.argmax(h1, -1)
      _1 = torch.copy_(torch.select(torch.slice(out, 0, 0, 9223372036854775807), 1, step), torch.add(token, 1))
      if bool(torch.gt(torch.sum(h1), 0)):
        _2 = torch.add_(torch.select(seen, 0, 1), 1)
      else:
        _3 = torch.add_(torch.select(seen, 0, 0), torch.max(h1))
      if bool(torch.all(torch.eq(token, 3))):
        _4 = False
      else:
        _4 = True
      step0 = torch.add(step, 1)
      _5 = torch.__and__(torch.lt(step0, 10), _4)
      _0, h0, step = _5, h1, step0
    count = 0
    total = torch.abs(h)
    if torch.lt(0, 5):
      _6 = bool(torch.lt(torch.max(total), 50.))
    else:
      _6 = False
    _7 = _6
    while _7:
      total0 = torch.mul(total, 2)
      count0 = torch.add(count, 1)
      if torch.lt(count0, 5):
        _8 = bool(torch.lt(torch.max(total0), 50.))
      else:
        _8 = False
      _7, total, count = _8, total0, count0
    return (torch.add(out, torch.unsqueeze(first, 1)), seen, total, count)
"""}
    weight = drawn(7, 5, 5)

    def run(h):
        start, out, seen = h, np.zeros((len(h), 10), np.int64), np.zeros(2, np.float32)
        for step in range(10):
            h = np.tanh(h @ weight)
            token = h.argmax(-1)
            out[:, step] = token + 1
            if h.sum() > 0:
                seen[1] += 1
            else:
                seen[0] += h.max()
            if (token == 3).all():
                break
        count, total = 0, np.abs(start)
        while count < 5 and total.max() < 50:
            total, count = total * 2, count + 1
        return {"h": start}, {"output_0": out + out[:, :1], "output_1": seen, "output_2": total, "output_3": np.array(count)}

    runs = [run(drawn(seed, rows, 5) * np.float32(scale)) for seed, rows, scale in ((1, 1, 1), (2, 1, 20), (3, 3, 1), (4, 1, 100))]
    return Case(module("__torch__.Decode", {"weight": tensor(weight)}), code, ["--input-shape", "h=rows,5"], runs)


def functions():
    """Operators whose forms are chosen by what stands in the source, and complex numbers that no file declares."""
    code = {"__torch__.py": """class Functions(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Functions,
    x: Tensor,
    w: Tensor,
    i: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    _0 = torch.mse_loss(x, torch.neg(x), 2)
    _1 = torch.abs(torch.fft_rfft(x, None, -1, None))
    _2 = torch.fft_irfft(torch.mul(torch.fft_rfft(x), 2), 7)
    _3, _4, = torch.cummax(x, 1)
    _5, _6, _7, _8, = torch.embedding_bag(w, i, torch.tensor([0, 2]), False, 1, False, None, False, None)
    _9 = torch.bilinear(x, x, torch.reshape(torch.matmul(torch.t(w), w), [1, 8, 8]), None)
    _10, _11, = torch.hsplit(x, 2)
    _12 = torch.mul(torch.hann_window(8, dtype=None, layout=None, device=torch.device("cpu"), pin_memory=False), x)
    _13 = torch._convolution_mode(torch.unsqueeze(x, 1), torch.reshape(torch.slice(w, 0, 0, 3), [3, 1, 8]), None, [1], "same", [1], 1)
    _14 = torch.quantile(x, 0.25, 1, False, interpolation="linear")
    _15 = torch.view_as_real(torch.stft(x, 4, 2, 4, None, False, True, True))
    _16 = torch.lgamma(torch.add(torch.abs(x), 1))
    return (_0, _1, _2, _4, _5, _9, _11, _12, _13, torch.add(torch.sum(_15), torch.add(torch.sum(_16), _14)))
"""}
    x, w, i = drawn(1, 3, 8), drawn(2, 6, 8), np.array([1, 5, 0, 2])
    spectrum = np.fft.rfft(x)
    kernel = w[:3]
    padded = np.pad(x, ((0, 0), (3, 4)))
    same = np.stack([[np.correlate(r, k, "valid") for k in kernel] for r in padded])
    places = np.stack([[np.flatnonzero(r[:n + 1] == r[:n + 1].max())[-1] for n in range(8)] for r in x])
    frames = np.stack([np.fft.rfft(x[:, n:n + 4]) for n in (0, 2, 4)], -1)
    gamma = sum(math.lgamma(abs(float(v)) + 1) for v in x.ravel())
    total = np.quantile(x, 0.25, 1) + frames.real.sum() + frames.imag.sum() + gamma
    outputs = [np.float32(4 * (x * x).sum()), np.abs(spectrum), np.fft.irfft(2 * spectrum, 7), places,
               np.stack([w[[1, 5]].mean(0), w[[0, 2]].mean(0)]), np.einsum("ri,ij,rj->r", x, w.T @ w, x)[:, None], x[:, 4:],
               x * np.hanning(9)[:8], same, total]
    outputs = [np.asarray(o) if np.asarray(o).dtype == np.int64 else np.asarray(o, np.float32) for o in outputs]
    return Case(module("__torch__.Functions", {}), code,
                ["--input-shape", "x=3,8", "--input-shape", "w=6,8", "--input-shape", "i=4", "--input-type", "i=i64"],
                [({"x": x, "w": w, "i": i}, {f"output_{n}": o for n, o in enumerate(outputs)})])


def rows():
    """Loops and branches within each other that write to one tensor, through two views of it."""
    code = {"__torch__.py": """class Rows(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Rows,
    x: Tensor) -> Tuple[Tensor, Tensor]:
    out = torch.zeros([4, 3], dtype=6)
    row = torch.select(out, 0, 1)
    i = 0
    _0 = bool(torch.gt(torch.sum(x), 0))
    y = x
    while _0:
      j = 0
      _1 = bool(torch.gt(torch.max(y), 1))
      z = y
      while _1:
        z0 = torch.mul(z, 0.5)
        if bool(torch.gt(torch.sum(z0), 2)):
          _2 = torch.add_(torch.select(out, 0, i), z0)
        else:
          _3 = torch.add_(row, 1)
        j0 = torch.add(j, 1)
        _1 = bool(torch.gt(torch.max(z0), 1))
        z, j = z0, j0
      y0 = torch.sub(y, 2)
      i0 = torch.add(i, 1)
      _0 = torch.__and__(torch.lt(i0, 4), bool(torch.gt(torch.sum(y0), 0)))
      y, i = y0, i0
    for k in range(torch.size(x, 0)):
      _4 = torch.add_(torch.select(out, 0, k), torch.select(x, 0, k))
    return (out, torch.mul(row, 2))
"""}

    def run(x):
        start, out = x, np.zeros((4, 3), np.float32)
        row, i, y = out[1], 0, x
        goes = x.sum() > 0
        while goes:
            z, halves = y, y.max() > 1
            while halves:
                z = z * np.float32(0.5)
                if z.sum() > 2:
                    out[i] += z
                else:
                    row += 1
                halves = z.max() > 1
            y, i = y - 2, i + 1
            goes = i < 4 and y.sum() > 0
        for k in range(len(x)):
            out[k] += x[k]
        return {"x": start}, {"output_0": out, "output_1": row * 2}

    runs = [run(np.array(x, np.float32)) for x in ([5, 4, 3], [1, 0, 0], [-1, 0, 0], [30, 20, 9])]
    return Case(module("__torch__.Rows", {}), code, ["--input-shape", "x=3"], runs)


def detection():
    """A detection network's steps as a trace has them: a batch by the greatest size, anchors, the best ones, boxes inside,
    those of enough score, suppression, regions of two levels merged by their places; shapes go through tensors."""
    code = {"__torch__.py": """class Detector(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Detector,
    image: Tensor,
    scores: Tensor,
    deltas: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    s = torch.slice(torch._shape_as_tensor(image), 0, -2, 9223372036854775807)
    low = torch.to(torch.min(s), 6)
    high = torch.to(torch.max(s), 6)
    factor = torch.min(torch.mul(torch.reciprocal(low), CONSTANTS.c0), torch.mul(torch.reciprocal(high), CONSTANTS.c1))
    input = torch.unsqueeze(image, 0)
    _0 = torch.to(ops.prim.NumToTensor(torch.size(input, 2)), 6)
    _1 = torch.floor(torch.to(torch.mul(_0, torch.detach(factor)), 6))
    _2 = torch.to(ops.prim.NumToTensor(torch.size(input, 3)), 6)
    _3 = torch.floor(torch.to(torch.mul(_2, torch.detach(factor)), 6))
    resized = torch.squeeze(torch.upsample_nearest2d(input, [int(_1), int(_3)], None), 0)
    _4 = torch.stack([ops.prim.NumToTensor(torch.size(resized, 1))])
    tall = torch.to(torch.max(torch.to(_4, 6)), 4)
    tall0 = torch.to(torch.mul(torch.ceil(torch.div(torch.to(tall, 6), CONSTANTS.c2)), CONSTANTS.c2), 4)
    _5 = torch.stack([ops.prim.NumToTensor(torch.size(resized, 2))])
    wide = torch.to(torch.max(torch.to(_5, 6)), 4)
    wide0 = torch.to(torch.mul(torch.ceil(torch.div(torch.to(wide, 6), CONSTANTS.c2)), CONSTANTS.c2), 4)
    _6 = torch.sub(tall0, ops.prim.NumToTensor(torch.size(resized, 1)))
    _7 = torch.sub(wide0, ops.prim.NumToTensor(torch.size(resized, 2)))
    batch = torch.stack([torch.pad(resized, [0, int(_7), 0, int(_6), 0, 0], "constant", 0.)])
    fine = torch.avg_pool2d(batch, [4, 4])
    coarse = torch.avg_pool2d(batch, [8, 8])
    h = ops.prim.NumToTensor(torch.size(fine, 2))
    w = ops.prim.NumToTensor(torch.size(fine, 3))
    step = torch.fill_(torch.empty([], dtype=4, layout=None, device=torch.device("cpu"), pin_memory=False), torch.floor_divide(ops.prim.NumToTensor(torch.size(batch, 2)), h))
    x = torch.mul(torch.arange(0, int(w), dtype=3, layout=None, device=torch.device("cpu"), pin_memory=False), step)
    y = torch.mul(torch.arange(0, int(h), dtype=3, layout=None, device=torch.device("cpu"), pin_memory=False), step)
    b, a = torch.meshgrid([y, x], indexing="ij")
    a0, b0 = torch.reshape(a, [-1]), torch.reshape(b, [-1])
    anchors = torch.add(torch.stack([a0, b0, a0, b0], 1), CONSTANTS.c3)
    boxes = torch.add(anchors, deltas)
    n = torch.unsqueeze(torch.select(torch._shape_as_tensor(scores), 0, 0), 0)
    k = torch.min(torch.cat([torch.tensor([20]), n]))
    best, places = torch.topk(scores, int(k), 0, True, True)
    boxes0 = torch.index(boxes, [places])
    columns = torch.slice(boxes0, 1, 0, 9223372036854775807, 2)
    rows = torch.slice(boxes0, 1, 1, 9223372036854775807, 2)
    columns0 = torch.min(torch.max(columns, torch.tensor(0.)), torch.tensor(int(_3)))
    rows0 = torch.min(torch.max(rows, torch.tensor(0.)), torch.tensor(int(_1)))
    boxes1 = torch.reshape(torch.stack([columns0, rows0], 2), [int(ops.prim.NumToTensor(torch.size(boxes0, 0))), 4])
    left, top, right, bottom = torch.unbind(boxes1, 1)
    sides = torch.__and__(torch.ge(torch.sub(right, left), 2.), torch.ge(torch.sub(bottom, top), 2.))
    keep, = torch.where(sides)
    boxes2, best2 = torch.index(boxes1, [keep]), torch.index(best, [keep])
    keep0, = torch.where(torch.ge(best2, 0.10000000000000001))
    boxes3, best3 = torch.index(boxes2, [keep0]), torch.index(best2, [keep0])
    keep1 = torch.slice(ops.torchvision.nms(boxes3, best3, 0.29999999999999999), 0, 0, 6)
    boxes4, best4 = torch.index(boxes3, [keep1]), torch.index(best3, [keep1])
    areas = torch.mul(torch.sub(torch.select(boxes4, 1, 2), torch.select(boxes4, 1, 0)), torch.sub(torch.select(boxes4, 1, 3), torch.select(boxes4, 1, 1)))
    levels = torch.to(torch.gt(areas, 40.), 4)
    zeros = torch.zeros_like(torch.slice(boxes4, 1, 0, 1))
    rois = torch.cat([zeros, boxes4], 1)
    merged = torch.zeros([torch.size(levels, 0), torch.size(fine, 1), 2, 2], dtype=6)
    at, = torch.where(torch.eq(levels, 0))
    part = ops.torchvision.roi_align(fine, torch.index(rois, [at]), 0.25, 2, 2, 2, False)
    at0 = torch.expand(torch.view(at, [-1, 1, 1, 1]), [torch.size(at, 0), torch.size(fine, 1), 2, 2])
    merged0 = torch.scatter(merged, 0, at0, part)
    at1, = torch.where(torch.eq(levels, 1))
    part1 = ops.torchvision.roi_align(coarse, torch.index(rois, [at1]), 0.125, 2, 2, 2, False)
    at2 = torch.expand(torch.view(at1, [-1, 1, 1, 1]), [torch.size(at1, 0), torch.size(coarse, 1), 2, 2])
    merged1 = torch.scatter(merged0, 0, at2, part1)
    return (boxes4, best4, batch, merged1)
"""}

    def pooled(v, by):
        return v.reshape(*v.shape[:2], v.shape[2] // by, by, v.shape[3] // by, by).mean((3, 5))

    def run(seed):
        g = np.random.default_rng(seed)
        image = g.standard_normal((3, 10, 20)).astype(np.float32)
        scores, deltas = g.uniform(0, 1, 32).astype(np.float32), g.uniform(-3, 3, (32, 4)).astype(np.float32)
        # 15 / 10 and 32 / 20 allow a factor of 1.5: [15, 30] in a batch of [16, 32].
        rows, cols = np.arange(15) * 10 // 15, np.arange(30) * 20 // 30
        batch = np.pad(image[:, rows][:, :, cols], ((0, 0), (0, 1), (0, 2)))[None]
        b, a = (v.ravel() * 4 for v in np.mgrid[:4, :8])
        boxes = np.stack([a, b, a, b], 1).astype(np.float32) + np.array([-4, -4, 4, 4], np.float32) + deltas
        best = np.argsort(-scores)[:20]
        boxes, scores_ = np.clip(boxes[best], 0, [30, 15, 30, 15]).astype(np.float32), scores[best]
        fits = (boxes[:, 2] - boxes[:, 0] >= 2) & (boxes[:, 3] - boxes[:, 1] >= 2) & (scores_ >= 0.1)
        boxes, scores_ = boxes[fits], scores_[fits]
        kept = kept_boxes(boxes, scores_, 0.3)[:6]
        boxes, scores_ = boxes[kept], scores_[kept]
        merged = []
        for x1, y1, x2, y2 in boxes:
            far = (x2 - x1) * (y2 - y1) > 40
            merged.append(aligned(pooled(batch, 8 if far else 4)[0], np.array([x1, y1, x2, y2]) * (0.125 if far else 0.25)))
        return ({"image": image, "scores": scores, "deltas": deltas},
                {"output_0": boxes, "output_1": scores_, "output_2": batch, "output_3": np.array(merged, np.float32)})

    constants = [tensor(np.array(v, np.float32)) for v in (15, 32, 16, [[-4, -4, 4, 4]])]
    return Case(module("__torch__.Detector", {}), code,
                ["--input-shape", "image=3,10,20", "--input-shape", "scores=32", "--input-shape", "deltas=32,4"],
                [run(seed) for seed in (1, 2)], constants)


def batched_suppression():
    """torchvision's batched_nms in a trace, which keeps a scripted function: nothing where no box is left, else boxes of each
    class moved apart, and suppression of all. Two images, one of which may have no boxes."""
    code = {"__torch__.py": """class Batched(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Batched,
    boxes: Tensor,
    scores: Tensor,
    classes: Tensor) -> Tuple[Tensor, Tensor]:
    _0 = __torch__.torchvision.ops.boxes._batched_nms_coordinate_trick
    boxes0, boxes1 = torch.unbind(boxes, 0)
    scores0, scores1 = torch.unbind(scores, 0)
    classes0, classes1 = torch.unbind(classes, 0)
    above, = torch.where(torch.gt(scores0, 0.5))
    boxes2, best, of = torch.index(boxes0, [above]), torch.index(scores0, [above]), torch.index(classes0, [above])
    keep = torch.slice(_0(boxes2, best, of, 0.29999999999999999), 0, 0, 5)
    above0, = torch.where(torch.gt(scores1, 0.5))
    boxes3, best0, of0 = torch.index(boxes1, [above0]), torch.index(scores1, [above0]), torch.index(classes1, [above0])
    keep0 = torch.slice(_0(boxes3, best0, of0, 0.29999999999999999), 0, 0, 5)
    return (torch.index(boxes2, [keep]), torch.index(boxes3, [keep0]))
""", "__torch__/torchvision/ops/boxes.py": """def _batched_nms_coordinate_trick(boxes: Tensor,
    scores: Tensor,
    idxs: Tensor,
    iou_threshold: float) -> Tensor:
  if torch.eq(torch.numel(boxes), 0):
    _1 = ops.prim.device(boxes)
    _2 = torch.empty([0], dtype=4, layout=None, device=_1)
    _0 = _2
  else:
    max_coordinate = torch.max(boxes)
    _3 = torch.to(idxs, boxes)
    _4 = torch.add(max_coordinate, torch.to(torch.tensor(1), boxes))
    offsets = torch.mul(_3, _4)
    _5 = torch.unsqueeze(torch.slice(offsets), 1)
    boxes_for_nms = torch.add(boxes, _5)
    keep = __torch__.torchvision.ops.boxes.nms(boxes_for_nms, scores, iou_threshold, )
    _0 = keep
  return _0
def nms(boxes: Tensor,
    scores: Tensor,
    iou_threshold: float) -> Tensor:
  _6 = __torch__.torchvision.extension._assert_has_ops
  _7 = _6()
  _8 = ops.torchvision.nms(boxes, scores, iou_threshold)
  return _8
""", "__torch__/torchvision/extension.py": """def _assert_has_ops() -> NoneType:
  _0 = __torch__.torchvision.extension._has_ops
  _1 = "Couldn\\'t load custom C++ ops."
  if torch.__not__(_0()):
    ops.prim.RaiseException(_1, "builtins.RuntimeError")
  else:
    pass
  return None
def _has_ops() -> bool:
  return True
"""}

    def run(seed, least):
        g = np.random.default_rng(seed)
        corners = g.uniform(0, 20, (2, 16, 2)).astype(np.float32)
        boxes = np.concatenate([corners, corners + g.uniform(4, 12, (2, 16, 2)).astype(np.float32)], 2)
        scores, classes = g.uniform(least, 1, (2, 16)).astype(np.float32), g.integers(0, 3, (2, 16))
        scores[1] -= np.float32(least == 0)
        kept = []
        for b, s, c in zip(boxes, scores, classes):
            b, c, s = b[s > 0.5], c[s > 0.5], s[s > 0.5]
            apart = b + (c.astype(np.float32) * (b.max() + 1))[:, None] if len(b) else b
            kept.append(b[kept_boxes(apart, s, 0.3)[:5]] if len(b) else b)
        return {"boxes": boxes, "scores": scores, "classes": classes}, {"output_0": kept[0], "output_1": kept[1]}

    return Case(module("__torch__.Batched", {}), code,
                ["--input-shape", "boxes=2,16,4", "--input-shape", "scores=2,16", "--input-shape", "classes=2,16", "--input-type", "classes=i64"],
                [run(1, 0.3), run(2, 0)])


def regions_to_classes():
    """The end of a two-stage detector as a trace has it: proposals that suppression left, the best of them, scores and boxes of
    each for all classes but the background, in lists by image, those of enough score and size, suppression by class."""
    code = dict(batched_suppression().code)
    code["__torch__.py"] = """class Heads(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Heads,
    boxes: Tensor,
    scores: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    _0 = __torch__.torchvision.ops.boxes._batched_nms_coordinate_trick
    near = ops.torchvision.nms(boxes, scores, 0.5)
    proposals, best = torch.index(boxes, [near]), torch.index(scores, [near])
    n = torch.unsqueeze(torch.select(torch._shape_as_tensor(best), 0, 0), 0)
    k = torch.min(torch.cat([torch.tensor([10]), n]))
    best0, places = torch.topk(best, int(k), 0, True, True)
    proposals0 = torch.index(proposals, [places])
    many = ops.prim.NumToTensor(torch.size(proposals0, 0))
    logits = torch.linear(proposals0, CONSTANTS.c0, CONSTANTS.c1)
    codes = torch.linear(proposals0, CONSTANTS.c2, CONSTANTS.c3)
    wide = torch.unsqueeze(torch.sub(torch.select(proposals0, 1, 2), torch.select(proposals0, 1, 0)), 1)
    high = torch.unsqueeze(torch.sub(torch.select(proposals0, 1, 3), torch.select(proposals0, 1, 1)), 1)
    left = torch.add(torch.mul(torch.slice(codes, 1, 0, 9223372036854775807, 4), wide), torch.slice(proposals0, 1, 0, 1))
    top = torch.add(torch.mul(torch.slice(codes, 1, 1, 9223372036854775807, 4), high), torch.slice(proposals0, 1, 1, 2))
    right = torch.add(left, wide)
    bottom = torch.add(top, high)
    stacked = torch.flatten(torch.stack([left, top, right, bottom], 2), 1)
    shaped = torch.reshape(stacked, [int(torch.sum(torch.stack([many]))), -1, 4])
    parts, = torch.split_with_sizes(shaped, [int(many)], 0)
    chances, = torch.split_with_sizes(torch.softmax(logits, -1), [int(many)], 0)
    labels = torch.expand_as(torch.view(torch.arange(4, dtype=None, layout=None, device=torch.device("cpu"), pin_memory=False), [1, -1]), chances)
    parts0 = torch.reshape(torch.slice(parts, 1, 1), [-1, 4])
    chances0 = torch.reshape(torch.slice(chances, 1, 1), [-1])
    labels0 = torch.reshape(torch.slice(labels, 1, 1), [-1])
    inds, = torch.where(torch.gt(chances0, 0.20000000000000001))
    a, b, c = torch.index(parts0, [inds]), torch.index(chances0, [inds]), torch.index(labels0, [inds])
    sides = torch.__and__(torch.ge(torch.sub(torch.select(a, 1, 2), torch.select(a, 1, 0)), 3.), torch.ge(torch.sub(torch.select(a, 1, 3), torch.select(a, 1, 1)), 3.))
    fits, = torch.where(sides)
    a0, b0, c0 = torch.index(a, [fits]), torch.index(b, [fits]), torch.index(c, [fits])
    keep = torch.slice(_0(a0, b0, c0, 0.40000000000000002), 0, 0, 8)
    return (torch.index(a0, [keep]), torch.index(b0, [keep]), torch.index(c0, [keep]))
"""
    of = [drawn(1, 4, 4) / 4, drawn(2, 4) / 4, drawn(3, 16, 4) / 99, drawn(4, 16) / 9]

    def run(seed, least):
        g = np.random.default_rng(seed)
        corners = g.uniform(0, 20, (24, 2)).astype(np.float32)
        boxes = np.concatenate([corners, corners + g.uniform(2, 8, (24, 2)).astype(np.float32)], 1)
        scores = g.uniform(least, 1, 24).astype(np.float32)
        near = kept_boxes(boxes, scores, 0.5)
        best = near[np.argsort(-scores[near], kind="stable")][:10]
        b = boxes[best]
        chances, codes = softmax(b @ of[0].T + of[1]), (b @ of[2].T + of[3]).reshape(-1, 4, 4)
        sizes = (b[:, 2:] - b[:, :2])[:, None]
        corner = codes[:, :, :2] * sizes + b[:, None, :2]
        all_boxes = np.concatenate([corner, corner + sizes], 2)[:, 1:].reshape(-1, 4)
        chance, label = chances[:, 1:].ravel(), np.tile(np.arange(1, 4), len(b))
        fits = (chance > 0.2) & (all_boxes[:, 2] - all_boxes[:, 0] >= 3) & (all_boxes[:, 3] - all_boxes[:, 1] >= 3)
        a, s, c = all_boxes[fits], chance[fits], label[fits]
        keep = kept_boxes(a + (c.astype(np.float32) * (a.max() + 1))[:, None], s, 0.4)[:8] if len(a) else []
        return {"boxes": boxes, "scores": scores}, {"output_0": a[keep], "output_1": s[keep], "output_2": c[keep].astype(np.int64)}

    return Case(module("__torch__.Heads", {}), code, ["--input-shape", "boxes=24,4", "--input-shape", "scores=24"],
                [run(seed, 0) for seed in (1, 2, 3)], [tensor(v) for v in of])


def aligned(image, box):
    """roi_align of one region to 2 by 2, of 2 by 2 samples each."""
    (c, h, w), (x1, y1, x2, y2) = image.shape, box
    high, wide, result = max(y2 - y1, 1), max(x2 - x1, 1), np.zeros((image.shape[0], 2, 2))
    for i, j, s, t in np.ndindex(2, 2, 2, 2):
        y, x = y1 + (i + (s + 0.5) / 2) * high / 2, x1 + (j + (t + 0.5) / 2) * wide / 2
        if y < -1 or y > h or x < -1 or x > w:
            continue
        y, x = min(max(y, 0), h - 1), min(max(x, 0), w - 1)
        top, left = int(y), int(x)
        low, right, dy, dx = min(top + 1, h - 1), min(left + 1, w - 1), y - top, x - left
        result[:, i, j] += (image[:, top, left] * (1 - dy) * (1 - dx) + image[:, top, right] * (1 - dy) * dx
                            + image[:, low, left] * dy * (1 - dx) + image[:, low, right] * dy * dx) / 4
    return result


CASES = {f.__name__: f for f in (mlp, convnet, attention, control, writes, state, recurrent, operators, choices, until,
                                 breaks, steps, decode, rows, functions, detection, batched_suppression,
                                 regions_to_classes)}
