//===- kpc-bench-kernel.cpp - Times one kernel of the tile dialect --------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   kpc-bench-kernel x.tile.mlir --shape arg3=4096 [--arch sm_90a]
///
/// compiles the kernel that `kpc compile --emit tile` wrote (edited or not),
/// puts it into an artifact of one launch, whose inputs and outputs are the
/// kernel's buffers, and has `kpc bench` time it. With --emit-bundle FILE the
/// artifact is kept, to be timed by the runtime alone on another machine.
/// Development only: LLVM may still abort on what its verifiers let through.
///
//===----------------------------------------------------------------------===//

#include "codegen/artifact/ArtifactWriter.h"
#include "codegen/nvptx/Nvptx.h"
#include "codegen/nvptx/Ptxas.h"
#include "codegen/nvptx/TensorMapAttr.h"
#include "compiler/artifact/PlanToContents.h"
#include "compiler/kernels/CompileKernel.h"
#include "compiler/target/Target.h"
#include "compiler/workers/WorkerPool.h"
#include "dialects/RegisterDialects.h"
#include "dialects/kernel/Kernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace kpc;
using namespace mlir;
namespace cl = llvm::cl;

static cl::OptionCategory Options("Options");
static cl::opt<std::string> File(cl::Positional, cl::desc("x.tile.mlir"),
                                 cl::Required, cl::cat(Options));
static cl::list<std::string>
    Shape("shape", cl::CommaSeparated, cl::value_desc("argN=SIZE"),
          cl::desc("a size that the kernel takes; else its optimum"),
          cl::cat(Options));
static cl::list<std::string>
    Elements("elements", cl::CommaSeparated, cl::value_desc("argN=COUNT"),
             cl::desc("elements of a buffer that no tensor map is of; else as "
                      "many as the largest other has"),
             cl::cat(Options));
static cl::opt<std::string> Arch("arch", cl::init("sm_90a"),
                                 cl::desc("the target (default: sm_90a)"),
                                 cl::cat(Options));
static cl::opt<std::string> PtxasPath("ptxas", cl::desc("NVIDIA's assembler"),
                                      cl::cat(Options));
static cl::opt<std::string>
    Bundle("emit-bundle", cl::value_desc("FILE"),
           cl::desc("write the artifact there and time nothing"),
           cl::cat(Options));
static cl::opt<std::string> Device("device", cl::init("cuda:0"),
                                   cl::desc("where to run (default: cuda:0)"),
                                   cl::cat(Options));

static int fail(const llvm::Twine &Why, const char *Hint = nullptr) {
  llvm::errs() << "error: " << Why << "\n";
  if (Hint)
    llvm::errs() << "  hint: " << Hint << "\n";
  return 1;
}

namespace {

/// "argN=VALUE" texts by N.
using Numbers = std::map<unsigned, int64_t>;

std::optional<Numbers> readNumbers(llvm::ArrayRef<std::string> Texts) {
  Numbers Read;
  for (llvm::StringRef Text : Texts) {
    auto [Name, Value] = Text.split('=');
    unsigned Argument;
    int64_t Number;
    if (!Name.consume_front("arg") || Name.getAsInteger(10, Argument) ||
        Value.getAsInteger(10, Number) || Number < 0) {
      fail("'" + Text + "' is not argN=NUMBER",
           "arguments are counted from 0, as the grid of kernel.launch names "
           "them");
      return std::nullopt;
    }
    Read[Argument] = Number;
  }
  return Read;
}

/// The kernel's arguments, and what stands for them.
class Bench {
public:
  explicit Bench(gpu::GPUFuncOp Kernel) : Kernel(Kernel) {}

  bool bindSizes();
  bool bindBuffers();
  /// A plan of one launch, beside a declaration of the kernel.
  OwningOpRef<ModuleOp> plan();

private:
  int64_t bytesOf(const artifact::TensorMap &Map) const;

