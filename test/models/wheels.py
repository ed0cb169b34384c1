#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models as their makers ship them, in packages of PyPI: each compiles as it comes and gives what onnxruntime gives.

    python3 wheels.py --kpc build/dev/bin/kpc --work-dir DIR [--only PATTERN] [--folder UNPACKED-WHEELS]

The packages (test/requirements-weights.txt) are read as they lie there; nothing of them is imported. They were written
by PaddlePaddle, PyTorch's older exporter and tf2onnx, with the faults that such files have: outputs whose declared shape
contradicts what is computed, dims of -1 and "?", pads that are computed, squeezes of dims that may be 1. Each model runs
at two sizes from one artifact. Exits 77 (a skip) where a package, or a peer, is not installed.
"""

import argparse
import dataclasses
import importlib.util
import pathlib
import re
import subprocess
import sys

SKIPPED = 77

try:
    import numpy as np
    import onnxruntime
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(SKIPPED)

import tolerance

AUDIO, FRAMES = 144160, 901


@dataclasses.dataclass
class Case:
    path: str  # in site-packages
    inputs: list  # for each run: input -> dims, or an integer's value
    arguments: tuple = ()  # of kpc compile
    drawn: bool = False  # images of bars, where noise shows the model nothing
    allowed: tolerance.Tolerance = dataclasses.field(default_factory=lambda: tolerance.FP32)


def images(*sizes):
    return [{"x": size} for size in sizes]


def voice(*sizes, rate=True, state="state"):
    runs = [{"input": (batch, length), state: (2, batch, 128)} for batch, length in sizes]
    return [run | {"sr": 16000} for run in runs] if rate else runs


def echo(hidden):
    return [{"input": (batch, 3, frames, 160), "h0": (4, 1, hidden)} for batch, frames in ((1, 100), (1, 150))]


def quality(*dims):
    return [{"input_1": (1, *dims)}, {"input_1": (3, *dims)}]


PADDLE, SILERO, SPEECH = "rapidocr_onnxruntime/models/", "silero_vad/data/", "speechmos/"
# The state has one sequence.
ONE = ("--dim", "batch_size=1")

CASES = [
    Case(PADDLE + "ch_PP-OCRv4_det_infer.onnx", images((1, 3, 96, 128), (2, 3, 160, 64)), drawn=True),
    Case(PADDLE + "ch_PP-OCRv4_rec_infer.onnx", images((1, 3, 48, 160), (2, 3, 48, 96))),
    Case(PADDLE + "ch_ppocr_mobile_v2.0_cls_infer.onnx", images((1, 3, 48, 192), (3, 3, 48, 100))),
    Case(SILERO + "silero_vad.onnx", voice((1, 512), (3, 512)), arguments=("--value", "sr=16000")),
    Case(SILERO + "silero_vad_16k_op15.onnx", voice((1, 512), (3, 512))),
    Case(SILERO + "silero_vad_half.onnx", voice((1, 512), (3, 512), rate=False)),
    Case(SILERO + "silero_vad_op18_ifless.onnx", voice((1, 512), (3, 512))),
    Case(SILERO + "silero_vad_openvino_16k.onnx", voice((1, 576), rate=False)),
    Case(SILERO + "silero_vad_16k_sequence.onnx",
         [{"input": (length, 576), "h": (1, 1, 128), "c": (1, 1, 128)} for length in (1, 5)]),
    Case(SPEECH + "aecmos_models/Run_1663829550_Stage_0.onnx", echo(64), ONE),
    Case(SPEECH + "aecmos_models/Run_1663915512_Stage_0.onnx", echo(64), ONE),
    Case(SPEECH + "aecmos_models/Run_1668423760_Stage_0.onnx", echo(96), ONE),
    Case(SPEECH + "dnsmos_models/bak_ovr.onnx", quality(FRAMES, 161)),
    Case(SPEECH + "dnsmos_models/model_v8.onnx", quality(900, 120)),
    Case(SPEECH + "dnsmos_models/sig.onnx", quality(FRAMES, 161)),
    Case(SPEECH + "dnsmos_models/sig_bak_ovr.onnx", quality(AUDIO)),
    Case(SPEECH + "pdnsmos_models/sig_bak_ovr.onnx", quality(AUDIO)),
    Case(SPEECH + "plcmos_models/plcmos_v2.onnx",
         [{"degraded_audio": (batch, 1, 80, 257), "rater_embed": (batch, 64)} for batch in (2, 3)]),
]


def bars(generator, dims):
    """Dark strokes on a light ground, as letters are."""
    image = np.full(dims, 0.9, np.float32)
    for row in range(10, dims[2] - 16, 28):
        for column in range(6, dims[3] - 10, 9):
            across = row + 6 * generator.integers(0, 3)
            image[:, :, row:row + 14, column:column + 2] = -0.9
            image[:, :, across:across + 2, column:column + 6] = -0.9
    return image


def model_path(case, folder):
    if folder:
        return folder / case.path
    package, inside = case.path.split("/", 1)
    found = importlib.util.find_spec(package)
    return pathlib.Path(found.submodule_search_locations[0]) / inside if found else None


def call(command):
    process = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600)
    if process.returncode:
        raise RuntimeError(f"exit code {process.returncode}: {process.stderr.strip()[-800:]}")


def compare(case, number, run, session, artifact, kpc, folder):
    """What is wrong with one run."""
    generator = np.random.default_rng(number)
    folder.mkdir(parents=True, exist_ok=True)
    types = {port.name: port.type for port in session.get_inputs()}
    arrays = {}
    for name, dims in run.items():
        if types[name] == "tensor(int64)":
            arrays[name] = np.array(dims, np.int64)
        elif case.drawn:
            arrays[name] = bars(generator, dims)
        else:
            arrays[name] = generator.standard_normal(dims).astype(np.float32) * np.float32(0.5)
    fixed = {argument.split("=")[0] for argument in case.arguments}
    command = [kpc, "run", artifact, "--device", "host", "--quiet", "--output-dir", folder]
    for name, array in arrays.items():
        if name not in fixed:
            np.save(folder / f"in-{name}.npy", array)
            command += ["--input", f"{name}={folder / f'in-{name}.npy'}"]
    call(command)
    problems = []
    for port, wanted in zip(session.get_outputs(), session.run(None, arrays)):
        got = np.load(next(folder.glob(re.sub(r"[^A-Za-z0-9_.-]", "?", port.name) + ".npy")))
        if got.shape != wanted.shape:
            problems.append(f"{port.name}: shape {got.shape}, onnxruntime {wanted.shape}")
        elif wanted.size == 0:
            problems.append(f"{port.name}: no elements to compare")
        elif not (off := tolerance.difference(got, wanted)).within(case.allowed):
            problems.append(f"{port.name}: {off}")
    return problems


def check(case, path, options):
    folder = options.work_dir / re.sub(r"\W", "-", case.path)
    folder.mkdir(parents=True, exist_ok=True)
    artifact = folder / "model.kpc"
    problems = []
    try:
        call([options.kpc, "compile", path, "--arch", "host", "-o", artifact, "--no-cache", "--quiet", *case.arguments])
        quiet = onnxruntime.SessionOptions()
        quiet.log_severity_level = 4
        session = onnxruntime.InferenceSession(str(path), quiet, providers=["CPUExecutionProvider"])
        for number, run in enumerate(case.inputs):
            problems += compare(case, number, run, session, artifact, options.kpc, folder / str(number))
    except (RuntimeError, StopIteration, subprocess.TimeoutExpired) as error:
        problems.append(str(error))
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", help="a regular expression for paths")
    parser.add_argument("--folder", type=pathlib.Path, help="where the packages are unpacked, if not installed")
    options = parser.parse_args()

    failed = 0
    for case in CASES:
        if not re.search(options.only, case.path):
            continue
        path = model_path(case, options.folder)
        if not path:
            print(f"SKIPPED: the package that has {case.path} is not installed")
            return SKIPPED
        problems = check(case, path, options)
        failed += bool(problems)
        print(f"{case.path}: {'; '.join(problems) if problems else 'right'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
