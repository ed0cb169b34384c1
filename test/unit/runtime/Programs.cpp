//===- Programs.cpp - Small models of every kind of plan -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/Programs.h"

using namespace kpc::artifact;

namespace kpc::test {

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

static Expr batch() { return Expr::symbol("batch"); }
static Expr found() { return Expr::symbol("found"); }

Contents dataContents(Contents C) {
  C.Symbols.push_back({"found", {.Min = 0, .Max = 100}, SymbolSource::Data});
  C.Inputs.push_back({"count", ElementType::I64, {Expr(1)}, {}});
  Port Decides{"size found", ElementType::I64, {}};
  Decides.Decides = found();
  Decides.AtMost = batch() * 2;
  C.Outputs.push_back({"firsts", ElementType::F32, {found()}});
  C.Outputs.push_back(Decides);
  for (Target &T : C.Targets) {
    auto Add = [&](BufferKind Kind, uint32_t Index, Expr Size) {
      Buffer B;
      B.Kind = Kind;
      B.Index = Index;
      B.Size = Size;
      T.Buffers.push_back(B);
      return uint32_t(T.Buffers.size() - 1);
    };
    uint32_t Count = Add(BufferKind::Input, 2, 8),
             Firsts = Add(BufferKind::Output, 3, found() * 4),
             Found = Add(BufferKind::Output, 4, 8);
    Copy Decide;
    Decide.Source = Count;
    Decide.Destination = Found;
    Decide.Size = 8;
    Copy First;
    First.Source = 2;
    First.Destination = Firsts;
    First.Size = found() * 4;
    T.Steps.insert(T.Steps.begin() + 1, Decide);
    T.Steps.push_back(First);
    for (Buffer &B : T.Buffers)
      if (B.Kind == BufferKind::Arena) {
        B.FirstStep += B.FirstStep > 0;
        B.LastStep += B.LastStep > 0;
      }
    for (Value &V : T.Values)
      *V.Step += *V.Step > 0;
    std::get<Launch>(T.Steps[2]).Params[2].Size = found();
    T.Readbacks = {{4, 2}};
  }
  return C;
}

Contents valuesContents(Contents C, ElementType Type) {
  C.Symbols.push_back({"n[0]", {.Min = 0, .Max = 100}});
  C.Inputs.push_back({"n", Type, {Expr(2)}, {}});
  Expr Factor = Expr::symbol("n[0]"), Batch = Expr::symbol("batch");
  C.InputValues = {{2, 0, Factor}, {2, 1, Expr::symbol("width")}};
  C.Requirements = {{Factor, Batch * 2, false, "'mul' (Mul) needs it"}};
  for (Target &T : C.Targets) {
    // Behind the inputs of the sample; its steps do not read it.
    std::get<Launch>(T.Steps[1]).Params[2].Size = Factor;
  }
  return C;
}

//===----------------------------------------------------------------------===//
// Loops and branches
//===----------------------------------------------------------------------===//

static constexpr int64_t Width = ProgramWidth, Bytes64 = Width * 4;

static Expr count() { return Expr::symbol("count"); }
static Expr i() { return Expr::symbol("i"); }

static Param part(uint32_t Buffer, uint8_t Access, Expr Offset) {
  Param P = Param::buffer(Buffer, Access);
  P.Offset = std::move(Offset);
  P.Length = Expr(Bytes64);
  return P;
}

static void setSteps(Target &T) {
  enum : uint32_t { X, Marks, Taken, Rows, Scaled, Last, Picked, Pair };
  auto buffer = [&](BufferKind Kind, uint32_t Index, Expr Size) {
    Buffer B;
    B.Kind = Kind;
    B.Index = Index;
    B.Size = std::move(Size);
    B.LastStep = 4;
    T.Buffers.push_back(B);
  };
  T.Buffers.clear();
  buffer(BufferKind::Input, 0, Bytes64);
  buffer(BufferKind::Input, 1, count() * 4);
  buffer(BufferKind::Input, 2, 1);
  buffer(BufferKind::Output, 0, count() * Bytes64);
  buffer(BufferKind::Output, 1, count() * Bytes64);
  buffer(BufferKind::Output, 2, Bytes64);
  buffer(BufferKind::Output, 3, Bytes64);
  buffer(BufferKind::Arena, 0, 2 * Bytes64);
  auto launch = [&](uint32_t Kernel, std::vector<Param> Params) {
    Launch L;
    L.Kernel = Kernel;
    L.Params = std::move(Params);
    if (T.Kind == TargetKind::Cuda)
      L.Params.push_back(Param::size(Width));
    L.Work = Width;
    L.Flops = Width;
    T.Steps.push_back(L);
  };
  T.Steps.clear();
  T.Values.clear();
  Expr Now = i().mod(2) * Bytes64, Next = (i() + 1).mod(2) * Bytes64;
  T.Steps.push_back(Copy{X, {}, Pair, Expr(0), Bytes64});
  launch(0, {part(Pair, Read, Now), Param::buffer(X, Read),
             part(Pair, Write, Next)});
  T.Steps.push_back(Copy{Pair, Next, Rows, i() * Bytes64, Bytes64});
  launch(1, {part(Pair, Read, Next),
             part(Scaled, Write, (count() - 1 - i()) * Bytes64),
             Param::size(i() + 1)});
  T.Steps.push_back(Copy{Pair, count().mod(2) * Bytes64, Last, {}, Bytes64});
  launch(0, {Param::buffer(X, Read), Param::buffer(X, Read),
             Param::buffer(Picked, Write)});
  launch(1, {Param::buffer(X, Read), Param::buffer(Picked, Write),
             Param::size(3)});
  T.Controls = {Loop{1, 4, count(), "i"}, If{5, 6, 7, Taken, {}}};
}

Contents controlContents(bool OnDevice) {
  Contents C = OnDevice ? cudaContents() : sampleContents();
  C.Symbols = {{"count", {.Min = 0, .Max = 100000}},
               {"i", {.Min = 0}, SymbolSource::LoopCounter}};
  C.Inputs = {{"x", ElementType::F32, {Width}, {}},
              {"marks", ElementType::F32, {count()}, {}},
              {"taken", ElementType::Bool, {Expr(1)}, {}}};
  C.Outputs = {{"rows", ElementType::F32, {count(), Width}, {}},
               {"scaled", ElementType::F32, {count(), Width}, {}},
               {"last", ElementType::F32, {Width}, {}},
               {"picked", ElementType::F32, {Width}, {}}};
  setSteps(C.Targets[0]);
  return C;
}

Contents endedContents(bool OnDevice, int64_t Count) {
  enum : uint32_t { X, Goes, Last, Pair };
  Contents C = OnDevice ? cudaContents() : sampleContents();
  C.Symbols = {{"i", {.Min = 0}, SymbolSource::LoopCounter}};
  C.Inputs = {{"x", ElementType::F32, {Width}, {}},
              {"goes", ElementType::Bool, {Expr(1)}, {}}};
  C.Outputs = {{"last", ElementType::F32, {Width}, {}}};
  Target &T = C.Targets[0];
  T.Buffers.clear();
  auto Add = [&](BufferKind Kind, uint32_t Index, int64_t Size) {
    Buffer B;
    B.Kind = Kind;
    B.Index = Index;
    B.Size = Size;
    B.LastStep = 2;
    T.Buffers.push_back(B);
  };
  Add(BufferKind::Input, 0, Bytes64);
  Add(BufferKind::Input, 1, 1);
  Add(BufferKind::Output, 0, Bytes64);
  Add(BufferKind::Arena, 0, 2 * Bytes64);
  auto Part = [&](uint8_t Access, const Expr &At) {
    Param P = Param::buffer(Pair, Access);
    P.Offset = At.mod(2) * Bytes64;
    P.Length = Expr(Bytes64);
    return P;
  };
  Launch L;
  L.Kernel = 0;
  L.Params = {Part(Read, i()), Param::buffer(X, Read), Part(Write, i() + 1)};
  if (OnDevice)
    L.Params.push_back(Param::size(Width));
  L.Work = Width;
  L.Flops = Width;
  T.Values.clear();
  T.Steps = {Copy{X, {}, Pair, Expr(0), Bytes64}, L,
             Copy{Pair, i().mod(2) * Bytes64, Last, {}, Bytes64}};
  T.Controls = {Loop{1, 3, Count, "i", LoopEnd{2, Goes, {}}}};
  return C;
}

Contents collectingContents(bool OnDevice, int64_t Count,
                            bool NamesIterations) {
  Contents C = endedContents(OnDevice, Count);
  enum : uint32_t { Pair = 3, Rows };
  C.Outputs.push_back({"rows", ElementType::F32, {Expr(Count), Width}, {}});
  Target &T = C.Targets[0];
  Buffer B;
  B.Kind = BufferKind::Output;
  B.Index = 1;
  B.Size = Count * Bytes64;
  B.LastStep = 3;
  T.Buffers.push_back(B);
  T.Buffers[Pair].LastStep = 3;
  Expr Next = (i() + 1).mod(2) * Bytes64;
  Launch L = std::get<Launch>(T.Steps[1]);
  L.Kernel = 1;
  L.Params = {part(Pair, Read, Next), part(Rows, Write, i() * Bytes64),
              Param::size(NamesIterations ? i() + 1 : Expr(1))};
  if (OnDevice)
    L.Params.push_back(Param::size(Width));
  T.Steps.insert(T.Steps.begin() + 2, L);
  T.Controls = {Loop{1, 4, Count, "i", LoopEnd{3, 1, {}}}};
  return C;
}

//===----------------------------------------------------------------------===//
// With inputs
//===----------------------------------------------------------------------===//

kpc_status GivenProgram::run(const kpc_session_options &O,
                             kpc_error **E) const {
  kpc_model *RawModel = nullptr;
  if (kpc_status Code = kpc_model_load_memory(File.data(), File.size(), nullptr,
                                              &RawModel, E))
    return Code;
  Own<kpc_model> M(RawModel);
  kpc_session *RawSession = nullptr;
  if (kpc_status Code = kpc_session_create(RawModel, &O, &RawSession, E))
    return Code;
  Own<kpc_session> S(RawSession);
  for (int Time = 0; Time < 2; ++Time) {
    kpc_outputs *Outputs = nullptr;
    if (kpc_status Code = kpc_session_run_owned(
            RawSession, In.data(), In.size(), nullptr, &Outputs, E))
      return Code;
    kpc_outputs_free(Outputs);
  }
  return KPC_OK;
}

std::vector<GivenProgram> givenPrograms(bool OnDevice) {
  alignas(64) static float Numbers[64] = {1, 2, 3};
  static int64_t Matrix[] = {2, 3}, One[] = {1}, Two[] = {2}, Three[] = {3},
                 Row[] = {ProgramWidth}, Count[] = {2}, Sizes[] = {3, 3};
  static bool Yes[] = {true};
  auto Floats = [](const char *Name, int64_t *Dims, int32_t Rank) {
    return kpc_named_tensor{Name, {Numbers, Dims, Rank, KPC_F32, KPC_HOST}};
  };
  auto Bools = [](const char *Name) {
    return kpc_named_tensor{Name, {Yes, One, 1, KPC_BOOL, KPC_HOST}};
  };
  kpc_named_tensor X = Floats("x", Matrix, 2), Y = Floats("y", Matrix, 2),
                   R = Floats("x", Row, 1);
  Contents Sample = OnDevice ? cudaContents() : sampleContents();
  return {
      {"sizes that data decides",
       written(dataContents(Sample)),
       {X, Y, {"count", {Count, One, 1, KPC_I64, KPC_HOST}}}},
      {"elements of inputs",
       written(valuesContents(Sample)),
       {X, Y, {"n", {Sizes, Two, 1, KPC_I64, KPC_HOST}}}},
      {"loops and branches",
       written(controlContents(OnDevice)),
       {R, Floats("marks", Three, 1), Bools("taken")}},
      {"a loop that data ends",
       written(endedContents(OnDevice, 3)),
       {R, Bools("goes")}},
      {"a loop that collects until data ends it",
       written(collectingContents(OnDevice, 3, false)),
       {R, Bools("goes")}},
  };
}

} // namespace kpc::test
