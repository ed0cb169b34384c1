//===- VerifyCommand.cpp - kpc verify -------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Compiler.h"
#include "compiler/ModelDigest.h"
#include "compiler/import/torch/Zip.h"
#include "compiler/workers/Subprocess.h"
#include "tools/kpc/ArtifactTable.h"
#include "tools/kpc/Bisect.h"
#include "tools/kpc/CompileAgain.h"
#include "tools/kpc/DimNames.h"
#include "tools/kpc/Fault.h"
#include "tools/kpc/Interrupt.h"
#include "tools/kpc/Json.h"
#include "tools/kpc/ModelFile.h"
#include "tools/kpc/OnnxRuntime.h"
#include "tools/kpc/ReferenceReader.h"
#include "tools/kpc/TextTable.h"

#include <charconv>
#include <sstream>

namespace kpc::cli {

namespace {
struct VerifyArguments {
  std::vector<std::string> Operators; ///< manifests
  std::string Artifact, Model;
  /// NAME (or nothing) and the file.
  std::vector<std::pair<std::string, std::string>> References;
  InputOptions In;
  DeviceChoice Choice;
  CacheOption Cache;
  int64_t Threads = 0;
  std::optional<double> Rms, Largest;
  bool Json = false;
  bool OnnxRuntime = false; ///< it runs Model
  bool Bisect = false;
  std::string OutputFolder; ///< for what Bisect finds
};
} // namespace

//===----------------------------------------------------------------------===//
// The reference
//===----------------------------------------------------------------------===//

/// Says so where the model is not the one that the artifact was made from.
static void compareDigest(const Model &M, const std::string &Path,
                          Diagnostics &Diags) {
  std::string Recorded = M.provenance("model_digest"),
              Now = checkedModelDigest(Path);
  if (!Recorded.empty() && !Now.empty() && Now != Recorded)
    Diags.warning(Code::VerifyModelChanged)
        .message(fmt::format("'{}' is not the file that the artifact was "
                             "compiled from: its digest is another",
                             printable(Path)));
}

/// The model in fp32 on the host, one operation a kernel. `Fault` is set where
/// kpc itself failed; the diagnostic names the reproducer.
static std::optional<Model> compileReference(const VerifyArguments &Arguments,
                                             const Model &M,
                                             const std::string &Folder,
                                             Diagnostics &Diags, bool &Fault) {
  compareDigest(M, Arguments.Model, Diags);
  CompileOptions Options = quietOptions(Arguments.Cache.folder());
  Options.Model = Arguments.Model;
  Options.Output = Folder + "/reference.kpc";
  Options.Targets = {"host"};
  Options.Compute = Options.Io = Precision::Fp32;
  Options.Fuse = false;
  Options.Operators = Arguments.Operators;
  addCompiledInputs(M, Options);
  std::optional<Model> Compiled =
      compileAndOpen(Options, Arguments.Choice.Quiet || Arguments.Json, Diags,
                     Fault, loadFlags(Arguments.Choice));
  if (!Compiled && !Diags.hasErrors())
    Diags.error(Code::VerifyReference)
        .message("the reference could not be compiled");
  return Compiled;
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

/// The types that options of the artifact's ask for. Names of files and
/// patterns, which are options too, may hold anything.
static std::vector<std::string> askedTypes(const Model &M) {
  std::vector<std::string> Types;
  std::istringstream Options(M.provenance("options"));
  for (std::string Word; Options >> Word;) {
    if (Word.starts_with("--precision-for="))
      Types.push_back(Word.substr(Word.rfind('=') + 1));
    for (std::string_view Key : {"--precision=", "--io-precision="})
      if (Word.starts_with(Key))
        Types.push_back(Word.substr(Key.size()));
  }
  return Types;
}

/// What is allowed for the narrowest type that the artifact computes in.
static Tolerance toleranceFor(const VerifyArguments &Arguments, const Model &M,
                              const ArtifactFacts &Facts) {
  bool Half = false, Brain = false, Quantised = false, FourBits = false;
  auto Look = [&](std::string_view Text) {
    if (Text.starts_with("3xtf32"))
      return; // as exact as f32
    if (Text == "mxfp4" || Text == "nvfp4")
      FourBits = true;
    else if (Text == "fp8" || Text == "int8" || Text == "mxfp8")
      Quantised = true;
    else if (Text.find("bf16") != std::string_view::npos)
      Brain = true;
    else if (Text.find("f16") != std::string_view::npos ||
             Text.find("fp16") != std::string_view::npos ||
             Text.find("tf32") != std::string_view::npos)
      Half = true; // as many bits of mantissa as tf32
  };
  for (const std::string &Type : askedTypes(M))
    Look(Type);
  for (const TargetFacts &T : Facts.Targets)
    for (const KernelFacts &K : T.Kernels)
      Look(K.Precision);
  for (const auto &Ports : {M.inputs(), M.outputs()})
    for (const kpc_port &P : Ports)
      Look(kpc_element_name(P.type));
  // FP8 has 4 bits of mantissa and bf16 has 8, where fp16 has 11. Integers of
  // 8 bits are as coarse as FP8 where a row has outliers.
  // FP4 has 2 bits: of random matrices a product has an RMS error of a sixth.
  Tolerance T = FourBits    ? Tolerance{4e-1, 4}
                : Quantised ? Tolerance{1e-1, 1}
                : Brain     ? Tolerance{4e-2, 4e-1}
                : Half      ? Tolerance{5e-3, 5e-2}
                            : Tolerance{1e-4, 1e-3};
  T.Rms = Arguments.Rms.value_or(T.Rms);
  T.Largest = Arguments.Largest.value_or(T.Largest);
  return T;
}

/// The shapes to try: the default, and a larger one where the model has dims
/// of which the user says nothing.
static std::vector<InputOptions> shapesToTry(const VerifyArguments &Arguments,
                                             const Model &M) {
  std::vector<InputOptions> All = {Arguments.In};
  bool Files = std::any_of(
      Arguments.In.List.begin(), Arguments.In.List.end(),
      [](const InputOptions::Given &G) { return G.How == Filling::File; });
  if (Files || !Arguments.References.empty())
    return All;
  Diagnostics Ignored;
  std::optional<shape::Bindings> Default =
      chooseDims(M, Arguments.In.Dims, Ignored);
  if (!Default)
    return All;
  InputOptions Larger = Arguments.In;
  std::set<std::string, std::less<>> Decided = decidedDims(M, Larger.Dims);
  bool Differs = false;
  // What elements of inputs must be for the others is found out again.
  std::set<std::string_view> Read;
  if (!M.requirements().empty())
    for (const kpc_input_value &V : M.inputValues())
      Read.insert(V.size_text);
  for (const kpc_symbol &S : M.symbols()) {
    if (Decided.count(S.name) || Read.count(S.name))
      continue;
    int64_t Old = (*Default)[S.name];
    int64_t Divisor = std::max<int64_t>(S.divisor, 1);
    int64_t New = std::min(S.max, Old * 2 + 1) / Divisor * Divisor;
    if (New <= Old)
      New = std::max(S.min, (S.min + Divisor - 1) / Divisor * Divisor);
    Larger.Dims[S.name] = New;
    Differs = Differs || New != Old;
  }
  if (Differs)
    All.push_back(std::move(Larger));
  return All;
}

static void printRun(const ComparedRun &Run) {
  constexpr size_t Shown = 40;
  std::string Dims = dimsText(Run.Dims);
  if (!Dims.empty())
    fmt::print("{}:\n", Dims);
  TextTable Table("llrrl");
  Table.row({"value", "type", "rms error", "largest", ""});
  // All outputs, all that drift, and of the others the first ones.
  size_t Rows = 0, Left = 0;
  for (const ComparedValue &V : Run.Values) {
    if (V.Good && !V.IsOutput && ++Rows > Shown) {
      ++Left;
      continue;
    }
    Table.row({printable(V.Name, 60), V.Type,
               fmt::format("{:.2e}", V.Found.Rms),
               fmt::format("{:.2e}", V.Found.Largest), V.Good ? "" : "DRIFTS"});
  }
  fmt::print("{}", Table.text());
  if (Left)
    fmt::print("  and {} more that are right\n", Left);
  if (Run.Unmatched)
    fmt::print("  {} inside {} no counterpart in the reference\n",
               Run.Unmatched == 1 ? "1 value"
                                  : fmt::format("{} values", Run.Unmatched),
               Run.Unmatched == 1 ? "has" : "have");
}

static Json runJson(const ComparedRun &Run) {
  Json J;
  J["dims"] = Json::object();
  for (const auto &[Name, Value] : Run.Dims)
    J["dims"][Name] = Value;
  J["values"] = Json::array();
  for (const ComparedValue &V : Run.Values)
    J["values"].push_back({{"name", V.Name},
                           {"output", V.IsOutput},
                           {"type", V.Type},
                           {"rms_error", V.Found.Rms},
                           {"largest", V.Found.Largest},
                           {"unequal", V.Found.Unequal},
                           {"good", V.Good}});
  J["unmatched"] = Run.Unmatched;
  return J;
}

namespace {
/// One verification, step by step.
class Verification {
public:
  Verification(const VerifyArguments &Arguments) : Arguments(Arguments) {}
  int run();

private:
  std::optional<ComparedRun> compareOne(const Model &M,
                                        const InputOptions &Options);
  int print(const std::vector<ComparedRun> &Runs);

  const VerifyArguments &Arguments;
  Diagnostics Diags;
  std::optional<Model> Reference;
  std::optional<RunValues> Given;
  Tolerance Allowed;
  TemporaryFolder Folder;
  std::string Target;
};
} // namespace

std::optional<ComparedRun>
Verification::compareOne(const Model &M, const InputOptions &Options) {
  std::optional<Inputs> In = makeInputs(M, Options, Diags);
  if (!In)
    return std::nullopt;
  std::optional<RunValues> Got =
      runOnce(M, Arguments.Choice, *In, Diags, &Target);
  if (!Got)
    return std::nullopt;
  std::optional<RunValues> Computed;
  if (Reference) {
    std::optional<Inputs> Same = inputsFor(*Reference, *In, Diags);
    DeviceChoice OnHost = Arguments.Choice;
    OnHost.Device = {DeviceOption::Host, 0};
    if (Same)
      Computed = runOnce(*Reference, OnHost, *Same, Diags);
    if (!Computed)
      return std::nullopt;
  }
  if (Arguments.OnnxRuntime) {
    Given = runOnnxRuntime(Arguments.Model, M, *In, Folder.path(), Diags);
    if (!Given)
      return std::nullopt;
  }
  ComparedRun Run =
      compareRuns(*Got, Reference ? *Computed : *Given, Allowed, Diags);
  Run.Dims = In->Dims;
  return Run;
}

int Verification::print(const std::vector<ComparedRun> &Runs) {
  bool Drift = false;
  size_t Compared = 0;
  for (const ComparedRun &Run : Runs)
    for (const ComparedValue &V : Run.Values) {
      ++Compared;
      Drift = Drift || !V.Good;
    }
  if (Arguments.Json) {
    Json J;
    J["artifact"] = Arguments.Artifact;
    J["target"] = Target;
    J["good"] = !Drift && !Diags.hasErrors();
    J["allowed"] = {{"rms_error", Allowed.Rms}, {"largest", Allowed.Largest}};
    J["runs"] = Json::array();
    for (const ComparedRun &Run : Runs)
      J["runs"].push_back(runJson(Run));
    printJsonText(J);
  } else if (!Arguments.Choice.Quiet && Compared) {
    fmt::print("{} on {} against {}\n", Arguments.Artifact, Target,
               Arguments.OnnxRuntime ? Arguments.Model + " (run by onnxruntime)"
               : Reference ? Arguments.Model + " (fp32, unfused, on the host)"
                           : "the given reference");
    for (const ComparedRun &Run : Runs)
      printRun(Run);
    if (!Drift && !Diags.hasErrors())
      fmt::print("{} {} right: rms error within {:.2g}, largest within "
                 "{:.2g}\n",
                 Compared, Compared == 1 ? "value is" : "values are",
                 Allowed.Rms, Allowed.Largest);
  }
  int Result = finish(Diags);
  return Drift ? int(VerifyDrift) : Result;
}

int Verification::run() {
  std::optional<Model> M =
      openModel(Arguments.Artifact, Diags, loadFlags(Arguments.Choice));
  if (!M)
    return finish(Diags);
  needInputNames(*M, Arguments.In); // before a reference is compiled
  std::optional<ArtifactFacts> Facts = readFacts(Arguments.Artifact, {}, Diags);
  if (!Facts)
    return finish(Diags);
  Allowed = toleranceFor(Arguments, *M, *Facts);
  if (Arguments.Bisect) {
    compareDigest(*M, Arguments.Model, Diags);
    Diags.setFile(Arguments.Artifact);
    PolledInterrupts Polled;
    std::string Tolerances;
    if (Arguments.Rms)
      Tolerances += fmt::format(" --rms {}", *Arguments.Rms);
    if (Arguments.Largest)
      Tolerances += fmt::format(" --largest {}", *Arguments.Largest);
    return bisect({*M, Arguments.Model, Arguments.References,
                   Arguments.OnnxRuntime, Arguments.In, Arguments.Choice,
                   Arguments.Cache.folder(), Allowed, Tolerances,
                   Arguments.Json, Arguments.OutputFolder},
                  Diags);
  }
  if (!Arguments.Model.empty() && Folder.path().empty()) {
    Diags.error(Code::OutputUnwritable).message(Folder.error());
    return finish(Diags);
  }
  if (Arguments.OnnxRuntime) {
    compareDigest(*M, Arguments.Model, Diags);
  } else if (!Arguments.Model.empty()) {
    bool Fault = false;
    Reference = compileReference(Arguments, *M, Folder.path(), Diags, Fault);
    if (!Reference) {
      int Result = finish(Diags);
      return interrupted() ? int(Interrupted)
             : Fault       ? int(InternalFault)
                           : Result;
    }
  } else {
    ReferenceReader Reader(*M, Diags);
    for (const auto &[Name, File] : Arguments.References)
      Reader.take(Name, File);
    Given = Reader.finish();
    if (!Given)
      return finish(Diags);
  }
  Diags.setFile(Arguments.Artifact);
  std::vector<ComparedRun> Runs;
  for (const InputOptions &Options : shapesToTry(Arguments, *M)) {
    std::optional<ComparedRun> Run = compareOne(*M, Options);
    // What the sizes before showed is not lost.
    if (!Run && !Runs.empty())
      return print(Runs);
    if (!Run) {
      int Code = finish(Diags);
      fmt::print(stderr, "{}", signatureText(*M));
      return Code;
    }
    Runs.push_back(std::move(*Run));
  }
  return print(Runs);
}

/// It takes ONNX models apart, and makes values outputs.
static void checkBisect(const VerifyArguments &Arguments) {
  if (Arguments.Model.empty())
    throw UsageError(Code::UsageMissing,
                     "--bisect needs the model that it is to take apart",
                     "give --model model.onnx");
  ModelFile Source = lookAtModel(Arguments.Model);
  if (Source.Kind != ModelFile::Model || torch::isZipFile(Arguments.Model))
    throw UsageError(Code::UsageNotAvailable,
                     fmt::format("--bisect: '{}' is no ONNX model",
                                 printable(Arguments.Model)),
                     "--values compares what an artifact of another model "
                     "stores");
  if (Arguments.Choice.KeepValues)
    throw UsageError(Code::UsageConflict,
                     "--values and --bisect exclude one another",
                     "--bisect compares the results of all nodes");
  if (Arguments.OnnxRuntime && !Arguments.References.empty())
    throw UsageError(Code::UsageConflict,
                     "--onnxruntime and --reference exclude one another");
}

static int verifyCommand(VerifyArguments &Arguments) {
  needFile(Arguments.Artifact, "verify", "kpc artifact");
  reproduceWith(Arguments.Artifact);
  if (Arguments.Model.empty() && Arguments.References.empty())
    throw UsageError(Code::UsageMissing,
                     "kpc verify needs something to compare with",
                     "give --model model.onnx, or --reference FILE with the "
                     "outputs that are right");
  if (Arguments.Bisect)
    checkBisect(Arguments);
  else if (!Arguments.OutputFolder.empty())
    throw UsageError(Code::UsageMissing,
                     "--output-dir is for what --bisect finds",
                     "give --bisect, or leave --output-dir out");
  if (!Arguments.Model.empty() && !Arguments.References.empty() &&
      !Arguments.Bisect)
    throw UsageError(Code::UsageConflict,
                     "--model and --reference exclude one another");
  if (Arguments.OnnxRuntime && Arguments.Model.empty())
    throw UsageError(Code::UsageMissing,
                     "--onnxruntime needs the model that it is to run",
                     "give --model model.onnx");
  if (Arguments.OnnxRuntime && Arguments.Choice.KeepValues)
    throw UsageError(Code::UsageConflict,
                     "--values and --onnxruntime exclude one another",
                     "onnxruntime gives outputs alone; leave one out");
  if (!Arguments.Model.empty())
    reproduceWith(lookAtModel(Arguments.Model));
  crashForTesting(/*InWorker=*/false);
  bool Values = Arguments.Choice.KeepValues;
  if (Values && !Arguments.References.empty() && !Arguments.Bisect)
    throw UsageError(Code::UsageConflict,
                     "--values needs --model: a file has outputs alone");
  if (Arguments.In.List.empty() && !Arguments.In.Others &&
      Arguments.References.empty())
    Arguments.In.Others = Filling::Random;
  Arguments.Choice.Threads = static_cast<int>(Arguments.Threads);
  return Verification(Arguments).run();
}

static void addTolerance(CLI::App &App, const std::string &Name,
                         std::optional<double> &Value,
                         const std::string &Help) {
  addText(App, Name, "ERROR", Help, [Name, &Value](const std::string &Text) {
    double Number = 0;
    auto [End, Code] =
        std::from_chars(Text.data(), Text.data() + Text.size(), Number);
    if (Code != std::errc() || End != Text.data() + Text.size() ||
        !(Number >= 0))
      throw UsageError(
          kpc::Code::UsageValue,
          fmt::format("{}: '{}' is not an error", Name, printable(Text)),
          "write a number such as 1e-3");
    Value = Number;
  });
}

void addVerifyCommand(CLI::App &Main, Action &Chosen) {
  auto Arguments = std::make_shared<VerifyArguments>();
  VerifyArguments *A = Arguments.get();
  CLI::App &App = *Main.add_subcommand(
      "verify", "compare an artifact's results with a reference");
  addFile(App, A->Artifact, "artifact", "the file that compile wrote");
  addText(App, "--model", "FILE",
          "compare with this model: fp32, unfused, on the host",
          [A](const std::string &Text) { A->Model = Text; });
  addText(App, "--reference", "[NAME=]FILE",
          "compare with outputs in a .npy, .npz or .pb file; repeatable",
          [A](const std::string &Text) {
            size_t Equals = Text.rfind('=');
            if (Equals == std::string::npos)
              A->References.emplace_back("", Text);
            else
              A->References.emplace_back(Text.substr(0, Equals),
                                         Text.substr(Equals + 1));
          });
  addText(App, "--operator", "FILE",
          "with --model: the manifest of a custom operator that it uses, with "
          "host code; repeatable",
          [A](const std::string &Text) { A->Operators.push_back(Text); });
  addCustomCode(App, A->Choice);
  App.add_flag("--onnxruntime", A->OnnxRuntime,
               "have onnxruntime run the model; python3 needs to have it");
  App.add_flag("--bisect", A->Bisect,
               "find the first result of a node that departs: from "
               "onnxruntime's where python3 has it, from --reference's arrays, "
               "or from kpc's own reference");
  addText(App, "-o,--output-dir", "FOLDER",
          "with --bisect: write that node there as a model, with its inputs",
          [A](const std::string &Text) { A->OutputFolder = Text; });
  addInputs(App, A->In);
  App.add_flag("--values", A->Choice.KeepValues,
               "compare every value that the artifact materialises");
  addTolerance(App, "--rms", A->Rms,
               "allowed RMS error, relative to the reference's RMS (default: "
               "1e-4, fp16 5e-3, bf16 4e-2)");
  addTolerance(App, "--largest", A->Largest,
               "allowed error of one element, likewise (default: ten times "
               "that)");
  addDevice(App, A->Choice.Device);
  addNumber(App, "--threads", A->Threads, 1, 4096,
            "host: threads (default: one per core)");
  addCache(App, A->Cache);
  App.add_flag("--json", A->Json, "print JSON");
  App.add_flag("-q,--quiet", A->Choice.Quiet, "print errors only");
  App.callback([Arguments, &Chosen] {
    Chosen = [Arguments] { return verifyCommand(*Arguments); };
  });
}

} // namespace kpc::cli
