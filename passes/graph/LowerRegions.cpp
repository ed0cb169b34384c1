//===- LowerRegions.cpp - Regions become kernels and a plan -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In:  a function of regions, constants, weights and reshapes.
/// Out: one kernel in linalg form for each distinct region, and a plan.
///
///   %1 = graph.region "relu"(%x) …   →   func.func @relu(%0: memref<f32>, …)
///   {…} return %1                            plan.program {
///                                          %x = plan.input "x"  %y =
///                                          plan.output "y" plan.launch @relu
///                                          (%x) -> (%y) sizes … }
///
/// Kernels are equal when their text is, names and locations left out.
///
//===----------------------------------------------------------------------===//

#include "dialects/kernel/Kernel.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/graph/Passes.h"
#include "passes/graph/RegionFacts.h"
#include "passes/graph/StoredRows.h"
#include "passes/graph/linalg/KernelWriter.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace kpc::graph {
#define GEN_PASS_DEF_LOWERREGIONS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

constexpr StringLiteral NameAttr = "graph.name";

/// A name that linkers and PTX accept.
std::string symbolFor(StringRef Name) {
  std::string Text;
  for (char C : Name.take_front(48))
    Text += llvm::isAlnum(C) ? C : '_';
  return Text.empty() || llvm::isDigit(Text.front()) ? "k_" + Text : Text;
}

class PlanBuilder {
public:
  PlanBuilder(func::FuncOp Main, ModuleOp Module)
      : Main(Main), Module(Module), Facts(symbolFacts(Module)),
        Rows(Main, Facts), B(Module.getContext()),
        KernelBuilder(Module.getContext()) {}

  LogicalResult run();

private:
  void declareInputs();
  void declareOutputs();
  LogicalResult lower(RegionOp Region);
  void finishOutputs();
  Value bufferFor(Value Result, StringRef Name);
  ArrayAttr recipeOf(WeightOp Weight);
  FailureOr<std::pair<func::FuncOp, DimsAttr>> kernelFor(RegionOp Region);
  std::string unusedSymbol(const std::string &Wanted);
  void describe(plan::LaunchOp Launch, RegionOp Region);

  func::FuncOp Main;
  ModuleOp Module;
  shape::Facts Facts;
  StoredRows Rows;
  OpBuilder B, KernelBuilder;
  plan::ProgramOp Program;
  /// The buffer of each graph value.
  DenseMap<Value, Value> Buffers;
  /// The output that a region's result is written to at once.
  DenseMap<Value, Value> OutputOf;
  SmallVector<Value> Outputs;
  llvm::StringMap<func::FuncOp> Kernels;
  llvm::StringSet<> Symbols;
  llvm::StringMap<unsigned> NextSuffix;
};

LogicalResult PlanBuilder::run() {
  B.setInsertionPoint(Main);
  KernelBuilder.setInsertionPointToEnd(Module.getBody());
  Program = plan::ProgramOp::create(B, Main.getLoc());
  B.setInsertionPointToStart(B.createBlock(&Program.getBody()));
  declareInputs();
  declareOutputs();
  for (Operation &Op : Main.getBody().front().without_terminator()) {
    LogicalResult Lowered =
        llvm::TypeSwitch<Operation *, LogicalResult>(&Op)
            .Case([&](RegionOp Region) { return lower(Region); })
            .Case([&](WeightOp Weight) {
              Buffers[Weight] =
                  plan::WeightOp::create(B, Op.getLoc(), Rows.typeOf(Weight),
                                         Weight.getSource(), recipeOf(Weight));
              return success();
            })
            .Case([&](ConstantOp Constant) {
              Buffers[Constant] = plan::ConstantOp::create(
                  B, Op.getLoc(), Constant.getType(), Constant.getValue());
              return success();
            })
            .Case([&](ReshapeOp Reshape) {
              Buffers[Reshape] =
                  plan::ViewOp::create(B, Op.getLoc(), Reshape.getType(),
                                       Buffers.lookup(Reshape.getX()));
              return success();
            })
            .Default([](Operation *Op) {
              return Op->emitError("stands outside a region; form-regions puts "
                                   "every such op into one");
            });
    if (failed(Lowered))
      return failure();
  }
  finishOutputs();
  Main.erase();
  return success();
}

