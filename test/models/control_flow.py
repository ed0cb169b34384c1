#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops, scans, branches and recurrent layers, against onnxruntime.

    control_flow.py KPC FOLDER                      on the host
    control_flow.py KPC FOLDER DRIVER TARGET        on the emulator, or with DRIVER = - on the first GPU
    … [--only NAME]

Ends with 77 where onnx or onnxruntime is not installed.
"""

import os
import pathlib
import shutil
import subprocess
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(77)

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
MOST_ERROR = 2e-5  # RMS, of the reference's
RANDOM = np.random.default_rng(5)


def value(name, dims, element=FLOAT):
    return helper.make_tensor_value_info(name, element, dims)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name=f"{op}_{outputs[0]}", **attributes)


def model(nodes, inputs, outputs, weights=()):
    graph = helper.make_graph(nodes, "control", inputs, outputs, list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def normal(*dims):
    return RANDOM.normal(size=dims).astype(np.float32)


def loop_body(nodes, carried, outputs):
    """A body that never stops: `carried` are (name, dims), `outputs` those that it yields."""
    inputs = [value("iter", [], INT64), value("go", [], BOOL)] + [value(name, dims) for name, dims in carried]
    keep = node("Identity", ["go"], ["go_on"])
    return helper.make_graph(nodes + [keep], "body", inputs, [value("go_on", [], BOOL)] +
                             [value(name, dims) for name, dims in outputs])


def long_loop(count=300, width=8):
    """A product in each of 300 iterations; the last value and all of them."""
    body = loop_body([node("MatMul", ["h", "w"], ["p"]), node("Add", ["p", "b"], ["s"]), node("Tanh", ["s"], ["n"]),
                      node("Identity", ["n"], ["seen"])],
                     [("h", [3, width])], [("n", [3, width]), ("seen", [3, width])])
    return model([node("Loop", ["count", "", "x"], ["last", "all"], body=body)], [value("x", [3, width])],
                 [value("last", [3, width]), value("all", [count, 3, width])],
                 [constant("count", np.int64(count)), constant("w", normal(width, width) / 2),
                  constant("b", normal(width) / 4)]), [{"x": normal(3, width)}]


def counted():
    """The iteration's number as a value and as a place; what is collected is no multiple of a vector."""
    body = loop_body([node("Gather", ["rows", "iter"], ["row"], axis=0), node("Cast", ["iter"], ["f"], to=FLOAT),
                      node("Mul", ["row", "f"], ["scaled"]), node("Mul", ["a", "tenth"], ["old"]),
                      node("Add", ["old", "scaled"], ["n"])],
                     [("a", [3])], [("n", [3]), ("scaled", [3])])
    return model([node("Loop", ["count", "", "a0"], ["last", "all"], body=body)],
                 [value("rows", [40, 3]), value("a0", [3])], [value("last", [3]), value("all", [40, 3])],
                 [constant("count", np.int64(40)), constant("tenth", np.float32(0.1))]), \
        [{"rows": normal(40, 3), "a0": normal(3)}]


def swapped():
    """Carried values that change places, one that stays, and one that is yielded twice."""
    body = loop_body([node("Add", ["a", "c"], ["sum"]), node("Mul", ["sum", "half"], ["n"]),
                      node("Identity", ["b"], ["to_a"]), node("Identity", ["c"], ["to_c"]),
                      node("Identity", ["n"], ["again"])],
                     [("a", [5]), ("b", [5]), ("c", [5])],
                     [("to_a", [5]), ("n", [5]), ("to_c", [5]), ("again", [5])])
    return model([node("Loop", ["count", "", "x", "y", "z"], ["p", "q", "r", "all"], body=body)],
                 [value(name, [5]) for name in "xyz"],
                 [value("p", [5]), value("q", [5]), value("r", [5]), value("all", [21, 5])],
                 [constant("count", np.int64(21)), constant("half", np.float32(0.5))]), \
        [{name: normal(5) for name in "xyz"}]


