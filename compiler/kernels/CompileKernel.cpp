//===- CompileKernel.cpp - A worker's job, done -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/kernels/CompileKernel.h"
#include "codegen/host/HostCodegen.h"
#include "compiler/Compiler.h"
#include "compiler/target/Target.h"
#include "compiler/workers/WorkerPool.h"

using namespace kpc;
using llvm::createStringError;
using llvm::Expected;

static Expected<CompiledKernel> compileForHost(const KernelJob &Job,
                                               const target::Target &T) {
  auto Options = codegen::HostTargetOptions::fromName(T.LlvmChip);
  if (!Options)
    return Options.takeError();
  CompiledKernel Kernel;
  codegen::HostListings Listings;
  if (Job.Listing == "llvm")
    Listings.Llvm = &Kernel.Listing;
  auto Built = codegen::buildAndCompileHostKernel(llvm::StringRef(Job.Text),
                                                  *Options, Listings);
  if (!Built)
    return Built.takeError();
  if (Built->Launches.size() != 1)
    return createStringError("kernel '" + Job.Symbol + "' became " +
                             std::to_string(Built->Launches.size()) +
                             " functions");
  codegen::HostLaunch &Launch = Built->Launches.front();
  Kernel.Code = std::move(Built->Object);
  Kernel.Work = Launch.Work;
  Kernel.Grain = Launch.Grain;
  Kernel.Schedule = Launch.Schedule;
  return Kernel;
}

Expected<CompiledKernel> kpc::compileKernel(const KernelJob &Job) {
  const target::Target *T = target::findTarget(Job.Target);
  if (!T)
    return createStringError("unknown target '" + Job.Target + "'");
  if (T->isHost())
    return compileForHost(Job, *T);
  return createStringError("no kernel can be made for target '" + Job.Target +
                           "'");
}

JobReply kpc::compileKernelJob(std::string_view Bytes) {
  std::optional<KernelJob> Job = KernelJob::decode(Bytes);
  if (!Job)
    return {false, "the job is malformed"};
  Expected<CompiledKernel> Kernel = compileKernel(*Job);
  if (!Kernel)
    return {false, llvm::toString(Kernel.takeError())};
  return {true, Kernel->encode()};
}
