//===- Passes.td - Passes on the graph dialect ----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH
#define KPC_PASSES_GRAPH

include "mlir/Pass/PassBase.td"
include "passes/graph/PrecisionPasses.td"

def GatherNdToBroadcast : Pass<"gather-nd-to-broadcast", "::mlir::func::FuncOp"> {
  let summary = "Turns gather_nd with a dimension's own indices into a reshape and a broadcast";
  let description = [{
    `gather_nd(x, [i0, i1, …])` where each index is that of a dimension of the
    result, in order, as exporters look up padding masks: a reshape, and a
    broadcast along the other dimensions.
  }];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def MoveQuantisation : Pass<"move-quantisation", "::mlir::func::FuncOp"> {
  let summary = "Moves dequantising after ops that move or select elements, and cancels it with quantising";
  let description = [{
    With one scale and zero point, an op that moves elements, and max and min,
    work on codes as on the numbers that they stand for. They do so where a
    quantisation with the same scale follows, or a GEMM or convolution.
    Quantising what was dequantised with the same scale gives the codes, and
    goes where that is exact. Quantising a concat becomes a concat of codes.
  }];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def SinkBroadcasts : Pass<"sink-broadcasts", "::mlir::func::FuncOp"> {
  let summary = "Moves broadcasts toward the results: what is repeated is computed once";
  let description = [{
    An elementwise op of broadcasts and repeated constants alone is computed on
    the smaller sizes, and its result is broadcast. Masks keep the few
    dimensions that they have.
  }];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def HoistInvariants : Pass<"hoist-invariants", "::mlir::func::FuncOp"> {
  let summary = "Moves what depends on no iteration in front of its loop";
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def IsolateCustom : Pass<"isolate-custom", "::mlir::ModuleOp"> {
  let summary = "Puts each graph.custom into a region of its own, with the code that its targets run";
  let description = [{
    Without code for them, and for a 32-bit argument whose value changes in a
    loop and may be too large, it is an error. Where such an argument may be too
    large otherwise, `graph.requirements` gets what must hold.
  }];
  let options = [Option<"Gpu", "gpu", "bool", /*default=*/"false", "keep the CUDA code; else that for the host">];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def RecogniseAttention : Pass<"recognise-attention", "::mlir::func::FuncOp"> {
  let summary = "Recognises a softmax between two GEMMs as graph.attention";
  let description = [{
    As exporters spell it: factors on the scores, on queries or on keys; a bias;
    masks as a select or as something added, of which a comparison of indices
    becomes `causal`; a tanh as softcap; keys and values that are repeated for
    several heads; zeros instead of NaN where nothing is seen. By structure, not
    by names. Each one found, and each that only looks like it with the reason,
    is a remark of category `recognition`.
  }];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def AssumeKeys : Pass<"assume-keys", "::mlir::ModuleOp"> {
  let summary = "Takes numbers of keys that may be 0 to be at least 1";
  let description = [{
    Attention without keys has no kernel. Where a symbol of an input's size says
    how many keys there are, and its user gave no range for it, it is at least 1
    from here on, and `graph.reasons` says why. Other sizes are refused when they
    are bound. Of past and new keys the new ones are at least 1.
  }];
  let options = [
    ListOption<"Given", "given", "std::string", "Symbols whose ranges a user gave, which stay">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def SinkTransposes : Pass<"sink-transposes", "::mlir::func::FuncOp"> {
  let summary = "Moves transposes toward the results until they meet and cancel";
  let description = [{
    Convolutions are channels-last, so a model in NCHW comes in with transposes
    around each of them. An op that works element by element, or along named
    dimensions, gives the transpose of its result when its operand is one; the
    transpose is moved behind it, where it meets the next one and vanishes. Those
    that only move dimensions of size 1 become reshapes. A reshape may split
    dimensions; it may join those that are neighbours in front of the transpose.
  }];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def DecomposeConvTranspose : Pass<"decompose-conv-transpose", "::mlir::func::FuncOp"> {
  let summary = "Decomposes transposed convolutions into convolutions of stride 1";
  let description = [{
    Places of the result that are congruent modulo the stride, a phase, read the
    same taps. Where the stride divides the taps, or with `zero-taps`, phases are
    the output channels of one convolution, and one transpose brings the pixels
    into order. Elementwise ops behind it are computed before that. Elsewhere
    (depthwise, dilated) zeros are put between the elements of x.
  }];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def FlattenBatchIntoM : Pass<"flatten-batch-into-m", "::mlir::func::FuncOp"> {
  let summary = "Flattens the batch of a GEMM into M where all of it shares one B";
  let description = [{
    `[b, s, k] x [1, k, n]` becomes `[b*s, k] x [k, n]`. The reshape behind it is
    moved behind elementwise ops, reductions of the last dimension, broadcasts
    along it and slices of it.
  }];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def FuseQkv : Pass<"fuse-qkv", "::mlir::func::FuncOp"> {
  let summary = "Fuses the GEMMs of queries, keys and values of one input into one (horizontal fusion)";
  let description = [{
    GEMMs of one A with constants, each followed by the split into heads of the
    same size (and, all or none of them, by a bias), become one GEMM with the
    constants side by side along N, and slices of its heads.
  }];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def SplitGateUp : Pass<"split-gate-up", "::mlir::func::FuncOp"> {
  let summary = "Splits a GEMM whose two halves meet element by element into gate and up";
  let description = [{
    `silu(m[:, :n]) * m[:, n:]` with `m = x*w`, with or without a bias. The
    two GEMMs are what `fuse-gated-mlp` takes.
  }];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def RecogniseGelu : Pass<"recognise-gelu", "::mlir::func::FuncOp"> {
  let summary = "Recognises GELU: one spelling, whose argument is multiplied and not divided";
  let description = [{
    `x * (erf(x / √2) + 1) * 0.5` of f32, with the half at any of its factors,
    becomes `x * 0.5 * (erf(x * √½) + 1)`, as ONNX's Gelu is imported: the same
    kernel, whichever exporter wrote it. Each is a remark of category
    `recognition`.
  }];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def RecogniseRope : Pass<"recognise-rope", "::mlir::func::FuncOp"> {
  let summary = "Recognises rotary embeddings (RoPE): rotate-half becomes an index, not copies";
  let description = [{
    `x*cos + concat(-back half of x, front half of x)*sin` is computed on heads
    in two halves, a dimension that the second factor walks backwards: one
    elementwise kernel. Heads of one tensor that lie side by side and have the
    same angles are one. Each found, and halves that are swapped for something
    else with the reason, is a remark of category `recognition`.
  }];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def FoldScales : Pass<"fold-scales", "::mlir::func::FuncOp"> {
  let summary = "Folds constant factors of the columns of convolutions and GEMMs into their weights";
  let description = [{
    `mul(conv(x, w), s)` with a constant `s` per output channel becomes
    `conv(x, mul(w, s))`: batch normalisation in inference costs nothing. The new
    weight is constant and is computed when compiling.
  }];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def SinkNormFactors : Pass<"sink-norm-factors", "::mlir::func::FuncOp"> {
  let summary = "Factors of RMSNorm's rows go after the GEMMs of few rows that read the norm";
  let description = [{
    `matmul(x * r * w, m)` becomes `matmul(x, w * m) * r`, where `r` is made of
    the sums of squares of rows of `x`, and `w` and `m` are constants. Done where
    rows are typically few: that family adds up the squares itself, so that no
    norm is waited for. Not for weights that something else uses, nor for codes that the model has.
    A norm that is cast to f32 and back makes the GEMM one of f32.
  }];
  let options = [
    ListOption<"Keep", "keep", "std::string", "Regular expressions of node names that stay f32">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def FoldRecipes : Pass<"fold-recipes", "::mlir::func::FuncOp"> {
  let summary = "Transposes, reshapes and casts of weights become steps of their recipes";
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def Im2colPatchEmbed : Pass<"im2col-patch-embed", "::mlir::func::FuncOp"> {
  let summary = "Turns patch embeddings, convolutions whose stride is the filter's size, into GEMMs by im2col";
  let description = [{
    Each pixel is in one patch: patches are rows of a matrix. For 16-bit
    convolutions of fewer channels than fill 16 bytes, whose pixels tensor
    cores' copies cannot take as they are.
  }];
  let options = [
    Option<"Narrow", "narrow", "bool", "false", "f32 values are to be stored in 16 bits">,
    ListOption<"Keep", "keep", "std::string", "Regular expressions of node names that stay f32">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def PadChannels : Pass<"pad-channels", "::mlir::func::FuncOp"> {
  let summary = "Convolutions get as many channels as copies for tensor cores take";
  let description = [{
    Channels are filled up with zeros so that pixels, or where they are few the
    steps of the filter, lie at multiples of 16 bytes. For convolutions of
    integers of 8 bits, of 16 bits, or of tf32, of constant weights without
    groups.
  }];
  let options = [
    Option<"Floats", "floats", "bool", "true", "Not for integers alone">,
    Option<"FewAlone", "few-alone", "bool", "false", "Of floats only pixels of less than 16 bytes, as in a first layer">,
    Option<"Narrow", "narrow", "bool", "false", "f32 values are to be stored in 16 bits">,
    Option<"Tf32", "tf32", "bool", "false", "f32 values that stay are multiplied in tf32">,
    ListOption<"Keep", "keep", "std::string", "Regular expressions of node names that stay f32">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def PackBorders : Pass<"pack-borders", "::mlir::func::FuncOp"> {
  let summary = "Inputs, outputs and weights of 2 and 4 bits an element are their packed bytes";
  let description = [{
    Who calls a model gives and gets such elements packed, as ONNX packs them,
    and so do weights lie in the model's files. Inside, each takes a byte. The
    attribute `graph.port` keeps the type of the signature. A weight is unpacked
    by who reads it, so that an artifact holds its packed bytes.
  }];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def TileFewRowWeights : Pass<"tile-few-row-weights", "::mlir::func::FuncOp"> {
  let summary = "GEMMs of few rows read the codes of quantised weights, in tiles that are made when compiling";
  let description = [{
    For GEMMs of 16 rows typically, 64 at most, in 16 bits (with `narrow`, f32 as
    well, which set-precision stores so): integers of 4 and 8 bits and finite
    FP8, with blocks of whole 32 elements of K. Others are dequantised by a kernel
    of their own. Of FP8 a scale may also be a factor of the whole sum. With
    `many-rows` those of any number of rows read codes, if N is a multiple of 8,
    and blocks divide 128 elements of K or are whole multiples of these.
  }];
  let options = [
    Option<"ManyRows", "many-rows", "bool", "false", "Kernels of any number of rows read codes: all targets have wgmma">,
    Option<"NarrowName", "narrow", "std::string", "\"\"", "f16 or bf16: how f32 values are to be stored">,
    ListOption<"Keep", "keep", "std::string", "Regular expressions of node names that stay f32">,
    Option<"Tells", "tell", "bool", "true", "Remarks say which GEMMs read codes, and which do not">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def DecomposeAttention : Pass<"decompose-attention", "::mlir::ModuleOp"> {
  let summary = "Decomposes attention into GEMMs and a softmax where a target has no kernel for it";
  let description = [{
    An attention stays one op where each of `targets` builds it: heads of 8 to
    256 elements, at least one key; of 16 bits (with `narrow`, f32 as well, which
    set-precision stores so), or of f32 with typically more than 8 queries, where
    chips multiply tf32 (with `tf32`), or its parts faster than they do
    multiply-adds. The targets are those of one class, which share a plan. Heads
    that are no multiple of 8 elements are filled up with zeros, and the result
    is cut, but where there are 8 queries or fewer. The transposes of heads sink
    into what is left.
  }];
  let options = [
    ListOption<"Targets", "targets", "std::string", "Targets as --arch names them; none: nothing stays">,
    Option<"Narrow", "narrow", "bool", "false", "f32 values are to be stored in 16 bits">,
    Option<"Tf32", "tf32", "bool", "false", "Tensor Cores may round factors of f32 to tf32">,
    ListOption<"Keep", "keep", "std::string", "Regular expressions of node names that stay f32">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def SortScatters : Pass<"sort-scatters", "::mlir::ModuleOp"> {
  let summary = "Scatters of many updates become sorts of their targets and walks through segments";
  let description = [{
    A scatter is left as it is, each element looking through all updates that
    may meet it, where these are at most `most-searched`, or where updates times
    elements are at most `most-pairs`. Else the updates are sorted by the places
    they meet, and each place walks through its own, in their order.
  }];
  let options = [
    Option<"MostSearched", "most-searched", "int64_t", "32", "updates that are looked through however many elements there are">,
    Option<"MostPairs", "most-pairs", "int64_t", "4194304", "updates times elements that are looked through">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def DecomposeSort : Pass<"decompose-sort", "::mlir::ModuleOp"> {
  let summary = "Sorts become runs that one block of threads sorts, and merges, or passes of a radix sort";
  let description = [{
    Elements become integers of one order, packed with their indices, which are
    sorted by `graph.sort_runs`. Rows of up to 64 elements are ranked instead
    where their elements have 64 bits, or no run is as short: all pairs are
    compared. Of long rows of which few elements are asked for, the least element
    of each group of neighbours is found first, and the groups with the least of
    these are sorted alone. With `radix` rows that would need more merges than
    one and a half of the passes by digits are sorted by these
    (`graph.digit_counts`, `graph.order_by_digit`).
  }];
  let options = [
    Option<"LeastRun", "least-run", "int64_t", "2", "elements of the shortest run that is sorted at once">,
    Option<"MostRun", "most-run", "int64_t", "4096", "elements of the longest run that is sorted at once">,
    Option<"Radix", "radix", "bool", "true", "long rows are sorted by their digits">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def SplitReductions : Pass<"split-reductions", "::mlir::ModuleOp"> {
  let summary = "Reductions with few results, GEMMs of few tiles, argmax, running sums and large windows become as many parts as fill a GPU";
  let description = [{
    A reduction of long rows or tall columns with few results is a window for
    each part, then a reduction of the parts. An argmax is the greatest element,
    then the least index that has it. A long cumsum is that of blocks, to each
    of which the sum of all blocks before is added. Each of these is split again
    where it is long. A large window that slides over several axes is one window
    an axis. A GEMM with a long K and few tiles is a batch of GEMMs over parts of
    K, whose results are added up, where the cost models of all `targets` say
    that it gains. One with a K of 1 is a product of broadcasts, and one with a
    long K and a single result a reduction. For GPUs: the host walks rows in order.
  }];
  let options = [
    ListOption<"Targets", "targets", "std::string", "Targets as --arch names them, whose GEMMs are split; none: no GEMM is">,
    Option<"Narrow", "narrow", "bool", "false", "f32 values are to be stored in 16 bits">,
    Option<"Tf32", "tf32", "bool", "false", "Tensor Cores may round factors of f32 to tf32">,
    Option<"LongestRow", "longest-row", "unsigned", "131072", "Elements of the longest row that a kernel of rows keeps (form-regions)">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def FoldConstants : Pass<"fold-constants", "::mlir::ModuleOp"> {
  let summary = "Computes what follows from constants alone when compiling";
  let description = [{
    The driver compiles the kernels of such values for this machine's processor,
    runs them, and puts weights in their place. On its own (in `kpc-opt`), the
    pass has no compiler at hand and leaves the module as it is.
  }];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def UnifyRowShapes : Pass<"unify-row-shapes", "::mlir::func::FuncOp"> {
  let summary = "Gives row reductions and what is computed with their rows one shape, across reshapes";
  let description = [{
    A group norm reduces rows of `[n, 32, k]`; its scale, and what follows, are
    computed on `[n, 320, h, w]`. Where sizes of one shape divide those of the
    other, all is computed on `[n, 32, 10, h*w]`, and the reshapes stand at the
    borders, where they are views: `form-regions` may make one kernel of it. A
    reduction that has dimensions of size 1 in front of others among its own
    loses them, and dimensions of a row that nothing tells apart become one.

    Ops go with a reduction where they are elementwise, or reductions of the
    same rows: in front of it those that nothing else uses, behind it those that
    read what is in memory anyway. Behind a reshape they do only where that saves
    a kernel: nothing else uses what is reshaped, and what is made of it is
    stored. What is found, and a reshape behind which ops are left with the
    reason, is a remark of category `recognition`.

    With `across-transposes` it does so only for norms that read a transpose
    through a reshape, as between channels-last convolutions: `sink-transposes`
    can then move the transpose behind the norm.

    With `longer-than` it does so only for rows that no kernel of rows keeps.
    `split-reductions` reduces these in parts, of which nothing tells any more
    what goes with a row.
  }];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def FormRegions : Pass<"form-regions", "::mlir::func::FuncOp"> {
  let summary = "Groups ops into regions, one kernel each";
  let description = [{
    Walks the function once from its end. An op joins the region of its users
    when all of them are in one region and its elements are needed there once
    each, or are cheap to compute again; otherwise it becomes the last op of a
    region of its own. A region holds at most one root op (reduction,
    contraction, window, scatter), whose result is used at the same index only.

    With `rows`, a region may hold several reductions over the last dimensions
    of one shape, and what is between them element by element or row by row:
    softmax and norms are one kernel. A value of such a region that others use
    as well is one more result of it.

    Constants, weights and reshapes stay outside: a reshape at a region's
    border is the same memory. Broadcasts and repeated constants are cloned
    into each region that uses them. What is fused, and what is refused and why,
    is a remark of category `fusion`. Bodies of loops and branches are formed
    by themselves: no region reaches across their borders. The rows that an
    iteration sees of a tensor stay outside too, if they are a place in memory
    that kernels take: whole rows of a multiple of 64 bytes.
  }];
  let options = [
    Option<"MaxOps", "max-ops", "unsigned", "64", "Most ops in a region">,
    Option<"Fuse", "fuse", "bool", "true", "Whether to fuse at all">,
    Option<"Rows", "rows", "bool", "false", "Whether a region may hold several reductions of the same rows">,
    Option<"Transposed", "transposed", "unsigned", "0",
           "Bits of the widest elements that a GEMM reads transposed, as they lie in memory">,
    Option<"LongestRow", "longest-row", "unsigned", "131072", "Elements of the longest such row">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def ShareKernels : Pass<"share-kernels", "::mlir::func::FuncOp"> {
  let summary = "Regions that differ in scalars alone read these from memory";
  let description = [{
    Layers of a network with constant scales differ in factors and terms of f32
    alone. Where two regions or more would be the same kernel but for such
    numbers, each reads those that differ as an operand of one element. A
    number that all of them have stays in the kernel.
  }];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def PadLeadingDimension : Pass<"pad-leading-dimension", "::mlir::func::FuncOp"> {
  let summary = "Copies GEMM operands and results whose leading dimension TMA cannot take"
                " to or from memory with a padded one";
  let description = [{
    The caller's tensors have the rows they have. Where an input of the model
    is read by a GEMM of 16 bits and its rows do not begin at
    multiples of 16 bytes, it is copied once into a tensor between kernels,
    whose rows are padded; a GEMM that is an output of the model is copied
    out of such a tensor. With `narrow`, an input of fp32 is copied as 16
    bits, because Tensor Cores multiply operands of one type. Only where the copy is small beside the
    GEMM: each element takes part in `least-uses` multiply-adds or more. So is an
    input of fp32 that is convolved with filters of 16 bits, from 8 on.
  }];
  let options = [
    Option<"LeastUses", "least-uses", "int64_t", "64", "Multiply-adds of each element that is copied">,
    Option<"NarrowName", "narrow", "std::string", "\"\"", "f16 or bf16: what f32 is stored in; empty: f32 stays">,
    ListOption<"Keep", "keep", "std::string", "Regular expressions of node names that stay f32">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def KMajorOperands : Pass<"k-major-operands", "::mlir::func::FuncOp"> {
  let summary = "Turns operands of fp32 and of 8 bits of GEMMs and filters of convolutions, so that K is contiguous";
  let description = [{
    Kernels by wgmma and tcgen05 multiply tf32 and 8 bits only where both operands are contiguous along K, and
    mma.sync reads tf32 best so, and integers of 8 bits in no other way. A weight that one op of a region reads in
    another order gets a step in its recipe, and the region a transpose, which
    is a view. With `wgmma`, filters of convolutions become `[taps, O, C]`, and
    those of few channels `[…, O, kw, C]`; and operands that are no weights are
    copied, where each element takes part in `least-uses` multiply-adds: at
    4096³ on an H200, mma.sync takes 950 us, wgmma 335 and the copy 35.
  }];
  let options = [
    Option<"Wgmma", "wgmma", "bool", "false", "The target has wgmma or tcgen05">,
    Option<"Tf32", "tf32", "bool", "true", "Tensor cores multiply operands of fp32; else they stay as they are">,
    Option<"Split", "split", "bool", "false", "Operands of fp32 are not rounded to tf32 but split, by mma.sync alone">,
    Option<"LeastUses", "least-uses", "int64_t", "512", "Multiply-adds of each element that is copied">,
    ListOption<"Keep", "keep", "std::string", "Regular expressions of node names that are not rounded to tf32">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def FuseGatedMlp : Pass<"fuse-gated-mlp", "::mlir::func::FuncOp"> {
  let summary = "Fuses the gate and up GEMMs of a gated MLP (SwiGLU, GEGLU) into one kernel";
  let description = [{
    Two regions of one GEMM each, with the same A, of which the second takes the
    first's result element by element: `silu(x*w) * (x*v)`. One region with both
    writes the result alone. It is for targets with wgmma, tcgen05 or mma.sync,
    whose builders keep both accumulators, as the GEMV's do, and for operands of
    16 bits, or two weights of codes. Where `targets` names some, all without wgmma,
    it is done where the cost models of all of them say that it gains. Of codes,
    `code-targets` are asked. What is refused is a remark of category `recognition`.
  }];
  let options = [
    ListOption<"Targets", "targets", "std::string", "Targets without wgmma as --arch names them; none: the target has it">,
    ListOption<"CodeTargets", "code-targets", "std::string", "Those for weights of codes; none: the same">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def FuseRopeIntoGemm : Pass<"fuse-rope-into-gemm", "::mlir::func::FuncOp"> {
  let summary = "Fuses a rotary embedding (RoPE) into the epilogue of the GEMM that makes its heads";
  let description = [{
    A region of a GEMM whose columns are heads, and one that applies RoPE to all
    or some of these heads and is elementwise otherwise (`recognise-rope`), become
    one. Heads without RoPE are kept by a select. Kernels that read heads before
    or after RoPE read them in the one result. For targets with wgmma, tcgen05 or
    mma.sync, where one thread reads both halves of a head (in shared memory for
    a GEMV). Operands have 16 bits, or the weight is codes; heads have up to
    128 elements, and whole heads fit a tile. Where `targets` names some, all
    without wgmma, it is done where the cost models of all of them say that it
    gains. Of codes, `code-targets` are asked. Each fusion, and each refusal with its reason, is a remark of category
    `recognition`.
  }];
  let options = [
    ListOption<"Targets", "targets", "std::string", "Targets without wgmma as --arch names them; none: the target has it">,
    ListOption<"CodeTargets", "code-targets", "std::string", "Those for weights of codes; none: the same">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def FuseCodesIntoAttention : Pass<"fuse-codes-into-attention", "::mlir::func::FuncOp"> {
  let summary = "Attention of many queries writes the codes of FP8 (E4M3) that the next product multiplies";
  let description = [{
    A factor, the limits of E4M3 and the cast behind an attention, whose result
    nothing else reads, move in front of transposes and reshapes. The kernel of
    attention by wgmma then writes codes by that constant scale. Heads of the
    result have 32, 64, 96, 128, 192 or 256 elements. Each, and each refusal with its reason, is a
    remark of category `fusion`.
  }];
  let options = [
    ListOption<"Targets", "targets", "std::string", "Targets with wgmma as --arch names them, which all have to have a schedule; none: nothing is asked">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def FuseSiblings : Pass<"fuse-siblings", "::mlir::func::FuncOp"> {
  let summary = "Fuses small kernels of one form that do not wait for one another (horizontal fusion)";
  let description = [{
    Regions that are the same but for their inputs, elementwise or moving data, and
    equally many kernels behind the model's inputs, become one with a result each:
    the two that append to the caches of keys and values, for example. A kernel has
    up to four results. One that only reads each element of another's result (a cast
    for a kernel behind it) becomes part of that first. Each fusion is a remark of category `fusion`.
  }];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def LowerRegions : Pass<"lower-regions", "::mlir::ModuleOp"> {
  let summary = "Regions become kernels in linalg form, the function a plan";
  let description = [{
    Each distinct `graph.region` becomes one `func.func` over base pointers and
    sizes; equal ones share it. Symbols end here: a symbolic size becomes one
    `index` argument, with what is known of it as an attribute of
    the argument (`kernel.size`). `@main` becomes a
    `plan.program`, loops and branches in it `plan.loop` and `plan.if`. A carried
    value has memory twice, and iterations write to one and the other in turn.
  }];
  let dependentDialects = [
    "::kpc::kernel::KernelDialect", "::kpc::plan::PlanDialect", "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def OrderBySizes : Pass<"order-by-sizes", "::mlir::ModuleOp"> {
  let summary = "Puts steps that need a size that data decides after those that count it";
  let description = [{
    Of a plan without such sizes nothing changes. Of others, steps keep their
    order but for those that a step in front does not have to wait for.
  }];
  let dependentDialects = ["::kpc::plan::PlanDialect"];
}

def SetLiveIntervals : Pass<"set-live-intervals", "::mlir::ModuleOp"> {
  let summary = "Writes the live interval and the arena class of each buffer into the plan";
  let description = [{
    From the first step that touches a buffer, or a view of it, to the last.
  }];
  let dependentDialects = ["::kpc::plan::PlanDialect"];
}

def VerifyKernelForm : Pass<"verify-kernel-form", "::mlir::ModuleOp"> {
  let summary = "Checks that kernels hold no symbols and only what builders read";
  let description = [{
    After `lower-regions` a kernel holds ops of affine, arith, bufferization,
    kernel, linalg, math, memref, scf and tensor; no graph type is left in it.
  }];
}

def VerifyLaunchSizes : Pass<"verify-launch-sizes", "::mlir::ModuleOp"> {
  let summary = "Checks the sizes of launches against the views of their kernels";
  let description = [{
    With a launch's sizes in place of its kernel's index arguments, each view of
    an argument must be dense and have as many elements as the buffer that is
    given for it. For plans that were edited by hand.
  }];
}

#endif // KPC_PASSES_GRAPH
