// RUN: kpc-opt %s -verify-diagnostics -split-input-file

plan.program {
  %0 = plan.buffer "a" : !graph.tensor<[n], f32>
  // expected-error @below {{'plan.view' op joins buffers of n*4 and n*8 bytes}}
  %1 = plan.view %0 : !graph.tensor<[n], f32> to !graph.tensor<["n*2"], f32>
}

// -----

plan.program {
  %0 = plan.buffer "a" : !graph.tensor<[n], f32>
  %1 = plan.buffer "b" : !graph.tensor<[n], f16>
  // expected-error @below {{'plan.copy' op joins buffers of n*4 and n*2 bytes}}
  plan.copy %0 to %1 : !graph.tensor<[n], f32> to !graph.tensor<[n], f16>
}
