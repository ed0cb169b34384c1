# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of ai.onnx.ml on numbers, in several forms each."""

import numpy as np
from onnx import TensorProto, helper

from case import Case, Const

# Their strings and maps are compared in test/models/corpus/classical.py.
WITHOUT_REFERENCE = {"CategoryMapper", "ZipMap", "CastMap", "DictVectorizer"}

rng = np.random.default_rng(23)


def f(*shape, kind=np.float32):
    return rng.standard_normal(shape).astype(kind)


def ml(op, *inputs, opset=3, **options):
    return Case(op, *inputs, domain="ai.onnx.ml", opset=opset, **options)


class Trees:
    """Random trees in the form of TreeEnsembleRegressor and TreeEnsembleClassifier."""

    def __init__(self, trees, depth, features, targets, modes=("BRANCH_LEQ",), missing=False, positive=False, alone=None):
        self.nodes = {key: [] for key in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")}
        self.weights = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}
        self.missing, self.modes, self.features = [], modes, features
        self.targets, self.positive, self.alone = targets, positive, alone
        for tree in range(trees):
            self.next = 0
            self.grow(tree, depth)
        self.missing = self.missing if missing else None

    def grow(self, tree, depth):
        node, self.next = self.next, self.next + 1
        leaf = depth == 0 or (depth < 3 and rng.random() < 0.3)
        row = {"treeids": tree, "nodeids": node, "featureids": 0 if leaf else int(rng.integers(self.features)),
               "values": 0.0 if leaf else round(float(rng.standard_normal()), 1), "truenodeids": 0, "falsenodeids": 0,
               "modes": "LEAF" if leaf else str(rng.choice(self.modes))}
        at = len(self.nodes["nodeids"])
        for key, value in row.items():
            self.nodes[key].append(value)
        self.missing.append(int(rng.random() < 0.5))
        if leaf:
            for target in range(self.targets) if self.alone is None else [self.alone]:
                weight = float(rng.standard_normal())
                for key, value in zip(self.weights, (tree, node, target, abs(weight) / 5 if self.positive else weight)):
                    self.weights[key].append(value)
            return node
        self.nodes["truenodeids"][at] = self.grow(tree, depth - 1)
        self.nodes["falsenodeids"][at] = self.grow(tree, depth - 1)
        return node

    def attributes(self, kind):
        given = {f"nodes_{key}": value for key, value in self.nodes.items()}
        given.update({f"{kind}_{key}": value for key, value in self.weights.items()})
        if self.missing:
            given["nodes_missing_value_tracks_true"] = self.missing
        return given


def regressors():
    x, holes, whole = f(9, 5), f(9, 5), np.round(f(9, 5), 1)
    holes[rng.random(holes.shape) < 0.3] = np.nan
    six = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
    one, two = Trees(5, 4, 5, 1).attributes("target"), Trees(4, 3, 5, 3).attributes("target")
    cases = [ml("TreeEnsembleRegressor", x, n_targets=1, **one), ml("TreeEnsembleRegressor", x, n_targets=3, base_values=[0.1, 0.2, 0.3],
                                                                    name="targets", **two),
             ml("TreeEnsembleRegressor", whole, n_targets=1, name="modes", **Trees(5, 4, 5, 1, six).attributes("target")),
             ml("TreeEnsembleRegressor", holes, n_targets=1, name="missing", **Trees(5, 4, 5, 1, missing=True).attributes("target")),
             ml("TreeEnsembleRegressor", x, n_targets=3, post_transform="LOGISTIC", name="logistic", **two),
             ml("TreeEnsembleRegressor", x, n_targets=3, post_transform="SOFTMAX", name="softmax", **two)]
    for how in ("AVERAGE", "MIN", "MAX"):
        cases.append(ml("TreeEnsembleRegressor", x, n_targets=1, aggregate_function=how, name=how, **one))
    return cases


