//===- Experts.cpp - Import of mixtures of experts ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Rows are sorted by the experts that they have picked, and each expert
/// computes its own. R rows, H their size, E experts, I the size inside.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/GroupedProduct.h"
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/Quantization.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

static constexpr int64_t MostPicked = 64;

namespace {
/// Of [R, E] the best of each row, [R, k]: which experts, and what they count.
struct Picks {
  Value Experts = {}, Shares = {};
};
} // namespace

/// `Shares`, where given, are what counts, in place of the chances.
static Picks pickExperts(NodeImport &N, Value Logits, int64_t Picked,
                         bool Normalise, Value Shares = {}) {
  Value Wide = N.cast(Logits, N.f32());
  Value Chances = Shares ? N.cast(Shares, N.f32())
                         : N.softmax(Wide, {1}, /*Logarithm=*/false);
  if (!Chances)
    return {};
  Value Best = N.sort(Wide, 1, /*Descending=*/true, Expr(Picked)).Indices;
  if (!Best)
    return {};
  Value Kept = N.gatherElements(Chances, Best, 1);
  if (Normalise && Kept)
    Kept = N.div(Kept, N.reduce(ReduceKind::sum, Kept, {1}, true));
  return {Best, Kept};
}

namespace {
struct Experts {
  NodeImport &N;
  std::string Activation = {};
  bool Interleaved = false;
  double Alpha = 1, Beta = 0, Limit = 0;

  /// Rows that are sorted by their experts, and where each one's end.
  struct Sorted {
    Value Own = {}, Ends = {};
  };
  /// [P, I] from [P, x] and weights [E, I, x].
  Value product(const Sorted &Rows, Value X, Value W, Value Bias) {
    Value Y = groupedProduct(N, X, N.transpose(W, {0, 2, 1}), Rows.Ends);
    return Bias ? N.add(Y, N.gather(Bias, Rows.Own, 0)) : Y;
  }
  Value activate(Value X);
  /// Weights and biases of one product.
  struct Layer {
    Value W = {}, Bias = {};
  };
  bool readActivation();
  void give(Value X, const Picks &Of, const Layer &Up, const Layer &Down,
            const Layer &Gate);
};
} // namespace

Value Experts::activate(Value X) {
  if (!X || Activation == "identity")
    return X;
  if (Activation == "relu")
    return N.max(X, N.like(0, X));
  if (Activation == "silu")
    return N.mul(X, N.unary<SigmoidOp>(X));
  if (Activation == "gelu") { // by tanh, as onnxruntime has it here
    Value Cube = N.mulScalar(N.mul(N.mul(X, X), X), 0.044715);
    Value Tanh =
        N.unary<TanhOp>(N.mulScalar(N.add(X, Cube), 0.79788456080286536));
    return N.mulScalar(N.mul(X, N.addScalar(Tanh, 1)), 0.5);
  }
  if (Activation == "swiglu") {
    int64_t Last = N.rank(X) - 1;
    Expr Half = N.dims(X)[static_cast<size_t>(Last)].floorDiv(2);
    Value Gate = N.sliceAxis(X, Last, 0, Half, Interleaved ? 2 : 1);
    Value Up = N.sliceAxis(X, Last, Interleaved ? Expr(1) : Half, Half,
                           Interleaved ? 2 : 1);
    if (Limit > 0 && Gate && Up) {
      Gate = N.min(Gate, N.like(Limit, Gate));
      Up = N.min(N.max(Up, N.like(-Limit, Up)), N.like(Limit, Up));
    }
    Value Open = N.unary<SigmoidOp>(N.mulScalar(Gate, Alpha));
    return N.mul(N.mul(Gate, Open), N.addScalar(Up, Beta));
  }
  return N.fail(Code::ImportAttributeValue, "attribute 'activation_type' is '" +
                                                printable(Activation) + "'");
}

