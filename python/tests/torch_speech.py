# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Speech and decoding for torch_models.py: programs as people write them, with loops over frames and tokens."""

from typing import List, Tuple

import torch
import torch.nn.functional as fn
from torch import Tensor, nn

from torch_forms import Case, of, x

CASES = {}


def case(name, module, args, dims=None, ways=("pt2", "trace", "script"), more=lambda: [], tolerance=1e-4):
    CASES[name] = Case(lambda: (module().eval(), args(), dims), ways, more, tolerance)


class GlobalNorm(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.gamma, self.beta = nn.Parameter(torch.ones(1, channels, 1)), nn.Parameter(torch.zeros(1, channels, 1))

    def forward(self, y: Tensor) -> Tensor:
        mean = y.mean(dim=1, keepdim=True).mean(dim=2, keepdim=True)
        var = (torch.pow(y - mean, 2)).mean(dim=1, keepdim=True).mean(dim=2, keepdim=True)
        return self.gamma * (y - mean) / torch.pow(var + 1e-8, 0.5) + self.beta


class TasBlock(nn.Module):
    def __init__(self, channels: int, hidden: int, dilation: int):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(channels, hidden, 1), nn.PReLU(), GlobalNorm(hidden),
                                 nn.Conv1d(hidden, hidden, 3, padding=dilation, dilation=dilation, groups=hidden), nn.PReLU(), GlobalNorm(hidden),
                                 nn.Conv1d(hidden, channels, 1))

    def forward(self, y: Tensor) -> Tensor:
        return y + self.net(y)


class TasNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Conv1d(1, 16, 8, stride=4, bias=False)
        self.blocks = nn.ModuleList([TasBlock(16, 24, 2 ** i) for i in range(3)])
        self.mask = nn.Conv1d(16, 32, 1)
        self.decoder = nn.ConvTranspose1d(16, 1, 8, stride=4, bias=False)
        self.sources = 2

    def forward(self, wave: Tensor) -> Tensor:
        rest = wave.size(-1) % 4
        if rest > 0:
            wave = fn.pad(wave, [0, 4 - rest])
        w = self.encoder(wave.unsqueeze(1))
        y = w
        for block in self.blocks:
            y = block(y)
        masks = torch.sigmoid(self.mask(y)).view(y.size(0), self.sources, y.size(1), -1)
        parts = w.unsqueeze(1) * masks
        return self.decoder(parts.flatten(0, 1)).view(y.size(0), self.sources, -1)


case("speech_tasnet", TasNet, of(x(2, 161)), more=lambda: [(x(2, 161, seed=5),)])


