//===- ExternalData.cpp - Tensor data in files beside the model -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/model/ExternalData.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace kpc::onnx {

/// The parts of a path between slashes; empty and "." parts are dropped.
static std::vector<std::string> pathParts(const std::string &Path) {
  std::vector<std::string> Parts;
  size_t Start = 0;
  while (Start <= Path.size()) {
    size_t End = std::min(Path.find('/', Start), Path.size());
    std::string Part = Path.substr(Start, End - Start);
    if (!Part.empty() && Part != ".")
      Parts.push_back(std::move(Part));
    Start = End + 1;
  }
  return Parts;
}

std::string reasonAgainstLocation(const std::string &Location) {
  std::vector<std::string> Parts = pathParts(Location);
  if (Location.find('\0') != std::string::npos)
    return "the name contains a zero byte";
  if (Location[0] == '/' || Location[0] == '\\' ||
      (Location.size() > 1 && Location[1] == ':'))
    return "the path is absolute";
  for (const std::string &Part : Parts)
    if (Part == ".." || Part.find('\\') != std::string::npos)
      return "the path leaves the model's folder";
  return Parts.empty() ? "the path names no file" : "";
}

ExternalData::Opened &ExternalData::open(const std::string &Location) {
  auto [It, New] = Files.try_emplace(Location);
  Opened &Result = It->second;
  if (!New)
    return Result;
  std::vector<std::string> Parts = pathParts(Location);
  Result.Why = Folder.empty() ? "a model read from memory has no folder"
                              : reasonAgainstLocation(Location);
  if (!Result.Why.empty()) {
    Result.Fault = Code::ImportExternalOutside;
    return Result;
  }
  // One step at a time, so that no part of the way can be a link.
  int At = ::open(Folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (size_t I = 0; At >= 0 && I < Parts.size(); ++I) {
    int Flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    if (I + 1 < Parts.size())
      Flags |= O_DIRECTORY;
    int Next = ::openat(At, Parts[I].c_str(), Flags);
    int Fault = errno;
    if (Next < 0) {
      char Target[2];
      bool Link = ::readlinkat(At, Parts[I].c_str(), Target, 2) >= 0;
      Result.Fault =
          Link ? Code::ImportExternalOutside : Code::ImportExternalMissing;
      Result.Why = Link ? "'" + Parts[I] + "' is a link" : std::strerror(Fault);
    }
    ::close(At);
    At = Next;
  }
  if (At >= 0)
    Result.File = MappedFile::adopt(At, Result.Why);
  else if (Result.Why.empty())
    Result.Why = "the model's folder cannot be opened";
  return Result;
}

void ExternalData::reportUnopened(Opened &Source, const std::string &Location,
                                  const std::string &Tensor,
                                  Diagnostics &Diags) {
  if (!Source.Report) {
    Source.Report = &Diags.error(Source.Fault);
    Source.FirstTensor = Tensor;
  }
  size_t Others = Source.Tensors++;
  std::string Who = "initializer '" + printable(Source.FirstTensor) + "'";
  if (Others)
    Who +=
        " and " + std::to_string(Others) + (Others == 1 ? " other" : " others");
  Source.Report->message(Who + ": external data '" + printable(Location) + "'" +
                         (Source.Fault == Code::ImportExternalOutside
                              ? " is refused: "
                              : " cannot be read: ") +
                         Source.Why);
}

/// A decimal number of bytes and nothing else.
static bool parseBytes(const std::string &Text, uint64_t &Value) {
  auto [End, Fault] =
      std::from_chars(Text.data(), Text.data() + Text.size(), Value);
  return Fault == std::errc() && End == Text.data() + Text.size();
}

bool ExternalData::attach(Tensor &T, const Entries &List, Diagnostics &Diags) {
  std::string Location;
  std::optional<uint64_t> Length;
  std::string Who = "initializer '" + printable(T.Name) + "': ";
  for (const auto &[Key, Value] : List) {
    uint64_t Number = 0;
    if (Key == "location") {
      Location = Value;
    } else if (Key == "offset" || Key == "length") {
      if (!parseBytes(Value, Number)) {
        Diags.error(Code::ImportExternalEntry)
            .message(Who + "external data has the " + Key + " '" +
                     printable(Value) + "'");
        return false;
      }
      if (Key == "offset")
        T.Offset = Number;
      else
        Length = Number;
    }
  }
  if (Location.empty()) {
    Diags.error(Code::ImportExternalEntry)
        .message(Who + "external data without a location")
        .hint("the entry 'location' names the file, in the model's folder or "
              "below; export the model again");
    return false;
  }
  Opened &Source = open(Location);
  if (!Source.File) {
    reportUnopened(Source, Location, T.Name, Diags);
    return false;
  }
  std::span<const uint8_t> All = Source.File->bytes();
  uint64_t Need = *storedBytes(T.Type, static_cast<uint64_t>(T.count()));
  if (Length && *Length != Need) {
    Diags.error(Code::ImportDataLength)
        .message(Who + elementTypeName(T.Type) + " " + dimsText(T.Dims) +
                 " needs " + std::to_string(Need) +
                 " bytes, but its external data has the length " +
                 std::to_string(*Length));
    return false;
  }
  if (T.Offset > All.size() || Need > All.size() - T.Offset) {
    Diags.error(Code::ImportExternalRange)
        .message(Who + "bytes " + std::to_string(T.Offset) + " to " +
                 std::to_string(T.Offset) + "+" + std::to_string(Need) +
                 " of '" + printable(Location) + "', which has only " +
                 std::to_string(All.size()));
    return false;
  }
  T.File = Location;
  T.Bytes = All.subspan(T.Offset, Need);
  T.Keep = Source.File;
  return true;
}

} // namespace kpc::onnx
