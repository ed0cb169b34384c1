# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forms that ONNX allows and kpc does not take: part of bad_models.FILES.

Sizes that an operator needs as a number, loops that cannot be unrolled, more than kpc's limits.
"""

from onnx_writer import (BOOL, FLOAT, INT64, STRING, Graph, attribute, block, floats, function, graph, int64s, model, node,
                         number, tensor, value_info)
from refused_nodes import QKV, calling, constant_body, numbers, reals, refused

TRUE = ("c", tensor("c", [], BOOL, raw=b"\1"))
SPATIAL = [1, 1, "h", 4]


def loop_body(*outputs, nodes=()):
    """A body of a loop without state: iteration number i and condition c."""
    return Graph(graph(list(nodes), [value_info("i", [], INT64), value_info("c", [], BOOL)], [value_info(o, None) for o in outputs]))


def looping(trips, body, outputs=0):
    return (("Loop",), dict(weights=[numbers("n", [trips], []), TRUE], body=body, outputs=outputs))


def scan_body(*outputs, nodes=(), states=()):
    return Graph(graph(list(nodes), [value_info(s, None) for s in (*states, "row")], [value_info(o, None) for o in outputs]))


ONE = node("Constant", [], ["one"], value_float=1.0)
COPY = node("Identity", ["row"], ["copy"])

# Of floats that the condition decides.
RANGE = Graph(graph([node("Cast", ["x0"], ["end"], to=FLOAT), node("Constant", [], ["zero"], value_float=0.0),
                     node("Constant", [], ["step"], value_float=0.5), node("Range", ["zero", "end", "step"], ["r"], "ranged")],
                    [], [value_info("r", None)]))


def nested_loops(levels):
    """Loops short enough to be unrolled, inside one another: eight nodes become half a million."""
    nodes = [node("Constant", [], ["t0"], value_float=1.0)] + [node("Identity", ["t0"], [f"v{i}"]) for i in range(8)]
    for level in range(1, levels):
        body = Graph(graph(nodes + [node("Identity", [f"c{level}"], [f"d{level}"])],
                           [value_info(f"i{level}", [], INT64), value_info(f"c{level}", [], BOOL)],
                           [value_info(f"d{level}", None), value_info(f"t{level - 1}", None)]))
        nodes = [node("Constant", [], [f"n{level}"], value_int=16), node("Loop", [f"n{level}", ""], [f"t{level}"], body=body)]
    return nodes


FILES = {name: lambda arguments=arguments, options=options: refused(*arguments, **options) for name, (arguments, options) in {
    # Transformers.
    "attention-head-unknown": (("Attention", *[[1, 2, 4, "d"]] * 3), dict(opset=23)),
    "attention-ranks": (("Attention", [1, 2, 4, 8], [1, 6, 16], [1, 6, 16]), dict(opset=23)),
    "attention-mask-scalar": (("Attention", *QKV, []), dict(opset=23)),
    "attention-mask-columns": (("Attention", *QKV, ["m", "2*m"]), dict(opset=23)),
    "attention-past-rank": (("Attention", *QKV, None, [1, 2, 24], [1, 2, 24]), dict(opset=23)),
    "rotary-rank": (("RotaryEmbedding", [2, 8], [1, 3, 4], [1, 3, 4]), dict(opset=23)),
    "rotary-positions-rank": (("RotaryEmbedding", [1, 2, 3, 8], [9, 4], [9, 4], ([3], INT64)), dict(opset=23)),
    "tensor-scatter-ranks": (("TensorScatter", [1, 2, 4, 8], [2, 4, 8]), dict(opset=24)),
    "tensor-scatter-mode": (("TensorScatter", [1, 2, 4, 8], [1, 2, 1, 8]), dict(opset=24, mode="round\n")),
    "causal-conv-ranks": (("CausalConvWithState", [1, 3, 8], [3, 4]), dict(opset=27)),
    "causal-conv-channels": (("CausalConvWithState", [1, "c", 8], [3, 1, 4]), dict(opset=27)),
    "causal-conv-activation": (("CausalConvWithState", [1, 3, 8], [3, 1, 4]), dict(opset=27, activation="re\x1blu")),
    # Control flow.
    "if-types-differ": (("If", ([], BOOL)), dict(
        then_branch=constant_body(), else_branch=Graph(graph([node("Constant", [], ["two"], value_int=2)], [], [value_info("two", None)])))),
    "range-in-branch": (("If", ([], BOOL)), dict(then_branch=RANGE, else_branch=RANGE)),
    "loops-in-loops": looping(16, loop_body("c", "t3", nodes=nested_loops(4)), outputs=1),
    "scan-outputs": (("Scan", [4], [4], [3, 4]), dict(num_scan_inputs=1, body=scan_body("copy", nodes=[COPY], states=("s", "t")))),
    # Sizes known only at run time.
    "pool-same-unknown": (("MaxPool", SPATIAL), dict(kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER", outputs=2)),
    "pool-ceil-unknown": (("MaxPool", SPATIAL), dict(kernel_shape=[2, 2], strides=[2, 2], pads=[1] * 4, ceil_mode=1)),
    "resize-antialias-unknown": (("Resize", SPATIAL, None), dict(opset=18, weights=[reals("scales", [4], 0.5)], mode="linear", antialias=1)),
    "dft-length-unknown": (("DFT", [1, "n", 1]), dict(opset=17, weights=[numbers("length", [8], [])])),
    "cumprod-unknown": (("CumProd", ["n"]), dict(opset=26, weights=[numbers("axis", [0], [])])),
    # Limits.
    "dft-too-long": (("DFT", [1, 2000000, 1]), dict(opset=17)),
    "det-too-large": (("Det", [2000, 2000]), {}),
    "topk-too-long": (("TopK", [3000000000]), dict(weights=[numbers("k", [3])], outputs=2)),
    "unique-too-many": (("Unique", [5000, 2]), dict(axis=0)),
    "topk-two": (("TopK", [50]), dict(weights=[numbers("k", [3, 4])], outputs=2)),
    "max-pool-indices": (("MaxPool", [1, 1, 64, 64]), dict(kernel_shape=[33, 33], outputs=2)),
    "grid-sample-volumes": (("GridSample", [1, 1, 2, 2, 2, 2], [1, 2, 2, 2, 2, 4]), dict(opset=20)),
    "pad-reflects-too-much": (("Pad", [3]), dict(weights=[numbers("pads", [5, 0])], mode="reflect")),
    # Attributes.
    "lstm-activation-unknown": (("LSTM", [3, 1, 4], [1, 20, 4], [1, 20, 5]), dict(hidden_size=5, activations=["Sine", "Tanh", "Tanh"])),
    "batch-norm-spatial": (("BatchNormalization", [1, 4, 2]), dict(opset=8, weights=[reals(n, [4]) for n in "sbmv"], spatial=0)),
    "quantize-to-string": (("QuantizeLinear", [4]), dict(weights=[reals("s", [])], output_dtype=STRING)),
    "old-add-rank": (("Add", [2, 3], [2, 3]), dict(opset=6, broadcast=1, axis=1)),
    "old-less-rank": (("Less", [2, 3], [2, 3]), dict(opset=6, broadcast=1, axis=1)),
    # Sizes that no tensor has.
    "split-negative": (("Split", [6]), dict(weights=[numbers("split", [-1, 7])], outputs=2)),
    "window-negative": (("HannWindow",), dict(weights=[numbers("size", [-1], [])])),
    # Attributes of another kind than the rule asks for.
    "attribute-is-floats": (("MaxPool", [1, 1, 4, 4]), dict(kernel_shape=[2.0, 2.0])),
    "attribute-is-strings": (("MaxPool", [1, 1, 4, 4]), dict(kernel_shape=["two"])),
}.items()}


def attributed(op, *attributes, ir_version=8):
    """A node of one input with attributes that onnx_writer.attribute does not write."""
    return model(graph([node(op, ["x"], ["y"], "the_node") + b"".join(block(5, a) for a in attributes)], [value_info("x", [1, 1, 4, 4])],
                       [value_info("y", None)]), opsets=((21, ""),), ir_version=ir_version)


def input_of(kind):
    """A model whose input has this field of TypeProto: 5 a map, 8 a sparse tensor, 9 an optional."""
    return model(graph([node("Relu", ["x"], ["y"], "the_node")], [block(1, "x") + block(2, block(kind, b""))], [value_info("y", None)]))


def with_initializer(data):
    return model(graph([node("Identity", ["w"], ["y"], "the_node")], [value_info("x", [4])], [value_info("y", None)], [data]))


def sparse_initializer(places, dims):
    """One value at these places of a tensor of these dims, added to an input."""
    sparse = block(15, block(1, floats("w", [1], [1.0])) + block(2, int64s("i", places)) + b"".join(number(3, d) for d in dims))
    return model(graph([node("Add", ["x", "w"], ["y"], "the_node")], [value_info("x", [4])], [value_info("y", None)]) + sparse)


def depends_on_a_size():
    return model(graph([node("Shape", ["x"], ["s"], "shape"), node("ReduceSum", ["x", "s"], ["y"], "the_node")], [value_info("x", ["n"])],
                       [value_info("y", None)]))


def chain_of_functions(count):
    """f calls f1 calls f2 and so on; the last is a Relu."""
    names = ["f"] + [f"f{i}" for i in range(1, count)]
    return calling([function(name, "local", ["a"], ["b"], [node(then, ["a"], ["b"], domain="local") if then else node("Relu", ["a"], ["b"])])
                    for name, then in zip(names, names[1:] + [None])], "x")


def doubling_functions(count):
    """Each function calls the next one twice: 2 to the power of `count` nodes."""
    names = ["f"] + [f"f{i}" for i in range(1, count)]
    return calling([function(name, "local", ["a"], ["b"], [node(then or "Relu", ["a"], ["m"], domain="local" if then else ""),
                                                           node(then or "Relu", ["m"], ["b"], domain="local" if then else "")])
                    for name, then in zip(names, names[1:] + [None])], "x")


def function_attribute(declared, given=()):
    """A function whose node asks for an integer `axis` of the call as its own."""
    reference = block(5, block(1, "axis") + block(21, "axis") + number(20, 2))
    body = function("f", "local", ["a"], ["b"], [node("Softmax", ["a"], ["b"], "inner") + reference])
    call = node("f", ["x"], ["y"], "the_node", domain="local") + b"".join(block(5, a) for a in given)
    return model(graph([call], [value_info("x", [4])], [value_info("y", None)]), opsets=((21, ""), (1, "local")),
                 functions=[body + b"".join(block(6, name) for name in declared)])


def damaged_default():
    body = function("f", "local", ["a"], ["b"], [node("Relu", ["a"], ["b"])])
    return calling([body + block(11, b"\xff")], "x")


def foreign(domain, op, *inputs, outputs=1, **attributes):
    """A node of another domain, of inputs of these sizes and types."""
    names = [f"x{i}" for i in range(len(inputs))]
    results = [f"y{i}" for i in range(outputs)]
    values = [value_info(name, list(dims), kind) for name, (dims, kind) in zip(names, inputs)]
    return model(graph([node(op, names, results, "the_node", domain=domain, **attributes)], values, [value_info(r, None) for r in results]),
                 opsets=((21, ""), (1, domain)))


def given_maps(readers, key=INT64, sequence=False):
    """An input that is a map to floats, or a sequence of such, and the nodes that read it: operators of ai.onnx.ml with attributes."""
    kind = block(5, number(1, key) + block(2, block(1, number(1, FLOAT))))
    nodes = [node(op, ["m"], [f"y{i}"], f"node_{i}", domain="ai.onnx.ml", **attributes) for i, (op, attributes) in enumerate(readers)]
    return model(graph(nodes, [block(1, "m") + block(2, block(4, block(1, kind)) if sequence else kind)],
                       [value_info(f"y{i}", None) for i in range(len(nodes))]), opsets=((21, ""), (1, "ai.onnx.ml")))


def slots(count):
    return "CastMap", dict(cast_to="TO_FLOAT", map_form="SPARSE", max_map=count)


def compared_strings():
    """Two inputs of strings: no list says which there are."""
    return model(graph([node("Equal", ["a", "b"], ["y"], "the_node")], [value_info("a", ["n"], STRING), value_info("b", ["n"], STRING)],
                       [value_info("y", None)]), opsets=((21, ""),))


def growing_sizes(levels):
    """The first 16 and all but the first joined, again and again: an open size that is written twice in the next."""
    nodes = []
    for i in range(levels):
        nodes += [node("Slice", [f"x{i}", "zero", "sixteen"], [f"a{i}"], f"first_{i}"), node("Slice", [f"x{i}", "one", "end"], [f"b{i}"], f"rest_{i}"),
                  node("Concat", [f"a{i}", f"b{i}"], [f"x{i + 1}"], f"joined_{i}", axis=0)]
    return model(graph(nodes, [value_info("x0", ["n"])], [value_info(f"x{levels}", None)],
                       [int64s(name, [value]) for name, value in (("zero", 0), ("one", 1), ("sixteen", 16), ("end", 2**63 - 1))]), opsets=((21, ""),))


def mixed_concat():
    """Strings joined with numbers."""
    return model(graph([node("Concat", ["w", "x"], ["y"], "the_node", axis=0)], [value_info("x", [4])], [value_info("y", None)],
                       [tensor("w", [1], STRING, strings=["a"])]), opsets=((21, ""),))


UINT8, INT8, ML, MICROSOFT = 2, 3, "ai.onnx.ml", "com.microsoft"
BYTES, SIGNED, WEIGHTS, ROWS, TEXTS = ([4, 8, 8], UINT8), ([4, 8, 8], INT8), ([4, 8, 8], FLOAT), ([4, 8], FLOAT), (["n"], STRING)


def coded_experts(shares):
    """A QMoE of bytes, three rows and four experts, whose input 14 is what counts of each."""
    given = {"x": ([3, 8], FLOAT), "p": ([3, 4], FLOAT), "a": BYTES, "as": ROWS, "b": BYTES, "bs": ROWS, "shares": shares}
    names = ["x", "p", "a", "as", "", "b", "bs", *[""] * 7, "shares"]
    return model(graph([node("QMoE", names, ["y"], "the_node", domain=MICROSOFT, expert_weight_bits=8, k=2)],
                       [value_info(name, *kind) for name, kind in given.items()], [value_info("y", None)]), opsets=((21, ""), (1, MICROSOFT)))


FILES.update({
    "domain-nchwc": lambda: foreign("com.microsoft.nchwc", "Conv", ([1, 8, 4, 4], FLOAT)),
    "domain-extensions": lambda: foreign("ai.onnx.contrib", "BertTokenizer", TEXTS),
    "domain-aten": lambda: foreign("org.pytorch.aten", "ATen", ROWS),
    "strings-of-two-inputs": compared_strings,
    "sizes-grow": lambda: growing_sizes(12),
    "strings-beside-numbers": mixed_concat,
    "strings-tokenised": lambda: foreign(MICROSOFT, "Tokenizer", TEXTS),
    "map-in-two-orders": lambda: given_maps([("DictVectorizer", dict(int64_vocabulary=keys)) for keys in ([1, 2, 3], [3, 2, 1])]),
    "map-to-slots-and-keys": lambda: given_maps([("DictVectorizer", dict(int64_vocabulary=[1, 2])), slots(4)]),
    "map-to-no-slots": lambda: given_maps([slots(0)]),
    "map-to-many-slots": lambda: given_maps([slots(20_000_000)]),
    "input-is-maps": lambda: given_maps([slots(4)], sequence=True),
    "one-hot-of-strings": lambda: foreign(ML, "OneHotEncoder", ROWS, cats_strings=["a"]),
    "label-encoder-of-floats": lambda: foreign(ML, "LabelEncoder", ROWS, classes_strings=["a"]),
    "svm-without-vectors": lambda: foreign(ML, "SVMClassifier", ROWS, outputs=2, coefficients=[1.0, 2.0, 3.0], classlabels_ints=[1, 2]),
    "moe-of-fp4": lambda: foreign(MICROSOFT, "QMoE", ROWS, ([4, 4], FLOAT), BYTES, ROWS, ROWS, BYTES, ROWS, quant_type="fp4"),
    "moe-of-3-bits": lambda: foreign(MICROSOFT, "QMoE", ROWS, ([4, 4], FLOAT), BYTES, ROWS, ROWS, BYTES, ROWS, expert_weight_bits=3),
    "moe-without-bytes": lambda: foreign(MICROSOFT, "QMoE", ROWS, ([4, 4], FLOAT), ROWS, ROWS, ROWS, BYTES, ROWS),
    "moe-scales": lambda: foreign(MICROSOFT, "QMoE", ROWS, ([4, 4], FLOAT), BYTES, ([4, 7], FLOAT), ROWS, BYTES, ROWS, expert_weight_bits=8),
    "moe-of-signed-bytes": lambda: foreign(MICROSOFT, "QMoE", ROWS, ([4, 4], FLOAT), SIGNED, ([4, 8], FLOAT), ROWS, SIGNED, ROWS,
                                           expert_weight_bits=8),
    "moe-blocks-below-0": lambda: foreign(MICROSOFT, "QMoE", ROWS, ([4, 4], FLOAT), BYTES, ROWS, ROWS, BYTES, ROWS, expert_weight_bits=8,
                                          block_size=-3),
    "moe-shares": lambda: coded_experts(([3, 1], FLOAT)),
    "moe-shares-rank": lambda: coded_experts(([4], FLOAT)),
    "moe-picks-none": lambda: foreign(MICROSOFT, "MoE", ROWS, ([4, 4], FLOAT), WEIGHTS, ROWS, WEIGHTS, k=0),
    "moe-sparse-mixer": lambda: foreign(MICROSOFT, "MoE", ROWS, ([4, 4], FLOAT), WEIGHTS, ROWS, WEIGHTS, use_sparse_mixer=1),
    "moe-swiglu-apart": lambda: foreign(MICROSOFT, "MoE", ROWS, ([4, 4], FLOAT), WEIGHTS, ROWS, WEIGHTS, activation_type="swiglu"),
    "moe-ranks": lambda: foreign(MICROSOFT, "MoE", ROWS, ([4], FLOAT), WEIGHTS, ROWS, WEIGHTS),
    "nbits-of-signed-bytes": lambda: foreign(MICROSOFT, "MatMulNBits", ([2, 32], FLOAT), ([8, 2, 8], INT8), ([16], FLOAT), K=32, N=8, bits=4,
                                             block_size=16),
    "bnb4-of-floats": lambda: foreign(MICROSOFT, "MatMulBnb4", ([2, 8], FLOAT), ([8], FLOAT), ([1], FLOAT), K=8, N=2, block_size=16, quant_type=1),
    "bnb4-sizes": lambda: foreign(MICROSOFT, "MatMulBnb4", ROWS, ([7], UINT8), ([1], FLOAT), K=8, N=2, block_size=16, quant_type=1),
    "attention-turns-odd": lambda: foreign(MICROSOFT, "Attention", ([1, 2, 8], FLOAT), ([8, 24], FLOAT), num_heads=2, do_rotary=1,
                                           rotary_embedding_dim=3),
})

RELU = node("Relu", ["x"], ["y"], "the_node")
FILES.update({
    "attribute-is-tensors": lambda: attributed("MaxPool", block(1, "kernel_shape") + block(10, floats("t", [1], [1.0])) + number(20, 9)),
    "attribute-is-graphs": lambda: attributed("MaxPool", block(1, "kernel_shape") + block(11, bytes(constant_body())) + number(20, 10)),
    "attribute-is-empty": lambda: attributed("Softmax", block(1, "axis"), ir_version=1),
    "attribute-is-sparse": lambda: attributed("MaxPool", block(1, "kernel_shape") + block(22, b"") + number(20, 11)),
    "constant-sparse": lambda: model(graph([node("Constant", [], ["y"], "the_node") + block(5, block(1, "sparse_value") + block(22, b"") +
                                                                                              number(20, 11))],
                                           [value_info("x", [4])], [value_info("y", None)])),
    "input-is-map": lambda: input_of(5),
    "input-is-sparse": lambda: input_of(8),
    "input-is-optional": lambda: input_of(9),
    "opset-of-another-domain": lambda: model(graph([RELU], [value_info("x", [4])], [value_info("y", None)]), opsets=((1, "local"),)),
    "no-field": lambda: b"\x08\x08\x00",
    "sparse-outside": lambda: sparse_initializer([4], [4]),
    "sparse-columns": lambda: sparse_initializer([0, 0], [4]),
    "sparse-huge": lambda: sparse_initializer([0], [1 << 40]),
    "strings-too-few": lambda: with_initializer(tensor("w", [3], STRING, strings=["a"])),
    "strings-external": lambda: with_initializer(tensor("w", [3], STRING, external={"location": "enough.bin"})),
    "initializer-in-segments": lambda: with_initializer(floats("w", [1], [1.0]) + block(3, b"")),
    "axes-depend-on-a-size": depends_on_a_size,
    "nonzero-scalar": lambda: model(graph([node("NonZero", ["x"], ["y"], "the_node")], [value_info("x", [])],
                                          [value_info("y", [0, 1], INT64)])),
    "functions-too-deep": lambda: chain_of_functions(70),
    "functions-too-many": lambda: doubling_functions(20),
    "function-attribute-unknown": lambda: function_attribute([]),
    "function-attribute-type": lambda: function_attribute(["axis"], [attribute("axis", 0.5)]),
    "function-default-damaged": damaged_default,
})

FILES["sequence-ranks"] = lambda: model(
    graph([node("SequenceConstruct", ["a", "b"], ["list"]), node("ConcatFromSequence", ["list"], ["y"], "the_node", axis=-1, new_axis=1)],
          [value_info("a", [2, 3, 4]), value_info("b", [3, 4])], [value_info("y", None)]), opsets=((21, ""),))
