#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What loops.py compiled: right on a GPU, and how fast all steps in one kernel are beside the same loop step by step.

    python3 time_loops.py FOLDER --runtime libkpc_runtime.so

Both in turn, events around one call of each, medians of 10. A result must have the same bits in three runs.
"""

import argparse
import pathlib
import statistics
import sys

import numpy as np
import torch

from kpc_session import Session
from time_recurrent import microseconds, tensors, wrong

MOST_ERROR = 1e-4


def is_right(name, session, inputs, references):
    first = None
    for _ in range(3):
        outputs = {key: torch.zeros_like(value) for key, value in references.items()}
        session.run(inputs, outputs)
        torch.cuda.synchronize()
        if problem := wrong(outputs, references, MOST_ERROR):
            print(f"WRONG: {name}: {problem}")
            return False
        if first and any(not torch.equal(first[key], outputs[key]) for key in outputs):
            print(f"WRONG: {name}: other bits in another run")
            return False
        first = outputs
    return True


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--runtime", required=True)
    options = parser.parse_args()
    failed = 0
    for file in sorted(options.folder.glob("*.npz")):
        arrays, name = np.load(file), file.stem
        inputs, references = tensors(arrays, "in_"), tensors(arrays, "out_")
        # The number of what is found is the run's to say.
        sides = {side: Session(options.runtime, str(options.folder / f"{name}{side}.kpc")) for side in ("", ".steps")}
        failed += sum(not is_right(name + side, session, inputs, references) for side, session in sides.items())
        outputs = {key: torch.zeros_like(value) for key, value in references.items()}
        times = [[microseconds(lambda s=session: s.run(inputs, outputs)) for session in sides.values()] for _ in range(12)][2:]
        one, steps = (statistics.median(side) for side in zip(*times))
        print(f"{name}: one kernel {one:.0f} us, step by step {steps:.0f} us, ratio {steps / one:.2f}", flush=True)
        for session in sides.values():
            session.close()
    print(f"{failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
