# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""libkpc_runtime through ctypes: the structures of kpc/runtime.h that tests need, and a session of raw tensors.

    session = Session("libkpc_runtime.so", "model.kpc", cuda(0))
    session.run([named_tensor("x", data_pointer, shape, F32, cuda(0))], [...], stream)
"""

import ctypes

HOST_KIND, CUDA_KIND = 1, 2  # DLPack's numbers


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
                ("workspace", ctypes.c_void_p), ("workspace_size", ctypes.c_size_t), ("max_run_us", ctypes.c_int64),
                ("max_iterations", ctypes.c_int64)]


class Port(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("dims", ctypes.POINTER(ctypes.c_int64)), ("dim_texts", ctypes.POINTER(ctypes.c_char_p)),
                ("alias", ctypes.c_int32)]


class InputValue(ctypes.Structure):
    _fields_ = [("input", ctypes.c_int32), ("element", ctypes.c_int32), ("name", ctypes.c_char_p),
                ("size_text", ctypes.c_char_p)]


class Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("arena_bytes", "live_bytes", "value_bytes", "weight_bytes",
                                                     "staging_bytes", "reserved_bytes")] + [("bound_shapes", ctypes.c_int32)]


class Failed(RuntimeError):
    """The library's error: its status and its words."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def cuda(index):
    return Device(CUDA_KIND, index)


HOST = Device(HOST_KIND, 0)


def named_tensor(name, pointer, shape, element, device):
    dims = (ctypes.c_int64 * len(shape))(*shape)
    return NamedTensor(name.encode(), Tensor(pointer, dims, len(shape), element, device))


class Session:
    def __init__(self, library, artifact, device, threads=0, most_microseconds=0):
        """`threads`: of the host; 0: one per core. `most_microseconds`: of a run; 0: no limit."""
        self.lib = ctypes.CDLL(str(library))
        self.lib.kpc_error_message.restype = ctypes.c_char_p
        self.model, self.session = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(lambda error: self.lib.kpc_model_load_file(str(artifact).encode(), None, ctypes.byref(self.model), error))
        options = Options(struct_size=ctypes.sizeof(Options), device=device, num_threads=threads, max_run_us=most_microseconds)
        self.check(lambda error: self.lib.kpc_session_create(self.model, ctypes.byref(options), ctypes.byref(self.session),
                                                             error))

    def check(self, call):
        error = ctypes.c_void_p()
        status = call(ctypes.byref(error))
        if status:
            message = self.lib.kpc_error_message(error).decode("utf-8", "replace")
            self.lib.kpc_error_free(error)
            raise Failed(status, message)

    def run(self, inputs, outputs, stream=None):
        """Arrays of NamedTensor, or lists of them."""
        given, wanted = (part if isinstance(part, ctypes.Array) else (NamedTensor * len(part))(*part) for part in (inputs, outputs))
        self.check(lambda error: self.lib.kpc_session_run(self.session, given, len(given), wanted, len(wanted),
                                                          ctypes.c_void_p(stream), error))

    def inputs(self, dims):
        """(name, type, shape) of each, with the model's dims as in `dims`."""
        found, port = [], Port()
        for index in range(self.lib.kpc_model_input_count(self.model)):
            self.lib.kpc_model_input(self.model, index, ctypes.byref(port))
            texts = [text.decode() for text in port.dim_texts[:port.rank]]
            found.append((port.name.decode(), port.type, [dims[text] if text in dims else int(text) for text in texts]))
        return found

    def outputs(self):
        """(name, type) of each."""
        found, port = [], Port()
        for index in range(self.lib.kpc_model_output_count(self.model)):
            self.lib.kpc_model_output(self.model, index, ctypes.byref(port))
            found.append((port.name.decode(), port.type))
        return found

    def output_shapes(self, dims):
        """The shapes of all outputs, with the model's dims as in `dims`."""
        class Dim(ctypes.Structure):
            _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_int64)]
        values = (Dim * len(dims))(*((name.encode(), value) for name, value in dims.items()))
        self.check(lambda error: self.lib.kpc_session_prepare(self.session, values, len(values), error))
        return self.shapes_now()

    def shapes_now(self):
        """The shapes of all outputs: the greatest that can be, or behind a run what its data decided."""
        pointer, rank, shapes = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_int32(), []
        for index in range(self.lib.kpc_model_output_count(self.model)):
            self.check(lambda error: self.lib.kpc_session_output_dims(self.session, index, ctypes.byref(pointer),
                                                                      ctypes.byref(rank), error))
            shapes.append([pointer[i] for i in range(rank.value)])
        return shapes

    def input_dims(self, shapes, values=None):
        """The model's named dims where inputs have these shapes: name of the input -> shape.

        `values`: name of the input -> array, for inputs whose elements are sizes.
        """
        found, port = {}, Port()
        for index in range(self.lib.kpc_model_input_count(self.model)):
            self.lib.kpc_model_input(self.model, index, ctypes.byref(port))
            for size, text in zip(shapes.get(port.name.decode(), ()), port.dim_texts[:port.rank]):
                if text.decode().isidentifier():
                    found[text.decode()] = size
        value = InputValue()
        for index in range(self.lib.kpc_model_input_value_count(self.model)):
            self.lib.kpc_model_input_value(self.model, index, ctypes.byref(value))
            self.lib.kpc_model_input(self.model, value.input, ctypes.byref(port))
            data = (values or {}).get(port.name.decode())
            if data is not None and value.size_text == value.name:
                found[value.name.decode()] = int(data.reshape(-1)[value.element])
        return found

    def memory(self):
        """Bytes on the device, by what they are for."""
        found = Memory()
        if self.lib.kpc_session_memory(self.session, ctypes.byref(found)):
            raise Failed(0, "kpc_session_memory failed")
        return {name: getattr(found, name) for name, _ in Memory._fields_}

    def close(self):
        self.lib.kpc_session_free(self.session)
        self.lib.kpc_model_free(self.model)
