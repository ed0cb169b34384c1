//===- KernelRecords.cpp - What kernels are to an artifact ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/artifact/KernelRecords.h"
#include "dialects/kernel/Kernel.h"
#include "dialects/kernel/KernelRecurrent.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace kpc;
using namespace mlir;
using kpc::shape::Expr;
using llvm::createStringError;
using llvm::Expected;

void kpc::describeTarget(artifact::Target &T, const target::Target &From) {
  T.Name = From.Name;
  if (From.isHost()) {
    T.Kind = artifact::TargetKind::Host;
    T.CpuLevel = From.LlvmChip.back() - '0';
    return;
  }
  T.Kind = artifact::TargetKind::Cuda;
  T.CapabilityMajor = From.Compute / 10;
  T.CapabilityMinor = From.Compute % 10;
  T.Rule = From.ArchSpecific ? artifact::CapabilityRule::Exactly
           : From.TheKind == target::Kind::Portable
               ? artifact::CapabilityRule::AtLeast
               : artifact::CapabilityRule::SameMajor;
}

/// As the user knows it: u8 for ui8, bool for i1.
static std::string elementName(Type Element) {
  if (Element.isInteger(1))
    return "bool";
  std::string Text;
  llvm::raw_string_ostream(Text) << Element;
  return Element.isUnsignedInteger() ? "u" + Text.substr(2) : Text;
}

/// The element types of some of a kernel's buffers; of integers only where
/// there are no floats, which they index or select.
static std::string elementNames(func::FuncOp Kernel, ArrayRef<int64_t> Which) {
  std::set<std::string> Floats, Others;
  for (int64_t I : Which) {
    auto Buffer = dyn_cast<MemRefType>(Kernel.getArgumentTypes()[I]);
    if (!Buffer)
      continue;
    Type Element = Buffer.getElementType();
    (isa<FloatType>(Element) ? Floats : Others).insert(elementName(Element));
  }
  return llvm::join(Floats.empty() ? Others : Floats, ",");
}

static bool multipliesTf32(const CompiledKernel &Kernel) {
  // By mma.sync and wgmma a type of the instruction, by tcgen05 its kind.
  StringRef Ptx = Kernel.Ptx;
  return Ptx.contains(".tf32") || Ptx.contains("kind::tf32");
}

bool kpc::roundsToTf32(func::FuncOp Kernel, const CompiledKernel &Compiled) {
  if (!multipliesTf32(Compiled))
    return false;
  return Kernel
      .walk([](Operation *Op) {
        auto Gemm = dyn_cast<kernel::GemmOp>(Op);
        auto Conv = dyn_cast<kernel::ConvOp>(Op);
        auto Attention = dyn_cast<kernel::AttentionOp>(Op);
        auto Recurrent = dyn_cast<kernel::RecurrentOp>(Op);
        bool Allows = (Gemm && Gemm.getTf32()) || (Conv && Conv.getTf32()) ||
                      (Attention && Attention.getTf32()) ||
                      (Recurrent && Recurrent.getTf32());
        return Allows ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether tensor cores multiply FP8 there.
static bool multipliesFp8(const CompiledKernel &Kernel) {
  StringRef Ptx = Kernel.Ptx;
  return Ptx.contains(".f32.e4m3.") || Ptx.contains(".f32.e5m2.") ||
         Ptx.contains("kind::f8f6f4");
}

/// Whether tensor cores multiply integers of 8 bits there.
static bool multipliesInt8(const CompiledKernel &Kernel) {
  StringRef Ptx = Kernel.Ptx;
  return Ptx.contains(".s32.s8.") || Ptx.contains(".s32.u8.");
}

std::string kpc::precisionOf(func::FuncOp Kernel,
                             const CompiledKernel &Compiled) {
  kernel::BuffersAttr Buffers = kernel::buffersOf(Kernel);
  if (!Buffers)
    return {};
  std::string Reads = elementNames(Kernel, Buffers.getReads());
  std::string Writes = elementNames(Kernel, Buffers.getWrites());
  if (Reads == "f32" && multipliesTf32(Compiled))
    Reads = roundsToTf32(Kernel, Compiled) ? "tf32" : "3xtf32";
  // Codes lie in memory as bytes; what else is read belongs to the epilogue.
  if (multipliesFp8(Compiled))
    Reads = "fp8";
  if (multipliesInt8(Compiled))
    Reads = "int8";
  for (auto [Word, Name] :
       {std::pair("kind::mxf8f6f4", "mxfp8"), std::pair("kind::mxf4.", "mxfp4"),
        std::pair("kind::mxf4nvf4", "nvfp4")})
    if (StringRef(Compiled.Ptx).contains(Word))
      Reads = Name;
  return Reads.empty() || Reads == Writes ? Writes : Reads + " -> " + Writes;
}

Expected<Expr> kpc::substituted(const std::string &Text,
                                const ArgumentSizes &Args) {
  std::string Error;
  std::optional<Expr> E = Expr::parse(Text, &Error);
  if (!E)
    return createStringError("bad size expression '" + Text + "': " + Error);
  return E->substitute(Args);
}

Expected<artifact::Param>
kpc::tensorMapParam(const artifact::KernelTensorMap &Asked,
                    const artifact::Launch &L, const ArgumentSizes &Args) {
  if (Asked.Buffer >= L.Params.size() ||
      L.Params[Asked.Buffer].Kind != artifact::ParamKind::Buffer)
    return createStringError("a tensor map is of argument " +
                             std::to_string(Asked.Buffer) +
                             ", which is no buffer");
  artifact::Param P = L.Params[Asked.Buffer];
  P.Kind = artifact::ParamKind::TensorMap;
  P.View = Asked.Map;
  for (std::vector<Expr> *List : {&P.View.Dims, &P.View.Strides})
    for (Expr &E : *List)
      E = E.substitute(Args);
  return P;
}

bool kpc::usesMultiprocessors(const CompiledKernel &Kernel) {
  std::set<std::string, std::less<>> Names;
  auto Collect = [&](const std::string &Text) {
    if (std::optional<Expr> E = Expr::parse(Text))
      E->collectSymbols(Names);
  };
  for (const std::string &Extent : Kernel.Grid)
    Collect(Extent);
  Collect(Kernel.Shared);
  for (const artifact::KernelTensorMap &Map : Kernel.TensorMaps) {
    for (const Expr &Dim : Map.Map.Dims)
      Dim.collectSymbols(Names);
    for (const Expr &Stride : Map.Map.Strides)
      Stride.collectSymbols(Names);
  }
  return Names.count(MultiprocessorsSymbol);
}
