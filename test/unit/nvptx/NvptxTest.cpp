//===- NvptxTest.cpp - Tests of PTX generation and assembly ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/nvptx/Nvptx.h"
#include "codegen/nvptx/Ptxas.h"
#include "compiler/workers/Subprocess.h"
#include "dialects/kernel/Kernel.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sys/stat.h>

using namespace kpc;
using namespace kpc::nvptx;
using testing::HasSubstr;
using testing::Not;

namespace {

/// A context that keeps what is reported.
struct Compiler {
  mlir::MLIRContext Context;
  std::string Reported;

  Compiler() : Context(mlir::MLIRContext::Threading::DISABLED) {
    mlir::DialectRegistry Registry;
    registerTranslations(Registry);
    Registry.insert<kernel::KernelDialect, mlir::affine::AffineDialect,
                    mlir::arith::ArithDialect, mlir::math::MathDialect,
                    mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
                    mlir::vector::VectorDialect>();
    Context.appendDialectRegistry(Registry);
    Context.getDiagEngine().registerHandler([this](mlir::Diagnostic &D) {
      if (D.getSeverity() == mlir::DiagnosticSeverity::Error)
        Reported += D.str() + "\n";
    });
  }

  std::optional<std::string> ptx(const std::string &Text, const char *Target) {
    Reported.clear();
    auto Module = mlir::parseSourceString<mlir::ModuleOp>(Text, &Context);
    if (!Module)
      return std::nullopt;
    auto Gpu = *Module->getOps<mlir::gpu::GPUModuleOp>().begin();
    auto Ptx = compileToPtx(Gpu, *target::findTarget(Target));
    return mlir::failed(Ptx) ? std::nullopt : std::optional(*Ptx);
  }
};

/// A kernel over `%x` and `%y` of `Type`, with `%v = x[i]`; `Body` gives `%r`.
std::string elementwise(const std::string &Type, const std::string &Body) {
  return R"(
gpu.module @m {
  gpu.func @unit(%x: memref<)" +
         Type + R"(>, %y: memref<)" + Type + R"(>, %n: index) kernel
      attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>,
                  known_block_size = array<i32: 128, 1, 1>} {
    %xs = memref.reinterpret_cast %x to offset: [0], sizes: [%n], strides: [1]
        : memref<)" +
         Type + R"(> to memref<?x)" + Type + R"(, strided<[1]>>
    %ys = memref.reinterpret_cast %y to offset: [0], sizes: [%n], strides: [1]
        : memref<)" +
         Type + R"(> to memref<?x)" + Type + R"(, strided<[1]>>
    %i = gpu.global_id x
    %in = arith.cmpi slt, %i, %n : index
    scf.if %in {
      %v = memref.load %xs[%i] : memref<?x)" +
         Type + R"(, strided<[1]>>
      )" +
         Body +
         R"(
      memref.store %r, %ys[%i] : memref<?x)" +
         Type + R"(, strided<[1]>>
    }
    gpu.return
  }
})";
}

std::string unary(const std::string &Op, const std::string &Type = "f32") {
  return elementwise(Type, "%r = " + Op + " %v : " + Type);
}

const char *const Shared = R"(
gpu.module @m {
  gpu.func @sum(%x: memref<f32>, %y: memref<f32>)
      workgroup(%s: memref<128xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %o = arith.constant 1 : i32
    %w = arith.constant 32 : i32
    %t = gpu.thread_id x
    %xs = memref.reinterpret_cast %x to offset: [0], sizes: [128], strides: [1]
        : memref<f32> to memref<128xf32>
    %v = memref.load %xs[%t] : memref<128xf32>
    %p, %ok = gpu.shuffle xor %v, %o, %w : f32
    %a = arith.addf %v, %p : f32
    memref.store %a, %s[%t] : memref<128xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %z = arith.cmpi eq, %t, %c0 : index
    scf.if %z {
      %l = memref.load %s[%c0] : memref<128xf32, #gpu.address_space<workgroup>>
      memref.store %l, %y[] : memref<f32>
    }
    gpu.return
  }
})";

} // namespace

