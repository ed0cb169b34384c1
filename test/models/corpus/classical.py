# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pipelines of scikit-learn and of gradient boosting as skl2onnx and onnxmltools write them."""

import numpy as np
import onnx

from corpus.writer import FLOAT, INT64, STRING, Writer, floats, ints, tensor


def trees(g, count, depth, features, outputs, mode="BRANCH_LEQ", by_tree=False):
    """Attributes of random trees; `by_tree`: tree t adds to output t % outputs alone, as boosting does."""
    nodes = {key: [] for key in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids", "hitrates",
                                 "missing_value_tracks_true")}
    leaves = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}
    draw = g.values.generator
    for tree in range(count):
        for node in range(2**(depth + 1) - 1):
            leaf = node >= 2**depth - 1
            row = (tree, node, 0 if leaf else int(draw.integers(features)), 0.0 if leaf else float(np.float32(draw.normal())), "LEAF" if leaf else mode,
                   0 if leaf else 2 * node + 1, 0 if leaf else 2 * node + 2, 1.0, int(draw.random() < 0.5) if by_tree else 0)
            for key, value in zip(nodes, row):
                nodes[key].append(value)
            for output in range(outputs if leaf and not by_tree else int(leaf)):
                for key, value in zip(leaves, (tree, node, tree % outputs if by_tree else output, float(np.float32(draw.random() / count)))):
                    leaves[key].append(value)
    return {f"nodes_{key}": value for key, value in nodes.items()}, leaves


def zip_map(g, probabilities, labels):
    kind = "strings" if isinstance(labels[0], str) else "int64s"
    result = g.ml("ZipMap", probabilities, outputs=["output_probability"], **{f"classlabels_{kind}": labels})
    import onnx
    key = onnx.TensorProto.STRING if kind == "strings" else onnx.TensorProto.INT64
    value = onnx.helper.make_tensor_type_proto(FLOAT, None)
    maps = onnx.helper.make_sequence_type_proto(onnx.helper.make_map_type_proto(key, value))
    g.outputs.append(onnx.helper.make_value_info(result, maps))


def labels_of(strings, count):
    return [f"class {chr(65 + i)}" for i in range(count)] if strings else list(range(count))


def forest(strings=False, zipped=True):
    """RandomForestClassifier behind an imputer and a scaler."""
    g = Writer(f"forest{strings}", 15, producer="skl2onnx")
    x = g.input("float_input", None, 6)
    x = g.ml("Imputer", x, imputed_value_floats=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], replaced_value_float=float("nan"))
    x = g.ml("Scaler", x, offset=[0.1] * 6, scale=[1.5] * 6)
    nodes, leaves = trees(g, 10, 4, 6, 3)
    labels = labels_of(strings, 3)
    kind = "classlabels_strings" if strings else "classlabels_int64s"
    label, chances = g.ml("TreeEnsembleClassifier", x, outputs=2, post_transform="NONE", **nodes,
                          **{f"class_{key}": value for key, value in leaves.items()}, **{kind: labels})
    g.output(label, "output_label", None, kind=STRING if strings else INT64)
    if zipped:
        zip_map(g, chances, labels)
    else:
        g.output(chances, "probabilities", None, 3)

    def run(rows):
        holes = g.values.normal(rows, 6)
        holes[g.values.generator.random(holes.shape) < 0.2] = np.nan
        return {"float_input": holes}

    return g.model(), [run(1), run(12)]


def boosting(classes=1):
    """XGBoost's and LightGBM's classifiers: a tree for a class in turn, BRANCH_LT, missing values on their tracks."""
    g = Writer(f"boosting{classes}", 15, producer="onnxmltools")
    x = g.input("input", "N", 5)
    nodes, leaves = trees(g, 9, 3, 5, classes, mode="BRANCH_LT", by_tree=True)
    label, chances = g.ml("TreeEnsembleClassifier", x, outputs=2, post_transform="LOGISTIC" if classes == 1 else "SOFTMAX",
                          base_values=[0.2] if classes == 1 else None, classlabels_int64s=list(range(max(classes, 2))), **nodes,
                          **{f"class_{key}": value for key, value in leaves.items()})
    g.output(label, "label", "N", kind=INT64)
    g.output(chances, "probabilities", "N", max(classes, 2))

    def run(rows):
        holes = g.values.normal(rows, 5)
        holes[g.values.generator.random(holes.shape) < 0.2] = np.nan
        return {"input": holes}

    return g.model(), [run(2), run(15)]


