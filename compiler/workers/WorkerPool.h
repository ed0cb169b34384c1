//===- WorkerPool.h - Jobs in processes of their own ------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Code generation runs in worker processes: kpc starts itself again with a
/// hidden argument and sends jobs, strings in and strings out. So work is
/// spread over cores, an abort inside LLVM is one failed job with its last
/// words, and time and memory have limits.
///
///   // in main():
///   if (argc == 2 && argv[1] == WorkerArgument)
///     return runWorker(compileKernelJob);
///   // in the driver:
///   WorkerPool Pool({.Command = {thisExecutable(), WorkerArgument}});
///   std::vector<JobResult> Results = Pool.run(Jobs);   // in the jobs' order
///
/// On the wire, both ways: 8 bytes, little endian, the length; then the bytes.
/// A reply's first byte is '+' (done, the rest is the output) or '-' (the
/// handler refused, the rest is its message).
///
/// A pool belongs to the thread that made it: workers end with that thread.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_WORKERS_WORKERPOOL_H
#define KPC_COMPILER_WORKERS_WORKERPOOL_H

#include "compiler/workers/Subprocess.h"

#include <functional>
#include <memory>

namespace kpc {

/// The argument that makes the kpc binary a worker.
inline constexpr std::string_view WorkerArgument = "--worker";

struct JobReply {
  bool Ok = true;
  std::string Text; ///< the output, or the message
};
using JobHandler = std::function<JobReply(std::string_view Job)>;

/// The worker's main loop; returns the exit code of the process. What the
/// handler prints on standard output goes to standard error.
int runWorker(const JobHandler &Handler);

/// The exit code of a worker that has run out of memory.
inline constexpr int WorkerOutOfMemory = 71;

/// Path of the running program, for `WorkerPoolOptions::Command`.
std::string thisExecutable();

enum class JobStatus {
  Done,        ///< Output holds the handler's output
  Refused,     ///< the handler said no; Error is its message
  Crashed,     ///< the worker ended in the middle of the job
  TimedOut,    ///< the job ran past its limit
  OutOfMemory, ///< the worker said so as it ended
  NotRun,      ///< no worker could be started, or the run was cancelled
};

struct JobResult {
  JobStatus Status = JobStatus::NotRun;
  std::string Output;
  std::string Error;
  /// The end of what the worker wrote on standard error during the job.
  std::string StderrTail;
  /// The file that holds the job, where the worker crashed or hung.
  std::string Reproducer;
  double Seconds = 0;
  bool ok() const { return Status == JobStatus::Done; }
};

struct WorkerPoolOptions {
  /// The program (a path) and its arguments.
  std::vector<std::string> Command;
  /// Processes; 0: one per core this process may use.
  int Workers = 0;
  /// Per job; the address space of a worker counts its shared libraries.
  ProcessLimits Limits = {
      .Seconds = 300, .MemoryBytes = uint64_t(16) << 30, .IsCompiler = true};
  /// Where jobs that broke their worker are saved; empty: nowhere.
  std::string ReproducerFolder;
  /// Called after each job with how many are done of how many.
  std::function<void(size_t Done, size_t Total)> Progress;
  /// Asked now and then; true stops the run.
  std::function<bool()> Cancelled;
};

class WorkerPool {
public:
  explicit WorkerPool(WorkerPoolOptions Options);
  /// Leaves no process behind.
  ~WorkerPool();
  WorkerPool(const WorkerPool &) = delete;
  WorkerPool &operator=(const WorkerPool &) = delete;

  /// Runs all jobs; result I belongs to job I whatever finished first.
  /// Workers stay for the next call.
  std::vector<JobResult> run(const std::vector<std::string> &Jobs);

  int workers() const { return Options.Workers; }

private:
  struct Worker;
  struct Run;
  WorkerPoolOptions Options;
  std::vector<std::unique_ptr<Worker>> TheWorkers;
};

/// Runs a saved job in this process (under a debugger, say).
JobReply replayJob(const std::string &Path, const JobHandler &Handler);

/// Cores this process may run on (affinity and cgroup quota), at least 1.
int availableCores();

} // namespace kpc

#endif // KPC_COMPILER_WORKERS_WORKERPOOL_H
