//===- StepWaits.cpp - Which steps of a plan wait for which ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/StepWaits.h"
#include "runtime/format/Validate.h"
#include "tools/kpc/ArtifactExpr.h"

#include <algorithm>
#include <limits>
#include <map>

namespace kpc::cli {

namespace {
/// Bytes of a buffer that a step touches.
struct Touch {
  size_t Step = 0;
  int64_t Begin = 0, End = 0;
  bool Writes = false;
};

class WaitFinder {
public:
  WaitFinder(const format::Model &M, const format::Target &T,
             const std::vector<int64_t> &Symbols)
      : M(M), T(T), Symbols(Symbols) {}

  std::vector<std::vector<size_t>> find();

private:
  int64_t valueOf(uint32_t Expr, int64_t Otherwise) const {
    return Expr == format::None
               ? Otherwise
               : evaluate(*M.exprs()->Get(Expr), Symbols).value_or(Otherwise);
  }
  void touch(uint32_t Buffer, uint32_t Offset, uint32_t Length, bool Writes);
  void visit(const format::Step &S);

  const format::Model &M;
  const format::Target &T;
  const std::vector<int64_t> &Symbols;
  /// By buffer, in the order of steps.
  std::map<uint32_t, std::vector<Touch>> Past;
  std::vector<std::pair<uint32_t, Touch>> Now;
  std::vector<std::vector<size_t>> Waits;
};
} // namespace

void WaitFinder::touch(uint32_t Buffer, uint32_t Offset, uint32_t Length,
                       bool Writes) {
  // Weights are never written; nothing waits for them.
  if (T.buffers()->Get(Buffer)->kind() == format::BufferKind::Weight)
    return;
  constexpr int64_t Most = std::numeric_limits<int64_t>::max();
  Touch Here{Waits.size() - 1, valueOf(Offset, 0), Most, Writes};
  if (int64_t Bytes = valueOf(Length, -1); Bytes >= 0)
    Here.End = Bytes > Most - Here.Begin ? Most : Here.Begin + Bytes;
  std::vector<Touch> &Before = Past[Buffer];
  // The latest write of just these bytes hides what came before it.
  for (auto It = Before.rbegin(); It != Before.rend(); ++It) {
    bool Meets = It->Begin < Here.End && Here.Begin < It->End;
    if (!Meets || !(It->Writes || Writes))
      continue;
    Waits.back().push_back(It->Step);
    if (It->Writes && It->Begin <= Here.Begin && Here.End <= It->End)
      break;
  }
  Now.emplace_back(Buffer, Here);
}

void WaitFinder::visit(const format::Step &S) {
  if (const format::Launch *L = S.action_as_Launch()) {
    if (L->params())
      for (const format::Param *P : *L->params())
        if (P->kind() == format::ParamKind::Buffer)
          touch(P->buffer(), P->offset(), P->length(), P->access() & 2);
  } else if (const format::Copy *C = S.action_as_Copy()) {
    touch(C->source(), C->source_offset(), C->bytes(), false);
    touch(C->destination(), C->destination_offset(), C->bytes(), true);
  } else if (const format::Fill *F = S.action_as_Fill()) {
    touch(F->destination(), F->offset(), F->bytes(), true);
  }
}

/// Drops waits for steps that another wait comes after anyway.
static void dropImplied(std::vector<std::vector<size_t>> &Waits) {
  // Sets of steps grow with the square of their number.
  constexpr size_t MostReduced = 4096;
  if (Waits.size() > MostReduced)
    return;
  std::vector<std::vector<bool>> Before(Waits.size());
  for (size_t Step = 0; Step < Waits.size(); ++Step) {
    Before[Step].resize(Step + 1);
    std::vector<size_t> Kept;
    for (size_t I = Waits[Step].size(); I-- > 0;) {
      size_t Earlier = Waits[Step][I];
      if (Before[Step][Earlier])
        continue;
      Kept.push_back(Earlier);
      Before[Step][Earlier] = true;
      for (size_t J = 0; J < Earlier; ++J)
        if (Before[Earlier][J])
          Before[Step][J] = true;
    }
    std::reverse(Kept.begin(), Kept.end());
    Waits[Step] = std::move(Kept);
  }
}

std::vector<std::vector<size_t>> WaitFinder::find() {
  if (!T.steps())
    return {};
  for (const format::Step *S : *T.steps()) {
    Waits.emplace_back();
    visit(*S);
    for (auto &[Buffer, Here] : Now)
      Past[Buffer].push_back(Here);
    Now.clear();
    std::vector<size_t> &Mine = Waits.back();
    std::sort(Mine.begin(), Mine.end());
    Mine.erase(std::unique(Mine.begin(), Mine.end()), Mine.end());
  }
  dropImplied(Waits);
  return std::move(Waits);
}

std::vector<std::vector<size_t>>
stepWaits(const format::Model &M, const format::Target &T,
          const std::vector<int64_t> &Symbols) {
  return WaitFinder(M, T, Symbols).find();
}

} // namespace kpc::cli
