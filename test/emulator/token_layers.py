#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A token with a cache in each spelling that exporters write, on the emulator.   token_layers.py KPC DRIVER RUNTIME TARGET FOLDER [NAME…]

Counts what a layer launches: models of two and of three layers differ by one layer. Next to none of these may only move data. `kpc verify`
compares runs with the model on the host: one token, several, and prompts. Where past and present are one buffer, a run writes in the place of the past,
and its results have the bits of one that does not.
"""

import dataclasses
import os
import pathlib
import re
import subprocess
import sys

import emulated

try:
    import numpy as np
    import onnx
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

from caches import Memory

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "device"))
import token_models  # noqa: E402
from runtime_library import NamedTensor, Session, cuda, named_tensor  # noqa: E402
from token_models import Sizes, Spelling  # noqa: E402

F16, I32, I64 = 10, 6, 7  # kpc/runtime.h
#        batch, new rows, rows of the past or of the buffer
RUNS = [(1, 1, 64), (3, 1, 57), (2, 4, 40)]


@dataclasses.dataclass
class Expected:
    spelling: Spelling
    launches: int  # of a layer
    moves: int = 0  # of these, those that multiply nothing
    sizes: Sizes = Sizes()
    one: bool = False  # compiled for one token of one sequence
    rows: int = 256  # of all sequences, at most
    precision: str = "fp16"


CASES = [Expected(s, 5) for s in token_models.SPELLINGS if not s.bits]
# A norm's weight cannot be part of codes that the model has: both norms are kernels. Elsewhere than on sm_90a codes are for 64 rows at most.
CASES += [Expected(s, 7, rows=64) for s in token_models.SPELLINGS if s.bits]
# Codes that kpc makes.
CASES += [Expected(dataclasses.replace(s, name=f"{s.name}_int4", spelled=True), 5, rows=64, precision="int4")
          for s in token_models.SPELLINGS if s.name in ("gqa", "gqa_f32", "gqa_pairs", "scatter", "written_f32")]
CASES += [Expected(dataclasses.replace(s, name=f"{s.name}_one"), 5, one=True) for s in token_models.SPELLINGS
          if s.name in ("gqa", "gqa_packed", "gqa_f32", "scatter", "written_f32")]


class Layers(emulated.Emulated):
    def artifact(self, case, layers):
        spelling = case.spelling
        source = self.folder / f"{spelling.name}.{layers}.onnx"
        artifact = source.with_suffix(".kpc")
        sizes = dataclasses.replace(case.sizes, layers=layers, groups=case.sizes.heads if spelling.attention == "MultiHeadAttention" else case.sizes.groups)
        onnx.save(token_models.model(spelling, sizes), source)
        ranges = {"batch": 1, "sequence": 1} if case.one else {"batch": f"1..{case.rows // 16}:opt=1", "sequence": "1..16:opt=1"}
        ranges |= ({"rows": "16..96:opt=96"} if spelling.shared else {"past": "1..80:opt=64"})
        subprocess.run([self.kpc, "compile", source, "--arch", self.target, *emulated.dims(ranges), "--precision", case.precision, "--io-precision", "fp16",
                        "-o", artifact, "--no-cache", "--quiet"], check=True)
        return source, artifact

    def launches(self, case, artifact):
        """Kernels of a token: a name, its family, and how often it is launched."""
        rows = {"rows": 64} if case.spelling.shared else {"past": 64}
        rows |= {} if case.one else {"batch": 1, "sequence": 1}
        shown = subprocess.run([self.kpc, "inspect", artifact, *emulated.dims(rows)], check=True, capture_output=True,
                               text=True).stdout
        lines = [re.split(r" {2,}", line.strip()) for line in emulated.kernels(shown)]
        return [(line[0], line[1], int(line[3])) for line in lines if len(line) > 3 and line[3].isdigit()], shown

    def feed(self, case, batch, new, rows):
        s, z = case.spelling, case.sizes
        random = np.random.default_rng(batch * 100 + new)
        groups = z.heads if s.attention == "MultiHeadAttention" else z.groups
        arrays = {"input_ids": random.integers(0, z.words, (batch, new))}
        for layer in range(z.layers):
            for what in ("key", "value"):
                arrays[f"past.{layer}.{what}"] = random.standard_normal((batch, groups, rows, z.depth)).astype(np.float16)
        # Batches have pasts of their own lengths where these are an input.
        before = np.array([(rows - new) // (i + 1) for i in range(batch)]) if s.shared else np.full(batch, rows)
        if s.attention == "GroupQueryAttention":
            arrays["seqlens_k"] = (before + new - 1).astype(np.int32)
            arrays["total_sequence_length"] = np.array(before.max() + new, np.int32)
        if s.attention == "TensorScatter":
            arrays["write_at"], arrays["valid"] = before, before + new
        if s.rotary == "node":
            arrays["positions"] = before[:, None] + np.arange(new)
        return arrays

    def is_right(self, case, source, artifact, run):
        batch, new, rows = run
        given = self.folder / "given.npz"
        np.savez(given, **self.feed(case, *run))
        sizes = {"rows" if case.spelling.shared else "past": rows} | ({} if case.one else {"batch": batch, "sequence": new})
        done = subprocess.run([self.kpc, "verify", artifact, "--model", source, "-i", given, *emulated.dims(sizes), "--device", "cuda:0", "--no-cache",
                               "--quiet"], env=self.environment)
        if done.returncode != 0:
            print(f"WRONG: {case.spelling.name} with {run}")
        return done.returncode == 0

    def in_place(self, memory, runtime, case, artifact, run):
        """Whether writing in the place of the past gives what writing elsewhere does."""
        batch, new, rows = run
        arrays = self.feed(case, *run)
        codes = {np.dtype(np.float16): F16, np.dtype(np.int32): I32, np.dtype(np.int64): I64}
        session, found = Session(runtime, artifact, cuda(0)), []
        for shares in (False, True):
            given = {name: memory.put(a) for name, a in arrays.items()}
            logits = np.zeros((batch, new, case.sizes.words), np.float16)
            outputs = {"logits": (memory.put(logits), logits)}
            for name, a in arrays.items():
                if name.startswith("past"):
                    outputs[name.replace("past", "present")] = (given[name] if shares else memory.put(np.zeros_like(a)), a)
            ins = [named_tensor(name, given[name], a.shape, codes[a.dtype], cuda(0)) for name, a in arrays.items()]
            outs = [named_tensor(name, at, a.shape, F16, cuda(0)) for name, (at, a) in outputs.items()]
            session.run((NamedTensor * len(ins))(*ins), (NamedTensor * len(outs))(*outs))
            memory.check(memory.lib.cuCtxSynchronize())
            found.append({name: memory.get(at, a) for name, (at, a) in outputs.items()})
        wrong = [name for name in found[0] if found[0][name].tobytes() != found[1][name].tobytes()]
        if wrong:
            print(f"WRONG: {case.spelling.name} with {run} in place: {', '.join(wrong)} have other bits")
        return not wrong

    def wrong(self, memory, runtime, case):
        source, artifact = self.artifact(case, 2)
        _, longer = self.artifact(case, 3)
        kernels, shown = self.launches(case, artifact)
        more, _ = self.launches(case, longer)
        count, moves = (sum(n for _, family, n in more if family.startswith(kind)) - sum(n for _, family, n in kernels if family.startswith(kind))
                        for kind in ("", "map"))
        bad = 0
        if count != case.launches or moves != case.moves:
            bad += 1
            print(f"{case.spelling.name}: {count} launches a layer, not {case.launches}; {moves} that only move data, not {case.moves}:\n{shown}")
        for run in RUNS[:1] if case.one else RUNS:
            bad += not self.is_right(case, source, artifact, run)
            if case.spelling.shared:
                bad += not self.in_place(memory, runtime, case, artifact, run)
        return bad


def main():
    kpc, driver, runtime, target, folder, *names = sys.argv[1:]
    os.environ.update(KPC_CUDA_DRIVER=driver, KPC_EMULATE_TARGET="sm_80" if target == "portable" else target)
    layers, memory = Layers(kpc, driver, target, folder), Memory(driver)
    cases = [case for case in CASES if case.spelling.name in names] if names else CASES
    wrong = sum(layers.wrong(memory, runtime, case) for case in cases)
    print(f"{len(cases)} spellings, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
