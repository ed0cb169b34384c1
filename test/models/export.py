#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports the test models with both PyTorch exporters, without their weights.

Needs torch, torchvision, onnx and onnxscript (made with torch 2.11, torchvision 0.26); no test needs them: the files
it writes are committed. Every model has a dynamic first dimension named `batch`.

    python3 export.py --output-dir test/models/graphs [--only mlp,resnet50] [--check]

A committed file is the exported graph with the data of its weights taken out: a stripped initializer keeps its name,
shape and type and says `data_location = EXTERNAL`, with its place in `<file stem>.weights`. `weights.py` writes that
file from a seed, so the pair is an ordinary ONNX model with external data. Small constants (shapes, clip bounds, the
1/6 of a hard sigmoid: integers and scalars) stay inside, they are part of the graph.

All parameters and buffers are set to random values before the export: an exporter shares equal initializers, and the
zeros and ones of a fresh batch-norm would all become one.
"""

import argparse
import pathlib
import sys
import traceback
import warnings

ALIGNMENT = 64  # bytes; what a mapped weight wants
KEEP_METADATA = ("pkg.torch.onnx.name_scopes",)  # the module a node comes from


def make_mlp():
    import torch
    return torch.nn.Sequential(
        torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))


def make_resnet50():
    import torchvision
    return torchvision.models.resnet50(weights=None)


def make_mobilenet_v3_large():
    import torchvision
    return torchvision.models.mobilenet_v3_large(weights=None)


# name -> (how to make it, shape of one input without the batch)
MODELS = {
    "mlp": (make_mlp, (64,)),
    "resnet50": (make_resnet50, (3, 224, 224)),
    "mobilenet_v3_large": (make_mobilenet_v3_large, (3, 224, 224)),
}


def randomise(module):
    """Random values everywhere, of a size that keeps activations finite."""
    import torch
    torch.manual_seed(7)
    with torch.no_grad():
        for name, value in list(module.named_parameters()) + list(module.named_buffers()):
            if not value.is_floating_point():
                continue
            if name.endswith("running_var"):
                value.uniform_(0.5, 1.5)
            elif value.dim() >= 2:
                fan_in = value[0].numel()
                value.normal_(0.0, (2.0 / fan_in) ** 0.5)
            else:
                value.uniform_(-0.5, 0.5).add_(1.0 if name.endswith("weight") else 0.0)
    return module.eval()


def export_torchscript(module, shape, path, **options):
    import torch
    torch.onnx.export(
        module, (torch.randn(2, *shape),), str(path), dynamo=False, opset_version=17, input_names=["input"],
        output_names=["output"], dynamic_axes={"input": {0: "batch"}, "output": {0: "batch"}}, **options)


def export_torchscript_batchnorm(module, shape, path):
    """The default folds batch-norms into convolutions; this keeps them as nodes."""
    import torch
    export_torchscript(module, shape, path, training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)


def export_dynamo(module, shape, path, **options):
    import torch
    batch = torch.export.Dim("batch", min=1, max=1024)
    torch.onnx.export(
        module, (torch.randn(2, *shape),), str(path), dynamo=True, input_names=["input"], output_names=["output"],
        dynamic_shapes=({0: batch},), external_data=False, **options)


def export_dynamo_unoptimised(module, shape, path):
    """Before the exporter's own optimiser: what torch.export gives, decomposed."""
    export_dynamo(module, shape, path, optimize=False)


# (model, name of the variant, exporter)
EXPORTS = [
    ("mlp", "torchscript", export_torchscript),
    ("mlp", "dynamo", export_dynamo),
    ("resnet50", "torchscript", export_torchscript),
    ("resnet50", "dynamo", export_dynamo),
    ("resnet50", "torchscript-batchnorm", export_torchscript_batchnorm),
    ("mobilenet_v3_large", "torchscript", export_torchscript),
    ("mobilenet_v3_large", "dynamo", export_dynamo),
    ("mobilenet_v3_large", "dynamo-unoptimised", export_dynamo_unoptimised),
]


def is_weight(tensor, fewest):
    """Floating-point, of rank one or more and of so many values."""
    import onnx
    floats = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE, onnx.TensorProto.BFLOAT16)
    count = 1
    for dim in tensor.dims:
        count *= dim
    return tensor.data_type in floats and len(tensor.dims) >= 1 and count >= fewest


def strip(model, stem, fewest=2):
    """Takes the data of the weights out; returns how many bytes they had."""
    import onnx
    offset = 0
    for tensor in model.graph.initializer:
        if not is_weight(tensor, fewest):
            continue
        data = onnx.numpy_helper.to_array(tensor)
        for field in ("raw_data", "float_data", "double_data", "int32_data"):
            tensor.ClearField(field)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        del tensor.external_data[:]
        offset = (offset + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        for key, value in (("location", stem + ".weights"), ("offset", offset), ("length", data.nbytes)):
            entry = tensor.external_data.add()
            entry.key, entry.value = key, str(value)
        offset += data.nbytes
    drop_notes(model)
    return offset


def drop_notes(model):
    """Stack traces and the like name files of the exporting machine."""
    holders = list(model.graph.node) + list(model.graph.value_info) + list(model.graph.input)
    holders += list(model.graph.output) + list(model.graph.initializer) + [model.graph, model]
    for function in model.functions:
        holders += [function] + list(function.node)
    for holder in holders:
        if holder.DESCRIPTOR.fields_by_name.get("doc_string"):
            holder.ClearField("doc_string")
        if holder.DESCRIPTOR.fields_by_name.get("metadata_props"):
            kept = [(p.key, p.value) for p in holder.metadata_props if p.key in KEEP_METADATA]
            del holder.metadata_props[:]
            for key, value in kept:
                holder.metadata_props.add(key=key, value=value)


def check(module, shape, path):
    """The file, still with its weights, against PyTorch at a batch size the exporter never saw."""
    import numpy
    import onnxruntime
    import torch
    x = torch.randn(3, *shape)
    with torch.no_grad():
        want = module(x).numpy()
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (got,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    return numpy.sqrt(numpy.mean((got - want) ** 2) / numpy.mean(want ** 2))


def export_one(name, variant, exporter, out, with_check):
    import onnx
    make, shape = MODELS[name]
    module = randomise(make())
    stem = f"{name}.{variant}"
    full = out / (stem + ".full.onnx")
    exporter(module, shape, full)
    error = check(module, shape, full) if with_check else None
    model = onnx.load(str(full))
    full.unlink()
    weight_bytes = strip(model, stem)
    onnx.save(model, str(out / (stem + ".onnx")))
    size = (out / (stem + ".onnx")).stat().st_size
    ops = sorted({node.op_type for node in model.graph.node})
    opsets = {entry.domain or "ai.onnx": entry.version for entry in model.opset_import}
    print(f"{stem}: {size} bytes, weights {weight_bytes} bytes, IR {model.ir_version}, {opsets}, "
          f"{len(model.graph.node)} nodes, {len(model.functions)} functions, error {error}, ops {ops}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output-dir", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", help="models, by name, with commas")
    parser.add_argument("--check", action="store_true", help="compare with PyTorch through onnxruntime")
    options = parser.parse_args()
    options.output_dir.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    only = [name for name in options.only.split(",") if name]
    failed = 0
    for name, variant, exporter in EXPORTS:
        if only and name not in only:
            continue
        try:
            export_one(name, variant, exporter, options.output_dir, options.check)
        except Exception:  # one exporter's failure must not cost the other files
            failed += 1
            print(f"{name}.{variant}: FAILED\n{traceback.format_exc()}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
