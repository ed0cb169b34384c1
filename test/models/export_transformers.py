#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports transformers of the package `transformers` with both PyTorch exporters, without their weights.

    python3 export_transformers.py --output-dir test/models/graphs [--only bert,gpt2] [--full] [--check]

Needs torch, transformers, onnx, onnxscript, and for --check onnxruntime; no test needs them: the files it writes are
committed. Nothing is downloaded: configurations are written out here, weights are random. Models have few layers and
a small vocabulary, their widths are the real ones where that is affordable on a processor; --full makes the real
sizes instead. Batch and sequence are dynamic, with these names.

Files are as export.py makes them. Beside that, `parameter:<initializer>` among the model's metadata names the
module's parameter that an initializer is, with `.T` behind it where the exporter has transposed it.
"""

import argparse
import pathlib
import sys
import traceback
import warnings

import export

FEWEST_VALUES = 128  # a tensor of fewer is part of the graph (a rotary embedding's frequencies)


def make_bert(full):
    from transformers import BertConfig, BertModel
    return BertModel(BertConfig(**({} if full else dict(vocab_size=1000, num_hidden_layers=2, max_position_embeddings=128))))


LARGE = dict(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)


def make_bert_large(full):
    from transformers import BertConfig, BertModel
    few = dict(vocab_size=1000, num_hidden_layers=2, max_position_embeddings=512)
    return BertModel(BertConfig(**(LARGE if full else LARGE | few)))


def make_minilm(full):
    """all-MiniLM-L6-v2, whose weights minilm.py puts in: always of its real size."""
    from transformers import BertConfig, BertModel
    return BertModel(BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536),
                     add_pooling_layer=False)


def make_distilbert(full):
    from transformers import DistilBertConfig, DistilBertModel
    return DistilBertModel(DistilBertConfig(**({} if full else dict(vocab_size=1000, n_layers=2, max_position_embeddings=128))))


def make_gpt2(full):
    from transformers import GPT2Config, GPT2Model
    return GPT2Model(GPT2Config(**({} if full else dict(vocab_size=1000, n_layer=2, n_positions=128))))


def make_vit(full):
    from transformers import ViTConfig, ViTModel
    return ViTModel(ViTConfig(**({} if full else dict(num_hidden_layers=2))), add_pooling_layer=False)


def make_vit_large(full):
    from transformers import ViTConfig, ViTModel
    return ViTModel(ViTConfig(**(LARGE if full else LARGE | dict(num_hidden_layers=2))), add_pooling_layer=False)


def make_llama(full):
    from transformers import LlamaConfig, LlamaModel
    sizes = dict(hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, vocab_size=32000)
    few = dict(hidden_size=512, intermediate_size=1376, num_hidden_layers=2, vocab_size=1000, head_dim=16)
    return LlamaModel(LlamaConfig(num_attention_heads=32, num_key_value_heads=8, max_position_embeddings=4096,
                                  **(sizes if full else few)))


def wrappers():
    """Modules with tensors in and out, whatever objects a model of `transformers` takes and gives."""
    import torch
    from transformers import DynamicCache

    class Encoder(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask):
            return self.model(input_ids=input_ids, attention_mask=attention_mask, return_dict=False)[0]

    class Bert(Encoder):
        def forward(self, input_ids, attention_mask, token_type_ids):
            return self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids,
                              return_dict=False)[:2]

    class Sentence(Encoder):
        """The mean of the words that are there, of length 1: what the package sentence-transformers computes."""

        def forward(self, input_ids, attention_mask):
            hidden = self.model(input_ids=input_ids, attention_mask=attention_mask, return_dict=False)[0]
            there = attention_mask.unsqueeze(-1).to(hidden.dtype)
            mean = (hidden * there).sum(1) / there.sum(1).clamp(min=1e-9)
            return torch.nn.functional.normalize(mean, p=2.0, dim=1)

    class Decoder(Encoder):
        def forward(self, input_ids):
            return self.model(input_ids=input_ids, use_cache=False, return_dict=False)[0]

    class MaskedDecoder(Encoder):
        def forward(self, input_ids, attention_mask):
            return self.model(input_ids=input_ids, attention_mask=attention_mask, use_cache=False, return_dict=False)[0]

    class CachedDecoder(Encoder):
        """`past` is [key of layer 0, value of layer 0, key of layer 1, …]."""

        def forward(self, input_ids, *past):
            cache = DynamicCache()
            for layer in range(len(past) // 2):
                cache.update(past[2 * layer], past[2 * layer + 1], layer)
            out = self.model(input_ids=input_ids, past_key_values=cache, use_cache=True, return_dict=True)
            after = out.past_key_values
            present = []
            for layer in range(len(past) // 2):
                if hasattr(after, "layers"):
                    present += [after.layers[layer].keys, after.layers[layer].values]
                else:
                    present += [after.key_cache[layer], after.value_cache[layer]]
            return (out.last_hidden_state, *present)

    class Images(Encoder):
        def forward(self, pixel_values):
            return self.model(pixel_values=pixel_values, return_dict=False)[0]

    return dict(Encoder=Encoder, Bert=Bert, Sentence=Sentence, Decoder=Decoder, MaskedDecoder=MaskedDecoder,
                CachedDecoder=CachedDecoder, Images=Images)


IDS = ("batch", "sequence")
MASKED = {"input_ids": IDS, "attention_mask": IDS}
# name -> (how to make it, wrapper, inputs with their dims, outputs with their dims)
MODELS = {
    "bert": (make_bert, "Bert", {**MASKED, "token_type_ids": IDS},
             {"hidden": (*IDS, None), "pooled": ("batch", None)}),
    "bert-large": (make_bert_large, "Bert", {**MASKED, "token_type_ids": IDS},
                   {"hidden": (*IDS, None), "pooled": ("batch", None)}),
    "minilm": (make_minilm, "Sentence", MASKED, {"sentence_embedding": ("batch", None)}),
    "distilbert": (make_distilbert, "Encoder", MASKED, {"hidden": (*IDS, None)}),
    "gpt2": (make_gpt2, "Decoder", {"input_ids": IDS}, {"hidden": (*IDS, None)}),
    "gpt2-mask": (make_gpt2, "MaskedDecoder", MASKED, {"hidden": (*IDS, None)}),
    "gpt2-past": (make_gpt2, "CachedDecoder", {"input_ids": IDS}, {"hidden": (*IDS, None)}),
    "vit": (make_vit, "Images", {"pixel_values": ("batch", 3, 224, 224)}, {"hidden": ("batch", 197, None)}),
    "vit-large": (make_vit_large, "Images", {"pixel_values": ("batch", 3, 224, 224)}, {"hidden": ("batch", 197, None)}),
    "llama": (make_llama, "Decoder", {"input_ids": IDS}, {"hidden": (*IDS, None)}),
    "llama-mask": (make_llama, "MaskedDecoder", MASKED, {"hidden": (*IDS, None)}),
    "llama-past": (make_llama, "CachedDecoder", {"input_ids": IDS}, {"hidden": (*IDS, None)}),
}


def signature(name, model):
    """Inputs and outputs with their dims; those of a cache depend on the model's size."""
    _, _, ins, outs = MODELS[name]
    ins, outs = dict(ins), dict(outs)
    if name.endswith("-past"):
        config = model.config
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        depth = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        for layer in range(config.num_hidden_layers):
            for what in ("key", "value"):
                ins[f"past_{what}_{layer}"] = ("batch", heads, "past", depth)
                outs[f"present_{what}_{layer}"] = ("batch", heads, "total", depth)
    return ins, outs


