//===- Session.cpp - A session for Python ---------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Session.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace kpc::python {

/// Streams are numbers in Python: 0 is none.
static void *streamOf(uintptr_t Number) {
  return reinterpret_cast<void *>(Number); // NOLINT(performance-no-int-to-ptr)
}

Session::Session(const ModelHandle &TheModel, const Options &Wanted)
    : Model(TheModel), Device(Wanted.Device) {
  kpc_port Port{};
  for (int32_t I = 0; kpc_model_input(Model.get(), I, &Port) == KPC_OK; ++I)
    Inputs.push_back({Port.name, Port.type});
  for (int32_t I = 0; kpc_model_output(Model.get(), I, &Port) == KPC_OK; ++I)
    Outputs.push_back({Port.name, Port.type});
  kpc_session_options Options = KPC_SESSION_OPTIONS_INIT;
  Options.device = Wanted.Device;
  Options.target = Wanted.Target.empty() ? nullptr : Wanted.Target.c_str();
  Options.driver = Wanted.Driver.empty() ? nullptr : Wanted.Driver.c_str();
  Options.num_threads = Wanted.Threads;
  Options.max_bound_shapes = Wanted.MaxBoundShapes;
  Options.flags = Wanted.Flags;
  Options.log = {log, this};
  kpc_session *Made = nullptr;
  kpc_error *Error = nullptr;
  kpc_status Status = KPC_OK;
  {
    nb::gil_scoped_release Free;
    Status = kpc_session_create(Model.get(), &Options, &Made, &Error);
  }
  check(Status, Error);
  Handle.reset(Made);
}

// Called inside the library, without the GIL, under the session's lock.
void Session::log(void *User, kpc_log_level Level, const char *Message) {
  auto *Self = static_cast<Session *>(User);
  Self->Log.emplace_back(int(Level), Message);
  Self->Logged = true;
}

nb::list Session::takeLog() {
  decltype(Log) Taken;
  {
    nb::gil_scoped_release Free;
    std::lock_guard Guard(Lock);
    Taken.swap(Log);
    Logged = false;
  }
  nb::list Out;
  for (const auto &[Level, Message] : Taken)
    Out.append(nb::make_tuple(Level, Message));
  return Out;
}

nb::list Session::copies() const {
  nb::list Out;
  for (const auto &[Name, Why] : Copies)
    Out.append(nb::make_tuple(Name, int(Why)));
  return Out;
}

Session::Read Session::read(const nb::tuple &Objects,
                            const std::vector<Port> &Ports, bool Write) {
  if (Objects.size() != Ports.size()) {
    std::string Text = std::string("expected ") + std::to_string(Ports.size()) +
                       (Write ? " outputs, got " : " inputs, got ") +
                       std::to_string(Objects.size());
    throw nb::type_error(Text.c_str());
  }
  Read Out;
  Out.Arguments.resize(Ports.size());
  Out.Tensors.reserve(Ports.size());
  for (size_t I = 0; I < Ports.size(); ++I) {
    Out.Arguments[I].read(Objects[I], Ports[I].Name.c_str(), Ports[I].Type,
                          Write);
    Out.Tensors.push_back(Out.Arguments[I].tensor());
  }
  return Out;
}

void Session::noteCopies(const Read &From) {
  int32_t Kind = Device.kind ? Device.kind : int32_t(KPC_DEVICE_HOST);
  for (const Argument &A : From.Arguments)
    if (Copy Why = A.copyFor(Kind); Why != Copy::None)
      Copies.emplace_back(A.tensor().name, Why);
}

nb::list Session::run(const nb::tuple &Given, uintptr_t Stream) {
  Read In = read(Given, Inputs, /*Write=*/false);
  Copies.clear();
  noteCopies(In);
  kpc_outputs *Made = nullptr;
  kpc_error *Error = nullptr;
  kpc_status Status = KPC_OK;
  {
    nb::gil_scoped_release Free;
    std::lock_guard Guard(Lock);
    Status = kpc_session_run_owned(Handle.get(), In.Tensors.data(),
                                   In.Tensors.size(), streamOf(Stream), &Made,
                                   &Error);
  }
  check(Status, Error);
  std::shared_ptr<kpc_outputs> All(Made, kpc_outputs_free);
  nb::list Out;
  for (int32_t I = 0; I < kpc_outputs_count(Made); ++I)
    Out.append(nb::cast(OutputTensor(All, I)));
  return Out;
}

