# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Diffusion, graphs, points and images for torch_models.py."""

import math
from typing import List, Tuple

import torch
import torch.nn.functional as fn
from torch import Tensor, nn

from torch_forms import Case, of, x

CASES = {}


def case(name, module, args, dims=None, ways=("pt2", "trace", "script"), more=lambda: [], tolerance=1e-4):
    CASES[name] = Case(lambda: (module().eval(), args(), dims), ways, more, tolerance)


#===--- diffusion ----------------------------------------------------------------===#


class Ddim(nn.Module):
    """A scheduler and its loop: steps of a tensor, tables that are picked from, guidance by halves."""

    def __init__(self):
        super().__init__()
        betas = torch.linspace(0.00085 ** 0.5, 0.012 ** 0.5, 50) ** 2
        self.register_buffer("alphas", torch.cumprod(1 - betas, 0))
        self.register_buffer("steps", torch.arange(0, 50, 10).flip(0))
        self.net = nn.Conv2d(5, 4, 3, padding=1)
        self.guidance = 7.5

    def forward(self, noise: Tensor) -> Tensor:
        y = noise
        for i, t in enumerate(self.steps):
            both = torch.cat([y, y], 0)
            when = (t.float() / 50).expand(both.size(0), 1, both.size(2), both.size(3))
            plain, led = self.net(torch.cat([both, when], 1)).chunk(2)
            eps = plain + self.guidance * (led - plain)
            now = self.alphas[t]
            before = self.alphas[self.steps[i + 1]] if i + 1 < len(self.steps) else torch.tensor(1.0)
            clean = ((y - (1 - now).sqrt() * eps) / now.sqrt()).clamp(-1, 1)
            y = before.sqrt() * clean + (1 - before).sqrt() * eps
        return y


case("diffusion_ddim", Ddim, of(x(1, 4, 8, 8)), ways=("pt2", "trace"))


class DdimScript(nn.Module):
    def __init__(self):
        super().__init__()
        betas = torch.linspace(0.0001, 0.02, 50)
        self.register_buffer("alphas", torch.cumprod(1 - betas, 0))
        self.timesteps: List[int] = [40, 30, 20, 10, 0]
        self.net = nn.Conv2d(4, 4, 3, padding=1)
        self.prediction: str = "v_prediction"

    def step(self, eps: Tensor, t: int, before: int, y: Tensor) -> Tuple[Tensor, Tensor]:
        now = self.alphas[t]
        prev = self.alphas[before] if before >= 0 else torch.ones_like(now)
        if self.prediction == "epsilon":
            clean = (y - (1 - now) ** 0.5 * eps) / now ** 0.5
        elif self.prediction == "v_prediction":
            clean = now ** 0.5 * y - (1 - now) ** 0.5 * eps
            eps = now ** 0.5 * eps + (1 - now) ** 0.5 * y
        else:
            raise ValueError(f"prediction_type given as {self.prediction} must be one of `epsilon`, or `v_prediction`")
        return prev ** 0.5 * clean + (1 - prev) ** 0.5 * eps, clean

    def forward(self, y: Tensor) -> Tensor:
        clean = y
        for i, t in enumerate(self.timesteps):
            y, clean = self.step(self.net(y), t, self.timesteps[i + 1] if i + 1 < len(self.timesteps) else -1, y)
        return clean


case("diffusion_ddim_script", DdimScript, of(x(1, 4, 8, 8)))


