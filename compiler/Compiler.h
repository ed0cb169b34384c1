//===- Compiler.h - From a model to an artifact -----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The compiler as a library: what `kpc compile` and `kpc check` call.
///
///   kpc::Diagnostics Diags;
///   kpc::CompileOptions Options;
///   Options.Model = "resnet50.onnx";
///   Options.Output = "resnet50.kpc";
///   Options.Targets = {"host"};
///   kpc::CompileReport Report = kpc::compile(Options, Diags);
///   if (!Report.Ok) std::cerr << Diags.text();
///
/// The work goes through phases, each of which `Emit` can stop at; see Phase.
/// Nothing is thrown, and nothing is written unless all of it succeeded.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_COMPILER_H
#define KPC_COMPILER_COMPILER_H

#include "compiler/Remarks.h"
#include "compiler/diagnostics/Diagnostics.h"
#include "dialects/shape/Facts.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kpc {

/// What `--emit` can write, in the order of the way down.
enum class Phase {
  Graph,  ///< the model as imported and simplified (MLIR, read back by kpc)
  Linalg, ///< kernels in linalg form (MLIR)
  Plan,   ///< kernels and plan (MLIR, read back by kpc)
  Tile,   ///< a GPU target's kernels on tensor cores in the tile dialect
  Nvvm,   ///< a GPU target's kernels in LLVM's MLIR dialects
  Llvm,   ///< LLVM IR
  Ptx,    ///< a GPU target's PTX
  Sass,   ///< a GPU target's machine code in text; needs nvdisasm
  Artifact,
};

/// "graph" … "sass"; none if the name is none of these.
std::optional<Phase> phaseByName(std::string_view Name);
/// The names that phaseByName knows, in order.
std::vector<std::string> phaseNames();

/// Tf32: values are stored in fp32, and tensor cores multiply them in tf32.
enum class Precision { Model, Fp32, Fp16, Bf16, Tf32 };

struct CompileOptions {
  /// model.onnx, or X.graph.mlir / X.plan.mlir that --emit wrote.
  std::string Model;
  std::string Output;
  /// As the user wrote them; empty: this machine's GPU, else host.
  std::vector<std::string> Targets;
  Precision Compute = Precision::Model;
  Precision Io = Precision::Model;
  /// Values whose name matches the regular expression keep this precision.
  std::vector<std::pair<std::string, Precision>> PrecisionFor;
  /// What the user says of dynamic sizes, by name. Min == Max fixes one.
  std::map<std::string, shape::SymbolFacts> Dims;
  std::optional<Phase> Emit;
  /// Rules that name kernels' schedules: see ScheduleFile.h. Empty: none.
  std::string ScheduleFile;
  /// Kernels that a region may have on a GPU, each for a part of the dynamic
  /// sizes; 1: the one for the optimum serves all. See KernelVariants.h.
  unsigned Variants = 4;
  /// Worker processes; 0: one per core.
  int Jobs = 0;
  std::string CacheFolder; ///< empty: no cache
  std::string Ptxas;       ///< empty: CUDA_HOME, then PATH
  bool Strip = false;      ///< leave PTX text out of the artifact
  bool LineInfo = false;   ///< GPU: PTX says of which line of the kernel it is
  bool Fuse = true;        ///< off: one op a kernel (for `verify`)
  /// Whether a kernel may hold several reductions of rows; set when compiling:
  /// only where all targets are GPUs, whose builders keep a row at hand.
  bool Rows = false;
  bool VerifyEach = false;
  std::string IrDumpFolder;
  std::string ReproducerFolder;
  /// How kpc starts itself as a worker; empty: the running program.
  std::vector<std::string> WorkerCommand;
  /// For the provenance in the artifact.
  std::string CommandLine;
  /// What is done now, and how far: "kernels", 12, 40.
  std::function<void(std::string_view What, size_t Done, size_t Total)>
      Progress;
  std::function<bool()> Cancelled;
};

/// What a kernel's builder had to choose from, for --explain.
struct KernelSchedules {
  std::string Target, Kernel;
  std::string Chosen;
  bool Forced = false; ///< by the user
  /// Of a variant: the sizes that it is for.
  std::string Where;
  /// The best first, each with the parts of its cost.
  std::vector<std::string> Costs;
};

struct TargetReport {
  std::string Name;
  size_t Kernels = 0; ///< distinct ones
  size_t Launches = 0;
  size_t CacheHits = 0;
  size_t Assembled = 0; ///< cubins made
  uint64_t CodeBytes = 0;
};

struct CompileReport {
  bool Ok = false;
  /// A fault of kpc's own rather than of the input: exit code 70.
  bool Internal = false;
  /// Internal: the file that reproduces it and the command that replays it.
  std::string Reproducer, ReplayCommand;
  /// Emit: what was written, by file name ("model.graph.mlir").
  std::vector<std::pair<std::string, std::string>> Emitted;
  std::vector<std::string> Notes; ///< for the user: "sm_90 means sm_90a"
  std::vector<TargetReport> Targets;
  std::vector<Remark> Remarks;
  std::vector<KernelSchedules> Schedules;
  uint64_t ArtifactBytes = 0, WeightBytes = 0;
  /// Seconds by phase, in order.
  std::vector<std::pair<std::string, double>> Timing;
  uint64_t PeakMemoryBytes = 0; ///< of this process and its workers
};

/// Does all of it. Errors of the model are in `Diags`.
CompileReport compile(const CompileOptions &Options, Diagnostics &Diags);

/// Everything that `compile` would refuse, without compiling kernels. The
/// verdict (no errors in `Diags`) is that of compile.
bool check(const CompileOptions &Options, Diagnostics &Diags);

/// One job of a worker process: a kernel for a target. See KernelJob.h.
struct JobReply;
JobReply compileKernelJob(std::string_view Job);

/// The passes of each phase, as kpc-opt takes them.
std::string pipelineText(const CompileOptions &Options);

} // namespace kpc

#endif // KPC_COMPILER_COMPILER_H
