//===- LowerRegions.cpp - Regions become kernels and a plan --------------===//
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
/// Kernels are equal when their text would be, names and locations left out.
///
/// A loop becomes a plan.loop. Each carried value has memory twice, which take
/// turns: iteration i reads part i mod 2 and writes the other.
///
///   %y = graph.loop "i" (%x) {          %m = plan.buffer "h"  (two of them)
///   ^bb0(%h): …                         plan.copy %x to (part 0 of %m)
///     graph.yield %n }              →   plan.loop "i" { … plan.launch @n
///                                         (part i mod 2) -> (part i+1 mod 2) }
///                                       %y is the part that was written last
///
/// Where data ends the loop, which part that is is known only then: steps at
/// its end copy it.
///
//===----------------------------------------------------------------------===//

#include "dialects/graph/GraphRecurrent.h"
#include "dialects/kernel/Kernel.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/graph/ExactValues.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/KernelWords.h"
#include "passes/graph/LeadingDimensions.h"
#include "passes/graph/ModuleScopes.h"
#include "passes/graph/Passes.h"
#include "passes/graph/RegionFacts.h"
#include "passes/graph/RegionTitle.h"
#include "passes/graph/linalg/KernelWriter.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_LOWERREGIONS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

constexpr StringLiteral NameAttr = "graph.name", DecidesAttr = "graph.decides",
                        AtMostAttr = "graph.at_most";

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
        Rows(Main, Facts), Exact(Main), B(Module.getContext()),
        KernelBuilder(Module.getContext()) {}

  LogicalResult run();

private:
  void declareInputs();
  void declareOutputs();
  LogicalResult lower(Block &Body);
  LogicalResult lower(Operation *Op);
  LogicalResult lower(RegionOp Region);
  LogicalResult lower(SliceOp Slice);
  LogicalResult lower(LoopOp Loop);
  LogicalResult lower(IfOp If);
  LogicalResult lowerInto(Block &Body, ArrayRef<Value> Destinations);
  void copyLast(LoopOp Loop, ArrayRef<Value> Pairs, ArrayRef<Value> Into);
  void writeAtOnce(Value Result, Value Destination);
  bool takesKernels(Value Destination);
  Value partOf(Value Whole, const Expr &Offset, Type Ty, Location Loc);
  Value memoryForTwo(Value Carried, StringRef Name);
  void finishOutputs();
  Value bufferFor(Value Result, StringRef Name);
  ArrayAttr recipeOf(WeightOp Weight);
  FailureOr<std::pair<func::FuncOp, DimsAttr>> kernelFor(RegionOp Region);
  std::string unusedSymbol(const std::string &Wanted);
  void clearCounters(Value Counters);
  void describe(plan::LaunchOp Launch, RegionOp Region);

  func::FuncOp Main;
  ModuleOp Module;
  shape::Facts Facts;
  LeadingDimensions Rows;
  ExactValues Exact;
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
  if (failed(lower(Main.getBody().front())))
    return failure();
  finishOutputs();
  Main.erase();
  return success();
}

LogicalResult PlanBuilder::lower(Block &Body) {
  for (Operation &Op : Body.without_terminator())
    if (failed(lower(&Op)))
      return failure();
  return success();
}

LogicalResult outsideRegion(Operation *Op) {
  return Op->emitError("stands outside a region; form-regions puts every such "
                       "op into one");
}

LogicalResult PlanBuilder::lower(Operation *Op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(Op)
      .Case<RegionOp, LoopOp, IfOp>([&](auto Holder) { return lower(Holder); })
      .Case([&](WeightOp Weight) {
        Buffers[Weight] =
            plan::WeightOp::create(B, Op->getLoc(), Rows.typeOf(Weight),
                                   Weight.getSource(), recipeOf(Weight));
        return success();
      })
      .Case([&](ConstantOp Constant) {
        Buffers[Constant] = plan::ConstantOp::create(
            B, Op->getLoc(), Constant.getType(), Constant.getValue());
        return success();
      })
      .Case([&](ReshapeOp Reshape) {
        Buffers[Reshape] = plan::ViewOp::create(
            B, Op->getLoc(), Reshape.getType(), Buffers.lookup(Reshape.getX()));
        return success();
      })
      .Case([&](SliceOp Slice) { return lower(Slice); })
      .Default(outsideRegion);
}

