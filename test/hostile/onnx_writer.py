# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes ONNX models byte by byte, so that they can also be wrong in ways the `onnx` package would not let through.

Every function returns the bytes of one message; field numbers are those of onnx.proto. Standard library only.
"""

import struct

FLOAT, INT32, INT64, STRING, BOOL = 1, 6, 7, 8, 9


def varint(value):
    value &= (1 << 64) - 1  # a negative number is its 64-bit two's complement
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def tensor(name, dims, data_type=FLOAT, raw=None, external=None, strings=None):
    out = b"".join(number(1, d) for d in dims) + number(2, data_type) + block(8, name)
    if raw is not None:
        out += block(9, raw)
    for text in strings or []:
        out += block(6, text)
    for key, value in (external or {}).items():
        out += block(13, block(1, key) + block(2, str(value)))
    return out + (number(14, 1) if external else b"")


def floats(name, dims, values):
    return tensor(name, dims, FLOAT, struct.pack(f"<{len(values)}f", *values))


def int64s(name, values, dims=None):
    return tensor(name, [len(values)] if dims is None else dims, INT64, struct.pack(f"<{len(values)}q", *values))


def dimension(value):
    """A size, a name, or None: nothing is said."""
    if value is None:
        return b""
    return block(2, value) if isinstance(value, str) else number(1, value)


def value_info(name, dims, data_type=FLOAT):
    """`dims` None: no shape is given."""
    shape = b"" if dims is None else block(2, b"".join(block(1, dimension(d)) for d in dims))
    return block(1, name) + block(2, block(1, number(1, data_type) + shape))


class Graph(bytes):
    """Marks an attribute's value as a graph rather than a tensor."""


def attribute(name, value):
    if isinstance(value, Graph):
        return block(1, name) + block(6, bytes(value)) + number(20, 5)
    if isinstance(value, bytes):
        return block(1, name) + block(5, value) + number(20, 4)
    if isinstance(value, str):
        return block(1, name) + block(4, value) + number(20, 3)
    if isinstance(value, float):
        return block(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    if isinstance(value, list) and value and isinstance(value[0], float):
        data = b"".join(varint(7 << 3 | 5) + struct.pack("<f", v) for v in value)
        return block(1, name) + data + number(20, 6)
    if isinstance(value, list) and value and isinstance(value[0], str):
        return block(1, name) + b"".join(block(9, v) for v in value) + number(20, 8)
    if isinstance(value, list):
        return block(1, name) + b"".join(number(8, v) for v in value) + number(20, 7)
    return block(1, name) + number(3, value) + number(20, 2)


def node(op, inputs, outputs, name="", domain="", **attributes):
    out = b"".join(block(1, i) for i in inputs) + b"".join(block(2, o) for o in outputs)
    out += block(3, name) if name else b""
    out += block(4, op)
    out += b"".join(block(5, attribute(key, value)) for key, value in attributes.items())
    return out + (block(7, domain) if domain else b"")


def graph(nodes, inputs, outputs, initializers=()):
    return (b"".join(block(1, n) for n in nodes) + block(2, "main") + b"".join(block(5, t) for t in initializers) +
            b"".join(block(11, v) for v in inputs) + b"".join(block(12, v) for v in outputs))


def opset(version, domain=""):
    return (block(1, domain) if domain else b"") + number(2, version)


def function(name, domain, inputs, outputs, nodes, version=17):
    return (block(1, name) + b"".join(block(4, i) for i in inputs) + b"".join(block(5, o) for o in outputs) +
            b"".join(block(7, n) for n in nodes) + block(9, opset(version)) + block(9, opset(1, domain)) +
            block(10, domain))


def model(graph_bytes=None, opsets=((17, ""),), ir_version=8, functions=()):
    out = number(1, ir_version)
    out += b"" if graph_bytes is None else block(7, graph_bytes)
    out += b"".join(block(8, opset(version, domain)) for version, domain in opsets)
    return out + b"".join(block(25, f) for f in functions)
