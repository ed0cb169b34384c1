//===- WeightCodes.cpp - Weights as codes of 4 bits -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/WeightCodes.h"
#include "mlir/IR/Remarks.h"
#include "passes/graph/ColumnTiles.h"
#include "passes/graph/ExactValues.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/QuantisationError.h"
#include "passes/graph/RoundToCodes.h"

#include <array>
#include <cmath>

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

static constexpr int64_t GreatestCode = 15;

//===----------------------------------------------------------------------===//
// Which GEMMs
//===----------------------------------------------------------------------===//

FailureOr<WeightPolicy> WeightPolicy::read(StringRef Base,
                                           ArrayRef<std::string> For,
                                           unsigned Group, func::FuncOp Func) {
  if (Group != 32 && Group != 64 && Group != 128)
    return Func.emitError() << "expected groups of 32, 64 or 128 elements of "
                               "K, which kernels take, got "
                            << Group;
  if (Base != "int4" && Base != "none")
    return Func.emitError() << "expected int4 or none, got '" << Base << "'";
  FailureOr<TypesByName> Types = TypesByName::read(For, Func);
  if (failed(Types))
    return failure();
  WeightPolicy Read;
  Read.Base = Base;
  Read.For = std::move(*Types);
  return Read;
}

bool WeightPolicy::wants(Operation *Product) const {
  return For.typeOf(Product, Base) == "int4";
}

FailureOr<SmallVector<MatmulOp>>
WeightPolicy::productsOf(func::FuncOp Func, StringRef Base,
                         ArrayRef<std::string> For, unsigned Group) {
  SmallVector<MatmulOp> Products;
  if (!isGraphFunction(Func))
    return Products;
  FailureOr<WeightPolicy> Policy = read(Base, For, Group, Func);
  if (failed(Policy))
    return failure();
  ExactValues Exact(Func);
  Func.walk([&](MatmulOp Op) {
    bool Asked = Policy->For.typeOf(Op, "none") == "int4";
    if (multipliesWeight(Op) && Policy->wants(Op) &&
        (Asked || !Exact.isExactSum(Op)))
      Products.push_back(Op);
  });
  return Products;
}

FailureOr<std::optional<ProductWeights>>
graph::finiteWeights(MatmulOp Product, const WeightReader &Read) {
  auto W = ProductWeights::of(Product, Read);
  if (!W) {
    bool IsMatrix = typeOf(Product.getB()).getRank() == 2;
    remark::missed(Product.getLoc(),
                   remark::RemarkOpts::name("refused").category("quantisation"))
        << "A weight does not become codes of 4 bits, because "
        << (IsMatrix ? "its numbers are not known when compiling."
                     : "it is no matrix but a batch of them.");
    return W;
  }
  for (auto [I, Number] : llvm::enumerate(W->Numbers))
    if (!std::isfinite(Number))
      return Product.emitError()
             << "expected finite numbers in a weight that becomes codes of 4 "
                "bits, got "
             << (std::isnan(Number) ? "NaN" : "an infinity") << " in row "
             << int64_t(I) / W->N << ", column " << int64_t(I) % W->N
             << "; repair the weight, or keep the node with --precision-for '"
             << nodeName(Product) << "=fp16'";
  return W;
}

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

namespace {
/// Columns and rows that are looked at together: a tile of 32 KiB stays in the
/// first cache.
constexpr int64_t TileColumns = 64, MostRows = 128;
using Columns = std::array<float, TileColumns>;

/// How the groups of a tile's columns spell numbers: (code - zero) * scale.
struct Spelling {
  Columns Scale, Zero;

  /// Codes from `Low` to `High`, which have 0 between them.
  void set(int64_t Column, float Low, float High) {
    Scale[Column] = 1;
    Zero[Column] = 0;
    if (High <= Low)
      return;
    float Span = High - Low;
    float Step = std::isfinite(Span) ? Span / GreatestCode
                                     : High / GreatestCode - Low / GreatestCode;
    // Numbers so small that their step is none are zeros.
    if (Step < 1e-30F)
      return;
    Scale[Column] = Step;
    Zero[Column] =
        std::clamp<float>(std::nearbyint(-Low / Step), 0, GreatestCode);
  }
};

float nearestCode(float Number, float Scale, float Zero) {
  // What is further from zero than all codes is the last of them.
  float Steps = std::clamp<float>(Number / Scale, -GreatestCode, GreatestCode);
  return std::clamp<float>(roundedToEven(Steps) + Zero, 0, GreatestCode);
}

/// The numbers of one group of rows in some columns of a weight.
struct GroupTile {
  int64_t FirstRow = 0, Rows = 0, FirstColumn = 0, Count = 0;
  std::array<Columns, MostRows> Numbers;
  Spelling By;

