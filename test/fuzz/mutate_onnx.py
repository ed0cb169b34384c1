#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Spoils ONNX models and gives them to kpc: each must be taken or refused with an error that has a code.

    python3 mutate_onnx.py --kpc build/dev/bin/kpc --work-dir DIR [--count N] [--seed S] [--only TEXT] [--server PROGRAM]
                           [--data DIR] [--jobs 60]

The seeds are the models committed here, those of test/hostile, and the node tests of libonnx-testdata where they are
installed. A mutant has one to three fields of its messages changed, dropped, doubled or put elsewhere (wire.py), or some
of its bytes flipped. `kpc check` judges each; every `--compile-every`th is compiled too, and must then end as the check
did. A mutant that ends kpc by a signal, by another exit code than 0 or 1, with an error without a code, or not at all
within --limit seconds is kept in DIR/found and fails the test. With --server (kpc_model_server), which runs kpc in
children of one process, thousands take seconds; those that fail there are judged again by kpc
itself. The same seed makes the same mutants, given the same seeds. Standard library only.
"""

import argparse
import os
import pathlib
import random
import re
import shutil
import sys

import contained
import shards
import wire

ROOT = pathlib.Path(__file__).resolve().parents[2]
NODE_TESTS = pathlib.Path("/usr/share/libonnx-testdata/data")
sys.path.insert(0, str(ROOT / "test/hostile"))
import bad_models  # noqa: E402 (from the folder just added)

NUMBERS = [0, 1, 2, 3, 4, 7, 8, 9, 16, 23, 64, 127, 128, 255, 1 << 16, (1 << 31) - 1, 1 << 31, 1 << 32, 1 << 40, 1 << 62,
           (1 << 63) - 1, -1, -2, -3, -(1 << 31), -(1 << 63)]
TEXTS = [b"", b"x", b"y", b"N", b"axis", b"axes", b"\xff\xfe", b"a" * 5000, b"SAME_UPPER", b"VALID", b"ai.onnx.ml",
         b"1", b"-1", b"99999999999999999999", b"../x", b"/etc/passwd", b"..."]
LARGEST = 1 << 18  # bytes of a seed


class Seeds:
    def __init__(self, options):
        self.models = []  # (name, fields)
        found = [*ROOT.glob("examples/*/*.onnx"), *ROOT.glob("test/models/graphs/mlp*.onnx"), *options.data.glob("*/*/model.onnx")]
        for path in sorted(found):
            if path.stat().st_size <= LARGEST:
                self.add(str(path.parent.name if path.name == "model.onnx" else path.name), path.read_bytes(), options)
        for name, make in bad_models.FILES.items():
            self.add(name, make(), options)
        self.words = sorted({f[2] for _, m in self.models for part in wire.messages(m) for f in part
                             if isinstance(f[2], bytes) and f[1] == wire.BYTES and 0 < len(f[2]) < 24})

    def add(self, name, data, options):
        if options.only not in name or len(data) > LARGEST:
            return
        try:
            self.models.append((name, wire.read(data)))
        except ValueError:
            pass


def copied(fields):
    return [[n, kind, copied(v) if isinstance(v, list) else v] for n, kind, v in fields]


def change_value(field, words, chance):
    """Another value of the same wire type."""
    if field[1] == wire.VARINT:
        near = chance.random() < 0.3
        field[2] = field[2] + chance.choice([-1, 1]) if near else chance.choice(NUMBERS)
    elif field[1] in (wire.FIXED32, wire.FIXED64):
        field[2] = bytes(chance.choice([0, 0x7F, 0x80, 0xC0, 0xFF]) for _ in field[2])
    elif isinstance(field[2], bytes) and len(field[2]) > 24:  # data
        size = chance.choice([0, 1, len(field[2]) - 1, len(field[2]) // 2, len(field[2])])
        field[2] = field[2][:size] if chance.random() < 0.5 else bytes(chance.randrange(256) for _ in range(min(size, 64)))
    else:
        field[2] = chance.choice(words if chance.random() < 0.7 else TEXTS)


def mutate_once(model, words, chance):
    parts = [part for part in wire.messages(model) if part]
    if not parts:
        return
    part = chance.choice(parts)
    at = chance.randrange(len(part))
    change = chance.random()
    if change < 0.55:
        # Mostly leaves: a message replaced as a whole is soon refused.
        leaves = [(p, i) for p in parts for i, f in enumerate(p) if not isinstance(f[2], list)]
        if leaves:
            part, at = chance.choice(leaves)
        change_value(part[at], words, chance)
    elif change < 0.68:
        del part[at]
    elif change < 0.78:
        part.insert(chance.randrange(len(part) + 1), copied([part[at]])[0])
    elif change < 0.86:
        other = chance.choice(parts)
        other.insert(chance.randrange(len(other) + 1), copied([part[at]])[0])
    elif change < 0.93:
        part[at][0] = chance.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 20, 25])
    else:
        other = chance.choice(parts)
        i = chance.randrange(len(other))
        part[at][2], other[i][2] = other[i][2], part[at][2]
        part[at][1], other[i][1] = other[i][1], part[at][1]


def mutant(seeds, options, number):
    chance = random.Random(f"{options.seed}/{number}")
    name, model = chance.choice(seeds.models)
    model = copied(model)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        mutate_once(model, seeds.words, chance)
    try:
        data = wire.write(model)
    except (RecursionError, TypeError):  # a message put into itself
        data = b""
    if chance.random() < 0.03:
        data = bytearray(data)
        for _ in range(3 if data else 0):
            data[chance.randrange(len(data))] = chance.randrange(256)
    return name, bytes(data)


class Fuzzer:
    def __init__(self, options):
        self.options = options
        self.found = options.work_dir / "found"
        for old in ("found", "run"):
            shutil.rmtree(options.work_dir / old, ignore_errors=True)
        self.found.mkdir(parents=True)
        self.seeds = Seeds(options)
        first = ["compile", contained.DIGITS, "--arch", "host", *self.compiling(options.work_dir / "first.kpc")]
        self.program = contained.Program(options.kpc, options.limit, options.server, first)

    def compiling(self, output):
        return ["--no-cache", "--quiet", "--jobs", "0" if self.options.server else "1", "-o", output]

    def kpc(self, arguments, folder):
        """(exit code, what was said, what is wrong with these)"""
        answer = self.program.run(arguments, folder, lambda *answer: not contained.refusal_fault(*answer))
        return *answer, contained.refusal_fault(*answer)

    def judge(self, number):
        """(name, bytes, what is wrong, what was said, whether kpc took it)"""
        name, data = mutant(self.seeds, self.options, number)
        folder = self.options.work_dir / "run" / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "m.onnx"
        path.write_bytes(data)
        code, said, what = self.kpc(["check", path, "--arch", "host"], folder)
        taken = code == 0
        if not what and self.options.compile_every and number % self.options.compile_every == 0:
            command = ["compile", path, "--arch", "host", *self.compiling(folder / "out.kpc")]
            compiled, said, what = self.kpc(command, folder)
            if not what and compiled != code:
                what = f"kpc check ends with {code}, kpc compile with {compiled}"
        shutil.rmtree(folder)
        return name, data, what, said, taken

    def run(self):
        failed = taken = 0
        progress = shards.Progress(self.options.count)
        numbers = range(self.options.first, self.options.first + self.options.count)
        for number, result in shards.each(self.judge, numbers, self.options.jobs, self.options.within):
            if isinstance(result, shards.Died):
                result = "?", b"", "the test's own process ended", f"exit code {result.code}", False
            name, data, what, said, good = result
            taken += good
            failed += bool(what)
            if what:
                path = self.found / f"{number}.onnx"
                path.write_bytes(data)
                print(f"{what}: a mutant of {name}, kept as {path}")
                hint = [line for line in said.splitlines() if re.search(r"Assert|UNREACHABLE|LLVM ERROR|fault|error", line)]
                print("    " + "\n    ".join((hint or said.splitlines())[:3]), flush=True)
            progress.step(failed)
        print(f"{len(self.seeds.models)} models, {progress.done} mutants, {taken} of them taken: {failed} failed; {progress.rate()}")
        return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--compile-every", type=int, default=5)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--server", default="", help="kpc_model_server")
    parser.add_argument("--only", default="", help="only models with this in their name")
    parser.add_argument("--limit", type=float, default=60, help="seconds for one mutant")
    parser.add_argument("--data", type=pathlib.Path, default=NODE_TESTS, help="node tests: generate_onnx_tests.py writes them, too")
    parser.add_argument("--within", type=float, default=float("inf"), help="begin none after so many seconds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    options.work_dir = options.work_dir.resolve()
    options.kpc = os.path.abspath(options.kpc)
    return Fuzzer(options).run()


if __name__ == "__main__":
    sys.exit(main())
