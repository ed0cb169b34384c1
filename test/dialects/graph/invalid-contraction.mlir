// RUN: kpc-opt %s -verify-diagnostics -split-input-file

func.func @f(%x: !graph.tensor<[n, 4], f32>, %y: !graph.tensor<[4, 5], f16>) {
  // expected-error @below {{operands '!graph.tensor<[n, 4], f32>' and '!graph.tensor<[4, 5], f16>' need one element type and one rank of at least 2}}
  %0 = graph.matmul %x, %y : !graph.tensor<[n, 4], f32>, !graph.tensor<[4, 5], f16>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 4], f32>, %y: !graph.tensor<[5, 4], f32>) {
  // expected-error @below {{a has 4 columns, b has 5 rows}}
  %0 = graph.matmul %x, %y : !graph.tensor<[n, 4], f32>, !graph.tensor<[5, 4], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[2, n, 4], f32>, %y: !graph.tensor<[3, 4, 5], f32>) {
  // expected-error @below {{batch sizes 2 and 3 differ}}
  %0 = graph.matmul %x, %y : !graph.tensor<[2, n, 4], f32>, !graph.tensor<[3, 4, 5], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 8], f32>, %y: !graph.tensor<[3, 8], f32>) {
  // expected-error @below {{operands '!graph.tensor<[n, 8], f32>' and '!graph.tensor<[3, 8], f32>' need one element type and one rank of at least 3}}
  %0 = graph.conv %x, %y stride [1] dilation [1] low [0] high [0] groups 1 : !graph.tensor<[n, 8], f32>, !graph.tensor<[3, 8], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 8, 4], f32>, %y: !graph.tensor<[3, 2, 8], f32>) {
  // expected-error @below {{x has 4 channels, w takes 2 in each of 1 groups}}
  %0 = graph.conv %x, %y stride [1] dilation [1] low [0] high [0] groups 1 : !graph.tensor<[n, 8, 4], f32>, !graph.tensor<[3, 2, 8], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 8, 4], f32>, %y: !graph.tensor<[3, 2, 7], f32>) {
  // expected-error @below {{7 output channels do not divide into 2 groups}}
  %0 = graph.conv %x, %y stride [1] dilation [1] low [0] high [0] groups 2 : !graph.tensor<[n, 8, 4], f32>, !graph.tensor<[3, 2, 7], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 8, 4], f32>, %y: !graph.tensor<[k, 4, 8], f32>) {
  // expected-error @below {{kernel size k is not a positive number}}
  %0 = graph.conv %x, %y stride [1] dilation [1] low [0] high [0] groups 1 : !graph.tensor<[n, 8, 4], f32>, !graph.tensor<[k, 4, 8], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 8, 4], f32>, %y: !graph.tensor<[3, 4, 8], f32>) {
  // expected-error @below {{needs 1 entries in stride, dilation, low, high}}
  %0 = graph.conv %x, %y stride [1, 1] dilation [1] low [0] high [0] groups 1 : !graph.tensor<[n, 8, 4], f32>, !graph.tensor<[3, 4, 8], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[1, 1, 4], f32>, %y: !graph.tensor<[1, 4, 8], f32>) {
  // expected-error @below {{size -2 is negative}}
  %0 = graph.conv %x, %y stride [5] dilation [1] low [-3] high [0] groups 1 : !graph.tensor<[1, 1, 4], f32>, !graph.tensor<[1, 4, 8], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 8, 4], f32>, %y: !graph.tensor<[3, 4, 8], f32>) {
  // expected-error @below {{a tensor of more than 2^63 bytes}}
  %0 = graph.conv %x, %y stride [4611686018427387904] dilation [1] low [4611686018427387904] high [0] groups 1 : !graph.tensor<[n, 8, 4], f32>, !graph.tensor<[3, 4, 8], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 8, 4], f32>, %y: !graph.tensor<[3, 8], f32>) {
  // expected-error @below {{need one element type and one rank of at least 3}}
  %0 = graph.conv_transpose %x, %y stride [2] dilation [1] low [0] high [0] groups 1 : !graph.tensor<[n, 8, 4], f32>, !graph.tensor<[3, 8], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 8, 4], f32>, %y: !graph.tensor<[3, 6, 8], f32>) {
  // expected-error @below {{x has 4 channels, w takes 6 in 1 groups}}
  %0 = graph.conv_transpose %x, %y stride [2] dilation [1] low [0] high [0] groups 1 : !graph.tensor<[n, 8, 4], f32>, !graph.tensor<[3, 6, 8], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 8, 4], f32>, %y: !graph.tensor<[3, 4, 8], f32>) {
  // expected-error @below {{x has 4 channels, w takes 4 in 3 groups}}
  %0 = graph.conv_transpose %x, %y stride [2] dilation [1] low [0] high [0] groups 3 : !graph.tensor<[n, 8, 4], f32>, !graph.tensor<[3, 4, 8], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 8, 4], f32>, %y: !graph.tensor<[k, 4, 8], f32>) {
  // expected-error @below {{kernel size k is not a positive number}}
  %0 = graph.conv_transpose %x, %y stride [2] dilation [1] low [0] high [0] groups 1 : !graph.tensor<[n, 8, 4], f32>, !graph.tensor<[k, 4, 8], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 8, 4], f32>, %y: !graph.tensor<[3, 4, 8], f32>) {
  // expected-error @below {{strides and dilations must be positive}}
  %0 = graph.conv_transpose %x, %y stride [0] dilation [1] low [0] high [0] groups 1 : !graph.tensor<[n, 8, 4], f32>, !graph.tensor<[3, 4, 8], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 8, 4], f32>, %y: !graph.tensor<[3, 4, 8], f32>) {
  // expected-error @below {{a size leaves the range of 64-bit integers}}
  %0 = graph.conv_transpose %x, %y stride [4611686018427387904] dilation [1] low [0] high [0] groups 1 : !graph.tensor<[n, 8, 4], f32>, !graph.tensor<[3, 4, 8], f32>
  return
}

