#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What onnxruntime accepts and runs, kpc compiles, and gives the same: sloppy files, one fault in each.

    python3 tolerated.py --kpc build/dev/bin/kpc --work-dir DIR [--only REGEX] 

A case that onnxruntime refuses is an error of this script.
"""

import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys

SKIPPED = 77

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(SKIPPED)

from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
value, node = helper.make_tensor_value_info, helper.make_node
X = np.arange(12, dtype=np.float32).reshape(3, 4) / 7 - 0.6


def constant(name, array, kind=None):
    return numpy_helper.from_array(np.asarray(array, kind), name)


def model(nodes, inputs=None, outputs=None, weights=(), infos=(), opset=17, opsets=None, ir=8, name="g"):
    inputs = [value("x", FLOAT, ["n", 4])] if inputs is None else inputs
    outputs = [value("y", FLOAT, None)] if outputs is None else outputs
    graph = helper.make_graph(nodes, name, inputs, outputs, list(weights), value_info=list(infos))
    return helper.make_model(graph, opset_imports=opsets or [helper.make_opsetid("", opset)], ir_version=ir)


def relu(**options):
    return model([node("Relu", ["x"], ["y"], name="r")], **options)


def chain(*names):
    """Two nodes with the names that are given."""
    return [node("Relu", ["x"], ["h"], name=names[0]), node("Neg", ["h"], ["y"], name=names[1])]


def with_info(kind, dims, nodes=None):
    return model(nodes or chain("a", "b"), infos=[value("h", kind, dims)])


def changed(made, change):
    change(made)
    return made


def branch(name, nodes, out, dims=None):
    return helper.make_graph(nodes, name, [], [value(out, FLOAT, dims)])


def choose(condition_dims):
    then, other = branch("t", [node("Relu", ["x"], ["t"])], "t"), branch("e", [node("Neg", ["x"], ["e"])], "e")
    return model([node("If", ["c"], ["y"], then_branch=then, else_branch=other)], inputs=[value("x", FLOAT, ["n", 4]), value("c", BOOL, condition_dims)])


def counted(dims):
    body = helper.make_graph([node("Add", ["h", "x"], ["next"]), node("Identity", ["go"], ["again"])], "b",
                             [value("i", INT64, []), value("go", BOOL, []), value("h", FLOAT, None)], [value("again", BOOL, []), value("next", FLOAT, None)])
    return model([node("Loop", ["m", "", "x"], ["y"], body=body)], weights=[constant("m", np.full(dims, 3, np.int64))])


def shadowed():
    """The branch names a value as the graph around it does."""
    then = branch("t", [node("Neg", ["x"], ["h"]), node("Abs", ["h"], ["t"])], "t")
    other = branch("e", [node("Identity", ["x"], ["e"])], "e")
    return model([node("ReduceSum", ["x"], ["s"], keepdims=0), node("Greater", ["s", "zero"], ["c"]),
                  node("If", ["c"], ["y"], then_branch=then, else_branch=other)], weights=[constant("zero", np.float32(0))])


def one(op, *weights, opset=17, **attributes):
    """A node of x and weights."""
    names = [f"w{i}" if w is not None else "" for i, w in enumerate(weights)]
    tensors = [constant(f"w{i}", w) for i, w in enumerate(weights) if w is not None]
    return model([node(op, ["x", *names], ["y"], **attributes)], weights=tensors, opset=opset)


def cases():
    i64, f32 = (lambda *v: np.array(v, np.int64)), np.float32
    yield "nodes without names", model(chain("", ""))
    yield "nodes in wrong order", model(list(reversed(chain("a", "b"))))
    yield "the domain is spelled out", model([node("Relu", ["x"], ["y"], domain="ai.onnx")])
    yield "opset listed twice", relu(opsets=[helper.make_opsetid("", 13), helper.make_opsetid("", 17)])
    yield "opset listed twice, once as ai.onnx", relu(opsets=[helper.make_opsetid("ai.onnx", 17), helper.make_opsetid("", 17)])
    yield "opset of a domain nobody knows", relu(opsets=[helper.make_opsetid("", 17), helper.make_opsetid("org.nobody", 3)])
    yield "no opset of com.microsoft", model([node("Gelu", ["x"], ["y"], domain="com.microsoft")])
    yield "old IR", relu(ir=3)
    yield "a graph without a name", changed(relu(), lambda m: m.graph.ClearField("name"))
    yield "value_info of another size", with_info(FLOAT, ["n", 5])
    yield "value_info of another rank", with_info(FLOAT, [3])
    yield "value_info of an older name", with_info(FLOAT, ["batch", "width"])
    yield "value_info twice", model(chain("a", "b"), infos=[value("h", FLOAT, ["n", 4]), value("h", FLOAT, [None, 4])])
    yield "value_info of nothing", model(chain("a", "b"), infos=[value("other", FLOAT, [7])])
    yield "an output of another size", relu(outputs=[value("y", FLOAT, ["n", 9])])
    yield "an output of another rank", relu(outputs=[value("y", FLOAT, ["n"])])
    yield "an output without a type", relu(outputs=[onnx.ValueInfoProto(name="y")])
    yield "an output that is an input", model(chain("a", "b"), outputs=[value("y", FLOAT, None), value("x", FLOAT, ["n", 4])])
    yield "an output that is a weight", model(chain("a", "b"), outputs=[value("y", FLOAT, None), value("w", FLOAT, [2])], weights=[constant("w", f32([1, 2]))])
    yield "an output that nodes inside read", model(chain("a", "b"), outputs=[value("y", FLOAT, None), value("h", FLOAT, ["n", 4])])
    yield "a dim of -1", relu(inputs=[value("x", FLOAT, [-1, 4])])
    yield "a dim that is ?", relu(inputs=[value("x", FLOAT, ["?", 4])])
    yield "a dim with an empty name", relu(inputs=[value("x", FLOAT, ["", 4])])
    yield "dims with blanks in their names", relu(inputs=[value("x", FLOAT, ["batch size", 4])])
    yield "an input that nothing reads", model(chain("a", "b"), inputs=[value("x", FLOAT, ["n", 4]), value("z", FLOAT, ["k", 2])])
    yield "a weight that is an input", model([node("Add", ["x", "w"], ["y"])], inputs=[value("x", FLOAT, ["n", 4]), value("w", FLOAT, [4])],
                                             weights=[constant("w", f32([1, 2, 3, 4]))])
    yield "a weight that nothing reads", model(chain("a", "b"), weights=[constant("w", f32([1, 2]))])
    yield "weights twice under one name", model([node("Add", ["x", "w"], ["y"])], weights=[constant("w", f32([1, 2, 3, 4])), constant("w", f32([1, 2, 3, 4]))])
    yield "optional inputs that are empty", one("Clip", None, f32(0.5))
    yield "optional inputs at the end that are empty", model([node("Clip", ["x", "", ""], ["y"])])
    yield "optional outputs that are empty", model([node("Dropout", ["x"], ["y", ""])])
    yield "an output of a node that nothing reads", model([node("Split", ["x"], ["y", "z"], axis=1)], opset=13)
    yield "nodes that nothing reads", model(chain("a", "b") + [node("Abs", ["x"], ["z"])])
    yield "doc strings and metadata", changed(relu(), lambda m: (setattr(m, "doc_string", "d"), m.metadata_props.add(key="k", value="v")))
    yield "a condition of one element", choose([1])
    yield "a scalar condition", choose([])
    yield "a trip count of one element", counted([1])
    yield "a scalar trip count", counted([])
    yield "a name of the outside in a branch", shadowed()
    yield "bounds of Clip that are scalars", one("Clip", f32(0), f32(0.5))
    yield "axes that are negative", model([node("Unsqueeze", ["x", "a"], ["h"]), node("Squeeze", ["h", "a"], ["y"])], weights=[constant("a", i64(-1))])
    yield "bounds of Slice in 32 bits", one("Slice", np.array([0], np.int32), np.array([1000000000], np.int32), np.array([1], np.int32))
    yield "an end of Slice beyond all", one("Slice", i64(1), i64(9223372036854775807), i64(0), i64(1))
    yield "a start of Slice beyond all", one("Slice", i64(-1), i64(-9223372036854775807), i64(1), i64(-1))
    yield "Slice of nothing", one("Slice", i64(2), i64(2), i64(1))
    yield "Pad by a vector of one", one("Pad", i64(0, 1, 0, 2), f32([1.5]))
    yield "Pad by a negative number", one("Pad", i64(0, -1, 0, -1))
    yield "TopK of a vector of one", model([node("TopK", ["x", "k"], ["y", "i"])], weights=[constant("k", i64(3))])
    yield "Gather of negative numbers", one("Gather", i64(-1, 0), axis=1)
    first = [node("Slice", ["x", "zero", "one", "zero"], ["r"])]
    bounds = [constant("zero", i64(0)), constant("one", i64(1))]
    for op in ("Add", "Pow", "Max", "PRelu"):
        yield f"{op} of the first row and all", model(first + [node("Abs", ["x"], ["a"]), node(op, ["a", "r"], ["y"])], weights=bounds)
    yield "Where by the first row", model(first + [node("Greater", ["r", "x"], ["c"]), node("Where", ["c", "r", "x"], ["y"])], weights=bounds)
    yield "MatMul of the first batch and all", model([node("Unsqueeze", ["x", "one"], ["h"]), node("Slice", ["h", "zero", "one", "zero"], ["r"]),
                                                      node("Transpose", ["r"], ["t"], perm=[0, 2, 1]), node("MatMul", ["h", "t"], ["y"])], weights=bounds)
    yield "Concat of one", model([node("Concat", ["x"], ["y"], axis=0)])
    yield "Sum of one", model([node("Sum", ["x"], ["y"])])
    yield "Expand to less", one("Expand", i64(1, 1))
    yield "Expand to another rank", one("Expand", i64(2, 1, 1))
    yield "Reshape with a zero", one("Reshape", i64(0, 2, -1))
    yield "Reshape of the same", one("Reshape", i64(-1, 4))
    yield "Transpose without an order", model([node("Transpose", ["x"], ["y"])])
    yield "Dropout with a ratio", one("Dropout", f32(0.5))
    yield "Dropout with a mode", one("Dropout", f32(0.5), np.bool_(False))
    yield "Gemm with a scalar", model([node("Gemm", ["x", "w", "c"], ["y"])], weights=[constant("w", np.ones((4, 2), f32)), constant("c", f32(0.5))])
    yield "Gemm without C", model([node("Gemm", ["x", "w"], ["y"])], weights=[constant("w", np.ones((4, 2), f32))])
    yield "MatMul of a vector", model([node("MatMul", ["x", "w"], ["y"])], weights=[constant("w", np.ones(4, f32))])
    yield "BatchNormalization of old", model([node("BatchNormalization", ["x", "w", "w", "w", "w"], ["y"], spatial=1)], weights=[constant("w", np.ones(4, f32))], opset=7)
    yield "Upsample of old", model([node("Unsqueeze", ["x"], ["h"], axes=[0, 1]), node("Upsample", ["h", "s"], ["y"], mode="nearest")],
                                   weights=[constant("s", f32([1, 1, 2, 2]))], opset=9)
    yield "Resize with a region nobody needs", model([node("Unsqueeze", ["x", "a"], ["h"]), node("Resize", ["h", "r", "s"], ["y"], mode="nearest")],
                                                     weights=[constant("a", i64(0, 1)), constant("r", f32([0, 0, 0, 0, 1, 1, 1, 1])), constant("s", f32([1, 1, 2, 2]))])
    yield "Softmax of old", one("Softmax", axis=1, opset=11)
    yield "ReduceSum without axes", model([node("ReduceSum", ["x"], ["y"], keepdims=0)])
    yield "ReduceSum over nothing", one("ReduceSum", np.zeros(0, np.int64), noop_with_empty_axes=1, opset=13)
    yield "Cast to the same", one("Cast", to=FLOAT)
    yield "ConstantOfShape without a value", model([node("Shape", ["x"], ["s"]), node("ConstantOfShape", ["s"], ["z"]), node("Add", ["x", "z"], ["y"])])
    yield "ConstantOfShape of nothing", model([node("ConstantOfShape", ["s"], ["z"]), node("Add", ["x", "z"], ["y"])], weights=[constant("s", np.zeros(0, np.int64))])
    yield "LayerNormalization before its opset", model([node("LayerNormalization", ["x", "w"], ["y"])], weights=[constant("w", np.ones(4, f32))], opset=11)
    yield "SimplifiedLayerNormalization", model([node("SimplifiedLayerNormalization", ["x", "w"], ["y"])], weights=[constant("w", np.ones(4, f32))])
    for op, options in (("ScaledTanh", {"alpha": 0.5, "beta": 2.0}), ("ParametricSoftplus", {"alpha": 0.5, "beta": 2.0}), ("Affine", {"alpha": 0.5, "beta": 2.0}),
                        ("ThresholdedRelu", {"alpha": 0.3})):
        yield f"{op} of the first opset", one(op, opset=9, **options)
    yield "ImageScaler of old", model([node("Unsqueeze", ["x"], ["h"], axes=[0, 1]), node("ImageScaler", ["h"], ["y"], scale=2.0, bias=[0.5])], opset=9)
    yield "Crop of old", model([node("Unsqueeze", ["x"], ["h"], axes=[0, 1]), node("Crop", ["h"], ["y"], border=[1, 0, 1, 1])], opset=9)


def call(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120)
    return "" if done.returncode == 0 else f"kpc {command[1]} exits {done.returncode}: {(done.stdout + done.stderr).strip()[:700]}"


def feeds_of(session):
    arrays = {}
    for port in session.get_inputs():
        if port.type == "tensor(bool)":
            arrays[port.name] = np.ones([1] * len(port.shape), bool)
        else:
            arrays[port.name] = X if port.name == "x" else np.ones((2, 2), np.float32)
    return arrays


def check(number, name, made, options):
    folder = options.work_dir / str(number)
    folder.mkdir(parents=True, exist_ok=True)
    source, artifact = folder / "model.onnx", folder / "model.kpc"
    source.write_bytes(made.SerializeToString())
    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(str(source), quiet, providers=["CPUExecutionProvider"])
        feed = feeds_of(session)
        wanted = session.run(None, feed)
    except Exception as error:
        return f"onnxruntime refuses it: {str(error)[:300]}"
    if problem := call([options.kpc, "compile", source, "--arch", "host", "-O0", "-o", artifact, "--no-cache", "--quiet", "--jobs", "0"]):
        return problem
    words = []
    for key, array in feed.items():
        np.save(folder / f"{key}.npy", array)
        words += ["--input", f"{key}={folder / key}.npy"]
    if problem := call([options.kpc, "run", artifact, "--device", "host", "--output-dir", folder / "out", *words]):
        return problem
    for port, reference in zip(session.get_outputs(), wanted):
        got = np.load(folder / "out" / f"{port.name}.npy")
        if got.shape != reference.shape or got.dtype != reference.dtype:
            return f"{port.name}: {got.dtype}{list(got.shape)} instead of {reference.dtype}{list(reference.shape)}"
        if not np.allclose(got, reference, 1e-5, 1e-5):
            return f"{port.name}: other values"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", help="cases whose name has a match")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    chosen = [(number, name, made) for number, (name, made) in enumerate(cases()) if re.search(options.only, name)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        problems = list(pool.map(lambda case: check(*case, options), chosen))
    failed = 0
    for (_, name, _), problem in zip(chosen, problems):
        failed += bool(problem)
        if problem:
            print(f"WRONG: {name}: {problem}")
    print(f"{len(chosen)} cases, {failed} wrong")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
