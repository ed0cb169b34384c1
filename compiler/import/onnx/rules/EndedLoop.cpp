//===- EndedLoop.cpp - Import of loops that their own data ends -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/rules/EndedLoop.h"
#include "compiler/import/onnx/Importer.h"

using namespace kpc::graph;

namespace kpc::onnx {

Contents scalarContents(ElementType Type, const Expr &E) {
  Contents C;
  C.Type = Type;
  C.Whole = {E};
  return C;
}

namespace {
/// What says how often a loop runs.
struct LoopEnd {
  Value Begins;      ///< whether there is a first iteration
  Expr Most;         ///< iterations
  bool Knows = true; ///< whether there is room for what `Most` collect
  Value Trips = {};  ///< the trip count, where data says it
};
} // namespace

/// Parts that are collected in room for all iterations that there may be. Where
/// there may be more, the iterations are counted first.
static constexpr int64_t MostCollected = 1 << 16;

static std::optional<LoopEnd> endOf(NodeImport &N) {
  LoopEnd End;
  Value Begins = N.hasInput(1) ? N.input(1) : N.scalarInt(1, N.i1());
  End.Begins = N.reshape(Begins, {});
  std::optional<std::vector<Expr>> Known;
  if (N.hasInput(0))
    Known = N.readSizes(0);
  if (N.hasInput(0) && !Known) {
    Value Trips = N.input(0);
    End.Trips = N.reshape(Trips, {});
    End.Begins = N.binary<AndOp>(
        End.Begins, N.compare(Predicate::gt, End.Trips, N.like(0, End.Trips)));
  }
  if (N.bad() || !End.Begins)
    return std::nullopt;
  End.Most = Expr(frontend::Endless);
  End.Knows = false;
  if (Known && Known->size() == 1) {
    Expr Most = N.importer().facts().simplify(Expr::max(Known->front(), 0));
    std::optional<int64_t> Number = Most.asConstant();
    if (!Number || *Number < frontend::Endless)
      End.Most = Most;
    End.Knows = !Number || *Number <= MostCollected;
  }
  return End;
}

/// An iteration without its condition, which `GoesOn` takes. Its number is `I`,
/// or where given a tensor: a GPU's graph that data ends cannot have the former
/// as what kernels compute with.
static std::optional<SmallVector<Value>>
iteration(NodeImport &N, const Graph &Body, const Expr &I,
          ArrayRef<Value> Carried, Value &GoesOn, Value Number = {}) {
  Importer &Imp = N.importer();
  auto Define = [&] {
    if (Number)
      Imp.define(Body.Inputs[0].Name, Number);
    else
      Imp.define(Body.Inputs[0].Name, scalarContents(ElementType::Int64, I));
    Imp.define(Body.Inputs[1].Name, scalarContents(ElementType::Bool, 1));
    for (auto [Info, V] :
         llvm::zip_equal(llvm::drop_begin(Body.Inputs, 2), Carried))
      Imp.define(Info.Name, V);
  };
  std::optional<SmallVector<Value>> Results = Imp.inlineGraph(Body, Define, N);
  if (!Results)
    return std::nullopt;
  GoesOn = N.reshape(Results->front(), {});
  Results->erase(Results->begin());
  return Results;
}

namespace {
class EndedLoop {
public:
  /// With `OnDevice` the number of an iteration is a tensor.
  EndedLoop(NodeImport &N, const Graph &Body, LoopEnd End, bool OnDevice)
      : N(N), Body(Body), End(std::move(End)), OnDevice(OnDevice) {
    for (size_t I = 2; I < N.inputCount(); ++I)
      Inits.push_back(N.input(I));
    Scanned = Body.Outputs.size() - 1 - Inits.size();
    for (size_t I = 0; I < Scanned; ++I)
      Collects |= N.wants(Inits.size() + I);
  }

  void build();

private:
  std::optional<SmallVector<Value>> untilDataEnds();
  void runAgain(const Expr &Count);

