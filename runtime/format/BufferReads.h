//===- BufferReads.h - Which buffers a plan's steps read --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An alternative of a launch need not read all that the launch reads. So at
/// some sizes nothing reads what another launch writes: the runtime leaves that
/// one out. Shared by the runtime and by what tells people.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_FORMAT_BUFFERREADS_H
#define KPC_RUNTIME_FORMAT_BUFFERREADS_H

#include "runtime/format/artifact_generated.h"

#include <vector>

namespace kpc::format {

/// The buffers of a validated target that its steps read at a run's sizes.
class BufferReads {
public:
  /// What conditions and copies read.
  explicit BufferReads(const Target &T);

  /// What a launch reads, or the alternative that takes its place.
  void add(const Launch &L);

  /// Whether a launch writes intermediate values alone, none of which is read.
  bool isUnread(const Launch &L) const;

private:
  const Target &T;
  std::vector<uint8_t> IsRead;
};

} // namespace kpc::format

#endif // KPC_RUNTIME_FORMAT_BUFFERREADS_H
