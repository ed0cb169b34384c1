//===- Subprocess.cpp - Programs that kpc runs ----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/workers/Subprocess.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace kpc {

using Clock = std::chrono::steady_clock;

static void closeFd(int &Fd) {
  if (Fd >= 0)
    ::close(Fd);
  Fd = -1;
}

/// Compilers take much memory in small pieces and give it back at their end:
/// glibc asks the kernel for large parts of it, in huge pages where there are
/// any, and keeps them. ptxas and workers spend a third less time in the kernel
/// so.
static constexpr std::string_view Tunables = "GLIBC_TUNABLES=";
static constexpr const char *TunedMalloc =
    "GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.top_pad=16777216:"
    "glibc.malloc.mmap_threshold=268435456:"
    "glibc.malloc.trim_threshold=268435456";

/// Address space from which on a child's malloc may be generous: below, it
/// takes what it needs and no more, and a lack of memory is told from a fault
/// by how much is left.
static constexpr uint64_t PlentyOfSpace = uint64_t(8) << 30;

static bool hasPlentyOfSpace(const ProcessLimits &Limits) {
  rlimit Own{};
  return (!Limits.MemoryBytes || Limits.MemoryBytes >= PlentyOfSpace) &&
         ::getrlimit(RLIMIT_AS, &Own) == 0 && Own.rlim_cur >= PlentyOfSpace;
}

/// Our environment for a child; what the user says of malloc stays. What a
/// worker got of us it hands on to a compiler with plenty of space alone.
static std::vector<char *> environmentOfChild(const ProcessLimits &Limits) {
  std::vector<char *> Of;
  bool Tunes = Limits.IsCompiler && hasPlentyOfSpace(Limits);
  for (char **One = environ; One && *One; ++One) {
    if (std::string_view(*One) == TunedMalloc)
      continue;
    Tunes &= !std::string_view(*One).starts_with(Tunables);
    Of.push_back(*One);
  }
  if (Tunes)
    Of.push_back(const_cast<char *>(TunedMalloc));
  Of.push_back(nullptr);
  return Of;
}

/// Runs in the child between vfork and exec, in the parent's memory: only calls
/// of the kernel, which change nothing there. The status pipe closes by itself
/// when exec succeeds.
[[noreturn]] static void becomeProgram(char *const *Argv, char *const *Env,
                                       int In, int Out, int Err, int StatusPipe,
                                       pid_t Parent,
                                       const ProcessLimits &Limits) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != Parent) // it ended before the line above
    ::_exit(127);
  rlimit NoCore{0, 0};
  ::setrlimit(RLIMIT_CORE, &NoCore);
  if (Limits.MemoryBytes) {
    rlimit Memory{Limits.MemoryBytes, Limits.MemoryBytes};
    ::setrlimit(RLIMIT_AS, &Memory);
  }
  // All signals are blocked until here: our handlers would run in the parent's
  // memory.
  for (int One : {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGPIPE})
    ::signal(One, SIG_DFL);
  sigset_t None;
  sigemptyset(&None);
  ::sigprocmask(SIG_SETMASK, &None, nullptr);
  if (::dup2(In, 0) >= 0 && ::dup2(Out, 1) >= 0 && ::dup2(Err, 2) >= 0)
    ::execve(Argv[0], Argv, Env);
  int Code = errno;
  (void)!::write(StatusPipe, &Code, sizeof(Code));
  ::_exit(127);
}

namespace {
/// The descriptors of one spawn; closes what is left in it.
struct Ends {
  int In[2] = {-1, -1}, Out[2] = {-1, -1}, Err[2] = {-1, -1},
      Status[2] = {-1, -1};
  bool open() {
    return ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, In) == 0 &&
           ::pipe2(Out, O_CLOEXEC) == 0 && ::pipe2(Err, O_CLOEXEC) == 0 &&
           ::pipe2(Status, O_CLOEXEC) == 0;
  }
  ~Ends() {
    for (int *Pair : {In, Out, Err, Status}) {
      closeFd(Pair[0]);
      closeFd(Pair[1]);
    }
  }
};
} // namespace

