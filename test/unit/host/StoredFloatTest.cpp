//===- StoredFloatTest.cpp - Rows of 16-bit floats, with their tails ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows that are no whole vectors take masked loads and stores, of which LLVM
// makes moves of single elements: they must not round, nor need a library.
//
//===----------------------------------------------------------------------===//
#include "KernelText.h"
#include "RunKernel.h"

#include "llvm/ADT/APFloat.h"

using namespace kpc;
using namespace kpc::testing;

namespace {

struct Case {
  const char *Type;
  const char *Level;
};

class StoredFloat : public ::testing::TestWithParam<Case> {
protected:
  std::string type() const { return GetParam().Type; }
  const char *level() const { return GetParam().Level; }
  /// Stores %s, of f32, as y.
  void narrowed(KernelText &T, const Dims &D, const std::string &Map,
                const std::string &Iterators) const {
    T.empty("%e", D, type());
    T.generic("%r", {{"%s", D, "f32", Map}}, {"%e", D, type(), Map}, Iterators,
              "%p: f32, %o: " + type(),
              "    %1 = arith.truncf %p : f32 to " + type() +
                  "\n    linalg.yield %1 : " + type() + "\n");
    T.store("%r", "y", D, type());
  }
  std::string widen(const std::string &To, const std::string &From) const {
    return "    " + To + " = arith.extf " + From + " : " + type() + " to f32\n";
  }

