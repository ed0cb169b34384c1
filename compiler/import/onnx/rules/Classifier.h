//===- Classifier.h - Parts of models that give scores ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_RULES_CLASSIFIER_H
#define KPC_COMPILER_IMPORT_ONNX_RULES_CLASSIFIER_H

#include "compiler/import/onnx/NodeImport.h"

namespace kpc::onnx {

/// A list of strings; empty if there is none.
std::vector<std::string> stringsAttribute(NodeImport &N, const char *Name);
/// A tensor's elements as numbers; reports a type that has none.
std::vector<double> realsOfTensor(NodeImport &N, const Tensor &T);
/// An input as rows of floats, [rows, features]: f64 stays, all else is f32.
Value floatRows(NodeImport &N, size_t I);
/// The labels of classes: numbers, or strings.
struct ClassLabels {
  Ints Numbers;
  std::vector<std::string> Names;
  size_t size() const { return Names.empty() ? Numbers.size() : Names.size(); }
};
/// None after a report.
std::optional<ClassLabels> classLabels(NodeImport &N, const char *Name);
/// Gives the labels of classes by their numbers as output 0.
void giveLabels(NodeImport &N, Value Index, const ClassLabels &Labels);
/// The kernel's values of rows and support vectors, [rows, vectors].
Value kernelValues(NodeImport &N, Value X, int64_t Count);
/// What 'post_transform' makes of scores.
Value postTransform(NodeImport &N, Value Scores, const std::string &Name);
/// Gives label and scores of [rows, classes]: the class of the greatest score.
void giveClasses(NodeImport &N, Value Scores, const ClassLabels &Labels,
                 const std::string &Transform);
/// The same of one score of two classes, [rows, 1]. `Shares`: scores are shares
/// of one, which decide at a half, else at zero.
void giveBinary(NodeImport &N, Value Score, const ClassLabels &Labels,
                const std::string &Transform, bool Shares);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_RULES_CLASSIFIER_H