/// False after a report.
bool Experts::readActivation() {
  Activation = N.stringAttribute("activation_type", "relu");
  int64_t Fusion = N.intAttribute("swiglu_fusion", 0);
  Alpha = N.floatAttribute("activation_alpha", 1);
  Beta = N.floatAttribute("activation_beta", 0);
  Limit = N.floatAttribute("swiglu_limit", 0);
  Interleaved = Fusion == 1;
  int64_t Picked = N.intAttribute("k", 1);
  bool Mixes = N.flagAttribute("use_sparse_mixer");
  if (Picked < 1 || Picked > MostPicked)
    N.fail(Code::ImportAttributeValue,
           "attribute 'k' is " + std::to_string(Picked) + ", expected 1 to " +
               std::to_string(MostPicked));
  else if (Mixes)
    N.unsupported("'use_sparse_mixer' is 1, and kpc picks experts by their "
                  "chances alone");
  else if (Activation == "swiglu" && Fusion == 0)
    N.unsupported("'swiglu_fusion' is 0, and kpc takes swiglu as 1 or 2 alone");
  return !N.bad();
}

/// Sums what the experts of each row of `X` make of it, by their shares. Each
/// row is there once for each of its k experts: P = R k rows.
void Experts::give(Value X, const Picks &Of, const Layer &Up, const Layer &Down,
                   const Layer &Gate) {
  if (!X || !Of.Experts || !Of.Shares || !Up.W || !Down.W)
    return N.result(0, Value());
  Dims Sizes(N.dims(X));
  Expr Rows = N.dims(Of.Experts)[0], Picked = N.dims(Of.Experts)[1],
       Width = Sizes.back();
  Value Flat = N.reshape(X, {Rows, Width});
  if (!Flat)
    return N.result(0, Flat);
  Expr Pairs = Rows * Picked;
  Emitter::Order Order = N.sort(N.reshape(Of.Experts, {Pairs}), 0,
                                /*Descending=*/false, Pairs);
  if (!Order.Indices)
    return N.result(0, Value());
  Sorted Each;
  Each.Own = Order.Elements;
  Each.Ends = N.searchSorted(Each.Own,
                             N.iota({N.dims(Up.W)[0]}, 0, N.element(Each.Own)),
                             /*Right=*/true);
  Value Row = N.div(Order.Indices, N.sizeScalar(Picked, N.i64()));
  Value In = N.gather(Flat, Row, 0);
  Value Inside = activate(product(Each, In, Up.W, Up.Bias));
  if (Gate.W)
    Inside = N.mul(Inside, product(Each, In, Gate.W, Gate.Bias));
  Value Y = product(Each, Inside, Down.W, Down.Bias);
  Value Back = N.sort(Order.Indices, 0, /*Descending=*/false, Pairs).Indices;
  if (!Y || !Back)
    return N.result(0, Value());
  Y = N.reshape(N.gather(Y, Back, 0), {Rows, Picked, N.dims(Y)[1]});
  Value Share = N.unsqueeze(Of.Shares, {2});
  Y = N.reduce(ReduceKind::sum, N.mul(N.cast(Y, N.f32()), Share), {1});
  N.result(0, N.reshape(N.cast(Y, N.element(X)), Sizes));
}

/// Whether so many experts are there to be picked; reports if not.
static bool hasExperts(NodeImport &N, Value W, int64_t Picked) {
  std::optional<int64_t> Count = N.dims(W)[0].asConstant();
  if (!Count || Picked <= *Count)
    return true;
  N.fail(Code::ImportAttributeValue,
         "attribute 'k' is " + std::to_string(Picked) + ", but there are " +
             std::to_string(*Count) + " experts");
  return false;
}

