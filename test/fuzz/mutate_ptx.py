#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Spoils PTX texts and gives them to kpc-emulate: each must be taken or refused, and what is taken must run or be a finding.

    python3 mutate_ptx.py --kpc-emulate build/dev/bin/kpc-emulate --work-dir DIR [--count N] [--seed S] [--jobs 60]

The seeds are test/fuzz/corpus/ptx. A mutant has one to four tokens or lines changed, dropped, doubled or swapped, is checked, and
run with wild arguments. One that ends the program by a signal, by another exit code than 0 or 1, or without a word is kept in
DIR/found and fails the test; so is one that is not checked within --limit seconds. A run may be stopped. The same seed makes the
same mutants. Standard library only.
"""

import argparse
import os
import pathlib
import random
import re
import sys

import contained
import shards

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKEN = re.compile(r"%?[A-Za-z_$][\w$]*|\.[A-Za-z_][\w:]*|0[xX][0-9a-fA-F]+|0[fFdD][0-9a-fA-F]+|\d+|\s+|.", re.S)
NUMBERS = ["0", "1", "-1", "2", "3", "31", "32", "33", "127", "255", "256", "4096", "65536", "1000001", "2147483647", "4294967295",
           "4294967296", "9223372036854775807", "18446744073709551615", "99999999999999999999", "0x7fffffff", "0f7F800000",
           "0d7FF0000000000000", "0f"]
WORDS = [".b8", ".b16", ".b32", ".b64", ".b128", ".pred", ".f32", ".f16x2", ".v2", ".v4", ".v8", ".shared", ".global", ".local",
         ".param", ".const", ".reg", ".align", ".entry", ".func", ".extern", ".sync", ".aligned", ".cta_group::2", ".kind::tf32",
         ".x128", ".16x256b", ".m64n256k16", ".trans", ".sat", ".ftz", "call", "ret", "exit", "bra", "brx", "mov", "ld", "st", "atom",
         "tcgen05", "wgmma", "mma", "cp", "mbarrier", "bar", "%tid", "%r0", "%rd0", "%p0", "_", "{", "}", "(", ")", "[", "]", ";", ",",
         "@", "!", "|", "+", "<", ">", '"', "//", "/*", "\x00", "\xff"]


def mutant(text, words, choose):
    tokens = TOKEN.findall(text)
    for _ in range(choose.randint(1, 4)):
        at = choose.randrange(len(tokens))
        for _ in range(20):
            if tokens[at].strip():
                break
            at = choose.randrange(len(tokens))
        what = choose.random()
        if what < 0.15:
            tokens[at] = ""
        elif what < 0.25:
            tokens.insert(at, tokens[at])
        elif what < 0.4:
            other = choose.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif what < 0.6 and tokens[at][:1].isdigit():
            tokens[at] = choose.choice(NUMBERS)
        elif what < 0.8:
            tokens[at] = choose.choice(words)
        elif what < 0.9:
            tokens[at] = choose.choice(WORDS + NUMBERS)
        else:  # a line somewhere else, or only its beginning
            lines = "".join(tokens).split("\n")
            line = lines.pop(choose.randrange(len(lines)))
            lines.insert(choose.randrange(len(lines) + 1), line[:choose.randrange(len(line) + 1)] if choose.random() < 0.3 else line)
            tokens = TOKEN.findall("\n".join(lines)) or [" "]
    return "".join(tokens)


def check(options, name, text):
    path = options.work_dir / "mutants" / f"{name}.ptx"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    code, said = contained.run([options.kpc_emulate, str(path)], options.limit)
    wrong = contained.misdeed(code, said)
    if not wrong and code == 0:
        entry = re.search(r"\.entry\s+(\w+)", text)
        count = text[entry.end():].split("{")[0].count(".param") if entry else 0
        arguments = ["--arg", "out:16384:/dev/null", "--arg", "out:16384:/dev/null", *["--arg", "i64:64"] * max(0, count - 2)][:2 * count]
        if entry:
            code, said = contained.run([options.kpc_emulate, str(path), "--entry", entry[1], "--block", "128", *arguments], 5)
            wrong = "" if code in (None, 2) else contained.misdeed(code, said)
    if wrong:
        (options.work_dir / "found" / path.name).write_bytes(path.read_bytes())
        return f"{name}: {wrong}\n{said[-600:]}"
    path.unlink()
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kpc-emulate", required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=20)
    parser.add_argument("--within", type=float, default=float("inf"), help="begin none after so many seconds")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    options = parser.parse_args()
    for folder in ("mutants", "found"):
        (options.work_dir / folder).mkdir(parents=True, exist_ok=True)
    seeds = sorted((ROOT / "test/fuzz/corpus/ptx").glob("*.ptx"))
    texts = [path.read_text() for path in seeds]
    words = sorted({token for text in texts for token in TOKEN.findall(text) if not token.isspace()})

    def judge(number):
        text = mutant(texts[number % len(texts)], words, random.Random(f"{options.seed}/{number}"))
        return check(options, f"{seeds[number % len(seeds)].stem}-{number}", text)

    bad, progress = 0, shards.Progress(options.count)
    for number, text in shards.each(judge, range(options.first, options.first + options.count), options.jobs, options.within):
        if isinstance(text, shards.Died):
            text = f"{number}: the test's own process ended"
        bad += bool(text)
        if text and bad <= 10:
            print(text, flush=True)
        progress.step(bad)
    print(f"{progress.done} mutants, {bad} bad; {progress.rate()}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
