# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes small models and files of tensors into a folder, with the standard library alone.

    python3 make_models.py DIR
"""

import pathlib
import struct
import sys
import zipfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "hostile"))
import onnx_writer as onnx  # noqa: E402

UINT8, INT8, FLOAT16, DOUBLE, BFLOAT16 = 2, 3, 10, 11, 16


def npy(descr, shape, data, fortran=False):
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {tuple(shape)}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def floats(values, order="<"):
    return struct.pack(f"{order}{len(values)}f", *values)


def one_node(op, type_number, dims, node_name="the_node", **attributes):
    """y = op(x), or op(x, x) for operators of two inputs."""
    inputs = ["x", "x"] if op in ("Add", "And") else ["x"]
    node = onnx.node(op, inputs, ["y"], name=node_name, **attributes)
    return onnx.model(onnx.graph([node], [onnx.value_info("x", dims, type_number)],
                                 [onnx.value_info("y", dims, type_number)]))


def mlp():
    """Two layers; outputs of two types, one with a name that is no file name."""
    weights = [i / 7 - 0.8 for i in range(12)]
    nodes = [onnx.node("MatMul", ["x", "w"], ["product"], name="multiply"),
             onnx.node("Add", ["product", "b"], ["sum"], name="bias"),
             onnx.node("Relu", ["sum"], ["layer/y"], name="activate"),
             onnx.node("ArgMax", ["layer/y"], ["best"], name="choose", axis=1, keepdims=0)]
    return onnx.model(onnx.graph(nodes, [onnx.value_info("x", ["batch", 4])],
                                 [onnx.value_info("layer/y", ["batch", 3]),
                                  onnx.value_info("best", ["batch"], onnx.INT64)],
                                 [onnx.floats("w", [4, 3], weights), onnx.floats("b", [3], [0.1, 0.2, -0.3])]))


def masked():
    """Scores, of which a mask hides some with the least number of fp32, and their softmax."""
    nodes = [onnx.node("MatMul", ["x", "w"], ["scores"], name="multiply"),
             onnx.node("Greater", ["scores", "zero"], ["seen"], name="compare"),
             onnx.node("Where", ["seen", "scores", "least"], ["kept"], name="hide"),
             onnx.node("Softmax", ["kept"], ["y"], name="weigh", axis=-1)]
    return onnx.model(onnx.graph(nodes, [onnx.value_info("x", ["batch", 4])],
                                 [onnx.value_info("kept", ["batch", 4]), onnx.value_info("y", ["batch", 4])],
                                 [onnx.floats("w", [4, 4], [i / 8 - 1.0 for i in range(16)]), onnx.floats("zero", [], [0.0]),
                                  onnx.floats("least", [], [-3.4028234663852886e38])]))


def long():
    """A loop that nobody waits for."""
    steps = [onnx.node("Sin", ["h"], ["n"], name="step")]
    body = onnx.Graph(onnx.graph(steps, [onnx.value_info("i", [], onnx.INT64), onnx.value_info("go", [], onnx.BOOL), onnx.value_info("h", [4])],
                                 [onnx.value_info("go", [], onnx.BOOL), onnx.value_info("n", [4])]))
    node = onnx.node("Loop", ["count", "go", "x"], ["y"], name="loop", body=body)
    return onnx.model(onnx.graph([node], [onnx.value_info("x", [4])], [onnx.value_info("y", [4])],
                                 [onnx.int64s("count", [2_000_000_000], []), onnx.tensor("go", [], onnx.BOOL, raw=b"\1")]))


def dequantize():
    """From bytes to fp16, by scales in fp32."""
    node = onnx.node("DequantizeLinear", ["x", "scale"], ["y"], name="the_node", output_dtype=FLOAT16)
    return onnx.model(onnx.graph([node], [onnx.value_info("x", ["n"], INT8)], [onnx.value_info("y", ["n"], FLOAT16)],
                                 [onnx.floats("scale", [], [0.5])]), opsets=((23, ""),))


def two_inputs():
    node = onnx.node("Sub", ["a", "b"], ["difference"], name="subtract")
    return onnx.model(onnx.graph([node], [onnx.value_info(n, ["rows", 2]) for n in "ab"],
                                 [onnx.value_info("difference", ["rows", 2])]))


def pyramid():
    """Rows that are halved and doubled meet those that were not; an input says how. Its metadata names a class."""
    nodes = [onnx.node("MaxPool", ["x"], ["half"], name="pool", kernel_shape=[2, 1], strides=[2, 1]),
             onnx.node("Resize", ["half", "", "scales"], ["whole"], name="resize"),
             onnx.node("Add", ["x", "whole"], ["sum"], name="join"),
             onnx.node("Reshape", ["sum", "shape"], ["y"], name="flatten")]
    body = onnx.graph(nodes, [onnx.value_info("x", [1, 1, "rows", None]), onnx.value_info("shape", [2], onnx.INT64)],
                      [onnx.value_info("y", ["a", "b"])], [onnx.floats("scales", [4], [1, 1, 2, 1])])
    entry = onnx.block(1, b"names") + onnx.block(2, b"cat, dog")
    return onnx.model(body) + onnx.block(14, entry)


def row_of_twice():
    """The second row of twice as many, added to all of them: its size is no one where there are none."""
    nodes = [onnx.node("Concat", ["x", "x"], ["twice"], axis=0), onnx.node("Slice", ["twice", "one", "two"], ["row"]),
             onnx.node("Add", ["twice", "row"], ["y"], name="add")]
    return onnx.model(onnx.graph(nodes, [onnx.value_info("x", ["n", 4])], [onnx.value_info("y", ["m", 4])],
                                 [onnx.int64s("one", [1]), onnx.int64s("two", [2])]))


def last_row():
    """The last of n rows, as tf2onnx writes x[-1]."""
    nodes = [onnx.node("Slice", ["x", "start", "end", "axis"], ["row"], name="cut"),
             onnx.node("Squeeze", ["row", "axis"], ["y"], name="squeeze")]
    return onnx.model(onnx.graph(nodes, [onnx.value_info("x", ["n", 3])], [onnx.value_info("y", [3])],
                                 [onnx.int64s("start", [-1]), onnx.int64s("end", [2**31 - 1]), onnx.int64s("axis", [0])]))


def nothing(start, end, step):
    """A slice of rows that takes none, however many there are."""
    node = onnx.node("Slice", ["x", "start", "end", "axis", "step"], ["y"], name="cut")
    return onnx.model(onnx.graph([node], [onnx.value_info("x", ["n", 3])], [onnx.value_info("y", None)],
                                 [onnx.int64s("start", [start]), onnx.int64s("end", [end]), onnx.int64s("axis", [0]),
                                  onnx.int64s("step", [step])]))


def contradiction():
    node = onnx.node("Relu", ["x"], ["y"], name="the_node")
    return onnx.model(onnx.graph([node], [onnx.value_info("x", ["n", 4])], [onnx.value_info("y", ["n"])]))


def settled():
    """Two dims that must be equal, and a third that must be greater by one."""
    nodes = [onnx.node("Add", ["x", "z"], ["sum"], name="add"),
             onnx.node("Concat", ["sum", "one"], ["more"], name="grow", axis=0),
             onnx.node("Mul", ["more", "w"], ["y"], name="scale")]
    return onnx.model(onnx.graph(nodes, [onnx.value_info("x", ["rows", 2]), onnx.value_info("z", ["lines", 2]),
                                         onnx.value_info("w", ["total", 2])], [onnx.value_info("y", None)],
                                 [onnx.floats("one", [1, 2], [1.0, 1.0])]))


def halves():
    """A product of fp16 matrices that are large enough for tensor cores, all of them inputs."""
    node = onnx.node("MatMul", ["x", "w"], ["y"], name="product")
    return onnx.model(onnx.graph([node], [onnx.value_info("x", ["rows", 256], FLOAT16),
                                          onnx.value_info("w", [256, 512], FLOAT16)],
                                 [onnx.value_info("y", ["rows", 512], FLOAT16)]))


def chain():
    """Two products, each a kernel of its own, with a value between them."""
    nodes = [onnx.node("MatMul", ["x", "w"], ["between"], name="first"),
             onnx.node("MatMul", ["between", "w"], ["y"], name="second")]
    return onnx.model(onnx.graph(nodes, [onnx.value_info("x", ["batch", 2])], [onnx.value_info("y", ["batch", 2])],
                                 [onnx.floats("w", [2, 2], [0.5, -1.0, 2.0, 0.25])]))


def bent(last="Sin", weight=0.5, prefix=""):
    """Three kernels in a row; the middle one ends with a sine, or what is given."""
    nodes = [onnx.node("MatMul", ["x", "w"], ["a"], name=prefix + "first"),
             onnx.node("MatMul", ["a", "w"], ["b"], name=prefix + "second"),
             onnx.node(last, ["b"], ["c"], name=prefix + "bend"),
             onnx.node("MatMul", ["c", "w"], ["y"], name=prefix + "third")]
    return onnx.model(onnx.graph(nodes, [onnx.value_info("x", ["batch", 2])], [onnx.value_info("y", ["batch", 2])],
                                 [onnx.floats("w", [2, 2], [weight, -1.0, 2.0, 0.25])]))


def folded():
    """Two products with a weight that is computed of constants, and a node that nobody reads."""
    nodes = [onnx.node("Mul", ["w", "half"], ["v"], name="prepare"),
             onnx.node("MatMul", ["x", "v"], ["a"], name="multiply"),
             onnx.node("Relu", ["a"], ["b"], name="clip"),
             onnx.node("Neg", ["a"], ["c"], name="dead"),
             onnx.node("MatMul", ["b", "v"], ["y"], name="again")]
    return onnx.model(onnx.graph(nodes, [onnx.value_info("x", ["batch", 64])], [onnx.value_info("y", ["batch", 64])],
                                 [onnx.floats("w", [64, 64], [i / 4096 for i in range(4096)]),
                                  onnx.floats("half", [1], [0.5])]))


def folded_twice():
    """A product with a weight that is computed of constants in two steps, each of which uses the one before twice."""
    nodes = [onnx.node("Mul", ["w", "half"], ["v"], name="prepare"), onnx.node("MatMul", ["v", "v"], ["u"], name="prepare_square"),
             onnx.node("MatMul", ["x", "u"], ["y"], name="multiply")]
    return onnx.model(onnx.graph(nodes, [onnx.value_info("x", ["batch", 64])], [onnx.value_info("y", ["batch", 64])],
                                 [onnx.floats("w", [64, 64], [i / 4096 for i in range(4096)]), onnx.floats("half", [1], [0.5])]))


def weighted():
    """A weight that is too large to be written into a graph's text."""
    node = onnx.node("MatMul", ["x", "w"], ["y"], name="multiply")
    return onnx.model(onnx.graph([node], [onnx.value_info("x", ["batch", 64])], [onnx.value_info("y", ["batch", 64])],
                                 [onnx.floats("w", [64, 64], [i / 4096 for i in range(4096)])]))


