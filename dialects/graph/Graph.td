//===- Graph.td - The whole graph dialect ---------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
include "dialects/graph/GraphStructure.td"
include "dialects/graph/GraphControl.td"
include "dialects/graph/GraphElementwise.td"
include "dialects/graph/GraphMovement.td"
include "dialects/graph/GraphReduction.td"
include "dialects/graph/GraphOrder.td"
include "dialects/graph/GraphQuantised.td"
include "dialects/graph/GraphCustom.td"
