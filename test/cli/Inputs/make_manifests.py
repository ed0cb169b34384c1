# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes manifests of custom operators, most of them with one thing wrong, and models that use the right ones.

    python3 make_manifests.py DIR
"""

import copy
import json
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "hostile"))
import onnx_writer as onnx  # noqa: E402

GOOD = {
    "domain": "my.ops",
    "name": "Scale",
    "types": {"T": ["f32", "f16"]},
    "inputs": [{"name": "x", "type": "T", "shape": ["*rows", "n"]}, {"name": "factor", "type": "T", "shape": ["n"]}],
    "outputs": [{"name": "y", "type": "T", "shape": ["*rows", "n"]}],
    "attributes": [{"name": "times", "type": "int", "default": 1}, {"name": "bias", "type": "float", "default": 0.5},
                   {"name": "mode", "type": "string", "default": "0"}, {"name": "pads", "type": "ints", "default": [1, 2]}],
    "cuda": {"source": "scale.cu", "function": "scale<{T}>", "arguments": ["rows * n", "n", "times", "bias"],
             "macros": {"MODE": "{mode}", "PADS": "{pads}"}, "grid": ["ceildiv(rows * n, 64)"], "block": [64], "shared": 0},
    "host": {"source": "scale.cpp", "function": "scale", "arguments": ["times", "bias"]},
}

CUDA = """template <typename T> __global__ void scale(const T *x, const T *factor, T *y, long long count, long long n,
                                            long long times, float bias) {
  const int pads[] = {PADS};
  long long i = blockIdx.x * 64ll + threadIdx.x;
  if (i < count)
    y[i] = x[i] * factor[i % n] * T(times) + T(bias) + T(MODE + pads[0] - 1);
}
"""

HOST = """#include <kpc/operator.h>
extern "C" int32_t scale(const kpc_operator_call *call) {
  const float *x = (const float *)call->inputs[0].data, *factor = (const float *)call->inputs[1].data;
  float *y = (float *)call->outputs[0].data;
  int64_t n = call->inputs[1].dims[0];
  for (int64_t i = 0; i < kpc_operator_count(&call->inputs[0]); ++i)
    y[i] = x[i] * factor[i % n] * float(call->arguments[0].i) + float(call->arguments[1].f);
  return 0;
}
"""


def changed(*path, to=None):
    """The good manifest with another value at a place; None takes it away."""
    made = copy.deepcopy(GOOD)
    at = made
    for key in path[:-1]:
        at = at[key]
    if to is None:
        del at[path[-1]]
    else:
        at[path[-1]] = to
    return made


WRONG = {
    "no-domain": changed("domain"),
    "onnx-domain": changed("domain", to="ai.onnx"),
    "bad-name": changed("name", to="Scale It"),
    "number-name": changed("name", to=3),
    "unknown-field": {**GOOD, "input": []},
    "types-list": changed("types", to=["f32"]),
    "types-empty": changed("types", "T", to=[]),
    "types-unknown": changed("types", "T", to=["f32", "float"]),
    "types-taken": changed("types", to={"f32": ["f32"]}),
    "inputs-object": changed("inputs", to={}),
    "input-text": changed("inputs", 0, to="x"),
    "input-twice": changed("inputs", 1, "name", to="x"),
    "input-type": changed("inputs", 0, "type", to="float32"),
    "input-field": changed("inputs", 0, "dims", to=[]),
    "shape-text": changed("inputs", 0, "shape", to="n"),
    "shape-stars": changed("inputs", 0, "shape", to=["*rows", "*n"]),
    "shape-star": changed("inputs", 0, "shape", to=["*1"]),
    "shape-negative": changed("inputs", 0, "shape", to=["*rows", -1]),
    "shape-syntax": changed("inputs", 0, "shape", to=["*rows", "n +"]),
    "shape-fraction": changed("inputs", 0, "shape", to=["*rows", 1.5]),
    "shape-unbound": changed("inputs", 0, "shape", to=["*rows", "2 * m"]),
    "outputs-none": changed("outputs", to=[]),
    "output-rest": changed("outputs", 0, "shape", to=["*batch", "n"]),
    "output-unbound": changed("outputs", 0, "shape", to=["*rows", "m"]),
    "output-type": changed("outputs", 0, "type", to="U"),
    "rest-and-dim": changed("inputs", 1, "shape", to=["rows"]),
    "attribute-text": changed("attributes", 0, to="times"),
    "attribute-type": changed("attributes", 0, "type", to="integer"),
    "attribute-default": changed("attributes", 0, "default", to="1"),
    "attribute-list": changed("attributes", 3, "default", to=[1, "2"]),
    "attribute-rest": changed("attributes", 0, "name", to="rows"),
    "no-code": {key: value for key, value in GOOD.items() if key not in ("cuda", "host")},
    "cuda-list": changed("cuda", to=[]),
    "cuda-field": changed("cuda", "blocks", to=[64]),
    "cuda-source": changed("cuda", "source", to="other.cu"),
    "cuda-empty": changed("cuda", "source", to="empty.cu"),
    "cuda-function": changed("cuda", "function"),
    "cuda-brace": changed("cuda", "function", to="scale<{U}>"),
    "cuda-open-brace": changed("cuda", "function", to="scale<{T"),
    "cuda-argument": changed("cuda", "arguments", to=["m"]),
    "cuda-argument-type": changed("cuda", "arguments", to=[{"value": "n", "type": "f32"}]),
    "cuda-argument-float": changed("cuda", "arguments", to=[{"value": "bias", "type": "i32"}]),
    "cuda-argument-list": changed("cuda", "arguments", to=["pads"]),
    "cuda-argument-value": changed("cuda", "arguments", to=[{"type": "i32"}]),
    "cuda-macros": changed("cuda", "macros", to=["MODE"]),
    "cuda-macro": changed("cuda", "macros", to={"MODE=1": "1"}),
    "cuda-grid": changed("cuda", "grid"),
    "cuda-grid-4": changed("cuda", "grid", to=[1, 1, 1, 1]),
    "cuda-block": changed("cuda", "block", to=["m"]),
    "cuda-shared": changed("cuda", "shared", to="4 * m"),
    "cuda-headers": changed("cuda", "headers", to=["none.cuh"]),
    "cuda-options": changed("cuda", "options", to=[1]),
    "host-both": changed("host", "library", to="libscale.so"),
    "host-function": changed("host", "function", to="ns::scale"),
    "host-grid": changed("host", "grid", to=[1]),
}


def model(nodes, inputs, outputs, initializers=()):
    return onnx.model(onnx.graph(nodes, inputs, outputs, initializers), [(17, ""), (1, "my.ops")])


def scale(inputs=("x", "factor"), outputs=("y",), **attributes):
    return onnx.node("Scale", inputs, outputs, name="the_scale", domain="my.ops", **attributes)


def main():
    folder = pathlib.Path(sys.argv[1])
    (folder / "scale.cu").write_text(CUDA)
    (folder / "broken.cu").write_text(CUDA.replace("if (i < count)", "if (i < missing)"))
    (folder / "few.cu").write_text(CUDA.replace("T(times)", "T(1)").replace("long long times, ", ""))
    (folder / "narrow.cu").write_text(CUDA.replace("long long times", "int times"))
    (folder / "scale.cpp").write_text(HOST)
    (folder / "broken.cpp").write_text(HOST.replace("float *y", "flaot *y"))
    (folder / "failing.cpp").write_text(HOST.replace("  int64_t n", '  call->message[0] = \'n\', call->message[1] = \'o\';\n'
                                                     "  if (call->arguments[0].i == 1) return 7;\n  int64_t n"))
    (folder / "empty.cu").write_text("")
    for name, made in WRONG.items():
        (folder / f"{name}.json").write_text(json.dumps(made))
    (folder / "text.json").write_text("{\n  \"domain\": my.ops\n}\n")
    (folder / "list.json").write_text("[]")
    for name, made in {"scale": GOOD, "again": GOOD, "cuda-only": changed("host"), "host-only": changed("cuda"),
                       "broken": changed("cuda", "source", to="broken.cu"), "few": changed("cuda", "source", to="few.cu"),
                       "narrow": changed("cuda", "source", to="narrow.cu"),
                       "broken-host": changed("host", "source", to="broken.cpp"),
                       "failing": changed("host", "source", to="failing.cpp"),
                       "required": changed("attributes", 0, "default"),
                       "big-block": changed("cuda", "block", to=["n * n", 64]),
                       "dim-block": changed("cuda", "block", to=["rows"]),
                       "dim-macro": changed("cuda", "macros", to={"MODE": "{rows}", "PADS": "1"}),
                       "one-input": changed("inputs", 1),
                       "named-library": {**GOOD, "host": {"library": "libscale-of-nowhere.so", "function": "scale"}},
                       }.items():
        (folder / f"{name}.json").write_text(json.dumps(made))
    shape, factor = ["batch", 4, 8], onnx.floats("factor", [8], [i / 4 for i in range(8)])
    x, y = onnx.value_info("x", shape), onnx.value_info("y", shape)
    (folder / "scale.onnx").write_bytes(model([scale(times=2)], [x], [y], [factor]))
    (folder / "plain.onnx").write_bytes(model([scale()], [x], [y], [factor]))
    (folder / "unknown.onnx").write_bytes(model([scale(tiems=2)], [x], [y], [factor]))
    (folder / "strings.onnx").write_bytes(model([scale()], [onnx.value_info("x", shape, onnx.STRING)], [y], [factor]))
    (folder / "text.onnx").write_bytes(model([scale(times="2")], [x], [y], [factor]))
    (folder / "three.onnx").write_bytes(model([scale(("x", "factor", "x"))], [x], [y], [factor]))
    (folder / "sizes.onnx").write_bytes(model([scale()], [x], [y], [onnx.floats("factor", [4], [1, 2, 3, 4])]))
    (folder / "rank.onnx").write_bytes(model([scale()], [x], [y], [onnx.floats("factor", [1, 8], [1] * 8)]))
    (folder / "types.onnx").write_bytes(model([scale()], [x], [y], [onnx.int64s("factor", [1] * 8)]))
    (folder / "outputs.onnx").write_bytes(model([scale(outputs=("y", "z"))], [x], [y], [factor]))


if __name__ == "__main__":
    main()
