//===- Bisect.cpp - The first value that departs --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Bisect.h"

#include "compiler/workers/Subprocess.h"
#include "tools/kpc/CompileAgain.h"
#include "tools/kpc/Files.h"
#include "tools/kpc/Interrupt.h"
#include "tools/kpc/Json.h"
#include "tools/kpc/OnnxParts.h"
#include "tools/kpc/OnnxRuntime.h"
#include "tools/kpc/Say.h"
#include "tools/kpc/TextTable.h"
#include "tools/kpc/tensorfile/TensorFile.h"

namespace kpc::cli {

using tensorfile::HostTensor;

namespace {
using Tensors = std::map<std::string, HostTensor, std::less<>>;

/// A result of a node.
struct NodeValue {
  std::string Name;
  int Node = 0;
};

class Bisection {
public:
  Bisection(const BisectRequest &Request, const ::onnx::ModelProto &Proto,
            Inputs In, Diagnostics &Diags)
      : Request(Request), Proto(Proto), Parts(Proto), In(std::move(In)),
        Diags(Diags) {}
  int run();

private:
  void listValues();
  bool computeReference();
  bool readReferences();
  bool referenceOfOnnxRuntime(std::string &Why);
  std::optional<Tensors> compute(const ::onnx::ModelProto &Part, bool Plain);
  std::optional<Difference> compared(const Tensors &Got,
                                     const std::string &Name) const;
  bool departs(const Tensors &Got, const std::string &Name) const {
    std::optional<Difference> D = compared(Got, Name);
    return D && !D->within(Request.Allowed);
  }
  bool findWithAllValues();
  void findByParts();
  bool partDeparts(size_t At);
  bool writeNode(std::string &Command);
  int tell();

