//===- ExportCases.cpp - The cases for a machine with a GPU ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   kpc_gpu_export FOLDER [TARGET]
//
// writes what test/device/run_cases.py checks there: cubins, inputs, and the
// outputs of the host target. That machine needs the CUDA driver and Python.
//
//===----------------------------------------------------------------------===//
#include "CaseData.h"
#include "Cases.h"

#include "codegen/nvptx/CompileKernel.h"
#include "compiler/workers/Subprocess.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <filesystem>

using namespace kpc;
using namespace kpc::testing;

namespace {

struct Exporter {
  std::string Folder;
  const target::Target &T;
  nvptx::Ptxas Program;
  bool TextOnly;    ///< no cubins and no benchmarks: for the emulator
  std::string Data; ///< of all buffers, one behind the other
  llvm::json::Array Kernels;
  std::string Error;
  bool NeedsRuntime = false; ///< what was compiled last takes tensor maps

  bool fail(const std::string &Name, const std::string &Why) {
    Error = Name + ": " + Why;
    return false;
  }

  /// Compiles and writes the cubin; what the launch needs.
  std::optional<llvm::json::Object> compile(const KernelText &Kernel,
                                            std::array<std::string, 3> &Grid) {
    CompilerContext Compiler;
    auto Module = Compiler.parse(Kernel.text());
    if (!Module) {
      fail(Kernel.name(), Compiler.Reported);
      return std::nullopt;
    }
    auto Built = nvptx::buildAndCompileGpuKernel(*Module, T);
    if (mlir::failed(Built)) {
      fail(Kernel.name(), Compiler.Reported);
      return std::nullopt;
    }
    std::string File = Kernel.name() + ".cubin", Text = Kernel.name() + ".ptx";
    std::string Why;
    if (!writeFile(Folder + "/" + Text, Built->Ptx, Why)) {
      fail(Kernel.name(), Why);
      return std::nullopt;
    }
    nvptx::Assembly A;
    if (!TextOnly) {
      A = nvptx::assemblePtx(Program, Built->Ptx, T);
      if (!A.ok() || !writeFile(Folder + "/" + File, A.Cubin, A.Error)) {
        fail(Kernel.name(), A.Error);
        return std::nullopt;
      }
    }
    Grid = Built->Grid;
    NeedsRuntime = !Built->TensorMaps.empty();
    return llvm::json::Object{
        {"name", Kernel.name()},
        {"cubin", File},
        {"ptx", Text},
        {"tensor_maps", int64_t(Built->TensorMaps.size())},
        {"schedule", Built->Schedule},
        {"block", llvm::json::Array(Built->Block)},
        {"shared", Built->SharedBytes},
        {"registers", A.Kernels.empty() ? 0 : A.Kernels[0].Registers}};
  }

  /// The buffers of a run; with their content unless it is a benchmark.
  llvm::json::Object run(const CaseData &Values,
                         const std::array<std::string, 3> &Grid,
                         bool WithContent) {
    llvm::json::Array Buffers;
    for (const CaseData::Memory &M : Values.memories()) {
      llvm::json::Object B{{"name", M.Text->Name},
                           {"type", M.Text->Type},
                           {"dims", llvm::json::Array(M.Dims)},
                           {"output", M.Text->IsOutput},
                           {"bytes", int64_t(M.Bytes)}};
      if (WithContent) {
        B["offset"] = int64_t(Data.size());
        Data.append(M.Data, M.Bytes);
      }
      Buffers.push_back(std::move(B));
    }
    return llvm::json::Object{{"sizes", llvm::json::Array(Values.sizes())},
                              {"grid", llvm::json::Array(gridOf(Grid, Values))},
                              {"buffers", std::move(Buffers)}};
  }

  bool addCase(const Case &C) {
    std::array<std::string, 3> Grid;
    auto Kernel = compile(C.Kernel, Grid);
    if (!Kernel)
      return false;
    // Tensor maps are the runtime's to encode; test/device/products.py has
    // such kernels.
    if (NeedsRuntime) {
      llvm::outs() << "left out: " << C.Kernel.name()
                   << ", which takes tensor maps\n";
      return true;
    }
    HostReference Host(C.Kernel.text());
    if (!Host.Error.empty())
      return fail(C.Kernel.name(), Host.Error);
    llvm::json::Array Runs;
    for (const auto &Sizes : C.Sizes) {
      CaseData Values(C.Kernel, Sizes);
      if (std::string Why = Host.run(Values); !Why.empty())
        return fail(C.Kernel.name(), Why);
      Runs.push_back(run(Values, Grid, /*WithContent=*/true));
    }
    (*Kernel)["tolerance"] = C.Tolerance;
    (*Kernel)["runs"] = std::move(Runs);
    Kernels.push_back(std::move(*Kernel));
    return true;
  }

  bool addBenchmark(const Benchmark &B, llvm::json::Array &To) {
    std::array<std::string, 3> Grid;
    auto Kernel = compile(B.Kernel, Grid);
    if (!Kernel)
      return false;
    CaseData Values(B.Kernel, B.Sizes, /*Fill=*/false);
    (*Kernel)["flops"] = B.Flops;
    (*Kernel)["peer"] = B.Peer;
    (*Kernel)["runs"] = llvm::json::Array{run(Values, Grid, false)};
    To.push_back(std::move(*Kernel));
    return true;
  }
};

} // namespace

int main(int argc, char **argv) {
  const target::Target *T = target::findTarget(argc > 2 ? argv[2] : "sm_90a");
  // No folder begins with '-': whoever asks for help would get one.
  if (argc < 2 || argc > 4 || argv[1][0] == '-' || argv[1][0] == 0 || !T ||
      T->TheKind != target::Kind::Gpu ||
      (argc > 3 && llvm::StringRef(argv[3]) != "ptx")) {
    llvm::errs() << "usage: kpc_gpu_export FOLDER [TARGET [ptx]]\n";
    return 2;
  }
  std::error_code Code;
  std::filesystem::create_directories(argv[1], Code);
  bool TextOnly = argc > 3;
  Exporter E{argv[1],  *T, TextOnly ? nvptx::Ptxas{} : nvptx::findPtxas(),
             TextOnly, {}, {},
             {}};
  if (!TextOnly && !E.Program) {
    llvm::errs() << E.Program.Missing << "\n";
    return 1;
  }
  llvm::json::Array Benchmarks;
  for (const Case &C : allCases())
    if (!E.addCase(C)) {
      llvm::errs() << E.Error << "\n";
      return 1;
    }
  for (const Benchmark &B : benchmarks())
    if (!TextOnly && !E.addBenchmark(B, Benchmarks)) {
      llvm::errs() << E.Error << "\n";
      return 1;
    }
  size_t Count = E.Kernels.size(), Timed = Benchmarks.size();
  std::string Text;
  llvm::raw_string_ostream(Text) << llvm::json::Value(
      llvm::json::Object{{"target", std::string(T->Name)},
                         {"kernels", std::move(E.Kernels)},
                         {"benchmarks", std::move(Benchmarks)}});
  if (!writeFile(E.Folder + "/cases.json", Text, E.Error) ||
      !writeFile(E.Folder + "/cases.bin", E.Data, E.Error)) {
    llvm::errs() << E.Error << "\n";
    return 1;
  }
  llvm::outs() << Count << " kernels, " << Timed << " benchmarks, "
               << E.Data.size() << " bytes of data\n";
  return 0;
}
