//===- CaseData.h - Buffers, references and compilers of the cases -*- C++ -*-//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TEST_UNIT_GPU_CASEDATA_H
#define KPC_TEST_UNIT_GPU_CASEDATA_H

#include "KernelText.h"

#include "codegen/host/HostCodegen.h"
#include "codegen/host/HostImage.h"
#include "mlir/IR/MLIRContext.h"
#include "passes/kernels/gpu/GpuBuilder.h"

#include <array>
#include <memory>
#include <optional>

namespace kpc::testing {

/// The buffers of one run: inputs of seeded random values, outputs of a
/// pattern. Each ends at a page that cannot be touched, but for the 63 bytes
/// that keep it 64-byte aligned.
class CaseData {
public:
  /// `Fill`: false leaves the memory untouched (it costs nothing then).
  CaseData(const KernelText &Kernel, const std::vector<int64_t> &Sizes,
           bool Fill = true);
  ~CaseData();
  CaseData(const CaseData &) = delete;

  std::vector<uint64_t> parameters() const;
  /// Values of `argN`.
  int64_t size(const std::string &Name) const;
  /// Compares the outputs; empty, or what differs. Tolerance 0: bit for bit.
  std::string compare(const CaseData &Reference, double Tolerance) const;
  std::string checkGuards() const;

  struct Memory {
    const BufferText *Text;
    std::vector<int64_t> Dims;
    char *Data;
    size_t Bytes, MappedBytes;
    char *Mapped;
  };
  const std::vector<Memory> &memories() const { return Memories; }
  const std::vector<int64_t> &sizes() const { return Sizes; }

private:
  const KernelText &Kernel;
  std::vector<int64_t> Sizes;
  std::vector<Memory> Memories;
};

/// Elements of a type as doubles.
double elementAt(const CaseData::Memory &M, size_t I);

/// Blocks to launch: expressions over argN, with the case's sizes.
std::array<int64_t, 3> gridOf(const std::array<std::string, 3> &Grid,
                              const CaseData &Data);

/// The kernel by the host target, whose map builder is the meaning of the
/// linalg form.
struct HostReference {
  explicit HostReference(const std::string &Text);
  std::string run(const CaseData &Data);
  std::string Error;
  codegen::HostLaunch Launch;
  std::optional<codegen::HostImage> Image;

private:
  llvm::Error compile(const std::string &Text);
};

/// A context with every dialect of kernels, which keeps what is reported.
struct CompilerContext {
  CompilerContext();
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &Text);
  mlir::MLIRContext Context;
  std::string Reported;
};

} // namespace kpc::testing

#endif // KPC_TEST_UNIT_GPU_CASEDATA_H
