// RUN: kpc-opt %s -verify-diagnostics -split-input-file

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{axis 1 is outside the rank}}
  %0, %1 = graph.sort %x axis 1 : !graph.tensor<[n], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{expected one expression in 'first', got 2}}
  %0, %1 = graph.sort %x axis 0 first <[2, 3]> : !graph.tensor<[n], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[8192], i32>) {
  // expected-error @below {{expected rows of i64, got '!graph.tensor<[8192], i32>'}}
  %0 = graph.sort_runs %x from 1 to 4096 : !graph.tensor<[8192], i32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[8192], i64>) {
  // expected-error @below {{expected runs of 1 to become a power of two up to 4096, or runs twice as long, got 1024 to 8192}}
  %0 = graph.sort_runs %x from 1024 to 8192 : !graph.tensor<[8192], i64>
  return
}

// -----

func.func @f(%s: !graph.tensor<[n], i32>, %v: !graph.tensor<[m], i64>) {
  // expected-error @below {{expected a vector and values of one type, got '!graph.tensor<[n], i32>' and '!graph.tensor<[m], i64>'}}
  %0 = graph.search_sorted %s, %v : !graph.tensor<[n], i32>, !graph.tensor<[m], i64>
  return
}

// -----

func.func @f(%x: !graph.tensor<[p, 4], f32>, %u: !graph.tensor<[n, 4], f32>, %o: !graph.tensor<[n], i64>, %b: !graph.tensor<[p], i32>) {
  // expected-error @below {{x '!graph.tensor<[p, 4], f32>', updates '!graph.tensor<[n, 4], f32>', order '!graph.tensor<[n], i64>' and starts '!graph.tensor<[p], i32>' do not fit together}}
  %0 = graph.fold_segments add, %x, %u, %o, %b
    : !graph.tensor<[p, 4], f32>, !graph.tensor<[n, 4], f32>, !graph.tensor<[n], i64>, !graph.tensor<[p], i32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{expected integers of more than 17 bits, got '!graph.tensor<[n], f32>'}}
  %0, %1 = graph.sort %x axis 0 bits 17 : !graph.tensor<[n], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[8192], i64>) {
  // expected-error @below {{expected one expression in 'first', and rows that are one run sorted at once}}
  %0 = graph.sort_runs %x from 1 to 4096 first <[3]> : !graph.tensor<[8192], i64>
  return
}

// -----

func.func @f(%x: !graph.tensor<[8192], i32>) {
  // expected-error @below {{expected rows of i64, got '!graph.tensor<[8192], i32>'}}
  %0 = graph.digit_counts %x shift 0 bits 8 parts 4 : !graph.tensor<[8192], i32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[8192], i64>) {
  // expected-error @below {{expected a digit of 1 to 8 bits inside of 64, got 8 from bit 60 on}}
  %0 = graph.digit_counts %x shift 60 bits 8 parts 4 : !graph.tensor<[8192], i64>
  return
}

// -----

func.func @f(%x: !graph.tensor<[8192], i64>) {
  // expected-error @below {{expected one part or more, got 0}}
  %0 = graph.digit_counts %x shift 0 bits 8 parts 0 : !graph.tensor<[8192], i64>
  return
}

// -----

func.func @f(%x: !graph.tensor<[b, 8192], i64>, %c: !graph.tensor<[4, 256], i32>) {
  // expected-error @below {{counts '!graph.tensor<[4, 256], i32>' are none of '!graph.tensor<[b, 8192], i64>'}}
  %0 = graph.order_by_digit %x, %c shift 0 : !graph.tensor<[b, 8192], i64>, !graph.tensor<[4, 256], i32>
  return
}
