# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks from images to images, of kinds that no package of models has with so few parts, for unseen_networks.py. Needs torch."""

import torch
from torch import nn
from torch.nn import functional


class Residual(nn.Module):
    """Group norm, SiLU and a convolution, twice, and what was there."""

    def __init__(self, channels, outputs):
        super().__init__()
        self.first, self.second = nn.GroupNorm(32, channels), nn.GroupNorm(32, outputs)
        self.into, self.out = nn.Conv2d(channels, outputs, 3, padding=1), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.beside = nn.Conv2d(channels, outputs, 1) if channels != outputs else nn.Identity()

    def forward(self, x):
        y = self.into(functional.silu(self.first(x)))
        return self.beside(x) + self.out(functional.silu(self.second(y)))


class Looking(nn.Module):
    """Attention of all pixels, behind a group norm."""

    def __init__(self, channels, heads):
        super().__init__()
        self.norm, self.heads = nn.GroupNorm(32, channels), heads
        self.read, self.out = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)

    def forward(self, x):
        count, channels, height, width = x.shape
        y = self.read(self.norm(x).flatten(2).transpose(1, 2))
        q, k, v = (part.reshape(count, height * width, self.heads, -1).transpose(1, 2) for part in y.chunk(3, -1))
        y = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(count, height * width, channels)
        return x + self.out(y).transpose(1, 2).reshape(count, channels, height, width)


class Denoiser(nn.Module):
    """A U-Net as diffusion has them: 320, 640 and 960 channels, attention on the two smaller images, all joined on the way up."""

    def __init__(self, channels=(320, 640, 960)):
        super().__init__()
        self.stem = nn.Conv2d(4, channels[0], 3, padding=1)
        self.down, self.steps, self.up, self.rise = nn.ModuleList(), nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        now = channels[0]
        for level, wide in enumerate(channels):
            self.down.append(nn.Sequential(Residual(now, wide), Looking(wide, wide // 64) if level else nn.Identity()))
            self.steps.append(nn.Conv2d(wide, wide, 3, stride=2, padding=1) if level + 1 < len(channels) else nn.Identity())
            now = wide
        self.middle = nn.Sequential(Residual(now, now), Looking(now, now // 64), Residual(now, now))
        for level, wide in reversed(list(enumerate(channels))):
            self.up.append(nn.Sequential(Residual(now + wide, wide), Looking(wide, wide // 64) if level else nn.Identity()))
            self.rise.append(nn.Conv2d(wide, wide, 3, padding=1))
            now = wide
        self.norm, self.out = nn.GroupNorm(32, now), nn.Conv2d(now, 4, 3, padding=1)

    def forward(self, x):
        x, kept = self.stem(x), []
        for block, step in zip(self.down, self.steps):
            x = block(x)
            kept.append(x)
            x = step(x)
        x = self.middle(x)
        for number, (block, rise) in enumerate(zip(self.up, self.rise)):
            x = block(torch.cat([x, kept.pop()], 1))
            if number + 1 < len(self.up):
                x = rise(functional.interpolate(x, scale_factor=2.0, mode="nearest"))
        return self.out(functional.silu(self.norm(x)))


class Segmenter(nn.Module):
    """A U-Net of instance norms and transposed convolutions, as medicine has them."""

    def __init__(self, channels=(32, 64, 128, 256)):
        super().__init__()
        def twice(inputs, outputs):
            parts = []
            for given in (inputs, outputs):
                parts += [nn.Conv2d(given, outputs, 3, padding=1), nn.InstanceNorm2d(outputs, affine=True), nn.LeakyReLU(0.01)]
            return nn.Sequential(*parts)
        self.down = nn.ModuleList(twice(given, wide) for given, wide in zip((3, *channels), channels))
        self.rise = nn.ModuleList(nn.ConvTranspose2d(wide, given, 2, stride=2) for wide, given in zip(channels[:0:-1], channels[-2::-1]))
        self.up = nn.ModuleList(twice(2 * wide, wide) for wide in channels[-2::-1])
        self.out = nn.Conv2d(channels[0], 4, 1)

    def forward(self, x):
        kept = []
        for block in self.down:
            x = block(x if not kept else functional.max_pool2d(kept[-1], 2))
            kept.append(x)
        for rise, block, beside in zip(self.rise, self.up, kept[-2::-1]):
            x = block(torch.cat([rise(x), beside], 1))
        return self.out(x)


class Generator(nn.Module):
    """Transposed convolutions of 4, 3 and 5 taps, from a small image to a large one."""

    def __init__(self):
        super().__init__()
        self.parts = nn.Sequential(nn.Conv2d(64, 512, 3, padding=1), nn.ReLU(), nn.ConvTranspose2d(512, 256, 4, stride=2, padding=1), nn.ReLU(),
                                   nn.ConvTranspose2d(256, 128, 3, stride=2, padding=1, output_padding=1), nn.ReLU(),
                                   nn.ConvTranspose2d(128, 64, 5, stride=2, padding=2, output_padding=1), nn.ReLU(),
                                   nn.ConvTranspose2d(64, 3, 4, stride=2, padding=1), nn.Tanh())

    def forward(self, x):
        return self.parts(x)


MAKERS = {"denoiser": Denoiser, "segmenter": Segmenter, "generator": Generator}
