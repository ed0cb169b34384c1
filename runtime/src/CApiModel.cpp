//===- CApiModel.cpp - The C interface to models --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/CApi.h"
#include "runtime/src/Cpu.h"

#include <cstring>

using namespace kpc;
using namespace kpc::rt;

template <class Source>
static Status loadModel(Source MakeBytes, const kpc_load_options *Given,
                        kpc_model **Out) {
  kpc_load_options Options;
  if (Status S =
          readOptions(Given,
                      KPC_LOAD_VERIFY_WEIGHTS | KPC_LOAD_COPY |
                          KPC_LOAD_NO_HOST_CODE | KPC_LOAD_CUSTOM_HOST_CODE,
                      Options);
      !S)
    return S;
  auto Handle = std::make_unique<kpc_model>();
  Result<std::unique_ptr<ArtifactBytes>> Bytes = MakeBytes(Options);
  if (!Bytes)
    return Bytes.takeError();
  auto Loaded = Model::load(std::move(*Bytes),
                            (Options.flags & KPC_LOAD_VERIFY_WEIGHTS) ||
                                Options.public_key,
                            Options.public_key, Log(Options.log));
  if (!Loaded)
    return Loaded.takeError();
  if (Options.flags & KPC_LOAD_NO_HOST_CODE)
    (*Loaded)->refuseHostCode();
  if (Options.flags & KPC_LOAD_CUSTOM_HOST_CODE)
    (*Loaded)->allowCustomHostCode();
  Handle->M = std::move(*Loaded);
  *Out = Handle.release();
  return success();
}

static void fillPort(const PortInfo &P, kpc_port &Out) {
  Out.name = P.Name;
  Out.type = int32_t(P.Type);
  Out.rank = int32_t(P.Dims.size());
  Out.dims = P.Dims.data();
  Out.dim_texts = P.TextPointers.data();
  Out.alias = P.Table->alias();
}

template <class Vector, class Out, class Fill>
static kpc_status getAt(const Vector &All, int32_t Index, Out *To,
                        Fill Function) {
  if (!To)
    return KPC_ERROR_INVALID_ARGUMENT;
  if (Index < 0 || size_t(Index) >= All.size())
    return KPC_ERROR_OUT_OF_RANGE;
  Function(All[size_t(Index)], *To);
  return KPC_OK;
}

