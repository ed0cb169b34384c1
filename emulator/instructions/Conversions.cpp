//===- Conversions.cpp - cvt ----------------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "Data Movement and Conversion Instructions: cvt". A value goes
// through an integer of 64 bits or a double, which hold every source exactly.

#include "emulator/instructions/Lanes.h"
#include "emulator/instructions/Opcodes.h"
#include "emulator/numbers/Formats.h"

#include <algorithm>
#include <cmath>

namespace kpc::emulator {

namespace {

/// Instruction::Mode, and more in Immediate.
struct Plan {
  Type From = Type::B32, To = Type::B32;
  uint8_t FromBytes = 4, ToBytes = 4; ///< of the registers
  Rounding Mode = Rounding::Nearest;
  bool RoundsToInteger = false, TiesAway = false;
  bool Saturate = false, SaturateFinite = false, Flush = false, Relu = false;

  uint64_t packed() const {
    return uint64_t(From) | uint64_t(To) << 8 | uint64_t{FromBytes} << 16 |
           uint64_t{ToBytes} << 24 | uint64_t(Mode) << 32 |
           uint64_t{RoundsToInteger} << 36 | uint64_t{TiesAway} << 37 |
           uint64_t{Saturate} << 38 | uint64_t{SaturateFinite} << 39 |
           uint64_t{Flush} << 40 | uint64_t{Relu} << 41;
  }
  static Plan of(uint64_t Bits) {
    auto Flag = [&](int At) { return (Bits >> At & 1) != 0; };
    Plan P;
    P.From = Type(Bits & 0xFF);
    P.To = Type(Bits >> 8 & 0xFF);
    P.FromBytes = uint8_t(Bits >> 16);
    P.ToBytes = uint8_t(Bits >> 24);
    P.Mode = Rounding(Bits >> 32 & 15);
    P.RoundsToInteger = Flag(36);
    P.TiesAway = Flag(37);
    P.Saturate = Flag(38);
    P.SaturateFinite = Flag(39);
    P.Flush = Flag(40);
    P.Relu = Flag(41);
    return P;
  }
};

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// The type's bits of a register, extended to 64.
uint64_t integerIn(const Plan &P, uint64_t Raw) {
  unsigned Bits = bitsOf(P.From);
  if (Bits == 64)
    return Raw;
  Raw &= (uint64_t{1} << Bits) - 1;
  if (isSigned(P.From) && (Raw >> (Bits - 1)))
    Raw |= ~uint64_t{0} << Bits;
  return Raw;
}

/// Into a register that may be wider than the type: extended by its sign.
uint64_t integerOut(const Plan &P, uint64_t Value) {
  Plan Back = P;
  Back.From = P.To;
  return integerIn(Back, Value);
}

uint64_t largest(Type T) {
  unsigned Bits = bitsOf(T) - (isSigned(T) ? 1 : 0);
  return Bits == 64 ? ~uint64_t{0} : (uint64_t{1} << Bits) - 1;
}

uint64_t integerToInteger(const Plan &P, uint64_t Value) {
  if (P.Saturate) {
    bool Negative = isSigned(P.From) && int64_t(Value) < 0;
    if (Negative) {
      int64_t Least = isSigned(P.To) ? -int64_t(largest(P.To)) - 1 : 0;
      Value = uint64_t(std::max(int64_t(Value), Least));
    } else {
      Value = std::min(Value, largest(P.To));
    }
  }
  return integerOut(P, Value);
}

double toWhole(double Value, Rounding Mode) {
  switch (Mode) {
  case Rounding::Nearest:
    return std::nearbyint(Value);
  case Rounding::Zero:
    return std::trunc(Value);
  case Rounding::Down:
    return std::floor(Value);
  case Rounding::Up:
    return std::ceil(Value);
  }
  return Value;
}

uint64_t floatToInteger(const Plan &P, double Value) {
  unsigned Bits = bitsOf(P.To);
  if (std::isnan(Value)) {
    bool Wide = P.From == Type::F64 || Bits == 64;
    return Wide ? integerOut(P, uint64_t{1} << (Bits - 1)) : 0;
  }
  double Whole = toWhole(Value, P.Mode);
  if (isSigned(P.To)) {
    double Limit = std::ldexp(1.0, int(Bits) - 1);
    if (Whole >= Limit)
      return integerOut(P, largest(P.To));
    if (Whole < -Limit)
      return integerOut(P, uint64_t{1} << (Bits - 1));
    return integerOut(P, uint64_t(int64_t(Whole)));
  }
  if (Whole >= std::ldexp(1.0, int(Bits)))
    return largest(P.To);
  return Whole <= 0 ? 0 : uint64_t(Whole);
}

/// As a double that rounds to any narrower format as the integer does.
double integerToOdd(uint64_t Value, bool Signed) {
  bool Negative = Signed && int64_t(Value) < 0;
  uint64_t Magnitude = Negative ? -Value : Value;
  int Extra = std::max(0, 11 - std::countl_zero(Magnitude));
  uint64_t Lost = Magnitude & ((uint64_t{1} << Extra) - 1);
  uint64_t Kept = Magnitude >> Extra;
  if (Lost)
    Kept |= 1;
  double Out = std::ldexp(double(Kept), Extra);
  return Negative ? -Out : Out;
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

double floatIn(const Plan &P, uint64_t Raw) {
  switch (P.From) {
  case Type::F64:
    return std::bit_cast<double>(Raw);
  case Type::F16:
    return halfToFloat(uint16_t(Raw));
  case Type::BF16:
    return brainToFloat(uint16_t(Raw));
  default: {
    auto V = std::bit_cast<float>(uint32_t(Raw));
    return P.Flush ? flushed(V) : V;
  }
  }
}

/// Round to nearest, ties away: only cvt.rna.tf32.
uint32_t toTf32(const Plan &P, double Value) {
  auto Bits = std::bit_cast<uint32_t>(float(Value));
  if (std::isinf(Value))
    return Bits;
  if (P.TiesAway) {
    Bits += 0x1000;
  } else if (P.Mode == Rounding::Nearest) {
    Bits += 0xFFF + (Bits >> 13 & 1);
  }
  Bits &= ~uint32_t{0x1FFF};
  if (P.SaturateFinite && (Bits & 0x7FFFFFFF) >= 0x7F800000)
    Bits = (Bits & 0x80000000) | 0x7F7FE000;
  return Bits;
}

uint64_t floatOut(const Plan &P, double Value) {
  if (P.Relu && (Value < 0 || (Value == 0 && std::signbit(Value))))
    Value = 0;
  if (P.Saturate)
    Value = Value > 1 ? 1 : Value > 0 ? Value : 0;
  switch (P.To) {
  case Type::F64:
    return std::bit_cast<uint64_t>(Value);
  case Type::F16:
    return encode(Value, Half, P.Mode, P.SaturateFinite);
  case Type::BF16:
    return encode(Value, Brain, P.Mode, P.SaturateFinite);
  case Type::TF32:
    return toTf32(P, Value);
  default: {
    uint32_t Bits = encode(Value, Single, P.Mode, P.SaturateFinite);
    return P.Flush
               ? std::bit_cast<uint32_t>(flushed(std::bit_cast<float>(Bits)))
               : Bits;
  }
  }
}

/// An f64's NaN as f32 or f16: quiet, with the upper bits that it had.
std::optional<uint64_t> narrowedNaN(const Plan &P, uint64_t Raw) {
  uint64_t Sign = Raw >> 63, Payload = Raw & ((uint64_t{1} << 52) - 1);
  if (P.To == Type::F32)
    return Sign << 31 | 0x7FC00000 | Payload >> 29;
  if (P.To == Type::F16)
    return Sign << 15 | 0x7E00 | Payload >> 42;
  return std::nullopt;
}

uint64_t converted(const Plan &P, uint64_t Raw) {
  bool FromFloat = isFloat(P.From), ToFloat = isFloat(P.To);
  if (!FromFloat && !ToFloat)
    return integerToInteger(P, integerIn(P, Raw));
  if (!FromFloat) {
    uint64_t Value = integerIn(P, Raw);
    if (P.To == Type::F64)
      return std::bit_cast<uint64_t>(isSigned(P.From) ? double(int64_t(Value))
                                                      : double(Value));
    return floatOut(P, integerToOdd(Value, isSigned(P.From)));
  }
  if (P.From == Type::BF16 && P.To == Type::F32 && !P.RoundsToInteger &&
      !P.Relu && !P.Saturate)
    return uint64_t(Raw & 0xFFFF) << 16; // NaN as it is
  double Value = floatIn(P, Raw);
  if (P.To == Type::TF32 && std::isnan(Value))
    return P.TiesAway ? Raw & 0xFFFFE000 : 0x7FFFE000;
  if (P.From == Type::F64 && std::isnan(Value) && !P.Saturate)
    if (auto Bits = narrowedNaN(P, Raw))
      return *Bits;
  if (!ToFloat)
    return floatToInteger(P, Value);
  if (P.RoundsToInteger) {
    Plan Nearest = P;
    Nearest.Mode = Rounding::Nearest;
    return floatOut(Nearest, toWhole(Value, P.Mode));
  }
  return floatOut(P, Value);
}

void convert(Warp &W, const Instruction &I, uint32_t Mask) {
  Plan P = Plan::of(I.Immediate);
  forEachLane(Mask, [&](unsigned L) {
    uint64_t Raw = loadLane(W, I.Source[0], P.FromBytes, L);
    storeLane(W, I.Target[0], P.ToBytes, L, converted(P, Raw));
  });
}

void halvesToSingles(Warp &W, const Instruction &I, uint32_t Mask) {
  const uint16_t *In = W.row<uint16_t>(I.Source[0]);
  float *Out = W.row<float>(I.Target[0]);
  forEachLane(Mask,
              [&](unsigned L) { Out[L] = canonical(halfToFloat(In[L])); });
}
void widen(Warp &W, const Instruction &I, uint32_t Mask) {
  const uint32_t *In = W.row<uint32_t>(I.Source[0]);
  uint64_t *Out = W.row<uint64_t>(I.Target[0]);
  forEachLane(Mask, [&](unsigned L) { Out[L] = In[L]; });
}

//===----------------------------------------------------------------------===//
// Two in a register: the first source is the high one
//===----------------------------------------------------------------------===//

const Format *formatOf(Type T) {
  switch (T) {
  case Type::F16x2:
    return &Half;
  case Type::BF16x2:
    return &Brain;
  case Type::E4M3x2:
    return &E4M3;
  case Type::E5M2x2:
    return &E5M2;
  case Type::E2M3x2:
    return &E2M3;
  case Type::E3M2x2:
    return &E3M2;
  case Type::E2M1x2:
    return &E2M1;
  default:
    return nullptr;
  }
}
/// Bits from one element to the next.
unsigned pitchOf(Type T) {
  return T == Type::E2M1x2 ? 4 : T == Type::F16x2 || T == Type::BF16x2 ? 16 : 8;
}

uint32_t encodeOne(const Plan &P, double Value) {
  if (P.Relu && Value <= 0)
    Value = 0;
  if (P.To == Type::UE8M0x2)
    return encodePower(Value, P.Mode == Rounding::Up, P.SaturateFinite);
  return encode(Value, *formatOf(P.To), P.Mode, P.SaturateFinite);
}

/// From two f32, or from the halves of one register.
void convertToPair(Warp &W, const Instruction &I, uint32_t Mask) {
  Plan P = Plan::of(I.Immediate);
  unsigned Pitch = pitchOf(P.To);
  forEachLane(Mask, [&](unsigned L) {
    double High = 0, Low = 0;
    if (P.From == Type::F32) {
      High = W.row<float>(I.Source[0])[L];
      Low = W.row<float>(I.Source[1])[L];
    } else {
      uint32_t Both = W.row<uint32_t>(I.Source[0])[L];
      High = decode(Both >> 16, *formatOf(P.From));
      Low = decode(Both & 0xFFFF, *formatOf(P.From));
    }
    storeLane(W, I.Target[0], P.ToBytes, L,
              encodeOne(P, High) << Pitch | encodeOne(P, Low));
  });
}

void convertFromPair(Warp &W, const Instruction &I, uint32_t Mask) {
  Plan P = Plan::of(I.Immediate);
  unsigned Pitch = pitchOf(P.From);
  forEachLane(Mask, [&](unsigned L) {
    uint64_t Raw = loadLane(W, I.Source[0], P.FromBytes, L);
    auto One = [&](uint32_t Bits) {
      double V = P.From == Type::UE8M0x2 ? decodePower(uint8_t(Bits))
                                         : decode(Bits, *formatOf(P.From));
      if (P.Relu && V <= 0)
        V = 0;
      return encode(V, *formatOf(P.To), Rounding::Nearest, false);
    };
    uint32_t Field = (1u << Pitch) - 1;
    W.row<uint32_t>(I.Target[0])[L] =
        One(uint32_t(Raw >> Pitch) & Field) << 16 | One(uint32_t(Raw) & Field);
  });
}

bool isPair(Type T) { return formatOf(T) || T == Type::UE8M0x2; }

bool decodePair(Decoder &D, const ptx::Statement &S, Instruction &I, Plan P) {
  bool Wide = P.To == Type::F16x2 || P.To == Type::BF16x2;
  if (P.From == Type::F32) {
    I.Run = convertToPair;
    bool Needs = !Wide && P.To != Type::UE8M0x2;
    if (Needs && !P.SaturateFinite)
      return D.fail("needs .satfinite");
    if (!operands(D, S, I, bitsOf(P.To), {32, 32}))
      return false;
  } else if (isPair(P.From) && isPair(P.To)) {
    bool FromWide = P.From == Type::F16x2 || P.From == Type::BF16x2;
    if (FromWide == Wide)
      return false;
    I.Run = Wide ? convertFromPair : convertToPair;
    if (!operands(D, S, I, bitsOf(P.To), {bitsOf(P.From)}))
      return false;
  } else {
    return false;
  }
  P.FromBytes = uint8_t(bitsOf(P.From) / 8);
  P.ToBytes = uint8_t(bitsOf(P.To) / 8);
  I.Immediate = P.packed();
  return true;
}

bool decodeConvert(Decoder &D, const ptx::Statement &S, Modifiers &M,
                   Instruction &I) {
  Plan P;
  if (auto R = M.takeOne({"rn", "rz", "rm", "rp"}))
    P.Mode = Rounding(*R);
  if (auto R = M.takeOne({"rni", "rzi", "rmi", "rpi"})) {
    P.Mode = Rounding(*R);
    P.RoundsToInteger = true;
  }
  P.TiesAway = M.take("rna");
  P.Saturate = M.take("sat");
  P.SaturateFinite = M.take("satfinite");
  P.Flush = M.take("ftz");
  P.Relu = M.take("relu");
  auto To = M.takeType(), From = M.takeType();
  if (!To || !From || S.Operands.size() < 2)
    return false;
  P.To = *To;
  P.From = *From;
  if (isPair(*To) || isPair(*From))
    return decodePair(D, S, I, P);
  if (P.TiesAway && P.To != Type::TF32)
    return false;
  if (P.To == Type::F64 && !isFloat(P.From) && P.Mode != Rounding::Nearest)
    return false;
  // Registers may be wider than the types.
  auto Width = [&](const ptx::Operand &O, Type T) {
    return std::max(D.registerBits(O), std::max(bitsOf(T), 16u));
  };
  unsigned ToBits = Width(S.Operands[0], *To),
           FromBits = Width(S.Operands[1], *From);
  if (ToBits > 64 || FromBits > 64 || !operands(D, S, I, ToBits, {FromBits}))
    return false;
  P.ToBytes = uint8_t(ToBits / 8);
  P.FromBytes = uint8_t(FromBits / 8);
  I.Immediate = P.packed();
  I.Run = convert;
  if (P.To == Type::F32 && P.From == Type::F16 && S.Modifiers.size() == 2 &&
      P.ToBytes == 4 && P.FromBytes == 2)
    I.Run = halvesToSingles;
  if (P.To == Type::U64 && P.From == Type::U32 && S.Modifiers.size() == 2 &&
      P.ToBytes == 8 && P.FromBytes == 4)
    I.Run = widen;
  return true;
}

} // namespace

void addConversions(OpcodeTable &Table) {
  Table["cvt"] = {decodeConvert, OperandTypes::Converted};
}

} // namespace kpc::emulator
