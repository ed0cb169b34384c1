# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes TorchScript archives as PyTorch's serializer does, with the standard library alone.

    save("mlp.pt", Module("__torch__.Mlp", {"weight": Tensor((2, 3), values)}), {"__torch__.py": SOURCE}, constants=[])

The format is that of torch/csrc/jit/docs/serialization.md: a zip of stored entries whose data begins at multiples of 64
bytes, pickles of protocol 2 with PyTorch's own opcodes, source under code/, and beside each file of source a pickle of
where its lines come from: here the same line of model.py.
"""
import array
import struct
import zipfile

CODES = {"Float": "f", "Double": "d", "Long": "q", "Int": "i", "Short": "h", "Char": "b", "Byte": "B", "Bool": "B"}


class Tensor:
    """Values in row-major order; `data` for types that Python has not, as Half."""

    def __init__(self, shape, values=(), type="Float", data=None, strides=None, offset=0):
        self.shape, self.type, self.offset = tuple(shape), type, offset
        self.data = data if data is not None else array.array(CODES[type], values).tobytes()
        self.strides = strides
        if strides is None:
            self.strides, step = [], 1
            for size in reversed(self.shape):
                self.strides.insert(0, step)
                step *= size

    def width(self):
        return 2 if self.type in ("Half", "BFloat16") else struct.calcsize("=" + CODES[self.type])


class Module:
    def __init__(self, name, attributes):
        self.name, self.attributes = name, attributes


class Pickler:
    def __init__(self):
        self.out, self.storages = bytearray(b"\x80\x02"), []

    def text(self, value):
        data = value.encode()
        self.out += b"X" + struct.pack("<I", len(data)) + data

    def name(self, module, name):
        self.out += f"c{module}\n{name}\n".encode()

    def sequence(self, values):
        self.out += b"("
        for value in values:
            self.put(value)
        self.out += b"t"

    def tensor(self, value):
        if not any(value is known for known in self.storages):
            self.storages.append(value)
        key = next(i for i, known in enumerate(self.storages) if value is known)
        self.name("torch._utils", "_rebuild_tensor_v2")
        self.out += b"(("
        self.text("storage")
        self.name("torch", value.type + "Storage")
        self.text(str(key))
        self.text("cpu")
        self.put(len(value.data) // value.width())
        self.out += b"tQ"
        self.put(value.offset)
        self.sequence(value.shape)
        self.sequence(value.strides)
        self.out += b"\x89"
        self.name("collections", "OrderedDict")
        self.out += b")RtR"

    def items(self, values):
        self.out += b"]("
        for value in values:
            self.put(value)
        self.out += b"e"

    def put(self, value):
        if value is None:
            self.out += b"N"
        elif isinstance(value, bool):
            self.out += b"\x88" if value else b"\x89"
        elif isinstance(value, int):
            if 0 <= value < 256:
                self.out += b"K" + bytes([value])
            elif 0 <= value < 65536:
                self.out += b"M" + struct.pack("<H", value)
            elif -(2**31) <= value < 2**31:
                self.out += b"J" + struct.pack("<i", value)
            else:
                self.out += b"\x8a\x08" + struct.pack("<q", value)
        elif isinstance(value, float):
            self.out += b"G" + struct.pack(">d", value)
        elif isinstance(value, str):
            self.text(value)
        elif isinstance(value, tuple):
            self.sequence(value)
        elif isinstance(value, list) and value and all(type(v) is int for v in value):
            self.name("torch.jit._pickle", "build_intlist")
            self.out += b"("
            self.items(value)
            self.out += b"tR"
        elif isinstance(value, list):
            self.items(value)
        elif isinstance(value, dict):
            self.out += b"}("
            for key, held in value.items():
                self.put(key)
                self.put(held)
            self.out += b"u"
        elif isinstance(value, Tensor):
            self.tensor(value)
        elif type(value).__name__ == "Member":  # of an Enum: its class and its value
            self.name(*value.name.rsplit(".", 1))
            self.put(value.value)
            self.out += b"R"
        elif isinstance(value, Module):
            self.name(*value.name.rsplit(".", 1))
            self.out += b")\x81"
            self.put(value.attributes)
            self.out += b"b"
        else:
            raise TypeError(type(value))

    def done(self):
        return bytes(self.out + b".")


def places(source):
    """Records of FORMAT_WITH_STRING_TABLE: each line of the source is that line of model.py."""
    strings, records, at = ["", "model.py"], [], 0
    for number, line in enumerate(source.splitlines(keepends=True), 1):
        start = len(line) - len(line.lstrip())
        strings.append(line)
        records.append((at + start, (([len(strings) - 1], 1, number), start, len(line) - 1), 0))
        at += len(line)
    pickler = Pickler()
    pickler.put(("FORMAT_WITH_STRING_TABLE", tuple(strings), tuple(records)))
    return pickler.done()


def save(path, top, code, constants=(), name="model", debug=True):
    entries = []

    def pickled(file, folder, value):
        pickler = Pickler()
        pickler.put(value)
        for key, tensor in enumerate(pickler.storages):
            entries.append((f"{folder}/{key}", tensor.data))
        entries.append((file, pickler.done()))

    pickled("data.pkl", "data", top)
    entries.append(("byteorder", b"little"))
    for file, source in code.items():
        entries.append(("code/" + file, source.encode()))
        if debug:
            entries.append((f"code/{file}.debug_pkl", places(source)))
    pickled("constants.pkl", "constants", tuple(constants))
    entries.append(("version", b"3\n"))
    entries.append((".data/serialization_id", b"0" * 40))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for file, data in entries:
            info = zipfile.ZipInfo(f"{name}/{file}")
            # An extra field 'FB' of as many bytes as alignment needs, as PyTorch writes it.
            fill = -(archive.fp.tell() + 30 + len(info.filename) + 4) % 64
            info.extra = b"FB" + struct.pack("<H", fill) + b"Z" * fill
            archive.writestr(info, data)
