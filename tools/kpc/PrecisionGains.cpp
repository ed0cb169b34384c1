//===- PrecisionGains.cpp - What types of layers gain ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/PrecisionGains.h"

#include <set>

namespace kpc::cli {

namespace {
/// Launches that multiply nothing, by their target and their nodes but those
/// whose codes they make.
struct Others {
  double Microseconds = 0;
  std::set<std::string> CodesFor;
};

struct PlanTimes {
  std::map<std::string, double> Products;
  std::map<std::vector<std::string>, Others> Rest;
};
} // namespace

/// A launch's nodes are in the order of its operations, constants at the end,
/// which may bear the name of any node: as many products count, from the first
/// on, as it has. They share its time, since they save it together.
static PlanTimes timesOf(const std::vector<LaunchEstimate> &Plan,
                         const std::set<std::string> &Products) {
  PlanTimes Times;
  for (const LaunchEstimate &L : Plan) {
    std::vector<std::string> Key = {L.Target};
    std::string First;
    std::set<std::string> Own;
    for (const std::string &Node : L.Nodes)
      if (!Products.count(Node))
        Key.push_back(Node);
      else if (First.empty())
        Own.insert(First = Node);
      else if (int64_t(Own.size()) < L.Products)
        Own.insert(Node);
    if (L.Multiplies && !First.empty()) {
      for (const std::string &Node : Own)
        Times.Products[Node] += L.Microseconds / double(Own.size());
      continue;
    }
    // A kernel that makes codes alone is no other kernel's counterpart.
    if (Key.size() == 1)
      Key.push_back(First);
    Others &Of = Times.Rest[Key];
    Of.Microseconds += L.Microseconds;
    if (!First.empty())
      Of.CodesFor.insert(First);
  }
  return Times;
}

std::map<std::string, double> gainsOf(const std::vector<LaunchEstimate> &Plain,
                                      const std::vector<LaunchEstimate> &Codes,
                                      const std::vector<std::string> &Nodes) {
  std::set<std::string> Products(Nodes.begin(), Nodes.end());
  PlanTimes Before = timesOf(Plain, Products), After = timesOf(Codes, Products);
  std::map<std::string, double> Gains;
  for (const std::string &Node : Nodes)
    Gains[Node] = Before.Products[Node] - After.Products[Node];
  // Kernels that codes are made by in the place of others, casts for instance.
  std::set<std::string> OwnKernels;
  for (auto &[Key, Of] : After.Rest) {
    auto Same = Before.Rest.find(Key);
    double Less = Same == Before.Rest.end() ? 0 : Same->second.Microseconds;
    if (Same == Before.Rest.end())
      OwnKernels.insert(Of.CodesFor.begin(), Of.CodesFor.end());
    for (const std::string &Node : Of.CodesFor)
      Gains[Node] -= (Of.Microseconds - Less) / double(Of.CodesFor.size());
  }
  for (const auto &[Key, Of] : Before.Rest)
    if (!After.Rest.count(Key))
      for (const std::string &Node : OwnKernels)
        Gains[Node] += Of.Microseconds / double(OwnKernels.size());
  return Gains;
}

double microsecondsOf(const std::vector<LaunchEstimate> &Plan) {
  double Sum = 0;
  for (const LaunchEstimate &L : Plan)
    Sum += L.Microseconds;
  return Sum;
}

} // namespace kpc::cli
