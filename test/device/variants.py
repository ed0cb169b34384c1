#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One artifact for many sizes, and others beside it, for time_variants.py: BERT, and a Llama from its prompt to single tokens, with
the ranges of networks.py.

    python3 variants.py --kpc build/release/bin/kpc --out FOLDER [--exported DIR] [--arch sm_90a] [--only REGEX]

Artifacts in fp16: NETWORK.kpc as it is compiled by default; NETWORK.single.kpc with --variants 1; and NETWORK.SIZE.kpc with
--variants 1, tuned for one size, for each size that is marked so. Cases are the sizes at which all of them run. Needs onnx.
"""

import concurrent.futures
import dataclasses
import json
import pathlib
import re

import networks
from case_files import arguments
from networks import tokens


@dataclasses.dataclass(frozen=True)
class Sizes:
    tuned: tuple  # for each an artifact
    others: tuple
    by_torch: tuple = ()  # each is a compile of torch.compile


SIZES = {"bert-base": Sizes((tokens(1, 16), tokens(1, 128), tokens(8, 512), tokens(32, 128)), (tokens(4, 64), tokens(1, 512), tokens(16, 384)),
                            (tokens(1, 16), tokens(1, 128), tokens(8, 512))),
         "llama-1b": Sizes((tokens(1, 1), tokens(1, 2048)), (tokens(1, 4), tokens(4, 1), tokens(1, 16), tokens(1, 64)), (tokens(1, 1), tokens(1, 16))),
         "bert.dynamo": Sizes((tokens(1, 7),), (tokens(3, 41),))}
NETWORKS = tuple(network for network in (*networks.FULL, *networks.TWO_LAYERS) if network.name in SIZES)


def artifacts(network):
    """File -> (ranges of dims, options)."""
    found = {f"{network.name}.kpc": (network.dims, ()), f"{network.name}.single.kpc": (network.dims, ("--variants", "1"))}
    for sizes in SIZES[network.name].tuned:
        dims = [re.sub(r"opt=\d+", f"opt={sizes[dim.split('=')[0]]}", dim) for dim in network.dims]
        found[f"{network.name}.{networks.label(sizes)}.kpc"] = dims, ("--variants", "1")
    return found


def cases():
    for network in NETWORKS:
        of = SIZES[network.name]
        tuned = [networks.label(sizes) for sizes in of.tuned]
        for sizes in (*of.tuned, *of.others):
            yield {"name": f"{network.name} {networks.label(sizes)}", "purpose": network.purpose, "network": network.name, "stem": network.stem,
                   "sizes": sizes, "label": networks.label(sizes), "artifact": f"{network.name}.kpc", "single": f"{network.name}.single.kpc",
                   "tuned": {label: f"{network.name}.{label}.kpc" for label in tuned},
                   "by_torch": sizes in of.by_torch}


def main():
    parser = arguments(__doc__)
    parser.add_argument("--exported", type=pathlib.Path, help="folder of exported networks (default: that of --out)")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    chosen = [case for case in cases() if re.search(options.only, f"{case['purpose']} {case['name']}")]
    todo = []
    for network in NETWORKS:
        if any(case["network"] == network.name for case in chosen):
            networks.make_model(network, options)
            todo += [(network, dims, ("--precision", "fp16", *more), file) for file, (dims, more) in artifacts(network).items()]
    with concurrent.futures.ThreadPoolExecutor(max(1, options.jobs)) as pool:
        list(pool.map(lambda one: networks.compile_network(*one, options), todo))
    (options.out / "cases.json").write_text(json.dumps(chosen, indent=1))


if __name__ == "__main__":
    main()
