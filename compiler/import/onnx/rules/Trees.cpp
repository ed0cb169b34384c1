//===- Trees.cpp - Import of ensembles of decision trees ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// All rows go through all trees level by level: each level is a lookup of the
/// node's feature, a comparison and a choice of the next node. A leaf is its
/// own successor, so trees of any depth end together.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/Classifier.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

namespace {
enum class Mode : uint8_t { Leq, Lt, Gte, Gt, Eq, Neq, Leaf };

struct TreeNode {
  Mode How = Mode::Leaf;
  int64_t Feature = 0, True = 0, False = 0; ///< children by their place
  double Split = 0;
  bool MissingIsTrue = false;
};

struct Weight {
  int64_t Node, Target;
  double Value;
};

struct Forest {
  std::vector<TreeNode> Nodes;
  std::vector<int64_t> Roots;
  std::vector<Weight> Weights;
  int64_t Targets = 1;
  std::string Aggregate = "SUM";
  std::vector<double> Base;

  /// Levels below the roots; none where a node is its own ancestor.
  std::optional<int64_t> depth() const;
};
} // namespace

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

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

namespace {
class ForestWriter {
public:
  ForestWriter(NodeImport &N, const Forest &F, Value X) : N(N), F(F), X(X) {}
  /// [rows, targets], without base values.
  Value scores();

private:
  Value integers(std::string Name,
                 llvm::function_ref<int64_t(const TreeNode &)>);
  Value decide(Value Feature, Value Split, Value How, Value Missing);
  Value leaves();

  NodeImport &N;
  const Forest &F;
  Value X;
};
} // namespace

Value ForestWriter::integers(std::string Name,
                             llvm::function_ref<int64_t(const TreeNode &)> Of) {
  std::vector<int64_t> Values;
  Values.reserve(F.Nodes.size());
  for (const TreeNode &T : F.Nodes)
    Values.push_back(Of(T));
  return N.data(Tensor::ofIntegers(
      std::move(Name), {static_cast<int64_t>(Values.size())}, Values));
}

/// Whether the true branch is taken.
Value ForestWriter::decide(Value Feature, Value Split, Value How,
                           Value Missing) {
  static constexpr std::pair<Mode, Predicate> Kinds[] = {
      {Mode::Leq, Predicate::le}, {Mode::Lt, Predicate::lt},
      {Mode::Gte, Predicate::ge}, {Mode::Gt, Predicate::gt},
      {Mode::Eq, Predicate::eq},  {Mode::Neq, Predicate::ne}};
  Value Taken;
  for (auto [Kind, P] : Kinds) {
    bool Used = llvm::any_of(
        F.Nodes, [&, Kind = Kind](const TreeNode &T) { return T.How == Kind; });
    if (!Used)
      continue;
    Value Holds = N.compare(P, Feature, Split);
    Value Is = N.compare(Predicate::eq, How,
                         N.scalarInt(static_cast<int64_t>(Kind), N.i64()));
    Taken = Taken ? N.select(Is, Holds, Taken) : Holds;
  }
  if (!Missing || !Taken)
    return Taken;
  Value IsNan = N.build(IsNanOp::getOperationName(), {Feature}, {});
  return N.binary<OrOp>(Taken, N.binary<AndOp>(IsNan, Missing));
}

/// The leaf that each row ends at in each tree, [rows, trees].
Value ForestWriter::leaves() {
  auto Trees = static_cast<int64_t>(F.Roots.size());
  Value At = N.broadcast(N.data(Tensor::ofIntegers("roots", {Trees}, F.Roots)),
                         {N.dims(X)[0], Expr(Trees)});
  std::optional<int64_t> Depth = F.depth();
  if (!Depth)
    return N.fail(Code::ImportAttributeValue,
                  "the trees have a cycle, or more than " +
                      std::to_string(DeepestTree) + " levels");
  if (*Depth == 0)
    return At;
  Value Features = integers("feature", [](auto &T) { return T.Feature; });
  Value True = integers("true", [](auto &T) { return T.True; });
  Value False = integers("false", [](auto &T) { return T.False; });
  std::vector<double> Splits;
  bool AnyMissing = false;
  for (const TreeNode &T : F.Nodes) {
    Splits.push_back(T.Split);
    AnyMissing |= T.MissingIsTrue;
  }
  Value Split = N.floatVector(Splits, N.element(X));
  Value How = integers("mode", [](auto &T) { return int64_t(T.How); });
  Value Missing;
  if (AnyMissing)
    Missing = N.cast(
        integers("missing", [](auto &T) { return int64_t(T.MissingIsTrue); }),
        N.i1());
  for (int64_t Level = 0; Level < *Depth; ++Level) {
    Value Feature = N.gatherElements(X, N.gather(Features, At, 0), 1);
    Value Taken = decide(Feature, N.gather(Split, At, 0), N.gather(How, At, 0),
                         Missing ? N.gather(Missing, At, 0) : Value());
    At = N.select(Taken, N.gather(True, At, 0), N.gather(False, At, 0));
  }
  return At;
}

