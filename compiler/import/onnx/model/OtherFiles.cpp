//===- OtherFiles.cpp - Files that are taken for models -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/model/OtherFiles.h"

#include <algorithm>

namespace kpc::onnx {

using std::string_view;

static constexpr string_view
    FromModule = "load the weights into the module in Python, then save it "
                 "with torch.export.save",
    FromTensorFlow = "convert the model with tf2onnx, and give the .onnx file",
    Download = "download the model itself again";

namespace {
struct Row {
  size_t Place; ///< where the mark stands
  string_view Mark;
  OtherFile File;
};
} // namespace

static constexpr Row Rows[] = {
    // A pickled magic number, then the protocol's version: PyTorch before 1.6.
    {0,
     {"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15},
     {"weights of an old torch.save, without a graph", FromModule}},
    {0,
     "GGUF",
     {"a GGUF file, which holds weights and no graph",
      "export the model that the weights belong to from PyTorch, by "
      "torch.export or torch.onnx.export"}},
    {0,
     {"\x89HDF\r\n\x1a\n", 8},
     {"an HDF5 file, as Keras writes", FromTensorFlow}},
    {4, "TFL3", {"a TensorFlow Lite model", FromTensorFlow}},
    {0,
     "version https://git-lfs",
     {"a pointer of Git LFS to a file that was "
      "not downloaded",
      "run: git lfs pull"}},
    {0, "<!DOCTYPE", {"a web page", Download}},
    {0, "<!doctype", {"a web page", Download}},
    {0, "<html", {"a web page", Download}},
    {0,
     "<?xml",
     {"XML, as OpenVINO writes its models",
      "give the .onnx file that it was made from"}},
    {0, {"\x1f\x8b", 2}, {"compressed by gzip", "unpack it first"}},
    {0,
     {"\x7f"
      "ELF",
      4},
     {"a program or a library of compiled code",
      "give the model that it was made from"}},
};

/// A length of 64 bits, then JSON.
static bool isSafetensors(string_view Text) {
  if (Text.size() < 10 || Text.substr(8, 2) != "{\"")
    return false;
  uint64_t Length = 0;
  for (size_t I = 8; I-- > 0;)
    Length = Length << 8 | static_cast<unsigned char>(Text[I]);
  return Length >= 2 && Length <= (uint64_t(1) << 32);
}

std::optional<OtherFile> otherFile(std::span<const uint8_t> Bytes) {
  string_view Text(reinterpret_cast<const char *>(Bytes.data()), Bytes.size());
  for (const Row &R : Rows)
    if (Text.size() > R.Place && Text.substr(R.Place).starts_with(R.Mark))
      return R.File;
  if (isSafetensors(Text))
    return OtherFile{"a safetensors file, which holds weights and no graph",
                     FromModule};
  return std::nullopt;
}

} // namespace kpc::onnx
