// RUN: kpc-opt --split-reductions %s | FileCheck %s

module attributes {graph.symbols = {s = {min = 1, optimum = 128}, v = {min = 1, max = 48}}} {
  // A block of threads for one result: 1024 parts, then these.
  // CHECK-LABEL: func.func @everything
  // CHECK-NEXT: %[[P:.*]] = graph.window sum, %arg0 window [16384] stride [16384] dilation [1] low [0] high [0]
  // CHECK-NEXT: %[[Y:.*]] = graph.reduce sum, %[[P]] axes [0] : <[1024], f32>
  // CHECK-NEXT: return %[[Y]]
  func.func @everything(%x: !graph.tensor<[16777216], f32>) -> !graph.tensor<[], f32> {
    %y = graph.reduce sum, %x axes [0] : !graph.tensor<[16777216], f32>
    return %y : !graph.tensor<[], f32>
  }

  // Parts of 16-bit floats are f32. A prime length leaves a part that is not full.
  // CHECK-LABEL: func.func @prime
  // CHECK-NEXT: %[[W:.*]] = graph.cast %arg0 to f32
  // CHECK-NEXT: %[[P:.*]] = graph.window sum, %[[W]] window [4096] stride [4096] dilation [1] low [0] high [4095]
  // CHECK-NEXT: %[[S:.*]] = graph.reduce sum, %[[P]] axes [0] : <[25], f32>
  // CHECK-NEXT: graph.cast %[[S]] to f16
  func.func @prime(%x: !graph.tensor<[100003], f16>) -> !graph.tensor<[], f16> {
    %y = graph.reduce sum, %x axes [0] : !graph.tensor<[100003], f16>
    return %y : !graph.tensor<[], f16>
  }

  // What moves fastest is in one part.
  // CHECK-LABEL: func.func @several_axes
  // CHECK: graph.window max, %arg0 window [2, 1, 64, 56] stride [2, 1, 64, 56]
  // CHECK-NEXT: graph.reduce max, %{{.*}} axes [0, 2, 3] : <[32, 16, 1, 1], f32>
  func.func @several_axes(%x: !graph.tensor<[64, 16, 64, 56], f32>) -> !graph.tensor<[16], f32> {
    %y = graph.reduce max, %x axes [0, 2, 3] : !graph.tensor<[64, 16, 64, 56], f32>
    return %y : !graph.tensor<[16], f32>
  }

  // CHECK-LABEL: func.func @columns
  // CHECK-NEXT: graph.window sum, %arg0 window [2048, 1] stride [2048, 1]
  // CHECK-NEXT: graph.reduce sum, %{{.*}} axes [0] : <[32, 1024], f32>
  func.func @columns(%x: !graph.tensor<[65536, 1024], f32>) -> !graph.tensor<[1024], f32> {
    %y = graph.reduce sum, %x axes [0] : !graph.tensor<[65536, 1024], f32>
    return %y : !graph.tensor<[1024], f32>
  }

  // A length that nobody knows may be long. One that is said to be short is not.
  // CHECK-LABEL: func.func @unknown
  // CHECK-NEXT: graph.window sum, %arg0 window [4096]
  // CHECK-NEXT: graph.reduce sum
  // CHECK-NEXT: return
  func.func @unknown(%x: !graph.tensor<[n], f32>) -> !graph.tensor<[], f32> {
    %y = graph.reduce sum, %x axes [0] : !graph.tensor<[n], f32>
    return %y : !graph.tensor<[], f32>
  }
  // CHECK-LABEL: func.func @short
  // CHECK-NEXT: graph.reduce sum, %arg0 axes [0]
  func.func @short(%x: !graph.tensor<[s], f32>) -> !graph.tensor<[], f32> {
    %y = graph.reduce sum, %x axes [0] : !graph.tensor<[s], f32>
    return %y : !graph.tensor<[], f32>
  }

  // Many rows fill the chip as they are.
  // CHECK-LABEL: func.func @many
  // CHECK-NEXT: graph.reduce sum, %arg0 axes [1]
  func.func @many(%x: !graph.tensor<[4096, 65536], f32>) -> !graph.tensor<[4096], f32> {
    %y = graph.reduce sum, %x axes [1] : !graph.tensor<[4096, 65536], f32>
    return %y : !graph.tensor<[4096], f32>
  }

