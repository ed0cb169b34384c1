//===- Evaluator.h - Walks a TorchScript program ----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The program is walked once, as PyTorch would run it: modules, functions,
/// lists and numbers are known while compiling, and what is done to tensors
/// becomes nodes of the importer. So calls are inlined, branches on known
/// values taken, loops unrolled. What only data knows ends the walk with a
/// diagnostic that names the user's line.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCHSCRIPT_EVALUATOR_H
#define KPC_COMPILER_IMPORT_TORCHSCRIPT_EVALUATOR_H

#include "compiler/import/torch/Importer.h"
#include "compiler/import/torch/Schemas.h"
#include "compiler/import/torchscript/Archive.h"
#include "compiler/import/torchscript/Datum.h"

#include <deque>
#include <set>
#include <unordered_map>

namespace kpc::torchscript {

/// A value that is passed to a call.
struct Passed {
  std::string Keyword; ///< empty: by place
  Datum Value;
};
using PassedList = std::vector<Passed>;

class Evaluator {
public:
  /// Statements that are executed before the walk gives up.
  static constexpr uint64_t MostSteps = 5'000'000;
  /// Nodes that it may make.
  static constexpr uint64_t MostNodes = 500'000;
  /// Elements and characters that lists and strings may take together. An
  /// element takes more than 200 bytes.
  static constexpr uint64_t MostItems = 5'000'000;
  /// Calls and expressions within each other.
  static constexpr unsigned Deepest = 1000;
  /// Levels of lists and objects in one another.
  static constexpr unsigned DeepestLists = 100;
  static constexpr const char *DeepLists =
      "lists nest deeper than 100 levels, or one holds itself";

  Evaluator(Archive &Script, torch::Program &P, torch::Importer &Into,
            const WeightStore &Weights, std::vector<std::string> &Notes)
      : Script(Script), P(P), Into(Into), Weights(Weights), Notes(Notes) {}

  /// Calls a method of the top module. A null result comes after a report.
  std::optional<Datum> run(const Datum &Top, const std::string &Method,
                           const std::map<std::string, Datum> &Arguments);

  /// The object of a pickle, with its tensors as names.
  Datum object(const PickleValue &V, const std::string &Path);
  /// A tensor that the caller defined in the importer.
  static Datum tensorNamed(const std::string &Name) {
    return Datum::ofText(Name, Datum::Kind::Tensor);
  }
  /// Fixes the value of an attribute instead of what the file has.
  void presetAttribute(const std::string &Path, Datum Value) {
    Presets.insert_or_assign(Path, std::move(Value));
  }
  /// The user's line that last assigned an attribute, by the attribute's path.
  const std::map<std::string, std::string> &assignedAttributes() const {
    return Assigned;
  }
  /// What a tensor stands for now; null after a report.
  mlir::Value valueOf(const Datum &Tensor);
  /// A tensor of no dimensions that holds a number.
  Datum scalarTensor(const Datum &Number);
  /// Whether two values are equal; none where sizes decide. `Level`: of lists
  /// in lists.
  std::optional<bool> same(const Datum &A, const Datum &B, unsigned Level = 0);
  /// Whether the lists in `V` end, and have no more parts than a program may
  /// make; else that is reported. What is given back is walked after this.
  bool ends(const Datum &V);
  /// Whether the program read an attribute before it assigned it.
  bool isReadFirst(const std::string &Path) const {
    return ReadFirst.count(Path) != 0;
  }
  /// Whether a method of a class of the archive was called.
  bool wasCalled(const std::string &Class, const std::string &Method) const {
    return Called.count({Class, Method}) != 0;
  }
  /// An expression of a file that stands in no function: a default.
  Datum constantOf(const ScriptFile &File, const Node &N);

private:
  struct Frame {
    const ScriptFile *File = nullptr;
    std::string Function; ///< "forward"
    std::string Module;   ///< "layers.0"
    std::unordered_map<std::string, Datum> Locals;
    unsigned Line = 0;
    const std::vector<Statement> *Body = nullptr; ///< of the function
    /// Functions without arguments that are defined in it.
    std::unordered_map<std::string, const std::vector<Statement> *> Defined =
        {};
  };

  //===--- reports; the first one ends the walk ---------------------------===//
  static constexpr const char *FewerRounds =
      "kpc unrolls loops: give smaller sizes in --input-shape, or take the "
      "loop out of the model";
  Datum fail(Code C, std::string Message, std::string Hint = "");
  Datum unknownNumber(const std::string &What);
  bool charge(uint64_t Items);

  //===--- statements and expressions (Evaluator.cpp)
  //----------------------===//
  /// A value where a `return` was met.
  std::optional<Datum> runBlock(const std::vector<Statement> &Block);
  std::optional<Datum> runStatement(const Statement &S);
  std::optional<Datum> runBranch(const Statement &S);
  /// Says that what the line checks is left out.
  void noteUnchecked(unsigned Line);
  std::optional<Datum> runLoop(const Statement &S);
  /// Whether `S` is a branch that a tensor decides and kpc can compile; then it
  /// is done, or reported.
  bool branchOnData(const Statement &S, const Datum &Condition);
  /// Whether `S` asks if a tensor has no elements and then only makes tensors
  /// without any. The other side gives the same of no elements: it is run.
  bool branchOnEmpty(const Statement &S, const Datum &Condition);
  /// The same of a loop that goes on while a tensor says so.
  bool loopOnData(const Statement &S, const Datum &Condition);
  /// The same of a `for` over a range whose length is a size.
  bool loopOverSize(const Statement &S, const shape::Expr &Count);
  bool controlledLoop(const Statement &S, const Datum *Condition,
                      const std::optional<shape::Expr> &Count);
  /// The length of a range, if only a run knows it.
  std::optional<shape::Expr> dynamicRange(const Node &Over);
  /// The tensor that says whether something holds; null after a report.
  mlir::Value truthValue(const Datum &V);
  /// A node for a statement that becomes control flow.
  torch::Node &nodeFor(const Statement &S, const std::string &Kind);
  /// Refuses what would happen only where such control flow leads: changes of
  /// what outlives it. `List` is the one that changes.
  bool mayChange(const std::string &What, const Datum *List = nullptr);
  void assign(const Node &Target, const Datum &V);
  void takeApart(const std::vector<Node> &Targets, const Datum &V);
  Datum evaluate(const Node &N);
  Datum evaluateCall(const Node &N);
  Datum evaluateNamed(const Node &N, const std::string &Name,
                      PassedList Arguments);
  Datum attribute(const Datum &Of, const std::string &Name);
  bool isEnum(const Datum &Of);
  /// The value of "__torch__.Mode.FAST", or its name.
  Datum ofEnum(const Datum &Of, const std::string &Name);
  Datum enumObject(const PickleValue &V);
  /// The result of a forked task, which runs here, in order.
  Datum runTask(const std::string &Name);
  /// A call of the top module, with the hooks that its class has.
  Datum callTop(const Datum &Top, const Class &Of, const ScriptFile &File,
                const Function &F, PassedList Arguments);
  Datum element(const Datum &Of, const Datum &At);
  /// Where a key stands in a dict; -1 where it does not, none where sizes
  /// decide.
  std::optional<int64_t> placeOfKey(const Datum &Dict, const Datum &Key);
  PassedList arguments(const Node &Call);
  Datum callMethod(const Datum &Self, const std::string &Name,
                   PassedList Arguments);
  Datum callNamed(const std::string &Name, PassedList Arguments);
  Datum callFunction(const ScriptFile &File, const Function &F,
                     const PassedList &Arguments, const std::string &Module);
  /// None where data decides.
  std::optional<bool> truth(const Datum &V);

