//===- TakenDims.h - Dims that an artifact does not have --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Dims of a model's inputs that were fixed, or found to equal other sizes
/// (graph.taken_dims), are not dims of the artifact. Their values are
/// properties of its provenance, so that a user may still give them. The key is
/// this prefix and the dim's name, the value an expression over the artifact's
/// dims.
///
///   dim:tokens   sequence + 1
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_TAKENDIMS_H
#define KPC_COMPILER_TAKENDIMS_H

#include <string_view>

namespace kpc {

inline constexpr std::string_view TakenDimPrefix = "dim:";

/// The prefix of keys of the model's own metadata (`metadata_props`), which are
/// properties of the provenance as well.
inline constexpr std::string_view MetadataPrefix = "metadata:";

} // namespace kpc

#endif // KPC_COMPILER_TAKENDIMS_H
