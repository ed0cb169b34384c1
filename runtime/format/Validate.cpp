//===- Validate.cpp - What must hold in an artifact's table ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/format/Validate.h"
#include "runtime/format/Container.h"
#include "runtime/format/ElementType.h"
#include "runtime/format/ValidateTarget.h"

#include <bit>
#include <cinttypes>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace kpc::format {

namespace {

class ModelValidator {
public:
  ModelValidator(const Model &M, size_t TableSize, uint64_t FileSize)
      : M(M), TableSize(TableSize), FileSize(FileSize) {}

  Status run() {
    for (auto Check : {&ModelValidator::symbols, &ModelValidator::exprs,
                       &ModelValidator::ports, &ModelValidator::inputValues,
                       &ModelValidator::segments, &ModelValidator::weights,
                       &ModelValidator::libraries, &ModelValidator::targets})
      if (Status S = (this->*Check)(); !S)
        return S;
    return success();
  }

private:
  Status symbols() {
    std::unordered_set<std::string_view> Names;
    for (const Symbol *S : each(M.symbols())) {
      std::string_view Name = S->name()->string_view();
      if (Name.empty() || !Names.insert(Name).second)
        return malformed("symbol '%s' has no name of its own",
                         printable(S->name()).c_str());
      if (S->source() > SymbolSource::MAX)
        return malformed("symbol '%s' has source %d, which is unknown",
                         printable(S->name()).c_str(), int(S->source()));
      if (S->min() < 0 || S->max() < S->min() || S->divisor() < 1 ||
          (S->optimum() != -1 &&
           (S->optimum() < S->min() || S->optimum() > S->max())))
        return malformed("symbol '%s' has range [%" PRId64 ", %" PRId64
                         "], optimum %" PRId64 ", divisor %" PRId64,
                         printable(S->name()).c_str(), S->min(), S->max(),
                         S->optimum(), S->divisor());
    }
    return success();
  }

  // FlatBuffers' verifier looks at the alignment of a vector's length alone.
  // Its builder does not align vectors without elements, nor is there a need.
  static bool isAligned(const flatbuffers::Vector<int64_t> *Words) {
    return !Words || Words->size() == 0 ||
           uintptr_t(Words->Data()) % alignof(int64_t) == 0;
  }

  // A program is good when it never pops what is not there, names symbols
  // that exist, needs at most MaxExprDepth words of stack and leaves one.
  bool isGood(const flatbuffers::Vector<int64_t> &Words) {
    size_t Depth = 0;
    ExprFacts Names;
    for (size_t I = 0, E = Words.size(); I < E; ++I) {
      int64_t Code = Words.Get(I);
      if (Code == int64_t(Op::Constant) || Code == int64_t(Op::Symbol)) {
        if (++I == E || ++Depth > MaxExprDepth)
          return false;
        int64_t Index = Words.Get(I);
        if (Code != int64_t(Op::Symbol))
          continue;
        if (Index < 0 || uint64_t(Index) >= count(M.symbols()))
          return false;
        SymbolSource Source = M.symbols()->Get(uint32_t(Index))->source();
        Names.OfDevice |= Source == SymbolSource::MultiprocessorCount;
        if (Source == SymbolSource::LoopCounter)
          Names.Counters.push_back(uint32_t(Index));
        if (Source == SymbolSource::Data)
          Names.OfData.push_back(uint32_t(Index));
      } else if (Code >= int64_t(Op::Add) && Code <= int64_t(Op::Max)) {
        if (Depth < 2)
          return false;
        --Depth;
      } else {
        return false;
      }
    }
    Facts.push_back(std::move(Names));
    return Depth == 1;
  }

  Status exprs() {
    size_t Index = 0, Words = 0;
    for (const Expr *E : each(M.exprs())) {
      // Programs that share their words would cost more than their size.
      Words += E->words()->size();
      if (Words > TableSize / sizeof(int64_t) || !isAligned(E->words()) ||
          !isGood(*E->words()))
        return malformed("expression %zu is not a good program", Index);
      ++Index;
    }
    return success();
  }

