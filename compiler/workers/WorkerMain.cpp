//===- WorkerMain.cpp - The loop of a worker process ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/workers/Wire.h"
#include "compiler/workers/WorkerPool.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sched.h>
#include <unistd.h>

namespace kpc {

static bool readAll(int Fd, char *To, size_t Size) {
  while (Size) {
    ssize_t Got = ::read(Fd, To, Size);
    if (Got > 0) {
      To += Got;
      Size -= Got;
    } else if (Got == 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

static bool writeAll(int Fd, std::string_view Bytes) {
  while (!Bytes.empty()) {
    ssize_t Put = ::write(Fd, Bytes.data(), Bytes.size());
    if (Put > 0)
      Bytes.remove_prefix(Put);
    else if (errno != EINTR)
      return false;
  }
  return true;
}

/// A message of the pool; none at the end of the stream.
static std::optional<std::string> readMessage(int Fd) {
  char Header[WireHeader] = {};
  if (!readAll(Fd, Header, WireHeader))
    return std::nullopt;
  // The peer is our own parent: its lengths are those of strings it holds.
  std::optional<uint64_t> Length = frameLength({Header, WireHeader});
  if (!Length)
    return std::nullopt;
  std::string Message(*Length, '\0');
  if (!readAll(Fd, Message.data(), Message.size()))
    return std::nullopt;
  return Message;
}

int runWorker(const JobHandler &Handler) {
  // Whatever code prints must not come between the messages.
  int In = ::fcntl(0, F_DUPFD_CLOEXEC, 3);
  int Out = ::fcntl(1, F_DUPFD_CLOEXEC, 3);
  int Null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (In < 0 || Out < 0 || Null < 0 || ::dup2(Null, 0) < 0 ||
      ::dup2(2, 1) < 0) {
    std::perror("kpc worker");
    return 70;
  }
  ::close(Null);
  while (std::optional<std::string> Job = readMessage(In)) {
    JobReply Reply = Handler(*Job);
    std::fflush(stdout);
    std::fflush(stderr);
    Reply.Text.insert(Reply.Text.begin(), Reply.Ok ? '+' : '-');
    if (!writeAll(Out, frame(Reply.Text)))
      return 70;
  }
  return 0;
}

JobReply replayJob(const std::string &Path, const JobHandler &Handler) {
  std::string Error;
  std::optional<std::string> Job = readFile(Path, Error);
  return Job ? Handler(*Job) : JobReply{false, Error};
}

std::string thisExecutable() {
  std::error_code Failed;
  std::filesystem::path P =
      std::filesystem::read_symlink("/proc/self/exe", Failed);
  return Failed ? "/proc/self/exe" : P.string();
}

/// Cores by the quota of a cgroup (version 2); 0 where there is none.
static int quotaCores() {
  std::string Ignored;
  std::optional<std::string> Text = readFile("/sys/fs/cgroup/cpu.max", Ignored);
  if (!Text)
    return 0;
  // "max 100000" where there is no quota, which reads as 0.
  char *Rest = nullptr;
  long Quota = std::strtol(Text->c_str(), &Rest, 10);
  long Period = std::strtol(Rest, nullptr, 10);
  if (Quota <= 0 || Period <= 0)
    return 0;
  return std::max<long>(1, (Quota + Period - 1) / Period);
}

int availableCores() {
  cpu_set_t Set;
  int Cores = 1;
  if (::sched_getaffinity(0, sizeof(Set), &Set) == 0)
    Cores = std::max(1, CPU_COUNT(&Set));
  int Quota = quotaCores();
  return Quota ? std::min(Cores, Quota) : Cores;
}

} // namespace kpc
