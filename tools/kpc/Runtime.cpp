//===- Runtime.cpp - Artifacts and devices for the commands ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Runtime.h"

#include "tools/kpc/Say.h"
#include "tools/kpc/Signing.h"
#include "tools/kpc/TextTable.h"

#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>
#include <mutex>
#include <set>

namespace kpc::cli {

/// The code whose number is that of the status.
static Code codeOf(kpc_status Status) {
  std::string Text = fmt::format("KPC-R{:04}", static_cast<int>(Status));
  for (const CodeInfo &Info : allCodes())
    if (Info.Text == Text)
      return Info.Id;
  return Code::RuntimeInternal;
}

void report(const Error &E, Diagnostics &Diags) {
  Diagnostic &D = Diags.error(codeOf(E.status())).message(E.message());
  ModelPlace Where;
  Where.Node = E.node();
  if (Where.Node.empty())
    Where.Node = E.kernel();
  if (!Where.Node.empty())
    D.at(Where);
  if (*E.hint())
    D.hint(E.hint());
}

int exitCode(bool Good, const Diagnostics &Diags) {
  if (Good)
    return Done;
  bool OnlyUsage = Diags.hasErrors();
  for (const Diagnostic &D : Diags.all())
    OnlyUsage &=
        D.Level != Severity::Error || codeInfo(D.Id).Text.starts_with("KPC-U");
  return OnlyUsage ? WrongUsage : InputAtFault;
}

int finish(const Diagnostics &Diags) {
  std::fflush(stdout); // what was found comes before what is wrong with it
  say(Diags.text());
  for (const Diagnostic &D : Diags.all())
    if (D.Id == Code::RuntimeInternal || D.Id == Code::DriverInternal)
      return InternalFault;
  return exitCode(!Diags.hasErrors(), Diags);
}

std::optional<Model> openModel(const std::string &Path, Diagnostics &Diags,
                               uint32_t LoadFlags,
                               const std::string &SignedBy) {
  // What the runtime says of a file has its name already.
  Diags.setFile("");
  kpc_load_options Options = KPC_LOAD_OPTIONS_INIT;
  Options.flags = LoadFlags;
  std::optional<PublicKey> Key;
  if (!SignedBy.empty()) {
    Key = readPublicKey(SignedBy, Diags);
    if (!Key)
      return std::nullopt;
    Options.public_key = Key->data();
  }
  Result<Model> M = Model::load(Path, Options);
  Diags.setFile(Path);
  if (M)
    return std::move(*M);
  Diags.setFile("");
  report(M.error(), Diags);
  return std::nullopt;
}

void addNvtx(CLI::App &App, DeviceChoice &Choice) {
  App.add_flag("--nvtx", Choice.Nvtx,
               "tell a profiler that listens to NVTX of binding and runs");
}

void addCustomCode(CLI::App &App, DeviceChoice &Choice) {
  App.add_flag("--allow-custom-code", Choice.CustomHostCode,
               "load the host code of custom operators that the artifact has, "
               "which may do whatever kpc may");
}

uint32_t loadFlags(const DeviceChoice &Choice) {
  return (Choice.NoHostCode ? KPC_LOAD_NO_HOST_CODE : 0) |
         (Choice.CustomHostCode ? KPC_LOAD_CUSTOM_HOST_CODE : 0);
}

static bool hasTargetFor(const Model &M, kpc_device_kind Kind) {
  for (const kpc_target &T : M.targets())
    if (T.device_kind == Kind)
      return true;
  return false;
}

/// Whether the error says that this machine cannot run GPU code at all, so
/// that the host may be tried.
static bool noGpuHere(kpc_status Status) {
  return Status == KPC_ERROR_DRIVER_MISSING || Status == KPC_ERROR_NO_DEVICE;
}

/// What the runtime has to say of a session; of several sessions once.
static void printNote(void *, kpc_log_level Level, const char *Text) {
  static std::mutex Lock;
  static std::set<std::string> Said;
  std::lock_guard<std::mutex> Guard(Lock);
  if (Level == KPC_LOG_WARNING && Said.insert(Text).second)
    say(fmt::format("note: {}\n", Text));
}

/// Why GPU code cannot run here. On a machine without a driver there is nothing
/// that its user could do about it, and so no more to say.
static std::string whyNoGpu(const Error &E, const DeviceChoice &Choice) {
  bool IsNamed =
      !Choice.Device.Driver.empty() || std::getenv("KPC_CUDA_DRIVER");
  if (E.status() != KPC_ERROR_DRIVER_MISSING || IsNamed)
    return E.message();
  void *Library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!Library)
    return "no NVIDIA driver here";
  ::dlclose(Library);
  return E.message();
}

