// RUN: kpc-opt %s --lower-regions --split-input-file | FileCheck %s

// An output that keeps elements of an input, or replaces them by what does not depend on it, may take its memory.

!c = !graph.tensor<[n, 64], f32>
!h = !graph.tensor<[n, 64], f16>
!b = !graph.tensor<[n, 64], i1>

// CHECK: plan.input "where"
// CHECK: plan.output "present" takes 2
func.func @main(%where: !b {graph.name = "where"}, %new: !c {graph.name = "new"}, %past: !c {graph.name = "past"}) -> (!c {graph.name = "present"}) {
  %0 = graph.region "update" (%where, %new, %past) : (!b, !c, !c) -> !c {
  ^bb0(%w: !b, %n: !c, %p: !c):
    %e = graph.exp %n : !c
    %y = graph.select %w, %e, %p : !b, !c
    graph.yield %y : !c
  }
  return %0 : !c
}

// -----

!c = !graph.tensor<[n, 64], f32>
!h = !graph.tensor<[n, 64], f16>
!b = !graph.tensor<[n, 64], i1>

// Conversions on the way change nothing.
// CHECK: plan.output "present" takes 1
func.func @main(%where: !b {graph.name = "where"}, %past: !h {graph.name = "past"}, %new: !c {graph.name = "new"}) -> (!h {graph.name = "present"}) {
  %0 = graph.region "update" (%where, %past, %new) : (!b, !h, !c) -> !h {
  ^bb0(%w: !b, %p: !h, %n: !c):
    %f = graph.cast %p to f32 : !h
    %y = graph.select %w, %f, %n : !b, !c
    %r = graph.cast %y to f16 : !c
    graph.yield %r : !h
  }
  return %0 : !h
}

// -----

!c = !graph.tensor<[n, 64], f32>
!b = !graph.tensor<[n, 64], i1>

// What is new depends on the cache; another kernel reads the cache; it is an output itself.
// CHECK: plan.output "from_itself" :
// CHECK: plan.output "read_again" :
// CHECK: plan.output "sum" :
func.func @main(%where: !b {graph.name = "where"}, %a: !c {graph.name = "a"}, %b: !c {graph.name = "b"})
    -> (!c {graph.name = "from_itself"}, !c {graph.name = "read_again"}, !c {graph.name = "sum"}) {
  %0 = graph.region "one" (%where, %a) : (!b, !c) -> !c {
  ^bb0(%w: !b, %p: !c):
    %e = graph.exp %p : !c
    %y = graph.select %w, %e, %p : !b, !c
    graph.yield %y : !c
  }
  %1 = graph.region "two" (%where, %0, %b) : (!b, !c, !c) -> !c {
  ^bb0(%w: !b, %n: !c, %p: !c):
    %y = graph.select %w, %n, %p : !b, !c
    graph.yield %y : !c
  }
  %2 = graph.region "three" (%1, %b) : (!c, !c) -> !c {
  ^bb0(%n: !c, %p: !c):
    %y = graph.add %n, %p : !c
    graph.yield %y : !c
  }
  return %0, %1, %2 : !c, !c, !c
}

// -----

!c = !graph.tensor<[n, 64], f32>
!b = !graph.tensor<[n, 64], i1>

// Attention reads the cache behind the kernel that adds to it.
// CHECK: plan.output "present" takes 1
// CHECK: plan.output "read" :
func.func @main(%where: !b {graph.name = "where"}, %past: !c {graph.name = "past"}, %new: !c {graph.name = "new"})
    -> (!c {graph.name = "present"}, !c {graph.name = "read"}) {
  %0 = graph.region "update" (%where, %new, %past) : (!b, !c, !c) -> !c {
  ^bb0(%w: !b, %n: !c, %p: !c):
    %e = graph.exp %n : !c
    %y = graph.select %w, %e, %p : !b, !c
    graph.yield %y : !c
  }
  %1 = graph.region "read" (%0) : (!c) -> !c {
  ^bb0(%p: !c):
    %y = graph.exp %p : !c
    graph.yield %y : !c
  }
  return %0, %1 : !c, !c
}

// -----

!c = !graph.tensor<[n, 64], f32>
!b = !graph.tensor<[n, 64], i1>

// One memory is not two outputs.
// CHECK: plan.output "present" :
// CHECK: plan.output "again" :
func.func @main(%where: !b {graph.name = "where"}, %past: !c {graph.name = "past"}, %new: !c {graph.name = "new"})
    -> (!c {graph.name = "present"}, !c {graph.name = "again"}) {
  %0 = graph.region "update" (%where, %new, %past) : (!b, !c, !c) -> !c {
  ^bb0(%w: !b, %n: !c, %p: !c):
    %e = graph.exp %n : !c
    %y = graph.select %w, %e, %p : !b, !c
    graph.yield %y : !c
  }
  return %0, %0 : !c, !c
}

// -----

!c = !graph.tensor<[n, 64], f32>
!b = !graph.tensor<[n, 64], i1>

// Keys and then values are written to one buffer.
// CHECK: plan.output "present" takes 3
func.func @main(%keys: !b {graph.name = "keys"}, %values: !b {graph.name = "values"}, %new: !c {graph.name = "new"}, %past: !c {graph.name = "past"}) -> (!c {graph.name = "present"}) {
  %0 = graph.region "update" (%keys, %values, %new, %past) : (!b, !b, !c, !c) -> !c {
  ^bb0(%k: !b, %v: !b, %n: !c, %p: !c):
    %y = graph.select %k, %n, %p : !b, !c
    %e = graph.exp %n : !c
    %z = graph.select %v, %e, %y : !b, !c
    graph.yield %z : !c
  }
  return %0 : !c
}

// -----

!c = !graph.tensor<[n, 64], f32>
!b = !graph.tensor<[n, 64], i1>

// What is written second depends on what was there.
// CHECK: plan.output "present" :
func.func @main(%keys: !b {graph.name = "keys"}, %values: !b {graph.name = "values"}, %new: !c {graph.name = "new"}, %past: !c {graph.name = "past"}) -> (!c {graph.name = "present"}) {
  %0 = graph.region "update" (%keys, %values, %new, %past) : (!b, !b, !c, !c) -> !c {
  ^bb0(%k: !b, %v: !b, %n: !c, %p: !c):
    %y = graph.select %k, %n, %p : !b, !c
    %e = graph.exp %y : !c
    %z = graph.select %v, %e, %y : !b, !c
    graph.yield %z : !c
  }
  return %0 : !c
}
