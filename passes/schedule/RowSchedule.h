//===- RowSchedule.h - Which threads hold which part of a row ---*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The schedule of a kernel that keeps rows in registers between reductions of
/// them (softmax, norms): plain data, chosen by a cost whose parts can be
/// printed. Nothing here knows a shape by name.
///
///   for (const RowCost &One : rankRowSchedules(Shape, T))
///     puts(One.str().c_str());
///   // rows 8 x 32 threads x 4 x 8: 31.2 us = max(28.0 move, 20.1 issue,
///   // 14 turns x 1.52)
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_ROWSCHEDULE_H
#define KPC_PASSES_SCHEDULE_ROWSCHEDULE_H

#include "compiler/target/Target.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kpc::schedule {

/// Sizes to choose for; where they are dynamic, typical ones.
struct RowShape {
  int64_t Rows = 0, Length = 0;
  /// Bytes read and written for each element of a row.
  int64_t BytesRead = 2, BytesWritten = 2;
  int64_t Buffers = 2; ///< that these bytes are in
  int64_t Reductions = 1;
  /// Elements of one access: what memory and alignment allow.
  int64_t Lanes = 8;
  /// Registers that hold one element.
  int64_t ElementRegisters = 1;
  /// Instructions for each element, all told.
  int64_t Operations = 20;
};

struct RowSchedule {
  int64_t Lanes = 8;    ///< elements of one access
  int64_t Accesses = 1; ///< of each thread, to each buffer
  int64_t Threads = 32; ///< of a block for one row, a power of two
  int64_t Rows = 8;     ///< of a block
  int64_t Blocks = 1;   ///< of a row: a cluster, a power of two

  int64_t blockThreads() const { return Threads * Rows; }
  int64_t rowThreads() const { return Threads * Blocks; }
  /// The longest row that the registers hold.
  int64_t capacity() const { return Lanes * Accesses * rowThreads(); }
  std::string str() const;
};

/// Microseconds that a schedule is expected to take, by its parts.
struct RowCost {
  RowSchedule Schedule;
  double Move = 0;  ///< all bytes through memory
  double Issue = 0; ///< all instructions, those of idle lanes included
  double Turns = 0; ///< blocks that a multiprocessor runs one after another
  double Turn = 0;  ///< one block: load, reductions, store
  double Total = 0;
  std::string str() const;
};

/// Legal schedules that hold a row of the shape's length, the best first; none
/// where the row does not fit the registers.
std::vector<RowCost> rankRowSchedules(const RowShape &Shape,
                                      const target::Target &T);
/// Blocks that walk each of such rows, which fit no registers: as many as keep
/// the chip busy.
int64_t blocksOfLongRow(const RowShape &Shape, const target::Target &T);

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_ROWSCHEDULE_H
