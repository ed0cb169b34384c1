#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs operators on NaN, infinities and numbers out of range, where kpc's rules say what comes out.

    python3 special_values.py --kpc build/dev/bin/kpc --work-dir DIR [--arch host] [--device host] [--only NAME]

Expected values are computed here, or by onnxruntime where ONNX leaves nothing open. Results must be equal, bit for bit but for
the kind of a NaN, unless a case allows a rounding error.

Exits 0 where all results are right, 77 (a skip) where a Python package is not installed, else 1.
"""

import argparse
import dataclasses
import math
import pathlib
import sys

SKIPPED = 77

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(SKIPPED)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "fuzz"))

import contained

NAN, INF = math.nan, math.inf
FLOATS = {"f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16, "f32": TensorProto.FLOAT, "f64": TensorProto.DOUBLE}
INTEGERS = {"i8": TensorProto.INT8, "i16": TensorProto.INT16, "i32": TensorProto.INT32, "i64": TensorProto.INT64,
            "u8": TensorProto.UINT8, "u16": TensorProto.UINT16, "u32": TensorProto.UINT32, "u64": TensorProto.UINT64}
NUMPY = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "i16": np.int16, "i32": np.int32,
         "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64}


@dataclasses.dataclass
class Case:
    model: onnx.ModelProto
    runs: list  # (feeds, wanted): name -> array each
    dims: tuple = ()  # "n=1..8"
    error: float = 0  # of the largest finite element


def model(nodes, inputs, outputs, initializers=(), opset=21):
    """`inputs` and `outputs`: name -> (element type, dims or None)."""
    def infos(values):
        return [helper.make_tensor_value_info(name, kind, dims) for name, (kind, dims) in values.items()]
    graph = helper.make_graph(nodes, "special", infos(inputs), infos(outputs), list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def by_onnxruntime(proto, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds)))


def stored(values, kind):
    """The values as their type holds them, as f64."""
    array = np.asarray(values, np.float64)
    with np.errstate(over="ignore"):
        if kind != "bf16":
            return array.astype(NUMPY[kind]).astype(np.float64)
        bits = array.astype(np.float32).view(np.uint32).astype(np.uint64)
        rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)
        return np.where(np.isnan(array), np.nan, rounded.astype(np.float64))


# TopK: NaN is the greatest, what is equal keeps its order.

def in_order(row, largest):
    def key(i):
        value = row[i].item()
        nan = value != value
        value = 0 if nan else value
        return (-int(nan), -value, i) if largest else (int(nan), value, i)
    return sorted(range(len(row)), key=key)


def top(x, k, axis, largest):
    order = np.apply_along_axis(lambda row: in_order(row, largest)[:k], axis, x).astype(np.int64)
    return np.take_along_axis(x, order, axis), order


ROWS = np.array([[3, 1, NAN, 2, 0, 5], [NAN] * 6, [1, NAN, NAN, 2, NAN, NAN], [INF, -INF, NAN, INF, -INF, 0],
                 [0.0, -0.0, 0.0, NAN, -0.0, 1], [1, 1, 1, 1, 1, 1], [NAN, 5, 4, 3, 2, 1], [5, 4, 3, 2, 1, NAN]])


def top_case(kinds, dynamic):
    """Both axes, largest and smallest, all counts of a row at once."""
    nodes, outputs, initializers, feeds, wanted = [], {}, [], {}, {}
    inputs = {}
    for k in (1, 3, 6):
        initializers.append(onnx.numpy_helper.from_array(np.array([k], np.int64), f"k{k}"))
    for kind in kinds:
        brain = kind == "bf16"
        own = "f32" if brain else kind
        x = f"x_{kind}"
        rows = np.where(np.isnan(ROWS), 7, np.clip(ROWS, 0, 9)) if kind in INTEGERS else ROWS
        inputs[x] = (TensorProto.FLOAT if brain else {**FLOATS, **INTEGERS}[kind], ["n", "m"] if dynamic else list(ROWS.shape))
        feeds[x] = rows.astype(NUMPY[own])
        source = x
        if brain:
            nodes.append(helper.make_node("Cast", [x], ["narrow"], to=FLOATS["bf16"]))
            source = "narrow"
        for axis in (0, 1):
            for largest in (0, 1):
                for k in (1, 3, 6):
                    values, indices = (f"{w}_{kind}_{axis}_{largest}_{k}" for w in "vi")
                    raw = values + "_raw" if brain else values
                    nodes.append(helper.make_node("TopK", [source, f"k{k}"], [raw, indices], axis=axis, largest=largest))
                    if brain:
                        nodes.append(helper.make_node("Cast", [raw], [values], to=TensorProto.FLOAT))
                    outputs[values], outputs[indices] = (inputs[x][0], None), (TensorProto.INT64, None)
                    wanted[values], wanted[indices] = top(feeds[x], k, axis, largest)
    return Case(model(nodes, inputs, outputs, initializers), [(feeds, wanted)], ("n=6..16", "m=6..64") if dynamic else ())


# Cast to an integer: cut toward zero, then the nearest that the type holds; NaN is 0.

EXTREMES = [NAN, INF, -INF, 0.0, -0.0, 0.5, -0.5, -0.99, 0.99, 1.5, -1.5, 127, 127.9, 128, -128, -128.9, -129, 255, 255.9, 256,
            32767, 32768, -32768, -32769, 65504, 65535, 65536, 2.0**31 - 128, 2.0**31 - 1, 2.0**31, -2.0**31, -2.0**31 - 1, -2.0**31 - 256,
            3e9, -3e9, 2.0**32 - 256, 2.0**32 - 1, 2.0**32, 2.0**53, 2.0**63 - 2.0**40, 2.0**63 - 1024, 2.0**63, -2.0**63, -2.0**63 - 2.0**20,
            2.0**64 - 2.0**41, 2.0**64 - 2048, 2.0**64, 1e30, -1e30, 3e38, -3e38]


def saturated(x, kind):
    limits = np.iinfo(NUMPY[kind])
    whole = [0 if math.isnan(v) else limits.max if v == INF else limits.min if v == -INF else min(max(math.trunc(v), limits.min), limits.max)
             for v in map(float, x)]
    return np.array(whole, NUMPY[kind])


def cast_case(dynamic):
    """Each pair of types as it is, and behind other arithmetic of the same kernel."""
    nodes, outputs, wanted, inputs, feeds = [], {}, {}, {}, {}
    for kind in FLOATS:
        own = "f32" if kind == "bf16" else kind
        inputs[f"x_{kind}"] = (FLOATS[own], ["n"] if dynamic else [len(EXTREMES)])
        with np.errstate(over="ignore"):
            feeds[f"x_{kind}"] = np.array(EXTREMES, NUMPY[own])
        source = f"x_{kind}"
        if kind == "bf16":
            nodes.append(helper.make_node("Cast", [source], ["narrow"], to=FLOATS["bf16"]))
            source = "narrow"
        held = stored(EXTREMES, kind)
        nodes.append(helper.make_node("Neg", [source], [f"minus_{kind}"]))
        for to in INTEGERS:
            for name, x, values in ((f"y_{kind}_{to}", source, held), (f"z_{kind}_{to}", f"minus_{kind}", -held)):
                nodes.append(helper.make_node("Cast", [x], [name], to=INTEGERS[to]))
                outputs[name], wanted[name] = (INTEGERS[to], None), saturated(values, to)
    return Case(model(nodes, inputs, outputs), [(feeds, wanted)], ("n=1..100",) if dynamic else ())


def fused_cast_case():
    """A logarithm gives the NaN and the infinity, in f32 and f64; the result must not depend on whether it is kept."""
    nodes, outputs, wanted = [], {}, {}
    x = np.array([-3, -1, 0, 1, 20], np.int32)
    for kind in ("f32", "f64"):
        nodes += [helper.make_node("Cast", ["x"], [f"f_{kind}"], to=FLOATS[kind]),
                  helper.make_node("Log", [f"f_{kind}"], [f"l_{kind}"])]
        for to in INTEGERS:
            name = f"y_{kind}_{to}"
            nodes.append(helper.make_node("Cast", [f"l_{kind}"], [name], to=INTEGERS[to]))
            outputs[name] = (INTEGERS[to], None)
            wanted[name] = saturated([NAN, NAN, -INF, 0, math.log(20)], to)
    return Case(model(nodes, {"x": (TensorProto.INT32, [5])}, outputs), [({"x": x}, wanted)])


def constant_cast_case():
    """What kpc computes when compiling is what a kernel computes."""
    nodes, outputs, wanted = [], {}, {}
    x = np.array(EXTREMES, np.float32)
    weights = [onnx.numpy_helper.from_array(x, "w")]
    for to in INTEGERS:
        nodes.append(helper.make_node("Cast", ["w"], [f"y_{to}"], to=INTEGERS[to]))
        outputs[f"y_{to}"], wanted[f"y_{to}"] = (INTEGERS[to], None), saturated(stored(EXTREMES, "f32"), to)
        for i, value in enumerate((3e9, -3e9, 300.5, -1.5)):
            nodes += [helper.make_node("Constant", [], [f"c_{to}_{i}"], value_float=value),
                      helper.make_node("Cast", [f"c_{to}_{i}"], [f"s_{to}_{i}"], to=INTEGERS[to])]
            outputs[f"s_{to}_{i}"] = (INTEGERS[to], None)
            wanted[f"s_{to}_{i}"] = saturated([float(np.float32(value))], to)[0]
    nodes.append(helper.make_node("Neg", ["x"], ["y"]))
    outputs["y"], wanted["y"] = (TensorProto.FLOAT, None), np.array([-1], np.float32)
    return Case(model(nodes, {"x": (TensorProto.FLOAT, [1])}, outputs, weights), [({"x": np.array([1], np.float32)}, wanted)])


# Transposed convolutions multiply only what is there: a weight that is infinite reaches no other result.

def transposed(x_dims, w_dims, given, dynamic=(), bias=False, **attributes):
    """`given`: whether the weights are an input."""
    random = np.random.default_rng(1)
    x = random.integers(-3, 4, x_dims).astype(np.float32)
    w = random.integers(-3, 4, w_dims).astype(np.float32)
    w.flat[1], w.flat[w.size // 2], w.flat[-1] = INF, NAN, -INF
    x.flat[-1] = INF
    inputs = {"x": (TensorProto.FLOAT, [dynamic[i] if i < len(dynamic) and dynamic[i] else d for i, d in enumerate(x_dims)])}
    feeds, initializers, names = {"x": x}, [], ["x", "w"]
    if given:
        inputs["w"], feeds["w"] = (TensorProto.FLOAT, list(w_dims)), w
    else:
        initializers.append(onnx.numpy_helper.from_array(w, "w"))
    if bias:
        channels = w_dims[1] * attributes.get("group", 1)
        initializers.append(onnx.numpy_helper.from_array(np.arange(channels).astype(np.float32), "b"))
        names.append("b")
    proto = model([helper.make_node("ConvTranspose", names, ["y"], **attributes)], inputs, {"y": (TensorProto.FLOAT, None)}, initializers)
    return Case(proto, [(feeds, None)], tuple(f"{d}=1..32" for d in dynamic if d), error=1e-6)


# GridSample of integers: sums in floats, cut toward zero. The places are such that floats are exact.

def grid_case():
    image = np.array([[3, -7, 100, 41], [-100, 0, 9, 77], [5, 60, -90, 11], [1, 2, 120, -128]], np.float32).reshape(1, 1, 4, 4)
    random = np.random.default_rng(2)
    grid = (random.integers(-12, 13, (1, 5, 6, 2)) / 8).astype(np.float32)
    nodes, outputs, wanted = [], {}, {}
    inputs, feeds = {"grid": (TensorProto.FLOAT, list(grid.shape))}, {"grid": grid}
    kinds = ("i8", "u8", "i32", "i64")
    for kind in kinds:
        held = image % 128 if kind == "u8" else image
        inputs[f"x_{kind}"], feeds[f"x_{kind}"] = (INTEGERS[kind], list(image.shape)), held.astype(NUMPY[kind])
    for mode in ("nearest", "linear", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            options = dict(mode=mode, padding_mode=padding, align_corners=0)
            for kind in kinds:
                name = f"y_{kind}_{mode}_{padding}"
                nodes.append(helper.make_node("GridSample", [f"x_{kind}", "grid"], [name], **options))
                outputs[name] = (INTEGERS[kind], None)
                real = model([helper.make_node("GridSample", ["x", "grid"], ["y"], **options)],
                             {"x": (TensorProto.FLOAT, list(image.shape)), "grid": inputs["grid"]}, {"y": (TensorProto.FLOAT, None)})
                sums = by_onnxruntime(real, {"x": feeds[f"x_{kind}"].astype(np.float32), "grid": grid})["y"]
                wanted[name] = saturated(sums.reshape(-1), kind).reshape(sums.shape)
    return Case(model(nodes, inputs, outputs), [(feeds, wanted)])


# The greatest of a window is NaN where one is there, with and without its place.

def pool_case():
    x = np.array([1, NAN, 2, NAN, 3, 4, -INF, INF, 5, 6, NAN, 7, 8], np.float32).reshape(1, 1, 13)
    nodes = [helper.make_node("MaxPool", ["x"], ["both", "places"], kernel_shape=[3]),
             helper.make_node("MaxPool", ["x"], ["alone"], kernel_shape=[3])]
    places = [next((i + k for k in range(3) if np.isnan(x[0, 0, i + k])), i + int(np.argmax(x[0, 0, i:i + 3]))) for i in range(11)]
    greatest = x[0, 0, places].reshape(1, 1, 11)
    wanted = {"both": greatest, "places": np.array(places, np.int64).reshape(1, 1, 11), "alone": greatest}
    outputs = {"both": (TensorProto.FLOAT, None), "places": (TensorProto.INT64, None), "alone": (TensorProto.FLOAT, None)}
    return Case(model(nodes, {"x": (TensorProto.FLOAT, [1, 1, 13])}, outputs), [({"x": x}, wanted)])


# A target that is ignored adds nothing, whatever its scores are.

def ignored_case():
    scores = np.array([[1, 2, 3], [NAN, INF, 0], [3, 2, 1], [-INF, 0, NAN]], np.float32)
    target = np.array([2, 1, 0, 7], np.int64)
    nodes, outputs, wanted = [], {}, {}
    for how in ("none", "sum", "mean"):
        nodes.append(helper.make_node("NegativeLogLikelihoodLoss", ["x", "t"], [how], reduction=how, ignore_index=7))
        nodes.append(helper.make_node("NegativeLogLikelihoodLoss", ["x", "u"], [f"u_{how}"], reduction=how, ignore_index=1))
        for name in (how, f"u_{how}"):
            outputs[name] = (TensorProto.FLOAT, None)
    feeds = {"x": scores, "t": target, "u": np.array([2, 1, 0, 1], np.int64)}
    for name, losses, count in (("", [-3, -INF, -3, 0], 3), ("u_", [-3, 0, -3, 0], 2)):
        losses = np.array(losses, np.float32)
        wanted |= {f"{name}none": losses, f"{name}sum": losses.sum(), f"{name}mean": losses.sum() / np.float32(count)}
    inputs = {"x": (TensorProto.FLOAT, [4, 3]), "t": (TensorProto.INT64, [4]), "u": (TensorProto.INT64, [4])}
    return Case(model(nodes, inputs, outputs), [(feeds, wanted)])


CASES = {
    "max-pool": pool_case,
    "ignored-targets": ignored_case,
    "grid-sample-integers": grid_case,
    "cast-constant": constant_cast_case,
    "conv-transpose": lambda: transposed([2, 3, 5], [3, 2, 4], True, strides=[2], pads=[1, 2], output_padding=[1]),
    "conv-transpose-weights": lambda: transposed([1, 1, 4], [1, 1, 3], False, strides=[2]),
    "conv-transpose-groups": lambda: transposed([2, 4, 4, 5], [4, 3, 3, 2], False, bias=True, group=2, strides=[2, 1], dilations=[1, 2], pads=[0, 1, 1, 0]),
    "conv-transpose-dynamic": lambda: transposed([2, 2, 4, 5], [2, 1, 3, 3], True, ("n", "", "h"), strides=[3, 2]),
    "conv-transpose-volume": lambda: transposed([1, 2, 2, 3, 2], [2, 2, 2, 2, 3], True, strides=[2, 1, 2]),
    "conv-transpose-same": lambda: transposed([1, 2, 5], [2, 1, 3], True, strides=[2], auto_pad="SAME_UPPER"),
    "conv-transpose-shape": lambda: transposed([1, 2, 5], [2, 1, 3], False, strides=[2], output_shape=[10]),
    "top-k": lambda: top_case(["f32", "f64", "i32"], False),
    "top-k-narrow": lambda: top_case(["f16", "bf16", "u8"], False),
    "top-k-dynamic": lambda: top_case(["f32"], True),
    "cast": lambda: cast_case(False),
    "cast-dynamic": lambda: cast_case(True),
    "cast-fused": fused_cast_case,
}


def difference(got, want, error):
    """What is wrong with a result; empty where nothing is."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"is {got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    same = got == want
    if want.dtype.kind == "f":
        same |= np.isnan(got) & np.isnan(want)
        finite = np.isfinite(want)
        if error and finite.any():
            with np.errstate(invalid="ignore", over="ignore"):
                same |= finite & (np.abs(got.astype(np.float64) - want.astype(np.float64)) <= error * np.abs(want[finite].astype(np.float64)).max())
    if same.all():
        return ""
    places = np.argwhere(~same)
    first = tuple(places[0])
    return f"{len(places)} of {want.size} elements are wrong, first at {list(map(int, first))}: {got[first]}, expected {want[first]}"


def problems(name, case, options):
    folder = options.work_dir / name
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(case.model, folder / "model.onnx")

    def call(*arguments):
        return contained.run([str(a) for a in (options.kpc, *arguments)], options.limit)

    dims = [word for dim in case.dims for word in ("--dim", dim)]
    code, text = call("compile", folder / "model.onnx", "--arch", options.arch, "-O0", "--precision", "fp32", "-o", folder / "model.kpc", "--no-cache", "--quiet", *dims)
    if code != 0:
        yield f"compile: {'hang' if code is None else f'exit code {code}'}: {text.strip()[-600:]}"
        return
    for i, (feeds, wanted) in enumerate(case.runs):
        inputs, results = [], folder / f"out{i}"
        results.mkdir(exist_ok=True)
        for key, array in feeds.items():
            np.save(folder / f"{key}.npy", array)
            inputs += ["--input", f"{key}={folder / key}.npy"]
        code, text = call("run", folder / "model.kpc", *inputs, "--device", options.device, "--output-dir", results, "--quiet")
        if code != 0:
            yield f"run {i}: {'hang' if code is None else f'exit code {code}'}: {text.strip()[-600:]}"
            continue
        for key, want in (wanted or by_onnxruntime(case.model, feeds)).items():
            found = difference(np.load(results / f"{key}.npy"), want, case.error)
            if found:
                yield f"run {i}: {key} {found}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--arch", default="host")
    parser.add_argument("--device", default="host")
    parser.add_argument("--only", default="", help="cases with this in their names")
    parser.add_argument("--limit", type=float, default=300, help="seconds for one command")
    options = parser.parse_args()
    names = [name for name in CASES if options.only in name]
    if not names:
        parser.error(f"no case has '{options.only}' in its name")
    wrong = 0
    for name in names:
        found = list(problems(name, CASES[name](), options))
        wrong += bool(found)
        print(f"{name}: {'right' if not found else 'WRONG'}")
        for line in found[:20]:
            print(f"  {line}")
    print(f"{len(names)} cases, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
