//===- ReferenceReader.h - Outputs that are right ---------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_REFERENCEREADER_H
#define KPC_TOOLS_KPC_REFERENCEREADER_H

#include "tools/kpc/Verify.h"

namespace kpc::cli {

/// Reads outputs that someone else computed.
class ReferenceReader {
public:
  ReferenceReader(const Model &M, Diagnostics &Diags)
      : Ports(M.outputs()), Diags(Diags) {}
  /// `Name` may be empty: the names in the file decide.
  void take(const std::string &Name, const std::string &File);
  /// None where an output is missing or something was wrong.
  std::optional<RunValues> finish();

private:
  const kpc_port *find(const std::string &Name) const;
  void unknown(const std::string &Name);
  void add(tensorfile::HostTensor T, const kpc_port &Port);

  std::vector<kpc_port> Ports;
  Diagnostics &Diags;
  RunValues Out;
};

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_REFERENCEREADER_H