TEST(Nvptx, WritesPtx) {
  Compiler C;
  auto Ptx = C.ptx(unary("math.sqrt"), "sm_90a");
  ASSERT_TRUE(Ptx) << C.Reported;
  EXPECT_THAT(*Ptx, HasSubstr(".version 9.0"));
  EXPECT_THAT(*Ptx, HasSubstr(".target sm_90a"));
  EXPECT_THAT(*Ptx, HasSubstr(".visible .entry unit("));
  EXPECT_THAT(*Ptx, HasSubstr("sqrt.rn.f32"));
  // It may begin before the kernels in front have ended, and waits for them
  // before it reads; what they write is not read-only for its lifetime.
  size_t Launch = Ptx->find("griddepcontrol.launch_dependents;");
  size_t Wait = Ptx->find("griddepcontrol.wait;");
  ASSERT_NE(Wait, std::string::npos);
  EXPECT_LT(Wait, Launch);
  EXPECT_LT(Launch, Ptx->find("ld.global.b32"));
  EXPECT_THAT(*Ptx, Not(HasSubstr("ld.global.nc")));
  EXPECT_THAT(*Ptx, HasSubstr(".maxntid 128"));
}

TEST(Nvptx, NoEarlyPdlTrigger) {
  Compiler C;
  std::string Text = unary("math.sqrt");
  Text.insert(Text.find("kernel.buffers"),
              R"(kernel.launch = #kernel.launch<grid = ["1", "1", "1"],
                 block = [128, 1, 1], no_early_pdl_trigger = true>, )");
  auto Ptx = C.ptx(Text, "sm_90a");
  ASSERT_TRUE(Ptx) << C.Reported;
  EXPECT_THAT(*Ptx, HasSubstr("griddepcontrol.wait;"));
  EXPECT_THAT(*Ptx, Not(HasSubstr("griddepcontrol.launch_dependents;")));
}

TEST(Nvptx, WeightsArePrefetchedBeforeTheWait) {
  std::string Text = elementwise("f32", "%r = math.sqrt %v : f32");
  Text.insert(Text.find("kernel.buffers"),
              R"(kernel.launch = #kernel.launch<grid = ["4", "1", "2"],
                 block = [128, 1, 1]>, )");
  size_t End = Text.find('>', Text.find("#kernel.buffers"));
  Text.insert(End, ", weight_bytes = [131072]");
  Compiler C;
  auto Ptx = C.ptx(Text, "sm_90a");
  ASSERT_TRUE(Ptx) << C.Reported;
  size_t Prefetch = Ptx->find("cp.async.bulk.prefetch.L2.global");
  ASSERT_NE(Prefetch, std::string::npos);
  EXPECT_LT(Prefetch, Ptx->find("griddepcontrol.wait;"));
  // Blocks along the third axis have their shares, too.
  EXPECT_LT(Ptx->find("%nctaid.z"), Prefetch);
  EXPECT_EQ(Ptx->find("%nctaid.y"), std::string::npos);
  // Kernels that begin in their turn have nothing to do before it, and PTX 7.8
  // of compute_90 does not know the instruction.
  for (const char *Other : {"sm_80", "compute_90"}) {
    auto Late = Compiler().ptx(Text, Other);
    ASSERT_TRUE(Late);
    EXPECT_THAT(*Late, Not(HasSubstr("prefetch")));
  }
}

// Of 32 MiB the first 16, where the kernel's launch says so; otherwise nothing.
TEST(Nvptx, PartOfLargeWeightsIsPrefetched) {
  for (bool Part : {false, true}) {
    std::string Text = elementwise("f32", "%r = math.sqrt %v : f32");
    Text.insert(Text.find("kernel.buffers"),
                std::string(R"(kernel.launch = #kernel.launch<grid =
                  ["4", "1", "1"], block = [128, 1, 1])") +
                    (Part ? ", prefetches_part = true>, " : ">, "));
    size_t End = Text.find('>', Text.find("#kernel.buffers"));
    Text.insert(End, ", weight_bytes = [33554432]");
    Compiler C;
    auto Ptx = C.ptx(Text, "sm_90a");
    ASSERT_TRUE(Ptx) << C.Reported;
    EXPECT_EQ(Ptx->find("prefetch") != std::string::npos, Part);
    if (Part)
      EXPECT_THAT(*Ptx, HasSubstr("16777216"));
  }
}

