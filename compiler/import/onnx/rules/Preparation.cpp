//===- Preparation.cpp - Import of what prepares features -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/Classifier.h"
#include "compiler/import/onnx/rules/Strings.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

static constexpr std::string_view Domain = "ai.onnx.ml";

using Reals = std::vector<double>;

/// One number, or one for each feature of the last axis; null after a report.
static Value perFeature(NodeImport &N, Value X, const Reals &Values,
                        const char *Name, Type Element) {
  if (Values.size() == 1)
    return N.scalar(Values[0], Element);
  if (N.rank(X) > 0 && !Values.empty() &&
      N.unify(N.dims(X).back(), Expr(int64_t(Values.size()))))
    return N.floatVector(Values, Element);
  return N.fail(Code::ImportShape, "attribute '" + std::string(Name) +
                                       "' has " +
                                       std::to_string(Values.size()) +
                                       " numbers for " + dimsText(N.dims(X)));
}

static void importScaler(NodeImport &N) {
  Reals Offset = N.floatsAttribute("offset").value_or(Reals{0});
  Reals Scale = N.floatsAttribute("scale").value_or(Reals{1});
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (N.bad())
    return;
  X = N.cast(X, N.f32());
  Value O = perFeature(N, X, Offset, "offset", N.f32());
  Value S = O ? perFeature(N, X, Scale, "scale", N.f32()) : Value();
  if (S)
    N.result(0, N.mul(N.sub(X, O), S));
}

static void importNormalizer(NodeImport &N) {
  std::string Norm = N.stringAttribute("norm", "MAX");
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (N.bad())
    return;
  if (N.rank(X) < 1) {
    N.fail(Code::ImportRank, "input 0 is a scalar");
    return;
  }
  X = N.cast(X, N.f32());
  int64_t Last = N.rank(X) - 1;
  Value Size = N.unary<AbsOp>(X), Length;
  if (Norm == "MAX")
    Length = N.reduce(ReduceKind::max, X, {Last}, true);
  else if (Norm == "L1")
    Length = N.reduce(ReduceKind::sum, Size, {Last}, true);
  else if (Norm == "L2")
    Length = N.sqrt(N.reduce(ReduceKind::sum, N.mul(X, X), {Last}, true));
  else
    N.fail(Code::ImportAttributeValue,
           "attribute 'norm' is '" + printable(Norm) + "'");
  if (!Length)
    return;
  Value Zero = N.compare(Predicate::eq, Length, N.like(0, Length));
  N.result(0, N.select(Zero, X, N.div(X, Length)));
}

static void importBinarizer(NodeImport &N) {
  double Threshold = N.floatAttribute("threshold", 0);
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (!N.bad())
    N.result(0, N.cast(N.compare(Predicate::gt, X, N.like(Threshold, X)),
                       N.element(X)));
}

static void importArrayFeatureExtractor(NodeImport &N) {
  N.expectInputs(2, 2);
  Value X = N.input(0), Index = N.input(1);
  if (N.bad())
    return;
  if (N.rank(X) < 1) {
    N.fail(Code::ImportRank, "input 0 is a scalar");
    return;
  }
  Index = N.reshape(Index, {graph::typeOf(Index).getNumElements()});
  Value Y = N.gather(X, Index, N.rank(X) - 1);
  // Of a vector a row is given.
  N.result(0, Y && N.rank(Y) == 1 ? N.unsqueeze(Y, {0}) : Y);
}

static void importImputer(NodeImport &N) {
  bool Whole = N.hasAttribute("imputed_value_int64s");
  Reals Floats = N.floatsAttribute("imputed_value_floats").value_or(Reals());
  Ints Numbers = N.intsAttribute("imputed_value_int64s").value_or(Ints());
  double Replaced = N.floatAttribute("replaced_value_float", 0);
  int64_t ReplacedNumber = N.intAttribute("replaced_value_int64", 0);
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (N.bad())
    return;
  if (N.isFloat(X) == Whole) {
    N.fail(Code::ImportElementType,
           "the imputed values are not of the type " + typeText(N.element(X)));
    return;
  }
  Reals Given = Whole ? Reals(Numbers.begin(), Numbers.end()) : Floats;
  Value New = Whole && Numbers.size() != 1
                  ? N.intVector(Numbers, N.element(X))
                  : perFeature(N, X, Given, "imputed_value", N.element(X));
  if (!New)
    return;
  Value Missing =
      !Whole && std::isnan(Replaced)
          ? N.build(IsNanOp::getOperationName(), {X}, {})
          : N.compare(Predicate::eq, X,
                      Whole ? N.scalarInt(ReplacedNumber, N.element(X))
                            : N.like(Replaced, X));
  N.result(0, N.select(Missing, New, X));
}

