//===- CalibrationFile.cpp - Ranges of operands, as text ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/CalibrationFile.h"
#include "compiler/import/ShallowJson.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>

using namespace kpc;

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Enough digits for a range, few enough to read.
static std::string numberText(double Number) {
  std::string Text;
  llvm::raw_string_ostream(Text) << llvm::format("%.5g", Number);
  return Text;
}

/// Of a channel: there are many.
static std::string shortNumberText(double Number) {
  std::string Text;
  llvm::raw_string_ostream(Text) << llvm::format("%.3g", Number);
  return Text;
}

static std::string quoted(llvm::StringRef Text) {
  return llvm::formatv("{0}", llvm::json::Value(llvm::json::fixUTF8(Text)));
}

static void writeList(llvm::raw_ostream &To, llvm::StringRef Key,
                      const std::vector<float> &Numbers) {
  if (Numbers.empty())
    return;
  To << ",\n   " << quoted(Key) << ": [";
  for (size_t I = 0; I < Numbers.size(); ++I)
    To << (I ? "," : "") << shortNumberText(Numbers[I]);
  To << "]";
}

std::string CalibrationFile::text() const {
  std::string Text;
  llvm::raw_string_ostream To(Text);
  To << "{\"kpc calibration\": " << Version << ",\n"
     << "\"model\": " << quoted(Model) << ",\n"
     << "\"sha256\": " << quoted(Digest) << ",\n"
     << "\"method\": " << quoted(Method) << ",\n"
     << "\"samples\": " << Samples << ",\n";
  if (!MomentsFile.empty())
    To << "\"second moments\": {\"file\": " << quoted(MomentsFile)
       << ", \"sha256\": " << quoted(MomentsDigest) << "},\n";
  To << "\"operands\": [";
  for (const CalibratedOperand &Of : Operands) {
    To << (&Of == Operands.data() ? "\n" : ",\n")
       << "  {\"node\": " << quoted(Of.Node)
       << ", \"kind\": " << quoted(Of.Kind)
       << ", \"least\": " << numberText(Of.Least)
       << ", \"greatest\": " << numberText(Of.Greatest)
       << ", \"range\": " << numberText(Of.Range);
    if (Of.ScalesOfRows)
      To << ", \"scales\": \"rows\"";
    if (Of.MomentsAt >= 0)
      To << ", \"second moments\": " << Of.MomentsAt;
    writeList(To, "channel largest", Of.Largest);
    writeList(To, "channel mean", Of.Mean);
    writeList(To, "channel rms", Of.Rms);
    To << "}";
  }
  To << "],\n\"beyond fp16\": [";
  for (const LargeValue &Of : BeyondFp16)
    To << (&Of == BeyondFp16.data() ? "\n" : ",\n")
       << "  {\"node\": " << quoted(Of.Node)
       << ", \"magnitude\": " << numberText(Of.Magnitude) << "}";
  To << "]}\n";
  return Text;
}

