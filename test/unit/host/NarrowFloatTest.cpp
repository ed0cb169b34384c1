//===- NarrowFloatTest.cpp - Floats of 8 and 4 bits against APFloat -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// graph.cast, lowered and compiled as kernels are: every code, every f16, and
/// f32 and f64 around each boundary between two codes.
///
//===----------------------------------------------------------------------===//
#include "RunKernel.h"

#include "dialects/RegisterDialects.h"
#include "dialects/plan/Plan.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/graph/Passes.h"
#include "llvm/ADT/APFloat.h"

#include <bit>

using namespace kpc;
using namespace kpc::testing;
using llvm::APFloat;
using llvm::APInt;

namespace {

struct Narrow {
  const char *Name;
  const llvm::fltSemantics &Kind;
  int Bits;
  int codes() const { return 1 << Bits; }
};

const Narrow Types[] = {
    {"f8E4M3FN", APFloat::Float8E4M3FN(), 8},
    {"f8E4M3FNUZ", APFloat::Float8E4M3FNUZ(), 8},
    {"f8E5M2", APFloat::Float8E5M2(), 8},
    {"f8E5M2FNUZ", APFloat::Float8E5M2FNUZ(), 8},
    {"f8E8M0FNU", APFloat::Float8E8M0FNU(), 8},
    {"f4E2M1FN", APFloat::Float4E2M1FN(), 4},
};

const char *Levels[] = {"x86-64-v2", "x86-64-v3", "native"};

/// The kernel of `y = graph.cast %x to To`, in linalg form.
std::string castText(const std::string &From, const std::string &To) {
  mlir::DialectRegistry Registry;
  registerDialects(Registry);
  mlir::MLIRContext Context(Registry, mlir::MLIRContext::Threading::DISABLED);
  std::string In = "!graph.tensor<[n], " + From + ">",
              Out = "!graph.tensor<[n], " + To + ">";
  auto Module = mlir::parseSourceString<mlir::ModuleOp>(
      "module attributes {graph.symbols = {n = {min = 1}}} {\n"
      "func.func @main(%x: " +
          In + " {graph.name = \"x\"}) -> (" + Out +
          " {graph.name = \"y\"}) {\n  %0 = graph.cast %x to " + To + " : " +
          In + "\n  return %0 : " + Out + "\n}\n}\n",
      &Context);
  mlir::PassManager Passes(&Context);
  Passes.addNestedPass<mlir::func::FuncOp>(graph::createFormRegions());
  Passes.addPass(graph::createLowerRegions());
  if (!Module || failed(Passes.run(*Module))) {
    ADD_FAILURE() << From << " to " << To << " has no kernel";
    return "";
  }
  Module->walk([](plan::ProgramOp Program) { Program.erase(); });
  std::string Text;
  llvm::raw_string_ostream(Text) << *Module;
  return Text;
}

template <typename In, typename Out>
Buffer<Out> cast(const std::string &From, const std::string &To,
                 const std::vector<In> &Values, const char *Level) {
  Buffer<In> X(Values.size());
  Buffer<Out> Y(Values.size());
  std::copy(Values.begin(), Values.end(), X.data());
  Kernel K(castText(From, To), Level);
  auto Count = static_cast<int64_t>(Values.size());
  K.run({X.word(), Y.word(), uint64_t(Count)}, Count, 3);
  EXPECT_TRUE(Y.guardIntact());
  return Y;
}

APFloat ofCode(const Narrow &T, unsigned Code) {
  return APFloat(T.Kind, APInt(unsigned(T.Bits), Code));
}

APFloat converted(APFloat V, const llvm::fltSemantics &To) {
  bool Lossy;
  V.convert(To, APFloat::rmNearestTiesToEven, &Lossy);
  return V;
}

float valueOf(const Narrow &T, unsigned Code) {
  return converted(ofCode(T, Code), APFloat::IEEEsingle()).convertToFloat();
}

/// Every so many-th f16, what lies around the middle of each two codes, and
/// numbers of all exponents.
std::vector<float> samples(const Narrow &T, unsigned EveryHalf) {
  std::vector<float> Values;
  for (unsigned I = 0; I < 65536; I += EveryHalf)
    Values.push_back(converted(APFloat(APFloat::IEEEhalf(), APInt(16, I)),
                               APFloat::IEEEsingle())
                         .convertToFloat());
  for (int I = 0; I + 1 < T.codes(); ++I) {
    float A = valueOf(T, unsigned(I)), B = valueOf(T, unsigned(I) + 1);
    for (float V : {A, (A + B) / 2, A + (A - B) / 2})
      for (float Sign : {1.0f, -1.0f})
        for (float Towards : {-INFINITY, INFINITY}) {
          Values.push_back(Sign * V);
          Values.push_back(std::nextafterf(Sign * V, Towards));
        }
  }
  std::mt19937 Random(1);
  for (int I = 0; I < 5000; ++I)
    Values.push_back(std::bit_cast<float>(uint32_t(Random())));
  return Values;
}

/// What graph.cast says, by APFloat; none where any NaN will do.
std::optional<unsigned> expected(const Narrow &T, APFloat V) {
  bool IsExponent = &T.Kind == &APFloat::Float8E8M0FNU();
  bool HasNan = T.Bits == 8;
  if (V.isNaN())
    return HasNan ? std::nullopt : std::optional(V.isNegative() ? 0u : 8u);
  if (V.isInfinity() && (IsExponent || !HasNan))
    return IsExponent ? 255u : V.isNegative() ? 15u : 7u;
  if (IsExponent)
    V.clearSign();
  // The type has no zero: its least number is the nearest.
  if (IsExponent &&
      converted(V, APFloat::IEEEdouble()).convertToDouble() < 0x1p-127)
    return 0;
  APFloat Result = converted(V, T.Kind);
  if (Result.isNaN())
    return std::nullopt;
  return unsigned(Result.bitcastToAPInt().getZExtValue());
}

void expectCode(const Narrow &T, const APFloat &V, unsigned Code) {
  std::optional<unsigned> Wanted = expected(T, V);
  double Value = converted(V, APFloat::IEEEdouble()).convertToDouble();
  if (Wanted)
    ASSERT_EQ(Code, *Wanted) << Value;
  else
    ASSERT_TRUE(ofCode(T, Code).isNaN()) << Value << " is " << Code;
}

TEST(NarrowFloat, everyCode) {
  for (const Narrow &T : Types)
    for (const char *Level : Levels) {
      SCOPED_TRACE(std::string(T.Name) + " " + Level);
      std::vector<uint8_t> Codes;
      for (int I = 0; I < T.codes(); ++I)
        Codes.push_back(uint8_t(I));
      auto Wide = cast<uint8_t, float>(T.Name, "f32", Codes, Level);
      auto Half = cast<uint8_t, uint16_t>(T.Name, "f16", Codes, Level);
      for (int I = 0; I < T.codes(); ++I) {
        APFloat V = ofCode(T, unsigned(I));
        if (V.isNaN()) {
          ASSERT_TRUE(std::isnan(Wide[I])) << I;
          continue;
        }
        ASSERT_EQ(std::bit_cast<uint32_t>(Wide[I]),
                  std::bit_cast<uint32_t>(valueOf(T, unsigned(I))))
            << I;
        ASSERT_EQ(
            Half[I],
            converted(V, APFloat::IEEEhalf()).bitcastToAPInt().getZExtValue())
            << I;
      }
    }
}

TEST(NarrowFloat, roundsAsApfloat) {
  for (const Narrow &T : Types)
    for (const char *Level : Levels) {
      SCOPED_TRACE(std::string(T.Name) + " " + Level);
      bool All = Level == std::string("native");
      std::vector<float> Values = samples(T, All ? 1 : 19);
      auto Codes = cast<float, uint8_t>("f32", T.Name, Values, Level);
      for (size_t I = 0; I < Values.size(); ++I)
        expectCode(T, APFloat(Values[I]), Codes[I]);
    }
}

TEST(NarrowFloat, doublesRoundOnce) {
  for (const Narrow &T : Types) {
    SCOPED_TRACE(T.Name);
    std::vector<double> Values;
    for (float V : samples(T, 19))
      for (double Towards : {-1e300, 0.0, 1e300})
        Values.push_back(std::nextafter(double(V), Towards));
    auto Codes = cast<double, uint8_t>("f64", T.Name, Values, "native");
    for (size_t I = 0; I < Values.size(); ++I)
      expectCode(T, APFloat(Values[I]), Codes[I]);
  }
}

TEST(NarrowFloat, integers) {
  const Narrow &T = Types[0];
  std::vector<int32_t> Values;
  for (int32_t V = -70000; V <= 70000; V += 7)
    Values.push_back(V);
  for (int32_t V : {INT32_MIN, INT32_MAX, 16777217, -16777217})
    Values.push_back(V);
  auto Codes = cast<int32_t, uint8_t>("i32", T.Name, Values, "native");
  for (size_t I = 0; I < Values.size(); ++I)
    expectCode(T, APFloat(double(Values[I])), Codes[I]);
}

TEST(NarrowInteger, wraps) {
  std::vector<float> Reals;
  std::vector<int32_t> Whole;
  for (int32_t V = -40; V <= 40; ++V) {
    Whole.push_back(V);
    for (float Rest : {0.0f, 0.25f, 0.75f})
      Reals.push_back(float(V) + Rest);
  }
  Reals.insert(Reals.end(), {NAN, INFINITY, -INFINITY, 1e30f});
  for (int Bits : {2, 4})
    for (bool Unsigned : {false, true}) {
      std::string Name = (Unsigned ? "ui" : "i") + std::to_string(Bits);
      SCOPED_TRACE(Name);
      int Span = 1 << Bits, Least = Unsigned ? 0 : -Span / 2;
      auto Wrapped = cast<int32_t, int8_t>("i32", Name, Whole, "native");
      for (size_t I = 0; I < Whole.size(); ++I) {
        int Wanted = ((Whole[I] - Least) % Span + Span) % Span + Least;
        ASSERT_EQ(Wrapped[I], Wanted) << Whole[I];
      }
      auto Cut = cast<float, int8_t>("f32", Name, Reals, "native");
      for (size_t I = 0; I < Reals.size(); ++I) {
        // What i32 cannot hold saturates first.
        double V = std::isnan(Reals[I]) ? 0 : std::trunc(double(Reals[I]));
        V = std::min(std::max(V, double(INT32_MIN)), double(INT32_MAX));
        int64_t Wanted = ((int64_t(V) - Least) % Span + Span) % Span + Least;
        ASSERT_EQ(Cut[I], Wanted) << Reals[I];
      }
      std::vector<int8_t> Codes;
      for (int V = Least; V < Least + Span; ++V)
        Codes.push_back(int8_t(V));
      auto Wide = cast<int8_t, float>(Name, "f32", Codes, "native");
      for (size_t I = 0; I < Codes.size(); ++I)
        ASSERT_EQ(Wide[I], float(Codes[I]));
    }
}

} // namespace
