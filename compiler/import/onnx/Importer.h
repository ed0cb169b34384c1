//===- Importer.h - A model on its way into the graph dialect ---*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_IMPORTER_H
#define KPC_COMPILER_IMPORT_ONNX_IMPORTER_H

#include "compiler/import/AssumedSizes.h"
#include "compiler/import/BodyFlags.h"
#include "compiler/import/Control.h"
#include "compiler/import/DataSizes.h"
#include "compiler/import/onnx/ImportOnnx.h"
#include "compiler/import/onnx/KnownValues.h"
#include "compiler/import/onnx/NodeImport.h"
#include "compiler/import/onnx/model/InputDims.h"
#include "dialects/graph/Requirements.h"
#include "dialects/shape/Assume.h"

#include <deque>
#include <unordered_map>

namespace kpc::onnx {

struct Rule;

/// The greatest size that an element of an input or of what a model computes
/// may be taken for; 0: no element of this type is a size.
int64_t greatestSize(mlir::Type Element);

/// A value of the model: built, or data that is built when an op asks for it.
struct Entry {
  Value Built;
  const Tensor *Data = nullptr;
  std::optional<Contents> Known;
  bool Lost = false;
  bool Absent = false; ///< an optional value that holds nothing
  /// Of a sequence; it has no value of its own.
  std::shared_ptr<const std::vector<Entry>> Items = {};
  /// Of a sequence whose length only the run knows: its elements, all of one
  /// shape, along the first axis. It has no value of its own either.
  Value Stack = {};
  /// Of strings, the list that `Built` has the places in.
  std::shared_ptr<const std::vector<std::string>> Strings = {};
};

class Importer {
public:
  Importer(mlir::MLIRContext &Context, const ImportOptions &Options,
           std::string ModelName, WeightStore &Weights, Diagnostics &Diags);

  mlir::OwningOpRef<mlir::ModuleOp> run(const Model &M);

  //===--- values by name -------------------------------------------------===//
  /// Built now if it was known by data alone. Null if it has none: a fault in
  /// front of it was reported.
  Value value(std::string_view Name, NodeImport &Reader);
  /// What is known of the elements; null if nothing is.
  const Contents *contents(std::string_view Name);
  /// What is known if elements of the model's inputs are sizes of their own;
  /// the data of a run says how large they are.
  std::optional<Contents> contentsOfInputs(std::string_view Name);
  /// The inputs of the model that all of a value follows from; none if they are
  /// too many or too large to be given when compiling.
  std::vector<std::string> inputsBehind(std::string_view Name);
  /// Whether a fault in front left the name without a value.
  bool isLost(std::string_view Name) const;
  void define(const std::string &Name, Value V);
  void define(const std::string &Name, Contents C);
  /// `T` must live as long as the importer.
  void define(const std::string &Name, const Tensor &T) {
    Scopes.back()[Name].Data = &T;
  }
  void define(const std::string &Name, Entry E) {
    Scopes.back()[Name] = std::move(E);
  }
  /// What the name stands for, a sequence or an absent value too; null if a
  /// fault in front left it without.
  const Entry *entry(std::string_view Name);
  /// Puts a list of names into the artifact's metadata.
  void describe(const std::string &Key, ArrayRef<std::string> Names);
  void lose(const std::string &Name);
  const Tensor &keep(Tensor T) { return Made.emplace_back(std::move(T)); }
  /// A constant, or a reference to the store.
  Value build(const Tensor &T, NodeImport &Reader);
  /// A node that a rule made of another one.
  const Node &keep(Node N) { return MadeNodes.emplace_back(std::move(N)); }

  //===--- subgraphs ------------------------------------------------------===//
  /// Imports a subgraph's nodes in place; inputs get the given values. The
  /// outputs' values, or none after a fault.
  std::optional<SmallVector<Value>>
  inlineGraph(const Graph &G, ArrayRef<Value> Inputs, NodeImport &Caller);
  /// The same; `Define` gives the inputs what is known of them.
  std::optional<SmallVector<Value>>
  inlineGraph(const Graph &G, llvm::function_ref<void()> Define,
              NodeImport &Caller);

  /// The same for values of any kind.
  std::optional<std::vector<Entry>>
  inlineEntries(const Graph &G, ArrayRef<Entry> Inputs, NodeImport &Caller);

