//===- SessionValues.cpp - Sizes that are elements of inputs --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/format/ElementType.h"
#include "runtime/src/Session.h"

#include <cinttypes>
#include <cmath>
#include <cstring>

namespace kpc::rt {

template <class T> static T loadAs(const void *Bytes) {
  T Value;
  std::memcpy(&Value, Bytes, sizeof Value);
  return Value;
}

// None of a float that is no integer, and of what int64_t does not hold.
static std::optional<int64_t> wholeOf(double Value) {
  constexpr double Limit = 9007199254740992.0; // 2^53: exact up to here
  if (!(std::fabs(Value) <= Limit) || Value != std::trunc(Value))
    return std::nullopt;
  return int64_t(Value);
}

static std::optional<int64_t> decode(ElementType Type, const void *Bytes) {
  switch (Type) {
  case ElementType::Bool:
    return loadAs<uint8_t>(Bytes) != 0;
  case ElementType::I8:
    return loadAs<int8_t>(Bytes);
  case ElementType::U8:
    return loadAs<uint8_t>(Bytes);
  case ElementType::I16:
    return loadAs<int16_t>(Bytes);
  case ElementType::U16:
    return loadAs<uint16_t>(Bytes);
  case ElementType::I32:
    return loadAs<int32_t>(Bytes);
  case ElementType::U32:
    return loadAs<uint32_t>(Bytes);
  case ElementType::I64:
    return loadAs<int64_t>(Bytes);
  case ElementType::U64: {
    uint64_t Value = loadAs<uint64_t>(Bytes);
    return Value > uint64_t(INT64_MAX) ? std::nullopt
                                       : std::optional(int64_t(Value));
  }
  case ElementType::F32:
    return wholeOf(double(loadAs<float>(Bytes)));
  case ElementType::F64:
    return wholeOf(loadAs<double>(Bytes));
  default:
    return std::nullopt;
  }
}

// What lies on the device is read back, all of it with one wait.
Status Session::readInputValues(void *Stream) {
  const std::vector<InputValueInfo> &All = TheModel->inputValues();
  bool Waits = false;
  for (size_t I = 0; I < All.size(); ++I) {
    const kpc_tensor &T = *Inputs[All[I].Table->input()].Tensor;
    size_t Size =
        size_t(bitWidth(TheModel->inputs()[All[I].Table->input()].Type)) / 8;
    const auto *From =
        static_cast<const uint8_t *>(T.data) + All[I].Table->element() * Size;
    // The dims may still be others than the model's.
    int64_t Count = 1;
    for (int32_t Axis = 0; Axis < T.rank; ++Axis)
      if (__builtin_mul_overflow(Count, T.dims[Axis], &Count))
        Count = INT64_MAX;
    if (Count <= int64_t(All[I].Table->element()))
      return failure(ErrorCode::WrongShape,
                     "'%s' has %" PRId64
                     " elements, but the model reads its element %u as a size",
                     TheModel->inputs()[All[I].Table->input()].Name, Count,
                     All[I].Table->element());
    if (TheDevice->isHost() || T.device.kind != KPC_DEVICE_CUDA) {
      std::memcpy(&ValueBytes[I], From, Size);
      continue;
    }
    if (Status S = TheDevice->copy(&ValueBytes[I], From, Size, Stream); !S)
      return S;
    Waits = true;
  }
  if (Waits)
    if (Status S = TheDevice->wait(Stream); !S)
      return S;
  for (size_t I = 0; I < All.size(); ++I) {
    const PortInfo &P = TheModel->inputs()[All[I].Table->input()];
    std::optional<int64_t> Value = decode(P.Type, &ValueBytes[I]);
    if (Value && *Value >= 0) {
      InputValues[I] = *Value;
      continue;
    }
    Error E = failure(
        ErrorCode::OutOfRange, "%s is %s, but the model takes a size from it",
        All[I].Name.c_str(),
        Value ? std::to_string(*Value).c_str() : "not a whole number");
    E.Hint = "give a whole number from 0 on, or compile for one value with "
             "--value " +
             std::string(P.Name) + "=...";
    return E;
  }
  return success();
}

// As unifyPort, of elements in place of dims.
Status Session::unifyInputValues(bool &Progress, bool &Open) {
  const std::vector<InputValueInfo> &All = TheModel->inputValues();
  for (size_t I = 0; I < All.size(); ++I) {
    const format::Expr &E = *All[I].Size;
    std::optional<uint32_t> Symbol = asSymbol(E);
    if (Symbol && !Known[*Symbol]) {
      Known[*Symbol] = 1;
      Symbols[*Symbol] = InputValues[I];
      Progress = true;
      continue;
    }
    if (std::optional<Solution> Solved =
            solve(E, InputValues[I], Symbols, Known)) {
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
    if (Expected == InputValues[I])
      continue;
    std::string Is = Expected ? std::to_string(*Expected) : "a size";
    return failure(ErrorCode::OutOfRange,
                   "%s is %" PRId64 ", but must be %s%s%s", All[I].Name.c_str(),
                   InputValues[I], Is.c_str(), Is == All[I].Text ? "" : ": ",
                   Is == All[I].Text ? "" : All[I].Text.c_str());
  }
  return success();
}

} // namespace kpc::rt
