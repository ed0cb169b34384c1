//===- Fault.cpp - Faults of kpc's own ------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Fault.h"

#include "tools/kpc/Command.h"
#include "tools/kpc/Version.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <execinfo.h>
#include <fcntl.h>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <unistd.h>

namespace kpc::cli {

// Filled before anything can go wrong: a signal handler may not allocate.
static std::string ReproducerPath, ReproducerText, ReplayText;

std::string reproducerFolder() {
  const char *Folder = std::getenv("TMPDIR");
  return Folder && *Folder ? Folder : "/tmp";
}

static void say(std::string_view Text) {
  (void)!::write(STDERR_FILENO, Text.data(), Text.size());
}

/// Uses nothing that is not allowed in a signal handler.
static void writeReport(std::string_view What) {
  say("error[KPC-D0002]: a fault of kpc's own: ");
  say(What);
  say("\n");
  int File =
      ::open(ReproducerPath.c_str(),
             O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0700);
  bool Written = false;
  if (File >= 0) {
    Written = ::write(File, ReproducerText.data(), ReproducerText.size()) ==
              static_cast<ssize_t>(ReproducerText.size());
    ::close(File);
  }
  if (Written)
    say(ReplayText);
  say("  hint: please report this with the reproducer and the model\n");
}

static void onCrash(int Signal) {
  static volatile std::sig_atomic_t Again = 0;
  if (Again)
    ::_exit(InternalFault);
  Again = 1;
  writeReport(Signal == SIGABRT   ? "it aborted"
              : Signal == SIGSEGV ? "it reached memory that is not its own "
                                    "(signal 11)"
              : Signal == SIGFPE  ? "an arithmetic fault (signal 8)"
              : Signal == SIGILL  ? "an illegal instruction (signal 4)"
                                  : "a bus error (signal 7)");
  void *Frames[64];
  say("  where:\n");
  ::backtrace_symbols_fd(Frames, ::backtrace(Frames, 64), STDERR_FILENO);
  ::_exit(InternalFault);
}

void catchFaults() {
  std::error_code Code;
  std::string Here = std::filesystem::current_path(Code).string();
  ReproducerPath =
      reproducerFolder() + "/kpc-fault-" + std::to_string(::getpid()) + ".sh";
  ReproducerText = "#!/bin/sh\n# " + versionText() +
                   " failed here. This does the same again.\ncd '" + Here +
                   "' || exit 1\nexec " + commandLineText() + "\n";
  ReplayText = "  reproducer: " + ReproducerPath + "\n  replay: sh " +
               ReproducerPath + "\n";
  // The first call loads a library, which a signal handler may not do.
  void *Frame;
  ::backtrace(&Frame, 1);
  // A stack that ran over needs another one for the handler.
  static char Stack[64 * 1024];
  stack_t Alternative{};
  Alternative.ss_sp = Stack;
  Alternative.ss_size = sizeof(Stack);
  ::sigaltstack(&Alternative, nullptr);
  struct sigaction Act{};
  Act.sa_handler = onCrash;
  Act.sa_flags = SA_ONSTACK;
  ::sigemptyset(&Act.sa_mask);
  for (int Signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGBUS})
    ::sigaction(Signal, &Act, nullptr);
}

int reportFault(std::string_view What) {
  writeReport(What);
  return InternalFault;
}

void crashForTesting(bool InWorker) {
  const char *Asked = std::getenv("KPC_CRASH_FOR_TESTING");
  std::string_view Kind = Asked ? Asked : "";
  bool ForWorker = Kind == "worker" || Kind == "hang";
  if (Kind.empty() || InWorker != ForWorker)
    return;
  while (Kind == "hang")
    ::pause();
  if (Kind == "segv")
    ::raise(SIGSEGV);
  if (Kind == "throw")
    throw std::runtime_error("asked for by KPC_CRASH_FOR_TESTING");
  if (Kind == "memory")
    throw std::bad_alloc();
  std::abort();
}

} // namespace kpc::cli
