// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_80 %s | FileCheck %s --check-prefix=AMPERE

// One row, weights contiguous along the sum: loads of 8 elements go to mma.sync as they are; warps' sums are added in order.
// CHECK-LABEL: gpu.func @one_row
// CHECK-SAME: kpc.schedule = "gemv [[COLUMNS:[0-9]+]] columns x [[WARPS:[0-9]+]] warps x {{[0-9]+}}"
// CHECK: scf.for
// CHECK: vector.load {{.*}} vector<8xbf16>
// CHECK: vector.bitcast {{.*}} vector<8xbf16> to vector<4xi32>
// CHECK: nvvm.mma.sync
// CHECK-SAME: multiplicandAPtxType = #nvvm.mma_type<bf16>
// CHECK-SAME: shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK: scf.yield
// CHECK: memref.store {{.*}} #gpu.address_space<workgroup>
// CHECK: gpu.barrier
// CHECK: scf.if
// CHECK: arith.addf
// CHECK: arith.truncf
// CHECK: memref.store {{.*}}xbf16
// AMPERE-LABEL: gpu.func @one_row
// AMPERE-SAME: kpc.schedule = "gemv
func.func @one_row(%x: memref<bf16>, %w: memref<bf16>, %y: memref<bf16>) attributes {kpc.reads = [0, 1], kpc.writes = [2]} {
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [1, 4096], strides: [4096, 1] : memref<bf16> to memref<1x4096xbf16, strided<[4096, 1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<1x4096xbf16, strided<[4096, 1]>> to tensor<1x4096xbf16>
  %wm = memref.reinterpret_cast %w to offset: [0], sizes: [1024, 4096], strides: [4096, 1] : memref<bf16> to memref<1024x4096xbf16, strided<[4096, 1]>>
  %wt = bufferization.to_tensor %wm restrict : memref<1024x4096xbf16, strided<[4096, 1]>> to tensor<1024x4096xbf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x1024xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x1024xf32>) -> tensor<1x1024xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(n,k)>, affine_map<(m,n,k)->(m,n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%xt, %wt : tensor<1x4096xbf16>, tensor<1024x4096xbf16>) outs(%z : tensor<1x1024xf32>) {
  ^bb0(%a: bf16, %b: bf16, %acc: f32):
    %c = arith.extf %a : bf16 to f32
    %d = arith.extf %b : bf16 to f32
    %p = arith.mulf %c, %d : f32
    %r = arith.addf %acc, %p : f32
    linalg.yield %r : f32
  } -> tensor<1x1024xf32>
  %h = tensor.empty() : tensor<1x1024xbf16>
  %q = linalg.generic {indexing_maps = [affine_map<(m,n)->(m,n)>, affine_map<(m,n)->(m,n)>], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<1x1024xf32>) outs(%h : tensor<1x1024xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %r = arith.truncf %a : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<1x1024xbf16>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [1, 1024], strides: [1024, 1] : memref<bf16> to memref<1x1024xbf16, strided<[1024, 1]>>
  bufferization.materialize_in_destination %q in restrict writable %ym : (tensor<1x1024xbf16>, memref<1x1024xbf16, strided<[1024, 1]>>) -> ()
  return
}

// Up to 40 rows, 16 at a time; weights contiguous along the columns.
// CHECK-LABEL: gpu.func @some_rows
// CHECK-SAME: kpc.schedule = "gemv
// CHECK: scf.for
// CHECK: scf.for
// CHECK: arith.shli
// CHECK: arith.ori
// CHECK: nvvm.mma.sync
// CHECK: gpu.barrier
// CHECK: gpu.barrier
func.func @some_rows(%x: memref<f16>, %w: memref<f16>, %y: memref<f32>, %m: index {kpc.min = 1 : i64, kpc.max = 40 : i64, kpc.optimum = 4 : i64})
    attributes {kpc.reads = [0, 1], kpc.writes = [2]} {
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [%m, 256], strides: [256, 1] : memref<f16> to memref<?x256xf16, strided<[256, 1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<?x256xf16, strided<[256, 1]>> to tensor<?x256xf16>
  %wm = memref.reinterpret_cast %w to offset: [0], sizes: [256, 512], strides: [512, 1] : memref<f16> to memref<256x512xf16, strided<[512, 1]>>
  %wt = bufferization.to_tensor %wm restrict : memref<256x512xf16, strided<[512, 1]>> to tensor<256x512xf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%m) : tensor<?x512xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x512xf32>) -> tensor<?x512xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%xt, %wt : tensor<?x256xf16>, tensor<256x512xf16>) outs(%z : tensor<?x512xf32>) {
  ^bb0(%a: f16, %b: f16, %acc: f32):
    %c = arith.extf %a : f16 to f32
    %d = arith.extf %b : f16 to f32
    %p = arith.mulf %c, %d : f32
    %r = arith.addf %acc, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x512xf32>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [%m, 512], strides: [512, 1] : memref<f32> to memref<?x512xf32, strided<[512, 1]>>
  bufferization.materialize_in_destination %s in restrict writable %ym : (tensor<?x512xf32>, memref<?x512xf32, strided<[512, 1]>>) -> ()
  return
}

// Rows without an end: the weights would be read again and again. For the builder of many rows.
// CHECK-LABEL: gpu.func @any_rows
// CHECK-NOT: kpc.schedule = "gemv
func.func @any_rows(%x: memref<f16>, %w: memref<f16>, %y: memref<f32>, %m: index {kpc.min = 1 : i64, kpc.optimum = 4 : i64})
    attributes {kpc.reads = [0, 1], kpc.writes = [2]} {
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [%m, 256], strides: [256, 1] : memref<f16> to memref<?x256xf16, strided<[256, 1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<?x256xf16, strided<[256, 1]>> to tensor<?x256xf16>
  %wm = memref.reinterpret_cast %w to offset: [0], sizes: [256, 512], strides: [512, 1] : memref<f16> to memref<256x512xf16, strided<[512, 1]>>
  %wt = bufferization.to_tensor %wm restrict : memref<256x512xf16, strided<[512, 1]>> to tensor<256x512xf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%m) : tensor<?x512xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x512xf32>) -> tensor<?x512xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%xt, %wt : tensor<?x256xf16>, tensor<256x512xf16>) outs(%z : tensor<?x512xf32>) {
  ^bb0(%a: f16, %b: f16, %acc: f32):
    %c = arith.extf %a : f16 to f32
    %d = arith.extf %b : f16 to f32
    %p = arith.mulf %c, %d : f32
    %r = arith.addf %acc, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x512xf32>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [%m, 512], strides: [512, 1] : memref<f32> to memref<?x512xf32, strided<[512, 1]>>
  bufferization.materialize_in_destination %s in restrict writable %ym : (tensor<?x512xf32>, memref<?x512xf32, strided<[512, 1]>>) -> ()
  return
}
