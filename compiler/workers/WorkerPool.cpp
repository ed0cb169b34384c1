//===- WorkerPool.cpp - Jobs in processes of their own --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread, one poll loop: no locks, and the parent-death signal (which is
// tied to the thread that started a child) means what it should.
//
//===----------------------------------------------------------------------===//

#include "compiler/workers/WorkerPool.h"
#include "compiler/workers/Wire.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace kpc {

using Clock = std::chrono::steady_clock;

/// Bytes of standard error that are kept for a report.
static constexpr size_t TailBytes = 8192;
/// How often Cancelled is asked, at least.
static constexpr int TickMilliseconds = 100;
/// A worker that dies this often before it answers anything is not started
/// again: its program is broken, not its jobs.
static constexpr int StartAttempts = 3;

struct WorkerPool::Worker {
  Child Process;
  bool Busy = false;
  size_t Job = 0;
  std::string ToSend;   ///< the rest of the job's frame
  std::string Received; ///< the reply so far
  std::string Tail;
  Clock::time_point Started;

  bool running() const { return Process.Pid > 0; }
};

struct WorkerPool::Run {
  const std::vector<std::string> &Jobs;
  std::vector<JobResult> Results;
  size_t Next = 0, Done = 0;
};

WorkerPool::WorkerPool(WorkerPoolOptions O) : Options(std::move(O)) {
  if (Options.Workers <= 0)
    Options.Workers = availableCores();
}

WorkerPool::~WorkerPool() {
  for (auto &W : TheWorkers)
    if (W->running())
      killAndReap(W->Process);
}

static constexpr std::string_view ReproducerPrefix = "kpc-job-";

/// FNV-1a: names a reproducer by its content, so one fault makes one file.
static std::string contentName(std::string_view Job) {
  uint64_t H = 0xcbf29ce484222325u;
  for (unsigned char C : Job)
    H = (H ^ C) * 0x100000001b3u;
  char Name[40];
  std::snprintf(Name, sizeof(Name), "kpc-job-%016llx",
                static_cast<unsigned long long>(H));
  return Name;
}

/// Jobs of others that failed: as many stay, the newest.
static constexpr size_t MostReproducers = 10;

static void removeOldReproducers(const std::string &Folder) {
  namespace fs = std::filesystem;
  std::vector<std::pair<fs::file_time_type, fs::path>> Found;
  std::error_code Code;
  for (fs::directory_iterator It(Folder, Code), End; !Code && It != End;
       It.increment(Code)) {
    std::error_code Gone;
    if (It->path().filename().string().starts_with(ReproducerPrefix) &&
        It->is_regular_file(Gone) && !It->is_symlink(Gone))
      if (auto Written = It->last_write_time(Gone); !Gone)
        Found.emplace_back(Written, It->path());
  }
  std::sort(Found.begin(), Found.end());
  // Those of other users stay: they cannot be removed.
  for (size_t I = 0; I + MostReproducers < Found.size(); ++I)
    fs::remove(Found[I].second, Code);
}

static std::string saveReproducer(const std::string &Folder,
                                  std::string_view Job) {
  if (Folder.empty())
    return {};
  std::error_code Ignored;
  std::filesystem::create_directories(Folder, Ignored);
  std::string Path = Folder + "/" + contentName(Job), Error;
  if (!writeFile(Path, Job, Error))
    return {};
  removeOldReproducers(Folder);
  return Path;
}

static void appendTail(std::string &Tail, const char *Bytes, size_t Size) {
  Tail.append(Bytes, Size);
  if (Tail.size() > 2 * TailBytes)
    Tail.erase(0, Tail.size() - TailBytes);
}

/// Takes what is there without waiting. False: the stream has ended.
static bool drain(int Fd, std::string &To, bool IsTail) {
  while (true) {
    pollfd P = {Fd, POLLIN, 0};
    if (::poll(&P, 1, 0) <= 0)
      return true;
    char Buffer[65536];
    ssize_t Got = ::read(Fd, Buffer, sizeof(Buffer));
    if (Got > 0 && IsTail)
      appendTail(To, Buffer, Got);
    else if (Got > 0)
      To.append(Buffer, Got);
    else if (Got == 0 || errno != EINTR)
      return false;
  }
}

