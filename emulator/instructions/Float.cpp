//===- Float.cpp - add to tanh of f32 and f64 -----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "Floating Point Instructions". Sums, products, quotients and roots
// are IEEE's in the rounding that the instruction names; NaN results of f32 are
// 0x7FFFFFFF. The approximations are the correctly rounded values, which are
// within the bounds that PTX gives.

#include "emulator/instructions/FloatRounding.h"
#include "emulator/instructions/Lanes.h"
#include "emulator/instructions/Opcodes.h"
#include "emulator/numbers/Formats.h"

#include <cmath>
#include <limits>

namespace kpc::emulator {

namespace {

//===----------------------------------------------------------------------===//
// To nearest
//===----------------------------------------------------------------------===//

template <bool Flush, typename T> T input(T A) {
  if constexpr (Flush)
    return flushed(A);
  else
    return A;
}
template <bool Flush, typename T> T output(T A) {
  if constexpr (Flush)
    return flushed(canonical(A));
  else if constexpr (sizeof(T) == 4)
    return canonical(A);
  else
    return A;
}

struct Add {
  template <typename T> T operator()(T A, T B) const {
    return lastNaN(A + B, A, B);
  }
};
struct Sub {
  template <typename T> T operator()(T A, T B) const {
    return lastNaN(A - B, A, B);
  }
};
struct Mul {
  template <typename T> T operator()(T A, T B) const {
    return lastNaN(A * B, A, B);
  }
};
struct Div {
  template <typename T> T operator()(T A, T B) const { return A / B; }
};
struct Fma {
  template <typename T> T operator()(T A, T B, T C) const {
    return lastNaN(std::fma(A, B, C), A, B, C);
  }
};
struct Rcp {
  template <typename T> T operator()(T A) const { return T(1) / A; }
};
struct Sqrt {
  template <typename T> T operator()(T A) const { return std::sqrt(A); }
};
struct Rsqrt {
  float operator()(float A) const {
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(A)));
  }
  double operator()(double A) const { return 1.0 / std::sqrt(A); }
};
struct Exp2 {
  float operator()(float A) const {
    return static_cast<float>(std::exp2(static_cast<double>(A)));
  }
};
struct Log2 {
  float operator()(float A) const {
    return static_cast<float>(std::log2(static_cast<double>(A)));
  }
};
struct Sin {
  float operator()(float A) const {
    return static_cast<float>(std::sin(static_cast<double>(A)));
  }
};
struct Cos {
  float operator()(float A) const {
    return static_cast<float>(std::cos(static_cast<double>(A)));
  }
};
struct Tanh {
  float operator()(float A) const {
    return static_cast<float>(std::tanh(static_cast<double>(A)));
  }
};
/// One NaN: the other operand; -0 is below +0.
template <bool Propagates> struct Min {
  template <typename T> T operator()(T A, T B) const {
    constexpr T NaN = std::numeric_limits<T>::quiet_NaN();
    if (A != A)
      return Propagates ? NaN : B;
    if (B != B)
      return Propagates ? NaN : A;
    if (A == B)
      return std::signbit(A) ? A : B;
    return A < B ? A : B;
  }
};
template <bool Propagates> struct Max {
  template <typename T> T operator()(T A, T B) const {
    constexpr T NaN = std::numeric_limits<T>::quiet_NaN();
    if (A != A)
      return Propagates ? NaN : B;
    if (B != B)
      return Propagates ? NaN : A;
    if (A == B)
      return std::signbit(A) ? B : A;
    return A > B ? A : B;
  }
};

/// Three operands (sm_100).
template <typename Op> struct OfThree {
  template <typename T> T operator()(T A, T B, T C) const {
    return Op()(Op()(A, B), C);
  }
};

template <typename Op, bool Flush> struct Around {
  template <typename... T> auto operator()(T... A) const {
    return output<Flush>(Op()(input<Flush>(A)...));
  }
};

