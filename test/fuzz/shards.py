# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a function on many numbers in processes of their own, which may die.

Threads would wait for one another: making a mutant or a graph is Python, and one process of Python keeps about twenty others
of kpc busy.
"""

import multiprocessing
import multiprocessing.connection
import resource
import time


class Died:
    """What a number gets whose process ended: `code` as that of subprocess."""

    def __init__(self, code):
        self.code = code


def serve(work, pipe):
    while True:
        number = pipe.recv()
        if number is None:
            return
        pipe.send(work(number))


class Worker:
    def __init__(self, context, work):
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=serve, args=(work, other), daemon=True)
        self.process.start()
        other.close()
        self.number = None

    def give(self, number):
        self.number = number
        self.pipe.send(number)

    def take(self):
        try:
            return self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self.process.join()
            return Died(self.process.exitcode)


def each(work, numbers, jobs, within=float("inf")):
    """(number, what `work` gives for it), in the order in which they end; none is begun after `within` seconds."""
    context, start, numbers = multiprocessing.get_context("fork"), time.monotonic(), iter(numbers)
    busy = {}

    def next_number():
        return next(numbers, None) if time.monotonic() - start < within else None

    def begin(worker):
        number = next_number()
        if number is None:
            if worker:
                worker.pipe.send(None)
                worker.process.join()
            return
        worker = worker or Worker(context, work)
        worker.give(number)
        busy[worker.pipe] = worker

    for _ in range(jobs):
        begin(None)
    while busy:
        for pipe in multiprocessing.connection.wait(list(busy)):
            worker = busy.pop(pipe)
            result = worker.take()
            yield worker.number, result
            begin(None if isinstance(result, Died) else worker)


class Progress:
    """A line of totals now and then, where there is much to do."""

    def __init__(self, total, seconds=30):
        self.total, self.seconds, self.start = total, seconds, time.monotonic()
        self.done, self.said = 0, self.start

    def step(self, failed):
        self.done, now = self.done + 1, time.monotonic()
        if now - self.said >= self.seconds:
            self.said = now
            print(f"{self.done} of {self.total}, {now - self.start:.0f} s, {failed} failed", flush=True)

    def rate(self):
        """Of processors, what all processes took that have ended and were waited for."""
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        processors = sum(one.ru_utime + one.ru_stime for one in used)
        return (f"{self.done / max(time.monotonic() - self.start, 1e-9):.1f} a second, "
                f"{1000 * processors / max(self.done, 1):.1f} ms of processors each")
