// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s
// RUN: sed 's/kernel.buffers =/kernel.forced_schedule = #kernel.schedule<"attention 64x128 stages 2 ahead 16 pairs">, kernel.buffers =/' %s | kpc-opt --kpc-gpu-build-kernels=arch=sm_90a | FileCheck %s --check-prefix=FORCED
// RUN: sed 's/kernel.buffers =/kernel.forced_schedule = #kernel.schedule<"attention 64x7 stages 2">, kernel.buffers =/' %s | not kpc-opt --kpc-gpu-build-kernels=arch=sm_90a 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: sed 's/scale 0.125/scale 0.125 softcap 30.0/' %s | kpc-opt --kpc-gpu-build-kernels=arch=sm_90a | FileCheck %s --check-prefix=CAPPED
// RUN: sed 's/sizes: \[2, 1, .s, .t\], strides: \[.st, .st, .t, 1\]/sizes: [2, 1, 1, %%t], strides: [%%t, %%t, %%t, 1]/; s/2x1x?x?xi1/2x1x1x?xi1/g' %s | kpc-opt --kpc-gpu-build-kernels=arch=sm_90a | FileCheck %s --check-prefix=KEYS

// A mask that is the same for all queries: the copying warpgroup's second warp puts a number for each key into a pipe, and the product of queries
// and keys begins with these. Keys after the last one have minus infinity, and each number lies twice.
// KEYS: %[[K:.*]] = tile.pipe tma consumers
// KEYS: %[[NUMBERS:.*]] = tile.pipe threads consumers
// KEYS: tile.role "producer"
// KEYS: tile.warp
// KEYS: arith.select {{.*}} : f32
// KEYS: tile.acquire %[[NUMBERS]]
// KEYS-COUNT-2: tile.store_vector
// KEYS: tile.commit %[[NUMBERS]]
// KEYS: tile.role "consumer"
// KEYS: tile.wait %[[NUMBERS]]
// KEYS: %[[COLUMNS:.*]] = tile.load_columns twice %
// KEYS-NEXT: tile.release %[[NUMBERS]]
// KEYS: tile.mma %{{[^:]*}} transposed, %[[COLUMNS]] :
// KEYS-NOT: tile.map

// A softcap bends each score before anything is added: 1 - 2 / (2^x + 1).
// CAPPED: tile.mma
// CAPPED: tile.await
// CAPPED: tile.approximate exp2
// CAPPED-NEXT: arith.addf
// CAPPED-NEXT: tile.approximate reciprocal
// CAPPED-NEXT: math.fma
// CAPPED-NEXT: tile.yield
// CAPPED: tile.map

// FORCED: block = [256, 1, 1]
// FORCED-SAME: kernel.schedule = #kernel.schedule<"attention 64x128 stages 2 ahead 16 pairs">
// REFUSED: error: the schedule 'attention 64x7 stages 2' is none of this kernel's: legal are 'attention 128x80 stages 2 ahead 16 pairs', {{('attention [0-9]+x[0-9]+ stages 2 ahead 16 pairs'(, )?)+$}}

// Fused attention on the tensor cores of sm_90a: six heads of queries on two of keys, a causal mask and a mask in memory. q, k and v are stored
// [batch, sequence, head, depth], as a projection writes them: that is an order of strides.

// CHECK-LABEL: gpu.module @attention
// CHECK-SAME: kernel.schedule_costs = ["attention 128x80 stages 2 ahead 16 pairs: {{[^"]*}}", "attention {{[^"]*}}", "attention {{[^"]*}}"]
// CHECK: gpu.func @attention(
// Tiles of queries go in pairs, from both ends of a head.
// CHECK-SAME: grid = ["min(sm_count, floordiv(arg5 + 255, 256)*12)", "1", "1"]
// CHECK-SAME: block = [384, 1, 1]
// CHECK-SAME: kernel.schedule = #kernel.schedule<"attention 128x80 stages 2 ahead 16 pairs">
// CHECK-SAME: kernel.tensor_maps = [
// CHECK-SAME: #kernel.tensor_map<buffer = 0, element = f16, dims = ["64", "arg5", "6", "2"], strides = ["768", "128", "arg5*768"], box = [64, 128, 1, 1], swizzle = 128>
// CHECK-SAME: #kernel.tensor_map<buffer = 1, element = f16, dims = ["64", "arg6", "2", "2"], strides = ["256", "128", "arg6*256"], box = [64, 80, 1, 1], swizzle = 128>
// CHECK-SAME: #kernel.tensor_map<buffer = 2, {{[^>]*}}, box = [64, 80, 1, 1], {{[^>]*}}>
// CHECK-SAME: #kernel.tensor_map<buffer = 4, element = f16, dims = ["64", "arg5", "6", "2"], strides = ["768", "128", "arg5*768"], box = [64, 64, 1, 1], swizzle = 128>]

// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : i32
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : i32
// CHECK-DAG: %[[FACTOR:.*]] = arith.constant 0.180336878 : f32
// CHECK-DAG: %[[LOWEST:.*]] = arith.constant 0xFF800000 : f32
// CHECK: %[[Q:.*]] = tile.pipe tma consumers 8 : !pipe
// CHECK-NEXT: %[[K:.*]] = tile.pipe tma consumers 8 : !pipe1
// CHECK-NEXT: %[[V:.*]] = tile.pipe tma consumers 8 : !pipe1
// CHECK-NEXT: %[[STAGE:.*]] = tile.alloc
// CHECK: tile.barrier_init

// CHECK: tile.role "producer" warps 0 to 4 registers 40 {
// CHECK: scf.while
// CHECK: tile.tma_load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] into %{{.*}} signal %[[K]][
// CHECK: tile.tma_load %{{.*}} into %{{.*}} signal %[[Q]][
// CHECK: scf.for
// CHECK: tile.tma_load %{{.*}} into %{{.*}} signal %[[K]][
// CHECK: tile.tma_load %{{.*}} into %{{.*}} signal %[[V]][

// CHECK: tile.role "consumer" warps 4 to 12 registers 232 {
// The first block of the first tile.
// Warpgroups begin their products in turn.
// CHECK: tile.wait_turn
// CHECK-NEXT: %[[SCORES:.*]] = tile.mma %{{.*}}, %{{.*}} transposed : !smem{{.*}}, !smem{{.*}} -> !pending
// CHECK-NEXT: tile.pass_turn
// CHECK-NEXT: %[[RAW:.*]] = tile.await %[[SCORES]]
// CHECK-NEXT: tile.release %[[K]]
// The mask is read at its own place: one row of it for all heads of a batch.
// CHECK: %[[SEEN:.*]] = tile.map %[[RAW]] at[%{{.*}}, %{{.*}}] within[%arg5, %arg6]
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[BYTE:.*]] = memref.load %{{.*}}[%{{.*}}, %{{.*}}, %[[I]], %[[J]]]
// CHECK: arith.select %{{.*}}, %[[S]], %[[LOWEST]] : f32
// A row sees the columns before its limit.
// CHECK: %[[ROWS:.*]] = tile.row_numbers : !tile.column<64, i32>
// CHECK-NEXT: %[[LIMITS:.*]] = tile.apply %[[ROWS]] : !tile.column<64, i32> -> !tile.column<64, i32> {
// CHECK: %[[MASKED:.*]] = tile.apply %[[SEEN]], %[[LIMITS]] :
// CHECK: arith.cmpi slt
// CHECK: %[[PARTS:.*]] = tile.thread_reduce max %[[MASKED]]
// CHECK-NEXT: %[[MOST:.*]] = tile.lane_reduce max %[[PARTS]]
// CHECK-NEXT: %[[SHIFT:.*]] = tile.apply %[[MOST]] : !tile.column<64, f32> -> !tile.column<64, f32> {
// CHECK: %[[FRONT:.*]] = tile.extract_columns %[[MASKED]] from 0
// CHECK-NEXT: %[[FRONTPOWERS:.*]] = tile.apply %[[FRONT]], %[[SHIFT]]
// CHECK: math.fma %{{.*}}, %[[FACTOR]], %{{.*}} : f32
// CHECK-NEXT: tile.approximate exp2
// CHECK: tile.wait %[[V]]
// CHECK: %[[BACKPOWERS:.*]] = tile.apply
// CHECK: tile.thread_reduce add %[[FRONTPOWERS]] chains 2 :
// CHECK-NEXT: tile.thread_reduce add %[[BACKPOWERS]], %{{.*}} chains 2 :
// CHECK-NEXT: tile.pack %[[FRONTPOWERS]], %[[BACKPOWERS]]

// Tile after tile: the blocks on the diagonal, then those before it.
// CHECK: scf.while
// CHECK: scf.for
// CHECK: tile.wait_turn
// CHECK-NEXT: %[[NEXT:.*]] = tile.mma %{{.*}}, %{{.*}} transposed
// CHECK: %[[SUMS:.*]] = tile.mma %{{.*}}, %{{.*}}, %{{.*}} : !packed, !smem{{.*}}, !fragment{{.*}} -> !pending
// CHECK-NEXT: tile.pass_turn
// CHECK-NEXT: tile.await<1> %[[NEXT]]
// CHECK: tile.row_numbers
// CHECK: tile.wait %[[V]]
// CHECK-NEXT: tile.await %[[SUMS]]
// CHECK-NEXT: tile.release %[[V]]
// CHECK: scf.for
// CHECK-NOT: tile.row_numbers
// CHECK: scf.yield
// The first scores of the next tile run beside the last product of this one; then its result is stored.
// CHECK: tile.release %[[Q]]
// CHECK: tile.wait %[[Q]]
// CHECK: tile.mma {{.*}} transposed
// CHECK: %[[LAST:.*]] = tile.mma {{.*}} : !packed
// CHECK: tile.await %[[LAST]]
// CHECK: tile.pack
// CHECK: tile.approximate reciprocal
// CHECK: tile.store_shared
// CHECK: tile.tma_store
// The last tile has no next.
// CHECK: scf.for
// CHECK: scf.for
// CHECK: tile.tma_store

