//===- InlineCalls.cpp - Calls replaced by what they call -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "Control Flow Instructions: call, ret", "Abstracting the ABI".

#include "emulator/program/InlineCalls.h"
#include "emulator/ptx/Parser.h"

#include <set>

namespace kpc::emulator {

namespace {

using ptx::Function;
using ptx::Operand;
using ptx::Statement;

/// A kernel with all that it calls may have so many statements.
constexpr size_t MaxStatements = size_t{1} << 20;

/// What the driver defines. The handle of a conditional node is the address
/// of its value here.
const ptx::Module &deviceFunctions() {
  static const auto Parsed = ptx::parse(R"(
.version 6.0
.target sm_50
.func cudaGraphSetConditional (.param .b64 handle, .param .b32 value)
{
.reg .b64 %handle;
.reg .b32 %value;
ld.param.b64 %handle, [handle];
ld.param.b32 %value, [value];
st.global.b32 [%handle], %value;
ret;
}
)");
  return std::get<ptx::Module>(Parsed);
}

class Expansion {
public:
  Expansion(const ptx::Module &Text, std::vector<LoadError> &Errors)
      : Errors(Errors) {
    for (const Function &F : deviceFunctions().Functions)
      ByName[F.Name] = &F;
    for (const Function &F : Text.Functions)
      ByName[F.Name] = &F;
  }
  Function expand(const Function &F);

private:
  bool fail(const Statement &S, const std::string &Text) {
    Errors.push_back({S.Line, S.text() + ": " + Text});
    return false;
  }
  /// "call (results), name, (arguments)": false: reported.
  bool take(const Statement &S, const Function *&Callee,
            std::vector<Operand> &Results, std::vector<Operand> &Arguments);
  bool bind(const Statement &S, const Function &Caller, ptx::Scope &Inner,
            const std::vector<ptx::Variable> &Formals,
            const std::vector<Operand> &Actuals);
  void call(const Statement &S, Function &Out);

