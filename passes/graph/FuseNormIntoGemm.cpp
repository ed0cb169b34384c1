//===- FuseNormIntoGemm.cpp - Norms in the kernels of few-row GEMMs -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In:  a region that computes rows (RMSNorm, LayerNorm, softmax), whose result
///      GEMMs of few rows alone read, as their A.
/// Out: one region of the rows and a GEMM, for each of these GEMMs.
///
///   %n = graph.region "norm"(%x, %g)       %y = graph.region
///   { … reduce sum … }                         "norm+gemm"(%x, %g, %w) {
///   %y = graph.region "gemm"(%n, %w)    →    … reduce sum …
///   { matmul %n, %w … }                      matmul %n, %w … }
///
/// Each block of the few-row family computes all rows, while its first weights
/// are on their way. With more rows than that pays for, the norm is a kernel
/// again: where there may be so many, it stays and is launched only then, and
/// the GEMM's kernels for such sizes read what it wrote.
///
///   %n = graph.region "norm"(%x, %g) attributes {graph.launched_above = 16}
///   %y = graph.region "norm+gemm"(%x, %g, %n, %w) {
///     … graph.stored %computed in %n above 16 … matmul …
///
/// Behind the other fusions of GEMMs, whose regions it takes as they are.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/FuseNormIntoGemm.h"
#include "dialects/graph/GraphStored.h"
#include "mlir/IR/Remarks.h"
#include "passes/graph/FusionCosts.h"
#include "passes/graph/GemmRegion.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/RopeRegion.h"
#include "passes/graph/TargetNames.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_FUSENORMINTOGEMM
#include "passes/graph/FuseNormIntoGemm.h.inc"
} // namespace kpc::graph

namespace {

/// Elements of 16 bits in an access of 16 bytes.
constexpr int64_t AccessElements = 8;

/// A region that reduces the last dimension of its only result.
struct RowsRegion {
  RegionOp Region;
  SymbolicTensorType Type;

  static std::optional<RowsRegion> read(RegionOp Region);
  Expr rows() const {
    Expr All(1);
    for (const Expr &Dim : Type.getDims().drop_back())
      All = All * Dim;
    return All;
  }
  const Expr &length() const { return Type.getDims().back(); }
  /// The sizes of a value with all rows in one dimension; none where they fit
  /// no such.
  std::optional<SmallVector<Expr>> flat(ArrayRef<Expr> Dims) const;
};

std::optional<RowsRegion> RowsRegion::read(RegionOp Region) {
  if (Region.getNumResults() != 1)
    return std::nullopt;
  RowsRegion R{Region, typeOf(Region.getOutputs()[0])};
  bool Reduces = false;
  for (Operation &Op : Region.getBody().front().without_terminator()) {
    if (auto Reduce = dyn_cast<ReduceOp>(Op)) {
      int64_t Rank = typeOf(Reduce.getX()).getRank();
      if (Reduce.getAxes() != ArrayRef<int64_t>{Rank - 1} ||
          typeOf(Reduce.getX()).getDims() != R.Type.getDims())
        return std::nullopt;
      Reduces = true;
    } else if (!Op.hasTrait<ElementwiseTrait>() &&
               !isa<BroadcastOp, ConstantOp, ReshapeOp>(Op)) {
      return std::nullopt;
    }
    if (!R.flat(typeOf(Op.getResult(0)).getDims()))
      return std::nullopt;
  }
  for (BlockArgument Argument : Region.getBody().getArguments())
    if (!R.flat(typeOf(Argument).getDims()))
      return std::nullopt;
  if (!Reduces || R.Type.getRank() < 1)
    return std::nullopt;
  return R;
}

std::optional<SmallVector<Expr>> RowsRegion::flat(ArrayRef<Expr> Dims) const {
  ArrayRef<Expr> Front = Type.getDims().drop_back();
  // One row, without a dimension of rows.
  if (Front.empty()) {
    if (Dims.size() > 1)
      return std::nullopt;
    SmallVector<Expr> Flat{Expr(1)};
    llvm::append_range(Flat, Dims);
    return Flat;
  }
  if (Dims.size() < 2 && (Dims.empty() || Dims[0] == length()))
    return SmallVector<Expr>(Dims);
  if (Dims.size() < Front.size() || Dims.size() > Front.size() + 1)
    return std::nullopt;
  ArrayRef<Expr> Own = Dims.take_front(Front.size());
  SmallVector<Expr> Flat;
  if (Own == Front)
    Flat.push_back(rows());
  else if (llvm::all_of(Own, [](const Expr &E) { return E == Expr(1); }))
    Flat.push_back(Expr(1));
  else
    return std::nullopt;
  llvm::append_range(Flat, Dims.drop_front(Front.size()));
  return Flat;
}

/// A region of one GEMM or two, all of whose A is one input.
struct RowsReader {
  RegionOp Region;
  BlockArgument A;
  HeldGemm Gemm;

