# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoders with a past as PyTorch's exporters write them: GPT-2, T5, Whisper, Mistral, Mixtral."""

import numpy as np

from corpus.encoders import (HEAD, HEADS, HIDDEN, LAYERS, LONGEST, WORDS, gelu, join_heads, norm, rms_norm, split_heads, t5_bias, t5_heads,
                             tanh_gelu, tensor_of)
from corpus.writer import BOOL, FLOAT, INT64, Writer, floats, ints


def conv1d(g, x, columns_in, columns_out):
    """GPT-2's layer: a Gemm of flattened rows between Reshapes."""
    flat = g("Reshape", x, g.together(-1, columns_in))
    made = g("Gemm", flat, g.w(columns_in, columns_out), g.bias(columns_out))
    return g("Reshape", made, g.together(g.size(x, 0), g.size(x, 1), columns_out))


def gpt2():
    """Past keys and values of a layer in one tensor, as ONNX Runtime's converter for GPT-2 has them."""
    g = Writer("gpt2", 11 + 3, constants=True, producer="pytorch")
    ids = g.input("input_ids", "batch_size", "seq_len", kind=INT64)
    places = g.input("position_ids", "batch_size", "seq_len", kind=INT64)
    mask = g.input("attention_mask", "batch_size", "total_seq_len")
    past = [g.input(f"past_{i}", 2, "batch_size", HEADS, "past_seq_len", HEAD) for i in range(LAYERS)]
    wide = g("Unsqueeze", g("Unsqueeze", mask, ints(1)), ints(2))
    added = g("Mul", g("Sub", np.float32(1), wide), np.float32(-10000))
    x = g("Add", g("Gather", g.w(WORDS, HIDDEN, size=1), ids), g("Gather", g.w(LONGEST, HIDDEN, size=1), places))
    triangle = g.weight(np.tril(np.ones((1, 1, LONGEST, LONGEST), np.uint8)), "h.attn.bias")
    present = []
    for layer in range(LAYERS):
        g.prefix = f"/h.{layer}/"
        h = norm(g, x)
        query, key, value = g("Split", conv1d(g, h, HIDDEN, 3 * HIDDEN), ints(HIDDEN, HIDDEN, HIDDEN), axis=2, outputs=3)
        query, key, value = split_heads(g, query), split_heads(g, key), split_heads(g, value)
        key = g("Concat", g("Gather", past[layer], np.array(0, np.int64), axis=0), key, axis=2)
        value = g("Concat", g("Gather", past[layer], np.array(1, np.int64), axis=0), value, axis=2)
        present.append(g("Concat", g("Unsqueeze", key, ints(0)), g("Unsqueeze", value, ints(0)), axis=0))
        scores = g("Div", g("MatMul", query, g("Transpose", key, perm=[0, 1, 3, 2])), np.float32(HEAD**0.5))
        rows, columns = g.size(scores, 2), g.size(scores, 3)
        first = g("Unsqueeze", g("Sub", columns, rows), ints(0))
        end = g("Unsqueeze", columns, ints(0))
        causal = g("Slice", g("Slice", triangle, first, end, ints(2), ints(1)), ints(0), end, ints(3), ints(1))
        scores = g("Where", g("Cast", causal, to=BOOL), scores, np.float32(-10000))
        weights = g("Softmax", g("Add", scores, added), axis=3)
        x = g("Add", conv1d(g, join_heads(g, g("MatMul", weights, value)), HIDDEN, HIDDEN), x)
        x = g("Add", x, conv1d(g, tanh_gelu(g, conv1d(g, norm(g, x), HIDDEN, 64)), 64, HIDDEN))
    g.prefix = ""
    g.output(g("MatMul", norm(g, x), g.w(HIDDEN, WORDS)), "logits", "batch_size", "seq_len", WORDS)
    for i, value in enumerate(present):
        g.output(value, f"present_{i}", 2, "batch_size", HEADS, "total_seq_len", HEAD)

    def run(batch, length, old):
        kept = np.ones((batch, old + length), np.float32)
        kept[1::2, :1] = 0
        feed = {"input_ids": g.values.whole(WORDS, batch, length), "attention_mask": kept,
                "position_ids": np.tile(np.arange(old, old + length), (batch, 1))}
        return feed | {f"past_{i}": g.values.normal(2, batch, HEADS, old, HEAD) for i in range(LAYERS)}

    return g.model(), [run(1, 6, 0), run(3, 1, 9)]


