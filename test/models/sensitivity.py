#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows that the generated weights let compare.py see a small fault anywhere in a model.

    python3 sensitivity.py --model graphs/resnet50.torchscript.onnx --work-dir DIR

In onnxruntime, one weight tensor after the other gets one fault: of a bias (any tensor of rank 1) the largest value is
dropped; in a filter or matrix, the largest and the smallest value of one output's weights change places (of up to
three outputs, because a ReLU may have one switched off). Each fault alone must move the output out of compare.py's
tolerance. Exits 77 (a skip) when a peer is not installed.
"""

import argparse
import pathlib
import sys

SKIPPED = 77

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import numpy_helper
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(SKIPPED)

import inputs
import tolerance
import weights
BATCH = 4  # a channel that one image leaves switched off is on for another


def faults(value):
    """Damaged copies of a tensor, the next for when the last cannot be seen."""
    if value.ndim == 1:
        copy = value.copy()
        copy[np.argmax(value)] = 0
        yield copy
        return
    for output in (len(value) // 2, 0, len(value) - 1):
        copy = value.copy()
        row = copy[output].reshape(-1)  # a view: changes `copy`
        high, low = np.argmax(row), np.argmin(row)
        row[high], row[low] = row[low], row[high]
        yield copy


def session_with_weights_as_inputs(path):
    """One session for all faults. Returns it and the weights by name."""
    model = onnx.load(str(path))
    values = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer
              if t.data_type == onnx.TensorProto.FLOAT and len(t.dims) > 0}
    kept = [t for t in model.graph.initializer if t.name not in values]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    for name, value in values.items():
        model.graph.input.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, value.shape))
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]), values


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    options = parser.parse_args()

    path = weights.generate(options.model, options.work_dir)
    feed = inputs.for_model(onnx.load(str(path), load_external_data=False), BATCH)
    session, values = session_with_weights_as_inputs(path)
    (reference,) = session.run(None, {**feed, **values})

    unseen, weakest = [], (np.inf, "")
    for name, value in values.items():
        for fault in faults(value):
            (result,) = session.run(None, {**feed, **values, name: fault})
            found = tolerance.difference(result, reference)
            if not found.within(tolerance.FP32):
                break
        else:
            unseen.append(f"'{name}': {found}")
        excess = max(found.rms / tolerance.FP32.rms, found.largest / tolerance.FP32.largest)
        weakest = min(weakest, (excess, name))
    print(f"{path.stem}: {len(values)} faults, {len(unseen)} unseen; "
          f"the faintest, in '{weakest[1]}', is {weakest[0]:.1f} times the tolerance")
    print("\n".join(unseen))
    return 1 if unseen else 0


if __name__ == "__main__":
    sys.exit(main())
