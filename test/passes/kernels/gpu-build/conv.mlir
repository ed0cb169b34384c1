// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s
// RUN: sed 's/"conv 64x64x64 stages 8 group_m 11"/"conv 256x128x64 stages 3 group_m 2 pair"/' %s | kpc-opt --kpc-gpu-build-kernels=arch=sm_100a | FileCheck %s --check-prefix=TCGEN05

// A convolution of 16-bit values on the tensor cores of sm_90a: 3×3 taps, two pixels a step, zeros around the image.

// 120 channels are two slices of 64; what the second lacks becomes zeros in the copies.

// CHECK-DAG: !smem = !tile.smem<[64, 64], f16, swizzle 128>
// The copies of x bring 64 pixels of 64 channels; those of w a matrix of one tap.
// CHECK-DAG: !view = !tile.view<f16, box[64, 64], swizzle 128>
// CHECK-DAG: !view1 = !tile.view<f16, box[1, 64, 64], swizzle 128>
// CHECK-DAG: !pipe = !tile.pipe<8 of [!smem, !smem]>

// CHECK-LABEL: gpu.func @conv(
// CHECK-SAME: %[[X:[a-z0-9]+]]: !view, %[[W:[a-z0-9]+]]: !view1, %[[Y:[a-z0-9]+]]: !view)
// CHECK-SAME: grid = ["min(sm_count, floordiv(arg3*49 + 63, 64))", "1", "1"]
// CHECK-SAME: kernel.schedule = #kernel.schedule<"conv 64x64x64 stages 8 group_m {{[0-9]+}}">
// x is seen by the walk of the filter: from one pixel outside, to where the last tap would be two outside.
// CHECK-SAME: #kernel.tensor_map<buffer = 0, element = f16, dims = ["120", "14", "14", "arg3"], strides = ["240", "3360", "47040"]
// CHECK-SAME: swizzle = 128, traversal = [1, 2, 2, 1], im2col = <lower = [-1, -1], upper = [-1, -1], channels = 64, pixels = 64>>
// CHECK-SAME: #kernel.tensor_map<buffer = 1, element = f16, dims = ["64", "120", "9"], strides = ["128", "15360"], box = [64, 64, 1]

// CHECK-DAG: %[[STEPS:.*]] = arith.constant 18 : i32
// CHECK-DAG: %[[SLICES:.*]] = arith.constant 2 : i32
// CHECK: %[[PIPE:.*]] = tile.pipe tma consumers 4 : !pipe
// CHECK: tile.role "producer"
// CHECK: scf.for %[[STEP:[a-z0-9]+]] = %{{.*}} to %[[STEPS]]
// CHECK: %[[TAP:.*]] = arith.divui %[[STEP]], %[[SLICES]] : i32
// CHECK: %[[FREE:.*]] = tile.acquire %[[PIPE]]
// CHECK-NEXT: %[[AB:.*]]:2 = tile.tiles %[[PIPE]][%[[FREE]]]
// CHECK-NEXT: tile.tma_load_im2col %[[X]][%{{.*}}, %{{.*}}, %{{.*}}, %[[C:[0-9]+]]] tap[%{{.*}}, %{{.*}}] into %[[AB]]#0 signal %[[PIPE]][%[[FREE]]]
// CHECK: tile.tma_load %[[W]][%{{.*}}, %[[C]], %{{.*}}] into %[[AB]]#1 signal %[[PIPE]][%[[FREE]]]
// CHECK-NEXT: tile.commit %[[PIPE]][%[[FREE]]]
// CHECK: tile.role "consumer"
// CHECK: tile.mma
// CHECK: tile.await
// CHECK: tile.map
// CHECK: tile.tma_store %{{.*}} to %[[Y]]

