// RUN: kpc-opt %s --lower-regions -verify-diagnostics -split-input-file

!x = !graph.tensor<[n], f32>
func.func @main(%x: !x) -> !x {
  // expected-error @below {{stands outside a region; form-regions puts every such op into one}}
  %0 = graph.exp %x : !x
  return %0 : !x
}

// -----

// Without a kernel's number of input channels there is no map from a group to its channels.
!x = !graph.tensor<[n, 8, "c*2"], f32>
!w = !graph.tensor<[3, c, 6], f32>
!y = !graph.tensor<[n, 6, 6], f32>
func.func @main(%x: !x, %w: !w) -> !y {
  %0 = graph.region "conv" (%x, %w) : (!x, !w) -> !y {
  ^bb0(%a: !x, %b: !w):
    // expected-error @below {{no kernel can be made for graph.conv of '!graph.tensor<[n, 6, 6], f32>'}}
    %1 = graph.conv %a, %b stride [1] dilation [1] low [0] high [0] groups 2 : !x, !w
    graph.yield %1 : !y
  }
  return %0 : !y
}

// -----

// expected-error @below {{@main has no body, or more than one block}}
func.func private @main()

// -----

// expected-error @below {{@main takes or gives 'f32'; a model's inputs and outputs are symbolic tensors}}
func.func @main(%x: f32) {
  return
}

// -----

plan.program {
}
// expected-error @below {{the module holds a plan already}}
func.func @main() {
  return
}

// -----

// expected-error @below {{@main does not end in a return}}
func.func @main() {
  llvm.unreachable
}

// -----

func.func @main(%x: !graph.tensor<[4], f32>) -> !graph.tensor<[4], f32> {
  %y = graph.region "r" (%x) : (!graph.tensor<[4], f32>) -> !graph.tensor<[4], f32> {
  ^bb0(%a: !graph.tensor<[4], f32>):
    // expected-error @below {{a custom operator becomes a kernel when isolate-custom has chosen its code}}
    %0 = graph.custom "a::b" (%a) cuda {block = array<i64: 32, 1, 1>, function = "f", sizes = #graph.dims<[1, 1, 1, 0]>, source = "..."}
      host {function = "f", library = "l", sizes = #graph.dims<[]>} : (!graph.tensor<[4], f32>) -> !graph.tensor<[4], f32>
    graph.yield %0 : !graph.tensor<[4], f32>
  }
  return %y : !graph.tensor<[4], f32>
}
