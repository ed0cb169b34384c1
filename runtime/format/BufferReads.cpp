//===- BufferReads.cpp - Which buffers a plan's steps read ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/format/BufferReads.h"
#include "runtime/format/Validate.h"
#include "runtime/format/ValidateTarget.h"

namespace kpc::format {

/// Bits of Param's access.
static constexpr uint8_t Reads = 1, Writes = 2;

static bool accesses(const Param &P, uint8_t How) {
  return P.kind() != ParamKind::Size && (P.access() & How);
}

BufferReads::BufferReads(const Target &T) : T(T), IsRead(count(T.buffers())) {
  for (const Control *C : each(T.controls()))
    if (C->condition() != None)
      IsRead[C->condition()] = 1;
  for (const Step *S : each(T.steps()))
    if (const auto *C = S->action_as_Copy())
      IsRead[C->source()] = 1;
}

void BufferReads::add(const Launch &L) {
  for (const Param *P : each(L.params()))
    if (accesses(*P, Reads))
      IsRead[P->buffer()] = 1;
}

bool BufferReads::isUnread(const Launch &L) const {
  bool HasResults = false;
  for (const Param *P : each(L.params())) {
    if (!accesses(*P, Writes))
      continue;
    HasResults = true;
    if (IsRead[P->buffer()] ||
        T.buffers()->Get(P->buffer())->kind() != BufferKind::Arena)
      return false;
  }
  return HasResults;
}

} // namespace kpc::format
