#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Spoils .pt2 archives and gives them to kpc: each must be taken or refused with an error that has a code.

    python3 mutate_program.py --kpc build/dev/bin/kpc --work-dir DIR [--count N] [--seed S]

The seeds are the small archives of test/models/programs, those that test/models/program_writer.py writes (loops, branches,
sizes that data decides), and some in the layouts of older PyTorch, whose weights are pickled. A mutant has
values of its JSON changed, dropped, doubled or exchanged, words of text spoiled, or bytes of a file, of a pickle or of the
zip archive itself flipped or cut. One that ends kpc by a signal, by another exit code than 0 or 1, with an error without a
code, with more memory, or not at all within --limit seconds is kept in DIR/found and fails the test. The same seed makes
the same mutants.
"""
import io
import json
import pathlib
import sys
import tempfile
import zipfile

try:
    import numpy  # noqa: F401  what makes the seeds
except ImportError:
    sys.exit(77)

import contained

MODELS = pathlib.Path(__file__).resolve().parents[1] / "models"
sys.path.insert(0, str(MODELS))
VALUES = [-1, 0, 1, 2**31, 2**63 - 1, -2**63, 1e308, None, True, "", "x", [], {}, [[]], {"as_int": 3}, {"as_none": True},
          {"as_tensor": {"name": "x"}}, {"as_expr": {"expr_str": "s0"}}, "Symbol('s0')", "Add(Integer(9), " * 50,
          "2**99", "((((", 10**30]


def places(value, found, depth=0):
    """Every holder and key of a JSON value."""
    if isinstance(value, (dict, list)):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            found.append((value, key))
            places(value[key], found, depth + 1)
    return found


def spoil_json(chance, data):
    try:
        whole = json.loads(data)
    except ValueError:
        return spoil_bytes(chance, data)
    found = places(whole, [])
    if not found:
        return data
    (holder, key), (other, at) = chance.choice(found), chance.choice(found)
    how = chance.randrange(5)
    if how == 0:
        holder[key] = chance.choice(VALUES)
    elif how == 1:
        del holder[key]
    elif how == 2:
        holder[key] = json.loads(json.dumps(other[at]))
    elif how == 3 and isinstance(holder, list):
        holder.insert(key, holder[key])
    elif isinstance(holder[key], str):
        holder[key] = spoil_bytes(chance, holder[key].encode()).decode("latin1")
    elif isinstance(holder[key], int):
        holder[key] += chance.choice((-1, 1, 2, 1000, -1000))
    return json.dumps(whole).encode()


def spoil_bytes(chance, data):
    if not data:
        return data
    at = chance.randrange(len(data))
    how = chance.randrange(4)
    if how == 0:
        return data[:at] + bytes([chance.randrange(256)]) + data[at + 1:]
    if how == 1:
        return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1:]
    if how == 2:
        return data[:at] + data[at + chance.randint(1, 8):]
    return data[:at] + data[chance.randrange(len(data)):][:16] + data[at:]


def spoil_zip(chance, data, depth=0):
    """One of the files in an archive, or the archive's own bytes."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = [(name, archive.read(name)) for name in archive.namelist()]
    except Exception:  # spoiled already
        return spoil_bytes(chance, data)
    if chance.random() < 0.15 or not entries:
        return spoil_bytes(chance, data)
    likely = [i for i, (name, _) in enumerate(entries) if name.endswith((".json", ".pkl", ".pt", "0"))]
    at = chance.choice(likely) if likely and chance.random() < 0.85 else chance.randrange(len(entries))
    name, held = entries[at]
    if held[:2] == b"PK" and depth == 0:
        held = spoil_zip(chance, held, 1)
    else:
        spoil = spoil_json if name.endswith(".json") else spoil_bytes
        for _ in range(chance.randint(1, 3)):
            held = spoil(chance, held)
    entries[at] = name, held
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for entry, bytes_held in entries:
            archive.writestr(zipfile.ZipInfo(entry), bytes_held)
    return whole.getvalue()


def seeds():
    import program
    import saved_tensors
    import written_programs

    archives = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path, old = folder / "a.pt2", folder / "b.pt2"
        for saved in sorted((MODELS / "programs").glob("m_*.pt2")):
            whole = program.with_weights(saved, folder)
            if whole.stat().st_size > 100_000:
                continue
            archives.append((saved.stem, whole.read_bytes()))
            if saved.stem in ("m_mlp", "m_half", "m_mutation", "m_dynamic_hw"):
                for layout in ("pickled", "2.8", "2.7", "2.5"):
                    saved_tensors.in_layout(whole, old, layout)
                    archives.append((f"{saved.stem}-{layout}", old.read_bytes()))
        for case, make in written_programs.CASES.items():
            make()[0].save(path)
            archives.append((case, path.read_bytes()))
    return archives


def mutant(chance, archives, path):
    name, data = chance.choice(archives)
    path.write_bytes(spoil_zip(chance, data))
    return name, []


if __name__ == "__main__":
    sys.exit(contained.check_mutants(__doc__, seeds, mutant, ".pt2"))
