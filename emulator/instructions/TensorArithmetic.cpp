//===- TensorArithmetic.cpp - How a tcgen05.mma is computed ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "Matrix multiply-accumulate", "Block scaling". Sums as in
// FusedSum.h; of 4-bit kinds as in BlockSum.h.

#include "emulator/instructions/TensorProduct.h"
#include "emulator/numbers/BlockSum.h"
#include "emulator/numbers/Formats.h"
#include "emulator/numbers/FusedRow.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kpc::emulator {

namespace {

constexpr unsigned MaxK = 64;

class Computation {
public:
  explicit Computation(const TensorProduct &P)
      : P(P), F(P.Form), K(P.TileA.Elements.k()) {}
  void run();

private:
  void fetchShared();
  void fetchLane(unsigned Block, unsigned Lane, MatrixValue *Row) const;
  uint8_t scaleByte(unsigned Block, uint32_t Address, unsigned Quarter,
                    unsigned Row, unsigned Byte) const;
  void scaleLane(unsigned Block, unsigned Lane, const TensorLine &Line,
                 MatrixValue *Row);
  void scaleColumns(unsigned Block, unsigned Lane, const TensorLine &Line);
  /// A lane's part of D.
  void sumLane(const MatrixValue *Row, unsigned First, uint32_t *Words);
  uint32_t one(const MatrixValue *Row, unsigned Column, uint32_t Before) const;
  float accumulator(uint32_t Before) const;

