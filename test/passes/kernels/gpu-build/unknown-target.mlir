// RUN: not kpc-opt --kpc-gpu-build-kernels=arch=sm_9a %s 2>&1 | FileCheck %s
// RUN: not kpc-opt --kpc-gpu-build-kernels=arch=host:x86-64-v3 %s 2>&1 | FileCheck %s --check-prefix=HOST

// CHECK: unknown target 'sm_9a'; did you mean sm_90, sm_90a or sm_80?
// HOST: 'func.func' op cannot be built for 'host:x86-64-v3': it is not a GPU
func.func @kernel(%y: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [], writes = [0]>} {
  return
}
