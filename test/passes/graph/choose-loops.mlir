// RUN: kpc-opt %s -choose-loops=targets=sm_90a | FileCheck %s
// RUN: kpc-opt %s -choose-loops | FileCheck %s --check-prefix=NONE
// RUN: kpc-opt %s -choose-loops=targets=sm_80,sm_90a --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY
// RUN: kpc-opt %s -choose-loops=targets=sm_90a -form-regions -lower-regions | FileCheck %s --check-prefix=KERNEL

// NONE-NOT: graph.region

!h = !graph.tensor<[8, 16], f32>
!x = !graph.tensor<[100, 8], f32>
!xs = !graph.tensor<[100, 8], f32>
!row = !graph.tensor<[8], f32>
!big = !graph.tensor<[300, 300], f32>
!b = !graph.tensor<[], i1>

module attributes {graph.symbols = {i = {min = 0, max = 99}, j = {min = 0, max = 99}, k = {min = 0, max = 99}, l = {min = 0, max = 99},
                                    m = {min = 0, max = 99}}} {
  // A constant is made inside, what is read at the step's number is an input.
  // CHECK: %[[R:.*]]:2 = graph.region "scan"(%arg0, %arg1)
  // CHECK: graph.constant
  // CHECK: graph.loop "i" count <[100]>
  // CHECK: graph.slice %{{.*}} start <["-i + 99", 0]>
  // CHECK: graph.yield
  // The sum of a state is one stage, the next state another.
  // KERNEL: func.func @scan
  // KERNEL: kernel.loop %{{.*}}(%{{.*}}) reversed [true]
  // KERNEL: ^bb0(%[[I:.*]]: index, %[[H:.*]]: tensor<8x16xf32>):
  // KERNEL: arith.muli %{{.*}}, %[[I]] : index
  // KERNEL: kernel.next %{{.*}}, %{{.*}} : tensor<8x16xf32>, tensor<8xf32>
  func.func @main(%h0: !h, %xs: !xs, %w: !graph.tensor<[512, 512], f32>, %v: !graph.tensor<[1, 512], f32>, %large: !big, %go: !b)
      -> (!h, !x, !graph.tensor<[1, 512], f32>, !big, !row, !h) {
    %half = graph.constant dense<0.5> : tensor<8x16xf32>
    %0:2 = graph.loop "i" count <[100]> (%h0) reversed [true] : (!h) -> (!h, !x) {
    ^bb0(%h: !h):
      %1 = graph.slice %xs start <["99 - i", 0]> step [1, 1] : !xs to !graph.tensor<[1, 8], f32>
      %2 = graph.reshape %1 : !graph.tensor<[1, 8], f32> to !graph.tensor<[8, 1], f32>
      %3 = graph.broadcast %2 : !graph.tensor<[8, 1], f32> to !h
      %4 = graph.mul %h, %half : !h
      %5 = graph.add %4, %3 : !h
      %6 = graph.reduce sum, %5 axes [1] : !h
      graph.yield %5, %6 : !h, !row
    } loc("scan")

    // CHECK: graph.loop "j"
    // WHY: A loop is not one kernel, because too little of it runs at once: by the cost model of sm_{{[0-9a]+}} it takes {{[0-9]+}} us as one kernel in 1 blocks, and its 200 launches about 400; each of its steps is kernels of its own.
    %10 = graph.loop "j" count <[100]> (%v) reversed [] : (!graph.tensor<[1, 512], f32>) -> !graph.tensor<[1, 512], f32> {
    ^bb0(%h: !graph.tensor<[1, 512], f32>):
      %11 = graph.matmul %h, %w : !graph.tensor<[1, 512], f32>, !graph.tensor<[512, 512], f32>
      %12 = graph.tanh %11 : !graph.tensor<[1, 512], f32>
      graph.yield %12 : !graph.tensor<[1, 512], f32>
    }

    // CHECK: graph.loop "k"
    // WHY: A loop is not one kernel, because what it carries takes 704 KiB in each block, and sm_80 has 163 KiB of shared memory
    %20 = graph.loop "k" count <[100]> (%large) reversed [] : (!big) -> !big {
    ^bb0(%h: !big):
      %21 = graph.transpose %h [1, 0] : !big
      graph.yield %21 : !big
    }

    // CHECK: graph.loop "l"
    // WHY: A loop is not one kernel, because its body holds a loop or a branch
    %row0 = graph.slice %xs start <[0, 0]> step [1, 1] : !xs to !graph.tensor<[1, 8], f32>
    %row = graph.reshape %row0 : !graph.tensor<[1, 8], f32> to !row
    %30 = graph.loop "l" count <[100]> (%row) reversed [] : (!row) -> !row {
    ^bb0(%h: !row):
      %31 = graph.if %go : (!b) -> !row {
        %32 = graph.exp %h : !row
        graph.yield %32 : !row
      } else {
        graph.yield %h : !row
      }
      graph.yield %31 : !row
    }

    // CHECK: graph.loop "m" count <[2147483647]>
    // WHY: A loop is not one kernel, because data alone ends it
    %40 = graph.loop "m" count <[2147483647]> while %go : !b (%h0) reversed [] : (!h) -> !h {
    ^bb0(%h: !h):
      %41 = graph.exp %h : !h
      %42 = graph.reduce max, %41 axes [0, 1] : !h
      %43 = graph.constant dense<1.0> : tensor<f32>
      %44 = graph.compare lt, %42, %43 : !graph.tensor<[], f32>
      graph.yield %44, %41 : !b, !h
    }

    return %0#0, %0#1, %10, %20, %30, %40 : !h, !x, !graph.tensor<[1, 512], f32>, !big, !row, !h
  }
}
