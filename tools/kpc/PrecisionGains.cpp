//===- PrecisionGains.cpp - What types of layers gain ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/PrecisionGains.h"

#include <algorithm>
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

static PlanTimes timesOf(const std::vector<LaunchEstimate> &Plan,
                         const std::vector<std::string> &Nodes) {
  std::map<std::string, size_t> Places;
  for (size_t I = 0; I < Nodes.size(); ++I)
    Places.emplace(Nodes[I], I);
  PlanTimes Times;
  for (const LaunchEstimate &L : Plan) {
    std::vector<std::string> Key = {L.Target};
    std::set<std::string> Products;
    std::string First;
    for (const std::string &Node : L.Nodes) {
      auto It = Places.find(Node);
      if (It == Places.end()) {
        Key.push_back(Node);
        continue;
      }
      Products.insert(Node);
      // The codes of a later one may be made by the epilogue of an earlier one.
      if (First.empty() || It->second < Places[First])
        First = Node;
    }
    if (L.Multiplies && !First.empty()) {
      Times.Products[First] += L.Microseconds;
      continue;
    }
    // A kernel that makes codes alone is no other kernel's counterpart.
    if (Key.size() == 1)
      Key.insert(Key.end(), Products.begin(), Products.end());
    Others &Of = Times.Rest[Key];
    Of.Microseconds += L.Microseconds;
    Of.CodesFor.insert(Products.begin(), Products.end());
  }
  return Times;
}

std::map<std::string, double> gainsOf(const std::vector<LaunchEstimate> &Plain,
                                      const std::vector<LaunchEstimate> &Codes,
                                      const std::vector<std::string> &Nodes) {
  PlanTimes Before = timesOf(Plain, Nodes), After = timesOf(Codes, Nodes);
  std::map<std::string, double> Gains;
  for (const std::string &Node : Nodes)
    Gains[Node] = Before.Products[Node] - After.Products[Node];
  for (const auto &[Key, Of] : After.Rest) {
    double More = Of.Microseconds - Before.Rest[Key].Microseconds;
    for (const std::string &Node : Of.CodesFor)
      Gains[Node] -= More / double(Of.CodesFor.size());
  }
  return Gains;
}

double microsecondsOf(const std::vector<LaunchEstimate> &Plan) {
  double Sum = 0;
  for (const LaunchEstimate &L : Plan)
    Sum += L.Microseconds;
  return Sum;
}

} // namespace kpc::cli
