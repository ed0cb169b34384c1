// RUN: kpc-opt %s -split-input-file -verify-diagnostics

func.func @code(%x: !graph.tensor<[4], f32>) {
  // expected-error@+1 {{has no code: expected 'cuda', 'host' or both}}
  %y = graph.custom "a::b" (%x) : (!graph.tensor<[4], f32>) -> !graph.tensor<[4], f32>
  return
}

// -----

func.func @result(%x: !graph.tensor<[4], f32>) {
  // expected-error@+1 {{has no result}}
  graph.custom "a::b" (%x) host {function = "f", library = "l", sizes = #graph.dims<[]>} : (!graph.tensor<[4], f32>) -> ()
  return
}

// -----

func.func @texts(%x: !graph.tensor<[4], f32>) {
  // expected-error@+1 {{has bad host code: expected texts as function, file, source and library}}
  %y = graph.custom "a::b" (%x) host {function = 1, library = "l", sizes = #graph.dims<[]>} : (!graph.tensor<[4], f32>) -> !graph.tensor<[4], f32>
  return
}

// -----

func.func @source(%x: !graph.tensor<[4], f32>) {
  // expected-error@+1 {{has bad CUDA code: expected a function, and a source or a library}}
  %y = graph.custom "a::b" (%x) cuda {function = "f", library = "l", sizes = #graph.dims<[]>} : (!graph.tensor<[4], f32>) -> !graph.tensor<[4], f32>
  return
}

// -----

func.func @lists(%x: !graph.tensor<[4], f32>) {
  // expected-error@+1 {{expected lists of texts as arguments and options, and lists of pairs as macros, headers and tensors}}
  %y = graph.custom "a::b" (%x) host {function = "f", library = "l", macros = [["A"]], sizes = #graph.dims<[]>} : (!graph.tensor<[4], f32>) -> !graph.tensor<[4], f32>
  return
}

// -----

func.func @arguments(%x: !graph.tensor<[4], f32>) {
  // expected-error@+1 {{expected arguments of i32, i64, f32 or f64}}
  %y = graph.custom "a::b" (%x) host {arguments = ["i16"], function = "f", library = "l", sizes = #graph.dims<[1]>} : (!graph.tensor<[4], f32>) -> !graph.tensor<[4], f32>
  return
}

// -----

func.func @sizes(%x: !graph.tensor<[4], f32>) {
  // expected-error@+1 {{expected a size for each argument, and for CUDA the grid and the shared memory behind}}
  %y = graph.custom "a::b" (%x) host {arguments = ["i64"], function = "f", library = "l", sizes = #graph.dims<[]>} : (!graph.tensor<[4], f32>) -> !graph.tensor<[4], f32>
  return
}

// -----

func.func @block(%x: !graph.tensor<[4], f32>) {
  // expected-error@+1 {{expected a block of three extents, at most 1024 threads}}
  %y = graph.custom "a::b" (%x) cuda {block = array<i64: 64, 64, 1>, function = "f", sizes = #graph.dims<[1, 1, 1, 0]>, source = "..."} : (!graph.tensor<[4], f32>) -> !graph.tensor<[4], f32>
  return
}
