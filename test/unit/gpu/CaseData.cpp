//===- CaseData.cpp - Buffers, references and compilers of the cases ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CaseData.h"

#include "dialects/kernel/Kernel.h"
#include "dialects/tile/Tile.h"

#include "codegen/nvptx/Nvptx.h"
#include "dialects/shape/Expr.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <cstring>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

namespace kpc::testing {

static size_t bytesOf(const std::string &Type) {
  if (Type == "i1")
    return 1;
  return std::stoul(Type.substr(Type[0] == 'b' ? 2 : 1)) / 8;
}

static double halfToDouble(uint16_t Bits, bool IsBfloat) {
  llvm::APFloat F(IsBfloat ? llvm::APFloat::BFloat()
                           : llvm::APFloat::IEEEhalf(),
                  llvm::APInt(16, Bits));
  bool Lossy;
  F.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
            &Lossy);
  return F.convertToDouble();
}

static uint16_t doubleToHalf(double Value, bool IsBfloat) {
  llvm::APFloat F(Value);
  bool Lossy;
  F.convert(IsBfloat ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf(),
            llvm::APFloat::rmNearestTiesToEven, &Lossy);
  return F.bitcastToAPInt().getZExtValue();
}

template <typename T> static T read(const char *At) {
  T Value;
  std::memcpy(&Value, At, sizeof(T));
  return Value;
}

template <typename T> static void put(char *At, T Value) {
  std::memcpy(At, &Value, sizeof(T));
}

double elementAt(const CaseData::Memory &M, size_t I) {
  const std::string &T = M.Text->Type;
  const char *At = M.Data + I * bytesOf(T);
  if (T == "f32")
    return read<float>(At);
  if (T == "f64")
    return read<double>(At);
  if (T == "f16" || T == "bf16")
    return halfToDouble(read<uint16_t>(At), T == "bf16");
  if (T == "i64")
    return read<int64_t>(At);
  if (T == "i32")
    return read<int32_t>(At);
  if (T == "i16")
    return read<int16_t>(At);
  return read<int8_t>(At);
}

static void fillRandom(const CaseData::Memory &M, unsigned Seed) {
  std::mt19937 Random(Seed);
  const std::string &T = M.Text->Type;
  size_t Element = bytesOf(T);
  for (size_t I = 0; I < M.Bytes / Element; ++I) {
    char *At = M.Data + I * Element;
    uint32_t Word = Random();
    double Real = double(Word >> 8) / double(1 << 23) - 1.0;
    if (T == "f32")
      put(At, float(Real));
    else if (T == "f64")
      put(At, Real);
    else if (T == "f16" || T == "bf16")
      put(At, doubleToHalf(Real, T == "bf16"));
    else if (T == "i64")
      put(At, int64_t(Word % 201) - 100);
    else if (T == "i32")
      put(At, int32_t(Word % 201) - 100);
    else if (T == "i1")
      put(At, int8_t(Word >> 31));
    else
      put(At, int8_t(Word >> 24));
  }
}

