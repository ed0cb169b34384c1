//===- FusionCosts.h - Gates and RoPE in GEMMs, by cost ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A gated MLP's two GEMMs, or a GEMM and its RoPE, as one kernel or as two: by
/// the cost models of the families that would take them on targets without
/// wgmma.
///
///   FusionCosts Costs(Targets, Facts);
///   if (auto Slower = Costs.whereGateIsSlower({Rows, Columns, K}))
///     // on Slower->Name it takes Slower->One us, as two kernels Slower->Two
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_FUSIONCOSTS_H
#define KPC_PASSES_GRAPH_FUSIONCOSTS_H

#include "compiler/target/Target.h"
#include "dialects/graph/Graph.h"
#include "passes/schedule/GemvSchedule.h"
#include "passes/schedule/MmaSyncSchedule.h"

#include <optional>

namespace kpc::graph {

/// The sizes of one GEMM of 16-bit operands, or with a weight of codes.
struct FusedGemmSize {
  shape::Expr Rows;
  int64_t Columns = 0, K = 0;
  /// Of codes: bits, elements of K that share a scale, bytes of a scale and of
  /// a zero point. 0 bits: B has 16.
  int64_t CodeBits = 0, Block = 0, ScaleBytes = 0, ZeroBytes = 0;
};

class FusionCosts {
public:
  FusionCosts(llvm::ArrayRef<const target::Target *> Targets,
              shape::Facts Facts)
      : Targets(Targets), Facts(std::move(Facts)) {}

  /// A target on which one kernel is modelled no faster, in microseconds; `One`
  /// is infinite where it has no schedule.
  struct Slower {
    llvm::StringRef Name;
    double One, Two;
    /// ", by the cost model of sm_80: 31.2 us as one, 28.0 as two"
    std::string str() const;
  };
  std::optional<Slower> whereGateIsSlower(const FusedGemmSize &Size) const;
  std::optional<Slower> whereRopeIsSlower(const FusedGemmSize &Size,
                                          int64_t Half) const;
  /// Whether all targets have tiles that hold whole heads.
  bool holdHeads(const FusedGemmSize &Size, int64_t Half) const;
  /// Whether the caller asks at all: targets with wgmma have no question.
  bool isAsked() const { return !Targets.empty(); }

private:
  /// What one kernel is: GEMMs of one A, RoPE or a residual behind them.
  struct Kernel {
    int64_t Products = 1, RotateHalf = 0;
    bool HasResidual = false;
  };
  schedule::MmaSyncShape shapeOf(const FusedGemmSize &Size,
                                 const Kernel &Of) const;
  schedule::GemvShape fewRowsOf(const FusedGemmSize &Size,
                                const Kernel &Of) const;
  double costOfCodes(const FusedGemmSize &Size, const Kernel &Of,
                     const target::Target &T) const;
  double costOf(const FusedGemmSize &Size, const Kernel &Of,
                const target::Target &T) const;
  int64_t rowsOf(const FusedGemmSize &Size) const;

  llvm::ArrayRef<const target::Target *> Targets;
  shape::Facts Facts;
};

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_FUSIONCOSTS_H
