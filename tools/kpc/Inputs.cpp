//===- Inputs.cpp - The tensors that a model is run with ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Inputs.h"

#include "tools/kpc/DimNames.h"
#include "tools/kpc/tensorfile/TensorFile.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <fmt/format.h>
#include <set>
#include <utility>

namespace kpc::cli {

using tensorfile::HostTensor;

namespace {
/// Dims that nobody gave are not chosen larger than this.
constexpr int64_t LargestChosen = 1 << 14;

/// Collects what is known of each input, then makes the tensors.
class InputMaker {
public:
  InputMaker(const Model &M, const InputOptions &Options, Diagnostics &Diags)
      : M(M), Ports(M.inputs()), Symbols(M.symbols()), Values(M.inputValues()),
        Required(M.requirements()), Options(Options), Diags(Diags),
        ErrorsBefore(Diags.errorCount()), Given(Ports.size()),
        How(Ports.size()) {}

  std::optional<Inputs> make();
  /// With tensors in place of the list of options.
  std::optional<Inputs> make(std::vector<HostTensor> Tensors,
                             const std::string &From);
  /// The dims alone.
  std::optional<shape::Bindings> dims();

private:
  void takeDims();
  void takeList();
  void missNone();
  std::optional<Inputs> finish();
  void takeFile(const InputOptions::Given &G);
  bool isFirst(size_t Index);
  void takeTensor(size_t Index, HostTensor T, const std::string &File);
  void bindDims(size_t Index, const HostTensor &T, const std::string &File);
  void bindValues(size_t Index, const HostTensor &T, const std::string &File);
  void chooseOpenDims();
  /// The next larger size of a dim; false if it has none.
  bool grow(const kpc_symbol &S);
  void fillOutputs(const std::set<std::string> &Open);
  /// How far the sizes are from what must hold: outputs that have no elements
  /// and requirements that are not met.
  int faults() const;
  void meetRequirements(const std::set<std::string> &Open);
  void checkRanges();
  void checkGivenDims();
  std::optional<shape::Expr> sizeOf(std::string_view Text) const;
  bool failed() const { return Diags.errorCount() != ErrorsBefore; }
  std::optional<HostTensor> makeUp(size_t Index);
  std::optional<size_t> find(const std::string &Name);