def boosted_regression():
    """HistGradientBoostingRegressor: double thresholds as floats, a base value, an Identity of the results."""
    g = Writer("boosted_regression", 15, producer="skl2onnx")
    x = g.input("X", None, 4)
    nodes, leaves = trees(g, 20, 4, 4, 1)
    g.output(g.ml("TreeEnsembleRegressor", x, n_targets=1, base_values=[3.5], post_transform="NONE", aggregate_function="SUM", **nodes,
                  **{f"target_{key}": value for key, value in leaves.items()}), "variable", None, 1)
    return g.model(), [{"X": g.values.normal(rows, 4)} for rows in (1, 30)]


def logistic_regression(strings=True, binary=False):
    """Columns joined by a FeatureVectorizer, LinearClassifier, Normalizer, ZipMap."""
    count = 2 if binary else 3
    g = Writer(f"logistic_regression{strings}{binary}", 15, producer="skl2onnx")
    numbers, kinds = g.input("numbers", None, 3), g.input("kind", None, 1, kind=INT64)
    hot = g.ml("OneHotEncoder", kinds, cats_int64s=[0, 1, 2], zeros=1)
    hot = g("Reshape", hot, ints(-1, 3))
    x = g.ml("FeatureVectorizer", g.ml("Scaler", numbers, offset=[0.0, 1.0, 2.0], scale=[1.0, 0.5, 2.0]), hot, inputdimensions=[3, 3])
    labels = labels_of(strings, count)
    coefficients = g.values.normal(count, 6)
    if binary:
        coefficients[0] = -coefficients[1]
    key = "classlabels_strings" if strings else "classlabels_ints"
    label, scores = g.ml("LinearClassifier", x, outputs=2, coefficients=[float(v) for v in coefficients.ravel()],
                         intercepts=[0.1, -0.1] if binary else [0.1, 0.2, -0.3], multi_class=0 if binary else 1,
                         post_transform="LOGISTIC" if binary else "SOFTMAX", **{key: labels})
    g.output(label, "output_label", None, kind=STRING if strings else INT64)
    zip_map(g, g.ml("Normalizer", scores, norm="L1"), labels)
    return g.model(), [{"numbers": g.values.normal(rows, 3), "kind": g.values.whole(4, rows, 1)} for rows in (1, 8)]


def support_vectors(probabilities=True, classes=3, kernel="RBF"):
    """SVC with Platt's probabilities, or the votes of its decision function."""
    g = Writer(f"support_vectors{probabilities}{classes}{kernel}", 15, producer="skl2onnx")
    x = g.input("X", None, 4)
    each = 3
    pairs = classes * (classes - 1) // 2
    attributes = dict(kernel_type=kernel, kernel_params=[0.4, 0.1, 3.0], vectors_per_class=[each] * classes, classlabels_ints=list(range(classes)),
                      support_vectors=[float(v) for v in g.values.normal(each * classes, 4).ravel()],
                      coefficients=[float(v) for v in g.values.normal((classes - 1) * each * classes)], rho=[float(v) for v in g.values.normal(pairs, size=0.3)])
    if probabilities:
        attributes |= dict(prob_a=[-1.3] * pairs, prob_b=[0.1] * pairs)
    label, scores = g.ml("SVMClassifier", x, outputs=2, post_transform="NONE", **attributes)
    g.output(label, "label", None, kind=INT64)
    g.output(scores, "probabilities", shape=False)
    return g.model(), [{"X": g.values.normal(rows, 4)} for rows in (1, 11)]


