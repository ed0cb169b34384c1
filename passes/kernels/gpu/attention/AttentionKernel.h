//===- AttentionKernel.h - A kernel that is one attention -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What builders ask of a kernel that holds a kernel.attention: its sizes, and
/// where q, k, v and y lie in memory. What only widens, narrows, permutes or
/// takes some of the heads between the op and memory costs nothing: it becomes
/// an element type, an order of strides and a first head. Keys and values may
/// be those of a cache and then new rows, which the kernel stores, too.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONKERNEL_H
#define KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONKERNEL_H

#include "passes/kernels/gpu/GpuThreads.h"
#include "passes/kernels/gpu/attention/KeyRange.h"

#include "dialects/kernel/Kernel.h"
#include "dialects/shape/Facts.h"
#include "passes/schedule/AttentionSchedule.h"
#include "passes/schedule/DecodeSchedule.h"

#include <array>

namespace kpc::kernels {

/// A tensor [batch, head, row, column] in memory. Strides in elements.
struct HeadsInMemory {
  unsigned Argument = 0; ///< the function's, the base pointer
  mlir::Type Element;    ///< as stored
  std::array<shape::Expr, 4> Strides;
  std::array<mlir::OpFoldResult, 4>
      StrideSizes; ///< as they stand in the kernel
  /// Where its heads begin among those of the tensor in memory.
  int64_t FirstHead = 0;
};

/// Which of a cache's rows are new where only the run knows it. Tensors are of
/// all rows, and have the same element for all columns.
struct CacheRows {
  mlir::Value IsNew;    ///< of i1
  bool Negated = false; ///< `IsNew` says which rows are the cache's
  mlir::Value NewAt;    ///< which of the new rows each is, where it is one
  mlir::Value PastAt; ///< which of the cache's, where it is one; null: its own
  /// Rows that these are among, as they stand in the kernel.
  mlir::OpFoldResult NewCount, PastCount;
  /// Which dimension of the tensors each of the heads' is.
  std::array<unsigned, 4> Dims;
  /// All rows lie as the cache's do: where their memory is the same, that of
  /// the cache's rows need not be written.
  bool MayBeInPlace = false;
};

/// New rows after those of a cache, or in place of some of them, and where all
/// of them are stored: K, V and the rows in `K` and `V` are what the attention
/// sees.
struct AppendedRows {
  HeadsInMemory K, V, PresentK, PresentV;
  /// Rows of the cache, as it stands in the kernel, before the new ones; null
  /// where each row is chosen.
  mlir::OpFoldResult PastSize;
  std::optional<CacheRows> OfK, OfV;
  /// Rows of zeros before all of these that scores, a bias and a mask have
  /// columns for: the sink of a softmax.
  int64_t Lead = 0;
};

/// Why families of attention refuse a kernel.
inline constexpr const char *NoAttention = "it is no attention";
inline constexpr const char *AppendsRows =
    "it appends rows to a cache, as attention of few queries does";
inline constexpr const char *NarrowHeads =
    "heads are not of 16 bits, contiguous and at multiples of 16 bytes, or "
    "there may be no key";
inline constexpr const char *NarrowHeadsOfCodes =
    "heads are neither of 16 bits nor codes of FP8, contiguous and at "
    "multiples "
    "of 16 bytes, or there may be no key";
inline constexpr const char *NarrowHeadsOfF32 =
    "heads are not of 16 bits or f32, contiguous and at multiples of 16 bytes, "
    "or there may be no key";

/// Keys that wgmma of FP8 takes in another order than scores lie in.
inline constexpr int64_t KeysInOrder = 16;

struct AttentionKernel {
  kernel::AttentionOp Op;
  shape::Facts Facts;
  HeadsInMemory Q, K, V, Y;
  /// Sizes, as they stand in the kernel and as expressions over its arguments.
  mlir::OpFoldResult BatchSize, HeadsSize, GroupsSize, QueriesSize, KeysSize;
  shape::Expr Batch, Heads, Groups, Queries, Keys;
  int64_t Depth = 0, Width = 0;
  /// Factor of the result: the scale of values that are codes, or one over that
  /// of results that are.
  double ValueScale = 1;
  /// What results become, times that factor, where bytes are stored: E4M3;
  /// null: they are stored as they are.
  mlir::Type ResultCodes = {};
  /// The argument whose one number is a factor of results that are codes, or
  /// made of heads of codes, too; none: there is no other factor.
  std::optional<unsigned> ResultScale;
  /// What each row of queries that are codes is times: a tensor, whose elements
  /// are for [batch, head, query, any]; null: there is no such factor.
  mlir::Value RowFactor;
  /// The key that query 0 sees last; none: queries see all.
  std::optional<shape::Expr> Offset;
  /// Where the keys begin and end that the mask lets queries see.
  KeyLimits Limits;
  /// Rows behind those of `K` and `V`, which are then a cache; none: there are
  /// no others.
  std::optional<AppendedRows> New;
  /// Arguments that are memory for parts of sums, and counters that are zero.
  struct SplitMemory {
    unsigned Parts, Counters;
  };
  std::optional<SplitMemory> Split;

