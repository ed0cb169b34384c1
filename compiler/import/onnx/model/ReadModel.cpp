//===- ReadModel.cpp - Reads an ONNX file ---------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/model/Decode.h"
#include "compiler/import/onnx/model/OtherFiles.h"
#include "compiler/import/onnx/model/Passes.h"
#include "compiler/import/onnx/model/Reader.h"
#include "compiler/import/onnx/model/Wire.h"

#include <climits>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

namespace kpc::onnx {

/// Nested messages deeper than this are refused; a subgraph takes three.
static constexpr int MessageDepth = 128;

/// How deep a message may nest to be told from a damaged one.
static constexpr int DeepestLookedAt = 2000;

template <typename Proto>
static bool parse(std::span<const uint8_t> Bytes, Proto &Message,
                  int Depth = MessageDepth) {
  google::protobuf::io::CodedInputStream Stream(Bytes.data(),
                                                static_cast<int>(Bytes.size()));
  Stream.SetRecursionLimit(Depth);
  return Message.ParseFromCodedStream(&Stream) &&
         Stream.ConsumedEntireMessage();
}

/// Reports why bytes are no ModelProto; true if they may be one.
static bool checkBytes(std::span<const uint8_t> Bytes, Diagnostics &Diags) {
  if (Bytes.empty()) {
    Diags.error(Code::ImportEmptyFile).message("the file is empty");
    return false;
  }
  std::string Detail;
  WireFault Fault = checkWire(Bytes, Detail);
  std::optional<OtherFile> Other;
  if (Fault != WireFault::None)
    Other = otherFile(Bytes);
  if (Other) {
    Diags.error(Code::ImportNotOnnx)
        .message("the file is no model: it is " + std::string(Other->Is))
        .hint(std::string(Other->Way));
    return false;
  }
  switch (Fault) {
  case WireFault::None:
    break;
  case WireFault::NotOnnx:
    Diags.error(Code::ImportNotOnnx)
        .message("the file is not an ONNX model: " + Detail);
    return false;
  case WireFault::Truncated:
    Diags.error(Code::ImportTruncated)
        .message("the file is cut short: " + Detail);
    return false;
  case WireFault::Damaged:
    Diags.error(Code::ImportTruncated)
        .message("the file is damaged: " + Detail);
    return false;
  }
  if (Bytes.size() > INT_MAX) {
    Diags.error(Code::ImportTooLarge)
        .message("the file has " + std::to_string(Bytes.size()) +
                 " bytes; a protobuf message ends at 2 GiB");
    return false;
  }
  return true;
}

std::optional<Model> readModel(std::span<const uint8_t> Bytes,
                               const std::string &Folder, Diagnostics &Diags) {
  size_t ErrorsBefore = Diags.errorCount();
  if (!checkBytes(Bytes, Diags))
    return std::nullopt;
  Model Result;
  {
    ::onnx::ModelProto Proto;
    if (!parse(Bytes, Proto)) {
      ::onnx::ModelProto Deep;
      if (parse(Bytes, Deep, DeepestLookedAt))
        Diags.error(Code::ImportTooDeep)
            .message("messages nest deeper than " +
                     std::to_string(MessageDepth) +
                     "; each subgraph in a subgraph takes three");
      else
        Diags.error(Code::ImportTruncated)
            .message("the file is damaged: a message inside it breaks off");
      return std::nullopt;
    }
    ExternalData External(Folder);
    Decoder(External, Diags).model(Proto, Result);
  }
  bool Inlined = inlineFunctions(Result, Diags);
  // Without the bodies that failed to come in, much would look undefined.
  if (Inlined && orderNodes(Result.Main, Diags))
    rewriteOldForms(Result.Main, Diags);
  if (Diags.errorCount() != ErrorsBefore)
    return std::nullopt;
  return Result;
}

static std::string folderOf(const std::string &Path) {
  size_t Slash = Path.rfind('/');
  if (Slash == std::string::npos)
    return ".";
  return Slash == 0 ? "/" : Path.substr(0, Slash);
}

std::optional<Model> readModel(const std::string &Path, Diagnostics &Diags,
                               const std::string &DataFolder) {
  std::string Why;
  std::shared_ptr<const MappedFile> File = MappedFile::open(Path, Why);
  if (!File) {
    Diags.error(Code::ImportUnreadable)
        .message("the file cannot be read: " + Why)
        .hint(Why == "it is a folder"
                  ? "give a model's file: .onnx, .pt2 of torch.export or "
                    "TorchScript; what Hugging Face downloads is exported first"
                  : "check the path and its permissions");
    return std::nullopt;
  }
  return readModel(File->bytes(),
                   DataFolder.empty() ? folderOf(Path) : DataFolder, Diags);
}

std::optional<Tensor> readTensorFile(const std::string &Path,
                                     Diagnostics &Diags) {
  std::string Why;
  std::shared_ptr<const MappedFile> File = MappedFile::open(Path, Why);
  ::onnx::TensorProto Proto;
  if (!File) {
    Diags.error(Code::ImportUnreadable)
        .message("the tensor file '" + printable(Path) +
                 "' cannot be read: " + Why);
    return std::nullopt;
  }
  if (File->bytes().size() > INT_MAX || !parse(File->bytes(), Proto)) {
    Diags.error(Code::ImportNotOnnx)
        .message("the file '" + printable(Path) + "' holds no ONNX tensor")
        .hint("give a file with one serialised TensorProto");
    return std::nullopt;
  }
  ExternalData External(folderOf(Path));
  Tensor Result;
  if (!Decoder(External, Diags)
           .tensor(Proto, "tensor '" + printable(Proto.name()) + "'", {},
                   Result))
    return std::nullopt;
  return Result;
}

} // namespace kpc::onnx
