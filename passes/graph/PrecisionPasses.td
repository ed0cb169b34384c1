//===- PrecisionPasses.td - Passes that choose and write types ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What types values are stored and multiplied in: borders, quantisation,
// blocks, storage. Passes.td includes it.
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PRECISION_PASSES
#define KPC_PRECISION_PASSES

include "mlir/Pass/PassBase.td"

def SetIoType : Pass<"set-io-type", "::mlir::func::FuncOp"> {
  let summary = "Gives float inputs and outputs a type, with casts inside";
  let options = [
    Option<"To", "to", "std::string", "\"\"", "f32, f16 or bf16; empty: as the model has them">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def DecomposeDequantise : Pass<"decompose-dequantise", "::mlir::func::FuncOp"> {
  let summary = "Dequantises by arithmetic on elements";
  let description = [{
    With `keep-weights`, what GEMMs alone read stays one op: constants are folded
    behind this, and an artifact should hold codes, not values.
  }];
  let options = [
    Option<"KeepWeights", "keep-weights", "bool", "false", "Operands of GEMMs stay">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def SinkScales : Pass<"sink-scales", "::mlir::func::FuncOp"> {
  let summary = "GEMMs and convolutions multiply codes, and scales are factors of their results";
  let description = [{
    For GEMMs whose operands are both dequantised by one scale or by one for each
    row of A or column of B, with more than 16 rows: with `fp8` from f8E4M3FN or
    f8E5M2. With `int8` from integers of 8 bits, whose zero points are taken off the sums; or
    integers themselves, as those of MatMulInteger are. With `fp8` also for
    attention of few queries whose keys and values are codes of f8E4M3FN: it
    keeps casts of the codes and the mark `graph.codes`.
  }];
  let options = [
    Option<"Fp8", "fp8", "bool", "true", "The target multiplies FP8">,
    Option<"Int8", "int8", "bool", "true", "The target multiplies integers of 8 bits">,
    Option<"Dequantised", "dequantised", "bool", "true", "Integers of which floats are made, too, as for Q/DQ pairs">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def WatchOperands : Pass<"watch-operands", "::mlir::func::FuncOp"> {
  let summary = "What GEMMs and convolutions multiply with weights becomes results, for calibration";
  let description = [{
    Each such value is one result more, whose attribute `graph.watched` names the
    nodes that multiply it.
  }];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def SwitchPrecisions : Pass<"switch-precisions", "::mlir::ModuleOp"> {
  let summary = "Each GEMM and convolution with weights has a switch for what it multiplies, to be set in each run";
  let description = [{
    For each type that it can multiply, a product gets a copy with that type as
    its `graph.precision`; the product itself is none of them. The function's new
    input `kpc.precisions`, an i32 for each node, says which of them is taken: 0
    the product, 1 the copy of the first type, and so on. The module's
    `graph.switched` has the nodes with their types, in the order of the input.
    Options are those of quantise-gemms, which comes behind, as do quantise-blocks,
    smooth-channels, correct-bias and the passes of weights of 4 bits: they do with
    each copy what they do with a product that is to have that type.
  }];
  let options = [
    ListOption<"Types", "types", "std::string", "int8, fp8, mxfp8, mxfp4, nvfp4 or int4, in the order of the switch">,
    Option<"Int8", "int8", "std::string", "\"rounded\"", "What the target does with integers: none, multiplied, rounded">,
    Option<"Fp8", "fp8", "std::string", "\"rounded\"", "The same of FP8">,
    Option<"Wgmma", "wgmma", "bool", "true", "FP8 is multiplied by wgmma, which takes whole rows of 16 bytes alone">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def QuantiseGemms : Pass<"quantise-gemms", "::mlir::func::FuncOp"> {
  let summary = "GEMMs with weights multiply FP8 (E4M3) or integers of 8 bits, which this pass makes of them";
  let description = [{
    Weights have a scale for each column, which is found when compiling. The other
    operand has one for each row (a token's), which is found in each run: its
    greatest magnitude is 448. Each value then has a relative error of at most
    2^-4, whatever outliers other rows have. As sink-scales, for more than 16
    rows; with `wgmma` for a K that is a multiple of 16 and an N that is one of 8.

    Integers of 8 bits have 127 for their greatest magnitude. Each value then has
    an error of at most 1/254 of the greatest one of its row.

    Where the module's `graph.calibration` has the range of the other operand, it
    has one constant scale instead, and what is beyond the range is clipped.

    A target multiplies codes, or only rounds: factors are then codes in f32, of
    which loops make the same numbers.

    Where `targets` are named, attention of many queries multiplies FP8, too
    (QuantiseAttention.cpp). Its queries have a scale for each row, its keys and
    values one each, all found in each run.

    With `few-rows`, GEMMs of at most 16 rows have codes in their weights alone, of
    half a million numbers and more: their bytes bound the time. What they are
    multiplied by stays as wide as it was.

    What no name asks FP8 for stays as it is where a cost model of `targets` has
    it slower in FP8 than in 16 bits.
  }];
  let options = [
    Option<"TypeName", "type", "std::string", "\"fp8\"", "int8, fp8 or none: what is multiplied">,
    ListOption<"For", "for", "std::string", "REGEX=TYPE for the nodes whose names match; the last counts, and other types are none">,
    Option<"Int8", "int8", "std::string", "\"multiplied\"", "What the target does with integers: none, multiplied, rounded">,
    Option<"Fp8", "fp8", "std::string", "\"multiplied\"", "The same of FP8">,
    Option<"Wgmma", "wgmma", "bool", "true", "FP8 is multiplied by wgmma, which takes whole rows of 16 bytes alone">,
    Option<"FewRows", "few-rows", "std::string", "\"none\"", "What the target does with codes of weights of few rows: none, multiplied, rounded">,
    ListOption<"Targets", "targets", "std::string", "Targets with wgmma as --arch names them, whose cost models are asked of FP8; none: nothing is">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def SmoothChannels : Pass<"smooth-channels", "::mlir::func::FuncOp"> {
  let summary = "Factors move from an operand's channels to the weight, so that one scale fits them all (SmoothQuant)";
  let description = [{
    `x * w` is `(x / s) * (s * w)` for any positive `s` of each channel. With
    `s = |x|^a / |w|^(1-a)`, of the greatest magnitudes in each channel, channels
    of outliers take no precision from the others. Of a few exponents, none
    among them, the one is taken whose expected error is least. All GEMMs and
    convolutions that multiply one operand in one type get the same factors. Options are those of
    quantise-gemms, and what that does not quantise stays as it is.
  }];
  let options = [
    Option<"TypeName", "type", "std::string", "\"int8\"", "int8, fp8 or none: what is multiplied">,
    ListOption<"For", "for", "std::string", "REGEX=TYPE for the nodes whose names match; the last counts, and other types are none">,
    Option<"Int8", "int8", "std::string", "\"multiplied\"", "What the target does with integers: none, multiplied, rounded">,
    Option<"Fp8", "fp8", "std::string", "\"multiplied\"", "The same of FP8">,
    Option<"Wgmma", "wgmma", "bool", "true", "FP8 is multiplied by wgmma, which takes whole rows of 16 bytes alone">,
    ListOption<"Targets", "targets", "std::string", "Targets with wgmma as --arch names them, whose cost models are asked of FP8; none: nothing is">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def CorrectBias : Pass<"correct-bias", "::mlir::func::FuncOp"> {
  let summary = "The mean error that rounded weights make is taken off each column";
  let description = [{
    `mean(x) * (w - rounded w)` is added to the product: a constant vector. Its
    mean is then that of the floats. Options are those of quantise-gemms.
  }];
  let options = [
    Option<"TypeName", "type", "std::string", "\"int8\"", "int8, fp8 or none: what is multiplied">,
    ListOption<"For", "for", "std::string", "REGEX=TYPE for the nodes whose names match; the last counts, and other types are none">,
    Option<"Int8", "int8", "std::string", "\"multiplied\"", "What the target does with integers: none, multiplied, rounded">,
    Option<"Fp8", "fp8", "std::string", "\"multiplied\"", "The same of FP8">,
    Option<"Wgmma", "wgmma", "bool", "true", "FP8 is multiplied by wgmma, which takes whole rows of 16 bytes alone">,
    ListOption<"Targets", "targets", "std::string", "Targets with wgmma as --arch names them, whose cost models are asked of FP8; none: nothing is">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def QuantiseConvs : Pass<"quantise-convs", "::mlir::func::FuncOp"> {
  let summary = "Convolutions of a known range multiply FP8 (E4M3) or integers of 8 bits, which this pass makes of them";
  let description = [{
    Filters have a scale for each output. The image has the one that the module's
    `graph.calibration` gives, and of integers becomes ui8 where nothing of it is
    negative. Options are those of quantise-gemms. Convolutions that kernels of
    codes do not take stay as they are, and so do those that a target's cost model
    has slower in FP8 than in 16 bits, but for those that a name asks it for.
  }];
  let options = [
    Option<"TypeName", "type", "std::string", "\"int8\"", "int8, fp8 or none: what is multiplied">,
    ListOption<"For", "for", "std::string", "REGEX=TYPE for the nodes whose names match; the last counts, and other types are none">,
    Option<"Int8", "int8", "std::string", "\"multiplied\"", "What the target does with integers: none, multiplied, rounded">,
    Option<"Fp8", "fp8", "std::string", "\"multiplied\"", "The same of FP8">,
    ListOption<"Targets", "targets", "std::string", "Targets with wgmma as --arch names them, whose cost models are asked of FP8; none: nothing is">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def ResidualsOfCodes : Pass<"residuals-of-codes", "::mlir::func::FuncOp"> {
  let summary = "Residuals read the codes of FP8 that the next convolution multiplies";
  let description = [{
    A value of which a convolution multiplies codes by a constant scale, and which
    else is only added, is added as `codes * scale`. So it has one byte for each
    element in memory, and no kernel but its own makes the codes. It is rounded as
    the convolution's operand is. Codes of one value are one op (cse in front).
  }];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def QuantiseBlocks : Pass<"quantise-blocks", "::mlir::func::FuncOp"> {
  let summary = "GEMMs with weights multiply numbers of MXFP8, MXFP4 or NVFP4, which this pass makes of them";
  let description = [{
    Blocks lie along K, which is a multiple of theirs. Scales of weights are found
    when compiling, those of the other operand in each run. A scale of E8M0 is the
    least power of two with which nothing saturates. NVFP4's second scale is one
    for each column of a weight and each row of the other operand, and a factor of
    the result. Codes of weights stay in the artifact. The format of a product is
    its own `graph.precision` first.
  }];
  let options = [
    Option<"Format", "format", "std::string", "\"mxfp8\"", "mxfp8, mxfp4, nvfp4 or none">,
    ListOption<"For", "for", "std::string", "REGEX=TYPE for the nodes whose names match; the last counts, and other types are none">,
    ListOption<"Keep", "keep", "std::string", "Regular expressions of node names that are not quantised">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def ScaleWeights : Pass<"scale-weights", "::mlir::func::FuncOp"> {
  let summary = "Rows of a weight that are multiplied by great numbers get finer steps (AWQ)";
  let description = [{
    `x * w` is `(x / s) * (s * w)`. With `s = rms(x)^a` of each channel, rows that
    count more lose less where a group of K shares one step. Of exponents from 0
    to 1, the one is taken whose expected error is least. All GEMMs that multiply
    one operand get the same factors. The module's `graph.calibration` has the
    moments. Options are those of quantise-weights.
  }];
  let options = [
    Option<"TypeName", "type", "std::string", "\"int4\"", "int4 or none: what weights become">,
    ListOption<"For", "for", "std::string", "REGEX=TYPE for the nodes whose names match; the last counts, and other types are none">,
    Option<"GroupSize", "group", "unsigned", "128", "Elements of K that share a scale: 32, 64 or 128">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def RoundByFeedback : Pass<"round-by-feedback", "::mlir::func::FuncOp"> {
  let summary = "Weights of GEMMs become codes whose errors make up for one another (GPTQ)";
  let description = [{
    Of what a channel lost, the channels behind it take back as much as their
    mean products with it allow. Channels of the greatest power are rounded
    first; scales and zero points are those of quantise-weights, so that no
    kernel has to know of the order. What calibration kept no second moments of
    is left to that pass. Options are those of quantise-weights.
  }];
  let options = [
    Option<"TypeName", "type", "std::string", "\"int4\"", "int4 or none: what weights become">,
    ListOption<"For", "for", "std::string", "REGEX=TYPE for the nodes whose names match; the last counts, and other types are none">,
    Option<"Group", "group", "unsigned", "128", "Elements of K that share a scale: 32, 64 or 128">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def QuantiseWeights : Pass<"quantise-weights", "::mlir::func::FuncOp"> {
  let summary = "Weights of GEMMs become codes of 4 bits, which this pass makes of them";
  let description = [{
    The weight is `graph.dequantise` of codes, as com.microsoft's MatMulNBits has
    it: a scale and a zero point for each group of K and each column. Of parts of
    a group's range, the one is taken whose square error is least. What the GEMM
    multiplies the weight by stays as wide as it was.
  }];
  let options = [
    Option<"TypeName", "type", "std::string", "\"int4\"", "int4 or none: what weights become">,
    ListOption<"For", "for", "std::string", "REGEX=TYPE for the nodes whose names match; the last counts, and other types are none">,
    Option<"Group", "group", "unsigned", "128", "Elements of K that share a scale: 32, 64 or 128">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def PackBlockScales : Pass<"pack-block-scales", "::mlir::func::FuncOp"> {
  let summary = "GEMMs of MXFP8, MXFP4 and NVFP4 read codes and scales as products with block scales do";
  let description = [{
    Where both operands are dequantised with a scale for each block of K, and M is
    typically more than 16. Codes become contiguous along K, FP4 two in a byte;
    scales of four neighbouring blocks become a word, [words, rows, 4].

    With `panels`, which tcgen05 reads, words lie in panels of 128 rows,
    [ceil(rows/128), words, 32, 16]. The last panel ends with the last row again.
    GEMMs whose rows TMA does not copy are left as they are.

    With `floats`, which wgmma reads, it is GEMMs of FP8 alone whose blocks have
    128 elements of K and scales that are floats: of each row of A, and of each
    column of B or of each 128. The latter may be spelled by a broadcast to all.
  }];
  let options = [
    Option<"Panels", "panels", "bool", "false", "Words of scales lie in panels of 128 rows">,
    Option<"Floats", "floats", "bool", "false", "Blocks of 128 with scales that are floats, in place of the other formats">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def SetPrecision : Pass<"set-precision", "::mlir::ModuleOp"> {
  let summary = "Stores f32 values between regions, and weights, as f16 or bf16";
  let description = [{
    All arithmetic inside a kernel is f32 in any case, with or without this pass:
    it says what lies in memory. Stays f32:

    - results of sums and products, exp, log, powers, roots and quotients by what
      is not constant, and of the elementwise ops that use them, unless
      contractions alone read them: norms and softmax lose nothing;
    - every value of a kernel that holds a node whose name matches `keep`, and
      the weights it reads;
    - the smallest weights and the smallest values, up to one of `wide-share`
      elements of each: what is rounded adds about as much to the error whatever
      its size, and these save least;
    - angles, coordinates and what becomes an index, with all that they are
      computed from (ExactValues.h);
    - inputs, outputs and constants.

    Inputs that a GEMM multiplies by something narrow are narrowed by a kernel
    of their own. With `targets`, so are both factors of a GEMM of two inputs,
    where the cost models of all of them have that faster.

    What only chooses among elements (a transpose, a max pool) is narrow where an
    operand is.
  }];
  let options = [
    Option<"Narrow", "to", "std::string", "\"f16\"", "f16 or bf16; empty or f32: nothing changes">,
    Option<"WideShare", "wide-share", "unsigned", "64",
           "Small weights and values stay f32 while they are at most one in so many elements; 0: none">,
    ListOption<"Keep", "keep", "std::string", "Regular expressions of node names that stay f32">,
    ListOption<"Targets", "targets", "std::string", "Targets as --arch names them, whose cost models say whether a GEMM of two inputs narrows them; none: it does not">
  ];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

def AllowTf32 : Pass<"allow-tf32", "::mlir::ModuleOp"> {
  let summary = "Lets GEMMs of f32 multiply in tf32";
  let description = [{
    GEMMs and convolutions of f32 get `tf32`: builders for tensor cores may round
    both factors to 11 bits of mantissa. Accumulators stay f32. Kernels that hold
    a node whose name matches `keep` are left as they are.
  }];
  let options = [
    ListOption<"Keep", "keep", "std::string", "Regular expressions of node names that are not rounded">
  ];
}

#endif // KPC_PRECISION_PASSES
