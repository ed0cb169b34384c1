//===- HostTilePlan.cpp - How a reduction is tiled into registers ---------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/host/HostTilePlan.h"

#include "passes/kernels/form/RootShape.h"
#include "passes/kernels/form/VectorEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

/// Rows from which a panel pays, against reading rows far apart.
static constexpr int64_t LeastPanelRows = 16;
int64_t TilePlan::unitRows() const {
  int64_t Rows = 1;
  for (unsigned I = 0; I < vectorGroup(); ++I)
    Rows *= Blocks[I];
  return Rows;
}

Expr TilePlan::work() const {
  Expr Units = 1;
  for (auto [Group, Block] : llvm::zip_equal(Parallel, Blocks))
    Units = Units * Group.Size.ceilDiv(Expr(Block));
  return Units;
}

std::string TilePlan::text() const {
  std::string Text =
      llvm::formatv("tile rows={0} vectors={1} lanes={2} block=", Rows, Vectors,
                    Lanes)
          .str();
  for (auto [I, Block] : llvm::enumerate(Blocks))
    Text += (I ? "x" : "") + std::to_string(Block);
  if (Split)
    Text += " chunk=" + std::to_string(Chunk);
  for (const TileOperand &Operand : Operands) {
    static constexpr const char *Names[] = {"direct", "region", "panel",
                                            "pull"};
    Text += std::string(" ") + Names[unsigned(Operand.From)];
  }
  if (!VectorEpilogue)
    Text += " scalar-epilogue";
  return Text;
}

namespace {

/// A sum of loops times constants, all counting up.
bool isLinear(AffineExpr Expr) {
  bool Linear = true;
  Expr.walk([&](AffineExpr Part) {
    switch (Part.getKind()) {
    case AffineExprKind::FloorDiv:
    case AffineExprKind::CeilDiv:
    case AffineExprKind::Mod:
    case AffineExprKind::SymbolId:
      Linear = false;
      break;
    case AffineExprKind::Constant:
      Linear &= cast<AffineConstantExpr>(Part).getValue() >= 0;
      break;
    default:
      break;
    }
  });
  return Linear;
}

class Planner {
public:
  Planner(const FusedKernel &Form, const HostMachine &Machine)
      : Form(Form), Machine(Machine), Facts(factsOf(Form.Func)) {}

  std::optional<TilePlan> plan() {
    std::optional<RootShape> Read = RootShape::read(Form);
    if (!Read)
      return std::nullopt;
    Shape = std::move(*Read);
    Plan.Root = Shape.Root;
    Plan.LoopSizes = Shape.LoopSizes;
    // Vectors are read and written along the last dim.
    for (const KernelOutput &Out : Form.Outputs)
      if (Shape.Parallel.empty() ||
          constantOf(strideOf(Out.Memref, Shape.Parallel.size() - 1)) != 1)
        return std::nullopt;
    readTypes();
    groupParallel();
    if (Plan.Parallel.empty() || !readOperands())
      return std::nullopt;
    chooseRow();
    if (!chooseSources() || !checkBodies())
      return std::nullopt;
    chooseTileSize(Plan, Machine);
    chooseBlocks(Plan);
    shapeRegions(Plan);
    groupReduction();
    chooseChunks(Plan, Machine);
    if (Bools && (Plan.Split || !Plan.VectorEpilogue))
      return std::nullopt;
    return Plan;
  }

private:
  void readTypes() {
    unsigned Widest = 32;
    for (Type T : Plan.Root->getResultTypes()) {
      Type Element = cast<RankedTensorType>(T).getElementType();
      Bools |= Element.isInteger(1);
      Widest = std::max(
          Widest, Element.isIndex() ? 64 : Element.getIntOrFloatBitWidth());
    }
    Plan.Lanes = std::max(Machine.VectorBits / Widest, 1u);
  }

  JoinedLoops groupOf(unsigned Loop) {
    Expr Size = *sizeExpr(Plan.LoopSizes[Loop]);
    return {{Loop}, Size, Facts.optimum(Size).value_or(8)};
  }

  void append(JoinedLoops &Group, unsigned Loop) {
    JoinedLoops One = groupOf(Loop);
    Group.Loops.push_back(Loop);
    Group.Size = Group.Size * One.Size;
    Group.Typical *= One.Typical;
  }

