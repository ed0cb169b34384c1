// RUN: kpc compile %s --arch host -o %t.kpc --no-cache --quiet
// RUN: kpc inspect %t.kpc | FileCheck %s

// Every elementwise op in programs that become machine code.

// CHECK: float_result
// CHECK: integer_result

!f = !graph.tensor<[n, 4], f32>
!i = !graph.tensor<[n, 4], i32>
!b = !graph.tensor<[n, 4], i1>

module attributes {graph.symbols = {n = {min = 1, max = 8}}} {
  func.func @main(%x: !f {graph.name = "x"}, %y: !f {graph.name = "y"}, %a: !i {graph.name = "a"}, %b: !i {graph.name = "b"})
      -> (!f {graph.name = "float_result"}, !i {graph.name = "integer_result"}) {
    %0 = graph.abs %x : !f
    %1 = graph.add %x, %0 : !f
    %2 = graph.neg %x : !f
    %3 = graph.add %1, %2 : !f
    %4 = graph.sign %x : !f
    %5 = graph.add %3, %4 : !f
    %6 = graph.ceil %x : !f
    %7 = graph.add %5, %6 : !f
    %8 = graph.floor %x : !f
    %9 = graph.add %7, %8 : !f
    %10 = graph.round %x : !f
    %11 = graph.add %9, %10 : !f
    %12 = graph.sqrt %x : !f
    %13 = graph.add %11, %12 : !f
    %14 = graph.rsqrt %x : !f
    %15 = graph.add %13, %14 : !f
    %16 = graph.reciprocal %x : !f
    %17 = graph.add %15, %16 : !f
    %18 = graph.exp %x : !f
    %19 = graph.add %17, %18 : !f
    %20 = graph.expm1 %x : !f
    %21 = graph.add %19, %20 : !f
    %22 = graph.log %x : !f
    %23 = graph.add %21, %22 : !f
    %24 = graph.log1p %x : !f
    %25 = graph.add %23, %24 : !f
    %26 = graph.sin %x : !f
    %27 = graph.add %25, %26 : !f
    %28 = graph.cos %x : !f
    %29 = graph.add %27, %28 : !f
    %30 = graph.tan %x : !f
    %31 = graph.add %29, %30 : !f
    %32 = graph.asin %x : !f
    %33 = graph.add %31, %32 : !f
    %34 = graph.acos %x : !f
    %35 = graph.add %33, %34 : !f
    %36 = graph.atan %x : !f
    %37 = graph.add %35, %36 : !f
    %38 = graph.sinh %x : !f
    %39 = graph.add %37, %38 : !f
    %40 = graph.cosh %x : !f
    %41 = graph.add %39, %40 : !f
    %42 = graph.tanh %x : !f
    %43 = graph.add %41, %42 : !f
    %44 = graph.asinh %x : !f
    %45 = graph.add %43, %44 : !f
    %46 = graph.acosh %x : !f
    %47 = graph.add %45, %46 : !f
    %48 = graph.atanh %x : !f
    %49 = graph.add %47, %48 : !f
    %50 = graph.erf %x : !f
    %51 = graph.add %49, %50 : !f
    %52 = graph.sigmoid %x : !f
    %53 = graph.add %51, %52 : !f
    %54 = graph.relu %x : !f
    %55 = graph.add %53, %54 : !f
    %56 = graph.add %x, %y : !f
    %57 = graph.add %55, %56 : !f
    %58 = graph.sub %x, %y : !f
    %59 = graph.add %57, %58 : !f
    %60 = graph.mul %x, %y : !f
    %61 = graph.add %59, %60 : !f
    %62 = graph.div %x, %y : !f
    %63 = graph.add %61, %62 : !f
    %64 = graph.pow %x, %y : !f
    %65 = graph.add %63, %64 : !f
    %66 = graph.min %x, %y : !f
    %67 = graph.add %65, %66 : !f
    %68 = graph.max %x, %y : !f
    %69 = graph.add %67, %68 : !f
    %70 = graph.mod %x, %y : !f
    %71 = graph.add %69, %70 : !f
    %72 = graph.rem %x, %y : !f
    %73 = graph.add %71, %72 : !f
    %74 = graph.compare lt, %x, %y : !f
    %75 = graph.is_nan %x : !f
    %76 = graph.or %74, %75 : !b
    %77 = graph.is_inf %x {negative = false} : !f
    %78 = graph.xor %76, %77 : !b
    %79 = graph.not %78 : !b
    %80 = graph.select %79, %73, %y : !b, !f
    %81 = graph.abs %a : !i
    %82 = graph.add %a, %81 : !i
    %83 = graph.neg %a : !i
    %84 = graph.add %82, %83 : !i
    %85 = graph.sign %a : !i
    %86 = graph.add %84, %85 : !i
    %87 = graph.relu %a : !i
    %88 = graph.add %86, %87 : !i
    %89 = graph.not %a : !i
    %90 = graph.add %88, %89 : !i
    %91 = graph.add %a, %b : !i
    %92 = graph.xor %90, %91 : !i
    %93 = graph.sub %a, %b : !i
    %94 = graph.xor %92, %93 : !i
    %95 = graph.mul %a, %b : !i
    %96 = graph.xor %94, %95 : !i
    %97 = graph.div %a, %b : !i
    %98 = graph.xor %96, %97 : !i
    %99 = graph.pow %a, %b : !i
    %100 = graph.xor %98, %99 : !i
    %101 = graph.min %a, %b : !i
    %102 = graph.xor %100, %101 : !i
    %103 = graph.max %a, %b : !i
    %104 = graph.xor %102, %103 : !i
    %105 = graph.mod %a, %b : !i
    %106 = graph.xor %104, %105 : !i
    %107 = graph.rem %a, %b : !i
    %108 = graph.xor %106, %107 : !i
    %109 = graph.and %a, %b : !i
    %110 = graph.xor %108, %109 : !i
    %111 = graph.or %a, %b : !i
    %112 = graph.xor %110, %111 : !i
    %113 = graph.xor %a, %b : !i
    %114 = graph.xor %112, %113 : !i
    %115 = graph.shl %a, %b : !i
    %116 = graph.xor %114, %115 : !i
    %117 = graph.shr %a, %b : !i
    %118 = graph.xor %116, %117 : !i
    %119 = graph.cast %x to i32 : !f
    %120 = graph.add %118, %119 : !i
    return %80, %120 : !f, !i
  }
}
