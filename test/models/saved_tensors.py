# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes tensors as torch.save does, and archives of torch.export in the layouts of older PyTorch, without PyTorch.

    saved({"weight": array})                 # the bytes of a file of torch.save
    in_layout("new.pt2", "old.pt2", "2.5")   # the same program as PyTorch 2.5 would have saved it

Pickles come from Python's own pickler, with the names that PyTorch's classes have. Layouts: "pickled" as PyTorch 2.11 writes
weights that are no plain tensors; "2.8" with a file of torch.save a model; "2.7" with files at the archive's root; "2.5" with
sizes as sympy prints them for readers.
"""
import collections
import contextlib
import io
import json
import pickle
import struct
import sys
import types
import zipfile

import numpy as np

# Numbers of torch/_export/serde/schema.py, numpy's type and the storage's class. bf16 has none in numpy: its bits.
STORAGES = {
    1: ("u1", "ByteStorage"), 2: ("i1", "CharStorage"), 3: ("i2", "ShortStorage"), 4: ("i4", "IntStorage"),
    5: ("i8", "LongStorage"), 6: ("f2", "HalfStorage"), 7: ("f4", "FloatStorage"), 8: ("f8", "DoubleStorage"),
    12: ("?", "BoolStorage"), 13: ("u2", "BFloat16Storage"),
}
NUMBERS = {name: number for number, (name, _) in STORAGES.items() if number != 13}


class Storage:
    def __init__(self, type, key, count):
        self.type, self.key, self.count = type, key, count


class Tensor:
    """A part of a storage's bytes, as a parameter of a module or not."""

    def __init__(self, data, type, sizes, strides, offset=0, parameter=False):
        self.data, self.type, self.sizes, self.strides = data, type, tuple(sizes), tuple(strides)
        self.offset, self.parameter = offset, parameter


