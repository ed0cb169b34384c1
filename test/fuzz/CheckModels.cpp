//===- CheckModels.cpp - Checks many models, each in a child --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What `kpc check MODEL --arch host` does, for the name in each line of the
/// standard input: a child of this process checks it, so that a thousand
/// mutants do not start a thousand programs. For each a line tells the exit
/// code (0, 1, 2, or 128 and the signal), and the first line that was said.
///
//===----------------------------------------------------------------------===//
#include "compiler/Compiler.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace kpc;

/// What a child says; shared with it.
struct Said {
  char Text[400];
};

[[noreturn]] static void checkOne(const std::string &Path, unsigned Seconds,
                                  Said &Out) {
  constexpr rlim_t Memory = rlim_t(6) << 30;
  rlimit Limit{Memory, Memory}, NoCore{0, 0};
  ::setrlimit(RLIMIT_AS, &Limit);
  ::setrlimit(RLIMIT_CORE, &NoCore);
  ::alarm(Seconds); // SIGALRM ends the child
  CompileOptions Options;
  Options.Model = Path;
  Options.Targets = {"host"};
  Diagnostics Diags;
  bool Good = check(Options, Diags) && !Diags.hasErrors();
  for (const Diagnostic &D : Diags.all())
    if (D.Level == Severity::Error) {
      std::snprintf(Out.Text, sizeof Out.Text, "error[%s]: %s",
                    std::string(codeInfo(D.Id).Text).c_str(),
                    D.Message.substr(0, D.Message.find('\n')).c_str());
      break;
    }
  ::_exit(Good ? 0 : 1);
}

int main(int Count, char **Arguments) {
  auto Seconds =
      static_cast<unsigned>(Count > 1 ? std::atoi(Arguments[1]) : 60);
  void *Shared = ::mmap(nullptr, sizeof(Said), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (Shared == MAP_FAILED)
    return 1;
  auto &Out = *static_cast<Said *>(Shared);
  for (std::string Path; std::getline(std::cin, Path);) {
    Out.Text[0] = 0;
    pid_t Child = ::fork();
    if (Child == 0)
      checkOne(Path, Seconds, Out);
    int Status = 0;
    if (Child < 0 || ::waitpid(Child, &Status, 0) != Child)
      return 1;
    int Code = WIFEXITED(Status) ? WEXITSTATUS(Status) : 128 + WTERMSIG(Status);
    std::printf("%d %s\n", Code, Out.Text);
    std::fflush(stdout);
  }
  return 0;
}