def neighbours():
    """KNeighborsClassifier: distances, TopK of the least, votes by ArrayFeatureExtractor and comparisons."""
    g = Writer("neighbours", 13, producer="skl2onnx")
    x = g.input("X", None, 3)
    known, count = g.values.normal(15, 3), 4
    away = g.ms("CDist", x, known, metric="euclidean")
    _, near = g("TopK", away, ints(count), axis=1, largest=0, sorted=1, outputs=2)
    found = g.ml("ArrayFeatureExtractor", g.weight(g.values.whole(3, 1, 15)), g("Reshape", near, ints(-1)))
    votes = g("Reshape", found, g("Concat", g("Slice", g("Shape", near), ints(0), ints(1), ints(0)), ints(count), axis=0))
    sums = [g("ReduceSum", g("Cast", g("Equal", votes, np.int64(label)), to=FLOAT), ints(1), keepdims=1) for label in range(3)]
    total = g("Concat", *sums, axis=1)
    label = g.ml("ArrayFeatureExtractor", ints(10, 20, 30), g("Reshape", g("ArgMax", total, axis=1, keepdims=0), ints(-1)))
    g.output(g("Reshape", label, ints(-1)), "output_label", None, kind=INT64)
    g.output(g("Div", total, np.float32(count)), "probabilities", None, 3)
    return g.model(), [{"X": g.values.normal(rows, 3)} for rows in (1, 9)]


def k_means():
    """KMeans: squares of centres and a Gemm, distances, the nearest; behind it PCA of the same rows."""
    g = Writer("k_means", 13, producer="skl2onnx")
    x = g.input("X", "N", 4)
    centres = g.values.normal(3, 4)
    squares = g("ReduceSumSquare", x, axes=[1], keepdims=1)
    distance = g("Add", g("Gemm", x, g.weight(centres), squares, alpha=-2.0, transB=1), g.weight((centres**2).sum(1)[None].astype(np.float32)))
    g.output(g("ArgMin", distance, axis=1, keepdims=0), "label", "N", kind=INT64)
    g.output(g("Sqrt", g("Max", distance, np.float32(0))), "scores", "N", 3)
    g.output(g("MatMul", g("Sub", x, g.weight(g.values.normal(1, 4))), g.w(4, 2)), "components", "N", 2)
    return g.model(), [{"X": g.values.normal(rows, 4)} for rows in (1, 13)]


def text_categories():
    """Strings that only select: a column of names through a LabelEncoder and a OneHotEncoder."""
    g = Writer("text_categories", 15, producer="skl2onnx")
    city, job = g.input("city", None, 1, kind=STRING), g.input("job", None, 1, kind=STRING)
    number = g.ml("LabelEncoder", city, keys_strings=["Bern", "Rome", "Oslo"], values_floats=[0.5, 1.5, -2.0], default_float=9.0)
    hot = g("Reshape", g.ml("OneHotEncoder", job, cats_strings=["cook", "smith"], zeros=1), ints(-1, 2))
    x = g("Concat", number, hot, axis=1)
    label, scores = g.ml("LinearClassifier", x, outputs=2, coefficients=[0.5, -1.0, 1.0, -0.5, 1.0, -1.0], intercepts=[0.1, 0.0], multi_class=0,
                         post_transform="NONE", classlabels_strings=["no", "yes"])
    g.output(label, "label", None, kind=STRING)
    g.output(scores, "scores", None, 2)
    mapped = g.ml("CategoryMapper", job, cats_strings=["smith", "cook"], cats_int64s=[7, 9], default_int64=-4)
    g.output(mapped, "mapped", None, 1, kind=INT64)
    g.output(g.ml("CategoryMapper", mapped, cats_strings=["nine", "seven"], cats_int64s=[9, 7], default_string="other"), "named", None, 1, kind=STRING)
    return g.model(), [{"city": np.array([["Rome"]], object), "job": np.array([["cook"]], object)},
                       {"city": np.array([["Oslo"], ["Paris"], ["Bern"]], object), "job": np.array([["smith"], ["cook"], ["none"]], object)}]


