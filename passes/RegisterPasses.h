//===- RegisterPasses.h - Every pass of kpc's -------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_REGISTERPASSES_H
#define KPC_PASSES_REGISTERPASSES_H

namespace kpc {

/// Makes every pass known by its name, for kpc-opt and pipelines in text.
void registerPasses();

} // namespace kpc

#endif // KPC_PASSES_REGISTERPASSES_H
