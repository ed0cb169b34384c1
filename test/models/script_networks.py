# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small networks in the words of PyTorch's printer, and operators in all their forms, each with what it computes in numpy."""
import math

import numpy as np

from script_case import Case, drawn, kept_boxes, module, softmax, tensor


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


CASES = {f.__name__: f for f in (mlp, convnet, attention, recurrent, operators, functions)}
