#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports in a headless Chromium: no message on the console, nothing asked of the network, nothing wider than a phone,
and what can be clicked works. Skipped where there is no Chromium (Debian: apt-get install chromium; or KPC_CHROMIUM).

    python3 browser_test.py --kpc build/dev/bin/kpc --work-dir DIR [--screenshots]
"""

import argparse
import pathlib
import sys

try:
    import numpy  # noqa: F401 (weights.py needs both)
    import onnx  # noqa: F401
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(77)

from browser import Browser, find_chromium
from pages import SKIPPED, expect, write_pages

# Elements with text that stick out of the page, or of what clips them.
STICKING_OUT = """[...document.querySelectorAll('section *, header *, .tile *')].filter(one => {
  const box = one.getBoundingClientRect();
  return box.width > 0 && !one.closest('.scroll') && (box.right > document.documentElement.clientWidth + 1 || box.left < -1);
}).map(one => one.tagName + ' ' + one.textContent.slice(0, 60))"""
# What reaches beyond the window and is not clipped, with its place: boxes, and text that runs out of its box.
TOO_WIDE = """[...document.querySelectorAll('body *')].filter(one => !one.parentElement.closest('.scroll')).flatMap(one => {
  const text = document.createRange();
  text.selectNodeContents(one);
  const right = Math.max(one.getBoundingClientRect().right, text.getBoundingClientRect().right);
  const found = right > document.documentElement.clientWidth + 1;
  return found ? [one.tagName + '.' + one.getAttribute('class') + ' to ' + right + ': ' + one.textContent.slice(0, 60)] : [];
})"""
# Labels of a figure that lie over each other.
OVERLAPPING = """[...document.querySelectorAll('svg')].flatMap(figure => {
  const labels = [...figure.querySelectorAll('text')].map(one => [one.textContent, one.getBoundingClientRect()]);
  return labels.flatMap(([a, x], i) => labels.slice(i + 1).filter(([b, y]) =>
    Math.min(x.right, y.right) - Math.max(x.left, y.left) > 2 && Math.min(x.bottom, y.bottom) - Math.max(x.top, y.top) > 4).map(([b]) => a + ' / ' + b));
})"""

TWO_FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"


def check_view(browser, name, path, width, dark, pictures):
    browser.open(path, width, dark=dark)
    how = f"{name}, {width} px, {'dark' if dark else 'light'}"
    wide = browser.value("document.documentElement.scrollWidth")
    expect(wide <= width, f"{how}: the page is {wide} px wide, wider than its window: {browser.value(TOO_WIDE)}")
    expect(not browser.value(STICKING_OUT), f"{how}: sticks out: {browser.value(STICKING_OUT)}")
    expect(not browser.value(OVERLAPPING), f"{how}: labels overlap: {browser.value(OVERLAPPING)}")
    sections = browser.value("[...document.querySelectorAll('section')].map(one => one.id)")
    for one in ("findings", "kinds", "layers", "roofline", "timeline", "kernels", "memory", "fusion"):
        expect(one in sections, f"{how}: no section {one} among {sections}")
    if pictures:
        height = browser.value("document.documentElement.scrollHeight")
        browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        browser.screenshot(path.parent / f"{name}-{width}-{'dark' if dark else 'light'}.png")


def check_table(browser):
    rows = "[...document.querySelectorAll('#kernels tr.group')].map(one => one.querySelector('.title').textContent.trim().replace('\u00a0', ' '))"
    click = "document.querySelector({!r}).click()".format
    everything = browser.value(rows)
    expect(len(everything) > 5, f"the table has {everything}")
    # Equal kernels of the two layers are one row, and two when they are asked for.
    expect(any("× 2" in one for one in everything), f"no row of both layers among {everything}")
    browser.value(click("#kernels button[data-together]"))
    apart = browser.value(rows)
    expect(len(apart) > len(everything) and not any(one.endswith("× 2") for one in apart), f"each launch a row: {apart}")
    browser.value(click("#kernels button[data-together]"))
    # Sorted by name, then backwards.
    browser.value(click("#kernels button[data-sort=roof]"))
    shares = browser.value("[...document.querySelectorAll('#kernels tr.group')].map(one => parseFloat(one.children[3].textContent.replace('> ', '')) || -1)")
    expect(shares == sorted(shares, reverse=True), f"not sorted by roofline: {shares}")
    browser.value(click("#kernels button[data-sort=name]"))
    first = browser.value(rows)
    browser.value(click("#kernels button[data-sort=name]"))
    expect(browser.value(rows)[0] == first[-1] != first[0], "a second click on a column does not turn it round")
    # Filters: by words, by kind.
    fill = "(one => {{ one.value = {!r}; one.dispatchEvent(new Event('input', {{bubbles: true}})); }})(document.querySelector({!r}))".format
    browser.value(fill("gemm intermediate", "#kernels input"))
    found = browser.value(rows)
    expect(found and all("GEMM" in one for one in found) and len(found) < len(everything), f"the filter leaves {found}")
    browser.value(fill("no such kernel", "#kernels input"))
    expect(browser.value(rows) == [], "what nothing matches leaves rows")
    browser.value(fill("", "#kernels input"))
    browser.value(fill("attention", "#kernels select[data-by=kind]"))
    found = browser.value(rows)
    expect(found and all(one.startswith("attention") for one in found), f"the kind leaves {found}")
    # A row opens and says what to try.
    browser.value(click("#kernels tr.group"))
    detail = browser.value("document.querySelector('#kernels tr.more').textContent")
    expect("cost model" in detail and "schedule" in detail and "nodes" in detail, f"a row opens with: {detail}")
    browser.value(fill("", "#kernels select[data-by=kind]"))


def check_figures(browser):
    dots = browser.value("document.querySelectorAll('#roofline circle.mark').length")
    expect(dots > 3, f"{dots} dots in the roofline")
    browser.value("document.querySelector('#roofline').scrollIntoView()")
    browser.value(TWO_FRAMES)  # scrolling hides what hovers
    # The largest dots are drawn first, so that the last one is on top.
    place = browser.value("(r => [r.left + r.width / 2, r.top + r.height / 2])([...document.querySelectorAll('#roofline circle.mark')].pop().getBoundingClientRect())")
    browser.ask("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
    browser.wait("!document.getElementById('tip').hidden")
    text = browser.value("document.getElementById('tip').textContent")
    expect("of roofline" in text and "time" in text, f"a dot says: {text}")
    bars = "document.querySelectorAll('#timeline rect.mark').length"
    steps = browser.value("JSON.parse(document.getElementById('data').textContent).sides[0].steps.length")
    expect(browser.value(bars) == steps, "the timeline has not one bar a step")
    width = browser.value("document.querySelector('#timeline svg').clientWidth")
    browser.value("document.querySelector('#timeline button[data-zoom=\"4\"]').click()")
    expect(browser.value("document.querySelector('#timeline svg').clientWidth") > 3 * width, "the timeline does not zoom")
    names = "[...document.querySelectorAll('#layers .row .name')].map(one => one.textContent.trim())"
    expect(any("0–1 × 2" in one for one in browser.value(names)), f"layers are not together: {browser.value(names)}")
    browser.value("document.querySelector('#layers button[data-together=false]').click()")
    expect(not any("× 2" in one for one in browser.value(names)), "layers are still together")
    rows = len(browser.value(names))
    browser.value("document.querySelector('#layers button[data-open=none]').click()")
    expect(len(browser.value(names)) < rows, "the tree does not close")


def check_sides(browser, path):
    browser.open(path, 1280)
    expect(browser.value("document.querySelectorAll('#compare .change').length") > 3, "nothing is compared")
    before = browser.value("document.querySelector('.tiles').textContent")
    browser.value("document.querySelector('button[data-side=\"1\"]').click()")
    expect(browser.value("document.querySelector('.tiles').textContent") != before, "the other artifact's figures are the same")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kpc", required=True)
    parser.add_argument("--work-dir", required=True, type=pathlib.Path)
    parser.add_argument("--screenshots", action="store_true", help="leave pictures of all pages in the work folder")
    options = parser.parse_args()
    program = find_chromium()
    if not program:
        print("SKIPPED: there is no Chromium")
        sys.exit(SKIPPED)
    pages = write_pages(options.kpc, options.work_dir)
    browser = Browser(program)
    try:
        for name, path in pages.items():
            for width, dark in ((1280, False), (1280, True), (390, False), (390, True)):
                check_view(browser, name, path, width, dark, options.screenshots)
        browser.open(pages["modelled"], 1280)
        check_figures(browser)
        check_table(browser)
        check_sides(browser, pages["measured"])
    finally:
        browser.close()
    expect(not browser.console, f"the console says: {browser.console}")
    outside = [one for one in browser.requests if not one.startswith(("file://", "data:"))]
    expect(not outside, f"the pages ask for {outside}")
    print(f"{len(pages)} pages, each in four views")


if __name__ == "__main__":
    main()
