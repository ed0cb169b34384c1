//===- PadChannels.cpp - Few channels become as many as copies take -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %y = graph.conv %x, %w stride [2, 2] low [3, 3] high [3, 3] …
///      : <[n, 224, 224, 3], f32>, <[7, 7, 3, 64], f32>
/// becomes
///   %p = graph.pad %x, %zero low [0, 3, 3, 0] high [0, 3, 3, 1] …
///   %v = graph.pad %w, %zero … high [0, 0, 1, 0] …
///   %y = graph.conv %p, %v stride [2, 2] low [0, 0] high [0, 0] …
///      : <[n, 230, 230, 4], f32>, <[7, 7, 4, 64], f32>
///
/// Copies for tensor cores begin at multiples of 16 bytes: a unit of 8 elements
/// of 16 bits, 4 of f32, or 16 of 8 bits. Pixels of a unit of channels or more
/// are filled up to whole units. Fewer are filled up until what a step of the
/// filter moves is such a multiple; with the zeros around the image in memory
/// too, a line of the filter's taps is then one piece of memory, and the
/// convolution one over that many channels. The weight is constant and is
/// filled up when compiling; the input is written by the kernel that casts or
/// transposes it anyway. Where another convolution makes the input, and what is
/// between them keeps zeros, that convolution gets more filters of zeros
/// instead, and no kernel pads. So it is in squeeze-and-excite blocks.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/ConstantValues.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"
#include "passes/graph/StoredValues.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace kpc::graph {
#define GEN_PASS_DEF_PADCHANNELS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// Elements in the 16 bytes that copies begin at multiples of.
constexpr int64_t NarrowUnit = 8, Tf32Unit = 4, ByteUnit = 16;

/// How many channels there are to be; as many as there are where the
/// convolution is left as it is.
int64_t channelsFor(ConvOp Conv, int64_t Channels, int64_t Unit) {
  if (Channels >= Unit)
    return llvm::alignTo(Channels, Unit);
  int64_t Step = Conv.getStride().back();
  if (Conv.getDilation().back() != 1)
    return Unit;
  for (int64_t Few = Channels; Few < Unit; ++Few)
    if (Few * Step % Unit == 0)
      return Few;
  return Unit;
}

Value pad(OpBuilder &B, Location Loc, Value V, ArrayRef<int64_t> Low,
          ArrayRef<int64_t> High) {
  auto Scalar = RankedTensorType::get({}, typeOf(V).getElementType());
  auto Zero =
      DenseElementsAttr::get(Scalar, B.getZeroAttr(Scalar.getElementType()));
  Value Filler = ConstantOp::create(B, Loc, Zero);
  SmallVector<int64_t> None(Low.size(), 0);
  return PadOp::create(B, Loc, V, Filler, Low, High, None);
}

/// Zeros behind each line of pixels that let the next line begin at a unit,
/// where the filter does not reach them.
int64_t unreadBehindLine(ConvOp Conv, int64_t Channels, int64_t Unit) {
  std::optional<int64_t> Size =
      typeOf(Conv.getX()).getDims().end()[-2].asConstant();
  int64_t Taps =
      typeOf(Conv.getW()).getDims().end()[-3].asConstant().value_or(0);
  if (!Size || !Taps)
    return 0;
  int64_t Line = *Size + Conv.getLow().back() + Conv.getHigh().back();
  int64_t Unread = (Line - Taps) % Conv.getStride().back(), More = 0;
  while ((Line + More) * Channels % Unit)
    ++More;
  return Unread + More < Conv.getStride().back() ? More : 0;
}

/// What makes a convolution's input: another convolution and elementwise ops,
/// which may have more channels, all zero.
class WidenableInput {
public:
  /// None where the input is no such, something else uses a part of it, or the
  /// further channels would not be zero.
  static std::optional<WidenableInput> read(ConvOp Conv);
  /// Gives the convolution's input so many channels more.
  void widen(ConvOp Conv, int64_t More);

private:
  bool collect(ConvOp Conv);
  std::optional<double> furtherOf(Value V) const;
  std::optional<double> furtherOf(Operation *Op) const;

  int64_t Channels = 0;
  SmallVector<Operation *> Ops; ///< in order
  /// Of each op, what its further channels are.
  llvm::DenseMap<Operation *, double> Further;
};

/// Ops on the way, at most.
constexpr unsigned MostOps = 16;
/// Further channels are within f16, whatever a kernel computes them in.
constexpr double MostFurther = 65504;

