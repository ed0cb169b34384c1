//===- CodeCosts.cpp - Whether codes of FP8 pay in a convolution ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// FP8 halves what a convolution reads and doubles the rate of its products,
/// but has smaller tiles, since sums are promoted, and a longer epilogue. With
/// short sums and many outputs the epilogue is most of the work.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/CodeCosts.h"

#include "passes/schedule/ConvSchedule.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace {

/// A size of which nothing is said.
constexpr int64_t UnknownExtent = 512;
/// Instructions of an epilogue for each result: a bias and an activation; the
/// scale in front of them; the scale behind them and the conversion to a code.
constexpr double UsualOperations = 2, ScaleOperations = 1, CodeOperations = 3;
/// Ops between a convolution and the next: a bias, an activation, casts.
constexpr int MostOpsBetween = 8;

/// Whether the result is for another product alone, which reads codes.
bool endsAsCodes(ConvOp Op) {
  Value V = Op.getY();
  for (int Ops = 0; Ops < MostOpsBetween && V.hasOneUse(); ++Ops) {
    Operation *User = *V.user_begin();
    if (isa<ConvOp, MatmulOp>(User))
      return true;
    if (User->getNumResults() != 1)
      return false;
    V = User->getResult(0);
  }
  return false;
}

struct Sizes {
  Sizes(ConvOp Op, const shape::Facts &Facts) {
    ArrayRef<Expr> W = typeOf(Op.getW()).getDims(),
                   Y = typeOf(Op.getY()).getDims();
    auto Typical = [&](const Expr &Size) {
      return Facts.optimum(Size).value_or(UnknownExtent);
    };
    Expr Count = 1, Window = 1;
    for (const Expr &Size : Y.drop_back())
      Count = Count * Size;
    for (const Expr &Size : W.drop_back(2))
      Window = Window * Size;
    Places = Typical(Count);
    Outputs = Typical(Y.back());
    Channels = Typical(W[W.size() - 2]);
    Taps = Typical(Window);
    auto AreAll = [](ArrayRef<int64_t> Numbers, int64_t One) {
      return llvm::all_of(Numbers, [&](int64_t N) { return N == One; });
    };
    IsGemm = Taps == 1 && AreAll(Op.getStride(), 1) && AreAll(Op.getLow(), 0) &&
             AreAll(Op.getHigh(), 0);
  }

  /// Microseconds of the best schedule on wgmma; none where there is none.
  std::optional<double> cost(bool Fp8, bool ToCodes,
                             const target::Target &T) const {
    int64_t ResultBytes = ToCodes ? 1 : 2, ElementBytes = Fp8 ? 1 : 2;
    double Operations = UsualOperations + (Fp8 ? ScaleOperations : 0) +
                        (ToCodes ? CodeOperations : 0);
    if (IsGemm) {
      schedule::GemmShape Shape;
      Shape.M = Places;
      Shape.N = Outputs;
      Shape.K = Shape.MinK = Channels;
      Shape.ElementBytes = ElementBytes;
      Shape.Promotes = Fp8;
      Shape.ResultBytes = ResultBytes;
      Shape.EpilogueOperations = Operations;
      return least(schedule::rankGemmSchedules(Shape, T));
    }
    schedule::ConvShape Shape;
    Shape.Places = Places;
    Shape.Outputs = Outputs;
    Shape.Channels = Shape.LeastChannels = Channels;
    Shape.Taps = Taps;
    Shape.ElementBytes = ElementBytes;
    Shape.Promotes = Shape.KMajor = Fp8;
    Shape.ResultBytes = ResultBytes;
    Shape.EpilogueOperations = Operations;
    return least(schedule::rankConvSchedules(Shape, T));
  }

  template <typename CostT>
  static std::optional<double> least(const std::vector<CostT> &Ranked) {
    return Ranked.empty() ? std::nullopt
                          : std::optional<double>(Ranked.front().Total);
  }

  int64_t Places, Outputs, Channels, Taps;
  bool IsGemm; ///< without a window
};

} // namespace

std::string graph::slowerAsFp8(ConvOp Op, const shape::Facts &Facts,
                               ArrayRef<const target::Target *> Targets) {
  if (Op.getGroups() != 1)
    return "";
  Sizes Of(Op, Facts);
  for (const target::Target *T : Targets) {
    std::optional<double> Codes = Of.cost(true, endsAsCodes(Op), *T),
                          Floats = Of.cost(false, false, *T);
    if (!Codes || !Floats || *Codes <= *Floats)
      continue;
    return llvm::formatv("by the cost model of {0} it takes {1:f1} us, and "
                         "{2:f1} in 16 bits",
                         StringRef(T->Name), *Codes, *Floats)
        .str();
  }
  return "";
}
