//===- ArtifactTable.h - The table of an artifact ---------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Contents and the places of their code and weights → the FlatBuffers table.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_ARTIFACT_ARTIFACTTABLE_H
#define KPC_CODEGEN_ARTIFACT_ARTIFACTTABLE_H

#include "codegen/artifact/OutputFile.h"
#include "runtime/format/Sha256.h"

namespace kpc::artifact {

enum class SegmentKind : uint8_t {
  HostImage = 0,
  Device = 1,
  Weights = 2,
  SharedObject = 3
};

/// A part of the file.
struct Segment {
  SegmentKind Kind;
  uint64_t Offset = 0;
  uint64_t Length = 0;
  format::DigestBytes Digest{};
};

/// A part of a segment; length 0: absent.
struct Range {
  uint32_t Segment = 0;
  uint64_t Offset = 0;
  uint64_t Length = 0;
};

struct ModulePlace {
  Range Image, Ptx;
};

/// Where in the file everything lies that is not in the table.
struct Places {
  std::vector<Segment> Segments;
  std::vector<std::vector<ModulePlace>> Modules; ///< per target, per module
  std::vector<Range> Weights;
  std::vector<Range> Libraries; ///< length 0: the loader finds it
};

/// The bytes of the table, checked by the rules that readers apply.
/// `TableOffset` is where they will lie in the file.
MaybeError buildTable(const Contents &What, const Places &Where,
                      uint64_t TableOffset, Bytes &Out);

} // namespace kpc::artifact

#endif // KPC_CODEGEN_ARTIFACT_ARTIFACTTABLE_H
