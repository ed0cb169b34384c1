//===- WindowSchedule.h - Which thread computes which windows ---*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The schedule of a reduction over a window that slides over an image, channel
/// by channel (depthwise convolutions, pools): plain data, chosen by a cost
/// whose parts can be printed.
///
///   for (const WindowCost &One : rankWindowSchedules(Shape, T))
///     puts(One.str().c_str());
///   // window 1 x 4 x 8: 9.6 us = max(6.9 move, 5.1 issue, 2 turns x 2.20)
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_WINDOWSCHEDULE_H
#define KPC_PASSES_SCHEDULE_WINDOWSCHEDULE_H

#include "compiler/target/Target.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace kpc::schedule {

/// Sizes to choose for; where they are dynamic, typical ones. Of the two
/// spatial dimensions the outer one comes first.
struct WindowShape {
  int64_t Images = 1, Channels = 8;
  std::array<int64_t, 2> Out = {1, 1};      ///< places of the window
  std::array<bool, 2> Known = {true, true}; ///< these are their numbers
  std::array<int64_t, 2> Taps = {3, 3}, Stride = {1, 1}, Dilation = {1, 1};
  int64_t Lines = 1;        ///< times that a thread goes through these taps
  int64_t MostLanes = 8;    ///< channels of one access: memory and alignment
  int64_t ElementBytes = 2; ///< of the input
  int64_t Bytes = 0;        ///< that the kernel reads and writes, all told
  bool HasFilter = true;    ///< an element of another input for each tap
};

struct WindowSchedule {
  int64_t Rows = 1, Columns = 4; ///< places that a thread computes
  int64_t Lanes = 8;             ///< channels of a thread

  std::string str() const;
};

/// Microseconds that a schedule is expected to take, by its parts.
struct WindowCost {
  WindowSchedule Schedule;
  double Move = 0;  ///< all bytes through memory
  double Issue = 0; ///< all instructions
  double Turns = 0; ///< blocks that a multiprocessor runs one after another
  double Turn = 0;  ///< one block: load, multiply, store
  double Total = 0;
  std::string str() const;
};

/// Threads of a block.
inline constexpr int64_t WindowThreads = 128;

/// Legal schedules, the best first.
std::vector<WindowCost> rankWindowSchedules(const WindowShape &Shape,
                                            const target::Target &T);

/// Elements of the input that `Places` neighbouring places of a window read
/// along one dimension.
int64_t windowElements(int64_t Places, int64_t Taps, int64_t Stride,
                       int64_t Dilation);

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_WINDOWSCHEDULE_H
