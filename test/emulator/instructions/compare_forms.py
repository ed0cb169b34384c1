#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instructions on the emulator against an H200's results.   compare_forms.py DRIVER RESULTS.npz [--keep HARDWARE.npz]

RESULTS holds a checksum of each case, and the values of approximations. --keep makes it of what run_forms.py has written
on the hardware. Exact instructions must agree bit for bit, approximations within their bounds.
"""

import argparse
import pathlib
import re
import sys
import zlib

import numpy

import cases
import forms
from run_forms import Driver


def digests(values):
    return numpy.array([zlib.crc32(numpy.ascontiguousarray(one).tobytes()) for one in values], dtype=numpy.uint32)


def keep(all_forms, path, hardware):
    """The hardware's results, compactly."""
    found = numpy.load(hardware)
    out = {"texts": numpy.array([zlib.crc32(form.text.encode()) for form in all_forms], dtype=numpy.uint32),
           "digests": numpy.stack([digests(found[f"k{at}"]) for at in range(len(all_forms))])}
    for at, form in enumerate(all_forms):
        if form.approximate:
            out[f"k{at}"] = found[f"k{at}"].astype(numpy.uint32)
    numpy.savez_compressed(path, **out)


def floats(bits, kind):
    """Values, and the bits as numbers in order."""
    if kind == "f32":
        value, sign, width = bits.astype(numpy.uint32).view(numpy.float32), 0x80000000, 32
    elif kind == "f16":
        value, sign, width = bits.astype(numpy.uint16).view(numpy.float16), 0x8000, 16
    else:
        value, sign, width = (bits.astype(numpy.uint32) << 16).view(numpy.float32), 0x8000, 16
    order = bits.astype(numpy.int64) & ((1 << width) - 1)
    return value.astype(numpy.float64), numpy.where(order & sign, sign - order, order)


def halves_of(bits, kind):
    if kind.endswith("x2"):
        return numpy.concatenate([bits & 0xFFFF, bits >> 16 & 0xFFFF]), kind[:-2]
    return bits, kind


def outside(form, got, want, source):
    """Where an approximation is farther from the hardware's than both may be from the truth."""
    kind = form.results[0]
    (got, plain), (want, _), (source, _) = (halves_of(one.ravel(), kind) for one in (got, want, source))
    with numpy.errstate(all="ignore"):
        mine, mine_order = floats(got, plain)
        theirs, theirs_order = floats(want, plain)
        x, _ = floats(source, plain)
        apart = numpy.abs(mine_order - theirs_order)
        distance = numpy.abs(mine - theirs)
        bound = form.approximate.split()
        if bound[-1] == "ulp":
            wrong = apart > 2 * int(bound[-2])
        elif bound[0] == "lg2":
            inside = (x > 0.5) & (x < 2)
            wrong = numpy.where(inside, distance > 2.0 ** -21, apart > 5)
        elif bound[0] == "sin":
            wrong = (distance > 2.0 ** -20) & (numpy.abs(x) <= 2 * numpy.pi)
        else:
            wrong = distance > 2.0 ** -10 * numpy.abs(theirs)
    same = (numpy.isnan(mine) & numpy.isnan(theirs)) | (mine == theirs)
    return wrong & ~same


def explain(form, got, expected=None):
    print(f"  {form.text}")
    operands = cases.operands(form)
    for one, values in enumerate(got):
        if expected is not None and digests(values[None])[0] == expected[one]:
            continue
        print(f"    case {one}, lane 0: {[hex(v) for v in operands[one, :, 0]]} gives {[hex(v) for v in values[:, 0]]}")
        break


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("driver")
    parser.add_argument("results")
    parser.add_argument("--keep")
    options = parser.parse_args()
    everything = forms.all_forms()
    if options.keep:
        keep(everything, options.results, options.keep)
        return 0
    known = numpy.load(options.results)
    measured = [at for at, form in enumerate(everything) if not any(re.search(pattern, form.text) for pattern in forms.UNMEASURED)]
    if [zlib.crc32(everything[at].text.encode()) for at in measured] != list(known["texts"]):
        print("the forms are not those that the results are of: run run_forms.py on the hardware again")
        return 1
    refused = [any(re.search(pattern, form.text) for pattern in forms.REFUSED) for form in everything]
    differs = [any(re.search(pattern, form.text) for pattern in forms.DIFFERENT) for form in everything]
    driver, wrong, compared = Driver(options.driver), 0, 0
    here = [at for at in range(len(everything)) if not refused[at]]
    rows = {at: row for row, at in enumerate(measured)}
    module = driver.load((cases.HEADER + "\n".join(cases.kernel(everything[at], f"k{at}") for at in here) + "\n").encode())
    for at in here:
        form = everything[at]
        got = driver.run(module, f"k{at}", form)
        if at not in rows:
            continue
        expected = known["digests"][rows[at]]
        compared += cases.SETS
        if form.approximate:
            bad = outside(form, got[:, 0], known[f"k{rows[at]}"][:, 0].astype(numpy.uint64), cases.operands(form)[:, 0]).any()
        else:
            bad = (digests(got) != expected).any()
        if bad != differs[at]:
            wrong += 1
            print("as the hardware now, take it from DIFFERENT:" if differs[at] else "not as the hardware:")
            explain(form, got, None if form.approximate else expected)
    # What is refused is refused, not run wrongly.
    for at, form in enumerate(everything):
        if refused[at]:
            try:
                driver.load((cases.HEADER + cases.kernel(form, "k")).encode())
                print(f"is not refused any more: {form.text}")
                wrong += 1
            except RuntimeError:
                pass
    print(f"{compared // cases.SETS} forms, {compared} cases, {sum(differs)} forms known to differ, {sum(refused)} refused, "
          f"{len(everything) - len(measured)} not measured; {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
