# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Statistics, games, optimisation, text and states for torch_models.py."""

import math
from typing import List, Tuple

import torch
import torch.nn.functional as fn
from torch import Tensor, nn

from torch_forms import Case, of, x

CASES = {}


def case(name, module, args, dims=None, ways=("pt2", "trace", "script"), more=lambda: [], tolerance=1e-4):
    CASES[name] = Case(lambda: (module().eval(), args(), dims), ways, more, tolerance)


#===--- statistics, games, optimisation ------------------------------------------===#


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(6, 4)
        self.log_std = nn.Parameter(torch.zeros(4) - 0.3)

    def forward(self, obs: Tensor, action: Tensor) -> Tuple[Tensor, Tensor]:
        normal = torch.distributions.Normal(self.net(obs), self.log_std.exp())
        squashed = torch.tanh(action)
        logp = (normal.log_prob(action) - torch.log(1 - squashed ** 2 + 1e-6)).sum(-1)
        return logp, normal.entropy().sum(-1)


case("game_policy", Policy, of(x(3, 6), x(3, 4)), ways=("pt2", "trace"))


class Gae(nn.Module):
    """Advantages from the end to the start."""

    def forward(self, rewards: Tensor, values: Tensor, done: Tensor) -> Tuple[Tensor, Tensor]:
        out = torch.zeros_like(rewards)
        last = torch.zeros(rewards.size(1))
        for t in range(rewards.size(0) - 1, -1, -1):
            mask = 1.0 - done[t].float()
            delta = rewards[t] + 0.99 * values[t + 1] * mask - values[t]
            last = delta + 0.99 * 0.95 * mask * last
            out[t] = last
        return out, (out - out.mean()) / (out.std() + 1e-8)


case("game_gae", Gae, of(x(8, 3), x(9, 3), x(8, 3) > 1))


class C51(nn.Module):
    """A categorical projection of a distribution of returns."""

    def forward(self, probs: Tensor, reward: Tensor, done: Tensor) -> Tensor:
        z = torch.linspace(-2.0, 2.0, 11)
        dz = 4.0 / 10
        tz = (reward[:, None] + 0.9 * (1 - done[:, None]) * z).clamp(-2.0, 2.0)
        b = (tz + 2.0) / dz
        low, high = b.floor().long(), b.ceil().long()
        low[(high > 0) & (low == high)] -= 1
        high[(low < 10) & (low == high)] += 1
        m = torch.zeros_like(probs)
        m.scatter_add_(1, low, probs * (high.float() - b))
        m.scatter_add_(1, high, probs * (b - low.float()))
        return m


case("game_c51", C51, of(x(4, 11).softmax(1), x(4), torch.tensor([0.0, 1, 0, 0])))


class Sinkhorn(nn.Module):
    def __init__(self):
        super().__init__()
        self.iterations = 8

    def forward(self, scores: Tensor, bin: Tensor) -> Tensor:
        b, m, n = scores.shape
        one = torch.tensor(1.0)
        ms, ns = (m * one).to(scores), (n * one).to(scores)
        bins0, bins1 = bin.expand(b, m, 1), bin.expand(b, 1, n)
        z = torch.cat([torch.cat([scores, bins0], -1), torch.cat([bins1, bin.expand(b, 1, 1)], -1)], 1)
        norm = -(ms + ns).log()
        mu = torch.cat([norm.expand(m), ns.log()[None] + norm])[None].expand(b, -1)
        nu = torch.cat([norm.expand(n), ms.log()[None] + norm])[None].expand(b, -1)
        u, v = torch.zeros_like(mu), torch.zeros_like(nu)
        for _ in range(self.iterations):
            u = mu - torch.logsumexp(z + v.unsqueeze(1), dim=2)
            v = nu - torch.logsumexp(z + u.unsqueeze(2), dim=1)
        return z + u.unsqueeze(2) + v.unsqueeze(1) - norm


case("opt_sinkhorn", Sinkhorn, of(x(2, 5, 7), torch.tensor(1.0)))


class SoftDtw(nn.Module):
    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        d = torch.cdist(a, b) ** 2
        n, m = d.shape[1], d.shape[2]
        r = torch.full((d.shape[0], n + 1, m + 1), 1e6)
        r[:, 0, 0] = 0
        for i in range(1, n + 1):
            for j in range(1, m + 1):
                near = torch.stack([r[:, i - 1, j - 1], r[:, i - 1, j], r[:, i, j - 1]], -1)
                r[:, i, j] = d[:, i - 1, j - 1] - torch.logsumexp(-near, -1)
        return r[:, n, m]


