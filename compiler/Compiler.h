//===- Compiler.h - From a model to an artifact -----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The compiler as a library, which `kpc compile` and `kpc check` call.
///
///   kpc::Diagnostics Diags;
///   kpc::CompileOptions Options;
///   Options.Model = "resnet50.onnx";
///   Options.Output = "resnet50.kpc";
///   Options.Targets = {"host"};
///   kpc::CompileReport Report = kpc::compile(Options, Diags);
///   if (!Report.Ok) std::cerr << Diags.text();
///
/// The work goes through phases, each of which `Emit` can stop at; see Phase.
/// Nothing is thrown, and nothing is written unless all of it succeeded.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_COMPILER_H
#define KPC_COMPILER_COMPILER_H

#include "compiler/CompileOptions.h"
#include "compiler/CompileReport.h"
#include "compiler/ModelNeeds.h"
#include "compiler/diagnostics/Diagnostics.h"
#include "compiler/import/onnx/model/Model.h"

#include <map>
#include <string>

namespace kpc {

/// Compiles a model. Errors of the model are in `Diags`.
CompileReport compile(const CompileOptions &Options, Diagnostics &Diags);

/// Reports everything that `compile` would refuse, without compiling kernels.
/// The verdict (no errors in `Diags`) is that of `compile`. It warns of slow
/// paths as `compile` does, by the families that take the kernels. If the model
/// compiles, `Needs` gets its conditions on sizes and runs.
bool check(const CompileOptions &Options, Diagnostics &Diags,
           ModelNeeds *Needs = nullptr);

/// The estimated times of the launches on GPU targets, without compiling their
/// kernels: `Estimates` of the returned report, with remarks and notes.
CompileReport estimate(const CompileOptions &Options, Diagnostics &Diags);

/// The types that import finds for the values of an ONNX model's main graph, by
/// name. Faults of the model are not reported; values that depend on a faulty
/// node have no type.
std::map<std::string, onnx::ValueInfo>
valueTypes(const CompileOptions &Options);

/// Whether GEMMs or convolutions are to be quantised.
bool asksForCodes(const CompileOptions &Options);

/// Whether only weights of GEMMs are to become codes of 4 bits.
bool asksForWeightCodes(const CompileOptions &Options);

/// The passes of each phase, as kpc-opt takes them.
std::string pipelineText(const CompileOptions &Options);

} // namespace kpc

#endif // KPC_COMPILER_COMPILER_H