def forty():
    """Forty nodes, one of which nobody knows, with weights that it does not read and a second output."""
    nodes, value = [], "x"
    for i in range(40):
        op = "Rellu" if i == 23 else "MatMul" if i % 5 == 0 else "Relu"
        nodes.append(onnx.node(op, [value, "w"] if op == "MatMul" else [value], [f"v{i}"], name=f"n{i}"))
        value = f"v{i}"
    return onnx.model(onnx.graph(nodes, [onnx.value_info("x", ["batch", 8])],
                                 [onnx.value_info("v39", ["batch", 8]), onnx.value_info("v11", ["batch", 8])],
                                 [onnx.floats("w", [8, 8], [i / 64 - 0.5 for i in range(64)])]))


def unrolled():
    """A loop whose carried value grows: each iteration becomes nodes of its own."""
    steps = [onnx.node("Concat", ["h", "h"], ["n"], name="grow", axis=0)]
    body = onnx.Graph(onnx.graph(steps, [onnx.value_info("i", [], onnx.INT64), onnx.value_info("go", [], onnx.BOOL), onnx.value_info("h", None)],
                                 [onnx.value_info("go", [], onnx.BOOL), onnx.value_info("n", None)]))
    node = onnx.node("Loop", ["count", "go", "x"], ["y"], name="loop", body=body)
    return onnx.model(onnx.graph([node], [onnx.value_info("x", [2])], [onnx.value_info("y", None)],
                                 [onnx.int64s("count", [6], []), onnx.tensor("go", [], onnx.BOOL, raw=b"\1")]))


