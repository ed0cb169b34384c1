//===- ReadTensors.cpp - Finds out what a file of tensors is --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/model/MappedFile.h"
#include "compiler/import/onnx/model/Reader.h"
#include "tools/kpc/tensorfile/TensorFile.h"

#include <cstring>

namespace kpc::tensorfile {

std::optional<HostTensor> readOnnxTensor(const std::string &Path,
                                         std::string &Error) {
  Diagnostics Diags;
  std::optional<onnx::Tensor> Read = onnx::readTensorFile(Path, Diags);
  if (!Read) {
    Error = Diags.empty() ? "the file '" + printable(Path) + "' cannot be read"
                          : Diags.all().front().Message;
    return std::nullopt;
  }
  if (!Read->Strings.empty() || Read->Type == onnx::ElementType::String) {
    Error = "'" + printable(Path) + "' holds text, not numbers";
    return std::nullopt;
  }
  std::optional<HostTensor> T =
      makeTensor(Read->Name, static_cast<ElementType>(Read->Type), Read->Dims);
  if (!T || T->Data.size() != Read->Bytes.size()) {
    Error = "'" + printable(Path) + "' holds no tensor that kpc can use";
    return std::nullopt;
  }
  std::memcpy(T->Data.data(), Read->Bytes.data(), Read->Bytes.size());
  return T;
}

std::optional<std::vector<HostTensor>> readTensors(const std::string &Path,
                                                   std::string &Error) {
  std::string Why;
  std::shared_ptr<const onnx::MappedFile> File =
      onnx::MappedFile::open(Path, Why);
  if (!File) {
    Error = "cannot read '" + printable(Path) + "': " + Why;
    return std::nullopt;
  }
  std::span<const uint8_t> Bytes = File->bytes();
  std::string_view Start(reinterpret_cast<const char *>(Bytes.data()),
                         std::min<size_t>(Bytes.size(), 6));
  bool Npy = Start.starts_with("\x93NUMPY") || Path.ends_with(".npy");
  bool Zip = Start.starts_with("PK\x03\x04") ||
             Start.starts_with("PK\x05\x06") || Path.ends_with(".npz");
  std::vector<HostTensor> Tensors;
  if (Npy || !Zip) {
    std::optional<HostTensor> T;
    if (Npy) {
      T = readNpy(Bytes, Why);
      if (!T)
        Error = "cannot use '" + printable(Path) + "': " + Why;
    } else {
      T = readOnnxTensor(Path, Error);
    }
    if (!T)
      return std::nullopt;
    Tensors.push_back(std::move(*T));
    return Tensors;
  }
  std::optional<std::vector<HostTensor>> All = readNpz(Bytes, Why);
  if (!All)
    Error = "cannot use '" + printable(Path) + "': " + Why;
  return All;
}

std::string fileNameFor(std::string_view Name) {
  std::string Out;
  for (char C : Name)
    Out +=
        C == '/' || static_cast<unsigned char>(C) < 0x20 || C == 0x7F ? '_' : C;
  if (Out.find_first_not_of('.') == std::string::npos)
    Out = "_" + Out;
  return Out;
}

} // namespace kpc::tensorfile