bool WidenableInput::collect(ConvOp Conv) {
  llvm::SmallSetVector<Operation *, 8> Found;
  auto MayFollow = [&](Operation *Op) {
    return Op && Op->getBlock() == Conv->getBlock() &&
           Op->getNumResults() == 1 && !isa<BroadcastOp, ConstantOp>(Op) &&
           llvm::all_of(Op->getUses(), [&](OpOperand &Use) {
             Operation *User = Use.getOwner();
             return &Use == &Conv.getXMutable() ||
                    (Found.contains(User) &&
                     User->hasTrait<ElementwiseTrait>());
           });
  };
  if (!MayFollow(Conv.getX().getDefiningOp()))
    return false;
  Found.insert(Conv.getX().getDefiningOp());
  for (unsigned I = 0; I < Found.size() && I < MostOps; ++I)
    if (Found[I]->hasTrait<ElementwiseTrait>())
      for (Value Operand : Found[I]->getOperands())
        if (Operation *Def = Operand.getDefiningOp(); MayFollow(Def))
          Found.insert(Def);
  Ops = Found.takeVector();
  llvm::sort(Ops,
             [](Operation *A, Operation *B) { return A->isBeforeInBlock(B); });
  return true;
}

/// The number that all elements of a constant are, repeated or not.
std::optional<double> numberOf(Value V) {
  if (auto Spread = V.getDefiningOp<BroadcastOp>())
    V = Spread.getX();
  return V.getDefiningOp<ConstantOp>() ? splatValue(V) : std::nullopt;
}

std::optional<double> WidenableInput::furtherOf(Value V) const {
  if (auto Known = Further.find(V.getDefiningOp()); Known != Further.end())
    return Known->second;
  auto Spread = V.getDefiningOp<BroadcastOp>();
  // One of each channel becomes more of them.
  if (Spread && isConstant(Spread.getX()) &&
      typeOf(Spread.getX()).getRank() > 0 &&
      typeOf(Spread.getX()).getDims().back() == shape::Expr(Channels))
    return 0.0;
  return numberOf(V);
}

std::optional<double> WidenableInput::furtherOf(Operation *Op) const {
  if (auto Conv = dyn_cast<ConvOp>(Op))
    return Conv.getGroups() == 1 && isConstant(Conv.getW()) ? std::optional(0.0)
                                                            : std::nullopt;
  SmallVector<double> In;
  for (Value Operand : Op->getOperands()) {
    std::optional<double> One = furtherOf(Operand);
    if (!One || !isa<FloatType>(typeOf(Operand).getElementType()))
      return std::nullopt;
    In.push_back(*One);
  }
  if (!isa<FloatType>(typeOf(Op->getResult(0)).getElementType()))
    return std::nullopt;
  using Number = std::optional<double>;
  return llvm::TypeSwitch<Operation *, Number>(Op)
      .Case([&](AddOp) { return In[0] + In[1]; })
      .Case([&](SubOp) { return In[0] - In[1]; })
      .Case([&](MulOp) { return In[0] * In[1]; })
      .Case([&](DivOp) { return In[0] / In[1]; })
      .Case([&](MinOp) { return std::min(In[0], In[1]); })
      .Case([&](MaxOp) { return std::max(In[0], In[1]); })
      .Case([&](ReluOp) { return std::max(In[0], 0.0); })
      .Case([&](CastOp) { return In[0]; })
      .Case([&](NegOp) { return -In[0]; })
      .Case([&](AbsOp) { return std::abs(In[0]); })
      .Case([&](ExpOp) { return std::exp(In[0]); })
      .Case([&](ErfOp) { return std::erf(In[0]); })
      .Case([&](TanhOp) { return std::tanh(In[0]); })
      .Case([&](SigmoidOp) { return 1 / (1 + std::exp(-In[0])); })
      .Default([](Operation *) { return Number(); });
}

std::optional<WidenableInput> WidenableInput::read(ConvOp Conv) {
  WidenableInput All;
  All.Channels = typeOf(Conv.getX()).getDims().back().asConstant().value_or(0);
  if (!All.collect(Conv))
    return std::nullopt;
  double Last = 1;
  for (Operation *Op : All.Ops) {
    std::optional<double> One = All.furtherOf(Op);
    // What is not finite would be so in all results of the next convolution.
    if (!One || !(std::abs(*One) <= MostFurther))
      return std::nullopt;
    Last = All.Further[Op] = *One;
  }
  return Last == 0 ? std::optional(std::move(All)) : std::nullopt;
}