  Status ports(const flatbuffers::Vector<flatbuffers::Offset<Port>> *Ports,
               bool Outputs) {
    const char *What = Outputs ? "output" : "input";
    std::unordered_set<std::string_view> Names;
    bool Decides = false;
    for (const Port *P : each(Ports)) {
      if (!Names.insert(P->name()->string_view()).second)
        return malformed("two %ss are called '%s'", What,
                         printable(P->name()).c_str());
      if (bitWidth(kpc::ElementType(P->type())) == 0)
        return malformed("%s '%s' has element type %d", What,
                         printable(P->name()).c_str(), int(P->type()));
      if (count(P->dims()) > MaxRank || !exprsExist(M, P->dims()))
        return malformed("%s '%s' has bad dims", What,
                         printable(P->name()).c_str());
      for (uint32_t Index : scalars(P->dims()))
        if (!Facts[Index].isPlain())
          return malformed("%s '%s' has dims that depend on the %s", What,
                           printable(P->name()).c_str(),
                           Facts[Index].OfDevice ? "device" : "iteration");
      if (P->alias() < -1 ||
          P->alias() >= int64_t(Outputs ? count(M.inputs()) : 0))
        return malformed("%s '%s' aliases input %d, which does not exist", What,
                         printable(P->name()).c_str(), P->alias());
      for (uint32_t Index : scalars(P->dims()))
        if (!Outputs && !Facts[Index].OfData.empty())
          return malformed("input '%s' has dims that data decides",
                           printable(P->name()).c_str());
      if (Status S = decision(*P, Outputs, Decides); !S)
        return S;
    }
    return success();
  }

  // Outputs that decide sizes are behind all others.
  Status decision(const Port &P, bool Output, bool &Decides) {
    auto IsSize = [&](uint32_t Index) {
      return Index < count(M.exprs()) && Facts[Index].isPlain();
    };
    bool Was = std::exchange(Decides, P.decides() != None);
    bool Good = Decides
                    ? Output && IsSize(P.decides()) && IsSize(P.at_most()) &&
                          P.type() == ElementType::I64 &&
                          count(P.dims()) == 0 && P.alias() == -1
                    : !Was && P.at_most() == None;
    if (!Good)
      return malformed("'%s' is no output that decides a size",
                       printable(P.name()).c_str());
    return success();
  }

  // The number of elements of a port whose dims are numbers, up to `Most`.
  uint64_t elements(const Port &P, uint64_t Most) {
    uint64_t Elements = 1;
    for (uint32_t Index : scalars(P.dims())) {
      const auto &Words = *M.exprs()->Get(Index)->words();
      if (Words.size() != 2 || Words.Get(0) != int64_t(Op::Constant) ||
          Words.Get(1) <= 0)
        return 0;
      Elements =
          std::min(Most, Elements * std::min(Most, uint64_t(Words.Get(1))));
    }
    return Elements;
  }

  static bool isReadable(ElementType Type) {
    switch (kpc::ElementType(Type)) {
    case kpc::ElementType::Bool:
    case kpc::ElementType::I8:
    case kpc::ElementType::U8:
    case kpc::ElementType::I16:
    case kpc::ElementType::U16:
    case kpc::ElementType::I32:
    case kpc::ElementType::U32:
    case kpc::ElementType::I64:
    case kpc::ElementType::U64:
    case kpc::ElementType::F32:
    case kpc::ElementType::F64:
      return true;
    default:
      return false;
    }
  }

  Status inputValues() {
    size_t Index = 0;
    for (const InputValue *V : each(M.input_values())) {
      const Port *P = V->input() < count(M.inputs())
                          ? M.inputs()->Get(V->input())
                          : nullptr;
      constexpr uint64_t Most = uint64_t(1) << 32;
      if (!P || V->size() >= count(M.exprs()) || !Facts[V->size()].isPlain() ||
          !Facts[V->size()].OfData.empty() || !isReadable(P->type()) ||
          V->element() >= elements(*P, Most))
        return malformed("input value %zu is no element of an input that is a "
                         "size",
                         Index);
      ++Index;
    }
    Index = 0;
    for (const Requirement *R : each(M.requirements())) {
      for (uint32_t Expr : {R->left(), R->right()})
        if (Expr >= count(M.exprs()) || !Facts[Expr].isPlain())
          return malformed("requirement %zu compares no sizes", Index);
      ++Index;
    }
    return success();
  }

