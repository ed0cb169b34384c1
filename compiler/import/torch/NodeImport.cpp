//===- NodeImport.cpp - One aten node on its way in -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/NodeImport.h"
#include "compiler/import/torch/Importer.h"
#include "compiler/import/torch/Infer.h"

using namespace mlir;

namespace kpc::torch {

using Kind = Argument::Kind;

/// No size is larger than what an element of a tensor may be taken for.
static constexpr int64_t GreatestNumber = INT32_MAX;

Type graphType(MLIRContext *Context, ScalarType T) {
  Builder B(Context);
  switch (T) {
  case ScalarType::Byte:
    return IntegerType::get(Context, 8, IntegerType::Unsigned);
  case ScalarType::Char:
    return B.getIntegerType(8);
  case ScalarType::Short:
    return B.getIntegerType(16);
  case ScalarType::Int:
    return B.getIntegerType(32);
  case ScalarType::Long:
    return B.getIntegerType(64);
  case ScalarType::Half:
    return B.getF16Type();
  case ScalarType::Float:
    return B.getF32Type();
  case ScalarType::Double:
    return B.getF64Type();
  case ScalarType::Bool:
    return B.getI1Type();
  case ScalarType::BFloat16:
    return B.getBF16Type();
  case ScalarType::Uint16:
    return IntegerType::get(Context, 16, IntegerType::Unsigned);
  default:
    return {};
  }
}

Value NodeImport::fail(Code C, std::string Message) {
  // What follows from the first fault of a node says nothing new.
  if (!Failed) {
    if (!TheNode.Source.empty())
      Message += " (" + printable(TheNode.Source) + ")";
    TheImporter.diagnostics()
        .error(C)
        .at(TheImporter.place(TheNode))
        .message(std::move(Message));
  }
  Failed = true;
  return {};
}

bool NodeImport::unify(const Expr &A, const Expr &C) {
  return TheImporter.assumeEqual(A, C, *this);
}

Expr NodeImport::current(const Expr &E) const { return TheImporter.current(E); }

std::optional<SmallVector<Value>> NodeImport::loop(const Expr &Count,
                                                   ArrayRef<Value> Inits,
                                                   ArrayRef<bool> Reversed,
                                                   frontend::LoopFunction Body,
                                                   Value Begins) {
  return TheImporter.loop(*this, Count, Inits, Reversed, Body, Begins);
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

const Argument *NodeImport::argument(std::string_view Name) const {
  for (const Argument &A : TheNode.Inputs)
    if (A.Name == Name)
      return A.Is == Kind::None ? nullptr : &A;
  return nullptr;
}

bool NodeImport::isNumber(std::string_view Name) const {
  const Argument *A = argument(Name);
  return A && A->Is != Kind::Tensor;
}

Value NodeImport::tensor(std::string_view Name) {
  if (!has(Name))
    return fail(Code::ImportArity,
                "argument '" + std::string(Name) + "' is missing");
  return optionalTensor(Name);
}

Value NodeImport::optionalTensor(std::string_view Name) {
  const Argument *A = argument(Name);
  if (!A)
    return {};
  if (A->Is != Kind::Tensor)
    return operand(Name);
  Value V = TheImporter.value(A->Values[0], *this);
  if (!V)
    Failed = true;
  return V;
}

SmallVector<Value> NodeImport::tensors(std::string_view Name) {
  SmallVector<Value> Values;
  const Argument *A = argument(Name);
  if (A && A->Is != Kind::Tensors && !A->Values.empty())
    fail(Code::ImportAttributeType,
         "argument '" + std::string(Name) + "' is no list of tensors");
  else if (A)
    for (const std::string &V : A->Values) {
      Values.push_back(V.empty() ? Value() : TheImporter.value(V, *this));
      if (!V.empty() && !Values.back())
        Failed = true;
    }
  return Values;
}

std::optional<Expr> NodeImport::number(const Argument &A, size_t I) {
  if (A.Values[I].empty())
    return Expr(A.Ints[I]);
  std::optional<Expr> E = TheImporter.number(A.Values[I]);
  if (!E)
    fail(Code::ImportNotConstant,
         "argument '" + A.Name + "' is a number that data decides");
  return E;
}

Value NodeImport::operand(std::string_view Name, Type Element) {
  const Argument *A = argument(Name);
  if (!A)
    return fail(Code::ImportArity,
                "argument '" + std::string(Name) + "' is missing");
  switch (A->Is) {
  case Kind::Tensor:
    return Element ? cast(tensor(Name), Element) : tensor(Name);
  case Kind::Int: {
    std::optional<Expr> E = number(*A, 0);
    if (!E)
      return {};
    Type Own = Element ? Element : i64();
    if (std::optional<int64_t> N = E->asConstant())
      return graph::isFloat(Own) ? scalar(double(*N), Own) : scalarInt(*N, Own);
    return cast(sizeScalar(*E, i64()), Own);
  }
  case Kind::Float: {
    Type Own = Element ? Element : f32();
    if (Importer::isComputed(*A))
      return cast(TheImporter.value(A->Values[0], *this), Own);
    return graph::isFloat(Own) ? scalar(A->Floats[0], Own)
                               : scalarInt(int64_t(A->Floats[0]), Own);
  }
  case Kind::Bool: {
    Type Own = Element ? Element : i1();
    int64_t V = A->Ints.empty() ? 0 : A->Ints[0];
    return graph::isFloat(Own) ? scalar(double(V), Own) : scalarInt(V, Own);
  }
  default:
    return fail(Code::ImportAttributeType,
                "argument '" + std::string(Name) + "' is no number");
  }
}

int64_t NodeImport::integer(std::string_view Name, int64_t Default) {
  Expr E = size(Name, Default);
  if (std::optional<int64_t> N = E.asConstant())
    return *N;
  fail(Code::ImportNotConstant,
       "argument '" + std::string(Name) + "' depends on the size " + E.str());
  return Default;
}

double NodeImport::real(std::string_view Name, double Default) {
  const Argument *A = argument(Name);
  if (!A)
    return Default;
  if (Importer::isComputed(*A))
    fail(Code::ImportNotConstant,
         "argument '" + std::string(Name) + "' depends on sizes");
  if (A->Is == Kind::Float)
    return A->Floats[0];
  return static_cast<double>(integer(Name, 0));
}

bool NodeImport::flag(std::string_view Name, bool Default) {
  return integer(Name, Default) != 0;
}

std::string NodeImport::text(std::string_view Name, std::string_view Default) {
  const Argument *A = argument(Name);
  return A && A->Is == Kind::Text ? A->Text : std::string(Default);
}

Expr NodeImport::size(std::string_view Name, const Expr &Default) {
  const Argument *A = argument(Name);
  if (!A)
    return Default;
  if ((A->Is == Kind::Int || A->Is == Kind::Bool || A->Is == Kind::Ints) &&
      A->Ints.size() == 1)
    return number(*A, 0).value_or(Default);
  if (A->Is == Kind::Float && A->Floats[0] == double(int64_t(A->Floats[0])))
    return Expr(int64_t(A->Floats[0]));
  fail(Code::ImportAttributeType,
       "argument '" + std::string(Name) + "' is no integer");
  return Default;
}

std::optional<Dims> NodeImport::sizes(std::string_view Name) {
  const Argument *A = argument(Name);
  if (!A)
    return std::nullopt;
  Dims All;
  if (A->Is == Kind::Ints || A->Is == Kind::Int)
    for (size_t I = 0; I < A->Ints.size(); ++I)
      All.push_back(number(*A, I).value_or(Expr(0)));
  else if (!(A->Is == Kind::Tensors && A->Values.empty()))
    fail(Code::ImportAttributeType,
         "argument '" + std::string(Name) + "' is no list of integers");
  return All;
}

Ints NodeImport::integers(std::string_view Name, Ints Default) {
  std::optional<Dims> Given = sizes(Name);
  if (!Given || Given->empty())
    return Default;
  Ints All;
  for (const Expr &E : *Given) {
    if (!E.asConstant())
      fail(Code::ImportNotConstant, "argument '" + std::string(Name) +
                                        "' depends on the size " + E.str());
    All.push_back(E.asConstant().value_or(0));
  }
  if (All.size() == 1 && Default.size() > 1)
    All.assign(Default.size(), Ints::value_type(All[0]));
  return All;
}

std::optional<std::vector<double>> NodeImport::reals(std::string_view Name) {
  const Argument *A = argument(Name);
  if (!A || (A->Is != Kind::Floats && A->Is != Kind::Ints))
    return std::nullopt;
  if (A->Is == Kind::Floats)
    return A->Floats;
  return std::vector<double>(A->Ints.begin(), A->Ints.end());
}

Type NodeImport::type(std::string_view Name) {
  const Argument *A = argument(Name);
  if (!A)
    return {};
  auto T = static_cast<ScalarType>(A->Ints.empty() ? 0 : A->Ints[0]);
  Type Element = graphType(B.getContext(), partsType(T));
  if (!Element)
    fail(Code::ImportElementType,
         "makes " + typeName(T) + ", which kpc cannot compute with");
  return Element;
}

int64_t NodeImport::axis(int64_t Axis, int64_t Rank) {
  // A scalar takes the axes 0 and -1.
  int64_t Least = std::max<int64_t>(Rank, 1);
  if (Axis >= -Least && Axis < Least)
    return Axis < 0 ? Axis + Least : Axis;
  fail(Code::ImportAttributeValue, "axis " + std::to_string(Axis) +
                                       " is outside the rank " +
                                       std::to_string(Rank));
  return 0;
}

Ints NodeImport::axes(std::string_view Name, int64_t Rank) {
  Ints All = integers(Name, {});
  if (All.empty())
    return llvm::to_vector<6>(llvm::seq<int64_t>(0, Rank));
  for (int64_t &A : All)
    A = axis(A, Rank);
  llvm::sort(All);
  // A tensor without dims has an axis 0 and an axis -1, which are none.
  if (Rank == 0)
    All.clear();
  auto Twice = std::adjacent_find(All.begin(), All.end());
  if (Twice != All.end())
    fail(Code::ImportAttributeValue, std::string(Name) + " names axis " +
                                         std::to_string(*Twice) +
                                         " twice, expected different axes");
  return All;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Results one after another, lists flattened.
static SmallVector<std::string> resultNames(const Node &N) {
  SmallVector<std::string> Names;
  for (const Argument &A : N.Outputs)
    if (A.Is == Kind::Tensor || A.Is == Kind::Tensors)
      Names.append(A.Values.begin(), A.Values.end());
    else
      Names.emplace_back();
  return Names;
}

size_t NodeImport::resultCount() const { return resultNames(TheNode).size(); }

std::optional<Dims> NodeImport::declaredSizes(size_t I) {
  SmallVector<std::string> Names = resultNames(TheNode);
  const TensorMeta *M = I < Names.size() ? TheImporter.meta(Names[I]) : nullptr;
  if (!M && TheImporter.infers()) {
    std::optional<SmallVector<Dims>> All = inferSizes(*this);
    return All && I < All->size() ? std::optional((*All)[I]) : std::nullopt;
  }
  if (!M) {
    fail(Code::ImportMalformed,
         "the archive does not declare result " + std::to_string(I));
    return std::nullopt;
  }
  Dims Sizes;
  for (const Size &S : M->Sizes) {
    std::optional<Expr> E = TheImporter.sizeOf(S);
    // PyTorch gives the size of a slice of such a tensor a symbol of its own.
    if (std::string Own = loneSymbol(S.Text);
        !E && !Own.empty() && TheNode.Target == "aten.slice.Tensor") {
      std::optional<SmallVector<Dims>> All = inferSizes(*this);
      if (!All || I >= All->size() || Sizes.size() >= (*All)[I].size())
        return std::nullopt;
      E = (*All)[I][Sizes.size()];
      TheImporter.defineSymbol(Own, *E);
    }
    if (!E) {
      fail(Code::ImportUnsupported,
           "makes a tensor whose size data decides: " + printable(S.Text, 80));
      return std::nullopt;
    }
    Sizes.push_back(*E);
  }
  if (isComplexType(M->Type))
    Sizes.push_back(Expr(2));
  return Sizes;
}

std::optional<Expr> NodeImport::decideSize(Value Count, const Expr &AtMost,
                                           size_t I, size_t Axis) {
  SmallVector<std::string> Names = resultNames(TheNode);
  if (I >= Names.size())
    return std::nullopt;
  const TensorMeta *M = TheImporter.meta(Names[I]);
  const Size *Declared =
      M && Axis < M->Sizes.size() ? &M->Sizes[Axis] : nullptr;
  return TheImporter.decideSize(*this, Count, AtMost, Declared,
                                Names[I] + "_" + std::to_string(Axis));
}

std::optional<Expr> NodeImport::decideNumber(Value Number) {
  const Size *Declared = nullptr;
  std::string Name = TheNode.Name;
  for (const Argument &A : TheNode.Outputs)
    for (const std::string &Of : A.Values)
      if (const Size *S = TheImporter.declaredNumber(Of)) {
        Declared = S;
        Name = Of;
      }
  return TheImporter.decideSize(*this, Number, Expr(GreatestNumber), Declared,
                                Name);
}

Type NodeImport::declaredType(size_t I) {
  SmallVector<std::string> Names = resultNames(TheNode);
  const TensorMeta *M = I < Names.size() ? TheImporter.meta(Names[I]) : nullptr;
  if (!M && TheImporter.infers())
    return inferType(*this);
  Type Element = M ? graphType(B.getContext(), partsType(M->Type)) : Type();
  if (!Element)
    fail(Code::ImportElementType,
         "makes " + typeName(M ? M->Type : ScalarType::Unknown) +
             ", which kpc cannot compute with");
  return Element;
}

void NodeImport::result(size_t I, Value V) {
  SmallVector<std::string> Names = resultNames(TheNode);
  if (!V) {
    Failed = true;
    return;
  }
  if (I < Names.size() && !Names[I].empty() &&
      TheImporter.check(*this, Names[I], V))
    TheImporter.define(Names[I], V);
}

void NodeImport::undefined(size_t I) {
  SmallVector<std::string> Names = resultNames(TheNode);
  if (I < Names.size() && !Names[I].empty())
    TheImporter.leaveUndefined(Names[I]);
}

/// aten names the form of a view that has memory of its own "view_copy".
static bool isCopyOfView(const Node &N) {
  return StringRef(N.Target).rsplit('.').first.ends_with("_copy");
}

void NodeImport::view(size_t I, std::string_view Of, ForwardFunction Forward,
                      BackwardFunction Backward) {
  SmallVector<std::string> Names = resultNames(TheNode);
  const Argument *A = argument(Of);
  if (!A || A->Is != Kind::Tensor || I >= Names.size()) {
    give();
    return;
  }
  Value Whole = tensor(Of);
  Value V = Whole ? Forward(*this, Whole) : Value();
  if (!V) {
    Failed = true;
    return;
  }
  if (isCopyOfView(TheNode))
    return result(I, V);
  if (!Names[I].empty() && TheImporter.check(*this, Names[I], V))
    TheImporter.defineView(Names[I], V, A->Values[0], std::move(Forward),
                           std::move(Backward));
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Bools, integers, reals: a higher kind decides alone.
static int kindOf(Type T) {
  return graph::isFloat(T) ? 2 : graph::isBool(T) ? 0 : 1;
}

/// As c10's promoteTypes has it for two types of one kind.
static Type wider(Type A, Type C, MLIRContext *Context) {
  if (A == C)
    return A;
  unsigned Left = A.getIntOrFloatBitWidth(), Right = C.getIntOrFloatBitWidth();
  if (graph::isFloat(A))
    return Left != Right ? (Left > Right ? A : C)
                         : Type(Float32Type::get(Context));
  bool Unsigned = A.isUnsignedInteger(), Other = C.isUnsignedInteger();
  if (Unsigned == Other)
    return Left > Right ? A : C;
  unsigned Signed = Unsigned ? Right : Left, Free = Unsigned ? Left : Right;
  return IntegerType::get(Context, std::min(64U, std::max(Signed, 2 * Free)));
}

static Type promote(Type A, Type C, MLIRContext *Context) {
  if (!A || !C)
    return A ? A : C;
  if (kindOf(A) != kindOf(C))
    return kindOf(A) > kindOf(C) ? A : C;
  return wider(A, C, Context);
}

Type NodeImport::wider(Type A, Type C) { return promote(A, C, B.getContext()); }

Type NodeImport::promoted(std::string_view A, std::string_view C) {
  // Tensors with dims before scalars as tensors before plain numbers: a later
  // class counts only where its kind is higher.
  Type Classes[3];
  for (std::string_view Name : {A, C}) {
    const Argument *Given = argument(Name);
    if (!Given)
      continue;
    Type T;
    size_t Class = 2;
    if (Given->Is == Kind::Tensor) {
      Value V = tensor(Name);
      if (!V)
        return {};
      T = element(V);
      Class = rank(V) > 0 ? 0 : 1;
      // A trace keeps a plain number as a constant of rank 0, f64 or i64. It
      // counts as a number for PyTorch as well.
      if (Class == 1 && (T.isF64() || T.isInteger(64)) &&
          llvm::StringRef(Given->Values[0]).starts_with("CONSTANTS.c")) {
        Class = 2;
        T = T.isF64() ? f32() : T;
      }
    } else {
      T = Given->Is == Kind::Float  ? f32()
          : Given->Is == Kind::Bool ? i1()
                                    : i64();
    }
    Classes[Class] = promote(Classes[Class], T, B.getContext());
  }
  Type Result;
  for (Type T : Classes)
    if (T && (!Result || kindOf(T) > kindOf(Result)))
      Result = T;
  return Result;
}

Type NodeImport::wide(Value X) {
  Type T = element(X);
  return T.isF16() || T.isBF16() ? f32() : T;
}

} // namespace kpc::torch
