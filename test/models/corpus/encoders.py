# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transformer encoders as PyTorch's first exporter writes them: BERT, ViT, CLIP, T5's encoder, wav2vec 2.0."""

import numpy as np

from corpus.writer import BOOL, FLOAT, INT64, Writer, floats, ints

HIDDEN, HEADS, LAYERS, WORDS, LONGEST = 64, 4, 2, 90, 64
HEAD = HIDDEN // HEADS


def norm(g, x, width=HIDDEN, epsilon=1e-5):
    """A layer norm before opset 17: nine nodes."""
    if g.opset >= 17:
        return g("LayerNormalization", x, g.gain(width), g.bias(width), axis=-1, epsilon=epsilon)
    centred = g("Sub", x, g("ReduceMean", x, axes=[-1]))
    variance = g("ReduceMean", g("Pow", centred, np.float32(2)), axes=[-1])
    deviation = g("Sqrt", g("Add", variance, np.float32(epsilon)))
    return g("Add", g("Mul", g("Div", centred, deviation), g.gain(width)), g.bias(width))


def rms_norm(g, x, width=HIDDEN, epsilon=1e-6):
    square = g("Pow", x, np.float32(2))
    root = g("Sqrt", g("Add", g("ReduceMean", square, axes=[-1]), np.float32(epsilon)))
    return g("Mul", g.gain(width), g("Mul", x, g("Div", np.float32(1), root)))


def gelu(g, x):
    erf = g("Erf", g("Div", x, np.float32(2**0.5)))
    return g("Mul", g("Mul", x, g("Add", erf, np.float32(1))), np.float32(0.5))


def tanh_gelu(g, x):
    """GPT-2's, spelled with Pow."""
    inner = g("Mul", g("Add", x, g("Mul", g("Pow", x, np.float32(3)), np.float32(0.044715))), np.float32((2 / np.pi)**0.5))
    return g("Mul", g("Mul", x, np.float32(0.5)), g("Add", g("Tanh", inner), np.float32(1)))


def split_heads(g, x, perm=(0, 2, 1, 3), heads=HEADS, head=HEAD):
    shape = g.together(g.size(x, 0), g.size(x, 1), heads, head)
    return g("Transpose", g("Reshape", x, shape), perm=list(perm))


def join_heads(g, x, width=HIDDEN):
    turned = g("Transpose", x, perm=[0, 2, 1, 3])
    return g("Reshape", turned, g.together(g.size(turned, 0), g.size(turned, 1), width))


def self_attention(g, x, mask=None, scale=True):
    """`mask` is added to the scores, which the root of the head's size divides."""
    query, key, value = (g.linear(x, HIDDEN, HIDDEN) for _ in range(3))
    value = split_heads(g, value)
    query = split_heads(g, query)
    key = split_heads(g, key, (0, 2, 3, 1))
    scores = g("MatMul", query, key)
    if scale:
        scores = g("Div", scores, np.float32(HEAD**0.5))
    if mask:
        scores = g("Add", scores, mask)
    mixed = g("MatMul", g("Softmax", scores, axis=-1 if g.opset >= 13 else 3), value)
    return g.linear(join_heads(g, mixed), HIDDEN, HIDDEN)


def bert_mask(g, mask):
    wide = g("Unsqueeze", g("Unsqueeze", mask, axes=[1]), axes=[2]) if g.opset < 13 else \
        g("Unsqueeze", g("Unsqueeze", mask, ints(1)), ints(2))
    return g("Mul", g("Sub", np.float32(1), g("Cast", wide, to=FLOAT)), np.float32(-10000))


class Old(Writer):
    """Before opset 13 axes are attributes."""

    def together(self, *parts):
        whole = [self("Unsqueeze", p, axes=[0]) if isinstance(p, str) else self.operand(ints(p)) for p in parts]
        return self("Concat", *whole, axis=0)


