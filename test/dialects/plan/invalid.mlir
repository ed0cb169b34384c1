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

// -----

// expected-error @below {{'plan.program' op holds 'arith.constant', which is no record of a plan}}
plan.program {
  %0 = arith.constant 1 : i64
}

// -----

plan.program {
  // expected-error @below {{'plan.weight' op of '!graph.tensor<[n], f32>': a weight's sizes are numbers}}
  %0 = plan.weight "m#w" [] : !graph.tensor<[n], f32>
}

// -----

plan.program {
  // expected-error @below {{'plan.constant' op of '!graph.tensor<[3], f32>' needs dense elements of that type}}
  %0 = plan.constant dense<1.0> : tensor<2xf32> : !graph.tensor<[3], f32>
}

// -----

plan.program {
  %0 = plan.input "x" : !graph.tensor<[n], f32>
  %1 = plan.output "y" : !graph.tensor<[n], f32>
  // expected-error @below {{'plan.copy' op writes what is neither an output nor a buffer}}
  plan.copy %1 to %0 : !graph.tensor<[n], f32> to !graph.tensor<[n], f32>
}

// -----

func.func private @k(memref<f32>, memref<f32>)
plan.program {
  %0 = plan.input "x" : !graph.tensor<[n], f32>
  %1 = plan.view %0 : !graph.tensor<[n], f32> to !graph.tensor<[1, n], f32>
  // expected-error @below {{'plan.launch' op writes what is neither an output nor a buffer}}
  plan.launch @k (%0) -> (%1) sizes <[]> : (!graph.tensor<[n], f32>) -> (!graph.tensor<[1, n], f32>)
}

// -----

plan.program {
  %0 = plan.output "y" : !graph.tensor<[n], f32>
  // expected-error @below {{'plan.launch' op launches 'k', which is no kernel of the module}}
  plan.launch @k (%0) -> (%0) sizes <[]> : (!graph.tensor<[n], f32>) -> (!graph.tensor<[n], f32>)
}

// -----

func.func private @k(memref<f32>)
plan.program {
  %0 = plan.output "y" : !graph.tensor<[n], f16>
  // expected-error @below {{'plan.launch' op gives kernel 'k' 'memref<f16>', 'memref<f16>', 'index', but it takes 'memref<f32>'}}
  plan.launch @k (%0) -> (%0) sizes <[n]> : (!graph.tensor<[n], f16>) -> (!graph.tensor<[n], f16>)
}

// -----

plan.program {
  // expected-error @below {{'plan.buffer' op 'a' must be live from one step to the same or a later one}}
  %0 = plan.buffer "a" live [2, 1] : !graph.tensor<[n], f32>
}

// -----

plan.program {
  // expected-error @below {{'plan.buffer' op 'a' is of the fixed arena, but its size depends on dims}}
  %0 = plan.buffer "a" arena fixed : !graph.tensor<[n], f32>
}

// -----

plan.program {
  // expected-error @below {{'plan.buffer' op 'a' is live from step 0 to 1, but step 1 does not exist}}
  %0 = plan.buffer "a" live [0, 1] : !graph.tensor<[n], f32>
  %1 = plan.buffer "b" live [0, 0] : !graph.tensor<[n], f32>
  plan.copy %0 to %1 : !graph.tensor<[n], f32> to !graph.tensor<[n], f32>
}

// -----

// A view is the same memory.
plan.program {
  // expected-error @below {{'plan.buffer' op 'a' is live from step 0 to 0, but step 1 uses it}}
  %0 = plan.buffer "a" live [0, 0] : !graph.tensor<[n], f32>
  %1 = plan.buffer "b" : !graph.tensor<[n], f32>
  %2 = plan.view %0 : !graph.tensor<[n], f32> to !graph.tensor<[n, 1], f32>
  plan.copy %0 to %1 : !graph.tensor<[n], f32> to !graph.tensor<[n], f32>
  plan.copy %2 to %1 : !graph.tensor<[n, 1], f32> to !graph.tensor<[n], f32>
}

// -----

plan.program {
  // expected-error @below {{'plan.buffer' op 'a' is live from step 1 to 1, but step 0 uses it}}
  %0 = plan.buffer "a" live [1, 1] : !graph.tensor<[n], f32>
  %1 = plan.buffer "b" : !graph.tensor<[n], f32>
  plan.copy %0 to %1 : !graph.tensor<[n], f32> to !graph.tensor<[n], f32>
  plan.copy %1 to %0 : !graph.tensor<[n], f32> to !graph.tensor<[n], f32>
}

// -----

