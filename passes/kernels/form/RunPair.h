//===- RunPair.h - Two ascending runs, merged -------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Any place of what two runs give together can be found by halving, so many
/// may merge one pair of runs, each its own part of the result:
///
///   A  1 4 6 9   B  2 3 5 8      result  1 2 3 4 | 5 6 8 9
///                                                  ^ the place 4 has 2 of A
///                                                    in front, and 2 of B
///
/// Of equal elements those of B come first.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_FORM_RUNPAIR_H
#define KPC_PASSES_KERNELS_FORM_RUNPAIR_H

#include "mlir/IR/Builders.h"

#include <functional>

namespace kpc::kernels {

/// Writes the code that merges a pair of runs. Places are integers of one type,
/// an index or an i32.
class RunPair {
public:
  using Value = mlir::Value;
  /// The element at a place of the pair.
  using Read = std::function<Value(mlir::OpBuilder &, Value Place)>;

  /// A has `SizeA` elements, at 0. B has `SizeB`, at `BeginB`; none unless A
  /// ends there.
  RunPair(mlir::OpBuilder &B, mlir::Location Loc, Value SizeA, Value SizeB,
          Value BeginB, Read ReadAt);

  /// How many of each run have been taken, and their next elements.
  struct Heads {
    Value TakenA, TakenB, NextA, NextB;
  };
  /// The heads in front of a place of the result.
  Heads headsAt(Value Place) const;
  /// The element at the heads, and the heads behind it.
  std::pair<Value, Heads> take(const Heads &At) const;

private:
  Value number(int64_t V) const;
  Value elementAt(Value Place) const;

  mlir::OpBuilder &B;
  mlir::Location Loc;
  Value SizeA, SizeB, BeginB, Last;
  Read ReadAt;
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_FORM_RUNPAIR_H
