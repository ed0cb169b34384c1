#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes an ensemble of trees as gradient boosting makes them: full to a depth but for some early leaves, seeded.

    python3 write_trees.py FILE [--trees 1000] [--depth 6] [--features 50] [--classes 0] [--early 0.02]

With --classes it is a classifier, whose tree i votes for class i modulo that. Times: time_onnxruntime.py.
"""

import argparse
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper


def one_tree(random, depth, features, early):
    """Lists of nodes in breadth-first order: feature (-1: a leaf), threshold, true child."""
    nodes, level = [], [0]
    count = 1
    for d in range(depth + 1):
        following = []
        for _ in level:
            leaf = d == depth or (d > 1 and random.random() < early)
            nodes.append((-1 if leaf else int(random.integers(features)), float(random.normal()), 0 if leaf else count))
            if not leaf:
                following += [count, count + 1]
                count += 2
        level = following
    return nodes


def attributes(options, kind):
    random = np.random.default_rng(11)
    every = [one_tree(random, options.depth, options.features, options.early) for _ in range(options.trees)]
    nodes = {name: [] for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")}
    leaves = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    for tree, parts in enumerate(every):
        for number, (feature, split, child) in enumerate(parts):
            leaf = feature < 0
            row = (tree, number, max(feature, 0), 0.0 if leaf else split, "LEAF" if leaf else "BRANCH_LEQ", child,
                   0 if leaf else child + 1)
            for name, value in zip(nodes, row):
                nodes[name].append(value)
            if leaf:
                weight = (tree, number, tree % max(options.classes, 1), float(random.normal() / options.trees))
                for name, value in zip(leaves, weight):
                    leaves[name].append(value)
    return {**{f"nodes_{k}": v for k, v in nodes.items()}, **{f"{kind}_{k}": v for k, v in leaves.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--trees", type=int, default=1000)
    parser.add_argument("--depth", type=int, default=6)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--classes", type=int, default=0)
    parser.add_argument("--early", type=float, default=0.02, help="share of leaves above the last level")
    options = parser.parse_args()
    if options.classes:
        node = helper.make_node("TreeEnsembleClassifier", ["x"], ["label", "y"], "trees", domain="ai.onnx.ml",
                                classlabels_int64s=list(range(options.classes)), post_transform="SOFTMAX",
                                **attributes(options, "class"))
        outputs = [helper.make_tensor_value_info("label", TensorProto.INT64, ["batch"]),
                   helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", options.classes])]
    else:
        node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], "trees", domain="ai.onnx.ml", n_targets=1,
                                **attributes(options, "target"))
        outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 1])]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", options.features])]
    graph = helper.make_graph([node], "trees", inputs, outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)],
                                ir_version=9), options.file)


if __name__ == "__main__":
    main()