/// The handler of an operation by type and .ftz.
template <typename Op, size_t Sources> Handler pick(Type T, bool Flush) {
  auto With = []<typename N, bool F>() -> Handler {
    using Whole = Around<Op, F>;
    if constexpr (Sources == 1)
      return lanes<Whole, N, N>;
    else if constexpr (Sources == 2)
      return lanes<Whole, N, N, N>;
    else
      return lanes<Whole, N, N, N, N>;
  };
  if (T == Type::F64)
    return With.template operator()<double, false>();
  return Flush ? With.template operator()<float, true>()
               : With.template operator()<float, false>();
}

/// Approximations of f32 alone.
template <typename Op> Handler approximate(bool Flush) {
  return Flush ? lanes<Around<Op, true>, float, float>
               : lanes<Around<Op, false>, float, float>;
}

//===----------------------------------------------------------------------===//
// Signs, saturation
//===----------------------------------------------------------------------===//

template <typename T, bool F> struct AbsOf {
  T operator()(T A) const {
    if constexpr (F)
      A = flushed(A);
    return lastNaN(output<false>(std::fabs(A)), A);
  }
};
/// The sign of a NaN stays.
template <typename T> struct Negated {
  T operator()(T A) const { return A != A ? output<false>(lastNaN(A, A)) : -A; }
};
template <typename B, B Sign> struct CopySign {
  B operator()(B From, B A) const { return (A & ~Sign) | (From & Sign); }
};

/// .sat, after the instruction's own handler, which is in Immediate.
void saturated(Warp &W, const Instruction &I, uint32_t Mask) {
  auto First = reinterpret_cast<Handler>(I.Immediate);
  First(W, I, Mask);
  float *Out = W.row<float>(I.Target[0]);
  forEachLane(Mask, [&](unsigned L) {
    float V = Out[L];
    Out[L] = V > 1 ? 1.0f : V > 0 ? V : 0.0f; // NaN gives +0
  });
}

/// f32x2: two f32 in a register of 64 bits.
template <typename Op> struct Pairwise {
  template <typename... T> uint64_t operator()(T... A) const {
    auto Part = [](uint64_t V, int H) {
      return std::bit_cast<float>(uint32_t(V >> 32 * H));
    };
    auto Low = std::bit_cast<uint32_t>(Op()(Part(A, 0)...));
    auto High = std::bit_cast<uint32_t>(Op()(Part(A, 1)...));
    return uint64_t{High} << 32 | Low;
  }
};
template <typename Op, size_t Sources> Handler pickPair(bool F) {
  auto With = []<bool Fl>() -> Handler {
    using Whole = Pairwise<Around<Op, Fl>>;
    if constexpr (Sources == 2)
      return lanes<Whole, uint64_t, uint64_t, uint64_t>;
    else
      return lanes<Whole, uint64_t, uint64_t, uint64_t, uint64_t>;
  };
  return F ? With.template operator()<true>()
           : With.template operator()<false>();
}

struct Rounded {
  const char *Opcode;
  size_t Sources;
  RoundedOperation Doing;
  Handler (*Nearest)(Type, bool);
  Handler (*Pair)(bool);
};
constexpr Rounded RoundedOnes[] = {
    {"add", 2, DoAdd, pick<Add, 2>, pickPair<Add, 2>},
    {"sub", 2, DoSub, pick<Sub, 2>, pickPair<Sub, 2>},
    {"mul", 2, DoMul, pick<Mul, 2>, pickPair<Mul, 2>},
    {"fma", 3, DoFma, pick<Fma, 3>, pickPair<Fma, 3>},
    {"mad", 3, DoFma, pick<Fma, 3>, nullptr},
    {"div", 2, DoDiv, pick<Div, 2>, nullptr},
    {"sqrt", 1, DoSqrt, pick<Sqrt, 1>, nullptr},
    {"rcp", 1, DoDiv, pick<Rcp, 1>, nullptr}};