def randomise(module):
    """Parameters alone: buffers (frequencies, masks) are part of what is computed."""
    import torch
    torch.manual_seed(7)
    with torch.no_grad():
        for name, value in module.named_parameters():
            if value.dim() >= 2:
                value.normal_(0.0, (1.0 / value.shape[-1]) ** 0.5)
            else:
                value.uniform_(-0.5, 0.5).add_(1.0 if name.endswith("weight") else 0.0)
    return module.eval()


def example(ins, sizes, vocabulary):
    """Tensors of these sizes by the names of their dims."""
    import torch
    arrays = {}
    for name, dims in ins.items():
        shape = [sizes[d] if isinstance(d, str) else d for d in dims]
        if name == "input_ids":
            arrays[name] = torch.randint(0, vocabulary, shape)
        elif name == "token_type_ids":
            arrays[name] = torch.randint(0, 2, shape)
        elif name == "attention_mask":
            arrays[name] = torch.ones(shape, dtype=torch.int64)
            arrays[name][0, -2:] = 0
        else:
            arrays[name] = torch.randn(shape)
    return arrays


def module_with_weights(path):
    """The PyTorch module that a file was exported from, with the file's weights."""
    import numpy
    import onnx
    import torch
    model = onnx.load(str(path))
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    found = {}
    for entry in model.metadata_props:
        if entry.key.startswith("parameter:"):
            value = onnx.numpy_helper.to_array(stored[entry.key.removeprefix("parameter:")])
            found[entry.value.removesuffix(".T")] = value.T if entry.value.endswith(".T") else value
    name = path.name.split(".")[0]
    make, wrapper, _, _ = MODELS[name.removesuffix("-full")]
    module = wrappers()[wrapper](make(name.endswith("-full")).eval()).eval()
    with torch.no_grad():
        for parameter, value in module.named_parameters():
            value.copy_(torch.from_numpy(numpy.array(found[parameter])))
    return module


