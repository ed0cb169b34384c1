//===- Binding.cpp - A plan with its sizes known --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/Binding.h"
#include "runtime/format/BufferReads.h"
#include "runtime/format/ElementType.h"
#include "runtime/src/SymbolCheck.h"

#include <algorithm>
#include <cinttypes>

namespace kpc::rt {

using format::None;

// Buffers larger than any address space: sums of a few stay within 64 bits.
static constexpr int64_t LargestBuffer = int64_t(1) << 47;
// CUDA: the grid's extents in x, and in y and z.
static constexpr int64_t LargestGridX = 0x7fffffff, LargestGridYZ = 65535;
static constexpr int64_t LargestShared = 1 << 20;
// Work units of a host kernel: counters past them stay within 64 bits.
static constexpr int64_t LargestWork = int64_t(1) << 60;

std::vector<uint32_t> stageBorders(const format::Target &T) {
  std::vector<uint32_t> Steps;
  for (const format::Readback *R : format::each(T.readbacks()))
    if (Steps.empty() || Steps.back() != R->step())
      Steps.push_back(R->step());
  return Steps;
}

Error neverEnds(const BoundControl &Loop) {
  Error E = failure(ErrorCode::OutOfRange,
                    "the loop of steps %u to %u has not ended after %" PRId64
                    " iterations",
                    Loop.First, Loop.bodyEnd() - 1, Loop.Count);
  E.Hint =
      "give inputs with which the loop's data ends it, or the session more "
      "max_iterations (kpc run --max-iterations)";
  return E;
}

class Binder {
public:
  Binder(const Model &M, const format::Target &T, const Stage &Part,
         Binding &Out, const BindOptions &Options)
      : M(M), T(T), Part(Part), Out(Out), Options(Options),
        Values(M.table(), Out.Symbols), Borders(stageBorders(T)) {
    Out.StageNumber = Part.Number;
    Out.FirstStep = Part.First;
    Out.EndStep = std::min(Part.End, format::count(T.steps()));
  }

  Status run() {
    for (auto Part : {&Binder::ports, &Binder::buffers, &Binder::controls,
                      &Binder::steps, &Binder::values})
      if (Status S = (this->*Part)(); !S)
        return S;
    if (!Options.KeepValues)
      leaveOutUnread();
    return success();
  }

private:
  Error at(size_t Step, const char *What) {
    return failure(ErrorCode::Malformed,
                   "step %zu of target '%s': %s does not fit these dims", Step,
                   format::printable(T.name()).c_str(), What);
  }

  Status port(const PortInfo &P, Binding::PortShape &Shape) {
    uint64_t Elements = 1;
    bool Fits = true;
    for (uint32_t Index : format::scalars(P.Table->dims()))
      Shape.Open |= isOpen(Index);
    if (Shape.Open) {
      Shape.Dims.assign(P.Exprs.size(), 0);
      return success();
    }
    for (uint32_t Index : format::scalars(P.Table->dims())) {
      std::optional<int64_t> Dim = Values[Index];
      Fits &= Dim && *Dim >= 0;
      Shape.Dims.push_back(Dim.value_or(-1));
      Fits &= !__builtin_mul_overflow(Elements, uint64_t(Dim.value_or(0)),
                                      &Elements);
    }
    uint64_t Bits = 0;
    Fits = Fits &&
           !__builtin_mul_overflow(Elements, uint64_t(bitWidth(P.Type)), &Bits);
    Shape.Bytes = Bits / 8 + (Bits % 8 != 0);
    if (!Fits || Shape.Bytes > uint64_t(LargestBuffer))
      return failure(ErrorCode::OutOfRange,
                     "the size of '%s' is negative or too large for these dims",
                     P.Name);
    return success();
  }

  Status ports() {
    Out.Inputs.resize(M.inputs().size());
    Out.Outputs.resize(M.outputs().size());
    for (size_t I = 0; I < Out.Inputs.size(); ++I)
      if (Status S = port(M.inputs()[I], Out.Inputs[I]); !S)
        return S;
    for (size_t I = 0; I < Out.Outputs.size(); ++I)
      if (Status S = port(M.outputs()[I], Out.Outputs[I]); !S)
        return S;
    return success();
  }

  // A buffer lies in memory that others provide: it must fit what that is.
  bool fits(const format::Buffer &B, uint64_t Size) {
    switch (B.kind()) {
    case format::BufferKind::Input:
      return Size <= Out.Inputs[B.index()].Bytes;
    case format::BufferKind::Output:
      return Size <= Out.Outputs[B.index()].Bytes;
    case format::BufferKind::Weight:
      return Size <= M.weight(B.index()).size();
    case format::BufferKind::Arena:
      return true;
    }
    return false;
  }

