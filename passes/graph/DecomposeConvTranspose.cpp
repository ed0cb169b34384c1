//===- DecomposeConvTranspose.cpp - Transposed convolutions by phases -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %y = graph.conv_transpose %x, %w stride [2, 2] … low [1, 1] high [1, 1]
///      : <[n, 16, 16, 64], f32>, <[4, 4, 64, 32], f32>
///   %r = graph.relu %y
/// becomes
///   %v = the taps of each phase, side by side        // [2, 2, 64, 2*2*32]
///   %p = graph.conv %x, %v stride [1, 1] low [1, 1] high [1, 1]
///                                                    // [n, 17, 17, 2*2*32]
///   %q = graph.relu %p
///   %t = graph.transpose (…)                              // [n, 34, 34, 32]
///   %r = graph.slice %t start #graph.dims<[0, 1, 1, 0]> … // [n, 32, 32, 32]
///
/// Along one axis element i, times tap k, is added to place i*s + k - low of y.
/// With some c, place t = s*q + p - c of phase p (0 <= p < s) reads the taps
/// k = p + low - c (mod s) alone, each with the element
/// q + (p + low - c - k) / s: a convolution of stride 1 over q, whose taps run
/// backwards. Phases are channels of one convolution, over all elements that
/// one of them reads; c is what makes these few, then the cut small. Taps that
/// a phase does not have are zeros, and `graph.live_taps` says which it has:
///
///   3 taps, s 2, low 1    phase 0   .   w1      2 elements, c = 0
///                         phase 1   w2  w0
///   4 taps, s 2, low 1    phase 0   w2  w0      2 elements, c = 1
///                         phase 1   w3  w1
///
/// An infinite element makes NaN of a place beside those that it belongs to
/// where it meets such a zero: they are there with `zero-taps` alone. Else, and
/// where taps are apart, zeros are put between the elements of x.
///
//===----------------------------------------------------------------------===//

#include "dialects/shape/LiveTaps.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_DECOMPOSECONVTRANSPOSE
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// One spatial dimension.
struct Axis {
  int64_t Stride = 1, Dilation = 1, Taps = 1, Low = 0, High = 0;
  int64_t Cut = 0; ///< places in front of the result's first that there are
  /// Elements that a place reads, beside that of its own number.
  int64_t First = 0, Last = 0;

  int64_t reach() const { return (Taps - 1) * Dilation; }
  /// Taps of the convolution.
  int64_t steps() const { return (Last - First) / Dilation + 1; }
  /// Zeros around x.
  int64_t zerosBefore() const { return -First; }
  int64_t zerosBehind() const {
    // Places that are wanted beyond `Stride` for each element.
    int64_t More = reach() + 1 - Stride - Low - High + Cut;
    return llvm::divideCeilSigned(More, Stride) + Last;
  }
  /// The tap that phase 0 reads last of all.
  int64_t firstTap() const { return Low - Cut - Last * Stride; }
  bool hasPhases() const {
    return (Stride == 1 || Dilation == 1) && Taps > 0 && zerosBefore() >= 0 &&
           zerosBehind() >= 0;
  }
  /// Whether no phase lacks a tap that others have.
  bool hasEqualPhases() const { return steps() * Stride == Taps; }
  void choosePhases();

private:
  void setElements();
};

/// The elements that one of the phases reads.
void Axis::setElements() {
  if (Stride == 1) {
    First = Low - reach();
    Last = Low;
    return;
  }
  bool IsFirst = true;
  for (int64_t Phase = 0; Phase < Stride; ++Phase) {
    int64_t Own = Phase + Low - Cut,
            Most = llvm::divideFloorSigned(Own, Stride),
            Least = llvm::divideCeilSigned(Own - (Taps - 1), Stride);
    if (Least > Most)
      continue;
    First = IsFirst ? Least : std::min(First, Least);
    Last = IsFirst ? Most : std::max(Last, Most);
    IsFirst = false;
  }
}

void Axis::choosePhases() {
  Axis Best = *this;
  Best.setElements();
  for (Axis Next = *this; ++Next.Cut < Stride;) {
    Next.setElements();
    if (Next.steps() < Best.steps())
      Best = Next;
  }
  *this = Best;
}

