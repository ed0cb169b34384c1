//===- GraphPrecompiled.h - What files on the graph dialect share ---------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Headers that nearly every file on the graph dialect includes, compiled once;
/// see cmake/KpcMlir.cmake. No file includes this one itself.
///
//===----------------------------------------------------------------------===//
#include "cmake/MlirPrecompiled.h"
#include "dialects/graph/Graph.h"