bool sources(Decoder &D, const ptx::Statement &S, Instruction &I, unsigned Bits,
             size_t Count) {
  if (Count == 1)
    return operands(D, S, I, Bits, {Bits});
  if (Count == 2)
    return operands(D, S, I, Bits, {Bits, Bits});
  return operands(D, S, I, Bits, {Bits, Bits, Bits});
}

/// "add.f32.f16 d, a, c" and the like: the first sources are narrow.
void mixed(Warp &W, const Instruction &I, uint32_t Mask) {
  float *Out = W.row<float>(I.Target[0]);
  bool IsFma = I.Immediate == DoFma, IsBrain = I.Mode != 0;
  auto Narrow = [&](unsigned N, unsigned L) {
    uint16_t Bits = W.row<uint16_t>(I.Source[N])[L];
    return IsBrain ? brainToFloat(Bits) : halfToFloat(Bits);
  };
  const float *Last = W.row<float>(I.Source[IsFma ? 2 : 1]);
  forEachLane(Mask, [&](unsigned L) {
    float A = Narrow(0, L), C = Last[L];
    float R = IsFma                  ? std::fma(A, Narrow(1, L), C)
              : I.Immediate == DoSub ? A - C
                                     : A + C;
    Out[L] = canonical(R);
  });
}

bool decodeMixed(Decoder &D, const ptx::Statement &S, Modifiers &M,
                 Instruction &I, const Rounded &R, Type Narrow) {
  if ((Narrow != Type::F16 && Narrow != Type::BF16) || M.take("sat") ||
      (R.Doing != DoAdd && R.Doing != DoSub && R.Doing != DoFma))
    return false;
  M.take("rn");
  I.Immediate = R.Doing;
  I.Mode = Narrow == Type::BF16;
  I.Run = mixed;
  return R.Sources == 2 ? operands(D, S, I, 32, {16, 32})
                        : operands(D, S, I, 32, {16, 16, 32});
}

bool decodeRounded(Decoder &D, const ptx::Statement &S, Modifiers &M,
                   Instruction &I, Type T, const Rounded &R) {
  if (T == Type::F32)
    if (auto Second = M.takeType())
      return decodeMixed(D, S, M, I, R, *Second);
  bool Ftz = M.take("ftz"), Sat = M.take("sat");
  auto Mode = M.takeOne({"rn", "rz", "rm", "rp", "approx", "full"});
  if (!sources(D, S, I, bitsOf(T), R.Sources))
    return false;
  if (T == Type::F32x2) {
    if (!R.Pair || Sat || Mode.value_or(0) != 0)
      return false;
    I.Run = R.Pair(Ftz);
    return true;
  }
  if (Mode.value_or(0) == 0 || *Mode >= 4) {
    I.Run = R.Nearest(T, Ftz);
  } else {
    bool Wide = T == Type::F64;
    bool IsInverse = R.Opcode == std::string_view("rcp");
    I.Mode = static_cast<uint8_t>(*Mode);
    I.Immediate = R.Doing | (Ftz ? Flush : 0) | (Sat ? Saturates : 0) |
                  (IsInverse ? Inverts : 0);
    I.Run = directed(Wide);
    return !(Sat && Wide);
  }
  if (Sat) {
    if (T != Type::F32)
      return false;
    I.Immediate = reinterpret_cast<uint64_t>(I.Run);
    I.Run = saturated;
  }
  return true;
}

