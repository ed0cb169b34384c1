//===- CodeCosts.cpp - Whether codes of FP8 pay in a product --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// FP8 halves what a product reads and doubles the rate of the Tensor Cores,
/// but has smaller tiles, since sums are promoted, and a longer epilogue. With
/// short sums and many outputs the epilogue is most of the work, and with few
/// rows the codes of A may take a kernel that costs what they save. So both
/// kernels are asked for their microseconds, as schedules are.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/CodeCosts.h"

#include "passes/graph/Calibration.h"
#include "passes/schedule/AttentionSchedule.h"
#include "passes/schedule/ConvSchedule.h"
#include "passes/schedule/HopperCosts.h"
#include "passes/schedule/MemoryRate.h"
#include "passes/schedule/MmaSyncSchedule.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace {

/// A size of which nothing is said.
constexpr int64_t UnknownExtent = 512;
/// Instructions of an epilogue for each result: a bias and an activation; the
/// scales before these; the scale after these and the conversion to a code.
constexpr double UsualOperations = 2, ScaleOperations = 1, CodeOperations = 3;
/// Ops between a product and the next (a bias, an activation, casts), and
/// between the sums of a norm and its result.
constexpr int MostOpsBetween = 8, MostOpsOfNorm = 16;

using MaybeCost = std::optional<double>;

template <typename CostT> MaybeCost least(const std::vector<CostT> &Ranked) {
  return Ranked.empty() ? std::nullopt : MaybeCost(Ranked.front().Total);
}

MaybeCost least(MaybeCost A, MaybeCost B) {
  return A && B ? MaybeCost(std::min(*A, *B)) : A ? A : B;
}

/// The other product that alone reads the result; null: there is none.
Operation *onlyReader(Operation *Product) {
  Value V = Product->getResult(0);
  for (int Ops = 0; Ops < MostOpsBetween && V.hasOneUse(); ++Ops) {
    Operation *User = *V.user_begin();
    if (isa<ConvOp, MatmulOp>(User))
      return User;
    if (User->getNumResults() != 1)
      return nullptr;
    V = User->getResult(0);
  }
  return nullptr;
}

/// Whether the result is for another product alone, which reads codes.
bool endsAsCodes(Operation *Product) { return onlyReader(Product) != nullptr; }

/// The first value that is `V` in another type or shape.
Value stored(Value V) {
  while (isa_and_present<CastOp, ReshapeOp>(V.getDefiningOp()))
    V = V.getDefiningOp()->getOperand(0);
  return V;
}

/// Whether a kernel that keeps rows makes `V`: that of a norm or a softmax,
/// which finds the scale of each row at no cost.
bool isMadeOfRows(Value V) {
  SmallVector<Value> Worklist{V};
  for (int Ops = 0; !Worklist.empty() && Ops < MostOpsOfNorm; ++Ops) {
    Operation *Op = Worklist.pop_back_val().getDefiningOp();
    if (!Op)
      continue;
    if (auto Reduce = dyn_cast<ReduceOp>(Op)) {
      int64_t Last =
          cast<SymbolicTensorType>(Reduce.getX().getType()).getRank() - 1;
      return llvm::is_contained(Reduce.getAxes(), Last);
    }
    if (Op->hasTrait<ElementwiseTrait>() || isa<BroadcastOp, ReshapeOp>(Op))
      llvm::append_range(Worklist, llvm::reverse(Op->getOperands()));
  }
  return false;
}

/// The GEMMs that multiply `V`, which share its codes.
int64_t readersOf(Value V) {
  llvm::SmallPtrSet<Operation *, 8> Found;
  SmallVector<Value> Worklist{stored(V)};
  while (!Worklist.empty())
    for (OpOperand &Use : Worklist.pop_back_val().getUses()) {
      Operation *User = Use.getOwner();
      if (isa<CastOp, ReshapeOp>(User))
        Worklist.push_back(User->getResult(0));
      else if (isa<MatmulOp>(User) && Use.getOperandNumber() == 0)
        Found.insert(User);
    }
  return std::max<int64_t>(int64_t(Found.size()), 1);
}

class GemmSizes {
public:
  static constexpr double LeastGain = 1;
  GemmSizes(MatmulOp Op, const shape::Facts &Facts);
  MaybeCost ofCodes(const target::Target &T) const;
  MaybeCost ofFloats(const target::Target &T) const;

private:
  schedule::GemmShape shape(int64_t ElementBytes) const;