Value ForestWriter::scores() {
  Value Leaf = leaves();
  if (!Leaf)
    return {};
  auto Count = static_cast<int64_t>(F.Nodes.size());
  if (F.Targets < 1 || Count > MostWeights / F.Targets)
    return N.unsupported(std::to_string(Count) + " nodes for " +
                         std::to_string(F.Targets) + " targets");
  bool Least = F.Aggregate == "MIN", Most = F.Aggregate == "MAX";
  float None = Least ? INFINITY : Most ? -INFINITY : 0;
  std::vector<float> Table(static_cast<size_t>(Count * F.Targets), None);
  for (const Weight &W : F.Weights) {
    float &Slot = Table[static_cast<size_t>(W.Node * F.Targets + W.Target)];
    Slot = (Slot == None ? 0 : Slot) + static_cast<float>(W.Value);
  }
  Value Y = N.gather(
      N.data(Tensor::ofFloats("weights", {Count, F.Targets}, Table)), Leaf, 0);
  ReduceKind Kind = Least  ? ReduceKind::min
                    : Most ? ReduceKind::max
                           : ReduceKind::sum;
  Y = N.reduce(Kind, Y, {1});
  if (F.Aggregate == "AVERAGE")
    Y = N.mulScalar(Y, 1.0 / static_cast<double>(F.Roots.size()));
  if ((Least || Most) && Y)
    Y = N.select(N.compare(Predicate::eq, Y, N.like(None, Y)), N.like(0, Y), Y);
  return Y;
}

//===----------------------------------------------------------------------===//
// What the nodes say
//===----------------------------------------------------------------------===//

/// Numbers of an attribute that may also be given as a tensor.
static std::vector<double> realsOf(NodeImport &N, const std::string &Name) {
  if (std::optional<std::vector<double>> Values = N.floatsAttribute(Name))
    return *Values;
  const Tensor *T = N.tensorAttribute(Name + "_as_tensor");
  return T ? realsOfTensor(N, *T) : std::vector<double>();
}

static Ints intsOf(NodeImport &N, const char *Name) {
  return N.intsAttribute(Name).value_or(Ints());
}

static std::optional<Mode> modeOf(llvm::StringRef Name) {
  return llvm::StringSwitch<std::optional<Mode>>(Name)
      .Case("BRANCH_LEQ", Mode::Leq)
      .Case("BRANCH_LT", Mode::Lt)
      .Case("BRANCH_GTE", Mode::Gte)
      .Case("BRANCH_GT", Mode::Gt)
      .Case("BRANCH_EQ", Mode::Eq)
      .Case("BRANCH_NEQ", Mode::Neq)
      .Case("LEAF", Mode::Leaf)
      .Default(std::nullopt);
}

static bool failForest(NodeImport &N, const std::string &Why) {
  N.fail(Code::ImportAttributeValue, "the trees' attributes " + Why);
  return false;
}

using NodePlaces = std::map<std::pair<int64_t, int64_t>, int64_t>;

