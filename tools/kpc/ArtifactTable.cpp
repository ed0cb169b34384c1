//===- ArtifactTable.cpp - What is written in an artifact -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/ArtifactTable.h"
#include "runtime/format/BufferReads.h"
#include "runtime/format/Conditional.h"
#include "tools/kpc/ArtifactExpr.h"
#include "tools/kpc/StepWaits.h"

#include "compiler/Remarks.h"
#include "compiler/TakenDims.h"
#include "compiler/import/onnx/model/MappedFile.h"
#include "runtime/format/Container.h"
#include "runtime/format/ElementType.h"
#include "runtime/format/Validate.h"
#include "runtime/format/artifact_generated.h"

#include <algorithm>
#include <limits>
#include <set>
#include <sstream>

namespace kpc::cli {

static std::string textOf(const flatbuffers::String *S) {
  return S ? S->str() : std::string();
}

template <class T> static size_t sizeOf(const T *List) {
  return List ? List->size() : 0;
}

/// Bytes that a launch reads and writes; none where a size cannot be computed.
static std::optional<int64_t> bytesOf(const format::Model &M,
                                      const format::Target &T,
                                      const format::Launch &L,
                                      const std::vector<int64_t> &Symbols) {
  int64_t All = 0;
  if (!L.params())
    return All;
  for (const format::Param *P : *L.params()) {
    if (P->kind() != format::ParamKind::Buffer)
      continue;
    bool Whole = P->length() == format::None;
    uint32_t Size = Whole ? T.buffers()->Get(P->buffer())->size() : P->length();
    std::optional<int64_t> Bytes = evaluate(*M.exprs()->Get(Size), Symbols);
    int64_t Times = (P->access() & 1) + (P->access() >> 1 & 1);
    int64_t Moved;
    if (!Bytes || __builtin_mul_overflow(*Bytes, Times, &Moved) ||
        __builtin_add_overflow(All, Moved, &All))
      return std::nullopt;
  }
  return All;
}

/// "16 < batch*seq <= 256 and heads > 2".
static std::string boundsText(const format::Model &M,
                              const format::Alternative &A) {
  std::string Out;
  if (!A.bounds())
    return Out;
  for (const format::SizeBound *B : *A.bounds()) {
    std::string Size = exprText(M, *M.exprs()->Get(B->size()));
    bool Open = B->max() == std::numeric_limits<int64_t>::max();
    if (!Out.empty())
      Out += " and ";
    if (!Open && B->min() > 0)
      Out += std::to_string(B->min() - 1) + " < ";
    Out += Size + (Open ? " > " + std::to_string(B->min() - 1)
                        : " <= " + std::to_string(B->max()));
  }
  return Out;
}

/// What the runtime launches for these sizes.
static const format::Launch *chosenLaunch(const format::Model &M,
                                          const format::Launch *L,
                                          const std::vector<int64_t> &Symbols) {
  auto Holds = [&](const format::SizeBound *B) {
    std::optional<int64_t> Size = evaluate(*M.exprs()->Get(B->size()), Symbols);
    return Size && B->min() <= *Size && *Size <= B->max();
  };
  if (L->alternatives())
    for (const format::Alternative *A : *L->alternatives())
      if (!A->bounds() ||
          std::all_of(A->bounds()->begin(), A->bounds()->end(), Holds))
        return A->launch();
  return L;
}

/// What the steps of a plan read for these sizes.
static format::BufferReads readsOf(const format::Model &M,
                                   const format::Target &T,
                                   const std::vector<int64_t> &Symbols) {
  format::BufferReads Reads(T);
  if (T.steps())
    for (const format::Step *S : *T.steps())
      if (const auto *L = S->action_as_Launch())
        Reads.add(*chosenLaunch(M, L, Symbols));
  return Reads;
}

static LaunchFacts launchFacts(const format::Model &M, const format::Target &T,
                               const format::Launch &L,
                               const std::vector<KernelFacts> &Kernels,
                               const std::vector<int64_t> &Symbols) {
  LaunchFacts Out;
  Out.Kernel = chosenLaunch(M, &L, Symbols)->kernel();
  Out.Name = textOf(L.name());
  if (L.source_nodes())
    for (const flatbuffers::String *Node : *L.source_nodes())
      Out.Nodes.push_back(textOf(Node));
  if (Out.Name.empty())
    Out.Name = Kernels[Out.Kernel].Name;
  if (Out.Nodes.empty())
    Out.Nodes = Kernels[Out.Kernel].Nodes;
  Out.Kind = textOf(L.kind());
  Out.Title = textOf(L.title());
  Out.Scope = textOf(L.scope());
  if (L.flops() != format::None) {
    const format::Expr &Flops = *M.exprs()->Get(L.flops());
    Out.FlopsText = exprText(M, Flops);
    Out.Flops = evaluate(Flops, Symbols);
  }
  Out.Bytes = bytesOf(M, T, L, Symbols);
  return Out;
}

/// The sums over the intermediate values of a plan.
static void addMemory(const format::Model &M, const format::Target &T,
                      const std::vector<int64_t> &Symbols, TargetFacts &Out) {
  // Bytes that begin and end to live at each step.
  std::vector<int64_t> Change(sizeOf(T.steps()) + 2, 0);
  uint64_t All = 0;
  std::set<uint32_t> Weights;
  std::vector<ValueFacts> Values;
  if (!T.buffers())
    return;
  for (const format::Buffer *B : *T.buffers()) {
    if (B->kind() == format::BufferKind::Weight)
      Weights.insert(B->index());
    if (B->kind() != format::BufferKind::Arena)
      continue;
    std::optional<int64_t> Size = evaluate(*M.exprs()->Get(B->size()), Symbols);
    if (!Size || *Size < 0)
      return;
    auto Alignment = static_cast<int64_t>(std::max(1u, B->alignment()));
    int64_t Bytes = (*Size + Alignment - 1) / Alignment * Alignment;
    All += static_cast<uint64_t>(Bytes);
    Values.push_back({textOf(B->name()), B->first_step(), B->last_step(),
                      static_cast<uint64_t>(Bytes)});
    Change[B->first_step()] += Bytes;
    Change[B->last_step() + 1] -= Bytes;
  }
  int64_t Live = 0, Most = 0;
  for (int64_t C : Change) {
    Most = std::max(Most, Live += C);
    Out.LiveByStep.push_back(static_cast<uint64_t>(Live));
  }
  Out.LiveByStep.resize(sizeOf(T.steps()));
  Out.LiveBytes = static_cast<uint64_t>(Most);
  Out.ValueBytes = All;
  Out.Values = std::move(Values);
  for (uint32_t W : Weights)
    Out.WeightBytes += M.weights()->Get(W)->length();
}

template <class T>
static std::vector<int64_t> numbers(const flatbuffers::Vector<T> *List) {
  return List ? std::vector<int64_t>(List->begin(), List->end())
              : std::vector<int64_t>();
}

static TensorMapFacts tensorMapFacts(const format::Model &M,
                                     const format::Buffer &Of,
                                     const format::TensorMap &Map,
                                     const std::vector<int64_t> &Symbols) {
  auto Values = [&](const flatbuffers::Vector<uint32_t> *Exprs) {
    std::vector<int64_t> Out = numbers(Exprs);
    for (int64_t &Value : Out)
      Value = evaluate(*M.exprs()->Get(static_cast<uint32_t>(Value)), Symbols)
                  .value_or(-1);
    return Out;
  };
  auto Bytes = [](auto Choice, int First) {
    return static_cast<int>(Choice) ? First << (static_cast<int>(Choice) - 1)
                                    : 0;
  };
  TensorMapFacts Out;
  Out.Buffer = textOf(Of.name());
  Out.Element = Map.tf32()
                    ? "tf32"
                    : elementTypeName(static_cast<ElementType>(Map.element()));
  Out.Mode = Map.mode() == format::TensorMapMode::Tiled ? "tiled" : "im2col";
  Out.Dims = Values(Map.dims());
  Out.Strides = Values(Map.strides());
  Out.Box = numbers(Map.box());
  Out.Traversal = numbers(Map.traversal());
  Out.Lower = numbers(Map.lower());
  Out.Upper = numbers(Map.upper());
  Out.Swizzle = Bytes(Map.swizzle(), 32);
  Out.Promotion = Bytes(Map.promotion(), 64);
  Out.Channels = Map.channels();
  Out.Pixels = Map.pixels();
  return Out;
}

static void addTensorMaps(const format::Model &M, const format::Target &T,
                          const format::Launch &L,
                          const std::vector<int64_t> &Symbols,
                          KernelFacts &Out) {
  if (L.params())
    for (const format::Param *P : *L.params())
      if (P->kind() == format::ParamKind::TensorMap)
        Out.TensorMaps.push_back(tensorMapFacts(
            M, *T.buffers()->Get(P->buffer()), *P->tensor_map(), Symbols));
}

static KernelFacts kernelFacts(const format::Kernel &K) {
  KernelFacts Out;
  Out.Symbol = textOf(K.symbol());
  Out.Name = textOf(K.display_name());
  if (Out.Name.empty())
    Out.Name = Out.Symbol;
  Out.Family = textOf(K.family());
  Out.Precision = textOf(K.precision());
  Out.Registers = K.registers();
  Out.SpillBytes = K.spill_bytes();
  Out.Expected = textOf(K.expected());
  if (K.source_nodes())
    for (const flatbuffers::String *Node : *K.source_nodes())
      Out.Nodes.push_back(textOf(Node));
  return Out;
}

static ControlFacts controlFacts(const format::Model &M,
                                 const format::Target &T,
                                 const format::Control &C,
                                 const std::vector<int64_t> &Symbols) {
  ControlFacts Out;
  Out.IsLoop = C.kind() == format::ControlKind::Loop;
  Out.First = C.first_step();
  Out.Else = C.else_step();
  Out.End = C.end_step();
  if (Out.IsLoop) {
    const format::Expr &Count = *M.exprs()->Get(C.count());
    Out.CountText = exprText(M, Count);
    Out.Count = evaluate(Count, Symbols);
  }
  if (C.condition() != format::None)
    Out.Condition = textOf(T.buffers()->Get(C.condition())->name());
  return Out;
}

/// How often a step runs, if its branches are taken. None where data ends a
/// loop around it.
static std::optional<int64_t> runsOf(const TargetFacts &T, size_t Step) {
  int64_t Runs = 1;
  for (const ControlFacts &C : T.Controls) {
    bool DataEnds = C.IsLoop && !C.Condition.empty();
    if (C.IsLoop && C.First <= Step && Step < (DataEnds ? C.Else : C.End) &&
        (DataEnds || !C.Count || __builtin_mul_overflow(Runs, *C.Count, &Runs)))
      return std::nullopt;
  }
  return Runs;
}

static std::optional<int64_t> product(std::optional<int64_t> A,
                                      std::optional<int64_t> B) {
  int64_t Out = 0;
  if (!A || !B || __builtin_mul_overflow(*A, *B, &Out))
    return std::nullopt;
  return Out;
}

/// What may be launched by a step: the tensor maps of each kernel that no step
/// before has, and for which sizes it is.
static void addPlaces(const format::Model &M, const format::Target &T,
                      const format::Launch &L,
                      const std::vector<int64_t> &Symbols,
                      std::set<uint32_t> &Placed,
                      std::vector<KernelFacts> &Out) {
  std::set<uint32_t> Here;
  auto Add = [&](const format::Launch &One, const std::string &Where) {
    if (Placed.count(One.kernel()))
      return;
    KernelFacts &Kernel = Out[One.kernel()];
    if (Here.insert(One.kernel()).second)
      addTensorMaps(M, T, One, Symbols, Kernel);
    else
      Kernel.Where += " or ";
    Kernel.Where += Where;
  };
  Add(L, "");
  if (L.alternatives())
    for (const format::Alternative *A : *L.alternatives())
      Add(*A->launch(), boundsText(M, *A));
  Placed.merge(Here);
}

static TargetFacts targetFacts(const format::Model &M, const format::Target &T,
                               const std::vector<int64_t> &Symbols) {
  TargetFacts Out;
  Out.Name = textOf(T.name());
  Out.Gpu = T.kind() == format::TargetKind::Cuda;
  Out.LeastDriver = static_cast<int32_t>(T.least_driver());
  Out.Steps = sizeOf(T.steps());
  if (T.kernels())
    for (const format::Kernel *K : *T.kernels())
      Out.Kernels.push_back(kernelFacts(*K));
  std::set<uint32_t> Placed;
  if (T.controls()) {
    std::vector<const char *> Reasons = format::readBackReasons(M, T);
    for (const format::Control *C : *T.controls()) {
      const char *Why = Reasons[Out.Controls.size()];
      Out.Controls.push_back(controlFacts(M, T, *C, Symbols));
      if (Out.Gpu && C->condition() != format::None)
        Out.Controls.back().ReadBack = Why;
    }
  }
  size_t Step = 0;
  format::BufferReads Reads = readsOf(M, T, Symbols);
  if (T.steps())
    for (const format::Step *S : *T.steps()) {
      std::optional<int64_t> Runs = runsOf(Out, Step++);
      Out.LaunchOfStep.emplace_back();
      if (const format::Launch *L = S->action_as_Launch()) {
        Out.LaunchOfStep.back() = Out.Launches.size();
        addPlaces(M, T, *L, Symbols, Placed, Out.Kernels);
        Out.Launches.push_back(launchFacts(M, T, *L, Out.Kernels, Symbols));
        LaunchFacts &Launch = Out.Launches.back();
        Launch.LeftOut = Reads.isUnread(*L);
        Out.Kernels[Launch.Kernel].Launches += !Launch.LeftOut;
        Launch.Flops = product(Launch.Flops, Runs);
        Launch.Bytes = product(Launch.Bytes, Runs);
      } else if (S->action_as_Copy()) {
        ++Out.Copies;
      }
    }
  if (T.modules())
    for (const format::Module *Code : *T.modules()) {
      if (Code->image())
        Out.ImageBytes += Code->image()->length();
      if (Code->ptx())
        Out.PtxBytes += Code->ptx()->length();
    }
  addMemory(M, T, Symbols, Out);
  Out.Waits = stepWaits(M, T, Symbols);
  return Out;
}

static std::vector<std::string> linesOf(const flatbuffers::String *Text) {
  std::vector<std::string> Lines;
  std::istringstream Stream(textOf(Text));
  for (std::string Line; std::getline(Stream, Line);)
    Lines.push_back(Line);
  return Lines;
}

static void addProvenance(const format::Model &M, ArtifactFacts &Out) {
  const format::Provenance *P = M.provenance();
  if (!P)
    return;
  auto Add = [&](const char *Key, const flatbuffers::String *Value) {
    if (Value && Value->size())
      Out.Provenance.emplace_back(Key, Value->str());
  };
  Add("kpc_version", P->kpc_version());
  Add("model_name", P->model_name());
  Add("model_digest", P->model_digest());
  Add("options", P->options());
  Add("tuning_digest", P->tuning_digest());
  if (P->properties())
    for (const format::Property *Extra : *P->properties()) {
      std::string_view Key = Extra->key()->string_view();
      if (Key == RemarksMade)
        Out.Remarks.Made = linesOf(Extra->value());
      else if (Key == RemarksRefused)
        Out.Remarks.Refused = linesOf(Extra->value());
      else if (Key == PrecisionTableKey)
        Out.PrecisionTable = textOf(Extra->value());
      else if (Key.starts_with(TakenDimPrefix))
        Out.TakenDims.emplace_back(Key.substr(TakenDimPrefix.size()),
                                   textOf(Extra->value()));
      else if (Key.starts_with(MetadataPrefix))
        Out.Metadata.emplace_back(Key.substr(MetadataPrefix.size()),
                                  textOf(Extra->value()));
      else
        Add(Extra->key()->c_str(), Extra->value());
    }
}

static WeightFacts weightFacts(const format::Weight &W) {
  WeightFacts Out;
  Out.Name = textOf(W.name());
  Out.Bytes = W.length();
  Out.Type = elementTypeName(static_cast<ElementType>(W.type()));
  Out.Type += '[';
  if (W.dims())
    for (uint32_t I = 0; I < W.dims()->size(); ++I)
      Out.Type += (I ? "," : "") + std::to_string(W.dims()->Get(I));
  Out.Type += ']';
  return Out;
}

std::optional<ArtifactFacts> readFacts(const std::string &Path,
                                       const shape::Bindings &Dims,
                                       Diagnostics &Diags) {
  std::string Why;
  auto File = onnx::MappedFile::open(Path, Why);
  if (!File) {
    Diags.error(Code::RuntimeIo).message(Why);
    return std::nullopt;
  }
  std::span<const uint8_t> Bytes = File->bytes();
  auto Header = format::decodeHeader(Bytes.data(), Bytes.size(), Bytes.size());
  if (!Header) {
    Diags.error(Code::RuntimeMalformed).message(Header.error().Message);
    return std::nullopt;
  }
  auto Table = format::readTable(Bytes.data() + Header->TableOffset,
                                 Header->TableSize, Bytes.size());
  if (!Table) {
    Diags.error(Code::RuntimeMalformed).message(Table.error().Message);
    return std::nullopt;
  }
  const format::Model &M = **Table;
  ArtifactFacts Out;
  if (Header->Signature != std::array<uint8_t, 64>())
    Out.SignedBy = format::keyText(Header->SignedBy);
  Out.FileBytes = Bytes.size();
  Out.FormatMajor = Header->Major;
  Out.FormatMinor = Header->Minor;
  Out.Weights = sizeOf(M.weights());
  if (M.weights())
    for (const format::Weight *W : *M.weights()) {
      Out.WeightBytes += W->length();
      Out.WeightList.push_back(weightFacts(*W));
    }
  std::sort(Out.WeightList.begin(), Out.WeightList.end(),
            [](const WeightFacts &A, const WeightFacts &B) {
              return A.Bytes != B.Bytes ? A.Bytes > B.Bytes : A.Name < B.Name;
            });
  if (M.libraries())
    for (const format::Library *L : *M.libraries())
      Out.Libraries.emplace_back(textOf(L->name()),
                                 L->image() ? L->image()->length() : 0);
  std::vector<int64_t> Symbols;
  if (M.symbols())
    for (const format::Symbol *S : *M.symbols()) {
      auto It = Dims.find(S->name()->string_view());
      Symbols.push_back(It == Dims.end() ? S->min() : It->second);
      if (S->reason())
        Out.Reasons.emplace_back(S->name()->str(), S->reason()->str());
    }
  if (M.targets())
    for (const format::Target *T : *M.targets())
      Out.Targets.push_back(targetFacts(M, *T, Symbols));
  addProvenance(M, Out);
  return Out;
}

} // namespace kpc::cli
