//===- Program.cpp - The kpc command --------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Program.h"

#include "compiler/kernels/CompileKernel.h"
#include "compiler/workers/WorkerPool.h"
#include "tools/kpc/Command.h"
#include "tools/kpc/Fault.h"
#include "tools/kpc/Interrupt.h"
#include "tools/kpc/Limits.h"
#include "tools/kpc/Manual.h"
#include "tools/kpc/Options.h"
#include "tools/kpc/Say.h"
#include "tools/kpc/Version.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <system_error>

using namespace kpc;
using namespace kpc::cli;

/// Runs kernel jobs that the driver sends, or one that it saved.
static int worker(int Count, char **Arguments) {
  auto Handler = [](std::string_view Job) {
    crashForTesting(/*InWorker=*/true);
    return compileKernelJob(Job);
  };
  endWorkerWithoutMemory();
  if (Count == 2)
    return runWorker(Handler);
  JobReply Reply = replayJob(Arguments[2], Handler);
  fmt::print(stderr, "{}\n",
             Reply.Ok ? "the job is done: no fault this time" : Reply.Text);
  return Reply.Ok ? Done : InputAtFault;
}

namespace {
/// Help as other compilers print it: no dots behind each option.
class HelpText : public CLI::Formatter {
public:
  HelpText() {
    label("SUBCOMMAND", "COMMAND");
    column_width(26);
  }
  std::string make_option_opts(const CLI::Option *Option) const override {
    std::string Type = Option->get_type_name();
    return Type.empty() ? "" : " " + Type;
  }
  /// A flag that may have a value is written `--remarks[=REGEX]`, which is how
  /// it is given; CLI11 would show what stands for no value.
  std::string make_option_name(const CLI::Option *Option,
                               bool IsPositional) const override {
    std::string Name = CLI::Formatter::make_option_name(Option, IsPositional);
    if (size_t At = Name.find("{.}"); At != std::string::npos)
      Name.replace(At, 3, "[=REGEX]");
    return Name;
  }
  /// CLI11 takes positional arguments for optional ones, as kpc says itself
  /// what is missing (needFile).
  std::string make_usage(const CLI::App *App, std::string Name) const override {
    if (App->get_parent())
      Name = "kpc " + Name;
    std::string Usage = CLI::Formatter::make_usage(App, Name);
    for (std::string_view Needed : {"model", "artifact"})
      if (size_t At = Usage.find("[" + std::string(Needed) + "]");
          At != std::string::npos)
        Usage.replace(At, Needed.size() + 2, Needed);
    return Usage;
  }
};
} // namespace

/// The catalogue's hints speak of any command.
static void printUsageError(const UsageError &E, const std::string &Command) {
  Diagnostics Diags;
  Diagnostic &D = Diags.error(E.Id).message(E.Message);
  if (!E.Hint.empty())
    D.hint(E.Hint);
  constexpr std::string_view Any = "kpc COMMAND ";
  if (size_t At = D.Hint.find(Any); At != std::string::npos && !Command.empty())
    D.Hint.replace(At, Any.size(), "kpc " + Command + " ");
  say(Diags.text());
}

static std::vector<std::string> commandNames(CLI::App &Main) {
  std::vector<std::string> Names;
  for (const CLI::App *Sub : Main.get_subcommands({}))
    Names.push_back(Sub->get_name());
  return Names;
}

/// Those that `kpc help` lists, and help.
static std::vector<std::string> listedCommands(CLI::App &Main) {
  std::vector<std::string> Names;
  for (const CLI::App *Sub : Main.get_subcommands({}))
    if (!Sub->get_group().empty())
      Names.push_back(Sub->get_name());
  Names.emplace_back("help");
  return Names;
}

/// The names of a command's options, as they are written.
static std::vector<std::string> optionNames(CLI::App &Command) {
  std::vector<std::string> Names;
  for (const CLI::Option *O : Command.get_options())
    for (const std::string &Name : O->get_lnames())
      Names.push_back("--" + Name);
  return Names;
}

/// What CLI11 did not know what to do with.
static void refuseExtras(CLI::App &Main) {
  CLI::App *Command = &Main;
  for (CLI::App *Sub : Main.get_subcommands())
    Command = Sub;
  std::vector<std::string> Extras = Main.remaining(/*recurse=*/true);
  for (const std::string &Extra : Extras)
    if (Extra.starts_with("-")) {
      std::string Name = Extra.substr(0, Extra.find('='));
      unknownWord(Code::UsageUnknownOption,
                  fmt::format("unknown option '{}'", printable(Name)), Name,
                  optionNames(*Command));
    }
  if (!Extras.empty())
    throw UsageError(Code::UsageValue,
                     fmt::format("the argument '{}' is one too many",
                                 printable(Extras.front())),
                     fmt::format("`kpc {} --help` shows how it is used",
                                 Command->get_name()));
}

/// `kpc help`, `kpc help COMMAND`
static int help(CLI::App &Main, const std::vector<std::string> &Names,
                int Count, char **Arguments) {
  if (Count == 2) {
    fmt::print("{}", Main.help());
    return Done;
  }
  std::string Asked = Arguments[2];
  if (Count > 3)
    throw UsageError(Code::UsageValue,
                     fmt::format("the argument '{}' is one too many",
                                 printable(Arguments[3])),
                     "name one command");
  if (std::find(Names.begin(), Names.end(), Asked) == Names.end())
    unknownWord(Code::UsageUnknownCommand,
                fmt::format("unknown command '{}'", printable(Asked)), Asked,
                listedCommands(Main));
  fmt::print("{}", Main.get_subcommand(Asked)->help());
  return Done;
}

