//===- UnsetRegisters.cpp - Reads that no write may come before -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/program/UnsetRegisters.h"

#include <algorithm>
#include <map>

namespace kpc::emulator {

namespace {

using Set = std::vector<uint64_t>; ///< a bit for each row

/// Which rows are surely written before each instruction: the largest solution
/// of "on all ways here".
struct Analysis {
  Kernel &K;
  std::map<uint32_t, uint32_t> Numbers; ///< of rows
  std::vector<Set> Before;              ///< of leaders; empty: not reached
  std::vector<bool> Leader;

  explicit Analysis(Kernel &K) : K(K) {
    for (uint32_t Row : K.Uses)
      Numbers.try_emplace(Row, static_cast<uint32_t>(Numbers.size()));
  }
  static bool has(const Set &S, uint32_t N) { return S[N / 64] >> N % 64 & 1; }
  static void put(Set &S, uint32_t N, bool Value) {
    uint64_t Bit = uint64_t{1} << N % 64;
    S[N / 64] = Value ? S[N / 64] | Bit : S[N / 64] & ~Bit;
  }
  bool readsUnset(const Instruction &I, const Set &S) const {
    for (unsigned N = 0; N < I.Reads; ++N)
      if (!has(S, Numbers.at(K.Uses[I.Uses + N])))
        return true;
    return false;
  }
  void apply(const Instruction &I, Set &S) const {
    bool Passes = passesUnset(K, I) && readsUnset(I, S);
    for (unsigned N = I.Reads; N < unsigned(I.Reads + I.Writes); ++N)
      if (Passes)
        put(S, Numbers.at(K.Uses[I.Uses + N]), false);
      else if (I.Guard == NoRow)
        put(S, Numbers.at(K.Uses[I.Uses + N]), true);
  }
  std::vector<uint32_t> targetsOf(uint32_t Pc) const {
    const Instruction &I = K.Code[Pc];
    std::vector<uint32_t> Out;
    if (I.TheFlow == Flow::Branch)
      Out.push_back(I.Jump);
    if (I.TheFlow == Flow::Table)
      Out = K.Tables[I.Jump];
    if (I.TheFlow == Flow::Next || I.Guard != NoRow)
      Out.push_back(Pc + 1);
    return Out;
  }
  void findLeaders();
  void solve();
  template <typename F> void visit(F Do);
};

void Analysis::findLeaders() {
  Leader.assign(K.Code.size() + 1, false);
  Leader[0] = true;
  for (uint32_t Pc = 0; Pc < K.Code.size(); ++Pc)
    if (K.Code[Pc].TheFlow != Flow::Next) {
      Leader[Pc + 1] = true;
      for (uint32_t To : targetsOf(Pc))
        Leader[std::min<size_t>(To, K.Code.size())] = true;
    }
}

void Analysis::solve() {
  size_t Size = K.Code.size();
  Before.resize(Size + 1);
  Before[0].assign(Numbers.size() / 64 + 1, 0);
  std::vector<uint32_t> Work{0};
  while (!Work.empty()) {
    uint32_t Pc = Work.back();
    Work.pop_back();
    Set Now = Before[Pc];
    auto Reach = [&](uint32_t To) {
      if (To >= Size)
        return;
      Set &Old = Before[To];
      if (Old.empty()) {
        Old = Now;
        Work.push_back(To);
        return;
      }
      bool Changed = false;
      for (size_t N = 0; N < Old.size(); ++N) {
        Changed |= (Old[N] & ~Now[N]) != 0;
        Old[N] &= Now[N];
      }
      if (Changed)
        Work.push_back(To);
    };
    for (; Pc < Size; ++Pc) {
      apply(K.Code[Pc], Now);
      if (K.Code[Pc].TheFlow != Flow::Next || Leader[Pc + 1])
        break;
    }
    if (Pc < Size)
      for (uint32_t To : targetsOf(Pc))
        Reach(To);
  }
}

template <typename F> void Analysis::visit(F Do) {
  for (uint32_t Start = 0; Start < K.Code.size(); ++Start) {
    if (!Leader[Start] || Before[Start].empty())
      continue;
    Set Now = Before[Start];
    for (uint32_t Pc = Start; Pc < K.Code.size(); ++Pc) {
      if (Pc != Start && Leader[Pc])
        break;
      Do(K.Code[Pc], Now);
      apply(K.Code[Pc], Now);
    }
  }
}

} // namespace

bool passesUnset(const Kernel &K, const Instruction &I) {
  const std::string &Opcode = K.Source.Body[I.Statement].Opcode;
  return Opcode == "mov" || Opcode == "cvta";
}

void findDoubtfulRows(Kernel &K) {
  if (K.Code.empty())
    return;
  Analysis A(K);
  A.findLeaders();
  A.solve();
  A.visit([&](Instruction &I, const Set &Now) {
    for (unsigned N = 0; N < I.Reads; ++N)
      if (uint32_t Row = K.Uses[I.Uses + N];
          !Analysis::has(Now, A.Numbers.at(Row)))
        K.DoubtfulRows.push_back(Row);
  });
  std::vector<uint32_t> &All = K.DoubtfulRows;
  std::sort(All.begin(), All.end());
  All.erase(std::unique(All.begin(), All.end()), All.end());
  for (Instruction &I : K.Code)
    for (unsigned N = 0; N < unsigned(I.Reads + I.Writes); ++N)
      if (std::binary_search(All.begin(), All.end(), K.Uses[I.Uses + N]))
        I.Checks |= N < I.Reads ? ReadsDoubtfulRow : WritesDoubtfulRow;
}

} // namespace kpc::emulator
