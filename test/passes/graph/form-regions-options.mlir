// RUN: kpc-opt %s --form-regions=max-ops=2 | FileCheck %s --check-prefix=TWO
// RUN: kpc-opt %s --form-regions=fuse=false | FileCheck %s --check-prefix=NONE

!x = !graph.tensor<[n], f32>

// TWO: graph.region "a"(
// TWO: graph.region "b+c"(
// TWO-NOT: graph.region
// NONE: graph.region "a"(
// NONE: graph.region "b"(
// NONE: graph.region "c"(
func.func @main(%x: !x) -> !x {
  %0 = graph.exp %x : !x loc("a")
  %1 = graph.sin %0 : !x loc("b")
  %2 = graph.cos %1 : !x loc("c")
  return %2 : !x
}
