//===- Sample.h - A small model for tests -----------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Inputs x, y: f32[batch, width]; weight w: f32[64], of which the first
/// `width` are read as a row.
///   t = x + y; u = t * 3; z = u + t; total[r] = sum of row r of u;
///   tail = the first row of z with w[0..width) added
/// Outputs z, total, tail.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TEST_UNIT_RUNTIME_SAMPLE_H
#define KPC_TEST_UNIT_RUNTIME_SAMPLE_H

#include "codegen/artifact/ArtifactWriter.h"
#include "kpc/runtime.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace kpc::test {

/// The flat image of test/unit/runtime/kernels/NAME.c; its code is at offset 0.
artifact::Bytes hostKernel(const std::string &Name);

/// Appends the kernels of the sample to a target.
void addHostKernels(artifact::Target &T);
void addSampleSteps(artifact::Target &T);

/// The same model for CUDA devices, with code for the fake driver.
void addCudaTarget(artifact::Contents &C, const std::string &Name, int Major,
                   int Minor, artifact::CapabilityRule Rule, bool Cubin,
                   bool Ptx);
/// The launch of a step again, for 2 to 4 rows and at most 100 elements.
artifact::Alternative &addAlternative(artifact::Target &T, size_t Step);
artifact::Contents cudaContents(); ///< for sm_90a
/// The same with kernels that take tensor maps: as one row of elements, or as
/// rows of `width`, which must be a multiple of 4.
artifact::Contents mappedContents(bool InRows);

artifact::Contents sampleContents();
artifact::Bytes sampleArtifact();
artifact::Bytes written(const artifact::Contents &C);

/// Recomputes the digests of segments, table and header where the structure
/// still allows it, as an attacker would.
void recomputeDigests(artifact::Bytes &File);

struct Free {
  void operator()(kpc_model *P) const { kpc_model_free(P); }
  void operator()(kpc_session *P) const { kpc_session_free(P); }
  void operator()(kpc_error *P) const { kpc_error_free(P); }
  void operator()(kpc_outputs *P) const { kpc_outputs_free(P); }
  void operator()(kpc_profile *P) const { kpc_profile_free(P); }
};
template <class T> using Own = std::unique_ptr<T, Free>;

/// Loads from memory that must outlive it; fails the test if it cannot.
Own<kpc_model> load(const artifact::Bytes &File);
Own<kpc_session> open(const Own<kpc_model> &M,
                      const kpc_session_options *Options = nullptr);

/// Tensors of the sample for one shape, with inputs that differ by `Seed`.
struct SampleRun {
  /// `Shift` floats past an aligned address.
  SampleRun(int64_t Batch, int64_t Width, int Seed = 1, size_t Shift = 0);
  SampleRun(const SampleRun &) = delete;
  kpc_status run(kpc_session *S, kpc_error **E = nullptr,
                 void *Stream = nullptr);
  void expectRight() const;
  std::vector<kpc_named_tensor> inputs() const;
  std::vector<kpc_named_tensor> outputs() const;

  int64_t Batch, Width;
  int64_t Matrix[2], Column[1], Row[1];
  std::vector<float> Storage; ///< all tensors, each aligned to 64 bytes
  float *X, *Y, *Z, *Total, *Tail;
};

/// What `status` and `E` say, as a gtest message; frees E.
std::string describe(kpc_error *E);

} // namespace kpc::test

#endif // KPC_TEST_UNIT_RUNTIME_SAMPLE_H