void PlanBuilder::declareInputs() {
  for (auto [I, Argument] : llvm::enumerate(Main.getArguments())) {
    auto Name = Main.getArgAttrOfType<StringAttr>(I, NameAttr);
    std::string Text = Name ? Name.str() : "input" + std::to_string(I);
    Buffers[Argument] =
        plan::InputOp::create(B, Argument.getLoc(), Argument.getType(), Text,
                              Main.getArgAttrOfType<TypeAttr>(I, PortAttr));
  }
}

/// What converts an element's type alone is passed over.
Value withoutCasts(Value V) {
  while (auto Cast = V.getDefiningOp<CastOp>())
    V = Cast.getX();
  return V;
}

/// The argument of the model whose elements a value of a region holds, as
/// keptArgument has it.
BlockArgument keptArgument(RegionOp Region, Value Of, Type Ty) {
  auto Select = withoutCasts(Of).getDefiningOp<SelectOp>();
  if (!Select)
    return {};
  for (Value Arm : {Select.getA(), Select.getB()}) {
    bool IsAlone = Arm.hasOneUse();
    for (Value V = Arm; auto Cast = V.getDefiningOp<CastOp>(); V = Cast.getX())
      IsAlone &= Cast.getX().hasOneUse();
    if (!IsAlone)
      continue;
    if (BlockArgument Deeper = keptArgument(Region, Arm, Ty))
      return Deeper;
    auto Inner = dyn_cast<BlockArgument>(withoutCasts(Arm));
    if (!Inner || Inner.getOwner() != &Region.getBody().front())
      continue;
    auto Outer =
        dyn_cast<BlockArgument>(Region.getInputs()[Inner.getArgNumber()]);
    if (Outer && Outer.hasOneUse() && Outer.getType() == Ty)
      return Outer;
  }
  return {};
}

/// The argument of the model whose elements `Result` holds, but for those that
/// are replaced by what does not depend on it: `select(c, new, x)`, or several
/// of these in turn, where x is read by nothing else. Null if there is none.
/// Elements may then be written over x, in any order and more than once.
BlockArgument keptArgument(Value Result) {
  auto Region = Result.getDefiningOp<RegionOp>();
  if (!Region)
    return {};
  Operation *Yield = Region.getBody().front().getTerminator();
  unsigned Number = cast<OpResult>(Result).getResultNumber();
  return keptArgument(Region, Yield->getOperand(Number), Result.getType());
}

void PlanBuilder::declareOutputs() {
  llvm::DenseSet<Value> Taken;
  Operation *Return = Main.getBody().front().getTerminator();
  for (auto [I, Result] : llvm::enumerate(Return->getOperands())) {
    auto Name = Main.getResultAttrOfType<StringAttr>(I, NameAttr);
    std::string Text = Name ? Name.str() : "output" + std::to_string(I);
    Value Output = plan::OutputOp::create(
        B, Return->getLoc(), Result.getType(), Text,
        /*takes=*/IntegerAttr(),
        Main.getResultAttrOfType<TypeAttr>(I, PortAttr),
        Main.getResultAttrOfType<DimsAttr>(I, DecidesAttr),
        Main.getResultAttrOfType<DimsAttr>(I, AtMostAttr));
    // Whoever else reads the result does so behind the kernel that writes it.
    bool IsOneOutput = llvm::count(Return->getOperands(), Result) == 1;
    if (BlockArgument Kept = keptArgument(Result);
        Kept && IsOneOutput && Taken.insert(Kept).second)
      Output.getDefiningOp<plan::OutputOp>().setTakes(Kept.getArgNumber());
    Outputs.push_back(Output);
    writeAtOnce(Result, Output);
  }
}