#id = affine_map<(a, b, c, d) -> (a, b, c, d)>
#turned = affine_map<(a, b, c, d) -> (a, c, b, d)>
func.func @attention(%q: memref<f16>, %k: memref<f16>, %v: memref<f16>, %m: memref<i1>, %y: memref<f16>,
                     %s: index {kernel.size = #kernel.size<min = 1, optimum = 100>}, %t: index {kernel.size = #kernel.size<min = 1, optimum = 70>},
                     %qs: index {kernel.size = #kernel.size<divisor = 384>}, %ks: index {kernel.size = #kernel.size<divisor = 128>}, %st: index)
    attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2, 3], writes = [4]>} {
  %c0 = arith.constant 0 : index
  %c384 = arith.constant 384 : index
  %c128 = arith.constant 128 : index
  %qrow = arith.muli %s, %c384 : index
  %krow = arith.muli %t, %c128 : index
  %qm = memref.reinterpret_cast %q to offset: [0], sizes: [2, %s, 6, 64], strides: [%qrow, 384, 64, 1] : memref<f16> to memref<2x?x6x64xf16, strided<[?, 384, 64, 1]>>
  %qt = bufferization.to_tensor %qm restrict : memref<2x?x6x64xf16, strided<[?, 384, 64, 1]>> to tensor<2x?x6x64xf16>
  %qe = tensor.empty(%s) : tensor<2x6x?x64xf32>
  %qw = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%qt : tensor<2x?x6x64xf16>) outs(%qe : tensor<2x6x?x64xf32>) {
  ^bb0(%a: f16, %b: f32):
    %x = arith.extf %a : f16 to f32
    linalg.yield %x : f32
  } -> tensor<2x6x?x64xf32>
  %km = memref.reinterpret_cast %k to offset: [0], sizes: [2, %t, 2, 64], strides: [%krow, 128, 64, 1] : memref<f16> to memref<2x?x2x64xf16, strided<[?, 128, 64, 1]>>
  %kt = bufferization.to_tensor %km restrict : memref<2x?x2x64xf16, strided<[?, 128, 64, 1]>> to tensor<2x?x2x64xf16>
  %ke = tensor.empty(%t) : tensor<2x2x?x64xf32>
  %kw = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%kt : tensor<2x?x2x64xf16>) outs(%ke : tensor<2x2x?x64xf32>) {
  ^bb0(%a: f16, %b: f32):
    %x = arith.extf %a : f16 to f32
    linalg.yield %x : f32
  } -> tensor<2x2x?x64xf32>
  %vm = memref.reinterpret_cast %v to offset: [0], sizes: [2, %t, 2, 64], strides: [%krow, 128, 64, 1] : memref<f16> to memref<2x?x2x64xf16, strided<[?, 128, 64, 1]>>
  %vt = bufferization.to_tensor %vm restrict : memref<2x?x2x64xf16, strided<[?, 128, 64, 1]>> to tensor<2x?x2x64xf16>
  %ve = tensor.empty(%t) : tensor<2x2x?x64xf32>
  %vw = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%vt : tensor<2x?x2x64xf16>) outs(%ve : tensor<2x2x?x64xf32>) {
  ^bb0(%a: f16, %b: f32):
    %x = arith.extf %a : f16 to f32
    linalg.yield %x : f32
  } -> tensor<2x2x?x64xf32>
  %mm = memref.reinterpret_cast %m to offset: [0], sizes: [2, 1, %s, %t], strides: [%st, %st, %t, 1] : memref<i1> to memref<2x1x?x?xi1, strided<[?, ?, ?, 1]>>
  %mt = bufferization.to_tensor %mm restrict : memref<2x1x?x?xi1, strided<[?, ?, ?, 1]>> to tensor<2x1x?x?xi1>
  %e = tensor.empty(%s) : tensor<2x6x?x64xf32>
  %r = kernel.attention %qw, %kw, %vw mask %mt causal %c0 scale 0.125 into %e
      : (tensor<2x6x?x64xf32>, tensor<2x2x?x64xf32>, tensor<2x2x?x64xf32>, tensor<2x1x?x?xi1>, index, tensor<2x6x?x64xf32>) -> tensor<2x6x?x64xf32>
  %z = tensor.empty(%s) : tensor<2x?x6x64xf16>
  %n = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%r : tensor<2x6x?x64xf32>) outs(%z : tensor<2x?x6x64xf16>) {
  ^bb0(%a: f32, %b: f16):
    %x = arith.truncf %a : f32 to f16
    linalg.yield %x : f16
  } -> tensor<2x?x6x64xf16>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [2, %s, 6, 64], strides: [%qrow, 384, 64, 1] : memref<f16> to memref<2x?x6x64xf16, strided<[?, 384, 64, 1]>>
  bufferization.materialize_in_destination %n in restrict writable %ym : (tensor<2x?x6x64xf16>, memref<2x?x6x64xf16, strided<[?, 384, 64, 1]>>) -> ()
  return
}
