//===- WorkersTest.cpp - Tests of subprocesses and the worker pool --------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/workers/WorkerPool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

using namespace kpc;
using testing::HasSubstr;

static std::string fakeWorker() {
  return std::filesystem::path(thisExecutable()).parent_path() /
         "kpc_fake_worker";
}

static WorkerPoolOptions options(int Workers, double Seconds = 20) {
  WorkerPoolOptions O;
  O.Command = {fakeWorker(), std::string(WorkerArgument)};
  O.Workers = Workers;
  O.Limits.Seconds = Seconds;
  return O;
}

TEST(Subprocess, RunsToTheEnd) {
  ProcessResult R = runProcess({"/bin/sh", "-c", "cat; echo oops >&2; exit 3"},
                               std::string(300000, 'x'));
  EXPECT_EQ(R.ExitCode, 3);
  EXPECT_EQ(R.Out.size(), 300000u);
  EXPECT_EQ(R.Err, "oops\n");
  EXPECT_EQ(R.describe(), "exit code 3");
}

// Only compilers with plenty of address space get a generous malloc.
TEST(Subprocess, EnvironmentOfCompilers) {
  ::unsetenv("GLIBC_TUNABLES");
  auto Tunables = [](const ProcessLimits &Limits) {
    return runProcess({"/bin/sh", "-c", "echo $GLIBC_TUNABLES"}, {}, Limits)
        .Out;
  };
  EXPECT_EQ(Tunables({}), "\n");
  EXPECT_EQ(Tunables({.MemoryBytes = uint64_t(1) << 30, .IsCompiler = true}),
            "\n");
  rlimit Own{};
  if (::getrlimit(RLIMIT_AS, &Own) == 0 && Own.rlim_cur == RLIM_INFINITY)
    EXPECT_NE(Tunables({.IsCompiler = true}).find("hugetlb"),
              std::string::npos);
  ::setenv("GLIBC_TUNABLES", "glibc.malloc.perturb=1", 1);
  EXPECT_EQ(Tunables({.IsCompiler = true}), "glibc.malloc.perturb=1\n");
  ::unsetenv("GLIBC_TUNABLES");
}

TEST(Subprocess, MissingProgram) {
  ProcessResult R = runProcess({"/nonexistent/ptxas"});
  EXPECT_EQ(R.describe(),
            "cannot run '/nonexistent/ptxas': No such file or directory");
}

TEST(Subprocess, SignalAndTime) {
  EXPECT_EQ(runProcess({"/bin/sh", "-c", "kill -6 $$"}).describe(),
            "signal 6 (Aborted)");
  ProcessResult R =
      runProcess({"/bin/sh", "-c", "sleep 60"}, {}, {.Seconds = 0.2});
  EXPECT_TRUE(R.TimedOut);
  EXPECT_EQ(R.describe(), "no answer in 0.2 s");
}

TEST(Subprocess, TemporaryFolderGoes) {
  std::string Path, Error;
  {
    TemporaryFolder T;
    Path = T.path();
    ASSERT_FALSE(Path.empty()) << T.error();
    ASSERT_TRUE(writeFile(Path + "/a", "text", Error)) << Error;
    EXPECT_EQ(readFile(Path + "/a", Error), "text");
  }
  EXPECT_FALSE(std::filesystem::exists(Path));
  EXPECT_FALSE(readFile(Path + "/a", Error));
  EXPECT_EQ(Error, "cannot read '" + Path + "/a': No such file or directory");
  EXPECT_FALSE(writeFile("/dev/full", "text", Error));
  EXPECT_EQ(Error, "cannot write '/dev/full': No space left on device");
}

TEST(WorkerPool, ResultsInTheOrderOfTheJobs) {
  WorkerPool Pool(options(3));
  std::vector<std::string> Jobs = {"sleep 150", "abc", "", "refuse", "print"};
  for (int I = 0; I < 60; ++I)
    Jobs.push_back("job" + std::to_string(I));
  Jobs.push_back(std::string(3000000, 'y'));
  std::vector<JobResult> R = Pool.run(Jobs);
  ASSERT_EQ(R.size(), Jobs.size());
  EXPECT_EQ(R[0].Output, "051 peels");
  EXPECT_EQ(R[1].Output, "cba");
  EXPECT_EQ(R[2].Output, "");
  EXPECT_EQ(R[2].Status, JobStatus::Done);
  EXPECT_EQ(R[3].Status, JobStatus::Refused);
  EXPECT_EQ(R[3].Error, "no such thing");
  EXPECT_EQ(R[4].Output, "quiet");
  for (int I = 0; I < 60; ++I)
    EXPECT_EQ(R[5 + I].Output,
              std::string(Jobs[5 + I].rbegin(), Jobs[5 + I].rend()));
  EXPECT_EQ(R.back().Output, Jobs.back());
}

TEST(WorkerPool, WorkersAreKept) {
  WorkerPool Pool(options(1));
  std::vector<JobResult> A = Pool.run({"pid", "pid"}), B = Pool.run({"pid"});
  EXPECT_EQ(A[0].Output, A[1].Output);
  EXPECT_EQ(A[0].Output, B[0].Output);
}

