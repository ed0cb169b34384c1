# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The families of GPU kernels, and whole networks, that tools/gpu-check measures, each a step of it. To add one, add a row to FAMILIES."""

import dataclasses

TIMES = (("kpc, us", "{kpc:.1f}"),)
MEMORY_OF_NETWORKS = (  # see network_memory.py
    ("device, MiB: kpc", "{kpc_device:.0f}"), ("eager", "{eager_device:.0f}"), ("torch.compile", "{compile_device:.0f}"),
    ("kpc / PyTorch", "{device_ratio:.2f}"),
    ("without context: kpc", "{kpc_own:.0f}"), ("kpc, 16 bits in and out", "{kpc16_own:.0f}"), ("eager", "{eager_own:.0f}"),
    ("torch.compile", "{compile_own:.0f}"), ("kpc / PyTorch", "{own_ratio:.2f}"), ("16 bits / PyTorch", "{own16_ratio:.2f}"),
    ("allocator: eager", "{eager_allocated:.0f}"), ("torch.compile", "{compile_allocated:.0f}"),
    ("kpc without context / allocator", "{allocated_ratio:.2f}"))


@dataclasses.dataclass(frozen=True)
class Family:
    name: str  # NAME.py writes its cases, time_NAME.py measures them
    what: str  # for --help
    peer: str
    case: str  # the first column of its table: how a case is called there
    columns: tuple  # header and format of the others, over what time_NAME.py notes of a case
    checked: str  # the small cases for compute-sanitizer: a regular expression of 'purpose name'
    options: tuple = ()  # further options of gpu_check.py that NAME.py takes



FAMILIES = (
    Family("products", "matrix products", "cuBLAS", "{name}",
           (*TIMES, ("cuBLAS, us", "{cublas:.1f}"), ("cuBLAS / kpc", "{ratio:.3f}"), ("TFLOP/s", "{tflops:.0f}")),
           r"small (17x72x40|129x136x200|200x333x517|70x200x5000)\.bf16$|small 136x136x200\.bf16\.turned"),
    Family("gemv", "products of few rows, weights from memory (cold) and from the second cache (warm)", "cuBLAS", "{name}",
           (("cold: kpc, us", "{cold[kpc]:.1f}"), ("cuBLAS, us", "{cold[cublas]:.1f}"), ("cuBLAS / kpc", "{cold[ratio]:.2f}"),
            ("warm: kpc, us", "{warm[kpc]:.1f}"), ("cuBLAS, us", "{warm[cublas]:.1f}"), ("cuBLAS / kpc", "{warm[ratio]:.2f}")),
           r"small (3x264x40|16x1000x48)\.bf16|small 5x520x72"),
    Family("convolutions", "convolutions, channels last", "cuDNN", "{name}",
           (*TIMES, ("cuDNN, us", "{cudnn:.1f}"), ("cuDNN / kpc", "{ratio:.3f}"), ("cuDNN joined, us", "{fused:.1f}"),
            ("TFLOP/s", "{tflops:.0f}")),
           r"small (3x7x9x72|2x9x11x24|3x30x30x3|2x50x64|3x10x7x72)\."),
    Family("attention", "attention", "cuDNN", "{name}",
           (*TIMES, ("cuDNN, us", "{cudnn:.1f}"), ("cuDNN / kpc", "{ratio:.3f}"), ("TFLOP/s", "{rate:.0f}")),
           r"small (b2h2s129d(64|128)(\.causal)?|b1h3s191d64t193|b2h4s130d64t201g2\.(bool|float))$"),
    Family("decode", "attention of few queries, keys and values from memory", "cuDNN", "{name}",
           (*TIMES, ("cuDNN, us", "{cudnn:.1f}"), ("cuDNN / kpc", "{ratio:.3f}"), ("GB/s", "{rate:.0f}")),
           r"small (b2h6s(1|8)d(72|128)t|b5h40|b3h8s3d64t777g4\.bool)"),
    Family("neighbours", "two products with odd sizes between them", "the nearest round size, PyTorch", "{name}",
           (*TIMES, ("round, us", "{round_us:.1f}"), ("round / kpc", "{ratio:.3f}"), ("PyTorch, us", "{torch:.1f}")), r"small"),
    Family("rows", "softmax, norms and chains of elementwise operations", "a copy of the same bytes, PyTorch", "{name}",
           (*TIMES, ("copy, us", "{copy:.1f}"), ("copy / kpc", "{ratio:.3f}"), ("PyTorch, us", "{torch:.1f}"), ("GB/s", "{gbps:.0f}")),
           r"small (softmax\.129x33|softmax\.2x17000|norm_residual\.31x13|masked\.129x96|gelu_chain\.3x37)"),
    Family("orders", "sorts, top-k, argmax, scatters of many updates", "PyTorch", "{name}",
           (*TIMES, ("PyTorch, us", "{torch:.1f}"), ("PyTorch / kpc", "{ratio:.3f}")),
           r"small (topk\.33x31|sort\.(65x64|3x65|1x70001)\.|scatter\.70001|argmax)"),
    Family("grouped", "groups of rows by matrices of their own (mixtures of experts)", "PyTorch", "{name}",
           (*TIMES, ("PyTorch, us", "{torch:.1f}"), ("PyTorch / kpc", "{ratio:.3f}"), ("TFLOP/s", "{tflops:.0f}")),
           r"small (70|129|3)\.\S+bf16$"),
    Family("networks", "whole networks: transformers of two layers, and real sizes in time and memory", "PyTorch", "{name}",
           (("error", "{error:.1e}"), ("PyTorch's", "{torch_error:.1e}"), *TIMES, ("eager, us", "{eager:.1f}"),
            ("torch.compile, us", "{compile:.1f}"), ("PyTorch / kpc", "{ratio:.2f}"),
            *MEMORY_OF_NETWORKS),
           r"two layers (bert\.dynamo b1|gpt2\.dynamo b1|gpt2-past\.dynamo b1|llama\.dynamo b1|vit\.dynamo b1).*fp16", ("exported",)),
    Family("variants", "one artifact for many sizes", "artifacts tuned for one size, PyTorch", "{name}",
           (*TIMES, ("--variants 1, us", "{single:.1f}"), ("tuned for, us", "{tuned_text}"), ("torch.compile, us", "{compile:.1f}"),
            ("tuned for this size / kpc", "{ratio:.2f}")),
           r"two layers bert\.dynamo b1", ("exported",)),
)
