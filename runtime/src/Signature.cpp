//===- Signature.cpp - Who made an artifact -------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/Signature.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>

namespace kpc::rt {

namespace {

/// What is used of libcrypto 3, whose declarations are not needed to build.
struct Crypto {
  void *(*NewPublicKey)(int Type, void *Engine, const unsigned char *Key,
                        size_t Size) = nullptr;
  void (*FreeKey)(void *) = nullptr;
  void *(*NewContext)() = nullptr;
  void (*FreeContext)(void *) = nullptr;
  int (*Init)(void *Context, void **, const void *Digest, void *Engine,
              void *Key) = nullptr;
  int (*Verify)(void *Context, const unsigned char *Signature, size_t Size,
                const unsigned char *Text, size_t TextSize) = nullptr;
  void (*ClearErrors)() = nullptr;

  /// Never closed: libcrypto registers what runs when the process ends.
  static const Crypto *get() {
    static const Crypto *Loaded = load();
    return Loaded;
  }

private:
  template <class Function>
  static bool find(void *Library, const char *Name, Function &Into) {
    Into = reinterpret_cast<Function>(::dlsym(Library, Name));
    return Into != nullptr;
  }
  static const Crypto *load() {
    void *Library = ::dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    static Crypto C;
    bool All = Library &&
               find(Library, "EVP_PKEY_new_raw_public_key", C.NewPublicKey) &&
               find(Library, "EVP_PKEY_free", C.FreeKey) &&
               find(Library, "EVP_MD_CTX_new", C.NewContext) &&
               find(Library, "EVP_MD_CTX_free", C.FreeContext) &&
               find(Library, "EVP_DigestVerifyInit", C.Init) &&
               find(Library, "EVP_DigestVerify", C.Verify) &&
               find(Library, "ERR_clear_error", C.ClearErrors);
    return All ? &C : nullptr;
  }
};

constexpr int Ed25519 = 1087; // EVP_PKEY_ED25519

Error withHint(Error E, const char *Hint) {
  E.Hint = Hint;
  return E;
}

} // namespace

Status verifySignature(const format::Header &Header, const uint8_t *Bytes,
                       const uint8_t *PublicKey) {
  auto IsSet = [](uint8_t Byte) { return Byte != 0; };
  if (std::none_of(Header.Signature.begin(), Header.Signature.end(), IsSet))
    return withHint(failure(ErrorCode::Signature, "the artifact is not signed"),
                    "`kpc sign` signs it");
  format::KeyId Wanted = format::keyId(PublicKey);
  if (Header.SignedBy != Wanted)
    return withHint(
        failure(ErrorCode::Signature,
                "the artifact is signed with the key %s, not with %s",
                format::keyText(Header.SignedBy).c_str(),
                format::keyText(Wanted).c_str()),
        "take the public key of who signed it, if you trust them");
  const Crypto *C = Crypto::get();
  if (!C)
    return withHint(failure(ErrorCode::System,
                            "the signature cannot be verified: libcrypto.so.3 "
                            "cannot be loaded"),
                    "install OpenSSL 3 (Debian: libssl3)");
  void *Key = C->NewPublicKey(Ed25519, nullptr, PublicKey, 32);
  void *Context = Key ? C->NewContext() : nullptr;
  format::SignedBytes Text = format::signedBytes(Bytes);
  bool Good = Context &&
              C->Init(Context, nullptr, nullptr, nullptr, Key) == 1 &&
              C->Verify(Context, Header.Signature.data(),
                        Header.Signature.size(), Text.data(), Text.size()) == 1;
  C->FreeContext(Context);
  C->FreeKey(Key);
  if (Good)
    return success();
  C->ClearErrors(); // the caller may use libcrypto, too
  return withHint(failure(ErrorCode::Signature,
                          "the artifact's signature is not right: "
                          "it was changed after it was signed"),
                  "take the file from who signed it");
}

} // namespace kpc::rt