// -----

!q = !graph.tensor<[2, 4, s, 8], f16>
!k = !graph.tensor<[2, 2, t, 8], f16>
func.func @f(%q: !q, %k: !k, %v: !k) {
  // expected-error @below {{scale is not positive}}
  %0 = graph.attention %q, %k, %v scale 0.0 : !q, !k, !k
  return
}

// -----

!q = !graph.tensor<[2, 4, s, 8], f16>
!k = !graph.tensor<[2, 2, t, 8], f16>
func.func @f(%q: !q, %k: !k, %v: !k) {
  // expected-error @below {{softcap is not positive}}
  %0 = graph.attention %q, %k, %v scale 1.0 softcap -1.0 : !q, !k, !k
  return
}

// -----

!q = !graph.tensor<[2, 4, s, 8], f16>
!k = !graph.tensor<[2, 2, t, 8], f16>
func.func @f(%q: !q, %k: !k, %v: !k) {
  // expected-error @below {{causal is one expression}}
  %0 = graph.attention %q, %k, %v scale 1.0 causal <[s, t]> : !q, !k, !k
  return
}

// -----

!q = !graph.tensor<[2, 4, s, 8], f16>
!k = !graph.tensor<[2, 2, t, 8], f16>
!flat = !graph.tensor<[2, t, 8], f16>
func.func @f(%q: !q, %k: !flat, %v: !k) {
  // expected-error @below {{q, k and v need one element type and four dimensions, not '!graph.tensor<[2, t, 8], f16>'}}
  %0 = graph.attention %q, %k, %v scale 1.0 : !q, !flat, !k
  return
}

// -----

!q = !graph.tensor<[2, 4, s, 8], f16>
!k = !graph.tensor<[2, 2, t, 8], f16>
!other = !graph.tensor<[3, 2, t, 8], f16>
func.func @f(%q: !q, %k: !other, %v: !k) {
  // expected-error @below {{q '!graph.tensor<[2, 4, s, 8], f16>', k '!graph.tensor<[3, 2, t, 8], f16>' and v '!graph.tensor<[2, 2, t, 8], f16>' do not fit together}}
  %0 = graph.attention %q, %k, %v scale 1.0 : !q, !other, !k
  return
}

// -----

!q = !graph.tensor<[2, 4, s, 8], f16>
!k = !graph.tensor<[2, 2, t, 8], f16>
!other = !graph.tensor<[2, 3, t, 8], f16>
func.func @f(%q: !q, %k: !other) {
  // expected-error @below {{4 heads do not divide among 3 groups}}
  %0 = graph.attention %q, %k, %k scale 1.0 : !q, !other, !other
  return
}

// -----

!q = !graph.tensor<[2, 4, s, 8], f16>
!k = !graph.tensor<[2, 2, t, 8], f16>
!b = !graph.tensor<[1, 1, s, t], f32>
func.func @f(%q: !q, %k: !k, %v: !k, %b: !b) {
  // expected-error @below {{bias is of q's type and the scores' sizes}}
  %0 = graph.attention %q, %k, %v bias %b scale 1.0 : !q, !k, !k, !b
  return
}

// -----

!q = !graph.tensor<[2, 4, s, 8], f16>
!k = !graph.tensor<[2, 2, t, 8], f16>
!m = !graph.tensor<[1, 1, t, s], i1>
func.func @f(%q: !q, %k: !k, %v: !k, %m: !m) {
  // expected-error @below {{mask '!graph.tensor<[1, 1, t, s], i1>' does not fit scores of 2, 4, s, t}}
  %0 = graph.attention %q, %k, %v mask %m scale 1.0 : !q, !k, !k, !m
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 8, 4], f32>, %y: !graph.tensor<[3, 4, 8], f32>) {
  // expected-error @below {{'graph.live_taps': expected a constant number of outputs of one group that divides into 3 parts for w of '!graph.tensor<[3, 4, 8], f32>'}}
  %0 = graph.conv %x, %y stride [1] dilation [1] low [0] high [0] groups 1 {graph.live_taps = array<i64: 1, 2, 3>} : !graph.tensor<[n, 8, 4], f32>, !graph.tensor<[3, 4, 8], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 8, 4], f32>, %y: !graph.tensor<[3, 4, 8], f32>) {
  // expected-error @below {{'graph.live_taps': expected masks of 1 to 32 taps, none of them empty, got 8 for w of '!graph.tensor<[3, 4, 8], f32>'}}
  %0 = graph.conv %x, %y stride [1] dilation [1] low [0] high [0] groups 1 {graph.live_taps = array<i64: 1, 8>} : !graph.tensor<[n, 8, 4], f32>, !graph.tensor<[3, 4, 8], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 8, 4], f32>) {
  // expected-error @below {{expected 'graph.live_taps' on a graph.conv, a list of masks, got array<i64: 1>}}
  %0 = graph.relu %x {graph.live_taps = array<i64: 1>} : !graph.tensor<[n, 8, 4], f32>
  return
}