def classifiers():
    x = f(9, 5)
    three, shares = Trees(5, 3, 5, 3).attributes("class"), Trees(5, 3, 5, 2, positive=True).attributes("class")
    alone, positive = (Trees(5, 3, 5, 2, positive=p, alone=0).attributes("class") for p in (False, True))

    def classifier(name, labels, attributes, **more):
        return ml("TreeEnsembleClassifier", x, classlabels_int64s=labels, outputs=2, name=name, **attributes, **more)
    return [classifier("three", [3, 5, 9], three), classifier("softmax", [0, 1, 2], three, post_transform="SOFTMAX"),
            classifier("zeros", [0, 1, 2], three, post_transform="SOFTMAX_ZERO"), classifier("base", [0, 1, 2], three, base_values=[0.5, 0.0, -0.5]),
            classifier("two", [0, 1], shares), classifier("alone", [0, 1], alone), classifier("logistic", [7, 8], alone, post_transform="LOGISTIC"),
            classifier("positive", [0, 1], positive), classifier("alone.base", [0, 1], alone, base_values=[0.3])]


def ensembles():
    """TreeEnsemble of opset 5, as its two node tests in ONNX have it."""
    def tensor(kind, values):
        return helper.make_tensor("t", kind, [len(values)], values)
    plain = dict(aggregate_function=1, post_transform=0, n_targets=2, nodes_featureids=[0, 0, 0], nodes_truenodeids=[1, 0, 1],
                 nodes_falsenodeids=[2, 2, 3], nodes_trueleafs=[0, 1, 1], nodes_falseleafs=[0, 1, 1], tree_roots=[0],
                 leaf_targetids=[0, 1, 0, 1])
    modes = tensor(TensorProto.UINT8, [0, 0, 0])
    return [ml("TreeEnsemble", f(6, 3), opset=5, nodes_modes=modes, nodes_splits=tensor(TensorProto.FLOAT, [0.1, -0.5, 0.7]),
               leaf_weights=tensor(TensorProto.FLOAT, [5.2, 12.1, -12.3, 7.2]), **plain),
            ml("TreeEnsemble", f(6, 3, kind=np.float64), opset=5, nodes_modes=modes, name="double", absolute=1e-5,
               nodes_splits=tensor(TensorProto.DOUBLE, [0.1, -0.5, 0.7]),
               leaf_weights=tensor(TensorProto.DOUBLE, [5.2, 12.1, -12.3, 7.2]), **plain)]


def linear():
    x, c, flat = f(6, 4), [float(v) for v in f(12)], [float(v) for v in f(20)]
    support = dict(n_supports=5, support_vectors=flat, coefficients=flat[:5], rho=[0.3])
    cases = [ml("LinearRegressor", x, coefficients=c[:4], intercepts=[0.5]), ml("LinearRegressor", x, coefficients=c, targets=3, name="targets"),
             ml("LinearClassifier", x, coefficients=c, intercepts=[0.1, 0.2, 0.3], classlabels_ints=[4, 5, 6], outputs=2),
             ml("LinearClassifier", x, coefficients=c, intercepts=[0.1, 0.2, 0.3], classlabels_ints=[4, 5, 6], outputs=2,
                post_transform="SOFTMAX", name="softmax"),
             ml("LinearClassifier", x, coefficients=c[:8], intercepts=[0.1, 0.2], classlabels_ints=[0, 1], outputs=2,
                post_transform="LOGISTIC", name="logistic")]
    for transform in ("NONE", "LOGISTIC", "SOFTMAX"):
        cases.append(ml("LinearClassifier", x, coefficients=c[:4], intercepts=[0.1], classlabels_ints=[4, 6], outputs=2, post_transform=transform,
                        name=f"row.{transform}"))
        cases.append(ml("SVMClassifier", x, coefficients=c, rho=[0.1], classlabels_ints=[4, 5, 6], outputs=2, kernel_type="LINEAR",
                        kernel_params=[0.0, 0.0, 0.0], post_transform=transform, name=f"row.{transform}"))
    for kind, parameters in (("LINEAR", [1.0, 0.0, 3.0]), ("POLY", [0.5, 0.2, 2.0]), ("RBF", [0.3, 0.0, 3.0]), ("SIGMOID", [0.4, 0.1, 3.0])):
        cases.append(ml("SVMRegressor", x, kernel_type=kind, kernel_params=parameters, name=kind, **support))
    cases.append(ml("SVMRegressor", x, kernel_type="RBF", kernel_params=[0.3, 0.0, 3.0], one_class=1, name="one", **support))
    return cases


