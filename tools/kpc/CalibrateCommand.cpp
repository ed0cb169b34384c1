//===- CalibrateCommand.cpp - kpc calibrate -------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The model is compiled in fp32 with what its GEMMs and convolutions multiply
/// by weights as further outputs, and run with one sample after the other.
///
//===----------------------------------------------------------------------===//
#include "compiler/CalibrationFile.h"
#include "compiler/Compiler.h"
#include "compiler/ModelDigest.h"
#include "compiler/workers/Subprocess.h"
#include "runtime/format/Sha256.h"
#include "tools/kpc/CompileAgain.h"
#include "tools/kpc/Emulator.h"
#include "tools/kpc/Fault.h"
#include "tools/kpc/Files.h"
#include "tools/kpc/Interrupt.h"
#include "tools/kpc/Limits.h"
#include "tools/kpc/ModelFile.h"
#include "tools/kpc/MomentCollector.h"
#include "tools/kpc/RangeCollector.h"
#include "tools/kpc/Samples.h"
#include "tools/kpc/Say.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>

namespace kpc::cli {

using tensorfile::HostTensor;

namespace {
struct CalibrateArguments {
  CompileOptions Options;
  std::string Data, Output;
  RangeMethod Method = RangeMethod::Max;
  double Percentile = 99.99;
  bool ScalesOfRows = false;  ///< of GEMMs
  bool SecondMoments = false; ///< of GEMMs
  int64_t Threads = 0, MostSamples = 0;
  DeviceChoice Choice;
  CacheOption Cache;
};

/// One calibration, step by step.
class Calibration {
public:
  explicit Calibration(CalibrateArguments &Arguments) : Arguments(Arguments) {}
  int run();

private:
  std::optional<Model> compileWatched();
  bool runSamples(const Model &M);
  bool checkInputs(const Inputs &In, const std::string &Sample);
  bool takeOutputs(const Outputs &Out, const std::string &Sample);
  bool takeStored(Session &S);
  CalibrationFile result(std::string &OfMoments) const;
  void warnOfLargeValues(const CalibrationFile &File);

