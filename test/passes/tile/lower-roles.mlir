// RUN: kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-place-shared,kpc-lower-tile,canonicalize,cse))' %s | FileCheck %s

gpu.module @m {
  // 384 threads start with 168 registers each, as many as fit: one role gives some back, the other takes more.
  // CHECK-LABEL: gpu.func @roles
  gpu.func @roles(%mark: memref<i32>, %count: memref<index>) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [384, 1, 1]>} {
    // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : i32
    // CHECK-DAG: %[[C2:.*]] = arith.constant 2 : i32
    // CHECK-DAG: %[[C4:.*]] = arith.constant 4 : i32
    // CHECK-DAG: %[[C12:.*]] = arith.constant 12 : i32
    // CHECK-DAG: %[[C3:.*]] = arith.constant 3 : i32
    // CHECK-DAG: %[[C128:.*]] = arith.constant 128 : i32
    // CHECK-DAG: %[[C256:.*]] = arith.constant 256 : i32
    // CHECK-DAG: %[[BARRIER10:.*]] = arith.constant 10 : i32
    // The warp's number comes from lane 0, so that it is uniform.
    // CHECK: %[[WARP:.*]] = nvvm.shfl.sync idx
    // There is no pipe whose barriers were to be set up.
    // CHECK-NEXT: nvvm.barrier
    tile.barrier_init

    // CHECK: scf.if
    // CHECK-NEXT: nvvm.setmaxregister decrease 40
    tile.role "producer" warps 0 to 4 registers 40 {
    ^bb0(%group: index):
      // A thread of the role's first warp, which meets behind. By elect.sync: then ptxas knows that it is one.
      // CHECK-NEXT: %[[ELECTED:.*]] = nvvm.elect.sync -> i1
      // CHECK-NEXT: %[[LEADING:.*]] = arith.cmpi eq, %[[WARP]], %[[C0]]
      // CHECK-NEXT: %[[ONE:.*]] = arith.andi %[[LEADING]], %[[ELECTED]]
      // CHECK-NEXT: scf.if %[[ONE]] {
      // CHECK-NEXT: memref.store
      // CHECK-NEXT: }
      // CHECK-NEXT: nvvm.bar.warp.sync
      tile.elect role {
        %one = arith.constant 1 : i32
        memref.store %one, %mark[] : memref<i32>
      }
    }
    // CHECK: }

    // CHECK: %[[FROM:.*]] = arith.cmpi sge, %[[WARP]], %[[C4]]
    // CHECK: %[[TO:.*]] = arith.cmpi slt, %[[WARP]], %[[C12]]
    // CHECK: %[[MINE:.*]] = arith.andi %[[FROM]], %[[TO]]
    // CHECK: %[[GROUP:.*]] = arith.index_cast %{{.*}} : i32 to index
    // CHECK: scf.if %[[MINE]]
    // CHECK-NEXT: nvvm.setmaxregister increase 232
    tile.role "consumer" warps 4 to 12 registers 232 {
    ^bb0(%group: index):
      // A thread of each warpgroup's first warp.
      // CHECK: nvvm.elect.sync
      // CHECK: %[[IN_GROUP:.*]] = arith.andi %[[WARP]], %[[C3]]
      // CHECK: arith.cmpi eq, %[[IN_GROUP]], %[[C0]]
      // CHECK: scf.if
      // CHECK: memref.store %[[GROUP]]
      tile.elect warpgroup {
        memref.store %group, %count[] : memref<index>
      }
      // A thread of the role's first warp of eight.
      // CHECK: nvvm.elect.sync
      // CHECK-NEXT: arith.cmpi eq, %[[WARP]], %[[C4]]
      // CHECK: scf.if
      tile.elect role {
        memref.store %group, %count[] : memref<index>
      }
      // Named barriers: 1 to 8 are the warpgroups', 9 and on the roles'.
      // CHECK: %[[NUMBER:.*]] = arith.shrui %[[WARP]], %[[C2]]
      // CHECK: %[[ID:.*]] = arith.addi %[[NUMBER]]
      // CHECK: nvvm.barrier id = %[[ID]] number_of_threads = %[[C128]]
      tile.sync warpgroup
      // CHECK: nvvm.barrier id = %[[BARRIER10]] number_of_threads = %[[C256]]
      tile.sync role
    }
    gpu.return
  }

  // Barriers 13 and on: one's own is waited for with the 128 threads of the warpgroup before, which arrive and go on.
  // CHECK-LABEL: gpu.func @turns
  gpu.func @turns() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [512, 1, 1]>} {
    tile.barrier_init
    tile.role "consumer" warps 4 to 16 registers 160 {
    ^bb0(%group: index):
      // CHECK-DAG: %[[PAIR:.*]] = arith.constant 256 : i32
      // CHECK-DAG: %[[FIRST:.*]] = arith.constant 13 : i32
      // CHECK: %[[GROUP:.*]] = arith.shrui %{{.*}}, %c2_i32
      // CHECK: %[[OWN:.*]] = arith.addi %[[GROUP]], %c12_i32
      // CHECK: nvvm.barrier id = %[[OWN]] number_of_threads = %[[PAIR]]
      tile.wait_turn
      // The last passes to the first.
      // CHECK: %[[NUMBER:.*]] = arith.addi %[[GROUP]], %c-1_i32
      // CHECK: %[[IS_LAST:.*]] = arith.cmpi eq, %[[NUMBER]], %c2_i32
      // CHECK: %[[BEHIND:.*]] = arith.addi %[[GROUP]], %[[FIRST]]
      // CHECK: %[[NEXT:.*]] = arith.select %[[IS_LAST]], %[[FIRST]], %[[BEHIND]]
      // CHECK: nvvm.barrier.arrive id = %[[NEXT]] number_of_threads = %[[PAIR]]
      tile.pass_turn
    }
    gpu.return
  }

  // A role with what the threads have changes nothing.
  // CHECK-LABEL: gpu.func @alike
  // CHECK-NOT: setmaxregister
  gpu.func @alike() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [256, 1, 1]>} {
    tile.role "all" warps 0 to 8 registers 248 {
    ^bb0(%group: index):
      tile.sync role
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @untouched
  // CHECK-NEXT: gpu.return
  gpu.func @untouched() kernel {
    gpu.return
  }
}