class Decomposition {
public:
  Decomposition(ConvTransposeOp Op, bool ZeroTaps)
      : Op(Op), B(Op), Loc(Op.getLoc()), Groups(Op.getGroups()),
        ZeroTaps(ZeroTaps) {
    ArrayRef<Expr> W = typeOf(Op.getW()).getDims();
    for (size_t I = 0; I < Op.getStride().size(); ++I) {
      Axis &A = Axes.emplace_back();
      A.Stride = Op.getStride()[I];
      A.Dilation = Op.getDilation()[I];
      A.Taps = W[I].asConstant().value_or(1);
      A.Low = Op.getLow()[I];
      A.High = Op.getHigh()[I];
      A.choosePhases();
    }
    Inner = W[Axes.size()].floorDiv(Groups);
    Outer = W.back();
  }

  void run() {
    // A channel alone has nothing to multiply: the kernels of depthwise
    // convolutions walk over the image, phases would be channels of theirs.
    bool IsDepthwise = Groups > 1 && Inner == Expr(1);
    if (IsDepthwise || !llvm::all_of(Axes, [&](const Axis &A) {
          return A.hasPhases() && (ZeroTaps || A.hasEqualPhases());
        }))
      overSpreadInput();
    else
      byPhases();
  }

private:
  Value pad(Value V, ArrayRef<int64_t> Low, ArrayRef<int64_t> High,
            ArrayRef<int64_t> Interior) {
    auto Scalar = RankedTensorType::get({}, typeOf(V).getElementType());
    auto Zero =
        DenseElementsAttr::get(Scalar, B.getZeroAttr(Scalar.getElementType()));
    return PadOp::create(B, Loc, V, ConstantOp::create(B, Loc, Zero), Low, High,
                         Interior);
  }
  Value reshape(Value V, ArrayRef<Expr> Dims) {
    return B.createOrFold<ReshapeOp>(Loc, typeOf(V).withDims(Dims), V);
  }
  Value transpose(Value V, ArrayRef<int64_t> Perm) {
    return B.createOrFold<TransposeOp>(Loc, V, Perm);
  }
  Value slice(Value V, ArrayRef<Expr> Start, ArrayRef<int64_t> Step,
              ArrayRef<Expr> Dims) {
    return B.createOrFold<SliceOp>(Loc, typeOf(V).withDims(Dims), V,
                                   DimsAttr::get(B.getContext(), Start), Step);
  }

  void byPhases();
  Value filterOfPhases();
  SmallVector<int64_t> liveTaps() const;
  Value channelsOfPhases(Value V, ArrayRef<Expr> Dims);
  SmallVector<Operation *> epilogue();
  void overSpreadInput();

  ConvTransposeOp Op;
  OpBuilder B;
  Location Loc;
  int64_t Groups;
  bool ZeroTaps;
  SmallVector<Axis> Axes;
  Expr Inner, Outer; ///< channels of a group
};

/// [steps…, C/g, g*stride…*O/g], from tap firstTap + p + s*j in [j, p].
Value Decomposition::filterOfPhases() {
  SmallVector<Expr> Split, Start, Joined;
  SmallVector<int64_t> Step, Perm, Low, High;
  Expr Channels = Outer * Groups;
  for (const Axis &A : Axes) {
    Low.push_back(-A.firstTap());
    High.push_back(A.steps() * A.Stride - A.Taps + A.firstTap());
  }
  for (auto *List : {&Low, &High})
    List->append(2, 0);
  Value W = Op.getW();
  if (llvm::any_of(Low, [](int64_t N) { return N != 0; }) ||
      llvm::any_of(High, [](int64_t N) { return N != 0; }))
    W = pad(W, Low, High, SmallVector<int64_t>(Low.size(), 0));
  for (auto [I, A] : llvm::enumerate(Axes)) {
    Split.append({Expr(A.steps()), Expr(A.Stride)});
    Start.append({Expr(A.steps() - 1), Expr(0)});
    Step.append({-1, 1});
    Joined.push_back(Expr(A.steps()));
    Perm.push_back(int64_t(2 * I));
    Channels = Channels * A.Stride;
  }
  Split.append({Expr(Groups), Inner, Outer});
  Start.append(3, Expr(0));
  Step.append(3, 1);
  auto Group = int64_t(2 * Axes.size());
  Perm.append({Group + 1, Group});
  for (size_t I = 0; I < Axes.size(); ++I)
    Perm.push_back(int64_t(2 * I + 1));
  Perm.push_back(Group + 2);
  Joined.append({Inner, Channels});
  Value Taps = slice(reshape(W, Split), Start, Step, Split);
  return reshape(transpose(Taps, Perm), Joined);
}