def tensor(array, parameter=False):
    array = np.ascontiguousarray(array)
    strides = [s // array.itemsize for s in array.strides]
    return Tensor(array.tobytes(), NUMBERS[array.dtype.str.lstrip("<|=").replace("b1", "?")], array.shape, strides,
                  parameter=parameter)


def named(module, name):
    """A callable that pickles by its name."""
    def never(*_):
        raise AssertionError("only its name is written")
    never.__module__, never.__qualname__, never.__name__ = module, name, name
    return never


@contextlib.contextmanager
def modules():
    """Modules of PyTorch's names while a pickle is written: Python's pickler looks up what it names."""
    table = {"torch": [storage for _, storage in STORAGES.values()],
             "torch._utils": ["_rebuild_tensor_v2", "_rebuild_parameter"]}
    before = {name: sys.modules.get(name) for name in table}
    for name, contents in table.items():
        sys.modules[name] = types.ModuleType(name)
        for entry in contents:
            setattr(sys.modules[name], entry, named(name, entry))
    try:
        yield
    finally:
        for name, module in before.items():
            sys.modules.pop(name)
            if module is not None:
                sys.modules[name] = module


class Pickler(pickle.Pickler):
    def __init__(self, file):
        super().__init__(file, protocol=2)
        self.datas = []

    def persistent_id(self, value):
        if isinstance(value, Storage):
            return "storage", getattr(sys.modules["torch"], value.type), value.key, "cpu", value.count
        return None

    def reducer_override(self, value):
        if not isinstance(value, Tensor):
            return NotImplemented
        utils = sys.modules["torch._utils"]
        if value.parameter:
            plain = Tensor(value.data, value.type, value.sizes, value.strides, value.offset)
            return utils._rebuild_parameter, (plain, True, collections.OrderedDict())
        width, storage = STORAGES[value.type]
        if not any(value.data is data for data in self.datas):
            self.datas.append(value.data)
        key = next(i for i, data in enumerate(self.datas) if value.data is data)
        whole = Storage(storage, str(key), len(value.data) // np.dtype(width).itemsize)
        return utils._rebuild_tensor_v2, (whole, value.offset, value.sizes, value.strides, False,
                                          collections.OrderedDict())


def saved(value):
    """The bytes of torch.save(value): tensors, or a dict of them by name."""
    out = io.BytesIO()
    with modules():
        pickler = Pickler(out)
        pickler.dump(value)
    entries = [("data.pkl", out.getvalue()), (".format_version", b"1"), (".storage_alignment", b"64"),
               ("byteorder", b"little")]
    entries += [(f"data/{key}", data) for key, data in enumerate(pickler.datas)]
    entries += [("version", b"3\n"), (".data/serialization_id", b"0" * 40)]
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED) as archive:
        for name, data in entries:
            info = zipfile.ZipInfo("archive/" + name)
            fill = -(archive.fp.tell() + 30 + len(info.filename) + 4) % 64
            info.extra = b"FB" + struct.pack("<H", fill) + b"Z" * fill
            archive.writestr(info, data)
    return whole.getvalue()


def printed(text):
    """A size as sympy prints it, from the calls that make it."""
    def joined(operator):
        return lambda *parts: "(" + operator.join(parts) + ")"
    calls = {
        "Symbol": lambda name, **_: name, "Integer": str, "Add": joined(" + "), "Mul": joined("*"),
        "FloorDiv": joined("//"), "Pow": joined("**"), "Max": lambda *a: f"Max({', '.join(a)})",
        "Min": lambda *a: f"Min({', '.join(a)})", "Mod": lambda *a: f"Mod({', '.join(a)})",
        "PythonMod": lambda *a: f"PythonMod({', '.join(a)})",
    }
    return eval(text, {"__builtins__": {}}, calls)  # of the tree's own archives alone


def with_printed_sizes(value):
    if isinstance(value, dict):
        return {k: printed(v) if k == "expr_str" else with_printed_sizes(v) for k, v in value.items()}
    return [with_printed_sizes(v) for v in value] if isinstance(value, list) else value


def with_bare_numbers(value):
    """What is not finite as Python's json writes it by itself: no text."""
    if isinstance(value, dict):
        return {k: float(v) if k == "as_float" and isinstance(v, str) else with_bare_numbers(v) for k, v in value.items()}
    return [with_bare_numbers(v) for v in value] if isinstance(value, list) else value


def payloads(archive, root, config):
    """The tensors that a config names."""
    folder, tensors, datas = config[: config.rindex("/") + 1], collections.OrderedDict(), {}
    for name, entry in json.loads(archive.read(config))["config"].items():
        path, meta = entry["path_name"], entry["tensor_meta"]
        data = datas.setdefault(path, archive.read(folder + path))
        tensors[name] = Tensor(data, meta["dtype"], [s["as_int"] for s in meta["sizes"]],
                               [s["as_int"] for s in meta["strides"]], meta["storage_offset"]["as_int"],
                               entry["is_param"])
    return tensors


def in_layout(source, target, layout):
    old = zipfile.ZipFile(source)
    program = next(n for n in old.namelist() if "/models/" in n)
    root = program[: program.index("models/")]
    configs = {kind: f"{root}data/{kind}/model_{kind}_config.json" for kind in ("weights", "constants")}
    tensors = {kind: payloads(old, root, config) for kind, config in configs.items()}
    # The state dict of a module has an attribute: the versions of its parts.
    tensors["weights"]._metadata = collections.OrderedDict({"": {"version": 1}})
    graph = json.loads(old.read(program))
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as new:
        if layout == "pickled":
            kept = set(configs.values())
            for kind, config in configs.items():
                described = json.loads(old.read(config))
                for name, entry in described["config"].items():
                    entry["use_pickle"] = True
                    entry["path_name"] = f"pickled_{name}"
                    new.writestr(f"{root}data/{kind}/pickled_{name}", saved(tensors[kind][name]))
                new.writestr(config, json.dumps(described))
            for name in old.namelist():
                if name not in kept and "/weight_" not in name and "/tensor_" not in name:
                    new.writestr(name, old.read(name))
        elif layout == "2.8":
            for name in old.namelist():
                if not name.startswith((root + "data/weights/", root + "data/constants/")):
                    new.writestr(name, old.read(name))
            for kind in configs:
                new.writestr(f"{root}data/{kind}/model.pt", saved(tensors[kind]))
        else:
            graph["torch_version"] = layout + ".0"
            if layout == "2.5":
                graph = with_bare_numbers(with_printed_sizes(graph))
                graph["schema_version"] = {"major": 7, "minor": 3}
                del graph["guards_code"]
            new.writestr("serialized_exported_program.json", json.dumps(graph))
            new.writestr("serialized_state_dict.pt", saved(tensors["weights"]))
            new.writestr("serialized_constants.pt", saved(dict(tensors["constants"])))
            new.writestr("serialized_example_inputs.pt", saved(((), {})))
            new.writestr("version", ".".join(str(v) for v in graph["schema_version"].values()))
    return target