static void importFeatureVectorizer(NodeImport &N) {
  Ints Widths = N.intsAttribute("inputdimensions").value_or(Ints());
  N.expectInputs(1, 1024);
  SmallVector<Value> Parts;
  for (size_t I = 0; I < N.inputCount() && !N.bad(); ++I) {
    Value X = floatRows(N, I);
    if (X && I < Widths.size() && !N.unify(N.dims(X)[1], Expr(Widths[I])))
      N.fail(Code::ImportShape, "input " + std::to_string(I) + " has " +
                                    N.dims(X)[1].str() + " features, not " +
                                    std::to_string(Widths[I]));
    Parts.push_back(N.cast(X, N.f32()));
  }
  if (!N.bad())
    N.result(0, N.concat(Parts, 1));
}

void giveOneHot(NodeImport &N, Value Same, bool Zeros) {
  if (!Same)
    return N.result(0, Same);
  if (!Zeros) {
    Ints All;
    llvm::append_range(All, llvm::seq<int64_t>(0, N.rank(Same) - 1));
    Value Found =
        N.reduce(ReduceKind::max, N.cast(Same, N.i64()), {N.rank(Same) - 1});
    Value Missing = N.sub(N.scalarInt(1, N.i64()), Found);
    if (!All.empty())
      Missing = N.reduce(ReduceKind::sum, Missing, All);
    N.importer().forbid(N, Missing,
                        "has an element that is none of its categories, and no "
                        "zeros for it ('zeros' is 0)");
  }
  N.result(0, N.cast(Same, N.f32()));
}

static void importOneHot(NodeImport &N) {
  Ints Categories = N.intsAttribute("cats_int64s").value_or(Ints());
  bool Zeros = N.flagAttribute("zeros", true);
  bool Strings = !stringsAttribute(N, "cats_strings").empty();
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (N.bad())
    return;
  if (Strings || Categories.empty()) {
    N.fail(Code::ImportElementType,
           "has categories of strings, but its input is " +
               typeText(N.element(X)),
           "give the model strings, or categories of numbers (cats_int64s)");
    return;
  }
  X = N.unsqueeze(N.cast(X, N.i64()), {N.rank(X)});
  giveOneHot(N, N.compare(Predicate::eq, X, N.intVector(Categories, N.i64())),
             Zeros);
}

namespace {
/// Keys or values of a LabelEncoder.
struct Column {
  std::optional<Ints> Whole;
  std::optional<Reals> Real;
  std::vector<std::string> Text; ///< of strings, whose places are `Whole`
  size_t size() const {
    return Whole ? Whole->size() : Real ? Real->size() : 0;
  }
  Value build(NodeImport &N, Type Element) const {
    return Whole ? N.intVector(*Whole, Element) : N.floatVector(*Real, Element);
  }
};
} // namespace

/// Also sets `Element`, to what the column's own type is.
static Column readColumn(NodeImport &N, const std::string &Name,
                         Type &Element) {
  Column C;
  C.Whole = N.intsAttribute(Name + "_int64s");
  Element = N.i64();
  if (C.Whole)
    return C;
  C.Real = N.floatsAttribute(Name + "_floats");
  Element = N.f32();
  if (C.Real)
    return C;
  if (const Tensor *T = N.tensorAttribute(Name + "_tensor")) {
    Element = graphType(N.builder().getContext(), T->Type);
    if (!Element)
      N.fail(Code::ImportElementType, "attribute '" + Name + "_tensor' is of " +
                                          elementTypeName(T->Type));
    else if (std::optional<std::vector<int64_t>> Values = T->integers())
      C.Whole = Ints(Values->begin(), Values->end());
    else
      C.Real = T->reals();
    return C;
  }
  C.Text = stringsAttribute(N, (Name + "_strings").c_str());
  if (!C.Text.empty()) {
    Element = N.i64();
    C.Whole.emplace();
    for (size_t I = 0; I < C.Text.size(); ++I)
      C.Whole->push_back(static_cast<int64_t>(I));
  } else {
    N.fail(Code::ImportAttributeMissing,
           "attribute '" + Name + "_int64s' or its like is missing");
  }
  return C;
}