  const BisectRequest &Request;
  const ::onnx::ModelProto &Proto;
  OnnxParts Parts;
  Inputs In;
  Diagnostics &Diags;
  TemporaryFolder Folder;
  std::string Target, Against;
  std::vector<NodeValue> Values;
  Tensors Reference, Got;
  size_t Compilations = 0;
  std::set<std::string_view> Compared;
  std::optional<size_t> First; ///< of Values
  bool OnlyFused = false;      ///< alone it is right
};
} // namespace

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Whether a node's results are dense tensors that follow from something.
static bool isCompared(const ::onnx::NodeProto &Node) {
  static const std::set<std::string_view> Others = {
      "Constant",      "SequenceConstruct", "SequenceEmpty",
      "SequenceErase", "SequenceInsert",    "SequenceMap",
      "Optional",      "SplitToSequence",   "StringSplit"};
  return !Others.count(Node.op_type());
}

void Bisection::listValues() {
  for (int Node : Parts.order())
    if (isCompared(Proto.graph().node(Node)))
      for (const std::string &Name : Proto.graph().node(Node).output())
        if (!Name.empty())
          Values.push_back({Name, Node});
}

static std::vector<std::string> namesOf(const std::vector<NodeValue> &Values) {
  std::vector<std::string> Names;
  Names.reserve(Values.size());
  for (const NodeValue &V : Values)
    Names.push_back(V.Name);
  return Names;
}

/// What a part of the model computes: as the artifact was compiled, or `Plain`,
/// in fp32 on the host with an operation a kernel. None where it cannot be.
std::optional<Tensors> Bisection::compute(const ::onnx::ModelProto &Part,
                                          bool Plain) {
  std::string Path = Folder.path() + "/part.onnx", Error;
  Diagnostics Own;
  if (!writeOnnx(Part, Path, Error))
    return std::nullopt;
  CompileOptions Options = quietOptions(Request.CacheFolder);
  Options.Model = Path;
  Options.DataFolder = folderOf(Request.Model);
  Options.Output = Folder.path() + "/part.kpc";
  addCompiledInputs(Request.Artifact, Options);
  if (Plain) {
    Options.Targets = {"host"};
    Options.Compute = Options.Io = Precision::Fp32;
    Options.Fuse = false;
  } else {
    Options.Targets = {Target};
    addCompiledTypes(Request.Artifact, Options);
  }
  bool Fault = false;
  ++Compilations;
  std::optional<Model> M =
      compileAndOpen(Options, Request.Choice.Quiet || Request.Json, Own, Fault);
  if (!M)
    return std::nullopt;
  DeviceChoice Choice = Request.Choice;
  Choice.KeepValues = false;
  if (Plain)
    Choice.Device = {DeviceOption::Host, 0};
  std::optional<Inputs> Same = inputsFor(*M, In, Own);
  std::optional<RunValues> Ran;
  if (Same)
    Ran = runOnce(*M, Choice, *Same, Own);
  if (!Ran)
    return std::nullopt;
  Tensors Out;
  for (RunValues::Value &V : Ran->List)
    Out.emplace(V.Tensor.Name, std::move(V.Tensor));
  return Out;
}

//===----------------------------------------------------------------------===//
// The reference
//===----------------------------------------------------------------------===//

bool Bisection::readReferences() {
  std::set<std::string> Known;
  for (const NodeValue &V : Values)
    Known.insert(V.Name);
  for (const auto &[Name, File] : Request.References) {
    std::string Error;
    auto Read = tensorfile::readTensors(File, Error);
    if (!Read) {
      Diags.error(Code::TensorFile).message(Error);
      return false;
    }
    for (HostTensor &T : *Read) {
      std::string Its = Read->size() == 1 && !Name.empty() ? Name : T.Name;
      if (Known.count(Its))
        Reference.insert_or_assign(Its, std::move(T));
    }
  }
  if (Reference.empty())
    Diags.error(Code::VerifyReference)
        .message("--reference: no array has the name of a value of the model")
        .hint("name the arrays of a .npz after values of the model; "
              "`kpc compile --emit graph -o -` prints its nodes");
  return !Reference.empty();
}

bool Bisection::referenceOfOnnxRuntime(std::string &Why) {
  OnnxRuntimeJob Job{Folder.path() + "/reference.onnx", folderOf(Request.Model),
                     namesOf(Values)};
  std::string Error;
  if (!writeOnnx(Parts.computing(Job.Outputs), Job.Model, Error)) {
    Why = Error;
    return false;
  }
  OnnxRuntimeRun Run = runOnnxRuntime(Job, In, Folder.path());
  Why = Run.How == OnnxRuntimeRun::Missing
            ? "python3 on PATH has no onnxruntime"
            : "onnxruntime does not run it with all values as outputs: " +
                  printable(Run.Why, 300);
  if (Run.How != OnnxRuntimeRun::Ran)
    return false;
  for (size_t I = 0; I < Values.size(); ++I) {
    std::string Path = onnxRuntimeOutput(Folder.path(), I);
    std::error_code Ignored;
    if (!std::filesystem::exists(Path, Ignored))
      continue;
    if (auto Read = tensorfile::readTensors(Path, Error);
        Read && Read->size() == 1)
      Reference.insert_or_assign(Values[I].Name, std::move(Read->front()));
  }
  return !Reference.empty();
}

bool Bisection::computeReference() {
  if (!Request.References.empty()) {
    Against = "the given reference";
    return readReferences();
  }
  std::string Why;
  Against = "onnxruntime";
  if (referenceOfOnnxRuntime(Why))
    return true;
  if (Request.OnnxRuntime) {
    Diags.error(Code::VerifyReference)
        .message("--onnxruntime: " + Why)
        .hint("leave --onnxruntime out to compare with kpc's own reference");
    return false;
  }
  if (!Request.Choice.Quiet)
    say("note: " + Why + "; comparing with kpc's own reference\n");
  Against = "the model in fp32, unfused, on the host";
  std::optional<Tensors> Own =
      compute(Parts.computing(namesOf(Values)), /*Plain=*/true);
  if (Own)
    Reference = std::move(*Own);
  else
    Diags.error(Code::VerifyReference)
        .message("the model does not compile with all values as outputs")
        .hint("give --reference with a .npz of values by their names");
  return Own.has_value();
}

//===----------------------------------------------------------------------===//
// Searching
//===----------------------------------------------------------------------===//

std::optional<Difference> Bisection::compared(const Tensors &Of,
                                              const std::string &Name) const {
  auto G = Of.find(Name);
  auto W = Reference.find(Name);
  if (G == Of.end() || W == Reference.end() || G->second.Dims != W->second.Dims)
    return std::nullopt;
  return tensorDifference(G->second, W->second);
}

bool Bisection::findWithAllValues() {
  std::optional<Tensors> All =
      compute(Parts.computing(namesOf(Values)), /*Plain=*/false);
  if (!All)
    return false;
  Got = std::move(*All);
  for (size_t I = 0; I < Values.size(); ++I) {
    if (compared(Got, Values[I].Name))
      Compared.insert(Values[I].Name);
    if (!First && departs(Got, Values[I].Name))
      First = I;
  }
  return First.has_value();
}

bool Bisection::partDeparts(size_t At) {
  std::optional<Tensors> Part =
      compute(Parts.computing({Values[At].Name}), /*Plain=*/false);
  if (!Part || !departs(*Part, Values[At].Name))
    return false;
  for (auto &[Name, T] : *Part)
    Got.insert_or_assign(Name, std::move(T));
  return true;
}

/// Halves what lies between a value that is right and one that departs.
void Bisection::findByParts() {
  std::optional<RunValues> Ran =
      runOnce(Request.Artifact, Request.Choice, In, Diags);
  if (!Ran)
    return;
  Tensors Outputs;
  for (RunValues::Value &V : Ran->List)
    if (V.IsOutput)
      Outputs.emplace(V.Tensor.Name, std::move(V.Tensor));
  std::optional<size_t> Bad;
  for (size_t I = 0; I < Values.size() && !Bad; ++I) {
    if (compared(Outputs, Values[I].Name))
      Compared.insert(Values[I].Name);
    if (departs(Outputs, Values[I].Name))
      Bad = I;
  }
  if (!Bad)
    return;
  OnlyFused = true;
  First = Bad;
  auto It = Outputs.find(Values[*Bad].Name);
  Got.insert_or_assign(It->first, std::move(It->second));
  // In order: what the output follows from, itself last.
  std::set<int> Behind = Parts.behind({Values[*Bad].Name});
  std::vector<size_t> Candidates;
  for (size_t I = 0; I <= *Bad; ++I)
    if (Behind.count(Values[I].Node) && Reference.count(Values[I].Name))
      Candidates.push_back(I);
  size_t Low = 0, High = Candidates.size() - 1; // High departs
  while (Low < High && !interrupted()) {
    size_t Middle = Low + (High - Low) / 2;
    if (partDeparts(Candidates[Middle]))
      High = Middle;
    else
      Low = Middle + 1;
  }
  if (interrupted())
    return;
  First = Candidates[High];
  if (partDeparts(*First))
    return;
  First.reset();
  Diags.error(Code::VerifyDrifted)
      .message(fmt::format("output '{}' of the artifact departs, and of the "
                           "model as it compiles now it does not",
                           printable(Values[*Bad].Name)))
      .hint("the artifact is of another kpc or of another model: compile it "
            "again");
}

//===----------------------------------------------------------------------===//
// Telling
//===----------------------------------------------------------------------===//

static std::string nodeText(const ::onnx::NodeProto &Node) {
  return fmt::format("{} ({})",
                     Node.name().empty()
                         ? "a node without a name"
                         : "node '" + printable(Node.name(), 80) + "'",
                     printable(Node.op_type(), 40));
}

static HostTensor copyOf(const HostTensor &T) {
  HostTensor Copy;
  Copy.Name = T.Name;
  Copy.Type = T.Type;
  Copy.Dims = T.Dims;
  Copy.Data = tensorfile::AlignedBytes(T.Data.size());
  std::copy_n(T.Data.data(), T.Data.size(), Copy.Data.data());
  return Copy;
}

/// The type of a value as a model declares it.
static ::onnx::ValueInfoProto infoOf(const HostTensor &T) {
  ::onnx::ValueInfoProto Info;
  Info.set_name(T.Name);
  auto &Type = *Info.mutable_type()->mutable_tensor_type();
  Type.set_elem_type(static_cast<int32_t>(T.Type));
  Type.mutable_shape();
  for (int64_t D : T.Dims)
    Type.mutable_shape()->add_dim()->set_dim_value(D);
  return Info;
}

/// The node as a model of its own (or, where only fusion goes wrong, what is in
/// front of it as well), with its inputs in files.
bool Bisection::writeNode(std::string &Command) {
  const NodeValue &V = Values[*First];
  FileSet Files(Diags);
  if (!Files.makeFolder(Request.OutputFolder))
    return false;
  Tensors Given;
  for (const HostTensor &T : In.Tensors)
    Given.emplace(T.Name, copyOf(T));
  if (!OnlyFused)
    for (const std::string &Name : readsOf(Proto.graph().node(V.Node)))
      for (const Tensors *Of : {&Got, &Reference})
        if (auto It = Of->find(Name); It != Of->end()) {
          HostTensor Copy = copyOf(It->second);
          Copy.Name = Name;
          Given.insert_or_assign(Name, std::move(Copy));
        }
  OnnxParts::Values Types = Parts.declared();
  for (const auto &[Name, T] : Given)
    Types.insert_or_assign(Name, infoOf(T));
  std::optional<::onnx::ModelProto> Part =
      OnlyFused ? std::optional(Parts.computing({V.Name}))
                : Parts.of({V.Node}, Types);
  std::string Base = Request.OutputFolder + "/node", Bytes;
  if (!Part || !Part->SerializePartialToString(&Bytes)) {
    Diags.error(Code::OutputUnwritable)
        .message("the node cannot become a model of its own: it reads a value "
                 "of no known type");
    return false;
  }
  if (!Files.add(Base + ".onnx", Bytes))
    return false;
  std::string List;
  for (const auto &Input : Part->graph().input()) {
    auto It = Given.find(Input.name());
    if (It == Given.end())
      continue;
    const HostTensor &T = It->second;
    std::string Path =
        Request.OutputFolder + "/" + tensorfile::fileNameFor(T.Name) + ".npy";
    std::vector<uint8_t> Unpacked;
    if (!Files.add(Path, tensorfile::npyHeader(T.Type, T.Dims),
                   tensorfile::npyElements(T.Type, T.count(),
                                           {T.Data.data(), T.Data.size()},
                                           Unpacked)))
      return false;
    List += " --input " + shellQuoted(T.Name + "=" + Path);
  }
  if (!Files.keep())
    return false;
  std::string Options;
  for (std::string_view Key :
       {"--precision=", "--io-precision=", "--precision-for="}) {
    std::string Text = " " + Request.Artifact.provenance("options");
    size_t At = Text.find(" " + std::string(Key));
    if (At != std::string::npos)
      Options +=
          " " +
          shellQuoted(Text.substr(At + 1, Text.find(" --", At + 3) - At - 1));
  }
  Command = fmt::format(
      "kpc compile {0} --arch {1}{2} -o {3} && kpc verify "
      "{3} --model {0}{4}{5}",
      shellQuoted(Base + ".onnx"), Target, Options, shellQuoted(Base + ".kpc"),
      (Against == "onnxruntime" ? " --onnxruntime" : "") + Request.Tolerances,
      List);
  return true;
}

int Bisection::tell() {
  if (!First && Diags.hasErrors()) {
    int Result = finish(Diags);
    for (const Diagnostic &D : Diags.all())
      if (D.Id == Code::VerifyDrifted)
        Result = VerifyDrift;
    return Result;
  }
  if (!First) {
    if (Request.Json)
      printJsonText(Json{{"artifact", Diags.file()},
                         {"against", Against},
                         {"compared", Compared.size()},
                         {"first", nullptr}});
    else if (!Request.Choice.Quiet)
      fmt::print("no value departs: {} of {} on {} were compared with {}\n",
                 Compared.size(), Values.size(), Target, Against);
    return finish(Diags);
  }
  const NodeValue &V = Values[*First];
  const ::onnx::NodeProto &Node = Proto.graph().node(V.Node);
  Difference After = *compared(Got, V.Name);
  TextTable Table("lllrr");
  Json Reads = Json::array();
  Table.row({"", "value", "type", "rms error", "largest"});
  double Before = 0;
  auto Row = [&](const char *What, const std::string &Name,
                 const Difference &D) {
    Table.row({What, printable(Name, 60),
               tensorfile::typeAndDims(Got.find(Name)->second),
               fmt::format("{:.2e}", D.Rms), fmt::format("{:.2e}", D.Largest)});
  };
  for (const std::string &Name : readsOf(Node))
    if (std::optional<Difference> D = compared(Got, Name)) {
      Row("before", Name, *D);
      Before = std::max(Before, D->Rms);
      Reads.push_back(
          {{"name", Name}, {"rms_error", D->Rms}, {"largest", D->Largest}});
    }
  Row("after", V.Name, After);
  std::string Command;
  if (!Request.OutputFolder.empty() && !writeNode(Command))
    return finish(Diags);
  if (Command.empty())
    Command = commandLineText() + " --output-dir FOLDER";
  const HostTensor &Value = Got.find(V.Name)->second;
  if (Request.Json) {
    printJsonText(Json{{"artifact", Diags.file()},
                       {"target", Target},
                       {"against", Against},
                       {"compared", Compared.size()},
                       {"first",
                        {{"value", V.Name},
                         {"node", Node.name()},
                         {"op", Node.op_type()},
                         {"type", tensorfile::typeAndDims(Value)},
                         {"reads", Reads},
                         {"rms_error", After.Rms},
                         {"largest", After.Largest},
                         {"unequal", After.Unequal},
                         {"only_fused", OnlyFused}}},
                       {"go_on", Command}});
  } else if (!Request.Choice.Quiet) {
    fmt::print("{} values of {} nodes on {} against {}, {} compiled\n",
               Values.size(), Proto.graph().node_size(), Target, Against,
               Compilations == 1 ? "1 model"
                                 : fmt::format("{} models", Compilations));
    fmt::print("'{}' of {} is the first that departs{}\n{}",
               printable(V.Name, 80), nodeText(Node),
               OnlyFused ? ", and only where it is fused with what is in front"
                         : "",
               Table.text());
  }
  Diags.error(Code::VerifyDrifted)
      .at({printable(Node.name().empty() ? V.Name : Node.name()),
           printable(Node.op_type())})
      .message(fmt::format("'{}' is {}: {}", printable(V.Name),
                           OnlyFused
                               ? "the first value that departs when it is fused"
                               : "the first value that departs",
                           After.text(Request.Allowed, Value.Dims)))
      .hint("go on with: " + Command);
  finish(Diags);
  return VerifyDrift;
}

int Bisection::run() {
  if (Folder.path().empty()) {
    Diags.error(Code::OutputUnwritable).message(Folder.error());
    return finish(Diags);
  }
  listValues();
  if (Values.empty()) {
    Diags.error(Code::VerifyReference)
        .message("--bisect: the model has no node that computes a tensor");
    return finish(Diags);
  }
  std::optional<Session> S =
      openSession(Request.Artifact, Request.Choice, Diags);
  if (!S)
    return finish(Diags);
  Target = S->target();
  S.reset();
  if (!computeReference())
    return finish(Diags);
  if (!findWithAllValues())
    findByParts();
  if (interrupted())
    return Interrupted;
  if (!First && Compared.empty() && !Diags.hasErrors())
    Diags.error(Code::VerifyReference)
        .message("--bisect: no value of the model could be compared")
        .hint("kpc verify without --bisect compares the outputs");
  return tell();
}

int bisect(const BisectRequest &Request, Diagnostics &Diags) {
  std::optional<::onnx::ModelProto> Proto = readOnnx(Request.Model, Diags);
  if (!Proto)
    return finish(Diags);
  std::optional<Inputs> In = makeInputs(Request.Artifact, Request.In, Diags);
  if (!In) {
    int Code = finish(Diags);
    fmt::print(stderr, "{}", signatureText(Request.Artifact));
    return Code;
  }
  return Bisection(Request, *Proto, std::move(*In), Diags).run();
}

} // namespace kpc::cli
