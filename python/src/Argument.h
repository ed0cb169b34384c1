//===- Argument.h - A Python object as a tensor -----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads the memory of what a caller of Python hands over: objects with the
/// buffer protocol (numpy), and objects with `__dlpack__` (torch, cupy, jax).
/// Nothing is copied or converted here. All of it needs the GIL.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PYTHON_SRC_ARGUMENT_H
#define KPC_PYTHON_SRC_ARGUMENT_H

#include <kpc/dlpack.h>
#include <kpc/runtime.h>
#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

namespace kpc::python {

/// Raises `kpc.RunError` with the parts of `Error`, which is freed.
[[noreturn]] void raiseError(kpc_error *Error);
inline void check(kpc_status Status, kpc_error *Error) {
  if (Status != KPC_OK)
    raiseError(Error);
}

/// Why the runtime copies a tensor in each run.
enum class Copy : char {
  None,
  Alignment, ///< kernels read memory that is aligned to 64 bytes
  Transfer,  ///< it lies on the other side: host or device
};

/// The memory of one input or output, held while the object lives.
class Argument {
public:
  Argument() = default;
  Argument(const Argument &) = delete;
  Argument &operator=(const Argument &) = delete;
  Argument(Argument &&Other) noexcept { *this = std::move(Other); }
  Argument &operator=(Argument &&Other) noexcept;
  ~Argument() { release(); }

  /// `Name` must live as long as the argument. Where `Type`, the model's, is
  /// one that numpy has not, unsigned integers of its size are its bits. Raises
  /// a Python exception where the object is no tensor, not contiguous, or
  /// read-only and written to.
  void read(nanobind::handle Object, const char *Name, int32_t Type,
            bool Write);
  const kpc_named_tensor &tensor() const { return Tensor; }
  Copy copyFor(int32_t DeviceKind) const;

private:
  bool readBuffer(nanobind::handle Object, bool Write);
  bool readDlPack(nanobind::handle Object, bool Write);
  void release();

  kpc_named_tensor Tensor{};
  std::unique_ptr<Py_buffer> View;
  nanobind::object Capsule;
};

/// One output that the runtime allocated. Its memory is that of all outputs of
/// the run, which go together.
class OutputTensor {
public:
  OutputTensor(std::shared_ptr<kpc_outputs> All, int32_t Index);
  const kpc_named_tensor &tensor() const { return Tensor; }
  /// A capsule as DLPack's Python interface asks for; `Versioned`: DLPack 1.x.
  nanobind::object toDlPack(bool Versioned) const;

private:
  std::shared_ptr<kpc_outputs> All;
  int32_t Index;
  kpc_named_tensor Tensor{};
};

nanobind::tuple dimsOf(const kpc_tensor &Tensor);
void bindTensors(nanobind::module_ &Module);

} // namespace kpc::python

#endif // KPC_PYTHON_SRC_ARGUMENT_H
