//===- OutputFile.cpp - A file that appears whole or not at all -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/artifact/OutputFile.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace kpc::artifact {

namespace fs = std::filesystem;

// Small pieces are gathered to this many bytes before they are written.
static constexpr size_t PieceSize = size_t(1) << 20;

MaybeError MemoryOutput::append(const void *Data, size_t Size) {
  const auto *Begin = static_cast<const uint8_t *>(Data);
  Out.insert(Out.end(), Begin, Begin + Size);
  return std::nullopt;
}

MaybeError MemoryOutput::skip(uint64_t Size) {
  Out.resize(Out.size() + Size);
  return std::nullopt;
}

MaybeError MemoryOutput::writeAt(uint64_t Offset, const void *Data,
                                 size_t Size) {
  std::copy_n(static_cast<const uint8_t *>(Data), Size, Out.begin() + Offset);
  return std::nullopt;
}

MaybeError MemoryOutput::overwriteStart(const void *Data, size_t Size) {
  std::copy_n(static_cast<const uint8_t *>(Data), Size, Out.begin());
  return std::nullopt;
}

OutputFile::~OutputFile() {
  if (Descriptor >= 0)
    ::close(Descriptor);
  if (!Temporary.empty())
    ::unlink(Temporary.c_str());
}

MaybeError OutputFile::failed(const char *Doing) const {
  return std::string("cannot ") + Doing + " '" + Path +
         "': " + std::strerror(errno);
}

MaybeError OutputFile::open() {
  std::error_code Code;
  fs::path Target = fs::weakly_canonical(Path, Code);
  Resolved = Code ? Path : Target.string();
  struct stat Info;
  if (::stat(Resolved.c_str(), &Info) == 0 && !S_ISREG(Info.st_mode))
    return "cannot write '" + Path + "': it is not a regular file";
  // A name that may not be written to must fail now, not after hours of work.
  if (::access(Resolved.c_str(), F_OK) == 0 &&
      ::access(Resolved.c_str(), W_OK) != 0)
    return failed("write");
  fs::path Folder = fs::path(Resolved).parent_path();
  if (Folder.empty())
    Folder = ".";
  Descriptor = ::open(Folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (Descriptor >= 0)
    return std::nullopt;
  if (errno != EOPNOTSUPP && errno != EISDIR)
    return failed("write");
  // This file system has no files without names.
  Temporary = Resolved + ".partial-XXXXXX";
  Descriptor = ::mkostemp(Temporary.data(), O_CLOEXEC);
  if (Descriptor >= 0) {
    mode_t Mask = ::umask(0);
    ::umask(Mask);
    ::fchmod(Descriptor, 0666 & ~Mask);
    return std::nullopt;
  }
  Temporary.clear();
  return failed("write");
}

MaybeError OutputFile::writeAt(uint64_t Offset, const void *Data, size_t Size) {
  const auto *Begin = static_cast<const uint8_t *>(Data);
  for (size_t Done = 0; Done < Size;) {
    ssize_t Written =
        ::pwrite(Descriptor, Begin + Done, Size - Done, off_t(Offset + Done));
    if (Written < 0 && errno == EINTR)
      continue;
    if (Written < 0)
      return failed("write");
    Done += size_t(Written);
  }
  // The disk works from now on, not only when the file is complete. What the
  // call says does not matter: fsync in `keep` is what counts.
  if (Size >= PieceSize)
    ::sync_file_range(Descriptor, off_t(Offset), off_t(Size),
                      SYNC_FILE_RANGE_WRITE);
  return std::nullopt;
}

MaybeError OutputFile::flush() {
  MaybeError E = writeAt(Position, Pending.data(), Pending.size());
  Position += Pending.size();
  Pending.clear();
  return E;
}

MaybeError OutputFile::append(const void *Data, size_t Size) {
  const auto *Begin = static_cast<const uint8_t *>(Data);
  if (Size >= PieceSize) {
    if (MaybeError E = flush())
      return E;
    Position += Size;
    return writeAt(Position - Size, Begin, Size);
  }
  Pending.insert(Pending.end(), Begin, Begin + Size);
  return Pending.size() >= PieceSize ? flush() : std::nullopt;
}

MaybeError OutputFile::skip(uint64_t Size) {
  MaybeError E = flush();
  Position += Size;
  return E;
}

MaybeError OutputFile::overwriteStart(const void *Data, size_t Size) {
  if (MaybeError E = flush())
    return E;
  return writeAt(0, Data, Size);
}

// A link cannot replace a file, a rename can: so the file gets a name of its
// own first.
MaybeError OutputFile::nameTemporary() {
  if (!Temporary.empty())
    return std::nullopt;
  std::string Self = "/proc/self/fd/" + std::to_string(Descriptor);
  for (int Attempt = 0; Attempt < 100; ++Attempt) {
    std::string Name = Resolved + ".partial-" + std::to_string(::getpid()) +
                       "-" + std::to_string(Attempt);
    if (::linkat(AT_FDCWD, Self.c_str(), AT_FDCWD, Name.c_str(),
                 AT_SYMLINK_FOLLOW) == 0) {
      Temporary = std::move(Name);
      return std::nullopt;
    }
    if (errno != EEXIST)
      break;
  }
  return failed("name");
}

MaybeError OutputFile::keep() {
  if (MaybeError E = flush())
    return E;
  if (::fsync(Descriptor) != 0)
    return failed("write");
  if (MaybeError E = nameTemporary())
    return E;
  if (::rename(Temporary.c_str(), Resolved.c_str()) != 0)
    return failed("write");
  Temporary.clear();
  return std::nullopt;
}

} // namespace kpc::artifact