  void groupParallel() {
    std::optional<unsigned> Before;
    for (auto [Dim, Loop] : llvm::enumerate(Shape.Parallel)) {
      if (constantOf(Plan.LoopSizes[Loop]) == 1)
        continue;
      if (Before &&
          Shape.Access.collapses(*Before, Dim, sizeExpr(Plan.LoopSizes[Loop])))
        append(Plan.Parallel.back(), Loop);
      else
        Plan.Parallel.push_back(groupOf(Loop));
      Before = Dim;
    }
    // The vector dim must be the outputs' contiguous one.
    if (!Plan.Parallel.empty() &&
        Plan.Parallel.back().last() != Shape.Parallel.back())
      Plan.Parallel.clear();
  }

  bool readOperands() {
    linalg::LinalgOp Root = Plan.Root;
    const JoinedLoops &Vector = Plan.Parallel.back();
    for (OpOperand *Operand : Root.getDpsInputOperands()) {
      if (!Root.payloadUsesValueFromOperand(Operand))
        continue;
      TileOperand One;
      One.Operand = Operand;
      One.Map = Root.getMatchingIndexingMap(Operand);
      if (!llvm::all_of(One.Map.getResults(), isLinear))
        return false;
      One.OnVector = One.dependsOn(Vector);
      One.Element =
          cast<RankedTensorType>(One.tensor().getType()).getElementType();
      if (One.Element.isInteger(1))
        Bools = true;
      BlockArgument Arg = Root.getMatchingBlockArgument(Operand);
      if (Arg.hasOneUse() &&
          isa<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp, arith::SIToFPOp,
              arith::UIToFPOp>(*Arg.user_begin()) &&
          (*Arg.user_begin())->getBlock() == Root.getBlock())
        One.Lift = *Arg.user_begin();
      One.Contiguous = One.OnVector && contiguous(One);
      Plan.Operands.push_back(One);
    }
    return true;
  }

  /// Whether neighbours along the vector dim are read as a vector.
  bool contiguous(const TileOperand &One) {
    unsigned Loop = Plan.Parallel.back().last();
    int Lane = -1;
    for (auto [Position, Expr] : llvm::enumerate(One.Map.getResults())) {
      auto Counts = countsWith(Expr, Loop);
      if (!Counts || (*Counts && Lane >= 0))
        return false;
      if (*Counts)
        Lane = Position;
    }
    return Lane >= 0 && VectorEmitter::vectorises(One.tensor(), Lane, nullptr);
  }

  /// The innermost group that shares a vector operand among its indices; else
  /// any that keeps more accumulators busy.
  void chooseRow() {
    int Shared = -1, Any = -1;
    for (unsigned G = 0; G < Plan.vectorGroup(); ++G) {
      Any = G;
      if (llvm::any_of(Plan.Operands, [&](const TileOperand &One) {
            return One.OnVector && !One.dependsOn(Plan.Parallel[G]);
          }))
        Shared = G;
    }
    Plan.Row = Shared >= 0 ? Shared : Any;
    if (Plan.Row >= 0)
      for (TileOperand &One : Plan.Operands)
        One.OnRow = One.dependsOn(Plan.Parallel[Plan.Row]);
  }

  static bool isBool(const TileOperand &One) {
    return One.Element.isInteger(1);
  }

  bool chooseSources() {
    // Rows that share what does not depend on them.
    int64_t SharedRows = 1;
    for (unsigned G = 0; G < Plan.vectorGroup(); ++G)
      if (llvm::none_of(Plan.Operands, [&](const TileOperand &One) {
            return One.OnVector && !One.OnRow &&
                   One.dependsOn(Plan.Parallel[G]);
          }))
        SharedRows *= Plan.Parallel[G].Typical;
    for (TileOperand &One : Plan.Operands) {
      bool View = viewOf(One.tensor()) != nullptr;
      bool Direct = View && (!One.OnVector || One.Contiguous);
      bool Shared = Plan.Row >= 0 && One.OnVector && !One.OnRow;
      if (Shared && SharedRows >= LeastPanelRows &&
          (!Direct || isFar(One) || One.Lift)) {
        One.From = TileOperand::Source::Panel;
      } else if (Direct && (One.OnVector || !One.Lift || isBool(One))) {
        One.From = TileOperand::Source::Direct;
        One.Lift = nullptr;
        continue;
      } else if (One.OnVector && !One.Contiguous) {
        // Gathering along the vector dim pays only when it is shared.
        if (!Shared || SharedRows < 4)
          return false;
        One.From = TileOperand::Source::Panel;
      } else if (isBool(One) || !isWindow(One)) {
        // Read about once: computed where it is used.
        if (One.OnVector || isBool(One)) {
          One.From = TileOperand::Source::Pull;
          One.Lift = nullptr;
          continue;
        }
        One.From = TileOperand::Source::Region;
      } else {
        One.From = TileOperand::Source::Region;
      }
      if (isBool(One))
        return false;
      if (One.Lift)
        One.Element = One.Lift->getResult(0).getType();
    }
    return true;
  }