  // Others use the row: one kernel holds it (form-regions), up to a length.
  // CHECK-LABEL: func.func @row
  // CHECK-NEXT: graph.reduce max, %arg0 axes [1]
  func.func @row(%x: !graph.tensor<[1, 65536], f32>) -> !graph.tensor<[1, 65536], f32> {
    %m = graph.reduce max, %x axes [1] : !graph.tensor<[1, 65536], f32>
    %r = graph.reshape %m : !graph.tensor<[1], f32> to !graph.tensor<[1, 1], f32>
    %b = graph.broadcast %r : !graph.tensor<[1, 1], f32> to !graph.tensor<[1, 65536], f32>
    %y = graph.sub %x, %b : !graph.tensor<[1, 65536], f32>
    return %y : !graph.tensor<[1, 65536], f32>
  }
  // CHECK-LABEL: func.func @long_row
  // CHECK-NEXT: graph.window max, %arg0 window [1, 4096] stride [1, 4096]
  // CHECK-NEXT: graph.reduce max, %{{.*}} axes [1] : <[1, 256], f32>
  func.func @long_row(%x: !graph.tensor<[1, 1048576], f32>) -> !graph.tensor<[1, 1048576], f32> {
    %m = graph.reduce max, %x axes [1] : !graph.tensor<[1, 1048576], f32>
    %r = graph.reshape %m : !graph.tensor<[1], f32> to !graph.tensor<[1, 1], f32>
    %b = graph.broadcast %r : !graph.tensor<[1, 1], f32> to !graph.tensor<[1, 1048576], f32>
    %y = graph.sub %x, %b : !graph.tensor<[1, 1048576], f32>
    return %y : !graph.tensor<[1, 1048576], f32>
  }

  // NaN is the greatest, and equal to nothing.
  // CHECK-LABEL: func.func @argmax
  // CHECK: %[[M:.*]] = graph.reduce max, %arg0 axes [1]
  // CHECK: %[[E:.*]] = graph.compare eq, %arg0
  // CHECK: %[[I:.*]] = graph.iota axis 1 : <[512, 1000], i32>
  // CHECK: %[[N:.*]] = graph.is_nan %arg0
  // CHECK: %[[H:.*]] = graph.or %[[E]], %[[N]]
  // CHECK: %[[C:.*]] = graph.select %[[H]], %[[I]]
  // CHECK: %[[F:.*]] = graph.reduce min, %[[C]] axes [1] : <[512, 1000], i32>
  // CHECK: graph.cast %[[F]] to i64
  func.func @argmax(%x: !graph.tensor<[512, 1000], f32>) -> !graph.tensor<[512], i64> {
    %y = graph.arg_reduce max, %x axis 1 : !graph.tensor<[512, 1000], f32>
    return %y : !graph.tensor<[512], i64>
  }

  // Few rows: both reductions in two levels. Integers have no NaN.
  // CHECK-LABEL: func.func @argmin_of_few
  // CHECK: graph.window min, %arg0 window [1, 5120]
  // CHECK: graph.reduce min, %{{.*}} : <[32, 25], i8>
  // CHECK-NOT: is_nan
  // CHECK: graph.window max, %{{.*}} window [1, 5120]
  // CHECK: graph.reduce max, %{{.*}} : <[32, 25], i32>
  func.func @argmin_of_few(%x: !graph.tensor<[32, 128000], i8>) -> !graph.tensor<[32], i64> {
    %y = graph.arg_reduce min, %x axis 1 select_last : !graph.tensor<[32, 128000], i8>
    return %y : !graph.tensor<[32], i64>
  }

  // Of several NaN the first counts, whatever is asked for.
  // CHECK-LABEL: func.func @last_nan
  // CHECK: %[[BACK:.*]] = graph.sub %{{.*}}, %{{.*}} : <[512, 1000], i32>
  // CHECK: graph.select %{{.*}}, %[[BACK]]
  // CHECK: graph.reduce max, %{{.*}} : <[512, 1000], i32>
  // CHECK: graph.sub %{{.*}} : <[512], i32>
  func.func @last_nan(%x: !graph.tensor<[512, 1000], f32>) -> !graph.tensor<[512], i64> {
    %y = graph.arg_reduce max, %x axis 1 select_last : !graph.tensor<[512, 1000], f32>
    return %y : !graph.tensor<[512], i64>
  }

