//===- Trees.cpp - Import of ensembles of decision trees ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/Classifier.h"
#include "compiler/import/onnx/rules/Forest.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

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
  Value Y = addBase(N, forestScores(N, F, X), F);
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
    giveClasses(N, addBase(N, forestScores(N, F, X), F), *Labels, Transform);
    return;
  }
  bool Shares =
      llvm::all_of(F.Weights, [](const Weight &W) { return W.Value >= 0; });
  for (Weight &W : F.Weights)
    W.Target = 0;
  F.Targets = 1;
  if (F.Base.size() == 2)
    F.Base.erase(F.Base.begin());
  giveBinary(N, addBase(N, forestScores(N, F, X), F), *Labels, Transform,
             Shares);
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
  Value Y = postTransform(N, forestScores(N, F, X), Transforms[Transform]);
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
