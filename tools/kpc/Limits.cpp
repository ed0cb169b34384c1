//===- Limits.cpp - What a compilation may take ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Limits.h"

#include "compiler/workers/WorkerPool.h"
#include "tools/kpc/Command.h"
#include "tools/kpc/Options.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"

#include <csignal>
#include <fmt/format.h>
#include <new>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace kpc::cli {

//===----------------------------------------------------------------------===//
// The option
//===----------------------------------------------------------------------===//

static constexpr const char *LimitForms =
    "write memory=BYTES, time=SECONDS, folded=BYTES or unrolled=NODES; bytes "
    "may end in KiB, MiB or GiB";

/// "512MiB", "4GiB", "1000"
static std::optional<uint64_t> readBytes(llvm::StringRef Text) {
  uint64_t Unit = 1, Number = 0;
  for (auto [Name, Factor] :
       {std::pair("KiB", 10), std::pair("MiB", 20), std::pair("GiB", 30)})
    if (Text.consume_back(Name))
      Unit = uint64_t(1) << Factor;
  if (Text.getAsInteger(10, Number) || Number > UINT64_MAX / Unit)
    return std::nullopt;
  return Number * Unit;
}

static void takeLimit(const std::string &Text, CompileLimits &Limits) {
  auto [Name, Value] = llvm::StringRef(Text).split('=');
  constexpr double MostSeconds = 1e6;
  std::optional<uint64_t> Bytes = readBytes(Value);
  double Seconds = 0;
  bool Good = true;
  if (Name == "memory" && Bytes && *Bytes)
    Limits.MemoryBytes = *Bytes;
  else if (Name == "folded" && Bytes)
    Limits.FoldedBytes = *Bytes;
  else if (Name == "time")
    Good = !Value.getAsDouble(Seconds) && Seconds > 0 && Seconds <= MostSeconds;
  else
    Good = Name == "unrolled" &&
           !Value.getAsInteger(10, Limits.UnrolledNodes) &&
           Limits.UnrolledNodes <= uint64_t(INT64_MAX);
  if (!Good)
    throw UsageError(Code::UsageValue,
                     fmt::format("--limit: '{}' is no limit", printable(Text)),
                     LimitForms);
  if (Name == "time")
    Limits.Seconds = Seconds;
}

void addLimits(CLI::App &App, CompileLimits &Limits) {
  addText(
      App, "--limit", "NAME=VALUE",
      "what compiling may take: memory=BYTES and time=SECONDS (default: no "
      "limit), folded=BYTES of constants computed at a time (default: 4GiB; "
      "a value that takes more is computed in each run), unrolled=NODES of "
      "loops and "
      "branches (default: 200000); repeatable",
      [&Limits](const std::string &T) { takeLimit(T, Limits); });
}

//===----------------------------------------------------------------------===//
// Keeping to them
//===----------------------------------------------------------------------===//

/// Written before anything can run out.
static std::string OutOfMemoryText, OutOfTimeText;
static int OutOfMemoryCode = InputAtFault;

[[noreturn]] static void endWithoutMemory() {
  (void)!::write(STDERR_FILENO, OutOfMemoryText.data(), OutOfMemoryText.size());
  ::_exit(OutOfMemoryCode);
}

static void onBadAlloc(void *, const char *, bool) { endWithoutMemory(); }

void endIfWithoutMemory(const void *Address) {
  // As much as malloc asks of the system, when the heap cannot grow.
  constexpr size_t LeastMapped = size_t(1) << 20, NearNull = size_t(1) << 16;
  if (OutOfMemoryText.empty() ||
      reinterpret_cast<uintptr_t>(Address) >= NearNull)
    return;
  void *More = ::mmap(nullptr, LeastMapped, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (More == MAP_FAILED)
    endWithoutMemory();
  ::munmap(More, LeastMapped);
}

static std::string errorText(Code Id, const std::string &Message) {
  Diagnostics Diags;
  Diags.error(Id).message(Message);
  return Diags.text();
}

EnforcedLimits::EnforcedLimits(const CompileLimits &Limits) {
  OutOfMemoryText = errorText(
      Code::DriverOutOfMemory,
      Limits.MemoryBytes
          ? fmt::format("kpc needs more memory than --limit memory={} allows",
                        bytesText(Limits.MemoryBytes))
          : "there is not enough memory to compile this model");
  if (Limits.MemoryBytes) {
    rlimit Memory{Limits.MemoryBytes, Limits.MemoryBytes};
    ::setrlimit(RLIMIT_AS, &Memory);
  }
  std::set_new_handler(endWithoutMemory);
  llvm::install_bad_alloc_error_handler(onBadAlloc);
  if (Limits.Seconds <= 0)
    return;
  OutOfTimeText = errorText(
      Code::DriverOutOfTime,
      fmt::format("compiling takes longer than --limit time={} allows",
                  secondsText(Limits.Seconds)));
  Time.emplace(Limits.Seconds, OutOfTimeText.c_str());
}

EnforcedLimits::~EnforcedLimits() {
  std::set_new_handler(nullptr);
  llvm::remove_bad_alloc_error_handler();
  OutOfMemoryText.clear();
}

/// A worker that crashes is ended by the signal, which tells the pool why: what
/// faulted does so again.
static void onWorkerFault(int, siginfo_t *Info, void *) {
  endIfWithoutMemory(Info->si_addr);
  ::signal(SIGSEGV, SIG_DFL);
}

void endWorkerWithoutMemory() {
  OutOfMemoryText = "out of memory\n";
  OutOfMemoryCode = WorkerOutOfMemory;
  struct sigaction Act{};
  Act.sa_sigaction = onWorkerFault;
  Act.sa_flags = SA_SIGINFO;
  ::sigemptyset(&Act.sa_mask);
  ::sigaction(SIGSEGV, &Act, nullptr);
  std::set_new_handler(endWithoutMemory);
  llvm::install_bad_alloc_error_handler(onBadAlloc);
}

} // namespace kpc::cli
