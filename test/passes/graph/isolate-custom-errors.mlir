// RUN: kpc-opt %s --isolate-custom -split-input-file -verify-diagnostics

func.func @main(%x: !graph.tensor<[n, 8], f32>) -> !graph.tensor<[n, 8], f32> {
  // expected-error@+1 {{the custom operator 'a::b' has no code for the host; add "host" to its manifest, or compile for GPUs alone}}
  %y = graph.custom "a::b" (%x) cuda {block = array<i64: 32, 1, 1>, function = "f", sizes = #graph.dims<[n, 1, 1, 0]>, source = "..."} : (!graph.tensor<[n, 8], f32>) -> !graph.tensor<[n, 8], f32>
  return %y : !graph.tensor<[n, 8], f32>
}

// -----

func.func @main(%x: !graph.tensor<[8], f32>) -> !graph.tensor<[8], f32> {
  %y = graph.loop "i" count <[20]> (%x) reversed [] : (!graph.tensor<[8], f32>) -> !graph.tensor<[8], f32> {
  ^bb0(%h: !graph.tensor<[8], f32>):
    // expected-error@+1 {{the 32-bit argument i*1000000000 of 'a::b' changes in a loop and may be too large; make it an i64}}
    %z = graph.custom "a::b" (%h) host {arguments = ["i32"], function = "f", library = "libf.so", sizes = #graph.dims<["i*1000000000"]>} : (!graph.tensor<[8], f32>) -> !graph.tensor<[8], f32>
    graph.yield %z : !graph.tensor<[8], f32>
  }
  return %y : !graph.tensor<[8], f32>
}
