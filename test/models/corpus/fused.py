# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of com.microsoft as ONNX Runtime's optimiser, its model builder and its quantiser write them."""

import pathlib
import tempfile

import numpy as np
import onnx
import onnxruntime

from corpus.encoders import HEAD, HEADS, HIDDEN, LAYERS, LONGEST, WORDS, t5_bias
from corpus.writer import FLOAT, INT32, INT64, MICROSOFT, Writer, ints


def session_optimised(made, level=onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED):
    """The model as a session of onnxruntime saves it."""
    model, runs = made
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = level
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "optimised.onnx"
        options.optimized_model_filepath = str(path)
        onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        return onnx.load(path), runs


def script_optimised(made, kind):
    """The model as onnxruntime.transformers.optimizer writes it, which needs sympy."""
    import logging

    from onnxruntime.transformers import optimizer
    logging.getLogger("onnxruntime.transformers").setLevel(logging.ERROR)
    model, runs = made
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.onnx"
        onnx.save(model, path)
        fused = optimizer.optimize_model(str(path), model_type=kind, num_heads=HEADS, hidden_size=HIDDEN, opt_level=0)
        return fused.model, runs


def quantised(made, dynamic=True, **options):
    from onnxruntime import quantization
    model, runs = made
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder) / "model.onnx", pathlib.Path(folder) / "quantised.onnx"
        onnx.save(model, source)
        if dynamic:
            quantization.quantize_dynamic(source, target, **options)
            return onnx.load(target), runs

        class Reader(quantization.CalibrationDataReader):
            feeds = iter(runs)

            def get_next(self):
                return next(self.feeds, None)

        quantization.quantize_static(source, target, Reader(), **options)
        return onnx.load(target), runs


