#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models with custom operators, compiled and run on the host or the emulator, beside numpy.

    custom.py --kpc KPC --work-dir FOLDER [--arch host --device host] [NAME ...]

Each case writes its manifests, its sources and its model: ONNX, a program of torch.export, or TorchScript. One artifact
serves all the sizes of a case. On GPUs it is skipped where NVRTC is missing.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper
except ImportError:
    print("SKIPPED: numpy and onnx are needed")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "models"))
import program_writer  # noqa: E402
import script_writer  # noqa: E402

CASES = {}
RANDOM = np.random.default_rng(1)


def case(function):
    CASES[function.__name__] = function
    return function


def drawn(*shape, dtype=np.float32):
    return RANDOM.standard_normal(shape).astype(dtype)


class Operator:
    """A manifest with its sources, in a folder."""

    def __init__(self, name, inputs, outputs, cuda=None, host=None, cuda_text="", host_text="", **more):
        self.name, self.cuda_text, self.host_text = name, cuda_text, host_text
        self.manifest = {"domain": "my", "name": name, **more,
                         "inputs": [self.tensor(*spec) for spec in inputs], "outputs": [self.tensor(*spec) for spec in outputs]}
        if cuda:
            self.manifest["cuda"] = {"source": f"{name}.cu", "function": name, **cuda}
        if host is not None:
            self.manifest["host"] = {"source": f"{name}.cpp", "function": name, **host}

    @staticmethod
    def tensor(name, element, shape):
        return {"name": name, "type": element, "shape": shape}

    def write(self, folder):
        (folder / f"{self.name}.cu").write_text(self.cuda_text)
        (folder / f"{self.name}.cpp").write_text("#include <kpc/operator.h>\n" + self.host_text)
        path = folder / f"{self.name}.json"
        path.write_text(json.dumps(self.manifest))
        return path


def host_of(name, body):
    return f'extern "C" int32_t {name}(const kpc_operator_call *call) {{\n{body}\n  return 0;\n}}\n'


SILU = Operator(
    "Silu", [("x", "f32", ["*rows", "n"])], [("y", "f32", ["*rows", "n"])],
    attributes=[{"name": "alpha", "type": "float", "default": 1.0}],
    cuda={"arguments": ["rows * n", "alpha"], "grid": ["ceildiv(rows * n, 128)"], "block": [128]},
    host={"arguments": ["alpha"]},
    cuda_text="""extern "C" __global__ void Silu(const float *x, float *y, long long count, float alpha) {
  long long i = blockIdx.x * 128ll + threadIdx.x;
  if (i < count) y[i] = x[i] / (1 + expf(-alpha * x[i]));
}
""",
    host_text="#include <cmath>\n" + host_of("Silu", """  const float *x = (const float *)call->inputs[0].data;
  float *y = (float *)call->outputs[0].data;
  for (int64_t i = 0; i < kpc_operator_count(&call->inputs[0]); ++i)
    y[i] = x[i] / (1 + std::exp(-float(call->arguments[0].f) * x[i]));"""))


def silu(x, alpha=1.0):
    return (x / (1 + np.exp(-alpha * x))).astype(np.float32)


LOOKUP = Operator(
    "Lookup", [("ids", "i64", ["n"]), ("table", "T", ["k", "c"])], [("y", "T", ["n", "c"]), ("found", "bool", ["n"])],
    types={"T": ["f32", "f16", "u8"]}, attributes=[{"name": "shift", "type": "int"}],
    cuda={"function": "lookup<{T}>", "arguments": [{"value": "k", "type": "i32"}, "c", "shift"], "grid": ["n"], "block": [32]},
    host={"arguments": ["shift"]},
    cuda_text="""#include <cuda_fp16.h>
template <typename T>
__global__ void lookup(const long long *ids, const T *table, T *y, bool *found, int k, long long c, long long shift) {
  long long id = ids[blockIdx.x] + shift;
  bool in = id >= 0 && id < k;
  for (long long i = threadIdx.x; i < c; i += 32) y[blockIdx.x * c + i] = in ? table[id * c + i] : T(0);
  if (threadIdx.x == 0) found[blockIdx.x] = in;
}
""",
    host_text="#include <cstring>\n" + host_of("Lookup", """  const int64_t *ids = (const int64_t *)call->inputs[0].data;
  int64_t n = call->inputs[0].dims[0], k = call->inputs[1].dims[0], c = call->inputs[1].dims[1];
  int32_t type = call->inputs[1].type;
  size_t row = c * (type == 1 ? 4 : type == 10 ? 2 : 1);
  for (int64_t i = 0; i < n; ++i) {
    int64_t id = ids[i] + call->arguments[0].i;
    bool in = id >= 0 && id < k;
    ((bool *)call->outputs[1].data)[i] = in;
    char *to = (char *)call->outputs[0].data + i * row;
    if (in) std::memcpy(to, (const char *)call->inputs[1].data + id * row, row);
    else std::memset(to, 0, row);
  }"""))


