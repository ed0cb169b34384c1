//===- Completion.cpp - Command lines that shells complete ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Command.h"
#include "tools/kpc/Manual.h"
#include "tools/kpc/Options.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kpc::cli {

namespace {
/// An option as shells know it.
struct ShellOption {
  std::string Name; ///< without dashes
  std::string Help; ///< the first sentence
  bool TakesValue = false;
  std::vector<std::string> Words; ///< values from a fixed list
};
} // namespace

/// The words of "text|json|cuda:N" that stand for themselves.
static std::vector<std::string> wordsOf(std::string_view Type) {
  std::vector<std::string> Words;
  if (Type.find('|') == std::string_view::npos)
    return Words;
  while (!Type.empty()) {
    std::string_view Word = Type.substr(0, Type.find('|'));
    Type.remove_prefix(std::min(Type.size(), Word.size() + 1));
    bool IsPlain = !Word.empty() &&
                   Word.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ[]<>:, ") ==
                       std::string_view::npos;
    if (IsPlain)
      Words.emplace_back(Word);
  }
  return Words;
}

/// Up to the first mark that ends a clause, without what shells would read.
static std::string briefly(std::string_view Help) {
  std::string Out;
  for (char C : Help.substr(0, Help.find_first_of(";:(\n")))
    if (std::string_view("'\"[]`$\\").find(C) == std::string_view::npos)
      Out += C;
  while (Out.ends_with(' ') || Out.ends_with(','))
    Out.pop_back();
  return Out;
}

static std::vector<const CLI::App *> shownCommands(const CLI::App &Main) {
  std::vector<const CLI::App *> Shown;
  for (const CLI::App *Command : Main.get_subcommands({}))
    if (!Command->get_group().empty())
      Shown.push_back(Command);
  return Shown;
}

static std::vector<ShellOption> shellOptions(const CLI::App &Command) {
  std::vector<ShellOption> Options;
  for (const CLI::Option *O : Command.get_options())
    for (const std::string &Name : O->get_lnames())
      Options.push_back({Name, briefly(O->get_description()),
                         !O->get_type_name().empty(),
                         wordsOf(O->get_type_name())});
  return Options;
}

static std::string namesOf(const std::vector<const CLI::App *> &Commands) {
  std::string Names;
  for (const CLI::App *Command : Commands)
    Names += (Names.empty() ? "" : " ") + Command->get_name();
  return Names;
}

