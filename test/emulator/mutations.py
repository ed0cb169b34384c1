# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mistakes in a kernel's PTX: every fence, wait, commit, arrive, init, copy, byte count, group count, phase, stage and swizzle is
removed or altered, one at a time."""

import re


def last_value(lines, at, register):
    """The number that the text last moved into a register."""
    for line in reversed(lines[:at]):
        found = re.search(r"mov\.(?:b|u)32\s+" + re.escape(register) + r", (-?\d+);", line)
        if found:
            return int(found[1])
    return None


def operand(lines, at, text):
    return int(text) if re.fullmatch(r"-?\d+", text) else last_value(lines, at, text)


def shifted(address, by):
    """"[%r1+8]" with another offset."""
    base, sign, offset = re.fullmatch(r"\[([^+\-\]]+)([+-]?)(\d*)\]", address).groups()
    return f"[{base}+{(int(offset or 0) if sign != '-' else -int(offset)) + by}]"


def with_other(code, kind, register, made):
    """The instruction with `other` in the place of a register, which `made` computes."""
    return f"{{ .reg .{kind} other; {made} " + re.sub(re.escape(register) + r"\b", "other", code, count=1) + " }"


REMOVED = re.compile(r"(fence\.proxy|fence\.mbarrier_init|wgmma\.(fence|commit|wait)|cp\.async\.(bulk\.)?(commit|wait)|bar\.(sync|arrive)|"
                     r"bar\.warp|barrier\.cluster\.(arrive|wait)|mbarrier\.(init|arrive)|setmaxnreg|cp\.async\.bulk\.tensor|cp\.async\.c[ag]|"
                     r"tcgen05\.(alloc|fence|commit|wait|dealloc|mma|cp|relinquish))\S*")


# What is not removed, but given other operands.
ALTERED = re.compile(r"try_wait|\bor\.b64|\bxor\.b")


def mutations(lines):
    """(line number, description, new text of the line)"""
    for at, line in enumerate(lines):
        code = line.split("//")[0]
        if not (found := REMOVED.search(code)) and not ALTERED.search(code):
            continue
        if found:
            loops = "wgmma.fence" in code and any("wgmma.fence" in before for before in lines[:at])
            yield at, f"{found[0]} removed{' (no register touched)' if loops else ''}", ""
        if match := re.search(r"(wait_group(?:\.read|\.sync\.aligned)?\s+)(\d+);", code):
            yield at, f"{found[0]} for one group fewer", code.replace(match[0], f"{match[1]}{int(match[2]) + 1};")
        if match := re.search(r"bar\.(?:sync|arrive)\s+(?:%r)?\d+, (\d+);", code):
            for by in (-32, 32):
                yield at, f"{found[0]} for {by:+} threads", re.sub(r"\d+;", f"{int(match[1]) + by};", code)
        if "barrier.cluster.arrive" in code:
            yield at, "barrier.cluster.arrive that does not release", code.replace("arrive", "arrive.relaxed")
        if match := re.search(r"mbarrier\.init\S*\s+(\[\S+\]), (%?\w+);", code):
            count = operand(lines, at, match[2])
            for by in (-1, 1):
                if count is not None and count + by > 0:
                    yield at, f"mbarrier.init with count {by:+}", code.replace(f"{match[2]};", f"{count + by};")
        if match := re.search(r"mbarrier\.arrive\.expect_tx\S* (?:%\w+|_), (\[\S+\]), (%?\w+);", code):
            count = operand(lines, at, match[2])
            for by in (-16, 16):
                if count is not None:
                    yield at, f"expect_tx of {by:+} bytes", code.replace(f"{match[2]};", f"{count + by};")
            yield at, "expect_tx at the next stage", code.replace(match[1], shifted(match[1], 16))
        elif match := re.search(r"mbarrier\.arrive\S* (?:%\w+|_), (\[\S+\]);", code):
            yield at, "mbarrier.arrive twice", code + code
            yield at, "mbarrier.arrive at the other barrier", code.replace(match[1], shifted(match[1], -8))
            yield at, "mbarrier.arrive at the next stage", code.replace(match[1], shifted(match[1], 16))
        if match := re.search(r"tcgen05\.commit\S*\s+(\[\S+\])[,;]", code):
            yield at, "commit twice", code + code
            yield at, "commit to the other barrier", code.replace(match[1], shifted(match[1], -8))
            yield at, "commit to the next stage", code.replace(match[1], shifted(match[1], 16))
        if match := re.search(r"(mbarrier\.try_wait\S*) (\w+), (\[\S+\]), (%?\w+)(, \w+)?;", code):
            yield at, "try_wait passed over", f"setp.eq.u32 {match[2]}, 0, 0;"
            yield at, "try_wait for the other phase", ("{ .reg .b32 other; xor.b32 other, " + match[4] + ", 1; " +
                                                       code.replace(match[4] + ("," if match[5] else ";"),
                                                                    "other" + ("," if match[5] else ";"), 1) + " }")
            yield at, "try_wait at the next stage", code.replace(match[3], shifted(match[3], 16))
        if match := re.search(r"cp\.async\.bulk\.tensor\S*global\S*mbarrier\S* (\[[^\]]+\]), \[.*\], (\[[^\]]+\])[,;]", code):
            yield at, "copy reports at the next stage", code.replace(match[2], shifted(match[2], 16))
            yield at, "copy 1024 bytes further", code.replace(match[1], shifted(match[1], 1024), 1)
        if match := re.search(r"tcgen05\.cp\S*\s+(\[\S+\]), (%rd\d+);", code):
            yield at, "scales copied a column further", code.replace(match[1], shifted(match[1], 1))
            yield at, "scales of the next row copied", with_other(code, "b64", match[2], f"add.s64 other, {match[2]}, 1;")
        if match := re.search(r"tcgen05\.mma\S*block_scale\S*\s+\[\S+\], %rd\d+, %rd\d+, (%r\d+), (\[\S+\]), (\[\S+\]), ", code):
            for operand_name, address in (("A", match[2]), ("B", match[3])):
                yield at, f"scales of {operand_name} a column further", code.replace(f"{address}, ", f"{shifted(address, 1)}, ", 1)
            # Bytes of a word of scales, and what scales are.
            for bit, of in ((29, "other scales of A"), (4, "other scales of B"), (23, "scales of another type")):
                yield at, f"instruction descriptor with {of}", with_other(code, "b32", match[1], f"xor.b32 other, {match[1]}, {1 << bit};")
        # The layout's code in the upper bits of a descriptor.
        if match := re.search(r"or\.b64\s+%rd\d+, %rd\d+, (-?\d{19});", code):
            changed = (int(match[1]) ^ 3 << 62) & (1 << 64) - 1
            yield at, "descriptor of another swizzle", code.replace(match[1], str(changed - (changed >> 63 << 64)))
        if match := re.search(r"xor\.(b\d+)\s+(%\w+), (%\w+), \S+;", code):
            yield at, "xor left out", code.replace(match[0], f"mov.{match[1]} {match[2]}, {match[3]};")