CaseData::CaseData(const KernelText &Kernel, const std::vector<int64_t> &Values,
                   bool Fill)
    : Kernel(Kernel), Sizes(Values) {
  size_t Page = ::sysconf(_SC_PAGESIZE);
  for (const BufferText &B : Kernel.buffers()) {
    Memory M{&B, {}, nullptr, bytesOf(B.Type), 0, nullptr};
    for (const std::string &D : B.Dims) {
      M.Dims.push_back(std::isdigit(D[0]) ? std::stoll(D) : size(D));
      M.Bytes *= M.Dims.back();
    }
    size_t Rounded = (M.Bytes + 63) / 64 * 64;
    size_t Body = (Rounded + Page - 1) / Page * Page;
    M.MappedBytes = Body + Page;
    M.Mapped = static_cast<char *>(::mmap(nullptr, M.MappedBytes,
                                          PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(M.Mapped + Body, Page, PROT_NONE);
    M.Data = M.Mapped + Body - Rounded;
    if (Fill)
      std::memset(M.Mapped, 0x5A, Body);
    if (Fill && !B.IsOutput)
      fillRandom(M, 17 + Memories.size());
    Memories.push_back(M);
  }
}

CaseData::~CaseData() {
  for (Memory &M : Memories)
    ::munmap(M.Mapped, M.MappedBytes);
}

int64_t CaseData::size(const std::string &Name) const {
  for (size_t I = 0; I < Kernel.sizes().size(); ++I)
    if (Kernel.sizes()[I] == Name)
      return Sizes[I];
  return 0;
}

std::vector<uint64_t> CaseData::parameters() const {
  std::vector<uint64_t> Words;
  for (const Memory &M : Memories)
    Words.push_back(reinterpret_cast<uint64_t>(M.Data));
  for (int64_t S : Sizes)
    Words.push_back(S);
  return Words;
}

std::string CaseData::compare(const CaseData &Reference,
                              double Tolerance) const {
  for (size_t B = 0; B < Memories.size(); ++B) {
    const Memory &M = Memories[B], &R = Reference.Memories[B];
    size_t Element = bytesOf(M.Text->Type), Count = M.Bytes / Element;
    double Difference = 0, Norm = 0;
    for (size_t I = 0; I < Count; ++I) {
      bool Same =
          !std::memcmp(M.Data + I * Element, R.Data + I * Element, Element);
      double Mine = elementAt(M, I), Theirs = elementAt(R, I);
      if (!Same && (Tolerance == 0 || !std::isfinite(Mine)))
        return M.Text->Name + "[" + std::to_string(I) + "] is " +
               std::to_string(Mine) + ", not " + std::to_string(Theirs);
      if (Same && !std::isfinite(Mine))
        continue;
      Difference += (Mine - Theirs) * (Mine - Theirs);
      Norm += Theirs * Theirs;
    }
    if (Difference > Tolerance * Tolerance * Norm)
      return M.Text->Name + " differs by " +
             std::to_string(std::sqrt(Difference / Norm));
  }
  return {};
}

std::string CaseData::checkGuards() const {
  for (const Memory &M : Memories) {
    for (const char *P = M.Mapped; P < M.Data; ++P)
      if (*P != 0x5A)
        return M.Text->Name + " was written before its begin";
    size_t Rounded = (M.Bytes + 63) / 64 * 64;
    for (const char *P = M.Data + M.Bytes; P < M.Data + Rounded; ++P)
      if (*P != 0x5A)
        return M.Text->Name + " was written past its end";
  }
  return {};
}

static shape::Bindings bindingsOf(const CaseData &Data) {
  shape::Bindings Values;
  size_t Buffers = Data.memories().size();
  for (size_t I = 0; I < Data.sizes().size(); ++I)
    Values["arg" + std::to_string(Buffers + I)] = Data.sizes()[I];
  return Values;
}

static int64_t evaluate(const std::string &Text, const CaseData &Data) {
  auto E = shape::Expr::parse(Text);
  auto Value = E ? E->evaluate(bindingsOf(Data)) : std::nullopt;
  return Value.value_or(-1);
}

std::array<int64_t, 3> gridOf(const std::array<std::string, 3> &Grid,
                              const CaseData &Data) {
  return {evaluate(Grid[0], Data), evaluate(Grid[1], Data),
          evaluate(Grid[2], Data)};
}

HostReference::HostReference(const std::string &Text) {
  if (llvm::Error E = compile(Text))
    Error = llvm::toString(std::move(E));
}

llvm::Error HostReference::compile(const std::string &Text) {
  auto Options = codegen::HostTargetOptions::fromName("native");
  if (!Options)
    return Options.takeError();
  auto Compiled =
      codegen::buildAndCompileHostKernel(llvm::StringRef(Text), *Options);
  if (!Compiled)
    return Compiled.takeError();
  Launch = Compiled->Launches.front();
  auto Linked = codegen::linkHostImage({Compiled->Object});
  if (!Linked)
    return Linked.takeError();
  auto Mapped = codegen::HostImage::map(*Linked);
  if (!Mapped)
    return Mapped.takeError();
  Image.emplace(std::move(*Mapped));
  return llvm::Error::success();
}

std::string HostReference::run(const CaseData &Data) {
  int64_t Work = evaluate(Launch.Work, Data);
  if (Work < 0)
    return "the host's work is no number: " + Launch.Work;
  if (auto E = Image->call(Launch.Symbol, Data.parameters(), 0, Work))
    return llvm::toString(std::move(E));
  return {};
}

CompilerContext::CompilerContext()
    : Context(mlir::MLIRContext::Threading::DISABLED) {
  using namespace mlir;
  DialectRegistry Registry;
  nvptx::registerTranslations(Registry);
  Registry.insert<kernel::KernelDialect, affine::AffineDialect,
                  arith::ArithDialect, bufferization::BufferizationDialect,
                  func::FuncDialect, linalg::LinalgDialect, math::MathDialect,
                  memref::MemRefDialect, scf::SCFDialect, tensor::TensorDialect,
                  tile::TileDialect, vector::VectorDialect>();
  Context.appendDialectRegistry(Registry);
  Context.getDiagEngine().registerHandler(
      [this](Diagnostic &D) { Reported += D.str() + "\n"; });
}

mlir::OwningOpRef<mlir::ModuleOp>
CompilerContext::parse(const std::string &Text) {
  return mlir::parseSourceString<mlir::ModuleOp>(Text, &Context);
}

} // namespace kpc::testing
