// RUN: kpc-opt %s | kpc-opt | FileCheck %s
// RUN: kpc-opt %s --canonicalize | FileCheck %s --check-prefix=FOLDED

// Types of 8, 4 and 2 bits are moved and converted.

!x = !graph.tensor<[n, 3], f32>

// CHECK: @types(!graph.tensor<[1], f8E4M3FN>, !graph.tensor<[1], f8E4M3FNUZ>, !graph.tensor<[1], f8E5M2>, !graph.tensor<[1], f8E5M2FNUZ>, !graph.tensor<[1], f8E8M0FNU>)
func.func private @types(!graph.tensor<[1], f8E4M3FN>, !graph.tensor<[1], f8E4M3FNUZ>, !graph.tensor<[1], f8E5M2>, !graph.tensor<[1], f8E5M2FNUZ>, !graph.tensor<[1], f8E8M0FNU>)
// CHECK: @packed(!graph.tensor<[1], f4E2M1FN>, !graph.tensor<[1], i4>, !graph.tensor<[1], ui4>, !graph.tensor<[1], i2>, !graph.tensor<[1], ui2>)
func.func private @packed(!graph.tensor<[1], f4E2M1FN>, !graph.tensor<[1], i4>, !graph.tensor<[1], ui4>, !graph.tensor<[1], i2>, !graph.tensor<[1], ui2>)

// CHECK-LABEL: func.func @ops(
func.func @ops(%x: !x) -> !graph.tensor<[3, n], i4> {
  // CHECK: graph.cast %{{.*}} to f8E4M3FN : <[n, 3], f32>
  %0 = graph.cast %x to f8E4M3FN : !x
  // CHECK: graph.bitcast %{{.*}} to ui8 : <[n, 3], f8E4M3FN>
  %1 = graph.bitcast %0 to ui8 : !graph.tensor<[n, 3], f8E4M3FN>
  // CHECK: graph.cast %{{.*}} to i4 : <[n, 3], ui8>
  %2 = graph.cast %1 to i4 : !graph.tensor<[n, 3], ui8>
  // CHECK: graph.pack %{{.*}} : <[n, 3], i4>
  %3 = graph.pack %2 : !graph.tensor<[n, 3], i4>
  // CHECK: graph.unpack %{{.*}} : <["n + floordiv(n + 1, 2)"], ui8> to <[3, n], i4>
  %4 = graph.unpack %3 : !graph.tensor<["ceildiv(n*3, 2)"], ui8> to !graph.tensor<[3, n], i4>
  return %4 : !graph.tensor<[3, n], i4>
}

// FOLDED-LABEL: @same(
// FOLDED-NEXT: return %arg0
func.func @same(%x: !x) -> !x {
  %0 = graph.bitcast %x to f32 : !x
  return %0 : !x
}
