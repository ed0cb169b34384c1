//===- CApiSession.cpp - The C interface to sessions ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/CApi.h"

#include <cinttypes>

using namespace kpc;
using namespace kpc::rt;

static Status readSessionOptions(const kpc_session_options *Given,
                                 SessionOptions &Out) {
  constexpr uint32_t Flags = KPC_SESSION_KEEP_VALUES | KPC_SESSION_NO_GRAPH |
                             KPC_SESSION_ONE_CHAIN |
                             KPC_SESSION_NO_EARLY_LAUNCH | KPC_SESSION_NVTX;
  kpc_session_options O;
  if (Status S = readOptions(Given, Flags, O); !S)
    return S;
  if (O.device.kind == 0)
    O.device.kind = KPC_DEVICE_HOST;
  if (O.device.kind != KPC_DEVICE_HOST && O.device.kind != KPC_DEVICE_CUDA)
    return failure(ErrorCode::InvalidArgument,
                   "expected the device kind %d (host) or %d (CUDA), got %d",
                   KPC_DEVICE_HOST, KPC_DEVICE_CUDA, O.device.kind);
  struct Number {
    const char *Name;
    int64_t Given, Most;
  };
  for (Number N :
       {Number{"num_threads", O.num_threads, 4096},
        Number{"max_bound_shapes", O.max_bound_shapes, 65536},
        Number{"max_run_us", O.max_run_us, INT64_MAX},
        Number{"max_iterations", O.max_iterations, format::MostIterations}})
    if (N.Given < 0 || N.Given > N.Most)
      return failure(ErrorCode::InvalidArgument,
                     "expected %s from 0 to %" PRId64 ", got %" PRId64, N.Name,
                     N.Most, N.Given);
  if ((O.allocator.allocate == nullptr) != (O.allocator.release == nullptr))
    return failure(ErrorCode::InvalidArgument,
                   "an allocator needs both allocate and release");
  Out.Device.Where = O.device;
  Out.Device.Target = O.target ? O.target : "";
  Out.Device.Driver = O.driver ? O.driver : "";
  Out.Device.NumThreads = O.num_threads;
  Out.Device.MostRunMicroseconds = O.max_run_us;
  if (O.max_iterations)
    Out.MostIterations = O.max_iterations;
  Out.Device.NoGraph = O.flags & KPC_SESSION_NO_GRAPH;
  Out.Device.OneChain = O.flags & KPC_SESSION_ONE_CHAIN;
  Out.Device.NoEarlyLaunch = O.flags & KPC_SESSION_NO_EARLY_LAUNCH;
  Out.Device.Ranges = O.flags & KPC_SESSION_NVTX ? Nvtx::attached() : nullptr;
  Out.Device.Allocator = O.allocator;
  Out.Device.TheLog = Log(O.log);
  if (O.flags & KPC_SESSION_NVTX && !Out.Device.Ranges)
    Out.Device.TheLog.warning("ranges were asked for, but no profiler listens "
                              "to NVTX (NVTX_INJECTION64_PATH)");
  Out.KeepValues = O.flags & KPC_SESSION_KEEP_VALUES;
  if (O.max_bound_shapes)
    Out.MaxBoundShapes = size_t(O.max_bound_shapes);
  Out.Workspace = O.workspace;
  Out.WorkspaceSize = O.workspace_size;
  return success();
}

// The arguments that kpc_session_run and kpc_session_profile share.
static Status checkRun(const kpc_session *Session, const void *Inputs,
                       size_t InputCount, const void *Outputs,
                       size_t OutputCount) {
  if (!Session)
    return nullArgument("session");
  if (!Inputs && InputCount)
    return nullArgument("inputs");
  if (!Outputs && OutputCount)
    return nullArgument("outputs");
  return success();
}

static Status checkValue(const kpc_session *Session, int32_t Index) {
  if (!Session)
    return nullArgument("session");
  if (Index < 0 || size_t(Index) >= Session->S->valueCount())
    return failure(ErrorCode::OutOfRange, "the plan has %zu values",
                   Session->S->valueCount());
  return success();
}