  // CHECK-LABEL: func.func @short_argmax
  // CHECK-NEXT: graph.arg_reduce
  func.func @short_argmax(%x: !graph.tensor<[512, v], f32>) -> !graph.tensor<[512], i64> {
    %y = graph.arg_reduce max, %x axis 1 : !graph.tensor<[512, v], f32>
    return %y : !graph.tensor<[512], i64>
  }

  // A group of a large channels-last image: pixels are added up channel by channel, then channels of the group.
  // CHECK-LABEL: func.func @groups
  // CHECK-NEXT: %[[P:.*]] = graph.window sum, %arg0 window [1, 1024, 1, 1] stride [1, 1024, 1, 1]
  // CHECK-NEXT: %[[Y:.*]] = graph.reduce sum, %[[P]] axes [1, 3] : <[1, 256, 32, 4], f32>
  // CHECK-NEXT: return %[[Y]]
  func.func @groups(%x: !graph.tensor<[1, 262144, 32, 4], f32>) -> !graph.tensor<[1, 32], f32> {
    %y = graph.reduce sum, %x axes [1, 3] : !graph.tensor<[1, 262144, 32, 4], f32>
    return %y : !graph.tensor<[1, 32], f32>
  }

  // Three kernels: sums of blocks, what is in front of each, and the blocks.
  // CHECK-LABEL: func.func @cumsum
  // CHECK: %[[S:.*]] = graph.window sum, %arg0 window [1, 4096] stride [1, 4096] dilation [1, 1] low [0, 0] high [0, 4095] : <[4, 40009], f32>
  // CHECK: %[[B:.*]] = graph.cumsum %[[S]] axis 1 exclusive reverse : <[4, 10], f32>
  // CHECK: %[[I:.*]] = graph.cumsum %arg0 axis 1 reverse block 4096
  // CHECK: %[[G:.*]] = graph.gather %[[B]]
  // CHECK: graph.add %[[I]], %[[G]]
  func.func @cumsum(%x: !graph.tensor<[4, 40009], f32>) -> !graph.tensor<[4, 40009], f32> {
    %y = graph.cumsum %x axis 1 reverse : !graph.tensor<[4, 40009], f32>
    return %y : !graph.tensor<[4, 40009], f32>
  }

  // Blocks of columns are as many as make threads for the chip. 16 bits are read as they are.
  // CHECK-LABEL: func.func @cumsum_of_columns
  // CHECK: %[[W:.*]] = graph.cast %arg0 to f32
  // CHECK: graph.window sum, %[[W]] window [512, 1]
  // CHECK: graph.cumsum %{{.*}} axis 0 exclusive : <[16, 8192], f32>
  // CHECK: %[[I:.*]] = graph.cumsum %arg0 axis 0 block 512 : <[8192, 8192], f16>
  // CHECK: graph.cast %[[I]] to f32
  func.func @cumsum_of_columns(%x: !graph.tensor<[8192, 8192], f16>) -> !graph.tensor<[8192, 8192], f16> {
    %y = graph.cumsum %x axis 0 : !graph.tensor<[8192, 8192], f16>
    return %y : !graph.tensor<[8192, 8192], f16>
  }

  // CHECK-LABEL: func.func @cumsum_of_many
  // CHECK-NEXT: graph.cumsum %arg0 axis 1 : <[4096, 65536], f32>
  func.func @cumsum_of_many(%x: !graph.tensor<[4096, 65536], f32>) -> !graph.tensor<[4096, 65536], f32> {
    %y = graph.cumsum %x axis 1 : !graph.tensor<[4096, 65536], f32>
    return %y : !graph.tensor<[4096, 65536], f32>
  }

  // CHECK-LABEL: func.func @short_cumsum
  // CHECK-NEXT: graph.cumsum %arg0 axis 1 : <[512, v], f16>
  func.func @short_cumsum(%x: !graph.tensor<[512, v], f16>) -> !graph.tensor<[512, v], f16> {
    %y = graph.cumsum %x axis 1 : !graph.tensor<[512, v], f16>
    return %y : !graph.tensor<[512, v], f16>
  }

