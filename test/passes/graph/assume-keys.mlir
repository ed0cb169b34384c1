// RUN: kpc-opt --assume-keys %s | FileCheck %s
// RUN: kpc-opt --assume-keys=given=sequence %s | FileCheck %s --check-prefix=GIVEN
// RUN: kpc-opt --assume-keys %s --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// New tokens are at least 1, past ones may be none. A symbol that no input has is left alone, and so is one of no keys.
// CHECK: module attributes {graph.reasons = {sequence = "the attention at 'one' needs a key"},
// CHECK-SAME: found = {max = 64 : i64, min = 0 : i64}, past = {min = 0 : i64}, rows = {min = 0 : i64}, sequence = {max = 128 : i64, min = 1 : i64}
// GIVEN: graph.reasons = {past = "the attention at 'two' needs a key"},
// GIVEN-SAME: past = {min = 1 : i64}, rows = {min = 0 : i64}, sequence = {max = 128 : i64, min = 0 : i64}
// REMARK: The size sequence is taken to be at least 1, for attention without keys has no kernel.

!x = !graph.tensor<[rows, 4, sequence, 64], f16>
!all = !graph.tensor<[rows, 4, "past + sequence", 64], f16>
!found = !graph.tensor<[rows, 4, found, 64], f16>

module attributes {graph.symbols = {found = {max = 64}, past = {}, rows = {}, sequence = {max = 128}}} {
  func.func @self(%x: !x, %all: !all) -> (!x, !x) {
    %0 = graph.attention %x, %x, %x scale 0.125 : !x, !x, !x loc("one")
    %1 = graph.attention %x, %all, %all scale 0.125 : !x, !all, !all loc("two")
    return %0, %1 : !x, !x
  }
  func.func @of_data(%x: !x) -> !x {
    %k = graph.slice %x start <[0, 0, 0, 0]> step [1, 1, 1, 1] : <[rows, 4, sequence, 64], f16> to <[rows, 4, found, 64], f16>
    %0 = graph.attention %x, %k, %k scale 0.125 : !x, !found, !found
    return %0 : !x
  }
}
