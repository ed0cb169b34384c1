#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each precision does to networks with trained weights, in the terms of their use. Writes docs/precision.md's table.

    python3 precision.py --kpc build/dev/bin/kpc --work-dir DIR [--only NAME] [--short]

Every network is calibrated with samples of one seed and tried with those of another, on the host, whose numbers are those of
the GPUs' kernels up to the order of sums. The reference is onnxruntime in fp32. A row is one way to quantise: without
calibration, with each of its methods, and with what lessens the error. `--short` takes few samples and few rows: a test.
`auto` chooses a type for each layer by an error budget, with the data of the calibration, and by the times that the cost models
expect of sm_90a: it must be within the bar, and be no slower than the best precision that is one for all layers and within it.
Exits 1 where a row misses the bar of its network, 77 (a skip) where a package, or a peer, is not installed.
"""

import argparse
import dataclasses
import importlib.util
import pathlib
import re
import sys
import time
import typing

SKIPPED = 77

try:
    import numpy as np
    import onnxruntime
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(SKIPPED)

import compare
import minilm

HERE = pathlib.Path(__file__).resolve().parent
DIGITS = HERE.parent.parent / "examples/digits"
PLAIN = ("--no-smooth-channels", "--no-correct-bias")


@dataclasses.dataclass
class Way:
    name: str
    precision: str
    method: str = ""  # of kpc calibrate, "rows" for its --gemm-scales, "moments" for --second-moments; empty: no calibration
    arguments: tuple = ()
    kept: bool = False  # layers that the network names stay in fp16


WAYS = [
    Way("fp16", "fp16"),
    Way("int8, scales of rows in each run", "int8"),
    Way("int8, max", "int8", "max", PLAIN),
    Way("int8, percentile 99.99", "int8", "percentile", PLAIN),
    Way("int8, entropy", "int8", "entropy", PLAIN),
    Way("int8, mse", "int8", "mse", PLAIN),
    Way("int8, max, bias", "int8", "max", PLAIN[:1]),
    Way("int8, max, smooth", "int8", "max", PLAIN[1:]),
    Way("int8, max, smooth and bias", "int8", "max"),
    Way("int8, mse, smooth and bias", "int8", "mse"),
    Way("int8, smooth and bias, scales of rows in each run", "int8", "max rows"),
    Way("int8, max, smooth and bias, some layers in fp16", "int8", "max", kept=True),
    Way("fp8, scales of rows in each run", "fp8"),
    Way("fp8, max", "fp8", "max", PLAIN),
    Way("fp8, max, smooth and bias", "fp8", "max"),
    Way("fp8, max, smooth and bias, some layers in fp16", "fp8", "max", kept=True),
    Way("int4, plain rounding", "int4"),
    Way("int4, AWQ", "int4", "max"),
    Way("int4, GPTQ", "int4", "max moments", ("--no-scale-weights",)),
    Way("int4, AWQ and GPTQ", "int4", "max moments"),
    Way("int4, groups of 32, plain rounding", "int4", "", ("--weight-group", "32")),
    Way("int4, groups of 32, GPTQ", "int4", "max moments", ("--no-scale-weights", "--weight-group", "32")),
    Way("int4, groups of 32, AWQ and GPTQ", "int4", "max moments", ("--weight-group", "32")),
    Way("mxfp8", "mxfp8"),
    Way("nvfp4", "nvfp4"),
    Way("mxfp4", "mxfp4"),
    Way("auto", "auto", "max"),
]
BLOCKS = ("mxfp8", "nvfp4", "mxfp4")
SHORT = ("int8, max, smooth and bias", "int8, max, smooth and bias, some layers in fp16", "auto")
# Precisions of all layers, whose times auto prints beside its own.
SINGLE = {"fp16": "fp16", "int8, max, smooth and bias": "int8", "fp8, max, smooth and bias": "fp8"}
TIMES = re.compile(r"expected on \S+: ([0-9.]+) us, against (.*)")


@dataclasses.dataclass
class Network:
    name: str
    path: typing.Callable  # of the work folder -> the model; None: a package is missing
    samples: typing.Callable  # seed, count -> inputs of each
    counts: tuple  # to calibrate with, to try; and for --short, which leaves out those without
    score: typing.Callable  # outputs, those of fp32, inputs: of all samples -> name -> number
    bar: dict  # name -> (least or None, most or None), of the best row of a type
    budget: str  # of `auto`
    arguments: tuple = ()  # of kpc compile and calibrate
    batch: bool = False  # the samples to try are one batch
    keep: str = ""  # layers that bear codes least, by the names of their nodes
    bar_of_int4: dict = dataclasses.field(default_factory=dict)  # where that is another one
    misses: tuple = ()  # precisions of which docs/missing.md says that they miss the bar
    quick: bool = False  # `auto` takes seconds, and is part of --short


# ----------------------------------------------------------------------------------------------------------------------
# Sentences
# ----------------------------------------------------------------------------------------------------------------------

WHO = ("a man", "the old woman", "my neighbour", "a group of children", "the central bank", "a young doctor", "the engineer",
       "our teacher", "a stray cat", "the football team", "someone", "the new manager", "a violinist", "the government")
WHAT = ("is playing a guitar", "repairs the broken engine", "raised the interest rates", "is sleeping on the sofa",
        "writes a long letter", "wants to change the password", "published a report about climate", "cooks soup for dinner",
        "was late for the meeting", "is learning to swim", "sold the house last year", "asked about the price of bread",
        "won the final by two goals", "cannot find the keys", "explains how vaccines work")
WHERE = ("in the park", "near the river", "on Monday morning", "because of the rain", "after the concert", "in a small village",
         "with great care", "at the airport", "without telling anyone", "during the winter", "")


def sentences(seed, count):
    """One by one to calibrate with, and fifty at a time to try."""
    draw = np.random.default_rng(seed)
    vocabulary = minilm.package_folder() / "vocab.txt"
    texts = [f"{WHO[draw.integers(len(WHO))]} {WHAT[draw.integers(len(WHAT))]} {WHERE[draw.integers(len(WHERE))]}."
             for _ in range(count)]
    at_once = 1 if seed == 1 else 50
    return [minilm.tokenize(texts[i:i + at_once], vocabulary) for i in range(0, count, at_once)]


def sentence_model(folder):
    package = minilm.package_folder()
    return package and minilm.place_model(HERE / "graphs/minilm.dynamo.onnx",
                                          minilm.safetensors(package / "model.safetensors"), folder)


def ranks(values):
    return np.argsort(np.argsort(values))


def cosines(found, wanted, _):
    found, wanted = (np.concatenate([each[0] for each in side]).astype(np.float64) for side in (found, wanted))
    cosine = (found * wanted).sum(1) / np.linalg.norm(found, axis=1) / np.linalg.norm(wanted, axis=1)
    upper = np.triu_indices(len(found), 1)
    alike = [ranks((side @ side.T)[upper]) for side in (found, wanted)]
    return {"cosine": cosine.mean(), "least cosine": cosine.min(), "rank correlation": np.corrcoef(*alike)[0, 1]}


# ----------------------------------------------------------------------------------------------------------------------
# Lines of text
# ----------------------------------------------------------------------------------------------------------------------

# Rows of five dots, the left one the highest bit.
FONT = {
    "A": "0E11111F111111", "C": "0E11101010110E", "E": "1F10101E10101F", "F": "1F10101E101010", "H": "1111111F111111",
    "I": "0E04040404040E", "K": "11121418141211", "L": "1010101010101F", "M": "111B1515111111", "N": "11191513111111",
    "O": "0E11111111110E", "P": "1E11111E101010", "R": "1E11111E141211", "S": "0F10100E01011E", "T": "1F040404040404",
    "U": "1111111111110E", "X": "11110A040A1111", "Y": "11110A04040404", "1": "040C040404040E", "2": "0E11010204081F",
    "3": "1F02040201110E", "4": "02060A121F0202", "5": "1F101E0101110E", "7": "1F010204080808", "8": "0E11110E11110E",
    "9": "0E11110F01020C",
}


def drawn(text, draw):
    """A line as a camera may see it: dark on light, softened, with noise; [1, 3, 48, width]."""
    scale, width = 5, 6 * 5 * len(text) + 20
    image = np.full((48, width), 0.9)
    for place, letter in enumerate(text):
        for row in range(7):
            bits = int(FONT[letter][2 * row:2 * row + 2], 16)
            for column in range(5):
                if bits >> (4 - column) & 1:
                    top, left = 6 + row * scale, 10 + (place * 6 + column) * scale
                    image[top:top + scale, left:left + scale] = -0.8
    soft = np.pad(image, 1, mode="edge")
    soft = sum(soft[i:i + 48, j:j + width] for i in range(3) for j in range(3)) / 9
    soft = (soft + draw.normal(0, 0.03, soft.shape)).astype(np.float32)
    return np.ascontiguousarray(np.broadcast_to(soft, (1, 3, 48, width)))


def lines(seed, count):
    draw = np.random.default_rng(seed)
    letters = list(FONT)
    return [{"x": drawn("".join(draw.choice(letters, draw.integers(5, 12))), draw)} for _ in range(count)]


def read(scores):
    """What is written: the best of each place, repetitions and blanks left out."""
    best = scores[0].argmax(1)
    return [int(symbol) for place, symbol in enumerate(best) if symbol and (place == 0 or symbol != best[place - 1])]


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def characters(found, wanted, _):
    texts = [(read(a[0]), read(b[0])) for a, b in zip(found, wanted)]
    return {"same characters": 1 - sum(distance(a, b) for a, b in texts) / sum(len(b) for _, b in texts)}


# ----------------------------------------------------------------------------------------------------------------------
# Speech
# ----------------------------------------------------------------------------------------------------------------------

def voice(draw, length):
    """Vowels of a changing pitch, with pauses, in noise of some loudness."""
    time_axis = np.arange(length) / 16000
    pitch = 110 + 60 * draw.random() + 20 * np.sin(2 * np.pi * (0.5 + draw.random()) * time_axis)
    phase = 2 * np.pi * np.cumsum(pitch) / 16000
    tone = sum(np.sin(k * phase) * np.exp(-((k * 130 - 600 - 900 * draw.random()) / 900)**2) for k in range(1, 25))
    loud = np.clip(np.sin(2 * np.pi * (1.5 + draw.random()) * time_axis + draw.random()) + 0.3, 0, 1)
    noise = draw.normal(0, 10**draw.uniform(-3, -1.2), length)
    return (0.1 * tone * loud + noise).astype(np.float32)


def recordings(seed, count):
    draw = np.random.default_rng(seed)
    return [{"input_1": voice(draw, 144160)[None]} for _ in range(count)]


def pieces_of_speech(seed, count):
    draw = np.random.default_rng(seed)
    state = np.zeros((2, 1, 128), np.float32)
    return [{"input": voice(draw, 576)[None], "state": state} for _ in range(count)]


def greatest_difference(found, wanted, _):
    return {"greatest difference": max(float(np.abs(a[0].astype(np.float64) - b[0]).max()) for a, b in zip(found, wanted))}


# ----------------------------------------------------------------------------------------------------------------------
# Digits
# ----------------------------------------------------------------------------------------------------------------------

def digits(seed, count):
    """The samples to calibrate with are drawn from those to try: the folder has no others."""
    images = np.load(DIGITS / "images.npy")
    if seed == 1:
        return [{"image": images[i:i + 1]} for i in np.random.default_rng(seed).choice(len(images), count, replace=False)]
    return [{"image": images[i:i + 1]} for i in range(min(count, len(images)))]


def points(found, wanted, _):
    labels = np.load(DIGITS / "labels.npy")
    right = [sum(int(each[0].argmax()) == label for each, label in zip(side, labels)) / len(side) for side in (found, wanted)]
    return {"points": 100 * right[0], "points lost": 100 * (right[1] - right[0])}


def packaged(package, inside):
    def path(_):
        found = importlib.util.find_spec(package)
        return found and pathlib.Path(found.submodule_search_locations[0]) / inside
    return path


NETWORKS = [
    Network("digits", lambda _: DIGITS / "digits.onnx", digits, (64, 360, 32, 360), points, {"points lost": (None, 0.3)}, "sqnr=25dB",
            ("--dim", "batch=1..512:opt=64"), batch=True, quick=True, misses=("nvfp4", "mxfp4")),
    Network("MiniLM-L6", sentence_model, sentences, (64, 300, 64, 50), cosines,
            {"cosine": (0.9995, None), "rank correlation": (0.999, None)}, "cosine=0.9996",
            ("--dim", "batch=1..64:opt=32", "--dim", "sequence=1..64:opt=64"),
            # The products behind GELU, and those behind attention.
            keep="MatMul_(112|116|172|176|232|236|292|296|352|356|412|416)$", misses=("fp8", *BLOCKS),
            bar_of_int4={"cosine": (0.995, None), "rank correlation": (0.995, None)}),
    Network("PP-OCRv4 recogniser", packaged("rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx"), lines, (32, 32, 0, 0),
            characters, {"same characters": (0.99, None)}, "sqnr=20dB"),
    Network("DNSMOS P.835", packaged("speechmos", "dnsmos_models/sig_bak_ovr.onnx"), recordings, (8, 8, 0, 0),
            greatest_difference, {"greatest difference": (None, 0.02)}, "max=0.01",
            # A Fourier transform whose power's logarithm is taken, and what reads the logarithm.
            keep="stft|conv2d(_[234])?$", misses=BLOCKS),
    Network("silero VAD", packaged("silero_vad", "data/silero_vad_openvino_16k.onnx"), pieces_of_speech, (64, 64, 8, 8),
            greatest_difference, {"greatest difference": (None, 0.02)}, "max=0.01", misses=BLOCKS),
]


def write_samples(folder, samples):
    folder.mkdir(parents=True, exist_ok=True)
    for place, sample in enumerate(samples):
        np.savez(folder / f"{place:04}.npz", **sample)
    return folder


def calibrate(options, network, path, folder, samples, method):
    """The file, and the seconds it took."""
    data, out = write_samples(folder / "samples", samples), folder / f"{method.replace(' ', '-')}.calibration"
    method, *more = method.split()
    seconds = compare.run_kpc([options.kpc, "calibrate", path, "--data", data, "--method", method, "-o", out, "--quiet",
                               *(["--gemm-scales", "rows"] if "rows" in more else []),
                               *(["--second-moments"] if "moments" in more else []),
                               "--cache-dir", options.work_dir / "cache", *network.arguments], options.limit)
    return out, seconds


def run(options, network, path, folder, way, calibration, samples):
    """The outputs of each sample, and what the compiler printed."""
    artifact, given = folder / "model.kpc", ("--calibration", calibration) if calibration else ()
    if way.kept:
        given += ("--precision-for", f"{network.keep}=fp16")
    arch, quiet = "host", ("--quiet",)
    if way.precision == "auto":
        arch, quiet = "sm_90a,host", ()
        given += ("--accuracy-budget", network.budget, "--data", folder / "samples", "--precision-plan-out", folder / "plan")
    start = time.monotonic()
    printed = compare.call_kpc([options.kpc, "compile", path, "--arch", arch, "--precision", way.precision, *given, *way.arguments,
                                *network.arguments, "-o", artifact, *quiet, "--jobs", "2",
                                "--cache-dir", options.work_dir / "cache"], options.limit)
    if way.precision == "auto":
        print(f"# {network.name}: auto took {time.monotonic() - start:.0f} s\n{printed}", file=sys.stderr)
    if network.batch:
        samples = [{name: np.concatenate([sample[name] for sample in samples]) for name in samples[0]}]
    outputs = []
    for sample in samples:
        command = [options.kpc, "run", artifact, "--device", "host", "--quiet", "--output-dir", folder]
        for name, array in sample.items():
            np.save(folder / f"in-{name}.npy", array)
            command += ["--input", f"{name}={folder / f'in-{name}.npy'}"]
        compare.call_kpc(command, options.limit)
        outputs.append([np.load(folder / f"{name}.npy") for name in network.outputs])
    if network.batch:
        outputs = [[array[i:i + 1] for array in outputs[0]] for i in range(len(outputs[0][0]))]
    return outputs, printed


def slower_than(printed, single):
    """The precisions of all layers that are within the bar and faster than what auto chose, by their expected times."""
    own, others = TIMES.search(printed).groups()
    times = {name: float(number) for number, name in re.findall(r"([0-9.]+) all in (\w+)", others)}
    return [f"{name} ({times[name]} us, not {own})" for name in single if times.get(name, float(own)) < float(own)]


def within(scores, bar):
    return all((least is None or scores[name] >= least) and (most is None or scores[name] <= most)
               for name, (least, most) in bar.items())


def measure(options, network):
    """Whether the best row of each precision is within the bar."""
    folder = options.work_dir / network.name.replace(" ", "-")
    folder.mkdir(parents=True, exist_ok=True)
    path = network.path(folder)
    if not path:
        print(f"{network.name}: SKIPPED, the package is not installed")
        return True
    few, many = network.counts[2:] if options.short else network.counts[:2]
    if not many:
        return True
    calibrating, trying = network.samples(1, few), network.samples(2, many)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    network.outputs = [port.name.replace("/", "_") for port in session.get_outputs()]
    wanted = [session.run(None, sample) for sample in trying]
    files, good, single = {}, {}, []
    for way in WAYS:
        if way.name not in SHORT if options.short and not options.ways else options.ways not in way.name:
            continue
        if way.kept and not network.keep or options.short and way.precision == "auto" and not network.quick:
            continue
        if way.method and way.method not in files:
            files[way.method], seconds = calibrate(options, network, path, folder, calibrating, way.method)
            print(f"# {network.name}: calibrated by {way.method} with {few} samples in {seconds:.1f} s", file=sys.stderr)
        found, printed = run(options, network, path, folder, way, files.get(way.method), trying)
        scores = network.score(found, wanted, trying)
        fits = within(scores, network.bar_of_int4 if way.precision == "int4" and network.bar_of_int4 else network.bar)
        good[way.precision] = good.get(way.precision, False) or fits
        if fits and way.name in SINGLE:
            single.append(SINGLE[way.name])
        if way.precision == "auto" and (faster := slower_than(printed, single)):
            print(f"# {network.name}: auto is slower than {', '.join(faster)}")
            good["auto"] = False
        numbers = ", ".join(f"{name} {value:.5f}" for name, value in scores.items())
        print(f"| {network.name} | {way.name} | {numbers} | {'yes' if fits else 'no'} |", flush=True)
    return all(fits or precision in network.misses for precision, fits in good.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", help="networks whose names hold this")
    parser.add_argument("--ways", default="", help="rows whose names hold this")
    parser.add_argument("--short", action="store_true", help="few samples and rows")
    parser.add_argument("--limit", type=float, default=1200, help="seconds one kpc process may take")
    options = parser.parse_args()
    options.work_dir.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    print("| network | quantised | beside fp32 | within the bar |\n| --- | --- | --- | --- |")
    good = [measure(options, network) for network in NETWORKS if options.only in network.name]
    print(f"# {time.monotonic() - start:.0f} s", file=sys.stderr)
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
