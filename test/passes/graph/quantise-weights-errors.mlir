// RUN: not kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-weights))' 2>&1 | FileCheck %s

// CHECK: error: {{.*}}expected finite numbers in a weight that becomes codes of 4 bits, got an infinity in row 1, column 0; repair the weight, or keep the node with --precision-for 'layer=fp16'
func.func @infinite(%x: !graph.tensor<[n, 2], f32>) -> !graph.tensor<[n, 2], f32> {
  %w = graph.constant dense<[[0.0, 1.0], [0x7F800000, 1.0]]> : tensor<2x2xf32>
  %y = graph.matmul %x, %w : !graph.tensor<[n, 2], f32>, !graph.tensor<[2, 2], f32> loc("layer")
  return %y : !graph.tensor<[n, 2], f32>
}