  // Of a large window that slides, the axis with the greatest stride comes first, else the last.
  // CHECK-LABEL: func.func @pool
  // CHECK-NEXT: %[[W:.*]] = graph.window max, %arg0 window [1, 1, 13, 1] stride [1, 1, 1, 1] dilation [1, 1, 1, 1] low [0, 0, 6, 0] high [0, 0, 6, 0]
  // CHECK-NEXT: %[[H:.*]] = graph.window max, %[[W]] window [1, 13, 1, 1] stride [1, 1, 1, 1] dilation [1, 1, 1, 1] low [0, 6, 0, 0] high [0, 6, 0, 0]
  // CHECK-NEXT: return %[[H]]
  func.func @pool(%x: !graph.tensor<[n, 20, 20, 64], f16>) -> !graph.tensor<[n, 20, 20, 64], f16> {
    %y = graph.window max, %x window [1, 13, 13, 1] stride [1, 1, 1, 1] dilation [1, 1, 1, 1] low [0, 6, 6, 0] high [0, 6, 6, 0] : !graph.tensor<[n, 20, 20, 64], f16>
    return %y : !graph.tensor<[n, 20, 20, 64], f16>
  }

  // Sums between the kernels are f32.
  // CHECK-LABEL: func.func @average
  // CHECK-NEXT: %[[H:.*]] = graph.window sum, %arg0 window [1, 9, 1, 1] stride [1, 2, 1, 1]
  // CHECK-NEXT: %[[C:.*]] = graph.cast %[[H]] to f32
  // CHECK-NEXT: %[[W:.*]] = graph.window sum, %[[C]] window [1, 1, 9, 1] stride [1, 1, 1, 1]
  // CHECK-NEXT: graph.cast %[[W]] to f16
  func.func @average(%x: !graph.tensor<[n, 21, 20, 64], f16>) -> !graph.tensor<[n, 7, 12, 64], f16> {
    %y = graph.window sum, %x window [1, 9, 9, 1] stride [1, 2, 1, 1] dilation [1, 1, 1, 1] low [0, 0, 0, 0] high [0, 0, 0, 0] : !graph.tensor<[n, 21, 20, 64], f16>
    return %y : !graph.tensor<[n, 7, 12, 64], f16>
  }

  // Windows side by side read each element once; few taps are one kernel.
  // CHECK-LABEL: func.func @one_kernel
  // CHECK-NEXT: graph.window max, %arg0 window [1, 10, 10, 1]
  // CHECK-NEXT: graph.window max, %arg0 window [1, 7, 7, 1]
  // CHECK-NEXT: graph.window max, %arg0 window [1, 20, 20, 1]
  // CHECK-NEXT: return
  func.func @one_kernel(%x: !graph.tensor<[n, 20, 20, 64], f16>) -> (!graph.tensor<[n, 2, 2, 64], f16>, !graph.tensor<[n, 14, 14, 64], f16>, !graph.tensor<[n, 1, 1, 64], f16>) {
    %y = graph.window max, %x window [1, 10, 10, 1] stride [1, 10, 10, 1] dilation [1, 1, 1, 1] low [0, 0, 0, 0] high [0, 0, 0, 0] : !graph.tensor<[n, 20, 20, 64], f16>
    %z = graph.window max, %x window [1, 7, 7, 1] stride [1, 1, 1, 1] dilation [1, 1, 1, 1] low [0, 0, 0, 0] high [0, 0, 0, 0] : !graph.tensor<[n, 20, 20, 64], f16>
    %a = graph.window max, %x window [1, 20, 20, 1] stride [1, 1, 1, 1] dilation [1, 1, 1, 1] low [0, 0, 0, 0] high [0, 0, 0, 0] : !graph.tensor<[n, 20, 20, 64], f16>
    return %y, %z, %a : !graph.tensor<[n, 2, 2, 64], f16>, !graph.tensor<[n, 14, 14, 64], f16>, !graph.tensor<[n, 1, 1, 64], f16>
  }

