//===- Argument.cpp - A Python object as a tensor -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Argument.h"

#include <cstring>
#include <string>
#include <utility>

namespace nb = nanobind;

namespace kpc::python {

void raiseError(kpc_error *Error) {
  std::unique_ptr<kpc_error, void (*)(kpc_error *)> Owned(Error,
                                                          kpc_error_free);
  kpc_status Status = kpc_error_status(Error);
  nb::object Class = nb::module_::import_("kpc._errors").attr("RunError");
  // Names of a model may be any bytes.
  auto Text = [](const char *Bytes) {
    return nb::steal(PyUnicode_DecodeUTF8(
        Bytes, static_cast<Py_ssize_t>(std::strlen(Bytes)), "replace"));
  };
  nb::object Raised =
      Class(Text(kpc_error_message(Error)), nb::arg("status") = int(Status),
            nb::arg("code") = kpc_status_name(Status),
            nb::arg("node") = Text(kpc_error_node(Error)),
            nb::arg("kernel") = Text(kpc_error_kernel(Error)),
            nb::arg("hint") = Text(kpc_error_hint(Error)));
  PyErr_SetObject(Class.ptr(), Raised.ptr());
  throw nb::python_error();
}

/// 0: no such type.
static int32_t elementType(const char *Format, Py_ssize_t Size) {
  if (!Format)
    return KPC_U8;
  if (*Format == '@' || *Format == '=' || *Format == '<')
    ++Format;
  bool Complex = *Format == 'Z';
  if (Complex)
    ++Format;
  if (!*Format || Format[1])
    return 0;
  if (Complex)
    return Size == 8 ? KPC_C64 : Size == 16 ? KPC_C128 : 0;
  if (*Format == '?')
    return KPC_BOOL;
  if (std::strchr("efd", *Format))
    return Size == 2 ? KPC_F16 : Size == 4 ? KPC_F32 : Size == 8 ? KPC_F64 : 0;
  bool Signed = std::strchr("bhilqn", *Format);
  if (!Signed && !std::strchr("cBHILQN", *Format))
    return 0;
  switch (Size) {
  case 1:
    return Signed ? KPC_I8 : KPC_U8;
  case 2:
    return Signed ? KPC_I16 : KPC_U16;
  case 4:
    return Signed ? KPC_I32 : KPC_U32;
  case 8:
    return Signed ? KPC_I64 : KPC_U64;
  default:
    return 0;
  }
}

Argument &Argument::operator=(Argument &&Other) noexcept {
  if (this == &Other)
    return *this;
  release();
  Tensor = std::exchange(Other.Tensor, {});
  View = std::move(Other.View);
  Capsule = std::move(Other.Capsule);
  return *this;
}

void Argument::release() {
  if (View)
    PyBuffer_Release(View.get());
  View.reset();
  Capsule.reset();
}

bool Argument::readBuffer(nb::handle Object, bool Write) {
  if (!PyObject_CheckBuffer(Object.ptr()))
    return false;
  auto Asked = std::make_unique<Py_buffer>();
  int Flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (Write ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(Object.ptr(), Asked.get(), Flags) != 0)
    throw nb::python_error();
  View = std::move(Asked);
  int32_t Type = elementType(View->format, View->itemsize);
  if (!Type) {
    std::string Text = std::string("'") + Tensor.name +
                       "': expected an array of numbers or bool, got elements "
                       "of the buffer format '" +
                       View->format + "'";
    throw nb::type_error(Text.c_str());
  }
  static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
  Tensor.tensor = {View->buf, reinterpret_cast<const int64_t *>(View->shape),
                   View->ndim, Type, KPC_HOST};
  return true;
}

namespace {
/// `DLManagedTensor` of DLPack before 1.0; `kpc/dlpack.h` has the later form
/// alone.
struct LegacyTensor {
  DLTensor Tensor;
  void *Owner;
  void (*Deleter)(LegacyTensor *);
};
} // namespace

bool Argument::readDlPack(nb::handle Object, bool Write) {
  if (!nb::hasattr(Object, "__dlpack__"))
    return false;
  // The producer makes nothing wait: the caller orders the streams, see
  // Session.run. A host tensor may be asked for with no stream alone.
  bool OnDevice = false;
  if (nb::hasattr(Object, "__dlpack_device__"))
    OnDevice = nb::cast<int>(Object.attr("__dlpack_device__")()[0]) == kDLCUDA;
  nb::object Export = Object.attr("__dlpack__");
  nb::dict Options;
  if (OnDevice)
    Options["stream"] = -1;
  Options["max_version"] =
      nb::make_tuple(DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
  try {
    Capsule = Export(**Options);
  } catch (nb::python_error &Error) {
    if (!Error.matches(PyExc_TypeError)) // of before DLPack 1.0
      throw;
    PyDict_DelItemString(Options.ptr(), "max_version");
    Capsule = Export(**Options);
  }
  kpc_error *Error = nullptr;
  if (PyCapsule_IsValid(Capsule.ptr(), "dltensor_versioned")) {
    auto *Managed = static_cast<DLManagedTensorVersioned *>(
        PyCapsule_GetPointer(Capsule.ptr(), "dltensor_versioned"));
    if (Write && Managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY)
      throw nb::buffer_error("an output is read-only memory");
    check(kpc_tensor_from_dlpack(Managed, &Tensor.tensor, &Error), Error);
    return true;
  }
  auto *Managed = static_cast<LegacyTensor *>(
      PyCapsule_GetPointer(Capsule.ptr(), "dltensor"));
  if (!Managed)
    throw nb::python_error();
  // NOLINTNEXTLINE(bugprone-invalid-enum-default-initialization): set below
  DLManagedTensorVersioned Same{};
  Same.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  Same.dl_tensor = Managed->Tensor;
  check(kpc_tensor_from_dlpack(&Same, &Tensor.tensor, &Error), Error);
  return true;
}

/// Types that numpy has not: a user gives their bits.
static bool hasBitsAlone(int32_t Type) {
  return Type == KPC_BF16 || Type == KPC_F8E4M3FN || Type == KPC_F8E4M3FNUZ ||
         Type == KPC_F8E5M2 || Type == KPC_F8E5M2FNUZ || Type == KPC_F8E8M0;
}

void Argument::read(nb::handle Object, const char *Name, int32_t Type,
                    bool Write) {
  Tensor.name = Name;
  if (readBuffer(Object, Write) || readDlPack(Object, Write)) {
    int32_t &Found = Tensor.tensor.type;
    if (hasBitsAlone(Type) &&
        Found == (kpc_element_bits(Type) == 16 ? KPC_U16 : KPC_U8))
      Found = Type;
    return;
  }
  std::string Text = std::string("'") + Name +
                     "': expected an array (numpy, or with __dlpack__), got " +
                     nb::type_name(Object.type()).c_str();
  throw nb::type_error(Text.c_str());
}

Copy Argument::copyFor(int32_t DeviceKind) const {
  const kpc_tensor &T = Tensor.tensor;
  if (T.device.kind != DeviceKind)
    return Copy::Transfer;
  bool Aligned = reinterpret_cast<uintptr_t>(T.data) % 64 == 0;
  return Aligned || kpc_tensor_bytes(&T) <= 0 ? Copy::None : Copy::Alignment;
}

OutputTensor::OutputTensor(std::shared_ptr<kpc_outputs> Outputs, int32_t At)
    : All(std::move(Outputs)), Index(At) {
  kpc_outputs_get(All.get(), Index, &Tensor);
}

nb::tuple dimsOf(const kpc_tensor &Tensor) {
  nb::object Dims = nb::steal(PyTuple_New(Tensor.rank));
  for (int32_t I = 0; I < Tensor.rank; ++I)
    PyTuple_SetItem(Dims.ptr(), I, PyLong_FromLongLong(Tensor.dims[I]));
  return nb::borrow<nb::tuple>(Dims);
}

static void dropVersioned(PyObject *Capsule) {
  if (!PyCapsule_IsValid(Capsule, "dltensor_versioned"))
    return; // taken over by a consumer
  auto *Managed = static_cast<DLManagedTensorVersioned *>(
      PyCapsule_GetPointer(Capsule, "dltensor_versioned"));
  Managed->deleter(Managed);
}

static void dropLegacy(PyObject *Capsule) {
  if (!PyCapsule_IsValid(Capsule, "dltensor"))
    return;
  auto *Managed =
      static_cast<LegacyTensor *>(PyCapsule_GetPointer(Capsule, "dltensor"));
  Managed->Deleter(Managed);
}

nb::object OutputTensor::toDlPack(bool Versioned) const {
  DLManagedTensorVersioned *Managed = nullptr;
  kpc_error *Error = nullptr;
  check(kpc_outputs_to_dlpack(All.get(), Index, &Managed, &Error), Error);
  if (Versioned)
    return nb::steal(
        PyCapsule_New(Managed, "dltensor_versioned", dropVersioned));
  auto *Legacy = new LegacyTensor{
      Managed->dl_tensor, Managed, [](LegacyTensor *Self) {
        auto *Inner = static_cast<DLManagedTensorVersioned *>(Self->Owner);
        Inner->deleter(Inner);
        delete Self;
      }};
  return nb::steal(PyCapsule_New(Legacy, "dltensor", dropLegacy));
}

/// The bytes of a host tensor, for `numpy.ndarray(buffer=...)`.
static int getBuffer(PyObject *Self, Py_buffer *View, int Flags) {
  const kpc_tensor &T = nb::inst_ptr<OutputTensor>(Self)->tensor().tensor;
  if (T.device.kind != KPC_DEVICE_HOST) {
    PyErr_SetString(PyExc_BufferError, "the tensor is not on the host");
    return -1;
  }
  static char Nothing = 0;
  return PyBuffer_FillInfo(View, Self, T.data ? T.data : &Nothing,
                           kpc_tensor_bytes(&T), /*readonly=*/0, Flags);
}

static PyType_Slot BufferSlots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void *>(getBuffer)}, {0, nullptr}};

void bindTensors(nb::module_ &Module) {
  nb::class_<OutputTensor>(Module, "OutputTensor", nb::type_slots(BufferSlots))
      .def_prop_ro("name",
                   [](const OutputTensor &T) { return T.tensor().name; })
      .def_prop_ro("type",
                   [](const OutputTensor &T) {
                     return kpc_element_name(T.tensor().tensor.type);
                   })
      .def_prop_ro(
          "shape",
          [](const OutputTensor &T) { return dimsOf(T.tensor().tensor); })
      .def("__dlpack_device__",
           [](const OutputTensor &T) {
             const kpc_device &D = T.tensor().tensor.device;
             return nb::make_tuple(D.kind, D.ordinal);
           })
      .def(
          "__dlpack__",
          [](const OutputTensor &T, nb::handle, nb::handle MaxVersion,
             nb::handle, nb::handle) {
            return T.toDlPack(!MaxVersion.is_none() &&
                              nb::cast<int>(MaxVersion[0]) >= 1);
          },
          nb::kw_only(), nb::arg("stream") = nb::none(),
          nb::arg("max_version") = nb::none(),
          nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none());
}

} // namespace kpc::python
