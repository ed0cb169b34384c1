//===- AttentionKernelTest.cpp - Attention on tensor cores, assembled -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What ptxas makes of attention's kernels, as TileKernelTest.cpp asks it about
/// those of GEMMs.
///
//===----------------------------------------------------------------------===//
#include "Assembled.h"
#include "CaseData.h"

#include "codegen/nvptx/CompileKernel.h"

using namespace kpc;
using namespace kpc::testing;

namespace {

struct Heads {
  const char *Name;
  const char *Type;
  int64_t Count, Groups, Queries, Keys, Depth;
  bool Causal = false;
  bool Dynamic = false; ///< Queries and Keys are optima
  bool Codes = false;   ///< keys and values are of FP8
  bool Biased = false;  ///< a number of f32 is added to each score
};

void PrintTo(const Heads &H, std::ostream *Out) { *Out << H.Name; }

/// The form of a kernel of one attention, of a batch of 4.
std::string textOf(const Heads &H) {
  std::string T = H.Type, D = std::to_string(H.Depth), Body;
  auto Argument = [](const char *Name, int64_t Optimum) {
    return std::string(", %") + Name +
           ": index {kernel.size = #kernel.size<min = 1, optimum = " +
           std::to_string(Optimum) + ">}";
  };
  auto Add = [&](const std::string &Name, int64_t Heads, const char *Size,
                 int64_t Length, bool Read) {
    bool IsCode = H.Codes && (Name == "k" || Name == "v");
    std::string N = std::to_string(Heads), L = std::to_string(Length),
                Stored = IsCode ? "i8" : T;
    std::string Shape = "4x" + N + "x" + (H.Dynamic ? "?" : L) + "x" + D;
    std::string Of = H.Dynamic ? std::string("%") + Size : L;
    auto Stride = [&](int64_t Times) {
      if (!H.Dynamic)
        return std::to_string(Times * Length);
      std::string Value = "%" + Name + std::to_string(Times);
      Body += Value + "c = arith.constant " + std::to_string(Times) +
              " : index\n" + Value + " = arith.muli " + Of + ", " + Value +
              "c : index\n";
      return Value;
    };
    std::string Outer = Stride(Heads * H.Depth), Inner = Stride(H.Depth);
    auto Known = [](const std::string &S) { return S[0] == '%' ? "?" : S; };
    std::string Memref = "memref<" + Shape + "x" + Stored + ", strided<[" +
                         Known(Outer) + ", " + Known(Inner) + ", " + D +
                         ", 1]>>";
    Body += "%" + Name + "m = memref.reinterpret_cast %" + Name +
            " to offset: [0], sizes: [4, " + N + ", " + Of + ", " + D +
            "], strides: [" + Outer + ", " + Inner + ", " + D +
            ", 1] : memref<" + Stored + "> to " + Memref + "\n";
    std::string Narrow = "tensor<" + Shape + "x" + Stored + ">",
                Wide = "tensor<" + Shape + "xf32>";
    std::string Empty =
        H.Dynamic ? "tensor.empty(" + Of + ") : " : "tensor.empty() : ";
    auto Cast = [&](const std::string &From, const std::string &FromTy,
                    const std::string &ToTy, const char *Op) {
      bool Widens = ToTy == Wide;
      std::string A = Widens ? Stored : "f32", B = Widens ? "f32" : Stored,
                  From8 = IsCode ? "%c" : "%a", Code = IsCode ? "f8E4M3FN" : A;
      Body += "%" + Name + "e = " + Empty + ToTy + "\n%" + Name +
              "w = linalg.generic {indexing_maps = [#id, #id], "
              "iterator_types = [\"parallel\", \"parallel\", \"parallel\", "
              "\"parallel\"]} ins(" +
              From + " : " + FromTy + ") outs(%" + Name + "e : " + ToTy +
              ") {\n^bb0(%a: " + A + ", %b: " + B + "):\n" +
              (IsCode ? "%c = arith.bitcast %a : i8 to f8E4M3FN\n" : "") +
              "%x = arith." + Op + " " + From8 + " : " + Code + " to " + B +
              "\nlinalg.yield %x : " + B + "\n} -> " + ToTy + "\n";
    };
    bool IsF32 = T == "f32";
    if (Read) {
      Body += "%" + Name + (IsF32 ? "w" : "t") +
              " = bufferization.to_tensor %" + Name + "m restrict : " + Memref +
              " to " + Narrow + "\n";
      if (!IsF32)
        Cast("%" + Name + "t", Narrow, Wide, "extf");
      return Wide;
    }
    std::string Bias =
        "tensor<4x" + N + "x" + L + "x" + std::to_string(H.Keys) + "xf32>";
    Body += "%c0 = arith.constant 0 : index\n%i = " + Empty + Wide +
            (IsF32 ? "\n%yw" : "\n%r") + " = kernel.attention %qw, %kw, %vw " +
            (H.Biased ? "bias %bw " : "") + (H.Causal ? "causal %c0 " : "") +
            "scale 0.125 " + (IsF32 ? "tf32 " : "") + "into %i : (" + Wide;
    std::string Few = "tensor<4x" + std::to_string(H.Groups) + "x" +
                      (H.Dynamic ? "?" : std::to_string(H.Keys)) + "x" + D +
                      "xf32>";
    Body += ", " + Few + ", " + Few + (H.Biased ? ", " + Bias : "") +
            (H.Causal ? ", index" : "") + ", " + Wide + ") -> " + Wide + "\n";
    if (!IsF32)
      Cast("%r", Wide, Narrow, "truncf");
    Body += "bufferization.materialize_in_destination %yw in restrict "
            "writable %ym : (" +
            Narrow + ", " + Memref + ") -> ()\n";
    return Wide;
  };
  Add("q", H.Count, "s", H.Queries, true);
  Add("k", H.Groups, "t", H.Keys, true);
  Add("v", H.Groups, "t", H.Keys, true);
  std::string OfBias;
  if (H.Biased) {
    std::string N = std::to_string(H.Count), Q = std::to_string(H.Queries),
                K = std::to_string(H.Keys),
                QK = std::to_string(H.Queries * H.Keys),
                All = std::to_string(H.Count * H.Queries * H.Keys),
                Shape = "4x" + N + "x" + Q + "x" + K + "xf32",
                Memref = "memref<" + Shape + ", strided<[" + All + ", " + QK +
                         ", " + K + ", 1]>>";
    Body += "%bm = memref.reinterpret_cast %b to offset: [0], sizes: [4, " + N +
            ", " + Q + ", " + K + "], strides: [" + All + ", " + QK + ", " + K +
            ", 1] : memref<f32> to " + Memref +
            "\n%bw = bufferization.to_tensor %bm restrict : " + Memref +
            " to tensor<" + Shape + ">\n";
    OfBias = ", %b: memref<f32>";
  }
  Add("y", H.Count, "s", H.Queries, false);
  std::string Sizes, Cache = H.Codes ? "i8" : T;
  if (H.Dynamic)
    Sizes = Argument("s", H.Queries) + Argument("t", H.Keys);
  return "#id = affine_map<(a, b, c, d) -> (a, b, c, d)>\n"
         "func.func @attention(%q: memref<" +
         T + ">, %k: memref<" + Cache + ">, %v: memref<" + Cache +
         ">, %y: memref<" + T + ">" + OfBias + Sizes +
         ") attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2" +
         (H.Biased ? ", 4" : "") +
         "], "
         "writes = [3]>} {\n" +
         Body + "return\n}\n";
}

class AttentionTile : public ::testing::TestWithParam<Heads> {};

TEST_P(AttentionTile, IsAssembledWithoutLoss) {
  expectNoLoss(textOf(GetParam()), {"attention ", OfHopper, 4});
}

const Heads Attentions[] = {
    {"depth_128", "f16", 16, 16, 4096, 4096, 128},
    {"depth_128_causal", "f16", 16, 16, 4096, 4096, 128, true},
    {"depth_128_short_causal", "bf16", 16, 16, 1024, 1024, 128, true},
    {"depth_64", "f16", 16, 16, 4096, 4096, 64},
    {"depth_64_causal", "bf16", 16, 16, 4096, 4096, 64, true},
    {"depth_64_ragged_causal", "f16", 16, 16, 1500, 1500, 64, true},
    {"depth_32", "f16", 8, 8, 512, 512, 32},
    {"depth_96", "f16", 16, 16, 2048, 2048, 96},
    {"depth_256", "f16", 16, 16, 2048, 2048, 256},
    {"depth_256_causal", "f16", 16, 16, 2048, 2048, 256, true},
    {"groups", "bf16", 32, 8, 2048, 2048, 128, true},
    {"dynamic", "f16", 12, 12, 384, 384, 64, false, true},
    {"dynamic_causal", "f16", 12, 4, 384, 384, 128, true, true},
};

INSTANTIATE_TEST_SUITE_P(Attention, AttentionTile,
                         ::testing::ValuesIn(Attentions),
                         [](const ::testing::TestParamInfo<Heads> &Info) {
                           return std::string(Info.param.Name);
                         });

/// Scores, powers and sums in tensor memory: heads of up to 256.
const char *const TensorMemoryChips[] = {"sm_100a", "sm_103a", "sm_110a"};

class AttentionBlackwellTile
    : public ::testing::TestWithParam<std::tuple<const char *, Heads>> {};

TEST_P(AttentionBlackwellTile, IsAssembledWithoutLoss) {
  auto [Target, H] = GetParam();
  if (H.Depth > (H.Causal ? 192 : 256))
    return;
  // The first chip has all, the others a sample.
  if (std::string_view(Target) != TensorMemoryChips[0] &&
      !isChipInSample(TensorMemoryChips, Target, H.Name))
    return;
  expectNoLoss(textOf(H), {"attention_tcgen05 ", OfBlackwell, 4}, Target);
}

INSTANTIATE_TEST_SUITE_P(
    Attention, AttentionBlackwellTile,
    ::testing::Combine(::testing::ValuesIn(TensorMemoryChips),
                       ::testing::ValuesIn(Attentions)),
    [](const ::testing::TestParamInfo<AttentionBlackwellTile::ParamType>
           &Info) {
      return std::string(std::get<0>(Info.param)) + "_" +
             std::get<1>(Info.param).Name;
    });

/// The same on mma.sync.
const char *const AttentionChips[] = {"sm_80", "sm_86", "sm_120a"};

class AttentionSyncTile
    : public ::testing::TestWithParam<std::tuple<const char *, Heads>> {};

TEST_P(AttentionSyncTile, IsAssembledWithoutLoss) {
  auto [Target, H] = GetParam();
  if (!isChipInSample(AttentionChips, Target, H.Name))
    return;
  expectNoLoss(textOf(H),
               {"attention_mmasync ",
                {"mma.sync.aligned.m16n8k16", "ldmatrix", "cp.async.cg"},
                0},
               Target);
}

INSTANTIATE_TEST_SUITE_P(
    Attention, AttentionSyncTile,
    ::testing::Combine(::testing::ValuesIn(AttentionChips),
                       ::testing::ValuesIn(Attentions)),
    [](const ::testing::TestParamInfo<AttentionSyncTile::ParamType> &Info) {
      return std::string(std::get<0>(Info.param)) + "_" +
             std::get<1>(Info.param).Name;
    });

/// Heads of f32: values are read word by word, whose places in shared memory
/// are a few addresses and numbers.
const char *const WideChips[] = {"sm_80", "sm_90a"};

class AttentionWideTile
    : public ::testing::TestWithParam<std::tuple<const char *, Heads>> {};

TEST_P(AttentionWideTile, IsAssembledWithoutLoss) {
  auto [Target, H] = GetParam();
  if (!isChipInSample(WideChips, Target, H.Name))
    return;
  expectNoLoss(textOf(H),
               {"attention_mmasync ",
                {"mma.sync.aligned.m16n8k8", "ldmatrix", "cp.async.cg"},
                0},
               Target);
}

const Heads WideAttentions[] = {
    {"depth_64", "f32", 16, 16, 2048, 2048, 64},
    {"depth_64_bias", "f32", 16, 16, 2048, 2048, 64, false, false, false, true},
    {"depth_64_ragged_causal", "f32", 16, 16, 1500, 1500, 64, true},
    {"depth_128", "f32", 16, 4, 2048, 2048, 128},
    {"depth_96_bias", "f32", 16, 16, 2048, 2001, 96, false, false, false, true},
};

INSTANTIATE_TEST_SUITE_P(
    Attention, AttentionWideTile,
    ::testing::Combine(::testing::ValuesIn(WideChips),
                       ::testing::ValuesIn(WideAttentions)),
    [](const ::testing::TestParamInfo<AttentionWideTile::ParamType> &Info) {
      return std::string(std::get<0>(Info.param)) + "_" +
             std::get<1>(Info.param).Name;
    });

//===----------------------------------------------------------------------===//
// Attention of few queries
//===----------------------------------------------------------------------===//

class DecodeKernel : public ::testing::TestWithParam<Heads> {};

/// On every chip, whatever its schedule.
TEST_P(DecodeKernel, IsAssembledWithoutSpills) {
  nvptx::Ptxas Program = nvptx::findPtxas();
  for (const char *Name : {"sm_80", "sm_86", "sm_90a", "sm_100a", "sm_120a"}) {
    const target::Target &T = *target::findTarget(Name);
    if (GetParam().Codes && !(T.Can.MmaSync & target::MmaFp8))
      continue;
    CompilerContext Compiler;
    auto Module = Compiler.parse(textOf(GetParam()));
    ASSERT_TRUE(Module) << Compiler.Reported;
    auto Kernel = nvptx::buildAndCompileGpuKernel(*Module, T);
    ASSERT_TRUE(mlir::succeeded(Kernel)) << Compiler.Reported;
    SCOPED_TRACE(std::string(Name) + ": " + Kernel->Schedule);
    EXPECT_THAT(Kernel->Schedule, ::testing::StartsWith("decode "));
    EXPECT_THAT(Kernel->Ptx, ::testing::HasSubstr("mma.sync.aligned.m16n8k16"));
    EXPECT_THAT(Kernel->Ptx, ::testing::HasSubstr("cp.async.cg.shared.global"));
    EXPECT_LE(Kernel->SharedBytes, T.Limit.SharedPerBlock);
    if (!Program)
      continue;
    nvptx::Assembly A = nvptx::assemblePtx(Program, Kernel->Ptx, T);
    ASSERT_TRUE(A.ok()) << A.Error;
    EXPECT_THAT(A.Warnings, ::testing::IsEmpty());
    ASSERT_EQ(A.Kernels.size(), 1u);
    EXPECT_EQ(A.Kernels[0].SpillStoreBytes, 0);
    EXPECT_EQ(A.Kernels[0].StackBytes, 0);
    EXPECT_EQ(A.Kernels[0].SharedBytes, 0) << "all of it is dynamic";
    std::printf("ASSEMBLED %s 1\n", Name);
  }
  if (!Program)
    GTEST_SKIP() << Program.Missing;
}

const Heads Decodes[] = {
    {"depth_128", "f16", 32, 8, 1, 4096, 128},
    {"depth_64", "bf16", 16, 16, 1, 1000, 64},
    {"depth_72_causal", "f16", 8, 2, 2, 300, 72, true},
    {"depth_256", "bf16", 16, 8, 4, 2048, 256},
    {"many_rows_128", "f16", 64, 4, 1, 4096, 128},
    {"many_rows_256", "f16", 16, 2, 8, 512, 256},
    {"dynamic_causal", "f16", 12, 4, 3, 900, 128, true, true},
    {"codes_128", "f16", 32, 8, 1, 4096, 128, false, false, /*Codes=*/true},
    {"codes_64", "bf16", 16, 16, 1, 1000, 64, false, false, true},
    {"codes_256", "bf16", 16, 8, 4, 2048, 256, false, false, true},
    {"many_rows_codes_256", "f16", 16, 2, 8, 512, 256, false, false, true},
    {"dynamic_causal_codes", "f16", 12, 4, 3, 900, 128, true, true, true},
};

INSTANTIATE_TEST_SUITE_P(Decode, DecodeKernel, ::testing::ValuesIn(Decodes),
                         [](const ::testing::TestParamInfo<Heads> &Info) {
                           return std::string(Info.param.Name);
                         });

} // namespace
