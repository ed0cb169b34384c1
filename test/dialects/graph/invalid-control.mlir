// RUN: kpc-opt %s -verify-diagnostics -split-input-file

func.func @f(%x: !graph.tensor<[4], f32>) {
  // expected-error @below {{'graph.loop' op counts its iterations in one expression, not in 2}}
  %0 = graph.loop "i" count <[n, 2]> (%x) reversed [] : (!graph.tensor<[4], f32>) -> !graph.tensor<[4], f32> {
  ^bb0(%a: !graph.tensor<[4], f32>):
    graph.yield %a : !graph.tensor<[4], f32>
  }
  return
}

// -----

func.func @f(%x: !graph.tensor<[4], f32>) {
  // expected-error @below {{'graph.loop' op counts its iterations by its own counter 'i'}}
  %0 = graph.loop "i" count <["i + 1"]> (%x) reversed [] : (!graph.tensor<[4], f32>) -> !graph.tensor<[4], f32> {
  ^bb0(%a: !graph.tensor<[4], f32>):
    graph.yield %a : !graph.tensor<[4], f32>
  }
  return
}

// -----

func.func @f(%x: !graph.tensor<[4], f32>) {
  // expected-error @below {{'graph.loop' op has 1 results, but carries 1 values and collects 1}}
  %0 = graph.loop "i" count <[n]> (%x) reversed [true] : (!graph.tensor<[4], f32>) -> !graph.tensor<[4], f32> {
  ^bb0(%a: !graph.tensor<[4], f32>):
    graph.yield %a : !graph.tensor<[4], f32>
  }
  return
}

// -----

func.func @f(%x: !graph.tensor<[4], f32>) {
  // expected-error @below {{'graph.loop' op block arguments differ from the initial values' types}}
  %0 = graph.loop "i" count <[n]> (%x) reversed [] : (!graph.tensor<[4], f32>) -> !graph.tensor<[4], f32> {
  ^bb0(%a: !graph.tensor<[5], f32>):
    graph.yield %x : !graph.tensor<[4], f32>
  }
  return
}

// -----

func.func @f(%x: !graph.tensor<[4], f32>) {
  // expected-error @below {{'graph.loop' op yields another number of values than its results}}
  %0 = graph.loop "i" count <[n]> (%x) reversed [] : (!graph.tensor<[4], f32>) -> !graph.tensor<[4], f32> {
  ^bb0(%a: !graph.tensor<[4], f32>):
    graph.yield %a, %a : !graph.tensor<[4], f32>, !graph.tensor<[4], f32>
  }
  return
}

// -----

func.func @f(%x: !graph.tensor<[4], f32>, %xs: !graph.tensor<[n], f32>) {
  // expected-error @below {{'graph.loop' op yields '!graph.tensor<[i], f32>', whose sizes change from iteration to iteration}}
  %0 = graph.loop "i" count <[n]> () reversed [false] : () -> !graph.tensor<[n, n], f32> {
    %1 = graph.slice %xs start <[0]> step [1] : !graph.tensor<[n], f32> to !graph.tensor<[i], f32>
    graph.yield %1 : !graph.tensor<[i], f32>
  }
  return
}

// -----

func.func @f(%x: !graph.tensor<[4], f32>, %y: !graph.tensor<[5], f32>) {
  // expected-error @below {{'graph.loop' op carries '!graph.tensor<[4], f32>' into its body and yields '!graph.tensor<[5], f32>'}}
  %0 = graph.loop "i" count <[n]> (%x) reversed [] : (!graph.tensor<[4], f32>) -> !graph.tensor<[4], f32> {
  ^bb0(%a: !graph.tensor<[4], f32>):
    graph.yield %y : !graph.tensor<[5], f32>
  }
  return
}

// -----

func.func @f(%x: !graph.tensor<[4], f32>) {
  // expected-error @below {{'graph.loop' op result 0 is '!graph.tensor<[4], f32>', but should be '!graph.tensor<[n, 4], f32>'}}
  %0 = graph.loop "i" count <[n]> () reversed [false] : () -> !graph.tensor<[4], f32> {
    graph.yield %x : !graph.tensor<[4], f32>
  }
  return
}

// -----

func.func @f(%c: !graph.tensor<[2], i1>, %x: !graph.tensor<[4], f32>) {
  // expected-error @below {{'graph.if' op takes one bool, not '!graph.tensor<[2], i1>'}}
  %0 = graph.if %c : (!graph.tensor<[2], i1>) -> !graph.tensor<[4], f32> {
    graph.yield %x : !graph.tensor<[4], f32>
  } else {
    graph.yield %x : !graph.tensor<[4], f32>
  }
  return
}

// -----

func.func @f(%c: !graph.tensor<[], i1>, %x: !graph.tensor<[4], f32>, %y: !graph.tensor<[5], f32>) {
  // expected-error @below {{'graph.if' op a branch yields other types than the results}}
  %0 = graph.if %c : (!graph.tensor<[], i1>) -> !graph.tensor<[4], f32> {
    graph.yield %x : !graph.tensor<[4], f32>
  } else {
    graph.yield %y : !graph.tensor<[5], f32>
  }
  return
}

// -----

func.func @f(%c: !graph.tensor<[2], i1>, %x: !graph.tensor<[4], f32>) {
  // expected-error @below {{'graph.loop' op takes one bool, not '!graph.tensor<[2], i1>'}}
  %0 = graph.loop "i" count <[n]> while %c : !graph.tensor<[2], i1> (%x) reversed [] : (!graph.tensor<[4], f32>) -> !graph.tensor<[4], f32> {
  ^bb0(%a: !graph.tensor<[4], f32>):
    graph.yield %c, %a : !graph.tensor<[2], i1>, !graph.tensor<[4], f32>
  }
  return
}

// -----

func.func @f(%c: !graph.tensor<[], i1>, %x: !graph.tensor<[4], f32>) {
  // expected-error @below {{'graph.loop' op yields '!graph.tensor<[4], f32>' first, which should say whether there is another iteration}}
  %0 = graph.loop "i" count <[n]> while %c : !graph.tensor<[], i1> (%x) reversed [] : (!graph.tensor<[4], f32>) -> !graph.tensor<[4], f32> {
  ^bb0(%a: !graph.tensor<[4], f32>):
    graph.yield %a, %a : !graph.tensor<[4], f32>, !graph.tensor<[4], f32>
  }
  return
}