def parts():
    """The forty rows of a matrix, each an output."""
    names = [f"y{i}" for i in range(40)]
    node = onnx.node("Split", ["x"], names, name="split", axis=0, num_outputs=40)
    return onnx.model(onnx.graph([node], [onnx.value_info("x", [40, 4])], [onnx.value_info(n, [1, 4]) for n in names]),
                      opsets=((18, ""),))


def found():
    """How many elements are not 0, only the run knows."""
    node = onnx.node("NonZero", ["x"], ["y"], name="find")
    return onnx.model(onnx.graph([node], [onnx.value_info("x", ["rows", 4])], [onnx.value_info("y", [2, "found"], onnx.INT64)]))


def one_or_many():
    """The mean of the rows, or the only one, as a branch on their number says."""
    def side(node):
        return onnx.Graph(onnx.graph([node], [], [onnx.value_info("z", None)]))
    nodes = [onnx.node("Shape", ["x"], ["shape"], name="measure"), onnx.node("Gather", ["shape", "zero"], ["count"], name="pick"),
             onnx.node("Greater", ["count", "one"], ["many"], name="compare"),
             onnx.node("If", ["many"], ["y"], name="choose",
                       then_branch=side(onnx.node("ReduceMean", ["x"], ["z"], name="mean", axes=[0], keepdims=0)),
                       else_branch=side(onnx.node("Squeeze", ["x", "zero"], ["z"], name="squeeze")))]
    return onnx.model(onnx.graph(nodes, [onnx.value_info("x", ["rows", 4])], [onnx.value_info("y", [4])],
                                 [onnx.int64s("zero", [0]), onnx.int64s("one", [1])]))


