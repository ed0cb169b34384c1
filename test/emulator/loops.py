#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops whose state stays on the chip, on the emulator.   loops.py KPC DRIVER TARGET FOLDER [NAME…]

Each is compared with the loops that the host runs. Then the launches of some larger models are counted.
"""

import pathlib
import re
import subprocess
import sys

import emulated
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


def cases():
    Case = emulated.Case
    exact = ("--precision", "fp32")
    rules = [Case(rule, attention(rule, 2, 7, 4, 2, 32, 24), shows="loop ", options=exact) for rule in ("linear", "gated", "delta", "gated_delta")]
    free = attention("gated_delta", "batch", "steps", 4, 4, 16, 20)
    made = [Case("mamba", mamba(2, 70, 24, 16), shows="loop "),
            Case("mamba_reverse", mamba(1, 66, 37, 5, reverse=True), shows="loop "),
            Case("mamba_free", mamba("batch", "steps", 40, 16), ranges={"batch": "1..8:opt=2", "steps": "1..512:opt=64"},
                 sizes={"batch": 3, "steps": 33}, shows="loop "),
            Case("mamba_half", mamba(2, 70, 24, 16), options=("--precision", "fp16"), shows="loop "),
            *rules,
            Case("free", free, ranges={"batch": "1..8:opt=2", "steps": "1..512:opt=64"}, sizes={"batch": 1, "steps": 1}, shows="loop ", options=exact),
            Case("attention_half", attention("gated_delta", 2, 7, 4, 2, 32, 24), shows="loop ", options=("--precision", "fp16")),
            Case("attention_bf16", attention("delta", 1, 9, 2, 2, 24, 40), shows="loop ", options=("--precision", "bf16")),
            Case("turned_half", turned(6, 70, 12), shows="loop ", options=("--precision", "fp16")),
            Case("no_steps", mamba("batch", "steps", 8, 4), ranges={"batch": "0..8:opt=2", "steps": "0..512:opt=64"},
                 sizes={"batch": 2, "steps": 0}, shows="loop "),
            Case("no_batch", mamba("batch", "steps", 8, 4), ranges={"batch": "0..8:opt=2", "steps": "0..512:opt=64"},
                 sizes={"batch": 0, "steps": 3}, shows="loop "),
            Case("shifts", shifts(5, 70, 33), shows="loop "),
            Case("turned", turned(6, 70, 12), shows="loop ", options=exact),
            Case("picked", picked(3, 70, 19), shows="loop "),
            # Sums and searches of whole blocks.
            Case("picked_long", picked(3, 20, 1000), shows="loop "),
            Case("shifts_long", shifts(2, 20, 3000), shows="loop "),
            Case("boxes_many", boxes(1, 2, 700), shows="loop "),
            Case("counted", counted(50), shows="loop "),
            Case("delta_net", delta_net(2, 20, 2, 4, 16, 24), shows="loop ", options=exact),
            Case("det", single("Det", [("x", [7, 19, 19])], [("y", [7])]), shows="loop "),
            Case("inverse", single("Inverse", [("x", [5, 21, 21])], [("y", [5, 21, 21])], domain="com.microsoft"), shows="loop "),
            Case("boxes", boxes(2, 3, 60), shows="loop ")]
    return made


# The most launches of a run.
LAUNCHES = {"mamba": (mamba(1, 1024, 1536, 16), 2), "linear": (attention("linear", 1, 1024, 16, 16, 128, 128), 2),
            "gated_delta": (attention("gated_delta", 1, 1024, 16, 16, 128, 128), 5), "delta_net": (delta_net(1, 512, 8, 16, 64, 64), 8),
            "det": (single("Det", [("x", [64, 32, 32])], [("y", [64])]), 1),
            "inverse": (single("Inverse", [("x", [16, 48, 48])], [("y", [16, 48, 48])], domain="com.microsoft"), 3),
            "boxes": (boxes(1, 80, 1000), 16)}


def many_launches(kpc, driver, target, folder):
    """How many models launch more kernels than are said here; nothing runs."""
    runner, wrong = emulated.Emulated(kpc, driver, target, pathlib.Path(folder) / "launches"), 0
    for name, (model, most) in LAUNCHES.items():
        artifact = runner.compile(emulated.Case(name, model))[1]
        shown = subprocess.run([kpc, "inspect", artifact], check=True, capture_output=True, text=True).stdout
        lines = [re.split(r" {2,}", line.strip()) for line in emulated.kernels(shown)]
        found = sum(int(line[3]) for line in lines if len(line) > 3 and line[3].isdigit())
        # A kernel of a step counts once there.
        if not 0 < found <= most or "loops and branches of" in shown:
            wrong += 1
            print(f"WRONG: {name} has {found} launches or steps, expected at most {most} launches:\n{shown}")
    return wrong


def main():
    chosen, names = cases(), sys.argv[5:]
    if names:
        chosen = [case for case in chosen if case.name in names]
    wrong = emulated.main(*sys.argv[1:5], chosen, "loops", every=1)
    many = 0
    if not names and sys.argv[3] != "portable":
        many = many_launches(*sys.argv[1:5])
        print(f"{len(LAUNCHES)} models, {many} with too many launches")
    return 1 if wrong or many else 0


if __name__ == "__main__":
    sys.exit(main())
