//===- ValidateTarget.cpp - What must hold in one target's table ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/format/ValidateTarget.h"
#include "runtime/format/Container.h"
#include "runtime/format/ElementType.h"

#include <algorithm>
#include <bit>

namespace kpc::format {

namespace {

// CUDA's limits: threads of a block, and its z extent.
constexpr uint64_t MaxThreads = 1024;
constexpr uint32_t MaxBlockZ = 64;

class TargetValidator {
public:
  TargetValidator(const Model &M, const Target &T,
                  const std::vector<ExprFacts> &Facts)
      : M(M), T(T), Facts(Facts) {}

  Status run() {
    if (T.kind() > TargetKind::MAX || T.isa() > Isa::MAX ||
        T.capability_rule() > CapabilityRule::MAX || T.cpu_level() < 1 ||
        T.cpu_level() > 4)
      return malformed("kind %d, instruction set %d, level %d or capability "
                       "rule %d is unknown",
                       int(T.kind()), int(T.isa()), int(T.cpu_level()),
                       int(T.capability_rule()));
    for (auto Check : {&TargetValidator::modules, &TargetValidator::kernels,
                       &TargetValidator::readbacks, &TargetValidator::buffers,
                       &TargetValidator::controls, &TargetValidator::steps,
                       &TargetValidator::values})
      if (Status S = (this->*Check)(); !S)
        return S;
    return success();
  }

private:
  bool isHost() const { return T.kind() == TargetKind::Host; }

  bool exprExists(uint32_t Index) const {
    return format::exprExists(M, Index) &&
           !(isHost() && Facts[Index].OfDevice) &&
           Facts[Index].Counters.empty();
  }
  // The same, where counters of the loops around the step may be named.
  bool exprExistsAt(size_t Step, uint32_t Index) const {
    if (!format::exprExists(M, Index) || (isHost() && Facts[Index].OfDevice))
      return false;
    const std::vector<uint32_t> &Around = CountersAt[Step];
    for (uint32_t Counter : Facts[Index].Counters)
      if (std::find(Around.begin(), Around.end(), Counter) == Around.end())
        return false;
    return true;
  }
  // An offset; one that changes is of a part whose length is given.
  bool isOffset(size_t Step, uint32_t Index, uint32_t Length) const {
    return Index == None || (exprExistsAt(Step, Index) &&
                             (Facts[Index].Counters.empty() || Length != None));
  }
  bool exprExistsOrNone(uint32_t Index) const {
    return Index == None || exprExists(Index);
  }
  bool exprsExist(const flatbuffers::Vector<uint32_t> *Indices) const {
    for (uint32_t Index : scalars(Indices))
      if (!exprExists(Index))
        return false;
    return true;
  }

  bool isGood(const Range *R, SegmentKind Kind) {
    if (!R || R->length() == 0)
      return true;
    if (R->segment() >= count(M.segments()))
      return false;
    const Segment *S = M.segments()->Get(R->segment());
    return S->kind() == Kind && R->offset() <= S->length() &&
           R->length() <= S->length() - R->offset();
  }

  Status modules() {
    size_t Index = 0;
    for (const Module *Mod : each(T.modules())) {
      auto Kind = isHost() ? SegmentKind::HostImage : SegmentKind::Device;
      bool Image = Mod->image() && Mod->image()->length();
      bool Ptx = Mod->ptx() && Mod->ptx()->length();
      if (isHost() && Image && Mod->image()->offset() % PageAlignment)
        Image = false; // it would not lie at the start of a page
      if (!isGood(Mod->image(), Kind) ||
          !isGood(Mod->ptx(), SegmentKind::Device) ||
          (isHost() ? !Image || Ptx : !Image && !Ptx))
        return malformed("module %zu has no good code", Index);
      ++Index;
    }
    return success();
  }

  // A host function's parameters are tensors, their dims and arguments.
  bool isGood(const HostFunction &F, const Kernel &K) {
    if (!isHost() || F.library() >= count(M.libraries()) || !count(F.outputs()))
      return false;
    uint64_t Tensors = 0, Dims = 0;
    for (const auto *List : {F.inputs(), F.outputs()})
      for (const OperatorTensor *Of : each(List)) {
        if (bitWidth(kpc::ElementType(Of->type())) == 0 || Of->rank() > MaxRank)
          return false;
        ++Tensors;
        Dims += Of->rank();
      }
    for (ArgumentType Type : scalars(F.arguments()))
      if (Type > ArgumentType::MAX)
        return false;
    if (count(K.params()) != Tensors + Dims + count(F.arguments()))
      return false;
    uint32_t Index = 0;
    for (ParamKind P : scalars(K.params()))
      if (P != (Index++ < Tensors ? ParamKind::Buffer : ParamKind::Size))
        return false;
    return true;
  }

