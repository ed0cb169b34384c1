//===- Spatial.cpp - Strides, dilations and pads of spatial operators -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/rules/Spatial.h"

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

/// Pads that keep ceil(n / stride) windows; an odd one goes to the end for
/// SAME_UPPER and to the start for SAME_LOWER.
static bool samePads(NodeImport &N, Spatial &S, ArrayRef<Expr> Sizes,
                     bool Upper) {
  for (size_t I = 0; I < S.count(); ++I) {
    int64_t Reach = (S.Kernel[I] - 1) * S.Dilation[I] + 1;
    int64_t Total = Reach - 1;
    if (S.Stride[I] != 1) {
      std::optional<int64_t> Size = Sizes[I].asConstant();
      if (!Size) {
        N.unsupportedOn("auto_pad with a stride of " +
                            std::to_string(S.Stride[I]),
                        Sizes[I]);
        return false;
      }
      int64_t Windows = (*Size + S.Stride[I] - 1) / S.Stride[I];
      Total = std::max<int64_t>((Windows - 1) * S.Stride[I] + Reach - *Size, 0);
    }
    S.Low[I] = Upper ? Total / 2 : Total - Total / 2;
    S.High[I] = Total - S.Low[I];
  }
  return true;
}

/// Extra padding so that a window that begins inside the input or its pads is
/// not left out.
static bool ceilPads(NodeImport &N, Spatial &S, ArrayRef<Expr> Sizes) {
  for (size_t I = 0; I < S.count(); ++I) {
    if (S.Stride[I] == 1)
      continue;
    std::optional<int64_t> Size = Sizes[I].asConstant();
    if (!Size) {
      N.unsupportedOn("ceil_mode with a stride of " +
                          std::to_string(S.Stride[I]),
                      Sizes[I]);
      return false;
    }
    int64_t Reach = (S.Kernel[I] - 1) * S.Dilation[I] + 1;
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
    if (!samePads(N, S, Sizes, Auto == "SAME_UPPER"))
      return std::nullopt;
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
