//===- OnnxRuntime.cpp - What onnxruntime computes ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/OnnxRuntime.h"

#include "compiler/TakenDims.h"
#include "compiler/workers/Subprocess.h"
#include "tools/kpc/Json.h"
#include "tools/kpc/ReferenceReader.h"
#include "tools/kpc/tensorfile/TensorFile.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

namespace kpc::cli {

using tensorfile::HostTensor;

/// Reads N.npy for the Nth line of `inputs`, a name, and writes N.npy of the
/// Nth line of `outputs` under `out-`. With a folder of external data, the
/// model is a part of another: what is no array of numpy's is left out, and
/// nothing is optimised. Strings are places in the lists of `texts`, lines of
/// which each second one is a list, and maps are rows. Exit code 3: there is no
/// onnxruntime.
static constexpr char Script[] = R"python(
import json
import sys
try:
    import numpy
    import onnxruntime
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(3)
model, folder, data = sys.argv[1:]
TYPES = {"tensor(float)": "f4", "tensor(double)": "f8", "tensor(float16)": "f2"}
with open(folder + "/texts") as lines:
    texts = [json.loads(line) for line in lines]
texts = dict(zip(texts[0::2], texts[1::2]))


def worded(name, places):
    table = texts.get(name, [])
    words = [table[i] if 0 <= i < len(table) else "" for i in places.ravel()]
    return numpy.array(words, object).reshape(places.shape)


def numbered(name, result):
    if isinstance(result, list) and all(isinstance(row, dict) for row in result):
        return numpy.array([list(row.values()) for row in result], "f4")
    if not isinstance(result, numpy.ndarray) or result.dtype.kind not in "OU" or name not in texts:
        return result
    table = {word: i for i, word in enumerate(texts[name])}
    return numpy.array([table.get(word, -1) for word in result.ravel()], "i8").reshape(result.shape)


try:
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    if data:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", data)
        with open(model, "rb") as file:
            model = file.read()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    wanted = {i.name: i for i in session.get_inputs()}
    feeds = {}
    with open(folder + "/inputs") as names:
        for number, line in enumerate(names):
            name = line[:-1]
            if name in wanted:
                array = numpy.load(f"{folder}/{number}.npy")
                kind = wanted[name].type
                feeds[name] = worded(name, array) if kind == "tensor(string)" else array.astype(TYPES.get(kind, array.dtype))
    with open(folder + "/outputs") as names:
        names = [line[:-1] for line in names]
    results = [numbered(*each) for each in zip(names, session.run(names, feeds))]
    for number, result in enumerate(results):
        if not data or isinstance(result, numpy.ndarray):
            numpy.save(f"{folder}/out-{number}.npy", result)
except Exception as error:
    print(" ".join(str(error).split()), file=sys.stderr)
    sys.exit(1)
)python";