case("opt_soft_dtw", SoftDtw, of(x(2, 5, 3), x(2, 4, 3)))


class GaussianProcess(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("train_x", torch.linspace(0, 1, 8).unsqueeze(1))
        self.register_buffer("train_y", torch.sin(torch.linspace(0, 6, 8)))

    def kernel(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.exp(-0.5 * torch.cdist(a, b).pow(2) / 0.04)

    def forward(self, y: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        L = torch.linalg.cholesky(self.kernel(self.train_x, self.train_x) + 0.1 * torch.eye(8))
        alpha = torch.cholesky_solve(self.train_y.unsqueeze(1), L)
        k = self.kernel(y, self.train_x)
        v = torch.linalg.solve_triangular(L, k.t(), upper=False)
        logml = -0.5 * (self.train_y @ alpha.squeeze(1)) - torch.log(torch.diagonal(L)).sum() - 4 * math.log(2 * math.pi)
        return (k @ alpha).squeeze(1), 1 - (v ** 2).sum(0), logml


case("stat_gp", GaussianProcess, of(x(5, 1)))


class Flow(nn.Module):
    """Affine couplings and an invertible product, with the log of the determinant."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.linalg.qr(torch.randn(6, 6))[0] * 1.1)
        self.nets = nn.ModuleList([nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 6)) for _ in range(2)])

    def forward(self, y: Tensor) -> Tuple[Tensor, Tensor]:
        logdet = torch.zeros(y.size(0))
        for net in self.nets:
            y = y @ self.w
            logdet = logdet + torch.slogdet(self.w)[1]
            a, b = y.chunk(2, 1)
            s, t = net(a).chunk(2, 1)
            s = torch.tanh(s)
            y = torch.cat([a, b * s.exp() + t], 1)
            logdet = logdet + s.sum(1)
        return y, logdet - 0.5 * (y ** 2 + math.log(2 * math.pi)).sum(1)


case("stat_flow", Flow, of(x(3, 6)))


class Mdn(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 12)

    def forward(self, y: Tensor, target: Tensor) -> Tensor:
        pi, mu, sigma = self.net(y).split(4, dim=1)
        dist = torch.distributions.MixtureSameFamily(torch.distributions.Categorical(logits=pi), torch.distributions.Normal(mu, fn.softplus(sigma) + 1e-3))
        return dist.log_prob(target)


case("stat_mdn", Mdn, of(x(4, 3), x(4)), ways=("pt2", "trace"))


class SlotAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(8, 8, bias=False) for _ in range(3))
        self.gru = nn.GRUCell(8, 8)
        self.n1, self.n2 = nn.LayerNorm(8), nn.LayerNorm(8)

    def forward(self, inputs: Tensor, slots: Tensor) -> Tensor:
        inputs = self.n1(inputs)
        k, v = self.k(inputs), self.v(inputs)
        b, s, d = slots.shape
        for _ in range(3):
            before = slots
            dots = torch.einsum("bid,bjd->bij", self.q(self.n2(slots)), k) * d ** -0.5
            attn = dots.softmax(dim=1) + 1e-8
            attn = attn / attn.sum(dim=-1, keepdim=True)
            slots = self.gru(torch.einsum("bjd,bij->bid", v, attn).reshape(-1, d), before.reshape(-1, d)).reshape(b, -1, d)
        return slots


case("opt_slots", SlotAttention, of(x(2, 9, 8), x(2, 4, 8)))


class CharCnn(nn.Module):
    """Characters of words to vectors by convolutions of several widths and a highway, then both ways over words."""

    def __init__(self):
        super().__init__()
        self.chars = nn.Embedding(30, 6, padding_idx=0)
        self.convs = nn.ModuleList([nn.Conv1d(6, 4 * w, w) for w in (1, 2, 3)])
        self.high = nn.Linear(24, 48)
        self.rnn = nn.LSTM(24, 10, bidirectional=True, batch_first=True)

    def forward(self, ids: Tensor) -> Tensor:
        b, n, c = ids.shape
        e = self.chars(ids.view(-1, c)).transpose(1, 2)
        found: List[Tensor] = []
        for conv in self.convs:
            found.append(torch.max(torch.tanh(conv(e)), dim=-1)[0])
        y = torch.cat(found, -1)
        new, gate = self.high(y).chunk(2, -1)
        gate = torch.sigmoid(gate)
        y = gate * y + (1 - gate) * fn.relu(new)
        out, (h, _) = self.rnn(y.view(b, n, -1))
        return torch.cat([out.mean(1), h[0], h[1]], 1)


case("text_char_cnn", CharCnn, of(torch.arange(2 * 4 * 5).reshape(2, 4, 5) % 30))


class Ngrams(nn.Module):
    """Hashed n-grams in a bag, as fastText has them."""

    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(64, 8, mode="mean")
        self.fc = nn.Linear(8, 3)

    def forward(self, words: Tensor) -> Tensor:
        pairs = (words[:, :-1] * 31 + words[:, 1:]) % 64
        return self.fc(self.bag(torch.cat([words % 64, pairs], 1)))


case("text_ngrams", Ngrams, of(torch.arange(12).reshape(2, 6) * 7))


class Rope2d(nn.Module):
    """Rotary places of an image's patches in halves, with register tokens left alone."""

    def forward(self, q: Tensor, grid: Tensor) -> Tensor:
        half = q.size(-1) // 2
        freq = 100.0 ** (-torch.arange(0, half, 2).float() / half)
        t = (grid[:, :, None] * freq).flatten(1).repeat_interleave(2, -1)
        prefix, rest = q[:, :, :2], q[:, :, 2:]
        turned = torch.stack([-rest[..., 1::2], rest[..., ::2]], -1).reshape(rest.shape)
        return torch.cat([prefix, rest * t.cos() + turned * t.sin()], 2)


case("text_rope2d", Rope2d, of(x(1, 2, 11, 16), torch.stack(torch.meshgrid(torch.arange(3.0), torch.arange(3.0), indexing="ij"), -1).reshape(9, 2)))


class Linear4(nn.Module):
    """Weights of 4 bits in groups, unpacked with shifts."""

    def __init__(self):
        super().__init__()
        self.register_buffer("packed", torch.randint(0, 256, (8, 16), dtype=torch.uint8, generator=torch.Generator().manual_seed(1)))
        self.register_buffer("scales", torch.rand(8, 2, generator=torch.Generator().manual_seed(2)) / 8)
        self.register_buffer("zeros", torch.full((8, 2), 8.0))

    def forward(self, y: Tensor) -> Tensor:
        low, high = self.packed & 15, self.packed >> 4
        codes = torch.stack([low, high], -1).view(8, 2, 16).to(y.dtype)
        w = ((codes - self.zeros.unsqueeze(-1)) * self.scales.unsqueeze(-1)).view(8, 32)
        return fn.linear(y, w)


case("quant_linear4", Linear4, of(x(3, 32)))


class Mamba(nn.Module):
    """A selective scan by a running product, in chunks."""

    def __init__(self):
        super().__init__()
        self.inp, self.conv = nn.Linear(8, 32), nn.Conv1d(16, 16, 4, groups=16, padding=3)
        self.xp, self.dt, self.out = nn.Linear(16, 10), nn.Linear(2, 16), nn.Linear(16, 8)
        self.A_log, self.D = nn.Parameter(torch.log(torch.arange(1, 5).float()).repeat(16, 1)), nn.Parameter(torch.ones(16))

    def forward(self, y: Tensor) -> Tensor:
        b, n, _ = y.shape
        u, z = self.inp(y).chunk(2, -1)
        u = fn.silu(self.conv(u.transpose(1, 2))[..., :n].transpose(1, 2))
        dt, B, C = self.xp(u).split([2, 4, 4], -1)
        dt = fn.softplus(self.dt(dt))
        A = -torch.exp(self.A_log)
        dA = torch.exp(dt.unsqueeze(-1) * A)
        dBu = dt.unsqueeze(-1) * B.unsqueeze(2) * u.unsqueeze(-1)
        h = torch.zeros(b, 16, 4)
        ys: List[Tensor] = []
        for i in range(n):
            h = dA[:, i] * h + dBu[:, i]
            ys.append((h * C[:, i].unsqueeze(1)).sum(-1))
        return self.out((torch.stack(ys, 1) + u * self.D) * fn.silu(z))


case("seq_mamba", Mamba, of(x(2, 9, 8)))


class Retention(nn.Module):
    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        n = q.size(-2)
        gamma = 1 - torch.exp(torch.linspace(math.log(1 / 32), math.log(1 / 512), q.size(1)))
        place = torch.arange(n)
        decay = torch.where(place[:, None] >= place[None], gamma[:, None, None] ** (place[:, None] - place[None]).clamp(min=0), torch.zeros(1))
        y = (q @ k.transpose(-1, -2) * decay) @ v
        return fn.group_norm(y.transpose(1, 2).reshape(-1, y.size(1) * y.size(-1)), y.size(1)).view(q.size(0), n, -1)


case("seq_retention", Retention, of(x(2, 4, 7, 8), x(2, 4, 7, 8, seed=2), x(2, 4, 7, 8, seed=3)))