def shrunk():
    """A scale that is no fraction of small numbers, of a size that only the run knows."""
    node = onnx.node("Resize", ["x", "", "scales"], ["y"], name="shrink")
    return onnx.model(onnx.graph([node], [onnx.value_info("x", [1, 2, "rows", 8])], [onnx.value_info("y", None)],
                                 [onnx.floats("scales", [4], [1, 1, 0.6, 1])]))


def picked():
    """An index for each of some rows, and updates of as many others."""
    nodes = [onnx.node("GatherElements", ["x", "at"], ["y"], name="gather", axis=1),
             onnx.node("Unsqueeze", ["to", "one"], ["column"], name="turn"),
             onnx.node("ScatterND", ["x", "column", "u"], ["z"], name="scatter")]
    return onnx.model(onnx.graph(nodes, [onnx.value_info("x", ["rows", 4]), onnx.value_info("at", ["few", 2], onnx.INT64),
                                         onnx.value_info("to", ["places"], onnx.INT64), onnx.value_info("u", ["updates", 4])],
                                 [onnx.value_info("y", ["few", 2]), onnx.value_info("z", ["rows", 4])],
                                 [onnx.int64s("one", [1])]))


def fill():
    """Zeros of the input's shape: nothing is read."""
    nodes = [onnx.node("Shape", ["x"], ["shape"], name="measure"),
             onnx.node("ConstantOfShape", ["shape"], ["y"], name="zeros")]
    return onnx.model(onnx.graph(nodes, [onnx.value_info("x", ["batch", 4])], [onnx.value_info("y", ["batch", 4])]))


def repeat():
    """x as often as n says, and the k greatest of its first row."""
    nodes = [onnx.node("Tile", ["x", "n"], ["y"], name="tile"),
             onnx.node("TopK", ["x", "k"], ["top", "places"], name="select")]
    return onnx.model(onnx.graph(nodes, [onnx.value_info("x", ["batch", 4]), onnx.value_info("n", [2], onnx.INT64),
                                         onnx.value_info("k", [1], onnx.INT64)],
                                 [onnx.value_info("y", ["rows", "columns"]), onnx.value_info("top", ["batch", "count"])]))


def spectrum():
    """How many elements of a signal are transformed, an input says."""
    node = onnx.node("DFT", ["x", "length"], ["y"], name="transform")
    return onnx.model(onnx.graph([node], [onnx.value_info("x", ["batch", 100, 1]), onnx.value_info("length", [], onnx.INT64)],
                                 [onnx.value_info("y", None)]))


def album():
    """The pictures of a sequence beside each other, as large as the sequence is long."""
    picture = onnx.value_info("", [8, 8])[4:]  # the type alone
    pictures = onnx.block(1, "images") + onnx.block(2, onnx.block(4, onnx.block(1, picture)))
    node = onnx.node("ConcatFromSequence", ["images"], ["y"], name="join", axis=1)
    return onnx.model(onnx.graph([node], [pictures], [onnx.value_info("y", None)]))


def external():
    """Its weights lie in external.data, in a folder below."""
    node = onnx.node("MatMul", ["x", "w"], ["y"], name="multiply")
    weights = onnx.tensor("w", [2, 2], external={"location": "data/external.data", "offset": 0, "length": 16})
    return onnx.model(onnx.graph([node], [onnx.value_info("x", ["batch", 2])], [onnx.value_info("y", ["batch", 2])],
                                 [weights]))