/// For each phase the taps that it has (LiveTaps.h); none where
/// all have all, or there are too many. A phase without any has the first.
SmallVector<int64_t> Decomposition::liveTaps() const {
  int64_t Taps = 1, Phases = 1;
  for (const Axis &A : Axes) {
    Taps *= A.steps();
    Phases *= A.Stride;
  }
  if (Groups != 1 || Taps > MostLiveTaps || !Outer.isConstant() ||
      llvm::all_of(Axes, [](const Axis &A) { return A.hasEqualPhases(); }))
    return {};
  auto Has = [&](int64_t Phase, int64_t Tap) {
    for (const Axis &A : llvm::reverse(Axes)) {
      // The steps walk backwards over the taps.
      int64_t Own = A.firstTap() + Phase % A.Stride +
                    (A.steps() - 1 - Tap % A.steps()) * A.Stride;
      if (Own < 0 || Own >= A.Taps)
        return false;
      Phase /= A.Stride;
      Tap /= A.steps();
    }
    return true;
  };
  SmallVector<int64_t> Live(Phases, 0);
  for (int64_t Phase = 0; Phase < Phases; ++Phase) {
    for (int64_t Tap = 0; Tap < Taps; ++Tap)
      if (Has(Phase, Tap))
        Live[Phase] |= int64_t(1) << Tap;
    if (!Live[Phase])
      Live[Phase] = 1;
  }
  if (llvm::all_of(Live, [&](int64_t Mask) { return (Mask + 1) >> Taps; }))
    return {};
  return Live;
}

/// Whether `V` is the same for all places: a scalar, or a number a channel.
static bool isPerChannel(Value V) {
  auto Broadcast = V.getDefiningOp<BroadcastOp>();
  if (!Broadcast)
    return false;
  ArrayRef<Expr> From = typeOf(Broadcast.getX()).getDims();
  return llvm::all_of(From.drop_back(From.empty() ? 0 : 1),
                      [](const Expr &Size) { return Size == Expr(1); });
}

/// Such a value for the phases, which have `Dims`.
Value Decomposition::channelsOfPhases(Value V, ArrayRef<Expr> Dims) {
  Value Own = V.getDefiningOp<BroadcastOp>().getX();
  SmallVector<Expr> Split;
  if (typeOf(Own).getNumElements() != Expr(1)) {
    Split.push_back(Expr(Groups));
    Split.append(Axes.size(), Expr(1));
    Split.push_back(Outer);
  }
  return BroadcastOp::create(B, Loc, typeOf(Own).withDims(Dims),
                             reshape(Own, Split));
}

/// Elementwise ops, each the only user of what is in front of it, whose other
/// operands do not depend on the place: they commute with the order of pixels.
SmallVector<Operation *> Decomposition::epilogue() {
  constexpr size_t MostOps = 16;
  SmallVector<Operation *> Chain;
  Value Y = Op.getY();
  while (Y.hasOneUse() && Chain.size() < MostOps) {
    Operation *User = *Y.user_begin();
    if (!User->hasTrait<ElementwiseTrait>() || User->getNumResults() != 1 ||
        User->getBlock() != Op->getBlock() ||
        typeOf(User->getResult(0)).getDims() != typeOf(Y).getDims() ||
        !llvm::all_of(User->getOperands(),
                      [&](Value V) { return V == Y || isPerChannel(V); }))
      break;
    Chain.push_back(User);
    Y = User->getResult(0);
  }
  return Chain;
}