  void load(const ProductWeights &W, ArrayRef<float> Factors) {
    for (int64_t I = 0; I < Rows; ++I) {
      const float *From = W.row(FirstRow + I) + FirstColumn;
      float Factor = Factors.empty() ? 1 : Factors[FirstRow + I];
      for (int64_t C = 0; C < Count; ++C)
        Numbers[I][C] = From[C] * Factor;
    }
  }

  /// The whole ranges, or the parts of them that have the least square error.
  void choose(ArrayRef<float> Power, bool Clips) {
    // Parts of the range; below half of it nothing was ever gained.
    constexpr float Parts[] = {1,     0.95F, 0.9F,  0.85F, 0.8F,
                               0.75F, 0.7F,  0.65F, 0.6F,  0.55F};
    Columns Low{}, High{}, Least;
    for (int64_t I = 0; I < Rows; ++I)
      for (int64_t C = 0; C < Count; ++C) {
        Low[C] = std::min(Low[C], Numbers[I][C]);
        High[C] = std::max(High[C], Numbers[I][C]);
      }
    for (int64_t C = 0; C < Count; ++C)
      By.set(C, Low[C], High[C]);
    if (!Clips)
      return;
    Least.fill(std::numeric_limits<float>::max());
    for (float Part : Parts) {
      Spelling Now;
      Columns Sum{};
      for (int64_t C = 0; C < Count; ++C)
        Now.set(C, Low[C] * Part, High[C] * Part);
      for (int64_t I = 0; I < Rows; ++I) {
        float P = Power.empty() ? 1 : Power[FirstRow + I];
        for (int64_t C = 0; C < Count; ++C) {
          float Error = lost(Now, I, C);
          Sum[C] += P * Error * Error;
        }
      }
      for (int64_t C = 0; C < Count; ++C) {
        if (Sum[C] >= Least[C])
          continue;
        Least[C] = Sum[C];
        By.Scale[C] = Now.Scale[C];
        By.Zero[C] = Now.Zero[C];
      }
    }
  }

  float lost(const Spelling &With, int64_t I, int64_t C) const {
    float Code = nearestCode(Numbers[I][C], With.Scale[C], With.Zero[C]);
    return (Code - With.Zero[C]) * With.Scale[C] - Numbers[I][C];
  }

  CodeError error(ArrayRef<float> Power) const {
    CodeError Sum;
    std::array<double, TileColumns> Signal{}, Noise{};
    for (int64_t I = 0; I < Rows; ++I) {
      double P = Power.empty() ? 1 : Power[FirstRow + I];
      for (int64_t C = 0; C < Count; ++C) {
        double Number = Numbers[I][C], Lost = lost(By, I, C);
        Signal[C] += P * Number * Number;
        Noise[C] += P * Lost * Lost;
      }
    }
    for (int64_t C = 0; C < Count; ++C) {
      Sum.Signal += Signal[C];
      Sum.Noise += Noise[C];
    }
    return Sum;
  }
};

/// Shows each group of rows, in order, of columns that threads share. `Of`
/// takes (which columns, the tile, which is loaded).
template <typename Fn>
void forGroups(const ProductWeights &W, int64_t Group, ArrayRef<float> Factors,
               Fn &&Of) {
  assert(Group <= MostRows && "WeightPolicy::read refuses larger groups");
  forColumnTiles<TileColumns>(W.N,
                              [&](size_t Which, int64_t First, int64_t Count) {
                                GroupTile Tile;
                                Tile.FirstColumn = First;
                                Tile.Count = Count;
                                for (int64_t K = 0; K < W.K; K += Group) {
                                  Tile.FirstRow = K;
                                  Tile.Rows = std::min(Group, W.K - K);
                                  Tile.load(W, Factors);
                                  Of(Which, Tile);
                                }
                              });
}

CodeError sumOf(ArrayRef<CodeError> Parts) {
  CodeError Sum;
  for (const CodeError &Part : Parts) {
    Sum.Signal += Part.Signal;
    Sum.Noise += Part.Noise;
  }
  return Sum;
}
} // namespace

double CodeError::decibels() const { return graph::decibels(Signal, Noise); }

GroupCodes GroupCodes::of(const ProductWeights &W, int64_t Group,
                          ArrayRef<float> Power) {
  GroupCodes To{W.K, W.N, Group, {}, {}, {}, {}};
  int64_t Groups = To.groups();
  To.Scales.resize(W.N * Groups);
  To.Zeros.resize(W.N * Groups);
  To.Codes.resize(W.N * W.K);
  std::vector<CodeError> Errors(llvm::divideCeil(W.N, TileColumns));
  forGroups(W, Group, {}, [&](size_t Which, GroupTile &Tile) {
    Tile.choose(Power, /*Clips=*/true);
    CodeError Own = Tile.error(Power);
    Errors[Which] = sumOf({Errors[Which], Own});
    for (int64_t C = 0; C < Tile.Count; ++C) {
      int64_t Column = Tile.FirstColumn + C;
      float Scale = Tile.By.Scale[C], Zero = Tile.By.Zero[C];
      To.Scales[Column * Groups + Tile.FirstRow / Group] = Scale;
      To.Zeros[Column * Groups + Tile.FirstRow / Group] = uint8_t(Zero);
      uint8_t *Codes = To.Codes.data() + Column * W.K + Tile.FirstRow;
      for (int64_t I = 0; I < Tile.Rows; ++I)
        Codes[I] = uint8_t(nearestCode(Tile.Numbers[I][C], Scale, Zero));
    }
  });
  To.Error = sumOf(Errors);
  return To;
}

