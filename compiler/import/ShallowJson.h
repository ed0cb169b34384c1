//===- ShallowJson.h - JSON of users' files ---------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The one way to read JSON that a user's file holds. LLVM's parser recurses as
/// deep as the text nests, so that a file of brackets would overflow the stack.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_SHALLOWJSON_H
#define KPC_COMPILER_IMPORT_SHALLOWJSON_H

#include "llvm/Support/JSON.h"

namespace kpc {

/// Levels that a text may nest. PyTorch's programs have about 30.
inline constexpr unsigned DeepestJson = 200;

inline bool isShallowJson(llvm::StringRef Text) {
  unsigned Depth = 0;
  bool Quoted = false;
  for (size_t I = 0; I < Text.size(); ++I) {
    char C = Text[I];
    if (Quoted) {
      I += C == '\\';
      Quoted = C != '"';
    } else if (C == '"') {
      Quoted = true;
    } else if (C == '[' || C == '{') {
      if (++Depth > DeepestJson)
        return false;
    } else if ((C == ']' || C == '}') && Depth > 0) {
      --Depth;
    }
  }
  return true;
}

/// The value of the text; an error where it is no JSON, or nests too deep.
inline llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef Text) {
  if (!isShallowJson(Text))
    return llvm::createStringError("expected JSON of at most " +
                                   llvm::Twine(DeepestJson) +
                                   " levels, got deeper text");
  return llvm::json::parse(Text);
}

} // namespace kpc

#endif // KPC_COMPILER_IMPORT_SHALLOWJSON_H
