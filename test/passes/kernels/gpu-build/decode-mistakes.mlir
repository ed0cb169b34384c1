// Mistakes that a builder could make with its ring of stages: the kernel is built, changed in one place, and refused.

// DEFINE: %{build} = kpc-opt --kpc-gpu-build-kernels=arch=sm_80 %S/decode.mlir
// DEFINE: %{lower} = kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-place-shared,kpc-lower-tile))'

// As it is built, it is in step.
// RUN: %{build} | %{lower} | FileCheck %s --check-prefix=RIGHT
// RIGHT: nvvm.cp.async.wait.group 0

// RUN: %{build} | sed '/tile.drain/d' | not %{lower} 2>&1 | FileCheck %s --check-prefix=DRAIN
// DRAIN: 'tile.reuse' op expected 'tile.drain' and then 'tile.sync block' before the memory of a ring of warps

// RUN: %{build} | sed '/tile.sync block/d' | not %{lower} 2>&1 | FileCheck %s --check-prefix=SYNC
// SYNC: 'tile.reuse' op expected 'tile.drain' and then 'tile.sync block' before the memory of a ring of warps

// The wait leaves its own stage in flight.
// RUN: %{build} | sed -E 's/(tile.wait [^ ]*)( in_flight [0-9]+)?/\1 in_flight 9/' | not %{lower} 2>&1 | FileCheck %s --check-prefix=WAIT
// WAIT: 'tile.wait' op expected at most the {{[0-9]+}} younger groups in flight, got 9: the stage would not be full

// A stage is never given back, or never filled.
// RUN: %{build} | sed '/tile.release/d' | not %{lower} 2>&1 | FileCheck %s --check-prefix=RELEASE
// RELEASE: 'tile.wait' op expected exactly one op that commits, releases or carries its stage, got 0

// RUN: %{build} | sed '0,/tile.commit/{/tile.commit/d}' | not %{lower} 2>&1 | FileCheck %s --check-prefix=COMMIT
// COMMIT: 'tile.acquire' op expected exactly one op that commits, releases or carries its stage, got 0

// A ring with a stage less than the program fills ahead.
// RUN: %{build} | sed -E 's/<(2|3|4) of/<1 of/g' | not %{lower} 2>&1 | FileCheck %s --check-prefix=STAGES
// STAGES: 'tile.acquire' op expected a stage that is free: of 1,

// The loop goes on at its first place in each round, or fills the stage that it reads.
// RUN: %{build} | sed -E 's/(tile.next %[^ ]*)\[%arg[0-9]+\]/\1[%none]/; s/(%[0-9]+ = tile.cursor)/\1\n%none = tile.cursor/' | not %{lower} 2>&1 | FileCheck %s --check-prefix=PLACE
// PLACE: 'tile.acquire' op expected the place after the stage that was acquired last
