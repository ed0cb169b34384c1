//===- FakeProfiler.cpp - A profiler for tests that listens to NVTX -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Attaches as real ones do, and as strictly as the strictest: it looks at every
// size, wants every module, and keeps what it hears as lines of text.

#include <cstddef>
#include <cstdint>
#include <string>

namespace {

using Function = void (*)();
struct CallbackTable {
  size_t StructSize;
  int (*ModuleTable)(unsigned Module, Function ***Table, unsigned *Size);
};
struct VersionTable {
  size_t StructSize;
  uint32_t Version, Reserved;
  void (*SetProfilerVersion)(uint32_t);
};
struct Event {
  uint16_t Version, Size;
  uint32_t Category;
  int32_t ColorType;
  uint32_t Color;
  int32_t PayloadType, Reserved;
  uint64_t Payload;
  int32_t MessageType;
  const char *Message;
};

int TheDomain;
int Depth;

std::string &heard() {
  static std::string Text;
  return Text;
}

void line(const std::string &Text) {
  heard() += std::string(size_t(Depth) * 2, ' ') + Text + "\n";
}

void *createDomain(const char *Name) {
  line(std::string("domain ") + Name);
  return &TheDomain;
}

int push(void *Domain, const void *Attributes) {
  const auto *E = static_cast<const Event *>(Attributes);
  bool Fits = Domain == &TheDomain && E->Version == 3 &&
              E->Size == sizeof(Event) && E->MessageType == 1;
  line(Fits ? E->Message : "damaged");
  return Depth++;
}

int pop(void *Domain) {
  if (Domain != &TheDomain || Depth == 0)
    line("pop of nothing");
  return --Depth;
}

} // namespace

extern "C" {

int InitializeInjectionNvtx2(const void *(*Export)(uint32_t)) {
  const auto *Version = static_cast<const VersionTable *>(Export(3));
  const auto *Callbacks = static_cast<const CallbackTable *>(Export(1));
  if (!Version || Version->StructSize < sizeof(*Version) ||
      Version->Version < 2 || !Callbacks ||
      Callbacks->StructSize < sizeof(*Callbacks) || Export(2))
    return 0;
  Version->SetProfilerVersion(3);
  Function **Table = nullptr;
  unsigned Size = 0;
  constexpr unsigned Sizes[] = {0, 16, 9, 15, 7, 16, 7, 0};
  for (unsigned Module : {0, 1, 2, 3, 4, 6, 7, 5}) {
    bool There = Callbacks->ModuleTable(Module, &Table, &Size);
    if (There != (Sizes[Module] != 0) || (There && Size != Sizes[Module]))
      return 0;
    for (unsigned I = 1; I < Sizes[Module]; ++I)
      *Table[I] = nullptr;
  }
  *Table[4] = reinterpret_cast<Function>(push);
  *Table[5] = reinterpret_cast<Function>(pop);
  *Table[12] = reinterpret_cast<Function>(createDomain);
  return 1;
}

/// What it heard since it was asked last.
const char *fake_profiler_heard(void) {
  static std::string Last;
  Last = heard();
  heard().clear();
  return Last.c_str();
}

} // extern "C"