  Status kernels() {
    size_t Index = 0;
    for (const Kernel *K : each(T.kernels())) {
      bool Good = (K->function() ? isGood(*K->function(), *K)
                                 : K->module_() < count(T.modules())) &&
                  count(K->params()) <= MaxParams;
      size_t Maps = 0;
      for (ParamKind P : scalars(K->params())) {
        Good &= P <= ParamKind::MAX;
        Maps += P == ParamKind::TensorMap;
      }
      Good &= Maps <= (isHost() ? 0 : MaxTensorMaps);
      Good &= !isHost() || (!K->early_launch() && !K->cooperative());
      if (Good && isHost() && !K->function())
        Good = K->entry() < T.modules()->Get(K->module_())->image()->length();
      if (!Good)
        return malformed("kernel %zu '%s' is not good", Index,
                         printable(K->symbol()).c_str());
      ++Index;
    }
    return success();
  }

  // One for each output that decides a size, in the order of their steps, and
  // none inside a loop or branch.
  Status readbacks() {
    std::vector<bool> Read(count(M.outputs()));
    uint32_t Last = 0;
    for (const Readback *R : each(T.readbacks())) {
      if (R->output() >= count(M.outputs()) || Read[R->output()] ||
          M.outputs()->Get(R->output())->decides() == None ||
          R->step() < Last || R->step() > count(T.steps()))
        return malformed("a readback of output %u before step %u is not good",
                         R->output(), R->step());
      for (const Control *C : each(T.controls()))
        if (C->first_step() < R->step() && R->step() < C->end_step())
          return malformed("step %u, before which output %u is read, is inside "
                           "a loop or branch",
                           R->step(), R->output());
      Read[R->output()] = true;
      Last = R->step();
    }
    for (uint32_t I = 0; I < count(M.outputs()); ++I)
      if (!Read[I] && M.outputs()->Get(I)->decides() != None)
        return malformed("output %u decides a size, but is not read", I);
    return success();
  }

  // Whether all that data decides of an expression is read before a step.
  bool isDecidedAt(uint32_t Step, uint32_t Index) const {
    std::vector<uint32_t> Read;
    for (const Readback *R : each(T.readbacks()))
      if (R->step() <= Step) {
        const auto &Names =
            Facts[M.outputs()->Get(R->output())->decides()].OfData;
        Read.insert(Read.end(), Names.begin(), Names.end());
      }
    for (uint32_t Name : Facts[Index].OfData)
      if (std::find(Read.begin(), Read.end(), Name) == Read.end())
        return false;
    return true;
  }

  Status buffers() {
    size_t Index = 0;
    for (const Buffer *B : each(T.buffers())) {
      uint32_t Limit = 0;
      switch (B->kind()) {
      case BufferKind::Input:
        Limit = count(M.inputs());
        break;
      case BufferKind::Output:
        Limit = count(M.outputs());
        break;
      case BufferKind::Weight:
        Limit = count(M.weights());
        break;
      case BufferKind::Arena:
        Limit = B->first_step() <= B->last_step() &&
                        B->last_step() < count(T.steps())
                    ? None
                    : 0;
        break;
      }
      if (B->index() >= Limit || !exprExists(B->size()) ||
          (B->kind() == BufferKind::Arena &&
           !isDecidedAt(B->first_step(), B->size())) ||
          !std::has_single_bit(B->alignment()) || B->alignment() > 4096)
        return malformed("buffer %zu '%s' is not good", Index,
                         printable(B->name()).c_str());
      ++Index;
    }
    return success();
  }

  // What a step does to a buffer, and whether it may at that step.
  bool mayUse(uint32_t Index, size_t Step, bool Writes) {
    if (Index >= count(T.buffers()))
      return false;
    const Buffer *B = T.buffers()->Get(Index);
    if (B->kind() == BufferKind::Arena)
      return B->first_step() <= Step && Step <= B->last_step();
    return !Writes || B->kind() == BufferKind::Output;
  }

  bool isGood(const Param &P, ParamKind Kind, size_t Step) {
    if (P.kind() != Kind)
      return false;
    if (Kind == ParamKind::Size)
      return exprExistsAt(Step, P.size());
    if (Kind == ParamKind::TensorMap &&
        (!P.tensor_map() || !exprsExist(P.tensor_map()->dims()) ||
         !exprsExist(P.tensor_map()->strides())))
      return false;
    return P.access() >= 1 && P.access() <= 3 &&
           mayUse(P.buffer(), Step, P.access() & 2) &&
           isOffset(Step, P.offset(), P.length()) &&
           exprExistsOrNone(P.length());
  }

  bool hasGoodGrid(const Launch &L) {
    if (isHost())
      return exprExists(L.work()) && L.grain() >= 1;
    if (count(L.grid()) != 3 || !exprsExist(L.grid()) ||
        count(L.block()) != 3 || !exprExistsOrNone(L.shared()))
      return false;
    uint64_t Threads = 1;
    for (uint32_t Extent : scalars(L.block())) {
      if (Extent < 1 || Extent > MaxThreads)
        return false;
      Threads *= Extent;
    }
    return Threads <= MaxThreads && L.block()->Get(2) <= MaxBlockZ;
  }

