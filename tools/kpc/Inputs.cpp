//===- Inputs.cpp - The tensors that a model is run with ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Inputs.h"

#include "tools/kpc/tensorfile/TensorFile.h"

#include <algorithm>
#include <fmt/format.h>

namespace kpc::cli {

using tensorfile::HostTensor;

void addInputs(CLI::App &App, InputOptions &Options) {
  addText(
      App, "-i,--input", "NAME=FILE",
      "an input: NAME=FILE (.npy, .npz, ONNX .pb), NAME=random, NAME=zeros; "
      "FILE.npz with an array per input; random or zeros for all others; "
      "repeatable",
      [&Options](const std::string &Text) {
        auto Word = [](std::string_view W) -> std::optional<Filling> {
          if (W == "random")
            return Filling::Random;
          return W == "zeros" ? std::optional(Filling::Zeros) : std::nullopt;
        };
        if (auto How = Word(Text)) {
          Options.Others = How;
          return;
        }
        // Names of inputs may contain '=', names of files hardly do.
        size_t Equals = Text.rfind('=');
        if (Equals == std::string::npos && Text.ends_with(".npz")) {
          Options.List.push_back({"", Filling::File, Text});
          return;
        }
        if (Equals == std::string::npos || Equals == 0 ||
            Equals + 1 == Text.size())
          throw UsageError(
              Code::UsageValue,
              fmt::format("--input: '{}' is not NAME=FILE", printable(Text)),
              "write NAME=FILE, NAME=random, NAME=zeros, random or zeros");
        std::string Name = Text.substr(0, Equals);
        std::string Value = Text.substr(Equals + 1);
        auto How = Word(Value);
        Options.List.push_back(
            {Name, How.value_or(Filling::File), How ? "" : Value});
      });
  addNumber(App, "--seed", Options.Seed, 0, INT64_MAX,
            "for random inputs (default: 0)");
  addDimValues(App, Options.Dims);
}

namespace {
/// Collects what is known of each input, then makes the tensors.
class InputMaker {
public:
  InputMaker(const Model &M, const InputOptions &Options, Diagnostics &Diags)
      : Ports(M.inputs()), Symbols(M.symbols()), Options(Options), Diags(Diags),
        ErrorsBefore(Diags.errorCount()), Given(Ports.size()),
        How(Ports.size()) {}

  std::optional<Inputs> make();
  /// The dims alone.
  std::optional<shape::Bindings> dims();

private:
  void takeDims();
  void takeList();
  void takeFile(const InputOptions::Given &G);
  void takeTensor(size_t Index, HostTensor T, const std::string &File);
  void bindDims(size_t Index, const HostTensor &T, const std::string &File);
  void chooseOpenDims();
  void checkRanges();
  std::optional<shape::Expr> sizeOf(std::string_view Text) const;
  bool failed() const { return Diags.errorCount() != ErrorsBefore; }
  std::optional<HostTensor> makeUp(size_t Index);
  std::optional<size_t> find(const std::string &Name);