TEST(WorkerPool, ACrashIsOneFailedJob) {
  TemporaryFolder T;
  WorkerPoolOptions O = options(2);
  O.ReproducerFolder = T.path() + "/reproducers";
  WorkerPool Pool(O);
  std::vector<JobResult> R =
      Pool.run({"one", "abort", "two", "segv", "three", "exit", "four"});
  EXPECT_EQ(R[1].Status, JobStatus::Crashed);
  EXPECT_EQ(R[1].Error, "signal 6 (Aborted)");
  EXPECT_THAT(R[1].StderrTail, HasSubstr("LLVM ERROR: Cannot select: fexp"));
  std::string Error;
  EXPECT_EQ(readFile(R[1].Reproducer, Error), "abort") << Error;
  EXPECT_EQ(R[3].Error, "signal 11 (Segmentation fault)");
  EXPECT_EQ(R[5].Error, "exit code 3");
  EXPECT_EQ(R[0].Output, "eno");
  EXPECT_EQ(R[2].Output, "owt");
  EXPECT_EQ(R[4].Output, "eerht");
  EXPECT_EQ(R[6].Output, "ruof");
}

TEST(WorkerPool, AHangIsOneFailedJob) {
  TemporaryFolder T;
  WorkerPoolOptions O = options(2, 0.5);
  O.ReproducerFolder = T.path();
  WorkerPool Pool(O);
  std::vector<JobResult> R = Pool.run({"hang", "abc", "close", "def"});
  EXPECT_EQ(R[0].Status, JobStatus::TimedOut);
  EXPECT_EQ(R[0].Error, "no answer in 0.5 s");
  EXPECT_FALSE(R[0].Reproducer.empty());
  EXPECT_EQ(R[1].Output, "cba");
  EXPECT_EQ(R[2].Status, JobStatus::Crashed);
  EXPECT_EQ(R[2].Error, "it closed its output");
  EXPECT_EQ(R[3].Output, "fed");
}

TEST(WorkerPool, MemoryIsLimited) {
  WorkerPoolOptions O = options(1);
  O.Limits.MemoryBytes = 256 << 20;
  WorkerPool Pool(O);
  std::vector<JobResult> R = Pool.run({"memory", "abc"});
  EXPECT_EQ(R[0].Status, JobStatus::Crashed);
  EXPECT_THAT(R[0].StderrTail, HasSubstr("out of memory"));
  EXPECT_EQ(R[1].Output, "cba");
}

TEST(WorkerPool, ABrokenProgramEndsTheRun) {
  WorkerPoolOptions O = options(2);
  O.Command = {"/nonexistent/kpc", "--worker"};
  std::vector<JobResult> R = WorkerPool(O).run({"a", "b", "c"});
  for (const JobResult &J : R) {
    EXPECT_EQ(J.Status, JobStatus::NotRun);
    EXPECT_EQ(J.Error,
              "cannot run '/nonexistent/kpc': No such file or directory");
  }
  O.Command = {fakeWorker(), "die"}; // starts, never answers
  R = WorkerPool(O).run({"a", "b"});
  EXPECT_EQ(R[0].Error, "exit code 9");
  EXPECT_EQ(R[1].Error, "exit code 9");
}

TEST(WorkerPool, Cancelled) {
  WorkerPoolOptions O = options(2);
  O.Cancelled = [] { return true; };
  std::vector<JobResult> R = WorkerPool(O).run({"hang", "hang"});
  EXPECT_EQ(R[0].Status, JobStatus::NotRun);
  EXPECT_EQ(R[1].Error, "cancelled");
}

TEST(WorkerPool, Progress) {
  std::vector<size_t> Seen;
  WorkerPoolOptions O = options(2);
  O.Progress = [&](size_t Done, size_t Total) {
    Seen.push_back(Done);
    EXPECT_EQ(Total, 3u);
  };
  WorkerPool(O).run({"a", "abort", "c"});
  EXPECT_THAT(Seen, testing::ElementsAre(1, 2, 3));
}

// A kpc that is killed leaves no worker behind.
TEST(WorkerPool, WorkersEndWithTheirParent) {
  int Pipe[2];
  ASSERT_EQ(::pipe(Pipe), 0);
  pid_t Kpc = ::fork();
  ASSERT_GE(Kpc, 0);
  if (Kpc == 0) {
    WorkerPool Pool(options(1));
    std::string Pid = Pool.run({"pid"})[0].Output + "\n";
    (void)!::write(Pipe[1], Pid.data(), Pid.size());
    Pool.run({"hang"});
    ::_exit(0);
  }
  char Text[32] = {};
  ASSERT_GT(::read(Pipe[0], Text, sizeof(Text) - 1), 0);
  pid_t Worker = std::atoi(Text);
  ASSERT_GT(Worker, 1);
  ::kill(Kpc, SIGKILL);
  ::waitpid(Kpc, nullptr, 0);
  auto Gone = [&] {
    std::string Ignored;
    std::optional<std::string> Stat =
        readFile("/proc/" + std::to_string(Worker) + "/stat", Ignored);
    return !Stat || Stat->find(") Z ") != std::string::npos;
  };
  for (int I = 0; I < 500 && !Gone(); ++I)
    ::usleep(10000);
  EXPECT_TRUE(Gone());
}

TEST(WorkerPool, Replay) {
  TemporaryFolder T;
  std::string Path = T.path() + "/job", Error;
  ASSERT_TRUE(writeFile(Path, "abc", Error));
  JobHandler Echo = [](std::string_view Job) {
    return JobReply{true, std::string(Job)};
  };
  EXPECT_EQ(replayJob(Path, Echo).Text, "abc");
  EXPECT_FALSE(replayJob(Path + "x", Echo).Ok);
  EXPECT_GE(availableCores(), 1);
}