void Session::runInto(const nb::tuple &Given, const nb::tuple &Into,
                      uintptr_t Stream) {
  Call(*this, Given, Into, Stream)();
}

void Session::prepare(
    const std::vector<std::pair<std::string, int64_t>> &Dims) {
  std::vector<kpc_dim> Given;
  Given.reserve(Dims.size());
  for (const auto &[Name, Value] : Dims)
    Given.push_back({Name.c_str(), Value});
  kpc_error *Error = nullptr;
  kpc_status Status = KPC_OK;
  {
    nb::gil_scoped_release Free;
    std::lock_guard Guard(Lock);
    Status =
        kpc_session_prepare(Handle.get(), Given.data(), Given.size(), &Error);
  }
  check(Status, Error);
}

nb::tuple Session::profile(const nb::tuple &Given, const nb::tuple &Into) {
  Read In = read(Given, Inputs, /*Write=*/false);
  Read Out = read(Into, Outputs, /*Write=*/true);
  kpc_profile *Made = nullptr;
  kpc_error *Error = nullptr;
  kpc_status Status = KPC_OK;
  {
    nb::gil_scoped_release Free;
    std::lock_guard Guard(Lock);
    Status = kpc_session_profile(Handle.get(), In.Tensors.data(),
                                 In.Tensors.size(), Out.Tensors.data(),
                                 Out.Tensors.size(), &Made, &Error);
  }
  check(Status, Error);
  std::unique_ptr<kpc_profile, void (*)(kpc_profile *)> Owned(Made,
                                                              kpc_profile_free);
  nb::list Steps;
  for (int32_t I = 0; I < kpc_profile_step_count(Made); ++I) {
    kpc_profile_step S;
    kpc_profile_get(Made, I, &S);
    Steps.append(nb::make_tuple(S.name, S.nodes, S.start_us, S.duration_us,
                                S.bytes_read, S.bytes_written, S.flops));
  }
  return nb::make_tuple(Steps, kpc_profile_trace(Made));
}

kpc_memory Session::memory() {
  kpc_memory Memory{};
  nb::gil_scoped_release Free;
  std::lock_guard Guard(Lock);
  kpc_session_memory(Handle.get(), &Memory);
  return Memory;
}

Call::Call(Session &TheSession, const nb::tuple &Given, const nb::tuple &Into,
           uintptr_t TheStream)
    : Owner(TheSession), Inputs(Owner.read(Given, Owner.Inputs, false)),
      Outputs(Owner.read(Into, Owner.Outputs, true)),
      Stream(streamOf(TheStream)) {
  Owner.Copies.clear();
  Owner.noteCopies(Inputs);
  Owner.noteCopies(Outputs);
}

void Call::operator()() {
  kpc_error *Error = nullptr;
  kpc_status Status = KPC_OK;
  {
    nb::gil_scoped_release Free;
    std::lock_guard Guard(Owner.Lock);
    Status = kpc_session_run(Owner.Handle.get(), Inputs.Tensors.data(),
                             Inputs.Tensors.size(), Outputs.Tensors.data(),
                             Outputs.Tensors.size(), Stream, &Error);
  }
  check(Status, Error);
}

static nb::dict memoryDict(Session &S) {
  kpc_memory M = S.memory();
  nb::dict Out;
  Out["arena_bytes"] = M.arena_bytes;
  Out["live_bytes"] = M.live_bytes;
  Out["value_bytes"] = M.value_bytes;
  Out["weight_bytes"] = M.weight_bytes;
  Out["staging_bytes"] = M.staging_bytes;
  Out["reserved_bytes"] = M.reserved_bytes;
  Out["bound_shapes"] = M.bound_shapes;
  return Out;
}

void bindSessions(nb::module_ &Module) {
  nb::class_<Session>(Module, "Session")
      .def("run", &Session::run)
      .def("run_into", &Session::runInto)
      .def("prepare", &Session::prepare)
      .def("profile", &Session::profile)
      .def("memory", memoryDict)
      .def("copies", &Session::copies)
      .def("take_log", &Session::takeLog)
      .def_prop_ro("has_log", &Session::hasLog)
      .def_prop_ro("target", &Session::target);
  nb::class_<Call>(Module, "Call")
      .def(nb::init<Session &, const nb::tuple &, const nb::tuple &,
                    uintptr_t>(),
           nb::keep_alive<1, 2>())
      .def("__call__", &Call::operator());
}

} // namespace kpc::python
