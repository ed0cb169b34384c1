//===- EmbeddingBags.cpp - Loops that sum the rows of bags ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// PyTorch's exporter writes EmbeddingBag as a loop: each iteration slices the
/// indices between two offsets, gathers these rows of a table and sums them.
/// How many there are, only data says. Here all rows are gathered at once and
/// added to the bags that they belong to.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/rules/EmbeddingBags.h"
#include "compiler/import/onnx/Importer.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

namespace {
/// The names of what a loop reads, all from outside.
struct Bags {
  std::string Table, Indices, Starts, Ends, Factors;
  ReduceKind Kind = ReduceKind::sum;
  bool IsMean = false;
};

/// Reads a body as text: nothing is built.
class BagReader {
public:
  BagReader(NodeImport &N, const Graph &Body) : N(N), Body(Body) {
    for (const Node &Inner : Body.Nodes)
      for (const std::string &Name : Inner.Outputs)
        Writers[Name] = &Inner;
  }

  std::optional<Bags> read() {
    const Node *Reduce = writer(Body.Outputs[1].Name);
    Bags B;
    if (!Reduce || !readKind(*Reduce, B) || !says(*Reduce, "axes", 1, 0))
      return std::nullopt;
    auto Keeps = Reduce->Attributes.find("keepdims");
    if (Keeps == Reduce->Attributes.end() || Keeps->second.Int != 0)
      return std::nullopt;
    const Node *Rows = writer(Reduce->Inputs[0]);
    if (Rows && Rows->Op == "Mul" && Rows->Inputs.size() == 2) {
      if (!readFactors(*Rows, B))
        return std::nullopt;
      Rows = writer(Rows->Inputs[0]);
    }
    if (!Rows || !isGather(*Rows) || !isOutside(Rows->Inputs[0]) ||
        !readSlice(Rows->Inputs[1], B.Indices, B))
      return std::nullopt;
    B.Table = Rows->Inputs[0];
    return B;
  }

private:
  const Node *writer(const std::string &Name) const {
    auto Found = Writers.find(Name);
    return Found == Writers.end() ? nullptr : Found->second;
  }
  bool isOutside(const std::string &Name) const {
    return !Name.empty() && !writer(Name) && !Body.Initializers.count(Name) &&
           llvm::none_of(Body.Inputs,
                         [&](const ValueInfo &V) { return V.Name == Name; });
  }
  static bool readKind(const Node &Reduce, Bags &B) {
    B.IsMean = Reduce.Op == "ReduceMean";
    B.Kind = Reduce.Op == "ReduceMax" ? ReduceKind::max : ReduceKind::sum;
    return B.IsMean || Reduce.Op == "ReduceSum" || Reduce.Op == "ReduceMax";
  }
  static bool isGather(const Node &G) {
    auto Axis = G.Attributes.find("axis");
    return G.Op == "Gather" && G.Inputs.size() == 2 &&
           (Axis == G.Attributes.end() || Axis->second.Int == 0);
  }

  /// Whether an attribute, or an input in its place, is one known number.
  bool says(const Node &Of, std::string_view Name, size_t Input,
            int64_t Wanted) const {
    auto A = Of.Attributes.find(Name);
    if (A != Of.Attributes.end())
      return A->second.Ints.size() == 1 && A->second.Ints[0] == Wanted;
    return Input < Of.Inputs.size() && isNumber(Of.Inputs[Input], Wanted);
  }
  bool isNumber(const std::string &Name, int64_t Wanted) const {
    std::optional<Contents> Known;
    if (const Node *Made = writer(Name)) {
      auto Value = Made->Attributes.find("value");
      if (Made->Op == "Constant" && Value != Made->Attributes.end() &&
          Value->second.Tensors.size() == 1)
        Known = Contents::of(Value->second.Tensors[0]);
      for (const char *List : {"value_ints", "value_int"})
        if (auto A = Made->Attributes.find(List);
            Made->Op == "Constant" && A != Made->Attributes.end())
          return A->second.Ints.size() == 1
                     ? A->second.Ints[0] == Wanted
                     : A->second.Ints.empty() && A->second.Int == Wanted;
    } else if (auto Held = Body.Initializers.find(Name);
               Held != Body.Initializers.end()) {
      Known = Contents::of(Held->second);
    } else if (const Contents *C = N.importer().contents(Name)) {
      Known = *C;
    }
    auto Numbers = Known ? Known->integers() : std::nullopt;
    return Numbers && Numbers->size() == 1 && Numbers->front() == Wanted;
  }

