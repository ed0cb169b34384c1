# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that are compiled for a GPU and run on the emulator, where `kpc verify` compares them with the model on the host."""

import dataclasses
import importlib.util
import os
import pathlib
import subprocess
import sys

try:
    import onnx
except ImportError:
    print("SKIPPED: onnx is not installed")
    sys.exit(77)

ELEMENTS = {"bf16": onnx.TensorProto.BFLOAT16, "fp16": onnx.TensorProto.FLOAT16, "fp32": onnx.TensorProto.FLOAT,
            "exact": onnx.TensorProto.FLOAT}
# How f32 is multiplied: rounded to tf32, or as sums of two numbers of tf32.
PRECISIONS = {"fp32": ("--precision", "tf32"), "exact": ("--precision", "fp32")}


@dataclasses.dataclass
class Case:
    name: str
    model: onnx.ModelProto
    ranges: dict = dataclasses.field(default_factory=dict)  # of dims, for the compiler
    sizes: dict = dataclasses.field(default_factory=dict)   # of dims, for the run
    schedule: str = ""   # a rule that is forced, "NODES = SCHEDULE"
    options: tuple = ()  # of kpc compile
    shows: str = ""      # what `kpc inspect` must say of a kernel
    lacks: str = ""      # what it must say of none
    kernels: int = 0     # how many kernels there must be; 0: any number


def device_models(name):
    """test/device/NAME.py, though a file here may have that name too."""
    folder = pathlib.Path(__file__).resolve().parent.parent / "device"
    sys.path.append(str(folder))
    spec = importlib.util.spec_from_file_location(f"device_{name}", folder / f"{name}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kernels(shown):
    """The lines of kernels in what `kpc inspect` says of an artifact, for its first target."""
    return shown[shown.index("kernels of"):].split("\nremarks:")[0].split("\nkernels of")[0].splitlines()[2:]


def dims(values):
    return [word for name, value in values.items() for word in ("--dim", f"{name}={value}")]


class Emulated:
    """kpc and a folder for the artifacts of one target; `portable` runs on the oldest chip."""

    def __init__(self, kpc, driver, target, folder):
        self.kpc, self.target, self.folder = kpc, target, pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.environment = dict(os.environ, KPC_CUDA_DRIVER=str(driver), KPC_EMULATE_TARGET="sm_80" if target == "portable" else target)

    def compile(self, case, *more):
        """The model's file and the artifact, or what else `more` asks for. One kernel for all sizes: what a case is about."""
        source, artifact = self.folder / f"{case.name}.onnx", self.folder / f"{case.name}.kpc"
        onnx.save(case.model, source)
        rules = []
        # What is for every chip has no room for the schedules that are forced on one.
        if case.schedule and self.target != "portable":
            file = self.folder / f"{case.name}.schedule"
            file.write_text(case.schedule + "\n")
            rules = ["--schedule", file]
        subprocess.run([self.kpc, "compile", source, "--arch", self.target, *dims(case.ranges), *rules, *case.options, "--variants", "1",
                        "-o", artifact, "--no-cache", "--quiet", *more], check=True)
        return source, artifact

    def is_right(self, case):
        source, artifact = self.compile(case)
        if case.shows:
            shown = subprocess.run([self.kpc, "inspect", artifact], check=True, capture_output=True, text=True).stdout
            if not any(case.shows in line for line in kernels(shown)):
                print(f"{case.name}: no kernel is '{case.shows}':\n{shown}")
                return False
            if case.lacks and any(case.lacks in line for line in kernels(shown)):
                print(f"{case.name}: a kernel is '{case.lacks}':\n{shown}")
                return False
            if case.kernels and len(kernels(shown)) != case.kernels:
                print(f"{case.name}: {len(kernels(shown))} kernels, not {case.kernels}:\n{shown}")
                return False
        done = subprocess.run([self.kpc, "verify", artifact, "--model", source, "-i", "random", *dims(case.sizes), "--device", "cuda:0",
                               "--no-cache"], env=self.environment)
        if done.returncode != 0:
            print(f"WRONG: {case.name}")
        return done.returncode == 0


def kind(case):
    return case.shows, case.lacks, case.options, bool(case.schedule), bool(case.ranges)


def sampled(cases, kind=kind, every=3):
    """One of `every` cases, and the first of each kind. All of them at night, where KPC_TEST_ALL is set."""
    if os.environ.get("KPC_TEST_ALL"):
        return list(cases)
    seen, chosen = set(), []
    for number, case in enumerate(cases):
        if number % every == 0 or kind(case) not in seen:
            chosen.append(case)
        seen.add(kind(case))
    return chosen


def main(kpc, driver, target, folder, cases, noun, every=3):
    """Exit code: 1 if one is wrong."""
    emulated = Emulated(kpc, driver, target, folder)
    cases = sampled(cases, every=every)
    failed = sum(not emulated.is_right(case) for case in cases)
    print(f"{len(cases)} {noun}, {failed} wrong")
    return 1 if failed else 0
