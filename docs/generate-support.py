#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes what kpc supports into the pages that say so, from the tables the compiler uses (`kpc ops`, `kpc targets`).

    python3 docs/generate-support.py build/dev/bin/kpc            # writes the numbers and names into the pages
    python3 docs/generate-support.py build/dev/bin/kpc --check    # exits 1 if a page says something else

README.md has a block between two comments; the other pages mention numbers in passing.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(<!-- support: .*? -->\n).*?(<!-- end of support -->)", re.S)


def ask(kpc, *command):
    return json.loads(subprocess.run([kpc, *command, "--json"], check=True, capture_output=True, text=True).stdout)


def spelled(names):
    return ", ".join(f"`{name}`" for name in names)


class Facts:
    def __init__(self, kpc):
        operators, targets = ask(kpc, "ops"), ask(kpc, "targets")["targets"]
        # Some have a row for what to do instead.
        self.aten = sum(op["compiles"] for op in ask(kpc, "ops", "--domain", "aten"))
        self.operators = len({(row["domain"], row["name"]) for row in operators})
        self.opset = max(row["until"] for row in operators if not row["domain"])
        chips = [row["name"] for row in targets if row["kind"] == "gpu" and row["name"].startswith("sm_")]
        hosts = [row["name"] for row in targets if row["kind"] == "host"]
        self.chips, self.hosts = spelled(chips), spelled(hosts)
        self.definitions = sum(
            len(re.findall(r"^def Graph_\w+Op\b", path.read_text(), re.M))
            for path in (ROOT / "dialects/graph").glob("*.td"))

    def block(self):
        return (f"- **Models**: ONNX, opset 1 to {self.opset}; {self.operators} operators, some with limits. `kpc ops` prints the table the compiler uses;\n"
                f"  `.pt2` and TorchScript; {self.aten} operators of PyTorch (`kpc ops --domain aten`).\n"
                "  [docs/missing.md](docs/missing.md) says what is not there. Dims may be dynamic and keep their names.\n"
                f"- **Targets** (`kpc targets`): {self.chips};\n"
                "  `portable` (PTX for every chip from compute capability 8.0 on);\n"
                f"  {self.hosts}. Several in one file; the runtime takes the one that fits.\n")

    # Page, what its sentence looks like, and what it has to be.
    def sentences(self):
        return [
            ("CHANGELOG.md", r"opset 1 to \d+, \d+ operators", f"opset 1 to {self.opset}, {self.operators} operators"),
            ("docs/guide.md", r"ONNX files of opset 1 to \d+", f"ONNX files of opset 1 to {self.opset}"),
            ("docs/dialects/graph.md", r"\d+ operators become \d+ ops",
             f"{self.operators} operators become {self.definitions} ops"),
        ]


def rewritten(facts, page, text):
    if page == "README.md":
        if not BLOCK.search(text):
            sys.exit("README.md has no block for what is supported")
        return BLOCK.sub(lambda match: match[1] + facts.block() + match[2], text)
    for name, pattern, sentence in facts.sentences():
        if name == page:
            if not re.search(pattern, text):
                sys.exit(f"{page} does not say '{pattern}' any more: change docs/generate-support.py too")
            text = re.sub(pattern, sentence, text)
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kpc")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    facts = Facts(options.kpc)
    stale = []
    for page in ["README.md"] + [name for name, _, _ in facts.sentences()]:
        path = ROOT / page
        text = path.read_text()
        new = rewritten(facts, page, text)
        if new == text:
            continue
        stale.append(page)
        if not options.check:
            path.write_text(new)
    if options.check and stale:
        print(f"{', '.join(stale)}: not what kpc supports; run docs/generate-support.py KPC")
        return 1
    print(f"{facts.operators} operators, {facts.definitions} graph ops")
    return 0


if __name__ == "__main__":
    sys.exit(main())
