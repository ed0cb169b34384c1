// RUN: kpc-opt %s --set-precision="keep=a(" -verify-diagnostics
// RUN: not kpc-opt %s --set-precision=to=f15 2>&1 | FileCheck %s
// CHECK: error: 'f15' is none of f32, f16, bf16

// expected-error @below {{'a(' is no regular expression: parentheses not balanced}}
module {
  func.func @main() {
    return
  }
}