  Status ports() {
    if (Status S = ports(M.inputs(), false); !S)
      return S;
    return ports(M.outputs(), true);
  }

  Status segments() {
    size_t Index = 0;
    for (const Segment *S : each(M.segments())) {
      if (S->kind() > SegmentKind::MAX || !S->digest() ||
          !std::has_single_bit(S->alignment()) ||
          S->offset() % S->alignment() || S->offset() < HeaderSize ||
          S->offset() > FileSize || S->length() > FileSize - S->offset())
        return malformed("segment %zu (kind %d, [%" PRIu64 ", +%" PRIu64
                         "), alignment %" PRIu64
                         ") is not good in a file of %" PRIu64 " bytes",
                         Index, int(S->kind()), S->offset(), S->length(),
                         S->alignment(), FileSize);
      ++Index;
    }
    return success();
  }

  Status weights() {
    size_t Index = 0;
    for (const Weight *W : each(M.weights())) {
      bool Good = W->segment() < count(M.segments()) &&
                  W->offset() % WeightAlignment == 0 &&
                  bitWidth(kpc::ElementType(W->type())) != 0 &&
                  count(W->dims()) <= MaxRank && isAligned(W->dims());
      if (Good)
        for (int64_t Dim : scalars(W->dims()))
          Good &= Dim >= 0;
      if (Good) {
        const Segment *S = M.segments()->Get(W->segment());
        Good = S->kind() == SegmentKind::Weights &&
               W->offset() <= S->length() &&
               W->length() <= S->length() - W->offset();
      }
      if (!Good)
        return malformed("weight %zu '%s' is not good", Index,
                         printable(W->name()).c_str());
      ++Index;
    }
    return success();
  }

  Status libraries() {
    size_t Index = 0;
    for (const Library *L : each(M.libraries())) {
      const Range *R = L->image();
      const Segment *S = R && R->segment() < count(M.segments())
                             ? M.segments()->Get(R->segment())
                             : nullptr;
      // The loader is given the whole segment, of which the digest is.
      bool Good =
          !R || (S && S->kind() == SegmentKind::SharedObject && R->length() &&
                 R->offset() == 0 && R->length() == S->length());
      std::string_view Name = L->name()->string_view();
      if (!Good || Name.empty() || Name.find('\0') != Name.npos)
        return malformed("library %zu '%s' is not good", Index,
                         printable(L->name()).c_str());
      ++Index;
    }
    return success();
  }

  Status targets() {
    std::unordered_set<std::string_view> Names;
    for (const Target *T : each(M.targets())) {
      if (!Names.insert(T->name()->string_view()).second)
        return malformed("two targets are called '%s'",
                         printable(T->name()).c_str());
      if (Status S = validateTarget(M, *T, Facts); !S) {
        S.error().Message = "target '" + printable(T->name()) + "', " +
                            std::move(S.error().Message);
        return S;
      }
    }
    return success();
  }

  const Model &M;
  size_t TableSize;
  uint64_t FileSize;
  std::vector<ExprFacts> Facts; ///< of each expression
};

} // namespace

std::string printable(const flatbuffers::String *Text) {
  std::string Out = Text ? Text->str() : std::string();
  if (Out.size() > 200)
    Out.resize(200);
  for (char &C : Out)
    if (uint8_t(C) < ' ' || C == 127)
      C = '?';
  return Out;
}

Result<const Model *> readTable(const uint8_t *Bytes, size_t Size,
                                uint64_t FileSize) {
  // No table is smaller than four bytes, and none need share its bytes with
  // another: a table that verifies longer than this is made to waste time.
  flatbuffers::Verifier Verifier(Bytes, Size, /*max_depth=*/32,
                                 /*max_tables=*/Size / 4 + 1);
  if (Size < 16 || !VerifyModelBuffer(Verifier))
    return malformed("the table is not a well-formed FlatBuffer");
  const Model *M = GetModel(Bytes);
  if (Status S = ModelValidator(*M, Size, FileSize).run(); !S)
    return S;
  return M;
}

} // namespace kpc::format