def t5_decoder():
    """One token; keys and values of the encoder come with the past."""
    g = Writer("t5_decoder", 14, constants=True, producer="pytorch")
    ids = g.input("input_ids", "batch_size", 1, kind=INT64)
    mask = g.input("encoder_attention_mask", "batch_size", "encoder_sequence_length", kind=INT64)
    names = [f"past_key_values.{i}.{side}.{what}" for i in range(LAYERS) for side in ("decoder", "encoder") for what in ("key", "value")]
    past = {n: g.input(n, "batch_size", HEADS, "past_decoder_sequence_length" if ".decoder" in n else "encoder_sequence_length_out", HEAD)
            for n in names}
    x = g("Gather", g.w(WORDS, HIDDEN, size=1), ids)
    kept = g("Cast", g("Unsqueeze", g("Unsqueeze", mask, ints(1)), ints(2)), to=FLOAT)
    across = g("Mul", g("Sub", np.float32(1), kept), np.float32(-3.4028234663852886e38))
    bias = None
    for layer in range(LAYERS):
        h = rms_norm(g, x)
        query, key, value = (t5_heads(g, g.linear(h, HIDDEN, HIDDEN, bias=False)) for _ in range(3))
        key = g("Concat", past[f"past_key_values.{layer}.decoder.key"], key, axis=2)
        value = g("Concat", past[f"past_key_values.{layer}.decoder.value"], value, axis=2)
        g.output(key, f"present.{layer}.decoder.key", "batch_size", HEADS, "past_decoder_sequence_length + 1", HEAD)
        g.output(value, f"present.{layer}.decoder.value", "batch_size", HEADS, "past_decoder_sequence_length + 1", HEAD)
        if bias is None:
            total = g.size(key, 2)
            # All rows are computed, the last ones are taken.
            table = t5_bias(g, total, total, two_ways=False)
            bias = g("Slice", table, g("Unsqueeze", g("Neg", g.size(h, 1)), ints(0)), ints(9223372036854775807), ints(2), ints(1))
        scores = g("Add", g("MatMul", query, g("Transpose", key, perm=[0, 1, 3, 2])), bias)
        mixed = g("MatMul", g("Softmax", scores, axis=-1), value)
        x = g("Add", x, g.linear(g("Reshape", g("Transpose", mixed, perm=[0, 2, 1, 3]), g.together(g.size(h, 0), -1, HIDDEN)), HIDDEN, HIDDEN, bias=False))
        h = rms_norm(g, x)
        query = t5_heads(g, g.linear(h, HIDDEN, HIDDEN, bias=False))
        key, value = past[f"past_key_values.{layer}.encoder.key"], past[f"past_key_values.{layer}.encoder.value"]
        scores = g("Add", g("MatMul", query, g("Transpose", key, perm=[0, 1, 3, 2])), across)
        mixed = g("MatMul", g("Softmax", scores, axis=-1), value)
        x = g("Add", x, g.linear(g("Reshape", g("Transpose", mixed, perm=[0, 2, 1, 3]), g.together(g.size(h, 0), -1, HIDDEN)), HIDDEN, HIDDEN, bias=False))
        h = rms_norm(g, x)
        x = g("Add", x, g.linear(g("Relu", g.linear(h, HIDDEN, 64, bias=False)), 64, HIDDEN, bias=False))
    x = g("Mul", rms_norm(g, x), np.float32(HIDDEN**-0.5))
    g.output(g("MatMul", x, g.w(HIDDEN, WORDS)), "logits", "batch_size", 1, WORDS)

    def run(batch, old, encoded):
        padded = np.ones((batch, encoded), np.int64)
        padded[1::2, encoded - 2:] = 0
        feed = {"input_ids": g.values.whole(WORDS, batch, 1), "encoder_attention_mask": padded}
        return feed | {n: g.values.normal(batch, HEADS, old if ".decoder" in n else encoded, HEAD) for n in names}

    return g.model(), [run(1, 3, 8), run(2, 11, 17)]


