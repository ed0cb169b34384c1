//===- kpc/runtime.hpp - Runs compiled models, in C++ -----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A header over kpc/runtime.h, for C++20. Nothing throws but std::bad_alloc.
///
///   auto model = kpc::Model::load("model.kpc");
///   if (!model) return complain(model.error().message());
///   auto session = model->session({.device = kpc::cuda(0)});
///   std::vector<float> x(4 * 64);
///   auto out = session->run({{"x", kpc::tensor(x, {4, 64})}});
///   std::span<const float> y = (*out)["y"].values<float>();
///
/// Threads, ownership and lifetimes are those of kpc/runtime.h.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_HPP
#define KPC_RUNTIME_HPP

#include "kpc/runtime.h"

#if __cplusplus < 202002L
#error "kpc/runtime.hpp needs C++20: -std=c++20"
#endif

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

struct DLManagedTensorVersioned;

namespace kpc {

/// An error of the library.
class Error {
public:
  Error() = default;
  explicit Error(kpc_status Status, kpc_error *E = nullptr)
      : TheStatus(Status), E(E, kpc_error_free) {}
  /// An error that this header found itself.
  Error(kpc_status Status, std::string Text)
      : TheStatus(Status), Own(std::move(Text)) {}
  kpc_status status() const { return TheStatus; }
  const char *message() const {
    if (!Own.empty())
      return Own.c_str();
    const char *Text = kpc_error_message(E.get());
    return *Text ? Text : kpc_status_name(TheStatus);
  }
  const char *node() const { return kpc_error_node(E.get()); }
  const char *kernel() const { return kpc_error_kernel(E.get()); }
  const char *hint() const { return kpc_error_hint(E.get()); }
  /// Message, kernel, node and hint in one text.
  std::string text() const {
    std::string Out = message();
    if (*kernel())
      Out += std::string("; kernel ") + kernel();
    if (*node())
      Out += std::string("; node ") + node();
    if (*hint())
      Out += std::string("; ") + hint();
    return Out;
  }

private:
  kpc_status TheStatus = KPC_OK;
  std::shared_ptr<kpc_error> E;
  std::string Own;
};

/// A value or an error; never both. `value()` of an error is a fault of the
/// caller, and ends the program with the error's text on stderr.
template <class T> class Result {
public:
  Result(T Value) : TheValue(std::move(Value)) {}
  Result(Error E) : TheError(std::move(E)) {}
  explicit operator bool() const { return TheValue.has_value(); }
  bool ok() const { return TheValue.has_value(); }
  T &value() & { return checked(), *TheValue; }
  T &&value() && { return checked(), std::move(*TheValue); }
  T &operator*() { return *TheValue; }
  const T &operator*() const { return *TheValue; }
  T *operator->() { return &*TheValue; }
  const T *operator->() const { return &*TheValue; }
  const Error &error() const { return TheError; }

private:
  void checked() const {
    if (!TheValue) {
      std::fprintf(stderr, "kpc: %s\n", TheError.text().c_str());
      std::abort();
    }
  }
  std::optional<T> TheValue;
  Error TheError;
};

/// Success, or an error.
template <> class Result<void> {
public:
  Result() = default;
  Result(Error E) : TheError(std::move(E)) {}
  explicit operator bool() const { return ok(); }
  bool ok() const { return TheError.status() == KPC_OK; }
  void value() const {
    if (!ok()) {
      std::fprintf(stderr, "kpc: %s\n", TheError.text().c_str());
      std::abort();
    }
  }
  const Error &error() const { return TheError; }

private:
  Error TheError;
};

inline kpc_device host() { return KPC_HOST; }
inline kpc_device cuda(int Ordinal) { return KPC_CUDA(Ordinal); }

template <class T> constexpr kpc_element_type elementTypeOf() = delete;
template <> constexpr kpc_element_type elementTypeOf<float>() {
  return KPC_F32;
}
template <> constexpr kpc_element_type elementTypeOf<double>() {
  return KPC_F64;
}
template <> constexpr kpc_element_type elementTypeOf<bool>() {
  return KPC_BOOL;
}
template <> constexpr kpc_element_type elementTypeOf<int8_t>() {
  return KPC_I8;
}
template <> constexpr kpc_element_type elementTypeOf<int16_t>() {
  return KPC_I16;
}
template <> constexpr kpc_element_type elementTypeOf<int32_t>() {
  return KPC_I32;
}
template <> constexpr kpc_element_type elementTypeOf<int64_t>() {
  return KPC_I64;
}
template <> constexpr kpc_element_type elementTypeOf<uint8_t>() {
  return KPC_U8;
}
template <> constexpr kpc_element_type elementTypeOf<uint16_t>() {
  return KPC_U16;
}
template <> constexpr kpc_element_type elementTypeOf<uint32_t>() {
  return KPC_U32;
}
template <> constexpr kpc_element_type elementTypeOf<uint64_t>() {
  return KPC_U64;
}

/// A view of contiguous memory that it does not own, with its own dims.
class Tensor {
public:
  Tensor() = default;
  /// `Room` is the size of the memory at `Data` in bytes, if it is known. A run
  /// refuses dims that need more.
  Tensor(void *Data, kpc_element_type Type, std::vector<int64_t> Dims,
         kpc_device Device = KPC_HOST, size_t Room = SIZE_MAX)
      : Data(Data), Type(Type), Device(Device), Dims(std::move(Dims)),
        Room(Room) {}
  explicit Tensor(const kpc_tensor &T)
      : Data(T.data), Type(T.type), Device(T.device),
        Dims(T.dims, T.dims + T.rank) {}