static bool ranksFit(NodeImport &N, Value X, Value Logits,
                     ArrayRef<Experts::Layer> Layers) {
  bool Fit = (N.rank(X) == 2 || N.rank(X) == 3) && N.rank(Logits) == 2;
  for (const Experts::Layer &L : Layers)
    Fit &= (!L.W || N.rank(L.W) == 3) && (!L.Bias || N.rank(L.Bias) == 2);
  if (Fit)
    return true;
  std::string Got = "ranks " + std::to_string(N.rank(X)) + " of the input, " +
                    std::to_string(N.rank(Logits)) + " of chances";
  for (const Experts::Layer &L : Layers) {
    if (L.W)
      Got += ", " + std::to_string(N.rank(L.W)) + " of weights";
    if (L.Bias)
      Got += ", " + std::to_string(N.rank(L.Bias)) + " of biases";
  }
  N.fail(Code::ImportRank,
         "expected rank 2 or 3 of the input, 2 of chances and "
         "biases and 3 of weights, got " +
             Got);
  return false;
}

/// Whether what counts of the picked experts is of as many rows and experts as
/// what picks them; reports if not.
static bool sharesFit(NodeImport &N, Value Logits, Value Shares) {
  if (!Shares ||
      (N.rank(Shares) == 2 && N.unify(N.dims(Shares)[0], N.dims(Logits)[0]) &&
       N.unify(N.dims(Shares)[1], N.dims(Logits)[1])))
    return true;
  if (!N.bad())
    N.fail(Code::ImportShape, "'router_weights' of " +
                                  dimsText(N.dims(Shares)) +
                                  ", expected the sizes of 'router_probs', " +
                                  dimsText(N.dims(Logits)));
  return false;
}

static void importMoE(NodeImport &N) {
  Experts M{N};
  int64_t Picked = N.intAttribute("k", 1);
  bool Normalise = N.flagAttribute("normalize_routing_weights");
  N.expectInputs(3, 8);
  Value X = N.input(0), Logits = N.input(1);
  Experts::Layer Up{N.input(2), N.optionalInput(3)},
      Down{N.input(4), N.optionalInput(5)},
      Gate{N.optionalInput(6), N.optionalInput(7)};
  if (N.bad() || !M.readActivation() ||
      !ranksFit(N, X, Logits, {Up, Down, Gate}) || !hasExperts(N, Up.W, Picked))
    return;
  M.give(X, pickExperts(N, Logits, Picked, Normalise), Up, Down, Gate);
}

//===----------------------------------------------------------------------===//
// Weights that are codes
//===----------------------------------------------------------------------===//

/// Weights [E, O, I] of bytes with `Bits` bits each: scales are of rows [E, O],
/// or of blocks [E, O, I / Block], and so are zero points, packed. Null after a
/// report.
static Value expertWeights(NodeImport &N, Value Bytes, Value Scales,
                           Value Zeros, int64_t Bits, int64_t Block, Type To) {
  Type Code = mlir::IntegerType::get(N.builder().getContext(),
                                     static_cast<unsigned>(Bits),
                                     mlir::IntegerType::Unsigned);
  Value W = N.rank(Bytes) == 3 ? unpackCodes(N, Bytes, Bits) : Value();
  std::optional<int64_t> Inner = W ? N.dims(W)[2].asConstant() : std::nullopt;
  if (!W || !Inner || !N.element(Bytes).isUnsignedInteger(8) ||
      (Zeros && !N.element(Zeros).isUnsignedInteger(8)))
    return N.fail(
        Code::ImportShape,
        "weights of experts are " + typeText(Bytes.getType()) +
            (Zeros ? " and zero points " + typeText(Zeros.getType()) : "") +
            ", expected u8 of three known sizes");
  Block = Block > 0 ? Block : std::max<int64_t>(*Inner, 1);
  Dims Sizes = {N.dims(W)[0], N.dims(W)[1],
                Expr(static_cast<int64_t>(llvm::divideCeil(*Inner, Block)))};
  auto OfBlocks = [&](Value V) { // a row is one block
    return V && N.rank(V) == 2 ? N.unsqueeze(V, {2}) : V;
  };
  Scales = OfBlocks(Scales);
  if (Zeros) {
    Zeros = OfBlocks(unpackCodes(N, Zeros, Bits));
    for (int64_t I = 1; Zeros && N.rank(Zeros) == 3 && I < 3; ++I)
      if (N.dims(Zeros)[I] != Sizes[I])
        Zeros = N.sliceAxis(Zeros, I, 0, Sizes[I]); // the last byte's rest
  } else {
    Zeros = N.full(static_cast<double>(1 << (Bits - 1)), Sizes, Code);
  }
  if (!Scales || !Zeros || N.dims(Scales) != ArrayRef<Expr>(Sizes) ||
      N.dims(Zeros) != ArrayRef<Expr>(Sizes))
    return N.bad() ? Value()
                   : N.fail(Code::ImportShape,
                            "scales or zero points of experts do not fit "
                            "weights of " +
                                dimsText(N.dims(W)) + " in blocks of " +
                                std::to_string(Block));
  return dequantise(N, W, N.cast(Scales, N.f32()), Zeros, {1, 1, Block}, To);
}

