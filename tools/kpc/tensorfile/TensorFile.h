//===- TensorFile.h - Files that hold tensors -------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads .npy, .npz and ONNX tensors (.pb), by content rather than by name, and
/// writes .npy. Files are not trusted: no length in them is believed before it
/// is compared with what is there.
///
/// Types that numpy lacks are written as their bits: bf16 as uint16, the 8-bit
/// floats as uint8, types of 2 and 4 bits one element a byte. `becomes` in
/// HostTensor.h is the way back.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_TENSORFILE_TENSORFILE_H
#define KPC_TOOLS_KPC_TENSORFILE_TENSORFILE_H

#include "tools/kpc/tensorfile/HostTensor.h"

namespace kpc::tensorfile {

/// Every tensor of a file; those of a .npz have names, that of a .pb the name
/// it was saved with. On failure: none, and why in `Error` (a sentence with
/// the path in it).
std::optional<std::vector<HostTensor>> readTensors(const std::string &Path,
                                                   std::string &Error);

/// The bytes of one .npy file. `Error` says what is wrong with them.
std::optional<HostTensor> readNpy(std::span<const uint8_t> Bytes,
                                  std::string &Error);
/// Every .npy member of a zip archive.
std::optional<std::vector<HostTensor>> readNpz(std::span<const uint8_t> Bytes,
                                               std::string &Error);
/// A serialised TensorProto.
std::optional<HostTensor> readOnnxTensor(const std::string &Path,
                                         std::string &Error);

/// What goes before the elements in a .npy file of a tensor, and the elements
/// as the file has them (`Data` itself where nothing need be unpacked).
std::string npyHeader(ElementType Type, std::span<const int64_t> Dims);
std::span<const uint8_t> npyElements(ElementType Type, int64_t Count,
                                     std::span<const uint8_t> Data,
                                     std::vector<uint8_t> &Unpacked);

/// `Name` as the name of a file: `/` becomes `_`, as do control characters; a
/// name of dots alone gets a `_` in front.
std::string fileNameFor(std::string_view Name);

} // namespace kpc::tensorfile

#endif // KPC_TOOLS_KPC_TENSORFILE_TENSORFILE_H
