//===- KernelFamily.cpp - The registry of kernel families -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/KernelFamily.h"
#include "passes/kernels/form/LoopForm.h"
#include "passes/kernels/gpu/loops/LoopKernel.h"
#include "passes/kernels/gpu/recurrent/Recurrent.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using kpc::schedule::RankedSchedule;

namespace kpc::kernels {

ArrayRef<KernelFamily> gpuFamilies() {
  static const KernelFamily Families[] = {
      {"recurrent layer", FamilyClass::Scan, queryRecurrent},
      {"loop", FamilyClass::Scan, queryLoop},
      {"sort", FamilyClass::Sort, queryGpuSortRuns},
      {"sort by digits", FamilyClass::Sort, queryGpuDigits},
      {"scan", FamilyClass::Scan, queryGpuScan},
      {"attention of few queries", FamilyClass::Attention,
       queryAttentionDecode},
      {"attention (wgmma)", FamilyClass::Attention, queryAttentionHopper},
      {"attention (tcgen05)", FamilyClass::Attention, queryAttentionBlackwell},
      {"attention (mma.sync)", FamilyClass::Attention, queryAttentionMmaSync},
      {"transpose", FamilyClass::Transpose, queryGpuTranspose},
      {"few-row GEMM", FamilyClass::FewRowGemm, queryGpuGemv},
      {"GEMM of codes (wgmma)", FamilyClass::FewRowGemm, queryGemmHopperCodes},
      {"GEMM (wgmma)", FamilyClass::Gemm, queryGemmHopper},
      {"GEMM (wgmma, block scales)", FamilyClass::Gemm, queryGemmHopperScaled},
      {"GEMM (tcgen05)", FamilyClass::Gemm, queryGemmBlackwell},
      {"convolution (wgmma)", FamilyClass::Gemm, queryConvHopper},
      {"convolution (tcgen05)", FamilyClass::Gemm, queryConvBlackwell},
      {"convolution (mma.sync)", FamilyClass::Gemm, queryConvMmaSync},
      {"convolution (mma.sync, tiles of images)", FamilyClass::Gemm,
       queryConvHalo},
      {"GEMM (tcgen05, block scales)", FamilyClass::Gemm,
       queryGemmBlackwellScaled},
      {"GEMM (mma.sync, block scales)", FamilyClass::Gemm, queryGemmMmaScaled},
      {"GEMM (mma.sync)", FamilyClass::Gemm, queryGemmMmaSync},
      {"contraction", FamilyClass::Loops, queryGpuContraction},
      {"rows", FamilyClass::Rows, queryGpuRows},
      {"columns", FamilyClass::Rows, queryGpuColumns},
      {"row reduction", FamilyClass::Rows, queryGpuRowReduction},
      {"column reduction", FamilyClass::Rows, queryGpuColumnReduction},
      {"sliding window", FamilyClass::Window, queryGpuWindowTile},
      {"window", FamilyClass::Loops, queryGpuWindow},
      {"map", FamilyClass::Loops, queryGpuMap},
  };
  return Families;
}

std::optional<size_t> FamilyAnswer::find(StringRef Text) {
  for (auto [I, One] : llvm::enumerate(Schedules))
    if (One.Schedule == Text)
      return I;
  std::optional<RankedSchedule> Known;
  if (ReadSchedule)
    Known = ReadSchedule(Text);
  if (!Known)
    return std::nullopt;
  Schedules.push_back(std::move(*Known));
  return Schedules.size() - 1;
}

KernelOffers::KernelOffers(FusedKernel &Form, const target::Target &T,
                           bool All) {
  std::optional<FamilyClass> Class;
  bool IsLoop = LoopForm::find(Form.Func) != nullptr;
  for (const KernelFamily &Family : gpuFamilies()) {
    if (Class && *Class != Family.Class && !All)
      break;
    // Others ask for what is written, which a recurrent layer's op does itself.
    if (Form.Outputs.empty() && Family.Query != queryRecurrent)
      continue;
    // The ops of a loop stand in its body, which no other family sees.
    if (IsLoop != (Family.Query == queryLoop))
      continue;
    FamilyAnswer Answer = Family.Query(Form, T);
    if (!Answer.takes()) {
      Refusals.push_back(Answer.refusal());
      Refusals.back().Family = Family.Name;
      continue;
    }
    bool IsRanked = Answer.isRanked();
    Class = Family.Class;
    Answers.push_back(std::move(Answer));
    Takers.push_back(&Family);
    if (!IsRanked && !All)
      break;
  }
}

std::vector<KernelOffers::Place> KernelOffers::places() const {
  std::vector<Place> Places;
  // Without costs, the family in front is taken.
  bool Ranked = !Answers.empty() && Answers.front().isRanked();
  for (auto [Family, Answer] : llvm::enumerate(Answers))
    for (size_t I = 0; I < Answer.schedules().size(); ++I)
      if (Answer.isRanked() == Ranked && (Ranked || Family == 0))
        Places.push_back({Family, I});
  // Of equal costs, the family in front is taken.
  llvm::stable_sort(Places, [&](Place A, Place B) {
    return schedule(A).Microseconds < schedule(B).Microseconds;
  });
  return Places;
}

std::optional<KernelOffers::Place> KernelOffers::best() const {
  std::vector<Place> Places = places();
  return Places.empty() ? std::nullopt : std::optional(Places.front());
}

std::optional<KernelOffers::Place> KernelOffers::find(StringRef Text) {
  for (auto [Family, Answer] : llvm::enumerate(Answers))
    if (std::optional<size_t> Found = Answer.find(Text))
      return Place{Family, *Found};
  return std::nullopt;
}

std::vector<RankedSchedule> KernelOffers::ranking() const {
  std::vector<RankedSchedule> Ranking;
  for (Place At : places())
    if (answer(At).isRanked())
      Ranking.push_back(schedule(At));
  return Ranking;
}

std::vector<std::string> KernelOffers::texts() const {
  std::vector<std::string> Texts;
  for (Place At : places())
    Texts.push_back(schedule(At).Schedule);
  return Texts;
}

std::vector<std::string> KernelOffers::costs(Place Chosen, size_t Most) const {
  std::vector<std::string> Texts;
  bool HasChosen = false;
  for (Place At : places()) {
    bool IsChosen =
        At.Family == Chosen.Family && At.Schedule == Chosen.Schedule;
    if (!answer(At).isRanked() || (Texts.size() >= Most && !IsChosen))
      continue;
    Texts.push_back(answer(At).costText(At.Schedule));
    HasChosen |= IsChosen;
    if (HasChosen && Texts.size() >= Most)
      break;
  }
  return Texts;
}

} // namespace kpc::kernels
