//===- Lookup.cpp - From names to targets ---------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/target/Tables.h"

#include <algorithm>

namespace kpc::target {

std::span<const Target> allTargets() {
  static const std::vector<Target> All = [] {
    std::vector<Target> Rows;
    for (const Target &T : gpuTargets())
      Rows.push_back(T);
    for (const Target &T : hostTargets())
      Rows.push_back(T);
    return Rows;
  }();
  return All;
}

const Target *findTarget(std::string_view Name) {
  for (const Target &T : allTargets())
    if (T.Name == Name)
      return &T;
  return nullptr;
}

std::span<const Alias> allAliases() {
  // Chips whose tensor cores need the `a` form: the plain name means it.
  static const std::vector<Alias> Aliases = {
      {"sm_90",
       {"sm_90a"},
       "sm_90 means sm_90a here: its tensor-core instructions need it"},
      {"sm_100",
       {"sm_100a"},
       "sm_100 means sm_100a here: its tensor-core instructions need it"},
      {"sm_103",
       {"sm_103a"},
       "sm_103 means sm_103a here: its tensor-core instructions need it"},
      {"sm_110",
       {"sm_110a"},
       "sm_110 means sm_110a here: its tensor-core instructions need it"},
      {"sm_120",
       {"sm_120a"},
       "sm_120 means sm_120a here: its tensor-core instructions need it"},
      {"sm_121",
       {"sm_121a"},
       "sm_121 means sm_121a here: its tensor-core instructions need it"},
      {"portable", {"compute_80", "compute_90"}, ""},
  };
  return Aliases;
}

unsigned editDistance(std::string_view A, std::string_view B) {
  // Two rows back are kept for swaps of neighbours.
  std::vector<unsigned> Before, Row(B.size() + 1), Next(B.size() + 1);
  for (size_t J = 0; J <= B.size(); ++J)
    Row[J] = J;
  Before = Row;
  for (size_t I = 1; I <= A.size(); ++I) {
    Next[0] = I;
    for (size_t J = 1; J <= B.size(); ++J) {
      unsigned Substitute = Row[J - 1] + (A[I - 1] != B[J - 1]);
      Next[J] = std::min({Row[J] + 1, Next[J - 1] + 1, Substitute});
      if (I > 1 && J > 1 && A[I - 1] == B[J - 2] && A[I - 2] == B[J - 1])
        Next[J] = std::min(Next[J], Before[J - 2] + 1);
    }
    Before = Row;
    std::swap(Row, Next);
  }
  return Row[B.size()];
}

std::vector<std::string> suggestTargets(std::string_view Name) {
  std::string Small(Name); // as all names are written
  for (char &C : Small)
    if (C >= 'A' && C <= 'Z')
      C = static_cast<char>(C + 32);
  std::vector<std::string_view> Known = {"native", "host", "host:native"};
  for (const Target &T : allTargets())
    Known.push_back(T.Name);
  for (const Alias &A : allAliases())
    Known.push_back(A.Name);
  std::vector<std::pair<unsigned, std::string>> Near;
  for (std::string_view K : Known) {
    unsigned D = editDistance(Small, K);
    if (D <= std::max<size_t>(2, Name.size() / 3))
      Near.emplace_back(D, K);
  }
  std::sort(Near.begin(), Near.end());
  // Farther names are noise once one is near, and all others once it is the
  // name itself.
  std::vector<std::string> Names;
  for (auto &[D, K] : Near)
    if (Names.size() < 3 &&
        D <= (Near.front().first ? Near.front().first + 1 : 0))
      Names.push_back(K);
  return Names;
}

static Lookup one(const Target *T, std::string Note = {}) {
  return {.Targets = {T}, .Note = std::move(Note), .Error = {}};
}

static Lookup failed(std::string Error) {
  return {.Targets = {}, .Note = {}, .Error = std::move(Error)};
}

/// `host` and `host:native`: the highest level this CPU runs.
static Lookup lookupHost(std::string_view Name, const Machine &Here) {
  std::optional<int32_t> Level =
      Here.HostLevel ? Here.HostLevel() : std::nullopt;
  if (!Level)
    return failed("'" + std::string(Name) +
                  "': the CPU of this machine is not x86-64 or older than "
                  "x86-64-v2; name a level, such as host:x86-64-v3");
  std::string Row = "host:x86-64-v" + std::to_string(*Level);
  return one(findTarget(Row),
             std::string(Name) + " means " + Row + ", the level of this CPU");
}

/// `native`: this machine's GPU; without one, its CPU.
static Lookup lookupNative(const Machine &Here) {
  std::optional<int32_t> Compute =
      Here.GpuCompute ? Here.GpuCompute() : std::nullopt;
  if (!Compute) {
    Lookup L = lookupHost("native", Here);
    if (L)
      L.Note += " (no NVIDIA GPU was found)";
    return L;
  }
  // An exact row first; else the newest chip whose code runs there.
  const Target *Best = nullptr;
  for (const Target &T : allTargets())
    if (T.TheKind == Kind::Gpu && runsOn(T, *Compute) &&
        (!Best || T.Compute > Best->Compute))
      Best = &T;
  std::string Chip = "sm_" + std::to_string(*Compute);
  if (Best)
    return one(Best, "native means " + std::string(Best->Name) +
                         ", for this machine's GPU (" + Chip + ")");
  if (*Compute >= 80)
    return one(findTarget(*Compute >= 90 ? "compute_90" : "compute_80"),
               "native means portable PTX: kpc does not know this machine's "
               "GPU (" +
                   Chip + ")");
  return failed("'native': this machine's GPU (" + Chip +
                ") is older than sm_80, the oldest that kpc supports");
}

Lookup lookup(std::string_view Name, const Machine &Here) {
  if (const Target *T = findTarget(Name))
    return one(T);
  for (const Alias &A : allAliases()) {
    if (A.Name != Name)
      continue;
    Lookup L{.Targets = {}, .Note = std::string(A.Note), .Error = {}};
    for (std::string_view Row : A.Targets)
      L.Targets.push_back(findTarget(Row));
    return L;
  }
  if (Name == "native")
    return lookupNative(Here);
  if (Name == "host" || Name == "host:native")
    return lookupHost(Name, Here);

  std::string Error = "unknown target '" + std::string(Name) + "'";
  std::vector<std::string> Near = suggestTargets(Name);
  for (size_t I = 0; I < Near.size(); ++I)
    Error += (I == 0                 ? "; did you mean "
              : I + 1 == Near.size() ? " or "
                                     : ", ") +
             Near[I];
  Error += Near.empty() ? "; `kpc targets` lists them all" : "?";
  return failed(std::move(Error));
}

int32_t leastDriver(const Target &T, int32_t PtxasVersion) {
  // Minor versions of one CUDA major version are compatible for cubins.
  return std::max(T.LeastDriver, PtxasVersion / 1000 * 1000);
}

std::string_view driverBranch(int32_t CudaVersion) {
  // CUDA Toolkit 13.0 release notes, "CUDA Toolkit and Corresponding Driver
  // Versions"; the first row whose version is enough.
  static constexpr std::pair<int32_t, std::string_view> Branches[] = {
      {11000, "450"}, {11010, "455"}, {11020, "460"}, {11040, "470"},
      {11050, "495"}, {11060, "510"}, {11070, "515"}, {11080, "520"},
      {12000, "525"}, {12010, "530"}, {12020, "535"}, {12030, "545"},
      {12040, "550"}, {12050, "555"}, {12060, "560"}, {12080, "570"},
      {12090, "575"}, {13000, "580"}, {13010, "590"},
  };
  for (auto &[Version, Branch] : Branches)
    if (CudaVersion <= Version)
      return Branch;
  return "";
}

bool runsOn(const Target &T, int32_t Compute) {
  if (T.TheKind == Kind::Host)
    return false;
  if (T.TheKind == Kind::Portable)
    return Compute >= T.Compute;
  if (T.ArchSpecific)
    return Compute == T.Compute;
  // Machine code runs on later chips of the same major version.
  return Compute / 10 == T.Compute / 10 && Compute >= T.Compute;
}

std::string describe(const Target &T) {
  std::string Line(T.Name);
  Line.resize(std::max<size_t>(Line.size() + 1, 16), ' ');
  return Line + std::string(T.Summary);
}

} // namespace kpc::target
