//===- GraphRecurrent.h - Recurrent layers ----------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_GRAPH_GRAPHRECURRENT_H
#define KPC_DIALECTS_GRAPH_GRAPHRECURRENT_H

#include "dialects/graph/Graph.h"

#include "dialects/graph/GraphRecurrentEnums.h.inc"
#define GET_OP_CLASSES
#include "dialects/graph/GraphRecurrent.h.inc"

#endif // KPC_DIALECTS_GRAPH_GRAPHRECURRENT_H
