// RUN: kpc compile %s --arch host -o %t.host.kpc --no-cache --quiet
// RUN: kpc inspect %t.host.kpc | FileCheck %s --check-prefix=HOST
// RUN: kpc compile %s --arch sm_90a --variants 1 --emit ptx -o - --no-cache --quiet | FileCheck %s --check-prefix=HOPPER

// The host has no kernel for attention: products and a softmax. Hopper has one.

// HOST: 11 kernels
// HOPPER: .entry attention(
// HOPPER: wgmma.mma_async
// HOPPER-NOT: .entry

!q = !graph.tensor<[2, 4, s, 64], f16>
!k = !graph.tensor<[2, 2, t, 64], f16>
!m = !graph.tensor<[1, 1, s, t], i1>

module attributes {graph.symbols = {s = {min = 1, max = 512}, t = {min = 1, max = 512}}} {
  func.func @main(%q: !q {graph.name = "q"}, %k: !k {graph.name = "k"}, %v: !k {graph.name = "v"}, %m: !m {graph.name = "m"})
      -> (!q {graph.name = "y"}) {
    %0 = graph.attention %q, %k, %v mask %m scale 0.125 causal <[0]> : !q, !k, !k, !m
    return %0 : !q
  }
}
