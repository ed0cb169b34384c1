# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules as training for quantisation leaves them in TorchScript, beside numpy."""
import numpy as np

from general_programs import rounded_through
from script_case import drawn, scripted

X, W = 3 * drawn(1, 4, 6), drawn(2, 3, 6)
SCALES, ZEROS = np.array([0.01, 0.03, 0.02], np.float32), np.array([0, 0, 0], np.int64)
Q = rounded_through(X, np.float32(0.05), 3, -128, 127)[0]
CASES = {"fake_quantised_linear": lambda: scripted("x: Tensor", """
weight = self.weight
scale = self.scale
zero_point = self.zero_point
y = torch.fake_quantize_per_tensor_affine(x, 0.050000000000000003, 3, -128, 127)
s = torch.tensor([0.02], dtype=6)
z = torch.zeros([1], dtype=3)
y0 = torch.fake_quantize_per_tensor_affine(y, s, z, 0, 255)
w = torch.fake_quantize_per_channel_affine(weight, scale, zero_point, 0, -128, 127)
return (y, torch.linear(y0, w))""",
    [({"x": X}, [Q, rounded_through(Q, np.float32(0.02), 0, 0, 255)[0] @ rounded_through(W, SCALES[:, None], 0, -128, 127)[0].T])],
    ["--input-shape", "x=n,6"], {"weight": W, "scale": SCALES, "zero_point": ZEROS}, "weight : Tensor\nscale : Tensor\nzero_point : Tensor",
    result="Tuple[Tensor, Tensor]")}