def whisper_decoder(merged=False):
    """The decoder with a past; `merged`: an If picks the first step or a later one, as optimum writes it."""
    g = Writer("whisper_merged" if merged else "whisper_decoder", 14, constants=True, producer="pytorch")
    ids = g.input("input_ids", "batch_size", "decoder_sequence_length", kind=INT64)
    frames = g.input("encoder_hidden_states", "batch_size", "encoder_sequence_length", HIDDEN)
    past = {n: g.input(n, "batch_size", HEADS, "past_decoder_sequence_length" if "decoder" in n else "encoder_sequence_length_out", HEAD)
            for n in [f"past_key_values.{i}.{side}.{what}" for i in range(LAYERS) for side in ("decoder", "encoder") for what in ("key", "value")]}
    shared = {}

    def shape_of(name, *shape):
        if name not in shared:
            shared[name] = g.w(*shape) if len(shape) == 2 else g.bias(*shape)
        return shared[name]

    def linear(x, name, wide, out):
        return g("Add", g("MatMul", x, shape_of(name, wide, out)), shape_of(name + ".bias", out))

    def weightless_norm(x, name):
        return g("LayerNormalization", x, shape_of(name + ".g", HIDDEN), shape_of(name + ".b", HIDDEN), axis=-1) if g.opset >= 17 else \
            normalised(x, name)

    def normalised(x, name):
        centred = g("Sub", x, g("ReduceMean", x, axes=[-1]))
        root = g("Sqrt", g("Add", g("ReduceMean", g("Pow", centred, np.float32(2)), axes=[-1]), np.float32(1e-5)))
        return g("Add", g("Mul", g("Div", centred, root), shape_of(name + ".g", HIDDEN)), shape_of(name + ".b", HIDDEN))

    def attend(query, key, value, batch, mask=None):
        scores = g("MatMul", query, g("Transpose", key, perm=[0, 1, 3, 2]))
        scores = g("Add", scores, mask) if mask else scores
        mixed = g("MatMul", g("Softmax", scores, axis=-1), value)
        return g("Reshape", g("Transpose", mixed, perm=[0, 2, 1, 3]), g.together(batch, -1, HIDDEN))

    def body(with_past):
        results = []
        old = g.size(past["past_key_values.0.decoder.key"], 2) if with_past else None
        length, batch = g.size(ids, 1), g.size(ids, 0)
        x = g("Gather", shape_of("words", WORDS, HIDDEN), ids)
        first = old if with_past else np.int64(0)
        last = g("Add", old, length) if with_past else length
        place = g("Slice", shape_of("places", LONGEST, HIDDEN), g("Unsqueeze", first, ints(0)) if with_past else ints(0),
                  g("Unsqueeze", last, ints(0)), ints(0))
        x = g("Add", x, place)
        columns = g("Range", np.int64(0), last, np.int64(1))
        rows = g("Range", first, last, np.int64(1))
        seen = g("LessOrEqual", g("Unsqueeze", columns, ints(0)), g("Unsqueeze", rows, ints(1)))
        mask = g("Unsqueeze", g("Where", seen, np.float32(0), np.float32(-3.4e38)), ints(0, 1))
        for layer in range(LAYERS):
            name = f"layers.{layer}."
            h = weightless_norm(x, name + "norm1")
            query = split_heads(g, g("Mul", linear(h, name + "q", HIDDEN, HIDDEN), np.float32(HEAD**-0.5)))
            key, value = (split_heads(g, linear(h, name + part, HIDDEN, HIDDEN)) for part in "kv")
            if with_past:
                key = g("Concat", past[f"past_key_values.{layer}.decoder.key"], key, axis=2)
                value = g("Concat", past[f"past_key_values.{layer}.decoder.value"], value, axis=2)
            results += [key, value]
            x = g("Add", x, linear(attend(query, key, value, batch, mask), name + "o", HIDDEN, HIDDEN))
            h = weightless_norm(x, name + "norm2")
            query = split_heads(g, g("Mul", linear(h, name + "cq", HIDDEN, HIDDEN), np.float32(HEAD**-0.5)))
            if with_past:
                key, value = (g("Identity", past[f"past_key_values.{layer}.encoder.{part}"]) for part in ("key", "value"))
            else:
                key, value = (split_heads(g, linear(frames, name + part, HIDDEN, HIDDEN)) for part in ("ck", "cv"))
            results += [key, value]
            x = g("Add", x, linear(attend(query, key, value, batch), name + "co", HIDDEN, HIDDEN))
            h = weightless_norm(x, name + "norm3")
            x = g("Add", x, linear(gelu(g, linear(h, name + "up", HIDDEN, 64)), name + "down", 64, HIDDEN))
        return [g("MatMul", weightless_norm(x, "norm"), shape_of("out", HIDDEN, WORDS))] + results

    names = ["logits"] + [f"present.{i}.{side}.{what}" for i in range(LAYERS) for side in ("decoder", "encoder") for what in ("key", "value")]
    if not merged:
        results = body(True)
    else:
        cached = g.input("use_cache_branch", 1, kind=BOOL)
        kinds = [(FLOAT, [None, None, WORDS])] + [(FLOAT, [None, HEADS, None, HEAD])] * (4 * LAYERS)
        g.constants = True
        later = g.subgraph("with_past", [], kinds, lambda: body(True))
        start = g.subgraph("no_past", [], kinds, lambda: body(False))
        results = g("If", cached, then_branch=later, else_branch=start, outputs=len(names))
    for name, value in zip(names, results):
        dims = ["batch_size", "decoder_sequence_length", WORDS] if name == "logits" else \
            ["batch_size", HEADS, "past_decoder_sequence_length + decoder_sequence_length" if "decoder" in name else "encoder_sequence_length_out", HEAD]
        g.output(value, name, *dims)

    def run(batch, length, old, encoded, cache=True):
        feed = {"input_ids": g.values.whole(WORDS, batch, length), "encoder_hidden_states": g.values.normal(batch, encoded, HIDDEN)}
        feed |= {n: g.values.normal(batch, HEADS, old if "decoder" in n else encoded, HEAD) for n in past}
        return feed | ({"use_cache_branch": np.array([cache])} if merged else {})

    if merged:
        return g.model(), [run(2, 4, 0, 9, False), run(2, 1, 5, 9, True)]
    model = g.model()
    model.graph.input.remove(next(i for i in model.graph.input if i.name == "encoder_hidden_states"))
    runs = [run(1, 1, 4, 10), run(3, 2, 7, 21)]
    for feed in runs:
        del feed["encoder_hidden_states"]
    return model, runs