  static std::optional<RowsReader> read(RegionOp Region, unsigned Operand,
                                        std::string &Why);
};

/// The argument that a GEMM's right operand is, widened or turned.
BlockArgument weightBehind(Value B, bool &IsTurned) {
  if (BlockArgument Argument = argumentBehind(B))
    return Argument;
  Operation *Def = B.getDefiningOp();
  auto Turn = dyn_cast_or_null<TransposeOp>(Def);
  if (Turn && Turn.getPerm() == ArrayRef<int64_t>{1, 0}) {
    IsTurned = true;
    return argumentBehind(Turn.getX());
  }
  if (isa_and_present<CastOp>(Def) && Def->getOperand(0).getDefiningOp())
    return weightBehind(Def->getOperand(0), IsTurned);
  return {};
}

/// Fills in how the right operand lies; why it fits no kernel.
StringRef readWeight(MatmulOp Matmul, Type Element, HeldGemm &Gemm) {
  if (auto Tiles = Matmul.getB().getDefiningOp<DequantiseTilesOp>()) {
    auto BytesOf = [](Value V) {
      return V ? int64_t(typeOf(V).getElementType().getIntOrFloatBitWidth() / 8)
               : 0;
    };
    Gemm.WeightBits = Tiles.getBits();
    Gemm.Block = Tiles.getBlock();
    Gemm.ScaleBytes = BytesOf(Tiles.getScales()) + BytesOf(Tiles.getZeros());
    return {};
  }
  BlockArgument B = weightBehind(Matmul.getB(), Gemm.KContiguous);
  if (!B || typeOf(B).getElementType() != Element)
    return "its GEMM's right operand is no 16-bit matrix in memory";
  return {};
}

std::optional<RowsReader> RowsReader::read(RegionOp Region, unsigned Operand,
                                           std::string &Why) {
  RowsReader R{Region, Region.getBody().getArgument(Operand), {}};
  SymbolicTensorType Ty = typeOf(R.A);
  Type Element = Ty.getElementType();
  Block &Body = Region.getBody().front();
  SmallVector<MatmulOp> Gemms(Body.getOps<MatmulOp>());
  if (Gemms.empty() || Gemms.size() > 2 || Region.getNumResults() != 1) {
    Why = "another kernel than GEMMs reads its result";
    return std::nullopt;
  }
  for (MatmulOp Gemm : Gemms)
    if (argumentBehind(Gemm.getA()) != R.A ||
        typeOf(Gemm.getY()).getRank() != 2) {
      Why = "a GEMM reads its result in another order, or as its right operand";
      return std::nullopt;
    }
  for (Operation *User : R.A.getUsers())
    for (Operation *Reader : isa<CastOp>(User)
                                 ? llvm::to_vector(User->getUsers())
                                 : SmallVector<Operation *>{User})
      if (!isa<MatmulOp>(Reader)) {
        Why = "the kernel of its GEMM reads it beside the GEMM";
        return std::nullopt;
      }
  std::optional<int64_t> Sum = Ty.getStaticDim(1),
                         Columns = typeOf(Gemms[0].getY()).getStaticDim(1);
  if ((!Element.isF16() && !Element.isBF16()) || !Sum || !Columns ||
      *Sum % AccessElements || *Columns % AccessElements) {
    Why = "its GEMM has no operands of 16 bits, or its K or N is no multiple "
          "of 8";
    return std::nullopt;
  }
  R.Gemm.Size = {Ty.getDims()[0], *Columns, *Sum};
  R.Gemm.Products = int64_t(Gemms.size());
  if (StringRef No = readWeight(Gemms[0], Element, R.Gemm); !No.empty()) {
    Why = No.str();
    return std::nullopt;
  }
  for (auto Slice : Body.getOps<SliceOp>())
    if (int64_t Pairs = rotatedPairs(Slice)) {
      if (Pairs == 1) {
        Why = "RoPE of its GEMM is interleaved";
        return std::nullopt;
      }
      SymbolicTensorType Pair = typeOf(Slice.getY());
      R.Gemm.RotateHalf = *Pair.getStaticDim(Pair.getRank() - 1);
    }
  if ((R.Gemm.Products > 1 || R.Gemm.RotateHalf) &&
      (R.Gemm.KContiguous || R.Gemm.WeightBits < 16)) {
    Why = "the weights of a gate, or of a GEMM with RoPE, are codes or have K "
          "contiguous";
    return std::nullopt;
  }
  return R;
}

class NormFuser {
public:
  NormFuser(func::FuncOp Main, FusionCosts Costs, shape::Facts Facts)
      : Body(Main.getBody().front()), Costs(std::move(Costs)),
        Facts(std::move(Facts)) {}

