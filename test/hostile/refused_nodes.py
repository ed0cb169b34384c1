# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nodes that the rules of their operators refuse, each with the error a user should see: part of bad_models.FILES.

Attributes with values they cannot have, sizes and ranks that do not fit, numbers that must be known when compiling.
"""

from onnx_writer import BOOL, FLOAT, INT64, Graph, floats, function, graph, int64s, model, node, tensor, value_info

UINT8 = 2
INT32 = 6
FLOAT16 = 10


def refused(op, *inputs, weights=(), outputs=1, declared=None, opset=21, **attributes):
    """A node of inputs x0, x1… of these sizes (or (sizes, type)), then of weights. `declared`: the outputs' sizes."""
    values, names = [], []
    for i, one in enumerate(inputs):
        if one is None:  # left out
            names.append("")
            continue
        dims, kind = one if isinstance(one, tuple) else (one, FLOAT)
        values.append(value_info(f"x{i}", list(dims), kind))
        names.append(f"x{i}")
    names += [name for name, _ in weights]
    results = [f"y{i}" for i in range(outputs)]
    return model(graph([node(op, names, results, "the_node", **attributes)], values, [value_info(r, declared) for r in results],
                       [data for _, data in weights]), opsets=((opset, ""),))


def numbers(name, values, dims=None):
    return name, int64s(name, values, dims)


def reals(name, dims, value=0.5):
    count = 1
    for size in dims:
        count *= size
    return name, floats(name, list(dims), [value] * count)


def constant_body():
    """A subgraph of one output and no input."""
    return Graph(graph([node("Constant", [], ["one"], value_float=1.0)], [], [value_info("one", None)]))


def loop_of(nodes, result, go="go"):
    """A loop of 300 iterations that carries h, of two floats."""
    body = Graph(graph(nodes, [value_info("i", [], INT64), value_info("go", [], BOOL), value_info("h", [2])],
                       [value_info(go, [], BOOL), value_info(result, None)], [int64s("zero", [0]), int64s("one", [1])]))
    return ("Loop",), dict(weights=[numbers("n", [300], []), ("c", tensor("c", [], BOOL, raw=b"\1")), reals("h0", [2])], body=body)


def nested_loops(depth):
    """Loops inside one another, of 300 iterations each."""
    inner = [node("Relu", ["h"], ["n1"])]
    for level in range(1, depth + 1):
        carried = f"h{level}" if level < depth else "x"
        names = [f"i{level}", f"go{level}", f"c{level}"]
        body = Graph(graph(inner, [value_info(names[0], [], INT64), value_info(names[1], [], BOOL), value_info("h" if level == 1 else names[2], [2])],
                           [value_info(names[1], [], BOOL), value_info(f"n{level}", [2])], []))
        inner = [node("Loop", ["n", "c", carried if level == depth else f"c{level + 1}"], [f"n{level + 1}" if level < depth else "y"],
                      f"loop_{level}", body=body)]
    return model(graph(inner, [value_info("x", [2])], [value_info("y", [2])], [int64s("n", [300], []), tensor("c", [], BOOL, raw=b"\1")]))


def branch_of(op, source):
    return Graph(graph([node(op, [source], [f"{op}_r"])], [], [value_info(f"{op}_r", None)]))


def calling(functions, *inputs):
    """A model whose node calls the function f of these."""
    return model(graph([node("f", list(inputs), ["y"], "the_node", domain="local")], [value_info("x", [4])], [value_info("y", None)]),
                 opsets=((21, ""), (1, "local")), functions=functions)


QKV = ([1, 2, 4, 8], [1, 2, 6, 8], [1, 2, 6, 8])
FLAT = ([1, 4, 16], [1, 6, 16], [1, 6, 16])
LSTM = ([3, 1, 4], [1, 20, 4], [1, 20, 5])

