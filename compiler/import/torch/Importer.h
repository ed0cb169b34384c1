//===- Importer.h - A program on its way into the graph ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// torch.export leaves operators that write to their operands, also through
/// views, in the graph. The graph dialect has values only. So each name stands
/// for a view of a storage: a write makes the storage's next value through all
/// views on the way, and a view that is read after that is made anew.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCH_IMPORTER_H
#define KPC_COMPILER_IMPORT_TORCH_IMPORTER_H

#include "compiler/import/AssumedSizes.h"
#include "compiler/import/BodyFlags.h"
#include "compiler/import/DataSizes.h"
#include "compiler/import/torch/ImportProgram.h"
#include "compiler/import/torch/NodeImport.h"
#include "compiler/import/torch/Rules.h"

#include <deque>
#include <set>
#include <unordered_map>

namespace kpc::torch {

/// The payload's elements in row-major order, densely packed; none where they
/// lie outside of it. Its own bytes where they are that already.
std::optional<Weight> packed(const Payload &P, std::string Element);

class Importer {
  struct Storage;

public:
  /// `State`: buffers that the program writes to; they become inputs and
  /// outputs.
  Importer(mlir::MLIRContext &Context, const ImportOptions &Options,
           std::string ModelName, const Program &P,
           const std::set<std::string> &State, WeightStore &Weights,
           Diagnostics &Diags);

  mlir::OwningOpRef<mlir::ModuleOp> run();
  /// The same with nodes that `Body` gives to `importNode`; null where it is
  /// false.
  mlir::OwningOpRef<mlir::ModuleOp>
  run(llvm::function_ref<bool(Importer &)> Body);
  /// Buffers that were found to be written to, and were not in `State`.
  const std::set<std::string> &writtenBuffers() const { return Written; }

  //===--- programs that come node by node --------------------------------===//
  /// Whether results are what operators give, not what an archive declares.
  bool infers() const { return !P.Complete; }
  /// `N` must live as long as this.
  void importNode(const Node &N);
  /// The user's own operator that a node or a call names ("my_ops.silu"); null:
  /// it is none.
  const custom::Operator *customOperator(std::string_view Target) const;
  /// How many tensors a node gives whose outputs are not named yet; none after
  /// a report.
  std::optional<size_t> countResults(const Node &N);
  /// Results that PyTorch leaves without a tensor, None in Python.
  void leaveUndefined(const std::string &Name) { Undefined.insert(Name); }
  bool isUndefined(const std::string &Name) const {
    return Undefined.count(Name) != 0;
  }
  /// Reads a tensor's data from the program's payloads.
  void addPayload(const InputSpec &S);
  void defineNumber(const std::string &Name, const Expr &E) {
    Numbers.insert_or_assign(Name, E);
  }
  /// What a symbol of the archive's sizes is from then on.
  void defineSymbol(const std::string &Symbol, const Expr &E) {
    Symbols.insert_or_assign(Symbol, E);
  }
  /// Whether anything wrote to the tensor that a name stands for.
  bool isWritten(const std::string &Name) const;
  /// What a name stands for now; null if it was lost.
  Value look(const std::string &Name);

  //===--- values by name -------------------------------------------------===//
  Value value(std::string_view Name, NodeImport &Reader);
  void define(const std::string &Name, Value V);
  /// Storages that a value may be.
  using Shown = std::set<std::shared_ptr<Storage>>;
  /// What comes of a branch or of the iteration before: nothing may write to
  /// it, as it may be another. It may be one of `Of`, as they are now: nothing
  /// may read it after a write to them.
  void defineJoined(const std::string &Name, Value V, const Shown &Of);
  /// Adds what a name may be to `To`, of storages that were there at `Mark`.
  /// Whether there was more than `To` had.
  bool addShown(const std::string &Name, unsigned Mark, Shown &To) const;
  unsigned storagesMade() const { return Born; }
  bool isThere(const std::string &Name) const { return Values.count(Name); }
  void defineView(const std::string &Name, Value V, const std::string &Of,
                  NodeImport::ForwardFunction Forward,
                  NodeImport::BackwardFunction Backward);
  /// Writes to the storage that `Name` shows.
  bool write(const std::string &Name, Value V, NodeImport &Where);
  /// `Name` stands for what `Of` stands for.
  void alias(const std::string &Name, const std::string &Of);
  /// The tensor of `Name` is from now on what `By` is: it has other sizes.
  void replace(const std::string &Name, const std::string &By);
  /// Whether a name shows a part of a storage, or all of it in another order.
  bool isView(const std::string &Name) const {
    auto It = Values.find(Name);
    return It != Values.end() && It->second->Whole;
  }
  const TensorMeta *meta(std::string_view Name) const;
  std::optional<Expr> number(std::string_view Name) const;
  /// Whether a number is one that a run computes of its sizes.
  static bool isComputed(const Argument &A) {
    return A.Is == Argument::Kind::Float && !A.Values.empty() &&
           !A.Values[0].empty();
  }
  /// What the archive says of a symbolic number; null if nothing.
  const Size *declaredNumber(std::string_view Name) const;
  /// A symbolic condition; none if the archive does not say what it is.
  std::optional<Relation> condition(std::string_view Name) const;
  std::optional<Expr> sizeOf(const Size &S) const;
  /// Whether a result is what the archive declares; reports if not.
  bool check(NodeImport &N, const std::string &Name, Value V);
  /// Imports a subgraph's nodes in place. The outputs' values, or none.
  std::optional<SmallVector<Value>>
  inlineGraph(const Graph &G, ArrayRef<Value> Inputs, NodeImport &Caller);

