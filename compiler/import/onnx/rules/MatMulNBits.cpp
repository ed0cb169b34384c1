//===- MatMulNBits.cpp - Products with weights of a few bits --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// com.microsoft's MatMulNBits: A · dequantise(B)ᵀ. Codes of B lie in rows of
/// K, block by block, the first in the low bits of a byte; a row of zero points
/// begins with a byte of its own.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/rules/MatMulNBits.h"
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/Quantization.h"

using namespace kpc::graph;

namespace kpc::onnx {

/// Codes of `P.Bits` in rows of bytes, the first `Columns` of each row.
static Value codesOf(NodeImport &N, const NBits &P, Value Bytes, int64_t Row,
                     int64_t Columns) {
  auto U = [&](unsigned Width) {
    return mlir::IntegerType::get(N.builder().getContext(), Width,
                                  mlir::IntegerType::Unsigned);
  };
  int64_t Stored = Row * 8 / P.Bits;
  Value Codes = P.Bits == 8
                    ? N.reshape(Bytes, {Expr(P.N), Expr(Row)})
                    : N.buildSized(UnpackOp::getOperationName(),
                                   {N.reshape(Bytes, {Expr(P.N * Row)})}, {},
                                   {Expr(P.N), Expr(Stored)},
                                   U(static_cast<unsigned>(P.Bits)));
  return Codes && Stored != Columns
             ? N.sliceAxis(Codes, 1, Expr(0), Expr(Columns))
             : Codes;
}

/// As a matrix of `Columns` columns for each of N; reports other sizes.
static Value inRows(NodeImport &N, const NBits &P, Value V, int64_t Columns,
                    std::string_view What) {
  Expr Count(1);
  for (const Expr &E : N.dims(V))
    Count = Count * E;
  if (Count != Expr(P.N * Columns))
    return N.fail(
        Code::ImportShape,
        std::string(What) + " of " + dimsText(N.dims(V)) + ", expected [" +
            std::to_string(P.N) + ", " + std::to_string(Columns) + "] for K " +
            std::to_string(P.K) + " in blocks of " + std::to_string(P.Block));
  return N.reshape(V, {Expr(P.N), Expr(Columns)});
}

/// Zero points for each column and block: codes, numbers, or the middle of the
/// codes' range.
static Value zerosOf(NodeImport &N, const NBits &P, Value Given) {
  if (!Given) {
    Type Code = mlir::IntegerType::get(N.builder().getContext(),
                                       static_cast<unsigned>(P.Bits),
                                       mlir::IntegerType::Unsigned);
    return N.full(static_cast<double>(1 << (P.Bits - 1)),
                  {Expr(P.N), Expr(P.blocks())}, Code);
  }
  if (N.isFloat(Given))
    return inRows(N, P, Given, P.blocks(), "zero points");
  Value Bytes = inRows(N, P, Given, P.zeroBytes(), "zero points");
  return Bytes ? codesOf(N, P, Bytes, P.zeroBytes(), P.blocks()) : Bytes;
}

/// The weights [N, K] where each row of B names its group, in any order, as
/// GPTQ's act-order leaves them.
static Value ofGroups(NodeImport &N, const NBits &P, Value Codes, Value Scales,
                      Value Zeros, Value Groups, Type Element) {
  std::optional<int64_t> Count =
      N.rank(Groups) == 1 ? N.dims(Groups)[0].asConstant() : std::nullopt;
  if (!Count || *Count < P.K || graph::isFloat(N.element(Groups)))
    return N.fail(Code::ImportShape,
                  "'g_idx' is " + typeText(Groups.getType()) +
                      ", expected a whole number for each of " +
                      std::to_string(P.K) + " rows of B");
  Groups = N.cast(N.sliceAxis(Groups, 0, Expr(0), Expr(P.K)), N.i64());
  auto OfEach = [&](Value V) {
    return N.gather(N.cast(V, N.f32()), Groups, 1);
  };
  Value Off = N.sub(N.cast(Codes, N.f32()), OfEach(Zeros));
  return N.cast(N.mul(Off, OfEach(Scales)), Element);
}

bool NBits::isSane(NodeImport &N) const {
  if (Bits != 2 && Bits != 4 && Bits != 8) {
    N.fail(Code::ImportAttributeValue, "attribute 'bits' is " +
                                           std::to_string(Bits) +
                                           ", expected 2, 4 or 8");
    return false;
  }
  if (K > 0 && this->N > 0 && Block > 0 && Block <= K * 256 &&
      Block * Bits % 8 == 0 && this->N < (int64_t(1) << 40) / K)
    return true;
  N.fail(Code::ImportAttributeValue,
         "K is " + std::to_string(K) + ", N " + std::to_string(this->N) +
             " and 'block_size' " + std::to_string(Block) +
             "; expected sizes above 0, and blocks of whole bytes");
  return false;
}

Value matMulNBits(NodeImport &N, const NBits &P, Value A,
                  const CodedWeights &W) {
  if (!P.isSane(N))
    return {};
  if (!N.isFloat(A) || N.rank(A) < 1 || N.element(W.Scales) != N.element(A))
    return N.fail(Code::ImportElementType, "A is of " + typeText(N.element(A)) +
                                               " and the scales of " +
                                               typeText(N.element(W.Scales)) +
                                               ", expected one float type");
  if (!N.element(W.Codes).isUnsignedInteger(8) ||
      (W.Zeros && !N.isFloat(W.Zeros) &&
       !N.element(W.Zeros).isUnsignedInteger(8)))
    return N.fail(
        Code::ImportElementType,
        "B is of " + typeText(N.element(W.Codes)) +
            (W.Zeros ? " and zero points of " + typeText(N.element(W.Zeros))
                     : "") +
            ", expected u8, and zero points of u8 or of A's type");
  int64_t Row = P.blocks() * P.blockBytes();
  Value Codes = inRows(N, P, W.Codes, Row, "B");
  Value Scales = inRows(N, P, W.Scales, P.blocks(), "scales");
  Value Zeros = zerosOf(N, P, W.Zeros);
  if (N.bad())
    return {};
  Codes = codesOf(N, P, Codes, Row, P.K);
  Value Matrix =
      W.Groups
          ? ofGroups(N, P, Codes, Scales, Zeros, W.Groups, N.element(A))
          : dequantise(N, Codes, Scales, Zeros, {1, P.Block}, N.element(A));
  Value Y = Matrix ? N.matmul(A, N.transpose(Matrix, {1, 0})) : Matrix;
  return W.Bias && Y ? N.add(Y, W.Bias) : Y;
}

static void importMatMulNBits(NodeImport &N) {
  NBits P;
  P.K = N.requiredInt("K");
  P.N = N.requiredInt("N");
  P.Bits = N.intAttribute("bits", 4);
  P.Block = N.requiredInt("block_size");
  // How much of the arithmetic may be in fewer bits; kpc's has as many as A.
  N.ignoreAttribute("accuracy_level");
  // Asks ONNX Runtime to pack B when a session begins.
  N.ignoreAttribute("weight_prepacked");
  N.expectInputs(3, 6);
  Value A = N.input(0);
  CodedWeights W{N.input(1), N.input(2), N.optionalInput(3), N.optionalInput(4),
                 N.optionalInput(5)};
  if (!N.bad())
    N.result(0, matMulNBits(N, P, A, W));
}

Value unpackCodes(NodeImport &N, Value Bytes, int64_t Bits) {
  if (!Bytes || Bits == 8)
    return Bytes;
  Dims Sizes(N.dims(Bytes));
  Expr Count(1);
  for (const Expr &E : Sizes)
    Count = Count * E;
  int64_t Each = 8 / Bits;
  Sizes.back() = Sizes.back() * Each;
  Type Code = mlir::IntegerType::get(N.builder().getContext(), unsigned(Bits),
                                     mlir::IntegerType::Unsigned);
  Value Flat =
      N.buildSized(UnpackOp::getOperationName(), {N.reshape(Bytes, {Count})},
                   {}, {Count * Each}, Code);
  return N.reshape(Flat, Sizes);
}

/// What the codes of bitsandbytes' 4-bit types stand for: its FP4, with the
/// sign in the highest bit, and NF4, quantiles of the normal distribution.
static ArrayRef<double> bitsAndBytes(bool Normal) {
  static constexpr double Fp4[] = {0,           5.208333333e-3,
                                   0.66666667,  1,
                                   0.33333333,  0.5,
                                   0.16666667,  0.25,
                                   0,           -5.208333333e-3,
                                   -0.66666667, -1,
                                   -0.33333333, -0.5,
                                   -0.16666667, -0.25};
  static constexpr double Nf4[] = {-1,
                                   -0.6961928009986877,
                                   -0.5250730514526367,
                                   -0.39491748809814453,
                                   -0.28444138169288635,
                                   -0.18477343022823334,
                                   -0.09105003625154495,
                                   0,
                                   0.07958029955625534,
                                   0.16093020141124725,
                                   0.24611230194568634,
                                   0.33791524171829224,
                                   0.44070982933044434,
                                   0.5626170039176941,
                                   0.7229568362236023,
                                   1};
  return Normal ? ArrayRef<double>(Nf4) : ArrayRef<double>(Fp4);
}

/// Weights of bitsandbytes: the higher half of a byte is the first code, and a
/// block is of so many elements of all weights in order.
static void importMatMulBnb4(NodeImport &N) {
  int64_t K = N.requiredInt("K"), Columns = N.requiredInt("N"),
          Block = N.requiredInt("block_size"),
          Kind = N.requiredInt("quant_type");
  bool Turned = N.flagAttribute("transB", true);
  N.ignoreAttribute("training_mode");
  N.expectInputs(3, 3);
  Value A = N.input(0), Codes = N.input(1), Scales = N.input(2);
  if (N.bad())
    return;
  bool IsSane = K > 0 && Columns > 0 && Block > 0 &&
                Columns < (int64_t(1) << 40) / K && (Kind == 0 || Kind == 1);
  int64_t Count = IsSane ? K * Columns : 0;
  if (!N.element(Codes).isUnsignedInteger(8)) {
    N.fail(Code::ImportElementType, "B is of " + typeText(N.element(Codes)) +
                                        ", expected u8: two codes in a byte");
    return;
  }
  if (!IsSane || N.rank(Codes) != 1 || N.rank(Scales) != 1 ||
      N.dims(Codes)[0] != Expr(llvm::divideCeil(Count, 2)) ||
      N.dims(Scales)[0] != Expr(llvm::divideCeil(Count, Block))) {
    N.fail(Code::ImportShape,
           "B is " + typeText(Codes.getType()) + " and 'absmax' " +
               typeText(Scales.getType()) +
               "; expected half a byte for each of " + std::to_string(K) +
               " x " + std::to_string(Columns) +
               " weights, and a scale for each block of " +
               std::to_string(Block) + " of them");
    return;
  }
  Value Bytes = N.cast(Codes, N.i32());
  Value High = N.binary<ShrOp>(Bytes, N.scalarInt(4, N.i32()));
  Value Low = N.bitAnd(Bytes, N.scalarInt(15, N.i32()));
  Value Order = N.concat({N.unsqueeze(High, {1}), N.unsqueeze(Low, {1})}, 1);
  Order = N.cast(N.reshape(Order, {Expr(Count + Count % 2)}), N.i64());
  if (Count % 2 != 0) // the last byte has one code
    Order = N.sliceAxis(Order, 0, 0, Expr(Count));
  Value Numbers =
      N.gather(N.floatVector(bitsAndBytes(Kind == 1), N.f32()), Order, 0);
  int64_t Blocks = static_cast<int64_t>(llvm::divideCeil(Count, Block));
  Value Each = N.broadcast(N.unsqueeze(N.cast(Scales, N.f32()), {1}),
                           {Expr(Blocks), Expr(Block)});
  Each =
      N.sliceAxis(N.reshape(Each, {Expr(Blocks * Block)}), 0, 0, Expr(Count));
  Value W = N.cast(N.mul(Numbers, Each), N.element(A));
  W = N.reshape(W, {Expr(Columns), Expr(K)});
  N.result(0, N.matmul(A, Turned ? N.transpose(W, {1, 0}) : W));
}

/// Rows of a table of codes, as the model builder writes embeddings: rows of
/// codes are gathered, then dequantised.
static void importGatherBlockQuantized(NodeImport &N) {
  int64_t Axis = N.intAttribute("gather_axis", 0);
  int64_t Along = N.intAttribute("quantize_axis", 1);
  int64_t Block = N.intAttribute("block_size", 128);
  int64_t Bits = N.intAttribute("bits", 4);
  N.expectInputs(3, 4);
  Value Codes = N.input(0), Indices = N.input(1), Scales = N.input(2),
        Zeros = N.optionalInput(3);
  if (N.bad())
    return;
  int64_t Last = N.rank(Codes) - 1;
  Along = N.frontAxis(Along, N.rank(Codes));
  Axis = N.frontAxis(Axis, N.rank(Codes));
  if (N.bad())
    return;
  bool Packed = N.element(Codes).isUnsignedInteger(8) && Bits < 8;
  if (Axis != 0 || Along != Last || Last < 1 || Block < 1 ||
      (Bits != 2 && Bits != 4 && Bits != 8) || N.rank(Scales) != Last + 1 ||
      (Zeros && N.rank(Zeros) != Last + 1)) {
    N.unsupported("gathers along the first axis of a table of 2, 4 or 8 bits "
                  "in blocks of the last axis alone");
    return;
  }
  auto Unpacked = [&](Value Bytes) {
    return Packed ? unpackCodes(N, Bytes, Bits) : Bytes;
  };
  Type Element = N.element(Scales);
  Value Rows = N.cast(Unpacked(N.gather(Codes, Indices, 0)), N.f32());
  Value Scale = N.cast(N.gather(Scales, Indices, 0), N.f32());
  if (!Rows || !Scale)
    return N.result(0, Value());
  Expr Width = N.dims(Rows).back(), Blocks = N.dims(Scale).back();
  if (!N.unify(Blocks, Width.ceilDiv(Block))) {
    N.fail(Code::ImportShape, "scales of " + dimsText(N.dims(Scales)) +
                                  " do not fit blocks of " +
                                  std::to_string(Block) + " of " + Width.str());
    return;
  }
  // One number of a block for each of its elements.
  auto Spread = [&](Value V) {
    if (!V)
      return V;
    V = N.sliceAxis(V, N.rank(V) - 1, 0, Blocks);
    Dims Wide(N.dims(V));
    Wide.push_back(Expr(Block));
    V = N.broadcast(N.unsqueeze(V, {N.rank(V)}), Wide);
    Wide.pop_back();
    Wide.back() = Blocks * Block;
    V = N.reshape(V, Wide);
    return V && Wide.back() != Width ? N.sliceAxis(V, N.rank(V) - 1, 0, Width)
                                     : V;
  };
  Value Off;
  if (Zeros)
    Off = Spread(N.cast(Unpacked(N.gather(Zeros, Indices, 0)), N.f32()));
  else if (N.element(Codes).isUnsignedInteger(8))
    Off = N.scalar(static_cast<double>(int64_t(1) << (Bits - 1)), N.f32());
  if (Off)
    Rows = N.sub(Rows, Off);
  N.result(0, N.cast(N.mul(Rows, Spread(Scale)), Element));
}

ArrayRef<Rule> matMulNBitsRules() {
  static const Rule Rows[] = {
      {"com.microsoft", "MatMulNBits", 1, 1, importMatMulNBits,
       "2, 4 and 8 bits"},
      {"com.microsoft", "MatMulBnb4", 1, 1, importMatMulBnb4,
       "weights are dequantised when compiling, or in each run"},
      {"com.microsoft", "GatherBlockQuantized", 1, 1,
       importGatherBlockQuantized, "rows of a table, blocks of its last axis"},
  };
  return Rows;
}

} // namespace kpc::onnx
