//===- GraphPipeline.cpp - The passes of each phase -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/GraphPipeline.h"
#include "compiler/Compiler.h"
#include "compiler/target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"
#include "passes/graph/Passes.h"

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
    return "f16";
  case Precision::Bf16:
    return "bf16";
  }
  return "";
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
         Options.Compute == Precision::Bf16;
}

static SmallVector<std::string> keptNodes(const CompileOptions &Options) {
  SmallVector<std::string> Patterns;
  for (const auto &[Pattern, Kept] : Options.PrecisionFor)
    if (Kept == kpc::Precision::Fp32)
      Patterns.push_back(Pattern);
  return Patterns;
}

static void addPrecision(OpPassManager &Passes, const CompileOptions &Options) {
  graph::SetPrecisionOptions Precision;
  Precision.Narrow = typeName(Options.Compute);
  Precision.Keep = keptNodes(Options);
  if (!Precision.Narrow.empty())
    Passes.addPass(graph::createSetPrecision(Precision));
}

/// The targets, this machine's where none is named.
static std::vector<const target::Target *>
targetsOf(const CompileOptions &Options) {
  std::vector<std::string> Names = Options.Targets;
  if (Names.empty() && target::thisMachine().GpuCompute())
    Names.push_back("native");
  std::vector<const target::Target *> All;
  for (const std::string &Name : Names)
    if (target::Lookup Found = target::lookup(Name))
      llvm::append_range(All, Found.Targets);
  return All;
}

static bool anyTarget(const CompileOptions &Options,
                      llvm::function_ref<bool(const target::Target &)> What) {
  return llvm::any_of(targetsOf(Options),
                      [&](const target::Target *T) { return What(*T); });
}

/// Products of 16-bit matrices on tensor cores: rows that begin at multiples of
/// 16 bytes are copied best (by TMA alone), and either order of them is read.
static bool multipliesMatrices(const CompileOptions &Options) {
  return anyTarget(Options, [](const target::Target &T) {
    constexpr uint32_t Kinds = target::MmaF16 | target::MmaBf16;
    return T.Can.Wgmma || (T.Can.CpAsync && (T.Can.MmaSync & Kinds) == Kinds);
  });
}

/// Gated MLPs and RoPE are fused into a GEMM's epilogue only where every target
/// has wgmma: one plan serves all targets.
static bool allFuseGemmEpilogues(const CompileOptions &Options) {
  std::vector<const target::Target *> All = targetsOf(Options);
  return !All.empty() && llvm::all_of(All, [](const target::Target *T) {
    return T->Can.Wgmma;
  });
}

/// Convolutions on tensor cores.
static bool convolves(const CompileOptions &Options) {
  return anyTarget(Options,
                   [](const target::Target &T) { return T.Can.Wgmma; });
}

/// For graphs that were imported, and for those that come as text.
static void addDecomposition(OpPassManager &Passes,
                             const CompileOptions &Options) {
  graph::DecomposeAttentionOptions Attention;
  Attention.Targets.assign(Options.Targets.begin(), Options.Targets.end());
  Attention.Narrow = isNarrow(Options);
  Attention.Keep = keptNodes(Options);
  Passes.addPass(graph::createDecomposeAttention(Attention));
}

