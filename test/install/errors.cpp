//===- errors.cpp - What the C++ interface says of errors -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   errors FILE.kpc
//
// Prints the messages of a dim that there is not, and of a vector that is too
// small for its dims.
//
//===----------------------------------------------------------------------===//
#include "kpc/runtime.hpp"

#include <cstdio>

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  auto model = kpc::Model::load(argv[1]);
  auto session = model.value().session();
  std::printf("%s\n", session->prepare({{"bach", 3}}).error().message());
  std::vector<float> one(1);
  auto run = session->run({{"x", kpc::tensor(one, {1000, 1000})}});
  std::printf("%s\n", run.error().message());
}