// NOLINTBEGIN(readability-identifier-naming): the names of kpc/runtime.h
extern "C" {

kpc_status kpc_session_create(kpc_model *model,
                              const kpc_session_options *options,
                              kpc_session **session, kpc_error **error) {
  return guarded(error, [&]() -> Status {
    if (!model || !session)
      return nullArgument(model ? "session" : "model");
    SessionOptions Options;
    if (Status S = readSessionOptions(options, Options); !S)
      return S;
    auto Handle = std::make_unique<kpc_session>();
    auto Made = Session::make(model->M, Options);
    if (!Made)
      return Made.takeError();
    Handle->S = std::move(*Made);
    *session = Handle.release();
    return success();
  });
}

void kpc_session_free(kpc_session *session) { delete session; }

const char *kpc_session_target(const kpc_session *session) {
  return session ? session->S->targetName() : "";
}

kpc_status kpc_session_prepare(kpc_session *session, const kpc_dim *dims,
                               size_t dim_count, kpc_error **error) {
  return guarded(error, [&]() -> Status {
    if (!session || (!dims && dim_count))
      return nullArgument(session ? "dims" : "session");
    for (size_t I = 0; I < dim_count; ++I)
      if (!dims[I].name)
        return nullArgument("name");
    return session->S->prepare({dims, dim_count});
  });
}

kpc_status kpc_session_output_dims(kpc_session *session, int32_t index,
                                   const int64_t **dims, int32_t *rank,
                                   kpc_error **error) {
  return guarded(error, [&]() -> Status {
    if (!session || !dims || !rank)
      return nullArgument("session, dims or rank");
    auto Found = session->S->outputDims(index < 0 ? ~size_t(0) : size_t(index));
    if (!Found)
      return Found.takeError();
    *dims = Found->data();
    *rank = int32_t(Found->size());
    return success();
  });
}

kpc_status kpc_session_run(kpc_session *session, const kpc_named_tensor *inputs,
                           size_t input_count, const kpc_named_tensor *outputs,
                           size_t output_count, void *stream,
                           kpc_error **error) {
  return guarded(error, [&]() -> Status {
    if (Status S =
            checkRun(session, inputs, input_count, outputs, output_count);
        !S)
      return S;
    return session->S->run({inputs, input_count}, {outputs, output_count},
                           stream);
  });
}

kpc_status kpc_session_run_owned(kpc_session *session,
                                 const kpc_named_tensor *inputs,
                                 size_t input_count, void *stream,
                                 kpc_outputs **outputs, kpc_error **error) {
  return guarded(error, [&]() -> Status {
    if (Status S = checkRun(session, inputs, input_count, nullptr, 0); !S)
      return S;
    if (!outputs)
      return nullArgument("outputs");
    auto Handle = std::make_unique<kpc_outputs>();
    auto Ran = session->S->runOwned({inputs, input_count}, stream);
    if (!Ran)
      return Ran.takeError();
    Handle->Set = std::move(*Ran);
    *outputs = Handle.release();
    return success();
  });
}

int32_t kpc_outputs_count(const kpc_outputs *outputs) {
  return outputs ? int32_t(outputs->Set->Tensors.size()) : 0;
}

kpc_status kpc_outputs_get(const kpc_outputs *outputs, int32_t index,
                           kpc_named_tensor *tensor) {
  if (!outputs || !tensor)
    return KPC_ERROR_INVALID_ARGUMENT;
  if (index < 0 || index >= kpc_outputs_count(outputs))
    return KPC_ERROR_OUT_OF_RANGE;
  *tensor = outputs->Set->Tensors[size_t(index)];
  return KPC_OK;
}

void kpc_outputs_free(kpc_outputs *outputs) { delete outputs; }

kpc_status kpc_session_memory(const kpc_session *session, kpc_memory *memory) {
  if (!session || !memory)
    return KPC_ERROR_INVALID_ARGUMENT;
  *memory = session->S->memory();
  return KPC_OK;
}

kpc_status kpc_session_bind_times(const kpc_session *session,
                                  kpc_bind_times *times) {
  if (!session || !times)
    return KPC_ERROR_INVALID_ARGUMENT;
  *times = session->S->bindTimes();
  return KPC_OK;
}

int32_t kpc_session_value_count(const kpc_session *session) {
  return session ? int32_t(session->S->valueCount()) : 0;
}

const char *kpc_session_value_name(const kpc_session *session, int32_t index) {
  if (!session || index < 0 || size_t(index) >= session->S->valueCount())
    return nullptr;
  return session->S->value(size_t(index)).name()->c_str();
}

kpc_status kpc_session_value(kpc_session *session, int32_t index,
                             kpc_named_tensor *value, kpc_error **error) {
  return guarded(error, [&]() -> Status {
    if (Status S = checkValue(session, index); !S)
      return S;
    if (!value)
      return nullArgument("value");
    auto Dims = session->S->valueDims(size_t(index));
    if (!Dims)
      return Dims.takeError();
    const format::Value &V = session->S->value(size_t(index));
    *value = {V.name()->c_str(),
              {nullptr, Dims->data(), int32_t(Dims->size()), int32_t(V.type()),
               KPC_HOST}};
    return success();
  });
}

kpc_status kpc_session_read_value(kpc_session *session, int32_t index,
                                  void *data, size_t size, kpc_error **error) {
  return guarded(error, [&]() -> Status {
    if (Status S = checkValue(session, index); !S)
      return S;
    if (!data && size)
      return nullArgument("data");
    return session->S->readValue(size_t(index), data, size);
  });
}

kpc_status kpc_session_profile(kpc_session *session,
                               const kpc_named_tensor *inputs,
                               size_t input_count,
                               const kpc_named_tensor *outputs,
                               size_t output_count, kpc_profile **profile,
                               kpc_error **error) {
  return guarded(error, [&]() -> Status {
    if (Status S =
            checkRun(session, inputs, input_count, outputs, output_count);
        !S)
      return S;
    if (!profile)
      return nullArgument("profile");
    auto Handle = std::make_unique<kpc_profile>();
    if (Status S = session->S->profile({inputs, input_count},
                                       {outputs, output_count}, Handle->P);
        !S)
      return S;
    *profile = Handle.release();
    return success();
  });
}

int32_t kpc_profile_step_count(const kpc_profile *profile) {
  return profile ? int32_t(profile->P.Steps.size()) : 0;
}

kpc_status kpc_profile_get(const kpc_profile *profile, int32_t index,
                           kpc_profile_step *step) {
  if (!profile || !step)
    return KPC_ERROR_INVALID_ARGUMENT;
  if (index < 0 || index >= kpc_profile_step_count(profile))
    return KPC_ERROR_OUT_OF_RANGE;
  *step = profile->P.Steps[size_t(index)].Facts;
  return KPC_OK;
}

const char *kpc_profile_trace(const kpc_profile *profile) {
  return profile ? profile->P.Trace.c_str() : "";
}

void kpc_profile_free(kpc_profile *profile) { delete profile; }

} // extern "C"
// NOLINTEND(readability-identifier-naming)
