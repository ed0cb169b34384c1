//===- Wire.h - Whether bytes can be a ModelProto ---------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_MODEL_WIRE_H
#define KPC_COMPILER_IMPORT_ONNX_MODEL_WIRE_H

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace kpc::onnx {

enum class WireFault { None, NotOnnx, Truncated, Damaged };

/// Walks the outermost fields only: protobuf's parser says no more than
/// "failed", and a user wants to know which of these it was. `Detail` says
/// where.
WireFault checkWire(std::span<const uint8_t> Bytes, std::string &Detail);

/// Calls `Found` with each length-delimited field. Bytes that are no protobuf
/// end the walk.
void forEachField(
    std::string_view Bytes,
    const std::function<void(uint64_t Number, std::string_view Value)> &Found);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_MODEL_WIRE_H
