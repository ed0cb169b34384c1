#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole networks for time_networks.py: weights from a seed, and an artifact of each in fp16 and bf16.

    python3 networks.py --kpc build/release/bin/kpc --out FOLDER [--exported DIR] [--arch sm_90a] [--only REGEX]

One artifact serves all sizes of a network, with f32 in and out; `opt` is what it is tuned for. Where memory is measured there is another one
with 16 bits in and out. `full` are the sizes that people run:
transformers are exported by test/models/export_transformers.py --full (torch, transformers and onnxscript), into DIR where
that is given and does not hold them yet. `two layers` are files of test/models/graphs. Writes NETWORK.onnx with its weights,
NETWORK.PRECISION.kpc, a line for each case into cases.json, and what `kpc compile` said into NETWORK.log. Needs onnx.
"""

import concurrent.futures
import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import time

from case_files import arguments

MODELS = pathlib.Path(__file__).resolve().parent.parent / "models"
sys.path.insert(0, str(MODELS))


@dataclasses.dataclass(frozen=True)
class Network:
    name: str
    stem: str  # of its file
    dims: tuple  # of kpc compile
    timed: tuple = ()  # sizes, in fp16
    checked: tuple = ()  # sizes at which fp16 and bf16 are compared with fp32
    wide: str = ""  # --precision-for of bf16: nodes without which the error is beyond the limit
    narrow_io: bool = False  # 16 bits in and out: caches

    @property
    def purpose(self):
        return "full" if self.timed else "two layers"

    @property
    def exported(self):
        """(model, variant) of export_transformers.py where the file is not in the repository."""
        if "-full." not in self.stem:
            return None
        return self.stem.split("-full.")


def tokens(batch, sequence):
    return {"batch": batch, "sequence": sequence}


def images(batch):
    return {"batch": batch}


# docs/performance.md says what it brings and costs.
MOBILENET_FRONT = "^(node_Conv_6[78].|node_relu(_[1-4])?|n0|node_add_71|node_add_187)$=fp32"
FULL = (
    Network("bert-base", "bert-full.dynamo", ("batch=1..32:opt=8", "sequence=1..512:opt=128"),
            (tokens(1, 128), tokens(8, 512), tokens(32, 128)), (tokens(1, 128), tokens(3, 77))),
    Network("gpt2", "gpt2-full.dynamo", ("batch=1..32:opt=8", "sequence=1..1024:opt=512"),
            (tokens(1, 128), tokens(8, 512)), (tokens(1, 128), tokens(3, 77))),
    Network("vit-b16", "vit-full.dynamo", ("batch=1..32:opt=32",), (images(1), images(32)), (images(1), images(5))),
    Network("llama-1b", "llama-full.dynamo", ("batch=1..8:opt=1", "sequence=1..4096:opt=2048"),
            (tokens(1, 512), tokens(1, 2048)), (tokens(1, 512), tokens(3, 77))),
    Network("llama-1b-past", "llama-past-full.dynamo", ("batch=1..64:opt=1", "sequence=1..16:opt=1", "past=1..8192:opt=1024"),
            tuple(dict(tokens(batch, 1), past=past) for batch in (1, 16) for past in (1024, 4096)), (dict(tokens(3, 2), past=77),), narrow_io=True),
    Network("mobilenet_v3", "mobilenet_v3_large.dynamo", ("batch=1..64:opt=32",), (images(1), images(32)), (images(1), images(5)),
            MOBILENET_FRONT),
    Network("resnet50", "resnet50.dynamo", ("batch=1..64:opt=32",), (images(1), images(32)), (images(1), images(5))),
)
# For time_precisions.py alone, which compiles each for each size.
LARGE = (
    Network("bert-large", "bert-large-full.dynamo", (), (tokens(16, 384),)),
    Network("vit-large", "vit-large-full.dynamo", (), (images(32),)),
    Network("resnet50-b64", "resnet50.dynamo", (), (images(64),)),
)
DIMS = ("batch=1..8:opt=2", "sequence=1..64:opt=32")
PAST = (*DIMS, "past=1..64:opt=32")
SIZES = (tokens(1, 7), tokens(3, 41))
PAST_SIZES = (dict(tokens(1, 7), past=5), dict(tokens(3, 19), past=22))
TWO_LAYERS = tuple(
    Network(stem, stem, PAST if "-past" in stem else DIMS[:1] if stem.startswith("vit") else DIMS,
            checked=PAST_SIZES if "-past" in stem else (images(1), images(3)) if stem.startswith("vit") else SIZES)
    for stem in ("bert.dynamo", "bert.torchscript", "distilbert.dynamo", "gpt2.dynamo", "gpt2-mask.torchscript",
                 "gpt2-past.dynamo", "llama.dynamo", "llama-mask.torchscript", "llama-past.dynamo", "vit.dynamo"))
PRECISIONS = ("fp16", "bf16")


def label(sizes):
    """b8s512"""
    return "".join(f"{name[0]}{size}" for name, size in sizes.items())


def cases():
    for network in (*FULL, *TWO_LAYERS):
        for precision in PRECISIONS:
            timed = network.timed if precision == "fp16" else ()
            for sizes in (*timed, *(s for s in network.checked if s not in timed)):
                yield {"name": f"{network.name} {label(sizes)}.{precision}", "purpose": network.purpose, "network": network.name,
                       "sizes": sizes, "precision": precision, "artifact": f"{network.name}.{precision}.kpc",
                       "narrow_artifact": f"{network.name}.{precision}{'' if network.narrow_io else '-io'}.kpc", "timed": sizes in timed,
                       "narrow_io": network.narrow_io}


def call(log, command):
    start = time.monotonic()
    with open(log, "a") as file:
        file.write("$ " + " ".join(map(str, command)) + "\n")
        file.flush()
        result = subprocess.run([str(word) for word in command], stdout=file, stderr=subprocess.STDOUT)
        file.write(f"exit code {result.returncode}, {time.monotonic() - start:.1f} s\n")
    if result.returncode:
        raise SystemExit(f"{log}: exit code {result.returncode}: {log.read_text()[-600:]}")


def graph_of(network, exported, log):
    """The network without weights."""
    if not network.exported:
        return MODELS / "graphs" / f"{network.stem}.onnx"
    path = exported / f"{network.stem}.onnx"
    if not path.exists():
        model, variant = network.exported
        call(log, [sys.executable, MODELS / "export_transformers.py", "--output-dir", exported, "--only", model, "--variants",
                   variant, "--full"])
    return path


def compile_network(network, dims, more, artifact, options):
    words = [word for dim in dims for word in ("--dim", dim)]
    call(options.out / f"{network.name}.log",
         [options.kpc, "compile", options.out / f"{network.stem}.onnx", "--arch", options.arch, *words, *more, "-o", options.out / artifact,
          "--no-cache", "--jobs", max(1, options.jobs // 4), *(["--strip"] if options.strip else [])])


def make_model(network, options):
    """NETWORK.onnx with its weights."""
    import weights
    log = options.out / f"{network.name}.log"
    graph = graph_of(network, options.exported or options.out, log)
    call(log, [sys.executable, weights.__file__, graph, "--output-dir", options.out])


def make(network, precisions, options):
    make_model(network, options)
    wide = ("--precision-for", network.wide) if network.wide else ()
    wanted = [(precision, "", (*(wide if precision == "bf16" else ()), *(("--io-precision", precision) if network.narrow_io else ())))
              for precision in precisions]
    if network.timed and "fp16" in precisions and not network.narrow_io:
        wanted.append(("fp16", "-io", ("--io-precision", "fp16")))
    for precision, suffix, more in wanted:
        compile_network(network, network.dims, ("--precision", precision, *more), f"{network.name}.{precision}{suffix}.kpc", options)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--exported", type=pathlib.Path, help="folder of exported networks (default: that of --out)")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    chosen = [case for case in cases() if re.search(options.only, f"{case['purpose']} {case['name']}")]
    wanted = {}
    for case in chosen:
        wanted.setdefault(case["network"], set()).add(case["precision"])
    networks = sorted((n for n in (*FULL, *TWO_LAYERS) if n.name in wanted), key=lambda n: n.name != "llama-1b")  # the longest first
    with concurrent.futures.ThreadPoolExecutor(max(1, options.jobs)) as pool:
        list(pool.map(lambda n: make(n, sorted(wanted[n.name], reverse=True), options), networks))
    stems = {network.name: network.stem for network in networks}
    (options.out / "cases.json").write_text(json.dumps([dict(case, stem=stems[case["network"]]) for case in chosen], indent=1))


if __name__ == "__main__":
    main()