  // The mean of columns that no kernel of rows takes is divided where it is summed.
  // CHECK-LABEL: func.func @mean
  // CHECK: %[[S:.*]] = graph.reduce sum, %arg0 axes [1, 2] : <[4096, 56, 56, 144], f32>
  // CHECK: %[[B:.*]] = graph.broadcast %{{.*}} : <[], f32> to <[4096, 144], f32>
  // CHECK-NEXT: %[[M:.*]] = graph.div %[[S]], %[[B]] : <[4096, 144], f32>
  // CHECK-NEXT: %[[K:.*]] = graph.reshape %[[M]] : <[4096, 144], f32> to <[4096, 1, 1, 144], f32>
  // CHECK-NEXT: return %[[K]]
  func.func @mean(%x: !graph.tensor<[4096, 56, 56, 144], f32>) -> !graph.tensor<[4096, 1, 1, 144], f32> {
    %c = graph.constant dense<3136.0> : tensor<f32>
    %s = graph.reduce sum, %x axes [1, 2] : !graph.tensor<[4096, 56, 56, 144], f32>
    %k = graph.reshape %s : !graph.tensor<[4096, 144], f32> to !graph.tensor<[4096, 1, 1, 144], f32>
    %b = graph.broadcast %c : !graph.tensor<[], f32> to !graph.tensor<[4096, 1, 1, 144], f32>
    %m = graph.div %k, %b : !graph.tensor<[4096, 1, 1, 144], f32>
    return %m : !graph.tensor<[4096, 1, 1, 144], f32>
  }

  // Of known sizes the number is a constant of the whole shape.
  // CHECK-LABEL: func.func @splat_mean
  // CHECK: %[[S:.*]] = graph.reduce sum, %arg0 axes [1, 2] : <[4096, 56, 56, 144], f32>
  // CHECK-NEXT: graph.constant dense<3.136000e+03> : tensor<f32>
  // CHECK-NEXT: %[[B:.*]] = graph.broadcast %{{.*}} : <[], f32> to <[4096, 144], f32>
  // CHECK-NEXT: graph.div %[[S]], %[[B]] : <[4096, 144], f32>
  func.func @splat_mean(%x: !graph.tensor<[4096, 56, 56, 144], f32>) -> !graph.tensor<[4096, 1, 1, 144], f32> {
    %b = graph.constant dense<3136.0> : tensor<4096x1x1x144xf32>
    %s = graph.reduce sum, %x axes [1, 2] : !graph.tensor<[4096, 56, 56, 144], f32>
    %k = graph.reshape %s : !graph.tensor<[4096, 144], f32> to !graph.tensor<[4096, 1, 1, 144], f32>
    %m = graph.div %k, %b : !graph.tensor<[4096, 1, 1, 144], f32>
    return %m : !graph.tensor<[4096, 1, 1, 144], f32>
  }

  // A kernel of rows finds the division after the reshape, and a number of each channel stays where it is.
  // CHECK-LABEL: func.func @stays
  // CHECK: graph.reduce
  // CHECK-NEXT: graph.reshape
  // CHECK: graph.reduce
  // CHECK-NEXT: graph.reshape
  // CHECK: graph.div
  // CHECK: graph.mul
  func.func @stays(%x: !graph.tensor<[4096, 14, 14, 144], f32>, %y: !graph.tensor<[4096, 56, 56, 144], f32>, %v: !graph.tensor<[144], f32>) -> (!graph.tensor<[4096, 1, 1, 144], f32>, !graph.tensor<[4096, 1, 1, 144], f32>) {
    %c = graph.constant dense<196.0> : tensor<f32>
    %b = graph.broadcast %c : !graph.tensor<[], f32> to !graph.tensor<[4096, 1, 1, 144], f32>
    %a = graph.broadcast %v : !graph.tensor<[144], f32> to !graph.tensor<[4096, 1, 1, 144], f32>
    %s = graph.reduce sum, %x axes [1, 2] : !graph.tensor<[4096, 14, 14, 144], f32>
    %k = graph.reshape %s : !graph.tensor<[4096, 144], f32> to !graph.tensor<[4096, 1, 1, 144], f32>
    %t = graph.reduce sum, %y axes [1, 2] : !graph.tensor<[4096, 56, 56, 144], f32>
    %l = graph.reshape %t : !graph.tensor<[4096, 144], f32> to !graph.tensor<[4096, 1, 1, 144], f32>
    %m = graph.div %k, %b : !graph.tensor<[4096, 1, 1, 144], f32>
    %n = graph.mul %l, %a : !graph.tensor<[4096, 1, 1, 144], f32>
    return %m, %n : !graph.tensor<[4096, 1, 1, 144], f32>, !graph.tensor<[4096, 1, 1, 144], f32>
  }
}