// NOLINTBEGIN(readability-identifier-naming): the names of kpc/runtime.h
extern "C" {

kpc_status kpc_model_load_file(const char *path,
                               const kpc_load_options *options,
                               kpc_model **model, kpc_error **error) {
  return guarded(error, [&]() -> Status {
    if (!path || !model)
      return nullArgument(path ? "model" : "path");
    Status S = loadModel(
        [&](const kpc_load_options &) { return ArtifactBytes::fromFile(path); },
        options, model);
    if (!S && S.error().Code != ErrorCode::Io)
      S.error().Message = std::string(path) + ": " + S.error().Message;
    return S;
  });
}

kpc_status kpc_model_load_memory(const void *data, size_t size,
                                 const kpc_load_options *options,
                                 kpc_model **model, kpc_error **error) {
  return guarded(error, [&]() -> Status {
    if ((!data && size) || !model)
      return nullArgument(model ? "data" : "model");
    return loadModel(
        [&](const kpc_load_options &Options)
            -> Result<std::unique_ptr<ArtifactBytes>> {
          return ArtifactBytes::fromMemory(
              {static_cast<const uint8_t *>(data), size},
              Options.flags & KPC_LOAD_COPY);
        },
        options, model);
  });
}

void kpc_model_free(kpc_model *model) { delete model; }

kpc_status kpc_model_verify_weights(const kpc_model *model, kpc_error **error) {
  return guarded(error, [&]() -> Status {
    if (!model)
      return nullArgument("model");
    return model->M->verifyWeights();
  });
}

int32_t kpc_model_input_count(const kpc_model *model) {
  return model ? int32_t(model->M->inputs().size()) : 0;
}

int32_t kpc_model_output_count(const kpc_model *model) {
  return model ? int32_t(model->M->callersOutputs().size()) : 0;
}

kpc_status kpc_model_input(const kpc_model *model, int32_t index,
                           kpc_port *port) {
  if (!model)
    return KPC_ERROR_INVALID_ARGUMENT;
  return getAt(model->M->inputs(), index, port, fillPort);
}

kpc_status kpc_model_output(const kpc_model *model, int32_t index,
                            kpc_port *port) {
  if (!model)
    return KPC_ERROR_INVALID_ARGUMENT;
  return getAt(model->M->callersOutputs(), index, port, fillPort);
}

int32_t kpc_model_symbol_count(const kpc_model *model) {
  return model ? int32_t(model->M->dims().size()) : 0;
}

kpc_status kpc_model_symbol(const kpc_model *model, int32_t index,
                            kpc_symbol *symbol) {
  if (!model || !symbol)
    return KPC_ERROR_INVALID_ARGUMENT;
  return getAt(model->M->dims(), index, symbol,
               [model](uint32_t Index, kpc_symbol &Out) {
                 const format::Symbol &S = model->M->symbol(Index);
                 Out = {S.name()->c_str(), S.min(), S.max(), S.optimum(),
                        S.divisor()};
               });
}

int32_t kpc_model_input_value_count(const kpc_model *model) {
  return model ? int32_t(model->M->inputValues().size()) : 0;
}

kpc_status kpc_model_input_value(const kpc_model *model, int32_t index,
                                 kpc_input_value *value) {
  if (!model)
    return KPC_ERROR_INVALID_ARGUMENT;
  return getAt(model->M->inputValues(), index, value,
               [](const InputValueInfo &V, kpc_input_value &Out) {
                 Out = {int32_t(V.Table->input()), int32_t(V.Table->element()),
                        V.Name.c_str(), V.Text.c_str()};
               });
}

int32_t kpc_model_data_size_count(const kpc_model *model) {
  return model ? int32_t(model->M->dataSizes().size()) : 0;
}

kpc_status kpc_model_data_size(const kpc_model *model, int32_t index,
                               kpc_data_size *size) {
  if (!model)
    return KPC_ERROR_INVALID_ARGUMENT;
  return getAt(model->M->dataSizes(), index, size,
               [](const DataSizeInfo &S, kpc_data_size &Out) {
                 Out = {S.Text.c_str(), S.AtMostText.c_str()};
               });
}

int32_t kpc_model_requirement_count(const kpc_model *model) {
  return model ? int32_t(model->M->requirements().size()) : 0;
}

kpc_status kpc_model_requirement(const kpc_model *model, int32_t index,
                                 kpc_requirement *requirement) {
  if (!model)
    return KPC_ERROR_INVALID_ARGUMENT;
  return getAt(model->M->requirements(), index, requirement,
               [](const RequirementInfo &R, kpc_requirement &Out) {
                 Out = {R.Left.c_str(), R.Right.c_str(), R.Table->equal(),
                        R.Table->reason() ? R.Table->reason()->c_str() : ""};
               });
}

int32_t kpc_model_target_count(const kpc_model *model) {
  return model ? int32_t(model->M->targets().size()) : 0;
}

kpc_status kpc_model_target(const kpc_model *model, int32_t index,
                            kpc_target *target) {
  if (!model)
    return KPC_ERROR_INVALID_ARGUMENT;
  return getAt(model->M->targets(), index, target,
               [](const TargetInfo &Info, kpc_target &Out) {
                 const format::Target &T = *Info.Table;
                 Out.name = T.name()->c_str();
                 Out.runs_on = Info.RunsOn.c_str();
                 Out.device_kind = T.kind() == format::TargetKind::Host
                                       ? KPC_DEVICE_HOST
                                       : KPC_DEVICE_CUDA;
                 Out.kernels = int32_t(format::count(T.kernels()));
                 Out.steps = int32_t(format::count(T.steps()));
                 Out.least_driver = T.least_driver();
               });
}

const char *kpc_model_provenance(const kpc_model *model, const char *key) {
  if (!model || !key || !model->M->table().provenance())
    return nullptr;
  const format::Provenance &P = *model->M->table().provenance();
  const struct {
    const char *Key;
    const flatbuffers::String *Value;
  } Known[] = {{"kpc_version", P.kpc_version()},
               {"model_name", P.model_name()},
               {"model_digest", P.model_digest()},
               {"options", P.options()},
               {"tuning_digest", P.tuning_digest()}};
  for (const auto &Entry : Known)
    if (std::strcmp(key, Entry.Key) == 0)
      return Entry.Value ? Entry.Value->c_str() : nullptr;
  for (const format::Property *Entry : format::each(P.properties()))
    if (Entry->key()->string_view() == key)
      return Entry->value() ? Entry->value()->c_str() : nullptr;
  return nullptr;
}

} // extern "C"
// NOLINTEND(readability-identifier-naming)
