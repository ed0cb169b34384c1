#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tools/cliffs counts of kernels that are written here, and what it says of its list.   estimate_test.py"""

import pathlib
import sys
import tempfile
import unittest
from unittest import mock

try:
    import numpy  # noqa: F401
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

import artifact as artifacts
import cliffs
import estimate
import known
import ptx_text
import sweep
from case import Case
from estimate import LAUNCH, Estimator, Time
from machines import H200
from sweep import OUTPUT, Part, Verdict, charge
from warp import BUFFER, LATENCY, UNROLLED, Warp

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(
	.param .u64 .ptr .align 64 k_param_0,
	.param .u64 k_param_1
)
.maxntid 64, 1, 1
{
	.reg .pred 	%p<3>;
	ld.param.b64 	%rd1, [k_param_0];
	ld.param.b64 	%rd2, [k_param_1];
	mov.u32 	%r1, %tid.x;
	cvt.u64.u32 	%rd3, %r1;
"""


def counts(body, size=0, thread=0):
    kernel = ptx_text.kernels(HEAD + body + "\tret;\n\n}\n")["k"]
    return Warp(kernel, ["buffer", size], (4, 1, 1), (0, 0, 0), thread).run()


def strided(bytes_between, width="b32"):
    return f"""	mul.lo.s64 	%rd4, %rd3, {bytes_between};
	add.s64 	%rd5, %rd1, %rd4;
	ld.global.{width} 	%r2, [%rd5];
"""


# Sums of elements that are 128 bytes apart, one after another.
LOOP = """	mov.b64 	%rd6, 0;
	mov.b32 	%r3, 0f00000000;
$L__BB0_1:
	shl.b64 	%rd7, %rd6, 7;
	add.s64 	%rd8, %rd1, %rd7;
	ld.global.b32 	%r4, [%rd8];
	add.rn.f32 	%r3, %r3, %r4;
	add.s64 	%rd6, %rd6, 1;
	setp.lt.s64 	%p1, %rd6, %rd2;
	@%p1 bra 	$L__BB0_1;
	st.global.b32 	[%rd1], %r3;
"""


class Following(unittest.TestCase):
    def test_neighbours_share_lines_and_sectors(self):
        one = counts(strided(4))
        self.assertEqual((one.lines, one.sectors, one.moved), (1, 4, 128))

    def test_elements_apart_take_a_sector_each(self):
        one = counts(strided(128))
        self.assertEqual((one.lines, one.sectors), (32, 32))

    def test_second_warp_of_a_block(self):
        self.assertEqual(counts(strided(4), thread=32).sectors, 4)

    def test_guarded_lanes_do_not_read(self):
        one = counts("\tsetp.lt.u32 \t%p1, %r1, 8;\n" + strided(128).replace("ld.global", "@%p1 ld.global"))
        self.assertEqual(one.sectors, 8)

    def test_a_branch_that_some_lanes_take(self):
        one = counts("\tsetp.gt.u32 \t%p1, %r1, 15;\n\t@%p1 bra \t$L__BB0_2;\n" + strided(128) + "$L__BB0_2:\n")
        self.assertEqual(one.sectors, 16)

    def test_turns_of_a_loop_are_counted_and_not_followed(self):
        short, long = counts(LOOP, 100), counts(LOOP, 1_000_000)
        self.assertEqual(short.lines, 101)
        self.assertEqual(long.lines, 1_000_001)
        self.assertEqual(long.most_turns, 999_999)
        self.assertAlmostEqual(long.issued / short.issued, 10_000, delta=300)
        self.assertAlmostEqual(long.cycles, 1_000_000 * (LATENCY["memory"] + LATENCY["fma"]) / UNROLLED, delta=0.1 * long.cycles)

    def test_a_loop_in_a_loop(self):
        inner = LOOP.replace("%rd2", "50").replace("	st.global.b32 	[%rd1], %r3;\n", "")
        outer = "\tmov.b64 \t%rd9, 0;\n$L__BB0_0:\n" + inner + """	add.s64 	%rd9, %rd9, 1;
	setp.lt.s64 	%p2, %rd9, %rd2;
	@%p2 bra 	$L__BB0_0;
"""
        self.assertEqual(counts(outer, 1000).lines, 50_000)

    def test_elements_are_their_own_numbers(self):
        one = counts("\tadd.s64 \t%rd1, %rd1, 0;\n" + strided(4) + """	mul.wide.u32 	%rd9, %r2, 4;
	add.s64 	%rd10, %rd1, %rd9;
	ld.global.b32 	%r5, [%rd10+1048576];
""")
        self.assertEqual(one.sectors, 8)
        self.assertLess(1 << 20, BUFFER)

    def test_banks_of_shared_memory(self):
        address = "\tshl.b32 \t%r7, %r1, {};\n\tadd.s32 \t%r8, %r7, 16777216;\n\tst.shared.b32 \t[%r8], %r1;\n"
        self.assertEqual(counts(address.format(2)).shared, 1)
        self.assertEqual(counts(address.format(7)).shared, 32)


class Expecting(unittest.TestCase):
    def launched(self, expected, size):
        launch = {"alternatives": [], "kernel": 0, "title": "", "params": [{"kind": 0, "buffer": 0, "access": 1, "length": artifacts.NONE}]}
        target = {"kernels": [{"expected": expected, "family": "mmasync", "display_name": ""}], "buffers": [{"kind": 0, "size": 0}]}
        return Estimator().launch(mock.Mock(size=lambda *rest: size), target, launch, H200, 1)

    def test_a_kernel_takes_what_its_cost_model_says(self):
        self.assertEqual(self.launched("50.0 us = 50 mma", 4_800_000).microseconds, 50.0)

    def test_a_tensor_map_is_no_buffer_of_its_own(self):
        param = {"kind": 0, "buffer": 0, "access": 1, "offset": artifacts.NONE, "length": artifacts.NONE}
        target = {"buffers": [{"kind": 0, "size": 0}, {"kind": 0, "size": 0}]}
        def least(*params):
            return estimate.least_bytes(mock.Mock(size=lambda *rest: 100), target, {"params": params}, H200)
        self.assertEqual(least(param, {**param, "kind": 2}), 100)
        self.assertEqual(least(param, {**param, "kind": 2, "access": 2}), 200)
        self.assertEqual(least(param, {**param, "offset": 7}), 200)
        self.assertEqual(least(param, {**param, "buffer": 1}), 200)

    def test_and_no_less_than_its_bytes(self):
        one = self.launched("50.0 us = 50 mma", 480_000_000)
        self.assertAlmostEqual(one.microseconds, LAUNCH + 100)
        self.assertEqual(one.limit, "memory")


class Charging(unittest.TestCase):
    """Two cases in a model: buffers 0 and 1 are their outputs, all others lie between kernels."""
    OUTPUTS = [{"name": "c0_v1"}, {"name": "c1_v1"}]
    BUFFERS = [{"kind": OUTPUT, "index": 0}, {"kind": OUTPUT, "index": 1}] + [{"kind": 3, "index": 0}] * 3

    PARTS = [Part(Case(prefix, None), "f32", prefix, None) for prefix in ("c0_", "c1_")]

    def target(self, steps, controls=()):
        def action(step):
            if step[0] == "Copy":
                return {"action": ("Copy", {"source": step[1], "destination": step[2]})}
            params = [{"kind": 0, "buffer": buffer, "access": access} for access, buffers in zip((1, 2), step) for buffer in buffers]
            return {"action": ("Launch", {"params": params + [{"kind": 1, "size": 7}]})}
        return {"name": "sm_90a", "buffers": self.BUFFERS, "steps": [action(step) for step in steps], "controls": list(controls)}

    def charged(self, steps, names=(), controls=()):
        times = [(names[number] if number < len(names) else [], number) for number in range(max(len(steps), len(names)))]
        return list(charge(self.OUTPUTS, self.target(steps, controls), self.PARTS, times).values())

    def test_a_kernel_counts_to_the_case_that_needs_it(self):
        self.assertEqual(self.charged([((), [2]), ([2], [1]), ((), [0])]), [[2], [0, 1]])

    def test_a_kernel_that_cases_have_in_common_counts_to_each(self):
        self.assertEqual(self.charged([((), [2]), ([2], [0]), ("Copy", 2, 1)], [["c0_Trilu_0"]]), [[0, 1], [0, 2]])

    def test_a_value_that_a_loop_hands_back(self):
        self.assertEqual(self.charged([([3], [2]), ([2], [3]), ([2], [1])]), [[], [0, 1, 2]])

    def test_conditions_count_to_what_they_decide(self):
        control = {"condition": 4, "first_step": 1, "end_step": 2}
        self.assertEqual(self.charged([((), [4]), ((), [1])], controls=[control]), [[], [0, 1]])

    def test_a_slow_case_that_shares_a_kernel_is_judged_alone(self):
        # c0 takes 55 us with the other's kernel and 10 without, c1 takes 10.
        models = {2: ([((), [2]), ([2], [3]), ([3], [0]), ([2], [1])], [5, 45, 5, 5]), 1: ([((), [2]), ([2], [0])], [5, 5])}
        compiled = []

        def compile_parts(parts, options, path):
            compiled.append([part.prefix for part in parts])
            return []

        def artifact(path):
            steps, times = models[len(compiled[-1])]
            return mock.Mock(model={"outputs": self.OUTPUTS, "targets": [{**self.target(steps), "times": times}]})

        estimator = mock.Mock(target=lambda artifact, target, machine: [([], Time("", "", 1, one, "")) for one in target["times"]])
        with mock.patch.multiple(sweep, compile_parts=compile_parts, Artifact=artifact, least_time=lambda *rest: 10.0):
            found = sweep.judge(self.PARTS, None, estimator, pathlib.Path("nothing.kpc"))
        self.assertEqual(compiled, [["c0_", "c1_"], ["c0_"]])
        self.assertEqual({one.case: one.factor for one in found}, {"c0_": 1.0, "c1_": 1.0})

    def test_readbacks_are_told_by_their_names(self):
        self.assertEqual(self.charged([((), [0])], [["c0_x"], ["c1_size"]]), [[0], [1]])


class List(unittest.TestCase):
    def verdict(self, factor, **more):
        return Verdict("sort", "f32", "sm_90a", 10.0 * factor, 10.0, family="loops", limit="waiting", **more)

    def listed(self, **entries):
        return known.List({(case, "f32"): entry for case, entry in entries.items()}, {("sm_90a", "f32"): {"sort", "topk"}})

    def test_new_worse_and_gone(self):
        listed = self.listed(sort=known.Entry({"sm_90a": 10.0}, "it is what it is"))
        self.assertEqual(known.compare(listed, [self.verdict(11.0)]), [])
        self.assertIn("worse", known.compare(listed, [self.verdict(16.0)])[0])
        self.assertIn("gone", known.compare(listed, [self.verdict(1.0)])[0])
        self.assertIn("new", known.compare(self.listed(), [self.verdict(4.0)])[0])
        self.assertEqual(known.compare(self.listed(), [self.verdict(3.2)]), [])
        self.assertIn("does not compile", known.compare(self.listed(), [self.verdict(0.0, problem="refused")])[0])
        self.assertIn("no case", known.compare(listed, [], {("topk", "f32")})[0])

    def test_what_was_not_swept_is_no_fault(self):
        self.assertEqual(known.compare(known.List({}, {}), [self.verdict(4.0)]), [])

    def test_what_was_not_swept_stays(self):
        listed = self.listed(topk=known.Entry({"sm_80": 10.0}, "known"))
        self.assertEqual(known.compare(listed, [self.verdict(1.0)]), [])
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "known.txt"
            path.write_text("# a head\n")
            known.update(path, listed, [self.verdict(4.1)], {("sort", "f32"), ("topk", "f32"), ("unique", "f32")})
            text = path.read_text()
            self.assertIn("# a head", text)
            self.assertIn("swept sm_90a f32: sort topk", text)
            self.assertIn("sort f32 | sm_90a 4 | not looked into: loops: waiting", text)
            self.assertIn("cause: known\ntopk f32 | sm_80 10\n", text)
            self.assertIn("says no reason", known.compare(known.read(path), [])[0])

    def test_cases_are_swept_for_targets_of_their_own(self):
        listed = known.List({}, {("sm_80", "f32"): {"det"}})
        verdicts = [self.verdict(1.0), Verdict("topk", "f32", "sm_80", 10.0, 10.0), Verdict("det", "f32", "all", problem="refused")]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "known.txt"
            known.update(path, listed, verdicts, {(case, "f32") for case in ("sort", "topk", "det", "unique")})
            self.assertIn("swept sm_80 f32: det topk\nswept sm_90a f32: sort\n", path.read_text())

    def test_parts_are_all_pairs_once_and_entries_are_spread(self):
        listed = self.listed(c7=known.Entry({"sm_90a": 10.0}, "slow"), c3=known.Entry({"sm_90a": 10.0}, "slow"))
        pairs = [(Case(f"c{number}", None), "f32") for number in range(10)]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "known.txt"
            path.write_bytes(b"a list")
            first, second, own = (cliffs.part_of(pairs, listed, part, path) for part in ("1/2", "2/2", "list/2"))
        self.assertEqual([case.name for case, _ in first + second], ["c7", "c0", "c2", "c5", "c8", "c3", "c1", "c4", "c6", "c9"])
        self.assertIn(own, (first, second))

    def test_entries_of_a_cause_stand_together(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "known.txt"
            path.write_text("swept sm_90a f32: *\ncause: slow\nsort f32 | sm_90a 4\ntopk f32 | sm_80 5, sm_90a 4\ncause: old\n")
            listed = known.read(path)
            self.assertEqual({entry.reason for entry in listed.entries.values()}, {"slow"})
            self.assertIn("nothing has the cause `old`", known.compare(listed, [])[0])
            known.update(path, listed, [], set(listed.entries))
            self.assertEqual(path.read_text(), "swept sm_90a f32: *\n\ncause: slow\nsort f32 | sm_90a 4\ntopk f32 | sm_80 5, sm_90a 4\n")
            for wrong in ("sort f32 | sm_90a 4\n", "cause: slow\nsort f32 | sm_90a 4 | slow\n", "cause: slow\n" + 2 * "sort f32 | sm_90a 4\n"):
                path.write_text(wrong)
                self.assertRaises(SystemExit, known.read, path)


if __name__ == "__main__":
    unittest.main()
