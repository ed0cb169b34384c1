//===- Log.h - Messages to the caller's sink --------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Nothing is printed by the runtime itself.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_LOG_H
#define KPC_RUNTIME_SRC_LOG_H

#include "kpc/runtime.h"

#include <string>

namespace kpc::rt {

class Log {
public:
  Log() : Sink{nullptr, nullptr} {}
  explicit Log(kpc_log_sink Sink) : Sink(Sink) {}
  bool wanted() const { return Sink.log != nullptr; }
  void info(const std::string &Text) const { send(KPC_LOG_INFO, Text); }
  void warning(const std::string &Text) const { send(KPC_LOG_WARNING, Text); }

private:
  void send(kpc_log_level Level, const std::string &Text) const {
    if (Sink.log)
      Sink.log(Sink.user, Level, Text.c_str());
  }
  kpc_log_sink Sink;
};

} // namespace kpc::rt

#endif // KPC_RUNTIME_SRC_LOG_H