def sized():
    """As many iterations as the input is long, down to none."""
    body = loop_body([node("Gather", ["x", "iter"], ["row"], axis=0), node("Add", ["row", "a"], ["s"]),
                      node("Sigmoid", ["s"], ["n"]), node("Identity", ["n"], ["seen"])],
                     [("a", [4])], [("n", [4]), ("seen", [4])])
    return model([node("Shape", ["x"], ["dims"], start=0, end=1), node("Squeeze", ["dims"], ["count"]),
                  node("Loop", ["count", "", "a0"], ["last", "all"], body=body)],
                 [value("x", ["steps", 4]), value("a0", [4])], [value("last", [4]), value("all", ["steps", 4])]), \
        [{"x": normal(steps, 4), "a0": normal(4)} for steps in (1, 18, 33)]


def nested():
    """A scan inside a loop, over what the loop carries."""
    inner = helper.make_graph([node("Mul", ["s", "w"], ["t"]), node("Add", ["t", "r"], ["u"]),
                               node("Identity", ["u"], ["v"])], "inner", [value("s", [4]), value("r", [4])],
                              [value("u", [4]), value("v", [4])])
    body = loop_body([node("Scan", ["zero", "m"], ["end", "rows"], body=inner, num_scan_inputs=1),
                      node("Tanh", ["rows"], ["n"]), node("Identity", ["end"], ["seen"])],
                     [("m", [17, 4])], [("n", [17, 4]), ("seen", [4])])
    return model([node("Loop", ["count", "", "x"], ["last", "all"], body=body)], [value("x", [17, 4])],
                 [value("last", [17, 4]), value("all", [19, 4])],
                 [constant("count", np.int64(19)), constant("zero", np.zeros(4, np.float32)),
                  constant("w", normal(4) / 2)]), [{"x": normal(17, 4)}]


def scan(in_axis, in_turned, out_axis, out_turned):
    dims = [2, 3]
    dims.insert(in_axis, 25)
    body = helper.make_graph([node("Mul", ["s", "w"], ["t"]), node("Add", ["t", "x"], ["n"]), node("Exp", ["n"], ["e"]),
                              node("Identity", ["n"], ["k"])], "body", [value("s", [2, 3]), value("x", [2, 3])],
                             [value("n", [2, 3]), value("k", [2, 3]), value("e", [2, 3])])
    return model([node("Scan", ["s0", "xs"], ["last", "ks", "es"], body=body, num_scan_inputs=1,
                       scan_input_axes=[in_axis], scan_input_directions=[in_turned],
                       scan_output_axes=[out_axis, 0], scan_output_directions=[out_turned, 0])],
                 [value("s0", [2, 3]), value("xs", dims)],
                 [value("last", [2, 3]), value("ks", None), value("es", None)],
                 [constant("w", normal(2, 3) / 3)]), [{"s0": normal(2, 3), "xs": normal(*dims) / 4}]


def branches(in_loop=False):
    """One of two products, as a sum says; the other branch also hands an outer value on."""
    then = helper.make_graph([node("MatMul", ["h", "w"], ["then_p"]), node("Tanh", ["then_p"], ["then_y"]),
                              node("Identity", ["h"], ["then_z"])], "then", [],
                             [value("then_y", [4, 8]), value("then_z", [4, 8])])
    other = helper.make_graph([node("MatMul", ["h", "v"], ["else_p"]), node("Add", ["else_p", "h"], ["else_y"]),
                               node("Softmax", ["else_y"], ["else_z"])], "else", [],
                              [value("else_y", [4, 8]), value("else_z", [4, 8])])
    choice = [node("ReduceSum", ["h"], ["sum"], keepdims=0), node("Greater", ["sum", "zero"], ["c"]),
              node("If", ["c"], ["y", "z"], then_branch=then, else_branch=other)]
    weights = [constant("w", normal(8, 8) / 3), constant("v", normal(8, 8) / 3), constant("zero", np.float32(0))]
    feeds = [{"x": normal(4, 8) + shift} for shift in (-1, 1)]
    if not in_loop:
        return model([node("Identity", ["x"], ["h"]), *choice, node("Neg", ["z"], ["n"])], [value("x", [4, 8])],
                     [value("y", [4, 8]), value("n", [4, 8])], weights), feeds
    body = loop_body(choice + [node("Sub", ["y", "mean"], ["next"]), node("Identity", ["z"], ["seen"])],
                     [("h", [4, 8])], [("next", [4, 8]), ("seen", [4, 8])])
    return model([node("Loop", ["count", "", "x"], ["last", "all"], body=body)], [value("x", [4, 8])],
                 [value("last", [4, 8]), value("all", [20, 4, 8])],
                 weights + [constant("count", np.int64(20)), constant("mean", np.float32(0.02))]), feeds