  int64_t Batch, M, N, K;
  bool IsKnown; ///< calibration has the scale of A
  bool ToCodes; ///< the result is the operand of a product
  int64_t
      Share; ///< GEMMs for which a kernel makes the codes of A; 0: none does
};

GemmSizes::GemmSizes(MatmulOp Op, const shape::Facts &Facts) {
  ArrayRef<Expr> A = typeOf(Op.getA()).getDims(),
                 Y = typeOf(Op.getY()).getDims();
  auto Typical = [&](const Expr &Size) {
    return Facts.optimum(Size).value_or(UnknownExtent);
  };
  Expr Matrices = 1;
  for (const Expr &Size : Y.drop_back(2))
    Matrices = Matrices * Size;
  Batch = Typical(Matrices);
  M = Typical(Y[Y.size() - 2]);
  N = Typical(Y.back());
  K = Typical(A.back());
  std::optional<OperandStatistics> Of = statisticsOf(Op);
  IsKnown = Of && !Of->ScalesOfRows;
  ToCodes = IsKnown && endsAsCodes(Op);
  Value X = stored(Op.getA());
  bool OwnKernel = isa<BlockArgument>(X) || (!IsKnown && !isMadeOfRows(X));
  Share = OwnKernel ? readersOf(X) : 0;
}

schedule::GemmShape GemmSizes::shape(int64_t ElementBytes) const {
  bool Fp8 = ElementBytes == 1;
  schedule::GemmShape Shape;
  Shape.Batch = Batch;
  Shape.M = M;
  Shape.N = N;
  Shape.K = Shape.MinK = K;
  Shape.ElementBytes = ElementBytes;
  Shape.Promotes = Fp8 && schedule::promotesFp8(K);
  Shape.ResultBytes = Fp8 && ToCodes ? 1 : 2;
  Shape.EpilogueOperations = UsualOperations;
  if (Fp8)
    Shape.EpilogueOperations +=
        (IsKnown ? 1 : 2) * ScaleOperations + (ToCodes ? CodeOperations : 0);
  bool WholeLines = K * ElementBytes % schedule::CacheLineBytes == 0;
  Shape.LinesOfA = Shape.LinesOfB = WholeLines ? 1 : 2;
  return Shape;
}

MaybeCost GemmSizes::ofCodes(const target::Target &T) const {
  MaybeCost Gemm = least(schedule::rankGemmSchedules(shape(1), T));
  if (!Gemm || !Share)
    return Gemm;
  // It reads 16 bits of each element and writes 8.
  double Bytes = 3.0 * double(Batch) * double(M) * double(K);
  double Kernel = schedule::hopper::LaunchCycles /
                      schedule::hopper::cyclesPerMicrosecond(T) +
                  Bytes / schedule::bytesOfMicrosecond(T);
  return *Gemm + Kernel / double(Share);
}

MaybeCost GemmSizes::ofFloats(const target::Target &T) const {
  schedule::MmaSyncShape Sync;
  Sync.Batch = Batch;
  Sync.M = M;
  Sync.N = N;
  Sync.K = K;
  return least(least(schedule::rankGemmSchedules(shape(2), T)),
               least(schedule::rankMmaSyncSchedules(Sync, T)));
}

class ConvSizes {
public:
  static constexpr double LeastGain = 1;
  ConvSizes(ConvOp Op, const shape::Facts &Facts);
  MaybeCost ofCodes(const target::Target &T) const { return cost(true, T); }
  MaybeCost ofFloats(const target::Target &T) const { return cost(false, T); }

private:
  /// Of the best schedule on wgmma; none where there is none.
  MaybeCost cost(bool Fp8, const target::Target &T) const;

  int64_t Places, Outputs, Channels, Taps;
  bool IsGemm; ///< without a window
  bool ToCodes;
};

ConvSizes::ConvSizes(ConvOp Op, const shape::Facts &Facts) {
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
  ToCodes = endsAsCodes(Op);
}

