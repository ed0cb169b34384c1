//===- SignCommand.cpp - kpc sign -----------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/model/MappedFile.h"
#include "tools/kpc/Fault.h"
#include "tools/kpc/Files.h"
#include "tools/kpc/Runtime.h"
#include "tools/kpc/Signing.h"

namespace kpc::cli {

namespace {
struct SignArguments {
  std::string Artifact, Key, Output;
  bool Quiet = false;
};
} // namespace

static int signCommand(SignArguments &Arguments) {
  needFile(Arguments.Artifact, "sign", "kpc artifact");
  if (Arguments.Key.empty())
    throw UsageError(Code::UsageMissing, "kpc sign needs a private key",
                     "give --key key.pem; `openssl genpkey -algorithm ed25519 "
                     "-out key.pem` makes one");
  if (Arguments.Output.empty())
    Arguments.Output = Arguments.Artifact;
  reproduceWith(Arguments.Artifact);
  crashForTesting(/*InWorker=*/false);
  Diagnostics Diags;
  // A signature says that the file is whole, so all of it is read.
  std::optional<Model> M =
      openModel(Arguments.Artifact, Diags, KPC_LOAD_VERIFY_WEIGHTS);
  if (!M)
    return finish(Diags);
  std::string Why;
  auto File = onnx::MappedFile::open(Arguments.Artifact, Why);
  if (!File || File->bytes().size() < format::HeaderSize) {
    Diags.error(Code::RuntimeIo)
        .message("the artifact cannot be read again: " + Why);
    return finish(Diags);
  }
  std::span<const uint8_t> All = File->bytes();
  auto Header = format::decodeHeader(All.data(), All.size(), All.size());
  if (!Header) {
    Diags.error(Code::RuntimeDamaged)
        .message("the artifact changed while it was read");
    return finish(Diags);
  }
  if (!signHeader(*Header, Arguments.Key, Diags))
    return finish(Diags);
  std::array<uint8_t, format::HeaderSize> Head = format::encodeHeader(*Header);
  FileSet Files(Diags);
  bool Good =
      Files.add(Arguments.Output,
                {reinterpret_cast<const char *>(Head.data()), Head.size()},
                All.subspan(Head.size())) &&
      Files.keep();
  if (Good && !Arguments.Quiet)
    fmt::print("signed {} with the key {}\n", Arguments.Output,
               format::keyText(Header->SignedBy));
  return finish(Diags);
}

void addSignCommand(CLI::App &Main, Action &Chosen) {
  auto Arguments = std::make_shared<SignArguments>();
  SignArguments *A = Arguments.get();
  CLI::App &App = *Main.add_subcommand(
      "sign", "sign an artifact, so that others can see who made it");
  addFile(App, A->Artifact, "artifact", "the file that compile wrote");
  addText(App, "--key", "FILE",
          "the private key: Ed25519, PEM form, without a passphrase",
          [A](const std::string &Text) { A->Key = Text; });
  addText(App, "-o,--output", "FILE",
          "what to write (default: the artifact itself)",
          [A](const std::string &Text) { A->Output = Text; });
  App.add_flag("-q,--quiet", A->Quiet, "print errors only");
  App.callback([Arguments, &Chosen] {
    Chosen = [Arguments] { return signCommand(*Arguments); };
  });
}

} // namespace kpc::cli