def faulty():
    """Behind an operator that nobody knows: faults of the nodes' own, nodes that are good, and one whose fault, if it
    is one, depends on the type of what is lost."""
    nodes = [onnx.node("Rellu", ["x"], ["a"], name="unknown"),
             onnx.node("Relu", ["a"], ["b"], name="good"),
             onnx.node("Softmax", ["b"], ["c"], name="typed", axis="last"),
             onnx.node("Gelu", ["c"], ["d"], name="extra", speed=3),
             onnx.node("Flatten", ["d"], ["e"], name="rank", axis=3),
             onnx.node("MatMul", ["e"], ["f"], name="alone"),
             onnx.node("Fooo", ["f", "x"], ["g"], name="other"),
             onnx.node("Conv", ["g", "w"], ["h"], name="pads", auto_pad="SAME_LEFT"),
             onnx.node("LeakyRelu", ["x"], ["y"], name="known", alpha=1)]
    return onnx.model(onnx.graph(nodes, [onnx.value_info("x", ["batch", 4])],
                                 [onnx.value_info("y", ["batch", 4]), onnx.value_info("h", None)],
                                 [onnx.floats("w", [1, 1, 1, 1], [1.0])]), opsets=((20, ""),))


def square(size, type_number=onnx.FLOAT):
    """A GEMM of two inputs, large enough to take time."""
    node = onnx.node("MatMul", ["a", "b"], ["c"], name="gemm")
    return onnx.model(onnx.graph([node], [onnx.value_info(name, [size, size], type_number) for name in "ab"],
                                 [onnx.value_info("c", [size, size], type_number)]))


