#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products on tensor cores, on the emulator.   products.py KPC DRIVER FOLDER [TARGET]

Models of one product each, of ragged sizes (emulated.py).
"""

import sys

import emulated
from onnx import TensorProto, helper

#        name            type    rows  sum  columns  bias   B transposed, A transposed
CASES = [("one_tile", "bf16", 64, 64, 64, False, False, False),
         ("one_row", "bf16", 1, 64, 64, False, False, False),
         ("ragged", "bf16", 129, 200, 136, False, False, False),
         ("halves", "fp16", 70, 72, 40, True, False, False),
         ("transposed", "bf16", 129, 96, 136, True, True, False),
         ("turned", "bf16", 136, 104, 72, True, False, True),
         ("both", "fp16", 200, 72, 136, False, True, True),
         # Rows of 262 and 278 bytes: copies, padded tensors and weights.
         ("odd_rows", "fp16", 65, 139, 131, True, False, False),
         # Results of 32 bits, and products in tf32.
         ("single", "bf16", 129, 72, 136, True, False, False),
         ("tf32", "fp32", 129, 100, 136, True, True, False),
         ("tf32_tiny", "fp32", 9, 4, 8, False, True, False),
         ("tf32_turned", "fp32", 136, 36, 520, False, True, True)]
SINGLE = {"single"}
# Blocks of a cluster that share a sum, and that share copies of B and of A; blocks that multiply as pairs.
HOPPER = {"split": ("gemm 128x64x64 stages 4 group_m 2 split_k 4", ("fp16", 200, 400, 136, True, False, False)),
          "below": ("gemm 64x128x64 stages 3 group_m 2 cluster 2x1", ("bf16", 300, 200, 264, False, False, False)),
          "beside": ("gemm 64x64x64 stages 3 group_m 2 cluster 1x2", ("bf16", 136, 136, 264, True, True, True)),
          # Warpgroups that take turns: an odd and an even number of tiles in a block, and one step.
          "turns": ("gemm 128x128x64 stages 3 group_m 2 pingpong", ("bf16", 300, 200, 264, True, False, False)),
          "wide_turns": ("gemm 128x192x64 stages 2 group_m 2 pingpong", ("fp16", 136, 136, 600, False, True, True)),
          "flat_turns": ("gemm 64x256x64 stages 3 group_m 2 pingpong", ("fp16", 129, 72, 600, False, True, False)),
          "short_turns": ("gemm 64x128x64 stages 4 group_m 1 pingpong", ("bf16", 400, 40, 264, True, False, False)),
          "turns_below": ("gemm 64x128x64 stages 3 group_m 2 cluster 2x1 pingpong", ("bf16", 300, 200, 264, False, False, False)),
          "turns_beside": ("gemm 128x128x64 stages 3 group_m 2 cluster 1x2 pingpong", ("bf16", 136, 136, 264, True, True, True)),
          "tf32_turns": ("gemm 64x128x32 stages 4 group_m 2 pingpong", ("fp32", 129, 100, 136, True, True, False))}
# A residual's elements, copied to shared memory as operands are: one warpgroup to three, sums that blocks share, clusters, turns; room for the
# residual of two tiles and of one; 16 and 32 bits, and codes with a scale.
RESIDUALS = {"residual": ("gemm 128x128x64 stages 4 group_m 2 residual", "fp16", ("fp16", 300, 200, 264, True, False, False)),
             "residual_of_three": ("gemm 192x64x64 stages 3 group_m 2 residual", "bf16", ("bf16", 500, 136, 136, False, True, False)),
             "residual_wide": ("gemm 128x256x64 stages 2 group_m 2 residual", "bf16", ("bf16", 300, 200, 520, True, False, False)),
             "residual_split": ("gemm 128x64x64 stages 4 group_m 2 split_k 4 residual", "fp16", ("fp16", 200, 400, 136, True, False, False)),
             "residual_below": ("gemm 64x128x64 stages 3 group_m 2 residual cluster 2x1", "bf16", ("bf16", 300, 200, 264, False, False, False)),
             "residual_turns": ("gemm 128x128x64 stages 3 group_m 2 residual pingpong", "bf16", ("bf16", 300, 200, 264, True, False, False)),
             "residual_short": ("gemm 64x128x64 stages 4 group_m 1 residual pingpong", "fp16", ("fp16", 400, 40, 264, True, False, False)),
             "residual_beside": ("gemm 128x128x64 stages 3 group_m 2 residual cluster 1x2 pingpong", "bf16", ("bf16", 136, 136, 264, True, True, True)),
             "residual_f32": ("gemm 128x64x64 stages 3 group_m 2 residual", "fp32", ("fp16", 300, 72, 136, True, False, False)),
             "residual_tf32": ("gemm 64x128x32 stages 4 group_m 2 residual pingpong", "fp32", ("fp32", 129, 100, 136, True, True, False)),
             "residual_fp8": ("gemm 128x128x64 stages 3 group_m 2 residual pingpong", "e4m3", ("fp16", 300, 72, 272, True, False, False)),
             "residual_e5m2": ("gemm 64x64x64 stages 3 group_m 2 residual", "e5m2", ("bf16", 100, 72, 80, True, False, False)),
             "residual_int8": ("gemm 128x64x64 stages 3 group_m 2 residual", "uint8", ("fp16", 300, 72, 144, True, False, False))}
BLACKWELL = {"alone": ("gemm 128x128x64 stages 2 group_m 2", ("fp16", 300, 400, 264, True, False, False)),
             "wide": ("gemm 128x192x64 stages 3 group_m 1", ("bf16", 264, 200, 400, False, True, True)),
             "pair": ("gemm 256x128x64 stages 3 group_m 2 pair", ("fp16", 600, 400, 264, True, False, False)),
             "turned_pair": ("gemm 256x256x64 stages 2 group_m 1 pair", ("bf16", 520, 264, 520, True, True, True)),
             # In tf32 a line is 32 elements, and an instruction has eight of them.
             "tf32_alone": ("gemm 128x192x32 stages 3 group_m 1", ("fp32", 264, 100, 400, True, True, False)),
             "tf32_pair": ("gemm 256x128x32 stages 3 group_m 2 pair", ("fp32", 600, 132, 264, True, True, False)),
             "tf32_wide_pair": ("gemm 256x256x32 stages 2 group_m 1 pair", ("fp32", 520, 36, 520, False, True, False))}


CODES = {"e4m3": TensorProto.FLOAT8E4M3FN, "e5m2": TensorProto.FLOAT8E5M2, "uint8": TensorProto.UINT8}


def add_residual(nodes, kind, residual, shape):
    """An input that is added to the sum, of its type or another one; codes have a scale, and integers a zero point. Gives the input and constants."""
    made = []
    if residual in CODES:
        of = CODES[residual]
        made = [helper.make_tensor("scale", kind, [], [0.0625 if residual == "uint8" else 0.5]),
                helper.make_tensor("zero", of, [], bytes([128 if residual == "uint8" else 0]), raw=True)]
        nodes.append(helper.make_node("DequantizeLinear", ["residual", "scale", "zero"], ["added"]))
    else:
        of = emulated.ELEMENTS[residual]
        nodes.append(helper.make_node("Cast", ["residual"], ["added"], to=kind))
    nodes.append(helper.make_node("Add", [nodes[-2].output[0], "added"], ["with_residual"]))
    nodes.append(helper.make_node("Relu", ["with_residual"], ["last"]))
    return helper.make_tensor_value_info("residual", of, shape), made


def model(element, total, columns, bias, transposed, turned, single=False, batch=0, residual=""):
    """A sum of `total` products for `columns` columns and "rows" rows; `single`: a result of 32 bits; `batch`: 0 none; `residual`: its type."""
    def shape(*sizes):
        return [*([batch] if batch else []), *sizes]

    kind, swap = emulated.ELEMENTS[element], [0, 2, 1] if batch else [1, 0]
    inputs = [helper.make_tensor_value_info("x", kind, shape(total, "rows") if turned else shape("rows", total)),
              helper.make_tensor_value_info("w", kind, shape(columns, total) if transposed else shape(total, columns))]
    nodes, left, right = [], "x", "w"
    if transposed:
        nodes.append(helper.make_node("Transpose", ["w"], ["wt"], perm=swap))
        right = "wt"
    if turned:
        nodes.append(helper.make_node("Transpose", ["x"], ["xt"], perm=swap))
        left = "xt"
    nodes.append(helper.make_node("MatMul", [left, right], ["product"]))
    if bias:
        inputs.append(helper.make_tensor_value_info("b", kind, [columns]))
        nodes.append(helper.make_node("Add", ["product", "b"], ["sum"]))
        nodes.append(helper.make_node("Relu", ["sum"], ["active"]))
    made = []
    if residual:
        more, made = add_residual(nodes, kind, residual, shape("rows", columns))
        inputs.append(more)
    if single:
        kind = TensorProto.FLOAT
        nodes.append(helper.make_node("Cast", [nodes[-1].output[0]], ["cast"], to=kind))
    nodes[-1].output[0] = "y"
    graph = helper.make_graph(nodes, "product", inputs, [helper.make_tensor_value_info("y", kind, shape("rows", columns))], made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


# Each operand has a batch of its own: sizes of A, sizes of B, and rows, sum, columns.
BROADCAST = [("each_side", "fp16", (3, 1), (1, 2), 70, 72, 40), ("repeated", "bf16", (2, 1, 3), (1, 2, 1), 129, 64, 72),
             ("of_b", "fp16", (), (3,), 65, 72, 136), ("of_a_between", "bf16", (2, 3), (2, 1), 33, 136, 24),
             ("of_b_between", "fp16", (2, 1), (2, 3), 70, 40, 72), ("of_b_outside", "bf16", (1, 2), (3, 2), 65, 72, 40),
             ("both_and_each", "fp16", (2, 2, 1), (2, 1, 3), 40, 72, 64), ("alternating", "bf16", (2, 1, 2, 1), (1, 2, 1, 2), 33, 64, 40),
             ("broadcast_odd", "fp16", (2, 1), (1, 3), 33, 31, 35), ("broadcast_f32", "fp32", (2, 1), (1, 2), 33, 36, 40),
             ("broadcast_exact", "exact", (2, 1), (1, 2), 33, 36, 40)]


def broadcast_model(element, of_a, of_b, total, columns, turned):
    """A product of "rows" rows, with a bias and ReLU; `turned`: B is transposed in front of it."""
    kind = emulated.ELEMENTS[element]
    rank = max(len(of_a), len(of_b))
    sizes = [max(one) for one in zip((1,) * (rank - len(of_a)) + of_a, (1,) * (rank - len(of_b)) + of_b)]
    swap = [*range(len(of_b)), len(of_b) + 1, len(of_b)]
    inputs = [helper.make_tensor_value_info("x", kind, [*of_a, "rows", total]),
              helper.make_tensor_value_info("w", kind, [*of_b, columns, total] if turned else [*of_b, total, columns]),
              helper.make_tensor_value_info("b", kind, [columns])]
    nodes = [helper.make_node("Transpose", ["w"], ["wt"], perm=swap)] if turned else []
    nodes += [helper.make_node("MatMul", ["x", "wt" if turned else "w"], ["product"]), helper.make_node("Add", ["product", "b"], ["sum"]),
              helper.make_node("Relu", ["sum"], ["y"])]
    graph = helper.make_graph(nodes, "product", inputs, [helper.make_tensor_value_info("y", kind, [*sizes, "rows", columns])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def broadcast_cases(family):
    """Each must be one kernel of `family` (but what is copied to rows at multiples of 16 bytes), with B as it is and transposed."""
    for name, element, of_a, of_b, rows, total, columns in BROADCAST:
        # Dynamic rows hide that dimensions follow one another: four of the result are more than a tensor map has.
        of = "mmasync " if len(of_a) == 4 else family
        for turned in (False, True):
            yield emulated.Case(f"{name}_turned" if turned else name, broadcast_model(element, of_a, of_b, total, columns, turned),
                                {"rows": "1..4096:opt=256"}, {"rows": rows}, "", emulated.PRECISIONS.get(element, ()),
                                shows=f"  {of if element in ('fp16', 'bf16') and total % 8 == 0 else ''}")


# Matrices of a stack by indices: stack, batch (0: dynamic), rows, sum, columns, and which operand is picked.
PICKED = [("picked", "fp16", 5, 7, 70, 72, 136, "b"), ("picked_short", "bf16", 4, 3, 8, 64, 40, "b"), ("picked_free", "fp16", 3, 0, 64, 136, 72, "b"),
          ("picked_left", "bf16", 3, 5, 33, 72, 40, "a"), ("picked_odd", "fp16", 3, 4, 33, 31, 35, "b"), ("picked_f32", "fp32", 3, 4, 33, 36, 40, "b"),
          ("picked_exact", "exact", 3, 4, 33, 36, 40, "b"), ("picked_alone", "fp16", 1, 4, 40, 64, 72, "b")]


def picked_model(element, stack, batch, total, columns, picked, turned):
    """As a broadcast product, but each index of the batch has the matrix of the stack that `at` says: -1 is the last, and outside of the stack is
    its end. `turned`: B is transposed in front of it."""
    kind, batch = emulated.ELEMENTS[element], batch or "batch"
    of_a, of_b = (stack if picked == "a" else batch), (stack if picked == "b" else batch)
    inputs = [helper.make_tensor_value_info("x", kind, [of_a, "rows", total]),
              helper.make_tensor_value_info("w", kind, [of_b, columns, total] if turned else [of_b, total, columns]),
              helper.make_tensor_value_info("at", TensorProto.INT64, [batch]), helper.make_tensor_value_info("b", kind, [columns])]
    nodes = [helper.make_node("Transpose", ["w"], ["wt"], perm=[0, 2, 1])] if turned else []
    operands = {"a": "x", "b": "wt" if turned else "w"}
    nodes.append(helper.make_node("Gather", [operands[picked], "at"], ["own"], axis=0))
    operands[picked] = "own"
    nodes += [helper.make_node("MatMul", [operands["a"], operands["b"]], ["product"]), helper.make_node("Add", ["product", "b"], ["sum"]),
              helper.make_node("Relu", ["sum"], ["y"])]
    graph = helper.make_graph(nodes, "product", inputs, [helper.make_tensor_value_info("y", kind, [batch, "rows", columns])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def picked_cases(family):
    """Each must be one kernel, but B that is transposed in front of it: no other one brings the matrices that are picked."""
    for name, element, stack, batch, rows, total, columns, picked in PICKED:
        for turned in (False, True):
            dims, sizes = {"rows": "1..4096:opt=256"}, {"rows": rows}
            if not batch:
                dims, sizes = dims | {"batch": "1..64:opt=8"}, sizes | {"batch": 6}
            wide = element in ("fp16", "bf16") and total % 8 == 0
            yield emulated.Case(f"{name}_turned" if turned else name, picked_model(element, stack, batch, total, columns, picked, turned), dims, sizes, "",
                                emulated.PRECISIONS.get(element, ()), shows=f"  {family if wide else ''}", kernels=0 if turned or not wide else 1)


def case(name, element, rows, *shape, single=False, batch=0, schedule="", least=1, residual=""):
    """`shape`: of model(); the number of rows is a multiple of `least`."""
    rows_of = "1..4096:opt=256" if least == 1 else f"{least}..4096:div={least}:opt=256"
    return emulated.Case(name, model(element, *shape, single, batch, residual), {"rows": rows_of}, {"rows": rows},
                         f".* = {schedule}" if schedule else "", emulated.PRECISIONS.get(element, ()), "3xtf32" if element == "exact" else "")


def residual_cases():
    made = [case(name, *rest, schedule=rule, residual=kind, least=8 if rest[-1] else 1) for name, (rule, kind, rest) in RESIDUALS.items()]
    return made + [case("residual_batch", "fp16", 70, 72, 136, False, False, False, batch=3, residual="fp16", schedule="gemm 64x64x64 stages 3 group_m 2")]


def cases(target):
    forced = HOPPER if target == "sm_90a" else BLACKWELL
    # A turned x has as many columns, which must fit copies: a multiple of 8 of them.
    broadcast = broadcast_cases("gemm ")
    return ([case(name, *rest, single=name in SINGLE, least=8 if rest[-1] else 1) for name, *rest in CASES] +
            [case(name, *rest, schedule=rule, least=8 if rest[-1] else 1) for name, (rule, rest) in forced.items()] + [*broadcast] +
            [*picked_cases("gemm ")] + (residual_cases() if target == "sm_90a" else []))


def main():
    kpc, driver, folder, target = sys.argv[1:4] + (sys.argv[4:] or ["sm_90a"])
    return emulated.main(kpc, driver, target, folder, cases(target), "products")


if __name__ == "__main__":
    sys.exit(main())