def cache_tables():
    angles = np.arange(LONGEST)[:, None] * 10000.0 ** (-np.arange(0, HEAD, 2) / HEAD)[None]
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def nbits(g, x, columns_in, columns_out, zero_points=False):
    blocks = columns_in // 16
    codes = g.values.whole(256, columns_out, blocks, 8, kind=np.uint8)
    scales = g.values.positive(columns_out * blocks, least=0.01, most=0.05)
    points = g.values.whole(256, columns_out * ((blocks + 1) // 2), kind=np.uint8) if zero_points else None
    return g.ms("MatMulNBits", x, codes, scales, points, K=columns_in, N=columns_out, bits=4, block_size=16, accuracy_level=0)


def builder_llm(bits=False, packed=False, norms_of_heads=False):
    """Llama and Phi as the model builder of onnxruntime-genai writes them: GroupQueryAttention with past and total lengths."""
    g = Writer(f"builder_llm{bits}{packed}", 21, producer="onnxruntime-genai")
    kv = 2
    ids = g.input("input_ids", "batch_size", "sequence_length", kind=INT64)
    mask = g.input("attention_mask", "batch_size", "total_sequence_length", kind=INT64)
    past = [[g.input(f"past_key_values.{i}.{what}", "batch_size", kv, "past_sequence_length", HEAD) for what in ("key", "value")] for i in range(LAYERS)]
    # The lengths of the keys, less one, and the longest.
    sums = g("Sub", g("ReduceSum", mask, ints(1), keepdims=0 if not packed else 1), ints(1))
    lengths = g("Cast", sums, to=INT32)
    total = g("Cast", g("Gather", g("Shape", mask), np.array(1, np.int64), axis=0), to=INT32)
    cos, sin = cache_tables()
    cos, sin = g.weight(cos, "cos_cache"), g.weight(sin, "sin_cache")

    def product(x, i, o):
        return nbits(g, x, i, o, zero_points=packed) if bits else g("MatMul", x, g.w(i, o))

    x = g("Gather", g.weight(g.values.normal(WORDS, HIDDEN), "model.embed_tokens.weight"), ids)
    h = g("SimplifiedLayerNormalization", x, g.gain(HIDDEN), axis=-1, epsilon=1e-5, stash_type=1)
    for layer in range(LAYERS):
        g.prefix = f"/model/layers.{layer}/"
        outputs = [g.fresh("attn"), f"present.{layer}.key", f"present.{layer}.value"]
        attributes = dict(num_heads=HEADS, kv_num_heads=kv, scale=HEAD**-0.5, local_window_size=-1, softcap=0.0, rotary_interleaved=0)
        if packed:
            qkv = product(h, HIDDEN, HIDDEN + 2 * kv * HEAD)
            g.ms("GroupQueryAttention", qkv, None, None, *past[layer], lengths, total, cos, sin, outputs=outputs, do_rotary=1, **attributes)
        else:
            query, key, value = product(h, HIDDEN, HIDDEN), product(h, HIDDEN, kv * HEAD), product(h, HIDDEN, kv * HEAD)
            g.ms("GroupQueryAttention", query, key, value, *past[layer], lengths, total, cos, sin, outputs=outputs, do_rotary=1, **attributes)
        g.outputs += [onnx.helper.make_tensor_value_info(n, FLOAT, ["batch_size", kv, "total_sequence_length", HEAD]) for n in outputs[1:]]
        made = product(outputs[0], HIDDEN, HIDDEN)
        h, _, _, x = skip_norm(g, x, made)
        gate, up = product(h, HIDDEN, 64), product(h, HIDDEN, 64)
        made = product(g("Mul", g("Mul", gate, g("Sigmoid", gate)), up), 64, HIDDEN)
        h, _, _, x = skip_norm(g, x, made)
    g.prefix = ""
    g.output(product(h, HIDDEN, 64), "logits", "batch_size", "sequence_length", 64)

    def run(batch, length, before):
        feed = {"input_ids": g.values.whole(WORDS, batch, length), "attention_mask": np.ones((batch, before + length), np.int64)}
        return feed | {f"past_key_values.{i}.{what}": g.values.normal(batch, kv, before, HEAD) for i in range(LAYERS) for what in ("key", "value")}

    return g.model(), [run(1, 6, 0), run(2, 1, 9)]


def skip_norm(g, x, made):
    names = [g.fresh("norm"), "", "", g.fresh("sum")]
    g.ms("SkipSimplifiedLayerNormalization", x, made, g.gain(HIDDEN), epsilon=1e-5, outputs=names)
    return names


def builder_rotary():
    """Where attention is MultiHeadAttention, RotaryEmbedding and the mask are nodes of their own."""
    g = Writer("builder_rotary", 21, producer="onnxruntime-genai")
    ids = g.input("input_ids", "batch_size", "sequence_length", kind=INT64)
    places = g.input("position_ids", "batch_size", "sequence_length", kind=INT64)
    mask = g.input("attention_mask", "batch_size", "total_sequence_length", kind=INT64)
    past = [[g.input(f"past_key_values.{i}.{what}", "batch_size", HEADS, "past_sequence_length", HEAD) for what in ("key", "value")] for i in range(LAYERS)]
    cos, sin = cache_tables()
    cos, sin = g.weight(cos, "cos_cache"), g.weight(sin, "sin_cache")
    # The builder's own subgraph of masks: lengths out of shapes, a lower triangle by comparison, the padding expanded.
    batch, length = g.size(ids, 0), g.size(ids, 1)
    before = g.size(past[0][0], 2)
    total = g("Add", before, length)
    one = g("Unsqueeze", total, ints(0))
    square = g("ConstantOfShape", g("Concat", one, one, axis=0), value=onnx.numpy_helper.from_array(np.array([-3.4e38], np.float32)))
    steps = g("Range", np.int64(0), total, np.int64(1))
    lower = g("Where", g("Less", steps, g("Reshape", g("Add", steps, np.int64(1)), g("Concat", one, ints(1), axis=0))), np.float32(0), square)
    rows = g("Slice", g("Unsqueeze", lower, ints(0, 1)), g("Unsqueeze", before, ints(0)), one, ints(2), ints(1))
    kept = g("Cast", g("Unsqueeze", mask, ints(1, 2)), to=FLOAT)
    padding = g("Where", g("Cast", g("Sub", np.float32(1), kept), to=9), np.float32(-3.4e38), g("Sub", np.float32(1), kept))
    bias = g("Expand", g("Max", g("Add", rows, padding), np.float32(-3.4e38)), g("Concat", g("Unsqueeze", batch, ints(0)), ints(1, 1, 1), axis=0))
    x = g("Gather", g.w(WORDS, HIDDEN, size=1), ids)
    h = g("LayerNormalization", x, g.gain(HIDDEN), g.bias(HIDDEN), axis=-1, epsilon=1e-5)
    for layer in range(LAYERS):
        query, key, value = (g.linear(h, HIDDEN, HIDDEN) for _ in range(3))
        query = g.ms("RotaryEmbedding", query, places, cos, sin, interleaved=0, num_heads=HEADS, rotary_embedding_dim=0)
        key = g.ms("RotaryEmbedding", key, places, cos, sin, interleaved=0, num_heads=HEADS, rotary_embedding_dim=0)
        outputs = [g.fresh("attn"), f"present.{layer}.key", f"present.{layer}.value"]
        g.ms("MultiHeadAttention", query, key, value, None, None, bias, *past[layer], outputs=outputs, num_heads=HEADS, scale=HEAD**-0.5)
        g.outputs += [onnx.helper.make_tensor_value_info(n, FLOAT, ["batch_size", HEADS, "total_sequence_length", HEAD]) for n in outputs[1:]]
        names = [g.fresh("norm"), "", "", g.fresh("sum")]
        g.ms("SkipLayerNormalization", x, g.linear(outputs[0], HIDDEN, HIDDEN), g.gain(HIDDEN), g.bias(HIDDEN), epsilon=1e-5, outputs=names)
        h, x = names[0], names[3]
        up = g.ms("FastGelu", g("MatMul", h, g.w(HIDDEN, 64)), g.bias(64))
        names = [g.fresh("norm"), "", "", g.fresh("sum")]
        g.ms("SkipLayerNormalization", x, g("MatMul", up, g.w(64, HIDDEN)), g.gain(HIDDEN), g.bias(HIDDEN), g.bias(HIDDEN), epsilon=1e-5, outputs=names)
        h, x = names[0], names[3]
    g.output(g("MatMul", h, g.w(HIDDEN, WORDS)), "logits", "batch_size", "sequence_length", WORDS)

    def run(count, new, old):
        kept = np.ones((count, old + new), np.int64)
        kept[1::2, :2] = 0
        feed = {"input_ids": g.values.whole(WORDS, count, new), "attention_mask": kept,
                "position_ids": np.tile(np.arange(old, old + new), (count, 1))}
        return feed | {f"past_key_values.{i}.{what}": g.values.normal(count, HEADS, old, HEAD) for i in range(LAYERS) for what in ("key", "value")}

    return g.model(), [run(1, 5, 0), run(2, 1, 7)]


def fused_bert():
    """BERT after full fusion: packed projections, embeddings with their mask index."""
    g = Writer("fused_bert", 14, producer="onnxruntime.transformers")
    ids, kinds, mask = (g.input(n, "batch_size", "sequence_length", kind=INT32) for n in ("input_ids", "token_type_ids", "attention_mask"))
    x, ends = g.ms("EmbedLayerNormalization", ids, kinds, g.w(WORDS, HIDDEN, size=1), g.w(LONGEST, HIDDEN, size=1), g.w(2, HIDDEN, size=1),
                   g.gain(HIDDEN), g.bias(HIDDEN), mask, epsilon=1e-12, outputs=2)
    for _ in range(LAYERS):
        made = g.ms("Attention", x, g.w(HIDDEN, 3 * HIDDEN), g.bias(3 * HIDDEN), ends, num_heads=HEADS)
        x = g.ms("SkipLayerNormalization", g("MatMul", made, g.w(HIDDEN, HIDDEN)), x, g.gain(HIDDEN), g.bias(HIDDEN), g.bias(HIDDEN), epsilon=1e-12)
        up = g.ms("BiasGelu", g("MatMul", x, g.w(HIDDEN, 64)), g.bias(64))
        x = g.ms("SkipLayerNormalization", g("MatMul", up, g.w(64, HIDDEN)), x, g.gain(HIDDEN), g.bias(HIDDEN), g.bias(HIDDEN), epsilon=1e-12)
    g.output(x, "last_hidden_state", "batch_size", "sequence_length", HIDDEN)

    def run(batch, length):
        kept = np.ones((batch, length), np.int32)
        kept[1::2, length // 2:] = 0
        return {"input_ids": g.values.whole(WORDS, batch, length, kind=np.int32), "attention_mask": kept,
                "token_type_ids": g.values.whole(2, batch, length, kind=np.int32)}

    return g.model(), [run(1, 7), run(3, 12)]


def fused_gpt2():
    """Past and present of a layer in one tensor of Attention."""
    g = Writer("fused_gpt2", 17, producer="onnxruntime.transformers")
    ids, places = (g.input(n, "batch_size", "sequence_length", kind=INT32) for n in ("input_ids", "position_ids"))
    mask = g.input("attention_mask", "batch_size", "total_sequence_length", kind=INT32)
    past = [g.input(f"past_{i}", 2, "batch_size", HEADS, "past_sequence_length", HEAD) for i in range(LAYERS)]
    x = g("Add", g("Gather", g.w(WORDS, HIDDEN, size=1), ids), g("Gather", g.w(LONGEST, HIDDEN, size=1), places))
    h = g("LayerNormalization", x, g.gain(HIDDEN), g.bias(HIDDEN), epsilon=1e-5)
    for i in range(LAYERS):
        made, present = g.ms("Attention", h, g.w(HIDDEN, 3 * HIDDEN), g.bias(3 * HIDDEN), mask, past[i], num_heads=HEADS, unidirectional=1, outputs=2)
        g.output(present, f"present_{i}", 2, "batch_size", HEADS, "total_sequence_length", HEAD)
        names = [g.fresh("norm"), "", "", g.fresh("sum")]
        g.ms("SkipLayerNormalization", x, g("MatMul", made, g.w(HIDDEN, HIDDEN)), g.gain(HIDDEN), g.bias(HIDDEN), g.bias(HIDDEN), epsilon=1e-5, outputs=names)
        h, x = names[0], names[3]
        up = g.ms("FastGelu", g("MatMul", h, g.w(HIDDEN, 64)), g.bias(64))
        names = [g.fresh("norm"), "", "", g.fresh("sum")]
        g.ms("SkipLayerNormalization", x, g("MatMul", up, g.w(64, HIDDEN)), g.gain(HIDDEN), g.bias(HIDDEN), g.bias(HIDDEN), epsilon=1e-5, outputs=names)
        h, x = names[0], names[3]
    g.output(g("MatMul", h, g.w(HIDDEN, WORDS)), "logits", "batch_size", "sequence_length", WORDS)

    def run(batch, length, old):
        kept = np.ones((batch, old + length), np.int32)
        kept[1::2, :1] = 0
        feed = {"input_ids": g.values.whole(WORDS, batch, length, kind=np.int32), "attention_mask": kept,
                "position_ids": np.tile(np.arange(old, old + length, dtype=np.int32), (batch, 1))}
        return feed | {f"past_{i}": g.values.normal(2, batch, HEADS, old, HEAD) for i in range(LAYERS)}

    return g.model(), [run(1, 6, 0), run(2, 1, 8)]


def fused_t5(decoder=False, spelled=False):
    """T5 after fusion: RelativePositionBias beside MultiHeadAttention; `spelled`: in operators that onnxruntime has for processors."""
    g = Writer(f"fused_t5_{decoder}", 14, producer="onnxruntime.transformers")
    ids = g.input("input_ids", "batch_size", 1 if decoder else "sequence_length", kind=INT32)
    mask = g.input("encoder_attention_mask", "batch_size", "encode_sequence_length" if decoder else "sequence_length", kind=INT32)
    x = g("Gather", g.w(WORDS, HIDDEN, size=1), ids)
    past = []
    if decoder:
        past = [[g.input(f"past_{what}_{side}_{i}", "batch_size", HEADS, "past_sequence_length" if side == "self" else "encode_sequence_length", HEAD)
                 for side in ("self", "cross") for what in ("key", "value")] for i in range(LAYERS)]
        length = g("Add", g.size(past[0][0], 2), np.int64(1))
    else:
        length = g.size(ids, 1)
    if spelled:
        table = t5_bias(g, length, length, two_ways=not decoder)
    else:
        table = g.ms("RelativePositionBias", g.w(8, HEADS, size=1), length, length, max_distance=16, is_bidirectional=0 if decoder else 1)
    if decoder:
        table = g("Slice", table, ints(-1), ints(9223372036854775807), ints(2), ints(1))
    h = g("SimplifiedLayerNormalization", x, g.gain(HIDDEN), axis=-1, epsilon=1e-6, stash_type=1)
    for i in range(LAYERS):
        query, key, value = (g("MatMul", h, g.w(HIDDEN, HIDDEN)) for _ in range(3))
        if decoder:
            outputs = [g.fresh("attn"), f"present_key_self_{i}", f"present_value_self_{i}"]
            g.ms("MultiHeadAttention", query, key, value, None, None, table, past[i][0], past[i][1], num_heads=HEADS, scale=1.0, outputs=outputs)
            g.outputs += [onnx.helper.make_tensor_value_info(n, FLOAT, ["batch_size", HEADS, "past_sequence_length + 1", HEAD]) for n in outputs[1:]]
            made = outputs[0]
        else:
            made = g.ms("MultiHeadAttention", query, key, value, None, mask, table, num_heads=HEADS, scale=1.0)
        h, _, _, x = skip_norm(g, x, g("MatMul", made, g.w(HIDDEN, HIDDEN)))
        if decoder:
            query = g("MatMul", h, g.w(HIDDEN, HIDDEN))
            made = g.ms("MultiHeadAttention", query, past[i][2], past[i][3], None, mask, num_heads=HEADS, scale=1.0)
            h, _, _, x = skip_norm(g, x, g("MatMul", made, g.w(HIDDEN, HIDDEN)))
        h, _, _, x = skip_norm(g, x, g("MatMul", g("Relu", g("MatMul", h, g.w(HIDDEN, 64))), g.w(64, HIDDEN)))
    g.output(h, "hidden_states", "batch_size", 1 if decoder else "sequence_length", HIDDEN)

    def run(batch, length, old=0):
        kept = np.ones((batch, length), np.int32)
        kept[1::2, length - 2:] = 0
        feed = {"input_ids": g.values.whole(WORDS, batch, 1 if decoder else length, kind=np.int32), "encoder_attention_mask": kept}
        for i in range(LAYERS if decoder else 0):
            feed |= {f"past_{what}_{side}_{i}": g.values.normal(batch, HEADS, old if side == "self" else length, HEAD)
                     for side in ("self", "cross") for what in ("key", "value")}
        return feed

    return g.model(), [run(1, 8, 3), run(2, 13, 10)]


def fused_moe():
    """com.microsoft's MoE, as the builder writes Mixtral's experts."""
    g = Writer("fused_moe", 21, producer="onnxruntime-genai")
    ids = g.input("input_ids", "batch_size", "sequence_length", kind=INT64)
    x = g("Gather", g.w(WORDS, HIDDEN, size=1), ids)
    flat = g("Reshape", x, ints(-1, HIDDEN))
    chances = g("MatMul", flat, g.w(HIDDEN, 4))
    made = g.ms("MoE", flat, chances, g.weight(g.values.normal(4, 64, HIDDEN, size=0.2)), g.weight(g.values.normal(4, 64, size=0.1)),
                g.weight(g.values.normal(4, HIDDEN, 64, size=0.15)), g.weight(g.values.normal(4, HIDDEN, size=0.1)),
                activation_type="silu", k=2, normalize_routing_weights=1)
    g.output(g("Add", g("Reshape", made, g("Shape", x)), x), "y", "batch_size", "sequence_length", HIDDEN)
    return g.model(), [{"input_ids": g.values.whole(WORDS, *dims)} for dims in ((1, 5), (3, 4))]
