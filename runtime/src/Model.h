//===- Model.h - A loaded, checked artifact ---------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Immutable after load and shared by threads; what is made on demand
/// (executable images, the parts on devices) is kept behind a lock.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_MODEL_H
#define KPC_RUNTIME_SRC_MODEL_H

#include "kpc/runtime.h"
#include "runtime/format/ElementType.h"
#include "runtime/src/Bytes.h"
#include "runtime/src/Evaluate.h"
#include "runtime/src/HostImage.h"
#include "runtime/src/HostLibrary.h"
#include "runtime/src/Log.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace kpc::rt {

/// An input or output, ready to be given to callers.
struct PortInfo {
  const format::Port *Table;
  const char *Name;
  ElementType Type;
  std::vector<int64_t> Dims; ///< -1 where a dim depends on symbols
  std::vector<std::string> Texts;
  std::vector<const char *> TextPointers;
  std::vector<const format::Expr *> Exprs;
  /// For each dim whether data decides it.
  std::vector<uint8_t> OfData;
};

/// An output that is not the caller's, but decides a size.
struct DataSizeInfo {
  uint32_t Output;
  const format::Expr *Size, *AtMost;
  std::string Text, AtMostText;
};

/// An element of an input that is a size.
struct InputValueInfo {
  const format::InputValue *Table;
  const format::Expr *Size;
  std::string Name; ///< "size[0]"
  std::string Text; ///< of the size
};

/// What must hold of the sizes.
struct RequirementInfo {
  const format::Requirement *Table;
  std::string Left, Right;
};

struct TargetInfo {
  const format::Target *Table;
  std::string RunsOn;
};

/// What a device keeps of a model for all its sessions: see cuda/CudaModel.h.
class DeviceModel {
public:
  virtual ~DeviceModel() = default;
};

class Model {
public:
  static Result<std::shared_ptr<Model>>
  load(std::unique_ptr<ArtifactBytes> Bytes, bool VerifyWeights,
       const uint8_t *PublicKey, Log TheLog);

  const format::Model &table() const { return *Table; }
  const std::vector<PortInfo> &inputs() const { return Inputs; }
  /// Behind those of the caller, the ones that decide sizes.
  const std::vector<PortInfo> &outputs() const { return Outputs; }
  std::span<const PortInfo> callersOutputs() const {
    return std::span(Outputs).first(Outputs.size() - DataSizes.size());
  }
  const std::vector<DataSizeInfo> &dataSizes() const { return DataSizes; }
  const std::vector<TargetInfo> &targets() const { return Targets; }
  const std::vector<InputValueInfo> &inputValues() const { return Values; }
  const std::vector<RequirementInfo> &requirements() const {
    return Requirements;
  }
  size_t symbolCount() const { return format::count(Table->symbols()); }
  const format::Symbol &symbol(size_t Index) const {
    return *Table->symbols()->Get(uint32_t(Index));
  }
  const char *symbolName(size_t Index) const {
    return symbol(Index).name()->c_str();
  }
  /// The symbols that callers know: those that no device gives.
  const std::vector<uint32_t> &dims() const { return Dims; }

  Status verifyWeights() const;

  /// The bytes of a weight in the artifact.
  std::span<const uint8_t> weight(uint32_t Index) const;
  /// Device code, unchecked since load: its consumer is the driver.
  std::span<const uint8_t> code(const format::Range &R) const;
  /// From now on no host image is made executable. Before the first session.
  void refuseHostCode() { HostCode = false; }
  /// From now on shared objects of custom operators may be loaded.
  void allowCustomHostCode() { CustomHostCode = true; }
  /// The shared object, loaded once.
  Result<std::shared_ptr<const HostLibrary>> hostLibrary(uint32_t Index);
  /// The executable copy of a host image, made once.
  Result<std::shared_ptr<const HostImage>> hostImage(uint32_t Segment);

  /// The part of this model on a device, made by `Make` if no session has one.
  template <class Function>
  Result<std::shared_ptr<DeviceModel>> deviceModel(const std::string &Key,
                                                   Function Make) {
    DevicePart *Kept;
    {
      std::lock_guard<std::mutex> Guard(Lock);
      Kept = &DeviceParts[Key];
    }
    // An upload takes seconds: sessions on other devices do not wait for it.
    std::lock_guard<std::mutex> Guard(Kept->Making);
    if (std::shared_ptr<DeviceModel> Found = Kept->Made.lock())
      return Found;
    Result<std::shared_ptr<DeviceModel>> Made = Make();
    if (Made)
      Kept->Made = *Made;
    return Made;
  }

private:
  std::span<const uint8_t> segment(uint32_t Index) const;
  Status verifySegment(uint32_t Index) const;
  void describe();

  std::unique_ptr<ArtifactBytes> Source;
  AlignedBytes TableBytes;
  const format::Model *Table = nullptr;
  std::vector<PortInfo> Inputs, Outputs;
  std::vector<TargetInfo> Targets;
  std::vector<InputValueInfo> Values;
  std::vector<RequirementInfo> Requirements;
  std::vector<DataSizeInfo> DataSizes;
  std::vector<uint32_t> Dims;
  bool HostCode = true, CustomHostCode = false;

  std::mutex Lock;
  std::map<uint32_t, std::weak_ptr<const HostImage>> Images;
  std::map<uint32_t, std::weak_ptr<const HostLibrary>> Libraries;
  /// What one device has of this model, while a session uses it.
  struct DevicePart {
    std::mutex Making; ///< held while it is made
    std::weak_ptr<DeviceModel> Made;
  };
  std::map<std::string, DevicePart> DeviceParts; ///< grows alone
};

} // namespace kpc::rt

#endif // KPC_RUNTIME_SRC_MODEL_H
