//===- Signing.h - Keys and signatures of artifacts -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ed25519 keys in PEM files, as `openssl genpkey -algorithm ed25519` writes
/// them. OpenSSL's libcrypto reads them and signs; it is loaded when asked for.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_SIGNING_H
#define KPC_TOOLS_KPC_SIGNING_H

#include "compiler/diagnostics/Diagnostics.h"
#include "runtime/format/Container.h"

#include <array>
#include <optional>

namespace CLI {
class App;
}

namespace kpc::cli {

using PublicKey = std::array<uint8_t, 32>;

/// None after a report.
std::optional<PublicKey> readPublicKey(const std::string &Path,
                                       Diagnostics &Diags);

/// Fills `Signature` and `SignedBy`, with the private key of a file.
bool signHeader(format::Header &Header, const std::string &KeyFile,
                Diagnostics &Diags);

/// `--signed-by FILE`
void addSignedBy(CLI::App &App, std::string &KeyFile);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_SIGNING_H
