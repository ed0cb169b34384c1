//===- Sha256.cpp - SHA-256 -----------------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/format/Sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace kpc::format {

namespace {

// FIPS 180-4, 4.2.2: the first 32 bits of the fractional parts of the cube
// roots of the first 64 primes.
alignas(16) constexpr uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t loadBigEndian(const uint8_t *P) {
  return uint32_t(P[0]) << 24 | uint32_t(P[1]) << 16 | uint32_t(P[2]) << 8 |
         P[3];
}

void compressPortable(uint32_t State[8], const uint8_t *Blocks, size_t Count) {
  for (; Count; --Count, Blocks += 64) {
    uint32_t W[64];
    for (size_t I = 0; I < 16; ++I)
      W[I] = loadBigEndian(Blocks + 4 * I);
    for (int I = 16; I < 64; ++I) {
      uint32_t S0 =
          std::rotr(W[I - 15], 7) ^ std::rotr(W[I - 15], 18) ^ (W[I - 15] >> 3);
      uint32_t S1 =
          std::rotr(W[I - 2], 17) ^ std::rotr(W[I - 2], 19) ^ (W[I - 2] >> 10);
      W[I] = W[I - 16] + S0 + W[I - 7] + S1;
    }
    uint32_t A = State[0], B = State[1], C = State[2], D = State[3];
    uint32_t E = State[4], F = State[5], G = State[6], H = State[7];
    for (int I = 0; I < 64; ++I) {
      uint32_t S1 = std::rotr(E, 6) ^ std::rotr(E, 11) ^ std::rotr(E, 25);
      uint32_t T1 = H + S1 + ((E & F) ^ (~E & G)) + K[I] + W[I];
      uint32_t S0 = std::rotr(A, 2) ^ std::rotr(A, 13) ^ std::rotr(A, 22);
      uint32_t T2 = S0 + ((A & B) ^ (A & C) ^ (B & C));
      H = G, G = F, F = E, E = D + T1, D = C, C = B, B = A, A = T1 + T2;
    }
    State[0] += A, State[1] += B, State[2] += C, State[3] += D;
    State[4] += E, State[5] += F, State[6] += G, State[7] += H;
  }
}

#if defined(__x86_64__)
// The SHA extensions keep the state as two vectors, ABEF and CDGH; one
// sha256rnds2 does two rounds. Four message vectors rotate through the 16
// groups of four rounds.
__attribute__((target("sha,sse4.1,ssse3"))) void
compressShaNi(uint32_t State[8], const uint8_t *Blocks, size_t Count) {
  const __m128i Swap =
      _mm_set_epi64x(0x0c0d0e0f08090a0bULL, 0x0405060700010203ULL);
  __m128i T = _mm_shuffle_epi32(
      _mm_loadu_si128(reinterpret_cast<const __m128i *>(State)), 0xB1);
  __m128i S1 = _mm_shuffle_epi32(
      _mm_loadu_si128(reinterpret_cast<const __m128i *>(State + 4)), 0x1B);
  __m128i S0 = _mm_alignr_epi8(T, S1, 8);
  S1 = _mm_blend_epi16(S1, T, 0xF0);
  for (; Count; --Count, Blocks += 64) {
    __m128i Saved0 = S0, Saved1 = S1;
    __m128i M[4];
    for (int I = 0; I < 4; ++I)
      M[I] = _mm_shuffle_epi8(
          _mm_loadu_si128(reinterpret_cast<const __m128i *>(Blocks) + I), Swap);
    for (int Group = 0; Group < 16; ++Group) {
      __m128i Now = M[Group & 3];
      __m128i WK = _mm_add_epi32(
          Now, _mm_load_si128(reinterpret_cast<const __m128i *>(K) + Group));
      S1 = _mm_sha256rnds2_epu32(S1, S0, WK);
      S0 = _mm_sha256rnds2_epu32(S0, S1, _mm_shuffle_epi32(WK, 0x0E));
      if (Group >= 12)
        continue;
      // W[t+16] from W[t], W[t+1], W[t+9], W[t+14].
      const __m128i &Next = M[(Group + 1) & 3];
      const __m128i &Third = M[(Group + 2) & 3];
      const __m128i &Last = M[(Group + 3) & 3];
      __m128i Sum = _mm_add_epi32(_mm_sha256msg1_epu32(Now, Next),
                                  _mm_alignr_epi8(Last, Third, 4));
      M[Group & 3] = _mm_sha256msg2_epu32(Sum, Last);
    }
    S0 = _mm_add_epi32(S0, Saved0);
    S1 = _mm_add_epi32(S1, Saved1);
  }
  T = _mm_shuffle_epi32(S0, 0x1B);
  S1 = _mm_shuffle_epi32(S1, 0xB1);
  S0 = _mm_blend_epi16(T, S1, 0xF0);
  S1 = _mm_alignr_epi8(S1, T, 8);
  _mm_storeu_si128(reinterpret_cast<__m128i *>(State), S0);
  _mm_storeu_si128(reinterpret_cast<__m128i *>(State + 4), S1);
}

bool hasShaNi() {
  unsigned A, B, C, D;
  if (!__get_cpuid(1, &A, &B, &C, &D) || !(C & bit_SSE4_1) || !(C & bit_SSSE3))
    return false;
  return __get_cpuid_count(7, 0, &A, &B, &C, &D) && (B & (1u << 29));
}
#endif

} // namespace

Sha256::Sha256(bool Portable)
    : TheCompress(compressPortable),
      State{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {
#if defined(__x86_64__)
  if (!Portable && hasShaNi())
    TheCompress = compressShaNi;
#endif
}

void Sha256::update(const void *Data, size_t Size) {
  if (Size == 0)
    return;
  const uint8_t *Bytes = static_cast<const uint8_t *>(Data);
  Total += Size;
  if (PendingSize) {
    size_t Part = std::min(Size, sizeof Pending - PendingSize);
    std::memcpy(Pending + PendingSize, Bytes, Part);
    PendingSize += Part, Bytes += Part, Size -= Part;
    if (PendingSize < sizeof Pending)
      return;
    TheCompress(State, Pending, 1);
    PendingSize = 0;
  }
  TheCompress(State, Bytes, Size / 64);
  Bytes += Size / 64 * 64;
  PendingSize = Size % 64;
  std::memcpy(Pending, Bytes, PendingSize);
}

DigestBytes Sha256::finish() {
  uint64_t Bits = Total * 8;
  uint8_t Tail[72] = {0x80};
  size_t Zeros = (119 - PendingSize) % 64; // so that the length ends a block
  for (int I = 0; I < 8; ++I)
    Tail[1 + Zeros + I] = uint8_t(Bits >> (56 - 8 * I));
  update(Tail, 1 + Zeros + 8);
  DigestBytes Out;
  for (int I = 0; I < 8; ++I)
    for (int J = 0; J < 4; ++J)
      Out[4 * I + J] = uint8_t(State[I] >> (24 - 8 * J));
  return Out;
}

DigestBytes Sha256::of(const void *Data, size_t Size) {
  Sha256 Hash;
  Hash.update(Data, Size);
  return Hash.finish();
}

std::array<char, 65> toHex(const DigestBytes &Digest) {
  std::array<char, 65> Text{};
  for (size_t I = 0; I < Digest.size(); ++I) {
    Text[2 * I] = "0123456789abcdef"[Digest[I] >> 4];
    Text[2 * I + 1] = "0123456789abcdef"[Digest[I] & 15];
  }
  return Text;
}

} // namespace kpc::format
