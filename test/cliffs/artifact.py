# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of an artifact as Python objects, by the text of its schema. Standard library only.

    artifact = Artifact("model.kpc")
    artifact.model["targets"][0]["steps"]

Tables are dicts that have every field of the schema; what a file leaves out is the field's default, an empty list or None.
"""

import pathlib
import re
import struct

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "runtime/format/artifact.fbs"
SCALARS = {"bool": "<?", "ubyte": "<B", "byte": "<b", "ushort": "<H", "short": "<h", "uint": "<I", "int": "<i", "ulong": "<Q", "long": "<q"}
NONE = 0xFFFFFFFF  # an index that is not there


class Schema:
    def __init__(self, text):
        text = re.sub(r"//.*", "", text)
        self.scalars = dict(SCALARS)
        self.enums, self.unions, self.structs, self.tables = {}, {}, {}, {}
        for name, kind, body in re.findall(r"enum\s+(\w+)\s*:\s*(\w+)\s*\{(.*?)\}", text, re.S):
            self.scalars[name] = SCALARS[kind]
            self.enums[name] = {int(value): word for word, value in re.findall(r"(\w+)\s*=\s*(\d+)", body)}
        for name, body in re.findall(r"union\s+(\w+)\s*\{(.*?)\}", text, re.S):
            self.unions[name] = [word.strip() for word in body.split(",") if word.strip()]
        for name, body in re.findall(r"struct\s+(\w+)\s*\{(.*?)\}", text, re.S):
            self.structs[name] = re.findall(r"(\w+)\s*:\s*([^;=]+)", body)
        for name, body in re.findall(r"table\s+(\w+)\s*\{(.*?)\}", text, re.S):
            self.tables[name] = [(field, kind.strip(), default) for field, kind, default in
                                 re.findall(r"(\w+)\s*:\s*(\[?\w+\]?)\s*(?:=\s*([\w-]+))?[^;]*;", body)]


class Reader:
    def __init__(self, data, schema):
        self.data, self.schema = data, schema

    def scalar(self, form, at):
        return struct.unpack_from(form, self.data, at)[0]

    def follow(self, at):
        return at + self.scalar("<I", at)

    def text(self, at):
        at = self.follow(at)
        return self.data[at + 4:at + 4 + self.scalar("<I", at)].decode()

    def struct(self, name, at):
        # Every struct of the schema has its members at their natural places.
        out = {}
        for field, kind in self.schema.structs[name]:
            kind = kind.strip()
            if kind not in SCALARS:
                return None
            size = struct.calcsize(SCALARS[kind])
            at += -at % size
            out[field] = self.scalar(SCALARS[kind], at)
            at += size
        return out

    def vector(self, kind, at):
        at = self.follow(at)
        count, at = self.scalar("<I", at), at + 4
        if kind in self.schema.scalars:
            form = self.schema.scalars[kind]
            return list(struct.unpack_from(f"<{count}{form[1]}", self.data, at))
        if kind == "string":
            return [self.text(at + 4 * i) for i in range(count)]
        return [self.table(kind, self.follow(at + 4 * i)) for i in range(count)]

    def table(self, name, at):
        places = at - self.scalar("<i", at)
        size = self.scalar("<H", places)
        out, number = {}, 0

        def place():
            nonlocal number
            entry, number = 4 + 2 * number, number + 1
            offset = self.scalar("<H", places + entry) if entry < size else 0
            return at + offset if offset else None

        for field, kind, default in self.schema.tables[name]:
            if kind in self.schema.unions:
                tag, value = place(), place()
                which = self.scalar("<B", tag) if tag else 0
                member = self.schema.unions[kind][which - 1] if which else None
                out[field] = (member, self.table(member, self.follow(value))) if member else None
                continue
            found = place()
            if kind.startswith("["):
                out[field] = self.vector(kind[1:-1], found) if found else []
            elif kind in self.schema.scalars:
                out[field] = self.scalar(self.schema.scalars[kind], found) if found else int(default) if default and default.lstrip("-").isdigit() else 0
            elif kind == "string":
                out[field] = self.text(found) if found else ""
            elif kind in self.schema.structs:
                out[field] = self.struct(kind, found) if found else None
            else:
                out[field] = self.table(kind, self.follow(found)) if found else None
        return out


def evaluate(words, symbols):
    """The value of a size program."""
    stack, at = [], 0
    while at < len(words):
        word, at = words[at], at + 1
        if word < 2:
            stack.append(words[at] if word == 0 else symbols[words[at]])
            at += 1
            continue
        right, left = stack.pop(), stack.pop()
        stack.append({2: lambda: left + right, 3: lambda: left * right, 4: lambda: left // right, 5: lambda: left % right,
                      6: lambda: min(left, right), 7: lambda: max(left, right)}[word]())
    return stack.pop()


class Artifact:
    def __init__(self, path):
        self.data = pathlib.Path(path).read_bytes()
        table, size = struct.unpack_from("<QQ", self.data, 24)
        body = self.data[table:table + size]
        self.schema = Schema(SCHEMA.read_text())
        self.model = Reader(body, self.schema).table("Model", struct.unpack_from("<I", body)[0])
        self.symbols = [max(symbol["min"], symbol["optimum"]) for symbol in self.model["symbols"]]

    def size(self, expr, otherwise=None):
        return otherwise if expr == NONE else evaluate(self.model["exprs"][expr]["words"], self.symbols)

    def set_device(self, multiprocessors):
        for number, symbol in enumerate(self.model["symbols"]):
            if symbol["source"] == 1:
                self.symbols[number] = multiprocessors

    def ptx(self, module):
        place = module["ptx"] if module["ptx"] and module["ptx"]["length"] else module["image"]
        start = self.model["segments"][place["segment"]]["offset"] + place["offset"]
        return self.data[start:start + place["length"]].decode("ascii", "replace")

    def port_bytes(self, port):
        return element_bytes(port["type"]) * product(self.size(dim) for dim in port["dims"])


BYTES = {1: 4, 5: 2, 4: 2, 6: 4, 7: 8, 10: 2, 11: 8, 12: 4, 13: 8, 16: 2, 21: 0.5, 22: 0.5, 23: 0.5, 25: 0.25, 26: 0.25}


def element_bytes(kind):
    return BYTES.get(kind, 1)


def product(numbers):
    out = 1
    for number in numbers:
        out *= number
    return out
