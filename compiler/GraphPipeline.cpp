//===- GraphPipeline.cpp - The passes of each phase ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/GraphPipeline.h"
#include "compiler/Compiler.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"
#include "passes/graph/ChooseLoops.h"
#include "passes/graph/ChooseRecurrent.h"
#include "passes/graph/FuseCachesIntoAttention.h"
#include "passes/graph/OneBlock.h"
#include "passes/graph/RowSpace.h"
#include "passes/graph/SplitAttentionKeys.h"
#include "passes/schedule/MmaSyncSchedule.h"

using namespace kpc;
using namespace mlir;

static std::string typeName(Precision P) {
  switch (P) {
  case Precision::Model:
    return "";
  case Precision::Fp32:
  case Precision::Tf32:
    return "f32";
  case Precision::Fp16:
  case Precision::Fp8: // between kernels; GEMMs quantise what they multiply
  case Precision::Int8:
  case Precision::Mxfp8:
  case Precision::Mxfp4:
  case Precision::Nvfp4:
  case Precision::Int4:
    return "f16";
  case Precision::Bf16:
    return "bf16";
  }
  return "";
}

/// The format of numbers that share scales in blocks; empty: none.
static std::string blocksOf(Precision P) {
  switch (P) {
  case Precision::Mxfp8:
    return "mxfp8";
  case Precision::Mxfp4:
    return "mxfp4";
  case Precision::Nvfp4:
    return "nvfp4";
  default:
    return "";
  }
}

static void addIoType(OpPassManager &Passes, const CompileOptions &Options) {
  graph::SetIoTypeOptions Io;
  Io.To = typeName(Options.Io);
  if (!Io.To.empty())
    Passes.addNestedPass<func::FuncOp>(graph::createSetIoType(Io));
}

/// Whether f32 values are stored in 16 bits.
static bool isNarrow(const CompileOptions &Options) {
  return Options.Compute == Precision::Fp16 ||
         Options.Compute == Precision::Bf16 || quantises(Options.Compute);
}

static bool isOfCodes(Precision P) {
  return P == Precision::Fp8 || P == Precision::Int8;
}

bool kpc::asksForCodes(const CompileOptions &Options) {
  return isOfCodes(Options.Compute) || !Options.Switched.empty() ||
         llvm::any_of(Options.PrecisionFor,
                      [](const auto &F) { return isOfCodes(F.second); });
}

bool kpc::asksForWeightCodes(const CompileOptions &Options) {
  return Options.Compute == Precision::Int4 ||
         llvm::is_contained(Options.Switched, Precision::Int4) ||
         llvm::any_of(Options.PrecisionFor, [](const auto &F) {
           return F.second == Precision::Int4;
         });
}

/// Whether GEMMs of few rows multiply floats of 16 bits, or codes that kpc
/// makes of weights, by which rows' factors may come after them. What
/// calibration knows is of the rows with their norm, and numbers with scales in
/// blocks are made of these.
static bool takesNormFactors(const CompileOptions &Options) {
  bool HasCodes = asksForCodes(Options) || asksForWeightCodes(Options);
  return isNarrow(Options) && Options.Switched.empty() &&
         blocksOf(Options.Compute).empty() &&
         !(HasCodes && !Options.Calibration.empty()) &&
         llvm::none_of(Options.PrecisionFor, [](const auto &F) {
           return !blocksOf(F.second).empty();
         });
}

std::vector<std::string> kpc::targetNames(const CompileOptions &Options) {
  if (!Options.Targets.empty())
    return Options.Targets;
  return {target::thisMachine().GpuCompute() ? "native" : "host"};
}

static SmallVector<std::string> keptNodes(const CompileOptions &Options) {
  SmallVector<std::string> Patterns;
  for (const auto &[Pattern, Kept] : Options.PrecisionFor)
    if (Kept == kpc::Precision::Fp32)
      Patterns.push_back(Pattern);
  return Patterns;
}

//===----------------------------------------------------------------------===//
// What is asked of a class of targets
//===----------------------------------------------------------------------===//

