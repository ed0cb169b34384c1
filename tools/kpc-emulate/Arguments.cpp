//===- Arguments.cpp - A kernel's arguments from the command line ---------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/kpc-emulate/Arguments.h"

#include "tools/kpc-emulate/Number.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace kpc::emulator::tool {

static constexpr const char *Kinds =
    "i8:, i16:, i32:, i64:, f32:, f64:, hex:, in:, inout:, out:";

bool readFile(const std::string &Path, std::string &Out) {
  std::ifstream In(Path, std::ios::binary);
  std::error_code Ignored;
  // A folder opens as a file does, and throws when it is read.
  if (!In || std::filesystem::is_directory(Path, Ignored))
    return false;
  Out.assign(std::istreambuf_iterator<char>(In), {});
  return true;
}

static std::string inQuotes(const std::string &Text) {
  return "'" + Text + "'";
}

static std::string textOf(const ptx::Variable &V) {
  std::string Out;
  if (V.Alignment)
    Out += ".align " + std::to_string(V.Alignment) + " ";
  Out += "." + V.Type + " " + V.Name;
  return V.IsArray ? Out + "[" + std::to_string(V.Count) + "]" : Out;
}

std::string signatureOf(const Kernel &K) {
  std::string Out = K.Name + "(";
  for (const ptx::Variable &V : K.Source.Parameters)
    Out += (&V == &K.Source.Parameters.front() ? "" : ", ") + textOf(V);
  return Out + ")";
}

/// The kinds of arguments that a parameter takes: bytes always, and by its
/// type. Untyped ones take any value of their size.
static std::vector<std::string> kindsFor(const ptx::Variable &V) {
  std::vector<std::string> Out;
  std::string Bits = std::to_string(8 * V.elementBytes());
  bool IsFloat = V.Type == "f32" || V.Type == "f64";
  bool IsHalf = V.Type == "f16" || V.Type == "f16x2" || V.Type == "bf16";
  if (V.Count == 1 && !V.IsArray && V.elementBytes() <= 8) {
    if (!IsFloat && !IsHalf && V.elementBytes() == 8)
      Out = {"in", "inout", "out"};
    if (!IsFloat && !IsHalf)
      Out.push_back("i" + Bits);
    if (IsFloat || ((Bits == "32" || Bits == "64") && V.Type.front() == 'b'))
      Out.push_back("f" + Bits);
  }
  Out.push_back("hex");
  return Out;
}

static bool isAmong(const std::string &Kind,
                    const std::vector<std::string> &All) {
  for (const std::string &One : All)
    if (One == Kind)
      return true;
  return false;
}

/// "i32:, f32: or hex: with 8 digits".
static std::string textOf(const std::vector<std::string> &All, uint64_t Bytes) {
  std::string Out;
  for (size_t N = 0; N + 1 < All.size(); ++N)
    Out += All[N] + (N + 2 == All.size() ? ": or " : ":, ");
  return Out + "hex: with " + std::to_string(2 * Bytes) + " digits";
}

bool Arguments::fail(const std::string &Text) {
  Error = Text + "\n  " + signatureOf(K);
  return false;
}

bool Arguments::checkCount(const std::vector<std::string> &Texts) {
  size_t Wanted = K.Parameters.size();
  if (Texts.size() == Wanted)
    return true;
  std::string Counts = K.Name + " has " + std::to_string(Wanted) +
                       " parameters, and there are " +
                       std::to_string(Texts.size()) + " --arg: ";
  if (Texts.size() > Wanted)
    return fail(Counts + inQuotes(Texts[Wanted]) + " is one too many");
  return fail(Counts + "argument " + std::to_string(Texts.size()) + ", " +
              inQuotes(textOf(K.Source.Parameters[Texts.size()])) +
              ", is missing");
}

template <typename T> static std::vector<uint8_t> bytesOf(T Value) {
  std::vector<uint8_t> Out(sizeof(T));
  std::memcpy(Out.data(), &Value, sizeof(T));
  return Out;
}

/// Signed or unsigned: -128 to 255 fit one byte.
static bool fits(int64_t Value, size_t Bits) {
  return Bits >= 64 ||
         (Value >= -(int64_t(1) << (Bits - 1)) && Value < int64_t(1) << Bits);
}

static bool integer(const std::string &Text, size_t Bits,
                    std::vector<uint8_t> &Value, std::string &Why) {
  int64_t Number = 0;
  uint64_t Large = 0;
  if (Bits == 64 && number(Text, Large))
    Number = static_cast<int64_t>(Large);
  else if (!number(Text, Number))
    Why = inQuotes(Text) + " is no whole number of 64 bits";
  else if (!fits(Number, Bits))
    Why = inQuotes(Text) + " does not fit " + std::to_string(Bits) + " bits";
  Value = bytesOf(Number);
  Value.resize(Bits / 8);
  return Why.empty();
}

