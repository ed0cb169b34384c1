//===- KernelText.h - Writes kernels in linalg form -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Tests say what a kernel computes; this writes the views around it.
///
///   KernelText K("relu");
///   K.input("x", "f32", {"n", "8"}).output("y", "f32", {"n", "8"});
///   K.generic("y", {"(a,b)->(a,b)", "(a,b)->(a,b)"}, "pp", {"x"},
///             "%z = arith.constant 0.0 : f32\n"
///             "%r = arith.maximumf %x, %z : f32", {"%r"});
///   K.text()
///
/// Sizes are numbers or names; every name becomes an index argument, in the
/// order of first use. In a body, `%x` is the element of x and `%y` the
/// accumulator.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TEST_UNIT_GPU_KERNELTEXT_H
#define KPC_TEST_UNIT_GPU_KERNELTEXT_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kpc::testing {

struct BufferText {
  std::string Name, Type;
  std::vector<std::string> Dims;
  bool IsOutput = false;
};

class KernelText {
public:
  explicit KernelText(std::string Name) : Name(std::move(Name)) {}

  KernelText &input(std::string Buffer, std::string Type,
                    std::vector<std::string> Dims);
  KernelText &output(std::string Buffer, std::string Type,
                     std::vector<std::string> Dims);
  /// Facts of a size's argument: `divisor = 4, optimum = 64`.
  KernelText &fact(std::string Size, std::string Text);

  /// A generic whose result is named `Result`: an output, or (with `Dims`) a
  /// value of its own. `Kinds` has a p or r per loop. `Inputs` are names of
  /// buffers or results. `Init` fills the result before (text of a constant).
  KernelText &generic(std::string Result, std::vector<std::string> Maps,
                      std::string Kinds, std::vector<std::string> Inputs,
                      std::string Body, std::string Yield,
                      std::string Init = "", std::string Type = "",
                      std::vector<std::string> Dims = {});

  /// `Input` with `Around` more elements on each side of dims 1 and 2, all of
  /// them `Outside`.
  KernelText &pad(std::string Result, std::string Input, int64_t Around,
                  std::string Outside);
  /// A convolution of f32, in `Groups`, with one stride for all spatial dims of
  /// `Dims`, the result's. Inputs of 16 bits are widened in front.
  KernelText &conv(std::string Result, std::string X, std::string W,
                   int64_t Stride, std::vector<std::string> Dims,
                   int64_t Groups = 1);

  std::string text() const;
  const std::vector<BufferText> &buffers() const { return Buffers; }
  /// Names of the index arguments in their order.
  const std::vector<std::string> &sizes() const { return Sizes; }
  const std::string &name() const { return Name; }

private:
  std::string tensorType(const std::string &Type,
                         const std::vector<std::string> &Dims) const;
  std::string dynamicSizes(const std::vector<std::string> &Dims) const;
  void addSizes(const std::vector<std::string> &Dims);
  /// `Input` in f32: itself, or a generic that widens it.
  std::string widened(const std::string &Input);
  /// A tensor of f32 of these sizes, zeros or not set: its name.
  std::string started(const std::string &Result,
                      const std::vector<std::string> &Dims, bool Zeros);

  std::string Name, Body;
  std::vector<BufferText> Buffers;
  std::vector<std::string> Sizes;
  std::map<std::string, std::string> Facts;
  /// Element type and dims of every tensor.
  std::map<std::string, std::pair<std::string, std::vector<std::string>>>
      Tensors;
};

} // namespace kpc::testing

#endif // KPC_TEST_UNIT_GPU_KERNELTEXT_H
