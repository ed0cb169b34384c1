//===- RoundByFeedback.cpp - Codes whose errors make up for one another ---===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// GPTQ (arXiv:2210.17323): with H, the mean products of the operand's
/// channels, the power of a product's error is d^T H d, where d is what
/// rounding takes from a column of the weight. With H = R R^T, R upper
/// triangular, that is the sum over i of
///
///   (R_ii d_i + sum over j < i of R_ji d_j)^2
///
/// so channel i is rounded at w_i + sum of R_ji d_j / R_ii, and channels behind
/// it can make up for what it loses. This is GPTQ's own recursion without an
/// inverse. Channels of great power come first, whatever their place: scales
/// and zero points are found beforehand.
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/graph/ColumnTiles.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/QuantisationError.h"
#include "passes/graph/WeightCodes.h"

#include <array>
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace kpc::graph {
#define GEN_PASS_DEF_ROUNDBYFEEDBACK
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// What is added to the diagonal, as a part of its mean: channels that were
/// never seen would have any number else.
constexpr double Damping = 0.01;
/// The factor takes K^2 doubles, and K^3 / 3 products.
constexpr int64_t MostChannels = 16384;

/// A symmetric matrix, all of it.
struct Moments {
  int64_t K = 0;
  std::vector<float> Of;

  float at(int64_t I, int64_t J) const { return Of[I * K + J]; }

  /// From the rows of the upper triangle.
  static Moments from(ArrayRef<float> Upper, int64_t K) {
    Moments M{K, std::vector<float>(K * K)};
    size_t Place = 0;
    for (int64_t I = 0; I < K; ++I)
      for (int64_t J = I; J < K; ++J)
        M.Of[I * K + J] = M.Of[J * K + I] = Upper[Place++];
    return M;
  }
};

double dot(const double *A, const double *B, int64_t Count) {
  constexpr int64_t Lanes = 8;
  double Sums[Lanes] = {};
  int64_t I = 0;
  for (; I + Lanes <= Count; I += Lanes)
    for (int64_t L = 0; L < Lanes; ++L)
      Sums[L] += A[I + L] * B[I + L];
  double Sum = std::accumulate(Sums, Sums + Lanes, 0.0);
  for (; I < Count; ++I)
    Sum += A[I] * B[I];
  return Sum;
}

/// L of L L^T, row by row, of H with its channels in an order; none where H is
/// not positive, which moments with damping are. Columns of L are made in
/// blocks, and rows of a block are shared among threads.
std::optional<std::vector<double>> factorOf(const Moments &H,
                                            ArrayRef<int64_t> Order) {
  constexpr int64_t Block = 64;
  int64_t K = H.K;
  double Damp = 0;
  for (int64_t I = 0; I < K; ++I)
    Damp += H.at(I, I);
  Damp *= Damping / double(K);
  std::vector<double> L(K * K);
  auto RowOf = [&](int64_t I) { return L.data() + I * K; };
  // Columns from `First` to `End` of a row whose earlier ones are made.
  auto Make = [&](int64_t I, int64_t First, int64_t End) {
    double *Row = RowOf(I);
    for (int64_t J = First; J < End; ++J)
      Row[J] = (H.at(Order[I], Order[J]) - dot(Row, RowOf(J), J)) / RowOf(J)[J];
  };
  for (int64_t First = 0; First < K; First += Block) {
    int64_t End = std::min(First + Block, K);
    for (int64_t I = First; I < End; ++I) {
      Make(I, First, I);
      double *Row = RowOf(I);
      double Left = H.at(Order[I], Order[I]) + Damp - dot(Row, Row, I);
      if (!(Left > 0))
        return std::nullopt;
      Row[I] = std::sqrt(Left);
    }
    llvm::parallelFor(size_t(End), size_t(K),
                      [&](size_t I) { Make(int64_t(I), First, End); });
  }
  return L;
}

/// So many columns at a time: their lost parts of 8192 channels are 1 MiB.
constexpr int64_t TileColumns = 32;

/// Rounds all columns together, a channel after the other. False where the
/// moments are of no use.
bool roundWithFeedback(const ProductWeights &W, const Moments &H,
                       GroupCodes &Codes) {
  int64_t K = W.K;
  SmallVector<int64_t> Order(K);
  std::iota(Order.begin(), Order.end(), 0);
  llvm::stable_sort(
      Order, [&](int64_t A, int64_t B) { return H.at(A, A) > H.at(B, B); });
  // R is L of the channels in reverse, turned by half. Row I of `Shares` is
  // R(J, I) / R(I, I), the part of what channel J lost that I makes up for.
  std::vector<float> Shares(K * K);
  {
    SmallVector<int64_t> Reverse(llvm::reverse(Order));
    auto L = factorOf(H, Reverse);
    if (!L)
      return false;
    auto R = [&](int64_t J, int64_t I) {
      return (*L)[(K - 1 - J) * K + (K - 1 - I)];
    };
    for (int64_t J = 0; J < K; ++J)
      for (int64_t I = J + 1; I < K; ++I)
        Shares[I * K + J] = float(R(J, I) / R(I, I));
  }
  forColumnTiles<TileColumns>(W.N, [&](size_t, int64_t First, int64_t Count) {
    std::vector<std::array<float, TileColumns>> Lost(K);
    std::array<float, TileColumns> Target{};
    for (int64_t I = 0; I < K; ++I) {
      const float *Numbers = W.row(Order[I]) + First;
      std::copy_n(Numbers, Count, Target.begin());
      for (int64_t J = 0; J < I; ++J) {
        float Share = Shares[I * K + J];
        for (int64_t C = 0; C < TileColumns; ++C)
          Target[C] += Share * Lost[J][C];
      }
      for (int64_t C = 0; C < Count; ++C) {
        int64_t Column = First + C;
        Codes.Codes[Column * K + Order[I]] =
            Codes.nearest(Order[I], Column, Target[C]);
        Lost[I][C] = Numbers[C] - Codes.value(Order[I], Column);
      }
    }
  });
  return true;
}

/// The sum over columns of v^T H v, for v of each row and column.
template <typename Fn> double powerOfAll(const Moments &H, int64_t N, Fn &&Of) {
  std::vector<double> Powers(llvm::divideCeil(N, TileColumns));
  forColumnTiles<TileColumns>(
      N, [&](size_t Tile, int64_t First, int64_t Count) {
        std::vector<std::array<float, TileColumns>> V(H.K);
        for (int64_t K = 0; K < H.K; ++K)
          for (int64_t C = 0; C < Count; ++C)
            V[K][C] = Of(K, First + C);
        for (int64_t I = 0; I < H.K; ++I) {
          // H is symmetric.
          std::array<float, TileColumns> Sums{};
          for (int64_t J = 0; J < I; ++J)
            for (int64_t C = 0; C < TileColumns; ++C)
              Sums[C] += H.at(I, J) * V[J][C];
          for (int64_t C = 0; C < Count; ++C)
            Powers[Tile] +=
                (2 * double(Sums[C]) + double(H.at(I, I)) * V[I][C]) * V[I][C];
        }
      });
  return std::accumulate(Powers.begin(), Powers.end(), 0.0);
}

double decibels(const ProductWeights &W, const Moments &H, double Signal,
                const GroupCodes &Codes) {
  double Noise = powerOfAll(H, W.N, [&](int64_t K, int64_t C) {
    return W.row(K)[C] - Codes.value(K, C);
  });
  return graph::decibels(Signal, Noise);
}

struct RoundByFeedbackPass
    : graph::impl::RoundByFeedbackBase<RoundByFeedbackPass> {
  using RoundByFeedbackBase::RoundByFeedbackBase;
  RoundByFeedbackPass() = default;
  RoundByFeedbackPass(const RoundByFeedbackOptions &Options, WeightReader Read,
                      MomentReader Moments, WeightWriter Write)
      : RoundByFeedbackBase(Options), Read(std::move(Read)),
        ReadMoments(std::move(Moments)), Write(std::move(Write)) {}

  void runOnOperation() override {
    auto Found = WeightPolicy::productsOf(getOperation(), TypeName, For, Group);
    if (failed(Found))
      return signalPassFailure();
    for (MatmulOp Op : *Found)
      if (failed(round(Op)))
        return signalPassFailure();
  }

  WeightReader Read;
  MomentReader ReadMoments;
  WeightWriter Write;

private:
  /// Those of a graph's text stand in the calibration itself.
  std::optional<std::vector<float>> momentsOf(MatmulOp Op) const {
    if (ReadMoments)
      return ReadMoments(nodeName(Op));
    auto All = Op->getParentOfType<ModuleOp>()->getAttrOfType<DictionaryAttr>(
        CalibrationAttr);
    auto Of = All ? All.getAs<DictionaryAttr>(nodeName(Op)) : DictionaryAttr();
    auto List = Of ? Of.getAs<DenseElementsAttr>("products") : nullptr;
    if (!List || !List.getElementType().isF32())
      return std::nullopt;
    auto Numbers = List.getValues<float>();
    return std::vector<float>(Numbers.begin(), Numbers.end());
  }

  LogicalResult round(MatmulOp Op) {
    std::optional<std::vector<float>> Upper = momentsOf(Op);
    if (!Upper)
      return success();
    FailureOr<std::optional<ProductWeights>> Found = finiteWeights(Op, Read);
    if (failed(Found))
      return failure();
    if (!*Found)
      return success();
    const ProductWeights &W = **Found;
    if (int64_t(Upper->size()) != W.K * (W.K + 1) / 2)
      return Op.emitError()
             << "expected mean products of " << W.K
             << " channels in the calibration, got " << Upper->size()
             << " numbers; calibrate again with this model";
    if (W.K > MostChannels) {
      tellOfRefusal(Op, "K is more than " + std::to_string(MostChannels));
      return success();
    }
    Moments H = Moments::from(*Upper, W.K);
    if (auto By = Op->getAttrOfType<DenseElementsAttr>(DividedAttr))
      divide(H, llvm::to_vector(By.getValues<float>()));
    std::vector<float> Power(W.K);
    for (int64_t K = 0; K < W.K; ++K)
      Power[K] = H.at(K, K);
    GroupCodes Codes = GroupCodes::of(W, Group, Power);
    double Signal =
        powerOfAll(H, W.N, [&](int64_t K, int64_t C) { return W.row(K)[C]; });
    double Before = decibels(W, H, Signal, Codes);
    if (!roundWithFeedback(W, H, Codes)) {
      tellOfRefusal(Op, "its second moments are not those of numbers");
      return success();
    }
    double After = decibels(W, H, Signal, Codes);
    if (After < Before) {
      tellOfRefusal(Op, "feedback would make its error greater");
      return success();
    }
    remark::passed(
        Op.getLoc(),
        remark::RemarkOpts::name("feedback").category("quantisation"))
        << "A weight is codes of 4 bits, each group of "
        << std::to_string(int64_t(Group))
        << " of K with a scale and a zero point, rounded with error feedback: "
           "signal over expected error "
        << decibelText(Before) << " before, " << decibelText(After)
        << " after.";
    readCodes(Op, Codes, Write);
    return success();
  }

  static void tellOfRefusal(MatmulOp Op, const std::string &Why) {
    remark::missed(Op.getLoc(),
                   remark::RemarkOpts::name("plain").category("quantisation"))
        << "A weight is rounded without error feedback, because " << Why << ".";
  }

  static void divide(Moments &H, ArrayRef<float> By) {
    if (int64_t(By.size()) != H.K)
      return;
    for (int64_t I = 0; I < H.K; ++I)
      for (int64_t J = 0; J < H.K; ++J)
        H.Of[I * H.K + J] /= By[I] * By[J];
  }
};

} // namespace

std::unique_ptr<Pass>
graph::createRoundByFeedback(const RoundByFeedbackOptions &Options,
                             WeightReader Read, MomentReader Moments,
                             WeightWriter Write) {
  return std::make_unique<RoundByFeedbackPass>(
      Options, std::move(Read), std::move(Moments), std::move(Write));
}