void PlanBuilder::declareInputs() {
  for (auto [I, Argument] : llvm::enumerate(Main.getArguments())) {
    auto Name = Main.getArgAttrOfType<StringAttr>(I, NameAttr);
    std::string Text = Name ? Name.str() : "input" + std::to_string(I);
    Buffers[Argument] =
        plan::InputOp::create(B, Argument.getLoc(), Argument.getType(), Text);
  }
}

/// What converts an element's type alone is passed over.
Value withoutCasts(Value V) {
  while (auto Cast = V.getDefiningOp<CastOp>())
    V = Cast.getX();
  return V;
}

/// The argument of the model whose elements `Result` holds, but for those that
/// are replaced by what does not depend on it: `select(c, new, x)` where x is
/// read by nothing else. Null if there is none. Elements may then be written
/// over x, in any order and more than once.
BlockArgument keptArgument(Value Result) {
  auto Region = Result.getDefiningOp<RegionOp>();
  if (!Region)
    return {};
  Operation *Yield = Region.getBody().front().getTerminator();
  unsigned Number = cast<OpResult>(Result).getResultNumber();
  auto Select =
      withoutCasts(Yield->getOperand(Number)).getDefiningOp<SelectOp>();
  if (!Select)
    return {};
  for (Value Arm : {Select.getA(), Select.getB()}) {
    bool IsAlone = Arm.hasOneUse();
    for (Value V = Arm; auto Cast = V.getDefiningOp<CastOp>(); V = Cast.getX())
      IsAlone &= Cast.getX().hasOneUse();
    auto Inner = dyn_cast<BlockArgument>(withoutCasts(Arm));
    if (!IsAlone || !Inner || Inner.getOwner() != &Region.getBody().front())
      continue;
    auto Outer =
        dyn_cast<BlockArgument>(Region.getInputs()[Inner.getArgNumber()]);
    if (Outer && Outer.hasOneUse() && Outer.getType() == Result.getType())
      return Outer;
  }
  return {};
}

void PlanBuilder::declareOutputs() {
  llvm::DenseSet<Value> Taken;
  Operation *Return = Main.getBody().front().getTerminator();
  for (auto [I, Result] : llvm::enumerate(Return->getOperands())) {
    auto Name = Main.getResultAttrOfType<StringAttr>(I, NameAttr);
    std::string Text = Name ? Name.str() : "output" + std::to_string(I);
    Value Output =
        plan::OutputOp::create(B, Return->getLoc(), Result.getType(), Text,
                               /*takes=*/IntegerAttr());
    if (BlockArgument Kept = keptArgument(Result);
        Kept && Result.hasOneUse() && Taken.insert(Kept).second)
      Output.getDefiningOp<plan::OutputOp>().setTakes(Kept.getArgNumber());
    Outputs.push_back(Output);
    // The kernel behind the result, seen through reshapes, writes it directly.
    Value Made = Result;
    while (auto Reshape = Made.getDefiningOp<ReshapeOp>())
      Made = Reshape.getX();
    if (Made.getDefiningOp<RegionOp>())
      OutputOf.try_emplace(Made, Output);
  }
}

/// The weight's recipe, and behind it the padding of its rows.
ArrayAttr PlanBuilder::recipeOf(WeightOp Weight) {
  SymbolicTensorType Stored = Rows.typeOf(Weight);
  if (Stored == Weight.getType())
    return Weight.getRecipe();
  int64_t Row = *Stored.getDims().back().asConstant();
  SmallVector<Attribute> Steps(Weight.getRecipe().getValue());
  Steps.push_back(B.getDictionaryAttr(
      B.getNamedAttr("pad", B.getDenseI64ArrayAttr({Row}))));
  return B.getArrayAttr(Steps);
}

Value PlanBuilder::bufferFor(Value Result, StringRef Name) {
  Value &Buffer = Buffers[Result];
  if (Value Output = OutputOf.lookup(Result)) {
    Buffer = Output;
    if (Output.getType() != Result.getType())
      Buffer =
          plan::ViewOp::create(B, Result.getLoc(), Result.getType(), Output);
    return Buffer;
  }
  Buffer = plan::BufferOp::create(B, Result.getLoc(), Rows.typeOf(Result), Name,
                                  DenseI64ArrayAttr(), plan::ArenaClassAttr());
  return Buffer;
}

