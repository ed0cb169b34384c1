//===- CompileOptions.h - What a compilation is asked for -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The options of `kpc compile` and `kpc check`, and the levels that `--emit`
/// names. Plain data.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_COMPILEOPTIONS_H
#define KPC_COMPILER_COMPILEOPTIONS_H

#include "dialects/shape/Facts.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kpc {

/// The levels that `--emit` can write, in the order of lowering.
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
/// With those after Tf32, values are stored in fp16, and GEMMs quantise their
/// operands; Int4 quantises only weights.
enum class Precision {
  Model,
  Fp32,
  Fp16,
  Bf16,
  Tf32,
  Fp8,
  Int8,
  Mxfp8,
  Mxfp4,
  Nvfp4,
  Int4 ///< of weights alone
};

/// Whether GEMMs quantise their operands.
inline bool quantises(Precision P) { return P > Precision::Tf32; }

/// Limits of a compilation. 0: no limit.
struct CompileLimits {
  /// Bytes of address space of this process and of each worker. The driver of
  /// the compilation sets the limit of its own process.
  uint64_t MemoryBytes = 0;
  double Seconds = 0; ///< kept by the driver
  /// Bytes of constants that are computed together when compiling, with their
  /// operands. A value that alone takes more is computed in each run.
  uint64_t FoldedBytes = uint64_t(4) << 30;
  /// Nodes that unrolled loops and taken branches may add.
  uint64_t UnrolledNodes = 200'000;
};

struct CompileOptions {
  /// model.onnx, model.pt2, model.pt, or X.graph.mlir / X.plan.mlir that --emit
  /// wrote.
  std::string Model;
  std::string Output;
  /// The folder of an ONNX model's external data; empty: the model's folder.
  std::string DataFolder;
  /// As the user wrote them; empty: this machine's GPU, else host.
  std::vector<std::string> Targets;
  Precision Compute = Precision::Model;
  Precision Io = Precision::Model;
  /// Values whose name matches the regular expression keep this precision;
  /// with Int8, Fp8 and 16 bits, GEMMs and convolutions multiply that type.
  std::vector<std::pair<std::string, Precision>> PrecisionFor;
  /// The line of --precision-plan that each pattern comes from, for errors.
  struct PlanLine {
    std::string Place; ///< "line 3 of 'x.plan'"
    std::string Node;
  };
  std::map<std::string, PlanLine> PlanLines;
  /// Ranges of operands, as `kpc calibrate` writes them; empty: none.
  std::string Calibration;
  /// The methods against the error of codes that calibration allows.
  bool SmoothChannels = true, CorrectBias = true;
  /// The same against the error of weights of 4 bits.
  bool ScaleWeights = true, RoundByFeedback = true;
  /// Elements of K that share a scale of such weights: 32, 64 or 128.
  unsigned WeightGroup = 128;
  /// Operands that GEMMs and convolutions multiply by weights become outputs.
  bool WatchOperands = false;
  /// Residuals are read as the codes of FP8 that convolutions multiply.
  bool ResidualsOfCodes = true;
  /// GPU: loops become one kernel where that is faster.
  bool LoopKernels = true;
  /// GEMMs and convolutions with weights get switches between these types,
  /// which are an input: see the pass switch-precisions. Only Fp8 and Int8.
  std::vector<Precision> Switched;
  /// The result of --precision auto, as text; the artifact keeps it.
  std::string PrecisionTable;
  /// The user's ranges of dynamic sizes, by name. Min == Max fixes one.
  std::map<std::string, shape::SymbolFacts> Dims;
  /// The same for all dims of an input, by its name.
  std::map<std::string, std::vector<shape::SymbolFacts>> Places;
  /// Values of inputs that are fixed now, as the user wrote them.
  std::map<std::string, std::string> Values;
  /// Inputs whose memory outputs have to be able to take, by the output's name.
  std::map<std::string, std::string> Aliases;
  /// Shapes of inputs, which TorchScript lacks: numbers, names of dims, and
  /// "?".
  std::map<std::string, std::vector<std::string>> InputShapes;
  std::map<std::string, std::string> InputTypes; ///< "f16"; f32 else
  std::string Method; ///< of a TorchScript module; empty: forward
  std::vector<std::string> Operators; ///< manifests of custom operators
  bool ExplicitState = false; ///< a module's state becomes inputs and outputs
  bool Strict = false;        ///< warnings are errors
  CompileLimits Limits;
  std::optional<Phase> Emit;
  /// Rules that name kernels' schedules: see ScheduleFile.h. Empty: none.
  std::string ScheduleFile;
  /// Kernels that a region may have on a GPU, each for a part of the dynamic
  /// sizes; 1: the one for the optimum serves all. See KernelVariants.h.
  unsigned Variants = 4;
  /// Worker processes; 0: as many as KPC_JOBS in the environment says, or one
  /// per core. InThisProcess: none, and a crash while a kernel compiles ends
  /// the caller.
  int Jobs = 0;
  static constexpr int InThisProcess = -1;
  /// LLVM's optimisations of code for the host. 0: none; 1: no vectors and no
  /// unrolled loops; 2: all. With fewer, code is slower and compiles faster.
  unsigned HostOptimization = 2;
  std::string CacheFolder; ///< empty: no cache
  std::string Ptxas;       ///< empty: CUDA_HOME, then PATH
  std::string Nvrtc;       ///< empty: CUDA_HOME, then the system's loader
  std::string Cxx;         ///< for custom operators; empty: CXX, then c++
  bool Strip = false;      ///< leave PTX text out of the artifact
  bool LineInfo = false;   ///< GPU: PTX says of which line of the kernel it is
  bool Fuse = true;        ///< off: one op a kernel (for `verify`)
  bool VerifyEach = false;
  std::string IrDumpFolder;
  std::string ReproducerFolder;
  /// How kpc starts itself as a worker; empty: the running program.
  std::vector<std::string> WorkerCommand;
  /// For the provenance in the artifact.
  std::string CommandLine;
  /// The current work and its progress: "kernels", 12, 40.
  std::function<void(std::string_view What, size_t Done, size_t Total)>
      Progress;
  std::function<bool()> Cancelled;
};

} // namespace kpc

#endif // KPC_COMPILER_COMPILEOPTIONS_H