std::optional<Child> spawn(const std::vector<std::string> &Argv,
                           const ProcessLimits &Limits, std::string &Error) {
  Ends E;
  if (Argv.empty() || !E.open()) {
    Error = Argv.empty() ? "no program was named" : std::strerror(errno);
    return std::nullopt;
  }
  std::vector<char *> Args;
  Args.reserve(Argv.size() + 1);
  for (const std::string &A : Argv)
    Args.push_back(const_cast<char *>(A.c_str()));
  Args.push_back(nullptr);

  std::vector<char *> Env = environmentOfChild(Limits);
  pid_t Parent = ::getpid();
  sigset_t All, Before;
  sigfillset(&All);
  ::pthread_sigmask(SIG_SETMASK, &All, &Before);
  // fork would copy a worker's page tables for each run of ptxas.
  // posix_spawn sets neither limits nor a signal for the parent's death.
  // NOLINTBEGIN(clang-analyzer-*,bugprone-unsafe-functions)
  pid_t Pid = ::vfork();
  if (Pid == 0)
    becomeProgram(Args.data(), Env.data(), E.In[1], E.Out[1], E.Err[1],
                  E.Status[1], Parent, Limits);
  // NOLINTEND(clang-analyzer-*,bugprone-unsafe-functions)
  int Failed = errno;
  ::pthread_sigmask(SIG_SETMASK, &Before, nullptr);
  if (Pid < 0) {
    Error = std::string("cannot start a process: ") + std::strerror(Failed);
    return std::nullopt;
  }
  closeFd(E.Status[1]);
  int Code = 0;
  ssize_t Got;
  do
    Got = ::read(E.Status[0], &Code, sizeof(Code));
  while (Got < 0 && errno == EINTR);
  if (Got == sizeof(Code)) {
    ::waitpid(Pid, nullptr, 0);
    Error = "cannot run '" + Argv[0] + "': " + std::strerror(Code);
    return std::nullopt;
  }
  Child C{Pid, E.In[0], E.Out[0], E.Err[0]};
  E.In[0] = E.Out[0] = E.Err[0] = -1;
  return C;
}

int killAndReap(Child &C) {
  int Status = 0;
  if (C.Pid > 0) {
    ::kill(-C.Pid, SIGKILL);
    while (::waitpid(C.Pid, &Status, 0) < 0 && errno == EINTR)
      ;
  }
  C.Pid = -1;
  closeFd(C.In);
  closeFd(C.Out);
  closeFd(C.Err);
  return Status;
}

std::string describeWaitStatus(int Status) {
  if (WIFEXITED(Status))
    return "exit code " + std::to_string(WEXITSTATUS(Status));
  if (WIFSIGNALED(Status))
    return "signal " + std::to_string(WTERMSIG(Status)) + " (" +
           strsignal(WTERMSIG(Status)) + ")";
  return "status " + std::to_string(Status);
}

std::string ProcessResult::describe() const {
  if (!Failure.empty())
    return Failure;
  if (TimedOut) {
    char Text[64];
    std::snprintf(Text, sizeof(Text), "no answer in %g s", LimitSeconds);
    return Text;
  }
  if (Signal)
    return "signal " + std::to_string(Signal) + " (" + strsignal(Signal) + ")";
  return "exit code " + std::to_string(ExitCode);
}

/// Milliseconds until `End` for poll; -1 where there is no limit.
static int pollTimeout(std::optional<Clock::time_point> End) {
  if (!End)
    return -1;
  auto Left = std::chrono::duration_cast<std::chrono::milliseconds>(
      *End - Clock::now());
  return Left.count() < 0 ? 0 : static_cast<int>(Left.count()) + 1;
}