/// Text of a kernel by which equal ones are found.
std::string textOf(func::FuncOp Kernel) {
  std::string Text;
  llvm::raw_string_ostream Stream(Text);
  StringAttr Name = Kernel.getSymNameAttr();
  Kernel.setSymName("kernel");
  Kernel.print(Stream, OpPrintingFlags().useLocalScope());
  Kernel.setSymNameAttr(Name);
  return Text;
}

/// `Wanted`, or with the first number behind it that no kernel has: models name
/// nodes `relu` and `relu_1` too.
std::string PlanBuilder::unusedSymbol(const std::string &Wanted) {
  std::string Symbol = Wanted;
  unsigned &Next = NextSuffix[Wanted];
  while (!Symbols.insert(Symbol).second)
    Symbol = Wanted + "_" + std::to_string(++Next);
  return Symbol;
}

FailureOr<std::pair<func::FuncOp, DimsAttr>>
PlanBuilder::kernelFor(RegionOp Region) {
  std::string Symbol = unusedSymbol(symbolFor(Region.getName()));
  KernelWriter Writer(KernelBuilder, Region, Symbol, Facts, Rows);
  if (failed(Writer.write()))
    return failure();
  auto Sizes = DimsAttr::get(Module.getContext(), Writer.sizes());
  func::FuncOp Kernel = Writer.kernel();
  auto [Known, Inserted] = Kernels.try_emplace(textOf(Kernel), Kernel);
  if (!Inserted)
    Kernel.erase();
  return std::make_pair(Known->second, Sizes);
}

/// For people: in reports, profiles and errors.
void PlanBuilder::describe(plan::LaunchOp Launch, RegionOp Region) {
  Launch.setName(Region.getName());
  if (std::vector<StringRef> Nodes = nodesOf(Region); !Nodes.empty())
    Launch.setNodesAttr(B.getStrArrayAttr(Nodes));
  if (std::optional<shape::Expr> Flops = flopsOf(Region))
    Launch.setFlopsAttr(DimsAttr::get(Module.getContext(), {*Flops}));
}

LogicalResult PlanBuilder::lower(RegionOp Region) {
  auto Kernel = kernelFor(Region);
  if (failed(Kernel))
    return failure();
  SmallVector<Value> Reads, Writes;
  for (Value Input : Region.getInputs())
    Reads.push_back(Buffers.lookup(Input));
  for (Value Output : Region.getOutputs())
    Writes.push_back(bufferFor(Output, Region.getName()));
  auto Launch =
      plan::LaunchOp::create(B, Region.getLoc(), Kernel->first.getSymName(),
                             Reads, Writes, Kernel->second,
                             /*name=*/StringAttr(), /*nodes=*/ArrayAttr(),
                             /*flops=*/DimsAttr());
  describe(Launch, Region);
  return success();
}

/// Outputs that no kernel wrote directly: inputs, weights, or a value that is
/// an output twice.
void PlanBuilder::finishOutputs() {
  Operation *Return = Main.getBody().front().getTerminator();
  for (auto [Result, Output] :
       llvm::zip_equal(Return->getOperands(), Outputs)) {
    Value Buffer = Buffers.lookup(Result);
    if (plan::storageOf(Buffer) != Output)
      plan::CopyOp::create(B, Return->getLoc(), Buffer, Output);
  }
}

/// A plan is made of one block between symbolic tensors, and of one function.
LogicalResult checkMain(func::FuncOp Main) {
  if (!Main.getBody().hasOneBlock())
    return Main.emitError("@main has no body, or more than one block");
  if (!isa<func::ReturnOp>(Main.getBody().front().getTerminator()))
    return Main.emitError("@main does not end in a return");
  for (TypeRange Types :
       {TypeRange(Main.getArgumentTypes()), TypeRange(Main.getResultTypes())})
    for (Type Ty : Types)
      if (!isa<SymbolicTensorType>(Ty))
        return Main.emitError()
               << "@main takes or gives " << Ty << "; a model's inputs and "
               << "outputs are symbolic tensors";
  ModuleOp Module = Main->getParentOfType<ModuleOp>();
  if (!Module.getOps<plan::ProgramOp>().empty())
    return Main.emitError("the module holds a plan already");
  return success();
}

struct LowerRegionsPass : graph::impl::LowerRegionsBase<LowerRegionsPass> {
  void runOnOperation() override {
    auto Main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!Main)
      return;
    if (failed(checkMain(Main)) ||
        failed(PlanBuilder(Main, getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace
