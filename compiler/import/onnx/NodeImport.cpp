//===- NodeImport.cpp - One node on its way into the graph dialect --------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/NodeImport.h"
#include "compiler/import/onnx/Importer.h"

#include "llvm/ADT/StringExtras.h"

namespace kpc::onnx {

using Kind = Attribute::Kind;

/// As many dims as a tensor of an artifact may have (artifact::MaxRank).
static constexpr int64_t HighestRank = 32;

Value NodeImport::fail(Code C, std::string Message, std::string Hint) {
  // What follows from the first fault of a node says nothing new.
  if (!Failed) {
    kpc::Diagnostic &D = TheImporter.diagnostics()
                             .error(C)
                             .at(TheNode.place())
                             .message(std::move(Message));
    if (!Hint.empty())
      D.hint(std::move(Hint));
  }
  Failed = true;
  return {};
}

Value NodeImport::unsupportedOn(const std::string &What, const Expr &Size,
                                const std::string &Rest) {
  std::set<std::string, std::less<>> Dims;
  Size.collectSymbols(Dims);
  return fail(Code::ImportUnsupported,
              What + " on the size " + Size.str() +
                  ", which is known only at run time" + Rest,
              "say with --dim what " + llvm::join(Dims, " and ") +
                  (Dims.size() == 1 ? " is" : " are"));
}

bool NodeImport::unify(const Expr &A, const Expr &C) {
  return TheImporter.unify(A, C, *this);
}

Expr NodeImport::current(const Expr &E) const { return TheImporter.current(E); }

std::optional<Expr> NodeImport::decideSize(Value Count, const Expr &AtMost,
                                           size_t Axis) {
  return TheImporter.decideSize(*this, Count, AtMost, Axis);
}

bool NodeImport::fix(const Expr &E, int64_t Wanted) {
  return TheImporter.fix(E, Wanted, *this);
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

Value NodeImport::input(size_t I) {
  if (!hasInput(I))
    return fail(Code::ImportArity,
                "input " + std::to_string(I) + " is missing");
  if (const Entry *E = entry(I); E && (E->Items || E->Stack || E->Absent))
    return fail(
        Code::ImportValueType,
        "input " + std::to_string(I) + " is " +
            (E->Absent ? "an optional value that is absent" : "a sequence") +
            ", but should be a tensor");
  Value V = TheImporter.value(TheNode.Inputs[I], *this);
  // Reported where it was lost.
  if (!V)
    Failed = true;
  return V;
}

const Entry *NodeImport::entry(size_t I) {
  return hasInput(I) ? TheImporter.entry(TheNode.Inputs[I]) : nullptr;
}

std::optional<std::vector<Entry>> NodeImport::sequence(size_t I) {
  const Entry *E = entry(I);
  if (E && E->Items)
    return *E->Items;
  if (hasInput(I) && !E)
    Failed = true; // reported where it was lost
  else if (E && E->Stack)
    fail(Code::ImportNotConstant,
         "input " + std::to_string(I) + " is a sequence of " +
             dims(E->Stack).front().str() +
             " elements, a number that only the run knows",
         "SequenceAt, SequenceLength, SequenceInsert and SequenceErase at a "
         "known place, SequenceMap and ConcatFromSequence take such a "
         "sequence");
  else
    fail(hasInput(I) ? Code::ImportValueType : Code::ImportArity,
         "input " + std::to_string(I) +
             (hasInput(I) ? " is no sequence" : " is missing"));
  return std::nullopt;
}

const Contents *NodeImport::contents(size_t I) {
  return hasInput(I) ? TheImporter.contents(TheNode.Inputs[I]) : nullptr;
}

std::string NodeImport::wayToKnow(size_t I) {
  std::vector<std::string> From = TheImporter.inputsBehind(TheNode.Inputs[I]);
  std::string Text;
  for (const std::string &Name : From)
    Text += (Text.empty() ? "--value " : " --value ") + printable(Name) + "=…";
  return Text.empty() ? Text : "say what it is when compiling: " + Text;
}

std::optional<std::vector<Expr>> NodeImport::readSizes(size_t I) {
  const Contents *C = contents(I);
  std::optional<Contents> Read;
  if (!C && hasInput(I))
    Read = TheImporter.contentsOfInputs(TheNode.Inputs[I]);
  if (Read)
    C = &*Read;
  if (C && !C->isReal())
    return C->Whole;
  return std::nullopt;
}

void NodeImport::takeOneElement(size_t I) {
  if (!hasInput(I) || contents(I) || TheImporter.isLost(TheNode.Inputs[I]))
    return;
  if (Value V = input(I); V && rank(V) == 1)
    unify(dims(V)[0], Expr(1));
}

std::optional<std::vector<Expr>> NodeImport::knownSizes(size_t I,
                                                        std::string_view What) {
  if (std::optional<std::vector<Expr>> Sizes = readSizes(I))
    return Sizes;
  if (hasInput(I) && !TheImporter.isLost(TheNode.Inputs[I]))
    if (std::optional<std::vector<Expr>> Sizes =
            TheImporter.decideElements(*this, TheNode.Inputs[I]))
      return Sizes;
  reportUnknownSizes(I, What);
  return std::nullopt;
}

void NodeImport::reportUnknownSizes(size_t I, std::string_view What) {
  if (!hasInput(I)) {
    fail(Code::ImportArity, "input " + std::to_string(I) + " (" +
                                std::string(What) + ") is missing");
  } else if (TheImporter.isLost(TheNode.Inputs[I])) {
    Failed = true;
  } else {
    fail(Code::ImportNotConstant,
         "input " + std::to_string(I) + " (" + std::string(What) +
             ") is known only when the model runs",
         wayToKnow(I));
  }
}

std::optional<std::vector<int64_t>>
NodeImport::knownInts(size_t I, std::string_view What) {
  std::optional<std::vector<Expr>> Sizes = readSizes(I);
  if (!Sizes) {
    reportUnknownSizes(I, What);
    return std::nullopt;
  }
  std::vector<int64_t> Values;
  for (const Expr &E : *Sizes) {
    if (!E.asConstant()) {
      fail(Code::ImportNotConstant,
           "input " + std::to_string(I) + " (" + std::string(What) +
               ") depends on the size " + E.str(),
           wayToKnow(I));
      return std::nullopt;
    }
    Values.push_back(*E.asConstant());
  }
  return Values;
}

std::optional<std::vector<double>>
NodeImport::knownReals(size_t I, std::string_view What) {
  const Contents *C = contents(I);
  if (C)
    if (std::optional<std::vector<double>> Values = C->reals())
      return Values;
  if (hasInput(I) && TheImporter.isLost(TheNode.Inputs[I]))
    Failed = true;
  else
    fail(Code::ImportNotConstant,
         "input " + std::to_string(I) + " (" + std::string(What) + ") is " +
             (hasInput(I) ? "known only when the model runs" : "missing"),
         hasInput(I) ? wayToKnow(I) : "");
  return std::nullopt;
}

void NodeImport::expectInputs(size_t Least, size_t Most) {
  size_t Count = inputCount();
  if (Count < Least || Count > Most)
    fail(Code::ImportArity,
         "has " + std::to_string(Count) +
             (Count == 1 ? " input, but takes " : " inputs, but takes ") +
             (Least == Most
                  ? std::to_string(Least)
                  : std::to_string(Least) + " to " + std::to_string(Most)));
}

std::pair<Value, Value> NodeImport::operands() {
  expectInputs(2, 2);
  Value A = input(0), C = input(1);
  if (opset() >= 7 || bad())
    return {A, C};
  ignoreAttribute("broadcast");
  if (!hasAttribute("axis"))
    return {A, C};
  int64_t Axis = frontAxis(intAttribute("axis", 0), rank(A));
  int64_t Ones = rank(A) - Axis - rank(C);
  if (Ones < 0)
    fail(Code::ImportShape,
         "the second operand does not fit at axis " + std::to_string(Axis));
  if (bad())
    return {};
  Dims Sizes(dims(C));
  Sizes.append(static_cast<size_t>(Ones), Expr(1));
  return {A, reshape(C, Sizes)};
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const Attribute *NodeImport::attribute(std::string_view Name, Kind Wanted) {
  Asked.insert(std::string(Name));
  auto It = TheNode.Attributes.find(Name);
  if (It == TheNode.Attributes.end())
    return nullptr;
  Kind Is = It->second.Is;
  bool List =
      Wanted == Kind::Ints || Wanted == Kind::Floats || Wanted == Kind::Strings;
  if (Is == Wanted || (Is == Kind::EmptyList && List))
    return &It->second;
  // Undefined was reported by the reader.
  if (Is != Kind::Undefined)
    fail(Code::ImportAttributeType, "attribute '" + std::string(Name) +
                                        "' is " + std::string(kindName(Is)) +
                                        ", but should be " +
                                        std::string(kindName(Wanted)));
  Failed = true;
  return nullptr;
}

int64_t NodeImport::intAttribute(std::string_view Name, int64_t Default) {
  const Attribute *A = attribute(Name, Kind::Int);
  return A ? A->Int : Default;
}

int64_t NodeImport::requiredInt(std::string_view Name) {
  if (!hasAttribute(Name))
    fail(Code::ImportAttributeMissing,
         "attribute '" + std::string(Name) + "' is missing");
  return intAttribute(Name, 0);
}

double NodeImport::floatAttribute(std::string_view Name, double Default) {
  const Attribute *A = attribute(Name, Kind::Float);
  return A ? static_cast<double>(A->Float) : Default;
}

std::string NodeImport::stringAttribute(std::string_view Name,
                                        std::string_view Default) {
  const Attribute *A = attribute(Name, Kind::String);
  return A ? A->String : std::string(Default);
}

std::optional<Ints> NodeImport::intsAttribute(std::string_view Name) {
  const Attribute *A = attribute(Name, Kind::Ints);
  if (!A)
    return std::nullopt;
  return Ints(A->Ints.begin(), A->Ints.end());
}

std::optional<std::vector<double>>
NodeImport::floatsAttribute(std::string_view Name) {
  const Attribute *A = attribute(Name, Kind::Floats);
  if (!A)
    return std::nullopt;
  return std::vector<double>(A->Floats.begin(), A->Floats.end());
}

const Tensor *NodeImport::tensorAttribute(std::string_view Name) {
  const Attribute *A = attribute(Name, Kind::Tensor);
  return A && !A->Tensors.empty() ? &A->Tensors.front() : nullptr;
}

const Graph *NodeImport::graphAttribute(std::string_view Name) {
  const Attribute *A = attribute(Name, Kind::Graph);
  if (A && !A->Graphs.empty())
    return A->Graphs.front().get();
  fail(Code::ImportAttributeMissing,
       "attribute '" + std::string(Name) + "' is missing");
  return nullptr;
}

void NodeImport::checkUnread() {
  for (const auto &[Name, A] : TheNode.Attributes)
    if (!Asked.count(Name)) {
      fail(Code::ImportAttributeUnknown,
           "has no attribute '" + printable(Name) + "' that kpc knows");
      return;
    }
}

int64_t NodeImport::frontAxis(int64_t Axis, int64_t Rank) {
  if (Axis >= -Rank && Axis < Rank)
    return Axis < 0 ? Axis + Rank : Axis;
  fail(Code::ImportAttributeValue, "axis " + std::to_string(Axis) +
                                       " is outside the rank " +
                                       std::to_string(Rank));
  return 0;
}

Ints NodeImport::frontAxes(ArrayRef<int64_t> Axes, int64_t Rank) {
  Ints Result;
  for (int64_t A : Axes) {
    int64_t Front = frontAxis(A, Rank);
    if (!bad() && llvm::is_contained(Result, Front))
      fail(Code::ImportAttributeValue,
           "axis " + std::to_string(A) + " is named twice");
    Result.push_back(Front);
  }
  llvm::sort(Result);
  return Result;
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

void NodeImport::result(size_t I, Value V) {
  if (!V) {
    Failed = true;
    return;
  }
  if (rank(V) > HighestRank) {
    unsupported("output " + std::to_string(I) + " has rank " +
                std::to_string(rank(V)) + "; kpc takes up to " +
                std::to_string(HighestRank));
    return;
  }
  if (wants(I))
    TheImporter.define(TheNode.Outputs[I], V);
}

void NodeImport::result(size_t I, const Entry &E) {
  if (wants(I))
    TheImporter.define(TheNode.Outputs[I], E);
}

void NodeImport::result(size_t I, Contents C) {
  if (wants(I))
    TheImporter.define(TheNode.Outputs[I], std::move(C));
}

void NodeImport::result(size_t I, const Tensor &T) {
  if (wants(I))
    TheImporter.define(TheNode.Outputs[I], T);
}

Value NodeImport::data(Tensor T) {
  T.Name = TheNode.place().Node + "." + T.Name;
  return TheImporter.build(TheImporter.keep(std::move(T)), *this);
}

std::optional<Dims> NodeImport::declaredSizes(size_t I) {
  if (!wants(I))
    return std::nullopt;
  return TheImporter.declaredSizes(TheNode.Outputs[I]);
}

} // namespace kpc::onnx