/// GEMMs of 16-bit matrices on tensor cores: rows that begin at multiples of 16
/// bytes are copied best (by TMA alone), and either order of them is read.
static bool hasTensorCores(const target::TargetClass &For) {
  constexpr uint32_t Kinds = target::MmaF16 | target::MmaBf16;
  const target::Capabilities &Can = For.first().Can;
  return Can.Wgmma || (Can.CpAsync && (Can.MmaSync & Kinds) == Kinds);
}

/// Whether convolutions and GEMMs run on wgmma.
static bool hasWgmma(const target::TargetClass &For) {
  return For.first().Can.Wgmma;
}

/// Elements of the longest row that a kernel keeps between its reductions.
static int64_t longestRow(const target::TargetClass &For) {
  return For.first().Can.ClusterBlocks > 1 ? graph::RowSpace::LongestOfCluster
                                           : graph::RowSpace::LongestOfBlock;
}

/// Whether convolutions of 16 bits are copied by TMA, which wants pixels at
/// multiples of 16 bytes.
static bool hasIm2col(const target::TargetClass &For) {
  return hasWgmma(For) || For.first().Can.Tcgen05;
}

/// Whether Tensor Cores may round f32 operands to tf32: on GPUs, unless another
/// precision is asked for.
static bool roundsToTf32(const CompileOptions &Options,
                         const target::TargetClass &For) {
  return For.isGpu() && (Options.Compute == Precision::Model ||
                         Options.Compute == Precision::Tf32);
}

/// Whether Tensor Cores multiply f32 operands: rounded, or as sums of two
/// numbers of tf32 where that is faster than fp32 arithmetic.
static bool multipliesF32(const CompileOptions &Options,
                          const target::TargetClass &For) {
  return roundsToTf32(Options, For) ||
         (For.isGpu() && llvm::all_of(For.Targets, [](const target::Target *T) {
            return schedule::paysToSplit(*T);
          }));
}

//===----------------------------------------------------------------------===//
// The passes
//===----------------------------------------------------------------------===//

void kpc::addGraphPasses(OpPassManager &Passes, const CompileOptions &Options) {
  Passes.addNestedPass<func::FuncOp>(graph::createPackBorders());
  graph::DecomposeDequantiseOptions Codes;
  Codes.KeepWeights = true;
  Passes.addNestedPass<func::FuncOp>(graph::createDecomposeDequantise(Codes));
  Passes.addNestedPass<func::FuncOp>(graph::createMoveQuantisation());
  Passes.addNestedPass<func::FuncOp>(graph::createHoistInvariants());
  Passes.addNestedPass<func::FuncOp>(graph::createGatherNdToBroadcast());
  Passes.addNestedPass<func::FuncOp>(graph::createSinkBroadcasts());
  Passes.addNestedPass<func::FuncOp>(graph::createRecogniseAttention());
  Passes.addPass(createCanonicalizerPass(graph::inOneBlock()));
  // Transposes go towards users that take them, batches become rows of one
  // GEMM.
  Passes.addNestedPass<func::FuncOp>(graph::createSinkTransposes());
  Passes.addNestedPass<func::FuncOp>(graph::createFlattenBatchIntoM());
  Passes.addNestedPass<func::FuncOp>(graph::createFuseQkv());
  Passes.addNestedPass<func::FuncOp>(graph::createFoldScales());
  addIoType(Passes, Options);
  Passes.addPass(createCanonicalizerPass(graph::inOneBlock()));
  Passes.addPass(createCSEPass());
  Passes.addNestedPass<func::FuncOp>(graph::createRecogniseGelu());
  Passes.addNestedPass<func::FuncOp>(graph::createRecogniseRope());
  graph::AssumeKeysOptions Keys;
  for (const auto &[Name, Facts] : Options.Dims)
    Keys.Given.push_back(Name);
  Passes.addPass(graph::createAssumeKeys(Keys));
  if (Options.WatchOperands)
    Passes.addNestedPass<func::FuncOp>(graph::createWatchOperands());
}

