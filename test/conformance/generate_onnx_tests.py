#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the node tests of the installed `onnx` package as files, in the layout of Debian's libonnx-testdata.

    python3 generate_onnx_tests.py --output-dir DIR

    DIR/node/<test>/model.onnx, DIR/node/<test>/test_data_set_0/{input,output}_N.pb, DIR/version
"""

import argparse
import pathlib
import shutil
import sys

SKIPPED = 77

try:
    import numpy as np
    import onnx
    from onnx import numpy_helper
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(SKIPPED)


def to_proto(value, info):
    if isinstance(value, (onnx.TensorProto, onnx.SequenceProto, onnx.OptionalProto)):
        return value
    kind = info.type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.from_list(value, info.name)
    if kind == "optional_type":
        return numpy_helper.from_optional(value, info.name)
    if kind == "map_type":
        return numpy_helper.from_dict(value, info.name)
    return numpy_helper.from_array(np.asarray(value), info.name)


def write_case(case, folder):
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        for prefix, values, infos in (("input", inputs, case.model.graph.input),
                                      ("output", outputs, case.model.graph.output)):
            for index, (value, info) in enumerate(zip(values, infos)):
                (data / f"{prefix}_{index}.pb").write_bytes(to_proto(value, info).SerializeToString())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output-dir", type=pathlib.Path, required=True)
    output = parser.parse_args().output_dir
    stamp = output / "version"
    if stamp.exists() and stamp.read_text() == onnx.__version__:
        return 0
    from onnx.backend.test.loader import load_node_model_tests
    shutil.rmtree(output / "node", ignore_errors=True)
    cases = {}
    for case in load_node_model_tests():  # a case that is listed twice is written once
        cases.setdefault(case.name, case)
    for name, case in sorted(cases.items()):
        write_case(case, output / "node" / name)
    stamp.write_text(onnx.__version__)
    print(f"{len(cases)} node tests of onnx {onnx.__version__}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
