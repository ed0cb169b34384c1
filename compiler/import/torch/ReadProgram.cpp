//===- ReadProgram.cpp - Reads archives of torch.export -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The archive's files. PyTorch 2.9 and newer write weights as raw bytes and
/// a JSON file that describes them. 2.8 saves each model's weights as
/// torch.save does, in data/weights; 2.5 to 2.7 do so in files at
/// the archive's root. Pickles are read by Pickle.h, which executes
/// nothing.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/ShallowJson.h"
#include "compiler/import/torch/DecodeGraph.h"
#include "compiler/import/torch/SavedTensors.h"
#include "compiler/import/torch/Zip.h"

#include "llvm/ADT/StringExtras.h"

#include <set>

namespace kpc::torch {

namespace json = llvm::json;
using llvm::StringRef;

/// Bytes of JSON in one file: that of a model of 100,000 operators is 200 MB.
static constexpr uint64_t MostJson = uint64_t(1) << 30;
/// The major versions of the graph's schema that kpc knows: PyTorch 2.5 to now.
static constexpr int64_t OldestSchema = 7, NewestSchema = 8;
/// The version of the archive's layout that kpc knows.
static constexpr llvm::StringLiteral ArchiveVersion = "0";
/// What the program is called in archives of PyTorch 2.7 and older.
static constexpr llvm::StringLiteral OldProgram =
    "serialized_exported_program.json";

/// An extra file with names of dims.
static constexpr llvm::StringLiteral DimNamesFile = "kpc_dims.json";

/// The hint where an archive is of another kind than kpc reads.
static constexpr const char *SaveAgain =
    "save the program again with torch.export.save of PyTorch 2.5 or newer, or "
    "export it with torch.onnx.export(..., dynamo=True)";
/// The hint where a pickle holds more than tensors.
static constexpr const char *PlainTensors =
    "save the program with plain dense tensors as its weights";
/// The hint where an archive is of a newer kind.
static constexpr const char *Newer = "update kpc, or export the model to ONNX";

namespace {

class ArchiveReader {
public:
  ArchiveReader(std::shared_ptr<const ZipArchive> Zip, Diagnostics &Diags)
      : Zip(std::move(Zip)), Diags(Diags) {}

  std::optional<Program> run();

private:
  bool fail(Code C, std::string Text, std::string Hint = "") {
    kpc::Diagnostic &D = Diags.error(C).message(std::move(Text));
    if (!Hint.empty())
      D.hint(std::move(Hint));
    return false;
  }
  bool findModel();
  std::optional<json::Value> readJson(const std::string &Name);
  bool readPayloads(Program &P, StringRef Folder, StringRef Prefix);
  bool readPayload(Program &P, const std::string &Folder, StringRef Name,
                   const json::Object &Config);
  /// Tensors that torch.save wrote to the first of `Files` that is there.
  bool readSaved(Program &P, std::initializer_list<std::string> Files);
  bool checkVersion(const json::Object &Model);
  bool readDimNames(Program &P);