  NodeImport &N;
  const Graph &Body;
  LoopEnd End;
  bool OnDevice;
  SmallVector<Value> Inits;
  size_t Scanned = 0;
  bool Collects = false;
};
} // namespace

/// The last state; where it collects, then the number of iterations; and then,
/// if there is room, what was collected.
std::optional<SmallVector<Value>> EndedLoop::untilDataEnds() {
  size_t States = Inits.size();
  SmallVector<Value> From(Inits);
  // Kernels count: what they would take as a number keeps a GPU from running
  // the loop by itself.
  bool Counts = Collects || End.Trips || OnDevice;
  if (Counts)
    From.push_back(N.scalarInt(0, N.i64()));
  bool Keeps = Collects && End.Knows;
  auto Iteration =
      [&](const Expr &I,
          ArrayRef<Value> Carried) -> std::optional<SmallVector<Value>> {
    Value GoesOn;
    Value Number = Counts ? Carried[States] : Value();
    auto Next = iteration(N, Body, I, Carried.take_front(States), GoesOn,
                          OnDevice ? Number : Value());
    if (!Next)
      return std::nullopt;
    Value More = Counts ? N.add(Number, N.scalarInt(1, N.i64())) : Value();
    if (End.Trips)
      GoesOn = N.binary<AndOp>(
          GoesOn, N.compare(Predicate::lt, N.cast(More, N.element(End.Trips)),
                            End.Trips));
    if (!Keeps)
      Next->resize(States);
    if (Counts)
      Next->insert(Next->begin() + static_cast<ptrdiff_t>(States), More);
    Next->insert(Next->begin(), GoesOn);
    if (N.bad() || llvm::is_contained(*Next, Value()))
      return std::nullopt;
    return Next;
  };
  return N.importer().loop(N, End.Most, From,
                           SmallVector<bool>(Keeps ? Scanned : 0, false),
                           Iteration, End.Begins);
}

/// How often data lets the loop run is known by now.
void EndedLoop::runAgain(const Expr &Count) {
  auto Iteration = [&](const Expr &I, ArrayRef<Value> Carried) {
    Value GoesOn;
    return iteration(N, Body, I, Carried, GoesOn);
  };
  auto Results = N.importer().loop(
      N, Count, Inits, SmallVector<bool>(Scanned, false), Iteration);
  for (size_t I = Inits.size(); Results && I < Results->size(); ++I)
    N.result(I, (*Results)[I]);
}

void EndedLoop::build() {
  if (N.bad() || llvm::is_contained(Inits, Value()))
    return;
  std::optional<SmallVector<Value>> Results = untilDataEnds();
  if (!Results)
    return N.result(0, Value());
  size_t States = Inits.size();
  for (size_t I = 0; I < States; ++I)
    N.result(I, (*Results)[I]);
  if (!Collects)
    return;
  size_t Named = States;
  while (!N.wants(Named))
    ++Named;
  std::optional<Expr> Count = N.importer().decideSize(
      N, (*Results)[States], N.current(End.Most), 0, Named);
  if (!Count)
    return N.result(Named, Value());
  if (!End.Knows)
    return runAgain(*Count);
  for (size_t I = 0; I < Scanned; ++I)
    N.result(States + I, N.sliceAxis((*Results)[States + 1 + I], 0, 0, *Count));
}

//===----------------------------------------------------------------------===//
// State that grows
//===----------------------------------------------------------------------===//

namespace {
/// As many branches as there may be iterations, one after another. A side that
/// is not taken leaves what is carried in front of zeros, so that both sides
/// give one size. How much of it counts is cut out at the end.
class GrowingLoop {
public:
  GrowingLoop(NodeImport &N, const Graph &Body, LoopEnd End)
      : N(N), Body(Body), End(std::move(End)) {
    for (size_t I = 2; I < N.inputCount(); ++I)
      State.push_back(N.input(I));
    Parts.resize(Body.Outputs.size() - 1 - State.size());
  }

  void build(int64_t Trips);

private:
  bool addIteration(const Expr &I);
  Value grown(Value Old, Value Like);
  Value cut(Value Last, Value First, const Expr &Count, int64_t Trips);