def lookup(ids, table, shift):
    at = ids + shift
    found = (at >= 0) & (at < len(table))
    return np.where(found[:, None], table[np.clip(at, 0, len(table) - 1)], 0).astype(table.dtype), found


TURN = Operator(
    "Turn", [("x", "f32", ["batch", "m", "n"])], [("y", "f32", ["batch", "n", "m"])],
    attributes=[{"name": "tile", "type": "int", "default": 16}, {"name": "scale", "type": "floats"},
                {"name": "sum", "type": "string"}],
    cuda={"arguments": ["m", "n", {"value": "m * n", "type": "i32"}], "macros": {"SCALES": "{scale}", "SUM": "{sum}"},
          "grid": ["ceildiv(n, tile)", "ceildiv(m, tile)", "batch"], "block": ["tile", "tile"],
          "shared": "4 * tile * (tile + 1)", "headers": ["turn.h"], "options": ["--use_fast_math"]},
    host={"macros": {"SCALES": "{scale}", "SUM": "{sum}"}, "headers": ["turn.h"]},
    cuda_text="""#include "turn.h"
extern "C" __global__ void Turn(const float *x, float *y, long long m, long long n, int each) {
  extern __shared__ float tile[];
  const float scales[] = {SCALES};
  int side = blockDim.x, pitch = side + 1;
  long long column = blockIdx.x * side + threadIdx.x, row = blockIdx.y * side + threadIdx.y;
  x += blockIdx.z * (long long)each, y += blockIdx.z * (long long)each;
  if (row < m && column < n) tile[threadIdx.y * pitch + threadIdx.x] = x[row * n + column];
  __syncthreads();
  column = blockIdx.y * side + threadIdx.x, row = blockIdx.x * side + threadIdx.y;
  if (row < n && column < m) y[row * m + column] = tile[threadIdx.x * pitch + threadIdx.y] * (scales[0] SUM scales[1]) + OFFSET;
}
""",
    host_text='#include "turn.h"\n' + host_of("Turn", """  const float *x = (const float *)call->inputs[0].data, scales[] = {SCALES};
  float *y = (float *)call->outputs[0].data;
  int64_t batch = call->inputs[0].dims[0], m = call->inputs[0].dims[1], n = call->inputs[0].dims[2];
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        y[(b * n + j) * m + i] = x[(b * m + i) * n + j] * (scales[0] SUM scales[1]) + OFFSET;"""))

JOIN = Operator(
    "Join", [("a", "f32", ["*rest"]), ("b", "f32", ["*rest"])], [("y", "f32", [2, "*rest"])],
    cuda={"arguments": ["rest", {"value": "rest", "type": "i32"}], "grid": ["ceildiv(rest, 64)"], "block": [64]}, host={},
    cuda_text="""extern "C" __global__ void Join(const float *a, const float *b, float *y, long long count, int same) {
  long long i = blockIdx.x * 64ll + threadIdx.x;
  if (i < count) y[i] = a[i], y[same + i] = b[i];
}
""",
    host_text="#include <cstring>\n" + host_of("Join", """  size_t bytes = 4 * kpc_operator_count(&call->inputs[0]);
  for (int i = 0; i < 2; ++i)
    std::memcpy((char *)call->outputs[0].data + i * bytes, call->inputs[i].data, bytes);"""))


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name=f"the_{op}_{outputs[0]}", domain="my", **attributes)


def value(name, shape, element=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, element, shape)


def onnx_model(nodes, inputs, outputs, weights=None):
    graph = helper.make_graph(nodes, "main", inputs, outputs,
                              [onnx.numpy_helper.from_array(array, name) for name, array in (weights or {}).items()])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@case
def alone():
    """An input and an output of the model; dynamic and empty sizes, and another default."""
    model = onnx_model([node("Silu", ["x"], ["y"], alpha=0.5)], [value("x", ["a", "b", 5])], [value("y", ["a", "b", 5])])
    return model, [SILU], [({"x": x}, {"y": silu(x, 0.5)}) for x in (drawn(2, 3, 5), drawn(7, 40, 5), drawn(0, 3, 5))]


@case
def between():
    """Between a GEMM and what is fused behind it, with a weight that both read."""
    w = drawn(24, 24) / 4
    model = onnx_model([helper.make_node("MatMul", ["x", "w"], ["p"]), node("Silu", ["p"], ["s"]), node("Silu", ["w"], ["v"]),
                        helper.make_node("Add", ["s", "x"], ["t"]), helper.make_node("MatMul", ["t", "v"], ["y"])],
                       [value("x", ["batch", 24])], [value("y", ["batch", 24]), value("s", ["batch", 24])], {"w": w})
    runs = []
    for x in (drawn(4, 24), drawn(33, 24)):
        s = silu(x @ w)
        runs.append(({"x": x}, {"y": (s + x) @ silu(w), "s": s}))
    return model, [SILU], runs