/// The end of a command's help.
static std::string examplesText(const std::string &Command) {
  std::string Text;
  std::string_view Lines = examplesOf(Command);
  while (!Lines.empty()) {
    size_t End = Lines.find('\n') + 1;
    Text += "  " + std::string(Lines.substr(0, End));
    Lines.remove_prefix(End);
  }
  return Text.empty() ? Text : "Examples:\n" + Text;
}

static int parseAndRun(CLI::App &Main, Action &Chosen, int Count,
                       char **Arguments) {
  if (Count < 2) {
    fmt::print(stderr, "{}", Main.help());
    throw UsageError(Code::UsageMissing, "no command was given");
  }
  std::string First = Arguments[1];
  std::vector<std::string> Names = commandNames(Main);
  if (First == "help")
    return help(Main, Names, Count, Arguments);
  if (!First.starts_with("-") &&
      std::find(Names.begin(), Names.end(), First) == Names.end()) {
    unknownWord(Code::UsageUnknownCommand,
                fmt::format("unknown command '{}'", printable(First)), First,
                listedCommands(Main));
  }
  try {
    Main.parse(Count, Arguments);
  } catch (const CLI::CallForVersion &) {
    fmt::print("{}", versionDetails());
    return Done;
  } catch (const CLI::Success &) { // --help
    CLI::App *Asked = &Main;
    for (CLI::App *Sub : Main.get_subcommands())
      Asked = Sub;
    fmt::print("{}", Asked->help());
    return Done;
  } catch (const CLI::ExtrasError &) {
    refuseExtras(Main);
    throw;
  } catch (const CLI::ParseError &E) {
    throw UsageError(Code::UsageValue, E.what());
  }
  if (Chosen)
    return Chosen();
  throw UsageError(Code::UsageMissing, "no command was given");
}

/// Everything but crashes ends here.
static int guarded(CLI::App &Main, Action &Chosen, int Count,
                   char **Arguments) try {
  int Result = parseAndRun(Main, Chosen, Count, Arguments);
  // Text that could not be written is a failure too: a full disk, say.
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    say("error: cannot write to the standard output\n");
    return Result == Done ? InputAtFault : Result;
  }
  return Result;
} catch (const UsageError &E) {
  std::vector<std::string> Names = commandNames(Main);
  std::string Command = Count > 1 ? Arguments[1] : "";
  bool Known = std::find(Names.begin(), Names.end(), Command) != Names.end();
  printUsageError(E, Known ? Command : "");
  return WrongUsage;
} catch (const std::bad_alloc &) {
  return reportFault("it ran out of memory");
} catch (const std::system_error &E) { // fmt: the output cannot be written
  say(fmt::format("error: {}\n", E.what()));
  return InputAtFault;
} catch (const std::exception &E) {
  return reportFault(E.what());
} catch (...) {
  return reportFault("an unknown exception");
}

/// The command that is called, as making the options of all takes longer than
/// checking a small model does. Where it is none of them, or one that tells of
/// the others, all.
static void addCommands(CLI::App &Main, Action &Chosen,
                        std::string_view Called) {
  using Adder = void (*)(CLI::App &, Action &);
  static constexpr std::pair<std::string_view, Adder> All[] = {
      {"compile", addCompileCommand}, {"calibrate", addCalibrateCommand},
      {"check", addCheckCommand},     {"run", addRunCommand},
      {"bench", addBenchCommand},     {"inspect", addInspectCommand},
      {"verify", addVerifyCommand},   {"reduce", addReduceCommand},
      {"sign", addSignCommand},       {"ops", addOpsCommand},
      {"targets", addTargetsCommand}, {"completion", addCompletionCommand}};
  for (auto [Name, Add] : All)
    if (Name == Called && Called != "completion")
      return Add(Main, Chosen);
  for (auto [Name, Add] : All)
    Add(Main, Chosen);
}

int cli::runProgram(int Count, char **Arguments) {
  setCommandLine(Count, Arguments);
  chooseColour(Count, Arguments);
  if (Count == 2 && Arguments[1] == WorkerArgument)
    return worker(Count, Arguments);
  catchFaults();
  catchInterrupts();
  if (Count == 3 && Arguments[1] == std::string_view("--replay-job"))
    return worker(Count, Arguments);

  CLI::App Main("Compiles trained models ahead of time for NVIDIA GPUs and "
                "the CPU, and runs them.",
                "kpc");
  Main.set_help_flag("-h,--help", "print this help");
  Main.set_version_flag("--version", versionText(), "print the version");
  Main.formatter(std::make_shared<HelpText>());
  Main.footer("`kpc help COMMAND` says more.");
  Main.require_subcommand(0, 1);
  Main.failure_message(CLI::FailureMessage::simple);
  Action Chosen;
  addCommands(Main, Chosen, Count > 1 ? Arguments[1] : "");
  for (CLI::App *Command : Main.get_subcommands({})) {
    Command->group("Commands")->footer(examplesText(Command->get_name()));
    addChoice(*Command, "--color", {"auto", "always", "never"},
              "colour messages (default: auto, where they go to a terminal)",
              [](const std::string &) {});
  }
  addManualCommand(Main, Chosen);
  return guarded(Main, Chosen, Count, Arguments);
}