  Status buffers() {
    std::vector<ArenaItem> Items;
    std::vector<size_t> Owners;
    for (const format::Buffer *B : format::each(T.buffers())) {
      std::optional<int64_t> Size =
          isOpen(B->size()) ? std::optional<int64_t>(0) : Values[B->size()];
      if (!Size || *Size < 0 || *Size > LargestBuffer ||
          !fits(*B, uint64_t(*Size)))
        return failure(ErrorCode::Malformed,
                       "the size of buffer %zu '%s' of target '%s' does not "
                       "fit these dims",
                       Buffers.size(), format::printable(B->name()).c_str(),
                       format::printable(T.name()).c_str());
      Place P{Base(B->kind()), B->index(), 0, uint64_t(*Size)};
      if (B->kind() == format::BufferKind::Arena) {
        Owners.push_back(Buffers.size());
        Items.push_back({P.Length, B->alignment(), B->first_step(),
                         B->last_step(), 0, stageOf(B->first_step())});
      } else if (B->kind() != format::BufferKind::Weight) {
        auto &Shape = B->kind() == format::BufferKind::Input
                          ? Out.Inputs[B->index()]
                          : Out.Outputs[B->index()];
        Shape.Alignment = std::max<uint64_t>(Shape.Alignment, B->alignment());
      }
      Buffers.push_back(P);
    }
    std::optional<ArenaPlan> Plan;
    {
      Lap Packing(Out.Times.workspace_us);
      Plan = packArena(Items, !Options.KeepValues);
    }
    if (!Plan)
      return failure(ErrorCode::OutOfRange,
                     "the intermediate values are too large for these dims");
    Out.Arena = *Plan;
    for (size_t I = 0; I < Items.size(); ++I)
      Buffers[Owners[I]].Offset = Items[I].Offset;
    return success();
  }

  /// Whether data decides an expression behind this stage.
  bool isOpen(uint32_t Expr) const {
    return namesAny(*M.table().exprs()->Get(Expr), Part.Open);
  }
  bool isOutside(uint32_t Step) const {
    return Step < Out.FirstStep || Step >= Out.EndStep;
  }
  uint32_t stageOf(uint32_t Step) const {
    return uint32_t(std::upper_bound(Borders.begin(), Borders.end(), Step) -
                    Borders.begin());
  }

  std::optional<int64_t> valueOr(uint32_t Expr, int64_t Default) {
    return Expr == None ? std::optional(Default) : Values[Expr];
  }

  // The bytes [Offset, Offset + Length) of a buffer; Length None: the rest.
  bool part(uint32_t Buffer, uint32_t Offset, uint32_t Length, Place &P) {
    P = Buffers[Buffer];
    std::optional<int64_t> Skip = valueOr(Offset, 0);
    if (!Skip || *Skip < 0 || uint64_t(*Skip) > P.Length)
      return false;
    P.Offset += uint64_t(*Skip);
    P.Length -= uint64_t(*Skip);
    std::optional<int64_t> Size = valueOr(Length, int64_t(P.Length));
    if (!Size || *Size < 0 || uint64_t(*Size) > P.Length)
      return false;
    P.Length = uint64_t(*Size);
    return true;
  }

  Status grid(const format::Launch &L, size_t Index, BoundStep &S) {
    if (T.kind() == format::TargetKind::Host) {
      std::optional<int64_t> Work = Values[L.work()];
      if (!Work || *Work < 0 || *Work > LargestWork)
        return at(Index, "the work");
      S.Work = *Work;
      S.Grain = L.grain();
      S.Empty = S.Work == 0;
      return success();
    }
    S.Work = 1;
    for (uint32_t I = 0; I < 3; ++I) {
      std::optional<int64_t> Extent = Values[L.grid()->Get(I)];
      if (!Extent || *Extent < 0 ||
          *Extent > (I ? LargestGridYZ : LargestGridX))
        return at(Index, "the grid");
      S.Grid[I] = uint32_t(*Extent);
      S.Block[I] = L.block()->Get(I);
      if (__builtin_mul_overflow(S.Work, *Extent, &S.Work))
        return at(Index, "the grid");
    }
    S.Empty = S.Work == 0;
    std::optional<int64_t> Shared = valueOr(L.shared(), 0);
    if (!Shared || *Shared < 0 || *Shared > LargestShared)
      return at(Index, "the shared memory");
    S.Shared = uint32_t(*Shared);
    return success();
  }

