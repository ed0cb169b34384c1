// RUN: kpc-opt %s -verify-diagnostics -split-input-file

// expected-error @below {{elements are 'i1', not numbers of 8, 16, 32 or 64 bits}}
func.func private @f(!tile.view<i1, box [8, 64], swizzle 0>)

// -----

// expected-error @below {{swizzle is 48, not 0, 32, 64 or 128 bytes}}
func.func private @f(!tile.view<bf16, box [8, 64], swizzle 48>)

// -----

// expected-error @below {{a box has 1 to 5 dimensions, not 6}}
func.func private @f(!tile.view<bf16, box [1, 1, 1, 1, 8, 64], swizzle 128>)

// -----

// expected-error @below {{a box has 1 to 256 elements along each dimension, not 512}}
func.func private @f(!tile.view<bf16, box [512, 64], swizzle 128>)

// -----

// expected-error @below {{a box has 1 to 256 elements along each dimension, not 0}}
func.func private @f(!tile.view<bf16, box [0, 64], swizzle 128>)

// -----

// expected-error @below {{a row of the box has 24 bytes, not a multiple of 16}}
func.func private @f(!tile.view<bf16, box [8, 12], swizzle 0>)

// -----

// expected-error @below {{a row of the box has 256 bytes, more than the swizzle's 128}}
func.func private @f(!tile.view<bf16, box [8, 128], swizzle 128>)

// -----

// expected-error @below {{elements are 'index', not numbers of 8, 16, 32 or 64 bits}}
func.func private @f(!tile.smem<[8, 64], index>)

// -----

// expected-error @below {{swizzle is 256, not 0, 32, 64 or 128 bytes}}
func.func private @f(!tile.smem<[8, 128], bf16, swizzle 256>)

// -----

// expected-error @below {{a tile has rows and columns}}
func.func private @f(!tile.smem<[64], bf16, swizzle 128>)

// -----

// expected-error @below {{a tile has rows and columns}}
func.func private @f(!tile.smem<[], bf16>)

// -----

// expected-error @below {{a tile has rows and columns}}
func.func private @f(!tile.smem<[0, 64], bf16, swizzle 128>)

// -----

// expected-error @below {{the pitch, 32, is less than the rows}}
func.func private @f(!tile.smem<[64, 64], bf16, swizzle 128, pitch 32>)

// -----

// expected-error @below {{a row is not a multiple of the swizzle's 128 bytes}}
func.func private @f(!tile.smem<[64, 96], bf16, swizzle 128>)

// -----

// expected-error @below {{elements are 'i4', not numbers of 8, 16, 32 or 64 bits}}
func.func private @f(!tile.fragment<[64, 8], i4>)

// -----

// expected-error @below {{a fragment has a multiple of 64 rows and of 8 columns}}
func.func private @f(!tile.fragment<[32, 8], f32>)

// -----

// expected-error @below {{a fragment has a multiple of 64 rows and of 8 columns}}
func.func private @f(!tile.fragment<[64, 12], f32>)

// -----

// expected-error @below {{a fragment has a multiple of 64 rows and of 8 columns}}
func.func private @f(!tile.fragment<[64], f32>)

// -----

// expected-error @below {{a pipe has 1 to 64 stages, not 0}}
func.func private @f(!tile.pipe<0 of [!tile.smem<[64, 64], bf16, swizzle 128>]>)

// -----

// expected-error @below {{a pipe has 1 to 64 stages, not 65}}
func.func private @f(!tile.pipe<65 of [!tile.smem<[64, 64], bf16, swizzle 128>]>)

// -----

// expected-error @below {{a stage holds at least one tile}}
func.func private @f(!tile.pipe<2 of []>)

// -----

// expected-error @below {{a stage holds whole tiles, not '!tile.smem<[64, 64], bf16, swizzle 128, pitch 128>'}}
func.func private @f(!tile.pipe<2 of [!tile.smem<[64, 64], bf16, swizzle 128, pitch 128>]>)

// -----

// expected-error @below {{a tile has at most 262144 bytes}}
func.func private @f(!tile.smem<[1024, 256], bf16, swizzle 128>)

// -----

// expected-error @below {{a tile has at most 262144 bytes}}
func.func private @f(!tile.smem<[4611686018427387904, 4611686018427387904], bf16, swizzle 128>)

// -----

// expected-error @below {{a tile has at most 262144 bytes}}
func.func private @f(!tile.smem<[64, 64], bf16, swizzle 128, pitch 4611686018427387904>)

// -----

// expected-error @below {{a pipe's stages have at most 262144 bytes together}}
func.func private @f(!tile.pipe<64 of [!tile.smem<[64, 64], bf16, swizzle 128>]>)
