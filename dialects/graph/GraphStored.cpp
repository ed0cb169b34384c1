//===- GraphStored.cpp - Values in memory where rows are many -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/GraphStored.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

#define GET_OP_CLASSES
#include "dialects/graph/GraphStored.cpp.inc"