  /// The iteration's number, or one more.
  bool isIteration(const std::string &Name, bool Next) const {
    if (!Next)
      return Name == Body.Inputs[0].Name;
    const Node *Sum = writer(Name);
    return Sum && Sum->Op == "Add" && Sum->Inputs.size() == 2 &&
           ((isIteration(Sum->Inputs[0], false) &&
             isNumber(Sum->Inputs[1], 1)) ||
            (isIteration(Sum->Inputs[1], false) &&
             isNumber(Sum->Inputs[0], 1)));
  }
  /// An element of a list from outside, as a vector of one. `Next`: that of the
  /// next iteration, where the list is the other one's as well.
  std::optional<std::string> element(const std::string &Name,
                                     bool &Next) const {
    const Node *Vector = writer(Name);
    if (!Vector || (Vector->Op != "Unsqueeze" && Vector->Op != "Reshape"))
      return std::nullopt;
    const Node *Taken = writer(Vector->Inputs[0]);
    if (!Taken || !isGather(*Taken) || !isOutside(Taken->Inputs[0]))
      return std::nullopt;
    Next = isIteration(Taken->Inputs[1], true);
    if (!Next && !isIteration(Taken->Inputs[1], false))
      return std::nullopt;
    return Taken->Inputs[0];
  }
  /// A slice of a vector from outside, between the bounds of the bags.
  bool readSlice(const std::string &Name, std::string &Of, Bags &B) const {
    const Node *Slice = writer(Name);
    if (!Slice || Slice->Op != "Slice" || Slice->Inputs.size() < 3 ||
        Slice->Inputs.size() > 4 || !isOutside(Slice->Inputs[0]))
      return false;
    bool First = false, Second = false;
    auto Start = element(Slice->Inputs[1], First),
         End = element(Slice->Inputs[2], Second);
    if (!Start || !End || First)
      return false;
    // Of one list of offsets the end is the next element.
    std::string Ends = Second ? *End + "/next" : *End;
    if ((Second && *Start != *End) ||
        (!B.Starts.empty() && (B.Starts != *Start || B.Ends != Ends)))
      return false;
    Of = Slice->Inputs[0];
    B.Starts = *Start;
    B.Ends = Ends;
    return true;
  }
  bool readFactors(const Node &Mul, Bags &B) const {
    const Node *Column = writer(Mul.Inputs[1]);
    return Column && Column->Op == "Unsqueeze" && says(*Column, "axes", 1, 1) &&
           readSlice(Column->Inputs[0], B.Factors, B);
  }

  NodeImport &N;
  const Graph &Body;
  std::map<std::string, const Node *> Writers;
};
} // namespace

/// `From` added to the rows of `Onto` that `At` says, or the greater of both.
static Value gathered(NodeImport &N, double Start, ArrayRef<Expr> Sizes,
                      Value At, Value From, ScatterKind Kind) {
  return N.build(
      ScatterNdOp::getOperationName(),
      {N.full(Start, Sizes, N.element(From)), N.unsqueeze(At, {1}), From},
      {N.builder().getNamedAttr(
          "kind", ScatterKindAttr::get(N.builder().getContext(), Kind))});
}

static Value sumBags(NodeImport &N, const Bags &B, const Expr &Count) {
  auto Of = [&](const std::string &Name) {
    return N.importer().value(Name, N);
  };
  Value Table = Of(B.Table), Indices = Of(B.Indices), Starts = Of(B.Starts);
  Value Factors = B.Factors.empty() ? Value() : Of(B.Factors);
  bool OneList = llvm::StringRef(B.Ends).ends_with("/next");
  Value Ends = OneList ? Starts : Of(B.Ends);
  if (!Table || !Indices || !Starts || !Ends)
    return {};
  auto Part = [&](Value List, int64_t From) {
    return N.sliceAxis(N.cast(List, N.i64()), 0, From, Count);
  };
  Starts = Part(Starts, 0);
  Ends = Part(Ends, OneList ? 1 : 0);
  Expr Rows = N.dims(Indices)[0];
  if (!Starts || !Ends)
    return {};
  // A slice ends with what it is of.
  Value All = N.sizeScalar(Rows, N.i64());
  Ends = N.min(Ends, All);
  // Each row is in one bag at most where bags follow one another.
  Value Before = N.concat(
      {N.full(0, {Expr(1)}, N.i64()), N.sliceAxis(Ends, 0, 0, Count - 1)}, 0);
  Value Backwards = N.binary<OrOp>(N.compare(Predicate::lt, Starts, Before),
                                   N.compare(Predicate::lt, Ends, Starts));
  N.importer().forbid(
      N, N.reduce(ReduceKind::max, N.cast(Backwards, N.i64()), {0}),
      "sums the rows of bags, which must follow one another");
  Value Place = N.iota({Rows}, 0, N.i64());
  Value Bag = N.addScalar(N.searchSorted(Starts, Place, /*Right=*/true), -1);
  Value Least = N.max(Bag, N.like(0, Bag));
  Value Inside = N.binary<AndOp>(
      N.compare(Predicate::ge, Bag, N.like(0, Bag)),
      N.compare(Predicate::lt, Place, N.gather(Ends, Least, 0)));
  // What is in no bag is put after the last one, which leaves it out.
  Bag = N.select(Inside, Least, N.sizeScalar(Count, N.i64()));
  Value X = N.gather(Table, Indices, 0);
  if (Factors)
    X = N.mul(X, N.unsqueeze(Factors, {1}));
  if (!X)
    return {};
  Dims Sizes(N.dims(X));
  Sizes[0] = Count;
  if (B.Kind == ReduceKind::max)
    return gathered(N, -INFINITY, Sizes, Bag, X, ScatterKind::max);
  Value Y = gathered(N, 0, Sizes, Bag, X, ScatterKind::add);
  if (!B.IsMean || !Y)
    return Y;
  Value Lengths = N.cast(N.sub(Ends, Starts), N.element(X));
  Ints Others = llvm::to_vector(llvm::seq<int64_t>(1, N.rank(Y)));
  return N.div(Y, N.unsqueeze(Lengths, Others));
}

bool importEmbeddingBags(NodeImport &N, const Graph &Body) {
  if (N.inputCount() != 2 || Body.Outputs.size() != 2)
    return false;
  std::optional<Bags> B = BagReader(N, Body).read();
  std::optional<std::vector<Expr>> Trips = B ? N.readSizes(0) : std::nullopt;
  if (!Trips || Trips->size() != 1 ||
      N.importer().facts().range(Trips->front()).Min < 0)
    return false;
  return N.importer().attempt(N, [&](NodeImport &Tried) {
    Value Indices = Tried.importer().value(B->Indices, Tried);
    if (!Indices || Tried.rank(Indices) != 1)
      return false;
    Value Y = sumBags(Tried, *B, Trips->front());
    if (Y)
      Tried.result(0, Y);
    return Y && !Tried.bad();
  });
}

} // namespace kpc::onnx
