//===- NodeImport.h - One node on its way into the graph dialect *- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What an import rule sees: the node's inputs, attributes and outputs, and by
/// inheritance everything that builds ops. The accessors check, report what is
/// wrong by name and go on with something harmless, so a rule asks for all it
/// needs first and looks at `bad()` once:
///
///   static void importFlatten(NodeImport &N) {
///     Value X = N.input(0);
///     int64_t Axis = N.intAttribute("axis", 1);
///     if (N.bad())
///       return;
///     …
///     N.result(0, N.reshape(X, Sizes));
///   }
///
/// An attribute that no accessor asked for is reported: it might change the
/// meaning.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_NODEIMPORT_H
#define KPC_COMPILER_IMPORT_ONNX_NODEIMPORT_H

#include "compiler/import/onnx/Contents.h"
#include "compiler/import/onnx/GraphTypes.h"

#include <set>

namespace kpc::onnx {

class Importer;
struct Entry;

class NodeImport : public Emitter {
public:
  NodeImport(Importer &I, const Node &N, mlir::OpBuilder &B, mlir::Location Loc)
      : Emitter(B, Loc), TheImporter(I), TheNode(N) {}

  const Node &node() const { return TheNode; }
  int64_t opset() const { return TheNode.Opset; }
  Importer &importer() { return TheImporter; }

  //===--- inputs ---------------------------------------------------------===//
  size_t inputCount() const { return TheNode.Inputs.size(); }
  bool hasInput(size_t I) const {
    return I < TheNode.Inputs.size() && !TheNode.Inputs[I].empty();
  }
  /// Reports and is null if it was left out.
  Value input(size_t I);
  /// Null, without a report, if it was left out.
  Value optionalInput(size_t I) { return hasInput(I) ? input(I) : Value(); }
  /// What the input is: a tensor, a sequence, or nothing (null where it was
  /// left out or lost).
  const Entry *entry(size_t I);
  /// The elements of a sequence; reports where the input is none.
  std::optional<std::vector<Entry>> sequence(size_t I);
  /// What is known of the elements; null if nothing is.
  const Contents *contents(size_t I);
  /// The elements, where they must be known; reports if they are not.
  std::optional<std::vector<Expr>> knownSizes(size_t I, std::string_view What);
  std::optional<std::vector<int64_t>> knownInts(size_t I,
                                                std::string_view What);
  std::optional<std::vector<double>> knownReals(size_t I,
                                                std::string_view What);
  /// The elements as sizes, those of the model's inputs among them; none,
  /// without a report, where they are not.
  std::optional<std::vector<Expr>> readSizes(size_t I);
  /// Takes a vector of an open size to have one element, as the operator needs.
  void takeOneElement(size_t I);
  /// What a user can do where input `I` must be known when compiling.
  std::string wayToKnow(size_t I);
  /// A fault unless the number of inputs is in the range.
  void expectInputs(size_t Least, size_t Most);
  /// The two inputs of an elementwise operator. Before opset 7 an attribute
  /// aligned them: the sizes of b stand at `axis` of a's.
  std::pair<Value, Value> operands();

  //===--- attributes -----------------------------------------------------===//
  bool hasAttribute(std::string_view Name) const {
    return TheNode.Attributes.find(Name) != TheNode.Attributes.end();
  }
  int64_t intAttribute(std::string_view Name, int64_t Default);
  int64_t requiredInt(std::string_view Name);
  bool flagAttribute(std::string_view Name, bool Default = false) {
    return intAttribute(Name, Default) != 0;
  }
  double floatAttribute(std::string_view Name, double Default);
  std::string stringAttribute(std::string_view Name, std::string_view Default);
  std::optional<Ints> intsAttribute(std::string_view Name);
  std::optional<std::vector<double>> floatsAttribute(std::string_view Name);
  const Tensor *tensorAttribute(std::string_view Name);
  const Graph *graphAttribute(std::string_view Name);
  /// Marks an attribute as one without effect here.
  void ignoreAttribute(std::string_view Name) {
    Asked.insert(std::string(Name));
  }

  /// `Axis` counted from the front; reports and is 0 outside [-Rank, Rank).
  int64_t frontAxis(int64_t Axis, int64_t Rank);
  /// The same for each; a double one is reported.
  Ints frontAxes(ArrayRef<int64_t> Axes, int64_t Rank);

  //===--- outputs --------------------------------------------------------===//
  bool wants(size_t I) const {
    return I < TheNode.Outputs.size() && !TheNode.Outputs[I].empty();
  }
  void result(size_t I, Value V);
  void result(size_t I, Contents C);
  void result(size_t I, const Tensor &T);
  void result(size_t I, const Entry &E);
  /// A value with data made here; long data becomes a weight.
  Value data(Tensor T);
  /// The sizes that the model declares for an output, if it says all of them.
  std::optional<Dims> declaredSizes(size_t I);

  /// Whether something was reported.
  bool bad() const { return Failed; }
  Value fail(Code C, std::string Message) override {
    return fail(C, std::move(Message), "");
  }
  /// With a hint in place of the code's own, unless it is empty.
  Value fail(Code C, std::string Message, std::string Hint);
  Value unsupported(std::string Message) {
    return fail(Code::ImportUnsupported, std::move(Message));
  }
  /// What needs a number in place of `Size`; `Rest` follows.
  Value unsupportedOn(const std::string &What, const Expr &Size,
                      const std::string &Rest = "");
  bool unify(const Expr &A, const Expr &C) override;
  Expr current(const Expr &E) const override;
  /// A size that `Count` says when the model runs, at most `AtMost`: dim `Axis`
  /// of the first output. None after a fault.
  std::optional<Expr> decideSize(Value Count, const Expr &AtMost, size_t Axis);
  /// Takes a size to be `Wanted`, which the operator needs; false if it cannot.
  bool fix(const Expr &E, int64_t Wanted);

  /// Reports attributes nobody asked for.
  void checkUnread();

private:
  void reportUnknownSizes(size_t I, std::string_view What);
  const Attribute *attribute(std::string_view Name, Attribute::Kind Kind);

  Importer &TheImporter;
  const Node &TheNode;
  std::set<std::string, std::less<>> Asked;
  bool Failed = false;
};

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_NODEIMPORT_H