bool decodeExtreme(Decoder &D, const ptx::Statement &S, Modifiers &M,
                   Instruction &I, Type T) {
  bool Ftz = M.take("ftz"), NaN = M.take("NaN");
  if (T == Type::F32x2)
    return false;
  bool IsMin = S.Opcode == "min";
  if (S.Operands.size() == 4) {
    if (T != Type::F32)
      return false;
    I.Run = IsMin ? (NaN ? pick<OfThree<Min<true>>, 3>(T, Ftz)
                         : pick<OfThree<Min<false>>, 3>(T, Ftz))
                  : (NaN ? pick<OfThree<Max<true>>, 3>(T, Ftz)
                         : pick<OfThree<Max<false>>, 3>(T, Ftz));
    return sources(D, S, I, 32, 3);
  }
  I.Run =
      IsMin ? (NaN ? pick<Min<true>, 2>(T, Ftz) : pick<Min<false>, 2>(T, Ftz))
            : (NaN ? pick<Max<true>, 2>(T, Ftz) : pick<Max<false>, 2>(T, Ftz));
  return sources(D, S, I, bitsOf(T), 2);
}

bool decodeApproximation(Decoder &D, const ptx::Statement &S, Modifiers &M,
                         Instruction &I, Type T) {
  bool Ftz = M.take("ftz");
  if (!M.take("approx"))
    return false;
  if (T == Type::F64) {
    if (S.Opcode != "rsqrt" || Ftz)
      return false;
    I.Run = lanes<Rsqrt, double, double>;
  } else {
    I.Run = S.Opcode == "rsqrt" ? approximate<Rsqrt>(Ftz)
            : S.Opcode == "ex2" ? approximate<Exp2>(Ftz)
            : S.Opcode == "lg2" ? approximate<Log2>(Ftz)
            : S.Opcode == "sin" ? approximate<Sin>(Ftz)
            : S.Opcode == "cos" ? approximate<Cos>(Ftz)
                                : approximate<Tanh>(Ftz);
  }
  return sources(D, S, I, bitsOf(T), 1);
}

struct FlushedNegation {
  float operator()(float A) const { return canonical(-flushed(A)); }
};

bool decodeSign(Decoder &D, const ptx::Statement &S, Modifiers &M,
                Instruction &I, Type T) {
  constexpr uint64_t High64 = uint64_t{1} << 63;
  constexpr uint32_t High32 = 1u << 31;
  bool Wide = T == Type::F64, Ftz = M.take("ftz");
  unsigned Bits = bitsOf(T);
  if (S.Opcode == "copysign") {
    I.Run =
        Wide ? lanes<CopySign<uint64_t, High64>, uint64_t, uint64_t, uint64_t>
             : lanes<CopySign<uint32_t, High32>, uint32_t, uint32_t, uint32_t>;
    return operands(D, S, I, Bits, {Bits, Bits});
  }
  if (S.Opcode == "abs")
    I.Run = Wide  ? lanes<AbsOf<double, false>, double, double>
            : Ftz ? lanes<AbsOf<float, true>, float, float>
                  : lanes<AbsOf<float, false>, float, float>;
  else if (Ftz)
    I.Run = lanes<FlushedNegation, float, float>;
  else
    I.Run = Wide ? lanes<Negated<double>, double, double>
                 : lanes<Negated<float>, float, float>;
  return operands(D, S, I, Bits, {Bits});
}

} // namespace

bool decodeFloat(Decoder &D, const ptx::Statement &S, Modifiers &M,
                 Instruction &I, Type T) {
  for (const Rounded &R : RoundedOnes)
    if (S.Opcode == R.Opcode)
      return decodeRounded(D, S, M, I, T, R);
  if (T == Type::F32x2)
    return false;
  if (S.Opcode == "min" || S.Opcode == "max")
    return decodeExtreme(D, S, M, I, T);
  if (S.Opcode == "abs" || S.Opcode == "neg" || S.Opcode == "copysign")
    return decodeSign(D, S, M, I, T);
  if (S.Opcode == "rsqrt" || S.Opcode == "ex2" || S.Opcode == "lg2" ||
      S.Opcode == "sin" || S.Opcode == "cos" || S.Opcode == "tanh")
    return decodeApproximation(D, S, M, I, T);
  return false;
}

} // namespace kpc::emulator
