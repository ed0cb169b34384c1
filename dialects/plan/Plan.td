//===- Plan.td - What the runtime does ------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One op for one record of the artifact.
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PLAN
#define KPC_PLAN

include "dialects/graph/GraphBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::kpc::plan";
  let summary = "Buffers, weights, launches and copies, in order";
  let description = [{
    The last level before the artifact. A buffer is a value whose type says what
    it holds. It has graph's type, because only that type carries symbols. Kernels
    are `func.func`s in the program's module, in linalg form. All builders use the
    same ABI: buffers first, then sizes.

    ```mlir
    plan.program {
      %x = plan.input "x" : !graph.tensor<[batch, 4], f32>
      %y = plan.output "y" : !graph.tensor<[batch, 4], f32>
      plan.launch @exp (%x) -> (%y) sizes <["batch*4"]>
          : (!graph.tensor<[batch, 4], f32>) -> !graph.tensor<[batch, 4], f32>
    }
    ```
  }];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<Plan_Dialect, mnemonic, traits>;

def Plan_ProgramOp : Plan_Op<"program", [NoTerminator, SingleBlock, IsolatedFromAbove, NoRegionArguments]> {
  let summary = "The records of one entry point, steps in order";
  let description = [{
    Launches and copies are steps, numbered from 0 in the order of the text,
    including those of loops and branches.
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
}

class Plan_BufferLike<string mnemonic, string what> : Plan_Op<mnemonic> {
  let summary = what;
  let arguments = (ins StrAttr:$name);
  let results = (outs Graph_Tensor:$buffer);
  let assemblyFormat = "$name attr-dict `:` type($buffer)";
}

class Plan_Port<string mnemonic, string what> : Plan_BufferLike<mnemonic, what> {
  code PortDescription = [{
    `as` is the type in the model's signature where the buffer holds its packed
    bytes: of elements of 2 and 4 bits.

    ```mlir
    %x = plan.input "x" as !graph.tensor<[3, n], i4> : !graph.tensor<["ceildiv(n*3, 2)"], ui8>
    ```
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The type in the model's signature.
    ::kpc::graph::SymbolicTensorType portType() {
      return ::llvm::cast<::kpc::graph::SymbolicTensorType>(
          getAs() ? *getAs() : getBuffer().getType());
    }
  }];
}

def Plan_InputOp  : Plan_Port<"input", "An input of the model, in the order of the signature"> {
  let description = PortDescription;
  let arguments = (ins StrAttr:$name, OptionalAttr<TypeAttrOf<Graph_Tensor>>:$as);
  let assemblyFormat = "$name (`as` $as^)? attr-dict `:` type($buffer)";
}
def Plan_OutputOp : Plan_Port<"output", "An output of the model, in the order of the signature"> {
  let description = [{
    `takes` is an input whose memory the output may use. Each of the output's
    elements is the input's at the same place or does not depend on the input, and
    no other step reads the input. So a KV cache is updated in place.

    ```mlir
    %past = plan.input "past" : !graph.tensor<[batch, 8, 1024, 64], f16>
    %y = plan.output "present" takes 0 : !graph.tensor<[batch, 8, 1024, 64], f16>
    ```

        With `decides` the caller does not see the output. It is a number that a run
    reads back: the size that data decides. `at_most` is its greatest possible
    value. Such outputs come after all others.

    ```mlir
    %n = plan.output "found" decides <[found]> at_most <["rows*4"]> : !graph.tensor<[], i64>
    ```
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<I64Attr>:$takes, OptionalAttr<TypeAttrOf<Graph_Tensor>>:$as,
                       OptionalAttr<Graph_DimsAttr>:$decides, OptionalAttr<Graph_DimsAttr>:$at_most);
  let assemblyFormat = [{$name (`takes` $takes^)? (`as` $as^)? (`decides` $decides^)? (`at_most` $at_most^)?
                         attr-dict `:` type($buffer)}];
}
def Plan_Fixed   : I32EnumAttrCase<"fixed", 0>;
def Plan_Dynamic : I32EnumAttrCase<"dynamic", 1>;
def Plan_ArenaClass : I32EnumAttr<"ArenaClass", "when a buffer's size is known", [Plan_Fixed, Plan_Dynamic]> {
  let cppNamespace = "::kpc::plan";
}

def Plan_BufferOp : Plan_BufferLike<"buffer", "Memory of the arena between two steps"> {
  let description = [{
    `live` is the first and the last step that need the buffer, both included.
    Buffers with disjoint intervals may share memory. The interval must contain
    every step that touches the buffer, and may be longer. `arena` says when the
    size is known: `fixed` when compiling, `dynamic` when a shape is bound.
    `set-live-intervals` sets both; without them they follow from the steps.

    ```mlir
    %h = plan.buffer "hidden" live [0, 1] arena dynamic : !graph.tensor<[batch, 64], f32>
    ```
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<DenseI64ArrayAttr>:$live, OptionalAttr<Plan_ArenaClass>:$arena);
  let assemblyFormat = "$name (`live` $live^)? (`arena` $arena^)? attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Plan_WeightOp : Plan_Op<"weight"> {
  let summary = "Bytes of the model's, prepared by a recipe (see graph.weight)";
  let arguments = (ins StrAttr:$source, DefaultValuedAttr<ArrayAttr, "{}">:$recipe);
  let results = (outs Graph_Tensor:$buffer);
  let assemblyFormat = "$source $recipe attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Plan_ConstantOp : Plan_Op<"constant"> {
  let summary = "Bytes that the plan itself contains";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Graph_Tensor:$buffer);
  let assemblyFormat = "$value attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Plan_ViewOp : Plan_Op<"view"> {
  let summary = "The same memory under other sizes";
  let arguments = (ins Graph_Tensor:$of);
  let results = (outs Graph_Tensor:$buffer);
  let assemblyFormat = "$of attr-dict `:` type($of) `to` type($buffer)";
  let hasVerifier = 1;
}

def Plan_PartOp : Plan_Op<"part"> {
  let summary = "A part of a buffer's memory, from some element on";
  let description = [{
    The place is counted in elements and may name the counter of an enclosing
    loop. Each iteration's collected result is a part. Of two alternating parts,
    one is the carried value that an iteration reads, the other the next value.

    ```mlir
    %y = plan.part %all at <["i*16"]> : !graph.tensor<[20, 16], f32> to !graph.tensor<[16], f32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$of, Graph_DimsAttr:$offset);
  let results = (outs Graph_Tensor:$buffer);
  let assemblyFormat = "$of `at` $offset attr-dict `:` type($of) `to` type($buffer)";
  let hasVerifier = 1;
}

def Plan_LoopOp : Plan_Op<"loop", [NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "Steps that run a number of times, or until data ends them";
  let description = [{
    The number of the iteration, from 0, is the symbol `counter`, which offsets
    of parts and sizes of launches inside may name. Buffers of its body live
    within one iteration; those from outside that the body touches are live
    while the loop runs.

        With `while` the first byte of the condition is read before each iteration,
    and `count` is the greatest number of iterations. The steps `at_end` run once
    after the last one; there the counter is the number of iterations.

    ```mlir
    plan.loop "i" count <[steps]> {
      %y = plan.part %all at <["i*16"]> : …
      plan.launch @step (%x) -> (%y) sizes <[i]> : …
    }
    plan.loop "i" count <[100]> while %c : !graph.tensor<[], i1> {
      …
      plan.launch @more (%x) -> (%c) sizes <[]> : …
    } at_end {
      %last = plan.part %h at <["mod(i, 2)*16"]> : …
      plan.copy %last to %y : …
    }
    ```
  }];
  let arguments = (ins StrAttr:$counter, Graph_DimsAttr:$count, Optional<Graph_BoolTensor>:$condition);
  let regions = (region SizedRegion<1>:$body, AnyRegion:$ending);
  let assemblyFormat = [{$counter `count` $count (`while` $condition^ `:` type($condition))?
                         attr-dict-with-keyword $body (`at_end` $ending^)?}];
  let hasVerifier = 1;
}

def Plan_IfOp : Plan_Op<"if", [NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "Steps that run if data says so";
  let description = [{
    The first byte of the condition is read when all steps before have ended.

    ```mlir
    plan.if %c : !graph.tensor<[], i1> {
      plan.launch @a (%x) -> (%y) sizes <[]> : …
    } else {
      plan.copy %x to %y : …
    }
    ```
  }];
  let arguments = (ins Graph_BoolTensor:$condition);
  let regions = (region SizedRegion<1>:$then, SizedRegion<1>:$otherwise);
  let assemblyFormat = "$condition `:` type($condition) attr-dict-with-keyword $then `else` $otherwise";
  let hasVerifier = 1;
}

def Plan_LaunchOp : Plan_Op<"launch", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a kernel: reads the first buffers, writes the second";
  let description = [{
    All attributes but `sizes` are for people: the launch's name, the nodes of the
    model that it computes, its number of floating-point operations (one
    expression; docs/cli.md says what counts), and the contraction that most of
    these belong to: "matmul", "conv", "grouped conv", "depthwise conv" or
    "attention", or none. `kind`, `title` and `scope` are for reports: "GEMM",
    "GEMM {batch*seq}x3072x768 + bias" with expressions over the module's symbols
    in braces, and the module of the model that it belongs to,
    "encoder.layer.3.intermediate".

    ```mlir
    plan.launch @conv_relu (%x, %w) -> (%y) sizes <[batch]>
        {flops = #graph.dims<["batch*128"]>, name = "conv+relu", nodes = ["conv", "relu"]} : …
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Graph_Tensor>:$reads,
                       Variadic<Graph_Tensor>:$writes, Graph_DimsAttr:$sizes, OptionalAttr<StrAttr>:$name,
                       OptionalAttr<StrArrayAttr>:$nodes, OptionalAttr<Graph_DimsAttr>:$flops,
                       OptionalAttr<StrAttr>:$root, OptionalAttr<StrAttr>:$kind, OptionalAttr<StrAttr>:$title,
                       OptionalAttr<StrAttr>:$scope);
  let assemblyFormat = [{$kernel ` ` `(` $reads `)` `->` `(` $writes `)` `sizes` $sizes attr-dict `:`
                         functional-type($reads, $writes)}];
  let hasVerifier = 1;
}

def Plan_CopyOp : Plan_Op<"copy"> {
  let summary = "Copies a whole buffer";
  let arguments = (ins Graph_Tensor:$source, Graph_Tensor:$destination);
  let assemblyFormat = "$source `to` $destination attr-dict `:` type($source) `to` type($destination)";
  let hasVerifier = 1;
}

#endif // KPC_PLAN
