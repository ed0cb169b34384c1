# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small modules for torch_models.py: one for each form of program that PyTorch saves."""

import dataclasses
from typing import Callable, Dict, List, Optional, Sequence, Tuple

import torch
import torch.nn.functional as fn
from torch import Tensor, nn
from torch.export import Dim


@dataclasses.dataclass
class Case:
    """`build` gives a module, its example inputs and dynamic_shapes; `more` further inputs of other sizes or values.

    `judge` takes the module, the results and what is expected in place of a comparison by element: right or not, and a text.
    `timeout` is the seconds that a case may take where these are more than usual.
    """

    build: Callable
    ways: Sequence[str] = ("pt2",)
    more: Callable = lambda: []
    tolerance: float = 1e-4
    judge: Optional[Callable] = None
    timeout: float = 0


CASES = {}


def x(*shape, seed=1, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(*shape, generator=generator).to(dtype)


def of(*values):
    return lambda: values


def case(name, module, args, dims=None, ways=("pt2",), more=lambda: [], tolerance=1e-4):
    CASES[name] = Case(lambda: (module().eval(), args(), dims), ways, more, tolerance)


def forms(ways=("pt2", "trace"), **functions):
    """Modules of one function each, with the inputs that its defaults give."""
    for name, (function, args) in functions.items():
        def make(function=function, count=len(args)):
            class One(nn.Module):
                def forward(self, a):
                    return function(a)

            class Two(nn.Module):
                def forward(self, a, b):
                    return function(a, b)

            class Three(nn.Module):
                def forward(self, a, b, c):
                    return function(a, b, c)

            return {1: One, 2: Two, 3: Three}[count]()

        case(name, make, of(*args), ways=ways)


#===--- loops, branches and sizes of data ---------------------------------------===#


class WhileData(nn.Module):
    def forward(self, a):
        from torch._higher_order_ops.while_loop import while_loop

        return while_loop(lambda i, y: (y.abs().max() < 100) & (i < 40), lambda i, y: (i + 1, y * 1.5), (torch.tensor(0), a))


class Newton(nn.Module):
    def forward(self, a):
        from torch._higher_order_ops.while_loop import while_loop

        def step(y, delta):
            z = 0.5 * (y + a / y)
            return z, (z - y).abs().max()

        return while_loop(lambda y, delta: delta > 1e-6, step, (a, torch.tensor(1.0)))[0]


class Scan(nn.Module):
    def forward(self, a):
        from torch._higher_order_ops.scan import scan

        return scan(lambda carry, row: (carry * 0.9 + row, carry + row), torch.zeros(4), a, dim=0)


class Mapped(nn.Module):
    def forward(self, a, b):
        from torch._higher_order_ops.map import map as map_rows

        return map_rows(lambda row, y: (row * y).cumsum(0), a, b)


class CondTwice(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, a):
        def inner(y):
            return torch.cond(y.max() > 1, lambda z: self.b(z), lambda z: z - 1, (y,))

        return torch.cond(a.mean() > 0, lambda y: self.a(y), inner, (a,))


case("while_data", WhileData, of(x(3, 4)), more=lambda: [(x(3, 4, seed=9) * 20,), (x(3, 4) * 1000,)])
case("newton", Newton, of(x(5).abs() + 1), more=lambda: [(x(5, seed=4).abs() * 50 + 1,)])
case("scan", Scan, of(x(6, 4)))
case("map", Mapped, of(x(5, 4), x(4, seed=2)))
case("cond_nested", CondTwice, of(x(3, 4)), more=lambda: [(x(3, 4) - 5,), (x(3, 4) + 5,)])


class Script(nn.Module):
    """Loops and branches of TorchScript, over lists, numbers and tensors."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])
        self.scales: List[float] = [0.5, 1.0, 2.0]
        self.names: Dict[str, int] = {"a": 1, "b": 2}

    def forward(self, a: Tensor, mask: Tensor) -> Tuple[Tensor, Tensor]:
        kept: List[Tensor] = []
        for index, layer in enumerate(self.layers):
            a = torch.relu(layer(a)) * self.scales[index]
            if index % 2 == 0:
                kept.append(a)
        total = torch.stack(kept).sum(0)
        if bool(mask.sum() > 3):
            total = total + 1
        else:
            total = total * float(self.names["b"])
        count = 0
        while count < 5 and bool(total.abs().max() < 50.0):
            total = total * 2
            count += 1
        return total, total.masked_fill(mask == 0, 0.0)


class Decode(nn.Module):
    """Greedy decoding that ends at a token of its own."""

    def __init__(self):
        super().__init__()
        self.embed, self.cell, self.head = nn.Embedding(12, 16), nn.GRUCell(16, 16), nn.Linear(16, 12)

    def forward(self, h: Tensor) -> Tensor:
        token = torch.zeros([h.size(0)], dtype=torch.long)
        out = torch.zeros([h.size(0), 10], dtype=torch.long)
        for step in range(10):
            h = self.cell(self.embed(token), h)
            token = self.head(h).argmax(-1)
            out[:, step] = token
            if bool((token == 3).all()):
                break
        return out


class Optionals(nn.Module):
    def __init__(self, bias: bool = True):
        super().__init__()
        self.proj = nn.Linear(8, 8)
        self.norm: Optional[nn.LayerNorm] = nn.LayerNorm(8) if bias else None
        self.kind = "gelu"

    def helper(self, a: Tensor, b: Optional[Tensor]) -> Tensor:
        if b is not None:
            a = a + b
        return a

    def forward(self, a: Tensor) -> Dict[str, Tensor]:
        assert a.dim() == 2, f"expected two axes, got {a.dim()}"
        y = self.helper(self.proj(a), None)
        if self.norm is not None:
            y = self.norm(y)
        y = fn.gelu(y) if self.kind == "gelu" else fn.relu(y)
        rows, columns = y.shape
        return {"y": y.reshape(columns, rows), "z": self.helper(y, a)[:, ::2]}


case("script_loops", Script, of(x(4, 8), torch.ones(4, 8)), ways=("script",), more=lambda: [(x(4, 8), torch.zeros(4, 8))])
case("script_decode", Decode, of(x(2, 16)), ways=("script",), more=lambda: [(x(2, 16, seed=8) * 3,)])
case("script_optionals", Optionals, of(x(4, 8)), ways=("script", "pt2"))


class Masked(nn.Module):
    def forward(self, a, b):
        kept = a[b > 0]
        return kept, kept.sum(), (b > 0).nonzero()


class ItemSize(nn.Module):
    def forward(self, a, n):
        size = n.item()
        torch._check(size >= 1)
        torch._check(size <= a.shape[0])
        return a.narrow(0, 0, size).sum(0), torch.arange(size)


class Nms(nn.Module):
    def forward(self, boxes, scores):
        import torchvision

        keep = torchvision.ops.nms(boxes, scores, 0.5)
        return boxes[keep], scores[keep]


class RoiAlign(nn.Module):
    def forward(self, a, rois):
        import torchvision

        return torchvision.ops.roi_align(a, rois, (5, 3), 0.5, 2, True), torchvision.ops.roi_pool(a, rois, (2, 2), 0.5)


def boxes(count):
    corner = x(count, 2).abs() * 20
    return torch.cat([corner, corner + x(count, 2, seed=5).abs() * 20 + 1], 1)


case("masked", Masked, of(x(6, 4), x(6, seed=3)), more=lambda: [(x(6, 4), -torch.ones(6)), (x(6, 4), torch.ones(6))])
case("item_size", ItemSize, of(x(6, 4), torch.tensor(3)), more=lambda: [(x(6, 4), torch.tensor(6)), (x(6, 4), torch.tensor(1))])
case("nms", Nms, of(boxes(20), x(20)))
case("roi", RoiAlign, of(x(2, 4, 16, 16), torch.cat([torch.tensor([[0.0], [1.0], [1.0]]), boxes(3)], 1)))


#===--- attention, rotary embeddings, recurrent layers ---------------------------===#


class ComplexRotary(nn.Module):
    def __init__(self):
        super().__init__()
        angles = torch.outer(torch.arange(32).float(), 10000 ** (-torch.arange(0, 16, 2).float() / 16))
        self.register_buffer("table", torch.polar(torch.ones_like(angles), angles))

    def forward(self, q, k):
        def turn(v):
            pairs = torch.view_as_complex(v.float().reshape(*v.shape[:-1], -1, 2))
            return torch.view_as_real(pairs * self.table[: v.shape[1]].view(1, v.shape[1], 1, -1)).flatten(3).type_as(v)

        return turn(q), turn(k)


class Grouped(nn.Module):
    def forward(self, q, k, v):
        return fn.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


class SoftCap(nn.Module):
    def forward(self, q, k, v):
        scores = torch.tanh(q @ k.transpose(-2, -1) / 4 / 30) * 30
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
        return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v


class Alibi(nn.Module):
    def forward(self, q, k, v):
        places = torch.arange(k.shape[-2])
        slopes = 2.0 ** -torch.arange(1, q.shape[1] + 1)
        bias = -(places[:, None] - places[None, :]).abs() * slopes[:, None, None]
        return fn.scaled_dot_product_attention(q, k, v, attn_mask=bias)


class Flex(nn.Module):
    def forward(self, q, k, v):
        from torch.nn.attention.flex_attention import flex_attention

        return flex_attention(q, k, v, score_mod=lambda score, b, h, i, j: torch.where(i >= j, score, -float("inf")))


heads = (x(2, 4, 12, 16), x(2, 4, 12, 16, seed=2), x(2, 4, 12, 16, seed=3))
batch = Dim("batch", min=1, max=16)
steps = Dim("steps", min=2, max=64)
case("rotary_complex", ComplexRotary, of(x(2, 8, 4, 16), x(2, 8, 4, 16, seed=2)))
case("attention_grouped", Grouped, of(x(2, 8, 12, 16), x(2, 2, 12, 16, seed=2), x(2, 2, 12, 16, seed=3)))
case("attention_softcap", SoftCap, of(*heads), ways=("pt2", "trace"))
case("attention_alibi", Alibi, of(*heads), ways=("pt2", "trace"))
case("attention_flex", Flex, of(*heads))
case("mha_masked", lambda: Wrap(nn.MultiheadAttention(16, 4, batch_first=True),
                                lambda m, a, mask: m(a, a, a, key_padding_mask=mask, average_attn_weights=False)),
     of(x(2, 5, 16), torch.tensor([[False] * 5, [False, False, False, True, True]])))
case("decoder_layer", lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 4, 32, batch_first=True, norm_first=True), 2),
     of(x(2, 5, 16), x(2, 7, 16)), ways=("pt2", "trace"))
case("transformer", lambda: nn.Transformer(16, 4, 1, 1, 32, batch_first=True), of(x(2, 5, 16), x(2, 7, 16)))


class Wrap(nn.Module):
    """A module that calls another by a function of it and of the inputs."""

    def __init__(self, inner, function):
        super().__init__()
        self.inner, self.function = inner, function

    def forward(self, *inputs):
        return self.function(self.inner, *inputs)


for kind in ("LSTM", "GRU", "RNN"):
    case(f"{kind.lower()}_both_ways", lambda kind=kind: getattr(nn, kind)(8, 12, 2, bidirectional=True, batch_first=True),
         of(x(2, 7, 8)), ways=("pt2", "trace"))
case("lstm_projected", lambda: nn.LSTM(8, 12, proj_size=6), of(x(7, 2, 8)), ways=("pt2", "trace"))
case("lstm_state", lambda: Wrap(nn.LSTM(8, 12), lambda m, a, h, c: m(a, (h, c))), of(x(7, 2, 8), x(1, 2, 12), x(1, 2, 12, seed=3)))
case("lstm_cell", lambda: Wrap(nn.LSTMCell(8, 12), lambda m, a, h, c: m(a, (h, c))), of(x(2, 8), x(2, 12), x(2, 12, seed=3)))
case("lstm_dynamic", lambda: nn.LSTM(8, 12, batch_first=True), of(x(2, 7, 8)), dims=({0: batch},), more=lambda: [(x(5, 7, 8),)])


#===--- dynamic sizes ------------------------------------------------------------===#


class Windows(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Conv2d(3, 8, 4, 4)

    def forward(self, a):
        y = self.proj(a)
        b, c, h, w = y.shape
        y = fn.pad(y, (0, (-w) % 4, 0, (-h) % 4))
        y = y.reshape(b, c, y.shape[2] // 4, 4, y.shape[3] // 4, 4).permute(0, 2, 4, 3, 5, 1)
        return y.flatten(3).mean(-1), fn.interpolate(a, size=(h, w), mode="bilinear")


class Chunked(nn.Module):
    def forward(self, a):
        first, second = a.chunk(2, 1)
        return torch.cat([first * second.sigmoid(), a[:, -1:].expand(-1, 2, -1)], 1), a.unfold(1, 4, 2).mean(-1)


side = {2: Dim("rows", min=4, max=64) * 4, 3: Dim("columns", min=4, max=64) * 4}
case("windows", Windows, of(x(1, 3, 32, 48)), dims=(side,), more=lambda: [(x(1, 3, 36, 64),), (x(1, 3, 20, 92),)])
case("chunked", Chunked, of(x(2, 12, 6)), dims=({1: Dim("half", min=4, max=32) * 2},), more=lambda: [(x(2, 20, 6),)])
case("dynamic_encoder", lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2),
     of(x(2, 9, 16)), dims=({0: batch, 1: steps},), more=lambda: [(x(3, 17, 16),), (x(1, 33, 16),)])
case("unet", lambda: Unet(), of(x(2, 4, 32, 32)), dims=({0: batch},), ways=("pt2", "trace"), more=lambda: [])


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 16, 3, padding=1)
        self.down = nn.Sequential(nn.GroupNorm(4, 16), nn.SiLU(), nn.Conv2d(16, 32, 3, 2, 1))
        self.mid = nn.MultiheadAttention(32, 4, batch_first=True)
        self.up = nn.ConvTranspose2d(32, 16, 3, 2, 1, output_padding=1)
        self.last = nn.Sequential(nn.InstanceNorm2d(32, affine=True), nn.SiLU(), nn.Conv2d(32, 4, 3, padding=1))

    def forward(self, a):
        top = self.first(a)
        low = self.down(top)
        tokens = low.flatten(2).transpose(1, 2)
        tokens = tokens + self.mid(tokens, tokens, tokens, need_weights=False)[0]
        low = tokens.transpose(1, 2).reshape(low.shape)
        return self.last(torch.cat([self.up(low), top], 1))


#===--- operators ----------------------------------------------------------------===#

a, b = x(3, 4, 5), x(3, 4, 5, seed=7)
ints = torch.arange(60).reshape(3, 4, 5) * 7 % 23
forms(
    special=(lambda v: (torch.special.erfcx(v), torch.special.i0(v), v.abs().lgamma(), v.digamma(), v.erfinv().nan_to_num(2.0), torch.special.entr(v.abs()), torch.special.xlog1py(v, v.abs()), torch.special.log_ndtr(v), v.sinc(), torch.special.expit(v)), (a,)),
    hyperbolic=(lambda v: (v.sinh(), v.cosh(), v.asinh(), (v.abs() + 1).acosh(), (v / 5).atanh(), (v / 5).asin(), (v / 5).acos(), v.tan(), v.expm1(), v.abs().log1p(), v.exp2(), (v.abs() + 1).log2(), (v.abs() + 1).log10(), v.frac(), v.square(), v.deg2rad()), (a,)),
    activations=(lambda v: (fn.celu(v), fn.selu(v), fn.hardtanh(v), fn.relu6(v), fn.softsign(v), fn.tanhshrink(v), fn.hardshrink(v), fn.softshrink(v), fn.logsigmoid(v), fn.glu(v, 1), fn.threshold(v, 0.1, 2), fn.rrelu(v), fn.softmin(v, 1), fn.normalize(v, dim=1), fn.log_softmax(v, 2)), (a,)),
    binary=(lambda v, w: (torch.hypot(v, w), torch.copysign(v, w), torch.heaviside(v, w), torch.fmax(v, w), torch.fmin(v, w), torch.logaddexp2(v, w), torch.xlogy(v.abs(), w.abs()), torch.remainder(v, w), torch.floor_divide(v, w), torch.div(v, w, rounding_mode="trunc"), torch.nextafter(v, w), torch.ldexp(v, torch.tensor(2)), torch.float_power(v.abs(), w), torch.rsub(v, w, alpha=2), torch.addcdiv(v, v, w.abs() + 1, value=0.3)), (a, b)),
    integers=(lambda v: (v // 4, v % 5, v & 6, v | 8, v ^ 3, ~v, v << 2, v >> 1, torch.gcd(v, v * 6), torch.lcm(v, v * 2 + 1), v.clamp(3, 9), v.bitwise_not(), v.sum(), v.prod(1), v.float().mean(), v.to(torch.int8), v.to(torch.uint8), v.bool(), v == 7, v.ne(3)), (ints,)),
    reductions=(lambda v: (v.std((0, 2)), v.var(1, correction=0), v.nansum(1), v.nanmean(2), v.aminmax(dim=1), v.logcumsumexp(1), v.cumprod(1), v.cummax(1), v.cummin(2), v.count_nonzero(1), v.norm(3, 1), torch.linalg.vector_norm(v, float("inf"), 1), v.kthvalue(2, 1), v.median(1), v.mode(1)[0], v.quantile(0.3, 1), torch.std_mean(v, 1), v.diff(dim=1), v.all(1), v.any()), (a,)),
    orders=(lambda v: (v.sort(1, descending=True), v.argsort(2), v.topk(3, 2, largest=False), v.msort(), torch.searchsorted(v.sort(2)[0], v), torch.bucketize(v, torch.tensor([-1.0, 0, 1])), torch.sort(v, stable=True, dim=1)), (a,)),
    histograms=(lambda v: (torch.bincount(v.flatten(), minlength=30), torch.histc(v.float(), 8, 0, 23), fn.one_hot(v, 23), v.unique()), (ints,)),
    movement=(lambda v: (v.movedim(0, 2), v.swapaxes(0, 1), v.rot90(1, (0, 1)), v.flip((0, 2)), v.fliplr(), v.roll((1, 2), (0, 1)), v.tile(2, 1), v.narrow(1, 1, 2), v.unflatten(2, (5, 1)), v.ravel(), torch.block_diag(v[0], v[1]), torch.hstack([v, v]), torch.dstack([v, v]), v.tensor_split(3, 1), v.hsplit(2), torch.cartesian_prod(v[0, 0], v[0, 1]), v.diag_embed(), torch.tril_indices(4, 5), v.triu(-1), v.take(torch.tensor([0, 7])), torch.column_stack([v[0], v[1]])), (a,)),
    indexing=(lambda v, i: (v[i], v[:, i], v[..., None], v[1:, ::2, -3:], v[i, :, i], v[:, [0, 2]], v[v > 0].sum(), torch.take_along_dim(v, v.argsort(1), 1), v.index_select(2, i), v.index_fill(1, i, 3.0), v.scatter(1, v.argsort(1)[:, :2], 2.5), v.scatter_reduce(1, v.argsort(1) // 2, v, "amax"), torch.where(v > 0), v.put(i, v[0, 0, :2]), v.gather(2, v.argsort(2)[..., :2])), (a, torch.tensor([0, 2]))),
    linear_algebra=(lambda v: (v @ v.mT, torch.baddbmm(v @ v.mT, v, v.mT, beta=0.5), torch.einsum("bij,bkj->ik", v, v), torch.tensordot(v, v, ([0, 2], [0, 2])), torch.kron(v[0], v[1]), torch.outer(v[0, 0], v[0, 1]), torch.cdist(v, v), v.matmul(v[0, 0]), torch.cross(v[..., :3], v[..., 1:4], dim=2), torch.linalg.det(v @ v.mT), torch.linalg.inv(v @ v.mT + torch.eye(4) * 5), torch.trace(v[0]), torch.chain_matmul(v[0], v[1].T, v[2]), torch.linalg.multi_dot([v[0], v[1].T, v[2]]), torch.cov(v[0]), torch.vander(v[0, 0]), torch.linalg.matrix_power(v @ v.mT / 5, 3)), (a,)),
    in_place=(lambda v, w: writes(v, w), (a, b)),
    factories=(lambda v: (torch.arange(0, 5, 0.5), torch.linspace(0, 1, 7), torch.logspace(0, 2, 5), torch.eye(4, 3), torch.full((2, 3), 7), v.new_zeros(2), torch.zeros_like(v), torch.ones_like(v, dtype=torch.int32), torch.empty(0), torch.tensor([1, 2, 3]) + v.sum().long(), torch.triu_indices(3, 4), torch.hann_window(8), torch.meshgrid(v[0, 0], v[0, 1], indexing="xy")), (a,)),
    types=(lambda v: (v.half(), v.bfloat16().float(), v.double(), v.int(), (v.abs() * 50).to(torch.uint8), v.half() + 1, v.int() + v, v > 0.5, (v > 0) + 1, v.half() @ v.half().mT, (v.int() / 2), v.round(decimals=1), v.type_as(v.half())), (a,)),
    groups=(lambda v, w: (torch.zeros(3, 5).scatter_reduce(0, v[0].argsort(0) % 3, v[0], "mean", include_self=False), torch.zeros(3, 5).index_reduce(0, torch.tensor([0, 2, 0, 1]), v[0], "amin", include_self=False), v[0].scatter_reduce(0, v[0].argsort(0), w[0], "prod", include_self=False), torch.isclose(v, w, 0.5, 0.1), torch.inner(v[0], w[1]), torch.trapezoid(v, dx=0.5, dim=1), v[0].diag(1), v[0, 0].diag(-2), v[0].clone().fill_diagonal_(2.0), torch.remainder(10, v.abs() + 1), torch.linalg.matrix_rank(v)), (a, b)),
    selected=(lambda v, w: (v[:, w[0, :, 0] > 0], v[:, :, w[0, 0] > 0], (w > 0).argwhere(), v.repeat_interleave((w[:, 0, 0] * 3).long().clamp(0, 4), 0), torch.repeat_interleave((w[0, 0].abs() * 3).long())), (a, b)),
    written=(lambda v, w: masked_writes(v, w), (a, b)),
    spectra=(lambda v: (torch.fft.rfft(v).abs(), torch.fft.irfft(torch.fft.rfft(v), n=5), torch.stft(v.reshape(1, 60), 16, 4, window=torch.hann_window(16), return_complex=True).abs(), torch.view_as_real(torch.fft.fft(v))), (a,)),
)


def masked_writes(v, w):
    y, z = v.clone(), v.clone()
    y[v > 0] = y[v > 0] * 2 + 1
    z[w[:, 0, 0] > 0] = w[0]
    z[:, w[0, :, 0] > 0] = 0.25
    return y, z


def writes(v, w):
    y = v.clone()
    y[:, 1] = w[:, 0]
    y[y > 1] = 0.5
    y[0, ::2] += 3
    y.add_(w).mul_(2).clamp_(-3, 3)
    y[:, :, 1:3].zero_()
    z = torch.zeros(3, 4, 6)
    z[..., :5].copy_(y)
    z.index_add_(0, torch.tensor([0, 2]), torch.ones(2, 4, 6))
    return y, z, z.view(-1)[3:9].fill_(2.0)


image = x(2, 6, 9, 11)
forms(
    pools=(lambda v: (fn.max_pool2d(v, 3, 2, 1, dilation=2), fn.max_pool2d(v, 2, return_indices=True), fn.avg_pool2d(v, (3, 2), (2, 1), (1, 0), divisor_override=5), fn.lp_pool2d(v.abs(), 2, 3), fn.adaptive_avg_pool2d(v, (4, 3)), fn.adaptive_max_pool2d(v, (4, 3)), fn.adaptive_avg_pool2d(v, (None, 5)), fn.avg_pool1d(v[0], 3, 2), fn.max_pool3d(v, 2)), (image,)),
    resizing=(lambda v: (fn.interpolate(v, size=(5, 7), mode="bilinear", antialias=True), fn.interpolate(v, scale_factor=(1.5, 2.5), mode="nearest-exact"), fn.interpolate(v, size=(20, 15), mode="bicubic"), fn.interpolate(v, size=(4, 4), mode="area"), fn.interpolate(v[0], size=20, mode="linear", align_corners=True), fn.interpolate(v[:, None], size=(3, 4, 5), mode="trilinear"), fn.upsample(v, scale_factor=2)), (image,)),
    sampling=(lambda v, g: (fn.grid_sample(v, g, align_corners=False), fn.grid_sample(v, g, mode="nearest", padding_mode="border"), fn.grid_sample(v, g, mode="bicubic", padding_mode="reflection", align_corners=True), fn.grid_sample(v[:, :, None], g[:, None, ..., [0, 1, 1]], align_corners=True)), (image, x(2, 5, 4, 2) / 2)),
    folds=(lambda v: (fn.unfold(v, 3, 2, 1), fn.fold(fn.unfold(v, 3, 1, 1), (9, 11), 3, 1, 1), fn.pixel_unshuffle(v[..., :8, :10], 2), fn.channel_shuffle(v, 3), fn.pad(v, (1, 2, 0, 1), mode="replicate"), fn.pad(v, (-1, 2)), fn.pad(v[..., :4], (3, 3), mode="circular"), fn.local_response_norm(v, 3)), (image,)),
    norms=(lambda v: (fn.group_norm(v, 3), fn.instance_norm(v), fn.layer_norm(v, v.shape[2:]), fn.rms_norm(v, v.shape[3:]), fn.batch_norm(v, torch.zeros(6), torch.ones(6)), fn.batch_norm(v, None, None, training=True), fn.cosine_similarity(v, v + 1), fn.pairwise_distance(v[0, 0], v[1, 1])), (image,)),
    losses=(lambda v, w: (fn.mse_loss(v, w), fn.l1_loss(v, w, reduction="sum"), fn.smooth_l1_loss(v, w), fn.huber_loss(v, w), fn.binary_cross_entropy_with_logits(v, w.sigmoid()), fn.kl_div(v.log_softmax(1), w.softmax(1), reduction="batchmean"), fn.cross_entropy(v, w.argmax(1)), fn.nll_loss(v.log_softmax(1), w.argmax(1)), fn.cosine_embedding_loss(v[0], w[0], torch.ones(4)), fn.hinge_embedding_loss(v, w.sign())), (a, b)),
    embeddings=(lambda i, w: (fn.embedding(i, w), fn.embedding_bag(i[0], w, mode="mean"), fn.embedding_bag(i.flatten(), w, torch.tensor([0, 3, 9]), mode="sum"), fn.embedding(i, w, padding_idx=2)), (ints, x(23, 6))),
)
for dimensions, shape in ((1, (2, 6, 9)), (2, (2, 6, 9, 7)), (3, (2, 6, 5, 4, 6))):
    for name, options in (("", {}), ("_stride", {"stride": 2, "padding": 1}), ("_groups", {"groups": 3, "padding": 1}),
                          ("_dilated", {"dilation": 2, "padding": 2}), ("_reflect", {"padding": 1, "padding_mode": "reflect"})):
        case(f"conv{dimensions}d{name}", lambda d=dimensions, o=options: getattr(nn, f"Conv{d}d")(6, 12, 3, **o), of(x(*shape)), ways=("pt2", "trace"))
    for name, options in (("", {}), ("_stride", {"stride": 2, "output_padding": 1}), ("_groups", {"groups": 3, "stride": 2, "padding": 1}),
                          ("_dilated", {"dilation": 2}), ("_three", {"stride": 3, "padding": 1})):
        case(f"convtranspose{dimensions}d{name}", lambda d=dimensions, o=options: getattr(nn, f"ConvTranspose{d}d")(6, 12, 3, **o), of(x(*shape)), ways=("pt2", "trace"))
case("conv_same", lambda: nn.Conv2d(6, 8, (3, 4), padding="same"), of(image), ways=("pt2", "trace", "script"))
case("weight_norm", lambda: nn.utils.parametrizations.weight_norm(nn.Conv1d(6, 8, 3)), of(image[0, :, :, :4].flatten(1)), ways=("pt2", "trace"))
case("spectral_norm", lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(11, 8)), of(image), ways=("pt2", "trace"))
case("bilinear", lambda: nn.Bilinear(5, 5, 3), of(a, b), ways=("pt2", "trace", "script"))
case("half_network", lambda: nn.Sequential(nn.Conv2d(6, 8, 3), nn.BatchNorm2d(8), nn.GELU(), nn.Flatten(), nn.Linear(8 * 7 * 9, 10)).half(),
     of(image.half()), tolerance=5e-3)
case("bfloat_network", lambda: nn.Sequential(nn.Linear(11, 32), nn.LayerNorm(32), nn.SiLU(), nn.Linear(32, 4)).bfloat16(),
     of(image.bfloat16()), tolerance=3e-2)
case("double_network", lambda: nn.Sequential(nn.Linear(11, 32), nn.Tanh(), nn.Linear(32, 4)).double(), of(image.double()), ways=("pt2", "trace"))


class Experts(nn.Module):
    """A mixture of experts that every token visits by masks, as transformers writes it."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(16, 4)
        self.up, self.down = nn.Parameter(torch.randn(4, 16, 32) / 4), nn.Parameter(torch.randn(4, 32, 16) / 4)

    def forward(self, a):
        weights, chosen = self.gate(a).softmax(-1).topk(2, -1)
        weights = weights / weights.sum(-1, keepdim=True)
        dense = torch.zeros(a.shape[0], 4).scatter(1, chosen, weights)
        y = torch.einsum("th,ehf->etf", a, self.up).relu()
        return torch.einsum("etf,efh,te->th", y, self.down, dense)


class Selective(nn.Module):
    """A selective scan, step by step."""

    def forward(self, u, delta, state):
        outs = []
        h = torch.zeros(u.shape[0], state.shape[1])
        for step in range(u.shape[1]):
            h = h * torch.exp(-delta[:, step, None] * state.abs()) + u[:, step, None] * delta[:, step, None]
            outs.append(h.sum(1))
        return torch.stack(outs, 1)


case("experts", Experts, of(x(6, 16)), ways=("pt2", "trace"), dims=None)
case("selective", Selective, of(x(2, 12), x(2, 12, seed=2).abs(), x(2, 4)), ways=("pt2", "trace", "script"))


class Quantised(nn.Module):
    def forward(self, a):
        q = torch.ops.quantized_decomposed
        codes = q.quantize_per_tensor(a, 0.05, 3, -128, 127, torch.int8)
        return q.dequantize_per_tensor(codes, 0.05, 3, -128, 127, torch.int8)


def pt2e():
    """A convolutional network by PyTorch's own export quantiser."""
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import X86InductorQuantizer, get_default_x86_inductor_quantization_config

    network = nn.Sequential(nn.Conv2d(6, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.Flatten(), nn.Linear(8 * 5 * 7, 4)).eval()
    quantizer = X86InductorQuantizer().set_global(get_default_x86_inductor_quantization_config())
    prepared = prepare_pt2e(torch.export.export(network, (image,)).module(), quantizer)
    prepared(image)
    return convert_pt2e(prepared)


def fake_quantised():
    import torch.ao.quantization.fx._decomposed  # registers the operators

    return Quantised()


case("quantised_decomposed", fake_quantised, of(a))
CASES["pt2e"] = Case(lambda: (pt2e(), (image,), None), tolerance=2e-2)
