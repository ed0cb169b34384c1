# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One warp of a kernel, followed through its PTX to count what it issues, moves and waits for.

Whole numbers are computed, so branches and addresses are those of the kernel. Floating-point numbers are not: a result
has the bits of its first operand. Memory holds its own places: an element that is read is its number in its buffer, so indices
are a row of neighbours and keys are in order. A loop whose registers change by the same amounts in each turn is not
followed to its end: its turns are multiplied.
"""

import collections
import dataclasses

import numpy as np

from lanes import LANES, MASK64, U64, bits, integer, is_float, signed, trimmed, width_of
from ptx_text import TYPE_BYTES

SECTOR = 32  # bytes that memory gives at once
KEPT_LINES = 48  # lines of 128 bytes that the first cache keeps for a warp: 192 KiB and 32 warps
UNROLLED = 4  # turns of a loop of one block that ptxas writes side by side, so that their loads are under way together
BUFFER = 1 << 44  # between the addresses of two parameters
SHARED, LOCAL = 1 << 24, 1 << 32
MOST_STEPS = 60000
# Cycles from issue to result, on Ampere and later ("Dissecting the NVIDIA Hopper Architecture through Microbenchmarking").
LATENCY = {"alu": 4, "fma": 4, "wide": 10, "special": 22, "f64": 16, "shared": 30, "l1": 38, "near": 270, "memory": 560, "other": 8, "divide": 60,
           "shuffle": 24}


class Unknown(Exception):
    """The kernel holds what is not followed."""


@dataclasses.dataclass
class Counts:
    """Of one warp; `cycles` are those of its longest chain."""
    cycles: float = 0
    issued: float = 0
    special: float = 0
    f64: float = 0
    lines: float = 0  # of 128 bytes, that loads and stores of global memory take
    sectors: float = 0  # that come from or go to the second cache
    moved: float = 0  # bytes that its lanes asked for
    shared: float = 0  # turns of shared memory
    most_turns: float = 0  # of a single loop, one after another

    def __sub__(self, other):
        return Counts(*(a - b for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other))))

    def add(self, other, times):
        for field in dataclasses.fields(self):
            if field.name != "most_turns":
                setattr(self, field.name, getattr(self, field.name) + times * getattr(other, field.name))


COMPARE = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "lo": np.less,
           "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal, "equ": np.equal, "neu": np.not_equal, "ltu": np.less,
           "leu": np.less_equal, "gtu": np.greater, "geu": np.greater_equal}
SPECIAL = {"ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos", "tanh"}


class Warp:
    def __init__(self, kernel, parameters, grid, block, thread, is_near=False):
        """`parameters`: "buffer" or a number each; `block`: its place in the grid; `thread`: the first of the warp.
        `is_near`: all that it reads is in the second cache."""
        self.kernel = kernel
        self.latency = {**LATENCY, "memory": LATENCY["near" if is_near else "memory"]}
        lanes = np.arange(LANES, dtype=np.int64) + thread
        x, y, _ = kernel.threads
        self.active = lanes < np.prod(kernel.threads)
        self.special = {"%laneid": np.arange(LANES), "%warpid": lanes // 32, "%nwarpid": lanes * 0 + 32, "%lanemask_lt": (1 << np.arange(LANES)) - 1,
                        "%tid.x": lanes % x, "%tid.y": lanes // x % y, "%tid.z": lanes // (x * y), "%smid": lanes * 0,
                        "%clock": lanes * 0, "%clock64": lanes * 0, "%globaltimer": lanes * 0}
        for axis, name in enumerate("xyz"):
            for word, values in (("ctaid", block), ("nctaid", grid), ("ntid", kernel.threads)):
                self.special[f"%{word}.{name}"] = lanes * 0 + values[axis]
            for word in ("%cluster_ctaid", "%clusterid", "%cluster_ctarank"):
                self.special[f"{word}.{name}"] = lanes * 0
            self.special[f"%nclusterid.{name}"] = self.special[f"%cluster_nctaid.{name}"] = lanes * 0 + 1
        self.special["%cluster_ctarank"] = lanes * 0
        self.special = {name: np.asarray(value, np.int64).astype(U64) for name, value in self.special.items()}
        self.parameters = {}
        for number, ((name, _), value) in enumerate(zip(kernel.parameters, parameters)):
            self.parameters[name] = np.full(LANES, (number + 1) * BUFFER if value == "buffer" else value & MASK64, U64)
        self.registers, self.ready = {}, {}
        self.full = True
        self.recent = collections.OrderedDict()
        self.counts = Counts()
        self.now = 0.0
        self.compares = []
        self.constants = {}

    #=== Operands ===#
    def value(self, operand):
        if operand in self.registers:
            return self.registers[operand]
        if operand in self.constants:
            return self.constants[operand]
        if operand in self.special:
            return self.special[operand]
        text = operand
        if text.startswith("%"):
            return np.zeros(LANES, U64)  # read before it is written: what is not active
        if text.startswith(("0f", "0F", "0d", "0D")):
            number = int(text[2:], 16)
        elif text in self.kernel.shared:
            number = SHARED + self.kernel.shared[text][0]
        elif text.startswith("__local_depot"):
            number = LOCAL
        else:
            try:
                number = int(text.rstrip("U"), 0)
            except ValueError:
                if text not in self.parameters and not text.replace("_", "").replace("$", "").isalnum():
                    raise Unknown(f"operand {text}") from None
                number = SHARED
        self.constants[operand] = np.full(LANES, number & MASK64, U64)
        return self.constants[operand]

    def values(self, operands):
        return [self.value(operand) for operand in operands]

    def write(self, register, value, mask, at):
        if register == "_":
            return
        old = None if self.full else self.registers.get(register)
        if old is None:
            self.registers[register] = value
        else:
            self.registers[register] = np.where(mask, value, old)
        self.ready[register] = at

    #=== Memory ===#
    def touch_global(self, address, size, mask, is_store):
        """Lines, sectors of the second cache, and whether the first cache had all."""
        places = address[mask]
        self.counts.moved += size * len(places)
        first = places // U64(SECTOR)
        sectors = set(first.tolist())
        for step in range(SECTOR, size, SECTOR):
            sectors |= set((first + U64(step // SECTOR)).tolist())
        if size < SECTOR:
            sectors |= set(((places + U64(size - 1)) // U64(SECTOR)).tolist())
        self.counts.lines += max(len({sector // 4 for sector in sectors}), size * len(places) / 128)
        missed = 0
        for sector in sectors:
            if sector in self.recent:
                self.recent.move_to_end(sector)
            else:
                missed += 1
                self.recent[sector] = True
        while len(self.recent) > KEPT_LINES * 4:
            self.recent.popitem(last=False)
        self.counts.sectors += missed
        return missed == 0

    def touch_shared(self, address, size, mask):
        words = set((address[mask] >> U64(2)).tolist())
        if size > 4:
            words = {word + more for word in words for more in range(size // 4)}
        turns = max(collections.Counter(word & 31 for word in words).values(), default=1)
        self.counts.shared += turns

    def space(self, one, address, mask):
        if one.space:
            return one.space
        first = int(address[mask][0]) if mask.any() else 0
        return "shared" if SHARED <= first < LOCAL else "local" if LOCAL <= first < BUFFER else "global"

    def load(self, one, mask):
        *targets, place = one.operands
        size = one.size
        targets = targets[0] if isinstance(targets[0], list) else targets
        if one.space == "param":
            self.write(targets[0], self.parameters.get(place[0], np.zeros(LANES, U64)), mask, self.now)
            return "other", None
        address = self.value(place[0]) + U64(place[1] & MASK64)
        where = self.space(one, address, mask)
        whole = size * len(targets)
        if where == "global":
            hit = self.touch_global(address, whole, mask, False)
            latency = "l1" if hit else "memory"
        else:
            latency = "shared"
            if where == "shared":
                self.touch_shared(address, whole, mask)
        offset = address % U64(BUFFER) if where == "global" else address % U64(SHARED)
        for number, target in enumerate(targets):
            self.write(target, trimmed(offset // U64(size) + U64(number), min(64, 8 * size)), mask, 0)
        return latency, targets

    def store(self, one, mask):
        place, source = one.operands[0], one.operands[1]
        size = one.size * (len(source) if isinstance(source, list) else 1)
        address = self.value(place[0]) + U64(place[1] & MASK64)
        where = self.space(one, address, mask)
        if where == "global":
            self.touch_global(address, size, mask, True)
        elif where == "shared":
            self.touch_shared(address, size, mask)
        return "other", None

    #=== Arithmetic ===#
    def compare(self, one, mask):
        results = [one.operands[0]]
        rest = one.operands[1:]
        if one.parts[-1] == "pair":
            results.append(rest.pop(0))
        kind = one.kind
        a, b = self.value(rest[0]), self.value(rest[1])
        operation = one.parts[1]
        if kind[0] == "s":
            a, b = signed(a, width_of(kind)), signed(b, width_of(kind))
        out = COMPARE[operation](a, b) if operation in COMPARE else np.zeros(LANES, bool)
        if not is_float(kind):
            self.compares.append((id(one), operation, rest[0], rest[1], a.astype(np.int64), b.astype(np.int64), out))
        if "and" in one.parts and len(rest) > 2:
            out = out & self.value(rest[2]).astype(bool)
        elif "or" in one.parts and len(rest) > 2:
            out = out | self.value(rest[2]).astype(bool)
        self.write(results[0], out.astype(U64), mask, 0)
        if len(results) > 1:
            self.write(results[1], (~out).astype(U64), mask, 0)
        return "alu", results

    def convert(self, one):
        kinds = [part for part in one.parts if part in TYPE_BYTES or part in ("tf32", "e4m3x2", "e5m2x2")]
        target, source = (kinds + kinds)[:2] if kinds else ("b32", "b32")
        value = self.value(one.operands[1])
        if source[0] == "s":
            value = signed(value, width_of(source)).astype(U64)
        elif source in TYPE_BYTES:
            value = trimmed(value, width_of(source))
        if target in TYPE_BYTES:
            value = trimmed(value, width_of(target))
        f64 = "f64" in (target, source)
        return value, "f64" if f64 else "special" if is_float(target) != is_float(source) else "alu"

    def move(self, one, mask):
        target, source = one.operands
        kind = one.parts[-1]
        if isinstance(target, list):
            value, step = self.value(source), width_of(kind) // len(target)
            for number, part in enumerate(target):
                self.write(part, trimmed(value >> U64(step * number), step), mask, 0)
            return "alu", target
        if isinstance(source, list):
            step = width_of(kind) // len(source)
            out = np.zeros(LANES, U64)
            for number, part in enumerate(source):
                out |= trimmed(self.value(part), step) << U64(step * number)
            self.write(target, out, mask, 0)
            return "alu", [target]
        self.write(target, self.value(source), mask, 0)
        return "alu", [target]

    def execute(self, one, mask):
        """The kind of its latency, and what it wrote."""
        operation, kind = one.parts[0], one.parts[-1]
        if operation in ("ld", "ldu"):
            return self.load(one, mask)
        if operation == "st":
            return self.store(one, mask)
        if operation == "mov":
            return self.move(one, mask)
        if operation == "setp":
            return self.compare(one, mask)
        if operation in ("atom", "red"):
            place = one.operands[-2] if operation == "red" else one.operands[1]
            address = self.value(place[0]) + U64(place[1] & MASK64)
            if self.space(one, address, mask) == "global":
                self.touch_global(address, 4, mask, True)
            if operation == "red":
                return "other", None
            self.write(one.operands[0], np.zeros(LANES, U64), mask, 0)
            return "memory", [one.operands[0]]
        if operation == "cp" and "async" in one.parts and one.operands and "bulk" not in one.parts and "global" in one.parts:
            source = one.operands[1]
            self.touch_global(self.value(source[0]) + U64(source[1] & MASK64), int(one.operands[2], 0), mask, False)
            self.counts.shared += 1
            self.ready["async"] = self.now + self.latency["memory"]
            return "other", None
        if operation == "cp":
            if "wait_group" in one.parts or "wait_all" in one.parts:
                self.now = max(self.now, self.ready.get("async", 0.0))
            elif "bulk" in one.parts and "prefetch" not in one.parts:  # what a prefetch brings is counted where it is loaded
                raise Unknown(one.opcode)
            return "other", None
        if operation in ("mma", "wgmma", "ldmatrix", "tcgen05", "mbarrier", "stmatrix"):
            raise Unknown(one.opcode)
        if operation in ("bar", "barrier", "membar", "fence", "griddepcontrol", "prefetch", "nanosleep", "discard", "applypriority", "createpolicy"):
            if operation == "createpolicy":
                self.write(one.operands[0], np.zeros(LANES, U64), mask, 0)
            return "other", None
        if not one.operands or not isinstance(one.operands[0], str):
            raise Unknown(one.opcode)
        target, latency = one.operands[0], "alu"
        if operation in ("shfl", "vote", "activemask", "match", "redux", "elect"):
            value = self.value(one.operands[1]) if len(one.operands) > 1 else np.full(LANES, 0xFFFFFFFF, U64)
            if operation == "vote" and kind == "pred":
                value = np.full(LANES, bool((self.value(one.operands[1]) != 0)[mask].any()), U64)
            if one.parts[-1] == "pair":
                value = self.value(one.operands[2]) if len(one.operands) > 2 else value
                self.write(one.operands[1], np.ones(LANES, U64), mask, 0)
            self.counts.shared += 1
            latency = "shuffle"
        elif operation == "selp":
            value = np.where(self.value(one.operands[3]) != 0, self.value(one.operands[1]), self.value(one.operands[2]))
        elif operation == "slct":
            value = self.value(one.operands[1])
        elif operation in ("cvta", "mapa", "isspacep"):
            value = self.value(one.operands[-1])
        elif operation in ("cvt", "set"):
            value, latency = self.convert(one)
        elif operation in SPECIAL or (operation == "div" and is_float(kind)):
            value = self.value(one.operands[1])
            latency = "f64" if kind == "f64" else "special"
            if operation in ("div", "sqrt") or "rn" in one.parts:
                self.counts.issued += 8 if kind != "f64" else 0
                self.counts.f64 += 12 if kind == "f64" else 0
        elif is_float(kind) or kind in ("f16x2", "bf16x2", "f32x2"):
            value, latency = self.value(one.operands[1]), "f64" if kind == "f64" else "fma"
            if kind == "f32x2":
                self.counts.issued += 1
        elif operation in ("add", "sub", "mul", "mad", "min", "max", "neg", "abs", "div", "rem", "addc", "subc", "mul24", "mad24"):
            value = integer(one, operation, one.kind, self.values(one.operands[1:]))
            if operation in ("div", "rem"):
                # What ptxas writes for them: about 20 instructions of 32 bits, 70 of 64.
                self.counts.issued += 70 if kind.endswith("64") else 20
                latency = "divide"
            elif operation in ("mul", "mad") and kind.endswith("64"):
                self.counts.issued += 3
                latency = "wide"
            elif kind.endswith("64"):
                self.counts.issued += 1
        elif operation in ("and", "or", "xor", "not", "shl", "shr", "bfe", "bfi", "shf", "popc", "clz", "brev", "lop3", "prmt", "bfind", "fns",
                           "szext", "dp4a", "dp2a", "vadd4"):
            value = bits(one, operation, one.kind or "b32", self.values(one.operands[1:]))
            if kind.endswith("64"):
                self.counts.issued += 1
        else:
            raise Unknown(one.opcode)
        self.write(target, value, mask, 0)
        return latency, [target]

    #=== Control ===#
    def run_block(self, number, mask):
        """Where its lanes go on: (lanes, number of the block) each."""
        began, count = self.now, 0
        latest = self.now
        following = number + 1
        whole = bool(mask.all())
        ready_at, no_time = self.ready, 0.0
        for one in self.kernel.blocks[number]:
            active, self.full = mask, whole
            if one.guard:
                self.full = False
                taken = self.value(one.guard) != 0
                active = mask & (~taken if one.negated else taken)
            operation = one.parts[0]
            ready = max([ready_at.get(name, no_time) for name in one.reads], default=no_time)
            at = max(began + count, ready)
            count += 1
            self.counts.issued += 1
            latest = max(latest, at)
            if operation == "bra":
                self.now = max(latest, began + count)
                return [(active, self.kernel.targets[one.operands[0]]), (mask & ~active, following)]
            if operation in ("ret", "exit", "trap"):
                self.now = max(latest, began + count)
                return [(mask & ~active, following)]
            if operation == "brx":
                raise Unknown(one.opcode)
            if one.guard and not active.any():
                continue
            self.now = at
            latency, written = self.execute(one, active)
            at = max(at, self.now)
            if latency == "special":
                self.counts.special += 1
            elif latency == "f64":
                self.counts.f64 += 1
            for register in written or ():
                self.ready[register] = at + self.latency[latency]
            latest = max(latest, at)
            if operation in ("bar", "barrier", "cp"):
                began, count = latest, 0
        self.now = max(latest, began + count)
        return [(mask, following)]

    def run(self):
        waiting = {0: self.active.copy()}
        history, steps = {}, 0
        while waiting:
            number = min(waiting)
            mask = waiting.pop(number)
            steps += 1
            if steps > MOST_STEPS:
                raise Unknown(f"more than {MOST_STEPS} blocks of instructions")
            for lanes, target in self.run_block(number, mask):
                if not lanes.any() or target >= len(self.kernel.blocks):
                    continue
                if target in waiting:
                    waiting[target] = waiting[target] | lanes
                    continue
                if target <= number:
                    self.turn(history, target, lanes, waiting, target == number)
                waiting[target] = lanes
        self.counts.cycles = max([self.now, *self.ready.values()]) if self.ready else self.now
        return self.counts

    def snapshot(self, lanes):
        self.counts.cycles = self.now
        return {"registers": dict(self.registers), "counts": dataclasses.replace(self.counts), "lanes": lanes, "now": self.now,
                "compares": self.compares}

    def turn(self, history, header, lanes, waiting, is_block):
        """The end of one turn of a loop: where the last ones were alike, as many as come are counted at once."""
        for inner in [other for other in history if other > header]:
            del history[inner]
        kept = history.setdefault(header, {"turns": 0, "seen": []})
        kept["turns"] += 1
        self.counts.most_turns = max(self.counts.most_turns, kept["turns"])
        seen = kept["seen"]
        seen.append(self.snapshot(lanes))
        self.compares = []
        del seen[:-3]
        if len(seen) < 3 or waiting or any((one["lanes"] != lanes).any() for one in seen):
            return
        times, steps = self.alike(seen, lanes)
        if times < 2:
            return
        one = seen[-1]["counts"] - seen[-2]["counts"]
        self.counts.add(one, times)
        passed = seen[-1]["now"] - seen[-2]["now"]
        if is_block:
            passed = max(one.issued, passed / UNROLLED)
        passed *= times
        self.now += passed
        for register in self.ready:
            self.ready[register] += passed
        for register, step in steps.items():
            self.registers[register] = self.registers[register] + step * U64(times)
        kept["turns"] += times
        self.counts.most_turns = max(self.counts.most_turns, kept["turns"])
        seen.clear()

    def alike(self, seen, lanes):
        """How many more turns are like the last two, and what each adds to the registers."""
        first, second, third = (one["registers"] for one in seen)
        steps = {}
        for register, value in third.items():
            if register not in second or register not in first:
                continue
            step = value - second[register]
            if (step[lanes] == (second[register] - first[register])[lanes]).all():
                if step[lanes].any():
                    steps[register] = step
        before = {key[0]: key for key in seen[-2]["compares"]}
        times = 1 << 40
        for key, operation, _, _, a, b, out in seen[-1]["compares"]:
            if key not in before:
                continue
            old = before[key]
            step = (a - old[4]) - (b - old[5])
            distance = a - b
            # Until the sign of the distance, or that it is 0, changes.
            moving = lanes & (step != 0)
            if not moving.any():
                continue
            towards = moving & (np.sign(distance) != np.sign(step)) & (distance != 0)
            if (moving & (distance == 0)).any():
                return 0, {}
            if towards.any():
                times = min(times, int((np.abs(distance[towards]) // np.abs(step[towards])).min()) - 1)
        return (0, {}) if times >= 1 << 40 else (times, steps)