  /// A graph.loop; its results, or none after a fault. With `Begins` data ends
  /// it, and `Count` is the most iterations.
  std::optional<SmallVector<Value>>
  loop(NodeImport &N, const Expr &Count, ArrayRef<Value> Inits,
       ArrayRef<bool> Reversed, frontend::LoopFunction Body, Value Begins = {});
  /// What one of two sides gives, as data says: as many values as the first.
  std::optional<SmallVector<Value>>
  branch(NodeImport &N, Value Condition,
         llvm::function_ref<std::optional<SmallVector<Value>>()> Then,
         llvm::function_ref<std::optional<SmallVector<Value>>(ArrayRef<Value>)>
             Else);
  /// Whether a body of a loop or branch is being imported.
  bool isInBody() const { return !Bodies.empty(); }
  /// The first `Count` outputs of one of two subgraphs, as data says: a
  /// graph.if, or where both are little work a choice of two results.
  std::optional<SmallVector<Value>> branch(NodeImport &N, Value Condition,
                                           const Graph &Then, const Graph &Else,
                                           size_t Count);
  /// A scalar bool's value, if it is known now.
  std::optional<bool> knownBool(Value V);
  /// Whether `Try` imports the node; if not, what it reported is dropped.
  bool attempt(NodeImport &N, llvm::function_ref<bool(NodeImport &)> Try);

  //===--- sizes ----------------------------------------------------------===//
  std::optional<Dims> declaredSizes(const std::string &Name);
  bool unify(const Expr &A, const Expr &C, NodeImport &Where);
  /// Takes a size to be a number, and the symbol in it what that needs, with a
  /// warning; false if it cannot.
  bool fix(const Expr &E, int64_t Wanted, NodeImport &Where);
  /// Takes a symbol to be as large as it must be; all sizes from there on do.
  bool assumeAtLeast(const shape::FixedSize &Fixed, const Expr &E,
                     int64_t Wanted, NodeImport &Where);
  /// Takes a size not to be 1 or 0, with a warning.
  void takeSeveral(const Expr &E, NodeImport &Where);
  /// What a size is that a rule held while sizes were replaced.
  Expr current(const Expr &E) const;
  /// Takes a symbol to be at most `Most`, with a warning; false if it cannot.
  bool limit(const std::string &Symbol, int64_t Most, NodeImport &Where);
  /// Takes a size to be another, or at most that; runs check it. `What` is what
  /// the node does with them. False if it cannot be.
  bool require(const Expr &Left, bool Equal, const Expr &Right,
               const std::string &What, NodeImport &Where);
  /// Takes a size of several symbols to be 1, with a warning; runs check it.
  /// False if it cannot be.
  bool assumeOne(const Expr &Size, NodeImport &Where);
  /// Runs check that a scalar flag is never set, wherever the node stands.
  void forbid(NodeImport &Where, Value Flag, const std::string &What);
  /// A size of its own for a number that the model computes: dim `Axis` of the
  /// node's output `Of`, and never more than `AtMost`. None after a fault.
  std::optional<Expr> decideSize(NodeImport &N, Value Count, const Expr &AtMost,
                                 size_t Axis, size_t Of = 0);
  /// The same for each element of a small tensor of whole numbers that the
  /// model computes. None, without a report, of others.
  std::optional<std::vector<Expr>> decideElements(NodeImport &N,
                                                  const std::string &Name);
  /// Whether a size follows from an element of an input or of a value that the
  /// model computes.
  bool namesInputValue(const Expr &E) const;
  const shape::Facts &facts() const { return Facts; }
  const WeightStore &weights() const { return Weights; }

  Diagnostics &diagnostics() { return *Diags; }
  mlir::OpBuilder &builder() { return B; }

private:
  using Scope = std::unordered_map<std::string, Entry>;