static void importQMoE(NodeImport &N) {
  Experts M{N};
  int64_t Picked = N.intAttribute("k", 1);
  int64_t Bits = N.intAttribute("expert_weight_bits", 4);
  int64_t Block = N.intAttribute("block_size", 0);
  std::string Kind = N.stringAttribute("quant_type", "int");
  int64_t Packed = N.intAttribute("weights_prepacked", -1);
  // The shares of those that are picked are always made to sum to 1 by
  // onnxruntime, unless they are an input.
  bool Normalise = N.flagAttribute("normalize_routing_weights");
  N.ignoreAttribute("accuracy_level");
  N.expectInputs(7, 21);
  Value X = N.input(0), Logits = N.input(1), Shares = N.optionalInput(14);
  static constexpr const char *Widths[] = {"fc1_expert_weight_bits",
                                           "fc2_expert_weight_bits",
                                           "fc3_expert_weight_bits"};
  if (N.bad() || !M.readActivation())
    return;
  if (Kind != "int" || Packed == 1) {
    N.unsupported("takes integers as quantised (quant_type 'int', "
                  "weights_prepacked -1 or 0); it has quant_type '" +
                  printable(Kind) + "'");
    return;
  }
  if (Block < 0) {
    N.fail(Code::ImportAttributeValue, "attribute 'block_size' is " +
                                           std::to_string(Block) +
                                           ", expected 0, a row, or more");
    return;
  }
  Experts::Layer Layers[3];
  for (size_t I = 0; I < 3 && !N.bad(); ++I) {
    Value Bytes = N.optionalInput(2 + 3 * I),
          Scale = N.optionalInput(3 + 3 * I);
    int64_t Own = N.intAttribute(Widths[I], Bits);
    if (!Bytes && I == 2)
      break;
    if (!Bytes || !Scale || (Own != 2 && Own != 4 && Own != 8)) {
      N.fail(Code::ImportAttributeValue,
             "expected weights of 2, 4 or 8 bits and their scales, got " +
                 std::to_string(Own) + " bits");
      return;
    }
    Layers[I].W = expertWeights(N, Bytes, Scale, N.optionalInput(11 + I), Own,
                                Block, N.element(X));
    Layers[I].Bias = N.optionalInput(4 + 3 * I);
  }
  if (N.bad() || !ranksFit(N, X, Logits, Layers) ||
      !hasExperts(N, Layers[0].W, Picked) || !sharesFit(N, Logits, Shares))
    return;
  M.give(X, pickExperts(N, Logits, Picked, Normalise || !Shares, Shares),
         Layers[0], Layers[1], Layers[2]);
}

ArrayRef<Rule> expertRules() {
  static const Rule Rows[] = {
      {"com.microsoft", "MoE", 1, 1, importMoE, "no use_sparse_mixer"},
      {"com.microsoft", "QMoE", 1, 1, importQMoE,
       "integers of 2, 4 and 8 bits; no use_sparse_mixer"},
  };
  return Rows;
}

} // namespace kpc::onnx