class DpmSolver(nn.Module):
    """Second order, from a list of the last outputs."""

    def __init__(self):
        super().__init__()
        sigmas = torch.linspace(14.6, 0.03, 6)
        self.register_buffer("sigmas", torch.cat([sigmas, torch.zeros(1)]))
        self.net = nn.Conv1d(4, 4, 3, padding=1)

    def forward(self, y: Tensor) -> Tensor:
        outputs: List[Tensor] = []
        for i in range(6):
            sigma, after = self.sigmas[i], self.sigmas[i + 1]
            clean = y - sigma * torch.tanh(self.net(y / (sigma ** 2 + 1).sqrt()))
            outputs.append(clean)
            if len(outputs) > 2:
                outputs.pop(0)
            lam_t, lam_s = -torch.log(after + 1e-4), -torch.log(sigma)
            h = lam_t - lam_s
            if len(outputs) == 1 or i == 5:
                y = (after / sigma) * y - (torch.exp(-h) - 1.0) * clean
            else:
                h_0 = lam_s + torch.log(self.sigmas[i - 1])
                d1 = (1.0 / (h_0 / h)) * (outputs[-1] - outputs[-2])
                y = (after / sigma) * y - (torch.exp(-h) - 1.0) * (clean + 0.5 * d1)
        return y


case("diffusion_dpm", DpmSolver, of(x(2, 4, 10)))


class TimeUnet(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 32))
        self.inp, self.r1, self.r2 = nn.Conv2d(3, 16, 3, padding=1), Res(16), Res(16)
        self.down, self.attn = nn.Conv2d(16, 16, 3, stride=2, padding=1), Spatial(16)
        self.out = nn.Sequential(nn.GroupNorm(4, 32), nn.SiLU(), nn.Conv2d(32, 3, 3, padding=1))

    def forward(self, y: Tensor, t: Tensor, context: Tensor) -> Tensor:
        half = 8
        freqs = torch.exp(-math.log(10000) * torch.arange(start=0, end=half, dtype=torch.float32) / half)
        args = t[:, None].float() * freqs[None]
        emb = self.time(torch.cat([torch.cos(args), torch.sin(args)], dim=-1))
        top = self.r1(self.inp(y), emb)
        low = self.attn(self.r2(self.down(top), emb), context)
        return self.out(torch.cat([fn.interpolate(low, scale_factor=2.0, mode="nearest"), top], 1))


class Res(nn.Module):
    def __init__(self, c: int):
        super().__init__()
        self.n1, self.c1, self.n2, self.c2 = nn.GroupNorm(4, c), nn.Conv2d(c, c, 3, padding=1), nn.GroupNorm(4, c), nn.Conv2d(c, c, 3, padding=1)
        self.emb = nn.Linear(32, 2 * c)

    def forward(self, y: Tensor, emb: Tensor) -> Tensor:
        h = self.c1(fn.silu(self.n1(y)))
        scale, shift = self.emb(fn.silu(emb))[:, :, None, None].chunk(2, dim=1)
        return y + self.c2(fn.silu(self.n2(h) * (1 + scale) + shift))


