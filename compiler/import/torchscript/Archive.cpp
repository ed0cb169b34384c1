//===- Archive.cpp - What torch.jit.save wrote ----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torchscript/Archive.h"

#include "compiler/diagnostics/Diagnostics.h"
#include "compiler/import/torch/SavedTensors.h"

#include <algorithm>

namespace kpc::torchscript {

using torch::ZipArchive;
using torch::ZipData;
using torch::ZipEntry;
using Kind = PickleValue::Kind;

/// Bytes of one file of source, or of one pickle.
static constexpr uint64_t MostText = uint64_t(1) << 28;

/// "model/" of "model/data.pkl"; none where the archive is no TorchScript.
static std::optional<std::string> rootOf(const ZipArchive &Zip) {
  static constexpr std::string_view Data = "data.pkl";
  for (const auto &[Name, E] : Zip.entries()) {
    if (!Name.ends_with(Data) || (Name.size() > Data.size() &&
                                  Name[Name.size() - Data.size() - 1] != '/'))
      continue;
    std::string Root = Name.substr(0, Name.size() - Data.size());
    std::string Code = Root + "code/";
    auto It = Zip.entries().lower_bound(Code);
    if (It != Zip.entries().end() && It->first.starts_with(Code))
      return Root;
  }
  return std::nullopt;
}

bool isScript(const std::string &Path) {
  std::string Why;
  if (!torch::isZipFile(Path))
    return false;
  std::shared_ptr<const ZipArchive> Zip = ZipArchive::open(Path, Why);
  return Zip && rootOf(*Zip);
}

static std::optional<ZipData> readEntry(const ZipArchive &Zip,
                                        const std::string &Name, uint64_t Most,
                                        std::string &Why) {
  const ZipEntry *E = Zip.find(Name);
  if (E)
    return Zip.read(*E, Most, Why);
  Why = "the archive has no file '" + printable(Name) + "'";
  return std::nullopt;
}

static std::optional<Pickle>
readPickle(const ZipArchive &Zip, const std::string &Name, std::string &Why) {
  std::optional<ZipData> Data = readEntry(Zip, Name, MostText, Why);
  if (!Data)
    return std::nullopt;
  std::optional<Pickle> P = Pickle::read(Data->Bytes, Why);
  if (!P)
    Why = "'" + printable(Name) + "': " + Why;
  return P;
}

std::unique_ptr<Archive> Archive::open(const std::string &Path,
                                       std::string &Why) {
  auto A = std::make_unique<Archive>();
  A->Zip = ZipArchive::open(Path, Why);
  std::optional<std::string> Root =
      A->Zip ? rootOf(*A->Zip) : std::optional<std::string>();
  if (A->Zip && !Root)
    Why = "expected data.pkl next to the folder code/, got none";
  if (!Root)
    return nullptr;
  A->Root = *Root;
  if (const ZipEntry *E = A->Zip->find(A->Root + "byteorder")) {
    std::optional<ZipData> Text = A->Zip->read(*E, 64, Why);
    if (!Text || Text->text() != "little") {
      Why = "the archive's tensors are not little endian";
      return nullptr;
    }
  }
  if (A->Zip->find(A->Root + "constants.pkl")) {
    A->Constants = readPickle(*A->Zip, A->Root + "constants.pkl", Why);
    if (!A->Constants)
      return nullptr;
  }
  A->Top = readPickle(*A->Zip, A->Root + "data.pkl", Why);
  if (!A->Top)
    return nullptr;
  if (A->top().Is != Kind::Object) {
    Why = "expected a module in 'data.pkl', got another value";
    return nullptr;
  }
  return A;
}

const PickleValue *Archive::constant(size_t N) const {
  if (!Constants || Constants->root().Is != Kind::Tuple ||
      N >= Constants->root().Items.size())
    return nullptr;
  return Constants->root().Items[N];
}

std::optional<torch::Payload>
Archive::payload(const PickleValue &Tensor, bool OfConstant, std::string &Why) {
  return torch::payloadOf(Tensor, *Zip,
                          Root + (OfConstant ? "constants/" : "data/"), Why);
}

//===----------------------------------------------------------------------===//
// Source
//===----------------------------------------------------------------------===//

std::string ScriptFile::place(unsigned Line) const {
  // Assignments of attributes have no record of their own: what stands before
  // them has.
  auto It = Places.upper_bound(Line);
  if (It != Places.begin() && std::prev(It)->first + 3 >= Line)
    return std::prev(It)->second;
  return Name + " line " + std::to_string(Line);
}

/// One record: where it starts in the archive's source, then the user's text,
/// file and line, and the place in that text.
static std::string placeOf(const PickleValue &Range,
                           const std::vector<const PickleValue *> &Strings) {
  auto Text = [&](const PickleValue &Index) -> std::string_view {
    if (Index.Is != Kind::Int || Index.Int < 0 ||
        static_cast<size_t>(Index.Int) >= Strings.size() ||
        Strings[static_cast<size_t>(Index.Int)]->Is != Kind::Text)
      return {};
    return Strings[static_cast<size_t>(Index.Int)]->Text;
  };
  if (Range.Is != Kind::Tuple || Range.Items.size() != 3 ||
      Range.Items[1]->Is != Kind::Int)
    return {};
  const PickleValue &Source = *Range.Items[0];
  if (Source.Is != Kind::Tuple || Source.Items.size() != 3 ||
      Source.Items[0]->Is != Kind::List || Source.Items[2]->Is != Kind::Int)
    return {};
  std::string_view File = Text(*Source.Items[1]);
  if (File.empty())
    return {};
  // The text comes in pieces, mostly a line each.
  int64_t At = Range.Items[1]->Int, Line = Source.Items[2]->Int;
  std::string Shown;
  for (const PickleValue *Piece : Source.Items[0]->Items) {
    std::string_view Part = Text(*Piece);
    auto Size = static_cast<int64_t>(Part.size());
    if (At >= Size) {
      Line += std::count(Part.begin(), Part.end(), '\n');
      At -= Size;
      continue;
    }
    size_t Place = static_cast<size_t>(std::max<int64_t>(At, 0));
    Line += std::count(Part.begin(), Part.begin() + static_cast<int64_t>(Place),
                       '\n');
    size_t Start = Part.rfind('\n', Place) + 1; // npos + 1 is 0
    Shown = Part.substr(Start, Part.find('\n', Place) - Start);
    break;
  }
  size_t First = Shown.find_first_not_of(" \t");
  Shown.erase(0, First == std::string::npos ? Shown.size() : First);
  return std::string(File.substr(File.rfind('/') + 1)) + ":" +
         std::to_string(Line) + (Shown.empty() ? "" : ": " + Shown);
}

/// The archive may say nothing of its lines, or what kpc cannot read: then its
/// own lines are named.
void Archive::readPlaces(ScriptFile &F, std::string_view Text) {
  std::string Why, Name = Root + F.Name + ".debug_pkl";
  if (!Zip->find(Name))
    return;
  std::optional<Pickle> P = readPickle(*Zip, Name, Why);
  if (!P || P->root().Is != Kind::Tuple || P->root().Items.size() != 3 ||
      P->root().Items[0]->Text != "FORMAT_WITH_STRING_TABLE" ||
      P->root().Items[2]->Is != Kind::Tuple)
    return;
  size_t At = 0;
  unsigned Line = 1;
  for (const PickleValue *Record : P->root().Items[2]->Items) {
    if (Record->Is != Kind::Tuple || Record->Items.size() < 2 ||
        Record->Items[0]->Is != Kind::Int)
      return;
    auto Start = static_cast<uint64_t>(Record->Items[0]->Int);
    // Records are in the order of the text.
    for (; At < Text.size() && At < Start; ++At)
      Line += Text[At] == '\n';
    std::string Place = placeOf(*Record->Items[1], P->root().Items[1]->Items);
    if (!Place.empty())
      F.Places.emplace(Line, std::move(Place));
  }
}

const ScriptFile *Archive::file(const std::string &Name, std::string &Why) {
  auto It = Files.find(Name);
  if (It != Files.end())
    return It->second.get();
  auto F = std::make_unique<ScriptFile>();
  F->Name = Name;
  std::optional<ZipData> Data = readEntry(*Zip, Root + Name, MostText, Why);
  if (!Data)
    return nullptr;
  std::optional<SourceFile> Source = parseSource(Data->text(), Why);
  if (!Source) {
    Why = "'" + printable(Name) + "', " + Why;
    return nullptr;
  }
  F->Source = std::move(*Source);
  readPlaces(*F, Data->text());
  return (Files[Name] = std::move(F)).get();
}

Archive::Found Archive::find(const std::string &Name, std::string &Why) {
  Found Result;
  size_t Dot = Name.rfind('.');
  if (Dot == std::string::npos) {
    Why = "the archive has no name '" + printable(Name) + "'";
    return Result;
  }
  std::string Path = "code/" + Name.substr(0, Dot), Last = Name.substr(Dot + 1);
  std::replace(Path.begin(), Path.end(), '.', '/');
  Result.File = file(Path + ".py", Why);
  if (!Result.File)
    return Result;
  for (const Class &C : Result.File->Source.Classes)
    if (C.Name == Last)
      Result.TheClass = &C;
  for (const Function &F : Result.File->Source.Functions)
    if (F.Name == Last)
      Result.TheFunction = &F;
  if (!Result.TheClass && !Result.TheFunction)
    Why = "'" + printable(Result.File->Name) + "' defines no '" +
          printable(Last) + "'";
  return Result;
}

Archive::Found Archive::findTop(std::string &Why) {
  Found Result = find(top().Text, Why);
  if (Result.TheFunction && !Result.TheClass)
    Why = "'" + printable(top().Text) + "' is a function and no module";
  return Result;
}

} // namespace kpc::torchscript
