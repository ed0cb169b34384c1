// RUN: kpc-opt %s -split-input-file -verify-diagnostics

func.func @arguments(%n: index, %h: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{takes the step's number and what is carried}}
  %0 = kernel.loop %n(%h) reversed [] : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%s: tensor<4xf32>):
    kernel.next %s : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @count(%n: index, %h: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{gives another number of values than its results}}
  %0 = kernel.loop %n(%h) reversed [false] : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: index, %s: tensor<4xf32>):
    kernel.next %s : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @carried(%n: index, %h: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error @below {{carries a value of several types}}
  %0 = kernel.loop %n(%h) reversed [] : (tensor<4xf32>) -> tensor<5xf32> {
  ^bb0(%i: index, %s: tensor<4xf32>):
    kernel.next %s : tensor<4xf32>
  }
  return %0 : tensor<5xf32>
}

// -----

func.func @collected(%n: index, %h: tensor<4xf32>) -> tensor<?x5xf32> {
  // expected-error @below {{collects 'tensor<4xf32>' into 'tensor<?x5xf32>'}}
  %0:2 = kernel.loop %n(%h) reversed [false] : (tensor<4xf32>) -> (tensor<4xf32>, tensor<?x5xf32>) {
  ^bb0(%i: index, %s: tensor<4xf32>):
    kernel.next %s, %s : tensor<4xf32>, tensor<4xf32>
  }
  return %0#1 : tensor<?x5xf32>
}
