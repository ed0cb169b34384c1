# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cuts a graph that fails down to few nodes that still fail: for random_graphs.py --reduce.

Tried, as long as something helps: one output alone; a value in the middle made an input, which then gets what onnxruntime
computed for it; a node left out where one of its inputs has its result's sizes.
"""

import dataclasses

import onnx
import onnx.numpy_helper
from onnx import helper


def producers(model):
    return {name: node for node in model.graph.node for name in node.output}


def pruned(model, outputs, inputs):
    """The model with these outputs and only what they need; `inputs` are made inputs in the place of nodes."""
    made, by_name, needed = onnx.ModelProto(), producers(model), set()
    made.CopyFrom(model)
    given, waiting = {value.name for value in inputs}, [value.name for value in outputs]
    while waiting:
        name = waiting.pop()
        if name in needed or not name:
            continue
        needed.add(name)
        if name not in given and name in by_name:
            waiting += by_name[name].input
    graph = made.graph
    nodes = [n for n in model.graph.node if any(name in needed and name not in given for name in n.output)]
    stored = [w for w in model.graph.initializer if w.name in needed and w.name not in given]
    taken = [v for v in (*model.graph.input, *inputs) if v.name in needed]
    for field, kept in ((graph.node, nodes), (graph.initializer, stored), (graph.input, taken), (graph.output, list(outputs))):
        kept = [type(each).FromString(each.SerializeToString()) for each in kept]
        del field[:]
        field.extend(kept)
    return made


def all_values(model, feeds, run):
    """name -> its arrays, one for each feed."""
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    del shown.graph.output[:]
    shown.graph.output.extend(onnx.ValueInfoProto(name=name) for node in model.graph.node for name in node.output)
    results = [run(shown, feed) for _, feed in feeds]
    return {name: [result[name] for result in results] for name in results[0]}


class Reduction:
    def __init__(self, case, run, fails):
        """`run` is the reference; `fails` says what is wrong with a case."""
        self.case, self.run, self.fails = case, run, fails

    def accept(self, model, feeds):
        case = dataclasses.replace(self.case, model=model, feeds=feeds)
        names = {value.name for value in model.graph.input}
        case.feeds = [(sizes, {name: array for name, array in feed.items() if name in names}) for sizes, feed in feeds]
        if not model.graph.node or not names:
            return False
        try:
            if not self.fails(case):
                return False
        except Exception:  # onnxruntime does not take it
            return False
        self.case = case
        return True

    def one_output(self):
        model, feeds = self.case.model, self.case.feeds
        outputs = list(model.graph.output)
        return len(outputs) > 1 and any(self.accept(pruned(model, [each], []), feeds) for each in outputs)

    def one_feed(self):
        return len(self.case.feeds) > 1 and any(self.accept(self.case.model, [feed]) for feed in self.case.feeds)

    def fixed_sizes(self):
        """Dims made numbers, where one feed is left."""
        model = onnx.ModelProto()
        model.CopyFrom(self.case.model)
        if len(self.case.feeds) > 1 or not any(d.dim_param for v in model.graph.input for d in v.type.tensor_type.shape.dim):
            return False
        for value in model.graph.input:
            for dim, size in zip(value.type.tensor_type.shape.dim, self.case.feeds[0][1][value.name].shape):
                dim.dim_value = size
        return self.accept(model, self.case.feeds)

    def dims_of(self, arrays):
        """How an input of these sizes is declared; none where a size is no dim of the model."""
        known = {tuple(sizes[name] for sizes, _ in self.case.feeds): name for name in ("n", "m")}
        dims = []
        for sizes in zip(*(array.shape for array in arrays)):
            one = len(set(sizes)) == 1
            if not one and sizes not in known:
                return None
            dims.append(sizes[0] if one else known[sizes])
        return dims

    def values_as_inputs(self):
        model, feeds = self.case.model, self.case.feeds
        values = all_values(model, feeds, self.run)
        for node in reversed(model.graph.node):
            for name in node.output:
                arrays = values.get(name)
                dims = arrays and self.dims_of(arrays)
                if dims is None or name in {o.name for o in model.graph.output}:
                    continue
                kind = helper.np_dtype_to_tensor_dtype(arrays[0].dtype)
                made = pruned(model, model.graph.output, [helper.make_tensor_value_info(name, kind, dims)])
                more = [(sizes, {**feed, name: array}) for (sizes, feed), array in zip(feeds, arrays)]
                if self.accept(made, more):
                    return True
        return False

    def nodes_left_out(self):
        model, feeds = self.case.model, self.case.feeds
        values = all_values(model, feeds, self.run)
        values.update({name: [feed[name] for _, feed in feeds] for name in feeds[0][1]})
        for node in model.graph.node:
            shapes = [array.shape for array in values[node.output[0]]]
            for name in node.input:
                same = name in values and [array.shape for array in values[name]] == shapes
                if not same or values[name][0].dtype != values[node.output[0]][0].dtype or node.output[0] in {o.name for o in model.graph.output}:
                    continue
                made = onnx.ModelProto()
                made.CopyFrom(model)
                made.graph.node.remove(node)
                for other in made.graph.node:
                    other.input[:] = [name if each == node.output[0] else each for each in other.input]
                if self.accept(pruned(made, made.graph.output, []), feeds):
                    return True
        return False

    def reduced(self):
        steps = (self.one_output, self.one_feed, self.fixed_sizes, self.values_as_inputs, self.nodes_left_out)
        while any(step() for step in steps):
            pass
        return self.case


def text(model):
    """The graph, a line a node."""
    def sizes(value):
        return ", ".join(str(d.dim_param or d.dim_value) for d in value.type.tensor_type.shape.dim)

    lines = [f"    {v.name}: [{sizes(v)}]" for v in model.graph.input]
    small = {w.name: onnx.numpy_helper.to_array(w) for w in model.graph.initializer}
    for node in model.graph.node:
        shown = [f"{n}={small[n].tolist()}" if n in small and small[n].size <= 6 else f"{n}{list(small[n].shape)}" if n in small else n
                 for n in node.input]
        attributes = ", ".join(f"{a.name}={helper.get_attribute_value(a)}" for a in node.attribute)
        lines.append(f"    {', '.join(node.output)} = {node.op_type}({', '.join(shown)}) {attributes}")
    return "\n".join(lines + ["    -> " + ", ".join(o.name for o in model.graph.output)])
