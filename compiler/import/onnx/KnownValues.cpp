//===- KnownValues.cpp - Values that follow from constants and sizes ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/KnownValues.h"

#include "compiler/import/onnx/FoldContents.h"
#include "compiler/import/onnx/KnownPlaces.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace kpc::graph;

namespace kpc::onnx {

using Result = std::optional<KnownTensor>;

/// Chains of more ops than this are followed from where one before was asked
/// for.
static constexpr unsigned DeepestChain = 200;

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

static Result concat(ConcatOp Op, ArrayRef<const KnownTensor *> In,
                     ArrayRef<int64_t> Dims) {
  KnownTensor Y{In[0]->Element, Ints(Dims), {}};
  auto Axis = static_cast<size_t>(Op.getAxis());
  size_t Count = countOf(Dims);
  for (size_t I = 0; I < Count; ++I) {
    Ints Index = indexOf(I, Dims);
    for (const KnownTensor *X : In) {
      if (Index[Axis] < X->Dims[Axis]) {
        Y.Elements.push_back(X->Elements[*flatOf(Index, X->Dims)]);
        break;
      }
      Index[Axis] -= X->Dims[Axis];
    }
  }
  return Y;
}

static Result pad(PadOp Op, const KnownTensor &X, const KnownElement &Filler,
                  ArrayRef<int64_t> Dims) {
  KnownTensor Y{X.Element, Ints(Dims), {}};
  size_t Count = countOf(Dims);
  for (size_t I = 0; I < Count; ++I) {
    Ints Index = indexOf(I, Dims);
    bool Inside = true;
    for (size_t A = 0; A < Index.size(); ++A) {
      int64_t At = Index[A] - Op.getLow()[A], Step = Op.getInterior()[A] + 1;
      Inside &= At >= 0 && At % Step == 0;
      Index[A] = At / Step;
    }
    std::optional<size_t> Flat = Inside ? flatOf(Index, X.Dims) : std::nullopt;
    Y.Elements.push_back(Flat ? X.Elements[*Flat] : Filler);
  }
  return Y;
}

static Result iota(IotaOp Op, ArrayRef<int64_t> Dims) {
  Type Element = Emitter::element(Op.getY());
  KnownTensor Y{Element, Ints(Dims), {}};
  size_t Count = countOf(Dims);
  for (size_t I = 0; I < Count; ++I) {
    int64_t At = indexOf(I, Dims)[static_cast<size_t>(Op.getAxis())];
    KnownElement E;
    if (graph::isFloat(Element))
      E.Real = static_cast<double>(At);
    else
      E.Whole = Expr(At);
    Y.Elements.push_back(E);
  }
  return Y;
}

Result KnownValues::move(Operation *Op, ArrayRef<const KnownTensor *> In) {
  Value Out = Op->getResult(0);
  Ints Dims = *shortDims(Out);
  return llvm::TypeSwitch<Operation *, Result>(Op)
      .Case([&](ReshapeOp) {
        return KnownTensor{In[0]->Element, Dims, In[0]->Elements};
      })
      .Case([&](BroadcastOp) {
        const KnownTensor &X = *In[0];
        size_t New = Dims.size() - X.Dims.size();
        return gathered(X, Dims, [&](const Ints &At) -> std::optional<Ints> {
          Ints From;
          for (size_t I = 0; I < X.Dims.size(); ++I)
            From.push_back(X.Dims[I] == 1 ? 0 : At[New + I]);
          return From;
        });
      })
      .Case([&](TransposeOp T) {
        return gathered(*In[0], Dims,
                        [&](const Ints &At) -> std::optional<Ints> {
                          Ints From(At.size(), 0);
                          for (size_t I = 0; I < At.size(); ++I)
                            From[static_cast<size_t>(T.getPerm()[I])] = At[I];
                          return From;
                        });
      })
      .Case([&](SliceOp S) {
        return gathered(*In[0], Dims,
                        [&](const Ints &At) -> std::optional<Ints> {
                          Ints From;
                          for (size_t I = 0; I < At.size(); ++I) {
                            std::optional<int64_t> Start =
                                S.getStart().getDims()[I].asConstant();
                            if (!Start)
                              return std::nullopt;
                            From.push_back(*Start + At[I] * S.getStep()[I]);
                          }
                          return From;
                        });
      })
      .Case([&](ConcatOp C) { return concat(C, In, Dims); })
      .Case([&](PadOp P) { return pad(P, *In[0], In[1]->Elements[0], Dims); })
      .Case([&](IotaOp I) { return iota(I, Dims); })
      .Default([](Operation *) { return Result(); });
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// A tensor of `Dims` made element by element.
static Result made(Type Element, ArrayRef<int64_t> Dims,
                   llvm::function_ref<std::optional<KnownElement>(size_t)> At) {
  KnownTensor Y{Element, Ints(Dims), {}};
  size_t Count = countOf(Dims);
  for (size_t I = 0; I < Count; ++I) {
    std::optional<KnownElement> E = At(I);
    if (!E)
      return std::nullopt;
    Y.Elements.push_back(*E);
  }
  return Y;
}

static KnownElement wholeElement(int64_t V) {
  KnownElement E;
  E.Whole = Expr(V);
  return E;
}

Result KnownValues::compute(Operation *Op, ArrayRef<const KnownTensor *> In) {
  const KnownTensor &X = *In[0];
  Type Element = Emitter::element(Op->getResult(0));
  KnownArithmetic Math(Facts, X.Element);
  StringRef Name = Op->getName().getStringRef();
  auto Make = [&](llvm::function_ref<std::optional<KnownElement>(size_t)> At) {
    return made(Element, X.Dims, At);
  };
  if (auto Compare = dyn_cast<CompareOp>(Op))
    return Make([&](size_t I) -> std::optional<KnownElement> {
      std::optional<bool> Holds = Math.compare(
          Compare.getPredicate(), X.Elements[I], In[1]->Elements[I]);
      return Holds ? std::optional(wholeElement(*Holds)) : std::nullopt;
    });
  if (isa<SelectOp>(Op))
    return Make([&](size_t I) -> std::optional<KnownElement> {
      const KnownElement &A = In[1]->Elements[I], &C = In[2]->Elements[I];
      std::optional<int64_t> Which = X.Elements[I].Whole.asConstant();
      if (!Which)
        return std::nullopt;
      return *Which ? A : C;
    });
  // The bits of narrow floats are not followed.
  if (isa<BitcastOp>(Op) || graph::isNarrowFloat(Element))
    return std::nullopt;
  if (auto Cast = dyn_cast<CastOp>(Op))
    return Make(
        [&](size_t I) { return Math.cast(X.Elements[I], Cast.getTo()); });
  if (isa<IsNanOp>(Op))
    return Make([&](size_t I) -> std::optional<KnownElement> {
      return wholeElement(std::isnan(X.Elements[I].Real));
    });
  if (In.size() == 1)
    return Make([&](size_t I) { return Math.unary(Name, X.Elements[I]); });
  if (In.size() == 2)
    return Make([&](size_t I) {
      return Math.binary(Name, X.Elements[I], In[1]->Elements[I]);
    });
  return std::nullopt;
}

static StringRef combiner(ReduceKind Kind) {
  switch (Kind) {
  case ReduceKind::sum:
    return "graph.add";
  case ReduceKind::prod:
    return "graph.mul";
  case ReduceKind::max:
    return "graph.max";
  case ReduceKind::min:
    return "graph.min";
  }
  return "graph.add";
}

Result KnownValues::reduce(Operation *Op, const KnownTensor &X) {
  KnownArithmetic Math(Facts, X.Element);
  Ints Dims = *shortDims(Op->getResult(0));
  if (X.Elements.empty())
    return std::nullopt;
  if (auto Sum = dyn_cast<CumSumOp>(Op)) {
    // The last of each line first where it runs from the end.
    KnownTensor Y = X;
    auto Axis = static_cast<size_t>(Sum.getAxis());
    KnownElement Zero;
    for (size_t Step = 0; Step < X.Elements.size(); ++Step) {
      size_t I = Sum.getReverse() ? X.Elements.size() - 1 - Step : Step;
      Ints At = indexOf(I, X.Dims);
      At[Axis] += Sum.getReverse() ? 1 : -1;
      std::optional<size_t> Before = flatOf(At, X.Dims);
      const KnownElement &Sofar = Before ? Y.Elements[*Before] : Zero;
      const KnownElement &Added = !Sum.getExclusive() ? X.Elements[I]
                                  : Before            ? X.Elements[*Before]
                                                      : Zero;
      std::optional<KnownElement> E = Math.binary("graph.add", Sofar, Added);
      if (!E)
        return std::nullopt;
      Y.Elements[I] = *E;
    }
    return Y;
  }
  auto Reduce = dyn_cast<ReduceOp>(Op);
  if (!Reduce)
    return std::nullopt;
  std::vector<std::optional<KnownElement>> Sums(countOf(Dims));
  for (size_t I = 0; I < X.Elements.size(); ++I) {
    Ints At = indexOf(I, X.Dims), Kept;
    for (size_t A = 0; A < At.size(); ++A)
      if (!llvm::is_contained(Reduce.getAxes(), static_cast<int64_t>(A)))
        Kept.push_back(At[A]);
    std::optional<KnownElement> &Sum = Sums[*flatOf(Kept, Dims)];
    if (!Sum) {
      Sum = X.Elements[I];
      continue;
    }
    Sum = Math.binary(combiner(Reduce.getKind()), *Sum, X.Elements[I]);
    if (!Sum)
      return std::nullopt;
  }
  return made(X.Element, Dims, [&](size_t I) { return Sums[I]; });
}

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

static Result constant(ConstantOp Op, ArrayRef<int64_t> Dims) {
  auto Elements = dyn_cast<DenseElementsAttr>(Op.getValue());
  Type Element = Emitter::element(Op.getY());
  if (!Elements || graph::isNarrowFloat(Element))
    return std::nullopt;
  KnownTensor Y{Element, Ints(Dims), {}};
  if (graph::isFloat(Element)) {
    for (APFloat F : Elements.getValues<APFloat>()) {
      bool Inexact = false;
      F.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &Inexact);
      KnownElement E;
      E.Real = F.convertToDouble();
      Y.Elements.push_back(E);
    }
    return Y;
  }
  for (const APInt &V : Elements.getValues<APInt>()) {
    // An unsigned number above int64_t's range would read as negative.
    if (graph::isUnsigned(Element) && V.getActiveBits() > 63)
      return std::nullopt;
    Y.Elements.push_back(wholeElement(
        graph::isUnsigned(Element) ? static_cast<int64_t>(V.getZExtValue())
                                   : V.getSExtValue()));
  }
  return Y;
}

static std::optional<ElementType> elementTypeOf(Type Element) {
  for (int64_t Number = 1; elementType(Number); ++Number)
    if (std::optional<ElementType> T = elementType(Number);
        T && graphType(Element.getContext(), *T) == Element)
      return T;
  return std::nullopt;
}

static KnownTensor known(const Contents &C, Type Element) {
  KnownTensor Y{Element, Ints(C.Dims.begin(), C.Dims.end()), {}};
  for (size_t I = 0; I < C.count(); ++I) {
    KnownElement E;
    if (C.isReal())
      E.Real = C.Real[I];
    else
      E.Whole = C.Whole[I];
    Y.Elements.push_back(E);
  }
  return Y;
}

Result KnownValues::weight(WeightOp Op) {
  Type Element = Emitter::element(Op.getY());
  const Weight *W = Weights.find(Op.getSource().str());
  std::optional<ElementType> Ty = elementTypeOf(Element);
  // Packed bytes hold more elements than these are for.
  if (!W || !Ty || !Op.getRecipe().empty() || isSubByte(Element))
    return std::nullopt;
  Tensor T;
  T.Type = *Ty;
  T.Dims.assign(W->Dims.begin(), W->Dims.end());
  T.Bytes = W->Bytes;
  std::optional<Contents> C = Contents::of(T);
  if (!C || C->count() != static_cast<size_t>(T.count()))
    return std::nullopt;
  return known(*C, Element);
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

Result KnownValues::evaluate(Operation *Op, unsigned Depth) {
  if (Op->getNumResults() != 1 || Op->getNumRegions() != 0)
    return std::nullopt;
  Ints Dims = *shortDims(Op->getResult(0));
  if (auto C = dyn_cast<ConstantOp>(Op))
    return constant(C, Dims);
  if (auto W = dyn_cast<WeightOp>(Op))
    return weight(W);
  if (auto S = dyn_cast<SizesOp>(Op)) {
    KnownTensor Y{Emitter::element(S.getY()), Dims, {}};
    for (const Expr &E : S.getValues().getDims())
      Y.Elements.emplace_back().Whole = E;
    return Y;
  }
  bool Computes = Op->hasTrait<ElementwiseTrait>();
  bool Moves = isa<ReshapeOp, BroadcastOp, TransposeOp, SliceOp, ConcatOp,
                   PadOp, IotaOp>(Op);
  bool Picks =
      isa<GatherOp, GatherElementsOp, ScatterElementsOp, ScatterNdOp>(Op);
  if (!Computes && !Moves && !Picks && !isa<ReduceOp, CumSumOp>(Op))
    return std::nullopt;
  SmallVector<const KnownTensor *> In;
  for (Value V : Op->getOperands()) {
    const Result &X = of(V, Depth + 1);
    if (!X)
      return std::nullopt;
    In.push_back(&*X);
  }
  return Computes ? compute(Op, In)
         : Moves  ? move(Op, In)
         : Picks  ? pick(Op, In)
                  : reduce(Op, *In[0]);
}

const Result &KnownValues::of(Value V, unsigned Depth) {
  static const Result Unknown;
  Memo &Sofar = Inputs ? SeenOfInputs : Seen;
  if (auto It = Sofar.find(V); It != Sofar.end())
    return *It->second;
  if (Depth > DeepestChain || !isa<SymbolicTensorType>(V.getType()))
    return Unknown;
  std::optional<Ints> Dims = shortDims(V);
  if (!Dims)
    return Unknown;
  Operation *Op = V.getDefiningOp();
  std::unique_ptr<Result> Found;
  if (countOf(*Dims) == 0)
    Found =
        std::make_unique<Result>(KnownTensor{Emitter::element(V), *Dims, {}});
  else if (Op)
    Found = std::make_unique<Result>(evaluate(Op, Depth));
  else if (Inputs)
    Found = std::make_unique<Result>((*Inputs)(V));
  else
    return Unknown;
  return *(Sofar[V] = std::move(Found));
}

std::optional<Contents> KnownValues::contentsOfInputs(Value V,
                                                      InputFunction Elements) {
  Inputs = &Elements;
  std::optional<Contents> Found = contents(V);
  const Result &X = of(V, 0);
  Inputs = nullptr;
  if (Found || !X || !X->isFloat())
    return Found;
  Contents C;
  C.Dims.assign(X->Dims.begin(), X->Dims.end());
  for (const KnownElement &E : X->Elements) {
    bool Sized = !E.Whole.isConstant();
    if (Sized ? E.Divisor != 1
              : !(std::abs(E.Real) < 9e15) || E.Real != std::trunc(E.Real))
      return std::nullopt;
    C.Whole.push_back(Sized ? E.Whole : Expr(static_cast<int64_t>(E.Real)));
  }
  return C;
}

std::optional<Contents> KnownValues::contents(Value V) {
  const Result &X = of(V, 0);
  std::optional<ElementType> Ty = X ? elementTypeOf(X->Element) : std::nullopt;
  if (!Ty)
    return std::nullopt;
  Contents C;
  C.Type = *Ty;
  C.Dims.assign(X->Dims.begin(), X->Dims.end());
  for (const KnownElement &E : X->Elements) {
    if (!X->isFloat())
      C.Whole.push_back(E.Whole);
    else if (E.Whole.isConstant())
      C.Real.push_back(E.Real);
    else
      return std::nullopt;
  }
  return C;
}

} // namespace kpc::onnx