  Status controls() {
    size_t Count = format::count(T.controls());
    for (const format::Control *C : format::each(T.controls())) {
      BoundControl &B = Out.Controls.emplace_back();
      B.IsLoop = C->kind() == format::ControlKind::Loop;
      B.First = C->first_step();
      B.End = C->end_step();
      B.Else = C->else_step();
      B.Counter = C->counter();
      B.HasCondition = C->condition() != None;
      if (isOutside(B.First)) { // as a loop of no iterations
        B.IsLoop = true;
        B.HasCondition = false;
        continue;
      }
      if (B.HasCondition &&
          (!part(C->condition(), C->condition_offset(), None, B.Condition) ||
           B.Condition.Length == 0))
        return at(B.First, "the condition");
      if (!B.IsLoop)
        continue;
      std::optional<int64_t> Trips = Values[C->count()];
      if (!Trips || *Trips < 0 || *Trips > format::MostIterations)
        return at(B.First, "the number of iterations");
      B.MustEnd = B.HasCondition && *Trips == format::MostIterations;
      B.Count = B.MustEnd ? Options.MostIterations : *Trips;
    }
    for (uint32_t I = 0; I < Count; ++I) {
      uint32_t Next = I + 1;
      while (Next < Count && Out.Controls[Next].First < Out.Controls[I].End)
        ++Next;
      Out.Controls[I].Next = Next;
    }
    return success();
  }

  // How often a step runs in all; the loops around it are noted.
  int64_t enter(uint32_t Step) {
    int64_t Runs = 1;
    Around.clear();
    for (uint32_t At = 0; At < Out.Controls.size();) {
      const BoundControl &C = Out.Controls[At];
      if (C.First > Step)
        break;
      bool Inside = Step < C.End;
      if (Inside && C.IsLoop) {
        Around.push_back(At);
        if (Step < C.bodyEnd() && __builtin_mul_overflow(Runs, C.Count, &Runs))
          Runs = INT64_MAX;
      }
      At = Inside ? At + 1 : C.Next;
    }
    return Runs;
  }

  // Whether an expression of the step at hand depends on an iteration; then the
  // parameter that was bound last moves with it.
  void move(uint32_t Expr, const Place &Room) {
    if (Around.empty() || Expr == None)
      return;
    const auto &Words = *M.table().exprs()->Get(Expr)->words();
    BoundControl *Innermost = nullptr;
    for (uint32_t At : Around)
      for (uint32_t I = 0; I < Words.size(); ++I) {
        auto Code = format::Op(Words.Get(I));
        if (Code != format::Op::Constant && Code != format::Op::Symbol)
          continue;
        if (Words.Get(++I) == Out.Controls[At].Counter &&
            Code == format::Op::Symbol)
          Innermost = &Out.Controls[At];
      }
    if (!Innermost)
      return;
    auto &List = uint32_t(Out.Steps.size()) < Innermost->bodyEnd()
                     ? Innermost->Moving
                     : Innermost->MovingAtEnd;
    List.push_back({uint32_t(Out.Params.size()) - 1, Expr, Room});
  }

  // Nothing is made for a launch that does nothing: its dims may be 0.
  Status tensorMap(const format::Param &P, const BoundStep &S,
                   BoundParam &Param) {
    if (S.Empty)
      return success();
    auto Bound = bindTensorMap(*P.tensor_map(), *T.kernels()->Get(S.Kernel),
                               uint32_t(Out.Params.size()) - 1 - S.FirstParam,
                               Values, Param.At.Length);
    if (!Bound)
      return Bound.takeError();
    Param.TensorMap = int32_t(Out.TensorMaps.size());
    Out.TensorMaps.push_back(*Bound);
    return success();
  }

  // What is launched for these sizes; null where a bound has no value.
  const format::Launch *chosen(const format::Launch &L) {
    for (const format::Alternative *A : format::each(L.alternatives())) {
      bool Fits = true;
      for (const format::SizeBound *Bound : format::each(A->bounds())) {
        std::optional<int64_t> Size = Values[Bound->size()];
        if (!Size)
          return nullptr;
        Fits &= Bound->min() <= *Size && *Size <= Bound->max();
      }
      if (Fits)
        return A->launch();
    }
    return &L;
  }

