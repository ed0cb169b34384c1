#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Saves networks of torchvision, timm and transformers as TorchScript without their weights. Runs where PyTorch is.

    export_script_zoo.py --out FOLDER [NAME …]

Writes FOLDER/zoo.tar: NAME.pt, whose float storages of more than 64 elements are left out, and NAME.npz with the inputs
(integers, or the seeds of floats: in0_seed, in0_shape), the first 256 values of each output, their shapes and how far
another input moves them (out0, out0_shape, out0_moves, …), and for each storage that was left out its file, element count, lowest and highest value: script.py
draws it again from these and the file's name. What PyTorch computed, it computed with the weights so drawn.
"""
import argparse
import io
import math
import pathlib
import pickle
import sys
import tarfile
import time
import zipfile
import zlib

import numpy as np
import torch


def drawn(file, count, low, high):
    generator = np.random.Generator(np.random.PCG64([2, zlib.crc32(file.encode())]))
    return (low + (high - low) * generator.random(count)).astype(np.float32)


def image(name, *shape):
    generator = np.random.Generator(np.random.PCG64([7, zlib.crc32(name.encode())]))
    return torch.from_numpy(generator.standard_normal(shape).astype(np.float32))


def vision(name, how, size=96, **options):
    def make():
        import torchvision
        return torchvision.models.get_model(name, weights=None, **options), how, (image(f"tv_{name}", 2, 3, size, size),)
    return make


def segmentation(name):
    def make():
        import torchvision
        model = torchvision.models.get_model(name, weights=None, weights_backbone=None, num_classes=5)
        return model, "script", (image(f"tv_{name}", 1, 3, 96, 96),)
    return make


def timm_model(name, how, size):
    def make():
        import timm
        return timm.create_model(name, scriptable=how == "script"), how, (image(f"timm_{name}", 1, 3, size, size),)
    return make


def language(config, model, **options):
    def make():
        import transformers
        settings = getattr(transformers, config)(torchscript=True, vocab_size=100, attn_implementation="eager", **options)
        ids = torch.arange(24).reshape(2, 12) * 7 % 100
        return getattr(transformers, model)(settings), "trace", (ids,)
    return make


SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
ZOO = {
    "tv_resnet18": vision("resnet18", "script"), "tv_resnet18_traced": vision("resnet18", "trace"),
    "tv_mobilenet_v3_small": vision("mobilenet_v3_small", "script"),
    "tv_efficientnet_b0": vision("efficientnet_b0", "script"),
    "tv_shufflenet_v2_x0_5": vision("shufflenet_v2_x0_5", "script"),
    "tv_squeezenet1_1": vision("squeezenet1_1", "script"), "tv_mnasnet0_5": vision("mnasnet0_5", "trace"),
    "tv_densenet121": vision("densenet121", "trace"), "tv_googlenet": vision("googlenet", "script", aux_logits=False),
    "tv_regnet_y_400mf": vision("regnet_y_400mf", "script"), "tv_convnext_tiny": vision("convnext_tiny", "script"),
    "tv_vit_b_32": vision("vit_b_32", "script", 224), "tv_vit_b_32_traced": vision("vit_b_32", "trace", 224),
    "tv_swin_t": vision("swin_t", "script", 224), "tv_swin_t_traced": vision("swin_t", "trace", 224),
    "tv_lraspp": segmentation("lraspp_mobilenet_v3_large"), "tv_deeplab": segmentation("deeplabv3_mobilenet_v3_large"),
    "timm_mixer": timm_model("mixer_s32_224", "script", 224),
    "timm_convnextv2": timm_model("convnextv2_atto", "script", 96),
    "timm_vit": timm_model("deit_tiny_patch16_224", "script", 224),
    "hf_bert": language("BertConfig", "BertModel", **SMALL),
    "hf_distilbert": language("DistilBertConfig", "DistilBertModel", dim=64, n_layers=2, n_heads=4, hidden_dim=128),
    "hf_gpt2": language("GPT2Config", "GPT2LMHeadModel", n_embd=64, n_layer=2, n_head=4, use_cache=False),
    "hf_t5_encoder": language("T5Config", "T5EncoderModel", d_model=64, num_layers=2, num_heads=4, d_ff=128, d_kv=16),
    "hf_llama": language("LlamaConfig", "LlamaForCausalLM", num_key_value_heads=2, use_cache=False, **SMALL),
}


def storages(pickled):
    """Files of storages of floats, as the pickle names them."""
    found = {}

    class Anything:
        def __setstate__(self, state):
            pass

    class Reader(pickle.Unpickler):
        def persistent_load(self, place):
            if place[1] == "FloatStorage":
                found[place[2]] = place[4]

        def find_class(self, module, name):
            if module == "torch" and name.endswith("Storage"):
                return name
            return Anything if module.startswith("__torch__") else lambda *_: {}

    Reader(io.BytesIO(pickled)).load()
    return found


def rewrite(data, arrays):
    """The archive with new storages, and the one without them."""
    source = zipfile.ZipFile(io.BytesIO(data))
    root = source.namelist()[0].split("/")[0] + "/"
    left_out, whole, short = {}, io.BytesIO(), io.BytesIO()
    for folder in ("data", "constants"):
        if root + folder + ".pkl" not in source.namelist():
            continue
        for key, count in storages(source.read(root + folder + ".pkl")).items():
            values = np.frombuffer(source.read(f"{root}{folder}/{key}"), np.float32)
            if count <= 64 or len(values) != count:
                continue
            mean, spread, least = float(values.mean()), float(values.std()) * math.sqrt(3), float(values.min())
            low, high = mean - spread, mean + spread
            left_out[f"{folder}/{key}"] = (count, max(low, least) if least >= 0 else low, high)
    with zipfile.ZipFile(whole, "w") as full, zipfile.ZipFile(short, "w", zipfile.ZIP_DEFLATED) as part:
        for name in source.namelist():
            file = name[len(root):]
            if file in left_out:
                full.writestr(name, drawn(file, *left_out[file]).tobytes())
            elif not file.endswith(".debug_pkl"):
                full.writestr(name, source.read(name))
                part.writestr(zipfile.ZipInfo(name), source.read(name),
                              zipfile.ZIP_DEFLATED if file.endswith(".py") else zipfile.ZIP_STORED)
    arrays["files"] = np.array(list(left_out))
    arrays["ranges"] = np.array([left_out[file] for file in left_out], np.float64).reshape(-1, 3)
    return whole.getvalue(), short.getvalue()


def flat(v):
    if isinstance(v, torch.Tensor):
        return [v.detach().numpy()]
    if isinstance(v, dict):
        v = list(v.values())
    return [a for e in v for a in flat(e)] if isinstance(v, (list, tuple)) else []


def enliven(model, inputs):
    """Lets each layer matter to the outputs: no weight is zero, and batch norm has the statistics of a real input."""
    norms = [m for m in model.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    with torch.no_grad():
        for value in model.parameters():
            if value.is_floating_point() and (value == value.flatten()[0]).all():
                value.add_(torch.empty_like(value).uniform_(-0.2, 0.2))
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None
        if norms:
            model.train()
            model(*(torch.randn(8, *value.shape[1:]) for value in inputs))
    return model.eval()


def other(value):
    """Another input, to see that the outputs follow it."""
    return value * 0.5 + 0.3 if value.is_floating_point() else (value + 3) % 100


def save(name):
    torch.manual_seed(7)
    model, how, inputs = ZOO[name]()
    model = enliven(model, inputs)
    with torch.no_grad():
        script = torch.jit.trace(model, inputs, strict=False) if how == "trace" else torch.jit.script(model)
        text, arrays = io.BytesIO(), {}
        torch.jit.save(script, text)
        whole, short = rewrite(text.getvalue(), arrays)
    for place, value in enumerate(inputs):
        if value.dtype == torch.float32:
            arrays[f"in{place}_seed"] = name.removesuffix("_traced")
            arrays[f"in{place}_shape"] = np.array(value.shape)
            seeded = image(name.removesuffix("_traced"), *value.shape)
            inputs = tuple(seeded if i == place else v for i, v in enumerate(inputs))
        else:
            arrays[f"in{place}"] = value.numpy()
    with torch.no_grad():
        script = torch.jit.load(io.BytesIO(whole))
        results, others = (flat(script(*given)) for given in (inputs, tuple(other(value) for value in inputs)))
    for place, (value, moved) in enumerate(zip(results, others)):
        arrays[f"out{place}_moves"] = move = np.sqrt(np.mean((moved.astype(np.float64) - value) ** 2))
        if not move > 1e-3 * np.sqrt(np.mean(value.astype(np.float64) ** 2)):
            raise ValueError(f"output {place} hardly follows the input: it moves by {move:.1e}")
        arrays[f"out{place}"] = value.reshape(-1)[:256]
        arrays[f"out{place}_shape"] = np.array(value.shape)
    values = io.BytesIO()
    np.savez_compressed(values, **arrays)
    return short, values.getvalue()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=float, default=1e9, help="no new model is begun after these")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    begun = time.monotonic()
    with tarfile.open(options.out / "zoo.tar", "w") as tar:
        for name in options.names or ZOO:
            if time.monotonic() - begun > options.seconds:
                print(f"{name}: no time left", file=sys.stderr)
                continue
            try:
                saved = save(name)
            except Exception as fault:  # PyTorch raises what it likes
                print(f"{name}: {type(fault).__name__}: {str(fault)[:300]}", file=sys.stderr)
                continue
            for ending, data in zip(("pt", "npz"), saved):
                entry = tarfile.TarInfo(f"{name}.{ending}")
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
            print(f"{name}: {len(saved[0])} bytes, {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
