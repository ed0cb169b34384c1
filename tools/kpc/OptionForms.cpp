//===- OptionForms.cpp - What options are made of -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace kpc::cli {

std::optional<int64_t> wholeNumber(std::string_view Text) {
  int64_t Value;
  auto [End, Code] =
      std::from_chars(Text.data(), Text.data() + Text.size(), Value);
  if (Code != std::errc() || End != Text.data() + Text.size())
    return std::nullopt;
  return Value;
}

bool isTooLarge(std::string_view Text) {
  if (Text.starts_with("-"))
    Text.remove_prefix(1);
  return !Text.empty() && !wholeNumber(Text) &&
         Text.find_first_not_of("0123456789") == std::string_view::npos;
}

static std::string longName(const std::string &Names) {
  return Names.substr(Names.rfind(',') + 1);
}

CLI::Option *addText(CLI::App &App, const std::string &Names,
                     const std::string &Placeholder, const std::string &Help,
                     std::function<void(const std::string &)> Take) {
  return App
      .add_option_function<std::vector<std::string>>(
          Names,
          [Take = std::move(Take)](const std::vector<std::string> &Values) {
            for (const std::string &V : Values)
              Take(V);
          },
          Help)
      ->allow_extra_args(false)
      ->type_name(Placeholder);
}

CLI::Option *addNumber(CLI::App &App, const std::string &Names, int64_t &Value,
                       int64_t Least, int64_t Most, const std::string &Help) {
  std::string Name = longName(Names);
  return addText(App, Names, "N", Help, [=, &Value](const std::string &Text) {
    std::optional<int64_t> Number = wholeNumber(Text);
    if (isTooLarge(Text))
      throw UsageError(Code::UsageValue,
                       fmt::format("{}: '{}' is too large: {} is the most",
                                   Name, printable(Text), Most));
    if (!Number || *Number < Least || *Number > Most)
      throw UsageError(
          Code::UsageValue,
          fmt::format("{}: '{}' is not a whole number from {} {}", Name,
                      printable(Text), Least,
                      Most == INT64_MAX ? "up" : fmt::format("to {}", Most)));
    Value = *Number;
  });
}

CLI::Option *addSeconds(CLI::App &App, const std::string &Names, double &Value,
                        const std::string &Help) {
  std::string Name = longName(Names);
  return addText(
      App, Names, "SECONDS", Help, [=, &Value](const std::string &Text) {
        double Number = 0;
        auto [End, Code] =
            std::from_chars(Text.data(), Text.data() + Text.size(), Number);
        if (Code != std::errc() || End != Text.data() + Text.size() ||
            !(Number >= 0 && Number <= 1e6))
          throw UsageError(Code::UsageValue,
                           fmt::format("{}: '{}' is not a number of seconds",
                                       Name, printable(Text)));
        Value = Number;
      });
}

void unknownWord(Code Id, const std::string &Message, const std::string &Word,
                 const std::vector<std::string> &Known) {
  std::vector<std::string_view> Views(Known.begin(), Known.end());
  std::string_view Near = nearest(Word, Views);
  std::string Hint;
  if (!Near.empty())
    Hint = fmt::format("did you mean '{}'?", Near);
  else if (!Known.empty() && Known.size() <= 16)
    Hint = fmt::format("it is one of {}", fmt::join(Known, ", "));
  throw UsageError(Id, Message, Hint);
}

CLI::Option *addChoice(CLI::App &App, const std::string &Name,
                       const std::vector<std::string> &Words,
                       const std::string &Help,
                       std::function<void(const std::string &)> Take) {
  return addText(
      App, Name, fmt::format("{}", fmt::join(Words, "|")), Help,
      [Name, Words, Take = std::move(Take)](const std::string &Text) {
        if (std::find(Words.begin(), Words.end(), Text) == Words.end())
          unknownWord(Code::UsageValue,
                      fmt::format("{}: '{}' is none of its values",
                                  longName(Name), printable(Text)),
                      Text, Words);
        Take(Text);
      });
}

void addFile(CLI::App &App, std::string &Path, const std::string &What,
             const std::string &Help) {
  App.add_option_function<std::string>(
         What, [&Path](const std::string &Text) { Path = Text; }, Help)
      ->type_name("FILE");
}

void needFile(const std::string &Path, const std::string &Command,
              const std::string &What) {
  if (Path.empty())
    throw UsageError(
        Code::UsageMissing,
        fmt::format("kpc {} needs the name of a {}", Command, What),
        fmt::format("`kpc {} --help` shows how it is used", Command));
}

} // namespace kpc::cli
