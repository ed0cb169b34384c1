//===- ImportPrecompiled.h - What the front ends share --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Headers that most files of the front ends include, compiled once; see
/// cmake/KpcMlir.cmake. The dialects below the graph are not among them: a
/// change there does not compile 170 files again. No file includes this one
/// itself.
///
//===----------------------------------------------------------------------===//
#include "cmake/MlirPrecompiled.h"
#include "compiler/diagnostics/Diagnostics.h"
#include "compiler/import/Control.h"
#include "compiler/import/DataSizes.h"
#include "compiler/import/Emitter.h"
#include "compiler/import/WeightStore.h"
#include "compiler/import/onnx/model/Model.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/GraphRecurrent.h"
#include "dialects/graph/Requirements.h"
#include "dialects/shape/Assume.h"

#include <deque>
#include <set>
#include <span>
#include <unordered_map>
#include <variant>