TEST(Nvptx, PortableUsesTheOldestVersions) {
  Compiler C;
  auto Ptx = C.ptx(unary("math.sqrt"), "compute_80");
  ASSERT_TRUE(Ptx) << C.Reported;
  EXPECT_THAT(*Ptx, HasSubstr(".version 7.4"));
  EXPECT_THAT(*Ptx, HasSubstr(".target sm_80"));
  Ptx = C.ptx(unary("math.sqrt"), "compute_90");
  ASSERT_TRUE(Ptx) << C.Reported;
  EXPECT_THAT(*Ptx, HasSubstr(".version 7.8"));
  EXPECT_THAT(*Ptx, HasSubstr(".target sm_90\n"));
}

/// The sum of the first `Count` elements.
static std::string sumOfFirst(const std::string &Type, int Count) {
  std::string Body, Sum = "%v";
  for (int I = 0; I < Count; ++I) {
    std::string N = std::to_string(I);
    Body += "%c" + N + " = arith.constant " + N + " : index\n%e" + N +
            " = memref.load %xs[%c" + N + "] : memref<?x" + Type +
            ", strided<[1]>>\n%s" + N + " = arith.addf " + Sum + ", %e" + N +
            " : " + Type + "\n";
    Sum = "%s" + N;
  }
  std::string Text =
      elementwise(Type, Body + "%r = arith.negf " + Sum + " : " + Type);
  // As kpc's own buffers are, and so reads may be joined.
  std::string Buffer = "%x: memref<" + Type + ">";
  return Text.replace(Text.find(Buffer), Buffer.size(),
                      Buffer + " {llvm.align = 64 : i64}");
}

// From three elements of four LLVM makes a load of all four, and tells ptxas of
// it by a pragma that PTX has since 8.3. Without the pragma nothing is read
// that the kernel does not ask for, and what it asks for is still joined.
TEST(Nvptx, ReadsNothingBeyondWhatIsAskedFor) {
  Compiler C;
  for (const char *Target : {"compute_80", "compute_90"}) {
    auto Ptx = C.ptx(sumOfFirst("f32", 3), Target);
    ASSERT_TRUE(Ptx) << C.Reported;
    EXPECT_THAT(*Ptx, HasSubstr(".v2.b32")) << Target;
    EXPECT_THAT(*Ptx, Not(HasSubstr(".v4.b32"))) << Target;
    Ptx = C.ptx(sumOfFirst("f32", 7), Target);
    ASSERT_TRUE(Ptx) << C.Reported;
    EXPECT_THAT(*Ptx, HasSubstr(".v4.b32")) << Target;
    EXPECT_THAT(*Ptx, HasSubstr(".v2.b32")) << Target;
    // Halves in registers of 32 bits.
    Ptx = C.ptx(sumOfFirst("f16", 7), Target);
    ASSERT_TRUE(Ptx) << C.Reported;
    EXPECT_THAT(*Ptx, Not(HasSubstr(".v4.b32"))) << Target;
    EXPECT_THAT(*Ptx, Not(HasSubstr("used_bytes_mask"))) << Target;
  }
  auto Ptx = C.ptx(sumOfFirst("f32", 3), "sm_80");
  ASSERT_TRUE(Ptx) << C.Reported;
  EXPECT_THAT(*Ptx, HasSubstr(".v4.b32"));
  EXPECT_THAT(*Ptx, HasSubstr("used_bytes_mask"));
}

TEST(Nvptx, TheSameBytesEachTime) {
  Compiler A, B;
  EXPECT_EQ(*A.ptx(Shared, "sm_100a"), *B.ptx(Shared, "sm_100a"));
}

// Multiply and add are not fused behind the author's back.
TEST(Nvptx, NoContraction) {
  Compiler C;
  auto Ptx = C.ptx(elementwise("f32", "%m = arith.mulf %v, %v : f32\n"
                                      "%r = arith.addf %m, %v : f32"),
                   "sm_80");
  ASSERT_TRUE(Ptx) << C.Reported;
  EXPECT_THAT(*Ptx, HasSubstr("mul.rn.f32"));
  EXPECT_THAT(*Ptx, HasSubstr("add.rn.f32"));
  EXPECT_THAT(*Ptx, Not(HasSubstr("fma")));
}

