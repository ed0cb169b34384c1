//===- Signing.cpp - Keys and signatures of artifacts ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Signing.h"

#include "compiler/workers/Subprocess.h"
#include "tools/kpc/Options.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace kpc::cli {

namespace {
constexpr int Ed25519 = 1087; // EVP_PKEY_ED25519

/// What is used of libcrypto 3.
struct Crypto {
  void *(*MemoryFile)(const void *Data, int Size) = nullptr;
  int (*FreeFile)(void *) = nullptr;
  void *(*ReadPrivate)(void *, void **, void *, void *) = nullptr;
  void *(*ReadPublic)(void *, void **, void *, void *) = nullptr;
  int (*KeyType)(const void *) = nullptr;
  int (*RawPublic)(const void *, unsigned char *, size_t *) = nullptr;
  void (*FreeKey)(void *) = nullptr;
  void *(*NewContext)() = nullptr;
  void (*FreeContext)(void *) = nullptr;
  int (*Init)(void *, void **, const void *, void *, void *) = nullptr;
  int (*Sign)(void *, unsigned char *, size_t *, const unsigned char *,
              size_t) = nullptr;

  static std::optional<Crypto> load() {
    void *Library = ::dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    Crypto C;
    auto Find = [&](const char *Name, auto &Into) {
      using Function = std::remove_reference_t<decltype(Into)>;
      Into = reinterpret_cast<Function>(::dlsym(Library, Name));
      return Into != nullptr;
    };
    bool All = Library && Find("BIO_new_mem_buf", C.MemoryFile) &&
               Find("BIO_free", C.FreeFile) &&
               Find("PEM_read_bio_PrivateKey", C.ReadPrivate) &&
               Find("PEM_read_bio_PUBKEY", C.ReadPublic) &&
               Find("EVP_PKEY_get_id", C.KeyType) &&
               Find("EVP_PKEY_get_raw_public_key", C.RawPublic) &&
               Find("EVP_PKEY_free", C.FreeKey) &&
               Find("EVP_MD_CTX_new", C.NewContext) &&
               Find("EVP_MD_CTX_free", C.FreeContext) &&
               Find("EVP_DigestSignInit", C.Init) &&
               Find("EVP_DigestSign", C.Sign);
    return All ? std::optional(C) : std::nullopt;
  }
};

/// A key of a PEM file.
class Key {
public:
  Key(const std::string &Path, bool Private, Diagnostics &Diags);
  ~Key() {
    if (Handle)
      C->FreeKey(Handle);
  }
  Key(const Key &) = delete;
  Key &operator=(const Key &) = delete;

  explicit operator bool() const { return Handle; }
  std::optional<PublicKey> publicHalf() const;
  bool sign(std::span<const uint8_t> Text,
            std::array<uint8_t, 64> &Signature) const;

private:
  std::optional<Crypto> C;
  void *Handle = nullptr;
};
} // namespace

/// Keys with a passphrase are not asked for one: kpc may run in a script.
static int noPassphrase(char *, int, int, void *) { return -1; }

Key::Key(const std::string &Path, bool Private, Diagnostics &Diags) {
  std::string Error;
  std::optional<std::string> Text = readFile(Path, Error);
  C = Crypto::load();
  constexpr size_t Most = 64 * 1024;
  if (!Text || !C) {
    Diags.error(Code::SigningKey)
        .message(Text ? "libcrypto.so.3 cannot be loaded" : Error)
        .hint(Text ? "install OpenSSL 3 (Debian: libssl3)"
                   : "check the path and its permissions");
    return;
  }
  void *File = Text->size() <= Most
                   ? C->MemoryFile(Text->data(), static_cast<int>(Text->size()))
                   : nullptr;
  void *Callback = reinterpret_cast<void *>(noPassphrase);
  if (File)
    Handle = (Private ? C->ReadPrivate : C->ReadPublic)(File, nullptr, Callback,
                                                        nullptr);
  if (File)
    C->FreeFile(File);
  if (Handle && C->KeyType(Handle) == Ed25519)
    return;
  if (Handle)
    C->FreeKey(Handle);
  Handle = nullptr;
  Diags.error(Code::SigningKey)
      .message(fmt::format("'{}' holds no {} Ed25519 key in PEM form without a "
                           "passphrase",
                           printable(Path), Private ? "private" : "public"))
      .hint(Private ? "`openssl genpkey -algorithm ed25519 -out key.pem` makes "
                      "one"
                    : "`openssl pkey -in key.pem -pubout -out key.pub` writes "
                      "it");
}

std::optional<PublicKey> Key::publicHalf() const {
  PublicKey Raw;
  size_t Size = Raw.size();
  if (C->RawPublic(Handle, Raw.data(), &Size) != 1 || Size != Raw.size())
    return std::nullopt;
  return Raw;
}

bool Key::sign(std::span<const uint8_t> Text,
               std::array<uint8_t, 64> &Signature) const {
  void *Context = C->NewContext();
  size_t Size = Signature.size();
  bool Good =
      Context && C->Init(Context, nullptr, nullptr, nullptr, Handle) == 1 &&
      C->Sign(Context, Signature.data(), &Size, Text.data(), Text.size()) ==
          1 &&
      Size == Signature.size();
  C->FreeContext(Context);
  return Good;
}

std::optional<PublicKey> readPublicKey(const std::string &Path,
                                       Diagnostics &Diags) {
  Key K(Path, /*Private=*/false, Diags);
  return K ? K.publicHalf() : std::nullopt;
}

bool signHeader(format::Header &Header, const std::string &KeyFile,
                Diagnostics &Diags) {
  Key K(KeyFile, /*Private=*/true, Diags);
  if (!K)
    return false;
  std::optional<PublicKey> Public = K.publicHalf();
  std::array<uint8_t, format::HeaderSize> Bytes = format::encodeHeader(Header);
  format::SignedBytes Text = format::signedBytes(Bytes.data());
  if (!Public || !K.sign(Text, Header.Signature)) {
    Diags.error(Code::SigningKey)
        .message("libcrypto does not sign with the key");
    return false;
  }
  Header.SignedBy = format::keyId(Public->data());
  return true;
}

void addSignedBy(CLI::App &App, std::string &KeyFile) {
  addText(App, "--signed-by", "FILE",
          "the artifact must be signed with the private half of this public "
          "key, an Ed25519 key in PEM form",
          [&KeyFile](const std::string &Text) { KeyFile = Text; });
}

} // namespace kpc::cli
