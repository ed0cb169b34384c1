# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Protobuf messages as trees, without a schema.

A message is a list of fields [number, wire type, value]; the value of a length-delimited field is another message where
its bytes read as one, else the bytes. Lengths are made anew when it is written, so a change deep inside leaves the rest
of the file whole.
"""

import struct

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def read_varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def write_varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read(data, depth=0):
    """The fields of a message; ValueError where the bytes are none."""
    fields, at = [], 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, kind = key >> 3, key & 7
        if not 0 < number < 64:  # ONNX has no higher ones
            raise ValueError
        if kind == VARINT:
            value, at = read_varint(data, at)
        elif kind in (FIXED32, FIXED64):
            size = 4 if kind == FIXED32 else 8
            value, at = data[at:at + size], at + size
        elif kind == BYTES:
            size, at = read_varint(data, at)
            value, at = data[at:at + size], at + size
            if at <= len(data):
                value = nested(value, depth)
        else:
            raise ValueError
        if at > len(data):
            raise ValueError
        fields.append([number, kind, value])
    return fields


def nested(data, depth):
    """A message if the bytes can be one; text and long data stay bytes."""
    if not data or len(data) > 1 << 20 or depth > 30 or all(32 <= byte < 127 for byte in data):
        return data
    try:
        return read(data, depth + 1)
    except (ValueError, struct.error):
        return data


def write(fields):
    out = bytearray()
    for number, kind, value in fields:
        out += write_varint(number << 3 | kind)
        if kind == VARINT:
            out += write_varint(value)
        elif kind == BYTES:
            data = write(value) if isinstance(value, list) else value
            out += write_varint(len(data)) + data
        else:
            out += value
    return bytes(out)


def messages(fields):
    """This message and all inside it."""
    yield fields
    for field in fields:
        if isinstance(field[2], list):
            yield from messages(field[2])