void WidenableInput::widen(ConvOp Conv, int64_t More) {
  auto Wider = [&](SymbolicTensorType Ty) {
    SmallVector<shape::Expr> Dims(Ty.getDims());
    Dims.back() = Dims.back() + shape::Expr(More);
    return Ty.withDims(Dims);
  };
  auto Padded = [&](OpBuilder &B, Value V) {
    SmallVector<int64_t> Low(typeOf(V).getRank(), 0), High(Low);
    High.back() = More;
    return pad(B, V.getLoc(), V, Low, High);
  };
  /// What an operand that is no result of these ops becomes.
  auto Repeated = [&](OpBuilder &B, Value V) -> Value {
    auto Spread = V.getDefiningOp<BroadcastOp>();
    std::optional<double> Number = numberOf(V);
    Value X = Spread ? Spread.getX() : Value();
    if (Number) {
      auto Scalar = RankedTensorType::get({}, typeOf(V).getElementType());
      X = ConstantOp::create(
          B, V.getLoc(),
          DenseElementsAttr::get(
              Scalar, B.getFloatAttr(Scalar.getElementType(), *Number)));
    } else {
      X = Padded(B, X);
    }
    return BroadcastOp::create(B, V.getLoc(), Wider(typeOf(V)), X);
  };
  IRMapping Map;
  for (Operation *Op : Ops) {
    OpBuilder B(Op);
    if (auto Source = dyn_cast<ConvOp>(Op)) {
      Map.map(Source.getW(), Padded(B, Source.getW()));
    } else {
      for (Value Operand : Op->getOperands())
        if (!Map.contains(Operand))
          Map.map(Operand, Repeated(B, Operand));
    }
    Operation *Clone = B.clone(*Op, Map);
    Clone->getResult(0).setType(Wider(typeOf(Op->getResult(0))));
    Map.map(Op->getResult(0), Clone->getResult(0));
  }
  Conv.getXMutable().assign(Map.lookup(Conv.getX()));
  for (Operation *Op : llvm::reverse(Ops))
    Op->erase();
}

void padChannels(ConvOp Conv, int64_t Unit) {
  ArrayRef<shape::Expr> Filter = typeOf(Conv.getW()).getDims();
  std::optional<int64_t> Channels = Filter[Filter.size() - 2].asConstant();
  if (!Channels || *Channels < 2 || Conv.getGroups() != 1 ||
      !isConstant(Conv.getW()))
    return;
  int64_t Count = channelsFor(Conv, *Channels, Unit);
  bool Few = Count < std::max(Unit, NarrowUnit);
  // Lines of unknown length begin at units only where each pixel does.
  if (Few && !typeOf(Conv.getX()).getDims().end()[-2].isConstant())
    Count = Unit;
  int64_t More = Count - *Channels;
  auto IsZero = [](int64_t V) { return V == 0; };
  bool Surrounded = !llvm::all_of(Conv.getLow(), IsZero) ||
                    !llvm::all_of(Conv.getHigh(), IsZero);
  if (!More && !(Few && Surrounded))
    return;
  OpBuilder B(Conv);
  std::optional<WidenableInput> Widenable;
  if (!Few)
    Widenable = WidenableInput::read(Conv);
  SmallVector<int64_t> Low(Filter.size(), 0), High(Filter.size(), 0);
  High[Filter.size() - 2] = More;
  Conv.getWMutable().assign(pad(B, Conv.getLoc(), Conv.getW(), Low, High));
  if (Widenable)
    return Widenable->widen(Conv, More);
  High[Filter.size() - 2] = 0;
  High.back() = More;
  if (Few) {
    llvm::copy(Conv.getLow(), Low.begin() + 1);
    llvm::copy(Conv.getHigh(), High.begin() + 1);
    High.end()[-2] += unreadBehindLine(Conv, *Channels + More, Unit);
    SmallVector<int64_t> None(Conv.getLow().size(), 0);
    Conv.setLow(None);
    Conv.setHigh(None);
  }
  Conv.getXMutable().assign(pad(B, Conv.getLoc(), Conv.getX(), Low, High));
}

struct PadChannelsPass : graph::impl::PadChannelsBase<PadChannelsPass> {
  using PadChannelsBase::PadChannelsBase;
  void runOnOperation() override {
    FailureOr<NodePatterns> Kept = NodePatterns::read(Keep, getOperation());
    if (failed(Kept))
      return signalPassFailure();
    getOperation().walk([&](ConvOp Conv) {
      Type Element = typeOf(Conv.getX()).getElementType();
      int64_t Unit = unitOf(Element, Kept->match(Conv));
      std::optional<int64_t> Channels =
          typeOf(Conv.getX()).getDims().back().asConstant();
      bool IsFew = Channels && *Channels < Unit;
      if (Unit && (IsFew || !FewAlone || isCode(Element)))
        padChannels(Conv, Unit);
    });
  }

private:
  /// Elements in 16 bytes; 0 where the convolution is left as it is.
  int64_t unitOf(Type Element, bool Stays) const {
    if (isCode(Element))
      return ByteUnit;
    if (!Floats)
      return 0;
    bool IsF32 = Element.isF32() && !Stays;
    if (Element.isF16() || Element.isBF16() || (Narrow && IsF32))
      return NarrowUnit;
    return Tf32 && IsF32 ? Tf32Unit : 0;
  }
};

} // namespace
