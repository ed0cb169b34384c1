//===- ExprText.cpp - Printing and parsing of size expressions ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/shape/ExprNode.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace kpc::shape {

static bool isNameStart(char C) {
  return (C >= 'a' && C <= 'z') || (C >= 'A' && C <= 'Z') || C == '_';
}
static bool isDigit(char C) { return C >= '0' && C <= '9'; }
static bool isNamePart(char C) {
  return isNameStart(C) || isDigit(C) || C == '.';
}

/// How long a name is that begins at the front of `Text`; an index in brackets
/// belongs to it, as in `size[0]`.
static size_t nameLength(std::string_view Text) {
  size_t End = 0;
  while (End < Text.size() && isNamePart(Text[End]))
    ++End;
  size_t Close = End + 1;
  while (Close < Text.size() && isDigit(Text[Close]))
    ++Close;
  bool Indexed = End < Text.size() && Text[End] == '[' && Close > End + 1 &&
                 Close < Text.size() && Text[Close] == ']';
  return Indexed ? Close + 1 : End;
}

static bool isReserved(std::string_view Name) {
  constexpr std::array<std::string_view, 6> Words = {
      "floordiv", "ceildiv", "mod", "min", "max", "overflow"};
  return std::find(Words.begin(), Words.end(), Name) != Words.end();
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static void print(const Expr &E, std::string &Out);

static void printName(std::string_view Name, std::string &Out) {
  if (!Name.empty() && isNameStart(Name[0]) &&
      nameLength(Name) == Name.size() && !isReserved(Name)) {
    Out += Name;
    return;
  }
  Out += '`';
  for (char C : Name) {
    if (C == '`')
      Out += '`';
    Out += C;
  }
  Out += '`';
}

static void print(const Atom &A, std::string &Out) {
  if (A.Kind == AtomKind::Symbol)
    return printName(A.Name, Out);
  Out += A.Kind == AtomKind::FloorDiv ? "floordiv("
         : A.Kind == AtomKind::Mod    ? "mod("
         : A.Kind == AtomKind::Min    ? "min("
                                      : "max(";
  print(A.A, Out);
  Out += ", ";
  print(A.B, Out);
  Out += ')';
}

/// The term without its sign.
static void print(const Term &T, std::string &Out) {
  bool First = true;
  for (const Factor &F : T.Factors)
    for (int64_t I = 0; I != F.Exponent; ++I) {
      if (!First)
        Out += '*';
      First = false;
      print(*F.Base, Out);
    }
  uint64_t Magnitude =
      T.Coefficient < 0 ? 0 - uint64_t(T.Coefficient) : T.Coefficient;
  if (First)
    Out += std::to_string(Magnitude);
  else if (Magnitude != 1)
    Out += '*' + std::to_string(Magnitude);
}

static void print(const Expr &E, std::string &Out) {
  if (E.overflowed()) {
    Out += "overflow";
    return;
  }
  if (terms(E).empty())
    Out += '0';
  bool First = true;
  for (const Term &T : terms(E)) {
    if (T.Coefficient < 0)
      Out += First ? "-" : " - ";
    else if (!First)
      Out += " + ";
    First = false;
    print(T, Out);
  }
}

std::string Expr::str() const {
  std::string Out;
  print(*this, Out);
  return Out;
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace {

/// sum  := ['-'] product (('+' | '-') product)*
/// product := factor ('*' factor)*
/// factor := '-' factor | integer | name | function '(' sum ',' sum ')'
///         | '(' sum ')'
class ExprParser {
public:
  explicit ExprParser(std::string_view Text) : Text(Text) {}

  std::optional<Expr> parseAll() {
    std::optional<Expr> E = parseSum();
    skipSpace();
    if (E && Position != Text.size())
      return fail("unexpected text");
    return E;
  }

  std::string Error;

private:
  /// Nesting that no written size reaches; keeps the stack bounded.
  static constexpr unsigned MaxDepth = 200;

  std::optional<Expr> fail(std::string_view What) {
    if (Error.empty())
      Error = std::string(What) + " at position " + std::to_string(Position);
    return std::nullopt;
  }

  void skipSpace() {
    while (Position != Text.size() &&
           (Text[Position] == ' ' || Text[Position] == '\t'))
      ++Position;
  }

  char peek() {
    skipSpace();
    return Position == Text.size() ? '\0' : Text[Position];
  }

  bool consume(char C) {
    if (peek() != C)
      return false;
    ++Position;
    return true;
  }

  std::optional<Expr> parseSum() {
    if (Depth == MaxDepth)
      return fail("nested too deeply");
    ++Depth;
    std::optional<Expr> Sum = parseProduct(consume('-'));
    while (Sum) {
      bool Minus = peek() == '-';
      if (!consume(Minus ? '-' : '+'))
        break;
      std::optional<Expr> Next = parseProduct(Minus);
      Sum = Next ? std::optional(*Sum + *Next) : std::nullopt;
    }
    --Depth;
    return Sum;
  }

  /// The sign goes to the coefficient first: -2^63 has no positive twin.
  std::optional<Expr> parseProduct(bool Negative) {
    std::vector<Expr> Factors;
    bool MinimumSeen = false;
    do {
      while (consume('-'))
        Negative = !Negative;
      if (isDigit(peek())) {
        std::optional<uint64_t> Value = parseInteger();
        if (!Value)
          return std::nullopt;
        MinimumSeen |= *Value == MinimumMagnitude;
        // Wraps to -2^63 itself where the magnitude is 2^63.
        Factors.push_back(Expr(int64_t(*Value)));
        continue;
      }
      std::optional<Expr> F = parseFactor();
      if (!F)
        return std::nullopt;
      Factors.push_back(*F);
    } while (consume('*'));
    Expr Product(1);
    for (const Expr &F : Factors)
      Product = Product * F;
    if (!MinimumSeen)
      return Negative ? Expr(0) - Product : Product;
    // The literal was taken as -2^63, so one sign is already spent.
    return Negative ? Product : Expr(0) - Product;
  }

  static constexpr uint64_t MinimumMagnitude = uint64_t(1) << 63;

  std::optional<uint64_t> parseInteger() {
    uint64_t Value = 0;
    const char *Begin = Text.data() + Position;
    auto [End, Code] = std::from_chars(Begin, Text.data() + Text.size(), Value);
    if (Code != std::errc() || Value > MinimumMagnitude) {
      fail("integer out of range");
      return std::nullopt;
    }
    Position += End - Begin;
    if (Position != Text.size() && isNamePart(Text[Position])) {
      fail("unexpected text");
      return std::nullopt;
    }
    return Value;
  }

  std::optional<Expr> parseFactor() {
    char C = peek();
    if (C == '`')
      return parseQuoted();
    if (isNameStart(C))
      return parseName();
    if (!consume('('))
      return fail(Position == Text.size() ? "expression ends early"
                                          : "expected a size");
    std::optional<Expr> E = parseSum();
    if (E && !consume(')'))
      return fail("expected ')'");
    return E;
  }

  std::optional<Expr> parseQuoted() {
    std::string Name;
    for (++Position; Position != Text.size(); ++Position) {
      if (Text[Position] == '`') {
        bool Doubled = Position + 1 != Text.size() && Text[Position + 1] == '`';
        ++Position;
        if (!Doubled)
          return Expr::symbol(Name);
      }
      Name += Text[Position];
    }
    return fail("missing closing backquote");
  }

  std::optional<Expr> parseName() {
    size_t Begin = Position;
    Position += nameLength(Text.substr(Begin));
    std::string_view Name = Text.substr(Begin, Position - Begin);
    if (Name == "overflow")
      return Expr(std::numeric_limits<int64_t>::max()) + 1;
    if (!isReserved(Name))
      return Expr::symbol(Name);
    if (!consume('('))
      return fail("expected '(' after " + std::string(Name));
    std::optional<Expr> A = parseSum();
    if (!A)
      return std::nullopt;
    if (!consume(','))
      return fail("expected ','");
    std::optional<Expr> B = parseSum();
    if (!B)
      return std::nullopt;
    if (!consume(')'))
      return fail("expected ')'");
    return Name == "floordiv"  ? A->floorDiv(*B)
           : Name == "ceildiv" ? A->ceilDiv(*B)
           : Name == "mod"     ? A->mod(*B)
           : Name == "min"     ? Expr::min(*A, *B)
                               : Expr::max(*A, *B);
  }

  std::string_view Text;
  size_t Position = 0;
  unsigned Depth = 0;
};

} // namespace

std::optional<Expr> Expr::parse(std::string_view Text, std::string *Error) {
  ExprParser Parser(Text);
  std::optional<Expr> Result = Parser.parseAll();
  if (!Result && Error)
    *Error = Parser.Error;
  return Result;
}

} // namespace kpc::shape