  //===--- loops, branches, and sizes that data decides -------------------===//
  /// A graph.loop; its results, or none after a fault. With `Begins` data ends
  /// it, and `Count` is the most iterations.
  std::optional<SmallVector<Value>>
  loop(NodeImport &N, const Expr &Count, ArrayRef<Value> Inits,
       ArrayRef<bool> Reversed, frontend::LoopFunction Body, Value Begins = {});
  /// `Count` values of one of two sides, as data says. None after a fault.
  using SideFunction = llvm::function_ref<std::optional<SmallVector<Value>>()>;
  std::optional<SmallVector<Value>> branch(NodeImport &N, Value Condition,
                                           SideFunction Then, SideFunction Else,
                                           size_t Count);
  /// The same for sides that are imported node by node, and as many values as
  /// the first one gives. What a side writes to is as it leaves it.
  std::optional<SmallVector<Value>> branch(const Node &Where, Value Condition,
                                           SideFunction Then,
                                           SideFunction Else);
  /// The same for a loop, which data ends if it begins with a value. `Settled`:
  /// whether the walk after it knew what its values show; else there is
  /// another one.
  std::optional<SmallVector<Value>> loop(const Node &Where, const Expr &Count,
                                         Value Begins, ArrayRef<Value> Inits,
                                         frontend::LoopFunction Body,
                                         llvm::function_ref<bool()> Settled);
  /// Whether an expression depends on the iteration of a loop.
  bool namesCounter(const Expr &E) const;
  /// A size of its own for a number that the program computes, at most
  /// `AtMost`: what `Declared` names, or `Name`. Where the archive declares a
  /// size that is there already, it is that one, and runs check it. None after
  /// a fault.
  std::optional<Expr> decideSize(NodeImport &N, Value Count, const Expr &AtMost,
                                 const Size *Declared, const std::string &Name);

  /// Whether an argument is a complex tensor, here one of pairs.
  bool isComplex(const NodeImport &N, std::string_view Argument) const;
  bool isComplex(const std::string &Name) const {
    return Complex.count(Name) != 0;
  }

  /// Has a run check what is not known to hold. `Why`: a sentence without its
  /// full stop, for messages.
  void require(const Relation &R, const std::string &Why);

  /// Two sizes that PyTorch takes for equal. They are the same expression from
  /// then on, or a run checks that they are equal; a warning says so. False if
  /// they depend on what only data or an iteration says.
  bool assumeEqual(const Expr &A, const Expr &C, NodeImport &Where);
  /// A size as it is after all that was assumed.
  Expr current(const Expr &E) const;

  const shape::Facts &facts() const { return Facts; }
  Diagnostics &diagnostics() { return Diags; }
  ModelPlace place(const Node &N) const;
  /// "'reshape' (aten.reshape.default)"
  static std::string nodeText(const ModelPlace &Place);

private:
  struct Storage {
    Value Now;
    unsigned Version = 0;
    std::string Input;   ///< the placeholder that it is, if any
    bool Joined = false; ///< one of two tensors, as data says
    unsigned Made = 0;   ///< before all with a higher number
    /// What a joined one may be, with the contents that it then has.
    std::vector<std::pair<std::shared_ptr<Storage>, Value>> Shows;
  };
  struct View {
    std::shared_ptr<Storage> Of;
    std::shared_ptr<View> Whole; ///< null: it is the whole storage
    NodeImport::ForwardFunction Forward;
    NodeImport::BackwardFunction Backward;
    Value Made;
    unsigned Version = 0; ///< of the storage, when `Made` was made
  };
  Value read(View &V, Emitter &E);
  Value writeView(View &V, Value Part, Emitter &E);