def preparation():
    x, holes, whole = f(5, 4), f(5, 4), rng.integers(0, 5, (5, 4))
    holes[rng.random(holes.shape) < 0.4] = np.nan
    return [ml("Scaler", x, offset=[0.1, 0.2, 0.3, 0.4], scale=[1.0, 2.0, 3.0, 4.0]), ml("Scaler", whole, offset=[1.0], scale=[0.5], name="integers"),
            ml("Normalizer", x, norm="L1"), ml("Normalizer", x, norm="L2", name="L2"), ml("Normalizer", np.abs(x), norm="MAX", name="MAX"),
            ml("Binarizer", x, threshold=0.3), ml("ArrayFeatureExtractor", x, Const([1, 3], np.int64)),
            ml("ArrayFeatureExtractor", x[0], np.array([[0, 2]]), name="vector"),
            ml("Imputer", holes, imputed_value_floats=[1.0, 2.0, 3.0, 4.0], replaced_value_float=float("nan")),
            ml("Imputer", whole, imputed_value_int64s=[9], replaced_value_int64=2, name="integers"),
            ml("FeatureVectorizer", x, f(5, 2), inputdimensions=[4, 2]),
            ml("OneHotEncoder", whole, cats_int64s=[0, 2, 3]), ml("OneHotEncoder", whole, cats_int64s=[0, 1, 2, 3, 4], zeros=0, name="all"),
            ml("LabelEncoder", whole, keys_int64s=[1, 2, 3], values_int64s=[10, 20, 30]),
            ml("LabelEncoder", whole, keys_int64s=[1, 2, 3], values_floats=[0.5, 1.5, 2.5], default_float=7.0, name="floats"),
            ml("LabelEncoder", np.array([1.0, 2.0, np.nan, 5.0], np.float32), keys_floats=[1.0, float("nan")], values_int64s=[4, 5],
               default_int64=-7, opset=4, name="nan")]


def support_vectors():
    def svc(classes, kernel="RBF", transform="NONE", chances=True, **more):
        pairs, count = classes * (classes - 1) // 2, 2 * classes + 1
        given = dict(kernel_type=kernel, kernel_params=[0.4, 0.1, 2.0], vectors_per_class=[2] * (classes - 1) + [3],
                     support_vectors=[float(v) for v in f(count * 4)], coefficients=[float(v) for v in f((classes - 1) * count)],
                     rho=[float(v) for v in f(pairs) * 0.3], post_transform=transform)
        if chances:
            given |= dict(prob_a=[float(v) for v in -1 - np.abs(f(pairs))], prob_b=[float(v) for v in f(pairs) * 0.1])
        labels = more or {"classlabels_ints": list(range(3, 3 + classes))}
        return ml("SVMClassifier", f(7, 4), outputs=2, name=f"{kernel}.{classes}.{transform}.{chances}", absolute=1e-4, **given, **labels)
    return [svc(2), svc(3), svc(4), svc(4, "LINEAR", chances=False), svc(2, "POLY", chances=False), svc(3, "SIGMOID", "SOFTMAX", False),
            svc(2, "RBF", "LOGISTIC", False)]


def categories():
    return [ml("ArrayFeatureExtractor", f(3, 5), Const([4, 0], np.int64), name="columns")]


def cases():
    return regressors() + classifiers() + ensembles() + linear() + preparation() + support_vectors() + categories()
