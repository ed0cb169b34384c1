//===- Forest.cpp - Evaluation of ensembles of decision trees -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// All rows go through all trees level by level: each level looks up the node's
/// feature and its threshold, compares, and adds the answer to the place of the
/// node's children, which are neighbours. So a kernel holds many levels, and
/// few tables. A leaf above the last level is its own successor, so trees of
/// any depth end together.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/rules/Forest.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

/// Deeper ones are no trees that anybody trained.
static constexpr int64_t DeepestTree = 512;
/// Numbers of the table of leaves.
static constexpr int64_t MostWeights = int64_t(1) << 28;

std::optional<int64_t> Forest::depth() const {
  std::vector<int64_t> Level = Roots;
  for (int64_t Depth = 0; Depth <= DeepestTree; ++Depth) {
    std::vector<int64_t> Next;
    for (int64_t I : Level) {
      const TreeNode &T = Nodes[static_cast<size_t>(I)];
      if (T.How != Mode::Leaf)
        Next.insert(Next.end(), {T.True, T.False});
    }
    if (Next.empty())
      return Depth;
    // Shared children stay one.
    llvm::sort(Next);
    Next.erase(std::unique(Next.begin(), Next.end()), Next.end());
    Level = std::move(Next);
  }
  return std::nullopt;
}

namespace {
/// The nodes of all trees in an order in which the true child follows the false
/// one.
struct Walk {
  struct Step {
    int64_t From;     ///< the node of the forest
    int64_t Next = 0; ///< where its false child is
  };
  std::vector<Step> Steps;
  std::vector<int64_t> Roots;
  int64_t Depth = 0;
};

class ForestWriter {
public:
  ForestWriter(NodeImport &N, const Forest &F, Value X) : N(N), F(F), X(X) {}
  /// [rows, targets], without base values.
  Value scores();

private:
  Value whole(const char *Name, llvm::function_ref<int64_t(const TreeNode &)>);
  Value decide(Value Feature, Value Split, Value At);
  bool order();
  bool readTables();
  Value leaves();
  Value leafWeights(float None, int64_t Target, int64_t Count);
  Value overTrees(ReduceKind Kind, Value Parts);

  NodeImport &N;
  const Forest &F;
  Value X;
  Walk Order;
  /// Of the steps of the walk.
  Value Features, Splits, Nexts, Modes, Missing;
};
} // namespace

/// Level by level, so that a tree's first levels share cache lines. What
/// several nodes have as a child is there for each of them, its children once.
bool ForestWriter::order() {
  std::optional<int64_t> Depth = F.depth();
  if (!Depth) {
    N.fail(Code::ImportAttributeValue, "the trees have a cycle, or more than " +
                                           std::to_string(DeepestTree) +
                                           " levels");
    return false;
  }
  Order.Depth = *Depth;
  auto Add = [&](int64_t Node) {
    Order.Steps.push_back({Node});
    return static_cast<int64_t>(Order.Steps.size()) - 1;
  };
  std::vector<std::optional<int64_t>> Children(F.Nodes.size());
  for (int64_t Root : F.Roots) {
    Order.Roots.push_back(Add(Root));
    std::vector<int64_t> Level = {Order.Roots.back()}, Next;
    for (int64_t D = 0; D <= *Depth && !Level.empty(); ++D) {
      for (int64_t At : Level) {
        int64_t Node = Order.Steps[static_cast<size_t>(At)].From;
        const TreeNode &T = F.Nodes[static_cast<size_t>(Node)];
        bool IsLeaf = T.How == Mode::Leaf;
        std::optional<int64_t> &Pair = Children[static_cast<size_t>(Node)];
        if (!Pair && !(IsLeaf && D == *Depth)) {
          Pair = Add(T.False);
          int64_t Second = Add(T.True);
          // Both copies of a leaf stay where they are.
          for (int64_t Child : {*Pair, Second})
            if (IsLeaf)
              Order.Steps[static_cast<size_t>(Child)].Next = *Pair;
            else
              Next.push_back(Child);
        }
        Order.Steps[static_cast<size_t>(At)].Next = Pair.value_or(0);
      }
      Level = std::move(Next);
      Next.clear();
    }
  }
  return true;
}

