//===- TileRole.td - Who does what ----------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of a block and their meeting points.
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TILE_ROLE
#define KPC_TILE_ROLE

include "dialects/tile/TileMma.td"

def Tile_Scope : I32EnumAttr<"Scope", "", [I32EnumAttrCase<"Warpgroup", 0, "warpgroup">,
                                           I32EnumAttrCase<"Role", 1, "role">,
                                           I32EnumAttrCase<"Block", 2, "block">]> {
  let cppNamespace = "::kpc::tile";
}

def Tile_RoleOp : Tile_Op<"role", [SingleBlock, SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects]> {
  let summary = "The code that only some warps of the block execute";
  let description = [{
    Warps `first` up to, not including, `end`, both multiples of 4: warpgroups.
    The region's argument is the number of the warpgroup in the role.
    `registers`, a multiple of 8 from 24 to 256, is what each thread has from
    here on; over all roles they must fit what the block was launched with.
    Without `registers`, they keep those of the launch, and a role may be of
    some warps of a warpgroup. Roles without registers may stand in one that has
    them, and divide its warps.

    ```mlir
    tile.role "consumer" warps 4 to 12 registers 232 {
    ^bb0(%group: index):
      …
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, I32Attr:$first, I32Attr:$end,
                       DefaultValuedAttr<I32Attr, "0">:$registers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name `warps` $first `to` $end (`registers` $registers^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Tile_ElectOp : Tile_Op<"elect", [SingleBlock, SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects]> {
  let summary = "The code that one thread executes for its warpgroup, or for its role";
  let description = "The first warp of these reconverges after it.";
  let arguments = (ins Tile_Scope:$scope);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$scope attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Tile_SyncOp : Tile_Op<"sync"> {
  let summary = "A barrier of all threads of the warpgroup, role or block";
  let arguments = (ins Tile_Scope:$scope);
  let assemblyFormat = "$scope attr-dict";
  let hasVerifier = 1;
}

def Tile_WaitTurnOp : Tile_Op<"wait_turn"> {
  let summary = "Waits until the warpgroup before this one has passed the turn";
  let description = [{
    The two or three warpgroups of a role take turns; the first follows the last.
    A warpgroup waits for its turn here and ends it with `tile.pass_turn`. At the
    beginning no warpgroup has the turn: the last one passes it before its own
    first wait. A warpgroup must wait for each turn that is passed to it.

    ```mlir
    scf.for %tile … {
      tile.wait_turn
      …                 // begins products
      tile.pass_turn    // the next warpgroup begins its own
      …                 // while this one does something else
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Tile_PassTurnOp : Tile_Op<"pass_turn"> {
  let summary = "Passes the turn to the next warpgroup of the role, without waiting";
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

#endif // KPC_TILE_ROLE
