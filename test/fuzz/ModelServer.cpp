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
/// once, and children of it run the commands:
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
/// Called by the name kpc it is kpc, so that a machine where both are needed
/// takes one file.
///
/// A child runs commands until one ends it, or so many are done: where a fork
/// is dear, as in a sandbox, one for each command took most of the time.
///
//===----------------------------------------------------------------------===//
#include "tools/kpc/Program.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <poll.h>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
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

/// Commands of one child. What it leaks is gone with it.
static constexpr int MostCommands = 100;

namespace {
/// A process that runs commands. It says on one pipe what the commands say, and
/// on another each one's exit code, once that is all.
struct Child {
  pid_t Process = -1;
  int Commands = -1, Said = -1, Codes = -1;
  int Done = 0;

  bool start();
  void end();
};
} // namespace

/// False at the end of the file.
static bool readLine(int From, std::string &Line) {
  Line.clear();
  for (char C = 0; ::read(From, &C, 1) == 1;) {
    if (C == '\n')
      return true;
    Line += C;
  }
  return false;
}

static bool writeAll(int To, std::string_view Text) {
  while (!Text.empty()) {
    ssize_t Written = ::write(To, Text.data(), Text.size());
    if (Written <= 0)
      return false;
    Text.remove_prefix(static_cast<size_t>(Written));
  }
  return true;
}

[[noreturn]] static void beChild(int Commands, int Said, int Codes) {
  ::setsid();
  // What it says goes into the pipe, and nothing of the server's is left.
  std::cin.setstate(std::ios::eofbit);
  if (!std::freopen("/dev/null", "r", stdin) || ::dup2(Said, 1) < 0 ||
      ::dup2(Said, 2) < 0)
    std::_Exit(126);
  ::close(Said);
  for (std::string Line; readLine(Commands, Line);) {
    std::vector<std::string> Words = wordsOf(Line);
    if (Words.empty() || ::chdir(Words.front().c_str()) != 0)
      std::_Exit(126);
    Words.front() = "kpc";
    int Code = runCommand(std::move(Words));
    std::fflush(nullptr);
    if (!writeAll(Codes, std::to_string(Code) + "\n"))
      std::_Exit(126);
  }
  std::_Exit(0);
}

bool Child::start() {
  int In[2], Out[2], Ends[2];
  // Programs that the child starts must not keep its pipes open.
  if (::pipe2(In, O_CLOEXEC) != 0 || ::pipe2(Out, O_CLOEXEC) != 0 ||
      ::pipe2(Ends, O_CLOEXEC) != 0)
    return false;
  Process = ::fork();
  if (Process == 0) {
    ::close(In[1]);
    ::close(Out[0]);
    ::close(Ends[0]);
    beChild(In[0], Out[1], Ends[1]);
  }
  ::close(In[0]);
  ::close(Out[1]);
  ::close(Ends[1]);
  Commands = In[1];
  Said = Out[0];
  Codes = Ends[0];
  Done = 0;
  return Process > 0;
}

void Child::end() {
  if (Process < 0)
    return;
  for (int File : {Commands, Said, Codes})
    ::close(File);
  ::kill(-Process, SIGKILL);
  ::waitpid(Process, nullptr, 0);
  Process = -1;
}

static void readSaid(int From, std::string &Said) {
  char Buffer[4096];
  ssize_t Got = ::read(From, Buffer, sizeof Buffer);
  constexpr size_t Most = size_t(1) << 20;
  if (Got > 0 && Said.size() < Most)
    Said.append(Buffer, static_cast<size_t>(Got));
}

static bool hasMore(int From) {
  pollfd Poll{From, POLLIN, 0};
  return ::poll(&Poll, 1, 0) > 0 && (Poll.revents & POLLIN);
}

/// The exit code of what the child runs; it has ended where that is none of
/// the program's.
static int await(Child &C, double Seconds, std::string &Said) {
  using Clock = std::chrono::steady_clock;
  auto End = Clock::now() + std::chrono::duration<double>(Seconds);
  while (true) {
    auto Left = std::chrono::duration_cast<std::chrono::milliseconds>(
        End - Clock::now());
    pollfd Polls[] = {{C.Said, POLLIN, 0}, {C.Codes, POLLIN, 0}};
    if (Left.count() <= 0 ||
        ::poll(Polls, 2, static_cast<int>(Left.count())) == 0) {
      C.end();
      return OutOfTime;
    }
    if (Polls[0].revents & POLLIN) {
      readSaid(C.Said, Said);
      continue;
    }
    std::string Line;
    if ((Polls[1].revents & POLLIN) && readLine(C.Codes, Line)) {
      while (hasMore(C.Said))
        readSaid(C.Said, Said);
      return std::atoi(Line.c_str());
    }
    // Both pipes are closed: the command has ended the process.
    int Status = 0;
    pid_t Process = std::exchange(C.Process, -1);
    for (int File : {C.Commands, C.Said, C.Codes})
      ::close(File);
    ::waitpid(Process, &Status, 0);
    return WIFEXITED(Status) ? WEXITSTATUS(Status) : -WTERMSIG(Status);
  }
}

static bool serve(Child &C, const std::string &Line, double Seconds) {
  if (C.Process >= 0 && C.Done >= MostCommands)
    C.end();
  if (C.Process < 0 && !C.start())
    return false;
  ++C.Done;
  std::string Said;
  if (!writeAll(C.Commands, Line + "\n"))
    return false;
  int Code = await(C, Seconds, Said);
  std::printf("%d %zu\n", Code, Said.size());
  std::fwrite(Said.data(), 1, Said.size(), stdout);
  return std::fflush(stdout) == 0;
}

int main(int Count, char **Arguments) {
  bool IsKpc =
      Count > 0 && std::filesystem::path(Arguments[0]).filename() == "kpc";
  if (IsKpc || (Count > 1 && std::string_view(Arguments[1]) == "--worker"))
    return kpc::cli::runProgram(Count, Arguments);
  double Seconds = Count > 1 ? std::atof(Arguments[1]) : 60;
  if (Count > 2) {
    std::vector<std::string> First(Arguments + 1, Arguments + Count);
    First.front() = "kpc";
    if (int Code = runCommand(First))
      return Code;
  }
  // A child that has ended is known by its exit code.
  std::signal(SIGPIPE, SIG_IGN);
  Child C;
  int Code = 0;
  for (std::string Line; Code == 0 && std::getline(std::cin, Line);)
    Code = serve(C, Line, Seconds) ? 0 : 1;
  C.end();
  return Code;
}