  void *data() const { return Data; }
  int32_t type() const { return Type; }
  kpc_device device() const { return Device; }
  const std::vector<int64_t> &dims() const { return Dims; }
  /// The tensor for the C interface. It lives until this object is changed.
  kpc_tensor c() const {
    return {Data, Dims.data(), int32_t(Dims.size()), Type, Device};
  }
  int64_t bytes() const {
    kpc_tensor T = c();
    return kpc_tensor_bytes(&T);
  }
  size_t room() const { return Room; }
  /// The elements of a host tensor; empty if `T` is not its type.
  template <class T> std::span<T> values() const {
    if (Type != elementTypeOf<std::remove_const_t<T>>())
      return {};
    return {static_cast<T *>(Data), size_t(bytes()) / sizeof(T)};
  }

private:
  void *Data = nullptr;
  int32_t Type = 0;
  kpc_device Device = KPC_HOST;
  std::vector<int64_t> Dims;
  size_t Room = SIZE_MAX;
};

/// A view of a vector or array of elements.
template <class Container>
Tensor tensor(Container &Elements, std::vector<int64_t> Dims) {
  using Element = std::remove_cvref_t<decltype(*std::data(Elements))>;
  return Tensor(const_cast<Element *>(std::data(Elements)),
                elementTypeOf<Element>(), std::move(Dims), KPC_HOST,
                std::size(Elements) * sizeof(Element));
}

struct NamedTensor {
  std::string_view Name; ///< must end with a zero, as literals and strings do
  Tensor Value;
};
using Dim = std::pair<const char *, int64_t>;

/// Outputs that the library allocated.
class Outputs {
public:
  explicit Outputs(kpc_outputs *O) : O(O, kpc_outputs_free) {
    for (int32_t I = 0; I < kpc_outputs_count(O); ++I) {
      kpc_named_tensor T;
      if (kpc_outputs_get(O, I, &T) == KPC_OK)
        All.push_back({T.name, Tensor(T.tensor)});
    }
  }
  size_t size() const { return All.size(); }
  const Tensor &operator[](size_t Index) const { return All[Index].Value; }
  /// The output of that name; an empty tensor if there is none.
  Tensor operator[](std::string_view Name) const {
    for (const NamedTensor &T : All)
      if (T.Name == Name)
        return T.Value;
    return Tensor();
  }
  auto begin() const { return All.begin(); }
  auto end() const { return All.end(); }
  kpc_outputs *c() const { return O.get(); }
  /// The result keeps the memory alive until its deleter is called.
  Result<DLManagedTensorVersioned *> toDlpack(size_t Index) const {
    DLManagedTensorVersioned *Out = nullptr;
    kpc_error *E = nullptr;
    kpc_status S = kpc_outputs_to_dlpack(O.get(), int32_t(Index), &Out, &E);
    if (S != KPC_OK)
      return Error(S, E);
    return Out;
  }

private:
  std::shared_ptr<kpc_outputs> O;
  std::vector<NamedTensor> All;
};

struct ProfileStep {
  std::string Name, Symbol, Nodes;
  kpc_profile_step Facts; ///< its strings are those above
};

struct Profile {
  std::vector<ProfileStep> Steps;
  std::string Trace; ///< Chrome trace events
};

struct SessionOptions {
  kpc_device device = KPC_HOST;
  const char *target = nullptr;
  const char *driver = nullptr;
  int num_threads = 0;
  int64_t max_run_us = 0;     ///< longer runs end with an error; 0: none
  int64_t max_iterations = 0; ///< of loops that data ends; 0: 10000000
  int max_bound_shapes = 0;
  bool keep_values = false;
  bool no_graph = false;
  bool one_chain = false;
  bool no_early_launch = false;
  bool nvtx = false;
  kpc_allocator allocator = {};
  kpc_log_sink log = {};
  std::span<std::byte> workspace = {};
};

/// A model on a device. Only one thread at a time may use it.
class Session {
public:
  explicit Session(kpc_session *S) : S(S) {}
  kpc_session *c() const { return S.get(); }
  const char *target() const { return kpc_session_target(S.get()); }