/// The nodes of TreeEnsembleRegressor and TreeEnsembleClassifier, which are
/// numbered within their trees.
static bool readNodes(NodeImport &N, Forest &F, NodePlaces &Places) {
  Ints Trees = intsOf(N, "nodes_treeids"), Ids = intsOf(N, "nodes_nodeids"),
       Features = intsOf(N, "nodes_featureids"),
       True = intsOf(N, "nodes_truenodeids"),
       False = intsOf(N, "nodes_falsenodeids"),
       Missing = intsOf(N, "nodes_missing_value_tracks_true");
  std::vector<std::string> Modes = stringsAttribute(N, "nodes_modes");
  std::vector<double> Splits = realsOf(N, "nodes_values");
  N.ignoreAttribute("nodes_hitrates");
  N.ignoreAttribute("nodes_hitrates_as_tensor");
  size_t Count = Ids.size();
  if (Count == 0 || Trees.size() != Count || Features.size() != Count ||
      True.size() != Count || False.size() != Count || Modes.size() != Count ||
      Splits.size() != Count || (!Missing.empty() && Missing.size() != Count))
    return failForest(N, "are of different lengths, or empty");
  for (size_t I = 0; I < Count; ++I)
    Places[{Trees[I], Ids[I]}] = static_cast<int64_t>(I);
  std::vector<bool> IsChild(Count, false);
  for (size_t I = 0; I < Count; ++I) {
    TreeNode T;
    std::optional<Mode> How = modeOf(Modes[I]);
    if (!How)
      return failForest(N, "have the mode '" + printable(Modes[I]) + "'");
    T.How = *How;
    T.True = T.False = static_cast<int64_t>(I);
    if (T.How != Mode::Leaf) {
      auto Yes = Places.find({Trees[I], True[I]}),
           No = Places.find({Trees[I], False[I]});
      if (Yes == Places.end() || No == Places.end())
        return failForest(N, "name a child that its tree has not");
      T.True = Yes->second;
      T.False = No->second;
      T.Feature = Features[I];
      T.Split = Splits[I];
      T.MissingIsTrue = !Missing.empty() && Missing[I];
      IsChild[static_cast<size_t>(T.True)] = true;
      IsChild[static_cast<size_t>(T.False)] = true;
    }
    F.Nodes.push_back(T);
  }
  for (size_t I = 0; I < Count; ++I)
    if (!IsChild[I])
      F.Roots.push_back(static_cast<int64_t>(I));
  return true;
}

static bool readWeights(NodeImport &N, Forest &F, const NodePlaces &Places,
                        const std::string &Kind) {
  Ints Trees = intsOf(N, (Kind + "_treeids").c_str()),
       Ids = intsOf(N, (Kind + "_nodeids").c_str()),
       Targets = intsOf(N, (Kind + "_ids").c_str());
  std::vector<double> Values = realsOf(N, Kind + "_weights");
  F.Base = realsOf(N, "base_values");
  if (Trees.size() != Ids.size() || Targets.size() != Ids.size() ||
      Values.size() != Ids.size())
    return failForest(N, "of weights are of different lengths");
  for (size_t I = 0; I < Ids.size(); ++I) {
    auto At = Places.find({Trees[I], Ids[I]});
    if (At == Places.end() || Targets[I] < 0 || Targets[I] >= F.Targets)
      return failForest(N,
                        "give a weight to a node or target that is not there");
    F.Weights.push_back({At->second, Targets[I], Values[I]});
  }
  return true;
}

/// The input as rows of floats that fit the features; null after a report.
static Value rowsFor(NodeImport &N, const Forest &F) {
  Value X = floatRows(N, 0);
  if (!X)
    return {};
  int64_t Most = 0;
  for (const TreeNode &T : F.Nodes) {
    if (T.Feature < 0)
      return N.fail(Code::ImportAttributeValue,
                    "a feature has number " + std::to_string(T.Feature));
    Most = std::max(Most, T.Feature);
  }
  std::optional<int64_t> Width = N.dims(X)[1].asConstant();
  if (Width && *Width <= Most)
    return N.fail(Code::ImportShape, "the trees ask for feature " +
                                         std::to_string(Most) + " of " +
                                         std::to_string(*Width));
  return X;
}

static Value addBase(NodeImport &N, Value Y, const Forest &F) {
  if (!Y || F.Base.empty())
    return Y;
  if (F.Base.size() != 1 && int64_t(F.Base.size()) != F.Targets)
    return N.fail(Code::ImportAttributeValue,
                  "attribute 'base_values' has " +
                      std::to_string(F.Base.size()) + " numbers for " +
                      std::to_string(F.Targets) + " targets");
  return N.add(Y, N.floatVector(F.Base, N.f32()));
}

