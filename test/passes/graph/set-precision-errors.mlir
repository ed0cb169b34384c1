// RUN: kpc-opt %s --set-precision="keep=a(" -verify-diagnostics

// expected-error @below {{'a(' is no regular expression: parentheses not balanced}}
func.func @main() {
  return
}
