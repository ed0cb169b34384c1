#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Spoils files of IR and gives them to kpc-opt and kpc: each must be taken or refused, whatever it says.

    python3 mutate_ir.py --kpc-opt build/dev/bin/kpc-opt --kpc build/dev/bin/kpc --work-dir DIR
                         [--count N] [--compiled N] [--seed S] [--only TEXT]

The seeds are the lit tests' programs and what `kpc compile --emit` writes for examples/digits. A mutant has one to three
tokens changed, dropped, doubled or swapped. `--count` mutants go through kpc-opt, in batches (one process, split
input); `--compiled` go through `kpc compile` for the host. A mutant that ends a program by a signal, by another exit
code than 0 or 1, without a word, or not at all within --limit seconds is kept in DIR/found and fails the test. The
same seed makes the same mutants. Standard library only.
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

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[%@#!^]?[A-Za-z_][\w.$-]*|[%#^@]\d+|-?\d+(?:\.\d+(?:[eE][-+]?\d+)?)?|->|\s+|.', re.S)
NUMBERS = ["0", "1", "-1", "2", "3", "7", "63", "64", "65", "1000000", "2147483647", "2147483648", "4294967296",
           "4611686018427387904", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1" + "0" * 30,
           "1.5", "-0.0", "0x7FC00000"]
TYPES = ["f32", "f64", "f16", "bf16", "i1", "i8", "i32", "i64", "ui8", "ui64", "i128", "i7", "si32", "index", "none",
         "f8E4M3FN", "f80", "complex<f32>", "tensor<4xf32>", "tensor<?xf32>", "tensor<*xf32>", "memref<f32>",
         "memref<?xf32>", "vector<4xf32>", "vector<[4]xf32>", "!graph.tensor<[n, 4], f32>", "!graph.tensor<[], i64>",
         "!graph.tensor<[0], f32>", '!graph.tensor<["n*4 - 3"], i1>', "tuple<>", "() -> ()"]
TEXTS = ['""', '"n"', '"overflow"', '"n*n*n*n"', '"floordiv(n, 0)"', '"mod(n, m - n)"', '"max(n, -9223372036854775808)"',
         '"' + "(" * 300 + '"', '"\\00\\FF"', '"9223372036854775807*n"', '"arg0*arg99"']
ATTRIBUTES = ["unit", "true", "[]", "{}", "dense<1> : tensor<2xi64>", "dense<[]> : tensor<0xf32>", "array<i64>",
              "array<i64: -1, 9223372036854775807>", "array<i32: 1>", "affine_map<(d0) -> (d0 floordiv 0)>",
              "affine_map<(d0, d1)[s0] -> (d0 * 9223372036854775807 + s0)>", "#graph.dims<[]>", "@main", "f32"]
GRAPH_PASSES = ["--canonicalize", "--cse", "--sink-transposes", "--fold-scales", "--fold-recipes",
                "--form-regions", "--lower-regions", "--verify-kernel-form"]
# The pipelines of each kind of seed.
PIPELINES = {
    "graph": [[], GRAPH_PASSES, ["--set-precision=to=f16 io=f16", *GRAPH_PASSES],
              ["--form-regions=fuse=false", "--lower-regions", "--verify-kernel-form"],
              ["--lower-regions", "--verify-kernel-form"], ["--canonicalize"]],
    "plan": [[], ["--canonicalize", "--verify-kernel-form"], ["--verify-launch-sizes"]],
    "kernel": [["--verify-kernel-form"], ["--kpc-expand-math"], ["--kpc-host-build-kernel"],
               ["--kpc-gpu-build-kernels=arch=sm_90a"], ["--kpc-host-build-kernel=vector-bits=256", "--kpc-expand-math"]],
    "gpu": [["--pass-pipeline=builtin.module(gpu.module(kpc-lower-to-nvvm))"]],
}

# Faults of LLVM 22's own parsers, which end mlir-opt as well: functions that stand in the stack, and what is wrong.
UPSTREAM = [
    (("mlir::detail::Parser::parseDenseArrayAttr",), "array<index: …> asks a type without a width for its width"),
    (("mlir::linalg::GenericOp::parse", "mlir::Diagnostic::operator<<(llvm::Twine&&)"),
     "iterator_types that are no strings are printed as if they were"),
]


# The same faults where a stripped binary names no functions: what the parser read last.
UPSTREAM_TEXTS = [
    r"array<\s*(?!i\d|f32\b|f64\b)",
    r"iterator_types\s*=\s*\[(?!\s*(\"[^\"]*\"\s*,?\s*)*\])",
]


def is_upstream(said, program):
    if any(all(f in said for f in functions) for functions, _ in UPSTREAM):
        return True
    named = re.search(r"^ *#\d+ 0x[0-9a-f]+ [a-z(]+[\w:]+\(", said, re.M)
    return not named and any(re.search(text, program) for text in UPSTREAM_TEXTS)


def kind_of(path, text):
    if "codegen/nvptx" in path:
        return "gpu"
    if "plan.program" in text:
        return "plan"
    if "graph." in text:
        return "graph"
    return "kernel"


def pieces(text):
    """The programs of a file, without comments (RUN lines and what a test expects)."""
    text = re.sub(r"^\s*//(?! -----).*$", "", text, flags=re.M)
    return [p.strip() + "\n" for p in text.split("// -----") if p.strip()]


class Seeds:
    def __init__(self, options):
        self.programs = []  # (name, kind, text)
        for folder in ("dialects", "passes", "codegen", "fuzz/corpus/ir"):
            for path in sorted((ROOT / "test" / folder).rglob("*.mlir")):
                name = str(path.relative_to(ROOT / "test"))
                for i, text in enumerate(pieces(path.read_text())):
                    self.programs.append((f"{name}#{i}", kind_of(name, text), text))
                    if kind_of(name, text) == "graph" and "@main" not in text:  # so that it is lowered
                        text = re.sub(r"func\.func @\w+", "func.func @main", text, count=1)
                        self.programs.append((f"{name}#{i}-main", "graph", text))
        for phase in ("graph", "linalg", "plan"):
            text = self.emit(options, phase)
            self.programs.append((f"digits.{phase}", kind_of("", text), text))
        self.programs = [p for p in self.programs if options.only in p[0]]
        self.words = sorted({t for _, _, text in self.programs for t in TOKEN.findall(text)
                             if re.match(r"[A-Za-z_]", t)})

    def emit(self, options, phase):
        folder = options.work_dir / "emit"
        folder.mkdir(parents=True, exist_ok=True)
        model = folder / "digits.onnx"
        shutil.copy(ROOT / "examples/digits/digits.onnx", model)
        target = folder / f"digits.{phase}.mlir"
        command = [options.kpc, "compile", str(model), "--arch", "host", "--emit", phase, "-o", str(target), "--no-cache",
                   "--quiet"]
        code, said = contained.run(command, 300)
        if code != 0:
            sys.exit(f"digits does not compile to {phase}: {said}")
        return target.read_text()


def same_class(token):
    if re.match(r"-?\d", token):
        return "number"
    if token[0] in '"%@#!^':
        return token[0]
    return "word" if re.match(r"[A-Za-z_]", token) else token


def other_token(token, tokens, words, chance):
    """Something to put in a token's place."""
    kind = same_class(token)
    choice = chance.random()
    if choice < 0.15:
        return chance.choice(ATTRIBUTES + TYPES + NUMBERS + TEXTS)
    if kind == "number":
        if choice < 0.4 and re.fullmatch(r"-?\d{1,18}", token):
            return str(int(token) + chance.choice([-1, 1, 2]))
        return chance.choice(NUMBERS)
    if kind == '"':
        return chance.choice(TEXTS)
    if kind == "!" or token in TYPES or re.fullmatch(r"[fiu]+\d+|index", token):
        return chance.choice(TYPES)
    if kind == "word":
        if choice < 0.3:
            return chance.choice(TYPES)
        if "." in token:  # an operation
            dialect = token.split(".")[0] + "."
            return chance.choice([w for w in words if w.startswith(dialect)] or words)
        return chance.choice(words)
    peers = [t for t in tokens if same_class(t) == kind]
    return chance.choice(peers)


def mutate_once(text, words, chance):
    if chance.random() < 0.15:
        lines = text.split("\n")
        i, j = chance.randrange(len(lines)), chance.randrange(len(lines))
        change = chance.randrange(3)
        if change == 0:
            del lines[i]
        elif change == 1:
            lines.insert(j, lines[i])
        else:
            lines[i], lines[j] = lines[j], lines[i]
        return "\n".join(lines)
    tokens = TOKEN.findall(text)
    places = [i for i, t in enumerate(tokens) if not t.isspace()]
    if not places:
        return text
    meaning = [i for i in places if re.match(r'[-\d"A-Za-z%]', tokens[i])]
    i = chance.choice(meaning if meaning and chance.random() < 0.7 else places)
    change = chance.random()
    if change < 0.35:  # everywhere alike: what belongs together stays together
        old, new = tokens[i], other_token(tokens[i], [tokens[p] for p in places], words, chance)
        tokens = [new if t == old else t for t in tokens]
    elif change < 0.65:
        tokens[i] = other_token(tokens[i], [tokens[p] for p in places], words, chance)
    elif change < 0.77:
        del tokens[i]
    elif change < 0.85:
        tokens.insert(i, tokens[i] + " ")
    elif change < 0.95:
        j = chance.choice(places)
        tokens[i], tokens[j] = tokens[j], tokens[i]
    else:  # an operand and the comma before it, or from here to the next comma
        j = next((k for k in range(i, len(tokens)) if tokens[k] == ","), i)
        del tokens[i:j + 1]
    return "".join(tokens)


def mutant(seeds, options, group, number):
    """The mutant of this number: name, kind, text."""
    chance = random.Random(f"{options.seed}/{group}/{number}")
    # Programs that are refused as they stand rarely get far; those of digits are few, but rich.
    choice = chance.random()
    pool = [p for p in seeds.programs if (choice < 0.1) == ("invalid" in p[0] or "errors" in p[0])
            and (choice < 0.85 or "digits" in p[0])]
    name, kind, text = chance.choice(pool or seeds.programs)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        text = mutate_once(text, seeds.words, chance)
    return name, kind, text, chance


class Fuzzer:
    def __init__(self, options):
        self.options = options
        self.found = options.work_dir / "found"
        for old in ("found", "compile"):
            shutil.rmtree(options.work_dir / old, ignore_errors=True)
        self.found.mkdir(parents=True)
        self.failed = 0
        self.upstream = 0
        first = ["compile", contained.DIGITS, "--arch", "host", "--no-cache", "--quiet", "--jobs", "0", "-o", options.work_dir / "first.kpc"]
        self.program = contained.Program(options.kpc, options.limit, options.server, first)

    def keep(self, number, name, suffix, text, command, what, said):
        self.failed += 1
        path = self.found / f"{number}{suffix}"
        path.write_text(text)
        print(f"{what}: a mutant of {name}\n    {' '.join(command)} {path}")
        hint = [line for line in said.splitlines() if re.search(r"Assert|UNREACHABLE|LLVM ERROR|fault", line)]
        print("    " + "\n    ".join((hint or said.splitlines())[:4]), flush=True)

    def optimize(self, batch):
        """One batch: mutants of one kind and one pipeline."""
        pipeline, mutants = batch
        command = [self.options.kpc_opt, "-split-input-file", *pipeline]
        text = "\n// -----\n".join(m[2] for m in mutants)
        code, said = contained.run([*command, "-"], self.options.limit + len(mutants), text.encode())
        if not contained.misdeed(code, said):
            return []
        found = []
        for number, name, program in mutants:
            code, said = contained.run([*command, "-"], self.options.limit, program.encode())
            what = contained.misdeed(code, said)
            if what and is_upstream(said, program):
                self.upstream += 1
            elif what:
                found.append((number, name, ".mlir", program, command, what, said))
        return found

    def batch(self, seeds, numbers):
        """Mutants of these numbers, by pipeline: kpc-opt takes those of one pipeline at once."""
        grouped = {}
        for number in numbers:
            name, kind, text, chance = mutant(seeds, self.options, "opt", number)
            if "// -----" in text:
                continue
            pipeline = chance.choice(PIPELINES[kind])
            grouped.setdefault(tuple(pipeline), []).append((number, name, text))
        return grouped.items()

    def compile(self, job):
        number, name, kind, text = job
        suffix = ".plan.mlir" if kind == "plan" else ".graph.mlir"
        folder = self.options.work_dir / "compile" / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "digits.onnx").symlink_to(ROOT / "examples/digits/digits.onnx")
        path = folder / f"m{suffix}"
        path.write_text(text)
        command = ["compile", "--arch", "host", "--no-cache", "--quiet", "--jobs", "0" if self.options.server else "1", "-o",
                   str(folder / "out.kpc")]
        code, said = self.program.run([*command, path], folder, lambda *answer: not contained.misdeed(*answer))
        shutil.rmtree(folder)
        what = contained.misdeed(code, said)
        if what and is_upstream(contained.run([self.options.kpc_opt, "-"], self.options.limit, text.encode())[1], text):
            self.upstream += 1
            what = ""
        return [(f"compile-{number}", name, suffix, text, ["kpc", *command[:-2]], what, said)] if what else []

    def compile_jobs(self, seeds):
        yield from self.without_graph(seeds)
        whole = Seeds.__new__(Seeds)
        whole.words = seeds.words
        whole.programs = [p for p in seeds.programs
                          if p[1] in ("graph", "plan") and ("@main" in p[2] or "plan.program" in p[2])]
        first = self.options.first
        for number in range(first, first + self.options.compiled if whole.programs else first):
            name, kind, text, _ = mutant(whole, self.options, "compile", number)
            yield number, name, kind, text

    def without_graph(self, seeds):
        """Files that hold nothing to go on from, as they stand."""
        kernels = next((p[2] for p in seeds.programs if p[0] == "digits.linalg"), "")
        texts = {"empty": "", "module": "module {}\n", "main": "func.func @main() { return }\n",
                 "declared": "func.func private @main()\n", "program": "plan.program {\n}\n", "linalg": kernels}
        for name, text in texts.items():
            for kind in ("graph", "plan") if self.options.compiled else ():
                yield f"{name}-{kind}", name, kind, text

    def run(self):
        seeds = Seeds(self.options)
        compiled, size = list(self.compile_jobs(seeds)), 400  # mutants at a time: enough for batches
        first, last = self.options.first, self.options.first + self.options.count
        parts = [range(at, min(at + size, last)) for at in range(first, last, size)]
        jobs = [("compile", i) for i in range(len(compiled))] + [("opt", i) for i in range(len(parts))]

        def judge(job):
            kind, at = job
            before = self.upstream
            if kind == "compile":
                found = self.compile(compiled[at])
            else:
                found = [each for batch in self.batch(seeds, parts[at]) for each in self.optimize(batch)]
            return found, self.upstream - before

        done, progress = {"compile": 0, "opt": 0}, shards.Progress(len(jobs))
        for (kind, at), result in shards.each(judge, jobs, self.options.jobs, self.options.within):
            if isinstance(result, shards.Died):
                result = [(f"{kind}-{at}", "?", ".mlir", "", [], "the test's own process ended", str(result.code))], 0
            for each in result[0]:
                self.keep(*each)
            self.upstream += result[1]
            done[kind] += 1 if kind == "compile" else len(parts[at])
            progress.step(self.failed)
        shutil.rmtree(self.options.work_dir / "compile", ignore_errors=True)
        print(f"{len(seeds.programs)} programs, {done['opt']} mutants through kpc-opt, "
              f"{done['compile']} through kpc compile: {self.upstream} met known faults of LLVM's parsers, "
              f"{self.failed} failed; {progress.rate()}")
        return 1 if self.failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc-opt", required=True)
    parser.add_argument("--kpc", required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=4000)
    parser.add_argument("--compiled", type=int, default=100)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--server", default="", help="kpc_model_server: compiles in children of one process")
    parser.add_argument("--only", default="", help="only programs with this in their name")
    parser.add_argument("--limit", type=float, default=60, help="seconds for one program")
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--within", type=float, default=float("inf"), help="begin none after so many seconds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    options.work_dir = options.work_dir.resolve()
    options.kpc, options.kpc_opt = os.path.abspath(options.kpc), os.path.abspath(options.kpc_opt)
    return Fuzzer(options).run()


if __name__ == "__main__":
    sys.exit(main())
