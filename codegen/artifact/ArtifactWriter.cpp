//===- ArtifactWriter.cpp - Writes artifacts ------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/artifact/ArtifactWriter.h"
#include "codegen/artifact/ArtifactTable.h"
#include "codegen/artifact/WeightSegment.h"
#include "runtime/format/Container.h"

#include <algorithm>
#include <map>

namespace kpc::artifact {

// Device code and host images start at multiples of this within a segment.
static constexpr uint64_t CodeAlignment = 64;

Weight weightFromBytes(std::string Name, ElementType Type,
                       std::vector<int64_t> Dims, Bytes Data) {
  Weight W;
  W.Name = std::move(Name);
  W.Type = Type;
  W.Dims = std::move(Dims);
  W.Length = Data.size();
  W.Read = [Name = W.Name, Data = std::move(Data)](uint64_t Begin, uint8_t *To,
                                                   size_t Size) -> MaybeError {
    if (Begin + Size > Data.size())
      return "weight '" + Name + "' has " + std::to_string(Data.size()) +
             " bytes, fewer than it should";
    std::copy_n(Data.begin() + Begin, Size, To);
    return std::nullopt;
  };
  return W;
}

/// Nothing when a weight's length is that of its dims and type.
static MaybeError checkLength(const Weight &W) {
  uint64_t Bits = bitWidth(W.Type);
  bool Good = true;
  for (int64_t Dim : W.Dims)
    Good &= Dim >= 0 && !__builtin_mul_overflow(Bits, uint64_t(Dim), &Bits);
  uint64_t Bytes = Bits / 8 + (Bits % 8 != 0);
  if (Good && Bytes == W.Length)
    return std::nullopt;
  return "weight '" + W.Name + "' is said to have " + std::to_string(W.Length) +
         " bytes, but its type and dims take " + std::to_string(Bytes);
}

/// The least minor version whose readers understand the contents.
static uint16_t leastReader(const Contents &What) {
  for (const Target &T : What.Targets)
    for (const Kernel &K : T.Kernels)
      if (K.Cooperative)
        return format::CooperativeMinor;
  if (!What.Libraries.empty())
    return format::LibrariesMinor;
  for (const Target &T : What.Targets)
    for (const Control &C : T.Controls)
      if (const auto *L = std::get_if<Loop>(&C); L && L->Until)
        return format::EndedLoopsMinor;
  for (const Port &P : What.Outputs)
    if (P.Decides)
      return format::ReadbacksMinor;
  if (!What.InputValues.empty() || !What.Requirements.empty())
    return format::InputValuesMinor;
  for (const Target &T : What.Targets)
    if (!T.Controls.empty())
      return format::ControlsMinor;
  for (const Symbol &S : What.Symbols)
    if (S.Source != SymbolSource::Dim)
      return format::DeviceFactsMinor;
  for (const Target &T : What.Targets)
    for (const Kernel &K : T.Kernels)
      if (std::find(K.Params.begin(), K.Params.end(), ParamKind::TensorMap) !=
          K.Params.end())
        return format::DeviceFactsMinor;
  return 0;
}

namespace {

/// Writes the file from front to back and remembers what lies where.
class FileLayout {
public:
  FileLayout(const Contents &What, Output &Out, int Threads)
      : What(What), Out(Out), Threads(Threads) {}

  MaybeError write() {
    const uint8_t Blank[format::HeaderSize] = {};
    if (MaybeError E = raw(Blank, sizeof Blank))
      return E;
    Where.Modules.resize(What.Targets.size());
    for (size_t I = 0; I < What.Targets.size(); ++I)
      if (MaybeError E = What.Targets[I].Kind == TargetKind::Host
                             ? hostImages(I)
                             : deviceCode(I))
        return E;
    if (MaybeError E = libraries())
      return E;
    if (MaybeError E = weights())
      return E;
    return tableAndHeader();
  }

private:
  MaybeError raw(const void *Data, uint64_t Size) {
    Position += Size;
    return Out.append(Data, Size);
  }

  MaybeError padTo(uint64_t Alignment) {
    static constexpr uint8_t Zeros[format::PageAlignment] = {};
    uint64_t Size = (Alignment - Position % Alignment) % Alignment;
    if (Hashing)
      Hash.update(Zeros, Size);
    return raw(Zeros, Size);
  }

  MaybeError append(const void *Data, uint64_t Size) {
    Hash.update(Data, Size);
    return raw(Data, Size);
  }

  MaybeError begin(SegmentKind Kind) {
    if (MaybeError E = padTo(format::PageAlignment))
      return E;
    Where.Segments.push_back({Kind, Position, 0, {}});
    Hash = format::Sha256();
    Hashing = true;
    return std::nullopt;
  }

