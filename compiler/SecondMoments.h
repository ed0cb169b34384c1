//===- SecondMoments.h - How channels of operands go together ---*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The file that `kpc calibrate --second-moments` writes next to a calibration.
/// For each operand of K channels it has the means of their products, the rows
/// of the upper triangle, as little-endian f32.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_SECONDMOMENTS_H
#define KPC_COMPILER_SECONDMOMENTS_H

#include "compiler/CalibrationFile.h"

#include <map>
#include <memory>
#include <string_view>

namespace llvm {
class MemoryBuffer;
}

namespace kpc {

class SecondMoments {
public:
  SecondMoments();
  ~SecondMoments();

  /// Opens the file that the calibration at `Path` names, if it names one.
  /// False after an error, such as a file that is another one than it says.
  bool open(const CalibrationFile &File, const std::string &Path,
            Diagnostics &Diags);
  /// Those of what a node multiplies; none where there are none.
  std::optional<std::vector<float>> of(std::string_view Node) const;

private:
  struct Place {
    size_t First = 0, Count = 0; ///< numbers
  };
  std::unique_ptr<llvm::MemoryBuffer> Numbers;
  std::map<std::string, Place, std::less<>> Places;
};

} // namespace kpc

#endif // KPC_COMPILER_SECONDMOMENTS_H
