//===- ArtifactTable.cpp - The table of an artifact -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/artifact/ArtifactTable.h"
#include "runtime/format/Container.h"
#include "runtime/format/Validate.h"
#include "runtime/format/artifact_generated.h"

#include <map>

namespace kpc::artifact {

namespace fb = flatbuffers;

// The plain enumerations of Contents.h and ElementType.h are cast to those of
// the schema.
static_assert(int(ElementType::I2) == int(format::ElementType::MAX));
static_assert(int(TargetKind::Cuda) == int(format::TargetKind::MAX));
static_assert(int(Isa::AArch64) == int(format::Isa::MAX));
static_assert(int(CapabilityRule::AtLeast) == int(format::CapabilityRule::MAX));
static_assert(int(ParamKind::TensorMap) == int(format::ParamKind::MAX));
static_assert(int(ArgumentType::F64) == int(format::ArgumentType::MAX));
static_assert(int(SymbolSource::Data) == int(format::SymbolSource::MAX));
static_assert(int(TensorMapMode::Im2col) == int(format::TensorMapMode::MAX));
static_assert(int(TensorMapSwizzle::Bytes128) ==
              int(format::TensorMapSwizzle::MAX));
static_assert(int(TensorMapPromotion::Bytes256) ==
              int(format::TensorMapPromotion::MAX));
static_assert(int(TensorMapFill::Nans) == int(format::TensorMapFill::MAX));
static_assert(int(BufferKind::Arena) == int(format::BufferKind::MAX));
static_assert(int(SegmentKind::SharedObject) == int(format::SegmentKind::MAX));

namespace {

class TableBuilder {
public:
  TableBuilder(const Contents &What, const Places &Where)
      : What(What), Where(Where) {}

  MaybeError build(uint64_t TableOffset, Bytes &Out);

private:
  template <class T> using Vector = fb::Offset<fb::Vector<fb::Offset<T>>>;

  uint32_t expr(const Expr &E);
  uint32_t expr(const std::optional<Expr> &E) {
    return E ? expr(*E) : format::None;
  }
  fb::Offset<fb::Vector<uint32_t>> exprs(const std::vector<Expr> &List);
  fb::Offset<fb::String> text(const std::string &Text) {
    return Builder.CreateSharedString(Text);
  }

  fb::Offset<fb::Vector<fb::Offset<fb::String>>>
  texts(const std::vector<std::string> &List) {
    std::vector<fb::Offset<fb::String>> Out;
    Out.reserve(List.size());
    for (const std::string &Text : List)
      Out.push_back(text(Text));
    return Builder.CreateVector(Out);
  }

  template <class T, class Items, class Make>
  Vector<T> list(const Items &List, Make Function) {
    std::vector<fb::Offset<T>> Out;
    Out.reserve(List.size());
    for (const auto &Item : List)
      Out.push_back(Function(Item));
    return Builder.CreateVector(Out);
  }

  Vector<format::Symbol> symbols();
  Vector<format::Port> ports(const std::vector<Port> &Ports);
  Vector<format::Weight> weights();
  Vector<format::Segment> segments();
  fb::Offset<format::Target> target(const Target &T, size_t Index);
  Vector<format::Module> modules(size_t TargetIndex);
  Vector<format::Library> libraries();
  fb::Offset<format::HostFunction> hostFunction(const HostFunction &F);
  Vector<format::Kernel> kernels(const Target &T);
  Vector<format::Buffer> buffers(const Target &T);
  Vector<format::Value> values(const Target &T);
  fb::Offset<format::Step> step(const Step &S);
  fb::Offset<format::Control> control(const Control &C);
  fb::Offset<format::TensorMap> tensorMap(const TensorMap &Map);
  fb::Offset<format::Launch> launch(const Launch &L);
  fb::Offset<format::Provenance> provenance();