  Status launch(const format::Launch &Planned, size_t Index, BoundStep &S) {
    if (Planned.flops() != None)
      S.Flops = Values[Planned.flops()].value_or(-1);
    const format::Launch *Chosen = chosen(Planned);
    if (!Chosen)
      return at(Index, "a bound");
    const format::Launch &L = *Chosen;
    S.Kernel = L.kernel();
    if (Status Failed = grid(L, Index, S); !Failed)
      return Failed;
    for (const format::Param *P : format::each(L.params())) {
      BoundParam &Param = Out.Params.emplace_back();
      if (P->kind() == format::ParamKind::Size) {
        std::optional<int64_t> Size = Values[P->size()];
        if (!Size)
          return at(Index, "a size");
        Param.IsSize = true;
        Param.Size = uint64_t(*Size);
        move(P->size(), {});
        continue;
      }
      Param.Access = P->access();
      if (!part(P->buffer(), P->offset(), P->length(), Param.At))
        return at(Index, "a parameter");
      move(P->offset(), Buffers[P->buffer()]);
      if (P->kind() == format::ParamKind::TensorMap)
        if (Status Failed = tensorMap(*P, S, Param); !Failed)
          return Failed;
    }
    return success();
  }

  // Launches are left out whose results no step reads at these sizes.
  void leaveOutUnread() {
    format::BufferReads Reads(T);
    uint32_t Index = 0;
    for (const format::Step *Step : format::each(T.steps())) {
      const auto *L = Step->action_as_Launch();
      if (L && isOutside(Index)) {
        Reads.add(*L);
        for (const format::Alternative *A : format::each(L->alternatives()))
          Reads.add(*A->launch());
      } else if (L && !Out.Steps[Index].Empty) {
        Reads.add(*chosen(*L));
      }
      ++Index;
    }
    Index = 0;
    for (const format::Step *Step : format::each(T.steps())) {
      BoundStep &S = Out.Steps[Index++];
      if (const auto *L = Step->action_as_Launch(); L && !S.Empty)
        S.Empty = Reads.isUnread(*L);
    }
  }

  Status copy(const format::Copy &C, size_t Index, BoundStep &S) {
    S.Kind = StepKind::Copy;
    BoundParam To, From;
    To.Access = 2;
    From.Access = 1;
    if (!part(C.destination(), C.destination_offset(), C.bytes(), To.At) ||
        !part(C.source(), C.source_offset(), C.bytes(), From.At))
      return at(Index, "the copy");
    S.Work = int64_t(To.At.Length);
    S.Empty = S.Work == 0;
    Out.Params.push_back(To);
    move(C.destination_offset(), Buffers[C.destination()]);
    Out.Params.push_back(From);
    move(C.source_offset(), Buffers[C.source()]);
    return success();
  }

  Status fill(const format::Fill &F, size_t Index, BoundStep &S) {
    S.Kind = StepKind::Fill;
    S.Pattern = F.pattern();
    S.PatternBytes = F.pattern_bytes();
    BoundParam To;
    To.Access = 2;
    if (!part(F.destination(), F.offset(), F.bytes(), To.At) ||
        To.At.Length % S.PatternBytes || To.At.Offset % S.PatternBytes)
      return at(Index, "the fill");
    S.Work = int64_t(To.At.Length);
    S.Empty = S.Work == 0;
    Out.Params.push_back(To);
    return success();
  }

  Status steps() {
    size_t Index = 0;
    for (const format::Step *Step : format::each(T.steps())) {
      BoundStep S;
      S.FirstParam = uint32_t(Out.Params.size());
      S.Runs = isOutside(uint32_t(Index)) ? 0 : enter(uint32_t(Index));
      if (S.Runs == 0) { // there need not even be room for what it does
        S.Empty = true;
        S.Kind = Step->action_as_Launch() ? StepKind::Launch
                 : Step->action_as_Copy() ? StepKind::Copy
                                          : StepKind::Fill;
        if (const auto *L = Step->action_as_Launch())
          S.Kernel = L->kernel();
        Out.Steps.push_back(S);
        ++Index;
        continue;
      }
      Status Done;
      if (const auto *L = Step->action_as_Launch())
        Done = launch(*L, Index, S);
      else if (const auto *C = Step->action_as_Copy())
        Done = copy(*C, Index, S);
      else
        Done = fill(*Step->action_as_Fill(), Index, S);
      if (!Done)
        return Done;
      S.ParamCount = uint32_t(Out.Params.size()) - S.FirstParam;
      Out.Steps.push_back(S);
      ++Index;
    }
    return success();
  }