std::optional<Session> openSession(const Model &M, const DeviceChoice &Choice,
                                   Diagnostics &Diags) {
  SessionOptions Options;
  Options.num_threads = Choice.Threads;
  Options.max_iterations = Choice.MaxIterations;
  Options.keep_values = Choice.KeepValues;
  Options.nvtx = Choice.Nvtx;
  if (!Choice.Quiet)
    Options.log.log = printNote;
  bool Any = Choice.Device.Kind == DeviceOption::Any;
  bool Host = hasTargetFor(M, KPC_DEVICE_HOST);
  bool Gpu = Any ? hasTargetFor(M, KPC_DEVICE_CUDA)
                 : Choice.Device.Kind == DeviceOption::Cuda;
  Options.device = Gpu ? cuda(Choice.Device.Ordinal) : host();
  if (!Choice.Device.Driver.empty())
    Options.driver = Choice.Device.Driver.c_str();
  Result<Session> S = M.session(Options);
  if (!S && Any && Gpu && Host && !Choice.NoHostCode &&
      noGpuHere(S.error().status())) {
    static bool Said = false; // a command may open several sessions
    if (!Choice.Quiet && !Said)
      say(fmt::format(
          "note: {}; running native code of the artifact on the host\n",
          whyNoGpu(S.error(), Choice)));
    Said = true;
    Options.device = host();
    S = M.session(Options);
  }
  if (S)
    return std::move(*S);
  report(S.error(), Diags);
  return std::nullopt;
}

std::string portText(const kpc_port &Port) {
  std::string Out = kpc_element_name(Port.type);
  Out += '[';
  for (int32_t I = 0; I < Port.rank; ++I)
    Out += (I ? "," : "") + std::string(Port.dim_texts[I]);
  return Out + "]";
}

std::string factsText(const shape::SymbolFacts &F) {
  if (F.Min == F.Max)
    return std::to_string(F.Min);
  std::string Out = std::to_string(F.Min);
  Out += F.Max == INT64_MAX ? " or more" : fmt::format("..{}", F.Max);
  if (F.Divisor > 1)
    Out += fmt::format(", a multiple of {}", F.Divisor);
  if (F.Optimum)
    Out += fmt::format(", tuned for {}", *F.Optimum);
  return Out;
}

static std::string symbolText(const kpc_symbol &S) {
  shape::SymbolFacts F{S.min, S.max, {}, S.divisor};
  if (S.optimum >= 0)
    F.Optimum = S.optimum;
  return factsText(F);
}

std::string signatureText(const Model &M) {
  auto Ports = [&M](const std::vector<kpc_port> &List) {
    TextTable Table("lll");
    std::vector<kpc_port> Inputs = M.inputs();
    for (const kpc_port &P : List)
      Table.row({printable(P.name), portText(P),
                 P.alias < 0
                     ? ""
                     : fmt::format("may take the memory of {}",
                                   printable(Inputs[size_t(P.alias)].name))});
    return Table.text();
  };
  std::string Out =
      "inputs:\n" + Ports(M.inputs()) + "outputs:\n" + Ports(M.outputs());
  TextTable Dims("ll");
  for (const kpc_symbol &S : M.symbols())
    Dims.row({printable(S.name), symbolText(S)});
  if (!Dims.empty())
    Out += "dims:\n" + Dims.text();
  std::string Required;
  for (const kpc_requirement &R : M.requirements())
    Required += fmt::format("  {} must be {} {}: {}\n", printable(R.left_text),
                            R.equal ? "equal to" : "at most",
                            printable(R.right_text), printable(R.reason));
  if (!Required.empty())
    Out += "required:\n" + Required;
  TextTable Values("ll");
  for (const kpc_input_value &V : M.inputValues()) {
    std::string Text = V.size_text;
    Values.row({printable(V.name),
                Text == V.name || Text == fmt::format("`{}`", V.name)
                    ? "a size, read from the input's data"
                    : "must be " + printable(Text)});
  }
  TextTable OfData("ll");
  for (const kpc_data_size &S : M.dataSizes())
    OfData.row({printable(S.size_text),
                fmt::format("at most {}", printable(S.at_most_text))});
  if (!OfData.empty())
    Out += "decided by data in each run (from a GPU by a copy that is waited "
           "for):\n" +
           OfData.text();
  if (!Values.empty())
    Out += "read before each run (from a GPU by a copy that is waited for):\n" +
           Values.text();
  return Out;
}

} // namespace kpc::cli
