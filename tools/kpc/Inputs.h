//===- Inputs.h - The tensors that a model is run with ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// From files, from numbers made up, or zeros. Dims come from the files, then
/// from --dim; what is still open takes what the model was tuned for, else the
/// least value from 1 up that it allows.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_INPUTS_H
#define KPC_TOOLS_KPC_INPUTS_H

#include "dialects/shape/Expr.h"
#include "tools/kpc/Runtime.h"
#include "tools/kpc/tensorfile/HostTensor.h"

namespace kpc::cli {

enum class Filling { File, Random, Zeros };

struct InputOptions {
  struct Given {
    std::string Name; ///< empty: a file whose tensors have names, or a mistake
    Filling How = Filling::File;
    std::string File;
  };
  std::vector<Given> List;
  std::optional<Filling> Others; ///< for inputs that are not in the list
  int64_t Seed = 0;
  std::map<std::string, int64_t> Dims;
};
/// `--input`, `--seed`, `--dim`.
void addInputs(CLI::App &App, InputOptions &Options);
/// Throws UsageError for a file without NAME= that does not name its tensors,
/// with what the model's inputs are called.
void needInputNames(const Model &M, const InputOptions &Options);

struct Inputs {
  std::vector<tensorfile::HostTensor> Tensors; ///< in the model's order
  shape::Bindings Dims;
};
/// None where something is missing or wrong; then the diagnostics say what,
/// and the caller prints the signature.
std::optional<Inputs> makeInputs(const Model &M, const InputOptions &Options,
                                 Diagnostics &Diags);

/// The same of tensors that are named after the inputs, all of them; `From` is
/// where they come from, for errors.
std::optional<Inputs> makeInputs(const Model &M,
                                 std::vector<tensorfile::HostTensor> Tensors,
                                 const std::string &From, Diagnostics &Diags);

/// The dims alone, without inputs: what `Given` says and defaults for others.
std::optional<shape::Bindings>
chooseDims(const Model &M, const std::map<std::string, int64_t> &Given,
           Diagnostics &Diags);

/// The same numbers on every machine: for real types of mean 0 and variance 1,
/// for u8 0 to 255, for other integers 0 to 9, for bool either.
void fillRandom(tensorfile::HostTensor &T, uint64_t Seed);

/// As the runtime takes them; valid while `I` is.
std::vector<NamedTensor> asRuntimeTensors(const Inputs &I);

/// "batch=8 seq=128"; empty where there are none.
std::string dimsText(const shape::Bindings &Dims);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_INPUTS_H
