//===- Verify.h - An artifact against a reference ---------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_VERIFY_H
#define KPC_TOOLS_KPC_VERIFY_H

#include "tools/kpc/Compare.h"
#include "tools/kpc/Inputs.h"

namespace kpc::cli {

/// What one run computed, in the order in which it was computed, outputs last.
struct RunValues {
  struct Value {
    tensorfile::HostTensor Tensor;
    bool IsOutput = false;
  };
  std::vector<Value> List;
  /// The tensors that a value of another compilation of the model may be: of
  /// an output, the output of that name; of a value inside, named after the
  /// nodes it comes from, all of its dims that come from the last of them, or,
  /// where there are none, that share a node with it.
  std::vector<const tensorfile::HostTensor *>
  counterparts(const Value &V) const;
};

/// Runs once; with `KeepValues`, every value that the plan materialises.
std::optional<RunValues> runOnce(const Model &M, const DeviceChoice &Choice,
                                 const Inputs &In, Diagnostics &Diags,
                                 std::string *Target = nullptr);

/// The inputs of one artifact as those of another of the same model: types may
/// differ, names and dims may not.
std::optional<Inputs> inputsFor(const Model &Other, const Inputs &In,
                                Diagnostics &Diags);

/// Of two tensors of the same dims; types may differ.
Difference tensorDifference(const tensorfile::HostTensor &Got,
                            const tensorfile::HostTensor &Wanted);

struct ComparedValue {
  std::string Name;
  bool IsOutput = false;
  std::string Type; ///< "f32[2,10]"
  Difference Found;
  bool Good = false;
};
struct ComparedRun {
  shape::Bindings Dims;
  std::vector<ComparedValue> Values;
  /// Values that have no counterpart in the reference.
  size_t Unmatched = 0;
};
/// Reports the first value that drifts. A value inside is right if one of its
/// counterparts agrees with it.
ComparedRun compareRuns(const RunValues &Got, const RunValues &Reference,
                        const Tolerance &T, Diagnostics &Diags);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_VERIFY_H
