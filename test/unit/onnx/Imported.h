//===- Imported.h - A model that a test imports -----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TEST_UNIT_ONNX_IMPORTED_H
#define KPC_TEST_UNIT_ONNX_IMPORTED_H

#include "compiler/import/onnx/ImportOnnx.h"
#include "compiler/import/onnx/model/Reader.h"
#include "dialects/graph/Graph.h"
#include "test/unit/onnx/Models.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

namespace kpc::onnx::test {

/// Imports a model and keeps what came of it.
struct Imported {
  explicit Imported(const ModelProto &Proto, ImportOptions Options = {}) {
    Options.ModelName = "m.onnx";
    Diags.setFile("m.onnx");
    std::optional<Model> M =
        readModel(bytes(Proto.SerializeAsString()), "", Diags);
    if (M)
      Module = importModel(Context, *M, Options, Weights, Diags);
    EXPECT_EQ(bool(Module), !Diags.hasErrors());
    if (Module)
      EXPECT_TRUE(mlir::succeeded(mlir::verify(*Module)));
  }

  /// The type of the first result, as text.
  std::string result() {
    if (!Module)
      return Diags.text();
    auto Main = *Module->getOps<mlir::func::FuncOp>().begin();
    std::string Text;
    llvm::raw_string_ostream(Text) << Main.getResultTypes()[0];
    return Text;
  }

  template <typename Op> int count() {
    int Count = 0;
    if (Module)
      Module->walk([&](Op) { ++Count; });
    return Count;
  }

  mlir::MLIRContext Context;
  WeightStore Weights;
  Diagnostics Diags;
  mlir::OwningOpRef<mlir::ModuleOp> Module;
};

inline ModelProto unary(const std::string &Op,
                        const std::vector<int64_t> &Dims = {2, 3},
                        int Type = 1) {
  ModelProto M = model();
  input(M, "x", Dims, Type);
  node(M, Op, {"x"}, {"y"}, "n");
  output(M, "y", Dims, Type);
  return M;
}

inline NodeProto *only(ModelProto &M) {
  return M.mutable_graph()->mutable_node(0);
}

} // namespace kpc::onnx::test

#endif // KPC_TEST_UNIT_ONNX_IMPORTED_H
