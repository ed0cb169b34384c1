//===- ModelFile.cpp - What a compilation starts from ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/ModelFile.h"

#include "compiler/import/onnx/model/Reader.h"
#include "compiler/import/torch/Zip.h"
#include "runtime/format/Container.h"
#include "tools/kpc/Command.h"
#include "tools/kpc/Fault.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <set>

namespace kpc::cli {

/// "weight "mlp.onnx#w" [...]": the name in front of the '#'.
static std::string weightFileIn(std::string_view Line) {
  for (std::string_view Op : {"graph.weight \"", "plan.weight \""})
    if (size_t At = Line.find(Op); At != std::string_view::npos) {
      std::string_view Rest = Line.substr(At + Op.size());
      return std::string(Rest.substr(0, Rest.find_first_of("#\"")));
    }
  return {};
}

static void readText(std::istream &In, ModelFile &File) {
  File.Kind = ModelFile::Graph;
  std::filesystem::path Folder = std::filesystem::path(File.Path).parent_path();
  std::set<std::string> Names;
  for (std::string Line; std::getline(In, Line);) {
    size_t Start = Line.find_first_not_of(" \t\"");
    if (Start != std::string::npos &&
        Line.compare(Start, 12, "plan.program") == 0)
      File.Kind = ModelFile::Plan;
    std::string Name = weightFileIn(Line);
    if (!Name.empty() && Names.insert(Name).second)
      File.WeightFiles.push_back((Folder / Name).string());
  }
}

/// The files beside a model that its data lies in.
static void addDataFiles(const std::string &Model, ModelFile &File) {
  std::filesystem::path Folder = std::filesystem::path(Model).parent_path();
  for (const std::string &Location : onnx::dataFiles(Model))
    File.DataFiles.push_back((Folder / Location).string());
}

ModelFile lookAtModel(const std::string &Path) {
  ModelFile File;
  File.Path = Path;
  std::error_code Ignored;
  if (!std::filesystem::is_regular_file(Path, Ignored))
    return File;
  std::ifstream In(Path, std::ios::binary);
  if (Path.ends_with(".mlir")) {
    readText(In, File);
    for (const std::string &Weights : File.WeightFiles)
      addDataFiles(Weights, File);
    return File;
  }
  char Start[sizeof(format::Magic)] = {};
  if (In.read(Start, sizeof(Start)) &&
      std::memcmp(Start, format::Magic, sizeof(Start)) == 0)
    File.Kind = ModelFile::Artifact;
  else if (!torch::isZipFile(Path))
    addDataFiles(Path, File);
  return File;
}

[[noreturn]] static void refuse(const std::string &Option,
                                const std::string &Path, const char *Why,
                                const char *Way) {
  throw UsageError(
      Code::UsageConflict,
      fmt::format("{} cannot apply to '{}': {}", Option, printable(Path), Why),
      Way);
}

void refuseOptions(const ModelFile &File, const CompileOptions &Options) {
  bool Plan = File.Kind == ModelFile::Plan;
  if (!Plan && File.Kind != ModelFile::Graph)
    return;
  constexpr const char *Again =
      "give the option where the model is compiled with --emit";
  const char *Fixed =
      Plan ? "a plan has its sizes already" : "a graph has its sizes already";
  const char *Typed = Plan ? "a plan has its types already"
                           : "a graph has the types of its inputs and outputs "
                             "already";
  if (!Options.Dims.empty() || !Options.Places.empty())
    refuse("--dim", File.Path, Fixed, Again);
  if (!Options.Values.empty())
    refuse("--value", File.Path,
           Plan ? "a plan has its inputs already"
                : "a graph has its inputs already",
           Again);
  if (Options.Io != Precision::Model)
    refuse("--io-precision", File.Path, Typed, Again);
  if (Plan && Options.Compute != Precision::Model)
    refuse("--precision", File.Path, Typed, Again);
  if (Plan && !Options.PrecisionFor.empty())
    refuse("--precision-for", File.Path, Typed, Again);
  if (Plan && !Options.Calibration.empty())
    refuse("--calibration", File.Path, Typed, Again);
  if (Plan && (Options.Emit == Phase::Graph || Options.Emit == Phase::Linalg))
    refuse(Options.Emit == Phase::Graph ? "--emit graph" : "--emit linalg",
           File.Path, "a plan does not go back to a graph",
           "take the model or the graph that the plan was made from");
}

bool isArtifact(const ModelFile &File, Diagnostics &Diags) {
  if (File.Kind != ModelFile::Artifact)
    return false;
  Diags.setFile(File.Path);
  Diags.error(Code::ImportNotOnnx)
      .message("the file is a kpc artifact: it is compiled already")
      .hint("`kpc run` runs it and `kpc inspect` shows what is in it; to "
            "compile again, give the model");
  return true;
}

void reproduceWith(const ModelFile &File) {
  std::vector<std::string> Beside = File.WeightFiles;
  Beside.insert(Beside.end(), File.DataFiles.begin(), File.DataFiles.end());
  reproduceWith(File.Path, Beside);
}

void keepInput(const std::string &Input, const std::string &What,
               const std::string &Option, const std::string &Output) {
  std::error_code Ignored;
  if (std::filesystem::equivalent(Output, Input, Ignored))
    throw UsageError(
        Code::UsageConflict,
        fmt::format("{}: '{}' is {}", Option, printable(Output), What),
        "write to a file of another name");
}

void keepApart(const std::string &Option, const std::string &Output,
               const std::string &Other, const std::string &OtherOutput) {
  namespace fs = std::filesystem;
  auto IsFile = [](const std::string &Path) {
    return !Path.empty() && Path != "-";
  };
  if (!IsFile(Output) || !IsFile(OtherOutput))
    return;
  // One that is there may have two names; one that is not, two ways to it.
  std::error_code Ignored, NoWay;
  bool Same = fs::equivalent(Output, OtherOutput, Ignored) ||
              fs::weakly_canonical(fs::absolute(Output, NoWay), NoWay) ==
                  fs::weakly_canonical(fs::absolute(OtherOutput, NoWay), NoWay);
  if (Same && !NoWay)
    throw UsageError(Code::UsageConflict,
                     fmt::format("{} and {} both write to '{}'", Option, Other,
                                 printable(OtherOutput)),
                     "name two files");
}

void keepInputs(const ModelFile &File, const std::string &Option,
                const std::string &Output) {
  keepInput(File.Path, "the model itself", Option, Output);
  for (const std::string &Weights : File.WeightFiles)
    keepInput(Weights,
              fmt::format("the model that '{}' takes its weights from",
                          printable(File.Path)),
              Option, Output);
  for (const std::string &Data : File.DataFiles)
    keepInput(Data, "a file that the model's weights are in", Option, Output);
}

} // namespace kpc::cli