  using Forbidden = frontend::Forbidden;
  /// A loop's body or a branch that is being imported. What belongs to scopes
  /// around it is built in front of its holder.
  struct OpenBody {
    size_t Scope; ///< the first that is inside
    mlir::Operation *Holder;
    std::vector<Forbidden> Flags; ///< its loop or branch hands them on
  };
  /// An If whose branches are being imported.
  struct OpenBranch {
    const Node *If;
    Value Condition;
  };
  /// The innermost If that takes its other branch wherever a symbol is not
  /// what one of its branches takes it to be, and the sizes to compile for.
  struct OtherBranch {
    std::string If, Sizes;
  };
  std::optional<OtherBranch> otherBranch(const std::string &Symbol,
                                         const Expr &Taken);
  using BodyFunction = llvm::function_ref<std::optional<SmallVector<Value>>(
      ArrayRef<Value> Arguments)>;

  std::optional<SmallVector<Value>> importBody(mlir::Operation *Holder,
                                               mlir::Region &Body,
                                               mlir::TypeRange Arguments,
                                               BodyFunction Emit);
  void addForbidden(NodeImport &N, Forbidden F);
  /// The same of flags that the results of a loop or branch held.
  void addForbidden(NodeImport &N, std::vector<Forbidden> All);
  /// For what is built for an entry of a scope.
  void setInsertionPointFor(size_t Scope);
  /// Makes an assumption that a node needs.
  bool assume(NodeImport &Where,
              llvm::function_ref<bool(const frontend::Assumption &)> By);
  /// Takes symbols to be multiples of what makes two sizes equal.
  bool assumeMultiples(const Expr &A, const Expr &C, NodeImport &Where);
  /// Takes parts of two sizes to be what makes them equal; runs check it.
  bool assumeParts(const Expr &A, const Expr &C, NodeImport &Where);
  /// The product of two parts of sizes is a square number: each is its root.
  bool assumeSquare(const Expr &A, const Expr &C, NodeImport &Where);
  bool assumeEqual(const Expr &A, const Expr &C, NodeImport &Where);
  bool changeSizes(llvm::function_ref<Expr(const Expr &)> Change);
  bool replaceSize(const std::string &Old, const Expr &New,
                   const shape::Facts &Known);
  bool namesCounter(const Expr &E) const;
  Expr makeCounter(const Expr &Count);
  void forgetCounter(const Expr &Counter);

  Entry *find(std::string_view Name, size_t *Scope = nullptr);
  const Entry *find(std::string_view Name) const {
    return const_cast<Importer *>(this)->find(Name);
  }
  void addInitializers(const Graph &G);
  std::optional<Type> inputType(const ValueInfo &V);
  /// An input of strings, whose readers say which ones there are.
  bool defineStrings(const ValueInfo &V, mlir::Block &Body);
  /// The numbers that stand for data of strings.
  void buildStrings(Entry &E, NodeImport &Reader);
  Expr inputSize(const ValueInfo &V, size_t Axis, const Dim &D);
  std::optional<Expr> derivedSize(const std::string &Name) const;
  const ValueInfo *declared(std::string_view Name);
  Expr symbol(const std::string &Name);
  std::string freshSymbol(const std::string &Wanted);
  /// What --dim says, by name and by place, for each dim of an input.
  void readDimOptions(const Model &M);
  void readDimsOfPlace(const ValueInfo &V,
                       const std::vector<shape::SymbolFacts> &Given);
  /// "the model has no dim 'x'", with a list of those it has.
  void reportNoDim(const std::string &What, const std::string &Name);
  /// An input's value that the user gives as text.
  void defineGivenValue(const ValueInfo &V, const std::string &Text);
  bool mayInline(const Graph &G, NodeImport &Caller);
  void importNodes(const Graph &G);
  /// The results of the function that one of the model's outputs is: several
  /// where that is a sequence.
  void addOutput(const ValueInfo &V, const std::string &Name, const Entry &E,
                 SmallVector<Value> &Results, SmallVector<std::string> &Names);
  void importNode(const Node &N);
  /// The user's own; null: it is none.
  const custom::Operator *customOperator(const Node &N) const;
  void importCustom(NodeImport &N, const custom::Operator &Op);
  /// For ImportOptions::Types.
  void noteTypes(const Node &N);
  void reportUnknown(const Node &N);
  /// Says what is wrong with a node some of whose inputs are lost, as far as
  /// that does not depend on their types.
  void probe(const Node &N, const Rule &R);
  std::optional<Diagnostic> tryRule(const Node &N, const Rule &R,
                                    ElementType Element, int64_t Rank);
  Value build(const Contents &C, NodeImport &Reader);
  Value weight(const Tensor &T, Type Element, NodeImport &Reader);
  /// `NAME[i]` for all inputs whose elements may be sizes.
  void collectValueNames(std::set<std::string, std::less<>> &Names);
  /// The elements of an input as sizes; none of one that is data.
  std::optional<KnownTensor> inputElements(Value V);
  /// Forgets elements of inputs that no size depends on; notes the others.
  void keepInputValues(); ///< and what is required of sizes
  std::string declaredName(const std::string &Value, size_t Axis);
  /// Names that the model has for dims of outputs, which data may decide.
  void collectOutputDims(const Graph &G);
  /// Faults of --dim: names of outputs' dims that are no size.
  void reportIdleOutputDims();
  /// Result `I` of two branches has sizes that the condition decides.
  bool decideBranchSizes(NodeImport &N, graph::IfOp Draft, Value Condition,
                         unsigned I);
  bool decideElements(NodeImport &N, Value V, const std::string &Name,
                      std::vector<Expr> &Sizes);
  Expr addDataSize(NodeImport &N, Value Count, const Expr &AtMost,
                   const std::string &Wanted);
  void addDataSizes(SmallVector<Value> &Results,
                    SmallVector<std::string> &Names);
  void finish(const Model &M);
  /// Warns of values that contradict what the model says of them.
  void checkValueInfo(const Node &N);
  /// Warns of a result that contradicts what the model says of it.
  void checkDeclared(const ValueInfo &V, Value Result, std::string_view What);

