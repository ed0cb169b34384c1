// RUN: kpc-opt %s -verify-diagnostics -split-input-file

// expected-error @below {{element type 'index' is none of f16, bf16, f32, f64, i1, i8…i64, ui8…ui64, i2, i4, ui2, ui4, f4E2M1FN, f8E4M3FN, f8E4M3FNUZ, f8E5M2, f8E5M2FNUZ, f8E8M0FNU}}
func.func private @f(!graph.tensor<[4], index>)

// -----

// expected-error @below {{element type 'i5' is none of f16, bf16, f32, f64, i1, i8…i64, ui8…ui64, i2, i4, ui2, ui4, f4E2M1FN, f8E4M3FN, f8E4M3FNUZ, f8E5M2, f8E5M2FNUZ, f8E8M0FNU}}
func.func private @f(!graph.tensor<[4], i5>)

// -----

// expected-error @below {{size -4 is negative}}
func.func private @f(!graph.tensor<[-4], f32>)

// -----

// expected-error @below {{bad size expression: expression ends early at position 3}}
func.func private @f(!graph.tensor<["n +"], f32>)

// -----

// expected-error @+2 {{expected valid keyword}}
// expected-error @+1 {{expected a size: a number, a symbol, or an expression in quotes}}
func.func private @f(!graph.tensor<[:], f32>)

// -----

// expected-error @below {{a size leaves the range of 64-bit integers}}
func.func private @f(!graph.tensor<["4611686018427387904*2"], f32>)

// -----

// expected-error @below {{a tensor of more than 2^63 bytes}}
func.func private @f(!graph.tensor<[4611686018427387904, n, 4], f32>)
