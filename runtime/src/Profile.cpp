//===- Profile.cpp - How long each step of a run took ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/Profile.h"
#include "runtime/src/Errors.h"

#include <cinttypes>

namespace kpc::rt {

// Length of the UTF-8 sequence at Text[I], 0 if it is not one (overlong forms
// and surrogates are let through: readers replace them).
static size_t sequenceLength(const std::string &Text, size_t I) {
  uint8_t Lead = uint8_t(Text[I]);
  size_t Length = Lead < 0x80           ? 1
                  : (Lead >> 5) == 0x6  ? 2
                  : (Lead >> 4) == 0xe  ? 3
                  : (Lead >> 3) == 0x1e ? 4
                                        : 0;
  if (I + Length > Text.size())
    return 0;
  for (size_t J = 1; J < Length; ++J)
    if ((uint8_t(Text[I + J]) & 0xc0) != 0x80)
      return 0;
  return Length;
}

std::string jsonEscaped(const std::string &Text) {
  std::string Out;
  for (size_t I = 0; I < Text.size();) {
    size_t Length = sequenceLength(Text, I);
    char C = Text[I];
    if (Length == 0)
      Out += '?';
    else if (C == '"' || C == '\\')
      (Out += '\\') += C;
    else if (uint8_t(C) < ' ')
      Out += formatted("\\u%04x", C);
    else
      Out.append(Text, I, Length);
    I += Length ? Length : 1;
  }
  return Out;
}

void Profile::finish() {
  Trace = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  Trace += "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":0,\"tid\":0,"
           "\"args\":{\"name\":\"" +
           jsonEscaped(Track) + "\"}}";
  for (ProfileStep &S : Steps) {
    for (int64_t *Each :
         {&S.Facts.bytes_read, &S.Facts.bytes_written, &S.Facts.flops})
      if (*Each > 0 && __builtin_mul_overflow(*Each, S.Runs, Each))
        *Each = INT64_MAX;
    S.Facts.name = S.Name.c_str();
    S.Facts.symbol = S.Symbol.c_str();
    S.Facts.nodes = S.Nodes.c_str();
    Trace += ",\n{\"name\":\"" + jsonEscaped(S.Name) +
             "\",\"cat\":\"kernel\",\"ph\":\"X\",\"pid\":0,\"tid\":0";
    Trace += formatted(",\"ts\":%.3f,\"dur\":%.3f", S.Facts.start_us,
                       S.Facts.duration_us);
    Trace += formatted(",\"args\":{\"step\":%d,\"bytes_read\":%" PRId64
                       ",\"bytes_written\":%" PRId64 ",\"flops\":%" PRId64
                       ",\"work\":%" PRId64,
                       S.Facts.step, S.Facts.bytes_read, S.Facts.bytes_written,
                       S.Facts.flops, S.Facts.work);
    Trace += ",\"symbol\":\"" + jsonEscaped(S.Symbol) + "\",\"nodes\":\"" +
             jsonEscaped(S.Nodes) + "\"}}";
  }
  Trace += "\n]}\n";
}

} // namespace kpc::rt
