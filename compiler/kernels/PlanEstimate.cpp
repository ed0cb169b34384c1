//===- PlanEstimate.cpp - What a plan is expected to take -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/kernels/PlanEstimate.h"
#include "dialects/kernel/Kernel.h"
#include "dialects/plan/Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/kernels/gpu/GpuBuilder.h"

#include <map>

using namespace kpc;
using namespace mlir;

namespace {

/// Microseconds of a launch, as `kpc inspect --report` models it, and the
/// shares of the peaks that a kernel without a cost model reaches.
constexpr double LaunchTime = 1.6, MemoryShare = 0.8, ScalarShare = 0.5;

int64_t atOptimum(const shape::Expr &E, const shape::Facts &Facts) {
  return std::max<int64_t>(0, Facts.optimum(E).value_or(0));
}

class Estimator {
public:
  Estimator(ModuleOp Plan, const target::Target &T)
      : Plan(Plan), T(T), Facts(graph::symbolFacts(Plan)) {}

  double microseconds(plan::LaunchOp Op) {
    auto Kernel = Plan.lookupSymbol<func::FuncOp>(Op.getKernel());
    if (!Kernel)
      return LaunchTime;
    std::vector<int64_t> Sizes;
    for (const shape::Expr &E : Op.getSizes().getDims())
      Sizes.push_back(atOptimum(E, Facts));
    auto [It, New] =
        Known.try_emplace({Op.getKernel().str(), std::move(Sizes)}, 0);
    if (New)
      It->second = timeOf(Op, Kernel, It->first.second);
    return It->second;
  }

private:
  double timeOf(plan::LaunchOp Op, func::FuncOp Kernel,
                const std::vector<int64_t> &Sizes) const {
    double Ranked = ranked(Kernel, Sizes);
    return Ranked > 0 ? Ranked : moved(Op);
  }

  /// Of the best schedule; 0 where the kernel's family has no costs.
  double ranked(func::FuncOp Kernel, const std::vector<int64_t> &Sizes) const {
    OwningOpRef<func::FuncOp> Asked = Kernel.clone();
    unsigned First = Kernel.getNumArguments() - unsigned(Sizes.size());
    for (size_t I = 0; I < Sizes.size(); ++I) {
      shape::SymbolFacts Of = kernel::argumentFacts(Kernel, First + I);
      Of.Optimum = Sizes[I];
      kernel::setArgumentFacts(*Asked, First + I, Of);
    }
    std::vector<schedule::RankedSchedule> All =
        kernels::rankGpuSchedules(*Asked, T);
    return All.empty() ? 0 : All.front().Microseconds;
  }

  /// At least so long: 10^12 operations and 10^9 bytes a second.
  double moved(plan::LaunchOp Op) const {
    double Bytes = 0, Flops = 0;
    for (Value V : llvm::concat<Value>(Op.getReads(), Op.getWrites()))
      Bytes += double(atOptimum(plan::byteSize(graph::typeOf(V)), Facts));
    if (auto Of = Op.getFlops(); Of && !Op.getRoot())
      Flops = double(atOptimum(Of->getDims().front(), Facts));
    double Time = 0;
    if (T.Cost.DramGBps > 0)
      Time = Bytes / (T.Cost.DramGBps * MemoryShare * 1e3);
    if (T.Cost.Fp32 > 0)
      Time = std::max(Time, Flops / (T.Cost.Fp32 * ScalarShare * 1e6));
    return Time + LaunchTime;
  }

  ModuleOp Plan;
  const target::Target &T;
  shape::Facts Facts;
  std::map<std::pair<std::string, std::vector<int64_t>>, double> Known;
};

} // namespace

std::vector<LaunchEstimate> kpc::estimateLaunches(ModuleOp Plan,
                                                  const target::Target &T) {
  std::vector<LaunchEstimate> All;
  Estimator Of(Plan, T);
  Plan.walk([&](plan::LaunchOp Op) {
    LaunchEstimate &E = All.emplace_back();
    E.Target = T.Name;
    E.Multiplies = Op.getRoot().has_value();
    if (auto Kernel = Plan.lookupSymbol<func::FuncOp>(Op.getKernel()))
      Kernel.walk([&](kernel::GemmOp) { ++E.Products; });
    if (ArrayAttr Nodes = Op.getNodesAttr())
      for (StringRef Node : Nodes.getAsValueRange<StringAttr>())
        E.Nodes.push_back(Node.str());
    E.Microseconds = Of.microseconds(Op);
  });
  return All;
}
