// RUN: kpc-opt %s --kpc-expand-math | FileCheck %s

// A number without a sign: the lower bound, which NaN takes as well, stands for the ReLU in front.
// 0.03 needs 48 bits of its reciprocal.
// CHECK-LABEL: @without_a_sign(
// CHECK-SAME: %[[X:.*]]: f32
// CHECK-DAG: %[[LOW:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG: %[[HIGH:.*]] = arith.constant 7.64999961 : f32
// CHECK-DAG: %[[MAGIC:.*]] = arith.constant 0x4B400000 : f32
// CHECK: %[[ABOVE:.*]] = arith.maxnumf %[[X]], %[[LOW]]
// CHECK: %[[IN:.*]] = arith.minnumf %[[ABOVE]], %[[HIGH]]
// CHECK: %[[REST:.*]] = arith.mulf %[[IN]]
// CHECK: %[[QUOTIENT:.*]] = math.fma %[[IN]], %{{.*}}, %[[REST]]
// CHECK: %[[SUM:.*]] = arith.addf %[[QUOTIENT]], %[[MAGIC]]
// CHECK: %[[BITS:.*]] = arith.bitcast %[[SUM]] : f32 to i32
// CHECK: %[[CODE:.*]] = arith.trunci %[[BITS]] : i32 to i8
// CHECK-NEXT: return %[[CODE]]
func.func @without_a_sign(%x: f32) -> i8 {
  %zero = arith.constant 0.0 : f32
  %most = arith.constant 255.0 : f32
  %scale = arith.constant 0.03 : f32
  %relu = arith.maximumf %x, %zero : f32
  %quotient = arith.divf %relu, %scale : f32
  %round = math.roundeven %quotient : f32
  %above = arith.maximumf %round, %zero : f32
  %in = arith.minimumf %above, %most : f32
  %c0 = arith.constant 0 : i8
  %nan = arith.cmpf uno, %in, %in : f32
  %low = arith.maxnumf %in, %zero : f32
  %high = arith.minnumf %low, %most : f32
  %code = arith.fptoui %high : f32 to i8
  %y = arith.select %nan, %c0, %code : i8
  return %y : i8
}

// The reciprocal of a power of two is exact: one instruction. NaN gives 0, which is not the lower bound here.
// CHECK-LABEL: @with_a_sign(
// CHECK-NOT: arith.divf
// CHECK: %[[SUM:.*]] = math.fma
// CHECK: arith.trunci
// CHECK: %[[ZERO:.*]] = arith.addi %{{.*}}, %{{.*}} : i8
// CHECK: %[[NAN:.*]] = arith.cmpf uno, %[[X:.*]], %[[X]]
// CHECK: arith.select %[[NAN]], %{{.*}}, %[[ZERO]]
func.func @with_a_sign(%x: f32) -> i8 {
  %least = arith.constant -128.0 : f32
  %most = arith.constant 127.0 : f32
  %scale = arith.constant 0.25 : f32
  %point = arith.constant -3.0 : f32
  %quotient = arith.divf %x, %scale : f32
  %round = math.roundeven %quotient : f32
  %moved = arith.addf %round, %point : f32
  %above = arith.maximumf %moved, %least : f32
  %in = arith.minimumf %above, %most : f32
  %c0 = arith.constant 0 : i8
  %nan = arith.cmpf uno, %in, %in : f32
  %low = arith.maxnumf %in, %least : f32
  %high = arith.minnumf %low, %most : f32
  %code = arith.fptosi %high : f32 to i8
  %y = arith.select %nan, %c0, %code : i8
  return %y : i8
}

// A ReLU that keeps NaN, and a zero point: NaN gives 0, what is below the ReLU 128.
// CHECK-LABEL: @relu_and_zero_point(
// CHECK: arith.maxnumf %{{.*}}, %{{.*}}
// CHECK: arith.select
func.func @relu_and_zero_point(%x: f32) -> i8 {
  %zero = arith.constant 0.0 : f32
  %most = arith.constant 255.0 : f32
  %scale = arith.constant 0.1 : f32
  %point = arith.constant 128.0 : f32
  %relu = arith.maximumf %x, %zero : f32
  %quotient = arith.divf %relu, %scale : f32
  %round = math.roundeven %quotient : f32
  %moved = arith.addf %round, %point : f32
  %above = arith.maximumf %moved, %zero : f32
  %in = arith.minimumf %above, %most : f32
  %c0 = arith.constant 0 : i8
  %nan = arith.cmpf uno, %in, %in : f32
  %low = arith.maxnumf %in, %zero : f32
  %high = arith.minnumf %low, %most : f32
  %code = arith.fptoui %high : f32 to i8
  %y = arith.select %nan, %c0, %code : i8
  return %y : i8
}

// A scale that the run knows is divided by; vectors are as scalars; what is not rounded stays a conversion.
// CHECK-LABEL: @scale_of_the_run(
// CHECK: arith.minnumf %{{.*}} : vector<4xf32>
// CHECK: arith.addf %{{.*}} : vector<4xf32>
// CHECK-NOT: arith.fptosi
func.func @scale_of_the_run(%x: vector<4xf32>, %scale: vector<4xf32>) -> vector<4xi8> {
  %least = arith.constant dense<-128.0> : vector<4xf32>
  %most = arith.constant dense<127.0> : vector<4xf32>
  %quotient = arith.divf %x, %scale : vector<4xf32>
  %round = math.roundeven %quotient : vector<4xf32>
  %c0 = arith.constant dense<0> : vector<4xi8>
  %nan = arith.cmpf uno, %round, %round : vector<4xf32>
  %low = arith.maxnumf %round, %least : vector<4xf32>
  %high = arith.minnumf %low, %most : vector<4xf32>
  %code = arith.fptosi %high : vector<4xf32> to vector<4xi8>
  %y = arith.select %nan, %c0, %code : vector<4xi1>, vector<4xi8>
  return %y : vector<4xi8>
}

// CHECK-LABEL: @not_rounded(
// CHECK: arith.fptosi
func.func @not_rounded(%x: f32) -> i8 {
  %least = arith.constant -128.0 : f32
  %most = arith.constant 127.0 : f32
  %c0 = arith.constant 0 : i8
  %nan = arith.cmpf uno, %x, %x : f32
  %low = arith.maxnumf %x, %least : f32
  %high = arith.minnumf %low, %most : f32
  %code = arith.fptosi %high : f32 to i8
  %y = arith.select %nan, %c0, %code : i8
  return %y : i8
}