  Result<void> prepare(std::span<const Dim> Dims) {
    std::vector<kpc_dim> List;
    for (const Dim &D : Dims)
      List.push_back({D.first, D.second});
    kpc_error *E = nullptr;
    kpc_status Status =
        kpc_session_prepare(S.get(), List.data(), List.size(), &E);
    return done(Status, E);
  }
  Result<void> prepare(std::initializer_list<Dim> Dims) {
    return prepare(std::span(Dims.begin(), Dims.size()));
  }

  /// Runs the model into outputs that the library allocates.
  Result<Outputs> run(std::span<const NamedTensor> Inputs,
                      void *Stream = nullptr) {
    if (Result<void> Filled = fill(Inputs, In); !Filled)
      return Filled.error();
    kpc_outputs *Out = nullptr;
    kpc_error *E = nullptr;
    kpc_status Status =
        kpc_session_run_owned(S.get(), In.data(), In.size(), Stream, &Out, &E);
    if (Status != KPC_OK)
      return Error(Status, E);
    return Outputs(Out);
  }
  Result<Outputs> run(std::initializer_list<NamedTensor> Inputs,
                      void *Stream = nullptr) {
    return run(std::span(Inputs.begin(), Inputs.size()), Stream);
  }

  /// Runs the model into given outputs.
  Result<void> run(std::span<const NamedTensor> Inputs,
                   std::span<const NamedTensor> Given, void *Stream = nullptr) {
    if (Result<void> Filled = fill(Inputs, In); !Filled)
      return Filled;
    if (Result<void> Filled = fill(Given, Out); !Filled)
      return Filled;
    kpc_error *E = nullptr;
    kpc_status Status = kpc_session_run(S.get(), In.data(), In.size(),
                                        Out.data(), Out.size(), Stream, &E);
    return done(Status, E);
  }
  Result<void> run(std::initializer_list<NamedTensor> Inputs,
                   std::initializer_list<NamedTensor> Given,
                   void *Stream = nullptr) {
    return run(std::span(Inputs.begin(), Inputs.size()),
               std::span(Given.begin(), Given.size()), Stream);
  }

