//===- Text.cpp - Text from strangers, made fit to print ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/diagnostics/Diagnostics.h"

#include <algorithm>

namespace kpc {

/// Bytes of the well-formed UTF-8 sequence at the start of `Text`; 0 if there
/// is none (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF).
static size_t utf8Length(std::string_view Text) {
  auto Byte = [&](size_t I) { return static_cast<unsigned char>(Text[I]); };
  unsigned char First = Byte(0);
  if (First < 0x80)
    return 1;
  size_t Length = First >= 0xF0 ? 4 : First >= 0xE0 ? 3 : 2;
  if (First < 0xC2 || First > 0xF4 || Text.size() < Length)
    return 0;
  for (size_t I = 1; I < Length; ++I)
    if ((Byte(I) & 0xC0) != 0x80)
      return 0;
  unsigned char Second = Byte(1);
  bool Bad =
      (First == 0xE0 && Second < 0xA0) || (First == 0xED && Second > 0x9F) ||
      (First == 0xF0 && Second < 0x90) || (First == 0xF4 && Second > 0x8F);
  return Bad ? 0 : Length;
}

static constexpr std::string_view Replacement = "\xEF\xBF\xBD"; // U+FFFD

std::string jsonQuote(std::string_view Text) {
  static const char *Hex = "0123456789abcdef";
  std::string Out = "\"";
  while (!Text.empty()) {
    unsigned char C = static_cast<unsigned char>(Text[0]);
    size_t Length = utf8Length(Text);
    if (Length == 0)
      Out += Replacement;
    else if (C == '"' || C == '\\')
      (Out += '\\') += static_cast<char>(C);
    else if (C == '\n')
      Out += "\\n";
    else if (C < 0x20 || C == 0x7F)
      ((Out += "\\u00") += Hex[C >> 4]) += Hex[C & 15];
    else
      Out += Text.substr(0, Length);
    Text.remove_prefix(std::max<size_t>(Length, 1));
  }
  return Out + "\"";
}

/// Whether a character is a command to a terminal rather than text: controls,
/// also those of ISO 6429 above U+0080, and what turns the direction of the
/// text around it (UAX 9).
static bool isCommand(std::string_view Character) {
  auto Byte = [&](size_t I) {
    return static_cast<unsigned char>(Character[I]);
  };
  if (Character.size() == 1)
    return Byte(0) < 0x20 || Byte(0) == 0x7F;
  if (Character.size() == 2)
    return (Byte(0) == 0xC2 && Byte(1) < 0xA0) || // U+0080 … U+009F
           (Byte(0) == 0xD8 && Byte(1) == 0x9C);  // U+061C
  if (Character.size() != 3 || Byte(0) != 0xE2)
    return false;
  return (Byte(1) == 0x80 && (Byte(2) == 0x8E || Byte(2) == 0x8F || // U+200E
                              (Byte(2) >= 0xAA && Byte(2) <= 0xAE))) || // 202A
         (Byte(1) == 0x81 && Byte(2) >= 0xA6 && Byte(2) <= 0xA9); // U+2066
}

std::string printable(std::string_view Text, size_t Limit) {
  std::string Out;
  while (!Text.empty()) {
    size_t Length = utf8Length(Text);
    if (Out.size() + std::max<size_t>(Length, 1) > Limit)
      return Out + "...";
    if (Length == 0 || isCommand(Text.substr(0, Length)))
      Out += '?';
    else
      Out += Text.substr(0, Length);
    Text.remove_prefix(std::max<size_t>(Length, 1));
  }
  return Out;
}

/// "ui8" as u8, "i1" as bool; the others are called what MLIR calls them.
static std::string elementWord(std::string_view Type) {
  if (Type == "i1")
    return "bool";
  return Type.starts_with("ui") ? "u" + std::string(Type.substr(2))
                                : std::string(Type);
}

/// Takes `!graph.tensor<[batch, "n*4"], f32>` off the front of `Text`, with the
/// quotes that may be around it, and gives `f32[batch,n*4]`; empty, and nothing
/// taken, where it is something else.
static std::string takeType(std::string_view &Text) {
  constexpr std::string_view Begin = "!graph.tensor<[";
  bool Quoted = Text.starts_with('\'');
  std::string_view Rest = Text.substr(Quoted ? 1 : 0);
  if (!Rest.starts_with(Begin))
    return {};
  Rest.remove_prefix(Begin.size());
  std::string Dims;
  bool InName = false;
  while (!Rest.empty() && (InName || Rest[0] != ']')) {
    if (Rest[0] == '"')
      InName = !InName;
    else if (Rest[0] != ' ')
      Dims += Rest[0];
    Rest.remove_prefix(1);
  }
  size_t End = Rest.find('>');
  if (!Rest.starts_with("], ") || End == std::string_view::npos)
    return {};
  std::string Type = elementWord(Rest.substr(3, End - 3));
  Rest.remove_prefix(End + 1);
  if (Quoted && Rest.starts_with('\''))
    Rest.remove_prefix(1);
  Text = Rest;
  return Type + "[" + Dims + "]";
}

/// What MLIR's generated verifiers say of an operand, up to the kind of tensor.
static constexpr std::pair<std::string_view, std::string_view> Phrases[] = {
    {" must be symbolic tensor", " must be a tensor"},
    {", but got ", ", but is "},
    {"operand #", "operand "},
};

std::string withUserTypes(std::string_view Text) {
  constexpr std::string_view Op = "'graph.";
  if (size_t End = Text.find("' op "); Text.starts_with(Op) && End < 40)
    Text.remove_prefix(End + 5);
  std::string Out;
  while (!Text.empty()) {
    if (std::string Type = takeType(Text); !Type.empty()) {
      Out += Type;
      continue;
    }
    std::string_view From, To;
    for (auto [Theirs, Ours] : Phrases)
      if (Text.starts_with(Theirs))
        From = Theirs, To = Ours;
    Out += From.empty() ? Text.substr(0, 1) : To;
    Text.remove_prefix(From.empty() ? 1 : From.size());
  }
  return Out;
}

static char lowered(char C) {
  return C >= 'A' && C <= 'Z' ? static_cast<char>(C + 32) : C;
}

/// Edits between two short texts, letter case free of charge. Two neighbours
/// that changed places are one edit.
static size_t editDistance(std::string_view A, std::string_view B) {
  std::vector<size_t> Before(B.size() + 1), Last(B.size() + 1),
      Row(B.size() + 1);
  for (size_t J = 0; J <= B.size(); ++J)
    Last[J] = J;
  for (size_t I = 1; I <= A.size(); ++I) {
    Row[0] = I;
    for (size_t J = 1; J <= B.size(); ++J) {
      char X = lowered(A[I - 1]), Y = lowered(B[J - 1]);
      Row[J] = std::min({Last[J] + 1, Row[J - 1] + 1, Last[J - 1] + (X != Y)});
      if (I > 1 && J > 1 && X == lowered(B[J - 2]) && Y == lowered(A[I - 2]))
        Row[J] = std::min(Row[J], Before[J - 2] + 1);
    }
    Before.swap(Last);
    Last.swap(Row);
  }
  return Last[B.size()];
}

/// The shortest name that begins with the whole of `Wrong`: who stops typing
/// early means it.
static std::string_view
shortestBeginningWith(std::string_view Wrong,
                      const std::vector<std::string_view> &Names) {
  std::string_view Best;
  for (std::string_view Name : Names)
    if (Name.size() > Wrong.size() &&
        editDistance(Wrong, Name.substr(0, Wrong.size())) == 0 &&
        (Best.empty() || Name.size() < Best.size()))
      Best = Name;
  return Best;
}

std::string_view nearest(std::string_view Wrong,
                         const std::vector<std::string_view> &Names) {
  // Longer names than this come from damage, not from typing.
  if (Wrong.empty() || Wrong.size() > 64)
    return {};
  std::string_view Best;
  size_t BestDistance = std::max<size_t>(1, Wrong.size() / 3) + 1;
  for (std::string_view Name : Names) {
    if (Name.size() > 64)
      continue;
    size_t Distance = editDistance(Wrong, Name);
    if (Distance < BestDistance) {
      BestDistance = Distance;
      Best = Name;
    }
  }
  if (Best.empty() && Wrong.size() >= 3)
    return shortestBeginningWith(Wrong, Names);
  return Best;
}

} // namespace kpc