  const Contents &What;
  const Places &Where;
  fb::FlatBufferBuilder Builder{1 << 16};
  std::map<std::string, int64_t, std::less<>> SymbolIndex;
  std::map<Expr, uint32_t> ExprIndex;
  std::vector<std::vector<int64_t>> ExprWords;
  MaybeError Problem;
};

} // namespace

uint32_t TableBuilder::expr(const Expr &E) {
  auto [It, New] = ExprIndex.try_emplace(E, uint32_t(ExprWords.size()));
  if (!New)
    return It->second;
  if (E.overflowed())
    Problem = "a size expression overflows 64 bits";
  ExprWords.push_back(E.postfix([&](std::string_view Name) -> int64_t {
    auto Found = SymbolIndex.find(Name);
    if (Found != SymbolIndex.end())
      return Found->second;
    Problem = "expression '" + E.str() + "' names '" + std::string(Name) +
              "', which is not a symbol of the artifact";
    return 0;
  }));
  return It->second;
}

fb::Offset<fb::Vector<uint32_t>>
TableBuilder::exprs(const std::vector<Expr> &List) {
  std::vector<uint32_t> Indices;
  Indices.reserve(List.size());
  for (const Expr &E : List)
    Indices.push_back(expr(E));
  return Builder.CreateVector(Indices);
}

auto TableBuilder::symbols() -> Vector<format::Symbol> {
  return list<format::Symbol>(What.Symbols, [&](const Symbol &S) {
    SymbolIndex.try_emplace(S.Name, int64_t(SymbolIndex.size()));
    return format::CreateSymbol(Builder, text(S.Name), S.Facts.Min, S.Facts.Max,
                                S.Facts.Optimum.value_or(-1), S.Facts.Divisor,
                                format::SymbolSource(S.Source),
                                S.Reason.empty() ? 0 : text(S.Reason));
  });
}

auto TableBuilder::ports(const std::vector<Port> &Ports)
    -> Vector<format::Port> {
  return list<format::Port>(Ports, [&](const Port &P) {
    auto Name = text(P.Name);
    auto Dims = exprs(P.Dims);
    return format::CreatePort(Builder, Name, format::ElementType(P.Type), Dims,
                              P.Alias ? int32_t(*P.Alias) : -1, expr(P.Decides),
                              expr(P.AtMost));
  });
}

auto TableBuilder::weights() -> Vector<format::Weight> {
  size_t Index = 0;
  return list<format::Weight>(What.Weights, [&](const Weight &W) {
    const Range &Place = Where.Weights[Index++];
    auto Name = text(W.Name);
    // Readers of 1.0 want even an empty list to be aligned: leave it out.
    auto Dims = W.Dims.empty() ? fb::Offset<fb::Vector<int64_t>>()
                               : Builder.CreateVector(W.Dims);
    return format::CreateWeight(Builder, Name, Place.Segment, Place.Offset,
                                Place.Length, format::ElementType(W.Type),
                                Dims);
  });
}

auto TableBuilder::segments() -> Vector<format::Segment> {
  return list<format::Segment>(Where.Segments, [&](const Segment &S) {
    format::Digest Digest(
        fb::span<const uint8_t, 32>(S.Digest.data(), S.Digest.size()));
    return format::CreateSegment(Builder, format::SegmentKind(S.Kind), S.Offset,
                                 S.Length, format::PageAlignment, &Digest);
  });
}

auto TableBuilder::modules(size_t TargetIndex) -> Vector<format::Module> {
  return list<format::Module>(
      Where.Modules[TargetIndex], [&](const ModulePlace &M) {
        format::Range Image(M.Image.Segment, 0, M.Image.Offset, M.Image.Length);
        format::Range Ptx(M.Ptx.Segment, 0, M.Ptx.Offset, M.Ptx.Length);
        return format::CreateModule(Builder, M.Image.Length ? &Image : nullptr,
                                    M.Ptx.Length ? &Ptx : nullptr);
      });
}

fb::Offset<format::HostFunction>
TableBuilder::hostFunction(const HostFunction &F) {
  auto Tensors = [&](const std::vector<HostFunction::Tensor> &List) {
    return list<format::OperatorTensor>(List, [&](const auto &T) {
      return format::CreateOperatorTensor(Builder, format::ElementType(T.first),
                                          T.second);
    });
  };
  auto Inputs = Tensors(F.Inputs), Outputs = Tensors(F.Outputs);
  auto Arguments = Builder.CreateVector(
      reinterpret_cast<const format::ArgumentType *>(F.Arguments.data()),
      F.Arguments.size());
  return format::CreateHostFunction(Builder, F.Library, Inputs, Outputs,
                                    Arguments);
}

auto TableBuilder::libraries() -> Vector<format::Library> {
  size_t Index = 0;
  return list<format::Library>(What.Libraries, [&](const Library &L) {
    const Range &Place = Where.Libraries[Index++];
    format::Range Image(Place.Segment, 0, Place.Offset, Place.Length);
    auto Name = text(L.Name);
    return format::CreateLibrary(Builder, Name,
                                 Place.Length ? &Image : nullptr);
  });
}

auto TableBuilder::kernels(const Target &T) -> Vector<format::Kernel> {
  return list<format::Kernel>(T.Kernels, [&](const Kernel &K) {
    auto Symbol = text(K.Symbol), Display = text(K.DisplayName);
    auto Params = Builder.CreateVector(
        reinterpret_cast<const format::ParamKind *>(K.Params.data()),
        K.Params.size());
    auto Sources = texts(K.SourceNodes);
    auto Family = text(K.Family), Precision = text(K.Precision),
         Expected = text(K.Expected);
    fb::Offset<format::HostFunction> Function;
    if (K.Function)
      Function = hostFunction(*K.Function);
    return format::CreateKernel(Builder, Symbol, Display, K.Module, K.Entry,
                                Params, Sources, Family, Precision, K.Registers,
                                K.SpillBytes, K.EarlyLaunch, Expected, Function,
                                K.Cooperative);
  });
}

auto TableBuilder::buffers(const Target &T) -> Vector<format::Buffer> {
  return list<format::Buffer>(T.Buffers, [&](const Buffer &B) {
    auto Name = text(B.Name);
    return format::CreateBuffer(Builder, format::BufferKind(B.Kind), B.Index,
                                expr(B.Size), B.Alignment, B.FirstStep,
                                B.LastStep, Name);
  });
}

auto TableBuilder::values(const Target &T) -> Vector<format::Value> {
  return list<format::Value>(T.Values, [&](const Value &V) {
    auto Name = text(V.Name);
    auto Dims = exprs(V.Dims);
    auto Order = Builder.CreateVector(V.Order);
    return format::CreateValue(Builder, Name, V.Buffer, expr(V.Offset),
                               V.Step.value_or(format::None),
                               format::ElementType(V.Type), Dims, Order);
  });
}

fb::Offset<format::TensorMap> TableBuilder::tensorMap(const TensorMap &Map) {
  auto Dims = exprs(Map.Dims), Strides = exprs(Map.Strides);
  auto Box = Builder.CreateVector(Map.Box);
  auto Traversal = Builder.CreateVector(Map.Traversal);
  auto Lower = Builder.CreateVector(Map.Lower);
  auto Upper = Builder.CreateVector(Map.Upper);
  return format::CreateTensorMap(
      Builder, format::TensorMapMode(Map.Mode),
      format::ElementType(Map.Element), Map.Tf32, Dims, Strides, Box, Traversal,
      format::TensorMapSwizzle(Map.Swizzle),
      format::TensorMapPromotion(Map.Promotion),
      format::TensorMapFill(Map.Fill), Lower, Upper, Map.Channels, Map.Pixels);
}

fb::Offset<format::Launch> TableBuilder::launch(const Launch &L) {
  auto Params = list<format::Param>(L.Params, [&](const Param &P) {
    bool IsSize = P.Kind == ParamKind::Size;
    fb::Offset<format::TensorMap> View;
    if (P.Kind == ParamKind::TensorMap)
      View = tensorMap(P.View);
    return format::CreateParam(Builder, format::ParamKind(P.Kind), P.Buffer,
                               expr(P.Offset), expr(P.Length), P.Access,
                               IsSize ? expr(P.Size) : format::None, View);
  });
  auto Name = text(L.Name);
  auto Sources = texts(L.SourceNodes);
  auto Kind = text(L.Kind), Title = text(L.Title), Scope = text(L.Scope);
  auto Grid = exprs({L.Grid.begin(), L.Grid.end()});
  auto Block = Builder.CreateVector(L.Block.data(), L.Block.size());
  auto Alternatives =
      list<format::Alternative>(L.Alternatives, [&](const Alternative &A) {
        auto Bounds =
            list<format::SizeBound>(A.Bounds, [&](const SizeBound &Bound) {
              return format::CreateSizeBound(Builder, expr(Bound.Size),
                                             Bound.Least, Bound.Most);
            });
        return format::CreateAlternative(Builder, Bounds, launch(A.Instead));
      });
  return format::CreateLaunch(
      Builder, L.Kernel, Params, Grid, Block, expr(L.Shared), expr(L.Work),
      L.Grain, expr(L.Flops), Name, Sources, Alternatives, Kind, Title, Scope);
}

fb::Offset<format::Step> TableBuilder::step(const Step &S) {
  if (const auto *L = std::get_if<Launch>(&S))
    return format::CreateStep(Builder, format::Action::Launch,
                              launch(*L).Union());
  if (const auto *C = std::get_if<Copy>(&S))
    return format::CreateStep(
        Builder, format::Action::Copy,
        format::CreateCopy(Builder, C->Source, expr(C->SourceOffset),
                           C->Destination, expr(C->DestinationOffset),
                           expr(C->Size))
            .Union());
  const auto &F = std::get<Fill>(S);
  return format::CreateStep(Builder, format::Action::Fill,
                            format::CreateFill(Builder, F.Destination,
                                               expr(F.Offset), expr(F.Size),
                                               F.Pattern, F.PatternBytes)
                                .Union());
}

fb::Offset<format::Control> TableBuilder::control(const Control &C) {
  if (const auto *L = std::get_if<Loop>(&C)) {
    auto Counter = SymbolIndex.find(L->Counter);
    if (Counter == SymbolIndex.end())
      Problem = "a loop is counted by '" + L->Counter +
                "', which is not a symbol of the artifact";
    uint32_t Symbol = Problem ? format::None : uint32_t(Counter->second);
    if (const std::optional<LoopEnd> &Until = L->Until)
      return format::CreateControl(Builder, format::ControlKind::Loop, L->First,
                                   L->End, expr(L->Count), Symbol,
                                   Until->Condition,
                                   expr(Until->ConditionOffset), Until->Behind);
    return format::CreateControl(Builder, format::ControlKind::Loop, L->First,
                                 L->End, expr(L->Count), Symbol);
  }
  const auto &I = std::get<If>(C);
  return format::CreateControl(Builder, format::ControlKind::If, I.First, I.End,
                               format::None, format::None, I.Condition,
                               expr(I.ConditionOffset), I.Else);
}

fb::Offset<format::Target> TableBuilder::target(const Target &T, size_t Index) {
  auto Name = text(T.Name);
  auto Modules = modules(Index);
  auto Kernels = kernels(T);
  auto Buffers = buffers(T);
  auto Steps =
      list<format::Step>(T.Steps, [&](const Step &S) { return step(S); });
  auto Values = values(T);
  // A file without loops and branches is as one of 1.2.
  Vector<format::Control> Controls;
  if (!T.Controls.empty())
    Controls = list<format::Control>(
        T.Controls, [&](const Control &C) { return control(C); });
  Vector<format::Readback> Readbacks;
  if (!T.Readbacks.empty())
    Readbacks =
        list<format::Readback>(T.Readbacks, [&](const artifact::Readback &R) {
          return format::CreateReadback(Builder, R.Output, R.Step);
        });
  return format::CreateTarget(Builder, Name, format::TargetKind(T.Kind),
                              format::Isa(T.Isa), T.CpuLevel, T.CapabilityMajor,
                              T.CapabilityMinor, format::CapabilityRule(T.Rule),
                              T.LeastDriver, Modules, Kernels, Buffers, Steps,
                              Values, Controls, Readbacks);
}

fb::Offset<format::Provenance> TableBuilder::provenance() {
  const Provenance &P = What.Provenance;
  auto Properties =
      list<format::Property>(P.Properties, [&](const auto &Property) {
        auto Key = text(Property.first);
        return format::CreateProperty(Builder, Key, text(Property.second));
      });
  auto Version = text(P.KpcVersion), Name = text(P.ModelName);
  auto Digest = text(P.ModelDigest), Options = text(P.Options);
  return format::CreateProvenance(Builder, Version, Name, Digest, Options,
                                  text(P.TuningDigest), Properties);
}

MaybeError TableBuilder::build(uint64_t TableOffset, Bytes &Out) {
  auto Symbols = symbols();
  auto Inputs = ports(What.Inputs), Outputs = ports(What.Outputs);
  auto InputValues =
      list<format::InputValue>(What.InputValues, [&](const InputValue &V) {
        return format::CreateInputValue(Builder, V.Input, V.Element,
                                        expr(V.Size));
      });
  auto Requirements =
      list<format::Requirement>(What.Requirements, [&](const Requirement &R) {
        uint32_t Left = expr(R.Left), Right = expr(R.Right);
        return format::CreateRequirement(Builder, Left, Right, R.Equal,
                                         text(R.Reason));
      });
  auto Weights = weights();
  auto Segments = segments();
  size_t Index = 0;
  auto Targets = list<format::Target>(
      What.Targets, [&](const Target &T) { return target(T, Index++); });
  auto Provenance = provenance();
  // A file without custom operators' host code is as one of 1.6.
  Vector<format::Library> Libraries;
  if (!What.Libraries.empty())
    Libraries = libraries();
  // Last, when all are known.
  auto Exprs = list<format::Expr>(ExprWords, [&](const auto &Words) {
    return format::CreateExpr(Builder, Builder.CreateVector(Words));
  });
  if (Problem)
    return Problem;
  format::FinishModelBuffer(
      Builder, format::CreateModel(Builder, Symbols, Exprs, Inputs, Outputs,
                                   Weights, Segments, Targets, Provenance,
                                   InputValues, Requirements, Libraries));
  Out.assign(Builder.GetBufferPointer(),
             Builder.GetBufferPointer() + Builder.GetSize());
  auto Checked =
      format::readTable(Out.data(), Out.size(), TableOffset + Out.size());
  if (!Checked)
    return "the artifact would not be valid: " + Checked.error().Message;
  return std::nullopt;
}

MaybeError buildTable(const Contents &What, const Places &Where,
                      uint64_t TableOffset, Bytes &Out) {
  return TableBuilder(What, Where).build(TableOffset, Out);
}

} // namespace kpc::artifact