def bert(opset=11):
    g = (Old if opset < 13 else Writer)("bert", opset, constants=True, producer="pytorch")
    ids, mask, kinds = (g.input(n, "batch_size", "sequence_length", kind=INT64) for n in ("input_ids", "attention_mask", "token_type_ids"))
    added = bert_mask(g, mask)
    places = g.weight(np.arange(LONGEST, dtype=np.int64)[None], "embeddings.position_ids")
    length = g.size(ids, 1)
    length = g("Unsqueeze", length, axes=[0]) if opset < 13 else g("Unsqueeze", length, ints(0))
    at = g("Slice", places, ints(0), length, ints(1), ints(1))
    words = g("Gather", g.w(WORDS, HIDDEN, size=1), ids)
    x = g("Add", g("Add", words, g("Gather", g.w(2, HIDDEN, size=1), kinds)), g("Gather", g.w(LONGEST, HIDDEN, size=1), at))
    x = norm(g, x, epsilon=1e-12)
    for layer in range(LAYERS):
        g.prefix = f"/bert/encoder/layer.{layer}/"
        x = norm(g, g("Add", self_attention(g, x, added), x), epsilon=1e-12)
        x = norm(g, g("Add", g.linear(gelu(g, g.linear(x, HIDDEN, 64)), 64, HIDDEN), x), epsilon=1e-12)
    g.prefix = ""
    first = g("Gather", x, np.array(0, np.int64), axis=1)
    pooled = g("Tanh", g("Gemm", first, g.w(HIDDEN, HIDDEN), g.bias(HIDDEN), transB=1))
    g.output(x, "last_hidden_state", "batch_size", "sequence_length", HIDDEN)
    g.output(pooled, "pooler_output", "batch_size", HIDDEN)

    def run(batch, length):
        values = g.values
        padded = np.ones((batch, length), np.int64)
        padded[1::2, length // 2:] = 0
        return {"input_ids": values.whole(WORDS, batch, length), "attention_mask": padded, "token_type_ids": values.whole(2, batch, length)}

    return g.model(), [run(1, 7), run(3, 20)]


def vit():
    g = Writer("vit", 14, constants=True, producer="pytorch")
    pixels = g.input("pixel_values", "batch", 3, 32, 32)
    patches = g("Conv", pixels, g.w(HIDDEN, 3, 8, 8), g.bias(HIDDEN), kernel_shape=[8, 8], strides=[8, 8], pads=[0] * 4, dilations=[1, 1], group=1)
    flat = g("Reshape", patches, g("Concat", g("Slice", g("Shape", patches), ints(0), ints(2), ints(0)), ints(-1), axis=0))
    x = g("Transpose", flat, perm=[0, 2, 1])
    batch = g.size(pixels, 0)
    # The class token as Expand writes it: -1 in the wanted shape means "as it is".
    wanted = g("Reshape", g.together(batch, -1, -1), ints(-1))
    ones = g("ConstantOfShape", g("Shape", wanted), value=tensor_of(ints(1)))
    shape = g("Where", g("Equal", wanted, g("Mul", ones, np.int64(-1))), ones, wanted)
    token = g("Expand", g.w(1, 1, HIDDEN, size=1), shape)
    x = g("Add", g("Concat", token, x, axis=1), g.w(1, 17, HIDDEN, size=1))
    for layer in range(LAYERS):
        g.prefix = f"/vit/encoder/layer.{layer}/"
        x = g("Add", self_attention(g, norm(g, x)), x)
        x = g("Add", g.linear(gelu(g, g.linear(norm(g, x), HIDDEN, 64)), 64, HIDDEN), x)
    g.prefix = ""
    x = norm(g, x)
    g.output(g("Gemm", g("Gather", x, np.array(0, np.int64), axis=1), g.w(10, HIDDEN), g.bias(10), transB=1), "logits", "batch", 10)
    return g.model(), [{"pixel_values": g.values.normal(batch, 3, 32, 32)} for batch in (1, 3)]


def tensor_of(array):
    from onnx import numpy_helper
    return numpy_helper.from_array(array)


def clip():
    """Text and image towers, and their similarities; the end of a text is where its number is the largest."""
    g = Writer("clip", 14, constants=True, producer="pytorch")
    ids = g.input("input_ids", "text_batch_size", "sequence_length", kind=INT64)
    pixels = g.input("pixel_values", "image_batch_size", "num_channels", "height", "width")
    mask = g.input("attention_mask", "text_batch_size", "sequence_length", kind=INT64)
    # Text.
    shape = g("Shape", ids)
    flat_ids = g("Reshape", ids, g.together(-1, g.size(ids, 1)))
    length = g.size(ids, 1)
    at = g("Slice", g.weight(np.arange(LONGEST, dtype=np.int64)[None]), ints(0), g("Unsqueeze", length, ints(0)), ints(1))
    x = g("Add", g("Gather", g.w(WORDS, HIDDEN, size=1), flat_ids), g("Gather", g.w(LONGEST, HIDDEN, size=1), at))
    # The causal mask: a loop over the diagonal in PyTorch, in the file a comparison of Ranges.
    steps = g("Range", np.int64(0), length, np.int64(1))
    column = g("Reshape", g("Add", steps, np.int64(1)), g.together(length, 1))
    square = g("ConstantOfShape", g.together(length, length), value=tensor_of(floats(-3.4e38)))
    causal = g("Where", g("Less", steps, column), np.float32(0), square)
    wide = g("Expand", g("Unsqueeze", causal, ints(0, 1)), g.together(g.size(ids, 0), 1, length, length))
    kept = g("Cast", g("Expand", g("Unsqueeze", mask, ints(1, 2)), g.together(g.size(ids, 0), 1, length, length)), to=FLOAT)
    inverse = g("Sub", np.float32(1), kept)
    padding = g("Where", g("Cast", inverse, to=BOOL), np.float32(-3.4e38), inverse)
    both = g("Max", g("Add", wide, padding), np.float32(-3.4e38))
    for _ in range(LAYERS):
        x = g("Add", self_attention(g, norm(g, x), both), x)
        up = g.linear(norm(g, x), HIDDEN, 64)
        x = g("Add", g.linear(g("Mul", up, g("Sigmoid", g("Mul", up, np.float32(1.702)))), 64, HIDDEN), x)
    x = norm(g, x)
    ends = g("ArgMax", g("Cast", flat_ids, to=6), axis=-1, keepdims=0)
    rows = g("Range", np.int64(0), g("Gather", shape, np.array(0, np.int64)), np.int64(1))
    text = g("GatherND", x, g("Concat", g("Unsqueeze", rows, ints(1)), g("Unsqueeze", ends, ints(1)), axis=1))
    text = g("MatMul", text, g.w(HIDDEN, 24))
    # Image.
    patches = g("Conv", pixels, g.w(HIDDEN, 3, 8, 8), strides=[8, 8], kernel_shape=[8, 8])
    flat = g("Transpose", g("Reshape", patches, g.together(g.size(patches, 0), HIDDEN, -1)), perm=[0, 2, 1])
    token = g("Expand", g.w(1, 1, HIDDEN, size=1), g.together(g.size(pixels, 0), 1, 1))
    y = g("Add", g("Concat", token, flat, axis=1), g("Gather", g.w(17, HIDDEN, size=1), g.weight(np.arange(17, dtype=np.int64)[None])))
    y = norm(g, y)
    for _ in range(LAYERS):
        y = g("Add", self_attention(g, norm(g, y)), y)
        up = g.linear(norm(g, y), HIDDEN, 64)
        y = g("Add", g.linear(g("Mul", up, g("Sigmoid", g("Mul", up, np.float32(1.702)))), 64, HIDDEN), y)
    image = g("MatMul", norm(g, g("Gather", y, np.array(0, np.int64), axis=1)), g.w(HIDDEN, 24))
    text = g("Div", text, g("ReduceL2", text, axes=[-1], keepdims=1))
    image = g("Div", image, g("ReduceL2", image, axes=[-1], keepdims=1))
    per_text = g("Mul", g("MatMul", text, g("Transpose", image, perm=[1, 0])), g("Exp", np.float32(2.6)))
    g.output(g("Transpose", per_text, perm=[1, 0]), "logits_per_image", "image_batch_size", "text_batch_size")
    g.output(per_text, "logits_per_text", "text_batch_size", "image_batch_size")
    g.output(text, "text_embeds", "text_batch_size", "Divtext_embeds_dim_1")

    def run(texts, images, length):
        padded = np.ones((texts, length), np.int64)
        padded[1::2, length - 2:] = 0
        return {"input_ids": g.values.whole(WORDS, texts, length), "pixel_values": g.values.normal(images, 3, 32, 32), "attention_mask": padded}

    return g.model(), [run(2, 1, 6), run(3, 2, 11)]


def t5_bias(g, rows, columns, two_ways=True, past=None):
    """Relative positions in buckets of logarithmic width."""
    steps = g("Range", np.int64(0), rows, np.int64(1))
    if past:
        steps = g("Add", steps, past)
    others = g("Range", np.int64(0), columns, np.int64(1))
    distance = g("Sub", g("Unsqueeze", others, ints(0)), g("Unsqueeze", steps, ints(1)))
    buckets = 8
    if two_ways:
        buckets //= 2
        base = g("Mul", g("Cast", g("Greater", distance, np.int64(0)), to=INT64), np.int64(buckets))
        distance = g("Abs", distance)
    else:
        base = None
        distance = g("Neg", g("Min", distance, g("ConstantOfShape", g("Shape", distance), value=tensor_of(ints(0)))))
    exact = buckets // 2
    ratio = g("Log", g("Div", g("Cast", distance, to=FLOAT), np.float32(exact)))
    far = g("Cast", g("Mul", g("Div", ratio, np.float32(np.log(16 / exact))), np.float32(buckets - exact)), to=INT64)
    far = g("Add", far, np.int64(exact))
    far = g("Min", far, g("ConstantOfShape", g("Shape", far), value=tensor_of(ints(buckets - 1))))
    bucket = g("Where", g("Less", distance, np.int64(exact)), distance, far)
    if base:
        bucket = g("Add", base, bucket)
    table = g("Gather", g.w(8, HEADS, size=1), bucket)
    return g("Unsqueeze", g("Transpose", table, perm=[2, 0, 1]), ints(0))


def t5_heads(g, x, perm=(0, 2, 1, 3)):
    return g("Transpose", g("Reshape", x, g.together(g.size(x, 0), -1, HEADS, HEAD)), perm=list(perm))


def t5_encoder():
    g = Writer("t5_encoder", 13, constants=True, producer="pytorch")
    ids, mask = (g.input(n, "batch_size", "encoder_sequence_length", kind=INT64) for n in ("input_ids", "attention_mask"))
    flat = g("Reshape", ids, g.together(-1, g.size(ids, 1)))
    x = g("Gather", g.w(WORDS, HIDDEN, size=1), flat)
    kept = g("Cast", g("Unsqueeze", g("Unsqueeze", mask, ints(1)), ints(2)), to=FLOAT)
    added = g("Mul", g("Sub", np.float32(1), kept), np.float32(-3.4028234663852886e38))
    bias = None
    for layer in range(LAYERS):
        h = rms_norm(g, x)
        query, key, value = (g.linear(h, HIDDEN, HIDDEN, bias=False) for _ in range(3))
        scores = g("MatMul", t5_heads(g, query), t5_heads(g, key, (0, 2, 3, 1)))
        if layer == 0:
            bias = g("Add", t5_bias(g, g.size(h, 1), g.size(h, 1)), added)
        mixed = g("MatMul", g("Softmax", g("Add", scores, bias), axis=-1), t5_heads(g, value))
        joined = g("Reshape", g("Transpose", mixed, perm=[0, 2, 1, 3]), g.together(g.size(h, 0), -1, HIDDEN))
        x = g("Add", x, g.linear(joined, HIDDEN, HIDDEN, bias=False))
        h = rms_norm(g, x)
        gate = g("Mul", tanh_gelu(g, g.linear(h, HIDDEN, 64, bias=False)), g.linear(h, HIDDEN, 64, bias=False))
        x = g("Add", x, g.linear(gate, 64, HIDDEN, bias=False))
    g.output(rms_norm(g, x), "hidden_states", "batch_size", "encoder_sequence_length", HIDDEN)

    def run(batch, length):
        padded = np.ones((batch, length), np.int64)
        padded[1::2, length - 3:] = 0
        return {"input_ids": g.values.whole(WORDS, batch, length), "attention_mask": padded}

    return g.model(), [run(1, 9), run(2, 40)]


def wav2vec2():
    """Convolutions over samples, a group norm first, positions by a convolution of many taps and groups."""
    g = Writer("wav2vec2", 14, constants=True, producer="pytorch")
    audio = g.input("input_values", "batch_size", "sequence_length")
    x = g("Unsqueeze", audio, ints(1))
    channels = 1
    for layer, (taps, stride) in enumerate(((10, 5), (3, 2), (3, 2), (2, 2))):
        x = g("Conv", x, g.w(16, channels, taps), kernel_shape=[taps], strides=[stride], pads=[0, 0], dilations=[1], group=1)
        channels = 16
        if layer == 0:
            # GroupNorm of as many groups as channels, the way of PyTorch: an InstanceNormalization between Reshapes.
            shape = g("Shape", x)
            flat = g("Reshape", x, ints(0, 16, -1))
            flat = g("InstanceNormalization", flat, np.ones(16, np.float32), np.zeros(16, np.float32), epsilon=1e-5)
            x = g("Reshape", flat, shape)
            x = g("Add", g("Mul", x, g.weight(g.values.positive(16, 1))), g.weight(g.values.normal(16, 1, size=0.1)))
        x = gelu(g, x)
    x = norm(g, g("Transpose", x, perm=[0, 2, 1]), 16)
    x = g.linear(x, 16, HIDDEN)
    places = g("Conv", g("Transpose", x, perm=[0, 2, 1]), g.w(HIDDEN, HIDDEN // 4, 16), g.bias(HIDDEN), kernel_shape=[16], pads=[8, 8], group=4)
    # One of an even number of taps' results is too much.
    places = g("Slice", places, ints(0), ints(-1), ints(2), ints(1))
    x = norm(g, g("Add", x, g("Transpose", gelu(g, places), perm=[0, 2, 1])))
    for _ in range(LAYERS):
        query = g("Mul", g.linear(x, HIDDEN, HIDDEN), np.float32(HEAD**-0.5))
        key, value = g.linear(x, HIDDEN, HIDDEN), g.linear(x, HIDDEN, HIDDEN)
        length, batch = g.size(x, 1), g.size(x, 0)
        rows = g("Mul", batch, np.int64(HEADS))

        def by_head(t):
            four = g("Transpose", g("Reshape", t, g.together(batch, length, HEADS, HEAD)), perm=[0, 2, 1, 3])
            return g("Reshape", four, g.together(rows, -1, HEAD))

        query, key, value = by_head(query), by_head(key), by_head(value)
        scores = g("Softmax", g("MatMul", query, g("Transpose", key, perm=[0, 2, 1])), axis=-1)
        mixed = g("Reshape", g("MatMul", scores, value), g.together(batch, HEADS, length, HEAD))
        joined = g("Reshape", g("Transpose", mixed, perm=[0, 2, 1, 3]), g.together(batch, length, HIDDEN))
        x = norm(g, g("Add", x, g.linear(joined, HIDDEN, HIDDEN)))
        x = norm(g, g("Add", x, g.linear(gelu(g, g.linear(x, HIDDEN, 64)), 64, HIDDEN)))
    g.output(g.linear(x, HIDDEN, 32), "logits", "batch_size", "Addlogits_dim_1", 32)
    return g.model(), [{"input_values": g.values.normal(1, 640)}, {"input_values": g.values.normal(3, 1111)}]