/// Sorts, and scatters that are sorts. A thread of the host sorts what its
/// first cache holds, and looks through pairs one by one.
static void addSorts(OpPassManager &Passes, const target::TargetClass &For) {
  graph::SortScattersOptions Scatters;
  graph::DecomposeSortOptions Sorts;
  if (!For.isGpu()) {
    Scatters.MostSearched = 4;
    Scatters.MostPairs = int64_t(1) << 14;
    Sorts.LeastRun = 64;
    Sorts.MostRun = 1024;
    Sorts.Radix = false;
  }
  Passes.addPass(graph::createSortScatters(Scatters));
  Passes.addPass(graph::createDecomposeSort(Sorts));
}

static StringRef precisionWord(Precision P) {
  switch (P) {
  case Precision::Int8:
    return "int8";
  case Precision::Fp8:
    return "fp8";
  default:
    return "none";
  }
}

/// Numbers with scales in blocks, which every target multiplies. Products that
/// get such numbers are none of those that get codes below.
static void addBlocks(OpPassManager &Passes, const CompileOptions &Options) {
  auto IsOfBlocks = [](Precision P) { return !blocksOf(P).empty(); };
  if (!IsOfBlocks(Options.Compute) &&
      !llvm::any_of(Options.Switched, IsOfBlocks) &&
      llvm::none_of(Options.PrecisionFor,
                    [&](const auto &F) { return IsOfBlocks(F.second); }))
    return;
  graph::QuantiseBlocksOptions Gemms;
  std::string Base = blocksOf(Options.Compute);
  Gemms.Format = Base.empty() ? "none" : Base;
  for (const auto &[Pattern, Type] : Options.PrecisionFor) {
    std::string Blocks = blocksOf(Type);
    Gemms.For.push_back(Pattern + "=" + (Blocks.empty() ? "none" : Blocks));
  }
  Gemms.Keep = keptNodes(Options);
  Passes.addNestedPass<func::FuncOp>(graph::createQuantiseBlocks(Gemms));
}

static const char *useOfCodes(const target::TargetClass &For, bool Multiplies) {
  return !For.isGpu() ? "rounded" : Multiplies ? "multiplied" : "none";
}

/// A switch for each product, in front of all passes that quantise.
static void addSwitches(OpPassManager &Passes, const CompileOptions &Options,
                        const target::TargetClass &For,
                        const PlanTools &Tools) {
  if (Options.Switched.empty())
    return;
  if (!Options.Calibration.empty())
    Passes.addPass(graph::createFoldConstants(Tools.Fold));
  graph::SwitchPrecisionsOptions Switches;
  for (Precision P : Options.Switched)
    Switches.Types.push_back(isOfCodes(P)           ? precisionWord(P).str()
                             : P == Precision::Int4 ? "int4"
                                                    : blocksOf(P));
  Switches.Int8 = useOfCodes(For, target::prefersInt8(For.first()));
  Switches.Fp8 = useOfCodes(For, target::multipliesFp8(For.first()));
  Switches.Wgmma = target::copiesRowsOfFp8(For.first());
  Passes.addPass(graph::createSwitchPrecisions(Switches));
}

/// Few-row GEMMs read the codes of weights. `Tells` of those that do and that
/// do not.
static void addTiles(OpPassManager &Passes, const CompileOptions &Options,
                     const target::TargetClass &For, const PlanTools &Tools,
                     bool Tells) {
  graph::TileFewRowWeightsOptions Codes;
  Codes.ManyRows = hasWgmma(For);
  if (isNarrow(Options))
    Codes.NarrowName = typeName(Options.Compute);
  Codes.Keep = keptNodes(Options);
  Codes.Tells = Tells;
  Passes.addNestedPass<func::FuncOp>(
      graph::createTileFewRowWeights(Codes, Tools.Bytes));
}