  const TensorProduct &P;
  const TensorForm &F;
  const unsigned K;
  std::vector<MatrixValue> Left, Right, Scaled;
  std::optional<FusedColumns> Columns; ///< of floats that are summed at once
  ScaleValue RowScales[4];
  std::vector<ScaleValue> ColumnScales; ///< 4 for each column
};

void Computation::fetchShared() {
  unsigned Count = P.Blocks.Count;
  Right.resize(size_t{F.N} * MaxK);
  for (unsigned B = 0; B < Count; ++B)
    P.TileB.fetch(P.Blocks.Of[B]->shared(),
                  &Right[size_t{B} * P.TileB.Lines * MaxK], MaxK);
  if (P.Text.AInTensor)
    return;
  Left.resize(size_t{F.M} * MaxK);
  for (unsigned B = 0; B < Count; ++B)
    P.TileA.fetch(P.Blocks.Of[B]->shared(),
                  &Left[size_t{B} * P.TileA.Lines * MaxK], MaxK);
}

/// A row of A from its lane: elements packed along the columns.
void Computation::fetchLane(unsigned Block, unsigned Lane,
                            MatrixValue *Row) const {
  TensorMemory &T = P.Blocks.Of[Block]->tensor();
  const TensorElements &E = P.TileA.Elements;
  for (unsigned U = 0; U < TensorRowBytes / TensorUnit; ++U) {
    uint32_t Words[4];
    for (unsigned C = 0; C < 4; ++C)
      Words[C] = T.at(Lane, tensorColumn(P.A) + U * 4 + C);
    uint8_t Unit[TensorUnit];
    std::memcpy(Unit, Words, sizeof Unit);
    for (unsigned N = 0; N < E.perUnit(); ++N)
      Row[U * E.perUnit() + N] = E.at(Unit, N);
  }
}

/// Rows lie 32 to a column, in each quarter of the lanes the same.
uint8_t Computation::scaleByte(unsigned Block, uint32_t Address,
                               unsigned Quarter, unsigned Row,
                               unsigned Byte) const {
  uint32_t Word = P.Blocks.Of[Block]->tensor().at(
      Quarter * 32 + Row % 32, tensorColumn(Address) + Row / 32);
  return uint8_t(Word >> 8 * Byte);
}

void Computation::scaleLane(unsigned Block, unsigned Lane,
                            const TensorLine &Line, MatrixValue *Row) {
  unsigned Local = Line.Row % P.TileA.Lines;
  for (unsigned S = 0; S < P.Text.Scales; ++S)
    RowScales[S] =
        scaleValue(scaleByte(Block, P.ScalesA, Lane / 32, Local, F.ScaleA + S),
                   F.PowerScales);
  if (P.Text.Kind == TensorKind::MXF8F6F4)
    scaleBy(Row, K, RowScales[0]);
}

/// Of all columns that the lane has.
void Computation::scaleColumns(unsigned Block, unsigned Lane,
                               const TensorLine &Line) {
  ColumnScales.resize(size_t{F.N} * 4);
  Columns.reset();
  if (P.Text.Kind == TensorKind::MXF8F6F4)
    Scaled = Right;
  for (unsigned C = 0; C < P.width(); ++C) {
    unsigned Column = Line.First + C;
    for (unsigned S = 0; S < P.Text.Scales; ++S)
      ColumnScales[Column * 4 + S] =
          scaleValue(scaleByte(Block, P.ScalesB, Lane / 32, C, F.ScaleB + S),
                     F.PowerScales);
    if (P.Text.Kind == TensorKind::MXF8F6F4)
      scaleBy(&Scaled[size_t{Column} * MaxK], K, ColumnScales[Column * 4]);
  }
}

float Computation::accumulator(uint32_t Before) const {
  float C =
      F.HalfD ? halfToFloat(uint16_t(Before)) : std::bit_cast<float>(Before);
  return P.Text.ShiftDown ? std::ldexp(C, -int(P.Text.ShiftDown)) : C;
}

void Computation::sumLane(const MatrixValue *Row, unsigned First,
                          uint32_t *Words) {
  unsigned Count = P.width();
  if (isInteger(F.A) || P.TileA.Elements.Packed) {
    for (unsigned C = 0; C < Count; ++C)
      Words[C] = one(Row, First + C, Words[C]);
    return;
  }
  if (!Columns)
    Columns.emplace((Scaled.empty() ? Right : Scaled).data(), F.N, K, MaxK);
  std::vector<float> Before(Count);
  for (unsigned C = 0; C < Count; ++C)
    Before[C] = accumulator(Words[C]);
  Columns->multiply(Row, First, Count, Before.data(), P.Adds,
                    ruleOf(F.A, F.B, false, F.HalfD), Words);
}

uint32_t Computation::one(const MatrixValue *Row, unsigned Column,
                          uint32_t Before) const {
  const MatrixValue *Line = &Right[size_t{Column} * MaxK];
  if (isInteger(F.A)) {
    int64_t Sum = P.Adds ? int32_t(Before) : 0;
    for (unsigned N = 0; N < K; ++N)
      Sum += int64_t{Row[N].Significand} * Line[N].Significand;
    if (F.Saturate)
      Sum = std::min<int64_t>(std::max<int64_t>(Sum, INT32_MIN), INT32_MAX);
    return uint32_t(Sum);
  }
  float C = accumulator(Before);
  constexpr unsigned Groups = MaxK / BlockGroup;
  ScaleValue A[Groups], B[Groups];
  for (unsigned G = 0; G < Groups; ++G) {
    unsigned S = G * P.Text.Scales / Groups;
    A[G] = RowScales[S];
    B[G] = ColumnScales[Column * 4 + S];
  }
  return blockSum(Row, Line, Groups, A, B, C, P.Adds);
}

void Computation::run() {
  fetchShared();
  MatrixValue Row[MaxK];
  std::vector<uint32_t> Words(P.width());
  for (unsigned Block = 0; Block < P.Blocks.Count; ++Block) {
    TensorMemory &T = P.Blocks.Of[Block]->tensor();
    for (unsigned Lane = 0; Lane < TensorMemory::Lanes; ++Lane) {
      if (!P.writes(Block, Lane))
        continue;
      TensorLine Line = P.lineOf(Block, Lane);
      if (P.Text.AInTensor)
        fetchLane(Block, Lane, Row);
      else
        std::copy_n(&Left[size_t{Line.Row} * MaxK], K, Row);
      if (isScaled(P.Text.Kind)) {
        scaleLane(Block, Lane, Line, Row);
        if (Lane % 32 == 0 || ColumnScales.empty()) // alike in a quarter
          scaleColumns(Block, Lane, Line);
      }
      for (unsigned C = 0; C < P.width(); ++C)
        Words[C] = T.at(Lane, tensorColumn(P.D) + C);
      sumLane(Row, Line.First, Words.data());
      for (unsigned C = 0; C < P.width(); ++C)
        T.at(Lane, tensorColumn(P.D) + C) = Words[C];
    }
  }
}

} // namespace

void TensorProduct::compute() const { Computation(*this).run(); }

} // namespace kpc::emulator
