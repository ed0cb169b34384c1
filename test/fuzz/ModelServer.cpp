//===- ModelServer.cpp - Runs kpc again and again -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The kpc program for tests that start it thousands of times. Loading LLVM
/// takes most of the time of a small command, so that this process loads it
/// once, and a child of it runs each command:
///
///   kpc_model_server SECONDS [ARGUMENT...]
///
/// The arguments are a first command that this process runs itself: what it
/// touches is there for all children. Each line of the standard input is a
/// command: a folder to run it in and its arguments, with tabs between them.
/// The answer is a line with the exit code and the length of what the child
/// said on both streams, and then that. The code is -N for signal N, and
/// OutOfTime where the child was ended after so many seconds.
///
//===----------------------------------------------------------------------===//
#include "tools/kpc/Program.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <poll.h>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

static constexpr int OutOfTime = 1000;

static std::vector<std::string> wordsOf(const std::string &Line) {
  std::vector<std::string> Words;
  std::istringstream Stream(Line);
  for (std::string Word; std::getline(Stream, Word, '\t');)
    Words.push_back(Word);
  return Words;
}

/// The program's name is the server's own, which is a worker, too.
static int runCommand(std::vector<std::string> Words) {
  std::vector<char *> Arguments;
  for (std::string &Word : Words)
    Arguments.push_back(Word.data());
  Arguments.push_back(nullptr);
  return kpc::cli::runProgram(static_cast<int>(Words.size()), Arguments.data());
}

[[noreturn]] static void beChild(std::vector<std::string> Words, int Said) {
  ::setsid();
  // What it says goes into the pipe, and nothing of the server's is left.
  std::cin.setstate(std::ios::eofbit);
  if (!std::freopen("/dev/null", "r", stdin) || ::dup2(Said, 1) < 0 ||
      ::dup2(Said, 2) < 0 || ::chdir(Words.front().c_str()) != 0)
    std::_Exit(126);
  ::close(Said);
  Words.front() = "kpc";
  int Code = runCommand(std::move(Words));
  std::fflush(nullptr);
  std::_Exit(Code);
}

/// All that the child says, until it has closed the pipe. False: out of time.
static bool listen(int Pipe, double Seconds, std::string &Said) {
  using Clock = std::chrono::steady_clock;
  auto End = Clock::now() + std::chrono::duration<double>(Seconds);
  while (true) {
    auto Left = std::chrono::duration_cast<std::chrono::milliseconds>(
        End - Clock::now());
    pollfd Poll{Pipe, POLLIN, 0};
    if (Left.count() <= 0 ||
        ::poll(&Poll, 1, static_cast<int>(Left.count())) == 0)
      return false;
    char Buffer[4096];
    ssize_t Got = ::read(Pipe, Buffer, sizeof Buffer);
    if (Got <= 0)
      return true;
    constexpr size_t Most = size_t(1) << 20;
    if (Said.size() < Most)
      Said.append(Buffer, static_cast<size_t>(Got));
  }
}

static bool serve(const std::string &Line, double Seconds) {
  int Pipe[2];
  if (::pipe(Pipe) != 0)
    return false;
  pid_t Child = ::fork();
  if (Child == 0) {
    ::close(Pipe[0]);
    beChild(wordsOf(Line), Pipe[1]);
  }
  ::close(Pipe[1]);
  if (Child < 0)
    return false;
  std::string Said;
  bool InTime = listen(Pipe[0], Seconds, Said);
  ::close(Pipe[0]);
  if (!InTime)
    ::kill(-Child, SIGKILL);
  int Status = 0;
  if (::waitpid(Child, &Status, 0) != Child)
    return false;
  int Code = !InTime             ? OutOfTime
             : WIFEXITED(Status) ? WEXITSTATUS(Status)
                                 : -WTERMSIG(Status);
  std::printf("%d %zu\n", Code, Said.size());
  std::fwrite(Said.data(), 1, Said.size(), stdout);
  return std::fflush(stdout) == 0;
}

int main(int Count, char **Arguments) {
  if (Count > 1 && std::string_view(Arguments[1]) == "--worker")
    return kpc::cli::runProgram(Count, Arguments);
  double Seconds = Count > 1 ? std::atof(Arguments[1]) : 60;
  if (Count > 2) {
    std::vector<std::string> First(Arguments + 1, Arguments + Count);
    First.front() = "kpc";
    if (int Code = runCommand(First))
      return Code;
  }
  for (std::string Line; std::getline(std::cin, Line);)
    if (!serve(Line, Seconds))
      return 1;
  return 0;
}