Value ForestWriter::whole(const char *Name,
                          llvm::function_ref<int64_t(const TreeNode &)> Of) {
  std::vector<int64_t> Values;
  for (const Walk::Step &S : Order.Steps)
    Values.push_back(Of(F.Nodes[static_cast<size_t>(S.From)]));
  return N.cast(N.data(Tensor::ofIntegers(
                    Name, {static_cast<int64_t>(Values.size())}, Values)),
                N.i32());
}

bool ForestWriter::readTables() {
  std::vector<double> Thresholds;
  std::vector<int64_t> Next;
  bool AnyMissing = false, Mixed = false;
  std::optional<Mode> First;
  for (const Walk::Step &S : Order.Steps) {
    const TreeNode &T = F.Nodes[static_cast<size_t>(S.From)];
    Thresholds.push_back(T.Split);
    Next.push_back(S.Next);
    AnyMissing |= T.MissingIsTrue;
    if (T.How == Mode::Leaf)
      continue;
    Mixed |= First.value_or(T.How) != T.How;
    First = T.How;
  }
  auto Count = static_cast<int64_t>(Next.size());
  Features = whole("feature", [](auto &T) { return T.Feature; });
  Nexts =
      N.cast(N.data(Tensor::ofIntegers("children", {Count}, Next)), N.i32());
  if (N.element(X) == N.f32())
    Splits = N.data(Tensor::ofFloats(
        "threshold", {Count},
        std::vector<float>(Thresholds.begin(), Thresholds.end())));
  else
    Splits = N.floatVector(Thresholds, N.element(X));
  if (Mixed)
    Modes = whole("mode", [](auto &T) { return int64_t(T.How); });
  if (AnyMissing)
    Missing = N.cast(
        whole("missing", [](auto &T) { return int64_t(T.MissingIsTrue); }),
        N.i1());
  return Features && Nexts && Splits;
}

/// Whether the true branch is taken.
Value ForestWriter::decide(Value Feature, Value Split, Value At) {
  static constexpr std::pair<Mode, Predicate> Kinds[] = {
      {Mode::Leq, Predicate::le}, {Mode::Lt, Predicate::lt},
      {Mode::Gte, Predicate::ge}, {Mode::Gt, Predicate::gt},
      {Mode::Eq, Predicate::eq},  {Mode::Neq, Predicate::ne}};
  Value How = Modes ? N.gather(Modes, At, 0) : Value();
  Value Taken;
  for (auto [Kind, P] : Kinds) {
    bool Used = llvm::any_of(
        F.Nodes, [&, Kind = Kind](const TreeNode &T) { return T.How == Kind; });
    if (!Used)
      continue;
    Value Holds = N.compare(P, Feature, Split);
    if (!Taken) {
      Taken = Holds;
      continue;
    }
    Value Is = N.compare(Predicate::eq, How,
                         N.scalarInt(static_cast<int64_t>(Kind), N.i32()));
    Taken = N.select(Is, Holds, Taken);
  }
  if (!Missing || !Taken)
    return Taken;
  Value IsNan = N.build(IsNanOp::getOperationName(), {Feature}, {});
  return N.binary<OrOp>(Taken,
                        N.binary<AndOp>(IsNan, N.gather(Missing, At, 0)));
}

/// The step that each row ends at in each tree, [trees, rows]: of the rows that
/// a kernel takes at once, all go through one tree after the other.
Value ForestWriter::leaves() {
  auto Trees = static_cast<int64_t>(F.Roots.size());
  Expr Rows(N.dims(X)[0]);
  Value At = N.cast(
      N.data(Tensor::ofIntegers("roots", {Trees, 1}, Order.Roots)), N.i32());
  At = N.broadcast(At, {Expr(Trees), Rows});
  Value ByFeature = N.transpose(X, {1, 0});
  for (int64_t Level = 0; Level < Order.Depth; ++Level) {
    Value Feature = N.gatherElements(ByFeature, N.gather(Features, At, 0), 0);
    Value Taken = decide(Feature, N.gather(Splits, At, 0), At);
    At = N.add(N.gather(Nexts, At, 0), N.cast(Taken, N.i32()));
  }
  return At;
}