/// Codes of what GEMMs and convolutions multiply, where they are asked for. A
/// processor rounds to the same numbers, and multiplies floats.
static void addQuantisation(OpPassManager &Passes,
                            const CompileOptions &Options,
                            const target::TargetClass &For,
                            const PlanTools &Tools) {
  auto Use = [&](bool Multiplies) { return useOfCodes(For, Multiplies); };
  SmallVector<std::string> Types;
  for (const auto &[Pattern, Type] : Options.PrecisionFor)
    Types.push_back(Pattern + "=" + precisionWord(Type).str());
  auto Ask = [&](auto &Pass) {
    Pass.TypeName =
        isOfCodes(Options.Compute) ? precisionWord(Options.Compute) : "none";
    Pass.For = Types;
    Pass.Int8 = Use(target::prefersInt8(For.first()));
    Pass.Fp8 = Use(target::multipliesFp8(For.first()));
    // Those of other chips were compared with nothing that was measured.
    if (hasWgmma(For))
      for (const target::Target *T : For.Targets)
        Pass.Targets.emplace_back(T->Name);
  };
  // These look at the numbers of weights, which others have put together.
  if (asksForCodes(Options) && !Options.Calibration.empty())
    Passes.addPass(graph::createFoldConstants(Tools.Fold));
  addBlocks(Passes, Options);
  if (!asksForCodes(Options))
    return;
  if (!Options.Calibration.empty()) {
    graph::SmoothChannelsOptions Smooth;
    Ask(Smooth);
    Smooth.Wgmma = target::copiesRowsOfFp8(For.first());
    if (Options.SmoothChannels)
      Passes.addNestedPass<func::FuncOp>(
          graph::createSmoothChannels(Smooth, Tools.Read));
    graph::CorrectBiasOptions Bias;
    Ask(Bias);
    Bias.Wgmma = target::copiesRowsOfFp8(For.first());
    if (Options.CorrectBias)
      Passes.addNestedPass<func::FuncOp>(
          graph::createCorrectBias(Bias, Tools.Read));
  }
  graph::QuantiseConvsOptions Convs;
  Ask(Convs);
  Passes.addNestedPass<func::FuncOp>(graph::createQuantiseConvs(Convs));
  graph::QuantiseGemmsOptions Gemms;
  Ask(Gemms);
  Gemms.Wgmma = target::copiesRowsOfFp8(For.first());
  // Kernels of few rows multiply 16 bits.
  bool ReadsCodes = isNarrow(Options) && hasTensorCores(For);
  if (isNarrow(Options) || !Options.Switched.empty())
    Gemms.FewRows = useOfCodes(For, ReadsCodes);
  Passes.addNestedPass<func::FuncOp>(graph::createQuantiseGemms(Gemms));
  if (!Options.Calibration.empty() && Options.ResidualsOfCodes) {
    Passes.addPass(createCSEPass());
    Passes.addNestedPass<func::FuncOp>(graph::createResidualsOfCodes());
  }
  if (ReadsCodes) {
    Passes.addPass(graph::createFoldConstants(Tools.Fold));
    addTiles(Passes, Options, For, Tools, /*Tells=*/false);
  }
}

/// Weights of 4 bits, which is all that changes of such GEMMs.
static void addWeightCodes(OpPassManager &Passes, const CompileOptions &Options,
                           const PlanTools &Tools) {
  if (!asksForWeightCodes(Options))
    return;
  SmallVector<std::string> Types;
  for (const auto &[Pattern, Type] : Options.PrecisionFor)
    Types.push_back(Pattern + "=" +
                    (Type == Precision::Int4 ? "int4" : "none"));
  auto Ask = [&](auto &Pass) {
    Pass.TypeName = Options.Compute == Precision::Int4 ? "int4" : "none";
    Pass.For = Types;
  };
  // These look at the numbers of weights, which others have put together.
  Passes.addPass(graph::createFoldConstants(Tools.Fold));
  if (!Options.Calibration.empty() && Options.ScaleWeights) {
    graph::ScaleWeightsOptions Scale;
    Ask(Scale);
    Scale.GroupSize = Options.WeightGroup;
    Passes.addNestedPass<func::FuncOp>(
        graph::createScaleWeights(Scale, Tools.Read));
  }
  if (!Options.Calibration.empty() && Options.RoundByFeedback) {
    graph::RoundByFeedbackOptions Feedback;
    Ask(Feedback);
    Feedback.Group = Options.WeightGroup;
    Passes.addNestedPass<func::FuncOp>(graph::createRoundByFeedback(
        Feedback, Tools.Read, Tools.Moments, Tools.Write));
  }
  graph::QuantiseWeightsOptions Weights;
  Ask(Weights);
  Weights.Group = Options.WeightGroup;
  Passes.addNestedPass<func::FuncOp>(
      graph::createQuantiseWeights(Weights, Tools.Read, Tools.Write));
}

