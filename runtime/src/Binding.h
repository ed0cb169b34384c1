//===- Binding.h - A plan with its sizes known ------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a target's plan comes to for one choice of symbols: every expression a
/// number, every range inside its buffer, every value at its place in the
/// arena. A run adds nothing but base addresses.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_BINDING_H
#define KPC_RUNTIME_SRC_BINDING_H

#include "runtime/src/Arena.h"
#include "runtime/src/BindTimes.h"
#include "runtime/src/Model.h"
#include "runtime/src/TensorMap.h"

#include <array>
#include <memory>
#include <span>
#include <vector>

namespace kpc::rt {

/// What an address is relative to.
enum class Base : uint8_t { Input, Output, Weight, Arena };

/// Bytes of one buffer.
struct Place {
  Base Where = Base::Arena;
  uint32_t Index = 0; ///< the input, output or weight
  uint64_t Offset = 0;
  uint64_t Length = 0;
};

struct BoundParam {
  bool IsSize = false;
  uint8_t Access = 0; ///< 1 read, 2 write
  uint64_t Size = 0;  ///< for sizes
  Place At;           ///< for pointers and tensor maps
  /// For tensor maps of steps that are not empty: which of the binding's.
  int32_t TensorMap = -1;
};

enum class StepKind : uint8_t { Launch, Copy, Fill };

struct BoundStep {
  StepKind Kind = StepKind::Launch;
  bool Empty = false; ///< nothing to do: no work, or no bytes
  uint32_t Kernel = 0;
  uint32_t FirstParam = 0, ParamCount = 0;
  std::array<uint32_t, 3> Grid{}, Block{};
  uint32_t Shared = 0;
  int64_t Work = 0, Grain = 1;
  int64_t Flops = -1;
  uint32_t Pattern = 0;
  uint8_t PatternBytes = 1;
};

/// State that a device keeps for a bound shape (a recorded graph).
class Recording {
public:
  virtual ~Recording() = default;
};

class Binding {
public:
  /// `KeepValues`: no two values share memory.
  static Result<std::unique_ptr<Binding>> make(const Model &M,
                                               const format::Target &T,
                                               std::span<const int64_t> Symbols,
                                               bool KeepValues);

  /// Bytes that a launch touches in the direction given by `Access`. What it
  /// is given as a pointer and through tensor maps counts once.
  int64_t bytesTouched(const BoundStep &S, uint8_t Access) const;
  std::span<const BoundParam> params(const BoundStep &S) const {
    return {Params.data() + S.FirstParam, S.ParamCount};
  }

  struct PortShape {
    std::vector<int64_t> Dims;
    uint64_t Bytes = 0;
    uint64_t Alignment = 1; ///< that some step needs
  };
  struct ValueShape {
    std::vector<int64_t> Dims;
    Place At;
  };

  std::vector<int64_t> Symbols;
  std::vector<PortShape> Inputs, Outputs;
  std::vector<BoundStep> Steps;
  /// Of launches: as the kernel takes them. Of a copy: destination, source. Of
  /// a fill: the destination.
  std::vector<BoundParam> Params;
  std::vector<BoundTensorMap> TensorMaps;
  std::vector<ValueShape> Values;
  ArenaPlan Arena;
  kpc_bind_times Times{};
  uint64_t LastUse = 0;
  std::unique_ptr<Recording> Recorded;
};

/// Checks each value against the range and divisor of its symbol.
Status checkSymbols(const Model &M, std::span<const int64_t> Symbols);

} // namespace kpc::rt

#endif // KPC_RUNTIME_SRC_BINDING_H
