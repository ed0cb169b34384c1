//===- LinkerTest.cpp - Objects to a host image ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RunKernel.h"

using namespace kpc;
using namespace kpc::testing;

namespace {

std::string scale(const std::string &Name, const std::string &Factor) {
  return R"mlir(
#id = affine_map<(a) -> (a)>
func.func @)mlir" +
         Name + R"mlir((%x: memref<f32>, %y: memref<f32>, %n: index) {
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [%n], strides: [1] : memref<f32> to memref<?xf32, strided<[1]>>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [%n], strides: [1] : memref<f32> to memref<?xf32, strided<[1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<?xf32, strided<[1]>> to tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%xt : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%p: f32, %o: f32):
    %c = arith.constant )mlir" +
         Factor + R"mlir( : f32
    %1 = arith.mulf %p, %c : f32
    linalg.yield %1 : f32
  } -> tensor<?xf32>
  bufferization.materialize_in_destination %r in restrict writable %ym : (tensor<?xf32>, memref<?xf32, strided<[1]>>) -> ()
  return
})mlir";
}

std::string compiled(const std::string &Text) {
  auto Options =
      llvm::cantFail(codegen::HostTargetOptions::fromName("x86-64-v2"));
  return llvm::cantFail(
             codegen::buildAndCompileHostKernel(llvm::StringRef(Text), Options))
      .Object;
}

TEST(Linker, severalObjects) {
  std::string One = compiled(scale("one", "3.5")),
              Two = compiled(scale("two", "-7.25"));
  auto Linked = codegen::linkHostImage({One, Two});
  ASSERT_TRUE(bool(Linked)) << llvm::toString(Linked.takeError());
  EXPECT_EQ(Linked->Symbols.size(), 2u);
  EXPECT_EQ(Linked->LocalSymbols.count("one.body"), 1u);
  auto Image = codegen::HostImage::map(*Linked);
  ASSERT_TRUE(bool(Image)) << llvm::toString(Image.takeError());
  Buffer<float> X = randomFloats(100, 1), Y(100);
  for (auto [Name, Factor] : {std::pair("one", 3.5f), {"two", -7.25f}}) {
    ASSERT_FALSE(
        bool(Image->call(Name, {X.word(), Y.word(), uint64_t(100)}, 0, 100)));
    for (int I = 0; I < 100; ++I)
      ASSERT_EQ(Y[I], X[I] * Factor);
  }
  EXPECT_EQ(llvm::toString(Image->call("three", {}, 0, 0)),
            "the host image has no kernel 'three'");
}

TEST(Linker, reproducible) {
  EXPECT_EQ(compiled(scale("one", "3.5")), compiled(scale("one", "3.5")));
}

TEST(Linker, doublyDefined) {
  std::string One = compiled(scale("one", "3.5"));
  auto Linked = codegen::linkHostImage({One, One});
  ASSERT_FALSE(bool(Linked));
  EXPECT_EQ(llvm::toString(Linked.takeError()),
            "symbol 'one' is defined twice");
}

TEST(Linker, notAnObject) {
  auto Linked = codegen::linkHostImage({"not ELF"});
  EXPECT_FALSE(bool(Linked));
  llvm::consumeError(Linked.takeError());
}

TEST(Codegen, undefinedSymbol) {
  // No processor divides 128-bit integers.
  std::string Text = scale("needs_library", "1.0");
  size_t At = Text.find("%1 = arith.mulf %p, %c : f32");
  Text.replace(At, strlen("%1 = arith.mulf %p, %c : f32"),
               "%i = arith.fptosi %p : f32 to i32\n"
               "%w = arith.extsi %i : i32 to i128\n"
               "%k = arith.constant 70 : i128\n"
               "%d = arith.shli %w, %k : i128\n"
               "%v = arith.addi %w, %k : i128\n"
               "%q = arith.divsi %d, %v : i128\n"
               "%m = arith.trunci %q : i128 to i32\n"
               "%1 = arith.sitofp %m : i32 to f32");
  auto Options =
      llvm::cantFail(codegen::HostTargetOptions::fromName("x86-64-v3"));
  auto Kernel =
      codegen::buildAndCompileHostKernel(llvm::StringRef(Text), Options);
  ASSERT_FALSE(bool(Kernel));
  EXPECT_EQ(
      llvm::toString(Kernel.takeError()),
      "kernel 'needs_library' needs code from outside the image: __divti3");
}

} // namespace
