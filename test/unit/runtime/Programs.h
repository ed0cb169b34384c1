//===- Programs.h - Small models of every kind of plan -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TEST_UNIT_RUNTIME_PROGRAMS_H
#define KPC_TEST_UNIT_RUNTIME_PROGRAMS_H

#include "test/unit/runtime/Sample.h"

namespace kpc::test {

/// The sample with an input `count`, which a step copies to an output that
/// decides the size `found`. Then the second step multiplies by it, instead of
/// by 3, and an output `firsts` has the first `found` elements of z.
artifact::Contents dataContents(artifact::Contents C);

/// The sample with an input n: [factor, width] by which its second step
/// multiplies, instead of 3; factor is at most 2*batch.
artifact::Contents valuesContents(artifact::Contents C,
                                  ElementType Type = ElementType::I64);

/// Elements of a row of the two below.
inline constexpr int64_t ProgramWidth = 16;

/// Inputs x, marks: f32[count] and taken. Carries h, which begins as x: h += x.
/// Row i of `rows` is h after iteration i, `scaled` has (i + 1) * h, the last
/// first. Then `picked` is 2 * x or 3 * x.
artifact::Contents controlContents(bool OnDevice);

/// Carries h, which begins as x: h += x, while `goes` says so and at most
/// `Count` times. Then `last` is h.
artifact::Contents endedContents(bool OnDevice, int64_t Count);

/// The same, and `rows` collects h, a row further each time. With
/// `NamesIterations` it collects (i + 1) * h.
artifact::Contents collectingContents(bool OnDevice, int64_t Count,
                                      bool NamesIterations);

/// One of these with inputs on the host.
struct GivenProgram {
  std::string Name;
  artifact::Bytes File;
  std::vector<kpc_named_tensor> In;

  /// Loads, opens and runs it twice, with outputs of the library's own.
  kpc_status run(const kpc_session_options &O, kpc_error **E) const;
};
/// Of every kind.
std::vector<GivenProgram> givenPrograms(bool OnDevice);

} // namespace kpc::test

#endif // KPC_TEST_UNIT_RUNTIME_PROGRAMS_H
