//===- GraphRecurrent.td - Recurrent layers ---------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A header of its own: few read it (GraphRecurrent.h).
//
//===----------------------------------------------------------------------===//
#ifndef KPC_GRAPH_RECURRENT
#define KPC_GRAPH_RECURRENT

include "dialects/graph/GraphBase.td"

def Graph_Lstm : I32EnumAttrCase<"lstm", 0>;
def Graph_Gru  : I32EnumAttrCase<"gru", 1>;
def Graph_TanhCell : I32EnumAttrCase<"tanh", 2>;
def Graph_ReluCell : I32EnumAttrCase<"relu", 3>;
def Graph_CellKind : I32EnumAttr<"CellKind", "what a step of a recurrent layer computes",
    [Graph_Lstm, Graph_Gru, Graph_TanhCell, Graph_ReluCell]> {
  let cppNamespace = "::kpc::graph";
}

def Graph_RecurrentOp : Graph_Op<"recurrent", [NoRegionArguments, RecursiveMemoryEffects, AttrSizedOperandSegments]> {
  let summary = "All steps of a recurrent layer (LSTM, GRU, RNN), in each of its directions";
  let description = [{
    For each direction `x` is `[steps, batch, gates*hidden]`, the inputs' part of
    all gates with its biases. `r`, `[directions, gates*hidden, hidden]`, holds the
    weights of the state. Gates are in ONNX's order: input, output, forget, cell
    (lstm); update, reset, new (gru, whose reset gate multiplies the product of
    the state plus `bias`, `[directions, hidden]`); tanh and relu have one. Rows
    end at `lengths`, `[batch]`: after that the state does not change and y is
    zero. `reversed` directions begin with the last step.

    Results are y, `[steps, batch, directions, hidden]`, the last state and, of
        lstm, the last cell, both `[directions, batch, hidden]`. The body computes
    the same by loops. It replaces the op where a target has no kernel of
    all steps (`choose-recurrent`).

    Without a body the op is that kernel. Then it has three more results: memory
    of the cells (f32, state and cell), the states that blocks exchange (two, rows
    padded to 32) and the counters of its barriers, which are zero before it.

    ```mlir
    %y, %h, %c = graph.recurrent lstm(%x) weights %r state %h0 cell %c0 reversed [false] : … {
      …
      graph.recurrent_yield %y1, %h1, %c1 : …
    }
    ```
  }];
  let arguments = (ins Graph_CellKind:$kind, Variadic<Graph_FloatTensor>:$x, Graph_FloatTensor:$r,
                       Optional<Graph_FloatTensor>:$bias, Optional<Graph_IntTensor>:$lengths, Graph_FloatTensor:$state,
                       Optional<Graph_FloatTensor>:$cell, DenseBoolArrayAttr:$reversed);
  let results = (outs Variadic<Graph_Tensor>:$outputs);
  let regions = (region AnyRegion:$body);
  let assemblyFormat = [{$kind `(` $x `)` `weights` $r (`bias` $bias^)? (`lengths` $lengths^)? `state` $state
                         (`cell` $cell^)? `reversed` $reversed attr-dict `:` functional-type(operands, results)
                         ($body^)?}];
  let extraClassDeclaration = [{
    unsigned getDirections() { return getReversed().size(); }
    /// y, the last state and, of lstm, the last cell.
    unsigned getNumMeant() { return getKind() == CellKind::lstm ? 3 : 2; }
    /// Gates of a cell of the kind.
    static int64_t gatesOf(CellKind Kind) { return Kind == CellKind::lstm ? 4 : Kind == CellKind::gru ? 3 : 1; }
    /// Elements of a row of what blocks exchange.
    static int64_t paddedHidden(int64_t Hidden) { return (Hidden + 31) / 32 * 32; }
  }];
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
}

def Graph_RecurrentYieldOp : Graph_Op<"recurrent_yield", [Pure, Terminator, ParentOneOf<["RecurrentOp"]>]> {
  let summary = "The results of a recurrent layer that its body computes";
  let arguments = (ins Variadic<Graph_Tensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // KPC_GRAPH_RECURRENT