  const ImportOptions &Options;
  std::string ModelName;
  WeightStore &Weights;
  Diagnostics &TheDiags;
  Diagnostics *Diags; ///< others while a node is probed
  mlir::OpBuilder B;
  mlir::OwningOpRef<mlir::ModuleOp> Module;
  mlir::func::FuncOp Main;
  /// The modules of nodes, by name.
  mlir::NamedAttrList NodeScopes;
  const Graph *Top = nullptr;
  const Graph *Innermost = nullptr; ///< whose nodes are being imported
  size_t Inlined = 0; ///< nodes that unrolled loops and taken branches added
  /// A few faults in front are mended first; time is bounded.
  static constexpr size_t MostProbed = 2'000;
  size_t Probed = 0;
  std::vector<Scope> Scopes;
  std::vector<OpenBody> Bodies;     ///< outer ones first
  std::vector<Forbidden> BodyFlags; ///< of the body that was closed last
  std::vector<OpenBranch> Branches; ///< outer ones first
  /// Symbols that number iterations: equal to nothing else.
  std::set<std::string, std::less<>> Counters;
  std::deque<Tensor> Made; ///< data that rules made
  std::deque<Node> MadeNodes;
  shape::Facts Facts;
  KnownValues Evaluator;
  std::map<std::string, Expr, std::less<>> Symbols;
  /// What the user says of dims, by the name each has.
  std::map<std::string, shape::SymbolFacts, std::less<>> GivenDims;
  DimNames InputDims;
  std::set<std::string, std::less<>> OutputDims;
  /// Sizes that are elements of inputs: the input and the element.
  std::map<std::string, std::pair<std::string, int64_t>, std::less<>>
      InputValues;
  std::vector<graph::Requirement> Requirements;
  frontend::DataSizes Decided;                 ///< those that data decides
  std::vector<std::pair<Value, Expr>> Counted; ///< by decideSize()
  /// Parts of sizes that are taken to be something else, in order.
  std::vector<std::pair<Expr, Expr>> Replaced;
  /// Elements of values that are sizes.
  std::map<std::pair<void *, int64_t>, Expr> DecidedElements;
  /// Sizes of inputs of which the user says all, and the model none.
  std::map<std::string, Dims, std::less<>> RankOnly;
  /// Why what is known of a symbol must hold, where a node needs it.
  std::map<std::string, std::string, std::less<>> Reasons;
  std::vector<std::string> Signature; ///< names of the inputs left
  size_t Contradictions = 0;          ///< that value_info has
  /// From a value to what has its sizes: the result of an elementwise node.
  std::optional<std::map<std::string_view, std::string_view>> Followers;
};

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_IMPORTER_H
