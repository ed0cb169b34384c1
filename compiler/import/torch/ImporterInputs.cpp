//===- ImporterInputs.cpp - Inputs and weights of a program ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How the placeholders of a program become arguments of the graph's function,
/// and its parameters, buffers and constants become weights that stay in the
/// archive.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/Triangles.h"
#include "compiler/import/torch/Importer.h"

using namespace mlir;
using namespace kpc::graph;

namespace kpc::torch {

Value Importer::inputArgument(const std::string &Name, const TensorMeta &M,
                              const std::string &Shown) {
  auto Refuse = [&](Code C, const std::string &Why) {
    Diags.error(C).message("the program's input '" + printable(Shown) + "' " +
                           Why);
    Lost.insert(Name);
    return Value();
  };
  Type Element = graphType(B.getContext(), M.Type);
  if (!Element)
    return Refuse(Code::ImportElementType,
                  "has " + typeName(M.Type) +
                      ", which kpc cannot compute with" +
                      (isComplexType(M.Type)
                           ? "; take a real tensor with a last size of 2, and "
                             "view_as_complex it"
                           : ""));
  Dims Sizes;
  for (const Size &S : M.Sizes) {
    std::optional<Expr> E = sizeOf(S);
    if (!E)
      return Refuse(Code::ImportBadDims, "has the size " +
                                             printable(S.Text, 80) +
                                             ", which kpc cannot read");
    Sizes.push_back(*E);
  }
  SymbolicTensorType Ty = frontend::checkedType(Sizes, Element);
  if (!Ty)
    return Refuse(Code::ImportBadDims, "has the sizes " + dimsText(Sizes) +
                                           ", which no tensor can have");
  Location At = NameLoc::get(B.getStringAttr(printable(Shown)));
  Signature.push_back(Shown);
  return Main.getBody().front().addArgument(Ty, At);
}

std::optional<Weight> packed(const Payload &P, std::string Element) {
  Weight W;
  W.ElementType = std::move(Element);
  W.Keep = P.Keep;
  uint64_t Bytes = bytesOf(P.Meta.Type), Count = 1, Last = 0;
  std::vector<int64_t> Strides;
  bool Dense = true;
  for (size_t I = P.Meta.Sizes.size(); I-- > 0;) {
    int64_t Size = P.Meta.Sizes[I].Number, Stride = P.Meta.Strides[I].Number;
    if (Size < 0 || Stride < 0 || !P.Meta.Sizes[I].Text.empty() ||
        Size >= (int64_t(1) << 40) || Stride >= (int64_t(1) << 40))
      return std::nullopt;
    Dense &= Size == 1 || static_cast<uint64_t>(Stride) == Count;
    W.Dims.insert(W.Dims.begin(), Size);
    Strides.insert(Strides.begin(), Stride);
    if (Size > 0 && __builtin_mul_overflow(Count, uint64_t(Size), &Count))
      return std::nullopt;
    if (Size == 0)
      Count = 0;
    uint64_t Reach = 0;
    if (Size > 0 &&
        (__builtin_mul_overflow(uint64_t(Size - 1), uint64_t(Stride), &Reach) ||
         __builtin_add_overflow(Last, Reach, &Last)))
      return std::nullopt;
  }
  uint64_t Start = static_cast<uint64_t>(P.Meta.Offset.Number), End = 0;
  if (P.Meta.Offset.Number < 0 ||
      __builtin_add_overflow(Start, Last + 1, &End) ||
      __builtin_mul_overflow(End, Bytes, &End))
    return std::nullopt;
  if (Count == 0)
    return W;
  if (End > P.Bytes.size())
    return std::nullopt;
  if (Dense) {
    W.Bytes = P.Bytes.subspan(Start * Bytes, Count * Bytes);
    return W;
  }
  // An expanded tensor repeats what a short storage holds: bounded by need.
  if (Count * Bytes > (uint64_t(1) << 34))
    return std::nullopt;
  auto Copy = std::make_shared<std::vector<uint8_t>>(Count * Bytes);
  std::vector<int64_t> At(W.Dims.size(), 0);
  for (uint64_t I = 0; I < Count; ++I) {
    uint64_t From = Start;
    for (size_t A = 0; A < At.size(); ++A)
      From += static_cast<uint64_t>(At[A] * Strides[A]);
    std::memcpy(Copy->data() + I * Bytes, P.Bytes.data() + From * Bytes, Bytes);
    for (size_t A = At.size(); A-- > 0;) {
      if (++At[A] < W.Dims[A])
        break;
      At[A] = 0;
    }
  }
  W.Bytes = {Copy->data(), Copy->size()};
  W.Keep = Copy;
  return W;
}

Value Importer::build(const Payload &Data, const std::string &Name,
                      NodeImport &Reader) {
  Type Element = graphType(B.getContext(), Data.Meta.Type);
  if (!Element)
    return Reader.fail(Code::ImportElementType,
                       "the tensor '" + printable(Name) + "' has " +
                           typeName(Data.Meta.Type) +
                           ", which kpc cannot compute with");
  std::optional<Weight> W = packed(Data, typeText(Element));
  if (!W)
    return Reader.fail(Code::ImportExternalRange,
                       "the tensor '" + printable(Name) +
                           "' lies outside of its " +
                           std::to_string(Data.Bytes.size()) + " bytes");
  uint64_t Count = W->Bytes.size() / bytesOf(Data.Meta.Type);
  if (Count > 0 && Count <= 64) {
    auto Ty = RankedTensorType::get(W->Dims, Element);
    if (isBool(Element)) {
      SmallVector<bool> Bits;
      for (uint8_t V : W->Bytes)
        Bits.push_back(V != 0);
      return Reader.constant(DenseElementsAttr::get(Ty, Bits));
    }
    return Reader.constant(DenseElementsAttr::getFromRawBuffer(
        Ty,
        {reinterpret_cast<const char *>(W->Bytes.data()), W->Bytes.size()}));
  }
  if (Value Mask = frontend::triangleOf(Reader, *W, Element))
    return Mask;
  Dims Sizes(W->Dims.begin(), W->Dims.end());
  std::string Shape = typeText(Element) + dimsText(Sizes);
  std::string &Source = Sources[{W->Bytes.data(), Shape}];
  if (Source.empty()) {
    Source = ModelName + "#" + printable(Name);
    Weights.add(Source, *W);
  }
  return Reader.buildSized(WeightOp::getOperationName(), {},
                           {B.getNamedAttr("source", B.getStringAttr(Source)),
                            B.getNamedAttr("recipe", B.getArrayAttr({}))},
                           Sizes, Element);
}

/// A complex tensor as a real one with a last dimension of 2.
static Payload asPairs(Payload P) {
  P.Meta.Type = partsType(P.Meta.Type);
  auto Twice = [](int64_t &N) {
    // What overflows lies outside of any bytes.
    if (__builtin_mul_overflow(N, int64_t(2), &N))
      N = INT64_MAX;
  };
  for (Size &Stride : P.Meta.Strides)
    Twice(Stride.Number);
  Twice(P.Meta.Offset.Number);
  P.Meta.Sizes.push_back({2, ""});
  P.Meta.Strides.push_back({1, ""});
  return P;
}

void Importer::addPayload(const InputSpec &S) {
  const std::string &Name = S.Value.Values.front();
  // In front of loops and branches: others read it as well.
  mlir::OpBuilder::InsertionGuard Guard(B);
  if (Operation *Holder = Main.getBody().findAncestorOpInRegion(
          *B.getInsertionBlock()->getParentOp());
      Holder && B.getInsertionBlock() != &Main.getBody().front())
    B.setInsertionPoint(Holder);
  Node Reader;
  Reader.Name = S.Target.empty() ? Name : S.Target;
  Reader.Target = "weight";
  NodeImport Import(*this, Reader, B,
                    NameLoc::get(B.getStringAttr(printable(Reader.Name))));
  auto It = P.Payloads.find(S.Target);
  Value V;
  if (It == P.Payloads.end())
    Import.fail(Code::ImportExternalMissing,
                "the archive has no data for the tensor '" +
                    printable(S.Target) + "'");
  else if (isComplexType(It->second.Meta.Type)) {
    Complex.insert(Name);
    V = build(asPairs(It->second), S.Target, Import);
  } else
    V = build(It->second, S.Target, Import);
  if (V)
    define(Name, V);
  else
    Lost.insert(Name);
}

/// Names that nodes or outputs read.
static void collectReads(const Graph &G, std::set<std::string> &Names) {
  auto Add = [&](const std::vector<Argument> &Args) {
    for (const Argument &A : Args) {
      Names.insert(A.Values.begin(), A.Values.end());
      if (A.Sub)
        collectReads(*A.Sub, Names);
    }
  };
  Add(G.Outputs);
  for (const Node &N : G.Nodes)
    Add(N.Inputs);
}

void Importer::addInputs() {
  collectReads(P.Main, Read);
  // The signature says which values leave the program.
  for (const OutputSpec &S : P.Outputs)
    Read.insert(S.Value.Values.begin(), S.Value.Values.end());
  auto AddArgument = [&](const InputSpec &S) {
    const std::string &Name = S.Value.Values.front();
    const TensorMeta *M = meta(Name);
    const std::string &Shown = isTensorInput(S) ? Name : S.Target;
    if (Value V = M ? inputArgument(Name, *M, Shown) : Value())
      define(Name, V);
  };
  // The user's inputs first, then the state.
  for (const InputSpec &S : P.Inputs)
    if (isTensorInput(S))
      AddArgument(S);
  for (const InputSpec &S : P.Inputs) {
    if (S.Value.Values.empty() || isTensorInput(S))
      continue;
    const std::string &Name = S.Value.Values.front();
    if (State.count(S.Target)) {
      AddArgument(S);
      continue;
    }
    // What nothing reads needs no data, as counters of batches.
    if (S.Is == InputSpec::Kind::Parameter || S.Is == InputSpec::Kind::Buffer ||
        S.Is == InputSpec::Kind::Constant) {
      if (Read.count(Name))
        addPayload(S);
    } else if (S.Is == InputSpec::Kind::CustomObject && Read.count(Name)) {
      Diags.error(Code::ImportValueType)
          .message("the program holds a custom object, '" + printable(Name) +
                   "', but kpc takes tensors");
      Lost.insert(Name);
    }
  }
}

} // namespace kpc::torch