  std::optional<SmallVector<Value>> importBody(
      mlir::Operation *Holder, mlir::Region &Body, mlir::TypeRange Arguments,
      llvm::function_ref<std::optional<SmallVector<Value>>(ArrayRef<Value>)>
          Emit);
  void leaveBody(mlir::Operation *Holder, const std::set<std::string> &Stay);
  using Forbidden = frontend::Forbidden;
  void addForbidden(NodeImport &N, Forbidden F);
  /// The same of flags that the results of a loop or branch held.
  void addForbidden(NodeImport &N, std::vector<Forbidden> All);
  /// A size that data decides, by a name that nothing has.
  Expr addSymbol(const std::string &Wanted, shape::SymbolFacts Known);
  void addCount(NodeImport &N, Value Count, const Expr &Size,
                const Expr &AtMost);
  bool namesData(const Expr &E) const;
  /// Has a run check that a size that follows from data is the declared one,
  /// where that is not known.
  void requireDeclared(NodeImport &N, const Expr &Size, const Expr &Must);
  /// Has a run check that a count is the size that the archive declares.
  void checkCount(NodeImport &N, Value Count, const Expr &AtMost,
                  const Expr &Must, const std::string &Wanted);
  std::set<std::string> namesOfValues() const;
  /// An import of a statement of TorchScript.
  NodeImport statement(const Node &Where);
  using Versions = std::map<Storage *, unsigned>;
  Versions versionsRead(NodeImport &N);
  /// A storage from outside that a branch or a loop writes to.
  struct Change {
    Storage *Of;
    Value Before;
  };
  using Changes = SmallVector<Change>;
  /// Adds what changed since.
  static void takeBack(const Versions &Since, Changes &Into);
  static void setStorage(Storage &Of, Value Now);
  bool changeSizes(llvm::function_ref<Expr(const Expr &)> Change);
  bool replaceSize(const std::string &Old, const Expr &New,
                   const shape::Facts &Known);
  /// Makes an assumption that a node needs.
  bool assume(NodeImport &Where,
              llvm::function_ref<bool(const frontend::Assumption &)> By);
  /// Takes a symbol for what makes the sizes equal, if that is another symbol
  /// or a number.
  bool assumeSymbol(const Expr &A, const Expr &C, NodeImport &Where);
  bool assumeMultiples(const Expr &A, const Expr &C, NodeImport &Where);
  bool assumeParts(const Expr &A, const Expr &C, NodeImport &Where);
  void discard(mlir::Operation *Walked);
  std::string freshSymbol(const std::string &Wanted) const;
  /// Takes what the program's guards say of its sizes.
  void readGuards();
  void readSymbols();
  void declareDim(const NamedSymbol &N);
  void readDimOptions();
  void addInputs();
  Value build(const Payload &P, const std::string &Name, NodeImport &Reader);
  void importNodes(const Graph &G);
  static void forEachResult(const Node &N,
                            llvm::function_ref<void(const std::string &)> Do);
  /// Whether a node reads or makes complex tensors.
  bool touchesComplex(const Node &N) const;
  void importComplex(const Node &N, const Rule *R);
  /// Whether a node gives a real number of sizes; then it is done, or reported.
  bool importReal(const Node &N);
  Value real(const Argument &A, NodeImport &N);
  static RuleFunction customRule();
  void importBy(RuleFunction Import, const Node &N, InPlace Form);
  void reportUnknown();
  void finish();
  Value inputArgument(const std::string &Name, const TensorMeta &M,
                      const std::string &Shown);

  const ImportOptions &Options;
  std::string ModelName;
  const Program &P;
  const std::set<std::string> &State;
  WeightStore &Weights;
  Diagnostics &Diags;
  mlir::OpBuilder B;
  mlir::OwningOpRef<mlir::ModuleOp> Module;
  mlir::func::FuncOp Main;
  std::unordered_map<std::string, std::shared_ptr<View>> Values;
  std::set<std::string, std::less<>> Lost, Undefined;
  std::vector<const Graph *> Graphs; ///< outer ones first
  shape::Facts Facts;
  /// What PyTorch's symbols stand for: a dim with a name, or a number.
  std::map<std::string, Expr, std::less<>> Symbols;
  std::map<std::string, Expr, std::less<>> Numbers; ///< of `defineNumber`
  std::map<std::string, shape::SymbolFacts, std::less<>> Given;
  /// Names of complex tensors; their values have a last dimension of 2.
  std::set<std::string, std::less<>> Complex;
  std::deque<Node> Rewritten; ///< nodes on such
  frontend::DataSizes Decided;
  std::vector<std::pair<Value, Expr>> Counted; ///< what `Decided` has
  std::vector<std::vector<Forbidden>> Bodies;  ///< flags of open ones
  std::vector<Forbidden> BodyFlags; ///< of the body that was closed last
  std::set<std::string, std::less<>> ByData;   ///< symbols of these
  std::set<std::string, std::less<>> Counters; ///< of loops
  SmallVector<std::string> Spare;              ///< counters that are free again
  unsigned Born = 0;                           ///< how many storages were made
  unsigned Walks = 0;      ///< loops around the insertion point
  unsigned StaleReads = 0; ///< of joined tensors that were written to since
  std::vector<std::pair<Expr, Expr>> Replaced; ///< parts of sizes, in order
  std::map<std::string, std::string, std::less<>> Reasons; ///< of divisors
  /// What a run checks of its sizes: the program's guards.
  std::vector<graph::Requirement> Required;
  /// Names of sizes that data decides, by PyTorch's symbols.
  std::map<std::string, std::string, std::less<>> DecidedNames;
  std::vector<std::string> Signature;
  std::set<std::string> Written;
  /// Weights by where their bytes are: tied ones share one.
  std::map<std::pair<const uint8_t *, std::string>, std::string> Sources;
  std::set<std::string> Read; ///< names that nodes or outputs read
  struct Missing {
    const Node *First;
    size_t Count = 0;
  };
  std::map<std::string, Missing> Unknown;
};

} // namespace kpc::torch

#endif // KPC_COMPILER_IMPORT_TORCH_IMPORTER_H