template <typename T>
static bool floating(const std::string &Text, std::vector<uint8_t> &Value,
                     std::string &Why) {
  T Number = 0;
  if (!number(Text, Number))
    Why = inQuotes(Text) + " is no number of " + std::to_string(8 * sizeof(T)) +
          " bits";
  Value = bytesOf(Number);
  return Why.empty();
}

static bool hexadecimal(const std::string &Text, std::vector<uint8_t> &Value,
                        std::string &Why) {
  for (size_t At = 0; At + 2 <= Text.size(); At += 2) {
    uint8_t Byte = 0;
    if (!number(std::string_view(Text).substr(At, 2), Byte, 16))
      Why = inQuotes(Text.substr(At, 2)) + " are no hexadecimal digits";
    Value.push_back(Byte);
  }
  if (Text.size() % 2)
    Why = "the digits are no whole bytes";
  return Why.empty();
}

bool Arguments::valueOf(const std::string &Kind, const std::string &Rest,
                        std::vector<uint8_t> &Value, std::string &Why) {
  if (Kind == "f32")
    return floating<float>(Rest, Value, Why);
  if (Kind == "f64")
    return floating<double>(Rest, Value, Why);
  if (Kind == "hex")
    return hexadecimal(Rest, Value, Why);
  if (Kind.front() == 'i' && Kind[1] != 'n') // neither in nor inout
    return integer(Rest, size_t(std::stoul(Kind.substr(1))), Value, Why);
  return bufferOf(Kind, Rest, Value, Why);
}

bool Arguments::bufferOf(const std::string &Kind, const std::string &Rest,
                         std::vector<uint8_t> &Value, std::string &Why) {
  std::string Content, First = Rest, To;
  if (Kind != "in") {
    size_t Colon = Rest.find(':');
    if (Colon == std::string::npos || Colon + 1 == Rest.size()) {
      Why = "it names no file to write to";
      return false;
    }
    First.resize(Colon);
    To = Rest.substr(Colon + 1);
  }
  uint64_t Size = 0;
  if (Kind == "out") {
    if (!number(First, Size))
      Why = inQuotes(First) + " is no number of bytes";
  } else if (!readFile(First, Content)) {
    Why = "cannot read " + First;
  } else {
    Size = Content.size();
  }
  uint64_t Address = Why.empty() ? Memory.allocate(Size) : 0;
  if (Why.empty() && Address == 0)
    Why = "there is no memory for it";
  if (!Why.empty())
    return false;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): device addresses are the host's
  std::memcpy(reinterpret_cast<void *>(Address), Content.data(),
              Content.size());
  Value = bytesOf(Address);
  if (!To.empty())
    Outputs.push_back({To, Address, Size});
  return true;
}

bool Arguments::take(size_t Number, const std::string &Text) {
  static const std::vector<std::string> All = {
      "i8", "i16", "i32", "i64", "f32", "f64", "hex", "in", "inout", "out"};
  const ptx::Variable &V = K.Source.Parameters[Number];
  const Parameter &P = K.Parameters[Number];
  std::string Which = "argument " + std::to_string(Number) + ", ";
  size_t Colon = Text.find(':');
  std::string Kind = Text.substr(0, Colon);
  if (Colon == std::string::npos || !isAmong(Kind, All))
    return fail(Which + inQuotes(Text) + ", begins with none of " + Kinds);
  std::string Takes = Which + inQuotes(textOf(V)) + ", takes " +
                      textOf(kindsFor(V), P.Bytes) + ", not " + inQuotes(Text);
  if (!isAmong(Kind, kindsFor(V)))
    return fail(Takes);
  std::vector<uint8_t> Value;
  std::string Why;
  if (!valueOf(Kind, Text.substr(Colon + 1), Value, Why))
    return fail(Which + inQuotes(Text) + ": " + Why);
  if (Value.size() != P.Bytes)
    return fail(Takes);
  std::memcpy(Bytes.data() + P.Offset, Value.data(), P.Bytes);
  return true;
}

bool Arguments::read(const std::vector<std::string> &Texts) {
  if (!checkCount(Texts))
    return false;
  Bytes.assign(K.ParameterBytes, 0);
  for (size_t N = 0; N < Texts.size(); ++N)
    if (!take(N, Texts[N]))
      return false;
  return true;
}

} // namespace kpc::emulator::tool