/// Feeds `Input` and collects both outputs until the child closes them.
/// Returns false when the time ran out.
static bool exchange(Child &C, std::string_view Input, ProcessResult &R,
                     std::optional<Clock::time_point> End) {
  if (Input.empty())
    closeFd(C.In);
  while (C.Out >= 0 || C.Err >= 0) {
    pollfd Fds[3] = {
        {C.Out, POLLIN, 0}, {C.Err, POLLIN, 0}, {C.In, POLLOUT, 0}};
    int Ready = ::poll(Fds, 3, pollTimeout(End));
    if (Ready < 0 && errno != EINTR)
      return true;
    if (Ready == 0 && End && Clock::now() >= *End)
      return false;
    if (Ready <= 0)
      continue;
    char Buffer[16384];
    for (int I = 0; I < 2; ++I) {
      if (!Fds[I].revents)
        continue;
      int &Fd = I == 0 ? C.Out : C.Err;
      ssize_t Got = ::read(Fd, Buffer, sizeof(Buffer));
      if (Got > 0)
        (I == 0 ? R.Out : R.Err).append(Buffer, Got);
      else if (Got == 0 || errno != EINTR)
        closeFd(Fd);
    }
    if (C.In >= 0 && Fds[2].revents) {
      ssize_t Sent =
          ::send(C.In, Input.data(), Input.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (Sent > 0)
        Input.remove_prefix(Sent);
      bool Gone = Sent < 0 && errno != EAGAIN && errno != EINTR;
      if (Input.empty() || Gone)
        closeFd(C.In);
    }
  }
  return true;
}

/// Waits for a child that has closed its outputs. False: time ran out.
static bool awaitEnd(Child &C, int &Status,
                     std::optional<Clock::time_point> End) {
  while (true) {
    pid_t Got = ::waitpid(C.Pid, &Status, End ? WNOHANG : 0);
    if (Got == C.Pid)
      return true;
    if (Got < 0 && errno != EINTR)
      return true;
    if (End && Clock::now() >= *End)
      return false;
    if (End)
      ::usleep(1000);
  }
}

ProcessResult runProcess(const std::vector<std::string> &Argv,
                         std::string_view Input, const ProcessLimits &Limits) {
  ProcessResult R;
  R.LimitSeconds = Limits.Seconds;
  std::optional<Child> C = spawn(Argv, Limits, R.Failure);
  if (!C)
    return R;
  std::optional<Clock::time_point> End;
  if (Limits.Seconds > 0)
    End = Clock::now() +
          std::chrono::microseconds(static_cast<int64_t>(Limits.Seconds * 1e6));
  int Status = 0;
  if (!exchange(*C, Input, R, End) || !awaitEnd(*C, Status, End)) {
    R.TimedOut = true;
    killAndReap(*C);
    return R;
  }
  // It is reaped already; what it may have left in its group goes too.
  ::kill(-C->Pid, SIGKILL);
  C->Pid = -1;
  killAndReap(*C);
  if (WIFEXITED(Status))
    R.ExitCode = WEXITSTATUS(Status);
  else if (WIFSIGNALED(Status))
    R.Signal = WTERMSIG(Status);
  return R;
}

TemporaryFolder::TemporaryFolder() {
  const char *Root = std::getenv("TMPDIR");
  Path = std::string(Root && *Root ? Root : "/tmp") + "/kpc-XXXXXX";
  if (!::mkdtemp(Path.data())) {
    Error = "cannot make a folder like '" + Path + "': " + std::strerror(errno);
    Path.clear();
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code Ignored;
  if (!Path.empty())
    std::filesystem::remove_all(Path, Ignored);
}

std::optional<std::string> readFile(const std::string &Path,
                                    std::string &Error) {
  int Fd = ::open(Path.c_str(), O_RDONLY | O_CLOEXEC);
  std::string Content;
  bool Ok = Fd >= 0;
  while (Ok) {
    char Buffer[65536];
    ssize_t Got = ::read(Fd, Buffer, sizeof(Buffer));
    if (Got == 0)
      break;
    if (Got > 0)
      Content.append(Buffer, Got);
    else
      Ok = errno == EINTR;
  }
  if (!Ok)
    Error = "cannot read '" + Path + "': " + std::strerror(errno);
  closeFd(Fd);
  return Ok ? std::optional(std::move(Content)) : std::nullopt;
}

bool writeFile(const std::string &Path, std::string_view Content,
               std::string &Error) {
  int Fd = ::open(Path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bool Ok = Fd >= 0;
  while (Ok && !Content.empty()) {
    ssize_t Put = ::write(Fd, Content.data(), Content.size());
    if (Put > 0)
      Content.remove_prefix(Put);
    else
      Ok = Put < 0 && errno == EINTR;
  }
  if (!Ok)
    Error = "cannot write '" + Path + "': " + std::strerror(errno);
  // Some file systems tell of a full disk only here.
  if (Fd >= 0 && ::close(Fd) != 0 && Ok) {
    Error = "cannot write '" + Path + "': " + std::strerror(errno);
    return false;
  }
  return Ok;
}

} // namespace kpc