void Decomposition::byPhases() {
  SmallVector<int64_t> One(Axes.size(), 1), Dilation, Before, Behind;
  for (const Axis &A : Axes) {
    Dilation.push_back(A.Dilation);
    Before.push_back(A.zerosBefore());
    Behind.push_back(A.zerosBehind());
  }
  auto Conv = ConvOp::create(B, Loc, Op.getX(), filterOfPhases(), One, Dilation,
                             Before, Behind, Groups);
  if (SmallVector<int64_t> Live = liveTaps(); !Live.empty())
    Conv->setAttr(GraphLiveTapsName, B.getDenseI64ArrayAttr(Live));
  Value Y = Conv;
  if (llvm::all_of(Axes, [](const Axis &A) { return A.Stride == 1; })) {
    Op.getY().replaceAllUsesWith(Y);
    return Op.erase();
  }
  // [N, steps…, g, phases…, O/g]
  SmallVector<Expr> Dims(typeOf(Y).getDims().drop_back());
  Dims.push_back(Expr(Groups));
  for (const Axis &A : Axes)
    Dims.push_back(Expr(A.Stride));
  Dims.push_back(Outer);
  Y = reshape(Y, Dims);
  Value Old = Op.getY();
  SmallVector<Operation *> Epilogue = epilogue();
  for (Operation *User : Epilogue) {
    B.setInsertionPoint(User);
    IRMapping Map;
    Map.map(Old, Y);
    for (Value V : User->getOperands())
      if (V != Old)
        Map.map(V, channelsOfPhases(V, Dims));
    Y = B.clone(*User, Map)->getResult(0);
    Old = User->getResult(0);
    Y.setType(typeOf(Old).withDims(Dims));
  }
  auto Count = int64_t(Axes.size());
  SmallVector<int64_t> Perm{0};
  SmallVector<Expr> Joined{Dims[0]}, Start{Expr(0)};
  for (auto [I, A] : llvm::enumerate(Axes)) {
    Perm.append({1 + int64_t(I), 2 + Count + int64_t(I)});
    Joined.push_back(Dims[1 + I] * A.Stride);
    Start.push_back(Expr(A.Cut));
  }
  Perm.append({1 + Count, 2 + 2 * Count});
  Joined.push_back(Outer * Groups);
  Start.push_back(Expr(0));
  SmallVector<int64_t> NoStep(Start.size(), 1);
  Old.replaceAllUsesWith(slice(reshape(transpose(Y, Perm), Joined), Start,
                               NoStep, typeOf(Old).getDims()));
  for (Operation *User : llvm::reverse(Epilogue))
    User->erase();
  Op.erase();
}

/// Zeros between the elements of x, all but one of the taps around it, and the
/// taps in the reverse order.
void Decomposition::overSpreadInput() {
  SmallVector<int64_t> Low{0}, High{0}, Interior{0}, Perm, Step, Dilation;
  SmallVector<Expr> Start, Split, Joined;
  auto Count = int64_t(Axes.size());
  for (auto [I, A] : llvm::enumerate(Axes)) {
    Low.push_back(A.reach() - A.Low);
    High.push_back(A.reach() - A.High);
    Interior.push_back(A.Stride - 1);
    Dilation.push_back(A.Dilation);
    Start.push_back(Expr(A.Taps - 1));
    Step.push_back(-1);
    Joined.push_back(Expr(A.Taps));
    Perm.push_back(int64_t(I));
  }
  for (auto *List : {&Low, &High, &Interior})
    List->push_back(0);
  Value X = pad(Op.getX(), Low, High, Interior);
  Start.append(2, Expr(0));
  Step.append(2, 1);
  Value W = slice(Op.getW(), Start, Step, typeOf(Op.getW()).getDims());
  Split = Joined;
  Split.append({Expr(Groups), Inner, Outer});
  Perm.append({Count + 1, Count, Count + 2});
  Joined.append({Inner, Outer * Groups});
  W = reshape(transpose(reshape(W, Split), Perm), Joined);
  SmallVector<int64_t> One(Axes.size(), 1), None(Axes.size(), 0);
  Value Y = ConvOp::create(B, Loc, X, W, One, Dilation, None, None, Groups);
  // Sizes differ where x may be empty.
  SmallVector<Expr> Front(Axes.size() + 2, Expr(0));
  SmallVector<int64_t> NoStep(Front.size(), 1);
  Op.getY().replaceAllUsesWith(
      slice(Y, Front, NoStep, typeOf(Op.getY()).getDims()));
  Op.erase();
}

struct DecomposeConvTransposePass
    : graph::impl::DecomposeConvTransposeBase<DecomposeConvTransposePass> {
  DecomposeConvTransposePass() = default;
  DecomposeConvTransposePass(const DecomposeConvTransposePass &Other)
      : DecomposeConvTransposeBase(Other) {}

  Option<bool> ZeroTaps{
      *this, "zero-taps",
      llvm::cl::desc("Whether phases may have taps that are zero"),
      llvm::cl::init(false)};

  void runOnOperation() override {
    SmallVector<ConvTransposeOp> Ops;
    getOperation().walk([&](ConvTransposeOp Op) { Ops.push_back(Op); });
    for (ConvTransposeOp Op : Ops)
      Decomposition(Op, ZeroTaps).run();
  }
};

} // namespace
