# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call from Python costs over the C interface.   KPC_SOURCE=. python python/tests/time_call.py [--rounds 20]

A model of one small kernel is run on one thread of the host, in turn by `kpc bench` (which calls the C interface, and
takes the time of each run) and from Python. Of each round the median of the calls counts, of the rounds the least.
Microseconds.
"""

import argparse
import statistics
import time

import digits
import kpc
import numpy as np

CALLS = 2000


def microseconds(function):
    """The median of CALLS calls, each timed, less what taking the time costs."""
    clock, times, nothing = time.perf_counter_ns, [], []
    for _ in range(CALLS):
        start = clock()
        function()
        times.append(clock() - start)
        start = clock()
        nothing.append(clock() - start)
    return (statistics.median(times) - statistics.median(nothing)) / 1e3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    artifact = digits.artifact()
    session = artifact.session("host", threads=1)
    image, wild = kpc.empty((1, 1, 8, 8)), np.zeros(66, np.float32)[2:].reshape(1, 1, 8, 8)
    # What memory happens to hold may be denormal, which processors are slow at.
    image[...] = np.random.default_rng(1).standard_normal(image.shape)
    into = {"scores": kpc.empty((1, 10))}
    call = session.call({"image": image}, into)
    ways = {"call = session.call(...); call()": call, "session(array)": lambda: session(image),
            "session.run({...})": lambda: session.run({"image": image}), "session(array), not aligned": lambda: session(wild)}
    times = {name: [] for name in ("C interface", *ways)}
    for _ in range(rounds):
        measured = artifact.bench(dims={"batch": 1}, threads=1, iterations=CALLS)
        times["C interface"].append(measured.latency_ms["p50"] * 1e3)
        for name, function in ways.items():
            times[name].append(microseconds(function))
    base = min(times["C interface"])
    for name, found in times.items():
        print(f"{name:<34} {min(found):6.2f} us  {min(found) - base:+6.2f}")


if __name__ == "__main__":
    main()
