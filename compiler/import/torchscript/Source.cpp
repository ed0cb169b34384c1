//===- Source.cpp - The source that TorchScript saves ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torchscript/Source.h"

#include <cctype>
#include <charconv>
#include <limits>
#include <utility>

namespace kpc::torchscript {

namespace {

struct Token {
  enum class Kind { Word, Number, Text, Sign, Line, Indent, Dedent, End };
  Kind Is = Kind::End;
  std::string Text;
  unsigned Line = 0;
};

/// Lines and their indents are tokens, as in Python; within brackets they mean
/// nothing.
class Lexer {
public:
  Lexer(std::string_view Text, std::string &Why) : Text(Text), Why(Why) {}
  std::optional<std::vector<Token>> run();

private:
  char at(size_t Ahead = 0) const {
    return At + Ahead < Text.size() ? Text[At + Ahead] : '\0';
  }
  void add(Token::Kind Is, std::string Of = {}) {
    Tokens.push_back({Is, std::move(Of), Line});
  }
  bool fail(const std::string &Message) {
    Why = "line " + std::to_string(Line) + ": " + Message;
    return false;
  }
  bool readIndent();
  bool readText();
  void readNumber();
  bool readToken();

  std::string_view Text;
  std::string &Why;
  size_t At = 0;
  unsigned Line = 1;
  size_t Brackets = 0;
  std::vector<size_t> Indents{0};
  std::vector<Token> Tokens;
};

bool isWord(char C) {
  return std::isalnum(static_cast<unsigned char>(C)) || C == '_';
}

bool Lexer::readIndent() {
  size_t Wide = 0;
  while (at() == ' ') {
    ++Wide;
    ++At;
  }
  if (at() == '\n' || at() == '#' || At >= Text.size())
    return true;
  if (Wide > Indents.back()) {
    Indents.push_back(Wide);
    add(Token::Kind::Indent);
  }
  for (; Wide < Indents.back(); Indents.pop_back())
    add(Token::Kind::Dedent);
  return Wide == Indents.back() || fail("expected the indent of a line above");
}

bool Lexer::readText() {
  char Quote = at();
  std::string Out;
  for (++At; at() != Quote; ++At) {
    if (At >= Text.size() || at() == '\n')
      return fail("expected the end of a string");
    if (at() != '\\') {
      Out += at();
      continue;
    }
    ++At;
    constexpr std::string_view Letters = "abfnrtv\\\"'",
                               Bytes = "\a\b\f\n\r\t\v\\\"'";
    if (size_t I = Letters.find(at()); at() && I != Letters.npos) {
      Out += Bytes[I];
      continue;
    }
    // The printer writes other bytes as three octal digits.
    unsigned Code = 0;
    for (int I = 0; I < 3; ++I) {
      char Digit = at(static_cast<size_t>(I));
      if (Digit < '0' || Digit > '7')
        return fail("expected an escape that PyTorch writes");
      Code = Code * 8 + static_cast<unsigned>(Digit - '0');
    }
    Out += static_cast<char>(Code);
    At += 2;
  }
  ++At;
  add(Token::Kind::Text, std::move(Out));
  return true;
}

void Lexer::readNumber() {
  size_t Start = At;
  auto Exponent = [&] {
    char Before = Text[At - 1];
    return (at() == '-' || at() == '+') && (Before == 'e' || Before == 'E');
  };
  for (++At; isWord(at()) || at() == '.' || Exponent();)
    ++At;
  add(Token::Kind::Number, std::string(Text.substr(Start, At - Start)));
}

bool Lexer::readToken() {
  char C = at();
  bool Digit = std::isdigit(static_cast<unsigned char>(C));
  if (C == '"' || C == '\'')
    return readText();
  if (Digit || (C == '.' && std::isdigit(static_cast<unsigned char>(at(1))))) {
    readNumber();
    return true;
  }
  if (isWord(C)) {
    size_t Start = At;
    while (isWord(at()))
      ++At;
    add(Token::Kind::Word, std::string(Text.substr(Start, At - Start)));
    return true;
  }
  if (C == '-' && at(1) == '>') {
    At += 2;
    add(Token::Kind::Sign, "->");
    return true;
  }
  if (std::string_view("()[]{},:=.-").find(C) == std::string_view::npos)
    return fail("expected source that PyTorch prints, got '" +
                (C >= ' ' && C <= '~' ? std::string(1, C) : "?") + "'");
  if (C == '(' || C == '[' || C == '{')
    ++Brackets;
  if ((C == ')' || C == ']' || C == '}') && Brackets-- == 0)
    return fail("expected no closing bracket");
  ++At;
  add(Token::Kind::Sign, std::string(1, C));
  return true;
}

std::optional<std::vector<Token>> Lexer::run() {
  bool Fresh = true;
  while (At < Text.size()) {
    if (Fresh && Brackets == 0 && !readIndent())
      return std::nullopt;
    Fresh = false;
    if (at() == '\n') {
      if (Brackets == 0 && !Tokens.empty() &&
          Tokens.back().Is != Token::Kind::Line)
        add(Token::Kind::Line);
      Fresh = true;
      ++Line;
      ++At;
    } else if (at() == ' ') {
      ++At;
    } else if (at() == '#') {
      while (At < Text.size() && at() != '\n')
        ++At;
    } else if (At < Text.size() && !readToken()) {
      return std::nullopt;
    }
  }
  if (Brackets != 0) {
    fail("expected a closing bracket");
    return std::nullopt;
  }
  if (!Tokens.empty() && Tokens.back().Is != Token::Kind::Line)
    add(Token::Kind::Line);
  for (; Indents.size() > 1; Indents.pop_back())
    add(Token::Kind::Dedent);
  add(Token::Kind::End);
  return std::move(Tokens);
}

/// The first fault ends it: every function gives an empty node from then on,
/// and `take` advances no more.
class Parser {
public:
  Parser(std::vector<Token> Tokens, std::string &Why)
      : Tokens(std::move(Tokens)), Why(Why) {}
  std::optional<SourceFile> run();

private:
  const Token &now() const { return Tokens[At]; }
  bool is(std::string_view Text) const {
    return !Bad && now().Text == Text &&
           (now().Is == Token::Kind::Sign || now().Is == Token::Kind::Word);
  }
  bool take(std::string_view Text) {
    if (!is(Text))
      return false;
    ++At;
    return true;
  }
  bool take(Token::Kind Is) {
    if (Bad || now().Is != Is || Is == Token::Kind::End)
      return false;
    ++At;
    return true;
  }
  void fail(const std::string &Wanted);
  void expect(std::string_view Text) {
    if (!take(Text))
      fail("'" + std::string(Text) + "'");
  }
  void expectLine() {
    if (!take(Token::Kind::Line))
      fail("the end of the line");
  }
  std::string word();
  Node make(Node::Kind Is) const {
    Node N;
    N.Is = Is;
    N.Line = now().Line;
    return N;
  }
  /// Items up to `Close`, a comma after the last or not.
  void items(Node &To, std::string_view Close);
  /// What follows an opening bracket: places, or the ends of a slice.
  void subscript(Node &To);
  Node number(bool Negative);
  Node primary();
  Node expression();
  Statement statement();
  std::vector<Statement> block();
  void assignment(Statement &S);
  Function function();
  Class classOf();