void kpc::addGraphPasses(OpPassManager &Passes, const CompileOptions &Options) {
  Passes.addNestedPass<func::FuncOp>(graph::createHoistInvariants());
  Passes.addNestedPass<func::FuncOp>(graph::createGatherNdToBroadcast());
  Passes.addNestedPass<func::FuncOp>(graph::createSinkBroadcasts());
  Passes.addNestedPass<func::FuncOp>(graph::createRecogniseAttention());
  addDecomposition(Passes, Options);
  Passes.addPass(createCanonicalizerPass());
  Passes.addNestedPass<func::FuncOp>(graph::createSinkTransposes());
  if (multipliesMatrices(Options)) {
    graph::Im2colPatchEmbedOptions Patches;
    Patches.Narrow = isNarrow(Options);
    Patches.Keep = keptNodes(Options);
    Passes.addNestedPass<func::FuncOp>(graph::createIm2colPatchEmbed(Patches));
  }
  Passes.addNestedPass<func::FuncOp>(graph::createFlattenBatchIntoM());
  Passes.addNestedPass<func::FuncOp>(graph::createFuseQkv());
  if (Options.Fuse && isNarrow(Options) && allFuseGemmEpilogues(Options))
    Passes.addNestedPass<func::FuncOp>(graph::createSplitGateUp());
  Passes.addNestedPass<func::FuncOp>(graph::createFoldScales());
  if (convolves(Options)) {
    graph::PadChannelsOptions Channels;
    Channels.Narrow = isNarrow(Options);
    Channels.Keep = keptNodes(Options);
    Passes.addNestedPass<func::FuncOp>(graph::createPadChannels(Channels));
  }
  addIoType(Passes, Options);
  Passes.addNestedPass<func::FuncOp>(graph::createFoldRecipes());
  Passes.addPass(createCanonicalizerPass());
  Passes.addPass(createCSEPass());
  Passes.addNestedPass<func::FuncOp>(graph::createRecogniseRope());
}

void kpc::addKernelPasses(OpPassManager &Passes,
                          const CompileOptions &Options) {
  addDecomposition(Passes, Options);
  // Of use to kernels that keep rows alone: those of hosts stay as they are.
  if (Options.Fuse && Options.Rows)
    Passes.addNestedPass<func::FuncOp>(graph::createUnifyRowShapes());
  graph::FormRegionsOptions Regions;
  Regions.Fuse = Options.Fuse;
  Regions.Rows = Options.Rows;
  // Products in f32 that stay so are loops, which want what they read in order.
  if (multipliesMatrices(Options)) {
    bool OnTensorCores =
        isNarrow(Options) || Options.Compute == Precision::Tf32;
    Regions.Transposed = OnTensorCores ? 32 : 16;
  }
  Passes.addNestedPass<func::FuncOp>(graph::createFormRegions(Regions));
  addPrecision(Passes, Options);
  if (Options.Fuse && allFuseGemmEpilogues(Options)) {
    Passes.addNestedPass<func::FuncOp>(graph::createFuseGatedMlp());
    Passes.addNestedPass<func::FuncOp>(graph::createFuseRopeIntoGemm());
  }
  if (multipliesMatrices(Options))
    Passes.addNestedPass<func::FuncOp>(graph::createPadLeadingDimension());
  Passes.addPass(graph::createLowerRegions());
  if (Options.Compute == Precision::Tf32)
    Passes.addPass(graph::createAllowTf32());
  Passes.addPass(graph::createSetLiveIntervals());
  Passes.addPass(graph::createVerifyKernelForm());
}

/// One pass a line, as deep as its nesting. MLIR's parser does not mind the
/// blanks; those between braces are options and stay as they are.
static std::string indented(StringRef Pipeline) {
  std::string Text;
  unsigned Depth = 0, Braces = 0;
  auto NewLine = [&] { Text += "\n" + std::string(size_t{2} * Depth, ' '); };
  for (char C : Pipeline) {
    Braces += C == '{';
    Braces -= C == '}';
    if (C == ')' && !Braces) {
      --Depth;
      NewLine();
    }
    if (C != ' ' || Text.back() != '{') // `{  max-iterations=10`
      Text += C;
    if (C == '(' && !Braces)
      ++Depth;
    if ((C == '(' || C == ',') && !Braces)
      NewLine();
  }
  return Text;
}

std::string kpc::pipelineText(const CompileOptions &Options) {
  std::string Text;
  llvm::raw_string_ostream Stream(Text);
  OpPassManager Passes(ModuleOp::getOperationName());
  addGraphPasses(Passes, Options);
  addKernelPasses(Passes, Options);
  Passes.printAsTextualPipeline(Stream);
  return indented(Text);
}
