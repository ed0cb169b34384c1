//===- Hostile.h - Artifacts that may be damaged ----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Uses an artifact in every way that a program might, for tests that damage
/// it. The code of the sample is `ret` from end to end, so that whatever the
/// table is changed to, its kernels do nothing.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TEST_UNIT_RUNTIME_HOSTILE_H
#define KPC_TEST_UNIT_RUNTIME_HOSTILE_H

#include "test/unit/runtime/Sample.h"

namespace kpc::test {

artifact::Bytes hostileSample();
/// With tensor maps and a symbol that the device gives, for a fake driver whose
/// kernels do nothing.
artifact::Bytes hostileMappedSample();

/// Makes every byte of every host image `ret`, as far as the table can be read.
void makeCodeHarmless(artifact::Bytes &File);

/// How far an artifact came.
enum class Came { Nowhere, Loaded, Opened, Ran };
/// `Driver`: on its first device; null: on the host.
Came useArtifact(const uint8_t *Data, size_t Size, bool MayRun,
                 const char *Driver = nullptr);

} // namespace kpc::test

#endif // KPC_TEST_UNIT_RUNTIME_HOSTILE_H
