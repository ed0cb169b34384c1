//===- Quantization.h - Parts of quantised operators ------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_RULES_QUANTIZATION_H
#define KPC_COMPILER_IMPORT_ONNX_RULES_QUANTIZATION_H

#include "compiler/import/onnx/NodeImport.h"

namespace kpc::onnx {

/// A scale or zero point as it broadcasts: a scalar, or along `Axis` of a
/// tensor of rank `Rank`.
Value alongAxis(NodeImport &N, Value V, int64_t Axis, int64_t Rank);
/// `Scale`; null after a report where one of its numbers is data and zero, NaN
/// or infinite. `Of`: what has to be quantised again.
Value checkedScale(NodeImport &N, Value Scale, const std::string &Of = "model");
/// (w - zero) * scale as graph.dequantise, whose sizes it checks; zeros may be
/// null. Reports scales that are data and zero, infinite or NaN.
Value dequantise(NodeImport &N, Value W, Value Scales, Value Zeros,
                 ArrayRef<int64_t> Blocks, Type To);
/// Bytes [.., n] as the codes in them [.., n * 8 / Bits], the lowest bits
/// first.
Value unpackCodes(NodeImport &N, Value Bytes, int64_t Bits);
/// round(x) + zero, clamped to the type; x is float, zero may be null.
Value saturate(NodeImport &N, Value X, Value Zero, Type To);
/// x - zero in i32. A vector of zero points stands for rows (`Axis` -2) or
/// columns (-1) of a matrix, or for channels.
Value centred(NodeImport &N, Value X, Value Zero, int64_t Axis);
/// The 32-bit sum, scaled and quantised again.
Value requantise(NodeImport &N, Value Sum, Value Factor, Value ScaleY,
                 Value ZeroY);
/// What is done with scales before they are used; null after a report.
using ScaleView = Value (*)(NodeImport &, Value);
/// QuantizeLinear, to `Default` where no attribute and no zero point says
/// another type.
void importQuantizeTo(NodeImport &N, Type Default, ScaleView View = nullptr);
/// DequantizeLinear, to `Default` where no attribute says another type; null:
/// the scales' own.
void importDequantizeFrom(NodeImport &N, ScaleView View, Type Default);
/// The 8-bit tensor and the scale and zero point that DynamicQuantizeLinear
/// gives.
struct Quantised {
  Value Values, Scale, Zero;
};
Quantised quantiseDynamically(NodeImport &N, Value X);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_RULES_QUANTIZATION_H