  std::vector<kpc_port> Ports;
  std::vector<kpc_symbol> Symbols;
  const InputOptions &Options;
  Diagnostics &Diags;
  size_t ErrorsBefore; ///< errors that were there are not of these inputs
  std::vector<std::optional<HostTensor>> Given;
  std::vector<std::optional<Filling>> How;
  shape::Bindings Bound;
};
} // namespace

/// The hint for a name that the model does not have.
static std::string didYouMean(const std::string &Name,
                              const std::vector<std::string_view> &Known) {
  std::string_view Near = nearest(Name, Known);
  return Near.empty() ? std::string("the model's signature is below")
                      : fmt::format("did you mean '{}'?", printable(Near));
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
      .hint(didYouMean(Name, Known));
  return std::nullopt;
}

void InputMaker::takeDims() {
  std::vector<std::string_view> Known;
  for (const kpc_symbol &S : Symbols)
    Known.push_back(S.name);
  for (const auto &[Name, Value] : Options.Dims) {
    if (std::find(Known.begin(), Known.end(), Name) == Known.end()) {
      Diags.error(Code::RuntimeUnknownName)
          .message(fmt::format("the model has no dim '{}'", printable(Name)))
          .hint(didYouMean(Name, Known));
      continue;
    }
    Bound[Name] = Value;
  }
}

void InputMaker::takeFile(const InputOptions::Given &G) {
  std::optional<size_t> Index;
  if (!G.Name.empty() && !(Index = find(G.Name)))
    return;
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
  if (Given[Index]) {
    Diags.error(Code::RuntimeInvalidArgument)
        .message(fmt::format("input '{}' is given twice", printable(Port.name)))
        .hint("leave one of them out");
    return;
  }
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
    return Wrong("");
  for (int32_t I = 0; I < Port.rank; ++I) {
    std::optional<shape::Expr> Dim = sizeOf(Port.dim_texts[I]);
    if (!Dim)
      continue; // the runtime decides
    std::optional<std::string> Symbol = Dim->asSymbol();
    if (Symbol && Bound.try_emplace(*Symbol, T.Dims[I]).second)
      continue;
    if (Symbol && Bound[*Symbol] != T.Dims[I])
      return Wrong(fmt::format("; {} is {} already", printable(*Symbol),
                               Bound[*Symbol]));
    if (std::optional<int64_t> C = Dim->asConstant(); C && *C != T.Dims[I])
      return Wrong("");
  }
}

void InputMaker::takeList() {
  for (const InputOptions::Given &G : Options.List) {
    if (G.How == Filling::File)
      takeFile(G);
    else if (auto Index = find(G.Name))
      How[*Index] = G.How;
  }
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

void InputMaker::chooseOpenDims() {
  for (const kpc_symbol &S : Symbols) {
    if (Bound.count(S.name))
      continue;
    int64_t Least = std::max<int64_t>(S.min, S.max >= 1 ? 1 : 0);
    int64_t Divisor = std::max<int64_t>(S.divisor, 1);
    int64_t Rounded = (Least + Divisor - 1) / Divisor * Divisor;
    Bound[S.name] = S.optimum >= 0 ? S.optimum : std::min(Rounded, S.max);
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
        .message(fmt::format("{} is {}, the model was compiled for {}",
                             printable(S.name), V, Range));
  }
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
  return T;
}

std::optional<shape::Bindings> InputMaker::dims() {
  takeDims();
  chooseOpenDims();
  checkRanges();
  return failed() ? std::nullopt : std::optional(Bound);
}

std::optional<Inputs> InputMaker::make() {
  takeDims();
  takeList();
  chooseOpenDims();
  checkRanges();
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
  return InputMaker(M, Options, Diags).make();
} catch (const std::bad_alloc &) {
  Diags.error(Code::RuntimeOutOfMemory)
      .message("there is not enough memory for the inputs");
  return std::nullopt;
}

std::optional<shape::Bindings>
chooseDims(const Model &M, const std::map<std::string, int64_t> &Given,
           Diagnostics &Diags) {
  InputOptions Options;
  Options.Dims = Given;
  return InputMaker(M, Options, Diags).dims();
}

namespace {
/// SplitMix64 (Steele, Lea, Flood, 2014).
class RandomBits {
public:
  explicit RandomBits(uint64_t Seed) : State(Seed) {}
  uint64_t next() {
    uint64_t Z = State += 0x9E3779B97F4A7C15u;
    Z = (Z ^ Z >> 30) * 0xBF58476D1CE4E5B9u;
    Z = (Z ^ Z >> 27) * 0x94D049BB133111EBu;
    return Z ^ Z >> 31;
  }
  /// Nearly normal, mean 0 and variance 1, by additions alone, so that every
  /// machine gets the same: the sum of four uniform numbers.
  double normal() {
    uint64_t Bits = next();
    double Sum = 0;
    for (int I = 0; I < 4; ++I, Bits >>= 16)
      Sum += static_cast<double>(Bits & 0xFFFF) + 0.5;
    // Four uniform numbers on [0, 65536) have variance 4 * 65536^2 / 12.
    return (Sum - 2 * 65536.0) * (1.7320508075688772 / 65536.0);
  }

private:
  uint64_t State;
};
} // namespace

static double randomElement(ElementType Type, RandomBits &Bits) {
  switch (Type) {
  case ElementType::Bool:
    return static_cast<double>(Bits.next() >> 63);
  case ElementType::U8:
    return static_cast<double>(Bits.next() >> 56);
  case ElementType::I8:
  case ElementType::U16:
  case ElementType::I16:
  case ElementType::U32:
  case ElementType::I32:
  case ElementType::U64:
  case ElementType::I64:
    return static_cast<double>(Bits.next() % 10);
  default:
    return Bits.normal();
  }
}

void fillRandom(HostTensor &T, uint64_t Seed) {
  RandomBits Bits(Seed);
  int64_t Count = T.count();
  uint8_t *Data = T.Data.data();
  switch (T.Type) {
  case ElementType::C64:
  case ElementType::C128: {
    bool Wide = T.Type == ElementType::C128;
    for (int64_t I = 0; I < 2 * Count; ++I) {
      double Value = Bits.normal();
      if (Wide)
        reinterpret_cast<double *>(Data)[I] = Value;
      else
        reinterpret_cast<float *>(Data)[I] = static_cast<float>(Value);
    }
    return;
  }
  default:
    break;
  }
  for (int64_t I = 0; I < Count; ++I)
    if (!tensorfile::storeElement(T.Type, Data, I,
                                  randomElement(T.Type, Bits))) {
      // Floats of 8 bits and types of less: any bits but those of NaN: sign and
      // high exponents are left out.
      for (size_t J = 0; J < T.Data.size(); ++J)
        Data[J] = static_cast<uint8_t>(Bits.next() >> 56) & 0x37;
      return;
    }
}

std::vector<NamedTensor> asRuntimeTensors(const Inputs &I) {
  std::vector<NamedTensor> Out;
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