/// The process's exit code; -1 where it did not start or was killed.
static int runPython(const std::string &Model, const std::string &Folder,
                     const std::string &Data) {
  std::string Program = Folder + "/run.py", Messages = Folder + "/messages";
  std::vector<std::string> Words = {"python3", Program, Model, Folder, Data};
  std::vector<char *> Arguments;
  for (std::string &Word : Words)
    Arguments.push_back(Word.data());
  Arguments.push_back(nullptr);
  posix_spawn_file_actions_t Files;
  posix_spawn_file_actions_init(&Files);
  posix_spawn_file_actions_addopen(&Files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&Files, 2, Messages.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t Child = 0;
  int Failed = posix_spawnp(&Child, "python3", &Files, nullptr,
                            Arguments.data(), environ);
  posix_spawn_file_actions_destroy(&Files);
  int Status = 0;
  if (Failed)
    return -1;
  while (waitpid(Child, &Status, 0) < 0)
    if (errno != EINTR)
      return -1;
  return WIFEXITED(Status) ? WEXITSTATUS(Status) : -1;
}

static bool writeInput(const HostTensor &T, const std::string &Path,
                       std::string &Error) {
  std::vector<uint8_t> Unpacked;
  std::span<const uint8_t> Body = tensorfile::npyElements(
      T.Type, T.count(), {T.Data.data(), T.Data.size()}, Unpacked);
  std::string Text = tensorfile::npyHeader(T.Type, T.Dims);
  Text.append(reinterpret_cast<const char *>(Body.data()), Body.size());
  return writeFile(Path, Text, Error);
}

static std::string lineOf(const Json &Value) {
  return Value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

OnnxRuntimeRun runOnnxRuntime(const OnnxRuntimeJob &Job, const Inputs &In,
                              const std::string &Folder) {
  std::string Error, Names, Outputs, Texts;
  bool Written = writeFile(Folder + "/run.py", Script, Error);
  for (size_t I = 0; Written && I < In.Tensors.size(); ++I) {
    Names += In.Tensors[I].Name + "\n";
    Written =
        writeInput(In.Tensors[I], fmt::format("{}/{}.npy", Folder, I), Error);
  }
  for (const std::string &Name : Job.Outputs)
    Outputs += Name + "\n";
  for (const auto &[Name, List] : Job.Texts)
    Texts += lineOf(Name) + "\n" + List + "\n";
  if (!Written || !writeFile(Folder + "/texts", Texts, Error) ||
      !writeFile(Folder + "/inputs", Names, Error) ||
      !writeFile(Folder + "/outputs", Outputs, Error))
    return {OnnxRuntimeRun::Unwritten, Error};
  int Exit = runPython(Job.Model, Folder, Job.DataFolder);
  if (Exit == 0)
    return {OnnxRuntimeRun::Ran, ""};
  std::string Why = readFile(Folder + "/messages", Error).value_or("");
  while (Why.ends_with("\n"))
    Why.pop_back();
  return {Exit == 3 || Exit == -1 ? OnnxRuntimeRun::Missing
                                  : OnnxRuntimeRun::Refused,
          Why};
}

std::string onnxRuntimeOutput(const std::string &Folder, size_t Number) {
  return fmt::format("{}/out-{}.npy", Folder, Number);
}

std::optional<RunValues> runOnnxRuntime(const std::string &OnnxFile,
                                        const Model &Artifact, const Inputs &In,
                                        const std::string &Folder,
                                        Diagnostics &Diags) {
  OnnxRuntimeJob Job{OnnxFile, "", {}, {}};
  auto AddTexts = [&](const std::string &Name) {
    for (const char *Kind : {"strings:", "labels:"})
      if (std::string List = Artifact.provenance(
              (std::string(MetadataPrefix) + Kind + Name).c_str());
          !List.empty() && Json::accept(List))
        Job.Texts.emplace_back(Name, lineOf(Json::parse(List)));
  };
  for (const kpc_port &P : Artifact.inputs())
    AddTexts(P.name);
  for (const kpc_port &P : Artifact.outputs()) {
    AddTexts(P.name);
    Job.Outputs.emplace_back(P.name);
  }
  OnnxRuntimeRun Run = runOnnxRuntime(Job, In, Folder);
  switch (Run.How) {
  case OnnxRuntimeRun::Ran:
    break;
  case OnnxRuntimeRun::Unwritten:
    Diags.error(Code::OutputUnwritable).message(Run.Why);
    return std::nullopt;
  case OnnxRuntimeRun::Missing:
    Diags.error(Code::VerifyReference)
        .message("--onnxruntime: python3 on PATH has no onnxruntime" +
                 (Run.Why.empty() ? "" : ": " + printable(Run.Why, 200)))
        .hint("install onnxruntime and numpy for it, or leave "
              "--onnxruntime out");
    return std::nullopt;
  case OnnxRuntimeRun::Refused:
    Diags.error(Code::VerifyReference)
        .message("onnxruntime does not run the model: " +
                 printable(Run.Why, 600))
        .hint("give inputs that it takes, as --input NAME=zeros or NAME=FILE, "
              "or leave --onnxruntime out to compare with kpc's own reference");
    return std::nullopt;
  }
  ReferenceReader Reader(Artifact, Diags);
  size_t Number = 0;
  for (const kpc_port &P : Artifact.outputs())
    Reader.take(P.name, onnxRuntimeOutput(Folder, Number++));
  return Reader.finish();
}

} // namespace kpc::cli