static std::string forBash(const CLI::App &Main) {
  std::vector<const CLI::App *> Commands = shownCommands(Main);
  std::string Values, Options;
  for (const CLI::App *Command : Commands) {
    std::string Names;
    for (const ShellOption &O : shellOptions(*Command)) {
      Names += (Names.empty() ? "--" : " --") + O.Name;
      if (!O.Words.empty())
        Values +=
            fmt::format("  '{} --{}') words='{}' ;;\n", Command->get_name(),
                        O.Name, fmt::join(O.Words, " "));
    }
    Options +=
        fmt::format("  {}) options='{}' ;;\n", Command->get_name(), Names);
  }
  return fmt::format(
      R"(# bash completion for kpc, written by `kpc completion bash`
_kpc() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" words='' options='--help'
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W '{} help --help --version' -- "$current"))
    return
  fi
  case "${{COMP_WORDS[1]}} ${{COMP_WORDS[COMP_CWORD - 1]}}" in
{}  esac
  case "${{COMP_WORDS[1]}}" in
  help) words='{}' ;;
  completion) words='bash fish zsh' ;;
{}  esac
  if [[ -n "$words" ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  elif [[ "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _kpc kpc
)",
      namesOf(Commands), Values, namesOf(Commands), Options);
}

static std::string forZsh(const CLI::App &Main) {
  std::vector<const CLI::App *> Commands = shownCommands(Main);
  std::string Names, Cases;
  for (const CLI::App *Command : Commands) {
    Names += fmt::format("    '{}:{}'\n", Command->get_name(),
                         briefly(Command->get_description()));
    Cases += fmt::format("  {})\n    _arguments \\\n", Command->get_name());
    for (const ShellOption &O : shellOptions(*Command)) {
      std::string Value;
      if (!O.Words.empty())
        Value = fmt::format(":value:({})", fmt::join(O.Words, " "));
      else if (O.TakesValue)
        Value = ":value:_files";
      Cases += fmt::format("      '*--{}[{}]{}' \\\n", O.Name, O.Help, Value);
    }
    Cases += Command->get_name() == "completion"
                 ? "      '1:shell:(bash fish zsh)'\n    ;;\n"
                 : "      '*:file:_files'\n    ;;\n";
  }
  return fmt::format(R"(#compdef kpc
# zsh completion for kpc, written by `kpc completion zsh`
_kpc() {{
  local -a commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
_kpc "$@"
)",
                     Names, Cases);
}

static std::string forFish(const CLI::App &Main) {
  std::string Out =
      "# fish completion for kpc, written by `kpc completion fish`\n";
  for (const CLI::App *Command : shownCommands(Main)) {
    Out += fmt::format(
        "complete -c kpc -n __fish_use_subcommand -f -a {} -d '{}'\n",
        Command->get_name(), briefly(Command->get_description()));
    std::string Where =
        fmt::format("complete -c kpc -n '__fish_seen_subcommand_from {}'",
                    Command->get_name());
    for (const ShellOption &O : shellOptions(*Command)) {
      std::string Value = O.TakesValue ? " -r" : "";
      if (!O.Words.empty())
        Value = fmt::format(" -x -a '{}'", fmt::join(O.Words, " "));
      Out += fmt::format("{} -l {}{} -d '{}'\n", Where, O.Name, Value, O.Help);
    }
    if (Command->get_name() == "completion")
      Out += Where + " -f -a 'bash fish zsh'\n";
  }
  return Out;
}

std::string completionFor(std::string_view Shell, const CLI::App &Main) {
  return Shell == "bash"  ? forBash(Main)
         : Shell == "zsh" ? forZsh(Main)
                          : forFish(Main);
}

void addCompletionCommand(CLI::App &Main, Action &Chosen) {
  CLI::App *App = Main.add_subcommand(
      "completion",
      "print what a shell reads to complete command lines of kpc");
  auto Shell = std::make_shared<std::string>();
  App->add_option("shell", *Shell, "bash, fish or zsh")->type_name("");
  App->callback([&Main, &Chosen, Shell] {
    static const std::vector<std::string> Shells = {"bash", "fish", "zsh"};
    if (Shell->empty())
      throw UsageError(Code::UsageMissing,
                       "kpc completion needs the name of a shell",
                       "it is bash, fish or zsh");
    if (std::find(Shells.begin(), Shells.end(), *Shell) == Shells.end())
      unknownWord(
          Code::UsageValue,
          fmt::format("kpc completes for bash, fish and zsh, not for '{}'",
                      printable(*Shell)),
          *Shell, Shells);
    Chosen = [&Main, Shell] {
      fmt::print("{}", completionFor(*Shell, Main));
      return int(Done);
    };
  });
}

void addManualCommand(CLI::App &Main, Action &Chosen) {
  CLI::App *App = Main.add_subcommand(
      "manual", "print the page for man of a command, or of kpc");
  App->group(""); // for the installation
  auto Name = std::make_shared<std::string>();
  App->add_option("command", *Name, "the command");
  App->callback([&Main, &Chosen, Name] {
    const CLI::App *Asked = Name->empty() ? &Main : nullptr;
    for (const CLI::App *Command : Main.get_subcommands({}))
      if (Command->get_name() == *Name)
        Asked = Command;
    if (!Asked)
      throw UsageError(Code::UsageUnknownCommand,
                       fmt::format("unknown command '{}'", printable(*Name)));
    Chosen = [&Main, Asked] {
      fmt::print("{}", manualPage(Main, *Asked));
      return int(Done);
    };
  });
}

} // namespace kpc::cli
