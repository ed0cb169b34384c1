//===- FloatApproximations.cpp - rsqrt, ex2, lg2, sin, cos, tanh ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "Floating Point Instructions", those with .approx alone: the
// correctly rounded values, which are within the bounds that PTX gives.

#include "emulator/instructions/FloatResults.h"
#include "emulator/instructions/Lanes.h"
#include "emulator/instructions/Opcodes.h"

#include <cmath>

namespace kpc::emulator {

namespace {

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

/// Approximations of f32 alone.
template <typename Op> Handler approximate(bool Flush) {
  return Flush ? lanes<Around<Op, true>, float, float>
               : lanes<Around<Op, false>, float, float>;
}

} // namespace

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
  return operands(D, S, I, bitsOf(T), {bitsOf(T)});
}

} // namespace kpc::emulator
