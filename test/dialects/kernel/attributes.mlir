// RUN: kpc-opt %s | kpc-opt | FileCheck %s

// What is known of sizes; what is as where nothing is said is left out.
// CHECK-LABEL: func.func @sizes
// CHECK-SAME: index {kernel.size = #kernel.size<min = 1, max = 4096, divisor = 8, optimum = 512>}
// CHECK-SAME: index {kernel.size = #kernel.size<min = -3>}
// CHECK-SAME: index {kernel.size = #kernel.size<optimum = 64>}
// CHECK-SAME: kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [1]>
// CHECK-SAME: kernel.forced_schedule = #kernel.schedule<"gemm 128x256x64 stages 4 group_m 8">
func.func @sizes(%x: memref<f32>, %y: memref<f32>,
                 %m: index {kernel.size = #kernel.size<optimum = 512, divisor = 8, max = 4096, min = 1>},
                 %n: index {kernel.size = #kernel.size<min = -3, divisor = 1>},
                 %k: index {kernel.size = #kernel.size<min = 0, optimum = 64>})
    attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [1]>,
                kernel.forced_schedule = #kernel.schedule<"gemm 128x256x64 stages 4 group_m 8">} {
  return
}

// CHECK-LABEL: func.func @constant
// CHECK-SAME: kernel.buffers = #kernel.buffers<reads = [], writes = [0]>
// CHECK-SAME: kernel.schedule = #kernel.schedule<"map flat">
// CHECK-SAME: kernel.work = #kernel.work<units = "arg1*49", grain = 16>
func.func @constant(%y: memref<f32>, %n: index)
    attributes {kernel.buffers = #kernel.buffers<reads = [], writes = [0]>, kernel.schedule = #kernel.schedule<"map flat">,
                kernel.work = #kernel.work<units = "arg1*49", grain = 16>} {
  return
}

// CHECK: gpu.module @m attributes {kernel.schedule_costs = ["map x4: 2.8 us"]}
gpu.module @m attributes {kernel.schedule_costs = ["map x4: 2.8 us"]} {
  // CHECK: kernel.launch = #kernel.launch<grid = ["ceildiv(arg2*64, 256)", "sm_count", "1"], block = [256, 1, 1]>}
  gpu.func @plain(%x: memref<f32>, %y: memref<f32>, %n: index) kernel attributes {
      kernel.launch = #kernel.launch<grid = ["ceildiv(arg2*64, 256)", "sm_count", "1"], block = [256, 1, 1], shared = 0, cluster = 1,
                                     no_early_pdl_trigger = false>} {
    gpu.return
  }
  // CHECK: kernel.launch = #kernel.launch<grid = ["4", "1", "1"], block = [32, 2, 2], shared = 33824, cluster = 2, no_early_pdl_trigger = true>}
  gpu.func @full() kernel attributes {
      kernel.launch = #kernel.launch<grid = ["4", "1", "1"], block = [32, 2, 2], shared = 33824, cluster = 2,
                                     no_early_pdl_trigger = true>} {
    gpu.return
  }
  // CHECK: kernel.tensor_maps = [#kernel.tensor_map<buffer = 0, element = bf16, dims = ["arg1", "64"], strides = ["arg1*2"], box = [64, 128], swizzle = 128>,
  // CHECK-SAME: #kernel.tensor_map<buffer = 0, element = tf32, dims = ["arg1"], strides = [], box = [32], l2 = 256, fill = nan, traversal = [2]>,
  // CHECK-SAME: #kernel.tensor_map<buffer = 0, element = f16, dims = ["64", "56", "arg1"], strides = ["128", "7168"], im2col = <lower = [-1], upper = [-1], channels = 64, pixels = 128>>]
  gpu.func @maps(%x: memref<f32>, %n: index) kernel attributes {
      kernel.tensor_maps = [
        #kernel.tensor_map<buffer = 0, element = bf16, dims = ["arg1", "64"], strides = ["arg1*2"], box = [64, 128], swizzle = 128, l2 = 128>,
        #kernel.tensor_map<buffer = 0, element = tf32, dims = ["arg1"], strides = [], box = [32], swizzle = 0, l2 = 256, fill = nan,
                           traversal = [2]>,
        #kernel.tensor_map<buffer = 0, element = f16, dims = ["64", "56", "arg1"], strides = ["128", "7168"], fill = zero,
                           im2col = <lower = [-1], upper = [-1], channels = 64, pixels = 128>>]} {
    gpu.return
  }
}

// A weight of some size is told by its bytes.
// CHECK-LABEL: @weights
// CHECK-SAME: kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2], weight_bytes = [0, 1179648]>
func.func @weights(%x: memref<f16>, %w: memref<f16>, %y: memref<f16>)
    attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2], weight_bytes = [0, 1179648]>} {
  return
}
