//===- CalibrationFile.h - Ranges of operands, as text ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The file that `kpc calibrate` writes and --calibration reads. It is JSON
/// with an operand on each line, so that it can be committed and compared.
/// docs/precision.md describes it.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_CALIBRATIONFILE_H
#define KPC_COMPILER_CALIBRATIONFILE_H

#include "compiler/diagnostics/Diagnostics.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kpc {

/// The operand that a GEMM or convolution multiplies with its weight.
struct CalibratedOperand {
  std::string Node; ///< that multiplies
  std::string Kind; ///< "gemm" or "conv"
  double Least = 0, Greatest = 0;
  /// The greatest magnitude that codes represent, which the method decides.
  double Range = 0;
  /// For a GEMM: each run computes a scale for each row.
  bool ScalesOfRows = false;
  /// Of each channel: the greatest magnitude, mean and root mean square.
  std::vector<float> Largest, Mean, Rms;
  /// The number in the file of second moments that its own begin with; -1: it
  /// has none.
  int64_t MomentsAt = -1;
};

/// A value inside the model that fp16 does not hold.
struct LargeValue {
  std::string Node;
  double Magnitude = 0;
};

struct CalibrationFile {
  static constexpr int Version = 1;

  std::string Model;  ///< the file's name
  std::string Digest; ///< SHA-256 of the model file, in hexadecimal
  std::string Method;
  int64_t Samples = 0;
  std::vector<CalibratedOperand> Operands;
  std::vector<LargeValue> BeyondFp16;
  /// A file in the same folder, and its SHA-256; empty if there is none.
  std::string MomentsFile, MomentsDigest;

  std::string text() const;
  /// "'a' (3e+06), 'b' (70000) and 4 more", of the values that fp16 does not
  /// hold; empty if there are none.
  std::string largeValues() const;
  /// None after an error, which names the file and what is wrong with it.
  static std::optional<CalibrationFile> read(const std::string &Path,
                                             Diagnostics &Diags);
  /// The same of a file's text.
  static std::optional<CalibrationFile> parse(const std::string &Text,
                                              std::string &Error);
};

} // namespace kpc

#endif // KPC_COMPILER_CALIBRATIONFILE_H
