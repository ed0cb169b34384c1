// RUN: kpc-opt %s --verify-kernel-form -verify-diagnostics -split-input-file

func.func @fine(%x: memref<f32>) {
  %0 = arith.constant 1.0 : f32
  memref.store %0, %x[] : memref<f32>
  return
}

// -----

func.func @graph_op() {
  // expected-error @below {{'graph.constant' is left in a kernel; lower-regions lowers it}}
  %0 = graph.constant dense<1.0> : tensor<2xf32>
  return
}

// -----

func.func @other_dialect(%a: i64) {
  // expected-error @below {{'llvm.add' is left in a kernel; lower-regions lowers it}}
  %0 = llvm.add %a, %a : i64
  return
}

// -----

!x = !graph.tensor<[n], f32>
func.func @symbolic_type(%x: !x) -> !x {
  // expected-error @below {{a symbolic type is left in a kernel; lower-regions gives each symbol an index argument}}
  return %x : !x
}

// -----

func.func @poison(%x: memref<f32>) {
  %0 = ub.poison : f32
  memref.store %0, %x[] : memref<f32>
  return
}
