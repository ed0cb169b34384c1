//===- NodeImport.h - One aten node on its way in ---------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a rule sees: arguments by their names in the operator's schema, with
/// the schema's defaults where an exporter left them out, and the results that
/// the archive declares. The first fault of a node is reported, and null values
/// come of it.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCH_NODEIMPORT_H
#define KPC_COMPILER_IMPORT_TORCH_NODEIMPORT_H

#include "compiler/import/Control.h"
#include "compiler/import/torch/Program.h"

#include <functional>

namespace kpc::torch {

using frontend::ArrayRef;
using frontend::Dims;
using frontend::dimsText;
using frontend::Emitter;
using frontend::Expr;
using frontend::Ints;
using frontend::Predicate;
using frontend::ReduceKind;
using frontend::SmallVector;
using frontend::Type;
using frontend::typeText;
using frontend::Value;

class Importer;

/// The graph's element type; null for one it has not.
Type graphType(mlir::MLIRContext *Context, ScalarType T);

class NodeImport : public Emitter {
public:
  NodeImport(Importer &I, const Node &N, mlir::OpBuilder &B, mlir::Location Loc)
      : Emitter(B, Loc), TheImporter(I), TheNode(N) {}

  const Node &node() const { return TheNode; }
  Importer &importer() { return TheImporter; }

  //===--- arguments ------------------------------------------------------===//
  /// Null if it was left out or is None.
  const Argument *argument(std::string_view Name) const;
  bool has(std::string_view Name) const { return argument(Name) != nullptr; }
  /// Reports and is null if it was left out.
  Value tensor(std::string_view Name);
  Value optionalTensor(std::string_view Name);
  /// The elements of a list; null for one that is None.
  SmallVector<Value> tensors(std::string_view Name);
  /// A tensor, or a number as a scalar of `Element` or of its own type.
  Value operand(std::string_view Name, Type Element = {});
  /// Whether an argument is a number and no tensor: it then has little say in
  /// the type of a result.
  bool isNumber(std::string_view Name) const;
  /// A number that is known; reports if it is not.
  int64_t integer(std::string_view Name, int64_t Default);
  double real(std::string_view Name, double Default);
  bool flag(std::string_view Name, bool Default);
  std::string text(std::string_view Name, std::string_view Default);
  Expr size(std::string_view Name, const Expr &Default);
  /// None if it was left out.
  std::optional<Dims> sizes(std::string_view Name);
  /// Known numbers, or `Default`; a lone one counts for all of `Default`.
  Ints integers(std::string_view Name, Ints Default);
  std::optional<std::vector<double>> reals(std::string_view Name);
  /// The type that an argument names; null if it was left out.
  Type type(std::string_view Name);

  /// `Axis` counted from the front; reports and is 0 outside [-Rank, Rank).
  int64_t axis(int64_t Axis, int64_t Rank);
  /// An argument that names axes; all of them if it was left out or is empty.
  Ints axes(std::string_view Name, int64_t Rank);

  //===--- results --------------------------------------------------------===//
  size_t resultCount() const;
  /// What the archive declares, or what follows where a program has no
  /// declarations; reports if there is neither.
  std::optional<Dims> declaredSizes(size_t I = 0);
  Type declaredType(size_t I = 0);
  void result(Value V) { result(0, V); }
  void result(size_t I, Value V);
  /// A result that the operator leaves without a tensor.
  void undefined(size_t I);
  /// A result that shares memory with the argument `Of`: `Forward` makes it
  /// from the whole, `Backward` puts a changed one into the whole.
  using ForwardFunction = std::function<Value(Emitter &, Value Whole)>;
  using BackwardFunction =
      std::function<Value(Emitter &, Value Whole, Value Part)>;
  void view(size_t I, std::string_view Of, ForwardFunction Forward,
            BackwardFunction Backward);

  //===--- types ----------------------------------------------------------===//
  /// What two types promote to; the other where one is null.
  Type wider(Type A, Type C);
  /// The type that aten computes two operands in.
  Type promoted(std::string_view A, std::string_view C);
  /// For operators of reals: floats stay, others become f32.
  Value asFloat(Value X) { return !X || isFloat(X) ? X : cast(X, f32()); }
  /// f32 for 16-bit floats, else the type itself.
  Type wide(Value X);

  bool bad() const { return Failed; }
  Value fail(Code C, std::string Message) override;
  Value unsupported(std::string Message) {
    return fail(Code::ImportUnsupported, std::move(Message));
  }
  /// Sizes that may be assumed to be equal are, and a run checks it. False if
  /// no run can.
  bool unify(const Expr &A, const Expr &C) override;
  Expr current(const Expr &E) const override;
  /// A graph.loop; its results, or none after a fault. With `Begins` data ends
  /// it, and `Count` is the most iterations.
  std::optional<SmallVector<Value>>
  loop(const Expr &Count, ArrayRef<Value> Inits, ArrayRef<bool> Reversed,
       frontend::LoopFunction Body, Value Begins = {});
  /// Dim `Axis` of result `I`: what `Count` says when the model runs, at most
  /// `AtMost`, or a number that the archive declares. None after a fault.
  std::optional<Expr> decideSize(Value Count, const Expr &AtMost, size_t I,
                                 size_t Axis);
  /// The same for a number that is no size of a tensor but result `I`.
  std::optional<Expr> decideNumber(Value Number);
  /// For rules that gave up on what was reported before.
  void give() { Failed = true; }

private:
  std::optional<Expr> number(const Argument &A, size_t I);

  Importer &TheImporter;
  const Node &TheNode;
  bool Failed = false;
};

} // namespace kpc::torch

#endif // KPC_COMPILER_IMPORT_TORCH_NODEIMPORT_H