  /// The dims of an output for the shape bound last.
  Result<std::vector<int64_t>> outputDims(size_t Index) {
    const int64_t *Dims = nullptr;
    int32_t Rank = 0;
    kpc_error *E = nullptr;
    kpc_status Status =
        kpc_session_output_dims(S.get(), int32_t(Index), &Dims, &Rank, &E);
    if (Status != KPC_OK)
      return Error(Status, E);
    return std::vector<int64_t>(Dims, Dims + Rank);
  }

  kpc_memory memory() const {
    kpc_memory Out{};
    kpc_session_memory(S.get(), &Out);
    return Out;
  }

  kpc_bind_times bindTimes() const {
    kpc_bind_times Out{};
    kpc_session_bind_times(S.get(), &Out);
    return Out;
  }

  Result<Profile> profile(std::span<const NamedTensor> Inputs,
                          std::span<const NamedTensor> Given) {
    if (Result<void> Filled = fill(Inputs, In); !Filled)
      return Filled.error();
    if (Result<void> Filled = fill(Given, Out); !Filled)
      return Filled.error();
    kpc_profile *P = nullptr;
    kpc_error *E = nullptr;
    kpc_status Status = kpc_session_profile(S.get(), In.data(), In.size(),
                                            Out.data(), Out.size(), &P, &E);
    if (Status != KPC_OK)
      return Error(Status, E);
    std::unique_ptr<kpc_profile, void (*)(kpc_profile *)> Owner(
        P, kpc_profile_free);
    Profile Result;
    for (int32_t I = 0; I < kpc_profile_step_count(P); ++I) {
      kpc_profile_step Facts;
      kpc_profile_get(P, I, &Facts);
      Result.Steps.push_back({Facts.name, Facts.symbol, Facts.nodes, Facts});
    }
    for (ProfileStep &Step : Result.Steps) {
      Step.Facts.name = Step.Name.c_str();
      Step.Facts.symbol = Step.Symbol.c_str();
      Step.Facts.nodes = Step.Nodes.c_str();
    }
    Result.Trace = kpc_profile_trace(P);
    return Result;
  }

private:
  static Result<void> done(kpc_status Status, kpc_error *E) {
    if (Status != KPC_OK)
      return Error(Status, E);
    return {};
  }
  static Result<void> fill(std::span<const NamedTensor> From,
                           std::vector<kpc_named_tensor> &To) {
    To.clear();
    for (const NamedTensor &T : From) {
      int64_t Bytes = T.Value.bytes();
      if (Bytes > 0 && uint64_t(Bytes) > T.Value.room())
        return Error(KPC_ERROR_TOO_SMALL,
                     "the dims of '" + std::string(T.Name) + "' need " +
                         std::to_string(Bytes) + " bytes, and its memory has " +
                         std::to_string(T.Value.room()));
      To.push_back({T.Name.data(), T.Value.c()});
    }
    return {};
  }

  struct Free {
    void operator()(kpc_session *P) const { kpc_session_free(P); }
  };
  std::unique_ptr<kpc_session, Free> S;
  std::vector<kpc_named_tensor> In, Out; ///< kept, so that runs do not allocate
};

/// A loaded artifact; cheap to copy, shared between threads.
class Model {
public:
  explicit Model(kpc_model *M) : M(M, kpc_model_free) {}

  static Result<Model> load(const std::string &Path,
                            kpc_load_options Options = KPC_LOAD_OPTIONS_INIT) {
    kpc_model *M = nullptr;
    kpc_error *E = nullptr;
    kpc_status S = kpc_model_load_file(Path.c_str(), &Options, &M, &E);
    if (S != KPC_OK)
      return Error(S, E);
    return Model(M);
  }
  /// Loads from memory, which must outlive the model unless KPC_LOAD_COPY is
  /// set.
  static Result<Model> load(std::span<const std::byte> Bytes,
                            kpc_load_options Options = KPC_LOAD_OPTIONS_INIT) {
    kpc_model *M = nullptr;
    kpc_error *E = nullptr;
    kpc_status S =
        kpc_model_load_memory(Bytes.data(), Bytes.size(), &Options, &M, &E);
    if (S != KPC_OK)
      return Error(S, E);
    return Model(M);
  }