/// The pass with an option that it declares itself.
static std::unique_ptr<Pass> withOption(std::unique_ptr<Pass> P,
                                        StringRef Option) {
  (void)P->initializeOptions(Option, [](const Twine &) { return failure(); });
  return P;
}

/// Named ops that the class has no kernel for are taken apart, and sizes and
/// operands become what its kernels take.
static void addLegalisation(OpPassManager &Passes,
                            const CompileOptions &Options,
                            const target::TargetClass &For,
                            const PlanTools &Tools) {
  graph::ChooseRecurrentOptions Recurrent;
  if (For.isGpu())
    for (const target::Target *T : For.Targets)
      Recurrent.Targets.emplace_back(T->Name);
  if (isNarrow(Options))
    Recurrent.Narrow = typeName(Options.Compute);
  Recurrent.Tf32 = roundsToTf32(Options, For);
  Recurrent.Keep = keptNodes(Options);
  Passes.addPass(graph::createChooseRecurrent(Recurrent));
  graph::DecomposeAttentionOptions Attention;
  if (For.isGpu())
    for (const target::Target *T : For.Targets)
      Attention.Targets.emplace_back(T->Name);
  Attention.Narrow = isNarrow(Options);
  Attention.Tf32 = roundsToTf32(Options, For);
  Attention.Keep = keptNodes(Options);
  Passes.addPass(graph::createDecomposeAttention(Attention));
  // Norms between channels-last convolutions, of which no kernel of the host
  // keeps rows at hand.
  if (Options.Fuse && For.isGpu()) {
    std::unique_ptr<Pass> Norms =
        withOption(graph::createUnifyRowShapes(), "across-transposes");
    Passes.addNestedPass<func::FuncOp>(std::move(Norms));
  }
  // The transposes of heads, and then the batches of patches, as above.
  Passes.addNestedPass<func::FuncOp>(graph::createSinkTransposes());
  // Zeros between the pixels would be four times the arithmetic of GPUs.
  std::unique_ptr<Pass> Phases = graph::createDecomposeConvTranspose();
  if (For.isGpu())
    Phases = withOption(std::move(Phases), "zero-taps");
  Passes.addNestedPass<func::FuncOp>(std::move(Phases));
  if (hasTensorCores(For)) {
    graph::Im2colPatchEmbedOptions Patches;
    Patches.Narrow = isNarrow(Options);
    Patches.Keep = keptNodes(Options);
    Passes.addNestedPass<func::FuncOp>(graph::createIm2colPatchEmbed(Patches));
  }
  Passes.addNestedPass<func::FuncOp>(graph::createFlattenBatchIntoM());
  if (Options.Fuse && isNarrow(Options) && hasTensorCores(For))
    Passes.addNestedPass<func::FuncOp>(graph::createSplitGateUp());
  if (Options.Fuse && takesNormFactors(Options) && hasTensorCores(For)) {
    graph::SinkNormFactorsOptions Norms;
    Norms.Keep = keptNodes(Options);
    Passes.addNestedPass<func::FuncOp>(graph::createSinkNormFactors(Norms));
  }
  Passes.addNestedPass<func::FuncOp>(graph::createFoldScales());
  addSwitches(Passes, Options, For, Tools);
  addWeightCodes(Passes, Options, Tools);
  if (hasTensorCores(For))
    addTiles(Passes, Options, For, Tools, /*Tells=*/true);
  graph::SinkScalesOptions Codes;
  Codes.Fp8 = target::multipliesFp8(For.first());
  Codes.Int8 = target::multipliesInt8(For.first());
  Codes.Dequantised = target::prefersInt8(For.first());
  if (Codes.Fp8 || Codes.Int8) {
    std::unique_ptr<Pass> Scales = graph::createSinkScales(Codes);
    // What tcgen05 does not fit, it multiplies in 16 bits, faster than mma.sync
    // multiplies FP8.
    if (For.first().Can.Tcgen05)
      Scales = withOption(std::move(Scales), "whole-rows");
    Passes.addNestedPass<func::FuncOp>(std::move(Scales));
  }
  addQuantisation(Passes, Options, For, Tools);
  if (target::multipliesBlocks(For.first()) || For.first().Can.Wgmma) {
    graph::PackBlockScalesOptions Scales;
    Scales.Panels = For.first().Can.Tcgen05;
    Scales.Floats = For.first().Can.Wgmma;
    Passes.addNestedPass<func::FuncOp>(graph::createPackBlockScales(Scales));
  }
  if (hasTensorCores(For) || Codes.Int8) {
    graph::PadChannelsOptions Channels;
    Channels.Floats = hasTensorCores(For);
    // mma.sync copies channels of any number, but the fewer bytes a pixel has,
    // the more copies.
    Channels.FewAlone = !hasIm2col(For);
    Channels.Narrow = isNarrow(Options);
    Channels.Tf32 = roundsToTf32(Options, For);
    Channels.Keep = keptNodes(Options);
    Passes.addNestedPass<func::FuncOp>(graph::createPadChannels(Channels));
  }
  addSorts(Passes, For);
  if (For.isGpu()) {
    graph::SplitReductionsOptions Parts;
    for (const target::Target *T : For.Targets)
      Parts.Targets.emplace_back(T->Name);
    Parts.Narrow = isNarrow(Options);
    Parts.Tf32 = roundsToTf32(Options, For);
    Parts.LongestRow = longestRow(For);
    // Parts of a row have no place for what is computed with all of it.
    if (Options.Fuse)
      Passes.addNestedPass<func::FuncOp>(
          withOption(graph::createUnifyRowShapes(),
                     "longer-than=" + std::to_string(Parts.LongestRow)));
    Passes.addPass(graph::createSplitReductions(Parts));
  }
  // Last: a recipe reshapes what is in the model's order, and nothing behind.
  Passes.addNestedPass<func::FuncOp>(graph::createFoldRecipes());
  Passes.addPass(createCanonicalizerPass(graph::inOneBlock()));
  Passes.addPass(createCSEPass());
}

