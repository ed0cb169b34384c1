# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A session of libkpc_runtime on a GPU, with PyTorch's tensors in and out, on PyTorch's stream.

    session = Session("libkpc_runtime.so", "model.kpc")
    session.run({"x": x}, {"y": y})          # both on cuda:0; returns when the work is queued
"""

import torch

import runtime_library
from runtime_library import NamedTensor, cuda, named_tensor

DEFAULT_STREAM = 1  # as CUDA numbers it
ELEMENT = {torch.float32: 1, torch.uint8: 2, torch.int8: 3, torch.int16: 5, torch.int32: 6, torch.int64: 7, torch.bool: 9,
           torch.float16: 10, torch.float64: 11, torch.bfloat16: 16, torch.float8_e4m3fn: 17, torch.float8_e5m2: 19}


def arguments(tensors):
    return (NamedTensor * len(tensors))(*(named_tensor(name, t.data_ptr(), t.shape, ELEMENT[t.dtype], cuda(0))
                                          for name, t in tensors.items()))


class Session(runtime_library.Session):
    def __init__(self, library, artifact, most_microseconds=0):
        super().__init__(library, artifact, cuda(0), most_microseconds=most_microseconds)
        self.kept = {}

    def run(self, inputs, outputs):
        # PyTorch may give a tensor of another shape the same memory.
        key = tuple((t.data_ptr(), t.shape) for t in (*inputs.values(), *outputs.values()))
        if key not in self.kept:
            self.kept[key] = arguments(inputs), arguments(outputs)
        super().run(*self.kept[key], torch.cuda.current_stream().cuda_stream or DEFAULT_STREAM)