  CalibrateArguments &Arguments;
  Diagnostics Diags;
  TemporaryFolder Folder;
  bool Fault = false;
  int64_t Count = 0;
  std::vector<WatchedResult> Watched;
  std::vector<RangeCollector> Ranges;   ///< of each that is watched
  std::vector<MomentCollector> Moments; ///< the same; empty: not asked for
  std::map<std::string, double> Stored; ///< the greatest magnitude by node
};
} // namespace

//===----------------------------------------------------------------------===//
// The model with further outputs
//===----------------------------------------------------------------------===//

std::optional<Model> Calibration::compileWatched() {
  CompileOptions Options = Arguments.Options;
  CompileOptions Quiet = quietOptions(Arguments.Cache.folder());
  Options.CacheFolder = Quiet.CacheFolder;
  Options.ReproducerFolder = Quiet.ReproducerFolder;
  Options.WorkerCommand = Quiet.WorkerCommand;
  Options.Cancelled = Quiet.Cancelled;
  Options.Output = Folder.path() + "/watched.kpc";
  Options.Compute = Options.Io = Precision::Fp32;
  Options.WatchOperands = true;
  Options.Targets = {Arguments.Choice.Device.Kind == DeviceOption::Cuda
                         ? emulatedTarget().empty() ? "native"
                                                    : emulatedTarget()
                         : "host"};
  CompileReport Report;
  std::optional<Model> M =
      compileAndOpen(Options, Arguments.Choice.Quiet, Diags, Fault,
                     /*LoadFlags=*/0, &Report);
  Watched = std::move(Report.Watched);
  Diags.setFile(Arguments.Options.Model);
  if (M && Watched.empty())
    Diags.error(Code::CalibrationNothing)
        .message("no GEMM and no convolution of the model multiplies a "
                 "constant weight where it could be watched");
  size_t Unwatched = static_cast<size_t>(
      std::count_if(Report.Remarks.begin(), Report.Remarks.end(),
                    [](const Remark &R) { return R.Name == "unwatched"; }));
  if (Unwatched && !Arguments.Choice.Quiet)
    say(fmt::format("note: {} {} in loops or branches, where calibration does "
                    "not look: {} in each run\n",
                    Unwatched,
                    Unwatched == 1 ? "product with a weight is"
                                   : "products with weights are",
                    Unwatched == 1 ? "it finds its scales"
                                   : "they find their scales"));
  return M;
}

//===----------------------------------------------------------------------===//
// Samples
//===----------------------------------------------------------------------===//

static std::optional<std::vector<float>>
floatsOf(ElementType Type, const void *Data, size_t Bytes, int64_t N) {
  if (Type == ElementType::F32) {
    const auto *First = static_cast<const float *>(Data);
    return std::vector<float>(First, First + N);
  }
  auto Wide = tensorfile::toDoubles(
      Type, {static_cast<const uint8_t *>(Data), Bytes}, N);
  if (!Wide)
    return std::nullopt;
  return std::vector<float>(Wide->begin(), Wide->end());
}

static bool isFloatType(ElementType Type) {
  return Type == ElementType::F32 || Type == ElementType::F16 ||
         Type == ElementType::BF16 || Type == ElementType::F64;
}

bool Calibration::checkInputs(const Inputs &In, const std::string &Sample) {
  for (const HostTensor &T : In.Tensors) {
    if (!isFloatType(T.Type))
      continue;
    auto Numbers = floatsOf(T.Type, T.Data.data(), T.Data.size(), T.count());
    if (Numbers && !std::all_of(Numbers->begin(), Numbers->end(),
                                [](float V) { return !std::isnan(V); })) {
      Diags.error(Code::CalibrationData)
          .message(fmt::format("input '{}' of '{}' holds a NaN",
                               printable(T.Name), printable(Sample)))
          .hint("leave the sample out, or repair what wrote it: a range with "
                "NaN is none");
      return false;
    }
  }
  return true;
}

bool Calibration::takeOutputs(const Outputs &Out, const std::string &Sample) {
  for (size_t I = 0; I < Watched.size(); ++I) {
    auto It = std::find_if(Out.begin(), Out.end(), [&](const NamedTensor &T) {
      return T.Name == Watched[I].Output;
    });
    if (It == Out.end())
      continue;
    const Tensor &T = It->Value;
    std::vector<int64_t> Dims(T.dims().begin(), T.dims().end());
    int64_t N = 1;
    for (int64_t D : Dims)
      N *= D;
    auto Numbers = floatsOf(static_cast<ElementType>(T.type()), T.data(),
                            static_cast<size_t>(T.bytes()), N);
    size_t Channels = Dims.empty() ? 0 : static_cast<size_t>(Dims.back());
    bool IsOfGemm =
        std::any_of(Watched[I].Of.begin(), Watched[I].Of.end(),
                    [](const auto &Of) { return Of.second == "gemm"; });
    if (Numbers && !Moments.empty() && IsOfGemm)
      Moments[I].add(*Numbers, Channels);
    if (Numbers && !Ranges[I].add(*Numbers, Channels)) {
      Diags.error(Code::CalibrationData)
          .message(fmt::format("with '{}', what node '{}' multiplies is not "
                               "finite",
                               printable(Sample),
                               printable(Watched[I].Of.front().first)))
          .hint("check that the data is what the model was trained with, for "
                "instance that images are normalised");
      return false;
    }
  }
  return true;
}

/// Masks write the least number of f32 or bf16 for minus infinity, and its sum
/// with a score is that number again. In 16 bits it is minus infinity, too.
static bool standsForInfinity(float V) {
  constexpr float LeastBf16 = -0x1.FEp127F;
  return V <= LeastBf16;
}

/// What the plan stores would be stored in 16 bits by another precision.
bool Calibration::takeStored(Session &S) {
  for (int32_t I = 0; I < kpc_session_value_count(S.c()); ++I) {
    kpc_named_tensor Info;
    kpc_error *E = nullptr;
    kpc_status Status = kpc_session_value(S.c(), I, &Info, &E);
    if (Status != KPC_OK) {
      report(Error(Status, E), Diags);
      return false;
    }
    auto Type = static_cast<ElementType>(Info.tensor.type);
    if (!isFloatType(Type))
      continue;
    auto T = tensorfile::makeTensor(
        Info.name, Type,
        {Info.tensor.dims, Info.tensor.dims + Info.tensor.rank});
    if (!T)
      continue;
    Status =
        kpc_session_read_value(S.c(), I, T->Data.data(), T->Data.size(), &E);
    if (Status != KPC_OK) {
      report(Error(Status, E), Diags);
      return false;
    }
    auto Numbers = floatsOf(Type, T->Data.data(), T->Data.size(), T->count());
    if (!Numbers)
      continue;
    // The last node of a kernel makes its value.
    std::string Node = T->Name.substr(T->Name.rfind('+') + 1);
    double &Most = Stored[Node];
    for (float V : *Numbers)
      if (std::isfinite(V) && !standsForInfinity(V))
        Most = std::max<double>(Most, std::abs(V));
  }
  return true;
}

bool Calibration::runSamples(const Model &M) {
  std::optional<Samples> Data = Samples::open(Arguments.Data, M, Diags);
  if (!Data)
    return false;
  DeviceChoice Choice = Arguments.Choice;
  Choice.Threads = static_cast<int>(Arguments.Threads);
  Choice.KeepValues = true;
  if (Choice.Device.Kind == DeviceOption::Any)
    Choice.Device = {DeviceOption::Host, 0};
  std::optional<Session> S = openSession(M, Choice, Diags);
  if (!S)
    return false;
  Ranges.resize(Watched.size());
  if (Arguments.SecondMoments)
    Moments.resize(Watched.size());
  Count = Data->count();
  if (Arguments.MostSamples)
    Count = std::min(Count, Arguments.MostSamples);
  Progress Bar(Arguments.Choice.Quiet);
  for (int64_t I = 0; I < Count; ++I) {
    Bar.show("samples", static_cast<size_t>(I), static_cast<size_t>(Count));
    std::string Sample = Data->name(I);
    std::optional<Inputs> In = Data->read(I, M, Diags);
    if (!In || !checkInputs(*In, Sample) || interrupted())
      return false;
    std::vector<NamedTensor> Given = asRuntimeTensors(*In);
    Result<Outputs> Ran = S->run(Given);
    if (!Ran) {
      report(Ran.error(), Diags);
      return false;
    }
    if (!takeOutputs(*Ran, Sample) || !takeStored(*S))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The result
//===----------------------------------------------------------------------===//

/// What several values have in common that nodes of one name multiply.
static void join(CalibratedOperand &Into, const CalibratedOperand &More) {
  Into.Least = std::min(Into.Least, More.Least);
  Into.Greatest = std::max(Into.Greatest, More.Greatest);
  Into.Range = std::max(Into.Range, More.Range);
  // Moments of another value say nothing of this one.
  Into.Largest.clear();
  Into.Mean.clear();
  Into.Rms.clear();
  Into.MomentsAt = -1;
}

/// `OfMoments` becomes what the file of second moments holds.
CalibrationFile Calibration::result(std::string &OfMoments) const {
  CalibrationFile File;
  File.Model = std::filesystem::path(Arguments.Options.Model).filename();
  File.Digest = modelDigest(Arguments.Options.Model);
  File.Method = rangeMethodName(Arguments.Method);
  if (Arguments.Method == RangeMethod::Percentile)
    File.Method += fmt::format(" {}", Arguments.Percentile);
  File.Samples = Count;
  std::map<std::string, size_t> Places;
  for (size_t I = 0; I < Watched.size(); ++I) {
    std::vector<float> Upper =
        Moments.empty() ? std::vector<float>() : Moments[I].upper();
    int64_t At = Upper.empty()
                     ? -1
                     : static_cast<int64_t>(OfMoments.size() / sizeof(float));
    OfMoments.append(reinterpret_cast<const char *>(Upper.data()),
                     Upper.size() * sizeof(float));
    for (const auto &[Node, Kind] : Watched[I].Of) {
      const RangeCollector &R = Ranges[I];
      CalibratedOperand Of{Node,
                           Kind,
                           R.least(),
                           R.greatest(),
                           R.range(Arguments.Method, Arguments.Percentile),
                           Arguments.ScalesOfRows && Kind == "gemm",
                           R.channelLargest(),
                           R.channelMean(),
                           R.channelRms(),
                           At};
      auto [It, New] = Places.try_emplace(Node, File.Operands.size());
      if (New)
        File.Operands.push_back(std::move(Of));
      else
        join(File.Operands[It->second], Of);
    }
  }
  // What is multiplied is stored, too, but where it is an input.
  std::map<std::string, double> Magnitudes = Stored;
  for (size_t I = 0; I < Watched.size(); ++I)
    for (const auto &[Node, Kind] : Watched[I].Of) {
      double &Most = Magnitudes[Node];
      Most = std::max(Most, Ranges[I].magnitude());
    }
  constexpr double GreatestFp16 = 65504;
  for (const auto &[Node, Magnitude] : Magnitudes)
    if (Magnitude > GreatestFp16)
      File.BeyondFp16.push_back({Node, Magnitude});
  return File;
}

void Calibration::warnOfLargeValues(const CalibrationFile &File) {
  if (!File.BeyondFp16.empty())
    Diags.warning(Code::CalibrationBeyondFp16)
        .message(fmt::format("values at {} {} are greater than fp16's 65504",
                             File.BeyondFp16.size() == 1 ? "node" : "nodes",
                             File.largeValues()));
}

int Calibration::run() {
  auto Start = std::chrono::steady_clock::now();
  if (Folder.path().empty()) {
    Diags.error(Code::OutputUnwritable).message(Folder.error());
    return finish(Diags);
  }
  Diags.setFile(Arguments.Options.Model);
  std::optional<Model> M = compileWatched();
  if (!M || Diags.hasErrors() || !runSamples(*M)) {
    int Result = finish(Diags);
    if (interrupted())
      return Interrupted;
    return Fault ? int(InternalFault) : Result ? Result : int(InputAtFault);
  }
  std::string OfMoments, MomentsPath = Arguments.Output + ".moments";
  CalibrationFile File = result(OfMoments);
  if (!OfMoments.empty()) {
    File.MomentsFile = std::filesystem::path(MomentsPath).filename();
    File.MomentsDigest =
        format::toHex(format::Sha256::of(
                          reinterpret_cast<const uint8_t *>(OfMoments.data()),
                          OfMoments.size()))
            .data();
  }
  warnOfLargeValues(File);
  FileSet Files(Diags);
  if (!Files.add(Arguments.Output, File.text()) ||
      (!OfMoments.empty() && !Files.add(MomentsPath, OfMoments)) ||
      !Files.keep())
    return finish(Diags);
  std::chrono::duration<double> Seconds =
      std::chrono::steady_clock::now() - Start;
  say(Diags.text());
  if (!Arguments.Choice.Quiet)
    fmt::print("wrote {}: ranges of {} {} from {} {} by {}, in {}\n",
               Arguments.Output, File.Operands.size(),
               File.Operands.size() == 1 ? "operand" : "operands", Count,
               Count == 1 ? "sample" : "samples", File.Method,
               secondsText(Seconds.count()));
  return Done;
}

//===----------------------------------------------------------------------===//
// The command
//===----------------------------------------------------------------------===//

static int calibrateCommand(CalibrateArguments &Arguments) {
  needFile(Arguments.Options.Model, "calibrate", "model");
  if (Arguments.Data.empty())
    throw UsageError(Code::UsageMissing, "--data says what to calibrate with",
                     "give --data FILE.npz or --data FOLDER");
  ModelFile Source = lookAtModel(Arguments.Options.Model);
  reproduceWith(Source);
  if (Source.Kind != ModelFile::Model) {
    Diagnostics Diags;
    if (isArtifact(Source, Diags)) {
      say(Diags.text());
      return InputAtFault;
    }
    throw UsageError(Code::UsageNotAvailable,
                     fmt::format("calibrate: '{}' is no model",
                                 printable(Arguments.Options.Model)),
                     "give the model that the text was made from");
  }
  if (Arguments.Output.empty())
    Arguments.Output =
        std::filesystem::path(Arguments.Options.Model).stem().string() +
        ".calibration";
  keepInputs(Source, "--output", Arguments.Output);
  keepInput(Arguments.Data, "the data", "--output", Arguments.Output);
  crashForTesting(/*InWorker=*/false);
  PolledInterrupts Polled;
  EnforcedLimits Enforced(Arguments.Options.Limits);
  return Calibration(Arguments).run();
}

void addCalibrateCommand(CLI::App &Main, Action &Chosen) {
  auto Arguments = std::make_shared<CalibrateArguments>();
  CalibrateArguments *A = Arguments.get();
  CLI::App &App = *Main.add_subcommand(
      "calibrate", "find the ranges of what is to be quantised, with data");
  addFile(App, A->Options.Model, "model",
          "model.onnx, model.pt2, or model.pt of TorchScript");
  addText(App, "--data", "FOLDER|FILE.npz",
          "a folder with a sample in each .npz, .npy or folder of .npy files, "
          "or an .npz whose arrays have an axis of samples in front",
          [A](const std::string &Text) { A->Data = Text; });
  addChoice(
      App, "--method", rangeMethodNames(),
      "how much of a range has codes of its own: all (max, the default), a "
      "percentile of the values, or what keeps their distribution "
      "(entropy) or squares (mse) best",
      [A](const std::string &Word) { A->Method = *rangeMethodByName(Word); });
  addText(App, "--percentile", "P",
          "for --method percentile: so many in a hundred values lie within "
          "(default: 99.99)",
          [A](const std::string &Text) {
            char *End = nullptr;
            A->Percentile = std::strtod(Text.c_str(), &End);
            if (Text.empty() || *End || !(A->Percentile > 50) ||
                A->Percentile > 100)
              throw UsageError(
                  Code::UsageValue,
                  fmt::format("--percentile: expected a number from 50 to 100, "
                              "got '{}'",
                              printable(Text)),
                  "write for instance --percentile 99.9");
          });
  addChoice(App, "--gemm-scales", {"constant", "rows"},
            "what GEMMs multiply has one constant scale (the default), or each "
            "row finds its own in each run, which is more exact and slower",
            [A](const std::string &Word) { A->ScalesOfRows = Word == "rows"; });
  App.add_flag("--second-moments", A->SecondMoments,
               "keep how the channels of each GEMM's operand go together, in "
               "FILE.moments: weights of int4 are rounded with error feedback");
  addNumber(App, "--samples", A->MostSamples, 1, INT64_MAX,
            "take so many samples at most (default: all)");
  addText(App, "-o,--output", "FILE",
          "what to write (default: the model's name with .calibration)",
          [A](const std::string &Text) { A->Output = Text; });
  addImportOptions(App, A->Options);
  addDevice(App, A->Choice.Device);
  addNumber(App, "--threads", A->Threads, 1, 4096,
            "host: threads (default: one per core)");
  addLimits(App, A->Options.Limits);
  addCache(App, A->Cache);
  App.add_flag("-q,--quiet", A->Choice.Quiet, "print errors only");
  App.callback([Arguments, &Chosen] {
    Chosen = [Arguments] { return calibrateCommand(*Arguments); };
  });
}

} // namespace kpc::cli