class Spatial(nn.Module):
    def __init__(self, c: int):
        super().__init__()
        self.norm, self.q, self.k, self.v, self.o = nn.GroupNorm(4, c), nn.Linear(c, c), nn.Linear(12, c), nn.Linear(12, c), nn.Linear(c, c)

    def forward(self, y: Tensor, context: Tensor) -> Tensor:
        b, c, h, w = y.shape
        z = self.norm(y).permute(0, 2, 3, 1).reshape(b, h * w, c)
        q = self.q(z).view(b, -1, 2, c // 2).transpose(1, 2)
        k = self.k(context).view(b, -1, 2, c // 2).transpose(1, 2)
        v = self.v(context).view(b, -1, 2, c // 2).transpose(1, 2)
        z = fn.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, h * w, c)
        return y + self.o(z).reshape(b, h, w, c).permute(0, 3, 1, 2)


case("diffusion_unet", TimeUnet, of(x(2, 3, 16, 16), torch.tensor([3, 981]), x(2, 7, 12)))


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Conv2d(3, 8, 4, 2, 1)
        self.dec = nn.ConvTranspose2d(4, 3, 4, 2, 1)

    def forward(self, y: Tensor, noise: Tensor) -> Tuple[Tensor, Tensor]:
        mean, logvar = torch.chunk(self.enc(y), 2, dim=1)
        logvar = torch.clamp(logvar, -30.0, 20.0)
        z = mean + torch.exp(0.5 * logvar) * noise
        kl = 0.5 * torch.sum(torch.pow(mean, 2) + logvar.exp() - 1.0 - logvar, dim=[1, 2, 3])
        return self.dec(z), kl


case("diffusion_vae", Vae, of(x(2, 3, 8, 8), x(2, 4, 4, 4)))


class Vq(nn.Module):
    def __init__(self):
        super().__init__()
        self.codes = nn.Embedding(12, 6)

    def forward(self, y: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        flat = y.permute(0, 2, 3, 1).contiguous().view(-1, 6)
        d = torch.sum(flat ** 2, dim=1, keepdim=True) + torch.sum(self.codes.weight ** 2, dim=1) - 2 * torch.matmul(flat, self.codes.weight.t())
        at = torch.argmin(d, dim=1).unsqueeze(1)
        one = torch.zeros(at.shape[0], 12, device=y.device)
        one.scatter_(1, at, 1)
        q = torch.matmul(one, self.codes.weight).view(y.shape[0], y.shape[2], y.shape[3], 6)
        q = y + (q.permute(0, 3, 1, 2) - y).detach()
        mean = one.mean(0)
        return q, at, torch.exp(-torch.sum(mean * torch.log(mean + 1e-10)))


case("diffusion_vq", Vq, of(x(2, 6, 4, 4)))


#===--- graphs and points --------------------------------------------------------===#


class Gat(nn.Module):
    """Attention over edges: softmax by target with scatters."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(5, 12, bias=False)
        self.src, self.dst = nn.Parameter(torch.randn(3, 4)), nn.Parameter(torch.randn(3, 4))

    def forward(self, y: Tensor, edges: Tensor) -> Tensor:
        n = y.size(0)
        h = self.lin(y).view(n, 3, 4)
        s, d = edges[0], edges[1]
        e = fn.leaky_relu((h * self.src).sum(-1)[s] + (h * self.dst).sum(-1)[d], 0.2)
        top = torch.full((n, 3), float("-inf")).scatter_reduce(0, d[:, None].expand(-1, 3), e, "amax", include_self=True)
        e = (e - top[d]).exp()
        total = torch.zeros(n, 3).index_add_(0, d, e)
        a = e / (total[d] + 1e-16)
        return torch.zeros(n, 3, 4).index_add(0, d, h[s] * a.unsqueeze(-1)).flatten(1)


EDGES = torch.tensor([[0, 1, 2, 3, 4, 0, 2], [1, 2, 3, 4, 0, 2, 0]])
case("graph_gat", Gat, of(x(6, 5), EDGES))


class Gcn(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.ModuleList([nn.Linear(5, 8), nn.Linear(8, 3)])

    def forward(self, y: Tensor, edges: Tensor, graph: Tensor) -> Tensor:
        n = y.size(0)
        loop = torch.arange(n)
        row, col = torch.cat([edges[0], loop]), torch.cat([edges[1], loop])
        deg = torch.zeros(n).scatter_add_(0, col, torch.ones(col.size(0)))
        inv = deg.pow(-0.5)
        inv[inv == float("inf")] = 0.0
        norm = inv[row] * inv[col]
        for i, w in enumerate(self.w):
            m = w(y)
            y = torch.zeros_like(m).scatter_add_(0, col.unsqueeze(1).expand(-1, m.size(1)), norm.unsqueeze(1) * m[row])
            if i == 0:
                y = y.relu()
        count = torch.bincount(graph, minlength=2).clamp(min=1)
        return torch.zeros(2, 3).index_add_(0, graph, y) / count.unsqueeze(1)


case("graph_gcn", Gcn, of(x(6, 5), EDGES, torch.tensor([0, 0, 0, 1, 1, 1])))


class Points(nn.Module):
    """Farthest points, their neighbours in a ball, and a max of each group."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 8, 1), nn.BatchNorm2d(8), nn.ReLU())

    def forward(self, xyz: Tensor) -> Tuple[Tensor, Tensor]:
        b, n, c = xyz.shape
        centroids = torch.zeros(b, 5, dtype=torch.long)
        distance = torch.ones(b, n) * 1e10
        farthest = torch.zeros(b, dtype=torch.long)
        rows = torch.arange(b, dtype=torch.long)
        for i in range(5):
            centroids[:, i] = farthest
            centroid = xyz[rows, farthest, :].view(b, 1, 3)
            dist = torch.sum((xyz - centroid) ** 2, -1)
            mask = dist < distance
            distance[mask] = dist[mask]
            farthest = torch.max(distance, -1)[1]
        new = xyz[rows[:, None], centroids]
        group = torch.arange(n).view(1, 1, n).repeat([b, 5, 1])
        sq = torch.cdist(new, xyz) ** 2
        group[sq > 1.5] = n
        group = group.sort(dim=-1)[0][:, :, :4]
        first = group[:, :, 0].view(b, 5, 1).repeat([1, 1, 4])
        far = group == n
        group[far] = first[far]
        near = xyz[rows[:, None, None], group] - new[:, :, None]
        return self.net(near.permute(0, 3, 2, 1)).max(2)[0], centroids


case("points_net", Points, of(x(2, 12, 3)), ways=("pt2", "trace", "script"))


class Knn(nn.Module):
    def forward(self, y: Tensor) -> Tensor:
        inner = -2 * torch.matmul(y.transpose(2, 1), y)
        xx = torch.sum(y ** 2, dim=1, keepdim=True)
        idx = (-xx - inner - xx.transpose(2, 1)).topk(k=4, dim=-1)[1]
        b, c, n = y.size()
        idx = (idx + torch.arange(0, b).view(-1, 1, 1) * n).view(-1)
        flat = y.transpose(2, 1).contiguous()
        near = flat.view(b * n, -1)[idx, :].view(b, n, 4, c)
        flat = flat.view(b, n, 1, c).repeat(1, 1, 4, 1)
        return torch.cat((near - flat, flat), dim=3).permute(0, 3, 1, 2).contiguous()


case("points_edgeconv", Knn, of(x(2, 3, 9)))


class Nerf(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(27, 32), nn.ReLU(), nn.Linear(32, 4))
        self.register_buffer("bands", 2.0 ** torch.arange(4))

    def forward(self, origin: Tensor, direction: Tensor) -> Tuple[Tensor, Tensor]:
        z = torch.linspace(2.0, 6.0, 16)
        p = origin[:, None] + direction[:, None] * z[:, None]
        e = (p[..., None] * self.bands).flatten(-2)
        raw = self.net(torch.cat([p, e.sin(), e.cos()], -1))
        dists = torch.cat([z[1:] - z[:-1], torch.tensor([1e10])]) * direction.norm(2, -1, True)
        alpha = 1 - torch.exp(-fn.relu(raw[..., 3]) * dists)
        weights = alpha * torch.cumprod(torch.cat([torch.ones(alpha.shape[0], 1), 1 - alpha + 1e-10], -1), -1)[:, :-1]
        return (weights[..., None] * torch.sigmoid(raw[..., :3])).sum(-2), (weights * z).sum(-1)


case("points_nerf", Nerf, of(x(5, 3), x(5, 3, seed=2)))


#===--- vision -------------------------------------------------------------------===#


class Stn(nn.Module):
    def __init__(self):
        super().__init__()
        self.loc = nn.Sequential(nn.Conv2d(1, 4, 5), nn.MaxPool2d(2), nn.ReLU(True), nn.Flatten(), nn.Linear(4 * 6 * 6, 6))

    def forward(self, y: Tensor) -> Tensor:
        theta = self.loc(y).view(-1, 2, 3)
        grid = fn.affine_grid(theta, y.size(), align_corners=False)
        return fn.grid_sample(y, grid, align_corners=False)


case("vision_stn", Stn, of(x(2, 1, 16, 16)))


class CenterNet(nn.Module):
    """Peaks of a heat map, the best of all classes, and boxes gathered there."""

    def forward(self, heat: Tensor, wh: Tensor, reg: Tensor) -> Tensor:
        b, c, h, w = heat.size()
        heat = heat.sigmoid()
        top = fn.max_pool2d(heat, (3, 3), stride=1, padding=1)
        heat = heat * (top == heat).float()
        scores, inds = torch.topk(heat.view(b, c, -1), 6)
        inds = inds % (h * w)
        ys, xs = (inds / w).int().float(), (inds % w).int().float()
        score, ind = torch.topk(scores.view(b, -1), 6)
        clses = torch.div(ind, 6, rounding_mode="trunc").int()
        pick = lambda t: t.view(b, -1, 1).gather(1, ind.unsqueeze(-1)).view(b, 6)
        inds, ys, xs = pick(inds), pick(ys), pick(xs)
        at = inds.unsqueeze(2).expand(b, 6, 2)
        r = reg.permute(0, 2, 3, 1).reshape(b, -1, 2).gather(1, at)
        s = wh.permute(0, 2, 3, 1).reshape(b, -1, 2).gather(1, at)
        xs, ys = xs.unsqueeze(-1) + r[..., 0:1], ys.unsqueeze(-1) + r[..., 1:2]
        return torch.cat([xs - s[..., 0:1] / 2, ys - s[..., 1:2] / 2, xs + s[..., 0:1] / 2, ys + s[..., 1:2] / 2, score.unsqueeze(-1), clses.float().unsqueeze(-1)], 2)


case("vision_centernet", CenterNet, of(x(2, 3, 8, 8), x(2, 2, 8, 8).abs(), x(2, 2, 8, 8)), ways=("pt2", "trace"))


class Yolo(nn.Module):
    """Boxes of three scales from strides and anchors, one of which is filtered and suppressed."""

    def __init__(self):
        super().__init__()
        self.register_buffer("anchors", torch.tensor([[[10.0, 13], [16, 30]], [[30, 61], [62, 45]]]))
        self.strides: List[int] = [8, 16]
        self.heads = nn.ModuleList([nn.Conv2d(8, 2 * 7, 1) for _ in range(2)])

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        maps = [a, b]
        out: List[Tensor] = []
        for i, head in enumerate(self.heads):
            y = head(maps[i])
            n, _, h, w = y.shape
            y = y.view(n, 2, 7, h, w).permute(0, 1, 3, 4, 2).contiguous().sigmoid()
            gy, gx = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
            grid = torch.stack((gx, gy), 2).expand(1, 2, h, w, 2).float() - 0.5
            xy = (y[..., 0:2] * 2 + grid) * self.strides[i]
            wh = (y[..., 2:4] * 2) ** 2 * self.anchors[i].view(1, 2, 1, 1, 2)
            out.append(torch.cat([xy, wh, y[..., 4:]], -1).view(n, -1, 7))
        p = torch.cat(out, 1)[0]
        p = p[p[:, 4] > 0.45]
        score, label = (p[:, 5:] * p[:, 4:5]).max(1)
        box = torch.cat([p[:, :2] - p[:, 2:4] / 2, p[:, :2] + p[:, 2:4] / 2], 1)
        keep = torch.ops.torchvision.nms(box + label[:, None].float() * 4096, score, 0.45)[:20]
        return torch.cat([box[keep], score[keep, None], label[keep, None].float()], 1)


def yolo():
    import torchvision  # noqa: F401
    return Yolo()


case("vision_yolo", yolo, of(x(1, 8, 6, 6), x(1, 8, 3, 3)), ways=("trace", "script", "pt2"), more=lambda: [(x(1, 8, 6, 6, seed=4), x(1, 8, 3, 3, seed=4))])


class Edges(nn.Module):
    """Blur, gradients, suppression along their direction, hysteresis by repeated dilation until nothing changes."""

    def __init__(self):
        super().__init__()
        g = torch.exp(-torch.arange(-2.0, 3) ** 2 / 2)
        self.register_buffer("gauss", (g[:, None] * g[None] / (g[:, None] * g[None]).sum())[None, None])
        self.register_buffer("sobel", torch.tensor([[[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]], [[-1, -2, -1], [0, 0, 0], [1, 2, 1]]])[:, None])

    def forward(self, image: Tensor) -> Tensor:
        gray = (image * torch.tensor([0.299, 0.587, 0.114]).view(1, 3, 1, 1)).sum(1, keepdim=True)
        d = fn.conv2d(fn.pad(fn.conv2d(fn.pad(gray, (2, 2, 2, 2), "reflect"), self.gauss), (1, 1, 1, 1), "replicate"), self.sobel)
        mag = torch.sqrt(d[:, :1] ** 2 + d[:, 1:] ** 2 + 1e-6)
        angle = torch.round(torch.atan2(d[:, 1:], d[:, :1]) * 180 / math.pi / 45) % 4
        best = torch.where(angle == 0, torch.maximum(torch.roll(mag, 1, 3), torch.roll(mag, -1, 3)), torch.maximum(torch.roll(mag, 1, 2), torch.roll(mag, -1, 2)))
        thin = torch.where(mag >= best, mag, torch.zeros_like(mag))
        strong, weak = thin > 1.0, thin > 0.4
        changed = torch.tensor(True)
        while bool(changed):
            grown = (fn.max_pool2d(strong.float(), 3, 1, 1) > 0) & weak
            changed = (grown != strong).any()
            strong = grown
        return strong.float()


case("vision_edges", Edges, of(x(1, 3, 16, 16)), ways=("script",), more=lambda: [(x(1, 3, 16, 16, seed=6),)])


class Equalize(nn.Module):
    def forward(self, image: Tensor) -> Tensor:
        flat = image.flatten(1)
        rows: List[Tensor] = []
        for i in range(flat.size(0)):
            hist = torch.bincount(flat[i].to(torch.int64), minlength=256)
            nonzero = hist[hist != 0]
            step = torch.div(nonzero[:-1].sum(), 255, rounding_mode="floor")
            lut = torch.div(torch.cumsum(hist, 0) + torch.div(step, 2, rounding_mode="floor"), step.clamp(min=1), rounding_mode="floor")
            lut = fn.pad(lut, [1, 0])[:-1].clamp(0, 255)
            rows.append(lut[flat[i].to(torch.int64)].to(torch.uint8))
        return torch.stack(rows).view_as(image)


case("vision_equalize", Equalize, of((x(2, 16, 16) * 40 + 128).clamp(0, 255).to(torch.uint8)), ways=("pt2", "trace", "script"))


class Correlation(nn.Module):
    """A cost volume and look-ups around a flow, as RAFT does."""

    def forward(self, a: Tensor, b: Tensor, flow: Tensor) -> Tensor:
        n, c, h, w = a.shape
        corr = torch.matmul(a.view(n, c, h * w).transpose(1, 2), b.view(n, c, h * w)).view(n * h * w, 1, h, w) / torch.sqrt(torch.tensor(c).float())
        pyramid = [corr, fn.avg_pool2d(corr, 2, stride=2)]
        out: List[Tensor] = []
        coords = flow.permute(0, 2, 3, 1)
        for i, level in enumerate(pyramid):
            d = torch.linspace(-1, 1, 3)
            delta = torch.stack(torch.meshgrid(d, d, indexing="ij"), -1)
            at = coords.reshape(n * h * w, 1, 1, 2) / 2 ** i + delta.view(1, 3, 3, 2)
            H, W = level.shape[-2:]
            gx, gy = at.split([1, 1], dim=-1)
            grid = torch.cat([2 * gx / (W - 1) - 1, 2 * gy / (H - 1) - 1], -1)
            out.append(fn.grid_sample(level, grid, align_corners=True).view(n, h, w, -1))
        return torch.cat(out, -1).permute(0, 3, 1, 2).contiguous()


case("vision_correlation", Correlation, of(x(1, 4, 6, 6), x(1, 4, 6, 6, seed=2), x(1, 2, 6, 6).abs() * 3))
