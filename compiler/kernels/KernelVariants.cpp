//===- KernelVariants.cpp - Kernels for parts of the sizes ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/kernels/KernelVariants.h"

#include "compiler/kernels/KernelText.h"
#include "dialects/kernel/Kernel.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "passes/kernels/gpu/GpuBuilder.h"
#include "passes/schedule/SizeSamples.h"

#include "llvm/ADT/StringExtras.h"

#include <limits>
#include <set>

using namespace kpc;
using namespace mlir;
using schedule::SizeBound;
using schedule::SizeBounds;
using schedule::SizedRanking;

namespace {

/// Kernels whose schedules differ much by size. All others move each element
/// once.
bool isHeavy(func::FuncOp Kernel) {
  return Kernel
      ->walk([](Operation *Op) {
        auto Loops = dyn_cast<linalg::LinalgOp>(Op);
        bool Reduces = Loops && Loops.getNumReductionLoops() > 0;
        return Reduces || isa<kernel::AttentionOp>(Op) ? WalkResult::interrupt()
                                                       : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Launches that come behind so many samples are not asked for theirs.
constexpr size_t EnoughSamples = 256;

/// What the launches may give the kernel's size arguments, where it has
/// anything to do; the optimum of the first launch comes first. None where that
/// has nothing to do.
std::vector<std::vector<int64_t>>
sampledSizes(ArrayRef<plan::LaunchOp> Launches, const shape::Facts &Facts) {
  std::vector<std::vector<int64_t>> Out;
  std::set<std::vector<int64_t>> Seen;
  DenseSet<Attribute> Looked;
  for (plan::LaunchOp Launch : Launches) {
    if (!Looked.insert(Launch.getSizesAttr()).second)
      continue;
    if (Out.size() >= EnoughSamples)
      break;
    ArrayRef<shape::Expr> Exprs = Launch.getSizes().getDims();
    std::set<std::string, std::less<>> Dims;
    for (const shape::Expr &E : Exprs)
      E.collectSymbols(Dims);
    for (const shape::Bindings &At : schedule::sampleSizes(Facts, Dims)) {
      std::vector<int64_t> Sizes;
      for (const shape::Expr &E : Exprs)
        Sizes.push_back(E.evaluate(At).value_or(-1));
      if (llvm::any_of(Sizes, [](int64_t S) { return S <= 0; })) {
        if (Out.empty())
          return Out;
        continue;
      }
      if (Seen.insert(Sizes).second)
        Out.push_back(std::move(Sizes));
    }
  }
  return Out;
}

class VariantBuilder {
public:
  VariantBuilder(func::FuncOp Kernel, size_t Sizes, const target::Target &T)
      : Kernel(Kernel), First(Kernel.getNumArguments() - Sizes), T(T),
        Asked(Kernel.clone()) {}

  /// With `Limited`, of a kernel that knows that its sizes are no greater.
  SizedRanking rank(const std::vector<int64_t> &Sizes, bool Limited) {
    // The question writes nothing: one copy serves all samples.
    for (size_t I = 0; I < Sizes.size(); ++I) {
      shape::SymbolFacts Known = kernel::argumentFacts(Kernel, First + I);
      Known.Optimum = Sizes[I];
      if (Limited)
        Known.Max = Sizes[I];
      kernel::setArgumentFacts(*Asked, First + I, Known);
    }
    return {Sizes, kernels::rankGpuSchedules(*Asked, T)};
  }

  OwningOpRef<func::FuncOp> build(const schedule::Variant &V) {
    OwningOpRef<func::FuncOp> Func = Kernel.clone();
    for (unsigned I = 0; I < V.Sizes.size(); ++I) {
      shape::SymbolFacts Known = kernel::argumentFacts(Kernel, First + I);
      Known.Optimum = V.Sizes[I];
      narrow(Known, I, V.Where);
      kernel::setArgumentFacts(*Func, First + I, Known);
    }
    return Func;
  }

private:
  /// What all parts of a variant's sizes say of one of them.
  static void narrow(shape::SymbolFacts &Known, unsigned Size,
                     ArrayRef<SizeBounds> Where) {
    int64_t Least = SizeBound::Unbounded, Most = 0;
    for (const SizeBounds &Part : Where) {
      SizeBound Here;
      for (const SizeBound &Bound : Part)
        if (Bound.Sizes == std::vector{Size})
          Here = Bound;
      Least = std::min(Least, Here.Least);
      Most = std::max(Most, Here.Most);
    }
    Known.Min = std::max(Known.Min, Least);
    Known.Max = std::min(Known.Max, Most);
  }

  func::FuncOp Kernel;
  unsigned First; ///< argument that is a size
  const target::Target &T;
  OwningOpRef<func::FuncOp> Asked; ///< the kernel, with the sizes of a sample
};

/// "batch*seq <= 16", "16 < batch*seq <= 256", "m <= 8 and n <= 64 or m > 512".
std::string wordsFor(ArrayRef<SizeBounds> Where, ArrayRef<shape::Expr> Sizes) {
  std::vector<std::string> Parts;
  for (const SizeBounds &Part : Where) {
    std::vector<std::string> Bounds;
    for (const SizeBound &Bound : Part) {
      shape::Expr Product = 1;
      for (unsigned Size : Bound.Sizes)
        Product = Product * Sizes[Size];
      bool HasEnd = Bound.Most != SizeBound::Unbounded;
      std::string Text = Product.str();
      if (HasEnd && Bound.Least > 0)
        Text = std::to_string(Bound.Least - 1) + " < " + Text;
      Text += HasEnd ? " <= " + std::to_string(Bound.Most)
                     : " > " + std::to_string(Bound.Least - 1);
      Bounds.push_back(std::move(Text));
    }
    Parts.push_back(llvm::join(Bounds, " and "));
  }
  return llvm::join(Parts, " or ");
}

} // namespace

std::string kpc::chosenFor(func::FuncOp Kernel, plan::LaunchOp Launch) {
  ArrayRef<shape::Expr> Sizes = Launch.getSizes().getDims();
  unsigned First = Kernel.getNumArguments() - Sizes.size();
  std::vector<std::string> Parts;
  for (auto [I, Size] : llvm::enumerate(Sizes))
    if (auto Optimum = kernel::argumentFacts(Kernel, First + I).Optimum)
      Parts.push_back(Size.str() + "=" + std::to_string(*Optimum));
  return llvm::join(Parts, ", ");
}

VariantFinder::VariantFinder(ModuleOp Module, const target::Target &T,
                             size_t Most)
    : Module(Module), T(T), Most(Most), Facts(graph::symbolFacts(Module)) {
  Module->walk([&](plan::LaunchOp Launch) {
    Launches[Launch.getKernel()].push_back(Launch);
  });
}

/// Whether a size is another in each iteration: what is launched is chosen
/// before a loop runs.
static bool changesInLoop(plan::LaunchOp Launch) {
  for (auto Loop = Launch->getParentOfType<plan::LoopOp>(); Loop;
       Loop = Loop->getParentOfType<plan::LoopOp>())
    if (graph::names(Launch.getSizes().getDims(), Loop.getCounter()))
      return true;
  return false;
}

/// `Number` is the last one that was taken.
std::string VariantFinder::unusedSymbol(const std::string &Of,
                                        unsigned &Number) {
  std::string Symbol;
  do
    Symbol = Of + "_v" + std::to_string(++Number);
  while (Module.lookupSymbol(Symbol));
  return Symbol;
}

/// The estimate for the schedule of this name at `Sizes`; infinite where it is
/// not ranked there.
static double costAt(ArrayRef<SizedRanking> Rankings,
                     const std::vector<int64_t> &Sizes,
                     const std::string &Name) {
  for (const SizedRanking &Sample : Rankings)
    if (Sample.Sizes == Sizes)
      for (const schedule::RankedSchedule &One : Sample.Ranking)
        if (One.name() == Name)
          return One.Microseconds;
  return std::numeric_limits<double>::infinity();
}

std::vector<KernelJob> VariantFinder::jobsFor(const KernelJob &Base) {
  std::vector<KernelJob> Jobs;
  auto Kernel = Module.lookupSymbol<func::FuncOp>(Base.Symbol);
  ArrayRef<plan::LaunchOp> Launched = Launches[Base.Symbol];
  if (Launched.empty() || !isHeavy(Kernel) ||
      llvm::any_of(Launched, changesInLoop))
    return Jobs;
  std::vector<std::vector<int64_t>> Samples = sampledSizes(Launched, Facts);
  if (Samples.size() < 2)
    return Jobs;
  // What a builder refuses it refuses again, and aloud, in the worker.
  ScopedDiagnosticHandler Quiet(Kernel.getContext(),
                                [](mlir::Diagnostic &) { return success(); });
  VariantBuilder Builder(Kernel, Samples.front().size(), T);
  SizedRanking Default = Builder.rank(Samples.front(), /*Limited=*/false);
  if (Default.Ranking.empty())
    return Jobs;
  std::vector<SizedRanking> Rankings;
  Rankings.reserve(Samples.size());
  for (const std::vector<int64_t> &Sizes : Samples)
    Rankings.push_back(Builder.rank(Sizes, /*Limited=*/true));
  plan::LaunchOp First = Launched.front();
  unsigned Number = 1;
  for (schedule::Variant &V : schedule::chooseVariants(
           Rankings, Default.Ranking.front().name(), Most)) {
    KernelJob &Job = Jobs.emplace_back(Base);
    Job.Symbol = unusedSymbol(Base.Symbol, Number);
    Job.MostMicroseconds =
        costAt(Rankings, V.Sizes, Default.Ranking.front().name());
    OwningOpRef<func::FuncOp> Func = Builder.build(V);
    setText(Job, *Func, First);
    Job.VariantOf = Base.Symbol;
    Job.WhereText = wordsFor(V.Where, First.getSizes().getDims());
    Job.ChosenFor = chosenFor(*Func, First);
    Job.Where = std::move(V.Where);
  }
  return Jobs;
}