  std::vector<Token> Tokens;
  std::string &Why;
  size_t At = 0;
  unsigned Depth = 0;
  bool Bad = false;
};

void Parser::fail(const std::string &Wanted) {
  if (Bad)
    return;
  Bad = true;
  std::string Got = now().Text.substr(0, 40);
  for (char &C : Got)
    C = C >= ' ' && C <= '~' ? C : '?';
  Why = "line " + std::to_string(now().Line) + ": expected " + Wanted +
        ", got " + (Got.empty() ? "the end of a line" : "'" + Got + "'");
}

std::string Parser::word() {
  std::string Text = now().Text;
  if (!take(Token::Kind::Word))
    fail("a name");
  return Text;
}

void Parser::items(Node &To, std::string_view Close) {
  while (!Bad && !take(Close)) {
    std::string Keyword;
    if (To.Is == Node::Kind::Call && now().Is == Token::Kind::Word &&
        Tokens[At + 1].Is == Token::Kind::Sign && Tokens[At + 1].Text == "=") {
      Keyword = word();
      expect("=");
    }
    To.Items.push_back(expression());
    if (To.Is == Node::Kind::Call)
      To.Keywords.push_back(Keyword);
    if (To.Is == Node::Kind::Dict) {
      expect(":");
      To.Items.push_back(expression());
    }
    if (!is(Close))
      expect(",");
  }
}

void Parser::subscript(Node &To) {
  Node First = make(Node::Kind::None);
  if (!is(":"))
    First = expression();
  if (!take(":")) {
    To.Items.push_back(std::move(First));
    if (take(","))
      return items(To, "]");
    return expect("]");
  }
  Node Slice = make(Node::Kind::Call), Name = make(Node::Kind::Name);
  Name.Text = "slice";
  Node Last = make(Node::Kind::None);
  if (!is("]"))
    Last = expression();
  expect("]");
  for (Node *Part : {&Name, &To.Items.front(), &First, &Last})
    Slice.Items.push_back(std::move(*Part));
  Slice.Keywords.resize(Slice.Items.size());
  To = std::move(Slice);
}

Node Parser::number(bool Negative) {
  Node N = make(Node::Kind::Int);
  std::string Text = (Negative ? "-" : "") + now().Text;
  if (!take(Token::Kind::Number)) {
    fail("a number");
    return N;
  }
  const char *End = Text.data() + Text.size();
  auto Whole = std::from_chars(Text.data(), End, N.Int);
  if (Whole.ec == std::errc() && Whole.ptr == End)
    return N;
  N.Is = Node::Kind::Float;
  auto Real = std::from_chars(Text.data(), End, N.Float);
  if (Real.ec != std::errc() || Real.ptr != End)
    fail("a number that fits");
  return N;
}

Node Parser::primary() {
  Node N = make(Node::Kind::Name);
  if (take("(")) {
    N.Is = Node::Kind::Tuple;
    bool Comma = false;
    while (!Bad && !take(")")) {
      N.Items.push_back(expression());
      Comma = take(",");
      if (!Comma && !is(")"))
        fail("')'");
    }
    // A bracket around one value, without a comma, is no tuple.
    if (N.Items.size() == 1 && !Comma) {
      Node Inner = std::move(N.Items.front());
      return Inner;
    }
  } else if (take("[")) {
    N.Is = Node::Kind::List;
    items(N, "]");
  } else if (take("{")) {
    N.Is = Node::Kind::Dict;
    items(N, "}");
  } else if (take("-")) {
    if (is("inf")) {
      N.Is = Node::Kind::Float;
      N.Float = -std::numeric_limits<double>::infinity();
      ++At;
      return N;
    }
    return number(true);
  } else if (now().Is == Token::Kind::Number) {
    return number(false);
  } else if (now().Is == Token::Kind::Text) {
    N.Is = Node::Kind::Text;
    N.Text = now().Text;
    take(Token::Kind::Text);
  } else if (is("inf") || is("nan")) {
    N.Is = Node::Kind::Float;
    N.Float = is("inf") ? std::numeric_limits<double>::infinity()
                        : std::numeric_limits<double>::quiet_NaN();
    ++At;
  } else if (take("None")) {
    N.Is = Node::Kind::None;
  } else if (is("True") || is("False")) {
    N.Is = Node::Kind::Bool;
    N.Int = is("True");
    ++At;
  } else {
    N.Text = word();
  }
  return N;
}

Node Parser::expression() {
  if (++Depth > DeepestSource)
    fail("at most " + std::to_string(DeepestSource) + " levels");
  Node N = Bad ? Node() : primary();
  // A chain like a.b(c)[d] nests as well.
  for (unsigned Chain = 0; !Bad; ++Chain) {
    if (Chain > DeepestSource)
      fail("at most " + std::to_string(DeepestSource) + " levels");
    Node Outer = make(Node::Kind::Attribute);
    if (!is(".") && !is("(") && !is("["))
      break;
    Outer.Items.push_back(std::move(N));
    if (take(".")) {
      Outer.Text = word();
    } else if (take("(")) {
      Outer.Is = Node::Kind::Call;
      Outer.Keywords.push_back("");
      items(Outer, ")");
    } else {
      take("[");
      Outer.Is = Node::Kind::Subscript;
      subscript(Outer);
    }
    N = std::move(Outer);
  }
  --Depth;
  return N;
}

std::vector<Statement> Parser::block() {
  std::vector<Statement> Body;
  expect(":");
  expectLine();
  if (!take(Token::Kind::Indent))
    fail("an indented block");
  if (++Depth > DeepestSource)
    fail("at most " + std::to_string(DeepestSource) + " levels");
  while (!Bad && !take(Token::Kind::Dedent))
    Body.push_back(statement());
  --Depth;
  return Body;
}

/// `a = v`, `a, b, = v`, `a : T`, `a : T = v` or `v`.
void Parser::assignment(Statement &S) {
  S.Targets.push_back(expression());
  bool Several = false;
  while (take(",")) {
    Several = true;
    if (!is("="))
      S.Targets.push_back(expression());
  }
  if (!Several && take(":")) {
    S.Is = Statement::Kind::Declare;
    S.Type = expression();
    if (take("="))
      S.Value = expression();
  } else if (Several || is("=")) {
    S.Is = Statement::Kind::Assign;
    S.TakesApart = Several;
    expect("=");
    S.Value = expression();
    if (is(",")) {
      // A tuple without brackets.
      Node All = make(Node::Kind::Tuple);
      All.Items.push_back(std::move(*S.Value));
      while (take(","))
        if (now().Is != Token::Kind::Line)
          All.Items.push_back(expression());
      S.Value = std::move(All);
    }
  } else {
    S.Is = Statement::Kind::Expression;
    S.Value = std::move(S.Targets.front());
    S.Targets.clear();
  }
  expectLine();
}

Statement Parser::statement() {
  Statement S;
  S.Line = now().Line;
  if (take("pass")) {
    expectLine();
  } else if (take("return")) {
    S.Is = Statement::Kind::Return;
    if (now().Is != Token::Kind::Line)
      S.Value = expression();
    expectLine();
  } else if (take("if")) {
    S.Is = Statement::Kind::If;
    S.Value = expression();
    S.Body = block();
    if (take("else"))
      S.Else = block();
  } else if (take("while")) {
    S.Is = Statement::Kind::While;
    S.Value = expression();
    S.Body = block();
  } else if (take("for")) {
    S.Is = Statement::Kind::For;
    do
      S.Targets.push_back(expression());
    while (take(","));
    expect("in");
    S.Value = expression();
    S.Body = block();
  } else if (take("def")) {
    S.Is = Statement::Kind::Define;
    S.Targets.push_back(make(Node::Kind::Name));
    S.Targets.front().Text = word();
    expect("(");
    expect(")");
    S.Body = block();
  } else if (take("with")) {
    S.Is = Statement::Kind::With;
    S.Value = expression();
    if (take("as"))
      S.Targets.push_back(expression());
    S.Body = block();
  } else {
    assignment(S);
  }
  return S;
}

Function Parser::function() {
  Function F;
  F.Line = now().Line;
  F.Name = word();
  expect("(");
  while (!Bad && !take(")")) {
    Parameter &P = F.Parameters.emplace_back();
    P.Name = word();
    if (take(":"))
      P.Type = expression();
    if (take("="))
      P.Default = expression();
    if (!is(")"))
      expect(",");
  }
  if (take("->"))
    F.Result = expression();
  F.Body = block();
  return F;
}

Class Parser::classOf() {
  Class C;
  C.Name = word();
  if (take("(")) {
    C.Base = word();
    expect(")");
  }
  expect(":");
  expectLine();
  if (!take(Token::Kind::Indent))
    fail("an indented block");
  while (!Bad && !take(Token::Kind::Dedent))
    if (take("def"))
      C.Methods.push_back(function());
    else
      C.Attributes.push_back(statement());
  return C;
}

std::optional<SourceFile> Parser::run() {
  SourceFile File;
  while (!Bad && now().Is != Token::Kind::End) {
    if (take(Token::Kind::Line))
      continue;
    if (take("class"))
      File.Classes.push_back(classOf());
    else if (take("def"))
      File.Functions.push_back(function());
    else
      fail("'class' or 'def'");
  }
  return Bad ? std::nullopt : std::optional(std::move(File));
}

} // namespace

std::optional<SourceFile> parseSource(std::string_view Text, std::string &Why) {
  Why.clear();
  auto Tokens = Lexer(Text, Why).run();
  return Tokens ? Parser(std::move(*Tokens), Why).run() : std::nullopt;
}

} // namespace kpc::torchscript