CodeError GroupCodes::errorOf(const ProductWeights &W, int64_t Group,
                              ArrayRef<float> Factors, ArrayRef<float> Power) {
  std::vector<CodeError> Errors(llvm::divideCeil(W.N, TileColumns));
  forGroups(W, Group, Factors, [&](size_t Which, GroupTile &Tile) {
    Tile.choose(Power, /*Clips=*/false);
    CodeError Own = Tile.error(Power);
    Errors[Which] = sumOf({Errors[Which], Own});
  });
  return sumOf(Errors);
}

uint8_t GroupCodes::nearest(int64_t Row, int64_t Column, float Number) const {
  int64_t Place = Column * groups() + Row / Group;
  return uint8_t(nearestCode(Number, Scales[Place], Zeros[Place]));
}

float GroupCodes::value(int64_t Row, int64_t Column) const {
  int64_t Place = Column * groups() + Row / Group;
  return float(int(Codes[Column * K + Row]) - int(Zeros[Place])) *
         Scales[Place];
}

std::vector<float> graph::powerOf(Operation *Product, const ProductWeights &W) {
  std::optional<OperandStatistics> Of = statisticsOf(Product);
  std::vector<float> Power;
  if (Of && int64_t(Of->Rms.size()) == W.K)
    for (float Rms : Of->Rms)
      Power.push_back(Rms * Rms);
  return Power;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static Value weightOf(OpBuilder &B, Location Loc, SymbolicTensorType Ty,
                      std::vector<uint8_t> Bytes, const WeightWriter &Write) {
  if (Write)
    return WeightOp::create(B, Loc, Ty, Write(Ty, std::move(Bytes)),
                            B.getArrayAttr({}));
  SmallVector<int64_t> Sizes;
  for (const Expr &E : Ty.getDims())
    Sizes.push_back(*E.asConstant());
  ArrayRef<char> Raw(reinterpret_cast<const char *>(Bytes.data()),
                     Bytes.size());
  return ConstantOp::create(
      B, Loc,
      DenseElementsAttr::getFromRawBuffer(
          RankedTensorType::get(Sizes, Ty.getElementType()), Raw));
}

void graph::readCodes(MatmulOp Product, const GroupCodes &Codes,
                      const WeightWriter &Write) {
  OpBuilder B(Product);
  Location Loc = Product.getLoc();
  auto Unsigned = [&](unsigned Bits) {
    return IntegerType::get(B.getContext(), Bits, IntegerType::Unsigned);
  };
  int64_t Count = int64_t(Codes.Codes.size()), Groups = Codes.groups();
  std::vector<uint8_t> Packed(llvm::divideCeil(Count, 2));
  for (int64_t I = 0; I < Count; ++I)
    Packed[I / 2] |= uint8_t(Codes.Codes[I] << (I % 2 * 4));
  const auto *First = reinterpret_cast<const uint8_t *>(Codes.Scales.data());
  std::vector<uint8_t> Scales(First,
                              First + Codes.Scales.size() * sizeof(float));
  auto Type = [](ArrayRef<Expr> Dims, mlir::Type Element) {
    return SymbolicTensorType::get(Dims, Element);
  };
  SymbolicTensorType Line = Type({Expr(int64_t(Packed.size()))}, Unsigned(8));
  Value Bytes = weightOf(B, Loc, Line, std::move(Packed), Write);
  Value C = UnpackOp::create(
      B, Loc, Type({Expr(Codes.N), Expr(Codes.K)}, Unsigned(4)), Bytes);
  Expr Lines[] = {Expr(Codes.N), Expr(Groups)};
  Value S =
      weightOf(B, Loc, Type(Lines, B.getF32Type()), std::move(Scales), Write);
  Value Z = weightOf(B, Loc, Type(Lines, Unsigned(8)), Codes.Zeros, Write);
  SymbolicTensorType Was = typeOf(Product.getB());
  Value W =
      DequantiseOp::create(B, Loc, Was.withDims({Expr(Codes.N), Expr(Codes.K)}),
                           C, S, Z, ArrayRef<int64_t>{1, Codes.Group});
  Product.getBMutable().assign(
      TransposeOp::create(B, Loc, W, ArrayRef<int64_t>{1, 0}));
}
