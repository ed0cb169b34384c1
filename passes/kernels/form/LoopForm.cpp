//===- LoopForm.cpp - A loop as stages of a block -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/LoopForm.h"
#include "passes/kernels/form/LoopReads.h"
#include "passes/kernels/form/SizeFacts.h"

#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;

namespace kpc::kernels {

namespace {

/// Steps of a loop about which nothing is known.
constexpr int64_t UnknownSteps = 64;

class Reader {
public:
  Reader(LoopForm &F, FusedKernel &Form, std::string &Why)
      : F(F), Form(Form), Why(Why) {}

  bool read();

private:
  bool refuse(const Twine &Reason) {
    Why = Reason.str();
    return false;
  }
  bool readOutputs();
  void findStages();
  bool findAxes();
  void order();
  void findInPlace();
  /// The dims of a carried value or a stage have numbers of their own.
  unsigned numberOf(size_t Node, unsigned Dim) const {
    return First[Node] + Dim;
  }
  LoopValue &node(size_t Node) {
    return Node < F.Carried.size() ? F.Carried[Node]
                                   : F.Stages[Node - F.Carried.size()];
  }
  std::optional<size_t> nodeOf(Value Tensor) const;
  void join(size_t A, unsigned DimOfA, size_t B, unsigned DimOfB);
  void readStage(size_t Node);

