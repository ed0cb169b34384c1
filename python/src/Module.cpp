//===- Module.cpp - kpc._runtime, the runtime for Python ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The C interface of the runtime (kpc/runtime.h) as a Python module, without
/// opinions: what users see is in the package's Python files.
///
//===----------------------------------------------------------------------===//
#include "Session.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

namespace nb = nanobind;
using namespace kpc::python;

namespace {

/// A loaded artifact, with the Python object whose memory it reads.
class Model {
public:
  static Model load(const std::string &Path, uint32_t Flags) {
    return {Flags, nb::object(),
            [&](const kpc_load_options *Options, kpc_model **Out,
                kpc_error **Error) {
              return kpc_model_load_file(Path.c_str(), Options, Out, Error);
            }};
  }
  static Model fromMemory(const nb::bytes &Data, uint32_t Flags) {
    const char *Bytes = Data.c_str();
    size_t Size = Data.size();
    return {Flags, Data,
            [&](const kpc_load_options *Options, kpc_model **Out,
                kpc_error **Error) {
              return kpc_model_load_memory(Bytes, Size, Options, Out, Error);
            }};
  }

  const ModelHandle &handle() const { return Handle; }
  kpc_model *get() const { return Handle.get(); }

private:
  template <typename Loader>
  Model(uint32_t Flags, nb::object Kept, Loader &&Load) {
    kpc_load_options Options = KPC_LOAD_OPTIONS_INIT;
    Options.flags = Flags;
    kpc_model *Made = nullptr;
    kpc_error *Error = nullptr;
    kpc_status Status = KPC_OK;
    {
      nb::gil_scoped_release Free;
      Status = Load(&Options, &Made, &Error);
    }
    check(Status, Error);
    // The last to hold the model may be a session, in any thread.
    Handle = ModelHandle(Made, [Kept](kpc_model *Old) mutable {
      kpc_model_free(Old);
      nb::gil_scoped_acquire Hold;
      Kept.reset();
    });
  }

  ModelHandle Handle;
};

using PortReader = kpc_status(const kpc_model *, int32_t, kpc_port *);

/// Name, type, dims (-1: dynamic) and their texts, the input that it aliases.
nb::list ports(const Model &M, PortReader *Reader) {
  nb::list Out;
  kpc_port P;
  for (int32_t I = 0; Reader(M.get(), I, &P) == KPC_OK; ++I) {
    nb::list Dims, Texts;
    for (int32_t D = 0; D < P.rank; ++D) {
      Dims.append(P.dims[D]);
      Texts.append(P.dim_texts[D]);
    }
    Out.append(
        nb::make_tuple(P.name, kpc_element_name(P.type), Dims, Texts, P.alias));
  }
  return Out;
}

nb::list symbols(const Model &M) {
  nb::list Out;
  kpc_symbol S;
  for (int32_t I = 0; kpc_model_symbol(M.get(), I, &S) == KPC_OK; ++I)
    Out.append(nb::make_tuple(S.name, S.min, S.max, S.optimum, S.divisor));
  return Out;
}

/// Sizes that data decides in a run, and the greatest that each can be.
nb::list dataSizes(const Model &M) {
  nb::list Out;
  kpc_data_size S;
  for (int32_t I = 0; kpc_model_data_size(M.get(), I, &S) == KPC_OK; ++I)
    Out.append(nb::make_tuple(S.size_text, S.at_most_text));
  return Out;
}

nb::list targets(const Model &M) {
  nb::list Out;
  kpc_target T;
  for (int32_t I = 0; kpc_model_target(M.get(), I, &T) == KPC_OK; ++I)
    Out.append(nb::make_tuple(T.name, T.runs_on, T.device_kind, T.kernels,
                              T.steps, T.least_driver));
  return Out;
}

void verifyWeights(const Model &M) {
  kpc_error *Error = nullptr;
  kpc_status Status = KPC_OK;
  {
    nb::gil_scoped_release Free;
    Status = kpc_model_verify_weights(M.get(), &Error);
  }
  check(Status, Error);
}

std::unique_ptr<Session> session(const Model &M, int32_t Kind, int32_t Ordinal,
                                 const std::string &Target,
                                 const std::string &Driver, int32_t Threads,
                                 int32_t MaxBoundShapes, uint32_t Flags) {
  Session::Options Options{{Kind, Ordinal}, Target,         Driver,
                           Threads,         MaxBoundShapes, Flags};
  return std::make_unique<Session>(M.handle(), Options);
}

} // namespace

NB_MODULE(_runtime, Module) {
  bindTensors(Module);
  bindSessions(Module);
  nb::class_<Model>(Module, "Model")
      .def_static("load", &Model::load)
      .def_static("from_memory", &Model::fromMemory)
      .def("inputs", [](const Model &M) { return ports(M, kpc_model_input); })
      .def("outputs", [](const Model &M) { return ports(M, kpc_model_output); })
      .def("symbols", symbols)
      .def("data_sizes", dataSizes)
      .def("targets", targets)
      .def("verify_weights", verifyWeights)
      .def("provenance",
           [](const Model &M, const std::string &Key) {
             const char *Text = kpc_model_provenance(M.get(), Key.c_str());
             return Text ? nb::object(nb::str(Text)) : nb::none();
           })
      .def("session", session);
  Module.def("version", kpc_runtime_version);
  Module.attr("LOAD_VERIFY_WEIGHTS") = int(KPC_LOAD_VERIFY_WEIGHTS);
  Module.attr("LOAD_NO_HOST_CODE") = int(KPC_LOAD_NO_HOST_CODE);
  Module.attr("LOAD_CUSTOM_HOST_CODE") = int(KPC_LOAD_CUSTOM_HOST_CODE);
  Module.attr("SESSION_NO_GRAPH") = int(KPC_SESSION_NO_GRAPH);
  Module.attr("SESSION_NVTX") = int(KPC_SESSION_NVTX);
}
