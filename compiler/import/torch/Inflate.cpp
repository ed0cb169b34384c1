//===- Inflate.cpp - Deflated bytes, inflated -----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// LLVM's zlib wrapper takes streams with zlib's header and Adler checksum
/// only; a zip archive holds raw ones. Graphs are a few MB of JSON: speed does
/// not matter here.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Inflate.h"

#include <array>

namespace kpc::torch {

namespace {

constexpr unsigned LongestCode = 15;

/// A canonical prefix code.
struct PrefixCode {
  std::array<uint16_t, LongestCode + 1> Count{}; ///< codes of each length
  std::vector<uint16_t> Symbols;                 ///< by code

  /// False if there are more codes than bits can tell apart.
  bool build(std::span<const uint8_t> Lengths) {
    Count.fill(0);
    for (uint8_t L : Lengths)
      ++Count[L];
    Count[0] = 0;
    std::array<uint16_t, LongestCode + 2> Next{};
    int Left = 1;
    for (unsigned L = 1; L <= LongestCode; ++L) {
      Left = Left * 2 - Count[L];
      if (Left < 0)
        return false;
      Next[L + 1] = static_cast<uint16_t>(Next[L] + Count[L]);
    }
    Symbols.assign(Lengths.size(), 0);
    for (size_t I = 0; I < Lengths.size(); ++I)
      if (Lengths[I])
        Symbols[Next[Lengths[I]]++] = static_cast<uint16_t>(I);
    return true;
  }
};

class Inflater {
public:
  Inflater(std::span<const uint8_t> In, uint64_t Size,
           std::vector<uint8_t> &Out)
      : In(In), Size(Size), Out(Out) {}

  bool run() {
    bool Last = false;
    while (!Last && Good) {
      Last = bits(1) != 0;
      switch (bits(2)) {
      case 0:
        stored();
        break;
      case 1:
        fixed();
        break;
      case 2:
        dynamic();
        break;
      default:
        Good = false;
      }
    }
    return Good && Out.size() == Size;
  }

private:
  unsigned bits(unsigned Count) {
    while (Held < Count) {
      if (At >= In.size()) {
        Good = false;
        return 0;
      }
      Buffer |= static_cast<uint32_t>(In[At++]) << Held;
      Held += 8;
    }
    unsigned V = Buffer & ((1U << Count) - 1);
    Buffer >>= Count;
    Held -= Count;
    return V;
  }

  void put(uint8_t Byte) {
    if (Out.size() >= Size)
      Good = false;
    else
      Out.push_back(Byte);
  }

  /// Codes come with their first bit lowest.
  unsigned symbol(const PrefixCode &Code) {
    unsigned Value = 0, First = 0, Index = 0;
    for (unsigned L = 1; L <= LongestCode && Good; ++L) {
      Value |= bits(1);
      if (Value < First + Code.Count[L])
        return Code.Symbols[Index + (Value - First)];
      Index += Code.Count[L];
      First = (First + Code.Count[L]) << 1;
      Value <<= 1;
    }
    Good = false;
    return 0;
  }

  void stored() {
    Buffer = 0;
    Held = 0;
    unsigned Length = bits(16);
    if (bits(16) != (Length ^ 0xffffU) || Length > In.size() - At)
      Good = false;
    for (unsigned I = 0; I < Length && Good; ++I)
      put(In[At++]);
  }

  void fixed() {
    std::array<uint8_t, 288> Lengths{};
    for (unsigned I = 0; I < 288; ++I)
      Lengths[I] = I < 144 ? 8 : I < 256 ? 9 : I < 280 ? 7 : 8;
    std::array<uint8_t, 30> Distances{};
    Distances.fill(5);
    PrefixCode Literal, Distance;
    Good &= Literal.build(Lengths) && Distance.build(Distances);
    codes(Literal, Distance);
  }

  void dynamic() {
    // RFC 1951, 3.2.7: the order in which lengths of code lengths come.
    static constexpr uint8_t Order[19] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                          11, 4,  12, 3, 13, 2, 14, 1, 15};
    unsigned Literals = bits(5) + 257, Distances = bits(5) + 1,
             Meta = bits(4) + 4;
    std::array<uint8_t, 19> MetaLengths{};
    for (unsigned I = 0; I < Meta; ++I)
      MetaLengths[Order[I]] = static_cast<uint8_t>(bits(3));
    PrefixCode MetaCode;
    if (!Good || Literals > 286 || Distances > 30 ||
        !MetaCode.build(MetaLengths)) {
      Good = false;
      return;
    }
    std::vector<uint8_t> Lengths;
    while (Lengths.size() < Literals + Distances && Good) {
      unsigned S = symbol(MetaCode);
      if (S < 16) {
        Lengths.push_back(static_cast<uint8_t>(S));
        continue;
      }
      if (S == 16 && Lengths.empty()) {
        Good = false;
        return;
      }
      uint8_t Value = S == 16 ? Lengths.back() : 0;
      unsigned Times = S == 16   ? 3 + bits(2)
                       : S == 17 ? 3 + bits(3)
                                 : 11 + bits(7);
      Lengths.insert(Lengths.end(), Times, Value);
    }
    if (!Good || Lengths.size() != Literals + Distances) {
      Good = false;
      return;
    }
    PrefixCode Literal, Distance;
    std::span<const uint8_t> All(Lengths);
    Good &= Literal.build(All.first(Literals)) &&
            Distance.build(All.subspan(Literals));
    codes(Literal, Distance);
  }

  void codes(const PrefixCode &Literal, const PrefixCode &Distance) {
    static constexpr uint16_t LengthBase[29] = {
        3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
        31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static constexpr uint8_t LengthBits[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1,
                                               1, 1, 2, 2, 2, 2, 3, 3, 3, 3,
                                               4, 4, 4, 4, 5, 5, 5, 5, 0};
    static constexpr uint16_t FarBase[30] = {
        1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
        33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
        1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    while (Good) {
      unsigned S = symbol(Literal);
      if (!Good || S == 256)
        return;
      if (S < 256) {
        put(static_cast<uint8_t>(S));
        continue;
      }
      if (S > 285) {
        Good = false;
        return;
      }
      unsigned Length = LengthBase[S - 257] + bits(LengthBits[S - 257]);
      unsigned F = symbol(Distance);
      if (!Good || F > 29) {
        Good = false;
        return;
      }
      size_t Far = FarBase[F] + bits(F < 2 ? 0 : F / 2 - 1);
      if (!Good || Far > Out.size()) {
        Good = false;
        return;
      }
      for (unsigned I = 0; I < Length && Good; ++I)
        put(Out[Out.size() - Far]);
    }
  }

  std::span<const uint8_t> In;
  uint64_t Size;
  std::vector<uint8_t> &Out;
  size_t At = 0;
  uint32_t Buffer = 0;
  unsigned Held = 0;
  bool Good = true;
};

} // namespace

bool inflate(std::span<const uint8_t> Packed, uint64_t Size,
             std::vector<uint8_t> &Out) {
  Out.clear();
  // Deflate packs at most 1032 to 1: more is a lie.
  if (Size > Packed.size() * 1032 + 1032)
    return false;
  Out.reserve(Size);
  return Inflater(Packed, Size, Out).run();
}

} // namespace kpc::torch