  NodeImport &N;
  const Graph &Body;
  LoopEnd End;
  SmallVector<Value> State;
  std::vector<SmallVector<Value>> Parts; ///< what is collected
  Value GoesOn, Count;
};
} // namespace

/// `Old` with zeros after it, of the other's sizes.
Value GrowingLoop::grown(Value Old, Value Like) {
  if (!Old || !Like || N.rank(Old) != N.rank(Like) ||
      N.element(Old) != N.element(Like))
    return N.unsupported("what the loop carries changes its rank or element "
                         "type, and when it ends is known only when the model "
                         "runs");
  for (size_t Axis = 0; Axis < N.dims(Old).size(); ++Axis) {
    Expr More = N.dims(Like)[Axis] - Expr(N.dims(Old)[Axis]);
    if (More == Expr(0))
      continue;
    if (N.importer().facts().range(More).Min < 0)
      return N.unsupported("what the loop carries gets smaller, and when it "
                           "ends is known only when the model runs");
    Dims Sizes(N.dims(Old));
    Sizes[Axis] = More;
    Value Zeros = N.broadcast(N.scalarInt(0, N.element(Old)), Sizes);
    Old = N.concat({Old, Zeros}, static_cast<int64_t>(Axis));
    if (!Old)
      return {};
  }
  return Old;
}

bool GrowingLoop::addIteration(const Expr &I) {
  auto Then = [&]() -> std::optional<SmallVector<Value>> {
    Value Again;
    auto Next = iteration(N, Body, I, State, Again);
    if (!Next || !Again || llvm::is_contained(*Next, Value()))
      return std::nullopt;
    Next->insert(Next->begin(), {Again, N.sizeScalar(I + 1, N.i64())});
    return Next;
  };
  auto Else = [&](ArrayRef<Value> Taken) -> std::optional<SmallVector<Value>> {
    SmallVector<Value> Kept = {GoesOn, Count};
    for (size_t S = 0; S < State.size(); ++S)
      Kept.push_back(grown(State[S], Taken[S + 2]));
    for (Value Part : Taken.drop_front(Kept.size()))
      Kept.push_back(
          N.broadcast(N.scalarInt(0, N.element(Part)), N.dims(Part)));
    if (N.bad() || llvm::is_contained(Kept, Value()))
      return std::nullopt;
    return Kept;
  };
  auto Results = N.importer().branch(N, GoesOn, Then, Else);
  if (!Results)
    return false;
  GoesOn = (*Results)[0];
  Count = (*Results)[1];
  for (size_t S = 0; S < State.size(); ++S)
    State[S] = (*Results)[S + 2];
  for (size_t P = 0; P < Parts.size(); ++P)
    Parts[P].push_back(N.unsqueeze((*Results)[2 + State.size() + P], {0}));
  return !N.bad();
}

/// Of each axis as much as `Count` of all iterations make of it.
Value GrowingLoop::cut(Value Last, Value First, const Expr &Count,
                       int64_t Trips) {
  for (size_t Axis = 0; Last && Axis < N.dims(First).size(); ++Axis) {
    Expr From(N.dims(First)[Axis]), To(N.dims(Last)[Axis]);
    if (From == To)
      continue;
    Expr Each = (To - From).floorDiv(Trips);
    Last =
        N.sliceAxis(Last, static_cast<int64_t>(Axis), 0, From + Each * Count);
  }
  return Last;
}

void GrowingLoop::build(int64_t Trips) {
  SmallVector<Value> First(State);
  GoesOn = End.Begins;
  Count = N.scalarInt(0, N.i64());
  if (N.bad() || llvm::is_contained(State, Value()))
    return;
  // Each iteration adds as much as the first one.
  SmallVector<Dims> Steps;
  for (int64_t I = 0; I < Trips; ++I) {
    SmallVector<Value> Before(State);
    if (!addIteration(Expr(I)))
      return N.result(0, Value());
    for (size_t S = 0; S < State.size(); ++S) {
      Dims Step;
      for (size_t Axis = 0; Axis < N.dims(State[S]).size(); ++Axis)
        Step.push_back(Expr(N.dims(State[S])[Axis]) - N.dims(Before[S])[Axis]);
      if (I == 0)
        Steps.push_back(Step);
      else if (Step != Steps[S])
        return (void)N.unsupported(
            "what the loop carries grows from iteration to iteration by more, "
            "and when it ends is known only when the model runs");
    }
  }
  size_t States = State.size();
  // Only what is collected has the number of iterations as a size.
  std::optional<Expr> Ran =
      Parts.empty() ? N.importer().decideSize(N, Count, Expr(Trips), SIZE_MAX)
                    : N.importer().decideSize(N, Count, Expr(Trips), 0, States);
  if (!Ran)
    return N.result(0, Value());
  for (size_t S = 0; S < States; ++S)
    N.result(S, cut(State[S], First[S], *Ran, Trips));
  for (size_t P = 0; P < Parts.size(); ++P)
    N.result(States + P, N.sliceAxis(N.concat(Parts[P], 0), 0, 0, *Ran));
}

/// Iterations that may each be a branch.
static constexpr int64_t MostBranches = 256;

void importEndedLoop(NodeImport &N, const Graph &Body) {
  std::optional<LoopEnd> End = endOf(N);
  if (!End)
    return;
  std::optional<int64_t> Trips = End->Most.asConstant();
  bool MayGrow = Trips && *Trips > 0 && *Trips <= MostBranches && !End->Trips;
  const std::string &Number = Body.Inputs[0].Name;
  bool OnDevice = !isUnread(Body, Number) && isDataAlone(Body, Number);
  if (!MayGrow || N.importer().isInBody())
    return EndedLoop(N, Body, *End, OnDevice).build();
  if (!N.importer().attempt(N, [&](NodeImport &Trial) {
        EndedLoop(Trial, Body, *End, OnDevice).build();
        return !Trial.bad();
      }))
    GrowingLoop(N, Body, *End).build(*Trips);
}

} // namespace kpc::onnx