  //===--- Python's own operators (Builtins*.cpp) -------------------------===//
  /// None where the name is no such operator, or its operands are tensors.
  std::optional<Datum> callBuiltin(const std::string &Name, PassedList &A);
  std::optional<Datum> callNumber(const std::string &Name, PassedList &A);
  std::optional<Datum> callSequence(const std::string &Name, PassedList &A);
  std::optional<Datum> callDict(const std::string &Name, PassedList &A);
  std::optional<Datum> callList(const std::string &Name, PassedList &A);
  std::optional<Datum> callText(const std::string &Name, PassedList &A);
  std::optional<Datum> callTextPair(const std::string &Name, PassedList &A);
  Datum sorted(const Datum &Of, bool Reversed);
  /// Numbers in lists, one in the other, of a tensor whose data is known.
  Datum listOf(const Datum &Tensor);
  std::optional<Datum> callTensor(const std::string &Name, PassedList &A);
  Datum arithmetic(const std::string &Name, const Datum &A, const Datum &B);
  Datum openReal(const std::string &Name, const std::vector<Datum> &Of);
  /// A size over a number; over 0 where it is another real.
  struct Ratio {
    shape::Expr Above;
    int64_t Below;
  };
  std::optional<Ratio> scaled(const Ratio &Of, double By, bool Over) const;
  std::optional<Datum> wholePart(llvm::StringRef Name, const Datum &Tensor);
  Datum compare(const std::string &Name, const Datum &A, const Datum &B);
  Datum convert(const std::string &Type, const Datum &V);
  Datum sliced(const Datum &Of, PassedList &A);
  /// A tensor of numbers, in lists or alone.
  Datum tensorOf(PassedList &A);

  //===--- operators on tensors (Aten.cpp) --------------------------------===//
  Datum callAten(const std::string &Name, PassedList Arguments);
  bool bind(const torch::Schema &S, const PassedList &Given, torch::Node &N);
  bool bindCustom(const custom::Operator &Op, const PassedList &Given,
                  torch::Node &N);
  bool bindOne(const torch::SchemaArgument &S, const Datum &V,
               torch::Argument &A);
  void bindInt(const Datum &V, torch::Argument &A);
  void foldNumbers(const std::string &Name, const PassedList &Given,
                   const Datum &Result);
  void foldKnown(const std::string &Name, const PassedList &Given,
                 const Datum &Result);
  /// Makes a weight known to the importer at its first use.
  bool readWeight(const std::string &Name);
  Datum tensorFrom(const PickleValue &V, const std::string &Path,
                   bool Constant);
  /// The number that a tensor is known to hold.
  std::optional<Datum> knownNumber(const Datum &Tensor) const;
  /// The same where it follows from constants and sizes by what was computed:
  /// traces take the greatest of several sizes from a tensor of them.
  std::optional<Datum> computedNumber(const Datum &Tensor);
  void note(const std::string &Text);

  Archive &Script;
  torch::Program &P;
  torch::Importer &Into;
  const WeightStore &Weights;
  std::vector<std::string> &Notes;
  std::deque<Frame> Frames; ///< addresses stay
  /// Weights that nothing has read so far, by name.
  struct Weight {
    const PickleValue *Of;
    bool Constant;
  };
  std::map<std::string, Weight> Unread;
  /// Nodes stay: the importer may refer to them.
  std::deque<torch::Node> Nodes;
  std::map<std::string, Datum> Known;  ///< numbers that tensors hold, by name
  std::map<std::string, Ratio> Ratios; ///< and reals that come of sizes
  std::map<const PickleValue *, Datum> Objects;
  std::map<std::string, Datum> Presets;
  std::map<std::string, std::string> Assigned;
  std::set<std::string> ReadFirst;
  std::set<std::pair<std::string, std::string>> Called;
  std::map<std::string, unsigned> NamesUsed;
  /// The lines of branches that tensors come of, by name.
  std::map<std::string, unsigned> JoinedAt;
  uint64_t Steps = 0, Items = 0;
  unsigned Depth = 0;
  /// Sides of branches that data decides, and bodies of loops that it ends,
  /// around this place, by numbers of their own.
  std::vector<unsigned> Sides;
  unsigned SidesMade = 0;
  /// Lists that such a side wrote out, which it may change: they are kept, so
  /// that no other list has their address.
  struct MadeList {
    std::shared_ptr<std::vector<Datum>> Items;
    unsigned Side;
  };
  std::map<const std::vector<Datum> *, MadeList> MadeLists;
  bool Bad = false;
};

} // namespace kpc::torchscript

#endif // KPC_COMPILER_IMPORT_TORCHSCRIPT_EVALUATOR_H