  LoopForm &F;
  FusedKernel &Form;
  std::string &Why;
  SmallVector<unsigned> First;
  llvm::EquivalenceClasses<unsigned> Classes;
  DenseSet<unsigned> Mixed; ///< dims whose class is no axis
  DenseMap<Value, size_t> Nodes;
  struct Source {
    size_t Node;
    bool IsSame; ///< at the element that the stage computes
  };
  std::vector<SmallVector<Source>> ReadBy; ///< what stages read
};

bool isOne(OpFoldResult Size) { return constantOf(Size) == 1; }

/// The result of the loop that the output's tensor is made of, element by
/// element; none if it is something else.
std::optional<unsigned> resultBehind(Value Tensor, kernel::LoopOp Loop) {
  while (auto Generic = Tensor.getDefiningOp<linalg::GenericOp>()) {
    if (Generic.getNumReductionLoops() > 0 || Generic.getNumDpsInputs() != 1 ||
        !llvm::all_of(Generic.getIndexingMapsArray(),
                      [](AffineMap Map) { return Map.isIdentity(); }))
      return std::nullopt;
    Tensor = Generic.getDpsInputs().front();
  }
  if (Tensor.getDefiningOp() != Loop.getOperation())
    return std::nullopt;
  return cast<OpResult>(Tensor).getResultNumber();
}

bool Reader::readOutputs() {
  for (const KernelOutput &Out : Form.Outputs) {
    std::optional<unsigned> Result = resultBehind(Out.Tensor, F.Op);
    if (!Result)
      return refuse("what follows it is not computed element by element");
    F.ResultOf.push_back(*Result);
  }
  return true;
}

void Reader::findStages() {
  LoopPlan Plan(F.Op);
  DenseMap<Value, size_t> Known;
  auto StageOf = [&](Value V) -> LoopForm::Stage & {
    if (auto It = Known.find(V); It != Known.end())
      return F.Stages[It->second];
    Known[V] = F.Stages.size();
    LoopForm::Stage &S = F.Stages.emplace_back();
    S.Tensor = V;
    return S;
  };
  for (Value V : Plan.kept())
    StageOf(V).IsKept = true;
  auto IsComputed = [&](Value V) {
    return loopsBehind(V) && V.getParentBlock() == &F.Op.getBody().front();
  };
  // What is yielded but computed by no stage, or is the next of several.
  auto Copy = [&](Value V) -> LoopForm::Stage & {
    LoopForm::Stage &S = F.Stages.emplace_back();
    S.Tensor = V;
    S.IsCopy = true;
    return S;
  };
  unsigned Carried = F.Op.getNumCarried();
  for (auto [I, V] : llvm::enumerate(F.Op.getYielded())) {
    bool IsOwn = IsComputed(V);
    if (I >= Carried) {
      (IsOwn ? StageOf(V) : Copy(V)).Collected.push_back(I);
      continue;
    }
    LoopForm::Stage &S = IsOwn && StageOf(V).Next < 0 ? StageOf(V) : Copy(V);
    S.Next = int(I);
  }
  if (F.Op.getBegins()) {
    Value More = F.Op.getNext()->getOperand(0);
    LoopForm::Stage &S = IsComputed(More) ? StageOf(More) : Copy(More);
    S.IsKept = true;
    F.Condition = int(&S - F.Stages.data());
  }
}

std::optional<size_t> Reader::nodeOf(Value Tensor) const {
  auto It = Nodes.find(Tensor);
  return It == Nodes.end() ? std::nullopt : std::optional(It->second);
}

void Reader::join(size_t A, unsigned DimOfA, size_t B, unsigned DimOfB) {
  OpFoldResult SizeOfA = node(A).Sizes[DimOfA], SizeOfB = node(B).Sizes[DimOfB];
  unsigned X = numberOf(A, DimOfA), Y = numberOf(B, DimOfB);
  if (!SizeOfA || SizeOfA != SizeOfB) {
    Mixed.insert(X);
    Mixed.insert(Y);
  }
  Classes.unionSets(X, Y);
}

void Reader::readStage(size_t Node) {
  LoopForm::Stage &S = F.Stages[Node - F.Carried.size()];
  LoopReads Reads([&](Value V) { return nodeOf(V).has_value(); });
  if (S.IsCopy)
    Reads.readCopy(S.Tensor);
  else
    Reads.readStage(S.Tensor);
  S.Cost.Terms = Reads.terms();
  S.Cost.Splits = Reads.splits();
  S.Cost.Operations = std::max<int64_t>(Reads.operations(), 1);
  S.Cost.Loads = Reads.loads();
  for (const LoopReads::Read &One : Reads.all()) {
    size_t From = *nodeOf(One.Tensor);
    bool IsSame = One.At.size() == node(Node).Sizes.size();
    for (auto [Dim, At] : llvm::enumerate(One.At)) {
      auto Same = dyn_cast_or_null<AffineDimExpr>(At);
      IsSame &= Same && Same.getPosition() == Dim;
      if (isOne(node(From).Sizes[Dim]))
        continue;
      if (Same)
        join(From, Dim, Node, Same.getPosition());
      else
        Mixed.insert(numberOf(From, Dim));
    }
    ReadBy[Node].push_back({From, IsSame});
  }
}

bool Reader::findAxes() {
  size_t Count = F.Carried.size() + F.Stages.size();
  unsigned Next = 0;
  for (size_t I = 0; I < Count; ++I) {
    LoopValue &V = node(I);
    unsigned Rank = cast<RankedTensorType>(V.Tensor.getType()).getRank();
    for (unsigned Dim = 0; Dim < Rank; ++Dim) {
      V.Sizes.push_back(tensorSize(V.Tensor, Dim));
      if (!V.Sizes.back())
        return refuse("a size of what it computes is not known");
      Classes.insert(Next + Dim);
    }
    First.push_back(Next);
    Next += Rank;
    bool IsCopy =
        I >= F.Carried.size() && F.Stages[I - F.Carried.size()].IsCopy;
    if (!IsCopy)
      Nodes[V.Tensor] = I;
  }
  ReadBy.resize(Count);
  for (size_t I = F.Carried.size(); I < Count; ++I)
    readStage(I);
  for (size_t I = F.Carried.size(); I < Count; ++I)
    if (int Of = F.Stages[I - F.Carried.size()].Next; Of >= 0)
      for (unsigned Dim = 0; Dim < node(I).Sizes.size(); ++Dim)
        if (!isOne(node(I).Sizes[Dim]))
          join(size_t(Of), Dim, I, Dim);
  // A diagonal has one index for two dims.
  for (size_t I = 0; I < Count; ++I)
    for (unsigned A = 0; A < node(I).Sizes.size(); ++A)
      for (unsigned B = 0; B < A; ++B)
        if (Classes.isEquivalent(numberOf(I, A), numberOf(I, B)))
          Mixed.insert(numberOf(I, A));
  DenseSet<unsigned> MixedLeaders;
  for (unsigned Dim : Mixed)
    MixedLeaders.insert(Classes.getLeaderValue(Dim));
  DenseMap<unsigned, int> AxisOf;
  for (size_t I = 0; I < Count; ++I) {
    LoopValue &V = node(I);
    for (auto [Dim, Size] : llvm::enumerate(V.Sizes)) {
      unsigned Leader = Classes.getLeaderValue(numberOf(I, Dim));
      if (isOne(Size)) {
        V.Axes.push_back(-1);
        continue;
      }
      if (!MixedLeaders.contains(Leader) && sizeExpr(Size)) {
        auto [It, New] = AxisOf.try_emplace(Leader, int(F.Axes.size()));
        if (New)
          F.Axes.push_back(Size);
        V.Axes.push_back(It->second);
        continue;
      }
      if (!constantOf(Size))
        return refuse("its steps mix the elements of an axis whose size is not "
                      "known when compiling");
      V.Axes.push_back(-1);
    }
  }
  return true;
}

/// A carried value has one memory where nobody reads an element of it when its
/// next one is there. Lanes that share a sum do, though they need it no more.
void Reader::findInPlace() {
  size_t Carried = F.Carried.size();
  for (LoopForm::Stage &Next : F.Stages) {
    if (Next.Next < 0)
      continue;
    bool InPlace = true;
    for (auto [I, Stage] : llvm::enumerate(F.Stages))
      for (const Source &From : ReadBy[Carried + I])
        if (From.Node == size_t(Next.Next))
          InPlace &= &Stage == &Next ? From.IsSame && Stage.Cost.Terms == 1
                                     : Stage.Level < Next.Level;
    F.InPlace[Next.Next] = InPlace;
  }
}

void Reader::order() {
  size_t Carried = F.Carried.size();
  // A stage reads what stands above it in the body, or copies it.
  bool Changed = true;
  while (Changed) {
    Changed = false;
    for (size_t I = 0; I < F.Stages.size(); ++I)
      for (const Source &From : ReadBy[Carried + I]) {
        if (From.Node < Carried)
          continue;
        LoopForm::Stage &Of = F.Stages[From.Node - Carried];
        Of.IsKept |= true;
        if (F.Stages[I].Level <= Of.Level) {
          F.Stages[I].Level = Of.Level + 1;
          Changed = true;
        }
      }
  }
  findInPlace();
  Value Condition = F.Condition >= 0 ? F.Stages[F.Condition].Tensor : Value();
  bool IsCopy = F.Condition >= 0 && F.Stages[F.Condition].IsCopy;
  llvm::stable_sort(F.Stages,
                    [](const LoopForm::Stage &A, const LoopForm::Stage &B) {
                      return A.Level < B.Level;
                    });
  for (auto [I, S] : llvm::enumerate(F.Stages))
    if (Condition && S.Tensor == Condition && S.IsCopy == IsCopy && S.IsKept)
      F.Condition = int(I);
  // The next of a carried value has that one's memory.
  for (LoopForm::Stage &S : F.Stages)
    S.IsKept &= S.Next < 0;
}

bool Reader::read() {
  if (!readOutputs())
    return false;
  for (unsigned I = 0; I < F.Op.getNumCarried(); ++I)
    F.Carried.emplace_back().Tensor = F.Op.getCarried(I);
  F.InPlace.assign(F.Carried.size(), false);
  findStages();
  if (!findAxes())
    return false;
  order();
  return true;
}

} // namespace

kernel::LoopOp LoopForm::find(func::FuncOp Func) {
  auto Loops = Func.getBody().front().getOps<kernel::LoopOp>();
  return Loops.empty() ? kernel::LoopOp() : *Loops.begin();
}

std::optional<LoopForm> LoopForm::read(FusedKernel &Form, std::string &Why) {
  LoopForm F;
  F.Op = find(Form.Func);
  if (!F.Op) {
    Why = "it is no loop";
    return std::nullopt;
  }
  if (!Reader(F, Form, Why).read())
    return std::nullopt;
  return F;
}

const LoopForm::Stage *LoopForm::stageOf(Value Tensor) const {
  for (const Stage &S : Stages)
    if (S.Tensor == Tensor && !S.IsCopy)
      return &S;
  return nullptr;
}

schedule::LoopExtent LoopForm::extentOf(const LoopValue &V) const {
  schedule::LoopExtent E;
  E.HasAxis.assign(Axes.size(), false);
  Type Element = cast<RankedTensorType>(V.Tensor.getType()).getElementType();
  E.ElementBytes = std::max(1u, Element.getIntOrFloatBitWidth() / 8);
  for (auto [Size, Axis] : llvm::zip_equal(V.Sizes, V.Axes)) {
    if (Axis >= 0)
      E.HasAxis[size_t(Axis)] = true;
    else
      E.Whole = saturatingMul(E.Whole, *constantOf(Size));
    if (!isOne(Size))
      E.Innermost = Axis;
  }
  return E;
}

schedule::LoopShape LoopForm::shape() const {
  schedule::LoopShape Shape;
  kernel::LoopOp Loop = Op;
  Shape.Steps = typicalOf(getAsOpFoldResult(Loop.getSteps()), UnknownSteps);
  Shape.EndsByData = Loop.getBegins() != nullptr;
  for (OpFoldResult Size : Axes)
    Shape.Axes.push_back(std::max<int64_t>(typicalOf(Size, UnknownExtent), 1));
  for (auto [I, V] : llvm::enumerate(Carried)) {
    Shape.Carried.push_back(extentOf(V));
    Shape.Kept.push_back(extentOf(V));
    if (!InPlace[I]) // the next one
      Shape.Kept.push_back(extentOf(V));
  }
  for (const Stage &S : Stages) {
    schedule::LoopStage One = S.Cost;
    One.Extent = extentOf(S);
    One.Level = S.Level;
    Shape.Stages.push_back(One);
    if (S.IsKept)
      Shape.Kept.push_back(extentOf(S));
  }
  return Shape;
}

} // namespace kpc::kernels
