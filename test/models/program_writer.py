# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes archives of torch.export as PyTorch 2.9 and newer lay them out, with numpy alone.

    p = Program()
    x = p.input("x", ("s0", 4))
    y = p.node("aten.relu.default", {"self": x}, [("f4", ("s0", 4))])[0]
    p.output(y)
    p.save("relu.pt2")

A size is a number, a symbol's name, or an expression as sympy writes it. Values are Ref; a list of them is a list of
tensors; Type("f4") is a scalar type; a Graph as an argument is a subgraph. Arguments of higher-order operators have no
names: they are given as a list.
"""
import json
import zipfile

import numpy as np

TYPES = {"u1": 1, "i1": 2, "i2": 3, "i4": 4, "i8": 5, "f2": 6, "f4": 7, "f8": 8, "c8": 10, "?": 12, "bf": 13}


class Ref(str):
    """A value by its name."""


class Number(str):
    """A symbolic number by its name."""


class Real(str):
    """A real number that the program computes from its sizes, by its name."""


class Type(str):
    pass


def size(value):
    if isinstance(value, int):
        return {"as_int": value}
    text = f"Symbol('{value}', positive=True, integer=True)" if value.isalnum() else value
    return {"as_expr": {"expr_str": text, "hint": None}}


def meta(type, shape):
    strides, step = [], 1
    for n in reversed(shape):
        strides.insert(0, step)
        step = step * n if isinstance(n, int) and isinstance(step, int) else 1
    return {"dtype": TYPES[type], "sizes": [size(n) for n in shape], "requires_grad": False,
            "device": {"type": "cpu", "index": None}, "strides": [size(n) for n in strides],
            "storage_offset": {"as_int": 0}, "layout": 7}


def argument(value):
    if value is None:
        return {"as_none": True}
    if isinstance(value, Ref):
        return {"as_tensor": {"name": value}}
    if isinstance(value, Number):
        return {"as_sym_int": {"as_name": value}}
    if isinstance(value, Real):
        return {"as_sym_float": {"as_name": value}}
    if isinstance(value, Type):
        return {"as_scalar_type": TYPES[value]}
    if isinstance(value, Graph):
        return {"as_graph": {"name": "graph", "graph": value.described()}}
    if isinstance(value, bool):
        return {"as_bool": value}
    if isinstance(value, int):
        return {"as_int": value}
    if isinstance(value, float):
        return {"as_float": {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(str(value), value)}
    if isinstance(value, str):
        return {"as_string": value}
    if all(isinstance(v, Ref) for v in value):
        return {"as_tensors": [{"name": v} for v in value]}
    if all(v is None or isinstance(v, Ref) for v in value):
        return {"as_optional_tensors": [{"as_none": True} if v is None else {"as_tensor": {"name": v}} for v in value]}
    if all(isinstance(v, int) and not isinstance(v, Number) for v in value):
        return {"as_ints": list(value)}
    return {"as_sym_ints": [{"as_name": v} if isinstance(v, Number) else {"as_int": v} for v in value]}


class Graph:
    count = 0

    def __init__(self):
        self.inputs, self.outputs, self.nodes, self.tensors, self.numbers, self.conditions = [], [], [], {}, {}, {}

    def add_input(self, name, type, shape):
        self.inputs.append(name)
        self.tensors[name] = meta(type, shape)
        return Ref(name)

    def input(self, shape, type="f4"):
        Graph.count += 1
        return self.add_input(f"arg{Graph.count}_1", type, shape)

    def fresh(self, target):
        Graph.count += 1
        return f"{target.split('.')[-2]}_{Graph.count}"

    def node(self, target, arguments, results):
        """`results`: a type and a shape each; their values."""
        values = []
        for type, shape in results:
            name = self.fresh(target)
            self.tensors[name] = meta(type, shape)
            values.append(Ref(name))
        self.add(target, arguments, [{"as_tensor": {"name": v}} for v in values])
        return values

    def number(self, target, arguments, expression):
        """A node that gives a symbolic number."""
        name = self.fresh(target)
        self.numbers[name] = size(expression)
        self.add(target, arguments, [{"as_sym_int": {"as_name": name}}])
        return Number(name)

    def real(self, target, arguments):
        """A node that gives a real number of sizes."""
        name = self.fresh(target)
        self.add(target, arguments, [{"as_sym_float": {"as_name": name}}])
        return Real(name)

    def add(self, target, arguments, outputs):
        pairs = arguments.items() if isinstance(arguments, dict) else [("", a) for a in arguments]
        self.nodes.append({
            "target": target if target.startswith(("_operator", "math", "torch.")) else "torch.ops." + target,
            "inputs": [{"name": n, "arg": argument(a), "kind": 1} for n, a in pairs], "outputs": outputs,
            "metadata": {"stack_trace": f'File "model.py", line {len(self.nodes) + 1}, in forward\n    {target}'},
            "is_hop_single_tensor_return": None, "name": None})

    def output(self, value):
        self.outputs.append(value)

    def described(self):
        return {"inputs": [{"as_tensor": {"name": n}} for n in self.inputs],
                "outputs": [{"as_tensor": {"name": n}} for n in self.outputs], "nodes": self.nodes,
                "tensor_values": self.tensors, "sym_int_values": self.numbers,
                "sym_bool_values": {n: {"as_expr": {"expr_str": e, "hint": None}} for n, e in self.conditions.items()},
                "is_single_tensor_return": False, "custom_obj_values": {}, "sym_float_values": {}}


class Program(Graph):
    def __init__(self, ranges=None, guards=(), dims=None):
        super().__init__()
        self.dims = dims  # names of inputs' dims
        self.ranges, self.guards, self.weights, self.users = ranges or {}, list(guards), {}, []

    def input(self, name, shape, type="f4"):
        self.users.append(name)
        return self.add_input(name, type, shape)

    def weight(self, name, array):
        value = "p_" + name.replace(".", "_")
        self.weights[name] = (value, np.ascontiguousarray(array))
        self.tensors[value] = meta(array.dtype.str.lstrip("<|").replace("b1", "?"), array.shape)
        return Ref(value)

    def save(self, path):
        held = [value for value, _ in self.weights.values()]
        specs = [{"buffer": {"arg": {"name": value}, "buffer_name": name, "persistent": True}}
                 for name, (value, _) in self.weights.items()]
        specs += [{"user_input": {"arg": {"as_tensor": {"name": n}}}} for n in self.users]
        self.inputs = held + self.users
        leaf = {"type": None, "context": None, "children_spec": []}
        spec = leaf if len(self.outputs) == 1 else {"type": "builtins.tuple", "context": "null",
                                                    "children_spec": [leaf] * len(self.outputs)}
        program = {
            "graph_module": {
                "graph": self.described(),
                "signature": {"input_specs": specs,
                              "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": n}}}} for n in self.outputs]},
                "module_call_graph": [{"fqn": "", "signature": {"inputs": [], "outputs": [], "in_spec": "",
                                                                "out_spec": json.dumps([1, spec])}}]},
            "opset_version": {"aten": 10}, "schema_version": {"major": 8, "minor": 17}, "verifiers": ["TRAINING"],
            "range_constraints": {n: {"min_val": low, "max_val": high} for n, (low, high) in self.ranges.items()},
            "torch_version": "2.11.0", "guards_code": self.guards}
        config = {name: {"path_name": f"weight_{i}", "is_param": False, "use_pickle": False,
                         "tensor_meta": self.tensors[value]} for i, (name, (value, _)) in enumerate(self.weights.items())}
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
            for i, (_, array) in enumerate(self.weights.values()):
                archive.writestr(f"archive/data/weights/weight_{i}", array.tobytes())
            archive.writestr("archive/data/weights/model_weights_config.json", json.dumps({"config": config}))
            archive.writestr("archive/models/model.json", json.dumps(program))
            if self.dims:
                archive.writestr("archive/extra/kpc_dims.json", json.dumps(self.dims))
            for name, text in (("archive_format", "pt2"), ("archive_version", "0"), ("byteorder", "little")):
                archive.writestr("archive/" + name, text)
