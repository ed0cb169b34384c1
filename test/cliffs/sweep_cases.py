# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All cases, and how kpc compiles one. Standard library only."""

import cases_movement
import cases_products
import cases_rows
from case import ELEMENT, Graph


def all_cases():
    for module in (cases_products, cases_rows, cases_movement):
        yield from module.cases()


def graph_of(case, kind, prefix=""):
    graph = Graph(kind if kind in ELEMENT else "f32", prefix)
    case.build(graph)
    return graph


def kpc_command(kind, path, options, dims=(), more=()):
    words = [options.kpc, "compile", path.with_suffix(".onnx"), "--arch", options.arch, "-o", path, "--quiet", "--no-cache", "--jobs", "0",
             "--color", "never", *more]
    words += ["--ptxas", options.ptxas] if options.ptxas else []
    words += [word for dim in dims for word in ("--dim", dim)]
    words += ["--precision", "fp32"] if kind == "fp32" else []
    return [str(word) for word in words]
