# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where tcgen05's operands and results lie, and what they are, written from the ISA's tables and figures: matrices are laid out
atom by atom, chunk by chunk, with the permutation of each swizzle as a table. Nothing here is an address with its bits
exchanged, which is how the emulator does it."""

import itertools

import numpy

UNIT = 16  # bytes

# ---- number formats: (exponent bits, mantissa bits, bias) ----
FORMATS = {"f16": (5, 10, 15), "bf16": (8, 7, 127), "tf32": (8, 23, 127), "e4m3": (4, 3, 7), "e5m2": (5, 2, 15),
           "e2m3": (2, 3, 1), "e3m2": (3, 2, 3), "e2m1": (2, 1, 1), "f32": (8, 23, 127)}
STORED = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "e2m3": 6, "e3m2": 6, "e2m1": 4, "s8": 8, "u8": 8}


def encode(value, kind):
    """The bits of a number that the format has exactly."""
    if kind in ("s8", "u8"):
        return int(value) & 0xFF
    exponent_bits, mantissa_bits, bias = FORMATS[kind]
    sign = 1 if value < 0 or (value == 0 and str(value)[0] == "-") else 0
    size = abs(float(value))
    if size == 0:
        return sign << (exponent_bits + mantissa_bits)
    exponent = 0
    while size >= 2:
        size, exponent = size / 2, exponent + 1
    while size < 1 and exponent > 1 - bias:
        size, exponent = size * 2, exponent - 1
    field = 0 if size < 1 else exponent + bias
    mantissa = (size if size < 1 else size - 1) * (1 << mantissa_bits)
    assert mantissa == int(mantissa) and field < 1 << exponent_bits, (value, kind)
    return sign << (exponent_bits + mantissa_bits) | field << mantissa_bits | int(mantissa)


# ---- 16-byte units ----
def per_unit(kind, packed):
    return 32 if packed else {16: 8, 32: 4}.get(STORED[kind], 16)


def unit_bytes(values, kind, packed):
    """Elements from the low bits on; 6-bit types fill 12 bytes, 4-bit ones 8, the rest is a pad."""
    bits = 0
    for at, value in enumerate(values):
        bits |= encode(value, kind) << at * STORED[kind]
    return bits.to_bytes(UNIT, "little")


# ---- swizzles: which chunk of a line a chunk goes to, for line r of the atom's eight ----
def chunk_of(swizzle, line, chunk):
    if swizzle == 0:
        return chunk
    if swizzle == 128:  # eight chunks, each line another order
        return [[0, 1, 2, 3, 4, 5, 6, 7], [1, 0, 3, 2, 5, 4, 7, 6], [2, 3, 0, 1, 6, 7, 4, 5], [3, 2, 1, 0, 7, 6, 5, 4],
                [4, 5, 6, 7, 0, 1, 2, 3], [5, 4, 7, 6, 1, 0, 3, 2], [6, 7, 4, 5, 2, 3, 0, 1], [7, 6, 5, 4, 3, 2, 1, 0]][line][chunk]
    if swizzle == 64:  # four chunks, each two lines another order
        return [[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]][line // 2][chunk]
    return [[0, 1], [1, 0]][line // 4][chunk]  # 32: two chunks, each four lines another order


CODES = {0: 0, "wide": 1, 128: 2, 64: 4, 32: 6}


def descriptor(start, leading, stride, swizzle):
    return start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | 1 << 46 | CODES[swizzle] << 61


def lay_out(image, start, matrix, kind, packed, swizzle, k_major):
    """Puts a matrix [line][k] into the image; its descriptor. Atoms lie one behind the other."""
    lines, depth = matrix.shape
    count = per_unit(kind, packed)
    place = {}
    if k_major and swizzle == 0:  # core matrices of 8 lines of 16 bytes; those along k behind each other
        chunks = depth // count
        leading, stride = 128, 128 * chunks
        for line, chunk in itertools.product(range(lines), range(chunks)):
            place[line, chunk] = line // 8 * stride + chunk * leading + line % 8 * UNIT
    elif k_major:
        leading, stride = 0, 8 * swizzle
        for line, chunk in itertools.product(range(lines), range(depth // count)):
            place[line, chunk] = line // 8 * stride + line % 8 * swizzle + chunk_of(swizzle, line % 8, chunk) * UNIT
    elif swizzle == 0:  # core matrices of 8 steps of k, 16 bytes of lines each
        blocks = lines // count
        stride, leading = 128, 128 * blocks
        for block, k in itertools.product(range(blocks), range(depth)):
            place[block, k] = k // 8 * leading + block * stride + k % 8 * UNIT
    elif swizzle == "wide":  # four steps of k, 128 bytes each; pairs of chunks change places
        chunks = lines // count
        spans = max(1, chunks // 8)
        stride, leading = 512 * spans, 512
        for block, k in itertools.product(range(chunks), range(depth)):
            pair, half = block % 8 // 2, block % 2
            pair = [[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]][k % 4][pair]
            place[block, k] = k // 4 * stride + block // 8 * leading + k % 4 * 128 + pair * 32 + half * UNIT
    else:
        chunks, wide = lines // count, swizzle // UNIT
        spans = max(1, chunks // wide)
        leading, stride = 8 * swizzle, 8 * swizzle * spans
        for block, k in itertools.product(range(chunks), range(depth)):
            place[block, k] = (k // 8 * stride + block // wide * leading + k % 8 * swizzle +
                               chunk_of(swizzle, k % 8, block % wide) * UNIT)
    for (outer, inner), at in place.items():
        values = matrix[outer, inner * count:(inner + 1) * count] if k_major else matrix[outer * count:(outer + 1) * count, inner]
        image[start + at:start + at + UNIT] = numpy.frombuffer(unit_bytes(values, kind, packed), dtype=numpy.uint8)
    return descriptor(start, leading, stride, swizzle), start + max(place.values()) + UNIT


# ---- tensor memory: element (m, n) of D -> block, lane, column ----
def place_of_d(m, n, group, rows, columns, half):
    if group == 1 and rows == 128:
        return 0, m, n
    if group == 1:  # 64: sixteen lanes of each thirty-two
        return 0, [0, 32, 64, 96][m // 16] + m % 16 + half, n
    if rows == 256:
        return m // 128, m % 128, n
    return m // 64, m % 64 + (64 if n >= columns // 2 else 0), n % (columns // 2)


def place_with_ws(m, n, rows, columns):
    """Of .ws: the columns in two halves or four quarters, one below the other in the lanes."""
    if rows == 128:
        return 0, m, n
    if rows == 64:
        return (0, m, n) if n < columns // 2 else (0, m + 64, n - columns // 2)
    quarter = columns // 4
    return 0, m + [0, 32, 64, 96][n // quarter], n % quarter


def lanes_of_a(m, group, rows, half):
    """Every place that row m of A has in tensor memory."""
    if group == 2 and rows == 128:
        return [(m // 64, m % 64), (m // 64, m % 64 + 64)]
    return [place_of_d(m, 0, group, rows, 16, half)[:2]]


def put_row(words, lane, column, values, kind, packed):
    count = per_unit(kind, packed)
    for at in range(0, len(values), count):
        words[lane, column + at // count * 4:column + at // count * 4 + 4] = numpy.frombuffer(
            unit_bytes(values[at:at + count], kind, packed), dtype=numpy.uint32)


def put_scales(words, column, scales, quarters):
    """scales[row][chunk] as bytes: 32 rows in a column, in each of the quarters."""
    for row, chunk in itertools.product(range(scales.shape[0]), range(scales.shape[1])):
        for quarter in quarters:
            cell = words[32 * quarter + row % 32, column + row // 32]
            words[32 * quarter + row % 32, column + row // 32] = (int(cell) & ~(0xFF << 8 * chunk)) | int(scales[row, chunk]) << 8 * chunk


# ---- tcgen05.ld and st: what (lane, column) a thread's register is, cell by cell of the figures ----
def cells(shape, times, second):
    """{(thread, register): (lane, column)}"""
    found = {}
    if shape == "32x32b":
        for lane in range(32):
            for column in range(times):
                found[lane, column] = lane, column
    elif shape == "16x32bx2":
        for lane in range(16):
            for column in range(times):
                found[lane, column] = lane, column
                found[lane + 16, column] = lane, second + column
    elif shape == "16x64b":
        for repeat in range(times):  # lane l: words in threads 4*(l%8) .. +3, by pairs
            for lane in range(8):
                for word in range(2):
                    found[4 * lane + 2 * word, repeat] = lane, 2 * repeat + word
                    found[4 * lane + 2 * word + 1, repeat] = lane + 8, 2 * repeat + word
    elif shape == "16x128b":
        for repeat in range(times):
            for lane in range(8):
                for word in range(4):
                    found[4 * lane + word, 2 * repeat] = lane, 4 * repeat + word
                    found[4 * lane + word, 2 * repeat + 1] = lane + 8, 4 * repeat + word
    else:  # 16x256b: as the fragment of an mma
        for repeat in range(times):
            for lane in range(8):
                for pair in range(4):
                    for word in range(2):
                        column = 8 * repeat + 2 * pair + word
                        found[4 * lane + pair, 4 * repeat + word] = lane, column
                        found[4 * lane + pair, 4 * repeat + 2 + word] = lane + 8, column
    return found


# ---- tcgen05.cp: rows to lanes ----
COPIES = {"128x256b": (128, 2, lambda r: [r]), "128x128b": (128, 1, lambda r: [r]), "4x256b": (4, 2, lambda r: [[0, 32, 64, 96][r]]),
          "64x128b.warpx2::02_13": (64, 1, lambda r: [r, r + 64]),
          "64x128b.warpx2::01_23": (64, 1, lambda r: [r, r + 32] if r < 32 else [r + 32, r + 64]),
          "32x128b.warpx4": (32, 1, lambda r: [r, r + 32, r + 64, r + 96])}