/// Whether the result is written by what computes it: not a carried value,
/// which is a part of memory for two, unless data ends its loop.
bool isWritten(Value V) {
  if (auto Loop = V.getDefiningOp<LoopOp>())
    return Loop.endsByData() ||
           cast<OpResult>(V).getResultNumber() >= Loop.getNumCarried();
  return isa_and_present<RegionOp, IfOp>(V.getDefiningOp());
}

/// What computes the result, seen through reshapes, writes it where it is to
/// be, if it can.
void PlanBuilder::writeAtOnce(Value Result, Value Destination) {
  while (auto Reshape = Result.getDefiningOp<ReshapeOp>())
    Result = Reshape.getX();
  if (isWritten(Result))
    OutputOf.try_emplace(Result, Destination);
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
  auto [Known, Inserted] = Kernels.try_emplace(wordsOf(Kernel), Kernel);
  if (!Inserted)
    Kernel.erase();
  return std::make_pair(Known->second, Sizes);
}

/// For people: in reports, profiles and errors.
void PlanBuilder::describe(plan::LaunchOp Launch, RegionOp Region) {
  Launch.setName(Region.getName());
  if (std::vector<StringRef> Nodes = nodesOf(Region); !Nodes.empty())
    Launch.setNodesAttr(B.getStrArrayAttr(Nodes));
  if (std::optional<Expr> Flops = flopsOf(Region))
    Launch.setFlopsAttr(DimsAttr::get(Module.getContext(), {*Flops}));
  if (StringRef Root = rootOf(Region); !Root.empty())
    Launch.setRoot(Root);
  if (llvm::any_of(Region.getBody().front(),
                   [&](Operation &Op) { return Exact.isExactSum(&Op); }))
    Launch->setAttr(ExactAttr, B.getUnitAttr());
  RegionTitle Title = titleOf(Region);
  Launch.setKind(Title.Kind);
  Launch.setTitle(Title.Text);
  auto Scopes = Main->getAttrOfType<DictionaryAttr>(ScopesName);
  if (std::string Scope = scopeOf(Region, Title.Main, Scopes); !Scope.empty())
    Launch.setScope(Scope);
}

/// Blocks that wait for each other count from zero in each run.
void PlanBuilder::clearCounters(Value Counters) {
  SymbolicTensorType Ty = typeOf(Counters);
  SmallVector<int64_t> Sizes;
  for (const Expr &Dim : Ty.getDims())
    Sizes.push_back(*Dim.asConstant());
  auto Zeros =
      DenseElementsAttr::get(RankedTensorType::get(Sizes, Ty.getElementType()),
                             B.getZeroAttr(Ty.getElementType()));
  Value From =
      plan::ConstantOp::create(B, Counters.getLoc(), Ty, Zeros).getBuffer();
  plan::CopyOp::create(B, Counters.getLoc(), From, Counters);
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
  if (isa<RecurrentOp>(Region.getBody().front().front()) ||
      Region->hasAttr(CountersAttr))
    clearCounters(Writes.back());
  auto Launch =
      plan::LaunchOp::create(B, Region.getLoc(), Kernel->first.getSymName(),
                             Reads, Writes, Kernel->second,
                             /*name=*/StringAttr(), /*nodes=*/ArrayAttr(),
                             /*flops=*/DimsAttr(), /*root=*/StringAttr(),
                             /*kind=*/StringAttr(), /*title=*/StringAttr(),
                             /*scope=*/StringAttr());
  describe(Launch, Region);
  return success();
}

/// The memory behind views.
Value memoryOf(Value Buffer) {
  while (auto View = Buffer.getDefiningOp<plan::ViewOp>())
    Buffer = View.getOf();
  return Buffer;
}

/// Outputs that no kernel wrote directly: inputs, weights, or a value that is
/// an output twice.
void PlanBuilder::finishOutputs() {
  Operation *Return = Main.getBody().front().getTerminator();
  for (auto [Result, Output] :
       llvm::zip_equal(Return->getOperands(), Outputs)) {
    Value Buffer = Buffers.lookup(Result);
    if (memoryOf(Buffer) != Output)
      plan::CopyOp::create(B, Return->getLoc(), Buffer, Output);
  }
}