def export_torchscript(module, ins, outs, arrays, path):
    import torch
    axes = {name: {i: d for i, d in enumerate(dims) if isinstance(d, str)} for name, dims in {**ins, **outs}.items()}
    torch.onnx.export(module, tuple(arrays.values()), str(path), dynamo=False, opset_version=17,
                      input_names=list(ins), output_names=list(outs), dynamic_axes=axes)


def dynamic_shapes(ins, named):
    import torch
    limits = {"batch": 64, "sequence": 128, "past": 127}
    dims = {d: torch.export.Dim(d, min=1, max=limits[d]) if named else torch.export.Dim.DYNAMIC for d in limits}
    shapes = [{i: dims[d] for i, d in enumerate(s) if isinstance(d, str)} for s in ins.values()]
    if "past_key_0" in ins:
        return (shapes[0], tuple(shapes[1:]))
    return tuple(shapes)


def export_dynamo(module, ins, outs, arrays, path, **options):
    """With named dims; where the exporter finds that they are not free, with dims that it names itself."""
    import torch
    for named in (True, False):
        try:
            torch.onnx.export(module, tuple(arrays.values()), str(path), dynamo=True, input_names=list(ins),
                              output_names=list(outs), dynamic_shapes=dynamic_shapes(ins, named), external_data=True,
                              **options)
            return
        except Exception as error:
            if not named:
                raise
            print(f"{path.name}: with named dims: {str(error)[:600]}", flush=True)


def export_dynamo_unoptimised(module, ins, outs, arrays, path):
    export_dynamo(module, ins, outs, arrays, path, optimize=False)


def export_dynamo_23(module, ins, outs, arrays, path):
    export_dynamo(module, ins, outs, arrays, path, opset_version=23)


# variant -> (exporter, how `transformers` computes attention)
VARIANTS = {
    "torchscript": (export_torchscript, "sdpa"),
    "torchscript-eager": (export_torchscript, "eager"),
    "dynamo": (export_dynamo, "sdpa"),
    "dynamo-eager": (export_dynamo, "eager"),
    "dynamo-opset23": (export_dynamo_23, "sdpa"),
    "dynamo-unoptimised": (export_dynamo_unoptimised, "sdpa"),
}