static void addPrecision(OpPassManager &Passes, const CompileOptions &Options,
                         const target::TargetClass &For) {
  graph::SetPrecisionOptions Precision;
  if (hasTensorCores(For))
    for (const target::Target *T : For.Targets)
      Precision.Targets.emplace_back(T->Name);
  Precision.Narrow = typeName(Options.Compute);
  Precision.Keep = keptNodes(Options);
  if (!Precision.Narrow.empty())
    Passes.addPass(graph::createSetPrecision(Precision));
}

static void addFusion(OpPassManager &Passes, const CompileOptions &Options,
                      const target::TargetClass &For) {
  // Kernels that keep rows at hand are those of GPUs.
  if (Options.Fuse && For.isGpu())
    Passes.addNestedPass<func::FuncOp>(graph::createUnifyRowShapes());
  graph::IsolateCustomOptions Custom;
  Custom.Gpu = For.isGpu();
  Passes.addPass(graph::createIsolateCustom(Custom));
  if (Options.Fuse && Options.LoopKernels && For.isGpu()) {
    graph::ChooseLoopsOptions Loops;
    for (const target::Target *T : For.Targets)
      Loops.Targets.emplace_back(T->Name);
    Passes.addPass(graph::createChooseLoops(Loops));
  }
  // Kernels by mma.sync and tcgen05 write heads of 16 bits.
  if (Options.Fuse && isNarrow(Options) && hasWgmma(For)) {
    graph::FuseCodesIntoAttentionOptions Codes;
    for (const target::Target *T : For.Targets)
      Codes.Targets.emplace_back(T->Name);
    Passes.addNestedPass<func::FuncOp>(
        graph::createFuseCodesIntoAttention(Codes));
  }
  graph::FormRegionsOptions Regions;
  // The rounds of a random number, or all that a cubic sample of a picture is
  // made of, are one kernel. Its arguments, one for each op at most, fit the
  // 4 KiB that CUDA has for them.
  Regions.MaxOps = 256;
  Regions.Fuse = Options.Fuse;
  Regions.Rows = For.isGpu();
  Regions.LongestRow = longestRow(For);
  // GEMMs that miss the Tensor Cores are loops, which want what they read in
  // order.
  if (hasTensorCores(For)) {
    bool OnTensorCores = isNarrow(Options) || multipliesF32(Options, For);
    Regions.Transposed = OnTensorCores ? 32 : 16;
  }
  Passes.addNestedPass<func::FuncOp>(graph::createFormRegions(Regions));
  addPrecision(Passes, Options, For);
  if (Options.Fuse && hasTensorCores(For)) {
    graph::FuseGatedMlpOptions Gates;
    graph::FuseRopeIntoGemmOptions Rope;
    // By wgmma, one kernel was as fast or faster wherever it was measured, but
    // for weights of codes.
    auto &Asked = hasWgmma(For) ? Gates.CodeTargets : Gates.Targets;
    for (const target::Target *T : For.Targets)
      Asked.emplace_back(T->Name);
    Rope.Targets = Gates.Targets;
    Rope.CodeTargets = Gates.CodeTargets;
    Passes.addNestedPass<func::FuncOp>(graph::createFuseGatedMlp(Gates));
    Passes.addNestedPass<func::FuncOp>(graph::createFuseRopeIntoGemm(Rope));
  }
  if (Options.Fuse && For.isGpu()) {
    graph::FuseCachesIntoAttentionOptions Caches;
    for (const target::Target *T : For.Targets)
      Caches.Targets.emplace_back(T->Name);
    Passes.addNestedPass<func::FuncOp>(
        graph::createFuseCachesIntoAttention(Caches));
  }
  // The host has no launches to save.
  if (Options.Fuse && For.isGpu())
    Passes.addNestedPass<func::FuncOp>(graph::createFuseSiblings());
  // Of f32: wgmma and tcgen05 multiply what is rounded, mma.sync the rest.
  bool Rounds = roundsToTf32(Options, For),
       TurnsF32 = Rounds || (!isNarrow(Options) && multipliesF32(Options, For));
  if (hasTensorCores(For)) {
    graph::KMajorOperandsOptions Operands;
    Operands.Tf32 = TurnsF32;
    Operands.Split = !Rounds;
    Operands.Wgmma = hasIm2col(For);
    Operands.Keep = keptNodes(Options);
    Passes.addNestedPass<func::FuncOp>(graph::createKMajorOperands(Operands));
    graph::PadLeadingDimensionOptions Rows;
    if (isNarrow(Options))
      Rows.NarrowName = typeName(Options.Compute);
    Rows.Keep = keptNodes(Options);
    Passes.addNestedPass<func::FuncOp>(graph::createPadLeadingDimension(Rows));
  }
}