def table_of_strings():
    """Columns of a table that are encoded together: skl2onnx joins them, and is strict where no other category is ignored."""
    g = Writer("table_of_strings", 15, producer="skl2onnx")
    both = g("Concat", g.input("city", None, 1, kind=STRING), g.input("job", None, 1, kind=STRING), axis=1)
    city, job = g("Split", both, axis=1, outputs=2)
    hot = [g("Reshape", g.ml("OneHotEncoder", part, cats_strings=names, zeros=0), ints(-1, len(names)))
           for part, names in ((city, ["Bern", "Rome", "Oslo"]), (job, ["cook", "smith"]))]
    age = g("Cast", g.input("age", None, 1, kind=INT64), to=FLOAT)
    x = g("Concat", g.ml("Scaler", age, offset=[30.0], scale=[0.1]), *hot, axis=1)
    label, scores = g.ml("LinearClassifier", x, outputs=2, coefficients=[0.5, -1.0, 1.0, -0.5, 1.0, -1.0], intercepts=[0.1], multi_class=0,
                         post_transform="LOGISTIC", classlabels_strings=["no", "yes"])
    g.output(g("Cast", label, to=STRING), "label", None, kind=STRING)
    zip_map(g, scores, ["no", "yes"])
    sure = g("Greater", g("ReduceMax", scores, axes=[1], keepdims=0), np.float32(0.7))
    g.output(g("Where", sure, label, np.array(["unsure"], object)), "verdict", None, kind=STRING)
    return g.model(), [{"city": np.array([["Rome"]], object), "job": np.array([["cook"]], object), "age": np.array([[20]])},
                       {"city": np.array([["Oslo"], ["Bern"]], object), "job": np.array([["smith"], ["cook"]], object), "age": np.array([[50], [31]])}]


def constant_strings():
    """Constants of strings, one of them with a string twice, that inputs are compared with."""
    g = Writer("constant_strings", 19)
    city = g.input("city", None, 1, kind=STRING)
    rome = g("Constant", value_string="Rome")
    is_rome = g("Equal", city, rome)
    g.output(is_rome, "rome", None, 1, kind=onnx.TensorProto.BOOL)
    g.output(g("Equal", city, g("Constant", value_strings=["Bern", "Rome", "Bern"])), "either", None, 3, kind=onnx.TensorProto.BOOL)
    g.output(g("Where", is_rome, city, np.array(["elsewhere"], object)), "named", None, 1, kind=STRING)
    # A list with a string twice, whose third place is compared.
    given = g.ml("LabelEncoder", g.input("number", None, 1, kind=INT64), keys_int64s=[1, 2, 3], values_strings=["Rome", "Oslo", "Rome"],
                 default_string="Oslo")
    g.output(given, "of_number", None, 1, kind=STRING)
    for name, pair in (("same", (city, given)), ("as_well", (given, city))):
        g.output(g("Equal", *pair), name, None, 1, kind=onnx.TensorProto.BOOL)
    return g.model(), [{"city": np.array([["Rome"]], object), "number": np.array([[3]])},
                       {"city": np.array([["Oslo"], ["Bern"], ["Rome"], ["Oslo"], ["Rome"]], object), "number": np.array([[2], [1], [3], [9], [1]])}]


def old_labels():
    """LabelEncoder of the first opset of ai.onnx.ml, either way."""
    g = Writer("old_labels", 9, producer="OnnxMLTools")
    g.domains["ai.onnx.ml"] = 1
    names = ["Bern", "Rome", "Oslo"]
    place = g.ml("LabelEncoder", g.input("city", None, kind=STRING), classes_strings=names, default_int64=-1)
    g.output(place, "place", None, kind=INT64)
    g.output(g.ml("LabelEncoder", g.input("number", None, kind=INT64), classes_strings=names, default_string="other"), "name", None, kind=STRING)
    return g.model(), [{"city": np.array(["Rome", "Paris"], object), "number": np.array([2, 7, -1, 0])}]


def dictionaries():
    """DictVectorizer and CastMap: kpc takes rows of values, in an order that the artifact's metadata has."""
    g = Writer("dictionaries", 9, producer="skl2onnx")
    def given(name, key):
        g.inputs.append(onnx.helper.make_value_info(name, onnx.helper.make_map_type_proto(key, onnx.helper.make_tensor_type_proto(FLOAT, []))))
        return name
    g.output(g.ml("DictVectorizer", given("words", STRING), string_vocabulary=["a", "b", "c"]), "row", None, 3)
    g.output(g.ml("CastMap", given("sparse", INT64), cast_to="TO_FLOAT", map_form="SPARSE", max_map=4), "slots", None, 4)
    g.output(g.ml("CastMap", given("one", INT64), map_form="SPARSE"), "slot", None, 1)
    g.output(g.ml("CastMap", given("dense", INT64), cast_to="TO_INT64", map_form="DENSE"), "whole", None, None, kind=INT64)
    return g.model(), [{"words": {"c": 1.5, "a": -2.0}, "sparse": {3: 1.0, 0: 4.0}, "one": {0: 2.5}, "dense": {7: 2.0, 1: 3.0}}]