// What LLVM would abort on is a diagnostic that names the kernel.
TEST(Nvptx, UnexpandedMath) {
  Compiler C;
  for (const char *Op : {"math.exp", "math.tanh", "math.sin", "math.log",
                         "math.erf", "math.cbrt"}) {
    EXPECT_FALSE(C.ptx(unary(Op), "sm_90a")) << Op;
    EXPECT_THAT(C.Reported, HasSubstr("kernel 'unit'")) << Op;
    EXPECT_THAT(C.Reported,
                HasSubstr("has no GPU instruction and was not expanded"))
        << Op;
  }
  EXPECT_FALSE(C.ptx(unary("math.exp2", "f64"), "sm_90a"));
  EXPECT_THAT(C.Reported, HasSubstr("'llvm.exp2.f64'"));
  EXPECT_FALSE(
      C.ptx(elementwise("f32", "%r = arith.remf %v, %v : f32"), "sm_90a"));
  EXPECT_THAT(C.Reported, HasSubstr("'arith.remf'"));
}

TEST(Nvptx, WideIntegers) {
  Compiler C;
  auto Ptx =
      C.ptx(elementwise("i64", "%lo, %r = arith.mului_extended %v, %v : i64"),
            "sm_90a");
  ASSERT_TRUE(Ptx) << C.Reported;
  EXPECT_THAT(*Ptx, HasSubstr("mul.hi.u64"));
  for (const char *Op : {"arith.divui", "arith.remsi"}) {
    EXPECT_FALSE(C.ptx(elementwise("i64", "%w = arith.extui %v : i64 to i128\n"
                                          "%q = " +
                                              std::string(Op) +
                                              " %w, %w : i128\n"
                                              "%r = arith.trunci %q : i128 to "
                                              "i64"),
                       "sm_90a"))
        << Op;
    EXPECT_THAT(C.Reported, HasSubstr("holds a value of type i128")) << Op;
  }
}

TEST(Nvptx, UndefinedCalls) {
  Compiler C;
  EXPECT_FALSE(C.ptx(R"(
gpu.module @m {
  llvm.func @mystery(f32) -> f32
  gpu.func @unit(%y: memref<f32>) kernel {
    %c = arith.constant 1.0 : f32
    %r = llvm.call @mystery(%c) : (f32) -> f32
    memref.store %r, %y[] : memref<f32>
    gpu.return
  }
})",
                     "sm_90a"));
  EXPECT_EQ(C.Reported, "kernel 'unit' holds a call of 'mystery', which no GPU "
                        "code defines\n");
}

TEST(Nvptx, HostIsNoGpu) {
  Compiler C;
  EXPECT_FALSE(C.ptx(Shared, "host:x86-64-v3"));
  EXPECT_EQ(C.Reported, "the target 'host:x86-64-v3' is not a GPU\n");
}

