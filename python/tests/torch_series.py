# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recommenders and time series for torch_models.py."""

import math
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.nn.functional as fn
from torch import Tensor, nn
from torch.export import Dim
from torch.utils import _pytree

from torch_forms import Case, of, x

CASES = {}
batch = Dim("batch", min=1, max=16)


def case(name, module, args, dims=None, ways=("pt2", "trace", "script"), more=lambda: [], tolerance=1e-4):
    CASES[name] = Case(lambda: (module().eval(), args(), dims), ways, more, tolerance)


class Dlrm(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList([nn.EmbeddingBag(n, 8, mode="sum") for n in (20, 50, 7)])
        self.bottom = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(8 + 6, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, dense: Tensor, ids: Tensor, offsets: Tensor) -> Tensor:
        d = self.bottom(dense)
        rows = [d]
        for i, table in enumerate(self.tables):
            rows.append(table(ids[i], offsets[i]))
        t = torch.cat(rows, dim=1).view(d.size(0), -1, d.size(1))
        z = torch.bmm(t, t.transpose(1, 2))
        at = torch.tril_indices(4, 4, offset=-1)
        return torch.sigmoid(self.top(torch.cat([d, z[:, at[0], at[1]]], dim=1))).squeeze(1)


case("rec_dlrm", Dlrm, of(x(3, 5), torch.arange(12).reshape(3, 4) % 7, torch.tensor([[0, 1, 3], [0, 2, 3], [0, 0, 4]])))


class DeepFm(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("offsets", torch.tensor([0, 10, 30]))
        self.linear, self.embed = nn.Embedding(60, 1), nn.Embedding(60, 8)
        self.deep = nn.Sequential(nn.Linear(24, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))

    def forward(self, ids: Tensor) -> Tensor:
        ids = ids + self.offsets.unsqueeze(0)
        e = self.embed(ids)
        square = e.sum(dim=1) ** 2
        fm = 0.5 * (square - (e ** 2).sum(dim=1)).sum(dim=1, keepdim=True)
        return torch.sigmoid((self.linear(ids).sum(1) + fm + self.deep(e.flatten(1))).squeeze(1))


case("rec_deepfm", DeepFm, of(torch.tensor([[1, 2, 3], [9, 19, 29], [0, 0, 0]])), dims=({0: batch},))


class Cross(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.ParameterList([nn.Parameter(torch.randn(12, 1) / 4) for _ in range(3)])
        self.b = nn.ParameterList([nn.Parameter(torch.randn(12) / 4) for _ in range(3)])

    def forward(self, y: Tensor) -> Tensor:
        first = y
        for w, b in zip(self.w, self.b):
            y = first * (y @ w) + b + y
        return y


case("rec_dcn", Cross, of(x(4, 12)), ways=("pt2", "trace"))


class Din(nn.Module):
    """Attention of a candidate over a masked history, with a Dice activation."""

    def __init__(self):
        super().__init__()
        self.items = nn.Embedding(40, 8, padding_idx=0)
        self.attend = nn.Sequential(nn.Linear(32, 16), nn.PReLU(), nn.Linear(16, 1))
        self.alpha = nn.Parameter(torch.zeros(16))
        self.norm = nn.BatchNorm1d(16, affine=False)
        self.fc1, self.fc2 = nn.Linear(16, 16), nn.Linear(16, 2)

    def forward(self, candidate: Tensor, history: Tensor) -> Tensor:
        c, h = self.items(candidate), self.items(history)
        q = c.unsqueeze(1).expand_as(h)
        a = self.attend(torch.cat([q, h, q - h, q * h], dim=-1)).squeeze(-1)
        a = torch.where(history.eq(0), torch.full_like(a, -(2.0 ** 32) + 1), a / 8 ** 0.5).softmax(dim=1)
        y = self.fc1(torch.cat([c, torch.einsum("bt,btd->bd", a, h)], -1))
        p = torch.sigmoid(self.norm(y))
        return self.fc2(p * y + (1 - p) * self.alpha * y).log_softmax(-1)


case("rec_din", Din, of(torch.tensor([3, 39]), torch.tensor([[5, 6, 7, 0, 0], [1, 0, 0, 0, 0]])))


class Result(NamedTuple):
    scores: Tensor
    items: Tensor


class TwoTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.user = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 8))
        self.items = nn.Parameter(torch.randn(30, 8))

    def forward(self, features: Dict[str, Tensor]) -> Result:
        u = fn.normalize(self.user(torch.cat([features["age"], features["taste"]], 1)), dim=1)
        best = torch.topk(u @ fn.normalize(self.items, dim=1).t(), k=5, dim=1)
        return Result(best[0], best[1])


_pytree._register_namedtuple(Result, serialized_type_name="torch_tasks.Result")
case("rec_two_tower", TwoTower, of({"age": x(2, 1), "taste": x(2, 5)}), ways=("pt2", "script"))


class Mmoe(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList([nn.Sequential(nn.Linear(10, 8), nn.ReLU()) for _ in range(4)])
        self.gates = nn.ModuleDict({"click": nn.Linear(10, 4), "buy": nn.Linear(10, 4)})
        self.towers = nn.ModuleDict({"click": nn.Linear(8, 1), "buy": nn.Linear(8, 1)})

    def forward(self, y: Tensor) -> Dict[str, Tensor]:
        e = torch.stack([expert(y) for expert in self.experts], dim=1)
        out: Dict[str, Tensor] = {}
        for (name, gate), tower in zip(self.gates.items(), self.towers.values()):
            out[name] = torch.sigmoid(tower((gate(y).softmax(1).unsqueeze(2) * e).sum(1)))
        out["both"] = out["click"] * out["buy"]
        return out


case("rec_mmoe", Mmoe, of(x(3, 10)), ways=("pt2", "script"))


class SasRec(nn.Module):
    def __init__(self):
        super().__init__()
        self.items, self.places = nn.Embedding(30, 16, padding_idx=0), nn.Embedding(9, 16)
        self.attend = nn.ModuleList([nn.MultiheadAttention(16, 2, batch_first=True) for _ in range(2)])
        self.norms = nn.ModuleList([nn.LayerNorm(16) for _ in range(2)])
        self.last = nn.LayerNorm(16)

    def forward(self, seq: Tensor) -> Tensor:
        n = seq.size(1)
        y = self.items(seq) * 4.0 + self.places(torch.arange(n, device=seq.device))
        keep = (seq != 0).unsqueeze(-1)
        mask = torch.triu(torch.ones(n, n, dtype=torch.bool, device=seq.device), diagonal=1)
        for attend, norm in zip(self.attend, self.norms):
            q = norm(y)
            y = (q + attend(q, y, y, attn_mask=mask, need_weights=False)[0]) * keep
        return self.last(y)[:, -1] @ self.items.weight.t()


case("rec_sasrec", SasRec, of(torch.tensor([[0, 0, 3, 4, 5], [9, 8, 7, 6, 29]])))


#===--- time series --------------------------------------------------------------===#


class NBeatsBlock(nn.Module):
    def __init__(self, kind: str):
        super().__init__()
        self.kind = kind
        self.fc = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU())
        self.theta = nn.Linear(16, 8)
        grid = torch.arange(16).float() / 16
        if kind == "trend":
            basis = torch.stack([grid ** i for i in range(4)])
        else:
            basis = torch.cat([torch.stack([torch.cos(2 * math.pi * i * grid) for i in range(2)]), torch.stack([torch.sin(2 * math.pi * i * grid) for i in range(2)])])
        self.register_buffer("back", basis[:, :12])
        self.register_buffer("fore", basis[:, 12:])

    def forward(self, y: Tensor) -> Tuple[Tensor, Tensor]:
        theta = self.theta(self.fc(y))
        return theta[:, :4].mm(self.back), theta[:, 4:].mm(self.fore)


class NBeats(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([NBeatsBlock("trend"), NBeatsBlock("season"), NBeatsBlock("trend")])

    def forward(self, y: Tensor) -> Tensor:
        level = y.abs().max(dim=1, keepdim=True)[0] + 1e-6
        rest = (y / level).flip(dims=(1,))
        forecast = torch.zeros(y.size(0), 4)
        for block in self.blocks:
            back, fore = block(rest)
            rest = rest - back
            forecast += fore
        return forecast * level


case("time_nbeats", NBeats, of(x(3, 12)))


class DLinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.average = nn.AvgPool1d(kernel_size=5, stride=1, padding=0)
        self.season, self.trend = nn.Linear(24, 8), nn.Linear(24, 8)

    def forward(self, y: Tensor) -> Tensor:
        mean, std = y.mean(1, keepdim=True).detach(), torch.sqrt(torch.var(y, dim=1, keepdim=True, unbiased=False) + 1e-5)
        y = (y - mean) / std
        front, end = y[:, 0:1, :].repeat(1, 2, 1), y[:, -1:, :].repeat(1, 2, 1)
        trend = self.average(torch.cat([front, y, end], dim=1).permute(0, 2, 1)).permute(0, 2, 1)
        out = self.season((y - trend).permute(0, 2, 1)) + self.trend(trend.permute(0, 2, 1))
        return out.permute(0, 2, 1) * std + mean


case("time_dlinear", DLinear, of(x(2, 24, 3)))


class Autoformer(nn.Module):
    """Correlation by FFT, the best delays, and rolls by them."""

    def __init__(self):
        super().__init__()
        self.factor = 2

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        b, h, d, n = q.shape
        q_fft, k_fft = torch.fft.rfft(q, dim=-1), torch.fft.rfft(k, dim=-1)
        corr = torch.fft.irfft(q_fft * torch.conj(k_fft), n=n, dim=-1)
        mean = corr.mean(dim=1).mean(dim=1)
        weights, delay = torch.topk(mean, 3, dim=-1)
        weights = weights.softmax(-1)
        start = torch.arange(n).view(1, 1, 1, n).repeat(b, h, d, 1)
        twice = v.repeat(1, 1, 1, 2)
        total = torch.zeros_like(v)
        for i in range(3):
            at = start + delay[:, i].view(-1, 1, 1, 1).repeat(1, h, d, n)
            total = total + torch.gather(twice, dim=-1, index=at) * weights[:, i].view(-1, 1, 1, 1)
        return total


case("time_autoformer", Autoformer, of(x(2, 2, 4, 16), x(2, 2, 4, 16, seed=2), x(2, 2, 4, 16, seed=3)))


class Grn(nn.Module):
    def __init__(self, size: int, context: Optional[int] = None):
        super().__init__()
        self.fc1, self.fc2, self.gate, self.norm = nn.Linear(size, size), nn.Linear(size, size), nn.Linear(size, 2 * size), nn.LayerNorm(size)
        self.context: Optional[nn.Linear] = nn.Linear(context, size, bias=False) if context is not None else None

    def forward(self, y: Tensor, c: Optional[Tensor] = None) -> Tensor:
        z = self.fc1(y)
        if self.context is not None and c is not None:
            z = z + self.context(c)
        return self.norm(y + fn.glu(self.gate(self.fc2(fn.elu(z))), dim=-1))


class Tft(nn.Module):
    """Variable selection, an LSTM, and interpretable attention whose heads share values; three quantiles."""

    def __init__(self):
        super().__init__()
        self.embed = nn.ModuleList([nn.Linear(1, 8) for _ in range(3)])
        self.each = nn.ModuleList([Grn(8) for _ in range(3)])
        self.pick, self.weights = Grn(24, 8), nn.Linear(24, 3)
        self.lstm = nn.LSTM(8, 8, batch_first=True)
        self.q, self.k, self.v, self.o = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 4), nn.Linear(4, 8)
        self.out = nn.Linear(8, 3)

    def forward(self, series: Tensor, static: Tensor) -> Tuple[Tensor, Tensor]:
        parts: List[Tensor] = []
        for i, layer in enumerate(self.embed):
            parts.append(layer(series[..., i:i + 1]))
        chosen = self.weights(self.pick(torch.cat(parts, -1), static.unsqueeze(1))).softmax(-1)
        refined: List[Tensor] = []
        for i, layer in enumerate(self.each):
            refined.append(layer(parts[i]))
        y = (torch.stack(refined, -1) * chosen.unsqueeze(2)).sum(-1)
        y, _ = self.lstm(y)
        b, n, _ = y.shape
        q, k = self.q(y).view(b, n, 2, 4).transpose(1, 2), self.k(y).view(b, n, 2, 4).transpose(1, 2)
        mask = torch.ones(n, n).triu(1).to(torch.bool)
        a = (q @ k.transpose(-1, -2) / 2.0).masked_fill(mask, float("-inf")).softmax(-1).mean(1)
        return self.out(y + self.o(a @ self.v(y))), chosen


case("time_tft", Tft, of(x(2, 10, 3), x(2, 8)))


class DeepAr(nn.Module):
    """Encodes, then predicts from its own means, with scaling by the mean of the past."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(2, 12, 2, batch_first=True)
        self.mu, self.sigma = nn.Linear(12, 1), nn.Linear(12, 1)
        self.horizon = 5

    def forward(self, past: Tensor, covariates: Tensor) -> Tuple[Tensor, Tensor]:
        scale = past.abs().mean(1, keepdim=True) + 1
        y = past / scale
        out, state = self.lstm(torch.stack([y, covariates[:, :past.size(1)]], -1))
        mus: List[Tensor] = []
        sigmas: List[Tensor] = []
        last = out[:, -1]
        for t in range(self.horizon):
            mu = self.mu(last)
            mus.append(mu)
            sigmas.append(fn.softplus(self.sigma(last)))
            step = torch.stack([mu, covariates[:, past.size(1) + t].unsqueeze(1)], -1)
            out, state = self.lstm(step, state)
            last = out[:, -1]
        return torch.cat(mus, 1) * scale, torch.cat(sigmas, 1) * scale


case("time_deepar", DeepAr, of(x(2, 8), x(2, 13)))


class Kalman(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("F", torch.tensor([[1.0, 1.0], [0.0, 1.0]]))
        self.register_buffer("H", torch.tensor([[1.0, 0.0]]))
        self.register_buffer("Q", torch.eye(2) * 0.01)
        self.register_buffer("R", torch.eye(1) * 0.5)

    def forward(self, z: Tensor) -> Tuple[Tensor, Tensor]:
        b = z.size(0)
        m = torch.zeros(b, 2, 1)
        P = torch.eye(2).expand(b, 2, 2).clone()
        means: List[Tensor] = []
        for t in range(z.size(1)):
            m, P = self.F @ m, self.F @ P @ self.F.t() + self.Q
            S = self.H @ P @ self.H.t() + self.R
            K = P @ self.H.t() @ torch.linalg.inv(S)
            m = m + K @ (z[:, t].view(b, 1, 1) - self.H @ m)
            P = (torch.eye(2) - K @ self.H) @ P
            means.append(m.squeeze(-1))
        return torch.stack(means, 1), P


case("time_kalman", Kalman, of(x(3, 9)))


class Ode(nn.Module):
    """RK4 with an adaptive step count that the data ends."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 4))

    def forward(self, y: Tensor) -> Tuple[Tensor, Tensor]:
        h = torch.tensor(0.5)
        t = torch.tensor(0.0)
        while bool(t < 2.0):
            k1 = self.net(y)
            k2 = self.net(y + h / 2 * k1)
            k3 = self.net(y + h / 2 * k2)
            k4 = self.net(y + h * k3)
            error = (h / 6 * (k1 - 2 * k2 - 2 * k3 + k4)).abs().max()
            full = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            if bool(error < 0.05):
                y = full
                t = t + h
                h = torch.minimum(h * 1.5, 2.0 - t + 1e-6)
            else:
                h = h * 0.5
        return y, t


case("time_ode", Ode, of(x(2, 4)), ways=("script",), more=lambda: [(x(2, 4, seed=3) * 5,)])