//===----------------------------------------------------------------------===//
// Loops and branches
//===----------------------------------------------------------------------===//

Value PlanBuilder::partOf(Value Whole, const Expr &Offset, Type Ty,
                          Location Loc) {
  return plan::PartOp::create(B, Loc, Ty, Whole,
                              DimsAttr::get(B.getContext(), {Offset}));
}

/// Whether a kernel may write there: parts may begin anywhere, kernels' memory
/// may not.
bool PlanBuilder::takesKernels(Value Destination) {
  std::optional<Expr> Offset = plan::offsetInStorage(Destination);
  return !Offset || Facts.divisor(*Offset) % KernelAlignment == 0;
}

/// The ops of a loop's body or of a branch; what it yields gets to
/// `Destinations`.
LogicalResult PlanBuilder::lowerInto(Block &Body,
                                     ArrayRef<Value> Destinations) {
  auto Yield = cast<YieldOp>(Body.getTerminator());
  for (auto [Result, Destination] :
       llvm::zip_equal(Yield.getValues(), Destinations))
    if (Result.getParentBlock() == &Body && takesKernels(Destination))
      writeAtOnce(Result, Destination);
  if (failed(lower(Body)))
    return failure();
  for (auto [Result, Destination] :
       llvm::zip_equal(Yield.getValues(), Destinations)) {
    Value Buffer = Buffers.lookup(Result);
    if (memoryOf(Buffer) != Destination)
      plan::CopyOp::create(B, Yield.getLoc(), Buffer, Destination);
  }
  return success();
}

/// Elements of a value, up to where the next one may begin.
Expr roomOf(SymbolicTensorType Ty) {
  Expr Step(KernelAlignment / elementBytes(Ty.getElementType()));
  return Ty.getNumElements().ceilDiv(Step) * Step;
}

Value PlanBuilder::memoryForTwo(Value Carried, StringRef Name) {
  SymbolicTensorType Ty = typeOf(Carried);
  return plan::BufferOp::create(B, Carried.getLoc(),
                                Ty.withDims({Expr(2) * roomOf(Ty)}), Name,
                                DenseI64ArrayAttr(), plan::ArenaClassAttr());
}

std::string nodeName(Operation *Op) {
  auto Node = Op->getLoc()->findInstanceOf<NameLoc>();
  return Node ? Node.getName().str() : Op->getName().stripDialect().str();
}

/// What an iteration sees of a tensor is a place in it.
LogicalResult PlanBuilder::lower(SliceOp Slice) {
  if (!isPartOfMemory(Slice))
    return outsideRegion(Slice);
  Expr Offset = Slice.getStart().getDims().front();
  for (const Expr &Size : typeOf(Slice.getX()).getDims().drop_front())
    Offset = Offset * Size;
  Buffers[Slice] = partOf(Buffers.lookup(Slice.getX()), Offset, Slice.getType(),
                          Slice.getLoc());
  return success();
}

/// Where data ended a loop, its counter says which part was written last.
void PlanBuilder::copyLast(LoopOp Loop, ArrayRef<Value> Pairs,
                           ArrayRef<Value> Into) {
  Expr Count = Expr::symbol(Loop.getCounter());
  for (auto [Pair, To] : llvm::zip_equal(Pairs, Into))
    if (To)
      plan::CopyOp::create(B, Loop.getLoc(),
                           partOf(Pair, roomOf(typeOf(To)) * Count.mod(2),
                                  To.getType(), Loop.getLoc()),
                           To);
}

