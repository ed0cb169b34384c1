// RUN: kpc-opt %s | kpc-opt | FileCheck %s

// CHECK-LABEL: @loop
// CHECK: kernel.loop %arg0(%arg1) reversed [true] : (tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32>)
// CHECK: ^bb0(%{{.*}}: index, %[[S:.*]]: tensor<4xf32>):
// CHECK: kernel.next %[[S]], %[[S]] : tensor<4xf32>, tensor<4xf32>
func.func @loop(%n: index, %h: tensor<4xf32>) -> tensor<?x4xf32> {
  %0:2 = kernel.loop %n(%h) reversed [true] : (tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32>) {
  ^bb0(%i: index, %s: tensor<4xf32>):
    kernel.next %s, %s : tensor<4xf32>, tensor<4xf32>
  }
  return %0#1 : tensor<?x4xf32>
}

// CHECK-LABEL: @ended
// CHECK: kernel.loop %arg0 while %arg1 : tensor<i1>(%arg2) reversed [] : (tensor<4xf32>) -> tensor<4xf32>
func.func @ended(%n: index, %go: tensor<i1>, %h: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kernel.loop %n while %go : tensor<i1> (%h) reversed [] : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: index, %s: tensor<4xf32>):
    kernel.next %go, %s : tensor<i1>, tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
