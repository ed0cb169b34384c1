//===- Dependencies.cpp - Which steps must wait for which -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/cuda/Dependencies.h"

#include <algorithm>
#include <map>

namespace kpc::rt::cuda {

namespace {

constexpr uint32_t Nobody = 0xffffffff;

/// What happened last to a run of bytes.
struct History {
  uint32_t Writer = Nobody;
  std::vector<uint32_t> Readers; ///< since that write
};

/// One piece of memory, cut where accesses begin and end. A key begins a run
/// that ends at the next key.
class Space {
public:
  Space() { Runs[0]; }

  void access(uint64_t Begin, uint64_t End, uint8_t Access, uint32_t Step,
              std::vector<uint32_t> &Waits) {
    auto It = cut(Begin), Stop = cut(End);
    for (; It != Stop; ++It) {
      History &H = It->second;
      if (H.Writer != Nobody && H.Writer != Step)
        Waits.push_back(H.Writer);
      if (Access & 2) {
        for (uint32_t Reader : H.Readers)
          if (Reader != Step)
            Waits.push_back(Reader);
        H.Writer = Step;
        H.Readers.clear();
      } else if (H.Readers.empty() || H.Readers.back() != Step) {
        H.Readers.push_back(Step);
      }
    }
  }

private:
  std::map<uint64_t, History>::iterator cut(uint64_t At) {
    auto It = std::prev(Runs.upper_bound(At));
    if (It->first != At)
      It = Runs.emplace_hint(std::next(It), At, It->second);
    return It;
  }
  std::map<uint64_t, History> Runs;
};

/// Plans of more steps keep all their edges: the sets below grow with the
/// square of their number.
constexpr size_t MostReduced = 8192;

/// Drops waits for steps that another wait comes after anyway.
void dropImplied(std::vector<std::vector<uint32_t>> &Waits) {
  size_t Words = (Waits.size() + 63) / 64;
  if (Waits.size() > MostReduced)
    return;
  // Before[s]: the steps that are done when s begins.
  std::vector<uint64_t> Before(Waits.size() * Words);
  for (size_t Step = 0; Step < Waits.size(); ++Step) {
    uint64_t *Mine = &Before[Step * Words];
    // The latest first: what it comes after needs no edge of its own.
    std::vector<uint32_t> Kept;
    for (size_t I = Waits[Step].size(); I-- > 0;) {
      uint32_t Earlier = Waits[Step][I];
      if (Mine[Earlier / 64] >> (Earlier % 64) & 1)
        continue;
      Kept.push_back(Earlier);
      Mine[Earlier / 64] |= uint64_t(1) << (Earlier % 64);
      for (size_t W = 0; W <= Earlier / 64; ++W)
        Mine[W] |= Before[Earlier * Words + W];
    }
    std::reverse(Kept.begin(), Kept.end());
    Waits[Step] = std::move(Kept);
  }
}

} // namespace

std::vector<std::vector<uint32_t>> oneChain(const BoundSteps &B) {
  std::vector<std::vector<uint32_t>> Out(B.Steps.size());
  uint32_t Last = Nobody;
  for (uint32_t Step = 0; Step < B.Steps.size(); ++Step) {
    if (B.Steps[Step].Empty)
      continue;
    if (Last != Nobody)
      Out[Step] = {Last};
    Last = Step;
  }
  return Out;
}

std::vector<std::vector<uint32_t>>
findDependencies(const BoundSteps &B, size_t InputCount,
                 std::span<const int32_t> Aliases) {
  // Spaces: the arena, scratch, inputs, outputs. Weights are never written.
  Space Arena, Scratch;
  std::vector<Space> Inputs(InputCount), Outputs(Aliases.size());
  auto SpaceOf = [&](const Place &P) -> Space * {
    switch (P.Where) {
    case Base::Arena:
      return &Arena;
    case Base::Input:
      return &Inputs[P.Index];
    case Base::Output:
      return Aliases[P.Index] >= 0 ? &Inputs[size_t(Aliases[P.Index])]
                                   : &Outputs[P.Index];
    case Base::Scratch:
      return &Scratch;
    case Base::Weight:
      break;
    }
    return nullptr;
  };
  std::vector<std::vector<uint32_t>> Out(B.Steps.size());
  for (uint32_t Step = 0; Step < B.Steps.size(); ++Step) {
    if (B.Steps[Step].Empty)
      continue;
    std::vector<uint32_t> &Waits = Out[Step];
    // Reads before writes: a step's own write must not hide what it reads.
    for (uint8_t Pass : {uint8_t(1), uint8_t(2)})
      for (const BoundParam &P : B.params(B.Steps[Step])) {
        Space *S = P.IsSize || !(P.Access & Pass) || !P.At.Length
                       ? nullptr
                       : SpaceOf(P.At);
        if (S)
          S->access(P.At.Offset, P.At.Offset + P.At.Length, Pass, Step, Waits);
      }
    std::sort(Waits.begin(), Waits.end());
    Waits.erase(std::unique(Waits.begin(), Waits.end()), Waits.end());
  }
  dropImplied(Out);
  return Out;
}

} // namespace kpc::rt::cuda