  /// A whole number, exact in both types, as their bits.
  uint16_t bits(int Number) const {
    llvm::APFloat Value(static_cast<float>(Number));
    bool Lossy;
    Value.convert(type() == "bf16" ? llvm::APFloat::BFloat()
                                   : llvm::APFloat::IEEEhalf(),
                  llvm::APFloat::rmNearestTiesToEven, &Lossy);
    return static_cast<uint16_t>(Value.bitcastToAPInt().getZExtValue());
  }
  /// Different in each element of a row and of a column.
  static int number(int64_t I) { return int(I * 37 % 101) - 50; }
};

constexpr int64_t Rows = 5;
constexpr int64_t RowLengths[] = {1, 3, 8, 13, 16, 31, 37, 100};

int64_t work(const Kernel &K, const char *Size, int64_t N) {
  auto Work = shape::Expr::parse(K.Launch.Work);
  return *Work->substitute({{Size, shape::Expr(N)}}).asConstant();
}

TEST_P(StoredFloat, largestOfRows) {
  KernelText T("largest");
  T.input("x", {Rows, -1}, type());
  T.output("y", {Rows}, type());
  T.fill("%init", "0xFF800000", {Rows}, "f32");
  T.generic("%s", {{"%xt", {Rows, -1}, type(), "(m, k) -> (m, k)"}},
            {"%init", {Rows}, "f32", "(m, k) -> (m)"}, "pr",
            "%p: " + type() + ", %acc: f32",
            widen("%w", "%p") + "    %1 = arith.maximumf %acc, %w : f32\n"
                                "    linalg.yield %1 : f32\n");
  narrowed(T, {Rows}, "(m) -> (m)", "p");
  Kernel K(T.str(), level());
  ASSERT_TRUE(K.ok());
  for (int64_t N : RowLengths) {
    SCOPED_TRACE(N);
    Buffer<uint16_t> X(Rows * N), Y(Rows);
    for (int64_t I = 0; I < Rows * N; ++I)
      X[I] = bits(number(I));
    K.run({X.word(), Y.word(), uint64_t(N)}, work(K, "arg2", N));
    for (int64_t M = 0; M < Rows; ++M) {
      int Best = number(M * N);
      for (int64_t I = 1; I < N; ++I)
        Best = std::max(Best, number(M * N + I));
      ASSERT_EQ(Y[M], bits(Best));
    }
    EXPECT_TRUE(Y.guardIntact());
  }
}

TEST_P(StoredFloat, productsWithTails) {
  const int64_t Inner = 3;
  Dims A{Rows, Inner}, B{Inner, -1}, Y{Rows, -1};
  KernelText T("product");
  T.input("a", A, type());
  T.input("b", B, type());
  T.output("y", Y, type());
  T.fill("%init", "0.0", Y, "f32");
  T.generic("%s",
            {{"%at", A, type(), "(m, n, k) -> (m, k)"},
             {"%bt", B, type(), "(m, n, k) -> (k, n)"}},
            {"%init", Y, "f32", "(m, n, k) -> (m, n)"}, "ppr",
            "%p: " + type() + ", %q: " + type() + ", %acc: f32",
            widen("%pw", "%p") + widen("%qw", "%q") +
                "    %1 = arith.mulf %pw, %qw : f32\n"
                "    %2 = arith.addf %acc, %1 : f32\n"
                "    linalg.yield %2 : f32\n");
  narrowed(T, Y, "(m, n) -> (m, n)", "pp");
  Kernel K(T.str(), level());
  ASSERT_TRUE(K.ok());
  for (int64_t N : RowLengths) {
    SCOPED_TRACE(N);
    Buffer<uint16_t> Left(Rows * Inner), Right(Inner * N), Out(Rows * N);
    // Each row is -1, 0, 1.
    for (int64_t I = 0; I < Rows * Inner; ++I)
      Left[I] = bits(int(I % Inner) - 1);
    for (int64_t I = 0; I < Inner * N; ++I)
      Right[I] = bits(number(I));
    K.run({Left.word(), Right.word(), Out.word(), uint64_t(N)},
          work(K, "arg3", N));
    for (int64_t I = 0; I < Rows * N; ++I)
      ASSERT_EQ(Out[I], bits(number(2 * N + I % N) - number(I % N)));
    EXPECT_TRUE(Out.guardIntact());
  }
}

TEST_P(StoredFloat, movesKeepEveryBit) {
  // x where s is 0, else a constant: signalling NaNs must not become quiet.
  KernelText T("move");
  T.input("x", {-1}, type());
  T.input("s", {-1}, "i32");
  T.output("y", {-1}, type());
  T.empty("%e", {-1}, type());
  T.generic(
      "%r",
      {{"%xt", {-1}, type(), "(a) -> (a)"}, {"%st", {-1}, "i32", "(a) -> (a)"}},
      {"%e", {-1}, type(), "(a) -> (a)"}, "p",
      "%p: " + type() + ", %q: i32, %o: " + type(),
      "    %z = arith.constant 0 : i32\n"
      "    %c = arith.constant -2.5 : " +
          type() +
          "\n    %is = arith.cmpi eq, %q, %z : i32\n"
          "    %1 = arith.select %is, %p, %c : " +
          type() + "\n    linalg.yield %1 : " + type() + "\n");
  T.store("%r", "y", {-1}, type());
  Kernel K(T.str(), level());
  ASSERT_TRUE(K.ok());
  const int64_t N = 65536 + 3;
  Buffer<uint16_t> X(N), Y(N);
  Buffer<int32_t> S(N);
  for (int64_t I = 0; I < N; ++I) {
    X[I] = uint16_t(I);
    S[I] = I % 5 == 3;
  }
  K.run({X.word(), S.word(), Y.word(), uint64_t(N)}, N, 3);
  uint16_t Constant = type() == "bf16" ? 0xC020 : 0xC100;
  for (int64_t I = 0; I < N; ++I)
    ASSERT_EQ(Y[I], S[I] ? Constant : X[I]) << I;
}

INSTANTIATE_TEST_SUITE_P(
    TypesAndLevels, StoredFloat,
    ::testing::Values(Case{"bf16", "x86-64-v2"}, Case{"bf16", "x86-64-v3"},
                      Case{"bf16", "native"}, Case{"f16", "x86-64-v2"},
                      Case{"f16", "x86-64-v3"}, Case{"f16", "native"}),
    [](const ::testing::TestParamInfo<Case> &Info) {
      std::string Name = std::string(Info.param.Type) + Info.param.Level;
      llvm::erase(Name, '-');
      return Name;
    });

} // namespace
