//===- Hostile.cpp - Artifacts that may be damaged ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/Hostile.h"
#include "runtime/format/artifact_generated.h"

#include <cstdlib>
#include <cstring>

namespace kpc::test {

using namespace artifact;

Bytes hostileSample() {
  Contents C = sampleContents();
  C.Targets[0].Modules[0].Image.assign(512, 0xc3); // ret
  Fill F;
  F.Destination = 7;
  F.Size = Expr::symbol("width") * 4;
  F.Pattern = 0x12345678;
  F.PatternBytes = 4;
  C.Targets[0].Steps[4] = F;
  C.Targets[0].Buffers[7].LastStep = 4;
  addAlternative(C.Targets[0], 1);
  return written(C);
}

Bytes hostileMappedSample() {
  Contents C = mappedContents(false);
  addAlternative(C.Targets[0], 1);
  return written(C);
}

static void *allocateLittle(void *, size_t Bytes, size_t Alignment,
                            kpc_device) {
  return Bytes > size_t(16) << 20 || Alignment > 65536
             ? nullptr
             : std::aligned_alloc(Alignment,
                                  (Bytes + Alignment - 1) & ~(Alignment - 1));
}
static void release(void *, void *Memory, size_t, kpc_device) {
  std::free(Memory);
}

Came useArtifact(const uint8_t *Data, size_t Size, bool MayRun,
                 const char *Driver) {
  // A copy of exactly this size, so that reading past it is seen.
  Bytes Exact(Data, Data + Size);
  kpc_model *RawModel = nullptr;
  kpc_error *E = nullptr;
  kpc_status Status =
      kpc_model_load_memory(Exact.data(), Size, nullptr, &RawModel, &E);
  if (Status != KPC_OK) {
    EXPECT_STRNE(kpc_error_message(E), "");
    kpc_error_free(E);
    return Came::Nowhere;
  }
  Own<kpc_model> M(RawModel);
  kpc_port P;
  for (int32_t I = 0; kpc_model_input(RawModel, I, &P) == KPC_OK; ++I)
    for (int32_t D = 0; D < P.rank; ++D)
      EXPECT_NE(P.dim_texts[D], nullptr);
  kpc_target T;
  for (int32_t I = 0; kpc_model_target(RawModel, I, &T) == KPC_OK; ++I)
    EXPECT_NE(T.runs_on, nullptr);
  (void)kpc_model_verify_weights(RawModel, nullptr);
  kpc_session_options O = KPC_SESSION_OPTIONS_INIT;
  O.num_threads = 1;
  if (Driver) {
    O.device = KPC_CUDA(0);
    O.driver = Driver;
  }
  O.flags = KPC_SESSION_KEEP_VALUES;
  O.allocator = {allocateLittle, release, nullptr};
  kpc_session *RawSession = nullptr;
  if (kpc_session_create(RawModel, &O, &RawSession, nullptr) != KPC_OK)
    return Came::Loaded;
  Own<kpc_session> S(RawSession);
  for (int64_t Batch : {1, 3, 32, 1 << 20}) {
    kpc_dim Dims[] = {{"batch", Batch}, {"width", 5}};
    (void)kpc_session_prepare(RawSession, Dims, 2, nullptr);
  }
  if (!MayRun)
    return Came::Opened;
  SampleRun Run(3, 5);
  if (Run.run(RawSession) != KPC_OK)
    return Came::Opened;
  std::vector<char> Value(1 << 12);
  for (int32_t I = 0; I < kpc_session_value_count(RawSession); ++I) {
    kpc_named_tensor V;
    if (kpc_session_value(RawSession, I, &V, nullptr) != KPC_OK)
      continue;
    int64_t Size = kpc_tensor_bytes(&V.tensor);
    if (Size >= 0 && Size <= int64_t(Value.size()))
      (void)kpc_session_read_value(RawSession, I, Value.data(), size_t(Size),
                                   nullptr);
  }
  return Came::Ran;
}

void makeCodeHarmless(Bytes &File) {
  uint64_t Offset = 0, Size = 0;
  if (File.size() < 256)
    return;
  std::memcpy(&Offset, &File[24], 8);
  std::memcpy(&Size, &File[32], 8);
  if (Offset > File.size() || Size > File.size() - Offset || Size < 16)
    return;
  // FlatBuffers wants its own alignment.
  Bytes Table(File.begin() + std::ptrdiff_t(Offset),
              File.begin() + std::ptrdiff_t(Offset + Size));
  flatbuffers::Verifier V(Table.data(), Table.size(), 32, 100000);
  if (!format::VerifyModelBuffer(V))
    return;
  const auto *Segments = format::GetModel(Table.data())->segments();
  for (uint32_t I = 0; Segments && I < Segments->size(); ++I) {
    const format::Segment *S = Segments->Get(I);
    if (S->kind() == format::SegmentKind::HostImage &&
        S->offset() <= File.size() && S->length() <= File.size() - S->offset())
      std::memset(File.data() + S->offset(), 0xc3, S->length());
  }
}

} // namespace kpc::test