@case
def narrow():
    """The model is stored in 16 bits, the operator takes 32: GEMMs whose rows kpc would pad elsewhere."""
    w, v = drawn(72, 68) / 8, drawn(68, 72) / 8
    model = onnx_model([helper.make_node("MatMul", ["x", "w"], ["p"]), node("Silu", ["p"], ["s"]),
                        helper.make_node("MatMul", ["s", "v"], ["y"])],
                       [value("x", ["batch", 72])], [value("y", ["batch", 72])], {"w": w, "v": v})
    x = drawn(40, 72)
    return model, [SILU], [({"x": x}, {"y": silu(x @ w) @ v})], ("--precision", "fp16"), 2e-2


def lookup_case(dtype, element):
    table = (drawn(9, 7) * 20).astype(dtype)
    model = onnx_model([node("Lookup", ["ids", "table"], ["y", "found"], shift=-1)],
                       [value("ids", ["n"], TensorProto.INT64), value("table", ["k", 7], element)],
                       [value("y", ["n", 7], element), value("found", ["n"], TensorProto.BOOL)])
    runs = []
    for ids in (np.array([1, 0, 9, 10, 3]), np.arange(40), np.zeros(0, np.int64)):
        y, found = lookup(ids, table, -1)
        runs.append(({"ids": ids.astype(np.int64), "table": table}, {"y": y, "found": found}))
    return model, [LOOKUP], runs


@case
def two_outputs():
    return lookup_case(np.float32, TensorProto.FLOAT)


@case
def halves():
    return lookup_case(np.float16, TensorProto.FLOAT16)


@case
def bytes_and_one_output():
    """Nothing uses the second result."""
    model, operators, runs = lookup_case(np.uint8, TensorProto.UINT8)
    del model.graph.node[0].output[1], model.graph.output[1]
    return model, operators, [(given, {"y": right["y"]}) for given, right in runs]


@case
def shared_memory():
    """A grid and a block of several extents, dynamic shared memory, macros, a header and an option."""
    model = onnx_model([node("Turn", ["x"], ["y"], tile=8, scale=[1.5, 0.25], sum="-")],
                       [value("x", ["b", "m", "n"])], [value("y", ["b", "n", "m"])])
    return model, [TURN], [({"x": x}, {"y": x.transpose(0, 2, 1) * np.float32(1.25) + 3}) for x in (drawn(2, 9, 20), drawn(1, 8, 8))]


@case
def same_twice():
    """One value as two operands, then two operators that are the same kernel, one of scalars."""
    model = onnx_model([node("Join", ["x", "x"], ["y"]), node("Join", ["c", "d"], ["z"])],
                       [value("x", ["n", 3]), value("c", [])], [value("y", [2, "n", 3]), value("z", [2])],
                       {"d": np.array(4, np.float32)})
    c, x = np.array(2, np.float32), drawn(70, 3)
    return model, [JOIN], [({"x": x, "c": c}, {"y": np.stack([x, x]), "z": np.array([2, 4], np.float32)})]


@case
def in_a_loop():
    """Carried from iteration to iteration."""
    body = helper.make_graph([node("Silu", ["h"], ["n"]), helper.make_node("Add", ["n", "x"], ["o"]),
                              helper.make_node("Identity", ["go"], ["on"])], "body",
                             [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("h", ["b", 6])],
                             [value("on", [], TensorProto.BOOL), value("o", ["b", 6])])
    model = onnx_model([helper.make_node("Loop", ["times", "", "x"], ["y"], body=body)], [value("x", ["b", 6])],
                       [value("y", ["b", 6])], {"times": np.array(20, np.int64)})
    x = drawn(5, 6)
    y = x
    for _ in range(20):
        y = silu(y) + x
    return model, [SILU], [({"x": x}, {"y": y})]


@case
def in_a_branch():
    then = helper.make_graph([node("Silu", ["x"], ["a"])], "then", [], [value("a", ["b", 6])])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["a2"])], "else", [], [value("a2", ["b", 6])])
    model = onnx_model([helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)],
                       [value("x", ["b", 6]), value("c", [], TensorProto.BOOL)], [value("y", ["b", 6])])
    x = drawn(5, 6)
    return model, [SILU], [({"x": x, "c": np.array(True)}, {"y": silu(x)}), ({"x": x, "c": np.array(False)}, {"y": -x})]


