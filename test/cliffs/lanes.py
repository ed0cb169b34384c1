# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PTX's arithmetic of whole numbers on the lanes of a warp: arrays of 64 bits, of which the lower ones count."""

import numpy as np

from ptx_text import TYPE_BYTES

LANES = 32
U64, MASK64 = np.uint64, (1 << 64) - 1


def signed(value, width):
    value = value.astype(U64)
    if width == 64:
        return value.view(np.int64)
    shift = U64(64 - width)
    return (value << shift).view(np.int64) >> np.int64(64 - width)


def trimmed(value, width):
    if width >= 64:
        return value
    return value & U64((1 << width) - 1)


def width_of(kind):
    return min(64, 8 * TYPE_BYTES.get(kind, 4))


def is_float(kind):
    return kind[0] == "f" or kind.startswith("bf") or kind in ("tf32", "e4m3", "e5m2")


def divided(a, b, is_signed, remainder):
    with np.errstate(all="ignore"):
        safe = np.where(b == 0, np.ones_like(b), b)
        if is_signed:
            quotient = np.sign(a) * np.sign(safe) * (np.abs(a) // np.abs(safe))
        else:
            quotient = a // safe
        return (a - quotient * safe) if remainder else quotient


def multiply_high(a, b, width, is_signed):
    wide = [int(x) * int(y) >> width for x, y in zip(a, b)]
    return np.array([x & MASK64 for x in wide], U64)


def integer(one, operation, kind, operands):
    """Whole numbers: `operands` are those that are read, as bits of 64."""
    width, is_signed = width_of(kind), kind[0] == "s"
    def read(value):
        value = trimmed(value, width)
        return signed(value, width) if is_signed else value
    with np.errstate(all="ignore"):
        values = [read(operand) for operand in operands]
        a = values[0]
        b = values[1] if len(values) > 1 else None
        if operation in ("mul", "mad", "mul24", "mad24"):
            if "wide" in one.parts:
                out, width = a * b, 2 * width
            elif "hi" in one.parts:
                out = multiply_high(a, b, width, is_signed)
            else:
                out = a * b
            if operation.startswith("mad"):
                third = operands[2]
                out = out.astype(U64) + third if "wide" in one.parts else out.astype(U64) + trimmed(third, width)
        elif operation == "div":
            out = divided(a, b, is_signed, False)
        elif operation == "rem":
            out = divided(a, b, is_signed, True)
        else:
            out = {"add": lambda: a + b, "sub": lambda: a - b, "min": lambda: np.minimum(a, b), "max": lambda: np.maximum(a, b),
                   "neg": lambda: -a, "abs": lambda: np.abs(a), "addc": lambda: a + b, "subc": lambda: a - b}[operation]()
    return trimmed(out.astype(U64), min(width, 64))


def bits(one, operation, kind, v):
    width = width_of(kind)
    if operation == "and":
        out = v[0] & v[1]
    elif operation == "or":
        out = v[0] | v[1]
    elif operation == "xor":
        out = v[0] ^ v[1]
    elif operation == "not":
        return (v[0] == 0).astype(U64) if kind == "pred" else trimmed(~v[0], width)
    elif operation == "shl":
        out = np.where(v[1] >= width, U64(0), v[0] << np.minimum(v[1], U64(63)))
    elif operation == "shr":
        amount = np.minimum(trimmed(v[1], 32), U64(width - 1 if kind[0] == "s" else 63))
        out = (signed(v[0], width) >> amount.astype(np.int64)).astype(U64) if kind[0] == "s" else trimmed(v[0], width) >> amount
    elif operation == "bfe":
        out = (v[0] >> np.minimum(v[1], U64(63))) & ((U64(1) << np.minimum(v[2], U64(63))) - U64(1))
    elif operation == "bfi":
        field = ((U64(1) << np.minimum(v[3], U64(63))) - U64(1)) << np.minimum(v[2], U64(63))
        out = (v[1] & ~field) | ((v[0] << np.minimum(v[2], U64(63))) & field)
    elif operation == "shf":
        both = trimmed(v[0], 32) | (trimmed(v[1], 32) << U64(32))
        out = both >> (v[2] & U64(31)) if "r" in one.parts else (both << (v[2] & U64(31))) >> U64(32)
    elif operation == "popc":
        out = np.array([int(x).bit_count() for x in trimmed(v[0], width)], U64)
    elif operation == "clz":
        out = np.array([width - int(x).bit_length() for x in trimmed(v[0], width)], U64)
    elif operation == "brev":
        out = np.array([int(format(int(x), f"0{width}b")[::-1], 2) for x in trimmed(v[0], width)], U64)
    elif operation == "lop3":
        table = int(one.operands[4], 0)
        out = np.zeros(LANES, U64)
        for entry in range(8):
            if table >> entry & 1:
                a, b, c = (x if entry >> (2 - i) & 1 else ~x for i, x in enumerate(v[:3]))
                out |= a & b & c
    else:  # prmt and others that only mix bytes
        out = v[0]
    return trimmed(out, width)
