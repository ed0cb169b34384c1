//===- Kernel.cpp - The kernel dialect ------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/kernel/Kernel.h"

#include <cmath>

using namespace mlir;
using namespace kpc::kernel;

#include "dialects/kernel/KernelDialect.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/kernel/Kernel.cpp.inc"

void KernelDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialects/kernel/Kernel.cpp.inc"
      >();
}

/// Sizes that are unknown agree with all.
static bool agree(int64_t A, int64_t B) {
  return A == B || ShapedType::isDynamic(A) || ShapedType::isDynamic(B);
}

LogicalResult AttentionOp::verify() {
  ArrayRef<int64_t> Q = getQ().getType().getShape(),
                    K = getK().getType().getShape(),
                    V = getV().getType().getShape(),
                    Y = getY().getType().getShape();
  for (RankedTensorType Ty :
       {getQ().getType(), getK().getType(), getV().getType(), getY().getType()})
    if (Ty.getRank() != 4 || !Ty.getElementType().isF32())
      return emitOpError("works on f32 tensors of four dimensions");
  if (getInit().getType() != getY().getType())
    return emitOpError("gives a tensor of the type of 'into'");
  if (!agree(Q[0], K[0]) || !agree(Q[0], V[0]) || !agree(Q[0], Y[0]) ||
      !agree(K[1], V[1]) || !agree(Q[1], Y[1]) || !agree(Q[2], Y[2]) ||
      !agree(Q[3], K[3]) || !agree(K[2], V[2]) || !agree(V[3], Y[3]))
    return emitOpError("has operands whose sizes do not fit together");
  std::array<int64_t, 4> Scores = {Q[0], Q[1], Q[2], K[2]};
  for (auto [Tensor, IsMask] :
       {std::pair(getBias(), false), std::pair(getMask(), true)}) {
    if (!Tensor)
      continue;
    auto Ty = cast<RankedTensorType>(Tensor.getType());
    bool Element =
        IsMask ? Ty.getElementType().isInteger(1) : Ty.getElementType().isF32();
    if (!Element || Ty.getRank() != 4)
      return emitOpError("has a bias of f32 and a mask of i1, both of four "
                         "dimensions");
    for (auto [Size, Score] : llvm::zip_equal(Ty.getShape(), Scores))
      if (Size != 1 && !agree(Size, Score))
        return emitOpError("has a bias or mask that does not fit the scores");
  }
  double Scale = getScale().convertToDouble();
  if (!(Scale > 0) || !std::isfinite(Scale))
    return emitOpError("has a scale that is not positive");
  return success();
}