FILES = {name: lambda arguments=arguments, options=options: refused(*arguments, **options) for name, (arguments, options) in {
    # Attributes.
    "celu-alpha-0": (("Celu", [4]), dict(alpha=0.0)),
    "gelu-approximate": (("Gelu", [4]), dict(approximate="cubic")),
    "loss-reduction": (("NegativeLogLikelihoodLoss", [2, 3], ([2], INT64)), dict(reduction="median")),
    "pad-mode": (("Pad", [4]), dict(weights=[numbers("pads", [1, 1])], mode="mirror")),
    "scatter-reduction": (("ScatterElements", [4], ([2], INT64), [2]), dict(reduction="avg")),
    "mod-without-fmod": (("Mod", [4], [4]), {}),
    "bitshift-direction": (("BitShift", ([4], UINT8), ([4], UINT8)), dict(direction="UP")),
    "lpnormalization-p": (("LpNormalization", [2, 3]), dict(p=3)),
    "lstm-direction": (("LSTM", *LSTM), dict(hidden_size=5, direction="sideways")),
    "lstm-activations": (("LSTM", *LSTM), dict(hidden_size=5, activations=["Sigmoid", "Tanh"])),
    "space-to-depth-blocksize": (("SpaceToDepth", [1, 4, 4, 4]), dict(blocksize=0)),
    "depth-to-space-mode": (("DepthToSpace", [1, 4, 2, 2]), dict(blocksize=2, mode="XYZ")),
    "eyelike-type": (("EyeLike", [2, 2]), dict(dtype=8)),
    "resize-policy": (("Resize", [1, 1, 4, 4], None, None), dict(weights=[numbers("sizes", [1, 1, 8, 8])], keep_aspect_ratio_policy="often")),
    "attention-scale": (("Attention", *QKV), dict(opset=23, scale=-1.0)),
    "attention-softmax-precision": (("Attention", *QKV), dict(opset=23, softmax_precision=7)),
    "attention-output-mode": (("Attention", *QKV), dict(opset=23, qk_matmul_output_mode=9)),
    "einsum-equation": (("Einsum", [2, 3], [3, 4]), dict(equation="ij,jk,kl->il")),
    "einsum-result": (("Einsum", [2, 3], [3, 4]), dict(equation="ij,jk->iz")),
    "conv-transpose-padding": (("ConvTranspose", [1, 3, 4, 4]), dict(weights=[reals("w", [3, 2, 3, 3])], output_padding=[-1, 0])),
    "conv-transpose-shape": (("ConvTranspose", [1, 3, 4, 4]), dict(weights=[reals("w", [3, 2, 3, 3])], output_shape=[9, 9, 9])),
    "quantize-type": (("QuantizeLinear", [4]), dict(weights=[reals("s", [])], output_dtype=7)),
    "quantize-zero-scale": (("QuantizeLinear", [3, 4]), dict(weights=[reals("s", [], 0.0)])),
    "quantize-nan-scale": (("QuantizeLinear", [3, 4]), dict(weights=[reals("s", [4], float("nan"))])),
    "dequantize-infinite-scale": (("DequantizeLinear", ([3, 4], UINT8)), dict(weights=[reals("s", [], float("inf"))])),
    "quantize-float-scales": (("QuantizeLinear", [3, 4, 2]), dict(weights=[reals("s", [3])], axis=1, output_dtype=17)),
    "quantize-block": (("QuantizeLinear", [4, 6]), dict(weights=[reals("s", [4, 4])], block_size=2, axis=1)),
    "lrn-size": (("LRN", [1, 3, 4, 4]), dict(size=0)),
    # Ranks.
    "batch-norm-rank": (("BatchNormalization", [4]), dict(weights=[reals(n, [4]) for n in "sbmv"])),
    "gemm-rank": (("Gemm", [4], [4, 3]), {}),
    "conv-bias-rank": (("Conv", [1, 3, 4, 4]), dict(weights=[reals("w", [2, 3, 3, 3]), reals("b", [1, 2])])),
    "conv-kernel-shape-rank": (("MaxPool", [1, 3, 8, 8]), dict(kernel_shape=[2, 2, 2])),
    "loss-ranks": (("NegativeLogLikelihoodLoss", [2, 3, 4], ([2], INT64)), {}),
    "cross-entropy-rank": (("SoftmaxCrossEntropyLoss", [3], ([3], INT64)), {}),
    "lstm-ranks": (("LSTM", [3, 4], *LSTM[1:]), dict(hidden_size=5)),
    "depth-to-space-rank": (("DepthToSpace", [4, 2, 2]), dict(blocksize=2)),
    "det-not-square": (("Det", [2, 3]), {}),
    "matmul-scalar": (("MatMul", [], [3]), {}),
    "softmax-scalar": (("Softmax", []), {}),
    "eyelike-rank": (("EyeLike", [2, 2, 2]), {}),
    "trilu-rank": (("Trilu", [4]), {}),
    "gather-scalar": (("Gather", [], ([2], INT64)), {}),
    # Sizes.
    "attention-heads": (("Attention", *FLAT), dict(opset=23, q_num_heads=3, kv_num_heads=2)),
    "attention-groups": (("Attention", [1, 5, 4, 8], *QKV[1:]), dict(opset=23)),
    "attention-past-alone": (("Attention", *QKV, None, [1, 2, 3, 8]), dict(opset=23)),
    "group-norm-groups": (("GroupNormalization", [1, 5, 4]), dict(weights=[reals("s", [5]), reals("b", [5])], num_groups=2)),
    "instance-norm-rank": (("InstanceNormalization", [2, 3]), dict(weights=[reals("s", [3]), reals("b", [3])])),
    "split-uneven": (("Split", [7]), dict(opset=13, outputs=2)),
    "split-outputs": (("Split", [6]), dict(weights=[numbers("split", [1, 2, 3])], outputs=2)),
    "slice-lengths": (("Slice", [6, 6]), dict(weights=[numbers("starts", [0]), numbers("ends", [2, 3])])),
    "pad-by-no-pads": (("Pad", [1, 4], ([0], INT64), None, ([2], INT64)), dict(declared=[1, 12])),
    "pad-count": (("Pad", [4, 4]), dict(weights=[numbers("pads", [1, 1, 1])])),
    "pad-huge": (("Pad", [4]), dict(weights=[numbers("pads", [1 << 40, 0])])),
    "pad-negative": (("Pad", [4]), dict(weights=[numbers("pads", [-3, -3])])),
    "tile-count": (("Tile", [2, 3]), dict(weights=[numbers("repeats", [2])])),
    "reshape-dimension": (("Reshape", [4]), dict(weights=[numbers("shape", [4, 0])])),
    "squeeze-dimension": (("Squeeze", [4, 3]), dict(weights=[numbers("axes", [0])])),
    "depth-to-space-channels": (("DepthToSpace", [1, 3, 2, 2]), dict(blocksize=2)),
    "space-to-depth-size": (("SpaceToDepth", [1, 1, 3, 4]), dict(blocksize=2)),
    "window-too-large": (("MaxPool", [1, 1, 2, 2]), dict(kernel_shape=[5, 5])),
    "window-of-places-too-large": (("MaxPool", [1, 1, 2, 2]), dict(outputs=2, kernel_shape=[5, 5])),
    "kernel-too-large": (("Conv", [1, 3, 2, 2]), dict(weights=[reals("w", [2, 3, 5, 5])])),
    "lstm-weights": (("LSTM", [3, 1, 4], [1, 19, 4], [1, 20, 5]), dict(hidden_size=5)),
    "axes-twice": (("ReduceSum", [2, 3]), dict(weights=[numbers("axes", [1, -1])])),
    "lstm-bias": (("LSTM", *LSTM, [40]), dict(hidden_size=5)),
    "lstm-lengths": (("LSTM", *LSTM, None, ([1, 1], INT32)), dict(hidden_size=5)),
    "lstm-state": (("LSTM", *LSTM, None, None, []), dict(hidden_size=5)),
    "lstm-cell": (("LSTM", *LSTM, None, None, [1, 1, 5], [5]), dict(hidden_size=5)),
    "lstm-peepholes": (("LSTM", *LSTM, None, None, None, None, [15]), dict(hidden_size=5)),
    "rnn-state": (("RNN", [3, 1, 4], [1, 5, 4], [1, 5, 5], None, None, [1]), dict(hidden_size=5)),
    "gru-bias": (("GRU", [3, 1, 4], [2, 15, 4], [2, 15, 5], [2, 29]), dict(hidden_size=5, direction="bidirectional")),
    "resize-negative": (("Resize", [1, 1, 4, 4], None, None), dict(weights=[numbers("sizes", [1, 1, -5, 4])])),
    "resize-negative-dynamic": (("Resize", [1, 1, "h", 4], None, None), dict(weights=[numbers("sizes", [1, 1, -5, 4])])),
    "resize-of-nothing": (("Resize", [1, 1, 0, 4], None, None), dict(weights=[numbers("sizes", [1, 1, 8, 4])])),
    "grid-sample-of-nothing": (("GridSample", [1, 1, 4, 0], [1, 2, 2, 2]), {}),
    "unsqueeze-beyond-rank": (("Unsqueeze", [2] * 20), dict(weights=[numbers("axes", list(range(20)))])),
    "resize-scales": (("Resize", [1, 1, 4, 4], None), dict(weights=[reals("scales", [2], 2.0)])),
    "cumsum-axes": (("CumSum", [4]), dict(weights=[numbers("axis", [0, 0])])),
    "cast-to-string": (("Cast", [4]), dict(to=8)),
    "constant-of-shape-value": (("ConstantOfShape",), dict(weights=[numbers("shape", [2])], value=floats("value", [2], [1.0, 2.0]))),
    "max-unpool-shape": (("MaxUnpool", [1, 1, 2, 2], ([1, 1, 2, 2], INT64)), dict(weights=[numbers("shape", [1, 1])], kernel_shape=[2, 2])),
    # What must be known when compiling.
    "reduce-axes-unknown": (("ReduceSum", [4, 5], ([1], INT64)), {}),
    "conv-weights-dynamic": (("Conv", [1, 3, 8, 8], [2, 3, "k", "k"]), {}),
    "reverse-sequence-axes": (("ReverseSequence", [3, 4], ([3], INT64)), dict(time_axis=0, batch_axis=2)),
    "grid-sample-mode": (("GridSample", [1, 1, 4, 4], [1, 2, 2, 2]), dict(mode="cubic", padding_mode="nowhere")),
    "rotary-size": (("RotaryEmbedding", [1, 2, 3, 5], [1, 3, 2], [1, 3, 2]), dict(opset=23)),
    "old-broadcast-axis": (("Add", [2, 3], [4]), dict(opset=6, broadcast=1, axis=1)),
    "old-cast-type": (("Cast", [4]), dict(opset=1, to="NOTYPE")),
    "old-tile": (("Tile", [4]), dict(opset=1, weights=[numbers("tiles", [2, 2]), numbers("axis", [0])])),
    "old-axes-type": (("Squeeze", [1, 4]), dict(opset=11, axes="first")),
    "expand-negative": (("Expand", [1]), dict(weights=[numbers("shape", [-3])])),
    "constant-of-shape-negative": (("ConstantOfShape",), dict(weights=[numbers("shape", [-1])])),
    "concat-overflow": (("Concat", [1 << 62], [1 << 62]), dict(axis=0)),
    "constant-nothing": (("Constant",), dict(opset=9)),
    "window-type": (("HannWindow",), dict(weights=[numbers("size", [8], [])], output_datatype=8)),
    "conv-transpose-huge-batch": (("ConvTranspose", [1 << 40, "c", 3, 3], [1 << 16, 2, 3, 3]), {}),
    "conv-transpose-huge": (("ConvTranspose", [1, 3, 4, 4]), dict(weights=[reals("w", [3, 2, 3, 3])], output_shape=[1 << 40, 9])),
    "dft-parts": (("DFT", [1, 4, 3]), dict(opset=17)),
    "dft-length": (("DFT", [1, 4, 1]), dict(opset=17, weights=[numbers("length", [-3], [])])),
    "deform-group": (("DeformConv", [1, 2, 5, 6], [3, 2, 2, 2], [1, 8, 4, 5]), dict(group=0)),
    "deform-places": (("DeformConv", [1, 2, 5, 6], [3, 2, 2, 2], [1, 8, 3, 5]), dict(kernel_shape=[2, 2])),
    "stft-step": (("STFT", [4]), dict(opset=17, weights=[numbers("step", [0], []), reals("window", [2])])),
    "dequantize-type": (("DequantizeLinear", ([4], 3)), dict(opset=23, weights=[reals("s", [])], output_dtype=7)),
    "dequantize-rank": (("DequantizeLinear", ([4, 4], 3)), dict(weights=[reals("s", [2, 2, 2])], axis=1)),
    "conv-integer-ranks": (("ConvInteger", ([1, 3, 4, 4], 3), ([2, 3, 3], 3)), {}),
    "resize-roi": (("Resize", [1, 1, 4, 4]), dict(weights=[reals("roi", [2]), reals("scales", [4], 2.0)],
                                                   coordinate_transformation_mode="tf_crop_and_resize")),
    "if-outputs": (("If",), dict(outputs=2, weights=[("c", tensor("c", [], BOOL, raw=b"\1"))], then_branch=constant_body(),
                                 else_branch=constant_body())),
    "loop-body": (("Loop",), dict(weights=[numbers("n", [2], []), ("c", tensor("c", [], BOOL, raw=b"\1"))], body=constant_body())),
    "loop-grows": loop_of([node("Concat", ["h", "h"], ["n"], axis=0)], "n"),
    "loop-sizes": loop_of([node("Unsqueeze", ["i", "zero"], ["end"]), node("Slice", ["h", "zero", "end"], ["part"]),
                           node("ReduceSum", ["part", "zero"], ["sum"]), node("Add", ["h", "sum"], ["n"])], "n"),
    "loop-ends": loop_of([node("ReduceMax", ["h"], ["most"], keepdims=0), node("Cast", ["most"], ["on"], to=BOOL),
                          node("Concat", ["h", "h"], ["n"], axis=0)], "n", "on"),
    "scan-lengths": (("Scan", [3, 4], [5, 4]), dict(num_scan_inputs=2, body=Graph(graph(
        [node("Add", ["a", "b"], ["s"])], [value_info("a", [4]), value_info("b", [4])], [value_info("s", [4])])))),
    "scan-body": (("Scan", [3, 4]), dict(num_scan_inputs=1, body=constant_body())),
    "rotary-angles": (("RotaryEmbedding", [1, 2, 3, 8], [1, 3, 2], [1, 3, 2]), dict(opset=23)),
}.items()}

