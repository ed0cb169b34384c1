//===- BuildId.cpp - Which build of kpc this is --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/BuildId.h"
#include "llvm/ADT/StringExtras.h"

#include <cstring>
#include <link.h>

namespace {

/// Looks through one segment of notes: ELF gives each a name and a content,
/// both padded to 4 bytes.
std::string buildIdIn(const char *Notes, size_t Size) {
  auto Padded = [](size_t N) { return (N + 3) / 4 * 4; };
  while (Size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) Header;
    std::memcpy(&Header, Notes, sizeof(Header));
    size_t Length =
        sizeof(Header) + Padded(Header.n_namesz) + Padded(Header.n_descsz);
    if (Length > Size)
      return {};
    const char *Name = Notes + sizeof(Header);
    if (Header.n_type == NT_GNU_BUILD_ID &&
        llvm::StringRef(Name, Header.n_namesz) == llvm::StringRef("GNU\0", 4))
      return llvm::toHex(
          llvm::StringRef(Name + Padded(Header.n_namesz), Header.n_descsz),
          /*LowerCase=*/true);
    Notes += Length;
    Size -= Length;
  }
  return {};
}

/// The first object that the loader tells of is the program itself.
int readProgram(dl_phdr_info *Program, size_t, void *Result) {
  for (unsigned I = 0; I < Program->dlpi_phnum; ++I) {
    const auto &Segment = Program->dlpi_phdr[I];
    if (Segment.p_type != PT_NOTE)
      continue;
    auto *Notes =
        // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives a number.
        reinterpret_cast<const char *>(Program->dlpi_addr + Segment.p_vaddr);
    std::string Id = buildIdIn(Notes, Segment.p_memsz);
    if (!Id.empty())
      *static_cast<std::string *>(Result) = Id;
  }
  return 1;
}

} // namespace

std::string kpc::buildId() {
  std::string Id;
  dl_iterate_phdr(readProgram, &Id);
  return Id;
}
