# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A session of libkpc_runtime on a GPU, with PyTorch's tensors in and out, on PyTorch's stream.

    session = Session("libkpc_runtime.so", "model.kpc")
    session.run({"x": x}, {"y": y})          # both on cuda:0; returns when the work is queued
"""

import ctypes
import torch

KPC_CUDA = 2  # DLPack's number
DEFAULT_STREAM = 1  # as CUDA numbers it
ELEMENT = {torch.float32: 1, torch.uint8: 2, torch.int8: 3, torch.int16: 5, torch.int32: 6, torch.int64: 7, torch.bool: 9,
           torch.float16: 10, torch.float64: 11, torch.bfloat16: 16}


class Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("index", ctypes.c_int32)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dims", ctypes.POINTER(ctypes.c_int64)), ("rank", ctypes.c_int32),
                ("type", ctypes.c_int32), ("device", Device)]


class NamedTensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("tensor", Tensor)]


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("device", Device), ("target", ctypes.c_char_p),
                ("driver", ctypes.c_char_p), ("num_threads", ctypes.c_int32), ("max_bound_shapes", ctypes.c_int32),
                ("flags", ctypes.c_uint32), ("allocator", ctypes.c_void_p * 3), ("log", ctypes.c_void_p * 2),
                ("workspace", ctypes.c_void_p), ("workspace_size", ctypes.c_size_t)]


class Session:
    def __init__(self, library, artifact):
        self.lib = ctypes.CDLL(library)
        self.lib.kpc_error_message.restype = ctypes.c_char_p
        self.model, self.session, self.kept = ctypes.c_void_p(), ctypes.c_void_p(), {}
        self.check(lambda error: self.lib.kpc_model_load_file(artifact.encode(), None, ctypes.byref(self.model), error))
        options = Options(struct_size=ctypes.sizeof(Options), device=Device(KPC_CUDA, 0))
        self.check(lambda error: self.lib.kpc_session_create(self.model, ctypes.byref(options),
                                                             ctypes.byref(self.session), error))

    def check(self, call):
        error = ctypes.c_void_p()
        if call(ctypes.byref(error)):
            raise RuntimeError(self.lib.kpc_error_message(error).decode())

    def arguments(self, tensors):
        array = (NamedTensor * len(tensors))()
        for slot, (name, t) in zip(array, tensors.items()):
            dims = (ctypes.c_int64 * t.dim())(*t.shape)
            slot.name = name.encode()
            slot.tensor = Tensor(t.data_ptr(), dims, t.dim(), ELEMENT[t.dtype], Device(KPC_CUDA, 0))
        return array

    def run(self, inputs, outputs):
        key = tuple(t.data_ptr() for t in (*inputs.values(), *outputs.values()))
        if key not in self.kept:
            self.kept[key] = self.arguments(inputs), self.arguments(outputs)
        given, wanted = self.kept[key]
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream or DEFAULT_STREAM)
        self.check(lambda error: self.lib.kpc_session_run(self.session, given, len(given), wanted, len(wanted), stream,
                                                          error))

    def close(self):
        self.lib.kpc_session_free(self.session)
        self.lib.kpc_model_free(self.model)
