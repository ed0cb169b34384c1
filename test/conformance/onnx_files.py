# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads what the runner needs of ONNX files, with numpy alone: a model's signature and operators, and test values.

The Debian suite must run where PyPI cannot be reached, so the `onnx` package is not used here.
"""

import dataclasses

import numpy as np

# TensorProto.DataType -> numpy's type; what numpy lacks is kept as the bits.
NUMPY_TYPES = {
    1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_,
    10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64, 14: np.complex64, 15: np.complex128, 16: np.uint16,
    17: np.uint8, 18: np.uint8, 19: np.uint8, 20: np.uint8, 21: np.uint8, 22: np.int8, 23: np.uint8, 24: np.uint8,
    25: np.uint8, 26: np.int8}
STRING, BFLOAT16 = 8, 16
SUB_BYTE = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2}  # bits; packed low first
ONLY_BITS = {17, 18, 19, 20, 23, 24}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data):
    """field number -> its values in order: an int, or the bytes of a fixed-size or length-delimited value."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if size is None:
                size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        found.setdefault(key >> 3, []).append(value)
    return found


def integers(values):
    """A repeated integer field, packed or not, as signed 64-bit numbers."""
    result = []
    for value in values:
        if isinstance(value, int):
            result.append(value)
            continue
        at = 0
        while at < len(value):
            number, at = varint(value, at)
            result.append(number)
    return [n - (1 << 64) if n >= 1 << 63 else n for n in result]


def text(values):
    return bytes(values[0]).decode("utf-8", "replace") if values else ""


def unpack_bits(raw, bits, count, signed):
    """Elements of 2 or 4 bits, the first in the low bits of the first byte."""
    data = np.frombuffer(raw, np.uint8)
    parts = [(data >> shift) & ((1 << bits) - 1) for shift in range(0, 8, bits)]
    values = np.stack(parts, 1).reshape(-1)[:count]
    if signed:
        values = values.astype(np.int8)
        values = np.where(values >= 1 << (bits - 1), values - (1 << bits), values).astype(np.int8)
    return values


@dataclasses.dataclass
class Value:
    """A test value. `items`: a list for a sequence, None for an empty optional; else `array` holds the tensor."""
    array: np.ndarray = None
    data_type: int = 0
    items: list = None
    kind: str = "tensor"


def tensor(data):
    f = fields(data)
    shape, data_type = integers(f.get(1, [])), f.get(2, [0])[0]
    count = int(np.prod(shape)) if shape else 1
    if data_type == STRING:
        return Value(np.array([bytes(s) for s in f.get(6, [])], object).reshape(shape), data_type)
    numpy_type = NUMPY_TYPES[data_type]
    if data_type in SUB_BYTE:
        raw = bytes(f[9][0]) if 9 in f else np.array(integers(f.get(5, [])), np.int64).astype(np.uint8).tobytes()
        values = unpack_bits(raw, SUB_BYTE[data_type], count, numpy_type == np.int8)
    elif 9 in f:
        values = np.frombuffer(bytes(f[9][0]), numpy_type)
    elif data_type in (1, 14):
        values = np.frombuffer(b"".join(bytes(v) for v in f.get(4, [])), np.float32).view(numpy_type)
    elif data_type in (11, 15):
        values = np.frombuffer(b"".join(bytes(v) for v in f.get(10, [])), np.float64).view(numpy_type)
    elif data_type == 7:
        values = np.array(integers(f.get(7, [])), np.int64)
    elif data_type in (12, 13):
        values = np.array(integers(f.get(11, [])), np.int64).astype(numpy_type)
    else:
        values = np.array(integers(f.get(5, [])), np.int64)
        values = values.astype(np.uint16).view(np.float16) if data_type == 10 else values.astype(numpy_type)
    return Value(values.reshape(shape), data_type)


def test_value(data, kind):
    """A file input_N.pb or output_N.pb; `kind` from the model's signature."""
    if kind == "tensor":
        return tensor(data)
    f = fields(data)
    if kind == "sequence":
        element = f.get(2, [1])[0]  # SequenceProto.DataType: 1 tensor, 2 sparse tensor, 3 sequence, 4 map, 5 optional
        if element == 3:
            return Value(items=[test_value(part, "sequence") for part in f.get(5, [])], kind=kind)
        return Value(items=[tensor(part) for part in f.get(3, [])], kind=kind)
    if kind == "optional":
        if 3 in f:
            return Value(items=[tensor(f[3][0])], kind=kind)
        if 5 in f:
            return Value(items=[test_value(f[5][0], "sequence")], kind=kind)
        return Value(items=[], kind=kind)
    return Value(kind=kind)


KINDS = {1: "tensor", 4: "sequence", 5: "map", 7: "opaque", 8: "sparse", 9: "optional"}


@dataclasses.dataclass
class Port:
    name: str
    kind: str
    element: int  # DataType of a tensor
    has_shape: bool = True  # of a sequence's elements


@dataclasses.dataclass
class Model:
    inputs: list  # Port, those without an initializer
    outputs: list
    operators: set  # every op_type in the graph, its subgraphs and functions


def collect_operators(nodes, found):
    for node in nodes:
        f = fields(node)
        found.add(text(f.get(4, [])))
        for attribute in f.get(5, []):
            a = fields(attribute)
            for graph in a.get(6, []) + a.get(11, []):
                collect_operators(fields(graph).get(1, []), found)


def value_info(data):
    f = fields(data)
    declared = fields(f[2][0]) if 2 in f else {}
    kinds = [KINDS[number] for number in declared if number in KINDS]
    element = fields(declared[1][0]).get(1, [0])[0] if 1 in declared else 0
    elements = fields(fields(fields(declared[4][0])[1][0]).get(1, [b""])[0]) if 4 in declared else {2: []}
    return Port(text(f.get(1, [])), kinds[0] if kinds else "tensor", element, 2 in elements)


def read_model(path):
    with open(path, "rb") as file:
        model = fields(memoryview(file.read()))
    graph = fields(model[7][0])
    stored = {text(fields(t).get(8, [])) for t in graph.get(5, [])}
    operators = set()
    collect_operators(graph.get(1, []), operators)
    for function in model.get(25, []):
        collect_operators(fields(function).get(7, []), operators)
    inputs = [value_info(v) for v in graph.get(11, [])]
    return Model([v for v in inputs if v.name not in stored], [value_info(v) for v in graph.get(12, [])], operators)


def read_value(path, port):
    with open(path, "rb") as file:
        value = test_value(memoryview(file.read()), port.kind)
    if port.element == BFLOAT16 and value.data_type == 4:  # older data has the bits as uint16
        value.data_type = BFLOAT16
    return value


def tensors_of(name, value):
    """The tensors that kpc has in the place of a value, by name: one for each element of a sequence."""
    if value.kind == "optional":
        return tensors_of(name, value.items[0]) if value.items else []
    if value.kind == "sequence":
        return [pair for i, item in enumerate(value.items) for pair in tensors_of(f"{name}[{i}]", item)]
    return [(name, value)]


def bfloat16_to_float(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)