  /// Whether neighbouring results share elements of `One`.
  static bool isWindow(const TileOperand &One) {
    return !llvm::all_of(One.Map.getResults(), [](AffineExpr Expr) {
      return isa<AffineDimExpr, AffineConstantExpr>(Expr);
    });
  }

  /// Whether a vector operand's consecutive reduction steps lie apart, so that
  /// each takes cache lines and pages of its own.
  bool isFar(const TileOperand &One) {
    Value View = viewOf(One.tensor());
    SmallVector<unsigned> Loops;
    Plan.Root.getReductionDims(Loops);
    for (unsigned Loop : llvm::reverse(Loops)) {
      if (constantOf(Plan.LoopSizes[Loop]) == 1)
        continue;
      Expr Stride;
      for (auto [Position, Affine] : llvm::enumerate(One.Map.getResults()))
        if (auto Step = sizeExpr(strideOf(View, Position)))
          Stride = Stride + *Step * Expr(factorOf(Affine, Loop));
      auto Known = Stride.asConstant();
      return !Known || *Known > int64_t(Plan.Lanes);
    }
    return false;
  }

  bool checkBodies() {
    linalg::LinalgOp Root = Plan.Root;
    unsigned Lane = Plan.Parallel.back().last();
    int LaneDim = int(Shape.Parallel.size()) - 1;
    if (!VectorEmitter::bodyVectorises(Root, Lane))
      return false;
    for (Value Init : Root.getDpsInits())
      if (!VectorEmitter::vectorises(Init, LaneDim, nullptr))
        return false;
    for (const KernelOutput &Out : Form.Outputs)
      Plan.VectorEpilogue &=
          VectorEmitter::vectorises(Out.Tensor, LaneDim, Root);
    return true;
  }

  /// Elements between neighbours along `Loop` where the inner loop reads `One`.
  std::optional<Expr> strideAlong(const TileOperand &One, unsigned Loop) {
    Expr Total;
    for (auto [Position, Affine] : llvm::enumerate(One.Map.getResults())) {
      int64_t Factor = factorOf(Affine, Loop);
      if (Factor == 0)
        continue;
      std::optional<Expr> Step;
      if (One.From == TileOperand::Source::Region)
        Step = Expr(One.BoxStrides[Position]);
      else
        Step = sizeExpr(strideOf(viewOf(One.tensor()), Position));
      if (!Step)
        return std::nullopt;
      Total = Total + *Step * Expr(Factor);
    }
    return Total;
  }

  void groupReduction() {
    SmallVector<unsigned> Loops;
    Plan.Root.getReductionDims(Loops);
    llvm::DenseSet<unsigned> Indexed;
    Plan.Root.getBlock()->walk(
        [&](linalg::IndexOp Op) { Indexed.insert(Op.getDim()); });
    for (unsigned Loop : Loops) {
      if (constantOf(Plan.LoopSizes[Loop]) == 1)
        continue;
      JoinedLoops One = groupOf(Loop);
      bool Joins = !Plan.Reduction.empty() && !Indexed.contains(Loop) &&
                   !Indexed.contains(Plan.Reduction.back().last());
      for (const TileOperand &Operand : Plan.Operands) {
        if (!Joins || Operand.From == TileOperand::Source::Panel)
          continue;
        if (Operand.From == TileOperand::Source::Pull) {
          Joins = false;
          continue;
        }
        auto Slow = strideAlong(Operand, Plan.Reduction.back().last());
        auto Fast = strideAlong(Operand, Loop);
        Joins = Slow && Fast && *Slow == One.Size * *Fast;
      }
      if (Joins)
        append(Plan.Reduction.back(), Loop);
      else
        Plan.Reduction.push_back(One);
    }
  }

  const FusedKernel &Form;
  const HostMachine &Machine;
  shape::Facts Facts;
  TilePlan Plan;
  RootShape Shape;
  bool Bools = false;
};

} // namespace

std::optional<TilePlan> planTiles(const FusedKernel &Form,
                                  const HostMachine &Machine) {
  return Planner(Form, Machine).plan();
}

} // namespace kpc::kernels
