//===- SessionTensors.cpp - The caller's tensors and the model's ports ----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/format/ElementType.h"
#include "runtime/src/Session.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

namespace kpc::rt {

/// "f32[batch, 4]"
static std::string signature(const PortInfo &P) {
  std::string Out = std::string(elementTypeName(P.Type)) + "[";
  for (size_t I = 0; I < P.Texts.size(); ++I)
    Out += (I ? ", " : "") + P.Texts[I];
  return Out + "]";
}

static std::string dimsText(const kpc_tensor &T) {
  std::string Out = "[";
  for (int32_t I = 0; I < T.rank; ++I)
    Out += (I ? ", " : "") + std::to_string(T.dims[I]);
  return Out + "]";
}

// Fills `Out` in the order of the ports. Callers mostly keep that order, so the
// search begins at the same position.
Status Session::match(std::span<const PortInfo> Ports, Tensors From,
                      std::vector<Given> &Out, const char *What) {
  std::fill(Out.begin(), Out.end(), Given());
  for (size_t I = 0; I < From.size(); ++I) {
    const char *Name = From[I].name;
    if (!Name)
      return failure(ErrorCode::InvalidArgument, "%s %zu has no name", What, I);
    size_t Found = 0;
    if (I < Ports.size() && std::strcmp(Ports[I].Name, Name) == 0)
      Found = I;
    else
      while (Found < Ports.size() && std::strcmp(Ports[Found].Name, Name) != 0)
        ++Found;
    if (Found == Ports.size()) {
      Error E = failure(ErrorCode::UnknownName, "the model has no %s '%s'",
                        What, Name);
      for (const PortInfo &P : Ports)
        E.Hint += (E.Hint.empty() ? "it has " : ", ") + std::string(P.Name) +
                  " " + signature(P);
      return E;
    }
    if (Out[Found].Tensor)
      return failure(ErrorCode::InvalidArgument, "%s '%s' is given twice", What,
                     Name);
    Out[Found].Tensor = &From[I].tensor;
  }
  for (size_t I = 0; I < Ports.size(); ++I)
    if (!Out[I].Tensor)
      return failure(ErrorCode::Missing, "%s '%s' %s is not given", What,
                     Ports[I].Name, signature(Ports[I]).c_str());
  return success();
}

bool Session::isLocal(const kpc_tensor &T) const {
  if (TheDevice->isHost())
    return true;
  return T.device.kind == KPC_DEVICE_CUDA;
}

// DLPack numbers pinned host memory 3 and managed memory 13: the host reaches
// both.
bool Session::isReachable(const kpc_tensor &T) const {
  int32_t Kind = T.device.kind;
  if (Kind == 0 || Kind == KPC_DEVICE_HOST || Kind == 3 || Kind == 13)
    return true;
  return Kind == KPC_DEVICE_CUDA && !TheDevice->isHost() &&
         T.device.ordinal == TheDevice->where().ordinal;
}

Status Session::checkTensor(const PortInfo &P, const kpc_tensor &T) const {
  if (T.type != int32_t(P.Type))
    return failure(ErrorCode::WrongType, "'%s' is %s, expected %s", P.Name,
                   kpc_element_name(T.type), signature(P).c_str());
  bool Good = T.rank == int32_t(P.Dims.size()) && (T.rank == 0 || T.dims);
  if (!Good)
    return failure(ErrorCode::WrongShape, "'%s' has rank %d, expected %s",
                   P.Name, T.rank, signature(P).c_str());
  bool Empty = false;
  for (int32_t I = 0; I < T.rank; ++I) {
    Good &= T.dims[I] >= 0;
    Empty |= T.dims[I] == 0;
  }
  if (!Good)
    return failure(ErrorCode::WrongShape, "'%s' has dims %s, one is negative",
                   P.Name, dimsText(T).c_str());
  if (!T.data && !Empty)
    return failure(ErrorCode::InvalidArgument, "'%s' has no data", P.Name);
  if (!isReachable(T))
    return failure(ErrorCode::WrongDevice,
                   "'%s' is on a device of kind %d, number %d; the session "
                   "runs on kind %d, number %d",
                   P.Name, T.device.kind, T.device.ordinal,
                   TheDevice->where().kind, TheDevice->where().ordinal);
  return success();
}

static Error contradiction(const PortInfo &P, const kpc_tensor &T, int32_t Axis,
                           std::optional<int64_t> Expected) {
  std::string Value = Expected ? " = " + std::to_string(*Expected) : "";
  return failure(ErrorCode::WrongShape,
                 "'%s' has dims %s, but dim %d must be %s%s (%s)", P.Name,
                 dimsText(T).c_str(), Axis, P.Texts[size_t(Axis)].c_str(),
                 Expected && P.Texts[size_t(Axis)] != std::to_string(*Expected)
                     ? Value.c_str()
                     : "",
                 signature(P).c_str());
}

// Whether all symbols of an expression are known.
bool Session::isReady(const format::Expr &E) const {
  const auto &Words = *E.words();
  for (uint32_t I = 0; I < Words.size(); ++I) {
    format::Op Code = format::Op(Words.Get(I));
    if (Code != format::Op::Constant && Code != format::Op::Symbol)
      continue;
    ++I;
    if (Code == format::Op::Symbol && !Known[size_t(Words.Get(I))])
      return false;
  }
  return true;
}

// Learns symbols from one input's dims; `Open`: some dim is not yet decided.
Status Session::unifyPort(const PortInfo &P, const kpc_tensor &T,
                          bool &Progress, bool &Open) {
  for (int32_t Axis = 0; Axis < T.rank; ++Axis) {
    const format::Expr &E = *P.Exprs[size_t(Axis)];
    int64_t Dim = T.dims[Axis];
    if (std::optional<uint32_t> Symbol = asSymbol(E)) {
      if (!Known[*Symbol]) {
        Known[*Symbol] = 1;
        Symbols[*Symbol] = Dim;
        Progress = true;
      } else if (Symbols[*Symbol] != Dim) {
        return contradiction(P, T, Axis, Symbols[*Symbol]);
      }
      continue;
    }
    if (std::optional<Solution> Solved = solve(E, Dim, Symbols, Known)) {
      Known[Solved->Symbol] = 1;
      Symbols[Solved->Symbol] = Solved->Value;
      Progress = true;
      continue;
    }
    if (!isReady(E)) {
      Open = true;
      continue;
    }
    std::optional<int64_t> Expected = evaluate(E, Symbols);
    if (Expected != Dim)
      return contradiction(P, T, Axis, Expected);
  }
  return success();
}

// Known from the start is what the device says.
void Session::startSymbols() {
  for (size_t I = 0; I < Symbols.size(); ++I) {
    std::optional<int64_t> Fact = TheDevice->fact(TheModel->symbol(I).source());
    Known[I] = Fact.has_value();
    Open[I] = TheModel->symbol(I).source() == format::SymbolSource::Data;
    Symbols[I] = Fact.value_or(0);
  }
}

Status Session::unifySymbols() {
  startSymbols();
  bool Open = true, Progress = true, Completed = false;
  while (Open) {
    if (!Progress) {
      if (Completed) // dims that no value of the symbols gives
        return failure(ErrorCode::WrongShape,
                       "the dims of the inputs fit no choice of the model's "
                       "dims");
      if (Status S = completeSymbols(); !S)
        return S;
      Completed = true;
    }
    Open = Progress = false;
    for (size_t I = 0; I < Inputs.size(); ++I)
      if (Status S = unifyPort(TheModel->inputs()[I], *Inputs[I].Tensor,
                               Progress, Open);
          !S)
        return S;
    if (Status S = unifyInputValues(Progress, Open); !S)
      return S;
  }
  return completeSymbols();
}

// Symbols that no input decides: one possible value, or what was prepared.
Status Session::completeSymbols() {
  for (uint32_t I = 0; I < Symbols.size(); ++I) {
    if (Known[I])
      continue;
    if (Open[I]) {
      Symbols[I] = 0;
      continue;
    }
    const format::Symbol *S = TheModel->table().symbols()->Get(I);
    // A fact of another kind of device: no plan for this one names it.
    if (S->min() == S->max() || S->source() != format::SymbolSource::Dim)
      Symbols[I] = S->min();
    else if (Prepared[I])
      Symbols[I] = *Prepared[I];
    else
      return failure(ErrorCode::Missing,
                     "nothing says what dim '%s' is: give it to prepare",
                     format::printable(S->name()).c_str());
    Known[I] = 1;
  }
  return success();
}

// Whether a tensor for an output whose size data decides has room for it; it
// may have more.
Status Session::checkRoom(const PortInfo &P, const kpc_tensor &T,
                          const Binding::PortShape &Shape) const {
  uint64_t Elements = 1, Bits = 0;
  for (int32_t Axis = 0; Axis < T.rank; ++Axis)
    if (__builtin_mul_overflow(Elements, uint64_t(T.dims[Axis]), &Elements))
      Elements = UINT64_MAX;
  // The last elements of 4 or 2 bits may fill a part of a byte.
  if (__builtin_mul_overflow(Elements, uint64_t(bitWidth(P.Type)), &Bits) ||
      Bits / 8 + (Bits % 8 != 0) >= Shape.Bytes)
    return success();
  std::string Needed;
  for (int64_t Dim : Shape.Dims)
    Needed += (Needed.empty() ? "" : ", ") + std::to_string(Dim);
  Error E = failure(ErrorCode::TooSmall,
                    "'%s' has dims %s, but the data decides [%s]", P.Name,
                    dimsText(T).c_str(), Needed.c_str());
  E.Hint = "give a tensor of the dims that kpc_session_output_dims tells after "
           "kpc_session_prepare, or let kpc_session_run_owned make it";
  return E;
}

Status Session::checkOutputs() const {
  for (size_t I = 0; I < TheModel->callersOutputs().size(); ++I) {
    const PortInfo &P = TheModel->outputs()[I];
    const Binding::PortShape &Shape = Current->Plan->Outputs[I];
    if (!Outputs[I].Tensor) // the library makes it when its size is known
      continue;
    const kpc_tensor &T = *Outputs[I].Tensor;
    if (Status S = checkTensor(P, T); !S)
      return S;
    if (Shape.Open)
      continue;
    bool OfData = false;
    for (int32_t Axis = 0; Axis < T.rank; ++Axis) {
      OfData |= P.OfData[size_t(Axis)] != 0;
      if (!P.OfData[size_t(Axis)] && T.dims[Axis] != Shape.Dims[size_t(Axis)])
        return contradiction(P, T, Axis, Shape.Dims[size_t(Axis)]);
    }
    if (OfData)
      if (Status S = checkRoom(P, T, Shape); !S)
        return S;
  }
  return checkOverlap();
}

static bool overlap(const void *A, uint64_t SizeA, const void *B,
                    uint64_t SizeB) {
  uintptr_t BeginA = uintptr_t(A), BeginB = uintptr_t(B);
  return SizeA && SizeB && BeginA < BeginB + SizeB && BeginB < BeginA + SizeA;
}

Status Session::checkOverlap() const {
  const Binding &Plan = *Current->Plan;
  for (size_t I = 0; I < TheModel->callersOutputs().size(); ++I) {
    if (!Outputs[I].Tensor)
      continue;
    const void *Data = Outputs[I].Tensor->data;
    uint64_t Bytes = Plan.Outputs[I].Bytes;
    const PortInfo &P = TheModel->outputs()[I];
    for (size_t J = 0; J < Inputs.size(); ++J) {
      const void *Other = Inputs[J].Tensor->data;
      bool Allowed = P.Table->alias() == int64_t(J) && Data == Other;
      if (!Allowed && overlap(Data, Bytes, Other, Plan.Inputs[J].Bytes))
        return failure(ErrorCode::InvalidArgument,
                       "output '%s' overlaps input '%s'", P.Name,
                       TheModel->inputs()[J].Name);
    }
    for (size_t J = 0; J < I; ++J)
      if (Outputs[J].Tensor &&
          overlap(Data, Bytes, Outputs[J].Tensor->data, Plan.Outputs[J].Bytes))
        return failure(ErrorCode::InvalidArgument,
                       "output '%s' overlaps output '%s'", P.Name,
                       TheModel->outputs()[J].Name);
  }
  return success();
}

Result<std::span<const int64_t>> Session::valueDims(size_t Index) {
  const Bound *Of = Ran ? Ran : Current;
  if (!Of)
    return failure(ErrorCode::Missing,
                   "no shape is bound: prepare or run first");
  return std::span<const int64_t>(Of->Plan->Values[Index].Dims);
}

// Copies elements stored in another order of dims to the model's order.
static void permute(const uint8_t *From, uint8_t *To, size_t ElementBytes,
                    std::span<const int64_t> Dims,
                    const flatbuffers::Vector<uint8_t> &Order) {
  size_t Rank = Dims.size();
  int64_t Strides[format::MaxRank]; // of dim d in the stored order, in elements
  int64_t Total = 1;
  for (size_t I = Rank; I-- > 0;) {
    uint8_t Dim = Order.Get(uint32_t(I));
    Strides[Dim] = Total;
    Total *= Dims[Dim];
  }
  int64_t Index[format::MaxRank] = {}, At = 0;
  for (int64_t N = 0; N < Total; ++N) {
    std::memcpy(To, From + At * int64_t(ElementBytes), ElementBytes);
    To += ElementBytes;
    for (size_t D = Rank; D-- > 0;) {
      At += Strides[D];
      if (++Index[D] < Dims[D])
        break;
      At -= Strides[D] * Dims[D];
      Index[D] = 0;
    }
  }
}

Status Session::readValue(size_t Index, void *Data, uint64_t Size) {
  if (!Options.KeepValues)
    return failure(ErrorCode::InvalidArgument,
                   "the session does not keep intermediate values");
  if (!Ran)
    return failure(ErrorCode::Missing, "nothing was run");
  const format::Value &V = value(Index);
  const Binding::ValueShape &Shape = Ran->Plan->Values[Index];
  if (Size != Shape.At.Length)
    return failure(ErrorCode::TooSmall,
                   "value '%s' has %" PRIu64 " bytes, %" PRIu64 " are given",
                   format::printable(V.name()).c_str(), Shape.At.Length, Size);
  if (Size == 0)
    return success();
  const uint8_t *From = nullptr;
  switch (Shape.At.Where) {
  case Base::Input:
    From = static_cast<uint8_t *>(InputAddresses[Shape.At.Index]);
    break;
  case Base::Output:
    From = static_cast<uint8_t *>(OutputAddresses[Shape.At.Index]);
    break;
  case Base::Weight:
    From = static_cast<const uint8_t *>(TheDevice->weight(Shape.At.Index));
    break;
  case Base::Arena:
    From = static_cast<uint8_t *>(Arena);
    break;
  case Base::Scratch: // holds no values of a plan
    break;
  }
  int Bits = bitWidth(ElementType(V.type()));
  bool Permuted = format::count(V.order()) != 0;
  if (Permuted && Bits < 8)
    return failure(ErrorCode::InvalidArgument,
                   "value '%s' has elements of %d bits in another order of "
                   "dims, which cannot be read",
                   format::printable(V.name()).c_str(), Bits);
  std::vector<uint8_t> Stored(Permuted ? Size : 0);
  if (Status S = TheDevice->copy(Permuted ? Stored.data() : Data,
                                 From + Shape.At.Offset, Size, nullptr);
      !S)
    return S;
  if (Status S = TheDevice->wait(nullptr); !S)
    return S;
  if (Permuted)
    permute(Stored.data(), static_cast<uint8_t *>(Data), size_t(Bits / 8),
            Shape.Dims, *V.order());
  return success();
}

} // namespace kpc::rt