//===----------------------------------------------------------------------===//
// The operators
//===----------------------------------------------------------------------===//

static void importRegressor(NodeImport &N) {
  Forest F;
  NodePlaces Places;
  std::string Transform = N.stringAttribute("post_transform", "NONE");
  F.Aggregate = N.stringAttribute("aggregate_function", "SUM");
  F.Targets = N.intAttribute("n_targets", 1);
  N.expectInputs(1, 1);
  if (N.bad() || !readNodes(N, F, Places) ||
      !readWeights(N, F, Places, "target"))
    return;
  if (!llvm::is_contained({"SUM", "AVERAGE", "MIN", "MAX"}, F.Aggregate)) {
    failForest(N, "aggregate by '" + printable(F.Aggregate) + "'");
    return;
  }
  Value X = rowsFor(N, F);
  if (!X)
    return;
  Value Y = addBase(N, ForestWriter(N, F, X).scores(), F);
  N.result(0, postTransform(N, Y, Transform));
}

static void importClassifier(NodeImport &N) {
  Forest F;
  NodePlaces Places;
  std::string Transform = N.stringAttribute("post_transform", "NONE");
  std::optional<ClassLabels> Labels = classLabels(N, "classlabels_int64s");
  N.expectInputs(1, 1);
  if (N.bad() || !Labels)
    return;
  F.Targets = static_cast<int64_t>(Labels->size());
  if (!readNodes(N, F, Places) || !readWeights(N, F, Places, "class"))
    return;
  Value X = rowsFor(N, F);
  if (!X)
    return;
  // Of two classes one may have all weights: those of the other follow.
  bool OneOfTwo = F.Targets == 2 && !F.Weights.empty() &&
                  llvm::all_of(F.Weights, [&](const Weight &W) {
                    return W.Target == F.Weights.front().Target;
                  });
  if (!OneOfTwo) {
    giveClasses(N, addBase(N, ForestWriter(N, F, X).scores(), F), *Labels,
                Transform);
    return;
  }
  bool Shares =
      llvm::all_of(F.Weights, [](const Weight &W) { return W.Value >= 0; });
  for (Weight &W : F.Weights)
    W.Target = 0;
  F.Targets = 1;
  if (F.Base.size() == 2)
    F.Base.erase(F.Base.begin());
  giveBinary(N, addBase(N, ForestWriter(N, F, X).scores(), F), *Labels,
             Transform, Shares);
}

/// A tensor attribute's numbers; reports where it is missing.
static std::vector<double> tensorNumbers(NodeImport &N, const char *Name,
                                         bool Required) {
  const Tensor *T = N.tensorAttribute(Name);
  if (T)
    return realsOfTensor(N, *T);
  if (Required)
    N.fail(Code::ImportAttributeMissing,
           "attribute '" + std::string(Name) + "' is missing");
  return {};
}