  const Model &M;
  std::vector<kpc_port> Ports;
  std::vector<kpc_symbol> Symbols;
  std::vector<kpc_input_value> Values;
  std::vector<kpc_requirement> Required;
  const InputOptions &Options;
  Diagnostics &Diags;
  size_t ErrorsBefore; ///< errors that were there are not of these inputs
  std::vector<std::optional<HostTensor>> Given;
  std::vector<std::optional<Filling>> How;
  shape::Bindings Bound;
  std::vector<GivenDim> NotOwn; ///< dims of the model's, not the artifact's
  /// " (--dim rows=3)" for dims that were given by another name.
  std::map<std::string, std::string> GivenAs;
};
} // namespace

/// The hint for a name that the model does not have.
static std::string didYouMean(const std::string &Name,
                              const std::vector<std::string_view> &Known,
                              std::string_view What) {
  std::string_view Near = nearest(Name, Known);
  if (!Near.empty())
    return fmt::format("did you mean '{}'?", printable(Near));
  std::string All;
  for (std::string_view K : Known)
    All += (All.empty() ? "" : ", ") + printable(K);
  return All.empty() ? fmt::format("it has no {}", What)
                     : fmt::format("its {} are {}", What, All);
}

std::optional<size_t> InputMaker::find(const std::string &Name) {
  std::vector<std::string_view> Known;
  for (size_t I = 0; I < Ports.size(); ++I) {
    if (Name == Ports[I].name)
      return I;
    Known.push_back(Ports[I].name);
  }
  Diags.error(Code::RuntimeUnknownName)
      .message(fmt::format("the model has no input '{}'", printable(Name)))
      .hint(didYouMean(Name, Known, "inputs"));
  return std::nullopt;
}

void InputMaker::takeDims() {
  std::vector<std::string_view> Known;
  Known.reserve(Symbols.size());
  for (const kpc_symbol &S : Symbols)
    Known.push_back(S.name);
  for (const auto &[Name, Value] : Options.Dims) {
    if (std::find(Known.begin(), Known.end(), Name) != Known.end()) {
      Bound[Name] = Value;
    } else if (std::optional<shape::Expr> Size = takenDim(M, Name)) {
      NotOwn.push_back({Name, Value, *Size});
    } else {
      Diags.error(Code::RuntimeUnknownName)
          .message(fmt::format("the model has no dim '{}'", printable(Name)))
          .hint(didYouMean(Name, Known, "dims"));
    }
  }
  for (const GivenDim &Dim : NotOwn) {
    auto Decided = Dim.decides();
    // What an artifact says of its model's dims may be anything.
    if (Decided &&
        std::find(Known.begin(), Known.end(), Decided->first) != Known.end() &&
        Bound.insert(*Decided).second)
      GivenAs[Decided->first] =
          fmt::format(" (--dim {}={})", printable(Dim.Name), Dim.Value);
  }
}

void InputMaker::takeFile(const InputOptions::Given &G) {
  std::optional<size_t> Index;
  if (!G.Name.empty()) {
    Index = find(G.Name);
    if (!Index)
      return;
  }
  std::string Error;
  std::optional<std::vector<HostTensor>> Tensors =
      tensorfile::readTensors(G.File, Error);
  if (!Tensors) {
    // The tensors' file is at fault, not the artifact.
    std::string Artifact = Diags.file();
    Diags.setFile("");
    Diags.error(Code::TensorFile).message(Error);
    Diags.setFile(Artifact);
    return;
  }
  if (!Index) { // a .npz for several inputs
    for (HostTensor &T : *Tensors)
      if (auto I = find(T.Name))
        takeTensor(*I, std::move(T), G.File);
    return;
  }
  auto Named =
      std::find_if(Tensors->begin(), Tensors->end(),
                   [&](const HostTensor &T) { return T.Name == G.Name; });
  if (Named == Tensors->end() && Tensors->size() == 1)
    Named = Tensors->begin();
  if (Named == Tensors->end()) {
    Diags.error(Code::TensorNotInFile)
        .message(fmt::format("'{}' holds {} arrays, none named '{}'",
                             printable(G.File), Tensors->size(),
                             printable(G.Name)));
    return;
  }
  takeTensor(*Index, std::move(*Named), G.File);
}

/// Else the input has come before, which is an error.
bool InputMaker::isFirst(size_t Index) {
  if (!Given[Index] && !How[Index])
    return true;
  Diags.error(Code::RuntimeInvalidArgument)
      .message(fmt::format("input '{}' is given twice",
                           printable(Ports[Index].name)))
      .hint("leave one of them out");
  return false;
}

static std::string typeHint(ElementType Wanted) {
  switch (bitWidth(Wanted)) {
  case 16:
    if (Wanted == ElementType::BF16)
      return "a .npy file has bf16 as its bits: uint16, or ml_dtypes.bfloat16";
    break;
  case 8:
    if (Wanted >= ElementType::F8E4M3FN)
      return "a .npy file has 8-bit floats as their bits: uint8";
    break;
  case 4:
  case 2:
    return "a .npy file has these with one element a byte: uint8 or int8";
  default:
    break;
  }
  return {};
}

void InputMaker::takeTensor(size_t Index, HostTensor T,
                            const std::string &File) {
  const kpc_port &Port = Ports[Index];
  auto Wanted = static_cast<ElementType>(Port.type);
  if (!isFirst(Index))
    return;
  std::string Is = tensorfile::typeAndDims(T);
  if (!tensorfile::becomes(T, Wanted)) {
    Diagnostic &D =
        Diags.error(Code::RuntimeWrongType)
            .message(fmt::format("input '{}' is {}, '{}' holds {}",
                                 printable(Port.name), portText(Port),
                                 printable(File), Is));
    if (std::string Hint = typeHint(Wanted); !Hint.empty())
      D.hint(Hint);
    return;
  }
  bindDims(Index, T, File);
  if (!failed())
    bindValues(Index, T, File);
  T.Name = Port.name;
  Given[Index] = std::move(T);
}

/// A model's names may look like expressions ("batch-size"): the name as it
/// stands comes first.
std::optional<shape::Expr> InputMaker::sizeOf(std::string_view Text) const {
  for (const kpc_symbol &S : Symbols)
    if (Text == S.name)
      return shape::Expr::symbol(Text);
  return shape::Expr::parse(Text);
}

/// Compares the dims of a tensor with those of the port, and takes the values
/// of dims that are names.
void InputMaker::bindDims(size_t Index, const HostTensor &T,
                          const std::string &File) {
  const kpc_port &Port = Ports[Index];
  auto Wrong = [&](const std::string &Why) {
    Diags.error(Code::RuntimeWrongShape)
        .message(fmt::format("input '{}' is {}, '{}' holds {}{}",
                             printable(Port.name), portText(Port),
                             printable(File), tensorfile::typeAndDims(T), Why));
  };
  if (T.Dims.size() != static_cast<size_t>(Port.rank))
    return Wrong(fmt::format("; it has {} dim{}, not {}", T.Dims.size(),
                             T.Dims.size() == 1 ? "" : "s", Port.rank));
  for (int32_t I = 0; I < Port.rank; ++I) {
    std::optional<shape::Expr> Dim = sizeOf(Port.dim_texts[I]);
    if (!Dim)
      continue; // the runtime decides
    std::optional<std::string> Symbol = Dim->asSymbol();
    if (Symbol && Bound.try_emplace(*Symbol, T.Dims[I]).second)
      continue;
    if (Symbol && Bound[*Symbol] != T.Dims[I])
      return Wrong(fmt::format("; dim {} is {}, but {} is {} already{}", I,
                               T.Dims[I], printable(*Symbol), Bound[*Symbol],
                               GivenAs[*Symbol]));
    if (std::optional<int64_t> C = Dim->asConstant(); C && *C != T.Dims[I])
      return Wrong(fmt::format("; dim {} is {}, not {}", I, T.Dims[I], *C));
  }
}

/// Takes the values of dims that are elements of the tensor.
void InputMaker::bindValues(size_t Index, const HostTensor &T,
                            const std::string &File) {
  for (const kpc_input_value &V : Values) {
    std::optional<shape::Expr> Size = sizeOf(V.size_text);
    std::optional<std::string> Symbol = Size ? Size->asSymbol() : std::nullopt;
    if (!std::cmp_equal(V.input, Index) || !Symbol)
      continue;
    auto Elements = tensorfile::toDoubles(
        T.Type, {T.Data.data(), T.Data.size()}, T.count());
    auto At = static_cast<size_t>(V.element);
    double Element = Elements && At < Elements->size() ? (*Elements)[At] : -1;
    if (!(Element >= 0 && Element <= INT_MAX && std::trunc(Element) == Element))
      continue; // the runtime refuses it
    auto Value = static_cast<int64_t>(Element);
    int64_t Kept = Bound.try_emplace(*Symbol, Value).first->second;
    if (Kept != Value)
      Diags.error(Code::RuntimeOutOfRange)
          .message(fmt::format("'{}' gives {} the value {}, but it is {} "
                               "already{}",
                               printable(File), printable(V.name), Value, Kept,
                               GivenAs[*Symbol]));
  }
}

void InputMaker::takeList() {
  for (const InputOptions::Given &G : Options.List) {
    if (G.How == Filling::File)
      takeFile(G);
    else if (auto Index = find(G.Name); Index && isFirst(*Index))
      How[*Index] = G.How;
  }
  missNone();
}

/// Each input is given, or made up.
void InputMaker::missNone() {
  for (size_t I = 0; I < Ports.size(); ++I) {
    if (!How[I])
      How[I] = Options.Others;
    if (Given[I] || How[I] || failed())
      continue;
    Diags.error(Code::RuntimeMissing)
        .message(fmt::format("input '{}' ({}) is missing",
                             printable(Ports[I].name), portText(Ports[I])))
        .hint(fmt::format("give --input {}=FILE, or --input random",
                          printable(Ports[I].name)));
  }
}

bool InputMaker::grow(const kpc_symbol &S) {
  int64_t Divisor = std::max<int64_t>(S.divisor, 1), &Size = Bound[S.name];
  if (Size >= LargestChosen || Size > S.max / 2)
    return false;
  int64_t Larger =
      (std::max<int64_t>(Size * 2, 2) + Divisor - 1) / Divisor * Divisor;
  bool Grows = Larger > Size && Larger <= S.max;
  Size = Grows ? Larger : Size;
  return Grows;
}

/// Grows dims that nobody gave until every output has elements: of a model that
/// divides its sizes, the least sizes may leave nothing to compute.
void InputMaker::fillOutputs(const std::set<std::string> &Open) {
  for (bool Grew = true; Grew;) {
    Grew = false;
    std::set<std::string, std::less<>> Empty;
    for (const kpc_port &Port : M.outputs())
      for (int32_t I = 0; I < Port.rank; ++I)
        if (auto Dim = sizeOf(Port.dim_texts[I]);
            Dim && Dim->evaluate(Bound).value_or(1) <= 0)
          Dim->collectSymbols(Empty);
    for (const kpc_symbol &S : Symbols)
      if (Empty.count(S.name) && Open.count(S.name))
        Grew = grow(S) || Grew;
  }
}

int InputMaker::faults() const {
  int Count = 0;
  for (const kpc_port &Port : M.outputs())
    for (int32_t I = 0; I < Port.rank; ++I)
      if (auto Dim = sizeOf(Port.dim_texts[I]);
          Dim && Dim->evaluate(Bound).value_or(1) <= 0)
        ++Count;
  for (const kpc_requirement &R : Required) {
    auto Left = sizeOf(R.left_text), Right = sizeOf(R.right_text);
    auto A = Left ? Left->evaluate(Bound) : std::nullopt,
         B = Right ? Right->evaluate(Bound) : std::nullopt;
    Count += A && B && (R.equal ? *A != *B : *A > *B);
  }
  return Count;
}

/// Sizes that depend on one another are tried one by one: those that inputs'
/// elements give, as start and end of a slice are, hardly ever are many.
void InputMaker::meetRequirements(const std::set<std::string> &Open) {
  constexpr int64_t MostTried = 1024;
  int Left = faults();
  for (const kpc_symbol &S : Symbols) {
    if (Left == 0)
      return;
    if (!Open.count(S.name))
      continue;
    int64_t Divisor = std::max<int64_t>(S.divisor, 1);
    int64_t Best = Bound[S.name],
            Value = (S.min + Divisor - 1) / Divisor * Divisor;
    for (int64_t I = 0; I < MostTried && Value <= S.max && Left != 0;
         ++I, Value += Divisor) {
      Bound[S.name] = Value;
      if (int Now = faults(); Now < Left) {
        Left = Now;
        Best = Value;
      }
    }
    Bound[S.name] = Best;
  }
}

void InputMaker::chooseOpenDims() {
  std::set<std::string> Open;
  for (const kpc_symbol &S : Symbols) {
    if (Bound.count(S.name))
      continue;
    Open.insert(S.name);
    int64_t Least = std::max<int64_t>(S.min, S.max >= 1 ? 1 : 0);
    int64_t Divisor = std::max<int64_t>(S.divisor, 1);
    int64_t Rounded = (Least + Divisor - 1) / Divisor * Divisor;
    Bound[S.name] = S.optimum >= 0 ? S.optimum : std::min(Rounded, S.max);
  }
  shape::Bindings Least = Bound;
  fillOutputs(Open);
  if (Required.empty() && Values.empty())
    return;
  if (faults() != 0) {
    Bound = std::move(Least);
    meetRequirements(Open);
  }
}

void InputMaker::checkRanges() {
  for (const kpc_symbol &S : Symbols) {
    auto It = Bound.find(S.name);
    if (It == Bound.end())
      continue;
    int64_t V = It->second;
    if (V >= S.min && V <= S.max && V % std::max<int64_t>(S.divisor, 1) == 0)
      continue;
    std::string Range = S.max == INT64_MAX
                            ? fmt::format("{} or more", S.min)
                            : fmt::format("{}..{}", S.min, S.max);
    if (S.divisor > 1)
      Range += fmt::format(", a multiple of {}", S.divisor);
    Diags.error(Code::RuntimeOutOfRange)
        .message(fmt::format("{} is {}{}, the model was compiled for {}",
                             printable(S.name), V, GivenAs[S.name], Range));
  }
}

void InputMaker::checkGivenDims() {
  for (const GivenDim &Dim : NotOwn)
    checkGivenDim(Dim, Bound, Diags);
}

std::optional<HostTensor> InputMaker::makeUp(size_t Index) {
  const kpc_port &Port = Ports[Index];
  std::vector<int64_t> Dims;
  for (int32_t I = 0; I < Port.rank; ++I) {
    std::optional<shape::Expr> Dim = sizeOf(Port.dim_texts[I]);
    std::optional<int64_t> Value;
    if (Dim)
      Value = Dim->evaluate(Bound);
    if (!Value) {
      Diags.error(Code::RuntimeMissing)
          .message(fmt::format("the size {} of input '{}' is not known",
                               Port.dim_texts[I], printable(Port.name)))
          .hint("give --dim NAME=VALUE for the names in it");
      return std::nullopt;
    }
    Dims.push_back(*Value);
  }
  std::optional<HostTensor> T = tensorfile::makeTensor(
      Port.name, static_cast<ElementType>(Port.type), Dims);
  if (!T) {
    Diags.error(Code::RuntimeOutOfMemory)
        .message(fmt::format("input '{}' would be larger than any memory",
                             printable(Port.name)));
    return std::nullopt;
  }
  if (How[Index] == Filling::Random)
    fillRandom(*T, static_cast<uint64_t>(Options.Seed) + Index * 0x10001);
  // Random sizes would be too large, or too small to compute anything.
  for (const kpc_input_value &V : Values)
    if (std::cmp_equal(V.input, Index))
      if (auto Size = sizeOf(V.size_text))
        if (std::optional<int64_t> Value = Size->evaluate(Bound))
          tensorfile::storeElement(T->Type, T->Data.data(), V.element,
                                   static_cast<double>(*Value));
  return T;
}

std::optional<shape::Bindings> InputMaker::dims() {
  takeDims();
  chooseOpenDims();
  checkRanges();
  checkGivenDims();
  return failed() ? std::nullopt : std::optional(Bound);
}

std::optional<Inputs> InputMaker::make() {
  takeDims();
  takeList();
  return finish();
}

std::optional<Inputs> InputMaker::make(std::vector<HostTensor> Tensors,
                                       const std::string &From) {
  for (HostTensor &T : Tensors)
    if (auto Index = find(T.Name))
      takeTensor(*Index, std::move(T), From);
  if (!failed())
    missNone();
  return finish();
}

std::optional<Inputs> InputMaker::finish() {
  chooseOpenDims();
  checkRanges();
  checkGivenDims();
  if (failed())
    return std::nullopt;
  Inputs Out;
  for (size_t I = 0; I < Ports.size(); ++I) {
    if (!Given[I])
      Given[I] = makeUp(I);
    if (!Given[I])
      return std::nullopt;
    Out.Tensors.push_back(std::move(*Given[I]));
  }
  Out.Dims = std::move(Bound);
  return Out;
}

std::optional<Inputs> makeInputs(const Model &M, const InputOptions &Options,
                                 Diagnostics &Diags) try {
  needInputNames(M, Options);
  return InputMaker(M, Options, Diags).make();
} catch (const std::bad_alloc &) {
  Diags.error(Code::RuntimeOutOfMemory)
      .message("there is not enough memory for the inputs");
  return std::nullopt;
}

std::optional<Inputs> makeInputs(const Model &M,
                                 std::vector<HostTensor> Tensors,
                                 const std::string &From, Diagnostics &Diags) {
  return InputMaker(M, InputOptions(), Diags).make(std::move(Tensors), From);
}

std::optional<shape::Bindings>
chooseDims(const Model &M, const std::map<std::string, int64_t> &Given,
           Diagnostics &Diags) {
  InputOptions Options;
  Options.Dims = Given;
  return InputMaker(M, Options, Diags).dims();
}

std::vector<NamedTensor> asRuntimeTensors(const Inputs &I) {
  std::vector<NamedTensor> Out;
  Out.reserve(I.Tensors.size());
  for (const HostTensor &T : I.Tensors)
    Out.push_back(
        {T.Name, Tensor(const_cast<uint8_t *>(T.Data.data()),
                        static_cast<kpc_element_type>(T.Type), T.Dims)});
  return Out;
}

std::string dimsText(const shape::Bindings &Dims) {
  std::string Out;
  for (const auto &[Name, Value] : Dims)
    Out +=
        fmt::format("{}{}={}", Out.empty() ? "" : " ", printable(Name), Value);
  return Out;
}

} // namespace kpc::cli
