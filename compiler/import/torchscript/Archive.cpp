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

static uint64_t newlines(std::string_view Text) {
  return static_cast<uint64_t>(std::count(Text.begin(), Text.end(), '\n'));
}

namespace {

/// The user's places that a debug pickle names. Millions of records may share
/// one text: its pieces are counted once.
class PlaceTable {
public:
  explicit PlaceTable(const std::vector<const PickleValue *> &Strings)
      : Strings(Strings) {}

  /// One record: the user's text, file and line, and the place in that text.
  std::string placeOf(const PickleValue &Range);

private:
  /// A piece of a text, mostly a line.
  struct Piece {
    uint64_t Start;    ///< in the text
    uint64_t Newlines; ///< in front of it
    std::string_view Text;
  };

  std::string_view text(const PickleValue &Index) const {
    if (Index.Is != Kind::Int || Index.Int < 0 ||
        static_cast<size_t>(Index.Int) >= Strings.size() ||
        Strings[static_cast<size_t>(Index.Int)]->Is != Kind::Text)
      return {};
    return Strings[static_cast<size_t>(Index.Int)]->Text;
  }
  const std::vector<Piece> &piecesOf(const PickleValue &List);

  const std::vector<const PickleValue *> &Strings;
  std::map<const PickleValue *, std::vector<Piece>> Known;
};

} // namespace

const std::vector<PlaceTable::Piece> &
PlaceTable::piecesOf(const PickleValue &List) {
  auto [It, IsNew] = Known.try_emplace(&List);
  if (!IsNew)
    return It->second;
  uint64_t Start = 0, Newlines = 0;
  for (const PickleValue *Index : List.Items) {
    std::string_view Text = text(*Index);
    if (Text.empty())
      continue;
    It->second.push_back({Start, Newlines, Text});
    Start += Text.size();
    Newlines += newlines(Text);
  }
  return It->second;
}

std::string PlaceTable::placeOf(const PickleValue &Range) {
  if (Range.Is != Kind::Tuple || Range.Items.size() != 3 ||
      Range.Items[1]->Is != Kind::Int)
    return {};
  const PickleValue &Source = *Range.Items[0];
  if (Source.Is != Kind::Tuple || Source.Items.size() != 3 ||
      Source.Items[0]->Is != Kind::List || Source.Items[2]->Is != Kind::Int)
    return {};
  std::string_view File = text(*Source.Items[1]);
  const std::vector<Piece> &Pieces = piecesOf(*Source.Items[0]);
  uint64_t At =
               static_cast<uint64_t>(std::max<int64_t>(Range.Items[1]->Int, 0)),
           Line = static_cast<uint64_t>(Source.Items[2]->Int);
  if (File.empty())
    return {};
  std::string_view Shown;
  auto After =
      std::upper_bound(Pieces.begin(), Pieces.end(), At,
                       [](uint64_t V, const Piece &P) { return V < P.Start; });
  if (After != Pieces.begin()) {
    const Piece &P = *std::prev(After);
    std::string_view Front = P.Text.substr(0, At - P.Start);
    Line += P.Newlines + newlines(Front);
    Shown = P.Text.substr(Front.rfind('\n') + 1); // npos + 1 is 0
    Shown = Shown.substr(0, Shown.find('\n'));
    Shown.remove_prefix(std::min(Shown.find_first_not_of(" \t"), Shown.size()));
  }
  constexpr size_t LongestShown = 200;
  return std::string(File.substr(File.rfind('/') + 1)) + ":" +
         std::to_string(Line) + (Shown.empty() ? "" : ": ") +
         std::string(Shown.substr(0, LongestShown));
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
  PlaceTable Users(P->root().Items[1]->Items);
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
    std::string Place = Users.placeOf(*Record->Items[1]);
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
