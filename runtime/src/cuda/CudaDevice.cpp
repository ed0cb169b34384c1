//===- CudaDevice.cpp - Runs plans on a CUDA device -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/Device.h"

namespace kpc::rt {

Result<std::unique_ptr<Device>> makeCudaDevice(const std::shared_ptr<Model> &,
                                               const DeviceOptions &) {
  return failure(ErrorCode::DriverMissing,
                 "this runtime was built without CUDA devices");
}

} // namespace kpc::rt
