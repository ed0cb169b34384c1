#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports without a browser: the HTML closes what it opens, the data is whole, nothing points outside, and names are those
that people would give.

    python3 page_test.py --kpc build/dev/bin/kpc --work-dir DIR
"""

import argparse
import html.parser
import pathlib
import re
import shutil
import subprocess
import sys

try:
    import numpy  # noqa: F401 (weights.py needs both)
    import onnx  # noqa: F401
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(77)

from pages import data_of, expect, write_pages

EMPTY = {"meta", "link", "br", "input", "hr", "img"}


class Outline(html.parser.HTMLParser):
    """Elements that are open, and all addresses."""

    def __init__(self):
        super().__init__()
        self.open, self.addresses, self.scripts = [], [], []

    def handle_starttag(self, tag, attrs):
        self.addresses += [value for name, value in attrs if name in ("src", "href", "action", "data")]
        if tag not in EMPTY:
            self.open.append(tag)
            if tag == "script":
                self.scripts.append([dict(attrs), ""])

    def handle_endtag(self, tag):
        expect(self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}")
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1][1] += data


def check_page(name, path, work_dir):
    text = path.read_text(encoding="utf-8")
    outline = Outline()
    outline.feed(text)
    outline.close()
    expect(not outline.open, f"{name}: {outline.open} stay open")
    expect(outline.addresses == ["data:,"], f"{name}: the page points at {outline.addresses}")
    without_data = text.replace(outline.scripts[0][1], "")
    expect(not re.search(r"https?://|@import|url\(", without_data), f"{name}: there is an address in it")
    expect("default-src 'none'" in text, f"{name}: the page may ask the network")
    expect(len(outline.scripts) == 2, f"{name}: {len(outline.scripts)} scripts, expected data and code")
    node = shutil.which("node")
    if node:
        script = work_dir / f"{name}.js"
        script.write_text(outline.scripts[1][1], encoding="utf-8")
        done = subprocess.run([node, "--check", str(script)], capture_output=True, text=True, timeout=60)
        expect(done.returncode == 0, f"{name}: {done.stderr}")
    return data_of(text)


def check_steps(name, side):
    steps = side["steps"]
    expect([step["step"] for step in steps] == list(range(len(steps))), f"{name}: steps are not those of the plan, in order")
    for step in steps:
        expect(step["us"] >= 0 and step["bytes"] >= 0 and step["flops"] >= 0, f"{name}: figures of {step}")
        expect(all(wait < step["step"] for wait in step["waits"]), f"{name}: {step} waits for what comes later")
        expect(step["limit"] and step["why"] and step["title"], f"{name}: nothing is said of {step}")
        expect("{" not in step["title"], f"{name}: '{step['title']}' has a size without its value")
    last = max(steps, key=lambda step: step["step"])
    expect(last["waits"], f"{name}: the last step waits for nothing")
    expect(len(side["live"]) == len(steps), f"{name}: memory of {len(side['live'])} steps")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kpc", required=True)
    parser.add_argument("--work-dir", required=True, type=pathlib.Path)
    options = parser.parse_args()
    data = {name: check_page(name, path, options.work_dir) for name, path in write_pages(options.kpc, options.work_dir).items()}
    for name, page in data.items():
        for side in page["sides"]:
            check_steps(name, side)
    sides = {name: page["sides"] for name, page in data.items()}
    expect([len(sides[name]) for name in data] == [2, 1, 1, 1], "one page is of two artifacts")
    expect([sides[name][0]["source"] for name in data] == ["measured", "modelled", "recorded", "measured"], "sources of times")
    expect("latency_us" in sides["measured"][0] and "latency_us" not in sides["modelled"][0], "only a run has a latency")
    recorded, measured = sides["recorded"][0]["steps"], sides["measured"][0]["steps"]
    expect([step["us"] for step in recorded] == [step["us"] for step in measured], "recorded times are those that were measured")

    gpu = {(step["layer"], step["place"], step["title"]) for step in sides["modelled"][0]["steps"]}
    for layer in ("layer 0", "layer 1"):
        for place, title in (("intermediate.dense", "GEMM 64×3072×768 + bias + GELU"),
                             ("attention.self", "attention 12 heads × 64, 32×32, masked")):
            expect((layer, place, title) in gpu, f"no '{layer} · {title}' of {place} among {sorted(gpu)}")
    expect(any(step.get("expected") for step in sides["modelled"][0]["steps"]), "no kernel has the figures of its cost model")
    titles = {step["title"] for step in sides["digits"][0]["steps"]}
    expect("conv 3×3 1→16 to 8×8 + bias + ReLU" in titles, f"no convolution among {sorted(titles)}")
    print(f"{len(data)} pages, {sum(len(side['steps']) for page in sides.values() for side in page)} steps")


if __name__ == "__main__":
    main()