def parameter_notes(model, module):
    """initializer -> which parameter it is, found by its values"""
    import hashlib
    import numpy
    import onnx

    def digest(array):
        return array.shape, hashlib.blake2b(numpy.ascontiguousarray(array)).digest()

    names = {}
    for name, value in module.named_parameters():
        array = value.detach().numpy()
        names[digest(array)] = name
        if array.ndim == 2:
            names[digest(array.T)] = name + ".T"
    found = {t.name: names.get(digest(onnx.numpy_helper.to_array(t))) for t in model.graph.initializer}
    return {name: parameter for name, parameter in found.items() if parameter}


def check(module, ins, path, vocabulary):
    """The file, still with its weights, against PyTorch at sizes the exporter never saw."""
    import numpy
    import onnxruntime
    import torch
    arrays = example(ins, {"batch": 3, "sequence": 21, "past": 9}, vocabulary)
    with torch.no_grad():
        want = module(*arrays.values())
    want = want if isinstance(want, (tuple, list)) else [want]
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    got = session.run(None, {name: value.numpy() for name, value in arrays.items()})
    return max(float(numpy.sqrt(numpy.mean((g - w.numpy()) ** 2) / numpy.mean(w.numpy() ** 2))) for g, w in zip(got, want))


def export_one(name, variant, out, full, with_check):
    import onnx
    make, wrapper, _, _ = MODELS[name]
    exporter, attention = VARIANTS[variant]
    model = randomise(make(full))
    model.set_attn_implementation(attention)
    ins, outs = signature(name, model)
    module = wrappers()[wrapper](model).eval()
    vocabulary = getattr(model.config, "vocab_size", 0)
    stem = f"{name}{'-full' if full else ''}.{variant}"
    whole = out / (stem + ".whole.onnx")
    exporter(module, ins, outs, example(ins, {"batch": 2, "sequence": 16, "past": 5}, vocabulary), whole)
    try:
        error = check(module, ins, whole, vocabulary) if with_check else None
    except Exception as failure:
        error = f"(not checked: {str(failure)[:500]})"
    made = onnx.load(str(whole))
    for path in out.glob(whole.name + "*"):  # its weights lie beside it
        path.unlink()
    notes = parameter_notes(made, module)
    weight_bytes = export.strip(made, stem, fewest=FEWEST_VALUES)
    for name, parameter in notes.items():
        made.metadata_props.add(key="parameter:" + name, value=parameter)
    onnx.save(made, str(out / (stem + ".onnx")))
    size = (out / (stem + ".onnx")).stat().st_size
    ops = sorted({node.op_type for node in made.graph.node})
    opsets = {entry.domain or "ai.onnx": entry.version for entry in made.opset_import}
    shapes = [[d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
              for value in list(made.graph.input) + list(made.graph.output)]
    print(f"{stem}: {size} bytes, weights {weight_bytes} bytes, IR {made.ir_version}, {opsets}, "
          f"{len(made.graph.node)} nodes, {len(made.functions)} functions, error {error}, shapes {shapes}, ops {ops}",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output-dir", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", help="models, by name, with commas")
    parser.add_argument("--variants", default="", help="variants, by name, with commas")
    parser.add_argument("--full", action="store_true", help="the real sizes")
    parser.add_argument("--check", action="store_true", help="compare with PyTorch through onnxruntime")
    options = parser.parse_args()
    options.output_dir.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    names = [name for name in options.only.split(",") if name] or [name for name in MODELS if not name.endswith("-large")]
    variants = [name for name in options.variants.split(",") if name] or list(VARIANTS)
    failed = 0
    for name in names:
        for variant in variants:
            try:
                export_one(name, variant, options.output_dir, options.full, options.check)
            except Exception:  # one exporter's failure must not cost the other files
                failed += 1
                print(f"{name}.{variant}: FAILED\n{traceback.format_exc()[-3000:]}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
