//===- Guards.cpp - What a program asks of its sizes ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// PyTorch writes what it assumed of inputs' sizes while it traced, as Python:
/// `L['mask'].size()[1] == L['ids'].size()[1]`, and what torch._check says as
/// nodes. What is not known to hold becomes a requirement, which a run checks
/// when it binds. That a size is not 1 is none: kpc does not specialise on it.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Importer.h"

using namespace kpc::graph;

namespace kpc::torch {

using llvm::StringRef;

/// Takes "L['past'][0][1].size()[2]" from the front of a text: the input
/// "past_0_1" and its axis.
static std::optional<std::pair<std::string, size_t>>
takeInputSize(StringRef &Text) {
  StringRef Rest = Text;
  if (!Rest.consume_front("L["))
    return std::nullopt;
  std::string Name;
  do {
    auto [Part, Behind] = Rest.split(']');
    Name += (Name.empty() ? "" : "_") + Part.trim('\'').str();
    Rest = Behind;
  } while (Rest.consume_front("["));
  size_t Axis = 0;
  if (!Rest.consume_front(".size()[") || Rest.consumeInteger(10, Axis) ||
      !Rest.consume_front("]"))
    return std::nullopt;
  Text = Rest;
  return std::pair(plainName(Name), Axis);
}

void Importer::require(const Relation &R, const std::string &Why) {
  auto Holds = R.Is == Relation::Kind::Less
                   ? Facts.isLessOrEqual(R.Left + 1, R.Right)
               : R.Is == Relation::Kind::LessOrEqual
                   ? Facts.isLessOrEqual(R.Left, R.Right)
                   : Facts.isEqual(R.Left, R.Right);
  if (R.Is == Relation::Kind::NotEqual || Holds == true)
    return;
  // An iteration's sizes are none of the run's.
  if (namesCounter(R.Left) || namesCounter(R.Right))
    return;
  Requirement Of;
  Of.Left = R.Is == Relation::Kind::Less ? R.Left + 1 : R.Left;
  Of.Right = R.Right;
  Of.Equal = R.Is == Relation::Kind::Equal;
  Of.Reason = Why;
  if (!llvm::is_contained(Required, Of))
    Required.push_back(std::move(Of));
}

void Importer::readGuards() {
  for (const std::string &Guard : P.Guards) {
    // Sizes of inputs become symbols of their own while the text is read.
    std::map<std::string, Expr, std::less<>> Sizes;
    std::string Plain;
    bool Known = true;
    for (StringRef Rest(Guard); !Rest.empty() && Known;) {
      auto Size = takeInputSize(Rest);
      if (!Size) {
        Plain += Rest.front();
        Rest = Rest.drop_front();
        continue;
      }
      const TensorMeta *M = meta(Size->first);
      std::optional<Expr> E = M && Size->second < M->Sizes.size()
                                  ? sizeOf(M->Sizes[Size->second])
                                  : std::nullopt;
      Known = E.has_value();
      std::string Name = "g" + std::to_string(Sizes.size());
      if (E)
        Sizes.emplace(Name, *E);
      Plain += Name;
    }
    if (std::optional<Relation> R =
            Known ? parseRelation(Plain, Sizes) : std::nullopt)
      require(*R,
              "the program was exported for sizes with " + printable(Guard));
  }
}

} // namespace kpc::torch