// Every intrinsic that checkForNvptx lets pass must reach machine code, on
// every target.
TEST(Nvptx, AllowedOperationsAssembleEverywhere) {
  std::vector<std::string> Kernels = {Shared};
  for (const char *Type : {"f32", "f64"})
    for (const char *Op :
         {"math.sqrt", "math.absf", "math.floor", "math.ceil", "math.trunc",
          "math.round", "math.roundeven", "math.rsqrt"})
      Kernels.push_back(unary(Op, Type));
  Kernels.push_back(unary("math.exp2"));
  for (const char *Type : {"f16", "bf16", "f32", "f64"}) {
    std::string T = Type;
    for (const char *Op :
         {"arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf",
          "arith.addf", "arith.mulf", "arith.divf", "math.copysign"})
      Kernels.push_back(
          elementwise(T, "%r = " + std::string(Op) + " %v, %v : " + T));
    Kernels.push_back(elementwise(T, "%r = math.fma %v, %v, %v : " + T));
    Kernels.push_back(elementwise(T, "%a = arith.fptosi %v : " + T +
                                         " to i64\n"
                                         "%r = arith.sitofp %a : i64 to " +
                                         T));
  }
  for (const char *Type : {"i8", "i16", "i32", "i64"}) {
    std::string T = Type;
    for (const char *Op :
         {"arith.divsi", "arith.remsi", "arith.divui", "arith.remui",
          "arith.floordivsi", "arith.ceildivsi", "arith.maxsi", "arith.minui",
          "arith.shli", "arith.shrsi", "arith.muli"})
      Kernels.push_back(
          elementwise(T, "%r = " + std::string(Op) + " %v, %v : " + T));
    for (const char *Op : {"math.ctpop", "math.ctlz", "math.cttz", "math.absi"})
      Kernels.push_back(unary(Op, T));
  }
  // Signs that are given to a value of another width: LLVM narrows the value
  // first.
  for (const char *Narrow : {"f16", "bf16", "f32"})
    Kernels.push_back(elementwise(
        "f64", std::string("%one = arith.constant 1.5 : f64\n"
                           "%c = math.copysign %one, %v : f64\n"
                           "%t = arith.truncf %c : f64 to ") +
                   Narrow + "\n%r = arith.extf %t : " + Narrow + " to f64"));
  for (const char *Op : {"arith.mului_extended", "arith.mulsi_extended"})
    Kernels.push_back(
        elementwise("i64", "%lo, %r = " + std::string(Op) + " %v, %v : i64"));
  Kernels.push_back(elementwise("i64", "%w = arith.extui %v : i64 to i128\n"
                                       "%c = arith.constant 7 : i128\n"
                                       "%p = arith.muli %w, %w : i128\n"
                                       "%s = arith.subi %p, %c : i128\n"
                                       "%x1 = arith.xori %s, %w : i128\n"
                                       "%b = arith.cmpi slt, %x1, %w : i128\n"
                                       "%e = arith.select %b, %x1, %p : i128\n"
                                       "%u = arith.shrui %e, %c : i128\n"
                                       "%r = arith.trunci %u : i128 to i64"));
  Ptxas Program = findPtxas();
  Compiler C;
  int Compiled = 0, Assembled = 0, Targets = 0;
  for (const target::Target &T : target::allTargets()) {
    if (!T.isGpu())
      continue;
    ++Targets;
    std::string All; // one call of ptxas for each target
    int Number = 0;
    for (const std::string &Kernel : Kernels) {
      auto Ptx = C.ptx(Kernel, T.Name.data());
      ASSERT_TRUE(Ptx) << T.Name << ": " << C.Reported << Kernel;
      ++Compiled;
      size_t Header = Ptx->find(".address_size 64");
      std::string Body = All.empty() ? *Ptx : Ptx->substr(Header + 16);
      for (std::string Name : {" unit(", " sum(", "unit_param", "sum_param"})
        for (size_t At = 0; (At = Body.find(Name, At)) != std::string::npos;) {
          std::string New = Name;
          New.insert(New.find_first_of("(_"), std::to_string(Number));
          Body.replace(At, Name.size(), New);
          At += New.size();
        }
      ++Number;
      All += Body;
    }
    if (!Program)
      continue;
    Assembly A = assemblePtx(Program, All, T);
    ASSERT_TRUE(A.ok()) << T.Name << "\n" << A.Error;
    EXPECT_EQ(A.Kernels.size(), Kernels.size());
    EXPECT_EQ(A.Cubin.substr(1, 3), "ELF");
    Assembled += A.Kernels.size();
    // Counted by test/check/summary.py.
    std::printf("ASSEMBLED %s %zu\n", T.Name.data(), A.Kernels.size());
  }
  std::printf("kernels: %zu, targets: %d, compiled: %d, assembled: %d\n",
              Kernels.size(), Targets, Compiled, Assembled);
  if (!Program)
    GTEST_SKIP() << Program.Missing;
}