class CtcGreedy(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(12, 6)

    def forward(self, y: Tensor) -> Tensor:
        best = self.proj(y).argmax(-1)
        kept = torch.unique_consecutive(best)
        return kept[kept != 0]


case("speech_ctc_greedy", CtcGreedy, of(x(20, 12)), ways=("script", "trace"), more=lambda: [(x(20, 12, seed=3),)])


class CtcMask(nn.Module):
    """Repeats and blanks are masked rather than dropped."""

    def forward(self, logits: Tensor, lengths: Tensor) -> Tuple[Tensor, Tensor]:
        best = logits.argmax(-1)
        changed = torch.ones_like(best, dtype=torch.bool)
        changed[:, 1:] = best[:, 1:] != best[:, :-1]
        inside = torch.arange(logits.size(1))[None, :] < lengths[:, None]
        keep = changed & (best != 0) & inside
        place = keep.cumsum(1) - 1
        out = torch.full_like(best, -1)
        out.scatter_(1, torch.where(keep, place, torch.full_like(place, logits.size(1) - 1)), torch.where(keep, best, torch.full_like(best, -1)))
        return out, keep.sum(1)


case("speech_ctc_mask", CtcMask, of(x(3, 14, 5), torch.tensor([14, 9, 3])), ways=("pt2", "trace", "script"))


class Transducer(nn.Module):
    """Greedy decoding of an RNN transducer: at most two symbols for each frame."""

    def __init__(self):
        super().__init__()
        self.embed, self.cell = nn.Embedding(8, 16), nn.LSTMCell(16, 16)
        self.joint = nn.Linear(32, 8)
        self.blank = 0
        self.max_symbols = 2

    def forward(self, frames: Tensor) -> Tuple[Tensor, Tensor]:
        h, c = torch.zeros(1, 16), torch.zeros(1, 16)
        token = torch.zeros([1], dtype=torch.long)
        h, c = self.cell(self.embed(token), (h, c))
        out = torch.full([frames.size(0) * 2], -1, dtype=torch.long)
        count = torch.zeros([1], dtype=torch.long)
        for t in range(frames.size(0)):
            for _ in range(self.max_symbols):
                token = self.joint(torch.cat([frames[t:t + 1], h], 1)).argmax(1)
                emit = token != self.blank
                out = torch.where((torch.arange(out.size(0)) == count) & emit, token, out)
                count = count + emit.long()
                nh, nc = self.cell(self.embed(token), (h, c))
                h = torch.where(emit[:, None], nh, h)
                c = torch.where(emit[:, None], nc, c)
        return out, count


case("speech_transducer", Transducer, of(x(6, 16)), ways=("pt2", "script"), more=lambda: [(x(6, 16, seed=8) * 2,)])


class TransducerWhile(nn.Module):
    """The same as people write it: a while that data ends in a for over frames."""

    def __init__(self):
        super().__init__()
        self.embed, self.cell = nn.Embedding(8, 16), nn.GRUCell(16, 16)
        self.joint = nn.Linear(32, 8)

    def forward(self, frames: Tensor) -> Tensor:
        h = torch.zeros(1, 16)
        out = torch.full([frames.size(0), 3], -1, dtype=torch.long)
        for t in range(frames.size(0)):
            symbols = 0
            going = True
            while going and symbols < 3:
                token = self.joint(torch.cat([frames[t:t + 1], h], 1)).argmax(1)
                if bool((token == 0).all()):
                    going = False
                else:
                    out[t, symbols] = token[0]
                    h = self.cell(self.embed(token), h)
                    symbols += 1
        return out


case("speech_transducer_while", TransducerWhile, of(x(6, 16)), ways=("script",), more=lambda: [(x(6, 16, seed=8) * 2,)])


class Mel(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(64))
        self.register_buffer("filters", torch.rand(33, 10))
        self.n_fft = 64

    def forward(self, wave: Tensor) -> Tensor:
        wave = torch.cat([wave[:, :1], wave[:, 1:] - 0.97 * wave[:, :-1]], 1)
        spectrum = torch.stft(wave, self.n_fft, hop_length=16, win_length=64, window=self.window, center=True, pad_mode="reflect", return_complex=True)
        power = spectrum.abs().pow(2.0)
        mel = torch.matmul(power.transpose(1, 2), self.filters)
        logs = torch.clamp(mel, min=1e-10).log10()
        logs = torch.maximum(logs, logs.amax(dim=(1, 2), keepdim=True) - 8.0)
        return (logs - logs.mean(1, keepdim=True)) / (logs.std(1, keepdim=True) + 1e-5)


case("speech_mel", Mel, of(x(2, 400)))


class StreamConv(nn.Module):
    """Caches of layers come as a list and go as one."""

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv1d(8, 8, 3, dilation=2 ** i) for i in range(3)])
        self.left: List[int] = [2, 4, 8]

    def forward(self, chunk: Tensor, caches: List[Tensor]) -> Tuple[Tensor, List[Tensor]]:
        y = chunk
        new: List[Tensor] = []
        for i, conv in enumerate(self.convs):
            y = torch.cat([caches[i], y], dim=2)
            new.append(y[:, :, -self.left[i]:])
            y = fn.silu(conv(y)) + y[:, :, self.left[i]:]
        return y, new


case("speech_stream", StreamConv, of(x(1, 8, 5), [x(1, 8, 2), x(1, 8, 4), x(1, 8, 8)]), ways=("pt2", "script"))


class WaveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(1, 8, 1)
        self.gates = nn.ModuleList([nn.utils.parametrizations.weight_norm(nn.Conv1d(8, 16, 2, dilation=2 ** i)) for i in range(4)])
        self.skips = nn.ModuleList([nn.Conv1d(8, 12, 1) for _ in range(4)])
        self.outs = nn.ModuleList([nn.Conv1d(8, 8, 1) for _ in range(4)])
        self.last = nn.Sequential(nn.ReLU(), nn.Conv1d(12, 12, 1), nn.ReLU(), nn.Conv1d(12, 16, 1))

    def forward(self, wave: Tensor) -> Tensor:
        y = self.first(wave)
        total = torch.zeros(wave.size(0), 12, wave.size(2), dtype=wave.dtype, device=wave.device)
        i = 0
        for gate, skip, out in zip(self.gates, self.skips, self.outs):
            a, b = gate(fn.pad(y, (2 ** i, 0))).chunk(2, 1)
            z = torch.tanh(a) * torch.sigmoid(b)
            total += skip(z)
            y = y + out(z)
            i += 1
        return self.last(total)


case("speech_wavenet", WaveNet, of(x(2, 1, 40)), ways=("pt2", "trace"))


class Tacotron(nn.Module):
    """Attention by content and place, a frame after another until the gate says stop."""

    def __init__(self):
        super().__init__()
        self.prenet = nn.Linear(6, 16)
        self.rnn = nn.LSTMCell(32, 16)
        self.query, self.memory = nn.Linear(16, 8, bias=False), nn.Linear(16, 8, bias=False)
        self.location = nn.Conv1d(2, 8, 5, padding=2, bias=False)
        self.energy = nn.Linear(8, 1, bias=False)
        self.frame, self.gate = nn.Linear(32, 6), nn.Linear(32, 1)

    def forward(self, memory: Tensor) -> Tuple[Tensor, Tensor]:
        b, t = memory.size(0), memory.size(1)
        keys = self.memory(memory)
        h, c = torch.zeros(b, 16), torch.zeros(b, 16)
        context, frame = torch.zeros(b, 16), torch.zeros(b, 6)
        weights, summed = torch.zeros(b, t), torch.zeros(b, t)
        frames = torch.zeros(b, 12, 6)
        aligned = torch.zeros(b, 12, t)
        for step in range(12):
            h, c = self.rnn(torch.cat([torch.relu(self.prenet(frame)), context], 1), (h, c))
            places = self.location(torch.stack([weights, summed], 1)).transpose(1, 2)
            scores = self.energy(torch.tanh(self.query(h).unsqueeze(1) + places + keys)).squeeze(-1)
            weights = scores.softmax(1)
            summed = summed + weights
            context = torch.bmm(weights.unsqueeze(1), memory).squeeze(1)
            both = torch.cat([h, context], 1)
            frame = self.frame(both)
            frames[:, step] = frame
            aligned[:, step] = weights
            if bool((torch.sigmoid(self.gate(both)) > 0.6).all()):
                break
        return frames, aligned


case("speech_tacotron", Tacotron, of(x(2, 7, 16)), ways=("script",), more=lambda: [(x(2, 7, 16, seed=9) * 4,)])


