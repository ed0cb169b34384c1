# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models whose loops can be one kernel: scans, linear attention, factors of matrices, and bodies of every kind of op."""

import numpy as np
import onnx
from onnx import helper, numpy_helper

FLOAT = onnx.TensorProto.FLOAT


def port(name, dims, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, dims)


def whole(nodes, inputs, outputs, weights=(), domain=""):
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(a, n) for n, a in weights])
    opsets = [helper.make_opsetid("", 26)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def mamba(batch, steps, channels, states, reverse=False):
    """A selective scan: h = exp(d A) h + d B x, y = sum of h C."""
    def node(op, inputs, outputs, **attributes):
        return helper.make_node(op, inputs, outputs, **attributes)
    body = helper.make_graph([
        node("Unsqueeze", ["d", "last"], ["d1"]), node("Mul", ["d1", "a"], ["da"]), node("Exp", ["da"], ["keep"]),
        node("Mul", ["keep", "h"], ["kept"]),
        node("Mul", ["d", "x"], ["dx"]), node("Unsqueeze", ["dx", "last"], ["dx1"]), node("Unsqueeze", ["b", "middle"], ["b1"]),
        node("Mul", ["dx1", "b1"], ["new"]), node("Add", ["kept", "new"], ["h2"]),
        node("Unsqueeze", ["c", "middle"], ["c1"]), node("Mul", ["h2", "c1"], ["hc"]), node("ReduceSum", ["hc", "last"], ["y"], keepdims=0)],
        "body", [port("h", [batch, channels, states]), port("x", [batch, channels]), port("d", [batch, channels]), port("b", [batch, states]),
                 port("c", [batch, states])], [port("h2", [batch, channels, states]), port("y", [batch, channels])])
    random = np.random.default_rng(3)
    scan = node("Scan", ["h0", "xs", "ds", "bs", "cs"], ["h", "ys"], name="scan", body=body, num_scan_inputs=4,
                scan_input_directions=[int(reverse)] * 4, scan_output_directions=[int(reverse)])
    return whole([node("Sigmoid", ["dt"], ["ds"]), scan],
                 [port("h0", [batch, channels, states]), port("xs", [steps, batch, channels]), port("dt", [steps, batch, channels]),
                  port("bs", [steps, batch, states]), port("cs", [steps, batch, states])],
                 [port("h", [batch, channels, states]), port("ys", [steps, batch, channels])],
                 [("a", -random.uniform(0.1, 1, (channels, states)).astype(np.float32)), ("last", np.array([-1])), ("middle", np.array([1]))])


def attention(rule, batch, steps, heads, groups, depth, width):
    names = ["q", "k", "v", "past"] + [name for name, there in (("g", "gated" in rule), ("rate", "delta" in rule)) if there]
    inputs = [port("q", [batch, steps, heads * depth]), port("k", [batch, steps, groups * depth]), port("v", [batch, steps, groups * width]),
              port("past", [batch, groups, depth, width])]
    nodes = []
    if "gated" in rule:
        inputs.append(port("g0", [batch, steps, groups]))
        nodes += [helper.make_node("Abs", ["g0"], ["g1"]), helper.make_node("Neg", ["g1"], ["g"])]
    if "delta" in rule:
        inputs.append(port("r0", [batch, steps, groups]))
        nodes.append(helper.make_node("Sigmoid", ["r0"], ["rate"]))
    if "gated" not in rule and "delta" in rule:
        names.insert(4, "")
    nodes.append(helper.make_node("LpNormalization", ["k"], ["kn"], axis=-1))
    names[1] = "kn"
    nodes.append(helper.make_node("LinearAttention", names, ["y", "state"], name="attention", update_rule=rule, q_num_heads=heads, kv_num_heads=groups))
    model = whole(nodes, inputs, [port("y", [batch, steps, heads * width]), port("state", [batch, groups, depth, width])])
    model.opset_import[0].version = 27
    return model


def scan(body, carried, inputs, outputs, steps, weights=(), **attributes):
    """A Scan whose body is given: names with their dims."""
    inner = helper.make_graph(body, "body", [port(n, d) for n, d in carried + inputs], [port(n, d) for n, d in outputs])
    first, firsts = [f"{n}_0" for n, _ in carried], [port(f"{n}_0", d) for n, d in carried]
    whole_inputs = [port(f"{n}_all", [steps] + d) for n, d in inputs]
    results = [f"{n}_r" for n, _ in outputs]
    node = helper.make_node("Scan", first + [p.name for p in whole_inputs], results, name="scan", body=inner, num_scan_inputs=len(inputs), **attributes)
    return whole([node], firsts + whole_inputs,
                 [port(r, d if i < len(carried) else [steps] + d) for i, (r, (_, d)) in enumerate(zip(results, outputs))], weights)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def shifts(batch, steps, width):
    """Carried values that change places, one of them collected as it was, and a mean of all columns."""
    return scan([node("Add", "a x", "b2"), node("Identity", "b", "a2"), node("ReduceMean", "b last", "m", keepdims=1), node("Mul", "b2 m", "b3"),
                 node("Tanh", "b3", "b4"), node("Identity", "a", "old")],
                [("a", [batch, width]), ("b", [batch, width])], [("x", [batch, width])],
                [("a2", [batch, width]), ("b4", [batch, width]), ("old", [batch, width]), ("b3", [batch, width])], steps,
                [("last", np.array([-1]))], scan_output_directions=[1, 0])


def turned(batch, steps, size):
    """The state is transposed and multiplied by a matrix of the model: its dims are mixed, batches are not."""
    weight = np.random.default_rng(5).standard_normal((size, size)).astype(np.float32) / size
    return scan([node("Transpose", "s", "t", perm=[0, 2, 1]), node("MatMul", "t w", "p"), node("Add", "p x", "s2"),
                 node("Slice", "s2 zero three one", "part"), node("ReduceMax", "s2 axes", "most", keepdims=0)],
                [("s", [batch, size, size])], [("x", [batch, size, size])],
                [("s2", [batch, size, size]), ("part", [batch, 3, size]), ("most", [batch])], steps,
                [("w", weight), ("zero", np.array([0])), ("three", np.array([3])), ("one", np.array([1])), ("axes", np.array([1, 2]))])


def single(op, inputs, outputs, weights=(), domain="", **attributes):
    """One node: names with their dims; those of weights come last."""
    names = [i[0] for i in inputs] + [w[0] for w in weights]
    return whole([helper.make_node(op, names, [o[0] for o in outputs], name=op.lower(), domain=domain, **attributes)],
                 [port(*i) for i in inputs if i[0]], [port(*o) for o in outputs], weights, domain)


def delta_net(batch, steps, heads, values, depth, width):
    return single("GatedDeltaNet", [("q", [batch, steps, heads, depth]), ("k", [batch, steps, heads, depth]), ("v", [batch, steps, values, width]), ("",),
                                    ("g", [batch, steps, values]), ("rate", [batch, steps, values]), ("past", [batch, values, width, depth])],
                  [("y", [batch, steps, values, width]), ("state", [batch, values, width, depth])], domain="com.microsoft", qk_l2_norm=1,
                  beta_activation="sigmoid")


def boxes(batch, classes, count):
    return single("NonMaxSuppression", [("boxes", [batch, count, 4]), ("scores", [batch, classes, count])],
                  [("y", ["found", 3], onnx.TensorProto.INT64)],
                  [("most", np.array([20])), ("overlap", np.array(0.5, np.float32)), ("least", np.array(0.01, np.float32))])


def picked(batch, steps, size):
    """The largest element of a row is taken out in each step."""
    return scan([node("Add", "s x", "t"), node("ArgMax", "t", "at", axis=1, keepdims=1), node("GatherElements", "t at", "most", axis=1),
                 node("Cast", "at", "place", to=1), node("Equal", "at all", "is"), node("Where", "is zero t", "s2")],
                [("s", [batch, size])], [("x", [batch, size])], [("s2", [batch, size]), ("most", [batch, 1]), ("place", [batch, 1])], steps,
                [("all", np.arange(size)), ("zero", np.zeros(1, np.float32))])


def counted(width):
    """A Loop that data ends: numbers grow until the first one of all is large."""
    body = helper.make_graph([node("Mul", "s factor", "s2"), node("ReduceMax", "s2", "most", keepdims=0), node("Less", "most limit", "again")],
                             "body", [port("i", [], onnx.TensorProto.INT64), port("c", [], onnx.TensorProto.BOOL), port("s", [width])],
                             [port("again", [], onnx.TensorProto.BOOL), port("s2", [width])])
    loop = helper.make_node("Loop", ["count", "go", "s0"], ["s"], name="scan", body=body)
    return whole([node("Abs", "x", "s0"), loop], [port("x", [width])], [port("s", [width])],
                 [("go", np.array(True)), ("count", np.array(1000)), ("factor", np.float32(1.25)), ("limit", np.float32(100))])


def retyped(model, kinds):
    """Names of the body get other types; so do those of what they are at the Scan."""
    body = next(a.g for a in model.graph.node[0].attribute if a.name == "body")
    for value in [*body.input, *body.output, *model.graph.input, *model.graph.output]:
        name = value.name if value.name in kinds else value.name.rpartition("_")[0]
        if name in kinds:
            value.type.tensor_type.elem_type = kinds[name]
    return model


def whole_numbers(batch, steps, width):
    made = scan([node("Cast", "x", "number", to=onnx.TensorProto.INT32), node("Add", "a number", "sum"), node("Mod", "sum seven", "a2"),
                 node("CumSum", "a2 axis", "running"), node("Cast", "running", "y", to=FLOAT)],
                [("a", [batch, width])], [("x", [batch, width])], [("a2", [batch, width]), ("y", [batch, width])], steps,
                [("seven", np.array([7], np.int32)), ("axis", np.array(1))])
    return retyped(made, {"a": onnx.TensorProto.INT32, "a2": onnx.TensorProto.INT32})


def flags(batch, steps, width):
    made = scan([node("Less", "x half", "is"), node("Xor", "a is", "a2"), node("Cast", "a2", "y", to=FLOAT), node("ReduceSum", "y axis", "n", keepdims=1)],
                [("a", [batch, width])], [("x", [batch, width])], [("a2", [batch, width]), ("y", [batch, width]), ("n", [batch, 1])], steps,
                [("half", np.array(0.5, np.float32)), ("axis", np.array([1]))])
    return retyped(made, {"a": onnx.TensorProto.BOOL, "a2": onnx.TensorProto.BOOL})


def queue(batch, steps, width):
    """The last four inputs, as a convolution over time keeps them."""
    return scan([node("Slice", "q one four axis", "rest"), node("Unsqueeze", "x axis", "new"), node("Concat", "rest new", "q2", axis=1),
                 node("ReduceMean", "q2 axis", "y", keepdims=0)],
                [("q", [batch, 4, width])], [("x", [batch, width])], [("q2", [batch, 4, width]), ("y", [batch, width])], steps,
                [("one", np.array([1])), ("four", np.array([4])), ("axis", np.array([1]))])


def normed(batch, steps, width):
    """A softmax, a GEMM and a norm of the state."""
    weight = np.random.default_rng(1).standard_normal((width, width)).astype(np.float32) / width
    return scan([node("Add", "a x", "t"), node("Softmax", "t", "p", axis=-1), node("MatMul", "p w", "a2"),
                 node("LayerNormalization", "a2 gamma", "y", axis=-1)],
                [("a", [batch, width])], [("x", [batch, width])], [("a2", [batch, width]), ("y", [batch, width])], steps,
                [("w", weight), ("gamma", np.ones(width, np.float32))])


def replaced(batch, steps, width):
    """The least element of a row is replaced by what comes."""
    made = scan([node("ArgMin", "a", "at", axis=1, keepdims=1), node("ScatterElements", "a at x", "a2", axis=1), node("Identity", "at", "place")],
                [("a", [batch, width])], [("x", [batch, 1])], [("a2", [batch, width]), ("place", [batch, 1])], steps)
    return retyped(made, {"place": onnx.TensorProto.INT64})


def diagonal(batch, steps, size):
    """One index for two dims of the state."""
    return scan([node("Mul", "a eye", "d"), node("ReduceSum", "d last", "diagonal", keepdims=0), node("Unsqueeze", "diagonal middle", "row"),
                 node("Add", "a x", "t"), node("Sub", "t row", "u"), node("Mul", "u half", "a2")],
                [("a", [batch, size, size])], [("x", [batch, size, size])], [("a2", [batch, size, size]), ("diagonal", [batch, size])], steps,
                [("eye", np.eye(size, dtype=np.float32)), ("last", np.array([2])), ("middle", np.array([1])), ("half", np.array(0.5, np.float32))])


def columns(batch, steps, width):
    """GEMMs with a weight and with the state, whose columns are then split into several dims."""
    weight = np.random.default_rng(2).standard_normal((width, 12)).astype(np.float32) / width
    return scan([node("MatMul", "x w", "p"), node("Reshape", "p three", "y"), node("MatMul", "x s", "q"), node("Reshape", "q three", "z"),
                 node("Mul", "s half", "t"), node("MatMul", "turned p", "r"), node("Add", "t r", "u"), node("Tanh", "u", "s2")],
                [("s", [width, 12])], [("x", [batch, width]), ("turned", [width, batch])],
                [("s2", [width, 12]), ("y", [batch, 4, 3]), ("z", [batch, 4, 3])], steps,
                [("w", weight), ("half", np.array(0.5, np.float32)), ("three", np.array([0, 4, 3]))])


def nested(width):
    """A loop in a loop: the inner one is a kernel of each step."""
    whole_number, flag = onnx.TensorProto.INT64, onnx.TensorProto.BOOL
    inner = helper.make_graph([node("Add", "v tenth", "v1"), node("Mul", "v1 gate", "v2"), node("Identity", "go_on", "again")], "inner",
                              [port("j", [], whole_number), port("go_on", [], flag), port("v", [width])], [port("again", [], flag), port("v2", [width])])
    body = helper.make_graph([node("Sigmoid", "x", "gate"), helper.make_node("Loop", ["thirty", "true", "s"], ["s1"], body=inner), node("Tanh", "s1", "s2"),
                              node("Identity", "s2", "y")], "body", [port("s", [width]), port("x", [width])], [port("s2", [width]), port("y", [width])])
    return whole([helper.make_node("Scan", ["s0", "xs"], ["s", "ys"], name="scan", body=body, num_scan_inputs=1)],
                 [port("s0", [width]), port("xs", [40, width])], [port("s", [width]), port("ys", [40, width])],
                 [("thirty", np.array(30)), ("true", np.array(True)), ("tenth", np.array(0.1, np.float32))])
