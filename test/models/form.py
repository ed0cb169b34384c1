# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the cases of forms_*.py are made of: a model as text, and what it is fed."""

import numpy as np
from onnx import numpy_helper, parser

r = np.random.default_rng(5)
CASES = {}


def F(*shape, k=np.float32):
    return r.standard_normal(shape).astype(k)


def u8(*shape):
    return r.integers(0, 256, shape).astype(np.uint8)


def i8(*shape):
    return r.integers(-128, 128, shape).astype(np.int8)


def T(text, weights=None, ir=9, opset=17, extra=""):
    """The model of ONNX's text form; `extra` are imports of other domains."""
    made = parser.parse_model(f'<ir_version: {ir}, opset_import: ["" : {opset}{extra}]>\n' + text)
    for name, array in (weights or {}).items():
        made.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return made


def case(name, made, *feeds, **options):
    """`made` is a model, or a function that makes one. Options: `tol`, `steps` of integers, `args` of kpc compile."""
    CASES[name] = made, [{key: np.asarray(array) for key, array in feed.items()} for feed in feeds], options