class BeamSearch(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.cell, self.head = nn.Embedding(10, 16), nn.GRUCell(16, 16), nn.Linear(16, 10)
        self.beams, self.steps = 3, 6

    def forward(self, h: Tensor) -> Tuple[Tensor, Tensor]:
        k = self.beams
        h = h.expand(k, h.size(1)).contiguous()
        tokens = torch.zeros(k, 1, dtype=torch.long)
        scores = torch.full([k], float("-inf"))
        scores[0] = 0.0
        ended = torch.zeros(k, dtype=torch.bool)
        for _ in range(self.steps):
            h = self.cell(self.embed(tokens[:, -1]), h)
            logs = fn.log_softmax(self.head(h), dim=-1)
            stay = torch.full_like(logs, float("-inf"))
            stay[:, 3] = 0.0
            logs = torch.where(ended.unsqueeze(1), stay, logs)
            total = (scores.unsqueeze(1) + logs).view(-1)
            scores, places = total.topk(k)
            beam, token = torch.div(places, 10, rounding_mode="floor"), places % 10
            h = h.index_select(0, beam)
            tokens = torch.cat([tokens.index_select(0, beam), token.unsqueeze(1)], 1)
            ended = ended.index_select(0, beam) | (token == 3)
        return tokens, scores


case("decode_beams", BeamSearch, of(x(1, 16)), ways=("pt2", "trace", "script"), more=lambda: [(x(1, 16, seed=4) * 3,)])


class Viterbi(nn.Module):
    """The best path of a CRF: pointers back in a list, walked in reverse."""

    def __init__(self):
        super().__init__()
        self.transitions = nn.Parameter(torch.randn(5, 5))
        self.start, self.end = nn.Parameter(torch.randn(5)), nn.Parameter(torch.randn(5))

    def forward(self, emissions: Tensor, mask: Tensor) -> Tuple[Tensor, Tensor]:
        steps = emissions.size(1)
        score = self.start + emissions[:, 0]
        history: List[Tensor] = []
        for i in range(1, steps):
            each = score.unsqueeze(2) + self.transitions + emissions[:, i].unsqueeze(1)
            best, places = each.max(dim=1)
            score = torch.where(mask[:, i].unsqueeze(1), best, score)
            history.append(torch.where(mask[:, i].unsqueeze(1), places, torch.arange(5).unsqueeze(0)))
        score = score + self.end
        top, last = score.max(dim=1)
        path: List[Tensor] = [last]
        for pointers in history[::-1]:
            last = pointers.gather(1, last.unsqueeze(1)).squeeze(1)
            path.append(last)
        path.reverse()
        return torch.stack(path, 1), top


case("decode_viterbi", Viterbi, of(x(3, 7, 5), torch.arange(7)[None] < torch.tensor([[7], [4], [1]])), ways=("pt2", "trace", "script"))


class CrfLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.transitions = nn.Parameter(torch.randn(5, 5))

    def forward(self, emissions: Tensor, tags: Tensor) -> Tensor:
        alpha = emissions[:, 0]
        gold = emissions[:, 0].gather(1, tags[:, :1]).squeeze(1)
        for i in range(1, emissions.shape[1]):
            alpha = torch.logsumexp(alpha.unsqueeze(2) + self.transitions.unsqueeze(0), dim=1) + emissions[:, i]
            gold = gold + self.transitions[tags[:, i - 1], tags[:, i]] + emissions[:, i].gather(1, tags[:, i:i + 1]).squeeze(1)
        return torch.logsumexp(alpha, 1) - gold


case("decode_crf_loss", CrfLoss, of(x(3, 7, 5), torch.arange(21).reshape(3, 7) * 3 % 5))


class Pointer(nn.Module):
    """Tours by a pointer network: what was visited is masked in place."""

    def __init__(self):
        super().__init__()
        self.encode, self.cell = nn.Linear(2, 16), nn.LSTMCell(16, 16)
        self.wq, self.wk, self.v = nn.Linear(16, 16), nn.Linear(16, 16), nn.Parameter(torch.randn(16))

    def forward(self, points: Tensor) -> Tuple[Tensor, Tensor]:
        b, n, _ = points.shape
        keys = torch.tanh(self.encode(points))
        h = keys.mean(1)
        c = torch.zeros_like(h)
        visited = torch.zeros(b, n, dtype=torch.bool)
        now = torch.zeros(b, 16)
        tour: List[Tensor] = []
        logp = torch.zeros(b)
        for i in range(n):
            h, c = self.cell(now, (h, c))
            scores = (torch.tanh(self.wq(h).unsqueeze(1) + self.wk(keys)) @ self.v) * 10
            scores = scores.masked_fill(visited, -1e9)
            logs = scores.log_softmax(1)
            pick = logs.argmax(1)
            logp = logp + logs.gather(1, pick[:, None])[:, 0]
            visited = visited.clone()
            visited[torch.arange(b), pick] = True
            now = keys[torch.arange(b), pick]
            tour.append(pick)
        return torch.stack(tour, 1), logp


case("decode_pointer", Pointer, of(x(2, 6, 2)), ways=("pt2", "trace", "script"))


class CachedDecoder(nn.Module):
    """Keys and values go to rows of a cache that the loop writes in place."""

    def __init__(self):
        super().__init__()
        self.embed, self.qkv, self.out, self.head = nn.Embedding(16, 32), nn.Linear(32, 96), nn.Linear(32, 32), nn.Linear(32, 16)

    def forward(self, first: Tensor) -> Tensor:
        b = first.size(0)
        keys, values = torch.zeros(b, 4, 8, 8), torch.zeros(b, 4, 8, 8)
        token = first
        out = torch.zeros(b, 8, dtype=torch.long)
        for step in range(8):
            y = self.embed(token)
            q, k, v = self.qkv(y).view(b, 3, 4, 8).unbind(1)
            keys[:, :, step] = k
            values[:, :, step] = v
            scores = torch.einsum("bhd,bhsd->bhs", q, keys) / 8 ** 0.5
            scores = scores.masked_fill(torch.arange(8) > step, float("-inf"))
            y = y + self.out(torch.einsum("bhs,bhsd->bhd", scores.softmax(-1), values).reshape(b, 32))
            token = self.head(y).argmax(-1)
            out[:, step] = token
        return out


case("decode_cached", CachedDecoder, of(torch.tensor([3, 7])), ways=("pt2", "trace", "script"))


class CachedUntil(CachedDecoder):
    """The same until all sequences have ended: a loop that data ends."""

    def forward(self, first: Tensor) -> Tensor:
        b = first.size(0)
        keys, values = torch.zeros(b, 4, 8, 8), torch.zeros(b, 4, 8, 8)
        token = first
        ended = torch.zeros(b, dtype=torch.bool)
        out = torch.zeros(b, 8, dtype=torch.long)
        step = 0
        while step < 8 and not bool(ended.all()):
            y = self.embed(token)
            q, k, v = self.qkv(y).view(b, 3, 4, 8).unbind(1)
            keys[:, :, step] = k
            values[:, :, step] = v
            scores = torch.einsum("bhd,bhsd->bhs", q, keys) / 8 ** 0.5
            scores = scores.masked_fill(torch.arange(8) > step, float("-inf"))
            y = y + self.out(torch.einsum("bhs,bhsd->bhd", scores.softmax(-1), values).reshape(b, 32))
            token = self.head(y).argmax(-1).masked_fill(ended, 0)
            out[:, step] = token
            ended = ended | (token == 5)
            step += 1
        return out


case("decode_cached_until", CachedUntil, of(torch.tensor([3, 7])), ways=("script",), more=lambda: [(torch.tensor([5, 11]),)])


class TopP(nn.Module):
    """Nucleus, top-k, repetition penalty and the token of the greatest remaining score with given noise."""

    def forward(self, logits: Tensor, seen: Tensor, noise: Tensor, temperature: float = 0.7) -> Tuple[Tensor, Tensor]:
        score = torch.gather(logits, 1, seen)
        score = torch.where(score < 0, score * 1.2, score / 1.2)
        logits = logits.scatter(1, seen, score) / temperature
        logits = logits.masked_fill(logits < torch.topk(logits, 20)[0][..., -1, None], -float("inf"))
        ordered, places = torch.sort(logits, descending=True)
        over = ordered.softmax(dim=-1).cumsum(dim=-1) > 0.9
        over[..., 1:] = over[..., :-1].clone()
        over[..., 0] = False
        drop = over.scatter(1, places, over)
        logits = logits.masked_fill(drop, -float("inf"))
        gumbel = -torch.log(-torch.log(noise))
        return (logits + gumbel).argmax(-1), logits.softmax(-1)


case("decode_top_p", lambda: TopP(), of(x(2, 50), torch.tensor([[1, 5, 7], [2, 2, 49]]), x(2, 50).sigmoid()), ways=("pt2", "trace"))


class Speculative(nn.Module):
    """How many drafted tokens a model accepts, and the one after them."""

    def forward(self, draft: Tensor, p: Tensor, q: Tensor, u: Tensor) -> Tuple[Tensor, Tensor]:
        b, n = draft.shape
        ratio = p[:, :n].gather(2, draft.unsqueeze(-1)).squeeze(-1) / q.gather(2, draft.unsqueeze(-1)).squeeze(-1)
        accepted = (u < ratio).long().cumprod(1).sum(1)
        rows = torch.arange(b)
        rest = (p[rows, accepted] - fn.pad(q, (0, 0, 0, 1))[rows, accepted]).clamp(min=0)
        return accepted, (rest / rest.sum(-1, keepdim=True)).argmax(-1)


case("decode_speculative", Speculative, of(torch.tensor([[1, 2, 3], [4, 0, 2]]), x(2, 4, 6).softmax(-1), x(2, 3, 6, seed=4).softmax(-1), x(2, 3).sigmoid()))
