//===- DialectsPrecompiled.h - What files on the dialects share -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Headers that nearly every file on MLIR includes, compiled once; see
/// cmake/KpcMlir.cmake. No file includes this one itself.
///
//===----------------------------------------------------------------------===//
#include "cmake/MlirPrecompiled.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/GraphRecurrent.h"
#include "dialects/graph/Requirements.h"
#include "dialects/kernel/Kernel.h"
#include "dialects/kernel/KernelRecurrent.h"
#include "dialects/plan/Plan.h"
#include "dialects/tile/Tile.h"
