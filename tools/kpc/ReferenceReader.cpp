//===- ReferenceReader.cpp - Outputs that are right -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/ReferenceReader.h"

#include "tools/kpc/tensorfile/TensorFile.h"

#include <algorithm>
#include <fmt/format.h>

namespace kpc::cli {

using tensorfile::HostTensor;

const kpc_port *ReferenceReader::find(const std::string &Name) const {
  for (const kpc_port &P : Ports)
    if (Name == P.name)
      return &P;
  return nullptr;
}

void ReferenceReader::unknown(const std::string &Name) {
  std::vector<std::string_view> Known;
  std::string List;
  for (const kpc_port &P : Ports) {
    Known.push_back(P.name);
    List += (List.empty() ? "'" : ", '") + printable(P.name) + "'";
  }
  std::string_view Near = nearest(Name, Known);
  Diags.error(Code::RuntimeUnknownName)
      .message(fmt::format("--reference: the model has no output '{}'",
                           printable(Name)))
      .hint(Near.empty() ? "its outputs are " + List
                         : fmt::format("did you mean '{}'?", printable(Near)));
}

void ReferenceReader::add(HostTensor T, const kpc_port &Port) {
  T.Name = Port.name;
  for (const RunValues::Value &V : Out.List)
    if (V.Tensor.Name == T.Name) {
      Diags.error(Code::VerifyReference)
          .message(fmt::format("the reference of output '{}' is given twice",
                               printable(T.Name)))
          .hint("leave one of them out");
      return;
    }
  tensorfile::becomes(T, static_cast<ElementType>(Port.type));
  Out.List.push_back({std::move(T), true});
}

void ReferenceReader::take(const std::string &Name, const std::string &File) {
  const kpc_port *Port = find(Name);
  if (!Port && !Name.empty())
    return unknown(Name);
  std::string Error;
  std::optional<std::vector<HostTensor>> Tensors =
      tensorfile::readTensors(File, Error);
  if (!Tensors) {
    Diags.error(Code::TensorFile).message(Error);
    return;
  }
  bool Alone = Tensors->size() == 1;
  if (Name.empty() && Alone && Ports.size() == 1)
    Port = &Ports[0];
  bool Found = false;
  for (HostTensor &T : *Tensors) {
    const kpc_port *Its = find(T.Name);
    if (Port)
      Its = Alone || Its == Port ? Port : nullptr;
    if (!Its)
      continue;
    Found = true;
    add(std::move(T), *Its);
  }
  if (!Found && Port)
    Diags.error(Code::TensorNotInFile)
        .message(fmt::format("'{}' holds {} arrays, none named '{}'",
                             printable(File), Tensors->size(),
                             printable(Name)));
}

/// Every output needs one: what is compared in part would pass for the whole.
std::optional<RunValues> ReferenceReader::finish() {
  if (Diags.hasErrors())
    return std::nullopt;
  for (const kpc_port &P : Ports) {
    bool Given =
        std::any_of(Out.List.begin(), Out.List.end(),
                    [&](const auto &V) { return V.Tensor.Name == P.name; });
    if (!Given)
      Diags.error(Code::VerifyReference)
          .message(fmt::format("the reference has no output '{}' ({})",
                               printable(P.name), portText(P)))
          .hint(fmt::format("give --reference {}=FILE, or a .npz with an "
                            "array per output",
                            printable(P.name)));
  }
  return Diags.hasErrors() ? std::nullopt : std::optional(std::move(Out));
}

} // namespace kpc::cli
