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
// Prints what the emulator finds; exit code 1 for a finding, 2 for a wrong use.

#include "emulator/Load.h"
#include "emulator/execute/Launch.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace kpc::emulator;

namespace {

constexpr const char *Usage =
    "usage: kpc-emulate FILE.ptx [--entry NAME] [--grid X[,Y[,Z]]] [--block "
    "X[,Y[,Z]]]\n"
    "                   [--shared BYTES] [--threads N] [--fast] [--stats] "
    "[--arg ARG]...\n"
    "  without --entry the text is checked and its kernels are listed\n"
    "  ARG: i8:N i16:N i32:N i64:N f32:X f64:X   a value\n"
    "       in:FILE        a buffer with the file's bytes\n"
    "       inout:FILE:TO  the same, written to TO afterwards\n"
    "       out:BYTES:TO   a fresh buffer, written to TO afterwards\n"
    "       hex:DIGITS     bytes of a parameter\n"
    "  --fast: do not look for races and uninitialised shared memory\n";

/// A buffer that is written to a file after the run.
struct Output {
  std::string File;
  uint64_t Address, Bytes;
};

struct Options {
  std::string Text, Entry;
  LaunchShape Shape;
  LaunchOptions Launch;
  bool Statistics = false;
  std::vector<std::string> Arguments;
};

struct Run {
  DeviceMemory Memory{uint64_t{64} << 30};
  std::vector<std::vector<uint8_t>> Values; ///< of the parameters
  std::vector<Output> Outputs;
};

int complain(const std::string &Text) {
  std::fprintf(stderr, "kpc-emulate: %s\n", Text.c_str());
  return 2;
}

bool readFile(const std::string &Path, std::string &Out) {
  std::ifstream In(Path, std::ios::binary);
  std::error_code Ignored;
  // A folder opens as a file does, and throws when it is read.
  if (!In || std::filesystem::is_directory(Path, Ignored))
    return false;
  Out.assign(std::istreambuf_iterator<char>(In), {});
  return true;
}

template <typename T> bool number(std::string_view Text, T &Out) {
  auto [End, Error] =
      std::from_chars(Text.data(), Text.data() + Text.size(), Out);
  return Error == std::errc() && End == Text.data() + Text.size();
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

template <typename T> std::vector<uint8_t> bytesOf(T Value) {
  std::vector<uint8_t> Out(sizeof(T));
  std::memcpy(Out.data(), &Value, sizeof(T));
  return Out;
}

/// Signed or unsigned: -128 to 255 fit one byte.
bool fits(int64_t Value, size_t Bytes) {
  size_t Bits = 8 * Bytes;
  return Bits >= 64 ||
         (Value >= -(int64_t(1) << (Bits - 1)) && Value < int64_t(1) << Bits);
}

bool integer(Run &R, std::string_view Text, size_t Bytes) {
  int64_t Value = 0;
  if (!number(Text, Value) || !fits(Value, Bytes))
    return false;
  R.Values.push_back(bytesOf(Value));
  R.Values.back().resize(Bytes);
  return true;
}

template <typename T> bool floating(Run &R, std::string_view Text) {
  T Value = 0;
  if (!number(Text, Value))
    return false;
  R.Values.push_back(bytesOf(Value));
  return true;
}

bool hexadecimal(Run &R, std::string_view Text) {
  std::vector<uint8_t> Out;
  for (size_t I = 0; I + 1 < Text.size(); I += 2) {
    uint8_t Byte = 0;
    auto [End, Error] =
        std::from_chars(Text.data() + I, Text.data() + I + 2, Byte, 16);
    if (Error != std::errc() || End != Text.data() + I + 2)
      return false;
    Out.push_back(Byte);
  }
  R.Values.push_back(std::move(Out));
  return Text.size() % 2 == 0;
}

/// With the content, if any.
bool buffer(Run &R, uint64_t Bytes, const std::string &Content,
            const std::string &To) {
  uint64_t Address = R.Memory.allocate(Bytes);
  if (Address == 0)
    return false;
  std::memcpy(reinterpret_cast<void *>(Address), Content.data(),
              Content.size());
  R.Values.push_back(bytesOf(Address));
  if (!To.empty())
    R.Outputs.push_back({To, Address, Bytes});
  return true;
}

bool argument(Run &R, const std::string &Text) {
  size_t Colon = Text.find(':');
  if (Colon == std::string::npos)
    return false;
  std::string Kind = Text.substr(0, Colon), Rest = Text.substr(Colon + 1);
  if (Kind == "i8" || Kind == "i16" || Kind == "i32" || Kind == "i64")
    return integer(R, Rest, size_t(std::atoi(Kind.c_str() + 1)) / 8);
  if (Kind == "f32")
    return floating<float>(R, Rest);
  if (Kind == "f64")
    return floating<double>(R, Rest);
  if (Kind == "hex")
    return hexadecimal(R, Rest);
  std::string Content, To;
  if (Kind == "in")
    return readFile(Rest, Content) && buffer(R, Content.size(), Content, "");
  size_t Second = Rest.find(':');
  if (Second == std::string::npos)
    return false;
  To = Rest.substr(Second + 1);
  Rest.resize(Second);
  if (Kind == "inout")
    return readFile(Rest, Content) && buffer(R, Content.size(), Content, To);
  uint64_t Bytes = 0;
  return Kind == "out" && number(Rest, Bytes) && buffer(R, Bytes, "", To);
}

/// 0: go on.
int readOptions(int Count, char **Words, Options &O) {
  std::string Path;
  for (int I = 1; I < Count; ++I) {
    std::string Word = Words[I];
    if (Word == "--help" || Word == "-h")
      return std::fputs(Usage, stdout), 3;
    if (Word == "--fast") {
      O.Launch.Strict = false;
      continue;
    }
    if (Word == "--stats") {
      O.Statistics = true;
      continue;
    }
    if (!Word.starts_with("--")) {
      Path = Word;
      continue;
    }
    if (++I == Count)
      return complain(Word + " needs a value");
    std::string Value = Words[I];
    bool Right = true;
    if (Word == "--entry")
      O.Entry = Value;
    else if (Word == "--grid")
      Right = triple(Value, O.Shape.Grid);
    else if (Word == "--block")
      Right = triple(Value, O.Shape.Block);
    else if (Word == "--shared")
      Right = number(Value, O.Shape.DynamicShared);
    else if (Word == "--threads")
      Right = number(Value, O.Launch.Threads) && O.Launch.Threads <= 256;
    else if (Word == "--arg")
      O.Arguments.push_back(Value);
    else
      return complain("unknown option " + Word);
    if (!Right)
      return complain(Word + ": '" + Value + "' is not understood");
  }
  if (Path.empty())
    return std::fputs(Usage, stderr), 2;
  return readFile(Path, O.Text) ? 0 : complain("cannot read " + Path);
}

/// The parameters as the kernel lays them out; false: they do not fit.
bool layOut(const Kernel &K, const Run &R, std::vector<uint8_t> &Out) {
  if (R.Values.size() != K.Parameters.size())
    return false;
  Out.assign(K.ParameterBytes, 0);
  for (size_t N = 0; N < R.Values.size(); ++N) {
    const Parameter &P = K.Parameters[N];
    if (R.Values[N].size() != P.Bytes)
      return false;
    std::memcpy(Out.data() + P.Offset, R.Values[N].data(), P.Bytes);
  }
  return true;
}

int list(const Program &P) {
  for (const auto &K : P.Kernels)
    std::printf("%s: %zu instructions, %zu parameters (%llu bytes), %llu bytes "
                "of shared memory\n",
                K->Name.c_str(), K->Code.size(), K->Parameters.size(),
                static_cast<unsigned long long>(K->ParameterBytes),
                static_cast<unsigned long long>(K->SharedBytes));
  return 0;
}

int execute(const Options &O, Run &R, const Kernel &K) {
  for (const std::string &A : O.Arguments)
    if (!argument(R, A))
      return complain("--arg '" + A + "' cannot be used");
  std::vector<uint8_t> Parameters;
  if (!layOut(K, R, Parameters))
    return complain("the arguments are not the kernel's parameters");
  LaunchResult Result = launch(K, O.Shape, Parameters, R.Memory, O.Launch);
  if (Result.Trouble) {
    std::fprintf(stderr, "%s\n", Result.Trouble->text().c_str());
    return 1;
  }
  for (const Output &Out : R.Outputs) {
    std::ofstream To(Out.File, std::ios::binary);
    To.write(reinterpret_cast<const char *>(Out.Address),
             std::streamsize(Out.Bytes));
    if (!To)
      return complain("cannot write " + Out.File);
  }
  if (O.Statistics)
    std::printf("%llu warp instructions\n",
                static_cast<unsigned long long>(Result.WarpInstructions));
  return 0;
}

} // namespace

int main(int Count, char **Words) {
  Options O;
  if (int Code = readOptions(Count, Words, O))
    return Code == 3 ? 0 : Code;
  Run R;
  std::vector<LoadError> Errors;
  auto M = LoadedModule::load(O.Text, R.Memory, Errors);
  if (!M) {
    std::fputs(describe(Errors).c_str(), stderr);
    return 1;
  }
  if (O.Entry.empty())
    return list(M->program());
  const Kernel *K = M->find(O.Entry);
  if (!K)
    return complain("there is no kernel " + O.Entry);
  return execute(O, R, *K);
}
