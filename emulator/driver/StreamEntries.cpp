//===- StreamEntries.cpp - Streams and events -----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Work is done when it is enqueued, so there is nothing to wait for.

#include "emulator/driver/Device.h"

#include <chrono>

using namespace kpc::emulator::driver;

namespace {
struct Stream {};
struct Event {
  std::chrono::steady_clock::time_point At;
};
} // namespace

KPC_EXPORT Result cuStreamCreate(void **Out, unsigned) try {
  KPC_RETURN_FAULT();
  *Out = new Stream;
  return Success;
}
KPC_CATCH
KPC_EXPORT Result cuStreamDestroy_v2(void *S) try {
  delete static_cast<Stream *>(S);
  return Success;
}
KPC_CATCH
KPC_EXPORT Result cuStreamSynchronize(void *) { return Device::get().fault(); }
KPC_EXPORT Result cuStreamWaitEvent(void *, void *, unsigned) try {
  return Device::get().fault();
}
KPC_CATCH

KPC_EXPORT Result cuEventCreate(void **Out, unsigned) try {
  KPC_RETURN_FAULT();
  *Out = new Event;
  return Success;
}
KPC_CATCH
KPC_EXPORT Result cuEventDestroy_v2(void *E) try {
  delete static_cast<Event *>(E);
  return Success;
}
KPC_CATCH
KPC_EXPORT Result cuEventRecord(void *E, void *) try {
  static_cast<Event *>(E)->At = std::chrono::steady_clock::now();
  return Device::get().fault();
}
KPC_CATCH
KPC_EXPORT Result cuEventSynchronize(void *) { return Device::get().fault(); }
KPC_EXPORT Result cuEventElapsedTime(float *Out, void *A, void *B) try {
  *Out = std::chrono::duration<float, std::milli>(static_cast<Event *>(B)->At -
                                                  static_cast<Event *>(A)->At)
             .count();
  return Success;
}
KPC_CATCH
