//===- SecondMoments.cpp - How channels of operands go together -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/SecondMoments.h"
#include "runtime/format/Sha256.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstring>
#include <filesystem>

using namespace kpc;

SecondMoments::SecondMoments() = default;
SecondMoments::~SecondMoments() = default;

bool SecondMoments::open(const CalibrationFile &File, const std::string &Path,
                         Diagnostics &Diags) {
  if (File.MomentsFile.empty())
    return true;
  // A name, not a path: the two lie side by side.
  std::filesystem::path Name(File.MomentsFile);
  std::string Beside =
      (std::filesystem::path(Path).parent_path() / Name.filename()).string();
  auto Fail = [&](const std::string &Why) {
    Diags.error(Code::CalibrationFile)
        .message("cannot take '" + printable(Beside) +
                 "' as the second moments of '" + printable(Path) + "': " + Why)
        .hint("put the file that kpc calibrate --second-moments wrote beside "
              "the calibration, calibrate again, or give "
              "--no-round-by-feedback");
    return false;
  };
  auto Buffer = llvm::MemoryBuffer::getFile(Beside, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!Buffer)
    return Fail(Buffer.getError().message());
  Numbers = std::move(*Buffer);
  format::Sha256 Hash;
  Hash.update(Numbers->getBufferStart(), Numbers->getBufferSize());
  std::string Digest = format::toHex(Hash.finish()).data();
  if (Digest != File.MomentsDigest)
    return Fail("expected the SHA-256 " +
                printable(File.MomentsDigest.substr(0, 12)) + "…, got " +
                Digest.substr(0, 12) + "…");
  size_t All = Numbers->getBufferSize() / sizeof(float);
  for (const CalibratedOperand &Of : File.Operands) {
    if (Of.MomentsAt < 0)
      continue;
    auto First = static_cast<size_t>(Of.MomentsAt);
    size_t K = Of.Rms.size(), Count = K * (K + 1) / 2;
    if (First > All || Count > All - First)
      return Fail("those of '" + printable(Of.Node) +
                  "' end after its last byte");
    Places[Of.Node] = {First, Count};
  }
  return true;
}

std::optional<std::vector<float>>
SecondMoments::of(std::string_view Node) const {
  auto It = Places.find(Node);
  if (It == Places.end())
    return std::nullopt;
  std::vector<float> Found(It->second.Count);
  std::memcpy(Found.data(),
              Numbers->getBufferStart() + It->second.First * sizeof(float),
              Found.size() * sizeof(float));
  return Found;
}
