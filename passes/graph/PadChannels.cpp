//===- PadChannels.cpp - Few channels become as many as copies take -*- C++
//-*-===//
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
/// transposes it anyway.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/ConstantValues.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"
#include "passes/graph/StoredValues.h"

#include "llvm/Support/MathExtras.h"

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
  SmallVector<int64_t> Low(Filter.size(), 0), High(Filter.size(), 0);
  High[Filter.size() - 2] = More;
  Conv.getWMutable().assign(pad(B, Conv.getLoc(), Conv.getW(), Low, High));
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
      bool Stays = Kept->match(Conv);
      if (isCode(Element))
        padChannels(Conv, ByteUnit);
      else if (!Floats)
        return;
      else if (Element.isF16() || Element.isBF16() ||
               (Narrow && Element.isF32() && !Stays))
        padChannels(Conv, NarrowUnit);
      else if (Tf32 && Element.isF32() && !Stays)
        padChannels(Conv, Tf32Unit);
    });
  }
};

} // namespace