@case
def size_of_data():
    """As many elements as data says."""
    model = onnx_model([helper.make_node("Greater", ["x", "zero"], ["m"]), helper.make_node("Compress", ["x", "m"], ["k"], axis=0),
                        node("Silu", ["k"], ["y"])],
                       [value("x", [40])], [value("y", ["kept"])], {"zero": np.zeros(40, np.float32)})
    return model, [SILU], [({"x": x}, {"y": silu(x[x > 0])}) for x in (drawn(40), -np.ones(40, np.float32))]


@case
def program():
    """torch.export: the operator has names of its own, and the order of a schema."""
    p = program_writer.Program({"s0": (1, 64)})
    x, ids = p.input("x", ("s0", 5)), p.input("ids", (3,), "i8")
    y = p.node("my.Silu.default", {"x": x, "alpha": 2.0}, [("f4", ("s0", 5))])[0]
    rows, found = p.node("my.Lookup.default", {"which": ids, "shift": 0, "weight": y}, [("f4", (3, 5)), ("?", (3,))])
    p.output(rows)
    p.output(found)
    x, ids = drawn(4, 5), np.array([3, 0, 7])
    y, found = lookup(ids, silu(x, 2.0), 0)
    return p, [SILU, LOOKUP], [({"x": x, "ids": ids}, {"output_0": y, "output_1": found})]


@case
def script():
    """TorchScript."""
    source = """class M(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.M,
    x: Tensor,
    ids: Tensor) -> Tuple[Tensor, Tensor]:
    y = ops.my.Silu(x, 2.)
    y0, found, = ops.my.Lookup(ids, y, 0)
    return (y0, found)
"""
    x, ids = drawn(4, 5), np.array([3, 0, 7])
    y, found = lookup(ids, silu(x, 2.0), 0)
    options = ("--input-shape", "x=n,5", "--input-shape", "ids=3", "--input-type", "ids=i64")
    return source, [SILU, LOOKUP], [({"x": x, "ids": ids}, {"output_0": y, "output_1": found})], options


def save(model, path):
    if isinstance(model, program_writer.Program):
        model.save(path.with_suffix(".pt2"))
        return path.with_suffix(".pt2")
    if isinstance(model, str):
        script_writer.save(path.with_suffix(".pt"), script_writer.Module("__torch__.M", {"training": False}), {"__torch__.py": model})
        return path.with_suffix(".pt")
    onnx.save(model, path.with_suffix(".onnx"))
    return path.with_suffix(".onnx")


def run(options, name):
    model, operators, runs, *more = CASES[name]()
    flags, tolerance = [*more, *((), 1e-5)[len(more):]]
    folder = options.work_dir / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "turn.h").write_text("#define OFFSET 3\n")
    manifests = [word for op in operators for word in ("--operator", op.write(folder))]
    artifact = folder / "model.kpc"
    subprocess.run([options.kpc, "compile", save(model, folder / "model"), *manifests, *flags, "--arch", options.arch,
                    "--no-cache", "-q", "-o", artifact], check=True)
    for number, (given, right) in enumerate(runs):
        out = folder / f"out{number}"
        inputs = []
        for key, array in given.items():
            np.save(folder / f"{key}.npy", array)
            inputs += ["--input", f"{key}={folder / f'{key}.npy'}"]
        subprocess.run([options.kpc, "run", artifact, *inputs, "--device", options.device, "--allow-custom-code", "-q", "-o", out],
                       check=True)
        for key, wanted in right.items():
            got = np.load(out / f"{key}.npy")
            assert got.shape == wanted.shape and got.dtype == wanted.dtype, f"{name}: {key} is {got.dtype}{got.shape}, expected {wanted.dtype}{wanted.shape}"
            if not np.allclose(got.astype(np.float64), wanted.astype(np.float64), rtol=tolerance, atol=tolerance):
                raise AssertionError(f"{name}: {key} of run {number} departs by {np.abs(got.astype(float) - wanted).max()}")
    print(f"{name}: {len(runs)} runs are right")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--arch", default="host")
    parser.add_argument("--device", default="host")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    failed = 0
    if options.arch != "host":
        options.work_dir.mkdir(parents=True, exist_ok=True)
        probe = options.work_dir / "probe.onnx"
        onnx.save(alone()[0], probe)
        said = subprocess.run([options.kpc, "check", probe, "--operator", SILU.write(options.work_dir), "--arch", options.arch],
                              capture_output=True, text=True)
        if "KPC-T0010" in said.stderr:
            print("SKIPPED: NVRTC is needed")
            sys.exit(77)
    for name in options.names or CASES:
        try:
            run(options, name)
        except (AssertionError, subprocess.CalledProcessError, OSError) as error:
            print(f"FAILED {name}: {error}")
            failed += 1
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