def recurrent(op, gates, direction="forward", lengths=False, free=False, steps=40, hidden=8, **attributes):
    ways, width, batch = 2 if direction == "bidirectional" else 1, 5, 3
    given = ["x", "w", "r", "b", "lengths" if lengths else "", "h0"] + (["c0"] if op == "LSTM" else [])
    results = ["y", "h"] + (["c"] if op == "LSTM" else [])
    extra = ({"linear_before_reset": 1} if op == "GRU" else {}) | attributes
    weights = [constant("w", normal(ways, gates * hidden, width) / 2), constant("r", normal(ways, gates * hidden, hidden) / 3),
               constant("b", normal(ways, 2 * gates * hidden) / 4)]
    inputs = [value("x", ["steps" if free else steps, batch, width]), value("h0", [ways, batch, hidden])]
    feed = {"x": normal(steps, batch, width), "h0": normal(ways, batch, hidden)}
    if op == "LSTM":
        inputs.append(value("c0", [ways, batch, hidden]))
        feed["c0"] = normal(ways, batch, hidden)
    if lengths:
        inputs.append(value("lengths", [batch], TensorProto.INT32))
        feed["lengths"] = np.array([steps, 1, steps // 2], np.int32)
    feeds = [feed] + ([dict(feed, x=normal(7, batch, width))] if free else [])
    return model([node(op, given, results, hidden_size=hidden, direction=direction, **extra)], inputs,
                 [value(name, None) for name in results], weights), feeds


CASES = {
    "long_loop": long_loop, "counted": counted, "swapped": swapped, "sized": sized, "nested": nested,
    "scan": lambda: scan(0, 0, 0, 0), "scan_axes": lambda: scan(1, 0, 2, 0), "scan_turned": lambda: scan(2, 1, 1, 1),
    "branches": branches, "branches_in_loop": lambda: branches(True),
    "rnn": lambda: recurrent("RNN", 1), "gru": lambda: recurrent("GRU", 3, "reverse", lengths=True),
    "lstm": lambda: recurrent("LSTM", 4, "bidirectional"), "lstm_lengths": lambda: recurrent("LSTM", 4, lengths=True),
    "lstm_free": lambda: recurrent("LSTM", 4, free=True),
    "lstm_long": lambda: recurrent("LSTM", 4, steps=700),
    "gru_state_reset": lambda: recurrent("GRU", 3, "bidirectional", lengths=True, linear_before_reset=0),
    "lstm_coupled": lambda: recurrent("LSTM", 4, "bidirectional", input_forget=1),
    "lstm_functions": lambda: recurrent("LSTM", 4, "bidirectional", clip=0.9, activations=[
        "HardSigmoid", "Softsign", "ScaledTanh", "Sigmoid", "Elu", "Affine"], activation_alpha=[0.3, 0.8, 0.7, 0.4],
        activation_beta=[0.4, 0.9, 0.05]),
}
# Nightly.
MORE = {
    "gru_short": lambda: recurrent("GRU", 3, steps=5, linear_before_reset=0, clip=0.5),
    "lstm_clipped": lambda: recurrent("LSTM", 4, clip=0.3),
    "gru_functions": lambda: recurrent("GRU", 3, "reverse", activations=["HardSigmoid", "LeakyRelu"], activation_alpha=[0.25, 0.1],
                                       activation_beta=[0.45]),
    "lstm_small_letters": lambda: recurrent("LSTM", 4, activations=["sigmoid", "tanh", "tanh"]),
} | {
    f"rnn_{name.lower()}": lambda name=name, alpha=alpha, beta=beta: recurrent(
        "RNN", 1, steps=20, activations=[name], **({"activation_alpha": [alpha]} if alpha else {}),
        **({"activation_beta": [beta]} if beta else {}))
    for name, alpha, beta in (("Affine", 0.2, 0.1), ("LeakyRelu", 0.0, 0.0), ("ThresholdedRelu", 0.3, 0.0), ("ScaledTanh", 0.7, 1.2),
                              ("HardSigmoid", 0.0, 0.0), ("Elu", 0.5, 0.0), ("Softsign", 0.0, 0.0), ("Softplus", 0.0, 0.0))
}


def difference(out, reference):
    if out.shape != reference.shape or out.dtype != reference.dtype:
        return f"is {out.dtype}{list(out.shape)}, not {reference.dtype}{list(reference.shape)}"
    scale = np.sqrt(np.mean(np.square(reference.astype(np.float64)))) if reference.size else 0
    error = np.sqrt(np.mean(np.square(out.astype(np.float64) - reference))) if reference.size else 0
    return "" if error <= MOST_ERROR * max(scale, 1e-3) else f"has an RMS error of {error / max(scale, 1e-3):.2e}"


def call(command, environment=None):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment, timeout=300)
    if done.returncode != 0:
        return "$ " + " ".join(str(part) for part in command) + "\n" + done.stdout + done.stderr
    return ""


def check(name, kpc, folder, arch, device, environment):
    """As one kernel where kpc makes one of a loop, and step by step."""
    for ways in ([], ["--no-loop-kernels"]) if arch != "host" else ([],):
        if problem := check_way(name, kpc, folder, arch, device, environment, ways):
            return " ".join([*ways, problem])
    return ""


def check_way(name, kpc, folder, arch, device, environment, ways):
    made, feeds = (CASES | MORE)[name]()
    folder.mkdir(parents=True, exist_ok=True)
    source, artifact = folder / "model.onnx", folder / "model.kpc"
    onnx.save(made, source)
    # Of what is as long as the caller wants, a size to choose schedules for.
    free = any(dim.dim_param for given in made.graph.input for dim in given.type.tensor_type.shape.dim)
    dims = ["--dim", "steps=0..1024:opt=32"] if free else []
    if problem := call([kpc, "compile", source, "--arch", arch, "-O0", "--precision", "fp32", *dims, *ways, "-o", artifact, "--no-cache", "--quiet", "--jobs", "0"]):
        return problem
    session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
    for feed in feeds:
        out = folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        given = []
        for key, array in feed.items():
            np.save(folder / f"{key}.npy", array)
            given += ["--input", f"{key}={folder / key}.npy"]
        if problem := call([kpc, "run", artifact, *given, "--output-dir", out, "--device", device], environment):
            return problem
        for output, reference in zip(session.get_outputs(), session.run(None, feed)):
            if problem := difference(np.load(out / f"{output.name}.npy"), reference):
                return f"output '{output.name}' {problem}"
    return ""


def main():
    arguments = sys.argv[1:]
    names = list(CASES)
    if "--more" in arguments:
        names = list(MORE)
        arguments.remove("--more")
    if "--only" in arguments:
        at = arguments.index("--only")
        names = arguments[at + 1].split(",")
        del arguments[at:at + 2]
    kpc, folder, driver, target = arguments + ["", "host"][len(arguments) - 2:] if len(arguments) < 4 else arguments
    environment = dict(os.environ)
    if driver not in ("", "-"):
        environment |= {"KPC_CUDA_DRIVER": driver, "KPC_EMULATE_TARGET": target}
    failed = 0
    for name in names:
        problem = check(name, kpc, pathlib.Path(folder) / name, target, "cuda:0" if driver else "host", environment)
        if problem:
            failed += 1
            print(f"WRONG: {name}: {problem}")
    print(f"{len(names)} models, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