MaybeCost ConvSizes::cost(bool Fp8, const target::Target &T) const {
  bool Codes = Fp8 && ToCodes;
  int64_t ResultBytes = Codes ? 1 : 2, ElementBytes = Fp8 ? 1 : 2;
  double Operations = UsualOperations + (Fp8 ? ScaleOperations : 0) +
                      (Codes ? CodeOperations : 0);
  if (IsGemm) {
    schedule::GemmShape Shape;
    Shape.M = Places;
    Shape.N = Outputs;
    Shape.K = Shape.MinK = Channels;
    Shape.ElementBytes = ElementBytes;
    Shape.Promotes = Fp8 && schedule::promotesFp8(Channels);
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
  Shape.KMajor = Fp8;
  Shape.Promotes = Fp8 && schedule::promotesFp8(Taps * Channels);
  Shape.ResultBytes = ResultBytes;
  Shape.EpilogueOperations = Operations;
  return least(schedule::rankConvSchedules(Shape, T));
}

class AttentionSizes {
public:
  /// Codes of queries, keys and values are made for this attention alone, and
  /// cost it most of its bits: less is not worth them.
  static constexpr double LeastGain = 1.1;
  AttentionSizes(AttentionOp Op, const shape::Facts &Facts);
  MaybeCost ofCodes(const target::Target &T) const;
  MaybeCost ofFloats(const target::Target &T) const {
    return least(schedule::rankAttentionSchedules(Shape, T));
  }

private:
  schedule::AttentionShape Shape;
  int64_t Groups;
  /// Attention of 16 bits writes the codes that the next product multiplies;
  /// that of FP8 leaves them to another kernel.
  bool WritesCodes;
};

AttentionSizes::AttentionSizes(AttentionOp Op, const shape::Facts &Facts) {
  ArrayRef<Expr> Q = typeOf(Op.getQ()).getDims(),
                 K = typeOf(Op.getK()).getDims(),
                 Y = typeOf(Op.getY()).getDims();
  auto Typical = [&](const Expr &Size) {
    return Facts.optimum(Size).value_or(UnknownExtent);
  };
  Shape.Batch = Typical(Q[0]);
  Shape.Heads = Typical(Q[1]);
  Shape.Queries = Typical(Q[2]);
  Shape.Keys = Typical(K[2]);
  Shape.Depth = Typical(Q[3]);
  Shape.Width = Typical(Y[3]);
  Shape.Causal = Op.getCausal().has_value();
  Groups = Typical(K[1]);
  Operation *Next = onlyReader(Op);
  std::optional<OperandStatistics> Known =
      Next && multipliesWeight(Next) ? statisticsOf(Next) : std::nullopt;
  WritesCodes = Known && !Known->ScalesOfRows;
}

MaybeCost AttentionSizes::ofCodes(const target::Target &T) const {
  schedule::AttentionShape Codes = Shape;
  Codes.ElementBytes = 1;
  MaybeCost Attention = least(schedule::rankAttentionSchedules(Codes, T));
  if (!Attention)
    return Attention;
  // One kernel reads a query's row and writes its codes. Keys and values are
  // read for their one scale first, by two kernels each.
  constexpr double BytesOfQuery = 3, BytesOfKey = 5;
  double Queries =
             double(Shape.Batch) * double(Shape.Heads) * double(Shape.Queries),
         Keys = double(Shape.Batch) * double(Shape.Keys) * double(Groups),
         Kernels = WritesCodes ? 8 : 7,
         Bytes = BytesOfQuery * Queries *
                     double(Shape.Depth + (WritesCodes ? Shape.Width : 0)) +
                 BytesOfKey * Keys * double(Shape.Depth + Shape.Width);
  return *Attention +
         Kernels * schedule::hopper::LaunchCycles /
             schedule::hopper::cyclesPerMicrosecond(T) +
         Bytes / schedule::bytesOfMicrosecond(T);
}

template <typename SizesT>
std::string slower(const SizesT &Of, ArrayRef<const target::Target *> Targets) {
  for (const target::Target *T : Targets) {
    MaybeCost Codes = Of.ofCodes(*T), Floats = Of.ofFloats(*T);
    if (!Codes || !Floats || *Codes * SizesT::LeastGain <= *Floats)
      continue;
    return llvm::formatv("by the cost model of {0} it takes {1:f1} us, and "
                         "{2:f1} in 16 bits{3}",
                         StringRef(T->Name), *Codes, *Floats,
                         *Codes < *Floats ? ", which is not a tenth more" : "")
        .str();
  }
  return "";
}

} // namespace

std::string graph::slowerAsFp8(Operation *Product, const shape::Facts &Facts,
                               ArrayRef<const target::Target *> Targets) {
  if (Targets.empty())
    return "";
  if (auto Gemm = dyn_cast<MatmulOp>(Product))
    return slower(GemmSizes(Gemm, Facts), Targets);
  if (auto Attention = dyn_cast<AttentionOp>(Product))
    return slower(AttentionSizes(Attention, Facts), Targets);
  auto Conv = cast<ConvOp>(Product);
  return Conv.getGroups() == 1 ? slower(ConvSizes(Conv, Facts), Targets) : "";
}