std::string CalibrationFile::largeValues() const {
  constexpr size_t Shown = 3;
  std::string Text;
  llvm::raw_string_ostream To(Text);
  for (const LargeValue &V : llvm::ArrayRef(BeyondFp16).take_front(Shown))
    To << (Text.empty() ? "'" : ", '") << printable(V.Node, 60) << "' ("
       << llvm::format("%g", V.Magnitude) << ")";
  if (BeyondFp16.size() > Shown)
    To << " and " << BeyondFp16.size() - Shown << " more";
  return Text;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static bool readList(const llvm::json::Object &From, llvm::StringRef Key,
                     std::vector<float> &Into) {
  const llvm::json::Value *Found = From.get(Key);
  if (!Found)
    return true;
  const llvm::json::Array *List = Found->getAsArray();
  if (!List)
    return false;
  Into.reserve(List->size());
  for (const llvm::json::Value &V : *List) {
    std::optional<double> Number = V.getAsNumber();
    if (!Number || !std::isfinite(*Number))
      return false;
    Into.push_back(static_cast<float>(*Number));
  }
  return true;
}

/// Why an entry is no operand; empty: it is.
static std::string readOperand(const llvm::json::Value &From,
                               CalibratedOperand &Into) {
  const llvm::json::Object *O = From.getAsObject();
  auto Node = O ? O->getString("node") : std::nullopt;
  if (!Node)
    return "expected a \"node\" of each operand";
  Into.Node = *Node;
  Into.Kind = O->getString("kind").value_or("").str();
  std::string Of = "the operand of '" + printable(Into.Node) + "'";
  if (Into.Kind != "gemm" && Into.Kind != "conv")
    return Of + ": expected \"kind\" to be \"gemm\" or \"conv\", got \"" +
           printable(Into.Kind) + "\"";
  for (auto [Key, Number] :
       {std::pair("least", &Into.Least), std::pair("greatest", &Into.Greatest),
        std::pair("range", &Into.Range)}) {
    std::optional<double> Found = O->getNumber(Key);
    if (!Found || !std::isfinite(*Found))
      return Of + ": expected a finite number as \"" + Key + "\"";
    *Number = *Found;
  }
  llvm::StringRef Scales = O->getString("scales").value_or("constant");
  if (Scales != "rows" && Scales != "constant")
    return Of + ": expected \"scales\" to be \"rows\" or \"constant\", got \"" +
           printable(Scales.str()) + "\"";
  if (const llvm::json::Value *At = O->get("second moments")) {
    Into.MomentsAt = At->getAsInteger().value_or(-1);
    if (Into.MomentsAt < 0)
      return Of + ": expected \"second moments\" to be a place in a file";
  }
  Into.ScalesOfRows = Scales == "rows" && Into.Kind == "gemm";
  if (Into.Least > Into.Greatest || Into.Range < 0)
    return Of +
           ": expected \"least\" to be at most \"greatest\", and \"range\" "
           "at least 0";
  if (!readList(*O, "channel largest", Into.Largest) ||
      !readList(*O, "channel mean", Into.Mean) ||
      !readList(*O, "channel rms", Into.Rms))
    return Of + ": expected lists of finite numbers for its channels";
  if (Into.Mean.size() != Into.Largest.size() ||
      Into.Rms.size() != Into.Largest.size())
    return Of +
           ": expected as many numbers in \"channel mean\" and \"channel rms\" "
           "as in \"channel largest\", " +
           std::to_string(Into.Largest.size()) + ", got " +
           std::to_string(Into.Mean.size()) + " and " +
           std::to_string(Into.Rms.size());
  auto IsNegative = [](float Number) { return Number < 0; };
  if (llvm::any_of(Into.Largest, IsNegative) ||
      llvm::any_of(Into.Rms, IsNegative))
    return Of + ": expected numbers of at least 0 in \"channel largest\" and "
                "\"channel rms\"";
  return "";
}

std::optional<CalibrationFile> CalibrationFile::parse(const std::string &Text,
                                                      std::string &Error) {
  auto Fail = [&](const std::string &Why) {
    Error = Why;
    return std::nullopt;
  };
  llvm::Expected<llvm::json::Value> Read = parseJson(Text);
  if (!Read)
    return Fail("it is no JSON: " + llvm::toString(Read.takeError()));
  const llvm::json::Object *Top = Read->getAsObject();
  std::optional<int64_t> Form =
      Top ? Top->getInteger("kpc calibration") : std::nullopt;
  if (!Form)
    return Fail("expected \"kpc calibration\" and its version");
  if (*Form != Version)
    return Fail("expected version " + std::to_string(Version) + ", got " +
                std::to_string(*Form));
  CalibrationFile File;
  File.Model = Top->getString("model").value_or("").str();
  File.Digest = Top->getString("sha256").value_or("").str();
  File.Method = Top->getString("method").value_or("").str();
  File.Samples = Top->getInteger("samples").value_or(0);
  if (const llvm::json::Object *Of = Top->getObject("second moments")) {
    File.MomentsFile = Of->getString("file").value_or("").str();
    File.MomentsDigest = Of->getString("sha256").value_or("").str();
  }
  const llvm::json::Array *Operands = Top->getArray("operands");
  if (!Operands || File.Digest.empty())
    return Fail("expected \"sha256\" of the model and a list of \"operands\"");
  for (const llvm::json::Value &V : *Operands)
    if (std::string Why = readOperand(V, File.Operands.emplace_back());
        !Why.empty())
      return Fail(Why);
  if (const llvm::json::Array *Large = Top->getArray("beyond fp16"))
    for (const llvm::json::Value &V : *Large)
      if (const llvm::json::Object *O = V.getAsObject())
        File.BeyondFp16.push_back({O->getString("node").value_or("").str(),
                                   O->getNumber("magnitude").value_or(0)});
  return File;
}

std::optional<CalibrationFile> CalibrationFile::read(const std::string &Path,
                                                     Diagnostics &Diags) {
  std::string Why;
  auto Buffer = llvm::MemoryBuffer::getFile(Path);
  if (!Buffer)
    Why = Buffer.getError().message();
  std::optional<CalibrationFile> Read =
      Buffer ? parse((*Buffer)->getBuffer().str(), Why) : std::nullopt;
  if (!Read)
    Diags.error(Code::CalibrationFile)
        .message("cannot take '" + printable(Path) +
                 "' as a calibration: " + Why);
  return Read;
}