  /// Launches that may take the place of `L`; their parameters are checked as
  /// its own are.
  Status alternatives(const Launch &L, size_t Step) {
    for (const Alternative *A : each(L.alternatives())) {
      for (const SizeBound *Bound : each(A->bounds()))
        if (!exprExists(Bound->size()))
          return malformed("step %zu: a bound of an alternative is not good",
                           Step);
      if (count(A->launch()->alternatives()))
        return malformed("step %zu: an alternative has alternatives", Step);
      if (Status S = launch(*A->launch(), Step); !S)
        return S;
    }
    return success();
  }

  Status launch(const Launch &L, size_t Step) {
    if (L.kernel() >= count(T.kernels()))
      return malformed("step %zu: kernel %u does not exist", Step, L.kernel());
    const Kernel *K = T.kernels()->Get(L.kernel());
    std::string Name = printable(K->symbol());
    if (count(L.params()) != count(K->params()))
      return malformed("step %zu: '%s' takes %u parameters and is given %u",
                       Step, Name.c_str(), count(K->params()),
                       count(L.params()));
    for (uint32_t I = 0; I < count(L.params()); ++I) {
      const Param &P = *L.params()->Get(I);
      if (P.kind() == ParamKind::TensorMap && P.tensor_map())
        if (const char *Problem = tensorMapProblem(*P.tensor_map()))
          return malformed("step %zu: parameter %u of '%s' is a tensor map "
                           "that is not good: %s",
                           Step, I, Name.c_str(), Problem);
      // Inputs are read and outputs written, whatever the launch says.
      uint32_t Inputs = K->function() ? count(K->function()->inputs()) : 0;
      bool Agrees = !K->function() || P.kind() != ParamKind::Buffer ||
                    P.access() == (I < Inputs ? 1 : 2);
      if (!Agrees || !isGood(P, K->params()->Get(I), Step))
        return malformed("step %zu: parameter %u of '%s' is not good", Step, I,
                         Name.c_str());
    }
    if (!hasGoodGrid(L) || !exprExistsOrNone(L.flops()))
      return malformed("step %zu: the launch of '%s' is not good", Step,
                       Name.c_str());
    return alternatives(L, Step);
  }

  Status controls() {
    auto Counters = validateControls(M, T, Facts);
    if (!Counters)
      return Counters.takeError();
    CountersAt = std::move(*Counters);
    return success();
  }

  Status steps() {
    size_t Index = 0;
    for (const Step *S : each(T.steps())) {
      bool Good = S->action() != nullptr;
      if (Good && S->action_type() == Action::Launch) {
        if (Status Failed = launch(*S->action_as_Launch(), Index); !Failed)
          return Failed;
      } else if (Good && S->action_type() == Action::Copy) {
        const Copy *C = S->action_as_Copy();
        Good = mayUse(C->source(), Index, false) &&
               mayUse(C->destination(), Index, true) &&
               isOffset(Index, C->source_offset(), C->bytes()) &&
               isOffset(Index, C->destination_offset(), C->bytes()) &&
               exprExists(C->bytes());
      } else if (Good && S->action_type() == Action::Fill) {
        const Fill *F = S->action_as_Fill();
        Good = mayUse(F->destination(), Index, true) &&
               exprExistsOrNone(F->offset()) && exprExists(F->bytes()) &&
               (F->pattern_bytes() == 1 || F->pattern_bytes() == 2 ||
                F->pattern_bytes() == 4);
      } else {
        return malformed("step %zu is of a kind that this runtime does not "
                         "know (%d)",
                         Index, int(S->action_type()));
      }
      if (!Good)
        return malformed("step %zu is not good", Index);
      ++Index;
    }
    return success();
  }

  Status values() {
    for (const Value *V : each(T.values())) {
      bool Good = V->buffer() < count(T.buffers()) &&
                  exprExistsOrNone(V->offset()) &&
                  (V->step() == None || V->step() < count(T.steps())) &&
                  bitWidth(kpc::ElementType(V->type())) != 0 &&
                  count(V->dims()) <= MaxRank && exprsExist(V->dims());
      uint64_t Seen = 0; // the order must be a permutation
      for (uint8_t Dim : scalars(V->order())) {
        Good &= Dim < count(V->dims()) && !(Seen >> Dim & 1);
        Seen |= uint64_t(1) << (Dim & 63);
      }
      Good &= count(V->order()) == 0 || count(V->order()) == count(V->dims());
      if (!Good)
        return malformed("value '%s' is not good",
                         printable(V->name()).c_str());
    }
    return success();
  }

  const Model &M;
  const Target &T;
  const std::vector<ExprFacts> &Facts;
  /// The counters of the loops around each step.
  std::vector<std::vector<uint32_t>> CountersAt;
};

} // namespace

Status validateTarget(const Model &M, const Target &T,
                      const std::vector<ExprFacts> &Facts) {
  return TargetValidator(M, T, Facts).run();
}

} // namespace kpc::format
