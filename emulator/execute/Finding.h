//===- Finding.h - What the emulator objects to -----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A finding ends the launch. docs/emulator.md explains each kind.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_EXECUTE_FINDING_H
#define KPC_EMULATOR_EXECUTE_FINDING_H

#include <cstdint>
#include <string>

namespace kpc::emulator {

struct Kernel;

enum class FindingKind : uint8_t {
  BadLaunch,
  OutOfBounds,
  UseAfterFree,
  Misaligned,
  WriteToReadOnly,
  UninitialisedShared,
  SharedRace,
  GlobalRace,
  ReadBeforeWait,
  BeforeGridWait,
  SlotReused,
  Unwaited,
  EndedBlock,
  UninitialisedRegister,
  MissingMatrixFence,
  WarpgroupMismatch,
  RegisterPool,
  MissingProxyFence,
  BarrierMismatch,
  BarrierMisuse,
  BadTensorMap,
  Deadlock,
  TimeLimit,
  InactiveLane,
  NotConverged,
  PendingRegister,
  UninitialisedTensor,
  TensorRace,
  MissingTensorFence,
  ForeignLanes,
  TensorMisuse,
  TensorLeak,
  BadOperand,
  Trap
};

/// "out-of-bounds", …
const char *nameOf(FindingKind Kind);

struct Finding {
  FindingKind Kind = FindingKind::BadLaunch;
  std::string Kernel;
  std::string Instruction; ///< empty: of a block or the launch as a whole
  int Line = 0;            ///< of the PTX
  std::string Source;      ///< "kernels.cu:12", from .loc
  uint32_t Cta[3] = {0, 0, 0}, Thread[3] = {0, 0, 0};
  std::string Detail;
  /// One line: "out-of-bounds: st.global.b32 (line 20 of kernel add, …): …".
  std::string text() const;
  /// It is at this statement.
  void locate(const struct Kernel &K, uint32_t Statement);
};

} // namespace kpc::emulator

#endif // KPC_EMULATOR_EXECUTE_FINDING_H
