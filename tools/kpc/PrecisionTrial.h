//===- PrecisionTrial.h - The error of types of layers ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Two artifacts for the host are run with the same samples: the model in fp32,
/// and one in which a switch for each layer says what it multiplies (the pass
/// switch-precisions). So one compile serves all layers and all choices.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_PRECISIONTRIAL_H
#define KPC_TOOLS_KPC_PRECISIONTRIAL_H

#include "tools/kpc/CompileAgain.h"
#include "tools/kpc/PrecisionSearch.h"
#include "tools/kpc/Samples.h"

#include "compiler/workers/Subprocess.h"

namespace kpc::cli {

class PrecisionTrial {
public:
  struct Setting {
    CompileOptions Options; ///< how the model is read, and its calibration
    std::string Data;       ///< empty: random numbers
    AccuracyBudget::Measure Measure = AccuracyBudget::Sqnr;
    int64_t LayerSamples = 8; ///< of which each layer's error is measured
    int Threads = 0;
    bool Quiet = false;
  };

  PrecisionTrial(Setting Given, Diagnostics &Diags)
      : Given(std::move(Given)), Diags(Diags) {}

  /// Compiles both, and runs all samples in fp32. False after an error, as all
  /// of these.
  bool open(const std::vector<Precision> &Types);

  /// The layers that have a switch; what they gain is not known here.
  const std::vector<SwitchedNode> &nodes() const { return Report.Switches; }
  bool measure(std::vector<Layer> &Layers);

  /// With all samples: by the switches, and by a compile of its own for the
  /// host with these options.
  std::optional<Costs> costOf(const std::vector<Layer> &Layers,
                              const Allocation &At);
  std::optional<Costs> costOf(const CompileOptions &Options);

  int64_t samples() const { return Count; }
  /// kpc itself failed.
  bool isFault() const { return Fault; }
  /// A path for a file that goes with this.
  std::string pathFor(const std::string &Name) const {
    return Folder.path() + "/" + Name;
  }

private:
  using Values = std::vector<std::vector<double>>; ///< of each float output

  std::optional<Model> compileForHost(CompileOptions Options,
                                      const std::string &Name,
                                      CompileReport *Into);
  std::optional<Session> sessionOf(const Model &M);
  std::optional<Inputs> sample(int64_t I);
  std::optional<Values> run(Session &S, const std::vector<NamedTensor> &In);
  /// With each of the settings of the switches, null: an artifact without
  /// them; of at most so many samples, spread over all.
  std::optional<std::vector<Costs>>
  costsWith(Session &S, const std::vector<std::vector<int32_t>> *Asked,
            int64_t Samples);
  std::vector<int32_t> switchesFor(const std::vector<Layer> &Layers,
                                   const Allocation &At) const;

  Setting Given;
  Diagnostics &Diags;
  TemporaryFolder Folder;
  CompileReport Report;
  std::vector<Precision> Types;
  std::optional<Model> Plain, ByChoice;
  std::optional<Session> Switched;
  std::optional<Samples> Data;
  int64_t Count = 0;
  std::vector<Values> Wanted; ///< of each sample, in fp32
  bool Fault = false;
};

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_PRECISIONTRIAL_H
