//===- SlowPaths.cpp - Work that misses the Tensor Cores ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/kernels/SlowPaths.h"
#include "dialects/plan/Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/kernels/gpu/GpuBuilder.h"
#include "passes/kernels/gpu/KernelFamily.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace kpc;
using namespace mlir;
using llvm::formatv;

namespace {

// Shares of a peak rate that good kernels reach: GEMMs in fp32 loops 30 to 40
// of 67 TFLOP/s on an H200, those of Tensor Cores 700 to 800 of 989.
constexpr double ScalarShare = 0.5, TensorShare = 0.75;
// Less is no matter to the whole, or to anybody.
constexpr double LeastShare = 0.1, LeastMicroseconds = 20, LeastSlowdown = 2;

/// wgmma, mma.sync, tcgen05.mma.
bool usesTensorCores(StringRef Ptx) {
  return Ptx.contains("wgmma.mma_async") || Ptx.contains("mma.sync.aligned") ||
         Ptx.contains("tcgen05.mma");
}

struct Launched {
  plan::LaunchOp Op;
  double Flops = 0, Bytes = 0; ///< at the optimum sizes
};

double atOptimum(const shape::Expr &E, const shape::Facts &Facts) {
  return double(std::max<int64_t>(0, Facts.optimum(E).value_or(0)));
}

Launched measured(plan::LaunchOp Op, const shape::Facts &Facts) {
  Launched L{Op};
  if (auto Flops = Op.getFlops())
    L.Flops = atOptimum(Flops->getDims().front(), Facts);
  for (Value V : llvm::concat<Value>(Op.getReads(), Op.getWrites()))
    L.Bytes += atOptimum(plan::byteSize(graph::typeOf(V)), Facts);
  return L;
}

/// Whether an operand of some size has an element type for which `Is` holds.
bool readsMatrixOf(plan::LaunchOp Op, llvm::function_ref<bool(Type)> Is) {
  return llvm::any_of(Op.getReads(), [&](Value V) {
    graph::SymbolicTensorType Ty = graph::typeOf(V);
    return Ty.getRank() >= 2 && Is(Ty.getElementType());
  });
}

struct Why {
  std::string Reason, WayOut;
};

constexpr const char *NothingToChange =
    "no option of this version changes that";

/// The refusal to tell: of the last family for the kind of kernel that has
/// instructions on the target, which is the one that takes most. A family whose
/// form the kernel has knows better than one that sees another kernel in it.
const schedule::Refusal *tellingRefusal(ArrayRef<schedule::Refusal> All,
                                        StringRef Root) {
  StringRef Kind = Root.contains("conv")        ? "convolution"
                   : Root.contains("attention") ? "attention"
                                                : "GEMM";
  const schedule::Refusal *Found = nullptr;
  for (const schedule::Refusal &One : All) {
    if (!StringRef(One.Family).contains(Kind))
      continue;
    bool KnowsLess = One.Kind == schedule::RefusalKind::Target ||
                     (One.Kind == schedule::RefusalKind::Form && Found &&
                      Found->Kind != schedule::RefusalKind::Form &&
                      Found->Kind != schedule::RefusalKind::Target);
    if (!Found || !KnowsLess)
      Found = &One;
  }
  return Found;
}

/// What to change where no family multiplies the types.
std::string wayOutOfTypes(plan::LaunchOp Op, const CompileOptions &Options) {
  if (readsMatrixOf(Op, [](Type Ty) { return Ty.isF64(); }))
    return "use fp32 or a narrower type in the model";
  if (!readsMatrixOf(Op, [](Type Ty) { return Ty.isF32(); }))
    return NothingToChange;
  if (Options.Compute == Precision::Fp16 ||
      Options.Compute == Precision::Bf16 || quantises(Options.Compute))
    return "--io-precision stores the model's inputs in 16 bits, too";
  return Options.Compute == Precision::Fp32
             ? "compile without --precision fp32 (tf32), or with fp16 or bf16"
             : "compile with --precision fp16 or bf16";
}

Why whyScalar(plan::LaunchOp Op, ModuleOp Module, const target::Target &T,
              const CompileOptions &Options) {
  auto Kernel = Module.lookupSymbol<func::FuncOp>(Op.getKernel());
  std::vector<schedule::Refusal> All = Kernel
                                           ? kernels::gpuRefusals(Kernel, T)
                                           : std::vector<schedule::Refusal>();
  const schedule::Refusal *Refusal =
      tellingRefusal(All, Op.getRoot().value_or(""));
  if (!Refusal)
    return {"no family of Tensor Core kernels is for them", NothingToChange};
  return {"the family '" + Refusal->Family +
              "' does not take them: " + Refusal->Reason,
          Refusal->Kind == schedule::RefusalKind::ElementType
              ? wayOutOfTypes(Op, Options)
              : NothingToChange};
}

} // namespace