  gpu::GPUFuncOp Kernel;
  shape::Bindings Sizes;
  std::map<unsigned, int64_t> Counts; ///< elements of each buffer
};

bool Bench::bindSizes() {
  std::optional<Numbers> Given = readNumbers(Shape);
  if (!Given)
    return false;
  for (unsigned I = 0; I < Kernel.getNumArguments(); ++I) {
    if (!Kernel.getArgument(I).getType().isIndex())
      continue;
    std::optional<int64_t> Optimum = kernel::argumentFacts(Kernel, I).Optimum;
    auto It = Given->find(I);
    if (It == Given->end() && !Optimum)
      return fail("nothing is said of arg" + llvm::Twine(I) + ", a size",
                  "give --shape argN=SIZE") == 0;
    Sizes["arg" + std::to_string(I)] =
        It == Given->end() ? *Optimum : It->second;
    if (It != Given->end())
      Given->erase(It);
  }
  if (!Given->empty())
    return fail("arg" + llvm::Twine(Given->begin()->first) +
                " is no size of the kernel") == 0;
  return true;
}

int64_t Bench::bytesOf(const artifact::TensorMap &Map) const {
  auto Value = [&](const shape::Expr &E) {
    return E.evaluate(Sizes).value_or(0);
  };
  // The longest dim's, as a stride may be 0: the same row again.
  int64_t Bytes = Value(Map.Dims.front()) * bitWidth(Map.Element) / 8;
  for (size_t I = 0; I < Map.Strides.size(); ++I)
    Bytes = std::max(Bytes, Value(Map.Dims[I + 1]) * Value(Map.Strides[I]));
  return Bytes;
}

bool Bench::bindBuffers() {
  std::optional<Numbers> Given = readNumbers(Elements);
  auto Maps = nvptx::readTensorMaps(Kernel);
  if (!Given || failed(Maps))
    return false;
  int64_t Most = 1;
  for (const artifact::KernelTensorMap &Map : *Maps) {
    int64_t Count = bytesOf(Map.Map) * 8 / bitWidth(Map.Map.Element);
    int64_t &Known = Counts[Map.Buffer];
    Known = std::max(Known, Count);
    Most = std::max(Most, Known);
  }
  for (unsigned I = 0; I < Kernel.getNumArguments(); ++I) {
    if (!isa<MemRefType>(Kernel.getArgument(I).getType()))
      continue;
    if (auto It = Given->find(I); It != Given->end()) {
      if (Counts.count(I))
        return fail("arg" + llvm::Twine(I) +
                        " has a tensor map, which says how many elements it "
                        "has",
                    "--shape gives the sizes that they depend on") == 0;
      Counts[I] = It->second;
      Given->erase(It);
    } else {
      Counts.try_emplace(I, Most);
    }
  }
  if (!Given->empty())
    return fail("arg" + llvm::Twine(Given->begin()->first) +
                " is no buffer of the kernel") == 0;
  return true;
}

OwningOpRef<ModuleOp> Bench::plan() {
  kernel::BuffersAttr Buffers = kernel::buffersOf(Kernel);
  OpBuilder B(Kernel.getContext());
  Location Loc = Kernel.getLoc();
  OwningOpRef<ModuleOp> Module = ModuleOp::create(Loc);
  B.setInsertionPointToStart(Module->getBody());
  auto Program = plan::ProgramOp::create(B, Loc);
  SmallVector<Type> Arguments;
  SmallVector<Value> Reads, Writes;
  SmallVector<shape::Expr> Values;
  {
    OpBuilder::InsertionGuard Guard(B);
    B.setInsertionPointToStart(B.createBlock(&Program.getBody()));
    for (unsigned I = 0; I < Kernel.getNumArguments(); ++I) {
      Type Ty = Kernel.getArgument(I).getType();
      std::string Name = "arg" + std::to_string(I);
      if (Ty.isIndex()) {
        Arguments.push_back(Ty);
        Values.push_back(shape::Expr(Sizes.at(Name)));
      }
      auto Buffer = dyn_cast<MemRefType>(Ty);
      if (!Buffer)
        continue;
      Arguments.push_back(Ty);
      auto Tensor = graph::SymbolicTensorType::get(
          B.getContext(), {shape::Expr(Counts.at(I))}, Buffer.getElementType());
      if (Buffers && Buffers.isWritten(I))
        Writes.push_back(plan::OutputOp::create(B, Loc, Tensor, Name,
                                                /*takes=*/IntegerAttr(),
                                                /*as=*/TypeAttr(),
                                                /*decides=*/graph::DimsAttr(),
                                                /*at_most=*/graph::DimsAttr()));
      else
        Reads.push_back(plan::InputOp::create(B, Loc, Tensor, Name,
                                              /*as=*/TypeAttr()));
    }
    plan::LaunchOp::create(B, Loc, Kernel.getName(), Reads, Writes,
                           graph::DimsAttr::get(B.getContext(), Values),
                           B.getStringAttr(Kernel.getName()), ArrayAttr(),
                           graph::DimsAttr(), /*root=*/StringAttr(),
                           /*kind=*/StringAttr(), /*title=*/StringAttr(),
                           /*scope=*/StringAttr());
  }
  auto Declared = func::FuncOp::create(B, Loc, Kernel.getName(),
                                       B.getFunctionType(Arguments, {}));
  Declared.setPrivate();
  if (Buffers)
    Declared->setAttr(kernel::KernelDialect::BuffersAttrHelper::getNameStr(),
                      Buffers);
  return Module;
}

/// The file's text; null after an error. Several kernels are texts of their
/// own, which `--emit tile` writes behind one another.
OwningOpRef<ModuleOp> parseFile(MLIRContext &Context) {
  auto Buffer = llvm::MemoryBuffer::getFile(File);
  if (!Buffer) {
    fail("cannot read '" + llvm::Twine(File) +
         "': " + Buffer.getError().message());
    return {};
  }
  llvm::SmallVector<llvm::StringRef> Parts;
  (*Buffer)->getBuffer().split(Parts, "\n// -----");
  llvm::erase_if(Parts, [](llvm::StringRef P) { return P.trim().empty(); });
  if (Parts.size() <= 1)
    return parseSourceFile<ModuleOp>(File, &Context);
  fail("'" + llvm::Twine(File) + "' holds " + llvm::Twine(Parts.size()) +
           " kernels, not one",
       "put the text between two '// -----' into a file of its own");
  return {};
}

/// The one kernel of a text; null after an error.
gpu::GPUFuncOp kernelOf(ModuleOp Module) {
  gpu::GPUFuncOp Found;
  unsigned Count = 0;
  Module.walk([&](gpu::GPUFuncOp Kernel) {
    Found = Kernel;
    ++Count;
  });
  if (Count == 1)
    return Found;
  fail("'" + llvm::Twine(File) + "' holds " + llvm::Twine(Count) +
           " kernels, not one",
       "`kpc compile MODEL --arch sm_90a --emit tile` writes kernels, with "
       "'// -----' between several");
  return {};
}

} // namespace