func.func private @k()
plan.program {
  // expected-error @below {{'plan.launch' op counts its operations in one expression, not in 2}}
  plan.launch @k () -> () sizes <[]> {flops = #graph.dims<[1, 2]>} : () -> ()
}

// -----

plan.program {
  %0 = plan.buffer "a" : !graph.tensor<[8], f32>
  // expected-error @below {{'plan.part' op begins at one place, not at 2}}
  %1 = plan.part %0 at <[0, 1]> : !graph.tensor<[8], f32> to !graph.tensor<[4], f32>
}

// -----

plan.program {
  %0 = plan.buffer "a" : !graph.tensor<[8], f32>
  // expected-error @below {{'plan.part' op of '!graph.tensor<[8], f32>' cannot be '!graph.tensor<[4], f16>'}}
  %1 = plan.part %0 at <[0]> : !graph.tensor<[8], f32> to !graph.tensor<[4], f16>
}

// -----

plan.program {
  %0 = plan.buffer "a" : !graph.tensor<[8], f32>
  // expected-error @below {{'plan.part' op of 4 elements from 5 on is outside the 8 of '!graph.tensor<[8], f32>'}}
  %1 = plan.part %0 at <[5]> : !graph.tensor<[8], f32> to !graph.tensor<[4], f32>
}

// -----

plan.program {
  // expected-error @below {{'plan.loop' op counts its iterations in one expression, not in 0}}
  plan.loop "i" count <[]> {
  }
}

// -----

plan.program {
  // expected-error @below {{'plan.loop' op counts its iterations by its own counter 'i'}}
  plan.loop "i" count <[i]> {
  }
}

// -----

plan.program {
  // expected-error @below {{'plan.loop' op holds 'plan.input', which is no record of a part of a plan}}
  plan.loop "i" count <[3]> {
    %0 = plan.input "x" : !graph.tensor<[4], f32>
  }
}

// -----

plan.program {
  // expected-error @below {{'plan.loop' op holds 'arith.constant', which is no record of a plan}}
  plan.loop "i" count <[3]> {
    %0 = arith.constant 1 : i64
  }
}

// -----

plan.program {
  %0 = plan.input "c" : !graph.tensor<[2], i1>
  // expected-error @below {{'plan.if' op takes one bool, not '!graph.tensor<[2], i1>'}}
  plan.if %0 : !graph.tensor<[2], i1> {
  } else {
  }
}

// -----

// A loop goes on with what it touches outside; a branch reads its condition.
plan.program {
  %0 = plan.input "x" : !graph.tensor<[16], f32>
  %1 = plan.output "y" : !graph.tensor<[16], f32>
  // expected-error @below {{'plan.buffer' op 'a' is live from step 0 to 1, but step 2 uses it}}
  %2 = plan.buffer "a" live [0, 1] : !graph.tensor<[16], f32>
  plan.copy %0 to %2 : !graph.tensor<[16], f32> to !graph.tensor<[16], f32>
  plan.loop "i" count <[3]> {
    plan.copy %2 to %1 : !graph.tensor<[16], f32> to !graph.tensor<[16], f32>
    plan.copy %0 to %1 : !graph.tensor<[16], f32> to !graph.tensor<[16], f32>
  }
}

// -----

plan.program {
  %0 = plan.input "past" : !graph.tensor<[n], f32>
  // expected-error @below {{'plan.output' op 'present' takes input 1, which does not exist}}
  %1 = plan.output "present" takes 1 : !graph.tensor<[n], f32>
}

// -----

plan.program {
  %0 = plan.input "past" : !graph.tensor<[n], f32>
  // expected-error @below {{'plan.output' op 'present' takes input 'past', which is of another type}}
  %1 = plan.output "present" takes 0 : !graph.tensor<["n + 1"], f32>
}

// -----

plan.program {
  // expected-error @below {{'plan.input' op 'x' is '!graph.tensor<[n], ui8>', expected the packed bytes of '!graph.tensor<[n], i4>'}}
  %0 = plan.input "x" as !graph.tensor<[n], i4> : !graph.tensor<[n], ui8>
  %1 = plan.output "y" : !graph.tensor<[n], ui8>
}

// -----

plan.program {
  // expected-error @below {{'plan.output' op 'size n' decides a size: expected one i64, one expression that it decides and one that it is at most}}
  %0 = plan.output "size n" decides <[n]> at_most <[8]> : !graph.tensor<[], i32>
}

// -----

plan.program {
  // expected-error @below {{'plan.output' op 'size n' decides a size: expected one i64}}
  %0 = plan.output "size n" decides <[n]> : !graph.tensor<[], i64>
}

// -----

plan.program {
  %0 = plan.input "c" : !graph.tensor<[2], i1>
  // expected-error @below {{'plan.loop' op takes one bool, not '!graph.tensor<[2], i1>'}}
  plan.loop "i" count <[3]> while %0 : !graph.tensor<[2], i1> {
  }
}

// -----

plan.program {
  // expected-error @below {{'plan.loop' op has steps for its end, but data does not end it}}
  plan.loop "i" count <[3]> {
  } at_end {
  }
}

// -----

// A loop reads its condition before each iteration.
plan.program {
  %0 = plan.input "x" : !graph.tensor<[16], f32>
  %1 = plan.output "y" : !graph.tensor<[16], f32>
  // expected-error @below {{'plan.buffer' op 'c' is live from step 0 to 0, but step 1 uses it}}
  %2 = plan.buffer "c" live [0, 0] : !graph.tensor<[], i1>
  plan.loop "i" count <[3]> while %2 : !graph.tensor<[], i1> {
    plan.copy %0 to %1 : !graph.tensor<[16], f32> to !graph.tensor<[16], f32>
    plan.copy %0 to %1 : !graph.tensor<[16], f32> to !graph.tensor<[16], f32>
  } at_end {
    plan.copy %0 to %1 : !graph.tensor<[16], f32> to !graph.tensor<[16], f32>
  }
}
