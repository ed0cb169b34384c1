//===- KnownValues.cpp - Values that follow from constants and sizes ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/KnownValues.h"

#include "compiler/import/onnx/FoldContents.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace kpc::graph;

namespace kpc::onnx {

using Result = std::optional<KnownTensor>;

/// Chains of more ops than this are followed from where one before was asked
/// for.
static constexpr unsigned DeepestChain = 200;

/// The sizes, if they are numbers and make a short tensor.
static std::optional<Ints> shortDims(Value V) {
  Ints Dims;
  for (const Expr &E : Emitter::dims(V)) {
    std::optional<int64_t> Size = E.asConstant();
    if (!Size)
      return std::nullopt;
    Dims.push_back(*Size);
  }
  std::optional<int64_t> Count = elementCount(Dims);
  if (!Count || *Count > Contents::MostElements)
    return std::nullopt;
  return Dims;
}

static size_t countOf(ArrayRef<int64_t> Dims) {
  size_t Count = 1;
  for (int64_t Size : Dims)
    Count *= static_cast<size_t>(Size);
  return Count;
}

/// The position `Flat` of row-major `Dims`, as an index for each dimension.
static Ints indexOf(size_t Flat, ArrayRef<int64_t> Dims) {
  Ints Index(Dims.size(), 0);
  for (size_t I = Dims.size(); I-- > 0;) {
    auto Size = static_cast<size_t>(Dims[I]);
    Index[I] = static_cast<int64_t>(Flat % Size);
    Flat /= Size;
  }
  return Index;
}

/// The other way around; none outside.
static std::optional<size_t> flatOf(ArrayRef<int64_t> Index,
                                    ArrayRef<int64_t> Dims) {
  size_t Flat = 0;
  for (size_t I = 0; I < Dims.size(); ++I) {
    if (Index[I] < 0 || Index[I] >= Dims[I])
      return std::nullopt;
    Flat = Flat * static_cast<size_t>(Dims[I]) + static_cast<size_t>(Index[I]);
  }
  return Flat;
}

/// A tensor of `Dims` whose element at an index is that of `X` at `From` of it;
/// none where one of them is outside.
static Result
gathered(const KnownTensor &X, ArrayRef<int64_t> Dims,
         llvm::function_ref<std::optional<Ints>(const Ints &)> From) {
  KnownTensor Y{X.Element, Ints(Dims), {}};
  size_t Count = countOf(Dims);
  for (size_t I = 0; I < Count; ++I) {
    std::optional<Ints> Index = From(indexOf(I, Dims));
    std::optional<size_t> Flat = Index ? flatOf(*Index, X.Dims) : std::nullopt;
    if (!Flat)
      return std::nullopt;
    Y.Elements.push_back(X.Elements[*Flat]);
  }
  return Y;
}

/// An index that may count from the end, as one from the front, clamped.
static std::optional<int64_t> frontIndex(const KnownElement &E, int64_t Size) {
  std::optional<int64_t> At = E.Whole.asConstant();
  if (!At || Size == 0)
    return std::nullopt;
  return std::clamp<int64_t>(*At < 0 ? *At + Size : *At, 0, Size - 1);
}

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
// Indices
//===----------------------------------------------------------------------===//

static Result gather(GatherOp Op, const KnownTensor &X, const KnownTensor &At,
                     ArrayRef<int64_t> Dims) {
  auto Axis = static_cast<size_t>(Op.getAxis());
  return gathered(X, Dims, [&](const Ints &Index) -> std::optional<Ints> {
    ArrayRef<int64_t> All(Index);
    std::optional<size_t> Flat =
        flatOf(All.slice(Axis, At.Dims.size()), At.Dims);
    std::optional<int64_t> Picked =
        Flat ? frontIndex(At.Elements[*Flat], X.Dims[Axis]) : std::nullopt;
    if (!Picked)
      return std::nullopt;
    Ints From(All.take_front(Axis));
    From.push_back(*Picked);
    From.append(All.begin() + Axis + At.Dims.size(), All.end());
    return From;
  });
}

static Result gatherElements(int64_t Axis, const KnownTensor &X,
                             const KnownTensor &At, ArrayRef<int64_t> Dims) {
  return gathered(X, Dims, [&](const Ints &Index) -> std::optional<Ints> {
    Ints From(Index);
    auto A = static_cast<size_t>(Axis);
    std::optional<size_t> Flat = flatOf(Index, At.Dims);
    std::optional<int64_t> Picked =
        Flat ? frontIndex(At.Elements[*Flat], X.Dims[A]) : std::nullopt;
    if (!Picked)
      return std::nullopt;
    From[A] = *Picked;
    return From;
  });
}

/// Whether the index, which may count from the end, is one of x's; makes it
/// count from the front.
static std::optional<bool> placeOf(const KnownElement &E, int64_t Size,
                                   int64_t &Place) {
  std::optional<int64_t> At = E.Whole.asConstant();
  if (!At)
    return std::nullopt;
  Place = *At < 0 ? *At + Size : *At;
  return Place >= 0 && Place < Size;
}

static Result scatterElements(ScatterElementsOp Op, const KnownTensor &X,
                              const KnownTensor &At,
                              const KnownTensor &Updates) {
  if (Op.getKind() != ScatterKind::none)
    return std::nullopt;
  KnownTensor Y = X;
  auto Axis = static_cast<size_t>(Op.getAxis());
  for (size_t I = 0; I < At.Elements.size(); ++I) {
    Ints Index = indexOf(I, At.Dims);
    std::optional<bool> Inside =
        placeOf(At.Elements[I], X.Dims[Axis], Index[Axis]);
    if (!Inside)
      return std::nullopt;
    if (std::optional<size_t> To = flatOf(Index, X.Dims); *Inside && To)
      Y.Elements[*To] = Updates.Elements[I];
  }
  return Y;
}

static Result scatterNd(ScatterNdOp Op, const KnownTensor &X,
                        const KnownTensor &At, const KnownTensor &Updates) {
  if (Op.getKind() != ScatterKind::none || At.Dims.empty())
    return std::nullopt;
  KnownTensor Y = X;
  auto Length = static_cast<size_t>(At.Dims.back());
  size_t Slice = countOf(ArrayRef<int64_t>(X.Dims).drop_front(Length));
  size_t Count = countOf(ArrayRef<int64_t>(At.Dims).drop_back());
  for (size_t I = 0; I < Count; ++I) {
    size_t Flat = 0;
    bool AllInside = true;
    for (size_t A = 0; A < Length; ++A) {
      int64_t Place = 0;
      std::optional<bool> Inside =
          placeOf(At.Elements[I * Length + A], X.Dims[A], Place);
      if (!Inside)
        return std::nullopt;
      AllInside &= *Inside;
      Flat = Flat * static_cast<size_t>(X.Dims[A]) + static_cast<size_t>(Place);
    }
    for (size_t E = 0; E < Slice && AllInside; ++E)
      Y.Elements[Flat * Slice + E] = Updates.Elements[I * Slice + E];
  }
  return Y;
}

Result KnownValues::pick(Operation *Op, ArrayRef<const KnownTensor *> In) {
  Ints Dims = *shortDims(Op->getResult(0));
  return llvm::TypeSwitch<Operation *, Result>(Op)
      .Case([&](GatherOp G) { return gather(G, *In[0], *In[1], Dims); })
      .Case([&](GatherElementsOp G) {
        return gatherElements(G.getAxis(), *In[0], *In[1], Dims);
      })
      .Case([&](ScatterElementsOp S) {
        return scatterElements(S, *In[0], *In[1], *In[2]);
      })
      .Case([&](ScatterNdOp S) { return scatterNd(S, *In[0], *In[1], *In[2]); })
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
  if (!Elements)
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
  for (int64_t Number = 1; Number <= 16; ++Number)
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
  if (!W || !Ty || !Op.getRecipe().empty())
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
