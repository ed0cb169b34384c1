//===- GraphBase.td - Dialect, types and attributes of graph --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every op of the dialect is made of. Ops are in files by family.
//
//===----------------------------------------------------------------------===//
#ifndef KPC_GRAPH_BASE
#define KPC_GRAPH_BASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::kpc::graph";
  let summary = "What a model computes: values, named ops, symbolic shapes";
  let description = [{
    Few, exact ops with value semantics. No memory, no device, no order beyond
        data. Each op has one meaning; the importer normalises the spellings of
    exporters. Broadcasting is always an op of its own, convolutions
    are channels-last, reductions drop their dimensions.

    A program is a `func.func` whose arguments and results are
    `!graph.tensor`s with the attribute `graph.name`. The module's attribute
        `graph.symbols` has the facts of each symbol:

    ```mlir
    module attributes {graph.symbols = {batch = {max = 32, min = 1, optimum = 8}}} {
      func.func @main(%x: !graph.tensor<[batch, 4], f32> {graph.name = "x"})
          -> (!graph.tensor<[batch, 4], f32> {graph.name = "y"}) {
        %0 = graph.exp %x : !graph.tensor<[batch, 4], f32>
        return %0 : !graph.tensor<[batch, 4], f32>
      }
    }
    ```
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerTypes();
    void registerAttributes();
  }];
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def Graph_TensorType : TypeDef<Graph_Dialect, "SymbolicTensor"> {
  let mnemonic = "tensor";
  let summary = "A tensor whose sizes are expressions over named symbols";
  let description = [{
    Sizes are canonical expressions (`dialects/shape`), so equal sizes are equal
    types. A size prints as a number, a symbol, or in quotes an expression:

    ```mlir
    !graph.tensor<[batch, 3, "height*2 + 1"], f16>
    !graph.tensor<[], i1>          // a scalar
    ```

    Element types are f32, f64, f16, bf16, i1 (bool), i8…i64 (signed),
        ui8…ui64, and the narrow ones, which are moved, converted and stored, but
    not computed with: f8E4M3FN, f8E4M3FNUZ, f8E5M2, f8E5M2FNUZ, f8E8M0FNU,
    f4E2M1FN, i4, ui4, i2 and ui2. Between kernels each element takes at least a
    byte. Smaller elements are in its low bits, signed ones with their sign
    extended. At the borders (inputs, outputs, weights) the pass `pack-borders`
    packs them as ONNX does, the first in the low bits of a byte. The type is
    deliberately not a builtin tensor: upstream passes copy an encoding onto
    slices, where it would be wrong and still verify.
  }];
  let parameters = (ins
    ArrayRefParameter<"::kpc::shape::Expr", "sizes, outermost first">:$dims,
    "::mlir::Type":$elementType);
  let genStorageClass = 0;
  let storageClass = "SymbolicTensorTypeStorage";
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let skipDefaultBuilders = 0;
  let builders = [
    TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<::kpc::shape::Expr>":$dims, "::mlir::Type":$elementType), [{
      return $_get(elementType.getContext(), dims, elementType);
    }]>];
  let extraClassDeclaration = [{
    int64_t getRank() const { return getDims().size(); }
    /// The size, if it is a number.
    std::optional<int64_t> getStaticDim(unsigned I) const { return getDims()[I].asConstant(); }
    bool hasStaticShape() const;
    /// The product of the sizes.
    ::kpc::shape::Expr getNumElements() const;
    SymbolicTensorType withElementType(::mlir::Type T) const { return get(getDims(), T); }
    SymbolicTensorType withDims(::llvm::ArrayRef<::kpc::shape::Expr> D) const { return get(D, getElementType()); }
  }];
}

def Graph_Tensor : Type<CPred<"::llvm::isa<::kpc::graph::SymbolicTensorType>($_self)">,
                        "symbolic tensor", "::kpc::graph::SymbolicTensorType">;

class ElementIs<string check, string summary> :
  Type<And<[Graph_Tensor.predicate,
            CPred<"::kpc::graph::" # check # "(::llvm::cast<::kpc::graph::SymbolicTensorType>($_self).getElementType())">]>,
       summary, "::kpc::graph::SymbolicTensorType">;
def Graph_FloatTensor : ElementIs<"isFloat", "symbolic tensor of floats">;
def Graph_IntTensor   : ElementIs<"isInteger", "symbolic tensor of integers or bools">;
def Graph_BoolTensor  : ElementIs<"isBool", "symbolic tensor of bools">;
def Graph_ScaleTensor  : ElementIs<"isScale", "symbolic tensor of floats of 8 bits or more">;
def Graph_FactorTensor : ElementIs<"isFactor", "symbolic tensor of numbers or of FP8">;
def Graph_NumberTensor : ElementIs<"isNumber", "symbolic tensor of floats or integers">;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def Graph_DimsAttr : AttrDef<Graph_Dialect, "Dims"> {
  let mnemonic = "dims";
  let summary = "A list of size expressions";
  let description = "Written as in a type: `#graph.dims<[batch, 3, \"batch*2\"]>`.";
  let parameters = (ins ArrayRefParameter<"::kpc::shape::Expr">:$dims);
  let genStorageClass = 0;
  let storageClass = "DimsAttrStorage";
  let hasCustomAssemblyFormat = 1;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

class Graph_Op<string mnemonic, list<Trait> traits = []> :
    Op<Graph_Dialect, mnemonic, traits>;

/// A pure op whose result type follows from operands and attributes.
class Graph_InferredOp<string mnemonic, list<Trait> traits = []> :
    Graph_Op<mnemonic, !listconcat([Pure, InferTypeOpAdaptor], traits)>;

#endif // KPC_GRAPH_BASE
