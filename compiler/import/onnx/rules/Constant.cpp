//===- Constant.cpp - Import of constants and generated tensors -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"

#include "compiler/import/onnx/Importer.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

static void importConstant(NodeImport &N) {
  if (const Tensor *T = N.tensorAttribute("value"))
    return N.result(0, *T);
  if (const Tensor *T = N.tensorAttribute("sparse_value"))
    return N.result(0, *T);
  auto Keep = [&](Tensor T) {
    T.Name = N.node().place().Node;
    N.result(0, N.importer().keep(std::move(T)));
  };
  if (N.hasAttribute("value_int"))
    return Keep(Tensor::ofIntegers("", {}, {N.intAttribute("value_int", 0)}));
  if (N.hasAttribute("value_float"))
    return Keep(Tensor::ofFloats(
        "", {}, {static_cast<float>(N.floatAttribute("value_float", 0))}));
  if (std::optional<Ints> V = N.intsAttribute("value_ints"))
    return Keep(Tensor::ofIntegers("", {static_cast<int64_t>(V->size())},
                                   {V->begin(), V->end()}));
  if (std::optional<std::vector<double>> V = N.floatsAttribute("value_floats"))
    return Keep(Tensor::ofFloats("", {static_cast<int64_t>(V->size())},
                                 {V->begin(), V->end()}));
  for (std::string_view Name : {"value_string", "value_strings"})
    if (auto It = N.node().Attributes.find(Name);
        It != N.node().Attributes.end()) {
      N.ignoreAttribute(Name);
      bool IsOne = It->second.Is == Attribute::Kind::String;
      Tensor T;
      T.Type = ElementType::String;
      T.Strings = IsOne ? std::vector{It->second.String} : It->second.Strings;
      if (!IsOne)
        T.Dims = {static_cast<int64_t>(T.Strings.size())};
      return Keep(std::move(T));
    }
  if (!N.bad())
    N.fail(Code::ImportAttributeMissing, "attribute 'value' is missing");
}

static void importConstantOfShape(NodeImport &N) {
  const Tensor *Fill = N.tensorAttribute("value");
  std::optional<std::vector<Expr>> Sizes;
  if (std::optional<Dims> Declared = N.declaredSizes(0);
      Declared && !N.contents(0))
    Sizes.emplace(Declared->begin(), Declared->end());
  else
    Sizes = N.knownSizes(0, "shape");
  if (N.bad())
    return;
  if (Fill && Fill->count() != 1) {
    N.fail(Code::ImportAttributeValue, "attribute 'value' has " +
                                           std::to_string(Fill->count()) +
                                           " elements, but should have one");
    return;
  }
  Value V = Fill ? N.data(*Fill) : N.scalar(0, N.f32());
  N.result(0, N.broadcast(N.reshape(V, {}), *Sizes));
}

/// The number of steps, where it follows from elements of the model's inputs.
static std::optional<Expr> rangeCountOfInputs(NodeImport &N) {
  const Contents *Reals[3] = {N.contents(0), N.contents(1), N.contents(2)};
  Expr V[3];
  for (size_t I = 0; I < 3; ++I) {
    std::optional<std::vector<Expr>> Sizes = N.readSizes(I);
    const Contents *C = Reals[I];
    if (Sizes && Sizes->size() == 1)
      V[I] = Sizes->front();
    else if (C && C->isReal() && C->count() == 1 &&
             std::trunc(C->Real[0]) == C->Real[0] &&
             std::abs(C->Real[0]) < INT32_MAX)
      V[I] = Expr(static_cast<int64_t>(C->Real[0]));
    else
      return std::nullopt;
    // A real may be no whole number: then the number of steps is computed. In
    // a body no size can be.
    if (!N.importer().isInBody() && N.isFloat(N.input(I)) &&
        N.importer().namesInputValue(V[I]))
      return std::nullopt;
  }
  std::optional<int64_t> Step = V[2].asConstant();
  const shape::Facts &Facts = N.importer().facts();
  Expr Span = Step.value_or(1) < 0 ? V[0] - V[1] : V[1] - V[0];
  if (!Step && !N.importer().require(1, false, V[2], "counts in steps", N))
    return std::nullopt;
  Expr By = Step ? Expr(std::max<int64_t>(std::abs(*Step), 1))
                 : Facts.simplify(Expr::max(V[2], 1));
  return Facts.simplify(Expr::max(Span.ceilDiv(By), 0));
}

/// The number of steps where the model's own data decides it.
static std::optional<Expr> rangeCountByData(NodeImport &N) {
  Value Ends[3];
  for (size_t I = 0; I < 3; ++I) {
    Value V = N.input(I);
    if (!V || N.bad())
      return std::nullopt;
    Ends[I] = N.reshape(N.cast(V, N.builder().getF64Type()), {});
  }
  Value Count = N.unary<CeilOp>(N.div(N.sub(Ends[1], Ends[0]), Ends[2]));
  Count = N.max(Count, N.like(0, Count));
  return N.decideSize(N.cast(Count, N.i64()), Expr(INT32_MAX), 0);
}

