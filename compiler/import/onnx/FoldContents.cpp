//===- FoldContents.cpp - Shape arithmetic on contents --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/FoldContents.h"
#include "compiler/import/onnx/Importer.h"

#include <cmath>

namespace kpc::onnx {

size_t broadcastIndex(size_t Flat, const std::vector<int64_t> &Sizes,
                      const std::vector<int64_t> &Dims) {
  size_t Index = 0, Stride = 1;
  for (size_t I = 0; I < Sizes.size(); ++I) {
    auto Size = static_cast<size_t>(Sizes[Sizes.size() - 1 - I]);
    size_t At = Size ? Flat % Size : 0;
    Flat = Size ? Flat / Size : 0;
    if (I < Dims.size()) {
      auto Own = static_cast<size_t>(Dims[Dims.size() - 1 - I]);
      Index += (Own == 1 ? 0 : At) * Stride;
      Stride *= Own;
    }
  }
  return Index;
}

std::optional<std::vector<int64_t>>
broadcastDims(const std::vector<int64_t> &A, const std::vector<int64_t> &B) {
  std::vector<int64_t> Result(std::max(A.size(), B.size()), 1);
  for (size_t I = 0; I < Result.size(); ++I) {
    int64_t SizeA = I < A.size() ? A[A.size() - 1 - I] : 1;
    int64_t SizeB = I < B.size() ? B[B.size() - 1 - I] : 1;
    if (SizeA != SizeB && SizeA != 1 && SizeB != 1)
      return std::nullopt;
    Result[Result.size() - 1 - I] = SizeA == 1 ? SizeB : SizeA;
  }
  return Result;
}

/// Values that fit an integer type; wider ones wrap there, which expressions
/// do not model.
static bool fits(const Expr &E, ElementType T) {
  std::optional<int64_t> V = E.asConstant();
  if (!V)
    return !E.overflowed();
  unsigned Bits = elementBits(T);
  bool Unsigned = T == ElementType::Uint8 || T == ElementType::Uint16 ||
                  T == ElementType::Uint32 || T == ElementType::Uint64 ||
                  T == ElementType::Uint4 || T == ElementType::Uint2;
  if (T == ElementType::Bool)
    return *V == 0 || *V == 1;
  if (Unsigned)
    return *V >= 0 && (Bits >= 63 || *V < (int64_t(1) << Bits));
  return Bits >= 64 ||
         (*V >= -(int64_t(1) << (Bits - 1)) && *V < (int64_t(1) << (Bits - 1)));
}

bool finishContents(NodeImport &N, Contents C) {
  if (C.count() > static_cast<size_t>(Contents::MostElements))
    return false;
  for (const Expr &E : C.Whole)
    if (!fits(E, C.Type))
      return false;
  N.result(0, std::move(C));
  return true;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

static std::optional<Expr> wholeResult(NodeImport &N, std::string_view Op,
                                       const Expr &A, const Expr &B) {
  const shape::Facts &Facts = N.importer().facts();
  std::optional<int64_t> P = A.asConstant(), Q = B.asConstant();
  if (Op == "Add")
    return A + B;
  if (Op == "Sub")
    return A - B;
  if (Op == "Mul")
    return A * B;
  if (Op == "Min")
    return Expr::min(A, B);
  if (Op == "Max")
    return Expr::max(A, B);
  if (Op == "Div" || Op == "Mod") {
    if (P && Q) {
      if (*Q == 0 || *P == INT64_MIN)
        return std::nullopt;
      // ONNX divides toward zero; its modulus has the divisor's sign.
      int64_t Rest = *P % *Q;
      if (Rest != 0 && (Rest < 0) != (*Q < 0))
        Rest += *Q;
      return Op == "Div" ? Expr(*P / *Q) : Expr(Rest);
    }
    // Toward zero and down are the same for what is not negative.
    if (Facts.range(A).Min < 0 || Facts.range(B).Min < 1)
      return std::nullopt;
    return Op == "Div" ? A.floorDiv(B) : A.mod(B);
  }
  std::optional<bool> Equal = Facts.isEqual(A, B);
  std::optional<bool> LessEqual = Facts.isLessOrEqual(A, B);
  std::optional<bool> GreaterEqual = Facts.isLessOrEqual(B, A);
  auto Bool = [](std::optional<bool> V, bool Flip) -> std::optional<Expr> {
    if (!V)
      return std::nullopt;
    return Expr(*V != Flip ? 1 : 0);
  };
  if (Op == "Equal")
    return Bool(Equal, false);
  if (Op == "LessOrEqual")
    return Bool(LessEqual, false);
  if (Op == "GreaterOrEqual")
    return Bool(GreaterEqual, false);
  if (Op == "Less")
    return Bool(GreaterEqual, true);
  if (Op == "Greater")
    return Bool(LessEqual, true);
  return std::nullopt;
}

static std::optional<double> realResult(std::string_view Op, double A,
                                        double B) {
  if (Op == "Add")
    return A + B;
  if (Op == "Sub")
    return A - B;
  if (Op == "Mul")
    return A * B;
  if (Op == "Div")
    return A / B;
  return std::nullopt;
}

bool foldBinary(NodeImport &N) {
  if (N.inputCount() != 2 || N.hasAttribute("axis") || N.hasAttribute("fmod"))
    return false;
  N.ignoreAttribute("broadcast");
  const Contents &A = *N.contents(0), &B = *N.contents(1);
  std::optional<std::vector<int64_t>> Dims = broadcastDims(A.Dims, B.Dims);
  std::optional<int64_t> Count = Dims ? elementCount(*Dims) : std::nullopt;
  if (!Count || *Count > Contents::MostElements || A.Type != B.Type)
    return false;
  std::string_view Op = N.node().Op;
  Contents C;
  C.Dims = *Dims;
  bool Compares =
      Op == "Equal" || Op.starts_with("Less") || Op.starts_with("Greater");
  C.Type = Compares ? ElementType::Bool : A.Type;
  for (size_t I = 0; I < static_cast<size_t>(*Count); ++I) {
    size_t IA = broadcastIndex(I, C.Dims, A.Dims);
    size_t IB = broadcastIndex(I, C.Dims, B.Dims);
    if (A.isReal()) {
      // Other types round in ways that double does not.
      std::optional<double> V = realResult(Op, A.Real[IA], B.Real[IB]);
      if (!V || A.Type == ElementType::Float16 ||
          A.Type == ElementType::Bfloat16)
        return false;
      C.Real.push_back(A.Type == ElementType::Float ? static_cast<float>(*V)
                                                    : *V);
    } else {
      std::optional<Expr> V = wholeResult(N, Op, A.Whole[IA], B.Whole[IB]);
      if (!V)
        return false;
      C.Whole.push_back(*V);
    }
  }
  return finishContents(N, std::move(C));
}

bool foldWhere(NodeImport &N) {
  const Contents &If = *N.contents(0), &A = *N.contents(1), &B = *N.contents(2);
  std::optional<std::vector<int64_t>> Bits = If.integers();
  if (!Bits || If.Dims != A.Dims || A.Dims != B.Dims || A.Type != B.Type ||
      A.isReal())
    return false;
  Contents C = A;
  for (size_t I = 0; I < Bits->size(); ++I)
    if (!(*Bits)[I])
      C.Whole[I] = B.Whole[I];
  return finishContents(N, std::move(C));
}

bool foldNot(NodeImport &N) {
  Contents C = *N.contents(0);
  for (Expr &E : C.Whole) {
    if (!E.isConstant())
      return false;
    E = Expr(E == Expr(0) ? 1 : 0);
  }
  return finishContents(N, std::move(C));
}

bool foldReduce(NodeImport &N) {
  const Contents &X = *N.contents(0);
  if (X.Dims.size() != 1 || X.isReal() || X.Whole.empty())
    return false;
  if (N.hasInput(1)) {
    std::optional<std::vector<int64_t>> Axes = N.contents(1)->integers();
    if (!Axes || Axes->size() != 1)
      return false;
  }
  std::string_view Op = N.node().Op;
  Expr Sum = X.Whole[0];
  for (size_t I = 1; I < X.Whole.size(); ++I) {
    const Expr &E = X.Whole[I];
    Sum = Op == "ReduceProd"  ? Sum * E
          : Op == "ReduceSum" ? Sum + E
          : Op == "ReduceMax" ? Expr::max(Sum, E)
                              : Expr::min(Sum, E);
  }
  Contents C;
  C.Type = X.Type;
  if (N.flagAttribute("keepdims", true))
    C.Dims = {1};
  N.ignoreAttribute("noop_with_empty_axes");
  C.Whole = {Sum};
  return finishContents(N, std::move(C));
}

bool foldRound(NodeImport &N) {
  Contents C = *N.contents(0);
  if (!C.isReal())
    return false;
  for (double &V : C.Real)
    V = N.node().Op == "Floor" ? std::floor(V) : std::ceil(V);
  return finishContents(N, std::move(C));
}

} // namespace kpc::onnx
