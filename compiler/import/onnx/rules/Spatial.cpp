//===- Spatial.cpp - Strides, dilations and pads of spatial operators -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/rules/Spatial.h"
#include "compiler/import/onnx/Importer.h"

namespace kpc::onnx {

/// Far beyond any model; keeps sums of them from overflowing.
static constexpr int64_t Largest = int64_t(1) << 31;

static std::optional<Ints> listOf(NodeImport &N, std::string_view Name,
                                  size_t Count, int64_t Default,
                                  int64_t Least) {
  Ints Values(Count, Default);
  if (std::optional<Ints> Given = N.intsAttribute(Name);
      Given && !Given->empty())
    Values = *Given;
  if (N.bad())
    return std::nullopt;
  if (Values.size() != Count) {
    N.fail(Code::ImportAttributeValue,
           "attribute '" + std::string(Name) + "' has " +
               std::to_string(Values.size()) + " entries, but should have " +
               std::to_string(Count));
    return std::nullopt;
  }
  for (int64_t V : Values)
    if (V < Least || V > Largest) {
      N.fail(Code::ImportAttributeValue, "attribute '" + std::string(Name) +
                                             "' has the entry " +
                                             std::to_string(V));
      return std::nullopt;
    }
  return Values;
}

std::optional<Ints> kernelShape(NodeImport &N, ArrayRef<Expr> WeightSizes) {
  Ints Kernel;
  for (const Expr &E : WeightSizes) {
    if (!E.asConstant() || *E.asConstant() < 1) {
      N.fail(Code::ImportShape,
             "the kernel's size " + E.str() + " is not a positive number");
      return std::nullopt;
    }
    Kernel.push_back(*E.asConstant());
  }
  std::optional<Ints> Given = N.intsAttribute("kernel_shape");
  if (Given && !Given->empty() && *Given != Kernel) {
    N.fail(Code::ImportAttributeValue,
           "attribute 'kernel_shape' differs from the weights' sizes " +
               dimsText(WeightSizes));
    return std::nullopt;
  }
  return Kernel;
}

/// Pads of axis `I` where its size is not known: as many in front as there may
/// be, of which `Skipped` says how many are too many for the size.
static void samePadsOfSize(NodeImport &N, Spatial &S, size_t I,
                           const Expr &Size, bool Upper) {
  const shape::Facts &Facts = N.importer().facts();
  int64_t Reach = (S.Kernel[I] - 1) * S.Dilation[I] + 1;
  // How far the windows reach beyond the input.
  Expr Total = Facts.simplify(Size.ceilDiv(S.Stride[I]) * S.Stride[I] - Size +
                              (Reach - S.Stride[I]));
  if (Facts.range(Total).Min < 0)
    Total = Expr::max(Total, 0);
  Expr Low = Upper ? Total.floorDiv(2) : Total.ceilDiv(2);
  shape::Interval Lows = Facts.range(Low);
  S.Low[I] = std::min(Lows.Max, Reach - 1);
  if (Lows.Min == Lows.Max) {
    // At the end, more than is needed makes no window more.
    S.High[I] = Reach - 1 - S.Low[I];
    return;
  }
  S.High[I] = std::min(Facts.range(Total - Low).Max, Reach - 1);
  S.Skipped.resize(S.count(), Expr(0));
  S.Skipped[I] = Expr(S.Low[I]) - Low;
  S.Padded.resize(S.count(), Expr(0));
  S.Padded[I] = Size + Total;
}

/// Pads that keep ceil(n / stride) windows; an odd one goes to the end for
/// SAME_UPPER and to the start for SAME_LOWER.
static void samePads(NodeImport &N, Spatial &S, ArrayRef<Expr> Sizes,
                     bool Upper) {
  for (size_t I = 0; I < S.count(); ++I) {
    int64_t Reach = (S.Kernel[I] - 1) * S.Dilation[I] + 1;
    int64_t Total = Reach - 1;
    if (S.Stride[I] != 1) {
      std::optional<int64_t> Size = Sizes[I].asConstant();
      if (!Size) {
        samePadsOfSize(N, S, I, Sizes[I], Upper);
        continue;
      }
      int64_t Windows = (*Size + S.Stride[I] - 1) / S.Stride[I];
      Total = std::max<int64_t>((Windows - 1) * S.Stride[I] + Reach - *Size, 0);
    }
    S.Low[I] = Upper ? Total / 2 : Total - Total / 2;
    S.High[I] = Total - S.Low[I];
  }
}

/// Extra padding so that a window that begins inside the input or its pads is
/// not left out.
static bool ceilPads(NodeImport &N, Spatial &S, ArrayRef<Expr> Sizes) {
  for (size_t I = 0; I < S.count(); ++I) {
    if (S.Stride[I] == 1)
      continue;
    std::optional<int64_t> Size = Sizes[I].asConstant();
    int64_t Reach = (S.Kernel[I] - 1) * S.Dilation[I] + 1;
    // Each window that begins with a stride less begins inside.
    if (!Size && Reach >= S.High[I] + S.Stride[I]) {
      S.High[I] += S.Stride[I] - 1;
      continue;
    }
    if (!Size) {
      N.unsupportedOn("ceil_mode with a stride of " +
                          std::to_string(S.Stride[I]),
                      Sizes[I]);
      return false;
    }
    int64_t Room = *Size + S.Low[I] + S.High[I] - Reach;
    if (Room < 0)
      continue;
    int64_t Windows = (Room + S.Stride[I] - 1) / S.Stride[I] + 1;
    // The last one must not begin behind the input.
    if ((Windows - 1) * S.Stride[I] >= *Size + S.Low[I])
      --Windows;
    S.High[I] += std::max<int64_t>((Windows - 1) * S.Stride[I] - Room, 0);
  }
  return true;
}

std::optional<Spatial> spatialAttributes(NodeImport &N, Ints Kernel,
                                         ArrayRef<Expr> Sizes, bool CeilMode) {
  size_t Count = Kernel.size();
  std::string Auto = N.stringAttribute("auto_pad", "NOTSET");
  std::optional<Ints> Stride = listOf(N, "strides", Count, 1, 1);
  std::optional<Ints> Dilation = listOf(N, "dilations", Count, 1, 1);
  std::optional<Ints> Pads = listOf(N, "pads", Count * 2, 0, 0);
  if (!Stride || !Dilation || !Pads)
    return std::nullopt;
  if (Sizes.size() != Count) {
    N.fail(Code::ImportRank, "the kernel has " + std::to_string(Count) +
                                 " spatial dimensions, the input has " +
                                 std::to_string(Sizes.size()));
    return std::nullopt;
  }
  for (int64_t K : Kernel)
    if (K < 1 || K > Largest) {
      N.fail(Code::ImportAttributeValue,
             "the kernel has the size " + std::to_string(K) +
                 "; kpc takes 1 to " + std::to_string(Largest));
      return std::nullopt;
    }
  Spatial S;
  S.Low.assign(Pads->begin(), Pads->begin() + Count);
  S.High.assign(Pads->begin() + Count, Pads->end());
  S.Kernel = std::move(Kernel);
  S.Stride = *Stride;
  S.Dilation = *Dilation;
  if (Auto == "SAME_UPPER" || Auto == "SAME_LOWER") {
    samePads(N, S, Sizes, Auto == "SAME_UPPER");
  } else if (Auto == "VALID") {
    S.Low.assign(Count, 0);
    S.High.assign(Count, 0);
  } else if (Auto != "NOTSET" && !Auto.empty()) {
    N.fail(Code::ImportAttributeValue,
           "attribute 'auto_pad' is '" + printable(Auto) + "'");
    return std::nullopt;
  }
  if (CeilMode && !ceilPads(N, S, Sizes))
    return std::nullopt;
  return S;
}

Value underWindows(NodeImport &N, Value X, Value Filler, Spatial &S) {
  if (S.Skipped.empty() || !X)
    return X;
  Ints Low = {0}, High = {0}, None(S.count() + 2, 0), Step(S.count() + 2, 1);
  Low.append(S.Low);
  High.append(S.High);
  Low.push_back(0);
  High.push_back(0);
  Dims Starts(S.count() + 2, Expr(0));
  X = N.pad(X, Filler, Low, High, None);
  if (!X)
    return X;
  Dims Sizes(N.dims(X));
  for (size_t I = 0; I < S.count(); ++I)
    if (S.Padded[I] != Expr(0)) {
      Starts[I + 1] = S.Skipped[I];
      Sizes[I + 1] = S.Padded[I];
    }
  S.Skipped.clear();
  S.Padded.clear();
  S.Low.assign(S.count(), 0);
  S.High.assign(S.count(), 0);
  return N.slice(X, Starts, Step, Sizes);
}

Value underWindows(NodeImport &N, Value X, Spatial &S) {
  return underWindows(N, X, X ? N.scalarInt(0, N.element(X)) : X, S);
}

bool refuseSkipped(NodeImport &N, const Spatial &S, ArrayRef<Expr> Sizes) {
  for (size_t I = 0; I < S.Padded.size(); ++I)
    if (S.Padded[I] != Expr(0)) {
      N.unsupportedOn(
          "auto_pad with a stride of " + std::to_string(S.Stride[I]), Sizes[I]);
      return true;
    }
  return false;
}

Value channelsLast(NodeImport &N, Value X) {
  if (!X)
    return {};
  Ints Perm = {0};
  for (int64_t I = 2; I < N.rank(X); ++I)
    Perm.push_back(I);
  Perm.push_back(1);
  return N.transpose(X, Perm);
}

Value channelsFirst(NodeImport &N, Value X) {
  if (!X)
    return {};
  Ints Perm = {0, N.rank(X) - 1};
  for (int64_t I = 1; I < N.rank(X) - 1; ++I)
    Perm.push_back(I);
  return N.transpose(X, Perm);
}

Value kernelLayout(NodeImport &N, Value W) {
  if (!W)
    return {};
  Ints Perm;
  for (int64_t I = 2; I < N.rank(W); ++I)
    Perm.push_back(I);
  Perm.append({1, 0});
  return N.transpose(W, Perm);
}

} // namespace kpc::onnx
