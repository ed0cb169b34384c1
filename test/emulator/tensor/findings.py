#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mistakes with tcgen05 that the emulator must name.   findings.py DRIVER"""

import multiprocessing
import re
import sys

import numpy

import kernels
import tensor

AFTER = "tcgen05.fence::after_thread_sync;"
BEFORE = "tcgen05.fence::before_thread_sync;"


def replaced(text, what, by, at=0):
    """The occurrence `at` of `what` replaced; negative: from the end."""
    places = [found.start() for found in re.finditer(re.escape(what), text)]
    where = places[at]
    return text[:where] + by + text[where + len(what):]


def removed(what, at=0):
    return lambda text: replaced(text, what, "", at)


def changed(what, by, at=0):
    return lambda text: replaced(text, what, by, at)


MMA = "tcgen05.mma.cta_group::1.kind::f16 [%r14], %rd10, %rd11, %r10, %p4;"
WAIT = "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r7], 0; @!%p3 bra W;"
# finding: how the text of a right kernel is broken
CASES = [
    ("", lambda text: text),
    ("missing-tensor-fence", removed(AFTER, 2)),  # behind the wait for the commit
    ("missing-tensor-fence", removed(AFTER, 1)),  # behind the barrier after the stores
    ("missing-tensor-fence", removed(BEFORE, 1)),
    ("slot-reused", removed(WAIT)),  # the loads of another warp come before the mma
    ("deadlock", removed("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r7];")),
    ("tensor-memory-leak", removed("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r5, 128;")),
    ("tensor-memory-misuse", changed("dealloc.cta_group::1.sync.aligned.b32 %r5, 128", "dealloc.cta_group::1.sync.aligned.b32 %r5, 64")),
    ("tensor-memory-misuse", changed(".b32 [where], 128;", ".b32 [where], 96;")),
    ("tensor-memory-misuse", changed("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;",
                                     "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"
                                     "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [where], 32;")),
    ("tensor-memory-misuse", changed("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;",
                                     "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [where], 256;")),
    ("deadlock", changed("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [where], 128;",
                         "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [where], 512;"
                         "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [where], 128;")),
    ("slot-reused", lambda text: replaced(text, "tcgen05.wait::ld.sync.aligned;", "", -1)),
    ("tensor-memory-race", removed("tcgen05.wait::st.sync.aligned;")),
    ("missing-proxy-fence", removed("fence.proxy.async.shared::cta;")),
    ("missing-proxy-fence", removed("@%p1 fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;")),
    ("foreign-lanes", changed("shl.b32 %r6, %r2, 21;", "xor.b32 %r6, %r2, 1; shl.b32 %r6, %r6, 21;")),
    ("misaligned", changed("shl.b32 %r6, %r2, 21;", "shl.b32 %r6, %r2, 21; add.u32 %r6, %r6, 65536;")),
    ("out-of-bounds", changed("add.u32 %r14, %r5, 0;", "add.u32 %r14, %r5, 128;")),
    ("bad-operand", changed("add.u32 %r14, %r5, 0;", "add.u32 %r14, %r5, 65536;")),
    ("uninitialised-tensor-memory", changed("add.u32 %r9, %r6, 0;\ntcgen05.st", "add.u32 %r9, %r6, 96;\ntcgen05.st")),
    # Behind the mma, before its commit, in the same thread.
    ("tensor-memory-race", changed(MMA, MMA + "add.u32 %r10, %r10, 0xFFFC0000;" + MMA)),  # of another shape
    ("", changed(MMA, MMA + MMA)),
    ("", changed(MMA, MMA + "add.u32 %r14, %r14, 64;" + MMA)),
    ("tensor-memory-race", changed(MMA, MMA + "add.u32 %r14, %r14, 16;" + MMA)),
    ("tensor-memory-race", changed(MMA, MMA + "tcgen05.cp.cta_group::1.128x128b [%r14], %rd10;")),
    # In front of the mma, one whose factor lies where that one writes: the order of products on different accumulators is not told.
    ("slot-reused", changed(MMA, "setp.ne.u32 %p6, 0, 0; add.u32 %r14, %r14, 64;" + MMA.replace("%rd10", "[%r5]").replace("%p4", "%p6")
                            + "add.u32 %r14, %r14, 0xFFFFFFC0;" + MMA)),
    # Behind the commit, to columns that nobody reads: their end is not waited for.
    ("tensor-memory-race", changed("DONE:", "add.u32 %r14, %r14, 96; setp.ne.u32 %p6, 0, 0;" + MMA.replace("%p4", "%p6") + "DONE:")),
    ("bad-operand", changed("add.u64 %rd10, %rd10, %rd12;", "xor.b64 %rd10, %rd10, 0x400000000000; add.u64 %rd10, %rd10, %rd12;")),
    ("bad-operand", changed("mov.b32 %r10, 1", "mov.b32 %r10, 0")),
]


def text_of(case):
    product = tensor.Product("f16", "f16", "f16", "f32", 128, 32)
    return product.build(numpy.random.default_rng(3))


def run(arguments):
    driver, at = arguments
    wanted, breaks = CASES[at]
    text, images, _, columns = text_of(at)
    broken = breaks(text)
    try:
        tensor.Machine(driver).run(broken, images, columns)
    except RuntimeError as error:
        return str(error)
    return ""


def main():
    driver = sys.argv[1]
    with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
        results = pool.map(run, [(driver, at) for at in range(len(CASES))], chunksize=1)
    failed = 0
    for at, (wanted, text) in enumerate(zip([case[0] for case in CASES], results)):
        found = re.search(r": \d+ ([a-z-]+):", text)
        name = found[1] if found else text
        if name != wanted:
            print(f"case {at}: {wanted or 'nothing'} expected, found: {text or 'nothing'}")
            failed += 1
    print(f"{len(CASES) - failed} of {len(CASES)} as expected")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
