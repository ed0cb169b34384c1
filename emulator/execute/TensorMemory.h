//===- TensorMemory.h - Tensor memory of a block ----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// PTX ISA, "Tensor Memory": 128 lanes of 512 columns of 32 bits. Columns are
/// allocated by 32 and more; where a run lies is a seed's choice, so that
/// nobody relies on column 0. The shadow sees one "byte" for 16 lanes of a
/// column: no instruction touches less, but for masks and tcgen05.cp.4x256b.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_EXECUTE_TENSORMEMORY_H
#define KPC_EMULATOR_EXECUTE_TENSORMEMORY_H

#include "emulator/execute/AsyncQueue.h"
#include "emulator/execute/SharedShadow.h"

#include <optional>

namespace kpc::emulator {

/// A rectangle: lanes and columns.
struct TensorArea {
  unsigned Lane = 0, Lanes = 0, Column = 0, Columns = 0;
};

class TensorMemory {
public:
  static constexpr unsigned Lanes = 128, Columns = 512, Unit = 32,
                            GroupLanes = 16;
  struct Allocation {
    unsigned Column, Columns;
    uint32_t Statement;
  };

  void reset(const Agents &Of, uint64_t Seed);

  uint32_t &at(unsigned Lane, unsigned Column) {
    return Cells[Lane * Columns + Column];
  }
  bool isSet(unsigned Lane, unsigned Column) const {
    return Set[Lane * Columns + Column];
  }
  void mark(unsigned Lane, unsigned Column) {
    Set[Lane * Columns + Column] = true;
  }
  bool isAllocated(unsigned Column, unsigned Count) const;
  /// First columns of runs of so many free ones.
  std::vector<unsigned> placesFor(unsigned Count) const;
  unsigned choose(const std::vector<unsigned> &Places);
  void allocate(const Allocation &A);
  /// False: no allocation is exactly this.
  bool release(unsigned Column, unsigned Count);
  const std::vector<Allocation> &allocations() const { return All; }

  /// Records the access of every group of lanes that the area touches.
  Conflict access(const TensorArea &Area, const SharedAccess &A,
                  const Knowledge &Now, unsigned &Group);

  unsigned Least = Columns; ///< smallest allocation so far: none may be larger
  bool MayAllocate = true;  ///< before relinquish_alloc_permit

private:
  std::vector<uint32_t> Cells;
  std::vector<bool> Set;
  std::vector<Allocation> All; ///< by column
  SharedShadow Shadow;
  Choices Choose;
};

} // namespace kpc::emulator

#endif // KPC_EMULATOR_EXECUTE_TENSORMEMORY_H
