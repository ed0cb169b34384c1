//===- SavedTensors.cpp - What torch.save wrote ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/SavedTensors.h"

#include "llvm/ADT/StringSwitch.h"

namespace kpc::torch {

using Kind = PickleValue::Kind;

/// Bytes of one pickle.
static constexpr uint64_t MostPickle = uint64_t(1) << 28;

/// Of "FloatStorage", or of the type that a tensor names.
static ScalarType typeOf(const PickleValue &Tensor) {
  llvm::StringRef Name(Tensor.Type.empty() ? Tensor.Items.front()->Type
                                           : Tensor.Type);
  return llvm::StringSwitch<ScalarType>(Name)
      .Case("ByteStorage", ScalarType::Byte)
      .Case("CharStorage", ScalarType::Char)
      .Case("ShortStorage", ScalarType::Short)
      .Case("IntStorage", ScalarType::Int)
      .Case("LongStorage", ScalarType::Long)
      .Case("HalfStorage", ScalarType::Half)
      .Case("FloatStorage", ScalarType::Float)
      .Case("DoubleStorage", ScalarType::Double)
      .Case("BoolStorage", ScalarType::Bool)
      .Case("BFloat16Storage", ScalarType::BFloat16)
      .Case("ComplexFloatStorage", ScalarType::ComplexFloat)
      .Case("ComplexDoubleStorage", ScalarType::ComplexDouble)
      .Case("uint16", ScalarType::Uint16)
      .Case("float8_e4m3fn", ScalarType::Float8E4M3FN)
      .Case("float8_e5m2", ScalarType::Float8E5M2)
      .Default(ScalarType::Unknown);
}

std::optional<Payload> payloadOf(const PickleValue &Tensor,
                                 const ZipArchive &Zip,
                                 const std::string &Folder, std::string &Why) {
  const PickleValue &Storage = *Tensor.Items.front();
  Payload Of;
  Of.Meta.Type = typeOf(Tensor);
  if (Of.Meta.Type == ScalarType::Unknown) {
    Why = "kpc cannot compute with a " +
          printable(Tensor.Type.empty() ? Storage.Type : Tensor.Type);
    return std::nullopt;
  }
  for (int64_t Size : Tensor.Sizes)
    Of.Meta.Sizes.push_back({Size, ""});
  for (int64_t Stride : Tensor.Strides)
    Of.Meta.Strides.push_back({Stride, ""});
  Of.Meta.Offset.Number = Tensor.Int;
  Of.File = Folder + Storage.Text;
  if (Storage.Int == 0)
    return Of;
  const ZipEntry *E = Zip.find(Of.File);
  if (!E) {
    Why = "the archive has no file '" + printable(Of.File) + "'";
    return std::nullopt;
  }
  std::optional<ZipData> Data = Zip.read(*E, UINT64_MAX, Why);
  if (!Data)
    return std::nullopt;
  Of.Bytes = Data->Bytes;
  Of.Keep = Data->Keep;
  return Of;
}

std::optional<std::map<std::string, Payload>>
readSavedTensors(const ZipData &Saved, std::string &Why) {
  std::map<std::string, Payload> Tensors;
  if (Saved.Bytes.empty()) // nothing was saved
    return Tensors;
  std::shared_ptr<const ZipArchive> Zip =
      ZipArchive::of(Saved.Bytes, Saved.Keep, Why);
  if (!Zip)
    return std::nullopt;
  const ZipEntry *Data = nullptr;
  for (const auto &[Name, E] : Zip->entries())
    if (Name == "data.pkl" || Name.ends_with("/data.pkl"))
      Data = &E;
  if (!Data) {
    Why = "it has no 'data.pkl'";
    return std::nullopt;
  }
  std::string Root = Data->Name.substr(0, Data->Name.size() - 8);
  if (const ZipEntry *Order = Zip->find(Root + "byteorder")) {
    std::optional<ZipData> Text = Zip->read(*Order, 64, Why);
    if (!Text || Text->text() != "little") {
      Why = "its tensors are not little endian";
      return std::nullopt;
    }
  }
  std::optional<ZipData> Bytes = Zip->read(*Data, MostPickle, Why);
  std::optional<Pickle> P =
      Bytes ? Pickle::read(Bytes->Bytes, Why) : std::optional<Pickle>();
  if (!P)
    return std::nullopt;
  auto Add = [&](const std::string &Key, const PickleValue &V) {
    std::optional<Payload> Of = payloadOf(V, *Zip, Root + "data/", Why);
    if (!Of)
      Why = "'" + printable(Key) + "': " + Why;
    else
      Tensors.emplace(Key, std::move(*Of));
    return Of.has_value();
  };
  const PickleValue &Top = P->root();
  if (Top.Is == Kind::Tensor && !Add("", Top))
    return std::nullopt;
  // What is no tensor has no meaning for a graph; only what reads one fails.
  for (size_t I = 0; Top.Is == Kind::Dict && I + 1 < Top.Items.size(); I += 2)
    if (Top.Items[I]->Is == Kind::Text &&
        Top.Items[I + 1]->Is == Kind::Tensor &&
        !Add(Top.Items[I]->Text, *Top.Items[I + 1]))
      return std::nullopt;
  return Tensors;
}

} // namespace kpc::torch
