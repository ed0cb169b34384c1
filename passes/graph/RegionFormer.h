//===- RegionFormer.h - Which ops share a kernel ----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What FormRegions.cpp and FormRowRegions.cpp share: groups of ops that are on
/// the way to be regions. The first says which ops join a group, the second
/// what groups of reduced rows take and share.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_REGIONFORMER_H
#define KPC_PASSES_GRAPH_REGIONFORMER_H

#include "dialects/shape/Facts.h"
#include "passes/graph/IndexPaths.h"
#include "passes/graph/RowSpace.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <memory>
#include <optional>
#include <vector>

namespace kpc::graph {

/// Puts the ops of a block into regions.
class RegionFormer {
public:
  struct Rules {
    unsigned MaxOps = 64;
    bool Fuse = true;
    /// Elements of the longest row that one kernel keeps; 0: none does.
    int64_t LongestRow = 0;
    /// Bits of the widest elements that a product reads transposed; 0: none.
    unsigned Transposed = 0;
  };

  RegionFormer(mlir::Block &Body, const Rules &Rule, const shape::Facts &Facts);

  void run();

private:
  struct Group {
    /// In the order found: last op first.
    llvm::SmallVector<mlir::Operation *> Ops;
    mlir::Operation *Root = nullptr;
    /// Where the root ops are reductions of rows of one shape: this one. Then
    /// `InRows` are those ops from which all paths to results keep to the rows.
    std::optional<RowSpace> Rows;
    llvm::DenseSet<mlir::Operation *> InRows;
    /// Ops whose results others use too.
    llvm::SmallVector<mlir::Operation *> Shared;
  };

  void place(mlir::Operation *Op);
  /// Empty if `Op` may join `G`, else the reason against.
  llvm::StringRef refusal(mlir::Operation *Op, Group &G);
  bool mayFinish(mlir::Operation *Op, Group &G);
  Group *groupToJoin(mlir::Operation *Op);
  Group *groupOfAllUsers(mlir::Operation *Op, llvm::StringRef &Why);
  bool usedAtSameIndex(mlir::Operation *Op);
  bool followsPaths(mlir::Operation *Op, Group &G);
  bool scalesCodes(mlir::Operation *Op) const;
  bool isCheaperAgain(mlir::Operation *Op) const;
  bool makesDigits(mlir::Operation *Op) const;
  void cloneForKernels(mlir::Operation *Op);
  void build(Group &G);
  void eraseDeadSources();
  void fillSplats();
  bool isTransposedByCopies(mlir::Operation *Op, mlir::Operation *User) const;
  bool isReadByCopies(mlir::Operation *Op, mlir::Operation *User) const;

  // Of rows (FormRowRegions.cpp).
  void findRows();
  std::optional<RowSpace> rowsReducedBy(mlir::Operation *Op);
  bool joinsRows(mlir::Operation *Reduce, Group &G);
  bool leavesRows(mlir::Operation *Op, Group &G);
  bool isResidualOfRows(mlir::Operation *Op, Group &G);
  bool waitsForOperand(mlir::Operation *Op);
  Group *groupToShareWith(mlir::Operation *Op, llvm::StringRef &Why);
  bool isBehind(mlir::Operation *User, Group &G);
  std::optional<RowSpace> rowsOf(Group &G) const;

  mlir::Block &Body;
  Rules Rule;
  const shape::Facts &Facts;
  bool HasCodeProducts = false;
  /// The place of each op in the block.
  llvm::DenseMap<mlir::Operation *, unsigned> Place;
  /// Ops made of reduced rows, to a reduction of these.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> MadeOfRows;
  std::vector<std::unique_ptr<Group>> Groups;
  llvm::DenseMap<mlir::Operation *, Group *> GroupOf;
  /// Ops from which every path to the group's result is elementwise.
  llvm::DenseSet<mlir::Operation *> AtSameIndex;
  IndexPaths Paths;
  /// Transposes and gathers that a product reads through.
  llvm::DenseSet<mlir::Operation *> Transposed;
};

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_REGIONFORMER_H
