//===- Sample.cpp - A small model for tests -------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/Sample.h"
#include "runtime/format/Container.h"
#include "runtime/format/artifact_generated.h"

#include <cstring>
#include <fstream>

namespace kpc::test {

using namespace artifact;

Bytes hostKernel(const std::string &Name) {
  std::ifstream File(std::string(KPC_TEST_KERNELS) + "/" + Name + ".bin",
                     std::ios::binary);
  Bytes Code((std::istreambuf_iterator<char>(File)), {});
  EXPECT_FALSE(Code.empty()) << Name;
  return Code;
}

static Expr batch() { return Expr::symbol("batch"); }
static Expr width() { return Expr::symbol("width"); }

namespace {
const struct SampleKernel {
  const char *Name;
  std::vector<ParamKind> Params;
} Kernels[] = {
    {"add", {ParamKind::Buffer, ParamKind::Buffer, ParamKind::Buffer}},
    {"scale", {ParamKind::Buffer, ParamKind::Buffer, ParamKind::Size}},
    {"sum_rows", {ParamKind::Buffer, ParamKind::Buffer, ParamKind::Size}}};
} // namespace

void addHostKernels(Target &T) {
  // One image; each kernel starts at a multiple of 64.
  Module &M = T.Modules.emplace_back();
  for (const auto &K : Kernels) {
    M.Image.resize((M.Image.size() + 63) / 64 * 64);
    Kernel &Out = T.Kernels.emplace_back();
    Out.Symbol = std::string("kpc_") + K.Name;
    Out.DisplayName = K.Name;
    Out.Entry = M.Image.size();
    Out.Params = K.Params;
    Out.SourceNodes = {std::string(K.Name) + "_0", "second \"node\""};
    Out.Family = "map";
    Bytes Code = hostKernel(K.Name);
    M.Image.insert(M.Image.end(), Code.begin(), Code.end());
  }
}

void addSampleSteps(Target &T) {
  Expr Size = batch() * width() * 4;
  auto Arena = [](Expr Size, uint32_t First, uint32_t Last, const char *Name) {
    Buffer B;
    B.Size = Size;
    B.FirstStep = First;
    B.LastStep = Last;
    B.Name = Name;
    return B;
  };
  auto Other = [](BufferKind Kind, uint32_t Index, Expr Size) {
    Buffer B;
    B.Kind = Kind;
    B.Index = Index;
    B.Size = Size;
    return B;
  };
  T.Buffers = {Other(BufferKind::Input, 0, Size),
               Other(BufferKind::Input, 1, Size),
               Other(BufferKind::Output, 0, Size),
               Other(BufferKind::Output, 1, batch() * 4),
               Other(BufferKind::Output, 2, width() * 4),
               Other(BufferKind::Weight, 0, Expr(256)),
               Arena(Size, 0, 2, "t"),
               Arena(Size, 1, 3, "u"),
               Arena(width() * 4, 4, 5, "row")};
  auto AddLaunch = [&](uint32_t Kernel, std::vector<Param> Params, Expr Work) {
    Launch L;
    L.Kernel = Kernel;
    L.Params = std::move(Params);
    if (T.Kind == TargetKind::Cuda) // device kernels bound themselves
      L.Params.push_back(Param::size(Work));
    L.Work = Work;
    L.Grain = 4;
    L.Flops = Work;
    L.Grid[0] = Work.ceilDiv(Expr(128));
    L.Block[0] = 128;
    T.Steps.push_back(L);
  };
  auto In = [](uint32_t B) { return Param::buffer(B, Access::Read); };
  auto Out = [](uint32_t B) { return Param::buffer(B, Access::Write); };
  AddLaunch(0, {In(0), In(1), Out(6)}, batch() * width());
  AddLaunch(1, {In(6), Out(7), Param::size(Expr(3))}, batch() * width());
  AddLaunch(0, {In(7), In(6), Out(2)}, batch() * width());
  AddLaunch(2, {In(7), Out(3), Param::size(width())}, batch());
  Copy C;
  C.Source = 2;
  C.Destination = 8;
  C.Size = width() * 4;
  T.Steps.push_back(C);
  AddLaunch(0, {In(8), In(5), Out(4)}, width());
  auto V = [&](const char *Name, uint32_t Buffer, uint32_t Step) {
    Value Out;
    Out.Name = Name;
    Out.Buffer = Buffer;
    Out.Step = Step;
    Out.Type = ElementType::F32;
    Out.Dims = {batch(), width()};
    return Out;
  };
  T.Values = {V("t", 6, 0), V("u", 7, 1), V("z", 2, 2), V("z'", 2, 2)};
  T.Values[3].Dims = {width(), batch()};
  T.Values[3].Order = {1, 0};
}

Contents sampleContents() {
  Contents C;
  C.Symbols = {{"batch", {.Min = 1, .Max = 32}},
               {"width", {.Min = 1, .Max = 64, .Optimum = 8}}};
  C.Inputs = {{"x", ElementType::F32, {batch(), width()}, {}},
              {"y", ElementType::F32, {batch(), width()}, {}}};
  C.Outputs = {{"z", ElementType::F32, {batch(), width()}, {}},
               {"total", ElementType::F32, {batch()}, {}},
               {"tail", ElementType::F32, {width()}, {}}};
  std::vector<float> W(64);
  for (int I = 0; I < 64; ++I)
    W[size_t(I)] = float(I) * 0.5f;
  Bytes Raw(W.size() * 4);
  std::memcpy(Raw.data(), W.data(), Raw.size());
  C.Weights = {weightFromBytes("w", ElementType::F32, {64}, Raw)};
  Target &T = C.Targets.emplace_back();
  T.Name = "host:x86-64";
  addHostKernels(T);
  addSampleSteps(T);
  C.Provenance.KpcVersion = "0.1.0";
  C.Provenance.ModelName = "sample";
  C.Provenance.Properties = {{"color", "blue"}};
  return C;
}

void addCudaTarget(Contents &C, const std::string &Name, int Major, int Minor,
                   CapabilityRule Rule, bool Cubin, bool Ptx) {
  Target &T = C.Targets.emplace_back();
  T.Name = Name;
  T.Kind = TargetKind::Cuda;
  T.CapabilityMajor = uint8_t(Major);
  T.CapabilityMinor = uint8_t(Minor);
  T.Rule = Rule;
  Module &M = T.Modules.emplace_back();
  if (Cubin)
    for (char Byte : "FAKECUBIN " + Name)
      M.Image.push_back(uint8_t(Byte));
  if (Ptx)
    M.Ptx = "FAKEPTX " + Name;
  for (const SampleKernel &K : Kernels) {
    Kernel &Out = T.Kernels.emplace_back();
    Out.Symbol = std::string("kpc_") + K.Name;
    Out.DisplayName = K.Name;
    Out.Params = K.Params;
    Out.Params.push_back(ParamKind::Size);
    Out.SourceNodes = {std::string(K.Name) + "_0"};
  }
  addSampleSteps(T);
}

Alternative &addAlternative(Target &T, size_t Step) {
  auto &L = std::get<Launch>(T.Steps[Step]);
  Alternative A{{{batch(), 2, 4}, {batch() * width(), 0, 100}}, L};
  A.Instead.Name.clear();
  A.Instead.Flops.reset();
  A.Instead.Alternatives.clear();
  return L.Alternatives.emplace_back(std::move(A));
}

Contents cudaContents() {
  Contents C = sampleContents();
  C.Targets.clear();
  addCudaTarget(C, "sm_90a", 9, 0, CapabilityRule::Exactly, true, true);
  return C;
}

Contents mappedContents(bool InRows) {
  Contents C = cudaContents();
  C.Symbols.push_back(
      {"sm_count", {.Min = 1}, SymbolSource::MultiprocessorCount});
  Target &T = C.Targets[0];
  TensorMap Map;
  Map.Element = ElementType::F32;
  Map.Dims = {batch() * width()};
  Map.Box = {32};
  if (InRows) {
    Map.Dims = {width(), batch()};
    Map.Strides = {width() * 4};
    Map.Box = {32, 8};
    Map.Traversal = {1, 2};
    Map.Swizzle = TensorMapSwizzle::Bytes128;
  }
  // As the other kernels: "add" is a kernel of several steps.
  for (uint32_t Step : {0u, 1u}) {
    Kernel K = T.Kernels[Step];
    auto &L = std::get<Launch>(T.Steps[Step]);
    K.Symbol += "_mapped";
    std::vector<Param> Maps;
    for (const Param &P : L.Params)
      if (P.Kind == ParamKind::Buffer)
        Maps.push_back(Param::tensorMap(P.Buffer, P.Access, Map));
    K.Params.insert(K.Params.end(), Maps.size(), ParamKind::TensorMap);
    L.Params.insert(L.Params.end(), Maps.begin(), Maps.end());
    L.Grid[0] = Expr::min(L.Grid[0], Expr::symbol("sm_count"));
    L.Shared = Expr(200 * 1024);
    L.Kernel = uint32_t(T.Kernels.size());
    T.Kernels.push_back(std::move(K));
  }
  return C;
}

Bytes written(const Contents &C) {
  Bytes Out;
  auto Error = writeToMemory(C, Out);
  EXPECT_FALSE(Error) << *Error;
  return Out;
}

Bytes sampleArtifact() { return written(sampleContents()); }

void recomputeDigests(Bytes &File) {
  if (File.size() < format::HeaderSize)
    return;
  format::Header H;
  std::memcpy(&H.Major, &File[8], 2);
  std::memcpy(&H.Minor, &File[10], 2);
  std::memcpy(&H.LeastReader, &File[12], 2);
  std::memcpy(&H.FileSize, &File[16], 8);
  std::memcpy(&H.TableOffset, &File[24], 8);
  std::memcpy(&H.TableSize, &File[32], 8);
  if (H.TableOffset % 16 == 0 && H.TableOffset <= File.size() &&
      H.TableSize <= File.size() - H.TableOffset) {
    uint8_t *Table = File.data() + H.TableOffset;
    flatbuffers::Verifier V(Table, H.TableSize, 32, 100000);
    if (H.TableSize > 16 && format::VerifyModelBuffer(V)) {
      auto *M = flatbuffers::GetMutableRoot<format::Model>(Table);
      for (uint32_t I = 0; M->segments() && I < M->segments()->size(); ++I) {
        const format::Segment *S = M->segments()->Get(I);
        if (!S->digest() || S->offset() > File.size() ||
            S->length() > File.size() - S->offset())
          continue;
        auto D = format::Sha256::of(File.data() + S->offset(), S->length());
        std::memcpy(const_cast<format::Digest *>(S->digest()), D.data(), 32);
      }
    }
    H.TableDigest = format::Sha256::of(Table, H.TableSize);
  }
  auto Encoded = format::encodeHeader(H);
  std::memcpy(File.data() + 8, Encoded.data() + 8, Encoded.size() - 8);
}

std::string describe(kpc_error *E) {
  std::string Text = std::string(kpc_status_name(kpc_error_status(E))) + ": " +
                     kpc_error_message(E) + " [" + kpc_error_hint(E) + "]";
  kpc_error_free(E);
  return Text;
}

Own<kpc_model> load(const Bytes &File) {
  kpc_model *M = nullptr;
  kpc_error *E = nullptr;
  EXPECT_EQ(kpc_model_load_memory(File.data(), File.size(), nullptr, &M, &E),
            KPC_OK)
      << describe(E);
  return Own<kpc_model>(M);
}

Own<kpc_session> open(const Own<kpc_model> &M,
                      const kpc_session_options *Options) {
  kpc_session *S = nullptr;
  kpc_error *E = nullptr;
  EXPECT_EQ(kpc_session_create(M.get(), Options, &S, &E), KPC_OK)
      << describe(E);
  return Own<kpc_session>(S);
}

SampleRun::SampleRun(int64_t Batch, int64_t Width, int Seed, size_t Shift)
    : Batch(Batch), Width(Width), Matrix{Batch, Width}, Column{Batch},
      Row{Width} {
  size_t Cells = (size_t(Batch * Width) + 15) / 16 * 16;
  Storage.assign(3 * Cells + 2 * 64 + 64 + 16 + Shift, -1.f);
  size_t Skip = (64 - uintptr_t(Storage.data()) % 64) % 64 / 4;
  X = Storage.data() + Skip + Shift;
  Y = X + Cells;
  Z = Y + Cells;
  Total = Z + Cells;
  Tail = Total + 64;
  for (int64_t I = 0; I < Batch * Width; ++I) {
    X[I] = float((I * 7 + Seed) % 13);
    Y[I] = float((I * 5 + Seed) % 11);
  }
}

std::vector<kpc_named_tensor> SampleRun::inputs() const {
  return {{"x", {X, Matrix, 2, KPC_F32, KPC_HOST}},
          {"y", {Y, Matrix, 2, KPC_F32, KPC_HOST}}};
}

std::vector<kpc_named_tensor> SampleRun::outputs() const {
  return {{"z", {Z, Matrix, 2, KPC_F32, KPC_HOST}},
          {"total", {Total, Column, 1, KPC_F32, KPC_HOST}},
          {"tail", {Tail, Row, 1, KPC_F32, KPC_HOST}}};
}

kpc_status SampleRun::run(kpc_session *S, kpc_error **E, void *Stream) {
  auto In = inputs(), Out = outputs();
  return kpc_session_run(S, In.data(), In.size(), Out.data(), Out.size(),
                         Stream, E);
}

void SampleRun::expectRight() const {
  for (int64_t R = 0; R < Batch; ++R) {
    float Sum = 0;
    for (int64_t C = 0; C < Width; ++C) {
      float T = X[R * Width + C] + Y[R * Width + C];
      ASSERT_EQ(Z[R * Width + C], 4 * T) << R << ", " << C;
      Sum += 3 * T;
    }
    ASSERT_EQ(Total[R], Sum) << R;
  }
  for (int64_t C = 0; C < Width; ++C)
    ASSERT_EQ(Tail[C], Z[C] + 0.5f * float(C)) << C;
}

} // namespace kpc::test
