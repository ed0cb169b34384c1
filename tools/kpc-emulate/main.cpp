//===- main.cpp - Runs one kernel of a PTX text ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//   kpc-emulate add.ptx --entry add --grid 4 --block 256 \
//     --arg in:a.bin --arg in:b.bin --arg out:4096:c.bin --arg i64:1024
//
// Prints what the emulator finds. Exit codes: 1 a finding, or a text that is
// refused; 2 a wrong use; 3 the time limit.

#include "emulator/Load.h"
#include "emulator/execute/Launch.h"
#include "tools/kpc-emulate/Arguments.h"
#include "tools/kpc-emulate/FileKind.h"
#include "tools/kpc-emulate/Number.h"

#include <cstdio>
#include <fstream>

using namespace kpc::emulator;
using namespace kpc::emulator::tool;

namespace {

enum : int { Right, Found, WrongUse, Late };

/// A million seconds are no limit any more.
constexpr double LongestLimit = 1e6;

constexpr const char *Usage =
    "usage: kpc-emulate FILE.ptx [--entry NAME] [--grid X[,Y[,Z]]] [--block "
    "X[,Y[,Z]]]\n"
    "                   [--shared BYTES] [--threads N] [--time-limit SECONDS] "
    "[--fast] [--stats] [--begins-early]\n"
    "                   [--arg ARG]...\n"
    "  without --entry the text is checked and its kernels are listed\n"
    "  ARG: i8:N i16:N i32:N i64:N f32:X f64:X   a value\n"
    "       in:FILE        a buffer with the file's bytes\n"
    "       inout:FILE:TO  the same, written to TO afterwards\n"
    "       out:BYTES:TO   a fresh buffer, written to TO afterwards\n"
    "       hex:DIGITS     bytes of a parameter\n"
    "  --begins-early: it may run before kernels that it depends on have "
    "ended\n"
    "  --fast: do not look for races and uninitialised shared memory\n"
    "exit codes: 0 the kernel ended; 1 a finding, or a text that is refused;\n"
    "            2 a wrong use; 3 the time limit\n";

struct Options {
  std::string Text, Entry;
  LaunchShape Shape;
  LaunchOptions Launch;
  bool Statistics = false, Help = false;
  std::vector<std::string> Arguments;
};

int complain(const std::string &Text) {
  std::fprintf(stderr, "kpc-emulate: %s\n", Text.c_str());
  return WrongUse;
}

bool triple(std::string_view Text, uint32_t (&Out)[3]) {
  for (unsigned D = 0; D < 3; ++D) {
    size_t Comma = Text.find(',');
    if (!number(Text.substr(0, Comma), Out[D]))
      return false;
    if (Comma == std::string_view::npos)
      return true;
    Text.remove_prefix(Comma + 1);
  }
  return false;
}

/// An option with a value: empty, or what the value must be.
std::string readOption(const std::string &Word, const std::string &Value,
                       Options &O) {
  if (Word == "--entry")
    O.Entry = Value;
  else if (Word == "--arg")
    O.Arguments.push_back(Value);
  else if (Word == "--grid" || Word == "--block")
    return triple(Value, Word == "--grid" ? O.Shape.Grid : O.Shape.Block)
               ? ""
               : "one to three whole numbers, X,Y,Z";
  else if (Word == "--shared")
    return number(Value, O.Shape.DynamicShared) ? "" : "a number of bytes";
  else if (Word == "--threads")
    return number(Value, O.Launch.Threads) && O.Launch.Threads >= 1 &&
                   O.Launch.Threads <= 256
               ? ""
               : "1 to 256";
  else if (Word == "--time-limit")
    return number(Value, O.Launch.Seconds) && O.Launch.Seconds > 0 &&
                   O.Launch.Seconds <= LongestLimit
               ? ""
               : "a number of seconds, more than 0 and at most 1000000";
  else
    return "unknown";
  return "";
}

int readOptions(int Count, char **Words, Options &O) {
  std::string Path;
  for (int I = 1; I < Count; ++I) {
    std::string Word = Words[I];
    if (Word == "--help" || Word == "-h") {
      O.Help = true;
      return Right;
    }
    if (Word == "--fast") {
      O.Launch.Strict = false;
    } else if (Word == "--begins-early") {
      O.Shape.BeginsEarly = true;
    } else if (Word == "--stats") {
      O.Statistics = true;
    } else if (!Word.starts_with("--")) {
      if (!Path.empty())
        return complain(Word + " is one text too many");
      Path = Word;
    } else if (I + 1 == Count) {
      return complain(Word + " needs a value");
    } else if (std::string Must = readOption(Word, Words[++I], O);
               Must == "unknown") {
      return complain("unknown option " + Word);
    } else if (!Must.empty()) {
      return complain(Word + " is " + Must + ", not '" + Words[I] + "'");
    }
  }
  if (Path.empty()) {
    std::fputs(Usage, stderr);
    return WrongUse;
  }
  if (!readFile(Path, O.Text))
    return complain("cannot read " + Path);
  if (std::string Why = reasonAgainstPtx(O.Text); !Why.empty()) {
    complain(Path + " " + Why);
    return Found; // as any text that is refused
  }
  return Right;
}

int list(const Program &P) {
  for (const auto &K : P.Kernels)
    std::printf("%s: %zu instructions, %llu bytes of parameters, %llu bytes of "
                "shared memory\n",
                signatureOf(*K).c_str(), K->Code.size(),
                static_cast<unsigned long long>(K->ParameterBytes),
                static_cast<unsigned long long>(K->SharedBytes));
  return Right;
}

int execute(const Options &O, DeviceMemory &Memory, const Kernel &K) {
  Arguments A(K, Memory);
  if (!A.read(O.Arguments))
    return complain(A.error());
  LaunchResult Result = launch(K, O.Shape, A.bytes(), Memory, O.Launch);
  if (Result.Trouble) {
    std::fprintf(stderr, "%s\n", Result.Trouble->text().c_str());
    return Result.Trouble->Kind == FindingKind::TimeLimit ? Late : Found;
  }
  for (const Output &Out : A.outputs()) {
    std::ofstream To(Out.File, std::ios::binary);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the host's addresses
    To.write(reinterpret_cast<const char *>(Out.Address),
             std::streamsize(Out.Bytes));
    if (!To)
      return complain("cannot write " + Out.File);
  }
  if (O.Statistics)
    std::printf("%llu warp instructions\n",
                static_cast<unsigned long long>(Result.WarpInstructions));
  return Right;
}

} // namespace

int main(int Count, char **Words) {
  Options O;
  if (int Code = readOptions(Count, Words, O))
    return Code;
  if (O.Help) {
    std::fputs(Usage, stdout);
    return Right;
  }
  DeviceMemory Memory{uint64_t{64} << 30};
  std::vector<LoadError> Errors;
  auto M = LoadedModule::load(O.Text, Memory, Errors);
  if (!M) {
    std::fputs(describe(Errors).c_str(), stderr);
    return Found;
  }
  if (O.Entry.empty())
    return list(M->program());
  const Kernel *K = M->find(O.Entry);
  if (!K) {
    std::string Names;
    for (const auto &Has : M->program().Kernels)
      Names += (Names.empty() ? "" : ", ") + Has->Name;
    return complain(
        "there is no kernel " + O.Entry +
        (Names.empty() ? ", nor any other" : "; there is " + Names));
  }
  return execute(O, Memory, *K);
}