  /// None where the kernel is something else, or where operands are computed.
  static std::optional<AttentionKernel> read(FusedKernel &Form);

  /// 16-bit heads of one type with at least one key, whose rows are contiguous
  /// and begin at multiples of 16 bytes. Other heads are none but those that
  /// are asked for: `F32`, `Codes` for keys and values, or `ResultCodes`.
  /// `AllCodes`: nothing but heads of FP8, and values whose keys are
  /// contiguous.
  enum class Heads16Or { None, F32, Codes, ResultCodes, AllCodes };
  bool hasWideRows(Heads16Or Other = Heads16Or::None) const;
  /// Whether all heads' keys lie in whole blocks of rows, which are copied in
  /// another order, a known number of such blocks from one another.
  bool hasKeysInBlocks() const;
  bool isF32() const { return Q.Element.isF32(); }
  /// Whether keys and values are codes of FP8 (E4M3), and queries too.
  bool hasCodes() const { return llvm::isa<mlir::Float8E4M3FNType>(K.Element); }
  bool appends() const { return New.has_value(); }
  bool isFp8() const { return llvm::isa<mlir::Float8E4M3FNType>(Q.Element); }
  bool hasSoftcap() { return Op.getSoftcap().has_value(); }
  /// Whether there is a mask that says more than such limits.
  bool hasMask() const;
  /// The mask as a condition of keys; queries are none yet.
  KeyCondition maskAt(mlir::Value Batch, mlir::Value Head) const;
  /// What the mask says besides such limits, at [batch, head, query, key].
  mlir::Value seenAt(GpuWriter &W, mlir::ValueRange At) const;
  /// Whether there is a bias or such a mask, and each has the same element for
  /// all queries of a head.
  bool isScoredByKey() const;
  /// What scores are multiplied with for powers of two: products of queries and
  /// keys, or, with a softcap, what `bent` makes of them.
  double scoreFactor();
  /// tanh(product · scale / softcap) as 1 − 2 / (2^x + 1). Its absolute error
  /// is two units of 2^-24: all that counts where it becomes an exponent.
  using OneValue = llvm::function_ref<mlir::Value(mlir::Value)>;
  mlir::Value bent(GpuWriter &W, mlir::Value Product, OneValue Exp2,
                   OneValue Reciprocal);
  /// The element of the bias or mask that belongs to the score at [batch, head,
  /// query, key]; null after a diagnostic.
  static mlir::Value atScore(GpuWriter &W, mlir::Value Tensor,
                             mlir::ValueRange At);
  /// `Score`, scaled for a power of two, with what the bias adds. It stays
  /// finite where that is the least number of f32, which hides a key: a query
  /// that sees none gives the mean of the values, as the model does. A limit of
  /// the bias before it is added would follow its loads instead of hiding them:
  /// with 4 × 16 heads and 2048 keys an H200 took 1.07 times as long.
  static mlir::Value biased(GpuWriter &W, mlir::Value Score, mlir::Value Added);
};

/// What a schedule for few queries is chosen for (AttentionDecode.cpp).
schedule::DecodeShape decodeShapeOf(const AttentionKernel &A);
/// The same for many queries.
schedule::AttentionShape attentionShapeOf(const AttentionKernel &A);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONKERNEL_H
