//===- MappedFile.cpp - A file's bytes, mapped ----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/model/MappedFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace kpc::onnx {

MappedFile::~MappedFile() {
  if (Size != 0)
    ::munmap(const_cast<uint8_t *>(Data), Size);
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::string &Path,
                                                   std::string &Why) {
  // Without O_NONBLOCK a named pipe would wait for a writer.
  int Descriptor = ::open(Path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (Descriptor < 0) {
    Why = std::strerror(errno);
    return nullptr;
  }
  return adopt(Descriptor, Why);
}

std::shared_ptr<const MappedFile> MappedFile::adopt(int Descriptor,
                                                    std::string &Why) {
  struct stat Info = {};
  std::shared_ptr<const MappedFile> File;
  if (::fstat(Descriptor, &Info) != 0) {
    Why = std::strerror(errno);
  } else if (!S_ISREG(Info.st_mode)) {
    Why = S_ISDIR(Info.st_mode) ? "it is a folder" : "it is not a plain file";
  } else if (Info.st_size == 0) {
    File.reset(new MappedFile(nullptr, 0));
  } else {
    size_t Size = static_cast<size_t>(Info.st_size);
    void *Data = ::mmap(nullptr, Size, PROT_READ, MAP_PRIVATE, Descriptor, 0);
    int Fault = errno;
    // The file is not at fault: this is memory that ran out like other memory.
    if (std::new_handler Handler = std::get_new_handler();
        Data == MAP_FAILED && Fault == ENOMEM && Handler)
      Handler();
    if (Data == MAP_FAILED)
      Why = std::strerror(Fault);
    else
      File.reset(new MappedFile(static_cast<const uint8_t *>(Data), Size));
  }
  ::close(Descriptor);
  return File;
}

} // namespace kpc::onnx
