//===- torch.cpp - PyTorch's files, byte by byte --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A libFuzzer target for what reads PyTorch's files before anything is known
/// of them. The first byte says which: zip archives with all their entries,
/// deflated bytes, pickles, archives of torch.save, the JSON of a program,
/// sizes and conditions, TorchScript's source.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/ShallowJson.h"
#include "compiler/import/torch/DecodeGraph.h"
#include "compiler/import/torch/Inflate.h"
#include "compiler/import/torch/SavedTensors.h"
#include "compiler/import/torchscript/Source.h"

using namespace kpc;

/// Bytes that one input may make of deflated ones.
static constexpr uint64_t MostInflated = uint64_t(1) << 20;

static void readZip(std::span<const uint8_t> Bytes) {
  std::string Why;
  auto Zip = torch::ZipArchive::of(Bytes, nullptr, Why);
  if (!Zip)
    return;
  for (const auto &[Name, E] : Zip->entries())
    (void)Zip->read(E, MostInflated, Why);
}

static void readJson(std::string_view Text) {
  llvm::Expected<llvm::json::Value> V = parseJson(Text);
  if (!V)
    return llvm::consumeError(V.takeError());
  torch::Program P;
  std::string Why;
  if (const llvm::json::Object *O = V->getAsObject())
    if (torch::decodeProgram(*O, P, Why))
      (void)torch::namedSymbols(P);
}

static void readSizes(std::string_view Text) {
  std::map<std::string, shape::Expr, std::less<>> Symbols{
      {"s0", shape::Expr::symbol("n")}, {"s1", shape::Expr::symbol("m")}};
  (void)torch::parseSize(Text, Symbols);
  (void)torch::parseRelation(Text, Symbols);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  if (Size == 0)
    return 0;
  std::span<const uint8_t> Bytes(Data + 1, Size - 1);
  std::string_view Text(reinterpret_cast<const char *>(Bytes.data()),
                        Bytes.size());
  std::string Why;
  switch (Data[0] % 7) {
  case 0:
    readZip(Bytes);
    break;
  case 1: {
    std::vector<uint8_t> Out;
    (void)torch::inflate(Bytes, Size % 4096, Out);
    break;
  }
  case 2:
    (void)torch::Pickle::read(Bytes, Why);
    break;
  case 3:
    (void)torch::readSavedTensors({Bytes, nullptr}, Why);
    break;
  case 4:
    readJson(Text);
    break;
  case 5:
    readSizes(Text);
    break;
  case 6:
    (void)torchscript::parseSource(Text, Why);
    break;
  }
  return 0;
}
