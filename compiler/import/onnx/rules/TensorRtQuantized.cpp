//===- TensorRtQuantized.cpp - Import of TensorRT's quantised operators ---===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The domain `trt`, as NVIDIA's Model Optimizer writes it where ONNX's own
// operators do not quantise in each run, or have no type: FP8, INT4, MXFP8
// (codes of E4M3, scales of E8M0 as bytes, blocks of 32) and NVFP4 (codes of
// E2M1, scales of E4M3, blocks of 16, and a scale for all of them).
//
//===----------------------------------------------------------------------===//

#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/Quantization.h"
#include "dialects/graph/BlockCodes.h"

using namespace kpc::graph;

namespace kpc::onnx {

/// Bytes that are scales of E8M0.
static Value asPowers(NodeImport &N, Value Scales) {
  Type E8M0 = mlir::Float8E8M0FNUType::get(N.builder().getContext());
  if (!Scales || N.element(Scales) == E8M0)
    return Scales;
  if (!graph::isInt8(N.element(Scales)))
    return N.fail(Code::ImportElementType,
                  "has scales of " + typeText(N.element(Scales)) +
                      ", expected bytes or float8e8m0");
  return N.bitcast(Scales, E8M0);
}

static void importFp8Quantize(NodeImport &N) {
  importQuantizeTo(N, mlir::Float8E4M3FNType::get(N.builder().getContext()));
}

static void importInt4Quantize(NodeImport &N) {
  importQuantizeTo(N, N.builder().getIntegerType(4));
}

static void importMxfp8Quantize(NodeImport &N) {
  importQuantizeTo(N, mlir::Float8E4M3FNType::get(N.builder().getContext()),
                   asPowers);
}

static void importMxfp8Dequantize(NodeImport &N) {
  importDequantizeFrom(N, asPowers, N.f32());
}

static void importPlainDequantize(NodeImport &N) {
  importDequantizeFrom(N, nullptr, {});
}

/// The axis of blocks and their length; none after a report.
static std::optional<int64_t> axisOfBlocks(NodeImport &N, Value X,
                                           int64_t Block) {
  int64_t Axis = N.frontAxis(N.intAttribute("axis", -1), N.rank(X));
  int64_t Given = N.intAttribute("block_size", Block);
  if (N.bad())
    return std::nullopt;
  if (Given != Block) {
    N.fail(Code::ImportAttributeValue,
           "attribute 'block_size' is " + std::to_string(Given) +
               ", expected " + std::to_string(Block));
    return std::nullopt;
  }
  Expr Size = N.dims(X)[static_cast<size_t>(Axis)];
  if (Size.ceilDiv(Block) * Block != Size) {
    N.fail(Code::ImportShape, "quantises blocks of " + std::to_string(Block) +
                                  " along axis " + std::to_string(Axis) +
                                  " of " + dimsText(N.dims(X)) +
                                  ", whose size is no multiple of that");
    return std::nullopt;
  }
  return Axis;
}

/// An attribute that names E4M3, if it is there.
static bool isE4m3(NodeImport &N, const std::string &Name) {
  constexpr int64_t E4M3 = 17; // ONNX's number
  int64_t Given = N.intAttribute(Name, E4M3);
  if (!N.bad() && Given != E4M3)
    N.fail(Code::ImportAttributeValue, "attribute '" + Name + "' is " +
                                           std::to_string(Given) +
                                           ", expected 17, float8e4m3fn");
  return !N.bad();
}

static void importMxfp8Dynamic(NodeImport &N) {
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (!isE4m3(N, "output_dtype"))
    return;
  BlockFormat F = BlockFormat::mxfp8(N.builder().getContext());
  std::optional<int64_t> Axis = axisOfBlocks(N, X, F.Block);
  X = N.cast(X, N.f32());
  if (!Axis || !X)
    return;
  BlockCodes Made = quantiseInBlocks(N.builder(), N.loc(), X, *Axis, F);
  N.result(0, Made.Codes);
  N.result(1, N.bitcast(Made.Scales,
                        mlir::IntegerType::get(N.builder().getContext(), 8,
                                               mlir::IntegerType::Unsigned)));
}

static void importFp4Dynamic(NodeImport &N) {
  N.expectInputs(2, 2);
  Value X = N.input(0), Second = N.input(1);
  if (!isE4m3(N, "scale_type"))
    return;
  BlockFormat F = BlockFormat::nvfp4(N.builder().getContext());
  std::optional<int64_t> Axis = axisOfBlocks(N, X, F.Block);
  if (!Axis)
    return;
  if (N.rank(Second) != 0 && N.dims(Second) != ArrayRef<Expr>{Expr(1)}) {
    N.fail(Code::ImportShape, "has a second scale of " +
                                  dimsText(N.dims(Second)) + ", expected one");
    return;
  }
  X = N.cast(X, N.f32());
  Second = N.cast(N.reshape(Second, {}), N.f32());
  if (!X || !Second)
    return;
  BlockCodes Made = quantiseInBlocks(N.builder(), N.loc(), X, *Axis, F, Second);
  N.result(0, Made.Codes);
  N.result(1, Made.Scales);
}

ArrayRef<Rule> tensorRtRules() {
  static const Rule Rows[] = {
      {"trt", "TRT_FP8QuantizeLinear", 1, Newest, importFp8Quantize},
      {"trt", "TRT_FP8DequantizeLinear", 1, Newest, importPlainDequantize},
      {"trt", "TRT_INT4QuantizeLinear", 1, Newest, importInt4Quantize},
      {"trt", "TRT_INT4DequantizeLinear", 1, Newest, importPlainDequantize},
      {"trt", "TRT_MXFP8QuantizeLinear", 1, Newest, importMxfp8Quantize},
      {"trt", "TRT_MXFP8DequantizeLinear", 1, Newest, importMxfp8Dequantize},
      {"trt", "TRT_MXFP8DynamicQuantize", 1, Newest, importMxfp8Dynamic,
       "blocks of 32, whole ones"},
      {"trt", "TRT_FP4DynamicQuantize", 1, Newest, importFp4Dynamic,
       "blocks of 16, whole ones"},
      {"trt", "DequantizeLinear", 1, Newest, importPlainDequantize},
  };
  return Rows;
}

} // namespace kpc::onnx
