//===- HostLibrary.cpp - Host code of custom operators --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/HostLibrary.h"

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace kpc::rt {

namespace {

/// A file in memory, which the loader is given by its descriptor.
class MemoryFile {
public:
  explicit MemoryFile(const char *Name) : File(::memfd_create(Name, 0)) {}
  ~MemoryFile() {
    if (File >= 0)
      ::close(File);
  }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;

  bool write(const uint8_t *Bytes, size_t Size) {
    while (File >= 0 && Size) {
      ssize_t Done = ::write(File, Bytes, Size);
      if (Done < 0 && errno == EINTR)
        continue;
      if (Done <= 0)
        return false;
      Bytes += Done;
      Size -= size_t(Done);
    }
    return File >= 0;
  }
  /// Another one in each call: the loader takes one name for one file, though
  /// numbers of descriptors come again. A step "/." or "/" leads nowhere.
  std::string path() const {
    static std::atomic<uint32_t> Calls{0};
    std::string Path = "/proc/self/fd";
    for (uint32_t Call = ++Calls; Call; Call >>= 1)
      Path += Call & 1 ? "/." : "/";
    return Path + formatted("/%d", File);
  }

private:
  int File;
};

} // namespace

Result<std::shared_ptr<const HostLibrary>>
HostLibrary::load(const char *Name, std::span<const uint8_t> Image,
                  const format::DigestBytes &Digest) {
  auto Library = std::make_shared<HostLibrary>();
  Library->Name = Name;
  MemoryFile File("kpc-operator");
  std::string Path = Name;
  if (!Image.empty()) {
    // The artifact's file may have changed since it was checked.
    std::vector<uint8_t> Copy(Image.begin(), Image.end());
    if (format::Sha256::of(Copy.data(), Copy.size()) != Digest)
      return failure(ErrorCode::Damaged, "the digest of '%s' does not match",
                     Name);
    if (!File.write(Copy.data(), Copy.size()))
      return failure(ErrorCode::System, "cannot write '%s' to memory: %s", Name,
                     std::strerror(errno));
    Path = File.path();
  }
  Library->Handle = ::dlopen(Path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!Library->Handle) {
    const char *Why = ::dlerror();
    Error E = failure(ErrorCode::System,
                      "cannot load '%s', the host code of a custom operator: "
                      "%s",
                      Name, Why ? Why : "no reason is known");
    if (Image.empty())
      E.Hint = "put it where the system's loader looks, as in LD_LIBRARY_PATH";
    return E;
  }
  return std::shared_ptr<const HostLibrary>(std::move(Library));
}

HostLibrary::~HostLibrary() {
  if (Handle)
    ::dlclose(Handle);
}

Status HostLibrary::find(const char *Symbol,
                         kpc_operator_function &Into) const {
  Into = reinterpret_cast<kpc_operator_function>(::dlsym(Handle, Symbol));
  if (Into)
    return success();
  Error E = failure(ErrorCode::UnknownName, "'%s' has no function '%s'",
                    Name.c_str(), Symbol);
  E.Hint = "declare it extern \"C\", as kpc/operator.h shows";
  return E;
}

static kpc_operator_argument argumentOf(format::ArgumentType Type,
                                        uint64_t Bits) {
  kpc_operator_argument A;
  if (Type == format::ArgumentType::F32)
    A.f = double(std::bit_cast<float>(uint32_t(Bits)));
  else if (Type == format::ArgumentType::F64)
    A.f = std::bit_cast<double>(Bits);
  else
    A.i = int64_t(Bits);
  return A;
}

Status callOperator(kpc_operator_function Function, const format::Kernel &K,
                    const uint64_t *Params) {
  const format::HostFunction &F = *K.function();
  uint32_t Inputs = format::count(F.inputs()),
           Outputs = format::count(F.outputs()),
           Arguments = format::count(F.arguments());
  const uint64_t *Next = Params + Inputs + Outputs;
  std::vector<kpc_operator_tensor> Tensors;
  Tensors.reserve(size_t(Inputs) + Outputs);
  for (const auto *List : {F.inputs(), F.outputs()})
    for (const format::OperatorTensor *T : format::each(List)) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr): launches hold addresses
      auto *Data = reinterpret_cast<void *>(uintptr_t(Params[Tensors.size()]));
      Tensors.push_back({Data, reinterpret_cast<const int64_t *>(Next),
                         T->rank(), int32_t(T->type())});
      Next += T->rank();
    }
  std::vector<kpc_operator_argument> Values;
  Values.reserve(Arguments);
  for (format::ArgumentType Type : format::scalars(F.arguments()))
    Values.push_back(argumentOf(Type, *Next++));
  char Message[512] = {};
  kpc_operator_call Call{sizeof Call,   Tensors.data(), Tensors.data() + Inputs,
                         Values.data(), Inputs,         Outputs,
                         Arguments,     Message,        sizeof Message};
  int32_t Code = Function(&Call);
  if (Code == 0)
    return success();
  Message[sizeof Message - 1] = 0;
  Error E =
      failure(ErrorCode::Operator,
              "the custom operator's host function '%s' failed with %d%s"
              "%s",
              K.symbol()->c_str(), int(Code), *Message ? ": " : "", Message);
  if (K.display_name())
    E.Kernel = K.display_name()->str();
  return E;
}

} // namespace kpc::rt
