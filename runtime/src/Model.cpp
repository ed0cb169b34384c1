//===- Model.cpp - A loaded, checked artifact -----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/Model.h"
#include "runtime/format/ElementType.h"
#include "runtime/src/Cpu.h"
#include "runtime/src/Signature.h"

#include <cstring>

namespace kpc::rt {

Result<std::shared_ptr<Model>> Model::load(std::unique_ptr<ArtifactBytes> Bytes,
                                           bool VerifyWeights,
                                           const uint8_t *PublicKey,
                                           Log TheLog) {
  std::span<const uint8_t> All = Bytes->all();
  auto Header = format::decodeHeader(All.data(), All.size(), All.size());
  if (!Header)
    return Header.takeError();
  if (PublicKey)
    if (Status Failed = verifySignature(*Header, All.data(), PublicKey);
        !Failed)
      return Failed;
  auto Out = std::make_shared<Model>();
  Out->TableBytes =
      AlignedBytes::copyOf(All.subspan(Header->TableOffset, Header->TableSize));
  std::span<const uint8_t> Table = Out->TableBytes.bytes();
  if (format::Sha256::of(Table.data(), Table.size()) != Header->TableDigest)
    return failure(ErrorCode::Damaged,
                   "the table's digest does not match: the file is damaged");
  auto Read = format::readTable(Table.data(), Table.size(), All.size());
  if (!Read)
    return Read.takeError();
  Out->Table = *Read;
  Out->Source = std::move(Bytes);
  uint32_t Index = 0;
  for (const format::Segment *S : format::each(Out->Table->segments())) {
    if (S->kind() != format::SegmentKind::Weights || VerifyWeights)
      if (Status Failed = Out->verifySegment(Index); !Failed)
        return Failed;
    ++Index;
  }
  Out->describe();
  if (TheLog.wanted())
    TheLog.info(formatted("loaded an artifact of %zu bytes with %zu targets",
                          All.size(), Out->Targets.size()));
  return Out;
}

std::span<const uint8_t> Model::segment(uint32_t Index) const {
  const format::Segment *S = Table->segments()->Get(Index);
  return Source->all().subspan(S->offset(), S->length());
}

static format::DigestBytes digestOf(const format::Segment &S) {
  format::DigestBytes Out;
  std::memcpy(Out.data(), S.digest()->bytes()->data(), Out.size());
  return Out;
}

Status Model::verifySegment(uint32_t Index) const {
  const format::Segment *S = Table->segments()->Get(Index);
  std::span<const uint8_t> Bytes = segment(Index);
  if (format::Sha256::of(Bytes.data(), Bytes.size()) == digestOf(*S))
    return success();
  bool Weights = S->kind() == format::SegmentKind::Weights;
  return failure(ErrorCode::Damaged,
                 "the digest of segment %u (%s) does not match: the file is "
                 "damaged",
                 Index, Weights ? "weights" : "code");
}

Status Model::verifyWeights() const {
  uint32_t Index = 0;
  for (const format::Segment *S : format::each(Table->segments())) {
    if (S->kind() == format::SegmentKind::Weights)
      if (Status Failed = verifySegment(Index); !Failed)
        return Failed;
    ++Index;
  }
  return success();
}

std::span<const uint8_t> Model::weight(uint32_t Index) const {
  const format::Weight *W = Table->weights()->Get(Index);
  return segment(W->segment()).subspan(W->offset(), W->length());
}

std::span<const uint8_t> Model::code(const format::Range &R) const {
  return segment(R.segment()).subspan(R.offset(), R.length());
}

static Error refusedHostCode() {
  Error E = failure(ErrorCode::NoTarget,
                    "the artifact's native host code is refused");
  E.Hint = "take a GPU, or load the artifact without KPC_LOAD_NO_HOST_CODE "
           "(kpc run: without --no-host-code)";
  return E;
}

Result<std::shared_ptr<const HostLibrary>> Model::hostLibrary(uint32_t Index) {
  const format::Library *L = Table->libraries()->Get(Index);
  if (!HostCode)
    return refusedHostCode();
  if (!CustomHostCode) {
    Error E = failure(ErrorCode::NoTarget,
                      "the artifact has host code of a custom operator, '%s', "
                      "which is loaded only where that is allowed",
                      L->name()->c_str());
    E.Hint = "load the artifact with KPC_LOAD_CUSTOM_HOST_CODE (kpc run: "
             "--allow-custom-code), if you trust who made it";
    return E;
  }
  std::lock_guard<std::mutex> Guard(Lock);
  std::weak_ptr<const HostLibrary> &Kept = Libraries[Index];
  if (std::shared_ptr<const HostLibrary> Found = Kept.lock())
    return Found;
  std::span<const uint8_t> Image;
  format::DigestBytes Digest{};
  if (const format::Range *R = L->image()) {
    Image = code(*R);
    Digest = digestOf(*Table->segments()->Get(R->segment()));
  }
  auto Loaded = HostLibrary::load(L->name()->c_str(), Image, Digest);
  if (Loaded)
    Kept = *Loaded;
  return Loaded;
}

Result<std::shared_ptr<const HostImage>> Model::hostImage(uint32_t Segment) {
  if (!HostCode)
    return refusedHostCode();
  std::lock_guard<std::mutex> Guard(Lock);
  std::weak_ptr<const HostImage> &Kept = Images[Segment];
  if (std::shared_ptr<const HostImage> Found = Kept.lock())
    return Found;
  auto Loaded = HostImage::load(segment(Segment),
                                digestOf(*Table->segments()->Get(Segment)));
  if (Loaded)
    Kept = *Loaded;
  return Loaded;
}

static std::vector<PortInfo> describePorts(
    const format::Model &M, std::span<const uint8_t> OfData,
    const flatbuffers::Vector<flatbuffers::Offset<format::Port>> *Ports) {
  std::vector<PortInfo> Out;
  for (const format::Port *P : format::each(Ports)) {
    PortInfo &Info = Out.emplace_back();
    Info.Table = P;
    Info.Name = P->name()->c_str();
    Info.Type = ElementType(P->type());
    for (uint32_t Index : format::scalars(P->dims())) {
      const format::Expr *E = M.exprs()->Get(Index);
      bool Constant = E->words()->size() == 2 &&
                      format::Op(E->words()->Get(0)) == format::Op::Constant;
      Info.Exprs.push_back(E);
      Info.OfData.push_back(namesAny(*E, OfData));
      Info.Dims.push_back(Constant ? E->words()->Get(1) : -1);
      Info.Texts.push_back(exprText(M, *E));
    }
    for (const std::string &Text : Info.Texts)
      Info.TextPointers.push_back(Text.c_str());
  }
  return Out;
}

static std::string runsOn(const format::Target &T) {
  if (T.kind() == format::TargetKind::Host)
    return T.isa() == format::Isa::X86_64
               ? std::string(cpuLevelName(T.cpu_level())) + " processors"
               : std::string("AArch64 processors");
  std::string Text = formatted("compute capability %d.%d", T.capability_major(),
                               T.capability_minor());
  if (T.capability_rule() == format::CapabilityRule::SameMajor)
    Text += formatted(" and later %d.x", T.capability_major());
  if (T.capability_rule() == format::CapabilityRule::AtLeast)
    Text += " and later";
  if (T.least_driver())
    Text += formatted(", driver for CUDA %u.%u or newer",
                      T.least_driver() / 1000, T.least_driver() % 1000 / 10);
  return Text;
}

void Model::describe() {
  std::vector<uint8_t> OfData(symbolCount());
  for (size_t I = 0; I < OfData.size(); ++I)
    OfData[I] = symbol(I).source() == format::SymbolSource::Data;
  Inputs = describePorts(*Table, OfData, Table->inputs());
  Outputs = describePorts(*Table, OfData, Table->outputs());
  for (uint32_t I = 0; I < Outputs.size(); ++I)
    if (uint32_t Decides = Outputs[I].Table->decides();
        Decides != format::None) {
      const format::Expr *Size = Table->exprs()->Get(Decides),
                         *AtMost =
                             Table->exprs()->Get(Outputs[I].Table->at_most());
      DataSizes.push_back({I, Size, AtMost, exprText(*Table, *Size),
                           exprText(*Table, *AtMost)});
    }
  for (const format::Target *T : format::each(Table->targets()))
    Targets.push_back({T, runsOn(*T)});
  for (const format::InputValue *V : format::each(Table->input_values())) {
    const format::Expr *Size = Table->exprs()->Get(V->size());
    Values.push_back({V, Size,
                      std::string(Inputs[V->input()].Name) + "[" +
                          std::to_string(V->element()) + "]",
                      exprText(*Table, *Size)});
  }
  for (const format::Requirement *R : format::each(Table->requirements()))
    Requirements.push_back(
        {R, exprText(*Table, *Table->exprs()->Get(R->left())),
         exprText(*Table, *Table->exprs()->Get(R->right()))});
  for (uint32_t I = 0; I < symbolCount(); ++I)
    if (symbol(I).source() == format::SymbolSource::Dim)
      Dims.push_back(I);
}

} // namespace kpc::rt