  std::map<std::string, const Function *> ByName;
  std::set<std::string> Open; ///< being expanded
  std::vector<LoadError> &Errors;
  unsigned Labels = 0;
};

Statement branchTo(const Statement &At, const std::string &Label, int Scope) {
  Statement S;
  S.Opcode = "bra";
  S.Line = At.Line;
  S.SourceFile = At.SourceFile;
  S.SourceLine = At.SourceLine;
  S.Scope = Scope;
  Operand To;
  To.TheKind = Operand::Kind::Name;
  To.Name = Label;
  S.Operands.push_back(To);
  return S;
}

bool Expansion::take(const Statement &S, const Function *&Callee,
                     std::vector<Operand> &Results,
                     std::vector<Operand> &Arguments) {
  size_t At = 0;
  const std::vector<Operand> &O = S.Operands;
  auto List = [&](std::vector<Operand> &Out) {
    if (At < O.size() && O[At].TheKind == Operand::Kind::Vector)
      Out = O[At++].Parts;
  };
  List(Results);
  if (At >= O.size() || O[At].TheKind != Operand::Kind::Name)
    return fail(S, "the callee is no name");
  std::string Name = O[At++].Name;
  List(Arguments);
  if (At != O.size() || Name.starts_with("%"))
    return fail(S, "calls through pointers are not supported");
  auto It = ByName.find(Name);
  if (It == ByName.end() || It->second->IsEntry)
    return fail(S, "the module does not define the function '" + Name + "'");
  if (Open.count(Name))
    return fail(S, "'" + Name + "' calls itself: recursion is not supported");
  Callee = It->second;
  return true;
}

bool Expansion::bind(const Statement &S, const Function &Caller,
                     ptx::Scope &Inner,
                     const std::vector<ptx::Variable> &Formals,
                     const std::vector<Operand> &Actuals) {
  if (Formals.size() != Actuals.size())
    return fail(S, "wrong number of operands");
  for (size_t N = 0; N < Formals.size(); ++N) {
    const std::string &Name = Actuals[N].Name;
    int Scope = S.Scope;
    while (Scope >= 0 && !Caller.Scopes[size_t(Scope)].Variables.count(Name) &&
           !Caller.Scopes[size_t(Scope)].Aliases.count(Name))
      Scope = Caller.Scopes[size_t(Scope)].Parent;
    if (Scope < 0 || Actuals[N].TheKind != Operand::Kind::Name ||
        Formals[N].Space != "param")
      return fail(S, "parameters and results are .param variables");
    Inner.Aliases[Formals[N].Name] = {Scope, Name};
  }
  return true;
}

void Expansion::call(const Statement &S, Function &Out) {
  const Function *Callee = nullptr;
  std::vector<Operand> Results, Arguments;
  if (!take(S, Callee, Results, Arguments))
    return;
  Function Body = expand(*Callee);
  if (Out.Body.size() + Body.Body.size() > MaxStatements) {
    fail(S, "the kernel is too large with all that it calls");
    return;
  }
  std::string Number = std::to_string(Labels++);
  std::string Skip = "%skip" + Number, End = "%end" + Number;
  if (!S.Guard.empty()) {
    Statement Past = branchTo(S, Skip, S.Scope);
    Past.Guard = S.Guard;
    Past.GuardNegated = !S.GuardNegated;
    Out.Body.push_back(Past);
  }
  auto FirstScope = static_cast<int>(Out.Scopes.size());
  size_t First = Out.Body.size();
  if (!bind(S, Out, Body.Scopes[0], Callee->Results, Results) ||
      !bind(S, Out, Body.Scopes[0], Callee->Parameters, Arguments))
    return;
  for (size_t N = 0; N < Body.Scopes.size(); ++N) {
    ptx::Scope Inner = std::move(Body.Scopes[N]);
    if (Inner.Parent >= 0)
      Inner.Parent += FirstScope;
    for (auto &[Name, At] : Inner.Labels)
      At += First;
    if (N != 0) // of the first one they are the caller's
      for (auto &[Name, Of] : Inner.Aliases)
        if (Of.first >= 0)
          Of.first += FirstScope;
    Out.Scopes.push_back(std::move(Inner));
  }
  for (Statement &Inner : Body.Body) {
    int Scope = Inner.Scope + FirstScope;
    if (Inner.Opcode == "ret") {
      Statement Back = branchTo(Inner, End, Scope);
      Back.Guard = Inner.Guard;
      Back.GuardNegated = Inner.GuardNegated;
      Inner = Back;
    }
    Inner.Scope = Scope;
    Out.Body.push_back(std::move(Inner));
  }
  Out.Scopes[size_t(FirstScope)].Labels[End] = Out.Body.size();
  Out.Scopes[size_t(S.Scope)].Labels[Skip] = Out.Body.size();
}

Function Expansion::expand(const Function &F) {
  Function Out = F;
  bool Calls = false;
  for (const Statement &S : F.Body)
    Calls |= S.Opcode == "call";
  if (!Calls)
    return Out;
  Open.insert(F.Name);
  Out.Body.clear();
  std::vector<size_t> Places;
  for (const Statement &S : F.Body) {
    Places.push_back(Out.Body.size());
    if (S.Opcode == "call")
      call(S, Out);
    else
      Out.Body.push_back(S);
  }
  Places.push_back(Out.Body.size());
  for (size_t N = 0; N < F.Scopes.size(); ++N)
    for (const auto &[Name, At] : F.Scopes[N].Labels)
      Out.Scopes[N].Labels[Name] = Places[At];
  Open.erase(F.Name);
  return Out;
}

} // namespace

std::vector<ptx::Function> inlineCalls(const ptx::Module &Text,
                                       std::vector<LoadError> &Errors) {
  std::vector<ptx::Function> Out;
  Expansion E(Text, Errors);
  for (const ptx::Function &F : Text.Functions)
    if (F.IsEntry)
      Out.push_back(E.expand(F));
  return Out;
}

} // namespace kpc::emulator