/// What the steps give for one target.
Value ForestWriter::leafWeights(float None, int64_t Target, int64_t Count) {
  std::vector<float> OfNodes(F.Nodes.size() * static_cast<size_t>(Count), None);
  for (const Weight &W : F.Weights) {
    if (W.Target < Target || W.Target >= Target + Count)
      continue;
    float &Slot =
        OfNodes[static_cast<size_t>(W.Node * Count + W.Target - Target)];
    Slot = (Slot == None ? 0 : Slot) + static_cast<float>(W.Value);
  }
  std::vector<float> Table;
  for (const Walk::Step &S : Order.Steps)
    for (int64_t I = 0; I < Count; ++I)
      Table.push_back(OfNodes[static_cast<size_t>(S.From * Count + I)]);
  std::vector<int64_t> Sizes = {static_cast<int64_t>(Order.Steps.size())};
  if (Count > 1)
    Sizes.push_back(Count);
  return N.data(Tensor::ofFloats("weights" + std::to_string(Target),
                                 std::move(Sizes), Table));
}

/// What all trees give together, in two halves: so a kernel walks, of which the
/// rows at hand go through one tree after the other, and stores what the leaves
/// give. In the sum's own kernel each row would go through all trees.
Value ForestWriter::overTrees(ReduceKind Kind, Value Parts) {
  auto Trees = static_cast<int64_t>(F.Roots.size());
  if (Trees < 2)
    return N.reduce(Kind, Parts, {0});
  Value First = N.reduce(Kind, N.sliceAxis(Parts, 0, 0, Trees / 2), {0}),
        Second = N.reduce(
            Kind, N.sliceAxis(Parts, 0, Trees / 2, Trees - Trees / 2), {0});
  return Kind == ReduceKind::min   ? N.min(First, Second)
         : Kind == ReduceKind::max ? N.max(First, Second)
                                   : N.add(First, Second);
}

/// Targets that each have a sum of their own over leaves that are found once.
static constexpr int64_t MostApart = 16;

Value ForestWriter::scores() {
  if (!order())
    return {};
  auto Count = static_cast<int64_t>(Order.Steps.size());
  if (F.Targets < 1 || Count > MostWeights / F.Targets)
    return N.unsupported(std::to_string(Count) + " nodes for " +
                         std::to_string(F.Targets) + " targets");
  if (!readTables())
    return {};
  Value Leaf = leaves();
  bool Least = F.Aggregate == "MIN", Most = F.Aggregate == "MAX";
  float None = Least ? INFINITY : Most ? -INFINITY : 0;
  ReduceKind Kind = Least  ? ReduceKind::min
                    : Most ? ReduceKind::max
                           : ReduceKind::sum;
  SmallVector<Value> Columns;
  int64_t Each = F.Targets <= MostApart ? 1 : F.Targets;
  for (int64_t Target = 0; Target < F.Targets; Target += Each) {
    Value Column =
        overTrees(Kind, N.gather(leafWeights(None, Target, Each), Leaf, 0));
    Columns.push_back(Each == 1 && Column ? N.unsqueeze(Column, {1}) : Column);
  }
  Value Y = Columns.size() == 1 ? Columns[0] : N.concat(Columns, 1);
  if (F.Aggregate == "AVERAGE")
    Y = N.mulScalar(Y, 1.0 / static_cast<double>(F.Roots.size()));
  if ((Least || Most) && Y)
    Y = N.select(N.compare(Predicate::eq, Y, N.like(None, Y)), N.like(0, Y), Y);
  return Y;
}

Value forestScores(NodeImport &N, const Forest &F, Value X) {
  return ForestWriter(N, F, X).scores();
}

} // namespace kpc::onnx