std::string SlowPath::text() const {
  std::string First = Launches.front();
  return formatv("{0}: {1}% of the arithmetic runs on scalar units, not on "
                 "Tensor Cores, because {2}. {3} {4} at least {5} times as "
                 "long as they could: {6}{7}.",
                 Target, std::lround(Share * 100), Reason, Launches.size(),
                 Launches.size() == 1 ? "launch takes" : "launches take",
                 std::lround(Slowdown), "'" + First + "'",
                 Launches.size() == 1 ? "" : " and others")
      .str();
}

/// `OnTensorCores` says it of a launch whose root is a contraction.
static std::vector<SlowPath>
findSlowPaths(ModuleOp Module, const target::Target &T,
              const CompileOptions &Options,
              llvm::function_ref<bool(plan::LaunchOp)> OnTensorCores) {
  std::vector<SlowPath> Paths;
  if (!T.isGpu() || T.Cost.Fp32 <= 0 || T.Cost.DramGBps <= 0)
    return Paths;
  shape::Facts Facts = graph::symbolFacts(Module);
  double AllFlops = 0;
  std::map<std::string, double> ScalarTime, TensorTime;
  Module.walk([&](plan::LaunchOp Op) {
    Launched L = measured(Op, Facts);
    AllFlops += L.Flops;
    // What Tensor Cores have no use for is not slow without them.
    if (!Op.getRoot() || *Op.getRoot() == "depthwise conv" || OnTensorCores(Op))
      return;
    // Microseconds: 10^12 operations and 10^9 bytes a second.
    bool IsF32 = readsMatrixOf(Op, [](Type Ty) { return Ty.isF32(); });
    double Peak = IsF32 ? T.Cost.Tf32 : T.Cost.Fp16;
    double Scalar = L.Flops / (T.Cost.Fp32 * ScalarShare * 1e6);
    double Memory = L.Bytes / (T.Cost.DramGBps * 1e3);
    double Best = std::max(
        Peak > 0 ? L.Flops / (Peak * TensorShare * 1e6) : Scalar, Memory);
    if (Scalar < LeastSlowdown * Best)
      return;
    Why Because = whyScalar(Op, Module, T, Options);
    auto Path = llvm::find_if(
        Paths, [&](const SlowPath &P) { return P.Reason == Because.Reason; });
    if (Path == Paths.end()) {
      Paths.emplace_back();
      Path = std::prev(Paths.end());
      Path->Target = T.Name;
      Path->Reason = Because.Reason;
      Path->WayOut = Because.WayOut;
    }
    Path->Launches.push_back(Op.getName().value_or(Op.getKernel()).str());
    Path->Share += L.Flops;
    ScalarTime[Because.Reason] += Scalar;
    TensorTime[Because.Reason] += Best;
  });
  for (SlowPath &P : Paths) {
    P.Share = AllFlops > 0 ? P.Share / AllFlops : 0;
    P.Slowdown = ScalarTime[P.Reason] / TensorTime[P.Reason];
  }
  llvm::erase_if(Paths, [&](const SlowPath &P) {
    return P.Share < LeastShare || ScalarTime[P.Reason] < LeastMicroseconds;
  });
  return Paths;
}

std::vector<SlowPath> kpc::slowPaths(const TargetKernels &Compiled,
                                     const CompileOptions &Options) {
  return findSlowPaths(Compiled.Plan, *Compiled.Target, Options,
                       [&](plan::LaunchOp Op) {
                         auto Kernel = Compiled.Kernels.find(Op.getKernel());
                         return Kernel == Compiled.Kernels.end() ||
                                usesTensorCores(Kernel->second.Ptx);
                       });
}

/// Families of attention and GEMM are those with Tensor Cores.
static bool takenByTensorCores(func::FuncOp Kernel, const target::Target &T) {
  FailureOr<kernels::FusedKernel> Form = kernels::FusedKernel::read(Kernel);
  if (failed(Form))
    return true; // what is wrong with it is told elsewhere
  for (const kernels::KernelFamily &Family : kernels::gpuFamilies())
    if (Family.Query(*Form, T).takes())
      return Family.Class == kernels::FamilyClass::Attention ||
             Family.Class == kernels::FamilyClass::Gemm;
  return true;
}

std::vector<SlowPath> kpc::expectedSlowPaths(ModuleOp Plan,
                                             const target::Target &T,
                                             const CompileOptions &Options) {
  llvm::StringMap<bool> Known; // a kernel may be launched often
  return findSlowPaths(Plan, T, Options, [&](plan::LaunchOp Op) {
    auto [It, New] = Known.try_emplace(Op.getKernel(), true);
    auto Kernel = Plan.lookupSymbol<func::FuncOp>(Op.getKernel());
    if (New && Kernel)
      It->second = takenByTensorCores(Kernel, T);
    return It->second;
  });
}
