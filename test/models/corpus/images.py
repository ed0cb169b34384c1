# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks that give images: a U-Net of segmentation, the U-Net of diffusion with its cross attention, a VAE's decoder."""

import numpy as np

from corpus.encoders import norm
from corpus.writer import FLOAT, INT64, Writer, floats, ints


def group_norm(g, x, channels, groups=4):
    """PyTorch before opset 18: Reshape, InstanceNormalization, Reshape, scale and shift."""
    shape = g("Shape", x)
    flat = g("InstanceNormalization", g("Reshape", x, ints(0, groups, -1)), np.ones(groups, np.float32), np.zeros(groups, np.float32), epsilon=1e-5)
    x = g("Reshape", flat, shape)
    return g("Add", g("Mul", x, g.weight(g.values.positive(channels, 1, 1))), g.weight(g.values.normal(channels, 1, 1, size=0.1)))


def silu(g, x):
    return g("Mul", x, g("Sigmoid", x))


def conv(g, x, width, out, taps=3, stride=1):
    return g("Conv", x, g.w(out, width, taps, taps), g.bias(out), kernel_shape=[taps, taps], pads=[taps // 2] * 4, strides=[stride, stride])


def unet(padded=True):
    """Dynamic H and W: what was halved and doubled is joined with what was not. With `padded`, F.pad fits odd sizes."""
    g = Writer(f"unet{padded}", 14, constants=True, producer="pytorch")
    x = g.input("image", "batch", 1, "height", "width")
    skips, width = [], 1
    for out in (8, 12, 16):
        x = g("Relu", g("BatchNormalization", conv(g, x, width, out), g.gain(out), g.bias(out), g.bias(out), g.gain(out)))
        skips.append(x)
        x = g("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
        width = out
    x = g("Relu", conv(g, x, 16, 16))
    for out, skip in zip((16, 12, 8), reversed(skips)):
        x = g("ConvTranspose", x, g.w(width if out == 16 else wide, out, 2, 2, size=0.2), g.bias(out), kernel_shape=[2, 2], strides=[2, 2])
        if padded:
            down = g("Sub", g.size(skip, 2), g.size(x, 2))
            across = g("Sub", g.size(skip, 3), g.size(x, 3))
            half = [g("Div", across, np.int64(2)), g("Div", down, np.int64(2))]
            pads = g.together(half[0], g("Sub", across, half[0]), half[1], g("Sub", down, half[1]))
            # PyTorch's order is turned by this chain.
            padded_to = g("Concat", pads, g("ConstantOfShape", ints(4), value=__import__("onnx").numpy_helper.from_array(ints(0))), axis=0)
            rows = g("Slice", g("Reshape", padded_to, ints(-1, 2)), ints(-1), ints(-9223372036854775807), ints(0), ints(-1))
            order = g("Cast", g("Reshape", g("Transpose", rows, perm=[1, 0]), ints(-1)), to=INT64)
            x = g("Pad", x, order, np.float32(0), mode="constant")
        x = g("Relu", conv(g, g("Concat", skip, x, axis=1), 2 * out, out))
        wide = out
    g.output(g("Sigmoid", conv(g, x, 8, 2, 1)), "mask", "batch", 2, "height", "width")
    sizes = ((1, 24, 32), (2, 37, 30)) if padded else ((1, 24, 32), (2, 40, 16))
    return g.model(), [{"image": g.values.normal(batch, 1, *size)} for batch, *size in sizes]


def attention_of_pixels(g, x, channels, context=None, context_width=0, heads=2):
    batch, rows, columns = g.size(x, 0), g.size(x, 2), g.size(x, 3)
    h = group_norm(g, x, channels)
    h = g("Reshape", g("Transpose", h, perm=[0, 2, 3, 1]), g.together(batch, g("Mul", rows, columns), channels))
    def attend(h, source, width):
        query = g.linear(h, channels, channels, bias=False)
        key, value = g.linear(source, width, channels, bias=False), g.linear(source, width, channels, bias=False)
        def by_head(t):
            return g("Transpose", g("Reshape", t, g.together(batch, -1, heads, channels // heads)), perm=[0, 2, 1, 3])
        scores = g("Mul", g("MatMul", by_head(query), g("Transpose", by_head(key), perm=[0, 1, 3, 2])), np.float32((channels // heads)**-0.5))
        mixed = g("MatMul", g("Softmax", scores, axis=-1), by_head(value))
        return g.linear(g("Reshape", g("Transpose", mixed, perm=[0, 2, 1, 3]), g.together(batch, -1, channels)), channels, channels)
    n = norm(g, h, channels)
    h = g("Add", h, attend(n, n, channels))
    if context:
        h = g("Add", h, attend(norm(g, h, channels), context, context_width))
        # GEGLU of diffusers: one product, split in halves.
        wide = g.linear(norm(g, h, channels), channels, 4 * channels)
        first, second = g("Split", wide, axis=-1, outputs=2)
        gelu = g("Mul", g("Mul", second, g("Add", g("Erf", g("Div", second, np.float32(2**0.5))), np.float32(1))), np.float32(0.5))
        h = g("Add", h, g.linear(g("Mul", first, gelu), 2 * channels, channels))
    image = g("Transpose", g("Reshape", h, g.together(batch, rows, columns, channels)), perm=[0, 3, 1, 2])
    return g("Add", image, x)


def residual(g, x, width, out, time=None):
    h = conv(g, silu(g, group_norm(g, x, width)), width, out)
    if time:
        shift = g.linear(silu(g, time), 32, out)
        h = g("Add", h, g("Unsqueeze", g("Unsqueeze", shift, ints(2)), ints(3)))
    h = conv(g, silu(g, group_norm(g, h, out)), out, out)
    return g("Add", x if width == out else conv(g, x, width, out, 1), h)


def diffusion():
    """The U-Net of Stable Diffusion in small: dynamic H and W, a time step, a text."""
    g = Writer("diffusion", 14, constants=True, producer="pytorch")
    sample = g.input("sample", "batch", 4, "height", "width")
    step = g.input("timestep", 1, kind=INT64)
    text = g.input("encoder_hidden_states", "batch", "sequence", 12)
    frequencies = np.exp(-np.log(10000) * np.arange(8) / 8).astype(np.float32)[None]
    at = g("Expand", step, g.together(g.size(sample, 0)))
    angle = g("Mul", g("Cast", g("Unsqueeze", at, ints(1)), to=FLOAT), g.weight(frequencies))
    waves = g("Concat", g("Sin", angle), g("Cos", angle), axis=-1)
    low = g("Slice", waves, ints(8), ints(9223372036854775807), ints(1))
    waves = g("Concat", low, g("Slice", waves, ints(0), ints(8), ints(1)), axis=-1)
    time = g("Gemm", silu(g, g("Gemm", waves, g.w(32, 16), g.bias(32), transB=1)), g.w(32, 32), g.bias(32), transB=1)
    x = conv(g, sample, 4, 8)
    skips = [x]
    x = attention_of_pixels(g, residual(g, x, 8, 8, time), 8, text, 12)
    skips.append(x)
    x = conv(g, x, 8, 8, 3, 2)
    skips.append(x)
    x = residual(g, x, 8, 16, time)
    x = residual(g, attention_of_pixels(g, x, 16, text, 12), 16, 16, time)
    x = residual(g, g("Concat", x, skips.pop(), axis=1), 24, 16, time)
    # interpolate(scale_factor=2).
    x = conv(g, g("Resize", x, None, floats(1, 1, 2, 2), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"), 16, 16)
    x = attention_of_pixels(g, residual(g, g("Concat", x, skips.pop(), axis=1), 24, 8, time), 8, text, 12)
    x = residual(g, g("Concat", x, skips.pop(), axis=1), 16, 8, time)
    g.output(conv(g, silu(g, group_norm(g, x, 8)), 8, 4), "out_sample", "batch", 4, "height", "width")
    runs = [{"sample": g.values.normal(b, 4, h, w), "timestep": np.array([t]), "encoder_hidden_states": g.values.normal(b, s, 12)}
            for b, h, w, t, s in ((1, 8, 8, 981, 7), (2, 12, 16, 1, 5))]
    return g.model(), runs


def vae_decoder():
    g = Writer("vae_decoder", 14, constants=True, producer="pytorch")
    x = g.input("latent_sample", "batch", 4, "height", "width")
    x = conv(g, conv(g, x, 4, 4, 1), 4, 16)
    x = residual(g, attention_of_pixels(g, residual(g, x, 16, 16), 16, heads=1), 16, 16)
    for width, out in ((16, 16), (16, 8)):
        x = residual(g, x, width, out)
        # Sizes by Shape, Mul and Cast: interpolate with scale_factor in newer PyTorch.
        parts = [g("Cast", g("Floor", g("Mul", g("Cast", g.size(x, axis), to=FLOAT), np.float32(2))), to=INT64) for axis in (2, 3)]
        shape = g("Concat", g("Slice", g("Shape", x), ints(0), ints(2), ints(0)), *(g("Unsqueeze", p, ints(0)) for p in parts), axis=0)
        x = conv(g, g("Resize", x, None, None, shape, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"), out, out)
    x = conv(g, silu(g, group_norm(g, x, 8)), 8, 3)
    g.output(x, "sample", "batch", 3, "image_height", "image_width")
    return g.model(), [{"latent_sample": g.values.normal(b, 4, h, w)} for b, h, w in ((1, 4, 6), (2, 7, 5))]
