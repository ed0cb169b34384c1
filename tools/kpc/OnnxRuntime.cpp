//===- OnnxRuntime.cpp - What onnxruntime computes ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/OnnxRuntime.h"

#include "compiler/workers/Subprocess.h"
#include "tools/kpc/ReferenceReader.h"
#include "tools/kpc/tensorfile/TensorFile.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

namespace kpc::cli {

using tensorfile::HostTensor;

/// Reads N.npy for the Nth line of `inputs`, a name, and writes N.npy of the
/// Nth line of `outputs` under `out-`. Exit code 3: there is no onnxruntime.
static constexpr char Script[] = R"python(
import sys
try:
    import numpy
    import onnxruntime
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(3)
model, folder = sys.argv[1:]
TYPES = {"tensor(float)": "f4", "tensor(double)": "f8", "tensor(float16)": "f2"}
try:
    onnxruntime.set_default_logger_severity(4)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    wanted = {i.name: i for i in session.get_inputs()}
    feeds = {}
    with open(folder + "/inputs") as names:
        for number, line in enumerate(names):
            name = line[:-1]
            if name in wanted:
                array = numpy.load(f"{folder}/{number}.npy")
                feeds[name] = array.astype(TYPES.get(wanted[name].type, array.dtype))
    with open(folder + "/outputs") as names:
        results = session.run([line[:-1] for line in names], feeds)
    for number, result in enumerate(results):
        numpy.save(f"{folder}/out-{number}.npy", result)
except Exception as error:
    print(" ".join(str(error).split()), file=sys.stderr)
    sys.exit(1)
)python";

/// The process's exit code; -1 where it did not start or was killed.
static int runPython(const std::string &Model, const std::string &Folder) {
  std::string Program = Folder + "/run.py", Messages = Folder + "/messages";
  std::vector<std::string> Words = {"python3", Program, Model, Folder};
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

std::optional<RunValues> runOnnxRuntime(const std::string &OnnxFile,
                                        const Model &Artifact, const Inputs &In,
                                        const std::string &Folder,
                                        Diagnostics &Diags) {
  std::string Error, Names, Outputs;
  bool Written = writeFile(Folder + "/run.py", Script, Error);
  for (size_t I = 0; Written && I < In.Tensors.size(); ++I) {
    Names += In.Tensors[I].Name + "\n";
    Written =
        writeInput(In.Tensors[I], fmt::format("{}/{}.npy", Folder, I), Error);
  }
  for (const kpc_port &P : Artifact.outputs())
    Outputs += std::string(P.name) + "\n";
  if (!Written || !writeFile(Folder + "/inputs", Names, Error) ||
      !writeFile(Folder + "/outputs", Outputs, Error)) {
    Diags.error(Code::OutputUnwritable).message(Error);
    return std::nullopt;
  }
  int Exit = runPython(OnnxFile, Folder);
  if (Exit != 0) {
    std::string Why = readFile(Folder + "/messages", Error).value_or("");
    while (Why.ends_with("\n"))
      Why.pop_back();
    Diagnostic &D = Diags.error(Code::VerifyReference);
    if (Exit == 3 || Exit == -1)
      D.message("--onnxruntime: python3 on PATH has no onnxruntime" +
                (Why.empty() ? "" : ": " + printable(Why, 200)))
          .hint("install onnxruntime and numpy for it, or leave "
                "--onnxruntime out");
    else
      D.message("onnxruntime does not run the model: " + printable(Why, 600))
          .hint("leave --onnxruntime out to compare with kpc's own reference");
    return std::nullopt;
  }
  ReferenceReader Reader(Artifact, Diags);
  size_t Number = 0;
  for (const kpc_port &P : Artifact.outputs())
    Reader.take(P.name, fmt::format("{}/out-{}.npy", Folder, Number++));
  return Reader.finish();
}

} // namespace kpc::cli