/// The number of steps, for sizes as well as numbers.
static std::optional<Expr> rangeCount(NodeImport &N) {
  const Contents *C[3] = {N.contents(0), N.contents(1), N.contents(2)};
  bool Known = llvm::all_of(
      C, [](const Contents *One) { return One && One->count() == 1; });
  if (Known) {
    if (!C[0]->isReal() && !C[1]->isReal() && C[2]->Whole.size() == 1 &&
        C[2]->Whole[0].asConstant().value_or(0) > 0) {
      Expr Span = C[1]->Whole[0] - C[0]->Whole[0];
      Expr Count = Span.ceilDiv(C[2]->Whole[0]);
      return N.importer().facts().simplify(Expr::max(Count, 0));
    }
    std::optional<std::vector<double>> V[3];
    for (int I = 0; I < 3; ++I)
      V[I] = C[I]->reals();
    if (V[0] && V[1] && V[2] && V[2]->front() != 0) {
      double Count = std::ceil((V[1]->front() - V[0]->front()) / V[2]->front());
      if (Count < 1e15)
        return Expr(static_cast<int64_t>(std::max(Count, 0.0)));
    }
  }
  if (std::optional<Dims> Declared = N.declaredSizes(0);
      Declared && Declared->size() == 1)
    return Declared->front();
  if (std::optional<Expr> Count = rangeCountOfInputs(N))
    return Count;
  return N.importer().isInBody() ? std::nullopt : rangeCountByData(N);
}

static void importRange(NodeImport &N) {
  N.expectInputs(3, 3);
  Value Start = N.input(0), Step = N.input(2);
  N.input(1);
  if (N.bad())
    return;
  if (const Contents *By = N.contents(2))
    if (auto Reals = By->reals(); Reals && *Reals == std::vector<double>{0}) {
      N.fail(Code::ImportAttributeValue, "the step, input 2, is 0");
      return;
    }
  std::optional<Expr> Count = rangeCount(N);
  if (!Count) {
    N.fail(Code::ImportNotConstant,
           "the length of the range is known only when the model runs",
           N.wayToKnow(1));
    return;
  }
  Value I = N.iota({*Count}, 0, N.element(Start));
  N.result(0, N.add(N.mul(I, N.reshape(Step, {})), N.reshape(Start, {})));
}

static void importEyeLike(NodeImport &N) {
  int64_t Diagonal = N.intAttribute("k", 0);
  int64_t To = N.intAttribute("dtype", 0);
  Value X = N.input(0);
  if (N.bad())
    return;
  if (N.rank(X) != 2) {
    N.fail(Code::ImportRank, "input 0 has rank " + std::to_string(N.rank(X)) +
                                 ", but should be a matrix");
    return;
  }
  Type Element = N.element(X);
  if (To != 0)
    Element = elementType(To)
                  ? graphType(N.builder().getContext(), *elementType(To))
                  : Type();
  if (!Element) {
    N.fail(Code::ImportElementType,
           "attribute 'dtype' is type " + std::to_string(To));
    return;
  }
  Dims Sizes(N.dims(X));
  Value Row =
      N.addScalar(N.iota(Sizes, 0, N.i64()), static_cast<double>(Diagonal));
  Value Hot = N.compare(Predicate::eq, Row, N.iota(Sizes, 1, N.i64()));
  N.result(0, N.cast(Hot, Element));
}

static void importTrilu(NodeImport &N) {
  bool Upper = N.flagAttribute("upper", true);
  Value X = N.input(0), K = N.optionalInput(1);
  if (N.bad())
    return;
  if (N.rank(X) < 2) {
    N.fail(Code::ImportRank, "input 0 has rank " + std::to_string(N.rank(X)) +
                                 ", but should have 2 or more");
    return;
  }
  Dims Matrix(N.dims(X).end() - 2, N.dims(X).end());
  Value Row = N.iota(Matrix, 0, N.i64());
  if (K)
    Row = N.add(Row, N.cast(N.reshape(K, {}), N.i64()));
  Value Column = N.iota(Matrix, 1, N.i64());
  Value Kept = N.compare(Upper ? Predicate::ge : Predicate::le, Column, Row);
  Value Zero = N.isFloat(X) || !isBool(N.element(X))
                   ? N.like(0, X)
                   : N.scalarInt(0, N.element(X));
  N.result(0, N.select(Kept, X, Zero));
}

