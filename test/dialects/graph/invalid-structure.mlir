// RUN: kpc-opt %s -verify-diagnostics -split-input-file

func.func @f() {
  // expected-error @below {{'graph.weight' op of '!graph.tensor<[n], f32>': a weight's sizes are numbers}}
  %0 = graph.weight "m#w" [] : !graph.tensor<[n], f32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'graph.weight' op recipe step {negate} is none of transpose, reshape, cast, pad}}
  %0 = graph.weight "m#w" [{negate}] : !graph.tensor<[4], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{'graph.region' op block arguments differ from the inputs' types}}
  %0 = graph.region "r" (%x) : (!graph.tensor<[n], f32>) -> !graph.tensor<[m], f32> {
  ^bb0(%a: !graph.tensor<[m], f32>):
    graph.yield %a : !graph.tensor<[m], f32>
  }
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{'graph.region' op yields other types than its results}}
  %0 = graph.region "r" (%x) : (!graph.tensor<[n], f32>) -> !graph.tensor<[m], f32> {
  ^bb0(%a: !graph.tensor<[n], f32>):
    graph.yield %a : !graph.tensor<[n], f32>
  }
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{'graph.region' op expects a non-empty block}}
  graph.region "r" (%x) : (!graph.tensor<[n], f32>) -> () {
  ^bb0(%a: !graph.tensor<[n], f32>):
  }
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{'graph.yield' op expects parent op to be one of 'graph.region, graph.loop, graph.if'}}
  graph.yield %x : !graph.tensor<[n], f32>
  return
}

// -----

// expected-error @below {{'graph.symbols' belongs on a module and is a dictionary}}
module attributes {graph.symbols = 1} {}

// -----

// expected-error @below {{'graph.symbols': what is known of 'n' must be a dictionary of min, max, divisor, optimum}}
module attributes {graph.symbols = {n = 1}} {}

// -----

// expected-error @below {{'graph.symbols': what is known of 'n' must be a dictionary of min, max, divisor, optimum: i64 numbers, min not above max, divisor at least 1}}
module attributes {graph.symbols = {n = {min = 4, max = 2}}} {}

// -----

// expected-error @below {{what is known of 'n' must be a dictionary}}
module attributes {graph.symbols = {n = {divisor = 0}}} {}

// -----

// expected-error @below {{what is known of 'n' must be a dictionary}}
module attributes {graph.symbols = {n = {max = 4 : si32}}} {}

// -----

func.func @f() {
  // expected-error @below {{recipe step {transpose = array<i64: 0, 2>} needs a permutation, sizes or a float type}}
  %0 = graph.weight "m#w" [{transpose = array<i64: 0, 2>}] : !graph.tensor<[4, 8], f32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{recipe step {reshape = array<i64: -1>} needs a permutation, sizes or a float type}}
  %0 = graph.weight "m#w" [{reshape = array<i64: -1>}] : !graph.tensor<[4, 8], f32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{recipe step {cast = i8} needs a permutation, sizes or a float type}}
  %0 = graph.weight "m#w" [{cast = i8}] : !graph.tensor<[4, 8], f32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{needs dense elements}}
  %0 = graph.constant sparse<[[0]], [1.0]> : tensor<4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{element type 'complex<f32>' is none of}}
  %0 = graph.constant dense<(1.0, 2.0)> : tensor<4xcomplex<f32>>
  return
}

// -----

// expected-error @below {{'graph.input_values' belongs on a module and is a dictionary from elements, as "n[0]", to sizes in words}}
module attributes {graph.input_values = {n = "m"}} {}

// -----

// expected-error @below {{'graph.input_values' belongs on a module and is a dictionary from elements, as "n[0]", to sizes in words}}
module attributes {graph.input_values = {"n[0]" = "m +"}} {}

// -----

// expected-error @below {{'graph.requirements' belongs on a module and is a list of dictionaries with left and right, which are sizes in words, and the relation "at most" or "equal to"}}
module attributes {graph.requirements = [{left = "m", relation = "below", right = "4"}]} {}

// -----

// expected-error @below {{'graph.taken_dims' belongs on a module and is a dictionary of sizes in words}}
module attributes {graph.taken_dims = {n = 4 : i64}} {}

// -----

// expected-error @below {{'graph.taken_dims' belongs on a module and is a dictionary of sizes in words}}
module attributes {graph.taken_dims = {n = "m +"}} {}

// -----

// expected-error @below {{'graph.taken_dims' belongs on a module and is a dictionary of sizes in words}}
module attributes {graph.taken_dims = {n = "overflow"}} {}

// -----

// expected-error @below {{'graph.taken_dims': 'n' must be none of the module's symbols, and its size an expression over these}}
module attributes {graph.symbols = {m = {}}, graph.taken_dims = {n = "m + k"}} {}

// -----

// expected-error @below {{'graph.taken_dims': 'n' must be none of the module's symbols, and its size an expression over these}}
module attributes {graph.taken_dims = {n = "m"}, graph.symbols = {m = {}, n = {}}} {}

// -----

// expected-error @below {{expected 'graph.models' on a module, a dictionary of a SHA-256 for each file, got {x = 1 : i64}}}
module attributes {graph.models = {x = 1}} {}
