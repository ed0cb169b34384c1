//===- GemmHopperCodes.cpp - GEMMs on wgmma whose weights are codes -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A GEMM of x in 16 bits and weights of 4 or 8 bits, on sm_90a, for any number
/// of rows. TMA copies x and codes into two rings. Warpgroups make numbers of
/// the codes in registers, and multiply these by x (wgmma): see CodesGemm.h.
///
//===----------------------------------------------------------------------===//
#include "compiler/target/TargetClass.h"
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/KernelFamily.h"
#include "passes/kernels/gpu/gemm/CodesGemm.h"

using namespace mlir;

namespace kpc::kernels {

using schedule::CodesSchedule;
using schedule::CodesShape;
using shape::Expr;

namespace {

constexpr int64_t LeastBlock = 32;

int64_t bytesOf(const Matrix &M) {
  return int64_t(M.Element.getIntOrFloatBitWidth() / 8);
}

/// Rows that TMA copies.
bool hasRows(const GemmMatch &P, const Matrix &M) {
  return M.ColumnStride == Expr(1) &&
         P.Facts.divisor(M.RowStride) * bytesOf(M) % TmaStrideBytes == 0;
}

/// Why the family does not take the GEMM; none: it does.
std::optional<schedule::Refusal> refusalOf(const GemmMatch &P) {
  auto Refuse = [](RefusalKind Kind, std::string Reason) {
    return schedule::Refusal{"", Kind, std::move(Reason)};
  };
  linalg::LinalgOp Op = P.C.R.Op;
  Type Element = P.A.Element;
  const GemmMatch::TiledCodes &Codes = *P.Codes;
  if (P.hasBatch())
    return Refuse(RefusalKind::Size, "it is a batch of GEMMs");
  if (!P.K.asConstant() || *P.K.asConstant() < 1)
    return Refuse(RefusalKind::Size, "K is not known");
  bool HasBlocks = CodesGemm::hasBlocks(P);
  bool HasTypes = (Element.isF16() || Element.isBF16()) &&
                  getElementTypeOrSelf(Op->getResultTypes()[0]).isF32() &&
                  P.hasStoredType() &&
                  (Codes.Scales.Element == Element ||
                   (!HasBlocks && isa<Float16Type, BFloat16Type, Float32Type>(
                                      Codes.Scales.Element))) &&
                  (!Codes.Zeros || Codes.Zeros->Element == Element);
  if (!HasTypes)
    return Refuse(RefusalKind::ElementType,
                  "A and scales of blocks are not of one type of 16 bits");
  constexpr int64_t Depth = CodesSchedule::DepthOfCodes;
  if (HasBlocks && (Codes.Block % LeastBlock ||
                    (Codes.Block % Depth && Depth % Codes.Block)))
    return Refuse(RefusalKind::Layout,
                  "blocks of scales do not divide 128 elements of K, nor are "
                  "of whole ones");
  if (!hasRows(P, P.A) || !hasRows(P, P.D) ||
      (HasBlocks && !hasRows(P, Codes.Scales)) ||
      (Codes.Zeros && !hasRows(P, *Codes.Zeros)))
    return Refuse(RefusalKind::Layout, "rows of A, of the result or of scales "
                                       "do not begin at multiples of 16 bytes");
  return std::nullopt;
}

CodesShape shapeOf(GemmMatch &P) {
  CodesShape Shape;
  Shape.M = typicalProduct(P.C.M.Sizes, UnknownExtent);
  Shape.N = typicalProduct(P.C.N.Sizes, UnknownExtent);
  Shape.K = *P.K.asConstant();
  Shape.Products = P.Second ? 2 : 1;
  Shape.RotateHalf = P.RotateHalf;
  Shape.Bits = P.Codes->Bits;
  Shape.HasFloatCodes = bool(P.Codes->Number);
  Shape.Block = P.Codes->Block;
  Shape.ScaleBytes = CodesGemm::hasBlocks(P) ? bytesOf(P.Codes->Scales) : 0;
  Shape.ZeroBytes = P.Codes->Zeros ? bytesOf(*P.Codes->Zeros) : 0;
  Shape.ResultBytes = bytesOf(P.D);
  Shape.EpilogueOperations = epilogueOperations(P);
  Shape.HasFactors = bool(CodesGemm::factorsOf(P));
  Shape.EpilogueBytes = P.ReadsAtResult ? Shape.ResultBytes : 0;
  return Shape;
}

} // namespace

FamilyAnswer queryGemmHopperCodes(FusedKernel &Form, const target::Target &T) {
  if (!T.Can.Wgmma)
    return FamilyAnswer::refuse(RefusalKind::Target, "the target has no wgmma");
  auto Own = std::make_shared<GemmMatch::Forms>();
  std::optional<GemmMatch> Read = GemmMatch::readTiled(Form, *Own);
  if (!Read)
    return FamilyAnswer::refuse(RefusalKind::Form,
                                "it is no GEMM with a weight of codes");
  if (std::optional<schedule::Refusal> No = refusalOf(*Read))
    return FamilyAnswer::refuse(*No);
  auto P = std::make_shared<GemmMatch>(std::move(*Read));
  CodesShape Shape = shapeOf(*P);
  bool ConvertsFp8 = target::multipliesFp8(T);
  return FamilyAnswer::offer(
      schedule::rankCodesSchedules(Shape, T),
      [Own, P, ConvertsFp8](const CodesSchedule &S, GpuLaunch &Launch) {
        return CodesGemm(Own->First, *P, S, ConvertsFp8).emit(Launch);
      },
      [Shape, &T](StringRef Text) {
        return schedule::readCodesSchedule(Text.str(), Shape, T);
      });
}

} // namespace kpc::kernels