/// TreeEnsemble of opset 5: inner nodes and leaves are numbered apart.
static void importEnsemble(NodeImport &N) {
  Forest F;
  F.Targets = N.intAttribute("n_targets", 1);
  int64_t Aggregate = N.intAttribute("aggregate_function", 1);
  int64_t Transform = N.intAttribute("post_transform", 0);
  static constexpr const char *Aggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  static constexpr const char *Transforms[] = {"NONE", "SOFTMAX", "LOGISTIC",
                                               "SOFTMAX_ZERO", "PROBIT"};
  Ints Roots = intsOf(N, "tree_roots"),
       Features = intsOf(N, "nodes_featureids"),
       True = intsOf(N, "nodes_truenodeids"),
       False = intsOf(N, "nodes_falsenodeids"),
       TrueLeafs = intsOf(N, "nodes_trueleafs"),
       FalseLeafs = intsOf(N, "nodes_falseleafs"),
       Missing = intsOf(N, "nodes_missing_value_tracks_true"),
       Targets = intsOf(N, "leaf_targetids");
  std::vector<double> Splits = tensorNumbers(N, "nodes_splits", true),
                      Modes = tensorNumbers(N, "nodes_modes", true),
                      Weights = tensorNumbers(N, "leaf_weights", true),
                      Members = tensorNumbers(N, "membership_values", false);
  N.ignoreAttribute("nodes_hitrates");
  N.expectInputs(1, 1);
  if (N.bad())
    return;
  size_t Count = Features.size(), Leaves = Targets.size();
  if (Count == 0 || True.size() != Count || False.size() != Count ||
      TrueLeafs.size() != Count || FalseLeafs.size() != Count ||
      Splits.size() != Count || Modes.size() != Count || Leaves == 0 ||
      Weights.size() != Leaves || Aggregate < 0 || Aggregate > 3 ||
      Transform < 0 || Transform > 4 ||
      (!Missing.empty() && Missing.size() != Count)) {
    failForest(N, "are of different lengths, empty, or out of range");
    return;
  }
  F.Aggregate = Aggregates[Aggregate];
  // Leaves follow the inner nodes.
  auto Child = [&](int64_t Id, bool Leaf) {
    auto Limit = static_cast<int64_t>(Leaf ? Leaves : Count);
    return Id < 0 || Id >= Limit ? -1 : Leaf ? Id + int64_t(Count) : Id;
  };
  // Equal to any of a set: one node a member, each with the last one's false
  // branch.
  std::vector<TreeNode> Extra;
  size_t Member = 0;
  for (size_t I = 0; I < Count; ++I) {
    TreeNode T;
    T.Feature = Features[I];
    T.Split = Splits[I];
    T.True = Child(True[I], TrueLeafs[I] != 0);
    T.False = Child(False[I], FalseLeafs[I] != 0);
    T.MissingIsTrue = !Missing.empty() && Missing[I];
    bool Set = Modes[I] == 6;
    if (T.True < 0 || T.False < 0 || Modes[I] < 0 || Modes[I] > 6) {
      failForest(N, "name a child or a mode that is not there");
      return;
    }
    T.How = Set ? Mode::Eq : static_cast<Mode>(static_cast<int>(Modes[I]));
    if (Set) {
      std::vector<double> Values;
      while (Member < Members.size() && !std::isnan(Members[Member]))
        Values.push_back(Members[Member++]);
      ++Member;
      if (Values.empty()) {
        failForest(N, "have an empty set of members");
        return;
      }
      T.Split = Values[0];
      int64_t Otherwise = T.False;
      auto Place = [&](size_t At) {
        return static_cast<int64_t>(Count + Leaves + At);
      };
      TreeNode More = T;
      for (size_t K = 1; K < Values.size(); ++K) {
        (K == 1 ? T.False : Extra.back().False) = Place(Extra.size());
        More.Split = Values[K];
        More.False = Otherwise;
        Extra.push_back(More);
      }
    }
    F.Nodes.push_back(T);
  }
  for (size_t I = 0; I < Leaves; ++I) {
    TreeNode Leaf;
    Leaf.True = Leaf.False = static_cast<int64_t>(Count + I);
    F.Nodes.push_back(Leaf);
    if (Targets[I] < 0 || Targets[I] >= F.Targets) {
      failForest(N, "give a weight to a target that is not there");
      return;
    }
    F.Weights.push_back({Leaf.True, Targets[I], Weights[I]});
  }
  F.Nodes.insert(F.Nodes.end(), Extra.begin(), Extra.end());
  for (int64_t Root : Roots) {
    // A tree of one leaf has a node whose branches are both that leaf.
    if (Root < 0 || Root >= static_cast<int64_t>(Count)) {
      failForest(N, "name a root that is not there");
      return;
    }
    F.Roots.push_back(Root);
  }
  if (F.Roots.empty()) {
    failForest(N, "have no root");
    return;
  }
  Type Stored = N.hasInput(0) && N.input(0) ? N.element(N.input(0)) : N.f32();
  Value X = rowsFor(N, F);
  if (!X)
    return;
  Value Y =
      postTransform(N, ForestWriter(N, F, X).scores(), Transforms[Transform]);
  N.result(0, N.cast(Y, graph::isFloat(Stored) ? Stored : N.f32()));
}

ArrayRef<Rule> treeRules() {
  static constexpr std::string_view Domain = "ai.onnx.ml";
  static const Rule Rows[] = {
      {Domain, "TreeEnsemble", 5, 5, importEnsemble},
      {Domain, "TreeEnsembleRegressor", 1, 5, importRegressor},
      {Domain, "TreeEnsembleClassifier", 1, 5, importClassifier},
  };
  return Rows;
}

} // namespace kpc::onnx
