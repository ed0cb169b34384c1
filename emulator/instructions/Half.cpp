//===- Half.cpp - add to tanh of f16 and bf16 -----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "Half Precision Floating Point Instructions". f32 has more than
// twice the bits of either type, so one operation in f32 and a rounding is
// right; fma is summed to odd in f64.

#include "emulator/instructions/Lanes.h"
#include "emulator/instructions/Opcodes.h"
#include "emulator/numbers/Formats.h"

#include <cmath>

namespace kpc::emulator {

namespace {

struct F16 {
  static float load(uint16_t B) { return halfToFloat(B); }
  static uint16_t store(float V) { return floatToHalf(V); }
  static uint16_t store(double V) {
    return uint16_t(encode(V, Half, Rounding::Nearest, false));
  }
};
struct BF16 {
  static float load(uint16_t B) { return brainToFloat(B); }
  static uint16_t store(float V) { return floatToBrain(V); }
  static uint16_t store(double V) {
    return uint16_t(encode(V, Brain, Rounding::Nearest, false));
  }
};

struct Add {
  float operator()(float A, float B) const { return A + B; }
};
struct Sub {
  float operator()(float A, float B) const { return A - B; }
};
struct Mul {
  float operator()(float A, float B) const { return A * B; }
};
struct Fma {
  double operator()(float A, float B, float C) const {
    double Product = double{A} * B;
    return std::isfinite(Product) ? sumToOdd(Product, C) : Product + C;
  }
};
struct FmaRelu {
  double operator()(float A, float B, float C) const {
    double R = Fma()(A, B, C);
    return R <= 0 ? 0.0 : R; // -0 too
  }
};
template <bool Propagates, bool IsMax> struct Extreme {
  float operator()(float A, float B) const {
    if (A != A)
      return Propagates ? A : B;
    if (B != B)
      return Propagates ? B : A;
    bool First = A == B ? std::signbit(A) != IsMax : (A < B) != IsMax;
    return First ? A : B;
  }
};
struct Exp2 {
  double operator()(float A) const { return std::exp2(double{A}); }
};
struct Tanh {
  double operator()(float A) const { return std::tanh(double{A}); }
};

template <typename Op, typename N> struct One {
  template <typename... T> uint16_t operator()(T... A) const {
    return N::store(Op()(N::load(A)...));
  }
};
template <typename Op, typename N> struct Two {
  template <typename... T> uint32_t operator()(T... A) const {
    uint32_t Low = One<Op, N>()(uint16_t(A)...);
    uint32_t High = One<Op, N>()(uint16_t(A >> 16)...);
    return High << 16 | Low;
  }
};

template <typename Op, size_t Sources> Handler pick(Type T) {
  auto With = []<typename Whole, typename B>() -> Handler {
    if constexpr (Sources == 1)
      return lanes<Whole, B, B>;
    else if constexpr (Sources == 2)
      return lanes<Whole, B, B, B>;
    else
      return lanes<Whole, B, B, B, B>;
  };
  switch (T) {
  case Type::F16:
    return With.template operator()<One<Op, F16>, uint16_t>();
  case Type::BF16:
    return With.template operator()<One<Op, BF16>, uint16_t>();
  case Type::F16x2:
    return With.template operator()<Two<Op, F16>, uint32_t>();
  default:
    return With.template operator()<Two<Op, BF16>, uint32_t>();
  }
}

/// .ftz and .sat of f16: subnormal operands and results are zeros with their
/// sign; what is below 0 or NaN is +0, what is above 1 is 1.
template <typename Op, bool Flushes, bool Saturates> struct Adjusted {
  static uint16_t flushed(uint16_t A) {
    return Flushes && !(A & 0x7C00) ? A & 0x8000 : A;
  }
  template <typename... T> static uint16_t one(T... A) {
    uint16_t R = flushed(One<Op, F16>()(flushed(A)...));
    float V = F16::load(R);
    if (Saturates)
      return V > 1 ? F16::store(1.0f) : V > 0 ? R : 0;
    return R;
  }
  template <typename... T> uint16_t operator()(uint16_t A, T... B) const {
    return one(A, B...);
  }
  template <typename... T> uint32_t operator()(uint32_t A, T... B) const {
    return uint32_t{one(uint16_t(A >> 16), uint16_t(B >> 16)...)} << 16 |
           one(uint16_t(A), uint16_t(B)...);
  }
};
template <typename Op, size_t Sources>
Handler pickAdjusted(bool Pair, bool Flushes, bool Saturates) {
  auto With = []<typename Whole, typename B>() -> Handler {
    if constexpr (Sources == 2)
      return lanes<Whole, B, B, B>;
    else
      return lanes<Whole, B, B, B, B>;
  };
  auto Of = [&]<bool F, bool S>() -> Handler {
    using How = Adjusted<Op, F, S>;
    return Pair ? With.template operator()<How, uint32_t>()
                : With.template operator()<How, uint16_t>();
  };
  if (Flushes)
    return Saturates ? Of.template operator()<true, true>()
                     : Of.template operator()<true, false>();
  return Of.template operator()<false, true>();
}

/// NaN gives 0x7FFF.
template <uint16_t And, uint16_t Xor> struct Sign {
  template <typename N> static uint16_t one(uint16_t A) {
    float V = N::load(A);
    return V != V ? 0x7FFF : uint16_t((A & And) ^ Xor);
  }
  template <typename N> struct Of {
    uint16_t operator()(uint16_t A) const { return one<N>(A); }
    uint32_t operator()(uint32_t A) const {
      return uint32_t{one<N>(uint16_t(A >> 16))} << 16 | one<N>(uint16_t(A));
    }
  };
};
template <typename S> Handler pickSign(bool Pair, bool IsBrain) {
  using H = typename S::template Of<F16>;
  using B = typename S::template Of<BF16>;
  if (Pair)
    return IsBrain ? lanes<B, uint32_t, uint32_t>
                   : lanes<H, uint32_t, uint32_t>;
  return IsBrain ? lanes<B, uint16_t, uint16_t> : lanes<H, uint16_t, uint16_t>;
}

struct Entry {
  const char *Opcode;
  size_t Sources;
  Handler (*Of)(Type);
};
constexpr Entry Entries[] = {
    {"add", 2, pick<Add, 2>},  {"sub", 2, pick<Sub, 2>},
    {"mul", 2, pick<Mul, 2>},  {"fma", 3, pick<Fma, 3>},
    {"ex2", 1, pick<Exp2, 1>}, {"tanh", 1, pick<Tanh, 1>}};

bool sources(Decoder &D, const ptx::Statement &S, Instruction &I, unsigned Bits,
             size_t Count) {
  if (Count == 1)
    return operands(D, S, I, Bits, {Bits});
  if (Count == 2)
    return operands(D, S, I, Bits, {Bits, Bits});
  return operands(D, S, I, Bits, {Bits, Bits, Bits});
}

} // namespace

bool decodeHalf(Decoder &D, const ptx::Statement &S, Modifiers &M,
                Instruction &I, Type T) {
  unsigned Bits = bitsOf(T);
  bool Pair = Bits == 32, IsBrain = T == Type::BF16 || T == Type::BF16x2;
  if (S.Opcode == "min" || S.Opcode == "max") {
    bool NaN = M.take("NaN");
    I.Run = S.Opcode == "min" ? (NaN ? pick<Extreme<true, false>, 2>(T)
                                     : pick<Extreme<false, false>, 2>(T))
                              : (NaN ? pick<Extreme<true, true>, 2>(T)
                                     : pick<Extreme<false, true>, 2>(T));
    return sources(D, S, I, Bits, 2);
  }
  if (S.Opcode == "abs" || S.Opcode == "neg") {
    I.Run = S.Opcode == "abs" ? pickSign<Sign<0x7FFF, 0>>(Pair, IsBrain)
                              : pickSign<Sign<0xFFFF, 0x8000>>(Pair, IsBrain);
    return sources(D, S, I, Bits, 1);
  }
  for (const Entry &E : Entries) {
    if (S.Opcode != E.Opcode)
      continue;
    M.take(E.Sources == 1 ? "approx" : "rn");
    if (!IsBrain && E.Sources > 1) {
      bool Flushes = M.take("ftz"), Saturates = M.take("sat");
      if (Flushes || Saturates) {
        I.Run =
            S.Opcode == "add"   ? pickAdjusted<Add, 2>(Pair, Flushes, Saturates)
            : S.Opcode == "sub" ? pickAdjusted<Sub, 2>(Pair, Flushes, Saturates)
            : S.Opcode == "mul"
                ? pickAdjusted<Mul, 2>(Pair, Flushes, Saturates)
                : pickAdjusted<Fma, 3>(Pair, Flushes, Saturates);
        return sources(D, S, I, Bits, E.Sources);
      }
    }
    // bf16's approximation flushes what it never gives.
    if (S.Opcode == "ex2" && IsBrain)
      M.take("ftz");
    I.Run = S.Opcode == "fma" && M.take("relu") ? pick<FmaRelu, 3>(T) : E.Of(T);
    return sources(D, S, I, Bits, E.Sources);
  }
  return false;
}

} // namespace kpc::emulator
