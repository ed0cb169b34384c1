//===- Signature.h - Who made an artifact -----------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ed25519 (RFC 8032) by OpenSSL's libcrypto, which is looked for when a caller
/// asks for a signature, and not before: the runtime does not depend on it.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_SIGNATURE_H
#define KPC_RUNTIME_SRC_SIGNATURE_H

#include "runtime/format/Container.h"
#include "runtime/src/Errors.h"

#include <span>

namespace kpc::rt {

/// Whether the header is signed with the private half of `PublicKey`, which has
/// 32 bytes. `Header` must have been decoded from `Bytes`.
Status verifySignature(const format::Header &Header, const uint8_t *Bytes,
                       const uint8_t *PublicKey);

} // namespace kpc::rt

#endif // KPC_RUNTIME_SRC_SIGNATURE_H
