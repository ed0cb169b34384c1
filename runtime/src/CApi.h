//===- CApi.h - What the C interface's functions share ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The border that no exception crosses.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_CAPI_H
#define KPC_RUNTIME_SRC_CAPI_H

#include "kpc/runtime.h"
#include "runtime/src/Session.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>

// NOLINTBEGIN(readability-identifier-naming): the names of kpc/runtime.h
struct kpc_error {
  kpc::rt::Error E;
};
struct kpc_model {
  std::shared_ptr<kpc::rt::Model> M;
};
struct kpc_session {
  std::unique_ptr<kpc::rt::Session> S;
};
struct kpc_outputs {
  std::shared_ptr<kpc::rt::OutputSet> Set;
};
struct kpc_profile {
  kpc::rt::Profile P;
};
// NOLINTEND(readability-identifier-naming)

namespace kpc::rt {

/// Hands an error to the caller; one that needs no memory if there is none.
kpc_status report(Error &E, kpc_error **Out) noexcept;
kpc_status reportOutOfMemory(kpc_error **Out) noexcept;
kpc_status reportInternal(const char *What, kpc_error **Out) noexcept;

/// Runs `Body`, which returns a Status, and turns whatever goes wrong into what
/// a C function returns.
template <class Function>
kpc_status guarded(kpc_error **Out, Function Body) noexcept {
  try {
    Status S = Body();
    return S ? KPC_OK : report(S.error(), Out);
  } catch (const std::bad_alloc &) {
    return reportOutOfMemory(Out);
  } catch (const std::exception &E) {
    return reportInternal(E.what(), Out);
  } catch (...) {
    return reportInternal("unknown exception", Out);
  }
}

inline Error nullArgument(const char *Name) {
  return failure(ErrorCode::InvalidArgument, "'%s' is NULL", Name);
}

/// Bytes of a struct of options in the first version that had it, which callers
/// of that version give. A field that is appended leaves it as it is.
template <class Options> inline constexpr size_t FirstSize = sizeof(Options);
template <>
inline constexpr size_t FirstSize<kpc_session_options> =
    offsetof(kpc_session_options, max_run_us);
template <>
inline constexpr size_t FirstSize<kpc_load_options> =
    offsetof(kpc_load_options, public_key);

/// A caller's struct of options. One of a later version is longer, and is taken
/// if it asks for nothing that only that version knows; a size that is none
/// comes from a struct that was not initialised.
template <class Options>
Status readOptions(const Options *Given, uint32_t KnownFlags, Options &Out) {
  constexpr size_t Longest = 4096;
  Out = {};
  if (!Given)
    return success();
  size_t Size = Given->struct_size;
  if (Size < FirstSize<Options> || Size > Longest || Size % alignof(Options))
    return failure(ErrorCode::InvalidArgument,
                   "struct_size is %zu, but should be %zu: set it to sizeof or "
                   "start from the *_INIT macro",
                   Size, sizeof(Options));
  const auto *From = reinterpret_cast<const unsigned char *>(Given);
  for (size_t I = sizeof(Options); I < Size; ++I)
    if (From[I])
      return failure(ErrorCode::InvalidArgument,
                     "the options have fields of a later version; this runtime "
                     "knows %zu bytes of %zu",
                     sizeof(Options), Size);
  if (Given->flags & ~KnownFlags)
    return failure(ErrorCode::InvalidArgument,
                   "flags has bits that this runtime does not know: 0x%x",
                   unsigned(Given->flags & ~KnownFlags));
  std::memcpy(static_cast<void *>(&Out), Given,
              std::min(Size, sizeof(Options)));
  return success();
}

} // namespace kpc::rt

#endif // KPC_RUNTIME_SRC_CAPI_H
