//===- FakeWorker.cpp - A worker that misbehaves on request ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/workers/WorkerPool.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace kpc;

static JobReply handle(std::string_view Job) {
  if (Job == "abort") {
    std::fprintf(stderr, "LLVM ERROR: Cannot select: fexp\n");
    std::abort();
  }
  if (Job == "segv") {
    volatile int *Nowhere = nullptr;
    *Nowhere = 1;
  }
  if (Job == "exit")
    std::exit(3);
  if (Job == "hang")
    while (true)
      ::pause();
  if (Job == "close") { // dead, but not gone
    for (int Fd = 3; Fd < 64; ++Fd)
      ::close(Fd);
    while (true)
      ::pause();
  }
  if (Job == "memory") {
    std::vector<char *> Blocks; // kept, or the loop is optimised away
    while (void *Block = std::malloc(1 << 24))
      Blocks.push_back(static_cast<char *>(std::memset(Block, 1, 1 << 24)));
    std::fprintf(stderr, "out of memory after %zu\n", Blocks.size());
    std::abort();
  }
  if (Job == "print") { // must not disturb the messages
    std::printf("printed\n");
    return {true, "quiet"};
  }
  if (Job == "refuse")
    return {false, "no such thing"};
  if (Job == "pid")
    return {true, std::to_string(::getpid())};
  if (Job.starts_with("sleep "))
    ::usleep(std::atoi(Job.data() + 6) * 1000);
  return {true, std::string(Job.rbegin(), Job.rend())};
}

int main(int argc, char **argv) {
  if (argc == 2 && WorkerArgument == argv[1])
    return runWorker(handle);
  if (argc == 2 && !std::strcmp(argv[1], "die"))
    return 9;
  return 2;
}
