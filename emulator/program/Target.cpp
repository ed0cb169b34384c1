//===- Target.cpp - What a text's .target stands for ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/program/Target.h"

#include <algorithm>
#include <charconv>

namespace kpc::emulator {

namespace {
/// Versions of PTX that the name begins with, plain, with a and with f; 0:
/// there is none.
struct Chip {
  unsigned Number, Family, Plain, Own, OfFamily;
  unsigned Now = Number; ///< the number that a later version gave it
};
} // namespace

static constexpr Chip Chips[] = {
    {50, 50, 40, 0, 0},          {52, 52, 41, 0, 0},
    {53, 53, 42, 0, 0},          {60, 60, 50, 0, 0},
    {61, 61, 50, 0, 0},          {62, 62, 50, 0, 0},
    {70, 70, 60, 0, 0},          {72, 72, 61, 0, 0},
    {75, 75, 63, 0, 0},          {80, 80, 70, 0, 0},
    {86, 86, 71, 0, 0},          {87, 87, 74, 0, 0},
    {88, 88, 90, 0, 0},          {89, 89, 78, 0, 0},
    {90, 90, 78, 80, 0},         {100, 100, 86, 86, 88},
    {101, 110, 86, 86, 88, 110}, {103, 100, 88, 88, 88},
    {110, 110, 90, 90, 90},      {120, 120, 87, 87, 88},
    {121, 120, 88, 88, 88}};

std::optional<Target> targetNamed(std::string_view Name) {
  if (!Name.starts_with("sm_"))
    return std::nullopt;
  Name.remove_prefix(3);
  Target T;
  auto [End, Error] =
      std::from_chars(Name.data(), Name.data() + Name.size(), T.Number);
  std::string_view Rest(End, size_t(Name.data() + Name.size() - End));
  const Chip *C =
      std::find_if(std::begin(Chips), std::end(Chips),
                   [&](const Chip &Has) { return Has.Number == T.Number; });
  if (Error != std::errc() || C == std::end(Chips) || Rest.size() > 1)
    return std::nullopt;
  T.Suffix = Rest.empty() ? '\0' : Rest.front();
  T.Number = C->Now;
  T.Family = C->Family;
  T.Version = T.Suffix == 0     ? C->Plain
              : T.Suffix == 'a' ? C->Own
              : T.Suffix == 'f' ? C->OfFamily
                                : 0;
  return T.Version ? std::optional(T) : std::nullopt;
}

std::string knownTargets() {
  std::string Out;
  for (const Chip &C : Chips) {
    std::string Name =
        (Out.empty() ? "sm_" : ", sm_") + std::to_string(C.Number);
    Out += Name + (C.Own ? Name + "a" : "") + (C.OfFamily ? Name + "f" : "");
  }
  return Out;
}

std::optional<unsigned> versionNamed(std::string_view Text) {
  unsigned Major = 0, Minor = 0;
  const char *Last = Text.data() + Text.size();
  auto [Dot, Error] =
      std::from_chars(Text.data(), Text.data() + Text.size(), Major);
  if (Error != std::errc() || Dot == Last || *Dot != '.' || Major > 99)
    return std::nullopt;
  auto [End, Wrong] = std::from_chars(Dot + 1, Last, Minor);
  if (Wrong != std::errc() || End != Last || Minor > 9)
    return std::nullopt;
  return Major * 10 + Minor;
}

std::string versionText(unsigned Version) {
  return std::to_string(Version / 10) + "." + std::to_string(Version % 10);
}

/// "sm_100f or sm_110f".
static std::string withOr(std::string_view Targets) {
  std::string Out(Targets);
  if (size_t Last = Out.rfind(", "); Last != std::string::npos)
    Out.replace(Last, 2, " or ");
  return Out;
}

std::string TextTarget::lacks(std::string_view Targets,
                              unsigned AtLeast) const {
  if (!Targets.empty() && !hasFeaturesOf(Chip, Targets))
    return "needs .target " + withOr(Targets) +
           (Targets.back() >= '0' && Targets.back() <= '9' ? " or later" : "") +
           ", and the text says " + Name;
  if (Version < AtLeast)
    return "needs .version " + versionText(AtLeast) + ", and the text says " +
           versionText(Version);
  return {};
}

/// A target that ends in a has all that its family has.
static bool hasFeatures(const Target &T, const Target &Of) {
  if (Of.Suffix == 0)
    return T.Number >= Of.Number;
  if (Of.Suffix == 'a')
    return T.Suffix == 'a' && T.Number == Of.Number;
  return T.Suffix != 0 && T.Family == Of.Family && T.Number >= Of.Number;
}

bool hasFeaturesOf(const Target &T, std::string_view OneOf) {
  while (!OneOf.empty()) {
    size_t Comma = std::min(OneOf.find(", "), OneOf.size());
    auto Of = targetNamed(OneOf.substr(0, Comma));
    if (Of && hasFeatures(T, *Of))
      return true;
    OneOf.remove_prefix(std::min(OneOf.size(), Comma + 2));
  }
  return false;
}

bool runsOn(const Target &T, unsigned Capability) {
  if (T.Suffix == 'a')
    return T.Number == Capability;
  if (T.Suffix == 0)
    return T.Number <= Capability;
  auto Chip = targetNamed("sm_" + std::to_string(Capability));
  return Chip && Chip->Family == T.Family && T.Number <= Capability;
}

} // namespace kpc::emulator