  Result<Session> session(const SessionOptions &Options = {}) const {
    kpc_session_options O = KPC_SESSION_OPTIONS_INIT;
    O.device = Options.device;
    O.target = Options.target;
    O.driver = Options.driver;
    O.num_threads = Options.num_threads;
    O.max_run_us = Options.max_run_us;
    O.max_iterations = Options.max_iterations;
    O.max_bound_shapes = Options.max_bound_shapes;
    O.flags =
        (Options.keep_values ? unsigned(KPC_SESSION_KEEP_VALUES) : 0u) |
        (Options.no_graph ? unsigned(KPC_SESSION_NO_GRAPH) : 0u) |
        (Options.one_chain ? unsigned(KPC_SESSION_ONE_CHAIN) : 0u) |
        (Options.no_early_launch ? unsigned(KPC_SESSION_NO_EARLY_LAUNCH) : 0u) |
        (Options.nvtx ? unsigned(KPC_SESSION_NVTX) : 0u);
    O.allocator = Options.allocator;
    O.log = Options.log;
    O.workspace = Options.workspace.data();
    O.workspace_size = Options.workspace.size();
    kpc_session *S = nullptr;
    kpc_error *E = nullptr;
    kpc_status Status = kpc_session_create(M.get(), &O, &S, &E);
    if (Status != KPC_OK)
      return Error(Status, E);
    return Session(S);
  }

  std::vector<kpc_port> inputs() const {
    return list<kpc_port>(kpc_model_input_count, kpc_model_input);
  }
  std::vector<kpc_port> outputs() const {
    return list<kpc_port>(kpc_model_output_count, kpc_model_output);
  }
  std::vector<kpc_symbol> symbols() const {
    return list<kpc_symbol>(kpc_model_symbol_count, kpc_model_symbol);
  }
  /// Elements of inputs that are sizes.
  std::vector<kpc_input_value> inputValues() const {
    return list<kpc_input_value>(kpc_model_input_value_count,
                                 kpc_model_input_value);
  }
  /// Conditions between sizes, in addition to the ranges of dims.
  std::vector<kpc_requirement> requirements() const {
    return list<kpc_requirement>(kpc_model_requirement_count,
                                 kpc_model_requirement);
  }
  /// Sizes that data decides in the run.
  std::vector<kpc_data_size> dataSizes() const {
    return list<kpc_data_size>(kpc_model_data_size_count, kpc_model_data_size);
  }
  std::vector<kpc_target> targets() const {
    return list<kpc_target>(kpc_model_target_count, kpc_model_target);
  }
  /// See kpc_model_provenance; empty if there is no such record.
  std::string provenance(const char *Key) const {
    const char *Text = kpc_model_provenance(M.get(), Key);
    return Text ? Text : "";
  }
  Result<void> verifyWeights() const {
    kpc_error *E = nullptr;
    kpc_status S = kpc_model_verify_weights(M.get(), &E);
    if (S != KPC_OK)
      return Error(S, E);
    return {};
  }
  kpc_model *c() const { return M.get(); }

private:
  template <class T, class Count, class Get>
  std::vector<T> list(Count HowMany, Get At) const {
    std::vector<T> Out(size_t(HowMany(M.get())));
    for (size_t I = 0; I < Out.size(); ++I)
      At(M.get(), int32_t(I), &Out[I]);
    return Out;
  }
  std::shared_ptr<kpc_model> M;
};

} // namespace kpc

#endif // KPC_RUNTIME_HPP
