//===- KernelBatch.cpp - Compiles many kernels at once -------------------===//
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
#include "compiler/kernels/CompileKernel.h"
#include "compiler/workers/WorkerPool.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <cstdlib>

using namespace kpc;

namespace {

/// As many as --jobs may name.
constexpr unsigned MostWorkers = 1024;

/// What a compiled kernel depends on. The paths of ptxas and nvdisasm are not
/// part of it; whether they are there, and what they are, is.
std::string keyOf(const KernelJob &Job) {
  return CacheKey("kernel")
      .add(Version)
      .add(buildId())
      .add(Job.Target)
      .add(Job.Text)
      .add(Job.Listing)
      .add(Job.LineInfo ? "lines" : "")
      .add(std::to_string(Job.HostOptimization))
      .add(Job.Schedule)
      .add(std::to_string(Job.MostMicroseconds))
      .add(Job.Ptxas.empty() ? "ptx" : "cubin")
      .add(Job.Releases)
      .digest();
}

/// Options.Jobs, or what KPC_JOBS says where the caller names no number. A
/// small model's kernels compile sooner than a worker starts, so that scripts
/// with hundreds of them set it to 0. A limit of memory needs a worker.
int wantedWorkers(const CompileOptions &Options, CompileReport &Report) {
  const char *Value = std::getenv("KPC_JOBS");
  if (Options.Jobs || !Value || !*Value)
    return Options.Jobs;
  unsigned Number = 0;
  if (llvm::StringRef(Value).getAsInteger(10, Number) || Number > MostWorkers) {
    std::string Note =
        "the environment's KPC_JOBS: expected a number from 0 to " +
        std::to_string(MostWorkers) + ", got '" + Value +
        "'; there is a worker process for each core";
    if (!llvm::is_contained(Report.Notes, Note))
      Report.Notes.push_back(Note);
    return 0;
  }
  if (Number == 0)
    return Options.Limits.MemoryBytes ? 1 : CompileOptions::InThisProcess;
  return static_cast<int>(Number);
}

WorkerPoolOptions poolOptions(const CompileOptions &Options, int Workers) {
  WorkerPoolOptions Pool;
  Pool.Command = Options.WorkerCommand;
  if (Pool.Command.empty())
    Pool.Command = {thisExecutable(), std::string(WorkerArgument)};
  Pool.Workers = Workers;
  Pool.ReproducerFolder = Options.ReproducerFolder;
  Pool.Cancelled = Options.Cancelled;
  if (Options.Limits.MemoryBytes)
    Pool.Limits.MemoryBytes = Options.Limits.MemoryBytes;
  return Pool;
}

void reportFailure(const KernelJob &Job, const JobResult &Result,
                   const WorkerPoolOptions &Pool, Diagnostics &Diags,
                   CompileReport &Report) {
  ModelPlace Place;
  Place.Node = Job.Symbol;
  if (Result.Status == JobStatus::Refused && !Job.Operator.empty()) {
    Place.Node = Job.Node;
    Place.Op = Job.Operator;
    Diags.error(Code::TargetCustomCode)
        .at(Place)
        .target(Job.Target)
        .message(Result.Error);
    return;
  }
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
  if (Result.Status == JobStatus::OutOfMemory) {
    Diags.error(Code::DriverOutOfMemory)
        .at(Place)
        .target(Job.Target)
        .message("a worker needs more memory for this kernel than " +
                 std::to_string(Pool.Limits.MemoryBytes >> 20) + " MiB");
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

/// As a worker would, without one.
std::vector<JobResult> runHere(const std::vector<std::string> &Messages,
                               const WorkerPoolOptions &Options) {
  std::vector<JobResult> Results(Messages.size());
  for (auto [Result, Message] : llvm::zip_equal(Results, Messages)) {
    if (Options.Cancelled && Options.Cancelled()) {
      Result.Error = "cancelled";
      continue;
    }
    JobReply Reply = compileKernelJob(Message);
    Result.Status = Reply.Ok ? JobStatus::Done : JobStatus::Refused;
    (Reply.Ok ? Result.Output : Result.Error) = std::move(Reply.Text);
    if (Options.Progress)
      Options.Progress(&Result - Results.data() + 1, Results.size());
  }
  return Results;
}

/// Has workers compile the jobs at the places of `Missing`.
void compileMissing(const std::vector<KernelJob> &Jobs,
                    const std::vector<std::string> &Keys,
                    llvm::ArrayRef<size_t> Missing,
                    const CompileOptions &Options, Cache &Store,
                    Diagnostics &Diags, CompileReport &Report,
                    std::vector<std::optional<CompiledKernel>> &Results) {
  std::vector<std::string> Messages;
  Messages.reserve(Missing.size());
  for (size_t I : Missing)
    Messages.push_back(Jobs[I].encode());
  int Workers = wantedWorkers(Options, Report);
  WorkerPoolOptions PoolOptions = poolOptions(Options, Workers);
  if (Options.Progress)
    PoolOptions.Progress = [&](size_t Done, size_t Total) {
      Options.Progress("kernels", Done, Total);
    };
  std::vector<JobResult> Replies = Workers == CompileOptions::InThisProcess
                                       ? runHere(Messages, PoolOptions)
                                       : WorkerPool(PoolOptions).run(Messages);
  for (auto [I, Reply] : llvm::zip_equal(Missing, Replies)) {
    if (Reply.ok())
      Results[I] = CompiledKernel::decode(Reply.Output);
    if (Results[I])
      Store.store(Keys[I], Reply.Output);
    else
      reportFailure(Jobs[I], Reply, PoolOptions, Diags, Report);
  }
  Store.trim();
  if (const std::string &Why = Store.statistics().WriteError; !Why.empty()) {
    std::string Note = "nothing is kept in the cache: " + Why;
    if (Report.Notes.empty() || Report.Notes.back() != Note)
      Report.Notes.push_back(Note);
  }
}

} // namespace

std::vector<std::optional<CompiledKernel>>
kpc::compileBatch(const std::vector<KernelJob> &Jobs,
                  const CompileOptions &Options, Diagnostics &Diags,
                  CompileReport &Report, std::vector<bool> &Hits) {
  Cache Store({.Folder = Options.CacheFolder});
  std::vector<std::optional<CompiledKernel>> Results(Jobs.size());
  Hits.assign(Jobs.size(), false);
  std::vector<std::string> Keys;
  std::vector<size_t> Missing, Same(Jobs.size());
  llvm::StringMap<size_t> FirstOfKey;
  for (size_t I = 0; I < Jobs.size(); ++I) {
    Keys.push_back(keyOf(Jobs[I]));
    Same[I] = FirstOfKey.try_emplace(Keys.back(), I).first->second;
    if (Same[I] != I)
      continue;
    if (std::optional<std::string> Bytes = Store.find(Keys.back()))
      Results[I] = CompiledKernel::decode(*Bytes);
    Hits[I] = Results[I].has_value();
    if (!Hits[I])
      Missing.push_back(I);
  }
  if (!Missing.empty())
    compileMissing(Jobs, Keys, Missing, Options, Store, Diags, Report, Results);
  for (size_t I = 0; I < Jobs.size(); ++I) {
    Results[I] = Results[Same[I]];
    Hits[I] = Hits[Same[I]];
    if (Results[I])
      Results[I]->Entry = Jobs[I].Entry;
  }
  return Results;
}
