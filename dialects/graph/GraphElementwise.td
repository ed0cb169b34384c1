//===- GraphElementwise.td - One output element from one of each input ----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that compute each element of the result from the elements at the same
// index of the operands. All operands have the same sizes.
//
//===----------------------------------------------------------------------===//
#ifndef KPC_GRAPH_ELEMENTWISE
#define KPC_GRAPH_ELEMENTWISE

include "dialects/graph/GraphBase.td"

def Graph_ElementwiseTrait : NativeOpTrait<"ElementwiseTrait"> {
  let cppNamespace = "::kpc::graph";
}

class Graph_Unary<string mnemonic, Type operand, string what, list<Trait> traits = []> :
    Graph_Op<mnemonic, !listconcat([Pure, SameOperandsAndResultType, Graph_ElementwiseTrait], traits)> {
  let summary = what;
  let arguments = (ins operand:$x);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Graph_AbsOp   : Graph_Unary<"abs", Graph_NumberTensor, "y = |x|; the least integer stays itself">;
def Graph_NegOp   : Graph_Unary<"neg", Graph_NumberTensor, "y = -x, wrapping for integers">;
def Graph_SignOp  : Graph_Unary<"sign", Graph_NumberTensor, "-1, 0 or 1; NaN stays NaN">;
def Graph_CeilOp  : Graph_Unary<"ceil", Graph_FloatTensor, "least integer not below x">;
def Graph_FloorOp : Graph_Unary<"floor", Graph_FloatTensor, "greatest integer not above x">;
def Graph_RoundOp : Graph_Unary<"round", Graph_FloatTensor, "nearest integer, ties to even">;
def Graph_SqrtOp  : Graph_Unary<"sqrt", Graph_FloatTensor, "square root, NaN below zero">;
def Graph_RsqrtOp : Graph_Unary<"rsqrt", Graph_FloatTensor, "1 / sqrt(x)">;
def Graph_ReciprocalOp : Graph_Unary<"reciprocal", Graph_FloatTensor, "1 / x">;
def Graph_ExpOp   : Graph_Unary<"exp", Graph_FloatTensor, "e to the x">;
def Graph_Expm1Op : Graph_Unary<"expm1", Graph_FloatTensor, "e to the x, less 1, exact near 0">;
def Graph_LogOp   : Graph_Unary<"log", Graph_FloatTensor, "natural logarithm">;
def Graph_Log1pOp : Graph_Unary<"log1p", Graph_FloatTensor, "log(1 + x), exact near 0">;
def Graph_SinOp   : Graph_Unary<"sin", Graph_FloatTensor, "sine of radians">;
def Graph_CosOp   : Graph_Unary<"cos", Graph_FloatTensor, "cosine of radians">;
def Graph_TanOp   : Graph_Unary<"tan", Graph_FloatTensor, "tangent of radians">;
def Graph_AsinOp  : Graph_Unary<"asin", Graph_FloatTensor, "inverse sine">;
def Graph_AcosOp  : Graph_Unary<"acos", Graph_FloatTensor, "inverse cosine">;
def Graph_AtanOp  : Graph_Unary<"atan", Graph_FloatTensor, "inverse tangent">;
def Graph_SinhOp  : Graph_Unary<"sinh", Graph_FloatTensor, "hyperbolic sine">;
def Graph_CoshOp  : Graph_Unary<"cosh", Graph_FloatTensor, "hyperbolic cosine">;
def Graph_TanhOp  : Graph_Unary<"tanh", Graph_FloatTensor, "hyperbolic tangent">;
def Graph_AsinhOp : Graph_Unary<"asinh", Graph_FloatTensor, "inverse hyperbolic sine">;
def Graph_AcoshOp : Graph_Unary<"acosh", Graph_FloatTensor, "inverse hyperbolic cosine">;
def Graph_AtanhOp : Graph_Unary<"atanh", Graph_FloatTensor, "inverse hyperbolic tangent">;
def Graph_ErfOp   : Graph_Unary<"erf", Graph_FloatTensor, "error function">;
def Graph_SigmoidOp : Graph_Unary<"sigmoid", Graph_FloatTensor, "1 / (1 + exp(-x))">;
def Graph_ReluOp  : Graph_Unary<"relu", Graph_NumberTensor, "max(x, 0); NaN stays NaN", [Idempotent]>;
def Graph_NotOp   : Graph_Unary<"not", Graph_IntTensor, "bitwise complement; for bools the logical one", [Involution]>;

class Graph_Binary<string mnemonic, Type operand, string what, list<Trait> traits = []> :
    Graph_Op<mnemonic, !listconcat([Pure, SameOperandsAndResultType, Graph_ElementwiseTrait], traits)> {
  let summary = what;
  let arguments = (ins operand:$a, operand:$b);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($a)";
}

def Graph_AddOp : Graph_Binary<"add", Graph_NumberTensor, "a + b, wrapping for integers", [Commutative]> { let hasFolder = 1; }
def Graph_SubOp : Graph_Binary<"sub", Graph_NumberTensor, "a - b, wrapping for integers"> { let hasFolder = 1; }
def Graph_MulOp : Graph_Binary<"mul", Graph_NumberTensor, "a * b, wrapping for integers", [Commutative]> { let hasFolder = 1; }
def Graph_DivOp : Graph_Binary<"div", Graph_NumberTensor, "a / b; integers truncate toward zero, and give 0 for a zero divisor"> { let hasFolder = 1; }
def Graph_PowOp : Graph_Binary<"pow", Graph_NumberTensor, "a to the b, as C's pow; integer powers wrap">;
def Graph_MinOp : Graph_Binary<"min", Graph_NumberTensor, "the lesser; NaN if either is NaN", [Commutative]>;
def Graph_MaxOp : Graph_Binary<"max", Graph_NumberTensor, "the greater; NaN if either is NaN", [Commutative]>;
def Graph_ModOp : Graph_Binary<"mod", Graph_NumberTensor, "a - b*floor(a/b), with the divisor's sign (ONNX Mod, fmod = 0)">;
def Graph_RemOp : Graph_Binary<"rem", Graph_NumberTensor, "C's fmod: with the dividend's sign (ONNX Mod, fmod = 1)">;
def Graph_AndOp : Graph_Binary<"and", Graph_IntTensor, "bitwise and; for bools the logical one", [Commutative]>;
def Graph_OrOp  : Graph_Binary<"or", Graph_IntTensor, "bitwise or; for bools the logical one", [Commutative]>;
def Graph_XorOp : Graph_Binary<"xor", Graph_IntTensor, "bitwise exclusive or", [Commutative]>;
def Graph_ShlOp : Graph_Binary<"shl", Graph_IntTensor, "a shifted left by b bits; 0 where b is not below the width">;
def Graph_ShrOp : Graph_Binary<"shr", Graph_IntTensor, "a shifted right by b bits, as unsigned; 0 where b is not below the width">;

def Graph_Eq : I32EnumAttrCase<"eq", 0>;
def Graph_Ne : I32EnumAttrCase<"ne", 1>;
def Graph_Lt : I32EnumAttrCase<"lt", 2>;
def Graph_Le : I32EnumAttrCase<"le", 3>;
def Graph_Gt : I32EnumAttrCase<"gt", 4>;
def Graph_Ge : I32EnumAttrCase<"ge", 5>;
def Graph_Predicate : I32EnumAttr<"Predicate", "comparison",
    [Graph_Eq, Graph_Ne, Graph_Lt, Graph_Le, Graph_Gt, Graph_Ge]> {
  let cppNamespace = "::kpc::graph";
}

def Graph_CompareOp : Graph_InferredOp<"compare", [Graph_ElementwiseTrait, SameTypeOperands]> {
  let summary = "Compares; a comparison with NaN is false, but for ne";
  let description = [{
    ```mlir
    %c = graph.compare lt, %a, %b : !graph.tensor<[4], f32>   // -> !graph.tensor<[4], i1>
    ```
  }];
  let arguments = (ins Graph_Predicate:$predicate, Graph_Tensor:$a, Graph_Tensor:$b);
  let results = (outs Graph_BoolTensor:$y);
  let assemblyFormat = "$predicate `,` $a `,` $b attr-dict `:` type($a)";
  let hasVerifier = 1;
}

def Graph_IsNanOp : Graph_InferredOp<"is_nan", [Graph_ElementwiseTrait]> {
  let summary = "Whether x is NaN";
  let arguments = (ins Graph_FloatTensor:$x);
  let results = (outs Graph_BoolTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Graph_IsInfOp : Graph_InferredOp<"is_inf", [Graph_ElementwiseTrait]> {
  let summary = "Whether x is an infinity of one of the given signs";
  let arguments = (ins Graph_FloatTensor:$x, DefaultValuedAttr<BoolAttr, "true">:$negative,
                       DefaultValuedAttr<BoolAttr, "true">:$positive);
  let results = (outs Graph_BoolTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Graph_SelectOp : Graph_InferredOp<"select", [Graph_ElementwiseTrait, AllTypesMatch<["a", "b"]>]> {
  let summary = "a where the condition holds, else b";
  let arguments = (ins Graph_BoolTensor:$condition, Graph_Tensor:$a, Graph_Tensor:$b);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$condition `,` $a `,` $b attr-dict `:` type($condition) `,` type($a)";
  let hasVerifier = 1;
}

def Graph_CastOp : Graph_InferredOp<"cast", [Graph_ElementwiseTrait]> {
  let summary = "Converts each element";
  let description = [{
    As C converts, with these rules where C has none. A conversion to a narrower
    float rounds to nearest even and overflows to infinity. Float to integer
    truncates toward zero and saturates, and NaN becomes 0. To bool is `x != 0`
    (NaN is true), and bool is 0 or 1. Integers wrap; floats to integers of 2 and
    4 bits become i32 first and then wrap. f8E4M3FN and the FNUZ types have no
    infinity and give NaN instead. f4E2M1FN has neither: it gives its greatest
    value, and NaN becomes a zero of the other sign, as in ONNX's reference
    (ml_dtypes). f8E8M0FNU gives the power of two nearest to |x|, the greater of
    two equally near ones, and NaN for numbers that are not finite.

    ```mlir
    %h = graph.cast %x to f16 : !graph.tensor<[4], f32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$x, TypeAttr:$to);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x `to` $to attr-dict `:` type($x)";
  let hasFolder = 1;
}

def Graph_BitcastOp : Graph_InferredOp<"bitcast", [Graph_ElementwiseTrait]> {
  let summary = "The same bits as another type";
  let description = [{
    Both types have the same number of bytes for an element. Bits above those of a
    type of 2 or 4 bits are zeros in an integer of a byte, and are ignored.

    ```mlir
    %b = graph.bitcast %x to ui32 : !graph.tensor<[4], f32>
    %e = graph.bitcast %c to f8E8M0FNU : !graph.tensor<[4], ui8>
    ```
  }];
  let arguments = (ins Graph_Tensor:$x, TypeAttr:$to);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x `to` $to attr-dict `:` type($x)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // KPC_GRAPH_ELEMENTWISE
