// RUN: kpc-opt %s | kpc-opt | FileCheck %s

// Every type, as it is written and printed. A tile without swizzle says none; one that is a whole allocation says no pitch.

// CHECK-DAG: !view = !tile.view<bf16, box[128, 64], swizzle 128>
// CHECK-DAG: !view1 = !tile.view<f32, box[1, 1, 8, 64, 4], swizzle 0>
// CHECK-DAG: !smem = !tile.smem<[64, 256], bf16, swizzle 128>
// CHECK-DAG: !smem1 = !tile.smem<[64, 64], bf16, swizzle 128, pitch 128>
// CHECK-DAG: !smem2 = !tile.smem<[8, 24], f32>
// CHECK-DAG: !fragment = !tile.fragment<[64, 256], f32>
// CHECK-DAG: !pending = !tile.pending<!fragment>
// CHECK-DAG: !pipe = !tile.pipe<3 of [!smem, !smem2]>
// CHECK-LABEL: func.func private @types(
// CHECK-SAME: !view, !view1, !smem, !smem1, !smem2, !fragment, !pending, !pipe,
// CHECK-SAME: !tile.stage<free>, !tile.stage<full>, !tile.cursor)
func.func private @types(!tile.view<bf16, box [128, 64], swizzle 128>, !tile.view<f32, box [1, 1, 8, 64, 4], swizzle 0>,
  !tile.smem<[64, 256], bf16, swizzle 128>, !tile.smem<[64, 64], bf16, swizzle 128, pitch 128>,
  !tile.smem<[8, 24], f32, swizzle 0, pitch 8>, !tile.fragment<[64, 256], f32>, !tile.pending<!tile.fragment<[64, 256], f32>>,
  !tile.pipe<3 of [!tile.smem<[64, 256], bf16, swizzle 128>, !tile.smem<[8, 24], f32>]>,
  !tile.stage<free>, !tile.stage<full>, !tile.cursor)