TEST(Ptxas, ReadsTheLog) {
  Assembly A;
  readPtxasLog(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'big' for 'sm_90a'\n"
      "ptxas info    : Function properties for big\n"
      "    16 bytes stack frame, 24 bytes spill stores, 32 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 2 barriers, 16 bytes "
      "cumulative stack size, 4096 bytes smem, 400 bytes cmem[0]\n"
      "ptxas info    : Compiling entry function 'small' for 'sm_90a'\n"
      "ptxas info    : Function properties for small\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 10 registers, used 0 barriers\n"
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async\n",
      A);
  ASSERT_EQ(A.Kernels.size(), 2u);
  EXPECT_EQ(A.Kernels[0].Name, "big");
  EXPECT_EQ(A.Kernels[0].Registers, 168);
  EXPECT_EQ(A.Kernels[0].StackBytes, 16);
  EXPECT_EQ(A.Kernels[0].SpillStoreBytes, 24);
  EXPECT_EQ(A.Kernels[0].SpillLoadBytes, 32);
  EXPECT_EQ(A.Kernels[0].SharedBytes, 4096);
  EXPECT_EQ(A.Kernels[0].Barriers, 2);
  EXPECT_EQ(A.Kernels[1].Name, "small");
  EXPECT_EQ(A.Kernels[1].Registers, 10);
  EXPECT_EQ(A.Warnings.size(), 1u);
  EXPECT_EQ(A.slowdown(),
            "spills 24 bytes of registers and reports a loss of speed (C7510)");
}

TEST(Ptxas, SaysWhatSlowsAKernelDown) {
  auto Said = [](std::string_view Log) {
    Assembly A;
    readPtxasLog(Log, A);
    return A.slowdown();
  };
  EXPECT_EQ(Said("ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
                 "    0 bytes stack frame, 0 bytes spill stores, 0 bytes\n"),
            "");
  EXPECT_EQ(Said("ptxas warning : something else\n"), "");
  const char *Serial =
      "ptxas info    : (C7514) Potential Performance Loss: x\n";
  EXPECT_EQ(Said(std::string(Serial) + Serial),
            "reports a loss of speed (C7514)");
}

TEST(Ptxas, Missing) {
  Ptxas P = findPtxas("/nowhere");
  EXPECT_FALSE(P);
  EXPECT_EQ(P.Missing, "no ptxas at '/nowhere', which --ptxas names");
  EXPECT_EQ(assemblePtx(P, "", *target::findTarget("sm_80")).Error, P.Missing);
  EXPECT_EQ(findPtxas("/bin/true").Missing,
            "'/bin/true' is not a ptxas that runs here (it does not tell its "
            "version)");
}

TEST(Ptxas, FoundByOptionAndCudaHome) {
  TemporaryFolder Home;
  std::string Error, Program = Home.path() + "/bin/ptxas";
  ::mkdir((Home.path() + "/bin").c_str(), 0755);
  ASSERT_TRUE(writeFile(Program,
                        "#!/bin/sh\necho 'ptxas: NVIDIA (R) Ptx optimizing "
                        "assembler'\necho 'Cuda compilation tools, release "
                        "13.1, V13.1.0'\n",
                        Error));
  ::chmod(Program.c_str(), 0755);
  EXPECT_EQ(findPtxas(Home.path()).Path, Program);
  EXPECT_EQ(findPtxas(Program).Version, 13010);
  ::setenv("CUDA_HOME", Home.path().c_str(), 1);
  EXPECT_EQ(findPtxas().Path, Program);
  ::unsetenv("CUDA_HOME");
}

TEST(Ptxas, Errors) {
  Ptxas Program = findPtxas();
  if (!Program)
    GTEST_SKIP() << Program.Missing;
  Assembly A = assemblePtx(Program, ".version 7.0\n.target sm_80\nnonsense\n",
                           *target::findTarget("sm_80"));
  EXPECT_FALSE(A.ok());
  EXPECT_THAT(A.Error, HasSubstr("ptxas: exit code 255"));
  EXPECT_THAT(A.Error, HasSubstr("kernel.ptx, line 3"));
  EXPECT_THAT(A.Error, Not(HasSubstr("/kpc-")));
  // PTX of a chip's own features is for that chip alone.
  Compiler C;
  auto Ptx = C.ptx(Shared, "sm_90a");
  ASSERT_TRUE(Ptx);
  EXPECT_FALSE(assemblePtx(Program, *Ptx, *target::findTarget("sm_100a")).ok());
  Assembly Once = assemblePtx(Program, *Ptx, *target::findTarget("sm_90a")),
           Again = assemblePtx(Program, *Ptx, *target::findTarget("sm_90a"));
  EXPECT_TRUE(Once.ok()) << Once.Error;
  EXPECT_EQ(Once.Cubin, Again.Cubin);
}
