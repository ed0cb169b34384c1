//===- Ptxas.cpp - NVIDIA's assembler -------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/nvptx/Ptxas.h"
#include "codegen/nvptx/ToolSearch.h"
#include "compiler/workers/Subprocess.h"

#include <algorithm>
#include <charconv>
#include <chrono>

namespace kpc::nvptx {

/// Reads "release 13.0" out of what `ptxas --version` prints; 0: not there.
static int32_t readVersion(const std::string &Text) {
  constexpr std::string_view Word = "release ";
  size_t At = Text.find(Word);
  if (Text.find("ptxas") == std::string::npos || At == std::string::npos)
    return 0;
  const char *End = Text.data() + Text.size();
  int Major = 0, Minor = 0;
  auto [Dot, Fault] =
      std::from_chars(Text.data() + At + Word.size(), End, Major);
  if (Fault != std::errc() || Dot == End || *Dot != '.' ||
      std::from_chars(Dot + 1, End, Minor).ec != std::errc())
    return 0;
  return Major * 1000 + Minor * 10;
}

static const char *const Install =
    "; without it kpc makes PTX only. Install the CUDA toolkit 13.0 or newer "
    "(on Debian and Ubuntu, from NVIDIA's repository: apt-get install "
    "cuda-nvcc-13-0; or: pip install nvidia-cuda-nvcc), or name the program "
    "with --ptxas";

/// The program at `Path`, if it runs and is ptxas.
static Ptxas tryProgram(const std::string &Path) {
  ProcessResult R = runProcess({Path, "--version"}, {}, {.Seconds = 20});
  int32_t Version = R.ok() ? readVersion(R.Out) : 0;
  if (!Version)
    return {{},
            0,
            {},
            "'" + Path + "' is not a ptxas that runs here (" +
                (R.ok() ? "it does not tell its version" : R.describe()) + ")"};
  return {Path, Version, R.Out, {}};
}

Ptxas findPtxas(std::string_view Option) {
  if (!Option.empty()) {
    std::string Given(Option);
    for (const std::string &Path :
         {Given, Given + "/bin/ptxas", Given + "/ptxas"})
      if (isProgram(Path))
        return tryProgram(Path);
    return {{}, 0, {}, "no ptxas at '" + Given + "', which --ptxas names"};
  }
  std::string Why;
  for (const std::string &Path : toolPlaces("ptxas")) {
    if (!isProgram(Path))
      continue;
    Ptxas Found = tryProgram(Path);
    if (Found)
      return Found;
    Why = Found.Missing;
  }
  if (Why.empty())
    Why = "ptxas was not found (CUDA_HOME, PATH, /usr/local/cuda)";
  return {{}, 0, {}, Why + Install};
}

/// The number in front of `Unit` in `Line` ("used 10 registers"); 0 where
/// there is none.
static int64_t numberBefore(std::string_view Line, std::string_view Unit) {
  size_t At = Line.find(Unit);
  if (At == std::string_view::npos || At == 0)
    return 0;
  size_t Begin = At;
  while (Begin > 0 && std::isdigit(static_cast<unsigned char>(Line[Begin - 1])))
    --Begin;
  int64_t Number = 0;
  std::from_chars(Line.data() + Begin, Line.data() + At, Number);
  return Number;
}

void readPtxasLog(std::string_view Log, Assembly &Into) {
  KernelUsage *Kernel = nullptr;
  while (!Log.empty()) {
    std::string_view Line = Log.substr(0, Log.find('\n'));
    Log.remove_prefix(std::min(Log.size(), Line.size() + 1));
    constexpr std::string_view Entry = "Compiling entry function '";
    if (size_t At = Line.find(Entry); At != std::string_view::npos) {
      std::string_view Name = Line.substr(At + Entry.size());
      Into.Kernels.push_back(
          {.Name = std::string(Name.substr(0, Name.find('\'')))});
      Kernel = &Into.Kernels.back();
    } else if (Kernel && Line.find("bytes stack frame") != Line.npos) {
      Kernel->StackBytes = numberBefore(Line, " bytes stack frame");
      Kernel->SpillStoreBytes = numberBefore(Line, " bytes spill stores");
      Kernel->SpillLoadBytes = numberBefore(Line, " bytes spill loads");
    } else if (Kernel && Line.find(": Used ") != Line.npos) {
      Kernel->Registers = numberBefore(Line, " registers");
      Kernel->Barriers = numberBefore(Line, " barriers");
      Kernel->SharedBytes = numberBefore(Line, " bytes smem");
    }
    // C75xx lines (serialised wgmma and the like) come as info or warning.
    if (Line.find("warning") != Line.npos || Line.find("C75") != Line.npos)
      Into.Warnings.emplace_back(Line);
  }
}

std::string spillText(int64_t Bytes) {
  return "spills " + std::to_string(Bytes) + " bytes of registers";
}

std::string Assembly::slowdown() const {
  std::string Text;
  if (!Kernels.empty() && Kernels.front().SpillStoreBytes > 0)
    Text = spillText(Kernels.front().SpillStoreBytes);
  for (const std::string &Line : Warnings) {
    size_t At = Line.find("C75");
    if (At == std::string::npos)
      continue;
    std::string Code = Line.substr(At, Line.find_first_of("): ", At) - At);
    if (Text.find(Code) == std::string::npos)
      Text += (Text.empty() ? "reports a loss of speed ("
                            : " and reports a loss of speed (") +
              Code + ")";
  }
  return Text;
}

/// The lines of the log that tell what is wrong, without the temporary path.
static std::string errorLines(const std::string &Log,
                              const std::string &Folder) {
  std::string Lines = Log;
  for (size_t At; (At = Lines.find(Folder + "/")) != std::string::npos;)
    Lines.erase(At, Folder.size() + 1);
  while (!Lines.empty() && Lines.back() == '\n')
    Lines.pop_back();
  return Lines;
}

Assembly assemblePtx(const Ptxas &Program, std::string_view Text,
                     const target::Target &T, double LimitSeconds) {
  Assembly A;
  if (!Program) {
    A.Error = Program.Missing;
    return A;
  }
  if (!T.isGpu()) {
    A.Error = "'" + std::string(T.Name) + "' is not a GPU";
    return A;
  }
  TemporaryFolder Folder;
  std::string In = Folder.path() + "/kernel.ptx",
              Out = Folder.path() + "/kernel.cubin";
  A.Error = Folder.error();
  if (!A.Error.empty() || !writeFile(In, Text, A.Error))
    return A;
  auto Start = std::chrono::steady_clock::now();
  ProcessResult R =
      runProcess({Program.Path, "-v", "-O3", "-arch", std::string(T.LlvmChip),
                  "-o", Out, In},
                 {}, {.Seconds = LimitSeconds, .IsCompiler = true});
  A.Seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - Start)
          .count();
  std::string Log = R.Out + R.Err;
  readPtxasLog(Log, A);
  if (!R.ok()) {
    std::string Lines = errorLines(Log, Folder.path());
    A.Error = "ptxas: " + R.describe() + (Lines.empty() ? "" : ":\n") + Lines;
    return A;
  }
  std::optional<std::string> Cubin = readFile(Out, A.Error);
  if (Cubin)
    A.Cubin = std::move(*Cubin);
  return A;
}

} // namespace kpc::nvptx