def convolution(groups=1, pixels=56, channels=64, taps=3, out=None):
    """A convolution of 32 images."""
    node = onnx.node("Conv", ["x", "w"], ["y"], name="conv", kernel_shape=[taps] * 2, pads=[taps // 2] * 4,
                     strides=[2 if out else 1] * 2, group=groups)
    count = 64 * channels // groups * taps * taps
    out = out or pixels
    return onnx.model(onnx.graph([node], [onnx.value_info("x", [32, channels, pixels, pixels])],
                                 [onnx.value_info("y", [32, 64, out, out])],
                                 [onnx.floats("w", [64, channels // groups, taps, taps], [i % 7 / 8 for i in range(count)])]))


MODELS = {
    "last-row": last_row(),
    "row-of-twice": row_of_twice(),
    "square": square(2048),
    "square-fp64": square(2048, DOUBLE),
    "square-small": square(64),
    "conv": convolution(),
    "conv-groups": convolution(groups=4),
    "conv-dynamic": convolution(pixels="height"),
    "conv-dynamic-rgb": convolution(pixels="height", channels=3, taps=7, out="half"),
    "relu": one_node("Relu", onnx.FLOAT, ["batch", 4]),
    "mlp": mlp(),
    "masked": masked(),
    "long": long(),
    "chain": chain(),
    "halves": halves(),
    "one-or-many": one_or_many(),
    "shrunk": shrunk(),
    "picked": picked(),
    "fill": fill(),
    "forty": forty(),
    "unrolled": unrolled(),
    "found": found(),
    "parts": parts(),
    **{f"nothing-{i}": nothing(*cut) for i, cut in enumerate(
        [(2**31 - 1, 2**63 - 1, 1), (5, 2, 1), (-1, -3, 2), (-(2**31), 2**31 - 1, -1), (-1, 2**31 - 1, -1)])},
    "repeat": repeat(),
    "spectrum": spectrum(),
    "album": album(),
    "weighted": weighted(),
    "copy": one_node("Relu", onnx.FLOAT, ["batch", 4], node_name="copy"),
    "names": one_node("Relu", onnx.FLOAT, ["batch-size", "n+1", "batch size", "a:b", "\u00e9"]),
    "bent": bent(),
    "bent-weight": bent(weight=0.75),
    "bent-node": bent(last="Cos"),
    "bent-tanh": bent(last="Tanh"),
    "bent-names": bent(prefix="decoder/"),
    "sub": two_inputs(),
    "settled": settled(),
    "pyramid": pyramid(),
    "contradiction": contradiction(),
    "folded": folded(),
    "folded-twice": folded_twice(),
    "scalar": one_node("Neg", onnx.FLOAT, []),
    "bool": one_node("Not", onnx.BOOL, ["n"]),
    "int64": one_node("Neg", onnx.INT64, ["n"]),
    "uint8": one_node("Add", UINT8, ["n"]),
    "double": one_node("Neg", DOUBLE, ["n"]),
    "fp16": one_node("Neg", FLOAT16, ["n"]),
    "bf16": one_node("Neg", BFLOAT16, ["n"]),
    "dequantize": dequantize(),
    "external": external(),
    "faulty": faulty(),
    "unnamed": one_node("Relu", onnx.FLOAT, [None, 4]),
    "unknown": one_node("Rellu", onnx.FLOAT, ["batch", 4]),
}

COUNT = [float(i) for i in range(8)]
SIGNED = floats([-1, 2, -3, 4, 5, -6, 7, -8])
FILES = {
    "x.npy": npy("<f4", [2, 4], SIGNED),
    "big-endian.npy": npy(">f4", [2, 4], floats([-1, 2, -3, 4, 5, -6, 7, -8], ">")),
    "fortran.npy": npy("<f4", [2, 4], floats([-1, 5, 2, -6, -3, 7, 4, -8]), fortran=True),
    "five.npy": npy("<f4", [2, 1, 1, 1, 4], SIGNED),
    "none.npy": npy("<f4", [0, 4], b""),
    "special.npy": npy("<f4", [1, 4], floats([float("nan"), float("inf"), float("-inf"), -0.0])),
    "a.npy": npy("<f4", [2, 2], floats([1, 2, 3, 4])),
    "b.npy": npy("<f4", [2, 2], floats([10, 20, 30, 40])),
    "b3.npy": npy("<f4", [3, 2], floats([10, 20, 30, 40, 50, 60])),
    "scalar.npy": npy("<f4", [], floats([2.5])),
    "bool.npy": npy("|b1", [3], b"\x01\x00\x01"),
    "two-three.npy": npy("<i8", [2], struct.pack("<2q", 2, 3)),
    "minus.npy": npy("<i8", [2], struct.pack("<2q", 2, -3)),
    "three.npy": npy("<i8", [1], struct.pack("<q", 3)),
    "nine.npy": npy("<i8", [1], struct.pack("<q", 9)),
    "int64.npy": npy("<i8", [3], struct.pack("<3q", 1, -(1 << 62), 7)),
    "int32.npy": npy("<i4", [3], struct.pack("<3i", 1, 2, 3)),
    "uint8.npy": npy("|u1", [3], bytes([1, 100, 200])),
    "double.npy": npy("<f8", [2], struct.pack("<2d", 1e-300, -2)),
    "fp16.npy": npy("<f2", [3], struct.pack("<3e", 1.5, -65504, 0)),
    "bf16.npy": npy("<u2", [2], bytes([0x80, 0x3F, 0x49, 0xC0])),  # 1, -3.140625
    "bf16-ml.npy": npy("<V2", [2], bytes([0x80, 0x3F, 0x49, 0xC0])),
    "text.npy": b"1 2 3 4\n",
    "records.npy": b"\x93NUMPY\x01\x00" + struct.pack("<H", 48) + b"{'descr': [('a', '<f4')], 'fortran_order': Fal\n".ljust(48),
    "x.pb": onnx.tensor("x", [2, 4], raw=SIGNED),
    "broken.npz": b"PK\x03\x04 and nothing more",
}


def write_npz(path, members, compression):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            # As numpy does it: sizes of 64 bits whatever they are.
            with archive.open(zipfile.ZipInfo(name + ".npy"), "w", force_zip64=True) as member:
                member.write(data)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in MODELS.items():
        (folder / f"{name}.onnx").write_bytes(data)
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data" / "external.data").write_bytes(floats([1, 2, 3, 4]))
    both = {"a": FILES["a.npy"], "b": FILES["b.npy"]}
    write_npz(folder / "ab.npz", both, zipfile.ZIP_STORED)
    with zipfile.ZipFile(folder / "ab-compressed.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in both.items():
            archive.writestr(name + ".npy", data)
    damaged = bytearray((folder / "ab.npz").read_bytes())
    damaged[damaged.index(floats([1, 2])) + 2] ^= 1
    (folder / "damaged.npz").write_bytes(damaged)


if __name__ == "__main__":
    main()
