#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Spoils TorchScript archives and gives them to kpc: each must be taken or refused with an error that has a code.

    python3 mutate_script.py --kpc build/dev/bin/kpc --work-dir DIR [--count N] [--seed S]

The seeds are the archives that test/models/scripts holds. A mutant has one to four words of its source changed, dropped or
put elsewhere, lines doubled, or bytes of a file flipped or cut; its checksums are right, so that the reader goes on. One
that ends kpc by a signal, by another exit code than 0 or 1, with an error without a code, or not at all within --limit
seconds is kept in DIR/found and fails the test. The same seed makes the same mutants. Standard library only.
"""
import pathlib
import re
import sys
import zipfile

import contained

SCRIPTS = pathlib.Path(__file__).resolve().parents[1] / "models/scripts"
WORDS = ["-1", "0", "9223372036854775807", "None", "[]", "x", "1e308", "{}", "()", "CONSTANTS.c0", "torch.size(x)", "-inf",
         "self", "torch.neg(1)", "\"text\"", "True", "__torch__.x", "9" * 40]
SHAPES = ["2,8", "2,3,32,32", "n,8", "2", "", "n,m", "2,4,6,8", "2,5,16"]


def spoil_text(chance, text):
    words = list(re.finditer(r"[A-Za-z_0-9.\-]+|\S", text))
    if not words:
        return text
    one, other, how = chance.choice(words), chance.choice(words), chance.randrange(4)
    if how == 3:
        lines = text.split("\n")
        lines.insert(chance.randrange(len(lines)), chance.choice(lines))
        return "\n".join(lines)
    put = [other.group(), chance.choice(WORDS), ""][how]
    return text[:one.start()] + put + text[one.end():]


def spoil_bytes(chance, data):
    if not data:
        return data
    at = chance.randrange(len(data))
    how = chance.randrange(3)
    if how == 0:
        return data[:at] + bytes([chance.randrange(256)]) + data[at + 1:]
    if how == 1:
        return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1:]
    return data[:at] + data[at + chance.randint(1, 8):]


def mutant(chance, archives, path):
    name, entries = chance.choice(archives)
    entries = list(entries)
    likely = [i for i, (file, _) in enumerate(entries) if file.endswith((".py", ".pkl"))]
    at = chance.choice(likely) if chance.random() < 0.8 else chance.randrange(len(entries))
    file, data = entries[at]
    for _ in range(chance.randint(1, 4)):
        if file.endswith(".py") and chance.random() < 0.8:
            data = spoil_text(chance, data.decode("latin1")).encode("latin1")
        else:
            data = spoil_bytes(chance, data)
    entries[at] = file, data
    with zipfile.ZipFile(path, "w") as archive:
        for entry, held in entries:
            archive.writestr(zipfile.ZipInfo(entry), held)
    shape = "2,3,32,32" if "resnet" in name else "2,4,6,8" if "shapes" in name else chance.choice(SHAPES)
    return name, ["--input-shape", f"{'ids' if 'embed' in name else 'x'}={shape}", "--state", "explicit"]


def seeds():
    archives = []
    for path in sorted(SCRIPTS.glob("*.pt")):
        if path.stem.startswith(("tv_", "hf_")):
            continue  # without weights, each would end at the first of them
        with zipfile.ZipFile(path) as archive:
            archives.append((path.stem, [(name, archive.read(name)) for name in archive.namelist()]))
    return archives


if __name__ == "__main__":
    sys.exit(contained.check_mutants(__doc__, seeds, mutant, ".pt"))
