//===- KernelBatch.cpp - Compiles many kernels at once -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/kernels/KernelBatch.h"
#include "compiler/BuildId.h"
#include "compiler/Version.h"
#include "compiler/cache/Cache.h"
#include "compiler/workers/WorkerPool.h"

using namespace kpc;

namespace {

/// What a compiled kernel depends on. The paths of ptxas and nvdisasm are not
/// part of it; whether they are there, and what they are, is.
std::string keyOf(const KernelJob &Job) {
  return CacheKey("kernel")
      .add(Version)
      .add(buildId())
      .add(Job.Target)
      .add(Job.Symbol)
      .add(Job.Text)
      .add(Job.Listing)
      .add(Job.LineInfo ? "lines" : "")
      .add(Job.Schedule)
      .add(Job.TriesNext ? "next" : "")
      .add(Job.Ptxas.empty() ? "ptx" : "cubin")
      .add(Job.Releases)
      .digest();
}

WorkerPoolOptions poolOptions(const CompileOptions &Options) {
  WorkerPoolOptions Pool;
  Pool.Command = Options.WorkerCommand;
  if (Pool.Command.empty())
    Pool.Command = {thisExecutable(), std::string(WorkerArgument)};
  Pool.Workers = Options.Jobs;
  Pool.ReproducerFolder = Options.ReproducerFolder;
  Pool.Cancelled = Options.Cancelled;
  return Pool;
}

void reportFailure(const KernelJob &Job, const JobResult &Result,
                   const WorkerPoolOptions &Pool, Diagnostics &Diags,
                   CompileReport &Report) {
  ModelPlace Place;
  Place.Node = Job.Symbol;
  if (Result.Status == JobStatus::Refused) {
    auto &Error = Diags.error(Code::TargetKernel)
                      .at(Place)
                      .target(Job.Target)
                      .message(Result.Error);
    if (!Job.Schedule.empty())
      Error.hint("change the rule for it in the file that --schedule names; "
                 "--explain prints schedules and their costs");
    return;
  }
  if (Result.ok()) {
    Report.Internal = true;
    Diags.error(Code::TargetKernelCrash)
        .at(Place)
        .target(Job.Target)
        .message("the worker's answer (" +
                 std::to_string(Result.Output.size()) +
                 " bytes) is not a compiled kernel")
        .hint("the workers must be of the same build as kpc itself; if it "
              "comes back, report it with the model");
    return;
  }
  if (Result.Status == JobStatus::NotRun) {
    Diags.error(Code::DriverCancelled)
        .message(Result.Error.empty() ? "not all kernels were compiled"
                                      : Result.Error);
    return;
  }
  Report.Internal = true;
  std::string Text = Result.Error;
  if (!Result.StderrTail.empty())
    Text += "\n" + Result.StderrTail;
  auto &Error = Diags.error(Code::TargetKernelCrash)
                    .at(Place)
                    .target(Job.Target)
                    .message(Text);
  if (Result.Reproducer.empty())
    return;
  Report.Reproducer = Result.Reproducer;
  Report.ReplayCommand =
      Pool.Command.front() + " --replay-job " + Result.Reproducer;
  Error.hint("replay it: " + Report.ReplayCommand);
}

} // namespace

std::vector<std::optional<CompiledKernel>>
kpc::compileBatch(const std::vector<KernelJob> &Jobs,
                  const CompileOptions &Options, Diagnostics &Diags,
                  CompileReport &Report, std::vector<bool> &Hits) {
  Cache Store({.Folder = Options.CacheFolder});
  std::vector<std::optional<CompiledKernel>> Results(Jobs.size());
  Hits.assign(Jobs.size(), false);
  std::vector<std::string> Keys, Messages;
  std::vector<size_t> Missing;
  for (size_t I = 0; I < Jobs.size(); ++I) {
    Keys.push_back(keyOf(Jobs[I]));
    if (std::optional<std::string> Bytes = Store.find(Keys.back()))
      Results[I] = CompiledKernel::decode(*Bytes);
    Hits[I] = Results[I].has_value();
    if (!Hits[I]) {
      Missing.push_back(I);
      Messages.push_back(Jobs[I].encode());
    }
  }
  if (Missing.empty())
    return Results;

  WorkerPoolOptions PoolOptions = poolOptions(Options);
  if (Options.Progress)
    PoolOptions.Progress = [&](size_t Done, size_t Total) {
      Options.Progress("kernels", Done, Total);
    };
  WorkerPool Pool(PoolOptions);
  std::vector<JobResult> Replies = Pool.run(Messages);
  for (size_t R = 0; R < Replies.size(); ++R) {
    size_t I = Missing[R];
    if (Replies[R].ok())
      Results[I] = CompiledKernel::decode(Replies[R].Output);
    if (Results[I])
      Store.store(Keys[I], Replies[R].Output);
    else
      reportFailure(Jobs[I], Replies[R], PoolOptions, Diags, Report);
  }
  Store.trim();
  if (const std::string &Why = Store.statistics().WriteError; !Why.empty()) {
    std::string Note = "nothing is kept in the cache: " + Why;
    if (Report.Notes.empty() || Report.Notes.back() != Note)
      Report.Notes.push_back(Note);
  }
  return Results;
}