  void end() {
    Segment &S = Where.Segments.back();
    S.Length = Position - S.Offset;
    S.Digest = Hash.finish();
    Hashing = false;
  }

  Range here(uint64_t Length) const {
    const Segment &S = Where.Segments.back();
    return {uint32_t(Where.Segments.size() - 1), Position - S.Offset, Length};
  }

  // Each distinct image is a segment of its own.
  MaybeError hostImages(size_t TargetIndex) {
    for (const Module &M : What.Targets[TargetIndex].Modules) {
      auto [It, New] = HostImages.try_emplace(M.Image);
      if (New) {
        if (MaybeError E = begin(SegmentKind::HostImage))
          return E;
        It->second = here(M.Image.size());
        if (MaybeError E = append(M.Image.data(), M.Image.size()))
          return E;
        end();
      }
      Where.Modules[TargetIndex].push_back({It->second, {}});
    }
    return std::nullopt;
  }

  MaybeError libraries() {
    for (const Library &L : What.Libraries) {
      Range &Place = Where.Libraries.emplace_back();
      if (L.Image.empty())
        continue;
      if (MaybeError E = begin(SegmentKind::SharedObject))
        return E;
      Place = here(L.Image.size());
      if (MaybeError E = append(L.Image.data(), L.Image.size()))
        return E;
      end();
    }
    return std::nullopt;
  }

  // One segment per target: a loader reads only that of the target it takes.
  MaybeError deviceCode(size_t TargetIndex) {
    const Target &T = What.Targets[TargetIndex];
    if (T.Modules.empty())
      return std::nullopt;
    if (MaybeError E = begin(SegmentKind::Device))
      return E;
    std::map<std::string, Range, std::less<>> Seen;
    auto Place = [&](std::string_view Code, Range &Out) -> MaybeError {
      if (Code.empty())
        return std::nullopt;
      if (auto Found = Seen.find(Code); Found != Seen.end()) {
        Out = Found->second;
        return std::nullopt;
      }
      if (MaybeError E = padTo(CodeAlignment))
        return E;
      Out = Seen[std::string(Code)] = here(Code.size());
      return append(Code.data(), Code.size());
    };
    for (const Module &M : T.Modules) {
      ModulePlace &P = Where.Modules[TargetIndex].emplace_back();
      std::string_view Image(reinterpret_cast<const char *>(M.Image.data()),
                             M.Image.size());
      if (MaybeError E = Place(Image, P.Image))
        return E;
      if (MaybeError E = Place(M.Ptx, P.Ptx))
        return E;
    }
    end();
    return std::nullopt;
  }

  MaybeError weights() {
    if (What.Weights.empty())
      return std::nullopt;
    if (MaybeError E = begin(SegmentKind::Weights))
      return E;
    WeightSegment Plan(What.Weights);
    for (size_t I = 0; I < What.Weights.size(); ++I) {
      const Weight &W = What.Weights[I];
      if (MaybeError E = checkLength(W))
        return E;
      Where.Weights.push_back(
          {uint32_t(Where.Segments.size() - 1), Plan.offsets()[I], W.Length});
    }
    if (MaybeError E = Out.skip(Plan.length()))
      return E;
    if (MaybeError E = Plan.write(Out, Position, Threads, Hash))
      return E;
    Position += Plan.length();
    end();
    return std::nullopt;
  }

  MaybeError tableAndHeader() {
    if (MaybeError E = padTo(format::TableAlignment))
      return E;
    Bytes Table;
    if (MaybeError E = buildTable(What, Where, Position, Table))
      return E;
    format::Header H;
    H.LeastReader = leastReader(What);
    H.TableOffset = Position;
    H.TableSize = Table.size();
    H.TableDigest = format::Sha256::of(Table.data(), Table.size());
    if (MaybeError E = raw(Table.data(), Table.size()))
      return E;
    H.FileSize = Position;
    auto Encoded = format::encodeHeader(H);
    return Out.overwriteStart(Encoded.data(), Encoded.size());
  }

  const Contents &What;
  Output &Out;
  int Threads;
  Places Where;
  std::map<Bytes, Range> HostImages;
  format::Sha256 Hash;
  bool Hashing = false;
  uint64_t Position = 0;
};

} // namespace

std::optional<std::string> write(const Contents &What, const std::string &Path,
                                 int Threads) {
  OutputFile File(Path);
  if (MaybeError E = File.open())
    return E;
  if (MaybeError E = FileLayout(What, File, Threads).write())
    return E;
  return File.keep();
}

std::optional<std::string> writeToMemory(const Contents &What, Bytes &Out,
                                         int Threads) {
  MemoryOutput Memory(Out);
  return FileLayout(What, Memory, Threads).write();
}

} // namespace kpc::artifact
