//===- Error.cpp - What the runtime and the format report -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/format/Error.h"

#include <cstdarg>
#include <cstdio>

namespace kpc::format {

static std::string formatList(const char *Format, va_list Args) {
  va_list Again;
  va_copy(Again, Args);
  int Size = std::vsnprintf(nullptr, 0, Format, Args);
  std::string Text(Size < 0 ? 0 : size_t(Size), '\0');
  if (Size > 0)
    std::vsnprintf(Text.data(), Text.size() + 1, Format, Again);
  va_end(Again);
  return Text;
}

std::string formatted(const char *Format, ...) {
  va_list Args;
  va_start(Args, Format);
  std::string Text = formatList(Format, Args);
  va_end(Args);
  return Text;
}

Error failure(ErrorCode Code, const char *Format, ...) {
  va_list Args;
  va_start(Args, Format);
  Error E;
  E.Code = Code;
  E.Message = formatList(Format, Args);
  va_end(Args);
  return E;
}

} // namespace kpc::format