namespace {
/// The steps of one run; a friend in all but name, so that WorkerPool.h shows
/// no descriptors.
template <typename Worker, typename RunState> struct Loop {
  const WorkerPoolOptions &Options;
  std::vector<std::unique_ptr<Worker>> &Workers;
  RunState &R;
  int DeadStarts = 0;
  std::string StartError = {};

  void finish(Worker &W, JobResult Result) {
    Result.Seconds =
        std::chrono::duration<double>(Clock::now() - W.Started).count();
    if (W.Tail.size() > TailBytes)
      W.Tail.erase(0, W.Tail.size() - TailBytes);
    Result.StderrTail = std::move(W.Tail);
    R.Results[W.Job] = std::move(Result);
    W.Busy = false;
    W.Tail.clear();
    ++R.Done;
    if (Options.Progress)
      Options.Progress(R.Done, R.Jobs.size());
  }

  /// The worker ended, or must end, in the middle of its job.
  void lose(Worker &W, JobStatus Status, std::string Why) {
    drain(W.Process.Err, W.Tail, /*IsTail=*/true);
    int Ended = killAndReap(W.Process);
    JobResult Result;
    Result.Status = Status;
    Result.Error = Why.empty() ? describeWaitStatus(Ended) : std::move(Why);
    if (Status != JobStatus::OutOfMemory)
      Result.Reproducer =
          saveReproducer(Options.ReproducerFolder, R.Jobs[W.Job]);
    finish(W, std::move(Result));
  }

  bool start(Worker &W) {
    if (W.running())
      return true;
    std::optional<Child> C = spawn(Options.Command, Options.Limits, StartError);
    if (!C)
      return false;
    W.Process = *C;
    return true;
  }

  void assign(Worker &W) {
    W.Job = R.Next++;
    W.Busy = true;
    W.ToSend = frame(R.Jobs[W.Job]);
    W.Received.clear();
    W.Tail.clear();
    W.Started = Clock::now();
  }

  void send(Worker &W) {
    ssize_t Sent = ::send(W.Process.In, W.ToSend.data(), W.ToSend.size(),
                          MSG_NOSIGNAL | MSG_DONTWAIT);
    if (Sent > 0)
      W.ToSend.erase(0, Sent);
    // A worker that is gone shows itself on its output.
    else if (Sent < 0 && errno != EAGAIN && errno != EINTR)
      W.ToSend.clear();
  }

  void receive(Worker &W) {
    bool Open = drain(W.Process.Out, W.Received, /*IsTail=*/false);
    std::optional<uint64_t> Length = frameLength(W.Received);
    if (Length && W.Received.size() - WireHeader >= *Length && *Length > 0) {
      drain(W.Process.Err, W.Tail, /*IsTail=*/true);
      JobResult Result;
      bool Ok = W.Received[WireHeader] == '+';
      Result.Status = Ok ? JobStatus::Done : JobStatus::Refused;
      (Ok ? Result.Output : Result.Error) =
          W.Received.substr(WireHeader + 1, *Length - 1);
      finish(W, std::move(Result));
      return;
    }
    if (Open)
      return;
    std::string End = awaitOwnEnd(W);
    bool NoMemory = End == "exit code " + std::to_string(WorkerOutOfMemory);
    lose(W, NoMemory ? JobStatus::OutOfMemory : JobStatus::Crashed, End);
  }

  /// The output has closed; gives the process a moment to end by itself, so
  /// that its own exit code or signal is told and not our kill.
  std::string awaitOwnEnd(Worker &W) {
    for (int I = 0; I < 200; ++I) {
      int Status = 0;
      if (::waitpid(W.Process.Pid, &Status, WNOHANG) == W.Process.Pid) {
        ::kill(-W.Process.Pid, SIGKILL);
        W.Process.Pid = -1;
        return describeWaitStatus(Status);
      }
      ::usleep(1000);
    }
    return "it closed its output";
  }

  void checkTime(Worker &W) {
    double Limit = Options.Limits.Seconds;
    std::chrono::duration<double> Taken = Clock::now() - W.Started;
    if (Limit <= 0 || Taken.count() < Limit)
      return;
    char Why[64];
    std::snprintf(Why, sizeof(Why), "no answer in %g s", Limit);
    lose(W, JobStatus::TimedOut, Why);
  }

  /// Gives every idle worker a job. False: none can be started.
  bool fill() {
    bool AnyBusy = false;
    for (auto &W : Workers) {
      if (!W->Busy && R.Next < R.Jobs.size()) {
        if (!start(*W)) {
          if (++DeadStarts >= StartAttempts)
            return AnyBusy;
          continue;
        }
        assign(*W);
      }
      AnyBusy |= W->Busy;
    }
    return true;
  }

  void wait() {
    std::vector<pollfd> Fds;
    for (auto &W : Workers) {
      bool On = W->Busy;
      Fds.push_back({On ? W->Process.Out : -1, POLLIN, 0});
      Fds.push_back({On ? W->Process.Err : -1, POLLIN, 0});
      bool Sending = On && !W->ToSend.empty();
      Fds.push_back({Sending ? W->Process.In : -1, POLLOUT, 0});
    }
    ::poll(Fds.data(), Fds.size(), TickMilliseconds);
    for (size_t I = 0; I < Workers.size(); ++I) {
      Worker &W = *Workers[I];
      if (!W.Busy)
        continue;
      if (Fds[3 * I + 2].revents)
        send(W);
      if (Fds[3 * I + 1].revents)
        drain(W.Process.Err, W.Tail, /*IsTail=*/true);
      if (Fds[3 * I].revents)
        receive(W);
      if (W.Busy)
        checkTime(W);
    }
  }

  void giveUp(const std::string &Why) {
    for (auto &W : Workers)
      if (W->Busy) {
        killAndReap(W->Process);
        W->Busy = false;
      }
    for (JobResult &Result : R.Results)
      if (Result.Status == JobStatus::NotRun)
        Result.Error = Why;
  }

  void run() {
    while (R.Done < R.Jobs.size()) {
      if (!fill())
        return giveUp(StartError);
      if (Options.Cancelled && Options.Cancelled())
        return giveUp("cancelled");
      wait();
    }
  }
};
} // namespace

std::vector<JobResult> WorkerPool::run(const std::vector<std::string> &Jobs) {
  Run R{Jobs, std::vector<JobResult>(Jobs.size())};
  size_t Wanted = std::min<size_t>(Options.Workers, Jobs.size());
  while (TheWorkers.size() < Wanted)
    TheWorkers.push_back(std::make_unique<Worker>());
  Loop<Worker, Run> L{Options, TheWorkers, R};
  L.run();
  return std::move(R.Results);
}

} // namespace kpc
