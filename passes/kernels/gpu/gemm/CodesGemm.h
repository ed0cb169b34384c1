//===- CodesGemm.h - Many rows and weights of codes, by wgmma ---*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes the schedule that GemmHopperCodes.cpp has chosen: D = x · W, where W
/// is codes in tiles (graph.dequantise_tiles), as W^T · x^T. A warpgroup's 64
/// columns of W are the left operand, which is made in registers.
///
///   stage of x      64 elements of K of a tile's rows, swizzled, by TMA
///   stage of codes  128 elements of K of a tile's columns, as they lie in
///                   memory, with scales and zero points of their blocks
///   fragment        lane (g, t), g = lane / 4, t = lane % 4, has columns g and
///                   g + 8 of each 16, and of each 8 of K those from 2 t on.
///                   These are nibbles t and t + 4 of a word, so lanes of one
///                   column load the same words, and shift them by 4 t
///   RoPE            rows g and g + 8 of a warp's fragment are columns half a
///                   head apart: a warp has slices of both halves
///   factors of rows a fragment has many rows of x, so factors of a tile's rows
///                   (RMSNorm) are computed once, into shared memory
///   K               0 … 63 is the first half of a step, 64 … 127 the second
///
/// While the products of one half run, the codes of the next become numbers.
/// Codes of a tile's first step are loaded before the end of the tile before.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_GEMM_CODESGEMM_H
#define KPC_PASSES_KERNELS_GPU_GEMM_CODESGEMM_H

#include "passes/kernels/gpu/gemm/CodeNumbers.h"
#include "passes/kernels/gpu/gemm/GemmTileWalk.h"
#include "passes/kernels/gpu/gemm/HopperGemm.h"
#include "passes/schedule/CodesSchedule.h"

namespace kpc::kernels {

class CodesGemm : public HopperGemm {
public:
  CodesGemm(FusedKernel &Form, GemmMatch &P, const schedule::CodesSchedule &S,
            bool ConvertsFp8)
      : HopperGemm(Form, P, S), S(S),
        Numbers(W, P.A.Element, *P.Codes, ConvertsFp8) {}

  /// Whether scales are those of blocks: others are the epilogue's.
  static bool hasBlocks(const GemmMatch &P) {
    return P.K.asConstant().value_or(0) > P.Codes->Block;
  }
  /// What the epilogue multiplies rows by (RMSNorm); null: nothing.
  static mlir::Value factorsOf(const GemmMatch &P) {
    auto Squares = P.squares();
    return Squares ? Squares->factors() : mlir::Value();
  }
  mlir::LogicalResult emit(GpuLaunch &Launch);

private:
  static constexpr int64_t HalfK = schedule::CodesSchedule::DepthOfRows,
                           StepK = schedule::CodesSchedule::DepthOfCodes;
  /// Words of a thread's left operand of one half, and of a tile of codes.
  static constexpr int64_t WordsOfHalf = 16, TileBytes = 512;

  // Memory and copies: CodesGemmCopies.cpp. Results: CodesGemmResults.cpp.
  void declareTiles() override;
  void addOperandViews() override;
  mlir::Value countK() override { return W.size(P.C.K.Sizes); }
  /// Both rings are filled by `produceAll`.
  mlir::Value produceTile(const TileCoord &, mlir::Value Cursor) override {
    return Cursor;
  }
  void declare();
  void addCodeViews(const GemmMatch::TiledCodes &Codes);
  mlir::Value loadCodes(mlir::Value Column, mlir::Value K, mlir::Value At);
  mlir::Value loadRows(const TileCoord &Where, mlir::Value K, mlir::Value At);
  void produceAll();

  /// What a thread keeps of one half of a step, of one matrix.
  struct Half {
    Values Words;         ///< of codes
    Values Scales, Zeros; ///< pairs, of each block both columns; may be empty
  };
  /// What is there before a step: places in both rings, the first left operand,
  /// and what the second half's is made of. With two weights also the stage,
  /// where the second's are.
  struct State {
    mlir::Value Rows, Codes, Left, Stage;
    Half Second;
  };
  void placeThread(mlir::Value Group);
  mlir::Value load(mlir::Type Ty, mlir::Value Tile, mlir::Value Row,
                   int64_t RowOffset, mlir::Value Column, int64_t ColumnOffset);
  std::array<Values, 2> wordsOf(mlir::Value Tile);
  Values ofColumns(mlir::Value Tile, int64_t InHalf,
                   llvm::function_ref<mlir::Value(mlir::Value)> Map);
  std::array<Half, 2> takeCodes(mlir::Value Stage, unsigned Matrix);
  mlir::Value packed(const Half &From, unsigned Matrix);
  std::pair<mlir::Value, mlir::Value> waitForRows(mlir::Value At);
  mlir::Value multiply(mlir::Value Left, mlir::Value Right, mlir::Value Add);
  State beginStep(mlir::Value Rows, mlir::Value Codes);
  Values listOf(const State &Of);
  State stateIn(mlir::ValueRange All);
  struct Progress {
    Values Pending;   ///< accumulators of each weight
    mlir::Value Held; ///< the stage of x that the last products read
    State Next;
  };
  Progress multiplyStep(const Progress &Before);
  void consumeCodes(mlir::Value Group);
  Values factorsAt(mlir::Value Row, mlir::Value Group);
  void storeFactors(mlir::ValueRange Of, mlir::Value Group);
  mlir::Value rowInTile(mlir::Value Group, int64_t Number);
  void finish(const TileCoord &Where, mlir::Value Group, mlir::ValueRange Acc);
  mlir::Value scaled(mlir::Value Part, const GemmMatch::TiledCodes &Codes,
                     const AccumulatorCoord &At);
  mlir::Value firstSlice(mlir::Value WarpOfAll);
  mlir::Value columnOf(mlir::Value Group, mlir::Value InFragment);
  void store(const TileCoord &Where, mlir::Value Group, mlir::Value Row,
             mlir::Value Column, mlir::Value Out, int64_t Number);

  /// RoPE of halves of heads. Interleaved pairs are rows of two lanes.
  bool hasHeads() const { return P.RotateHalf > 1; }
  /// Between the two slices of 8 columns of a warp.
  int64_t slicesToOther() const { return hasHeads() ? P.RotateHalf / 8 : 1; }
  unsigned matrices() const { return P.Second ? 2 : 1; }
  const GemmMatch::TiledCodes &codesOf(unsigned Matrix) const {
    return Matrix ? *P.Second->Codes : *P.Codes;
  }
  int64_t columns() const { return resultColumns(); }
  int64_t blocksOf(int64_t Depth) const {
    return std::max<int64_t>(Depth / P.Codes->Block, 1);
  }
  mlir::VectorType pairType() const {
    return mlir::VectorType::get({2}, P.A.Element);
  }
  mlir::Value fma(mlir::Value A, mlir::Value B, mlir::Value C);
  mlir::Value pair(double V);

  const schedule::CodesSchedule &S;
  CodeNumbers Numbers;
  llvm::SmallVector<mlir::Type> CodeTiles; ///< of a stage
  Values CodeViews;                        ///< in the order of the tiles
  mlir::BlockArgument ViewX;
  mlir::Value CodePipe;
  mlir::Value Factors, FactorTile; ///< of a tile's rows; null: there are none
  mlir::Value Slice, FirstWord;    ///< of this thread
  mlir::Value FirstBit, Bytes;     ///< of its pair: of 4 bits, of 8 bits
  mlir::Value ColumnOfThread;      ///< in the tile, of the first GEMM's
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GEMM_CODESGEMM_H