void kpc::addPlanPasses(OpPassManager &Passes, const CompileOptions &Options,
                        const target::TargetClass &For,
                        const PlanTools &Tools) {
  addLegalisation(Passes, Options, For, Tools);
  Passes.addPass(graph::createFoldConstants(Tools.Fold));
  Passes.addNestedPass<func::FuncOp>(graph::createDecomposeDequantise());
  Passes.addPass(createCanonicalizerPass(graph::inOneBlock()));
  addFusion(Passes, Options, For);
  if (Options.Fuse && For.isGpu()) {
    graph::SplitAttentionKeysOptions Keys;
    for (const target::Target *T : For.Targets)
      Keys.Targets.emplace_back(T->Name);
    Passes.addNestedPass<func::FuncOp>(graph::createSplitAttentionKeys(Keys));
  }
  Passes.addNestedPass<func::FuncOp>(graph::createShareKernels());
  Passes.addPass(graph::createLowerRegions());
  if (roundsToTf32(Options, For)) {
    graph::AllowTf32Options Tf32;
    Tf32.Keep = keptNodes(Options);
    Passes.addPass(graph::createAllowTf32(Tf32));
  }
  Passes.addPass(graph::createOrderBySizes());
  Passes.addPass(graph::createSetLiveIntervals());
  Passes.addPass(graph::createVerifyKernelForm());
}