// By tcgen05: blocks of a pair have pixels of their own places, and half of the outputs' columns each.
// TCGEN05-LABEL: gpu.func @conv(
// TCGEN05-SAME: %[[X:[a-z0-9]+]]: !view, %[[W:[a-z0-9]+]]: !view1, %[[Y:[a-z0-9]+]]: !view)
// TCGEN05-SAME: grid = ["min(floordiv(sm_count, 2)*2, floordiv(arg3*49 + 255, 256)*2)", "1", "1"]
// TCGEN05-SAME: cluster = 2
// TCGEN05-SAME: #kernel.tensor_map<buffer = 0, element = f16, dims = ["120", "14", "14", "arg3"], strides = ["240", "3360", "47040"]
// TCGEN05-SAME: swizzle = 128, traversal = [1, 2, 2, 1], im2col = <lower = [-1, -1], upper = [-1, -1], channels = 64, pixels = 128>>
// TCGEN05-SAME: #kernel.tensor_map<buffer = 1, element = f16, dims = ["64", "120", "9"], strides = ["128", "15360"], box = [64, 64, 1]
// TCGEN05: %[[PIPE:.*]] = tile.pipe tma pair consumers 1
// TCGEN05: %[[RANK:.*]] = tile.block_rank
// TCGEN05: tile.role "producer"
// TCGEN05: arith.muli %[[RANK]], %c128
// TCGEN05: arith.muli %[[RANK]], %c64
// TCGEN05: %[[AB:.*]]:2 = tile.tiles %[[PIPE]]
// TCGEN05-NEXT: tile.tma_load_im2col %[[X]][%{{.*}}, %{{.*}}, %{{.*}}, %[[C:[0-9]+]]] tap[%{{.*}}, %{{.*}}] into %[[AB]]#0 signal %[[PIPE]]
// TCGEN05: tile.tma_load %[[W]][%{{.*}}, %[[C]], %{{.*}}] into %[[AB]]#1 signal %[[PIPE]]
// TCGEN05: tile.role "mma"
// TCGEN05: scf.for %{{.*}} = %c0 to %c1152 step %c64
// TCGEN05: tile.tmem_mma %{{.*}}, %{{.*}} into %{{.*}} add %{{.*}} pair
// TCGEN05: tile.role "epilogue"
// TCGEN05: tile.tmem_load
// TCGEN05: tile.tma_store %{{.*}} to %[[Y]]
func.func @conv(%x_p: memref<f16>, %w_p: memref<f16>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 32, optimum = 4>}) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>, kernel.forced_schedule = #kernel.schedule<"conv 64x64x64 stages 8 group_m 11">} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 14, 14, 120], strides: [23520, 1680, 120, 1] : memref<f16> to memref<?x14x14x120xf16, strided<[23520, 1680, 120, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x14x14x120xf16, strided<[23520, 1680, 120, 1]>> to tensor<?x14x14x120xf16>
  %x_t_wide_e = tensor.empty(%n) : tensor<?x14x14x120xf32>
  %x_t_wide = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x_t : tensor<?x14x14x120xf16>) outs(%x_t_wide_e : tensor<?x14x14x120xf32>) {
  ^bb0(%v: f16, %o: f32):
    %e = arith.extf %v : f16 to f32
    linalg.yield %e : f32
  } -> tensor<?x14x14x120xf32>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [3, 3, 120, 64], strides: [23040, 7680, 64, 1] : memref<f16> to memref<3x3x120x64xf16, strided<[23040, 7680, 64, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<3x3x120x64xf16, strided<[23040, 7680, 64, 1]>> to tensor<3x3x120x64xf16>
  %w_t_wide_e = tensor.empty() : tensor<3x3x120x64xf32>
  %w_t_wide = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%w_t : tensor<3x3x120x64xf16>) outs(%w_t_wide_e : tensor<3x3x120x64xf32>) {
  ^bb0(%v: f16, %o: f32):
    %e = arith.extf %v : f16 to f32
    linalg.yield %e : f32
  } -> tensor<3x3x120x64xf32>
  %p_empty = tensor.empty(%n) : tensor<?x16x16x120xf32>
  %p = kernel.pad %x_t_wide low [0, 1, 1, 0] high [0, 1, 1, 0] outside 0.0 : f32 into %p_empty : tensor<?x14x14x120xf32> into tensor<?x16x16x120xf32>
  %s_empty = tensor.empty(%n) : tensor<?x7x7x64xf32>
  %zero = arith.constant 0.0 : f32
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x7x7x64xf32>) -> tensor<?x7x7x64xf32>
  %s_t = kernel.conv %p, %w_t_wide strides [2, 2] dilations [1, 1] into %s_fill : (tensor<?x16x16x120xf32>, tensor<3x3x120x64xf32>, tensor<?x7x7x64xf32>) -> tensor<?x7x7x64xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 7, 7, 64], strides: [3136, 448, 64, 1] : memref<f16> to memref<?x7x7x64xf16, strided<[3136, 448, 64, 1]>>
  %y_empty = tensor.empty(%n) : tensor<?x7x7x64xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s_t : tensor<?x7x7x64xf32>) outs(%y_empty : tensor<?x7x7x64xf16>) {
  ^bb0(%s: f32, %y: f16):
    %r = arith.truncf %s : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x7x7x64xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x7x7x64xf16>, memref<?x7x7x64xf16, strided<[3136, 448, 64, 1]>>) -> ()
  return
}