/// Has `kpc bench`, which lies beside this program, time the artifact.
static int time(const std::string &Artifact) {
  llvm::SmallString<128> Kpc(llvm::sys::path::parent_path(thisExecutable()));
  llvm::sys::path::append(Kpc, "kpc");
  std::string Error;
  int Code = llvm::sys::ExecuteAndWait(
      Kpc, {Kpc, "bench", Artifact, "--device", Device}, std::nullopt, {}, 0, 0,
      &Error);
  if (!Error.empty())
    return fail("cannot run '" + Kpc + "': " + Error);
  return Code;
}

int main(int ArgumentCount, char **ArgumentTexts) {
  cl::HideUnrelatedOptions(Options); // LLVM's own
  cl::ParseCommandLineOptions(ArgumentCount, ArgumentTexts,
                              "kpc-bench-kernel: times one tile kernel\n");
  target::Lookup Found = target::lookup(Arch);
  if (!Found || Found.Targets.size() != 1 || Found.Targets[0]->isHost())
    return fail("'" + llvm::Twine(Arch) + "' is not one GPU target");
  const target::Target &T = *Found.Targets.front();
  DialectRegistry Registry;
  registerDialects(Registry);
  nvptx::registerTranslations(Registry);
  MLIRContext Context(Registry, MLIRContext::Threading::DISABLED);
  Context
      .loadDialect<func::FuncDialect, graph::GraphDialect, plan::PlanDialect>();
  OwningOpRef<ModuleOp> Module = parseFile(Context);
  gpu::GPUFuncOp Kernel = Module ? kernelOf(*Module) : gpu::GPUFuncOp();
  if (!Kernel)
    return 1;
  Bench B(Kernel);
  if (!B.bindSizes() || !B.bindBuffers())
    return 1;
  OwningOpRef<ModuleOp> Plan = B.plan();

  KernelJob Job;
  Job.Symbol = Kernel.getName().str();
  Job.Target = T.Name;
  llvm::raw_string_ostream(Job.Text) << *Module;
  nvptx::Ptxas Ptxas = nvptx::findPtxas(PtxasPath);
  if (!Ptxas)
    return fail(Ptxas.Missing);
  Job.Ptxas = Ptxas.Path;
  llvm::Expected<CompiledKernel> Compiled = compileKernel(Job);
  if (!Compiled)
    return fail(llvm::toString(Compiled.takeError()));
  Compiled->Entry = Job.Symbol;
  std::vector<TargetKernels> Kernels(1);
  Kernels[0].Target = &T;
  Kernels[0].Plan = *Plan;
  Kernels[0].Kernels.emplace(Job.Symbol, std::move(*Compiled));
  WeightStore None;
  auto Contents = planToContents(None, Kernels, /*Strip=*/false);
  if (!Contents)
    return fail(llvm::toString(Contents.takeError()));
  llvm::SmallString<128> Path(Bundle);
  if (Bundle.empty())
    if (std::error_code Why =
            llvm::sys::fs::createTemporaryFile("kpc-bench", "kpc", Path))
      return fail("no temporary file: " + Why.message());
  if (auto Error = artifact::write(*Contents, Path.str().str()))
    return fail(*Error);
  if (!Bundle.empty())
    return 0;
  int Code = time(Path.str().str());
  llvm::sys::fs::remove(Path);
  return Code;
}