static void importOneHot(NodeImport &N) {
  N.expectInputs(3, 3);
  Value Indices = N.input(0), Values = N.input(2);
  int64_t Axis = N.intAttribute("axis", -1);
  if (N.bad())
    return;
  if (N.rank(Values) != 1) {
    N.fail(Code::ImportRank, "the values, input 2, have rank " +
                                 std::to_string(N.rank(Values)) +
                                 ", but should be two numbers");
    return;
  }
  Axis = N.frontAxis(Axis, N.rank(Indices) + 1);
  Expr Depth;
  if (const Contents *C = N.contents(1)) {
    std::optional<std::vector<double>> Number = C->reals();
    if (!C->isReal() && C->Whole.size() == 1)
      Depth = C->Whole[0];
    else if (Number && Number->size() == 1)
      Depth = Expr(static_cast<int64_t>(Number->front()));
  } else if (std::optional<Dims> Declared = N.declaredSizes(0);
             Declared && Declared->size() > static_cast<size_t>(Axis)) {
    Depth = (*Declared)[static_cast<size_t>(Axis)];
  } else if (std::optional<std::vector<Expr>> Sizes = N.knownSizes(1, "depth");
             Sizes && Sizes->size() == 1) {
    Depth = Sizes->front();
  } else {
    N.fail(Code::ImportShape, "the depth, input 1, should be one number");
  }
  if (N.bad())
    return;
  // A float index counts as its whole part.
  Indices = N.cast(Indices, N.i64());
  Value Negative = N.compare(Predicate::lt, Indices, N.like(0, Indices));
  Value Turned = N.add(Indices, N.sizeScalar(Depth, N.i64()));
  Indices = N.unsqueeze(N.select(Negative, Turned, Indices), {Axis});
  if (!Indices)
    return;
  Dims Sizes(N.dims(Indices));
  Sizes[static_cast<size_t>(Axis)] = Depth;
  Value Hot = N.compare(Predicate::eq, N.iota(Sizes, Axis, N.i64()), Indices);
  Value Off = N.reshape(N.sliceAxis(Values, 0, 0, 1), {});
  Value On = N.reshape(N.sliceAxis(Values, 0, 1, 1), {});
  N.result(0, N.select(Hot, On, Off));
}

/// Hann, Hamming, Blackman: a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n).
template <int Kind> static void importWindow(NodeImport &N) {
  static constexpr double Terms[3][3] = {
      {0.5, 0.5, 0}, {25.0 / 46, 21.0 / 46, 0}, {0.42, 0.5, 0.08}};
  bool Periodic = N.flagAttribute("periodic", true);
  int64_t To = N.intAttribute("output_datatype", 1);
  std::optional<Dims> Declared = N.declaredSizes(0);
  std::optional<std::vector<Expr>> Size;
  if (!N.contents(0) && Declared && Declared->size() == 1)
    Size.emplace(Declared->begin(), Declared->end());
  else
    Size = N.knownSizes(0, "size");
  std::optional<ElementType> Element = elementType(To);
  Type Ty = Element ? graphType(N.builder().getContext(), *Element) : Type();
  if (!Ty)
    N.fail(Code::ImportElementType,
           "attribute 'output_datatype' is type " + std::to_string(To));
  if (N.bad() || Size->size() != 1)
    return;
  Type Wide = isFloat(Ty) ? Ty : N.f32();
  const double *A = Terms[Kind];
  Expr Count = Size->front();
  Value Steps = N.sizeScalar(Periodic ? Count : Count - 1, Wide);
  Value Turn = N.div(N.mulScalar(N.iota({Count}, 0, Wide), 2 * M_PI), Steps);
  Value Y = N.sub(N.like(A[0], Turn), N.mulScalar(N.unary<CosOp>(Turn), A[1]));
  if (A[2] != 0)
    Y = N.add(Y, N.mulScalar(N.unary<CosOp>(N.mulScalar(Turn, 2)), A[2]));
  N.result(0, N.cast(Y, Ty));
}

ArrayRef<Rule> constantRules() {
  static const Rule Rows[] = {
      {"", "Constant", 1, Newest, importConstant},
      {"", "ConstantOfShape", 9, Newest, importConstantOfShape,
       "in loops and branches the shape must follow from constants, sizes and "
       "elements of small inputs"},
      {"", "Range", 11, Newest, importRange,
       "in loops and branches the length must follow from constants, sizes and "
       "elements of small inputs"},
      {"com.microsoft", "Range", 1, 1, importRange},
      {"", "EyeLike", 9, Newest, importEyeLike},
      {"", "Trilu", 14, Newest, importTrilu},
      {"", "OneHot", 9, Newest, importOneHot,
       "the depth must be known when compiling"},
      {"", "HannWindow", 17, Newest, importWindow<0>,
       "the size must be known when compiling"},
      {"", "HammingWindow", 17, Newest, importWindow<1>,
       "the size must be known when compiling"},
      {"", "BlackmanWindow", 17, Newest, importWindow<2>,
       "the size must be known when compiling"},
  };
  return Rows;
}

} // namespace kpc::onnx
