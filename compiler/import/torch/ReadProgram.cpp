//===- ReadProgram.cpp - Reads archives of torch.export -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The archive's files: the layout of PyTorch 2.8 and newer, where weights are
/// raw bytes beside a JSON file that describes them. Nothing is unpickled.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/DecodeGraph.h"
#include "compiler/import/torch/Zip.h"

#include "llvm/ADT/StringExtras.h"

namespace kpc::torch {

namespace json = llvm::json;
using llvm::StringRef;

/// Bytes of JSON in one file: that of a model of 100,000 operators is 200 MB.
static constexpr uint64_t MostJson = uint64_t(1) << 30;
/// Lists in lists: expressions of sizes are text, graphs nest a few times.
static constexpr unsigned DeepestJson = 200;
/// The major version of the graph's schema that kpc knows.
static constexpr int64_t SchemaMajor = 8;

/// The hint where an archive is of another kind than kpc reads.
static constexpr const char *SaveAgain =
    "save the program again with torch.export.save of PyTorch 2.8 or newer, or "
    "export it with torch.onnx.export(..., dynamo=True)";

/// LLVM's parser recurses as deep as the text does.
static bool isShallow(std::string_view Text) {
  unsigned Depth = 0;
  bool Quoted = false;
  for (size_t I = 0; I < Text.size(); ++I) {
    char C = Text[I];
    if (Quoted) {
      I += C == '\\';
      Quoted = C != '"';
    } else if (C == '"') {
      Quoted = true;
    } else if (C == '[' || C == '{') {
      if (++Depth > DeepestJson)
        return false;
    } else if ((C == ']' || C == '}') && Depth > 0) {
      --Depth;
    }
  }
  return true;
}

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
  bool checkVersion(const json::Object &Model);

  std::shared_ptr<const ZipArchive> Zip;
  Diagnostics &Diags;
  std::string Root;  ///< "archive/"
  std::string Model; ///< "model"
};

} // namespace

bool ArchiveReader::findModel() {
  std::vector<std::string> Models;
  bool Code = false, Old = false, Data = false;
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
    Old |= N.ends_with("serialized_exported_program.json");
    Code |= N.contains("/code/");
    Data |= N.ends_with("data.pkl");
  }
  if (Models.size() == 1) {
    Model = Models.front();
    return true;
  }
  if (Models.size() > 1)
    return fail(Code::ImportUnsupported,
                "the archive holds " + std::to_string(Models.size()) +
                    " models: " + llvm::join(Models, ", "),
                "save each model to a file of its own");
  if (Old)
    return fail(kpc::Code::ImportUnsupported,
                "the archive is of PyTorch 2.7 or older, whose weights are "
                "pickled",
                SaveAgain);
  if (Code && Data)
    return fail(kpc::Code::ImportUnsupported,
                "the file is TorchScript and no program of torch.export");
  if (Data)
    return fail(kpc::Code::ImportUnsupported,
                "the file holds pickled tensors (torch.save) and no graph",
                "load the weights into the model in Python, then save it with "
                "torch.export.save");
  return fail(kpc::Code::ImportMalformed,
              "the zip archive holds no exported program (models/*.json)",
              SaveAgain);
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
  if (!isShallow(Data->text())) {
    fail(Code::ImportTooDeep, "'" + Name + "' nests deeper than " +
                                  std::to_string(DeepestJson) + " levels");
    return std::nullopt;
  }
  llvm::Expected<json::Value> V = json::parse(Data->text());
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
  if (*Major != SchemaMajor)
    return fail(Code::ImportOpset,
                "the program has schema version " + std::to_string(*Major) +
                    "; kpc reads version " + std::to_string(SchemaMajor),
                *Major < SchemaMajor
                    ? SaveAgain
                    : "update kpc, or export the model to ONNX");
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
  if (Config.getBoolean("use_pickle").value_or(false))
    return fail(Code::ImportUnsupported,
                Who + "is pickled; kpc does not unpickle",
                "save the program with plain dense tensors");
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
  Data.Bytes = Bytes->Bytes;
  Data.Keep = Bytes->Keep;
  P.Payloads.emplace(Name.str(), std::move(Data));
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

std::optional<Program> ArchiveReader::run() {
  if (!findModel())
    return std::nullopt;
  std::optional<json::Value> Text =
      readJson(Root + "models/" + Model + ".json");
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
    if (!readPayloads(P, Folder, Suffix))
      return std::nullopt;
  return P;
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
