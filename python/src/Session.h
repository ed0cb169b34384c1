//===- Session.h - A session for Python -------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// kpc_session behind a lock: Python's threads may share one, and runs release
/// the GIL. Inputs and outputs are tuples in the model's order; names, kinds of
/// arrays and warnings are the business of kpc/_session.py.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PYTHON_SRC_SESSION_H
#define KPC_PYTHON_SRC_SESSION_H

#include "Argument.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace kpc::python {

using ModelHandle = std::shared_ptr<kpc_model>;

class Session {
public:
  struct Options {
    kpc_device Device{};
    std::string Target, Driver; ///< empty: the library's choice
    int32_t Threads = 0, MaxBoundShapes = 0;
    uint32_t Flags = 0;
  };
  Session(const ModelHandle &Model, const Options &Wanted);

  nanobind::list run(const nanobind::tuple &Given, uintptr_t Stream);
  void runInto(const nanobind::tuple &Given, const nanobind::tuple &Into,
               uintptr_t Stream);
  void prepare(const std::vector<std::pair<std::string, int64_t>> &Dims);
  /// Steps as tuples, and the trace as text.
  nanobind::tuple profile(const nanobind::tuple &Given,
                          const nanobind::tuple &Into);
  kpc_memory memory();
  const char *target() const { return kpc_session_target(Handle.get()); }

  /// Pairs of a name and a Copy, of the last run.
  nanobind::list copies() const;
  /// Pairs of a level and a message since the last call.
  nanobind::list takeLog();
  bool hasLog() const { return Logged; }

private:
  friend class Call;
  struct Read {
    std::vector<Argument> Arguments;
    std::vector<kpc_named_tensor> Tensors;
  };
  struct Port {
    std::string Name;
    int32_t Type;
  };
  Read read(const nanobind::tuple &Objects, const std::vector<Port> &Ports,
            bool Write);
  void noteCopies(const Read &From);
  static void log(void *User, kpc_log_level Level, const char *Message);

  ModelHandle Model;
  std::vector<Port> Inputs, Outputs;
  kpc_device Device{};
  // What the session writes to stands in front of it.
  std::mutex Lock;
  std::vector<std::pair<int, std::string>> Log;
  std::atomic<bool> Logged{false};
  std::vector<std::pair<const char *, Copy>> Copies;
  std::unique_ptr<kpc_session, void (*)(kpc_session *)> Handle{
      nullptr, kpc_session_free};
};

/// A run whose tensors have been read: calling it costs what the C interface
/// costs, and little more.
class Call {
public:
  Call(Session &Owner, const nanobind::tuple &Given,
       const nanobind::tuple &Into, uintptr_t Stream);
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;
  void operator()();

private:
  Session &Owner;
  Session::Read Inputs, Outputs;
  void *Stream;
};

void bindSessions(nanobind::module_ &Module);

} // namespace kpc::python

#endif // KPC_PYTHON_SRC_SESSION_H
