#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Saves small models as TorchScript, as test/models/scripts has them. Runs where PyTorch 2.11 or newer is.

    export_script.py --out FOLDER

Writes FOLDER/scripts.tar: NAME.pt by torch.jit.save, and NAME.npz with the inputs (in0, in1, …) and what PyTorch
computed (out0, out1, …; flattened in order, dicts by their keys). The seed is fixed. A model that PyTorch cannot save
is a line on stderr and missing in the tar.
"""
import argparse
import io
import pathlib
import sys
import tarfile
from typing import Dict, List, Optional, Tuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 4))

    def forward(self, x):
        return torch.softmax(self.layers(x), -1)


class Block(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.relu = nn.ReLU(inplace=True)
        self.down: Optional[nn.Module] = None
        if stride != 1 or i != o:
            self.down = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))

    def forward(self, x):
        skip = x
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        if self.down is not None:
            skip = self.down(x)
        y += skip
        return self.relu(y)


class Resnet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 7, 2, 3, bias=False)
        self.bn = nn.BatchNorm2d(8)
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.blocks = nn.Sequential(Block(8, 8, 1), Block(8, 16, 2), Block(16, 24, 2))
        self.fc = nn.Linear(24, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.bn(self.stem(x))))
        x = F.adaptive_avg_pool2d(self.blocks(x), (1, 1))
        return self.fc(torch.flatten(x, 1))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 8, num_layers=2, batch_first=True, bidirectional=True)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        return y, h, c


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out, self.heads = nn.Linear(16, 48), nn.Linear(16, 16), 4

    def forward(self, x, mask: Optional[torch.Tensor] = None):
        b, s, d = x.shape
        q, k, v = self.qkv(x).view(b, s, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        a = q @ k.transpose(-2, -1) * (d // self.heads) ** -0.5
        if mask is not None:
            a = a.masked_fill(mask == 0, float("-inf"))
        return self.out((a.softmax(-1) @ v).transpose(1, 2).reshape(b, s, d))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)

    def forward(self, x):
        return self.layer(x)


class ModuleLoop(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])
        self.names = nn.ModuleDict({"a": nn.Linear(8, 8), "b": nn.Tanh()})

    def forward(self, x):
        seen: List[torch.Tensor] = []
        for i, layer in enumerate(self.layers):
            x = layer(x) + float(i)
            if i % 2 == 0:
                seen.append(x)
        for name, layer in self.names.items():
            x = layer(x)
        for t in seen[::-1]:
            x = x + t.mean(-1, keepdim=True)
        return torch.cat(seen + [x], 0)


class IfTensor(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        if x.sum() > 0:
            y = self.a(x)
            scale = 2.0
        else:
            y = self.b(x).tanh()
            scale = 0.5
        return y * scale


class WhileTensor(nn.Module):
    def forward(self, x):
        i = 0
        while bool(x.abs().max() > 1.0) and i < 20:
            x = x * 0.5
            i += 1
        return x, i


class InPlace(nn.Module):
    def forward(self, x):
        y = torch.zeros(x.size(0), x.size(1) + 2, dtype=x.dtype)
        y[:, 1:-1] = x
        y[0].add_(1.0)
        z = y.view(-1)
        z.mul_(2.0)
        y[:, 0] = y[:, -1] - 3.0
        return y.clamp_(min=-2.0), z


class DictOut(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x) -> Dict[str, torch.Tensor]:
        y = self.fc(x)
        out = {"logits": y, "probs": y.softmax(-1)}
        out["top"] = y.argmax(-1)
        return out


class TupleOut(nn.Module):
    def forward(self, pair: Tuple[torch.Tensor, torch.Tensor], more: List[torch.Tensor]):
        a, b = pair
        return a + b, (a - b, [m * 2 for m in more])


class Options(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.mode: str = "relu"

    def forward(self, x, scale: float = 2.0, bias: Optional[torch.Tensor] = None, double: bool = False):
        assert x.dim() == 2, f"expected two dims, got {x.dim()}"
        y = self.fc(x) * scale
        if self.mode == "relu":
            y = F.relu(y)
        elif self.mode == "tanh":
            y = torch.tanh(y)
        else:
            raise ValueError("unknown mode " + self.mode)
        if bias is not None:
            y = y + bias
        print("done", y.shape)
        return y + y if double else y


class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.zeros(2, 4))
        self.cell = nn.GRUCell(4, 4)

    def forward(self, x):
        self.state = self.cell(x, self.state)
        return self.state * 2

    @torch.jit.export
    def reset(self):
        self.state = torch.zeros(2, 4)


class Shapes(nn.Module):
    def forward(self, x):
        b, c, h, w = x.shape
        y = x.reshape(b, c * 2, h // 2, w).permute(0, 2, 3, 1).contiguous()
        z = F.interpolate(x, size=(h * 2, w * 2), mode="nearest")
        g = torch.arange(h, device=x.device).float().unsqueeze(1).expand(h, w)
        return y, z + g.repeat(2, 2), x[:, :, ::2, -3:], x.chunk(2, 1)[1]


class Embed(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.norm = nn.Embedding(20, 8, padding_idx=0), nn.LayerNorm(8)

    def forward(self, ids):
        mask = (ids != 0).unsqueeze(-1)
        x = self.norm(self.e(ids)) * mask
        return x.sum(1) / mask.sum(1).clamp(min=1)


def t(*shape):
    return torch.randn(*shape)


CASES = {
    # NAME: (model, how, inputs)
    "mlp_traced": (Mlp, "trace", lambda: (t(3, 8),)), "mlp_scripted": (Mlp, "script", lambda: (t(3, 8),)),
    "mlp_frozen": (Mlp, "freeze", lambda: (t(3, 8),)),
    "resnet_traced": (Resnet, "trace", lambda: (t(2, 3, 32, 32),)),
    "resnet_scripted": (Resnet, "script", lambda: (t(2, 3, 32, 32),)),
    "resnet_frozen": (Resnet, "freeze", lambda: (t(2, 3, 32, 32),)),
    "lstm_traced": (Lstm, "trace", lambda: (t(2, 5, 6),)), "lstm_scripted": (Lstm, "script", lambda: (t(2, 5, 6),)),
    "attention_traced": (Attention, "trace", lambda: (t(2, 5, 16),)),
    "attention_scripted": (Attention, "script", lambda: (t(2, 5, 16),)),
    "encoder_scripted": (Encoder, "script", lambda: (t(2, 5, 16),)),
    "encoder_traced": (Encoder, "trace", lambda: (t(2, 5, 16),)),
    "module_loop": (ModuleLoop, "script", lambda: (t(3, 8),)), "if_tensor": (IfTensor, "script", lambda: (t(3, 8),)),
    "while_tensor": (WhileTensor, "script", lambda: (t(3, 8) * 5,)), "in_place": (InPlace, "script", lambda: (t(3, 4),)),
    "in_place_traced": (InPlace, "trace", lambda: (t(3, 4),)), "dict_out": (DictOut, "script", lambda: (t(3, 8),)),
    "tuple_out": (TupleOut, "script", lambda: ((t(2, 3), t(2, 3)), [t(2), t(3)])),
    "options": (Options, "script", lambda: (t(3, 8),)), "stateful": (Stateful, "script", lambda: (t(2, 4),)),
    "shapes_scripted": (Shapes, "script", lambda: (t(2, 4, 6, 8),)),
    "shapes_traced": (Shapes, "trace", lambda: (t(2, 4, 6, 8),)),
    "embed_scripted": (Embed, "script", lambda: (torch.tensor([[1, 2, 0], [5, 0, 0]]),)),
    "half_frozen": (lambda: Mlp().half(), "freeze", lambda: (t(3, 8).half(),)),
}


def flat(v):
    if isinstance(v, torch.Tensor):
        return [v.detach().numpy()]
    if isinstance(v, dict):
        v = list(v.values())
    if isinstance(v, (list, tuple)):
        return [a for e in v for a in flat(e)]
    return [np.asarray(v)]


def clone(v):
    if isinstance(v, torch.Tensor):
        return v.clone()
    return type(v)(clone(e) for e in v)


def save(make, how, inputs):
    torch.manual_seed(7)
    model, args = make().eval(), inputs()
    if how == "trace":
        with torch.no_grad():
            script = torch.jit.trace(model, clone(args))
    else:
        script = torch.jit.script(model)
        if how == "freeze":
            script = torch.jit.freeze(script)
    text = io.BytesIO()
    torch.jit.save(script, text)
    with torch.no_grad():
        results = flat(torch.jit.load(io.BytesIO(text.getvalue()))(*clone(args)))
    arrays = {f"in{i}": a for i, a in enumerate(flat(args))} | {f"out{i}": a for i, a in enumerate(results)}
    values = io.BytesIO()
    np.savez_compressed(values, **arrays)
    return text.getvalue(), values.getvalue()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, required=True)
    out = parser.parse_args().out
    with tarfile.open(out / "scripts.tar", "w") as tar:
        for name, case in CASES.items():
            try:
                saved = save(*case)
            except Exception as fault:  # PyTorch raises what it likes
                print(f"{name}: {type(fault).__name__}: {str(fault)[:400]}", file=sys.stderr)
                continue
            for ending, data in zip(("pt", "npz"), saved):
                entry = tarfile.TarInfo(f"{name}.{ending}")
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
            print(f"{name}: {len(saved[0])} bytes")


if __name__ == "__main__":
    main()