LogicalResult PlanBuilder::lower(LoopOp Loop) {
  Location Loc = Loop.getLoc();
  std::string Name = nodeName(Loop);
  Block &Body = Loop.getBody().front();
  unsigned Carried = Loop.getNumCarried();
  Expr I = Expr::symbol(Loop.getCounter()), Trips = Loop.getTrips();
  SmallVector<Value> Pairs, Destinations;
  for (Value Init : Loop.getInits()) {
    Pairs.push_back(memoryForTwo(Init, Name + ".carried"));
    plan::CopyOp::create(B, Loc, Buffers.lookup(Init),
                         partOf(Pairs.back(), 0, Init.getType(), Loc));
  }
  for (Value Collected : Loop.getResults().drop_front(Carried))
    bufferFor(Collected, Name);
  // An iteration does not read its own condition, which is true.
  Value Condition;
  SmallVector<Value> Last;
  if (Value Begins = Loop.getBegins()) {
    for (Value Result : Loop.getResults().take_front(Carried))
      Last.push_back(Result.use_empty() ? Value() : bufferFor(Result, Name));
    Condition =
        plan::BufferOp::create(B, Loc, Begins.getType(), Name + ".goes_on",
                               DenseI64ArrayAttr(), plan::ArenaClassAttr());
    plan::CopyOp::create(B, Loc, Buffers.lookup(Begins), Condition);
    Destinations.push_back(Condition);
  }

  auto Steps = plan::LoopOp::create(B, Loc, Loop.getCounter(), Loop.getCount(),
                                    Condition);
  {
    OpBuilder::InsertionGuard Guard(B);
    B.setInsertionPointToStart(B.createBlock(&Steps.getBody()));
    for (auto [Pair, Argument] : llvm::zip_equal(Pairs, Body.getArguments())) {
      Expr Room = roomOf(typeOf(Argument));
      Type Ty = Argument.getType();
      Buffers[Argument] = partOf(Pair, Room * I.mod(2), Ty, Loc);
      Destinations.push_back(partOf(Pair, Room * (I + 1).mod(2), Ty, Loc));
    }
    for (auto [J, Reversed] : llvm::enumerate(Loop.getReversed())) {
      Type Ty = Loop.getYielded()[Carried + J].getType();
      Expr At = Reversed ? Trips - 1 - I : I;
      Destinations.push_back(
          partOf(Buffers.lookup(Loop.getResult(Carried + J)),
                 At * cast<SymbolicTensorType>(Ty).getNumElements(), Ty, Loc));
    }
    if (failed(lowerInto(Body, Destinations)))
      return failure();
  }
  if (Condition) {
    OpBuilder::InsertionGuard Guard(B);
    B.setInsertionPointToStart(B.createBlock(&Steps.getEnding()));
    copyLast(Loop, Pairs, Last);
    return success();
  }
  for (auto [J, Pair] : llvm::enumerate(Pairs)) {
    Value Last = Loop.getResult(J);
    Buffers[Last] =
        partOf(Pair, roomOf(typeOf(Last)) * Trips.mod(2), Last.getType(), Loc);
  }
  return success();
}

LogicalResult PlanBuilder::lower(IfOp If) {
  SmallVector<Value> Destinations;
  for (Value Result : If.getResults())
    Destinations.push_back(memoryOf(bufferFor(Result, nodeName(If))));
  Value Condition = Buffers.lookup(If.getCondition());
  // What a loop carries is elsewhere in each iteration; conditions are not.
  if (plan::offsetInStorage(Condition)) {
    Value Fixed = plan::BufferOp::create(
        B, If.getLoc(), Condition.getType(), nodeName(If) + ".condition",
        DenseI64ArrayAttr(), plan::ArenaClassAttr());
    plan::CopyOp::create(B, If.getLoc(), Condition, Fixed);
    Condition = Fixed;
  }
  auto Steps = plan::IfOp::create(B, If.getLoc(), Condition);
  for (auto [From, To] :
       llvm::zip_equal(If->getRegions(), Steps->getRegions())) {
    OpBuilder::InsertionGuard Guard(B);
    B.setInsertionPointToStart(B.createBlock(&To));
    if (failed(lowerInto(From.front(), Destinations)))
      return failure();
  }
  return success();
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
    // Those of loops that are kernels would be taken for dims of the model.
    llvm::StringSet<> Counters;
    Main.walk([&](LoopOp Loop) {
      if (Loop->getParentOfType<RegionOp>())
        Counters.insert(Loop.getCounter());
    });
    if (failed(checkMain(Main)) ||
        failed(PlanBuilder(Main, getOperation()).run()))
      return signalPassFailure();
    forgetSymbols(getOperation(), Counters);
  }
};

} // namespace
