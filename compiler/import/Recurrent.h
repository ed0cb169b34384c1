//===- Recurrent.h - Recurrent layers of all front ends ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Recurrent layers are loops over time, short ones unrolled. The inputs' part
/// of all steps is one matrix product; each step adds the state's part. What
/// GPUs have a kernel of all steps for becomes a graph.recurrent around them.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_RECURRENT_H
#define KPC_COMPILER_IMPORT_RECURRENT_H

#include "compiler/import/Control.h"

#include <array>

namespace kpc::frontend {

/// A function of a cell, with the parameters that some have.
struct Activation {
  enum class Kind {
    Sigmoid,
    Tanh,
    Relu,
    Affine,
    LeakyRelu,
    ThresholdedRelu,
    ScaledTanh,
    HardSigmoid,
    Elu,
    Softsign,
    Softplus
  };
  Kind Of = Kind::Tanh;
  double Alpha = 0, Beta = 0;
};

/// One direction of a layer. Gates are in ONNX's order: input, output, forget,
/// cell; update, reset, new.
struct RecurrentWay {
  Value W, R;                 ///< [gates*hidden, in or hidden]
  Value InputBias, StateBias; ///< [gates*hidden]; null without them
  Value Peep = {};            ///< [3*hidden]: input, output, forget; or null
  Value Projection = {};      ///< of the state, [projected, hidden]; or null
  bool Reversed = false;      ///< begins with the last step
  std::array<Activation, 3> Functions = {}; ///< as many as the cell has
};

/// Element `I` of the first axis, without that axis; null of null.
Value planeOf(Emitter &E, Value V, int64_t I);
/// The `I`-th of equal parts of the last axis; null of null.
Value partOf(Emitter &E, Value V, int64_t I, int64_t Size);

struct RecurrentLayer {
  enum class Cells { Rnn, Gru, Lstm };
  Cells Of = Cells::Rnn;
  int64_t Hidden = 0;
  Value X; ///< [steps, batch, in]
  SmallVector<RecurrentWay> Ways;
  Value State;                    ///< [directions, batch, hidden]
  Value Memory = {};              ///< the cell of an LSTM, of the same sizes
  Value Lengths = {};             ///< [batch]; null: all rows are whole
  double Clip = 0;                ///< of what activations get; 0: none
  bool LinearBeforeReset = false; ///< a GRU's reset gate multiplies the product
  bool CouplesGates = false;      ///< an LSTM forgets 1 - input
  /// Results that are asked for; the others may be null.
  bool WantsOutputs = true, WantsState = true, WantsMemory = true;

  int64_t gates() const {
    return Of == Cells::Lstm ? 4 : Of == Cells::Gru ? 3 : 1;
  }
};

/// What a layer gives: [steps, batch, directions, hidden], and the last state
/// and cell, [directions, batch, hidden]. Null after a report.
struct RecurrentResults {
  Value Outputs, State, Memory;
};

RecurrentResults importRecurrent(Emitter &E, const RecurrentLayer &L,
                                 LoopBuilder Loop);

} // namespace kpc::frontend

#endif // KPC_COMPILER_IMPORT_RECURRENT_H
