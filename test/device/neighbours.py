#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models whose inner tensors have sizes beside round ones, for time_neighbours.py: writes and compiles them.

    python3 neighbours.py --kpc build/release/bin/kpc --out FOLDER [--arch sm_90a] [--only REGEX]

Each is y = norm(relu(x · v + b)) · w + x in fp16, with weights of its own, or without the norm; the rows between the products have
`inner` elements. What the caller sees is the same for all. Writes NAME.kpc and a line in cases.json. Needs onnx and numpy.
"""

from onnx import TensorProto, helper, numpy_helper

from case_files import write_cases
from neighbour_weights import OUTER, weights

ROWS = 8192
ROUND = 768
INNER = (767, 769, 760, 776, 761, 773)  # one and eight less and more, primes
WIDE_ROUND, WIDE_INNER = 3072, (3071, 3073, 3064, 3080, 3067, 3079)


def model(inner, norm):
    make = helper.make_node
    nodes = [make("MatMul", ["x", "v"], ["product"]), make("Add", ["product", "b"], ["sum"]), make("Relu", ["sum"], ["active"])]
    if norm:
        nodes.append(make("LayerNormalization", ["active", "scale", "shift"], ["normed"]))
    nodes += [make("MatMul", ["normed" if norm else "active", "w"], ["back"]), make("Add", ["back", "x"], ["y"])]
    def value(name):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT16, ["rows", OUTER])
    used = {name for node in nodes for name in node.input}
    constants = [numpy_helper.from_array(array, name) for name, array in weights(inner).items() if name in used]
    graph = helper.make_graph(nodes, "neighbours", [value("x")], [value("y")], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def case(purpose, inner, norm, round_inner, rows=ROWS):
    name = f"{inner}{'.norm' if norm else ''}"
    return {"name": name, "purpose": purpose, "inner": inner, "norm": norm, "rows": rows,
            "round": f"{round_inner}{'.norm' if norm else ''}", "dims": [f"rows=1..65536:opt={rows}"],
            "model": lambda: model(inner, norm)}


def cases():
    for norm in (False, True):
        for round_inner, others in ((ROUND, INNER), (WIDE_ROUND, WIDE_INNER)):
            yield case("round", round_inner, norm, round_inner)
            for inner in others:
                yield case("neighbour", inner, norm, round_inner)
    yield case("small", 77, True, ROUND, rows=64)


if __name__ == "__main__":
    write_cases(cases(), __doc__)
