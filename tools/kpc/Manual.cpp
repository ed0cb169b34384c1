//===- Manual.cpp - Examples, and pages for man ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Manual.h"
#include "tools/kpc/Version.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace kpc::cli {

namespace {
struct Example {
  std::string_view Command, Lines;
};
constexpr Example Examples[] = {
    {"compile",
     "kpc compile model.onnx --arch portable,host -o model.kpc\n"
     "kpc compile model.onnx --arch host --dim batch=1..64:opt=8\n"
     "kpc compile model.onnx --arch portable --precision fp16 -o fp16.kpc\n"
     "kpc compile model.onnx --emit graph -o -\n"},
    {"calibrate",
     "kpc calibrate model.onnx --data samples.npz -o model.calibration\n"
     "kpc compile model.onnx --precision int8 --calibration "
     "model.calibration\n"},
    {"check", "kpc check model.onnx --arch sm_90a\n"
              "kpc check model.onnx --arch host --json\n"},
    {"run", "kpc run model.kpc --input x=x.npy --output-dir out\n"
            "kpc run model.kpc --input random --dim batch=4\n"},
    {"bench", "kpc bench model.kpc --dim batch=4\n"
              "kpc bench model.kpc --dim batch=4 --device host --json\n"},
    {"inspect", "kpc inspect model.kpc\nkpc inspect model.kpc --json\n"},
    {"verify", "kpc verify model.kpc --model model.onnx --input random\n"},
    {"reduce", "kpc reduce model.onnx --check 'kpc check {} --arch host' "
               "--timeout 10\n"},
    {"sign", "kpc sign model.kpc --key key.pem -o signed.kpc\n"},
    {"ops", "kpc ops\nkpc ops Conv\n"},
    {"targets", "kpc targets\n"},
    {"completion", "kpc completion bash > kpc.bash\n"},
};
} // namespace

std::string_view examplesOf(std::string_view Command) {
  for (const Example &One : Examples)
    if (One.Command == Command)
      return One.Lines;
  return {};
}

/// Text for troff: a backslash and a hyphen are themselves, and no line begins
/// with a request.
static std::string troff(std::string_view Text) {
  std::string Out;
  bool Begins = true;
  for (char C : Text) {
    if (Begins && (C == '.' || C == '\''))
      Out += "\\&";
    if (C == '\\')
      Out += "\\e";
    else if (C == '-')
      Out += "\\-";
    else
      Out += C;
    Begins = C == '\n';
  }
  return Out;
}

static std::string section(std::string_view Title) {
  return fmt::format(".SH {}\n", Title);
}

static std::string optionsOf(const CLI::App &Command) {
  std::string Out;
  for (const CLI::Option *O : Command.get_options()) {
    if (O->get_group().empty())
      continue;
    std::string Names = O->get_positional() ? O->get_name(true) : "";
    for (const std::string &Name : O->get_snames())
      Names += (Names.empty() ? "-" : ", -") + Name;
    for (const std::string &Name : O->get_lnames())
      Names += (Names.empty() ? "--" : ", --") + Name;
    Out += fmt::format(".TP\n\\fB{}\\fR {}\n{}\n", troff(Names),
                       troff(O->get_type_name()), troff(O->get_description()));
  }
  return Out;
}

std::string manualPage(const CLI::App &Main, const CLI::App &Command) {
  bool IsMain = &Main == &Command;
  std::string Name = IsMain ? "kpc" : "kpc-" + Command.get_name();
  std::string Out = fmt::format(".TH \"{}\" 1 \"\" \"{}\" \"kpc\"\n",
                                troff(Name), versionText());
  Out += section("NAME");
  Out += troff(Name) + " \\- " + troff(Command.get_description()) + "\n";
  Out += section("SYNOPSIS");
  Out += IsMain ? "\\fBkpc\\fR COMMAND [OPTIONS]\n"
                : fmt::format("\\fBkpc {}\\fR [OPTIONS]", Command.get_name());
  if (!IsMain) {
    for (const CLI::Option *O : Command.get_options())
      if (O->get_positional())
        Out += " " + O->get_name(true);
    Out += "\n";
  }
  if (IsMain) {
    Out += section("COMMANDS");
    for (const CLI::App *Sub : Main.get_subcommands({}))
      if (!Sub->get_group().empty())
        Out += fmt::format(".TP\n\\fBkpc\\-{}\\fR(1)\n{}\n", Sub->get_name(),
                           troff(Sub->get_description()));
  }
  Out += section("OPTIONS") + optionsOf(Command);
  if (std::string_view Lines = examplesOf(Command.get_name()); !Lines.empty())
    Out += section("EXAMPLES") + ".nf\n" + troff(Lines) + ".fi\n";
  Out += section("EXIT STATUS");
  Out += "0: done. 1: the input is at fault. 2: the command line is. 3: "
         "\\fBkpc bench\\fR found a regression. 4: \\fBkpc verify\\fR found a "
         "difference. 70: a fault of kpc's own.\n";
  return Out;
}

} // namespace kpc::cli