  void run() {
    // All first: those that read them are replaced.
    SmallVector<RowsRegion> All;
    for (RegionOp Region : Body.getOps<RegionOp>())
      if (std::optional<RowsRegion> Rows = RowsRegion::read(Region))
        All.push_back(*Rows);
    for (RowsRegion &Rows : All)
      fuse(Rows);
  }

private:
  void fuse(RowsRegion &Rows);
  std::string readers(RowsRegion &Rows, SmallVectorImpl<RowsReader> &Into);
  void merge(RowsRegion &Rows, RowsReader &Reader, int64_t Above);
  Value writeRows(OpBuilder &B, RowsRegion &Rows, RegionMerger &Joiner);

  Block &Body;
  FusionCosts Costs;
  shape::Facts Facts;
};

/// The kernels that read the rows; why they do not compute them.
std::string NormFuser::readers(RowsRegion &Rows,
                               SmallVectorImpl<RowsReader> &Into) {
  SmallVector<Value> Views{Rows.Region.getOutputs()[0]};
  for (size_t I = 0; I < Views.size(); ++I)
    for (OpOperand &Use : Views[I].getUses()) {
      if (auto View = dyn_cast<ReshapeOp>(Use.getOwner())) {
        Views.push_back(View.getY());
        continue;
      }
      auto Region = dyn_cast<RegionOp>(Use.getOwner());
      if (!Region)
        return "its result leaves the model or a loop";
      std::string Why;
      std::optional<RowsReader> Reader =
          RowsReader::read(Region, Use.getOperandNumber(), Why);
      if (!Reader)
        return Why;
      SmallVector<Expr> Flat{Rows.rows(), Rows.length()};
      if (typeOf(Reader->A).getDims() != ArrayRef<Expr>(Flat))
        return "a GEMM reads rows of another length";
      Into.push_back(*Reader);
    }
  return Into.empty() ? "nothing reads its result" : "";
}

void NormFuser::fuse(RowsRegion &Rows) {
  // Rows in front of other kernels are what they always were.
  bool MeetsGemm =
      llvm::any_of(Rows.Region.getOutputs()[0].getUsers(), [](Operation *User) {
        if (isa<ReshapeOp>(User) && User->hasOneUse())
          User = *User->user_begin();
        auto Region = dyn_cast<RegionOp>(User);
        return Region && !Region.getBody().getOps<MatmulOp>().empty();
      });
  if (!MeetsGemm || !Costs.typicallyFewRows({Rows.rows()}))
    return;
  SmallVector<RowsReader> Readers;
  std::string Why = readers(Rows, Readers);
  int64_t Above = 0;
  if (Why.empty()) {
    std::optional<FusionCosts::Slower> Slower;
    Above = Costs.rowsToHold(
        llvm::map_to_vector(Readers, [](RowsReader &R) { return R.Gemm; }),
        Slower);
    if (!Above)
      Why = "one kernel is no faster" + (Slower ? Slower->str() : "");
  }
  auto Options = remark::RemarkOpts::name("norm").category("recognition");
  if (!Why.empty()) {
    remark::missed(Rows.Region.getLoc(), Options)
        << "A norm is not computed by the kernel of its GEMM: " + Why + ".";
    return;
  }
  bool MayBeMany = Facts.range(Rows.rows()).Max > Above;
  remark::passed(Rows.Region.getLoc(), Options)
      << "A norm is computed by the kernel of its GEMM" +
             (MayBeMany ? ", up to " + std::to_string(Above) + " rows"
                        : std::string()) +
             ".";
  for (RowsReader &Reader : Readers)
    merge(Rows, Reader, MayBeMany ? Above : 0);
  if (MayBeMany) {
    Rows.Region->setAttr(
        LaunchedAboveName,
        IntegerAttr::get(IntegerType::get(Rows.Region.getContext(), 64),
                         Above));
    return;
  }
  SmallVector<Operation *> Views(Rows.Region.getOutputs()[0].getUsers().begin(),
                                 Rows.Region.getOutputs()[0].getUsers().end());
  for (Operation *View : Views)
    View->erase();
  Rows.Region.erase();
}

/// Clones what computes the rows, with these in one dimension.
Value NormFuser::writeRows(OpBuilder &B, RowsRegion &Rows,
                           RegionMerger &Joiner) {
  IRMapping Map;
  for (auto [Input, From] : llvm::zip_equal(
           Rows.Region.getInputs(), Rows.Region.getBody().getArguments())) {
    OpBuilder Outside(B.getContext());
    Outside.setInsertionPoint(B.getInsertionBlock()->getParentOp());
    SymbolicTensorType Ty =
        typeOf(Input).withDims(*Rows.flat(typeOf(Input).getDims()));
    Map.map(From, Joiner.argument(Outside.createOrFold<ReshapeOp>(
                      Input.getLoc(), Ty, Input)));
  }
  for (Operation &Op : Rows.Region.getBody().front().without_terminator()) {
    if (auto Reduce = dyn_cast<ReduceOp>(Op)) {
      Map.map(Reduce.getResult(),
              ReduceOp::create(B, Op.getLoc(), Reduce.getKind(),
                               Map.lookup(Reduce.getX()), ArrayRef<int64_t>{1})
                  .getResult());
      continue;
    }
    Value Result = Op.getResult(0);
    SymbolicTensorType To =
        typeOf(Result).withDims(*Rows.flat(typeOf(Result).getDims()));
    if (isa<ReshapeOp>(Op)) {
      Map.map(Result, B.createOrFold<ReshapeOp>(Op.getLoc(), To,
                                                Map.lookup(Op.getOperand(0))));
      continue;
    }
    Value New = B.clone(Op, Map)->getResult(0);
    if (isa<ConstantOp>(Op))
      Map.map(Result, B.createOrFold<ReshapeOp>(Op.getLoc(), To, New));
    else
      New.setType(To);
  }
  return Map.lookup(
      Rows.Region.getBody().front().getTerminator()->getOperand(0));
}

/// `Above`: the rows' own kernel is launched with more, and written is read; 0:
/// there are no more.
void NormFuser::merge(RowsRegion &Rows, RowsReader &Reader, int64_t Above) {
  RegionOp Old = Reader.Region;
  OpBuilder B(Old);
  RegionMerger Joiner(B, B.getFusedLoc({Rows.Region.getLoc(), Old.getLoc()}),
                      (Rows.Region.getName() + "+" + Old.getName()).str(),
                      Old.getResultTypes());
  Value Computed = writeRows(B, Rows, Joiner);
  if (Above)
    Computed = StoredOp::create(
        B, Rows.Region.getLoc(), Computed,
        Joiner.argument(Old.getInputs()[Reader.A.getArgNumber()]), Above);
  IRMapping Map;
  for (auto [Input, From] :
       llvm::zip_equal(Old.getInputs(), Old.getBody().getArguments()))
    Map.map(From, From == Reader.A ? Computed : Joiner.argument(Input));
  for (Operation &Op : Old.getBody().front())
    B.clone(Op, Map);
  RegionOp Region = Joiner.finish();
  Old.getOutputs()[0].replaceAllUsesWith(Region.getOutputs()[0]);
  Old.erase();
}

struct FuseNormIntoGemmPass
    : graph::impl::FuseNormIntoGemmBase<FuseNormIntoGemmPass> {
  using FuseNormIntoGemmBase::FuseNormIntoGemmBase;
  void runOnOperation() override {
    func::FuncOp Main = getOperation();
    if (!isGraphFunction(Main) || !Main.getBody().hasOneBlock())
      return;
    auto All = targetsNamed(Targets, Main);
    if (failed(All))
      return signalPassFailure();
    shape::Facts Facts = symbolFacts(Main->getParentOfType<ModuleOp>());
    NormFuser(Main, FusionCosts(*All, Facts), Facts).run();
  }
};

} // namespace
