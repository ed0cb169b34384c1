# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks of sounds, sequences and volumes, of kinds that no package of models has with so few parts, for unseen_networks.py. Needs torch."""

import torch
from torch import nn
from torch.nn import functional


class Separable(nn.Module):
    """A dilated depthwise window between two pointwise convolutions, with global norms, as a TCN for speech has it."""

    def __init__(self, channels, hidden, dilation):
        super().__init__()
        self.into, self.out = nn.Conv1d(channels, hidden, 1), nn.Conv1d(hidden, channels, 1)
        self.window = nn.Conv1d(hidden, hidden, 3, padding=dilation, dilation=dilation, groups=hidden)
        self.first, self.second = nn.GroupNorm(1, hidden), nn.GroupNorm(1, hidden)
        self.act, self.then = nn.PReLU(), nn.PReLU()

    def forward(self, x):
        y = self.first(self.act(self.into(x)))
        return x + self.out(self.second(self.then(self.window(y))))


class Separator(nn.Module):
    """Masks a sound in a basis of short windows, and adds the windows up again."""

    def __init__(self, channels=256, hidden=512, blocks=8):
        super().__init__()
        self.basis = nn.Conv1d(1, channels, 16, stride=8, bias=False)
        self.narrow = nn.Conv1d(channels, 128, 1)
        self.blocks = nn.Sequential(*(Separable(128, hidden, 2 ** index) for index in range(blocks)))
        self.mask = nn.Conv1d(128, channels, 1)
        self.sound = nn.ConvTranspose1d(channels, 1, 16, stride=8, bias=False)

    def forward(self, x):
        y = functional.relu(self.basis(x))
        return self.sound(y * torch.sigmoid(self.mask(self.blocks(self.narrow(y)))))


class Listener(nn.Module):
    """Spectra to letters: two convolutions with strides, three layers of LSTM both ways, and a classifier."""

    def __init__(self, bands=80, hidden=512, letters=32):
        super().__init__()
        self.front = nn.Sequential(nn.Conv1d(bands, 256, 5, stride=2, padding=2), nn.ReLU(), nn.Conv1d(256, 256, 5, padding=2), nn.ReLU())
        self.layers = nn.LSTM(256, hidden, num_layers=3, bidirectional=True, batch_first=True)
        self.letters = nn.Linear(2 * hidden, letters)

    def forward(self, x):
        y, _ = self.layers(self.front(x).transpose(1, 2))
        return self.letters(y)


class Counter(nn.Module):
    """Windows of several measured values to a class: two layers of GRU, and attention over the steps."""

    def __init__(self, values=24, hidden=256, classes=10):
        super().__init__()
        self.read = nn.Linear(values, hidden)
        self.layers = nn.GRU(hidden, hidden, num_layers=2, batch_first=True)
        self.norm, self.score, self.out = nn.LayerNorm(hidden), nn.Linear(hidden, 1), nn.Linear(hidden, classes)

    def forward(self, x):
        y, _ = self.layers(functional.gelu(self.read(x.transpose(1, 2))))
        y = self.norm(y)
        return self.out((torch.softmax(self.score(y), 1) * y).sum(1))


class Twice(nn.Module):
    """Two convolutions of a volume, each with an instance norm."""

    def __init__(self, channels, outputs):
        super().__init__()
        self.parts = nn.Sequential(nn.Conv3d(channels, outputs, 3, padding=1), nn.InstanceNorm3d(outputs, affine=True), nn.LeakyReLU(0.01),
                                   nn.Conv3d(outputs, outputs, 3, padding=1), nn.InstanceNorm3d(outputs, affine=True), nn.LeakyReLU(0.01))

    def forward(self, x):
        return self.parts(x)


class Volumes(nn.Module):
    """A U-Net of three dimensions, whose way up is transposed convolutions."""

    def __init__(self, width=32, classes=4):
        super().__init__()
        widths = [width, 2 * width, 4 * width]
        self.down = nn.ModuleList([Twice(1, widths[0]), Twice(widths[0], widths[1])])
        self.middle = Twice(widths[1], widths[2])
        self.up = nn.ModuleList([nn.ConvTranspose3d(widths[2], widths[1], 2, stride=2), nn.ConvTranspose3d(widths[1], widths[0], 2, stride=2)])
        self.join = nn.ModuleList([Twice(2 * widths[1], widths[1]), Twice(2 * widths[0], widths[0])])
        self.out = nn.Conv3d(widths[0], classes, 1)

    def forward(self, x):
        kept = []
        for part in self.down:
            x = part(x)
            kept.append(x)
            x = functional.max_pool3d(x, 2)
        x = self.middle(x)
        for up, join in zip(self.up, self.join):
            x = join(torch.cat([kept.pop(), up(x)], 1))
        return self.out(x)


MAKERS = {"separator": Separator, "listener": Listener, "counter": Counter, "volumes": Volumes}
