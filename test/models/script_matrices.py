# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operators of matrix_programs.py as calls of TorchScript: which form is meant, and how many results there are."""
import math

import numpy as np

from operator_references import aligned_region, classified, deformed, hurwitz, modified_bessel
from script_case import Case, drawn, module, tensor


def factored():
    a, b, x, long = drawn(1, 6, 3), drawn(2, 6, 2), drawn(3, 1, 2, 5, 6), drawn(4, 2, 1200)
    chances = drawn(5, 6, 2, 4)
    chances = (chances - np.log(np.exp(chances).sum(-1, keepdims=True))).astype(np.float32)
    labels, scores, right = np.array([[1, 2], [3, 3]]), drawn(6, 2, 4), np.array([[1, -1, 0, 0], [2, 3, 0, -1]])
    q, r = np.linalg.qr(a.astype(np.float64))
    values = np.linalg.svd(a.astype(np.float64), compute_uv=False)
    losses = [classified(chances[:, i], labels[i]) for i in range(2)]
    margins = [sum(max(0, 1 - float(scores[i, y]) + float(scores[i, n])) for y in own for n in range(4) if n not in own) / 4
               for i, own in enumerate(([1], [2, 3, 0]))]
    one = np.abs(a) + 1
    box = np.array([0.5, -1, 7, 4.5])
    kernel, offset = drawn(7, 3, 2, 2, 2), drawn(8, 1, 8, 4, 5)
    calls = {
        "qr": ("u, v = torch.linalg_qr(a, \"reduced\")\ntorch.cat([u, v], 0)", np.concatenate([q, r])),
        "qr_old": ("u, v = torch.qr(a)\ntorch.matmul(u, v)", a),
        "svd": ("u, s, v = torch.linalg_svd(a, False)\ntorch.matmul(torch.mul(u, s), v)", a),
        "svd_old": ("u, s, v = torch.svd(a)\ntorch.matmul(torch.mul(u, s), torch.t(v))", a),
        "values": ("torch.linalg_svdvals(a)", values),
        "eigh": ("e, v = torch.linalg_eigh(torch.matmul(torch.t(a), a))\ne", values[::-1] ** 2),
        "eigvalsh": ("torch.linalg_eigvalsh(torch.matmul(torch.t(a), a), \"U\")", values[::-1] ** 2),
        "lstsq": ("x0, r, k, n = torch.linalg_lstsq(a, b)\nx0", np.linalg.lstsq(a.astype(np.float64), b, rcond=None)[0]),
        "pinv": ("torch.linalg_pinv(a, atol=None, rtol=None)", np.linalg.pinv(a.astype(np.float64))),
        "spectral": ("torch.linalg_matrix_norm(a, 2)", values[0]),
        "nuclear": ("torch.linalg_matrix_norm(a, \"nuc\")", values.sum()),
        "nuclear_old": ("torch.nuclear_norm(a)", values.sum()),
        "ctc": ("torch.ctc_loss(chances, labels, [6, 6], [2, 2], 0, 0, False)", losses),
        "ctc_lengths": ("torch.ctc_loss(chances, labels, torch.tensor([6, 6]), torch.tensor([2, 2]))", np.mean(losses) / 2),
        "margins": ("torch.multilabel_margin_loss(scores, right)", np.mean(margins)),
        "polygamma": ("torch.polygamma(2, torch.add(torch.abs(a), 1))", [[-2 * hurwitz(3, float(v)) for v in row] for row in one]),
        "zeta": ("torch.special_zeta(torch.add(torch.abs(a), 1), 2.)", [[hurwitz(float(v), 2.0) for v in row] for row in one]),
        "i1": ("torch.special_i1(a)", [[modified_bessel(float(v), 1) for v in row] for row in a]),
        "i1e": ("torch.special_i1e(a)", [[modified_bessel(float(v), 1) * math.exp(-abs(v)) for v in row] for row in a]),
        "regions": ("ops.torchvision.roi_align(x, torch.tensor([[0., 0.5, -1., 7., 4.5]]), 1., 2, 3, 0, False)",
                    aligned_region(x[0], box, (2, 3), False)[None]),
        "deformed": ("ops.torchvision.deform_conv2d(x, CONSTANTS.c0, CONSTANTS.c1, torch.ones([1, 4, 4, 5]), torch.zeros([3]), 1, 1, 0, 0, 1, 1, 1, 1, True)",
                     deformed(x, kernel, offset, np.ones((1, 4, 4, 5)), np.zeros(3), (1, 1), (0, 0), (1, 1), 1, 1)),
        "spectrum": ("torch.abs(torch.fft_rfft(long, None, -1, \"ortho\"))", np.abs(np.fft.rfft(long, norm="ortho"))),
    }
    body = ["out = annotate(Dict[str, Tensor], {})"]
    for name, (lines, _) in calls.items():
        *before, result = lines.split("\n")
        body += [*before, f'_9 = torch._set_item(out, "{name}", {result})']
    head = """class Factored(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Factored,
    a: Tensor,
    b: Tensor,
    x: Tensor,
    long: Tensor,
    chances: Tensor,
    labels: Tensor,
    scores: Tensor,
    right: Tensor) -> Dict[str, Tensor]:
"""
    code = {"__torch__.py": head + "".join(f"    {line}\n" for line in [*body, "return out"])}
    inputs = {"a": a, "b": b, "x": x, "long": long, "chances": chances, "labels": labels, "scores": scores, "right": right}
    options = [word for name, array in inputs.items() for word in ("--input-shape", f"{name}={','.join(map(str, array.shape))}")]
    return Case(module("__torch__.Factored", {}), code, [*options, "--input-type", "labels=i64", "--input-type", "right=i64"],
                [(inputs, {name: np.asarray(value, np.float32) for name, (_, value) in calls.items()})],
                [tensor(kernel), tensor(offset)])


CASES = {"factored": factored}
