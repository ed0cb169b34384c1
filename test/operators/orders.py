#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sorts and what is made of them beside numpy, bit for bit: TopK, Unique, NonZero, Compress, scatters.

    python3 orders.py --kpc KPC --work-dir DIR [--arch host] [--device host] [--long] [--only NAME]

Rows are longer and shorter than what is sorted at once, ragged and of dynamic sizes, with ties, NaN, infinities and zeros of
both signs. With --long, rows of up to 2^20 elements.
"""

import argparse
import dataclasses
import os
import pathlib
import subprocess
import sys

try:
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper, save
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

KINDS = {"f16": TensorProto.FLOAT16, "f32": TensorProto.FLOAT, "f64": TensorProto.DOUBLE, "i8": TensorProto.INT8, "i16": TensorProto.INT16,
         "i32": TensorProto.INT32, "i64": TensorProto.INT64, "u8": TensorProto.UINT8, "u16": TensorProto.UINT16, "u32": TensorProto.UINT32,
         "u64": TensorProto.UINT64, "bool": TensorProto.BOOL}
NUMPY = {kind: helper.tensor_dtype_to_np_dtype(proto).type for kind, proto in KINDS.items()}


@dataclasses.dataclass
class Case:
    name: str
    nodes: list
    feeds: dict
    wanted: dict  # in the order of the model's outputs
    constants: dict = dataclasses.field(default_factory=dict)
    sizes: dict = dataclasses.field(default_factory=dict)  # of inputs that are dynamic: name -> dims
    dims: tuple = ()


def elements(kind, shape, seed=0, spread=None):
    """Ties, and for floats what compares oddly."""
    rng = np.random.default_rng(seed)
    if kind == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if kind[0] == "f":
        x = rng.standard_normal(shape).astype(NUMPY[kind])
        odd = rng.integers(0, 12, shape)
        for number, value in enumerate((np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0)):
            x[odd == number] = value
        return x
    limits = np.iinfo(NUMPY[kind])
    low, high = (limits.min, limits.max) if spread is None else (max(limits.min, -spread), min(limits.max, spread))
    x = rng.integers(low, high, shape, NUMPY[kind], endpoint=True)
    x.flat[::7] = low
    x.flat[::11] = high
    x.flat[::5] = x.flat[0]
    return x


def ordered(x, axis, largest):
    if not largest:
        return np.argsort(x, axis, kind="stable")
    turned = np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
    return x.shape[axis] - 1 - turned


def top(kind, shape, k, axis=-1, largest=1, dynamic=(), dims=()):
    x = elements(kind, shape)
    indices = np.take(ordered(x, axis, largest), np.arange(k), axis)
    name = f"top_{kind}_{'x'.join(map(str, shape))}_{k}_{axis}_{largest}{'_dynamic' if dynamic else ''}"
    node = helper.make_node("TopK", ["x", "k"], ["y", "i"], axis=axis, largest=largest)
    return Case(name, [node], {"x": x}, {"y": np.take_along_axis(x, indices, axis), "i": indices}, {"k": np.array([k])},
                {"x": dynamic} if dynamic else {}, dims)


def unique(kind, size, in_order, spread=9):
    x = elements(kind, (size,), spread=spread)
    _, first, inverse, counts = np.unique(x, True, True, True)
    inverse = inverse.reshape(-1)
    if not in_order:
        by_first = np.argsort(first, kind="stable")
        place = np.empty_like(by_first)
        place[by_first] = np.arange(len(first))
        first, counts, inverse = first[by_first], counts[by_first], place[inverse]
    node = helper.make_node("Unique", ["x"], ["y", "first", "inverse", "counts"], sorted=in_order)
    return Case(f"unique_{kind}_{size}_{in_order}", [node], {"x": x},
                {"y": x[first], "first": first, "inverse": inverse, "counts": counts})


def nonzero(kind, shape, density=0.4):
    rng = np.random.default_rng(3)
    x = elements(kind, shape, seed=1)
    x[rng.random(shape) > density] = 0
    return Case(f"nonzero_{kind}_{'x'.join(map(str, shape))}_{density}", [helper.make_node("NonZero", ["x"], ["y"])], {"x": x},
                {"y": np.array(np.nonzero(x))})


def compress(shape, axis, kept):
    x, flags = elements("f32", shape), elements("bool", (kept,))
    padded = np.zeros(shape[axis], bool)
    padded[:kept] = flags
    return Case(f"compress_{'x'.join(map(str, shape))}_{axis}", [helper.make_node("Compress", ["x", "c"], ["y"], axis=axis)],
                {"x": x, "c": flags}, {"y": np.compress(padded, x, axis)})


COMBINE = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def meet(y, at, update, reduction):
    y[at] = update if reduction == "none" else COMBINE[reduction](y[at], update)


def scatter(op, kind, sizes, updates, reduction, axis=0, seed=5, dynamic=(), skewed=False):
    """`sizes` of x; `updates`: how many rows, or the sizes of the indices."""
    rng = np.random.default_rng(seed)
    def values(shape):
        return rng.integers(0, 5, shape).astype(NUMPY[kind]) if kind[0] in "iu" else rng.standard_normal(shape).astype(NUMPY[kind])
    x = values(sizes)
    wide = np.float32 if kind == "f16" else NUMPY[kind]
    y = x.astype(wide)
    if op == "ScatterND":
        count, length = updates
        indices = np.stack([rng.integers(-size, size, count) for size in sizes[:length]], -1)
        if skewed:
            indices[count // 3:] = indices[0]
        source = values((count, *sizes[length:]))
        for at, update in zip(indices, source.astype(wide)):
            meet(y, tuple(at), update, reduction)
    else:
        indices = rng.integers(-sizes[axis], sizes[axis], updates)
        source = values(updates)
        for place in np.ndindex(*updates):
            at = list(place)
            at[axis] = indices[place]
            meet(y, tuple(at), wide(source[place]), reduction)
    node = helper.make_node(op, ["x", "i", "u"], ["y"], reduction=reduction, **({"axis": axis} if op == "ScatterElements" else {}))
    name = f"{op}_{kind}_{'x'.join(map(str, sizes))}_{'x'.join(map(str, updates))}_{reduction}_{axis}{'_skewed' if skewed else ''}"
    return Case(name, [node], {"x": x, "i": indices.astype(np.int64), "u": source}, {"y": y.astype(NUMPY[kind])},
                sizes=dict(zip("xiu", dynamic)) if dynamic else {})


def scatter_rows(count, rows, columns, axis, reduction):
    """Indices that are one for each row, spread over the columns, as exporters write index_add."""
    rng = np.random.default_rng(9)
    shape, own = ([rows, columns], [count, 1]) if axis == 0 else ([columns, rows], [1, count])
    whole = [count, columns] if axis == 0 else [columns, count]
    x, source, indices = rng.standard_normal(shape).astype(np.float32), rng.standard_normal(whole).astype(np.float32), rng.integers(0, rows, own)
    y = x.copy()
    for number, row in enumerate(indices.flat):
        at = (row,) if axis == 0 else (slice(None), row)
        meet(y, at, source[number] if axis == 0 else source[:, number], reduction)
    nodes = [helper.make_node("Expand", ["i", "shape"], ["wide"]),
             helper.make_node("ScatterElements", ["x", "wide", "u"], ["y"], reduction=reduction, axis=axis)]
    return Case(f"scatter_rows_{count}_{rows}x{columns}_{axis}_{reduction}", nodes, {"x": x, "i": indices, "u": source}, {"y": y},
                {"shape": np.array(whole)})


def short_cases():
    for kind in KINDS:
        if kind != "bool":
            yield top(kind, (3, 300), 300, largest=1)
            yield top(kind, (2, 37), 9, largest=0)
    yield from (top("f32", (2, 5000), 5000, largest=0), top("f32", (5000, 2), 70, 0), top("f16", (1, 4096), 4096), top("i64", (2, 4097), 33),
                top("f32", (3, 9001), 20), top("f32", (2, 2, 8192), 64, largest=0), top("u8", (1, 9000), 60), top("f64", (1, 8500), 8500),
                top("f32", (2, 257), 257), top("f32", (2, 64), 64), top("f32", (2, 65), 1), top("i32", (1, 12289), 12289, largest=0),
                top("f32", (2, 4400), 11, dynamic=("b", "n")), top("f32", (1, 100), 11, dynamic=("b", "n"), dims=("n=11..20000",)),
                top("f16", (2, 13000), 30, dynamic=("b", "n"), dims=("n=2000..20000:opt=16384",)))
    # Rows in registers, and long ones by their digits.
    yield from (top("f32", (300, 16), 16, largest=0), top("f16", (1001, 8), 2), top("i8", (37, 100), 100), top("u32", (257, 3), 3), top("i16", (5, 128), 9),
                top("f32", (9, 2, 33), 1), top("f32", (7, 1), 1), top("f64", (3, 20), 4), top("f32", (3, 50), 7, dynamic=("b", "n"), dims=("n=7..64",)),
                top("f32", (1024, 1024), 7), top("u8", (520, 2048), 5, largest=0), top("i16", (3, 16384), 40), top("f16", (2, 8192, 3), 12, 1),
                top("u8", (2, 9001), 9001), top("i8", (9001, 2), 9001, 0, largest=0), top("f16", (1, 40001), 40001), top("u16", (2, 33000), 33000, largest=0),
                top("i16", (1, 34000), 5000), top("i32", (1, 8193), 8193, dynamic=("b", "n")), top("f32", (2, 100), 100, dynamic=("b", "n")),
                top("i64", (1, 5000), 5000, dynamic=("b", "n")), top("f16", (3, 1), 1, dynamic=("b", "n")),
                scatter("ScatterND", "f32", (300, 3), (20000, 1), "add"), scatter("ScatterND", "f32", (9, 2), (40000, 1), "none", skewed=True))
    for kind in ("f32", "i64", "u8", "f16"):
        yield unique(kind, 300, 1)
        yield unique(kind, 301, 0)
    yield from (unique("f32", 5001, 1), unique("i32", 5001, 0, spread=2000), unique("i32", 1, 1), unique("i64", 40, 0))
    yield from (nonzero("f32", (37, 41)), nonzero("i64", (3, 50, 7)), nonzero("bool", (5001,)), nonzero("f32", (100,), 0), nonzero("f32", (6000,), 1),
                compress((37, 5), 0, 30), compress((4, 700), 1, 700))
    for reduction in ("none", "add", "mul", "max", "min"):
        yield scatter("ScatterND", "f32", (61, 7), (900, 1), reduction)
        yield scatter("ScatterElements", "f32", (50, 40), (45, 39), reduction, axis=0)
    yield from (scatter("ScatterND", "i32", (9, 11, 3), (5000, 2), "add"), scatter("ScatterND", "f16", (600, 4), (300, 1), "add"),
                scatter("ScatterND", "i64", (4000,), (3000, 1), "none"), scatter("ScatterElements", "i8", (30, 200), (30, 500), "max", axis=1),
                scatter("ScatterND", "f32", (61, 7), (5000, 1), "add", skewed=True), scatter("ScatterND", "f32", (7, 3), (2, 1), "add"),
                scatter("ScatterND", "f32", (300, 20), (700, 1), "add", dynamic=(("p", 20), ("u", 1), ("u", 20))),
                scatter("ScatterElements", "f64", (17, 90, 3), (17, 110, 3), "add", axis=1),
                scatter_rows(900, 50, 12, 0, "add"), scatter_rows(700, 50, 12, 1, "none"), scatter_rows(5000, 9, 64, 0, "max"))


def long_cases():
    yield from (top("f32", (1 << 20,), 1 << 20, 0), top("f32", (8, 131072), 64), top("i64", (1 << 18,), 1 << 18, 0, largest=0), top("f64", (1, 300001), 300001),
                top("u32", (300001, 2), 300001, 0), top("f32", (2, 128256), 50),
                top("f32", (3, 8400), 300), unique("i32", 200001, 1, spread=50000), nonzero("f32", (1 << 20,)),
                scatter("ScatterND", "f32", (3000, 64), (30000, 1), "add"), scatter_rows(30000, 1000, 64, 0, "add"))


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=600)
    return None if done.returncode == 0 else (done.stdout + done.stderr)[-800:]


def problem(case, options):
    folder = options.work_dir / case.name
    folder.mkdir(parents=True, exist_ok=True)
    def infos(values, sizes):
        return [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(v.dtype), sizes(name, v)) for name, v in values.items()]
    graph = helper.make_graph(case.nodes, "orders", infos(case.feeds, lambda name, v: case.sizes.get(name, v.shape)),
                              infos(case.wanted, lambda name, v: [None] * v.ndim),
                              [numpy_helper.from_array(v.astype(np.int64), name) for name, v in case.constants.items()])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), folder / "m.onnx")
    inputs = []
    for name, value in case.feeds.items():
        np.save(folder / f"in-{name}.npy", value)
        inputs += ["--input", f"{name}={folder / f'in-{name}.npy'}"]
    dims = [word for dim in case.dims for word in ("--dim", dim)]
    fault = run(options.kpc, "compile", folder / "m.onnx", "--arch", options.arch, "-O0", "-o", folder / "m.kpc", "--quiet", *dims)
    fault = fault or run(options.kpc, "run", folder / "m.kpc", *inputs, "--output-dir", folder, "--device", options.device)
    if fault:
        return fault
    for name, want in case.wanted.items():
        got = np.load(folder / f"{name}.npy")
        if got.shape != want.shape:
            return f"{name} has sizes {got.shape}, expected {want.shape}"
        if got.dtype.kind == "f":
            same = (got == want) & (np.signbit(got) == np.signbit(want)) | np.isnan(got) & np.isnan(want)
        else:
            same = got == want
        if not same.all():
            at = tuple(int(i) for i in np.argwhere(~same)[0])
            return f"{name} has {(~same).sum()} of {same.size} wrong; at {at} {got[at]}, expected {want[at]}"
    return None


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--kpc", required=True)
    arguments.add_argument("--work-dir", type=pathlib.Path, required=True)
    arguments.add_argument("--arch", default="host")
    arguments.add_argument("--device", default="host")
    arguments.add_argument("--long", action="store_true")
    arguments.add_argument("--only", default="")
    options = arguments.parse_args()
    wrong = count = 0
    cases = list(long_cases() if options.long else short_cases())
    # A third before a change, another one on the host than on the emulator; all of them at night.
    if not options.long and not options.only and not os.environ.get("KPC_TEST_ALL"):
        cases = cases[options.device == "host"::3]
    for case in cases:
        if options.only not in case.name:
            continue
        count += 1
        if fault := problem(case, options):
            wrong += 1
            print(f"{case.name}: {fault}", flush=True)
    print(f"{count} orders, {wrong} wrong")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
