// RUN: kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-lower-to-nvvm))' --verify-diagnostics --split-input-file %s

gpu.module @m {
  gpu.func @gelu(%y: memref<f32>) kernel {
    %v = memref.load %y[] : memref<f32>
    // expected-error@+1 {{kernel 'gelu': 'math.erf' on 'f32' has no GPU instruction and was not expanded}}
    %r = math.erf %v : f32
    memref.store %r, %y[] : memref<f32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @modulo(%y: memref<f32>) kernel {
    %v = memref.load %y[] : memref<f32>
    // expected-error@+1 {{kernel 'modulo': 'arith.remf' on 'f32' has no GPU instruction and was not expanded}}
    %r = arith.remf %v, %v : f32
    memref.store %r, %y[] : memref<f32>
    gpu.return
  }
}
