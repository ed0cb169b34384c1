// RUN: kpc-opt %s -verify-diagnostics -split-input-file

!x = !graph.tensor<[5, 3, 8], f32>
!r = !graph.tensor<[1, 8, 8], f32>
!h = !graph.tensor<[1, 3, 8], f32>
!y = !graph.tensor<[5, 3, 1, 8], f32>

func.func @f(%x: !x, %r: !r, %h: !h, %y: !y) {
  // expected-error @below {{'graph.recurrent' op expected an input for each of 2 directions, got 1}}
  %0, %1 = graph.recurrent tanh(%x) weights %r state %h reversed [false, true] : (!x, !r, !h) -> (!y, !h) {
    graph.recurrent_yield %y, %h : !y, !h
  }
  return
}

// -----

!x = !graph.tensor<[5, 3, 8], f32>
!r = !graph.tensor<[1, 8, 8], f32>
!h = !graph.tensor<[1, 3, 8], f32>
!y = !graph.tensor<[5, 3, 1, 8], f32>

func.func @f(%x: !x, %r: !r, %h: !h, %y: !y) {
  // expected-error @below {{expected weights of [directions, 3*hidden, hidden] and inputs of rank 3, got '!graph.tensor<[1, 8, 8], f32>' and '!graph.tensor<[5, 3, 8], f32>'}}
  %0, %1 = graph.recurrent gru(%x) weights %r state %h reversed [false] : (!x, !r, !h) -> (!y, !h) {
    graph.recurrent_yield %y, %h : !y, !h
  }
  return
}

// -----

!x = !graph.tensor<[5, 3, 9], f32>
!r = !graph.tensor<[1, 8, 8], f32>
!h = !graph.tensor<[1, 3, 8], f32>
!y = !graph.tensor<[5, 3, 1, 8], f32>

func.func @f(%x: !x, %r: !r, %h: !h, %y: !y) {
  // expected-error @below {{expected inputs of [steps, batch, 8], got '!graph.tensor<[5, 3, 9], f32>'}}
  %0, %1 = graph.recurrent relu(%x) weights %r state %h reversed [false] : (!x, !r, !h) -> (!y, !h) {
    graph.recurrent_yield %y, %h : !y, !h
  }
  return
}

// -----

!x = !graph.tensor<[5, 3, 8], f32>
!r = !graph.tensor<[1, 8, 8], f32>
!h = !graph.tensor<[1, 3, 8], f32>
!y = !graph.tensor<[5, 3, 1, 8], f32>

func.func @f(%x: !x, %r: !r, %h: !h, %y: !y) {
  // expected-error @below {{expected a state (and, of lstm alone, a cell) of [directions, batch, hidden], a bias of [directions, hidden] and lengths of [batch]}}
  %0, %1 = graph.recurrent tanh(%x) weights %r state %h cell %h reversed [false] : (!x, !r, !h, !h) -> (!y, !h) {
    graph.recurrent_yield %y, %h : !y, !h
  }
  return
}

// -----

!x = !graph.tensor<[5, 3, 8], f32>
!r = !graph.tensor<[1, 8, 8], f32>
!h = !graph.tensor<[1, 3, 8], f32>
!y = !graph.tensor<[5, 3, 1, 8], f32>

func.func @f(%x: !x, %r: !r, %h: !h, %y: !y) {
  // expected-error @below {{expected 5 results, got 2}}
  %0, %1 = graph.recurrent tanh(%x) weights %r state %h reversed [false] : (!x, !r, !h) -> (!y, !h)
  return
}

// -----

!x = !graph.tensor<[5, 3, 8], f32>
!r = !graph.tensor<[1, 8, 8], f32>
!h = !graph.tensor<[1, 3, 8], f32>
!y = !graph.tensor<[5, 3, 1, 8], f32>

func.func @f(%x: !x, %r: !r, %h: !h, %y: !y) {
  // expected-error @below {{its body yields other types than its results}}
  %0, %1 = graph.recurrent tanh(%x) weights %r state %h reversed [false] : (!x, !r, !h) -> (!y, !h) {
    graph.recurrent_yield %h, %h : !h, !h
  }
  return
}

// -----

!x = !graph.tensor<[5, 3, 8], f32>
!r = !graph.tensor<[1, 8, 8], f32>
!h = !graph.tensor<[1, 3, 8], f32>

func.func @f(%x: !x, %r: !r, %h: !h) {
  // expected-error @below {{result 0 is '!graph.tensor<[1, 3, 8], f32>'; expected y of [steps, batch, directions, hidden], and state and cell of [directions, batch, hidden]}}
  %0, %1 = graph.recurrent tanh(%x) weights %r state %h reversed [false] : (!x, !r, !h) -> (!h, !h) {
    graph.recurrent_yield %h, %h : !h, !h
  }
  return
}
