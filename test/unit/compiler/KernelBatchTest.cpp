//===- KernelBatchTest.cpp - Kernels sent to workers ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/kernels/KernelBatch.h"
#include "compiler/workers/WorkerPool.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace kpc;
using testing::HasSubstr;

// The fake worker answers every job with its bytes backwards.
TEST(KernelBatch, AnAnswerThatIsNoKernelIsSaidToBeOne) {
  KernelJob Job;
  Job.Symbol = "relu";
  Job.Target = "sm_90a";
  Job.Text = "func.func @relu() { return }";
  CompileOptions Options;
  Options.Jobs = 1;
  Options.WorkerCommand = {
      std::filesystem::path(thisExecutable()).parent_path() / "kpc_fake_worker",
      std::string(WorkerArgument)};
  Diagnostics Diags;
  CompileReport Report;
  std::vector<bool> Hits;
  auto Results = compileBatch({Job}, Options, Diags, Report, Hits);
  ASSERT_EQ(Results.size(), 1u);
  EXPECT_FALSE(Results.front());
  EXPECT_TRUE(Report.Internal);
  EXPECT_EQ(Diags.errorCount(), 1u);
  EXPECT_THAT(Diags.text(),
              HasSubstr("error[KPC-T0003]: 'relu': the worker's answer (" +
                        std::to_string(Job.encode().size()) +
                        " bytes) is not a compiled kernel [sm_90a]\n  hint: "
                        "the workers must be of the same build"));
}
