//===- CompileAgain.cpp - A model as an artifact's was compiled -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/CompileAgain.h"

#include "compiler/workers/WorkerPool.h"
#include "tools/kpc/Fault.h"
#include "tools/kpc/Interrupt.h"

namespace kpc::cli {

/// Reads each value that the provenance has of an option. A file or a pattern
/// may hold blanks; the next option begins with " --".
static void
forEachOption(const Model &M, std::string_view Key,
              const std::function<void(const std::string &)> &Read) {
  std::string Text = " " + M.provenance("options");
  for (size_t At = Text.find(Key); At != std::string::npos;
       At = Text.find(Key, At)) {
    At += Key.size();
    size_t End = Text.find(" --", At);
    try {
      Read(Text.substr(At, End == std::string::npos ? End : End - At));
    } catch (const UsageError &) {
      continue;
    }
  }
}

void addCompiledInputs(const Model &M, CompileOptions &Options) {
  auto Take = [&](std::string_view Key,
                  void (*Read)(const std::string &, CompileOptions &)) {
    forEachOption(M, Key, [&](const std::string &T) { Read(T, Options); });
  };
  Take(" --dim=", takeDim);
  Take(" --value=", takeValue);
  Take(" --input-shape=", takeInputShape);
  Take(" --input-type=", takeInputType);
  Take(" --state=", takeState);
  Take(" --method=",
       [](const std::string &Name, CompileOptions &To) { To.Method = Name; });
}

void addCompiledTypes(const Model &M, CompileOptions &Options) {
  forEachOption(M, " --precision=", [&](const std::string &Text) {
    Options.Compute = parsePrecision("--precision", Text);
  });
  forEachOption(M, " --io-precision=", [&](const std::string &Text) {
    Options.Io = parsePrecision("--io-precision", Text);
  });
  forEachOption(M, " --precision-for=", [&](const std::string &Text) {
    Options.PrecisionFor.push_back(parsePrecisionFor(Text));
  });
}

CompileOptions quietOptions(const std::string &CacheFolder) {
  CompileOptions Options;
  Options.CacheFolder = CacheFolder;
  Options.ReproducerFolder = reproducerFolder();
  Options.WorkerCommand = {thisExecutable(), std::string(WorkerArgument)};
  Options.Cancelled = interrupted;
  return Options;
}

std::optional<Model> compileAndOpen(CompileOptions Options, bool Quiet,
                                    Diagnostics &Diags, bool &Fault,
                                    uint32_t LoadFlags, CompileReport *Into) {
  // The bar is cleared before anything else is printed.
  auto Bar = std::make_shared<Progress>(Quiet);
  Options.Progress = [Bar](std::string_view What, size_t Done, size_t Total) {
    Bar->show(What, Done, Total);
  };
  PolledInterrupts Polled;
  CompileReport Report = compile(Options, Diags);
  Bar->clear();
  if (Report.Internal)
    Fault = true;
  bool Ok = Report.Ok;
  if (Into)
    *Into = std::move(Report);
  if (!Ok)
    return std::nullopt;
  return openModel(Options.Output, Diags, LoadFlags);
}

} // namespace kpc::cli