  std::shared_ptr<const ZipArchive> Zip;
  Diagnostics &Diags;
  std::string Root;   ///< "archive/"
  std::string Model;  ///< "model"
  bool IsOld = false; ///< the layout of PyTorch 2.7 and older
};

} // namespace

bool ArchiveReader::findModel() {
  std::vector<std::string> Models;
  bool Code = false, Data = false, Mobile = false, Compiled = false;
  for (const auto &[Name, E] : Zip->entries()) {
    StringRef N(Name);
    size_t At = N.starts_with("models/") ? 0 : N.find("/models/");
    if (At != StringRef::npos && N.ends_with(".json")) {
      size_t Start = At == 0 ? 0 : At + 1;
      if (!N.drop_front(Start + 7).contains('/')) {
        Root = N.take_front(Start).str();
        Models.push_back(N.drop_front(Start + 7).drop_back(5).str());
      }
    }
    if (N == OldProgram)
      IsOld = true;
    Code |= N.contains("/code/");
    Mobile |= N.ends_with("bytecode.pkl");
    Compiled |= N.contains("data/aotinductor/");
    Data |= N.ends_with("data.pkl");
  }
  if (IsOld && Models.empty())
    return true;
  IsOld = false;
  if (Models.size() == 1) {
    Model = Models.front();
    return true;
  }
  if (Models.size() > 1)
    return fail(Code::ImportUnsupported,
                "the archive holds " + std::to_string(Models.size()) +
                    " models: " + llvm::join(Models, ", "),
                "save each model to a file of its own");
  if (Code && Data)
    return fail(kpc::Code::ImportUnsupported,
                "the file is TorchScript and no program of torch.export");
  if (Mobile)
    return fail(kpc::Code::ImportUnsupported,
                "the file is a mobile archive of TorchScript, which holds "
                "byte code and no source",
                "save the module with torch.jit.save or, better, "
                "torch.export.save");
  if (Data)
    return fail(kpc::Code::ImportUnsupported,
                "the file holds pickled tensors (torch.save) and no graph",
                "load the weights into the model in Python, then save it with "
                "torch.export.save");
  if (Compiled)
    return fail(kpc::Code::ImportUnsupported,
                "the file is a package of AOTInductor, which holds compiled "
                "code and no graph",
                "save the program that was compiled with torch.export.save");
  return fail(kpc::Code::ImportMalformed,
              "the zip archive holds no exported program (models/*.json)",
              SaveAgain);
}

/// PyTorch before 2.7 writes what is not finite as Python does, bare:
/// -Infinity. JSON has no such numbers, and newer archives have them as texts.
/// None where there are none.
static std::optional<std::string> withTexts(StringRef Json) {
  if (!Json.contains("Infinity") && !Json.contains("NaN"))
    return std::nullopt;
  std::string Result;
  bool InText = false;
  for (size_t I = 0; I < Json.size(); ++I) {
    if (InText && Json[I] == '\\' && I + 1 < Json.size()) {
      Result += Json.substr(I++, 2);
      continue;
    }
    InText ^= Json[I] == '"';
    StringRef Rest = Json.substr(I);
    StringRef Bare;
    for (StringRef Name : {"-Infinity", "Infinity", "NaN"})
      if (Bare.empty() && !InText && Rest.starts_with(Name))
        Bare = Name;
    if (Bare.empty()) {
      Result += Json[I];
      continue;
    }
    Result += ("\"" + Bare + "\"").str();
    I += Bare.size() - 1;
  }
  return Result;
}

std::optional<json::Value> ArchiveReader::readJson(const std::string &Name) {
  const ZipEntry *E = Zip->find(Name);
  std::string Why;
  if (!E) {
    fail(Code::ImportMalformed, "the archive has no file '" + Name + "'");
    return std::nullopt;
  }
  std::optional<ZipData> Data = Zip->read(*E, MostJson, Why);
  if (!Data) {
    fail(Code::ImportMalformed, Why);
    return std::nullopt;
  }
  if (!isShallowJson(Data->text())) {
    fail(Code::ImportTooDeep, "'" + Name + "' nests deeper than " +
                                  std::to_string(DeepestJson) + " levels");
    return std::nullopt;
  }
  std::optional<std::string> Texts = withTexts(Data->text());
  llvm::Expected<json::Value> V = json::parse(Texts ? *Texts : Data->text());
  if (!V) {
    fail(Code::ImportMalformed,
         "'" + Name + "' is no JSON: " + llvm::toString(V.takeError()));
    return std::nullopt;
  }
  return std::move(*V);
}

bool ArchiveReader::checkVersion(const json::Object &Of) {
  const json::Object *Version = Of.getObject("schema_version");
  std::optional<int64_t> Major =
      Version ? Version->getInteger("major") : std::nullopt;
  if (!Major)
    return fail(Code::ImportMalformed,
                "the program does not say which version of the schema it has");
  if (*Major < OldestSchema || *Major > NewestSchema)
    return fail(Code::ImportOpset,
                "the program has schema version " + std::to_string(*Major) +
                    "; kpc reads versions " + std::to_string(OldestSchema) +
                    " to " + std::to_string(NewestSchema),
                *Major < OldestSchema ? SaveAgain : Newer);
  if (const ZipEntry *Version = Zip->find(Root + "archive_version")) {
    std::string Why;
    std::optional<ZipData> Text = Zip->read(*Version, 64, Why);
    if (!Text || StringRef(Text->text()).trim() != ArchiveVersion)
      return fail(Code::ImportOpset,
                  "the archive has layout version " +
                      printable(Text ? std::string(Text->text()) : "?") +
                      "; kpc reads version " + ArchiveVersion.str(),
                  Newer);
  }
  if (const ZipEntry *Order = Zip->find(Root + "byteorder")) {
    std::string Why;
    std::optional<ZipData> Text = Zip->read(*Order, 64, Why);
    if (!Text || Text->text() != "little")
      return fail(Code::ImportUnsupported,
                  "the archive's tensors are not little endian");
  }
  return true;
}

bool ArchiveReader::readPayload(Program &P, const std::string &Folder,
                                StringRef Name, const json::Object &Config) {
  Payload Data;
  std::string Who = "tensor '" + printable(Name.str()) + "' ";
  auto File = Config.getString("path_name");
  const json::Object *Meta = Config.getObject("tensor_meta");
  if (!File || !Meta || !decodeMeta(*Meta, Data.Meta))
    return fail(Code::ImportMalformed, Who + "has a damaged description");
  Data.File = Root + Folder + File->str();
  const ZipEntry *E = Zip->find(Data.File);
  if (!E)
    return fail(Code::ImportExternalMissing,
                Who + "lies in '" + printable(Data.File) +
                    "', which the archive has not");
  std::string Why;
  std::optional<ZipData> Bytes = Zip->read(*E, UINT64_MAX, Why);
  if (!Bytes)
    return fail(Code::ImportMalformed, Why);
  if (Config.getBoolean("use_pickle").value_or(false)) {
    auto Saved = readSavedTensors(*Bytes, Why);
    if (!Saved || Saved->size() != 1 || !Saved->count(""))
      return fail(Code::ImportUnsupported,
                  Who + "is pickled, as '" + printable(Data.File) +
                      "', and no plain tensor" +
                      (Saved ? std::string() : ": " + Why),
                  PlainTensors);
    P.Payloads.emplace(Name.str(), std::move(Saved->begin()->second));
    return true;
  }
  Data.Bytes = Bytes->Bytes;
  Data.Keep = Bytes->Keep;
  P.Payloads.emplace(Name.str(), std::move(Data));
  return true;
}

bool ArchiveReader::readSaved(Program &P,
                              std::initializer_list<std::string> Files) {
  for (const std::string &File : Files) {
    const ZipEntry *E = Zip->find(Root + File);
    if (!E)
      continue;
    std::string Why;
    std::optional<ZipData> Data = Zip->read(*E, UINT64_MAX, Why);
    auto Saved = Data ? readSavedTensors(*Data, Why) : std::nullopt;
    if (!Saved)
      return fail(Code::ImportUnsupported,
                  "kpc cannot read the pickled tensors of '" +
                      printable(E->Name) + "': " + Why,
                  PlainTensors);
    for (auto &[Name, Tensor] : *Saved)
      P.Payloads.emplace(Name, std::move(Tensor));
    return true;
  }
  return true;
}

bool ArchiveReader::readPayloads(Program &P, StringRef Folder,
                                 StringRef Suffix) {
  std::string Base = ("data/" + Folder + "/").str();
  std::string File = Root + Base + Model + Suffix.str();
  if (!Zip->find(File))
    return true;
  std::optional<json::Value> Config = readJson(File);
  if (!Config)
    return false;
  const json::Object *All = Config->getAsObject();
  All = All ? All->getObject("config") : nullptr;
  if (!All)
    return fail(Code::ImportMalformed, "'" + File + "' has no 'config'");
  for (const auto &[Name, V] : *All) {
    const json::Object *Of = V.getAsObject();
    if (!Of)
      return fail(Code::ImportMalformed, "'" + File + "' is damaged");
    // Objects of Python classes have no tensor; only what reads one fails.
    if (Of->getObject("tensor_meta") &&
        !readPayload(P, Base, StringRef(Name), *Of))
      return false;
  }
  return true;
}

/// Names that the user gave to dims, which PyTorch does not save: an extra file
/// of the archive, as {"input": ["batch", null]} or {"input": {"0": "batch"}}.
bool ArchiveReader::readDimNames(Program &P) {
  std::string File = Root + "extra/" + DimNamesFile.str();
  if (!Zip->find(File)) // as older versions of PyTorch call the folder
    File = Root + "extra_files/" + DimNamesFile.str();
  if (!Zip->find(File))
    return true;
  std::optional<json::Value> V = readJson(File);
  if (!V)
    return false;
  auto Damaged = [&](const std::string &Why) {
    return fail(Code::ImportMalformed, "'" + printable(File) + "' " + Why,
                "write it as {\"input\": [\"batch\", null]}");
  };
  const json::Object *Inputs = V->getAsObject();
  if (!Inputs)
    return Damaged("is no object of inputs");
  std::set<std::string> Used;
  for (const auto &[Input, Names] : *Inputs) {
    auto It = P.Main.Tensors.find(StringRef(Input));
    if (It == P.Main.Tensors.end())
      return Damaged("names dims of '" + printable(StringRef(Input).str()) +
                     "', which is no input");
    const std::vector<Size> &Sizes = It->second.Sizes;
    for (size_t I = 0; I < Sizes.size(); ++I) {
      const json::Array *List = Names.getAsArray();
      const json::Object *ByAxis = Names.getAsObject();
      const json::Value *Name = List && I < List->size() ? &(*List)[I]
                                : ByAxis ? ByAxis->get(std::to_string(I))
                                         : nullptr;
      auto Text = Name ? Name->getAsString() : std::nullopt;
      std::string Symbol = loneSymbol(Sizes[I].Text);
      if (!Text || Symbol.empty() || P.DimNames.count(Symbol))
        continue;
      if (plainName(Text->str()) != *Text || !Used.insert(Text->str()).second)
        return Damaged("has the name '" + printable(Text->str()) +
                       "' twice, or it is none of letters, digits and '_'");
      P.DimNames.emplace(Symbol, Text->str());
    }
  }
  return true;
}

std::optional<Program> ArchiveReader::run() {
  if (!findModel())
    return std::nullopt;
  std::optional<json::Value> Text =
      readJson(IsOld ? OldProgram.str() : Root + "models/" + Model + ".json");
  if (!Text)
    return std::nullopt;
  const json::Object *Top = Text->getAsObject();
  if (!Top) {
    fail(Code::ImportMalformed, "the program is no JSON object");
    return std::nullopt;
  }
  if (!checkVersion(*Top))
    return std::nullopt;
  Program P;
  std::string Why;
  if (!decodeProgram(*Top, P, Why)) {
    fail(Code::ImportMalformed, "the program is damaged: " + Why);
    return std::nullopt;
  }
  for (auto [Folder, Suffix] :
       {std::pair("weights", "_weights_config.json"),
        std::pair("weights", "_model_param_config.json"),
        std::pair("constants", "_constants_config.json"),
        std::pair("constants", "_model_constants_config.json")})
    if (!IsOld && !readPayloads(P, Folder, Suffix))
      return std::nullopt;
  // Files in .json are pickles too: PyTorch called them so once.
  bool Read = IsOld ? readSaved(P, {"serialized_state_dict.pt",
                                    "serialized_state_dict.json"}) &&
                          readSaved(P, {"serialized_constants.pt",
                                        "serialized_constants.json"})
                    : readSaved(P, {"data/weights/" + Model + ".pt"}) &&
                          readSaved(P, {"data/constants/" + Model + ".pt"});
  return Read && readDimNames(P) ? std::optional(std::move(P)) : std::nullopt;
}

std::optional<Program> readProgram(const std::string &Path,
                                   Diagnostics &Diags) {
  std::string Why;
  std::shared_ptr<const ZipArchive> Zip = ZipArchive::open(Path, Why);
  if (!Zip) {
    Diags.error(Code::ImportMalformed)
        .message("the file is no zip archive that kpc can read: " + Why);
    return std::nullopt;
  }
  return ArchiveReader(std::move(Zip), Diags).run();
}

} // namespace kpc::torch