  Status values() {
    for (const format::Value *V : format::each(T.values())) {
      Binding::ValueShape &Shape = Out.Values.emplace_back();
      bool Open = false; // read when the last stage has run
      for (uint32_t Index : format::scalars(V->dims()))
        Open |= isOpen(Index);
      if (Open)
        continue;
      uint64_t Elements = 1;
      bool Good = part(V->buffer(), V->offset(), None, Shape.At);
      for (uint32_t Index : format::scalars(V->dims())) {
        int64_t Dim = Values[Index].value_or(-1);
        Shape.Dims.push_back(Dim);
        Good = Good && Dim >= 0 &&
               !__builtin_mul_overflow(Elements, uint64_t(Dim), &Elements);
      }
      uint64_t Bits = uint64_t(bitWidth(ElementType(V->type()))), Total = 0;
      Good = Good && !__builtin_mul_overflow(Elements, Bits, &Total) &&
             Total / 8 + (Total % 8 != 0) <= Shape.At.Length;
      if (!Good)
        return failure(ErrorCode::Malformed,
                       "value '%s' does not fit its buffer for these dims",
                       format::printable(V->name()).c_str());
      Shape.At.Length = Total / 8 + (Total % 8 != 0);
    }
    return success();
  }

  const Model &M;
  const format::Target &T;
  Stage Part;
  Binding &Out;
  const BindOptions &Options;
  Evaluation Values;
  std::vector<uint32_t> Borders; ///< steps that begin a stage
  std::vector<Place> Buffers;
  std::vector<uint32_t> Around; ///< loops around the step at hand
};

static_assert(int(Base::Input) == int(format::BufferKind::Input) &&
              int(Base::Output) == int(format::BufferKind::Output) &&
              int(Base::Weight) == int(format::BufferKind::Weight) &&
              int(Base::Arena) == int(format::BufferKind::Arena));

Result<std::unique_ptr<Binding>> Binding::make(const Model &M,
                                               const format::Target &T,
                                               std::span<const int64_t> Symbols,
                                               const Stage &Part,
                                               const BindOptions &Options) {
  if (Status S = checkSymbols(M, Symbols, Part.Open); !S)
    return S;
  auto Out = std::make_unique<Binding>();
  Out->Symbols.assign(Symbols.begin(), Symbols.end());
  Out->Counted = Out->Symbols;
  Out->Table = &M.table();
  {
    Lap All(Out->Times.sizes_us);
    if (Status S = Binder(M, T, Part, *Out, Options).run(); !S)
      return S;
  }
  Out->Times.sizes_us -= Out->Times.workspace_us;
  return Out;
}

Status Binding::startIteration(const BoundControl &Loop, int64_t I) {
  Counted[Loop.Counter] = I;
  return move(Loop.Moving, I);
}

Status Binding::endLoop(const BoundControl &Loop, int64_t Iterations) {
  Counted[Loop.Counter] = Iterations;
  return move(Loop.MovingAtEnd, Iterations);
}

std::optional<int64_t> Binding::valueWhen(uint32_t Expr, uint32_t Counter,
                                          int64_t Is) {
  int64_t Was = std::exchange(Counted[Counter], Is);
  std::optional<int64_t> Out = evaluate(*Table->exprs()->Get(Expr), Counted);
  Counted[Counter] = Was;
  return Out;
}

Status Binding::move(std::span<const MovingParam> All, int64_t I) {
  for (const MovingParam &Moving : All) {
    std::optional<int64_t> Value =
        evaluate(*Table->exprs()->Get(Moving.Expr), Counted);
    BoundParam &P = Params[Moving.Param];
    if (P.IsSize && Value) {
      P.Size = uint64_t(*Value);
      continue;
    }
    if (!Value || *Value < 0 || uint64_t(*Value) > Moving.Room.Length ||
        P.At.Length > Moving.Room.Length - uint64_t(*Value))
      return failure(ErrorCode::Malformed,
                     "in iteration %" PRId64
                     " of a loop a step reaches outside its buffer",
                     I);
    P.At.Offset = Moving.Room.Offset + uint64_t(*Value);
  }
  return success();
}

static bool isSamePlace(const Place &A, const Place &B) {
  return A.Where == B.Where && A.Index == B.Index && A.Offset == B.Offset &&
         A.Length == B.Length;
}

int64_t Binding::bytesTouched(const BoundStep &S, uint8_t Access) const {
  int64_t Bytes = 0;
  std::span<const BoundParam> All = params(S);
  for (size_t I = 0; I < All.size(); ++I) {
    const BoundParam &P = All[I];
    bool Counts = !P.IsSize && (P.Access & Access);
    for (size_t J = 0; Counts && P.TensorMap >= 0 && J < I; ++J)
      Counts = All[J].IsSize || !(All[J].Access & Access) ||
               !isSamePlace(All[J].At, P.At);
    if (Counts)
      Bytes += int64_t(P.At.Length);
  }
  return Bytes;
}

} // namespace kpc::rt