static void importLabelEncoder(NodeImport &N) {
  Type KeyType, ValueType;
  Column Keys = readColumn(N, "keys", KeyType);
  Column Values = readColumn(N, "values", ValueType);
  int64_t Whole = N.intAttribute("default_int64", -1);
  double Real = N.floatAttribute("default_float", -0.0);
  const Tensor *Given = N.tensorAttribute("default_tensor");
  std::string DefaultText = N.stringAttribute("default_string", "_Unused");
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (N.bad())
    return;
  if (!Keys.Text.empty()) {
    N.fail(Code::ImportElementType,
           "maps strings, but its input is " + typeText(N.element(X)));
    return;
  }
  if (!Values.Text.empty()) {
    Whole = static_cast<int64_t>(Values.Text.size());
    Values.Text.push_back(DefaultText);
  }
  if (Keys.size() == 0 || Keys.size() != Values.size() ||
      N.element(X) != KeyType) {
    N.fail(Code::ImportAttributeValue,
           "keys and values should be as many, and keys of the type " +
               typeText(N.element(X)));
    return;
  }
  Value Default = N.isFloat(Values.build(N, ValueType))
                      ? N.scalar(Real, ValueType)
                      : N.scalarInt(Whole, ValueType);
  if (Given) {
    Reals Number = realsOfTensor(N, *Given);
    if (Number.size() == 1)
      Default = N.scalar(Number[0], ValueType);
  }
  int64_t Last = N.rank(X);
  Value Wide = N.unsqueeze(X, {Last}), Own = Keys.build(N, KeyType);
  Value Same = N.compare(Predicate::eq, Wide, Own);
  // Since opset 4 a key that is NaN is found.
  if (N.opset() >= 4 && N.isFloat(X) && Same)
    Same = N.binary<OrOp>(
        Same, N.binary<AndOp>(N.build(IsNanOp::getOperationName(), {Wide}, {}),
                              N.build(IsNanOp::getOperationName(), {Own}, {})));
  Value Hit = N.cast(Same, N.i32());
  Value Index = N.argReduce(ReduceKind::max, Hit, Last, /*SelectLast=*/false);
  Value Any = N.cast(N.reduce(ReduceKind::max, Hit, {Last}), N.i1());
  Value Y =
      N.select(Any, N.gather(Values.build(N, ValueType), Index, 0), Default);
  if (Values.Text.empty())
    N.result(0, Y);
  else
    giveStrings(N, 0, Y, Values.Text);
}

/// In opset 1 keys are the places of strings in one list.
static void importNamesOfPlaces(NodeImport &N) {
  std::vector<std::string> Names = stringsAttribute(N, "classes_strings");
  std::string Default = N.stringAttribute("default_string", "_Unused");
  N.ignoreAttribute("default_int64");
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (N.bad())
    return;
  if (Names.empty() || N.isFloat(X)) {
    N.fail(Code::ImportAttributeValue,
           "expected 'classes_strings' and whole numbers or strings, got " +
               std::to_string(Names.size()) + " strings and an input of " +
               typeText(N.element(X)));
    return;
  }
  X = N.cast(X, N.i64());
  Value Last = N.scalarInt(static_cast<int64_t>(Names.size()), N.i64());
  Value Known = N.bitAnd(N.compare(Predicate::ge, X, N.scalarInt(0, N.i64())),
                         N.compare(Predicate::lt, X, Last));
  Names.push_back(Default);
  giveStrings(N, 0, N.select(Known, X, Last), std::move(Names));
}

ArrayRef<Rule> preparationRules() {
  static const Rule Rows[] = {
      {Domain, "Scaler", 1, 5, importScaler},
      {Domain, "Normalizer", 1, 5, importNormalizer},
      {Domain, "Binarizer", 1, 5, importBinarizer},
      {Domain, "ArrayFeatureExtractor", 1, 5, importArrayFeatureExtractor},
      {Domain, "Imputer", 1, 5, importImputer},
      {Domain, "FeatureVectorizer", 1, 5, importFeatureVectorizer},
      {Domain, "OneHotEncoder", 1, 5, importOneHot},
      {Domain, "LabelEncoder", 1, 1, importNamesOfPlaces},
      {Domain, "LabelEncoder", 2, 5, importLabelEncoder},
  };
  return Rows;
}

} // namespace kpc::onnx
