# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Group and instance norms with SiLU behind, as exporters spell them, for rows.py. Needs onnx."""

import numpy
from onnx import TensorProto, helper

make = helper.make_node


def reshaped(channels, groups, kind):
    """PyTorch's exporters: groups are the channels of an instance norm; scale and shift are behind it, by channel."""
    integers, one = TensorProto.INT64, [1.0] * groups
    constants = [helper.make_tensor("grouped", integers, [3], [0, groups, -1]), helper.make_tensor("by_channel", integers, [2], [1, 2]),
                 helper.make_tensor("ones", kind, [groups], one), helper.make_tensor("zeros", kind, [groups], [0.0] * groups)]
    return [make("Reshape", ["x", "grouped"], ["rows"]), make("InstanceNormalization", ["rows", "ones", "zeros"], ["normal"]),
            make("Shape", ["x"], ["sizes"]), make("Reshape", ["normal", "sizes"], ["image"]),
            make("Unsqueeze", ["scale", "by_channel"], ["factor"]), make("Unsqueeze", ["shift", "by_channel"], ["summand"]),
            make("Mul", ["image", "factor"], ["scaled"]), make("Add", ["scaled", "summand"], ["n"])], constants


def as_batch(channels, groups, kind):
    """An instance norm as PyTorch decomposes it: of one image with the channels of all."""
    integers = TensorProto.INT64
    constants = [helper.make_tensor("one_image", integers, [4], [1, -1, 0, 0]), helper.make_tensor("axes", integers, [3], [0, 2, 3]),
                 helper.make_tensor("by_channel", integers, [2], [1, 2]), helper.make_tensor("epsilon", kind, [], [1e-5])]
    return [make("Reshape", ["x", "one_image"], ["rows"]), make("Shape", ["x"], ["sizes"]),
            make("ReduceMean", ["rows", "axes"], ["mean"], keepdims=1), make("Sub", ["rows", "mean"], ["centred"]),
            make("Mul", ["centred", "centred"], ["square"]), make("ReduceMean", ["square", "axes"], ["variance"], keepdims=1),
            make("Add", ["variance", "epsilon"], ["moved"]), make("Sqrt", ["moved"], ["deviation"]),
            make("Div", ["centred", "deviation"], ["normal"]), make("Reshape", ["normal", "sizes"], ["image"]),
            make("Unsqueeze", ["scale", "by_channel"], ["factor"]), make("Unsqueeze", ["shift", "by_channel"], ["summand"]),
            make("Mul", ["image", "factor"], ["scaled"]), make("Add", ["scaled", "summand"], ["n"])], constants


def operator(channels, groups, kind):
    return [make("GroupNormalization", ["x", "scale", "shift"], ["n"], num_groups=groups)], []


def instance(channels, groups, kind):
    return [make("InstanceNormalization", ["x", "scale", "shift"], ["n"])], []


# What writes the nodes from x, scale and shift to n, and the opset.
SPELLINGS = {"reshaped": (reshaped, 20), "operator": (operator, 21), "operator_18": (operator, 18), "instance": (instance, 20),
             "batch": (as_batch, 20)}


def convolution(name, x, y, channels, kind):
    """3x3 of all channels, with weights that are always the same: nodes and initializers."""
    values = numpy.random.default_rng(len(name)).standard_normal((channels, channels, 3, 3)) / numpy.sqrt(9 * channels)
    weights = helper.make_tensor(f"{name}_w", TensorProto.FLOAT, values.shape, values.astype(numpy.float32).tobytes(), raw=True)
    return [make("Cast", [f"{name}_w"], [f"{name}_filter"], to=kind), make("Conv", [x, f"{name}_filter"], [y], pads=[1] * 4)], [weights]


def model(spelling, sizes, groups, kind, last=False, between=False):
    """`sizes`: [images, channels, height, width], those that are not known by name. `last`: in memory channels are the last of them.
    `between`: two convolutions."""
    nodes, opset = SPELLINGS[spelling]
    nodes, constants = nodes(sizes[1], groups, kind)
    nodes += [make("Sigmoid", ["n"], ["gate"]), make("Mul", ["n", "gate"], ["y"])]
    shape = sizes
    x, y = "x", "y"
    def rename(old, new):
        for node in nodes:
            for names in (node.input, node.output):
                names[:] = [new if name == old else name for name in names]
    if between:
        rename("x", "front")
        rename("y", "behind")
        for name, from_, to in (("first", "x", "front"), ("second", "behind", "y")):
            more, weights = convolution(name, from_, to, sizes[1], kind)
            nodes = more + nodes if name == "first" else nodes + more
            constants += weights
    if last:
        rename(x, "planes")
        rename(y, "result")
        nodes = [make("Transpose", ["x"], ["planes"], perm=[0, 3, 1, 2]), *nodes, make("Transpose", ["result"], ["y"], perm=[0, 2, 3, 1])]
        shape = [sizes[0], *sizes[2:], sizes[1]]
    vector = [groups if spelling == "operator_18" else sizes[1]]
    inputs = [helper.make_tensor_value_info(name, kind, of) for name, of in (("x", shape), ("scale", vector), ("shift", vector))]
    graph = helper.make_graph(nodes, spelling, inputs, [helper.make_tensor_value_info("y", kind, shape)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