# What a graph holds beside its nodes, or its nodes around them.
RELU = node("Relu", ["x"], ["y"], "the_node")
FILES.update({
    "opset-twice": lambda: model(graph([RELU], [value_info("x", [4])], [value_info("y", None)]), opsets=((17, ""), (18, ""))),
    "initializer-without-name": lambda: model(graph([RELU], [value_info("x", [4])], [value_info("y", None)], [floats("", [1], [1.0])])),
    "node-without-operator": lambda: model(graph([node("", ["x"], ["y"], "the_node")], [value_info("x", [4])], [value_info("y", None)])),
    "input-without-name": lambda: model(graph([RELU], [value_info("", [4]), value_info("x", [4])], [value_info("y", None)])),
    "loops-too-deep": lambda: nested_loops(17),
    "order-beyond-memory": lambda: model(graph([node("TopK", ["x", "k"], ["y", "i"], "the_node")],
                                               [value_info("x", [4], INT64), value_info("k", [1], INT64)],
                                               [value_info("y", [1 << 62], INT64), value_info("i", [3], INT64)])),
    "rank-too-high": lambda: model(graph([RELU], [value_info("x", [1] * 100)], [value_info("y", None)])),
    "if-types": lambda: model(graph(
        [node("If", ["c"], ["y"], "the_node", then_branch=branch_of("Relu", "a"), else_branch=branch_of("Neg", "b"))],
        [value_info("c", [], BOOL), value_info("a", [4]), value_info("b", [5, 1])], [value_info("y", None)])),
    "function-arguments": lambda: calling([function("f", "local", ["a"], ["b"], [node("Relu", ["a"], ["b"])], 21)], "x", "x"),
})