def rotate(g, x, cos, sin):
    half = HEAD // 2
    low = g("Slice", x, ints(0), ints(half), ints(3), ints(1))
    high = g("Slice", x, ints(half), ints(9223372036854775807), ints(3), ints(1))
    turned = g("Concat", g("Neg", high), low, axis=-1)
    return g("Add", g("Mul", x, cos), g("Mul", turned, sin))


def repeat_heads(g, x, heads, times):
    """Each key head for several queries: Unsqueeze, Expand, Reshape."""
    batch, length = g.size(x, 0), g.size(x, 2)
    wide = g("Expand", g("Unsqueeze", x, ints(2)), g.together(batch, heads, times, length, HEAD))
    return g("Reshape", wide, g.together(batch, heads * times, length, HEAD))


def mistral(moe=False):
    """Two key heads, a window of eight keys; `moe`: two of four experts for each token, as PyTorch's loop over experts exports."""
    g = Writer("mixtral" if moe else "mistral", 17, constants=True, producer="pytorch")
    window, kv = 8, 2
    ids = g.input("input_ids", "batch_size", "sequence_length", kind=INT64)
    mask = g.input("attention_mask", "batch_size", "total_sequence_length", kind=INT64)
    places = g.input("position_ids", "batch_size", "sequence_length", kind=INT64)
    past = [[g.input(f"past_key_values.{i}.{what}", "batch_size", kv, "past_sequence_length", HEAD) for what in ("key", "value")] for i in range(LAYERS)]
    x = g("Gather", g.w(WORDS, HIDDEN, size=1), ids)
    old, new = g.size(past[0][0], 2), g.size(ids, 1)
    total = g("Add", old, new)
    rows = g("Unsqueeze", g("Range", old, total, np.int64(1)), ints(1))
    columns = g("Unsqueeze", g("Range", np.int64(0), total, np.int64(1)), ints(0))
    seen = g("And", g("LessOrEqual", columns, rows), g("Greater", columns, g("Sub", rows, np.int64(window))))
    seen = g("And", g("Unsqueeze", seen, ints(0, 1)), g("Cast", g("Unsqueeze", mask, ints(1, 2)), to=BOOL))
    added = g("Where", seen, np.float32(0), np.float32(-3.4028234663852886e38))
    # Rotary angles are a product of positions and frequencies.
    frequencies = (10000.0 ** (-np.arange(0, HEAD, 2) / HEAD)).astype(np.float32)[None, :, None]
    wide = g("Expand", g.weight(frequencies), g.together(g.size(places, 0), HEAD // 2, 1))
    angles = g("Transpose", g("MatMul", wide, g("Cast", g("Unsqueeze", places, ints(1)), to=FLOAT)), perm=[0, 2, 1])
    angles = g("Concat", angles, angles, axis=-1)
    cos, sin = g("Unsqueeze", g("Cos", angles), ints(1)), g("Unsqueeze", g("Sin", angles), ints(1))
    for layer in range(LAYERS):
        g.prefix = f"/model/layers.{layer}/"
        h = rms_norm(g, x)
        query = split_heads(g, g.linear(h, HIDDEN, HIDDEN, bias=False))
        key, value = (split_heads(g, g.linear(h, HIDDEN, kv * HEAD, bias=False), heads=kv) for _ in range(2))
        query, key = rotate(g, query, cos, sin), rotate(g, key, cos, sin)
        key, value = g("Concat", past[layer][0], key, axis=2), g("Concat", past[layer][1], value, axis=2)
        g.output(key, f"present.{layer}.key", "batch_size", kv, "total_sequence_length", HEAD)
        g.output(value, f"present.{layer}.value", "batch_size", kv, "total_sequence_length", HEAD)
        key, value = repeat_heads(g, key, kv, HEADS // kv), repeat_heads(g, value, kv, HEADS // kv)
        scores = g("Mul", g("MatMul", query, g("Transpose", key, perm=[0, 1, 3, 2])), np.float32(HEAD**-0.5))
        mixed = g("MatMul", g("Softmax", g("Add", scores, added), axis=-1), value)
        x = g("Add", x, g.linear(join_heads(g, mixed), HIDDEN, HIDDEN, bias=False))
        h = rms_norm(g, x)
        x = g("Add", x, experts(g, h) if moe else gated(g, h))
    g.prefix = ""
    g.output(g("MatMul", rms_norm(g, x), g.w(HIDDEN, WORDS)), "logits", "batch_size", "sequence_length", WORDS)

    def run(batch, length, before):
        kept = np.ones((batch, before + length), np.int64)
        kept[1::2, :1] = 0
        feed = {"input_ids": g.values.whole(WORDS, batch, length), "attention_mask": kept,
                "position_ids": np.tile(np.arange(before, before + length), (batch, 1))}
        return feed | {f"past_key_values.{i}.{what}": g.values.normal(batch, kv, before, HEAD) for i in range(LAYERS) for what in ("key", "value")}

    # A row that sees no key at all has no defined result: batch 1 where padding would leave none.
    return g.model(), [run(1, 5, 0), run(2, 1, 12)]


def gated(g, x, wide=64):
    gate = g.linear(x, HIDDEN, wide, bias=False)
    return g.linear(g("Mul", g("Mul", gate, g("Sigmoid", gate)), g.linear(x, HIDDEN, wide, bias=False)), wide, HIDDEN, bias=False)


def experts(g, x, count=4, picked=2):
    """For each expert: which rows it has (NonZero), their product, added where they belong (ScatterND)."""
    flat = g("Reshape", x, g.together(-1, HIDDEN))
    chances = g("Softmax", g.linear(flat, HIDDEN, count, bias=False), axis=1)
    best, which = g("TopK", chances, ints(picked), axis=-1, largest=1, sorted=1, outputs=2)
    best = g("Div", best, g("ReduceSum", best, ints(-1), keepdims=1))
    # one_hot(which, count) turned to expert, choice, token.
    hot = g("OneHot", which, ints(count), ints(0, 1), axis=-1)
    hot = g("Transpose", hot, perm=[2, 1, 0])
    total = g("ConstantOfShape", g("Shape", flat), value=tensor_of(floats(0)))
    for expert in range(count):
        here = g("Gather", hot, np.array(expert, np.int64), axis=0)
        found = g("NonZero", here)
        choice, token = g("Split", found, ints(1, 1), axis=0, outputs=2)
        choice, token = g("Squeeze", choice, ints(0)), g("Squeeze", token, ints(0))
        rows = g("Gather", flat, token, axis=0)
        made = gated(g, rows)
        weight = g("GatherND", best, g("Concat", g("Unsqueeze", token, ints(-1)), g("Unsqueeze", choice, ints(-1)), axis=-1))
        made = g("Mul", made, g("Unsqueeze", weight, ints(-1)))
        total = g("ScatterND", total, g("Unsqueeze", token, ints(-1)), made, reduction="add")
    return g("Reshape", total, g("Shape", x))
