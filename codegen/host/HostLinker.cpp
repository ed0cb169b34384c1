//===- HostLinker.cpp - Objects to one position-independent image ---------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/host/HostLinker.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace kpc::codegen {

namespace {

using ElfFile = object::ELFObjectFile<object::ELF64LE>;

class Linker {
public:
  Error add(StringRef Object, size_t Number) {
    std::string Name = "object " + std::to_string(Number);
    auto File = object::ObjectFile::createELFObjectFile(
        MemoryBufferRef(Object, "kernel"));
    if (!File)
      return File.takeError();
    auto *Elf = dyn_cast<ElfFile>(File->get());
    if (!Elf || Elf->getArch() != Triple::x86_64)
      return createStringError("%s is not an x86-64 ELF object", Name.c_str());
    Files.push_back(std::move(*File));
    Placed.emplace_back();
    if (Error E = place(*Elf, Placed.back(), /*Code=*/true))
      return E;
    return Error::success();
  }

  /// Constants go behind all code.
  Error finish() {
    for (auto [File, Sections] : zip_equal(Files, Placed))
      if (Error E = place(cast<ElfFile>(*File), Sections, /*Code=*/false))
        return E;
    for (auto [File, Sections] : zip_equal(Files, Placed))
      if (Error E = defineSymbols(cast<ElfFile>(*File), Sections))
        return E;
    for (auto [File, Sections] : zip_equal(Files, Placed))
      if (Error E = relocate(cast<ElfFile>(*File), Sections))
        return E;
    return Error::success();
  }

  LinkedImage take() { return std::move(Image); }

private:
  /// Section index → offset in the image.
  using Offsets = std::map<uint64_t, uint64_t>;

  Error place(const ElfFile &File, Offsets &Sections, bool Code) {
    for (const object::ELFSectionRef Section : File.sections()) {
      uint64_t Flags = Section.getFlags();
      if (!(Flags & ELF::SHF_ALLOC) || Section.getSize() == 0 ||
          bool(Flags & ELF::SHF_EXECINSTR) != Code)
        continue;
      auto Name = Section.getName();
      if (!Name)
        return Name.takeError();
      if (*Name == ".eh_frame" || Name->starts_with(".note"))
        continue;
      if ((Flags & ELF::SHF_WRITE) || Section.getType() == ELF::SHT_NOBITS)
        return createStringError(
            "section %s would be written to: a host image is read only",
            Name->str().c_str());
      auto Contents = Section.getContents();
      if (!Contents)
        return Contents.takeError();
      uint64_t At = alignTo(Image.Bytes.size(), Section.getAlignment().value());
      Image.Bytes.resize(At, Code ? 0xCC : 0);
      Image.Bytes.insert(Image.Bytes.end(), Contents->bytes_begin(),
                         Contents->bytes_end());
      Sections[Section.getIndex()] = At;
    }
    return Error::success();
  }

  Error defineSymbols(const ElfFile &File, const Offsets &Sections) {
    for (const object::ELFSymbolRef Symbol : File.symbols()) {
      if (Symbol.getELFType() != ELF::STT_FUNC)
        continue;
      auto Name = Symbol.getName();
      if (!Name)
        return Name.takeError();
      auto At = offsetOf(File, Symbol, Sections);
      if (!At)
        return At.takeError();
      if (Symbol.getBinding() == ELF::STB_LOCAL)
        Image.LocalSymbols.emplace(Name->str(), *At);
      else if (!Image.Symbols.emplace(Name->str(), *At).second)
        return createStringError("symbol '%s' is defined twice",
                                 Name->str().c_str());
    }
    return Error::success();
  }

  Expected<uint64_t> offsetOf(const ElfFile &File,
                              const object::ELFSymbolRef &Symbol,
                              const Offsets &Sections) {
    auto Name = Symbol.getName();
    if (!Name)
      return Name.takeError();
    auto Section = Symbol.getSection();
    if (!Section)
      return Section.takeError();
    if (*Section == File.section_end())
      return createStringError("symbol '%s' is not defined in the image",
                               Name->str().c_str());
    auto Place = Sections.find((*Section)->getIndex());
    if (Place == Sections.end())
      return createStringError("symbol '%s' stands in a section that is not "
                               "part of the image",
                               Name->str().c_str());
    auto Value = Symbol.getValue();
    if (!Value)
      return Value.takeError();
    return Place->second + *Value;
  }

  Error relocate(const ElfFile &File, const Offsets &Sections) {
    for (const object::SectionRef Section : File.sections()) {
      auto Target = Section.getRelocatedSection();
      if (!Target)
        return Target.takeError();
      if (*Target == File.section_end())
        continue;
      auto Place = Sections.find((*Target)->getIndex());
      if (Place == Sections.end())
        continue;
      for (const object::ELFRelocationRef Relocation : Section.relocations())
        if (Error E = apply(File, Relocation, Place->second, Sections))
          return E;
    }
    return Error::success();
  }

  Error apply(const ElfFile &File, const object::ELFRelocationRef &Relocation,
              uint64_t SectionAt, const Offsets &Sections) {
    auto Symbol = Relocation.getSymbol();
    if (Symbol == File.symbol_end())
      return createStringError("a relocation names no symbol");
    auto To = offsetOf(File, object::ELFSymbolRef(*Symbol), Sections);
    if (!To)
      return To.takeError();
    auto Addend = Relocation.getAddend();
    if (!Addend)
      return Addend.takeError();
    uint64_t At = SectionAt + Relocation.getOffset();
    int64_t Relative = int64_t(*To) + *Addend - int64_t(At);
    switch (Relocation.getType()) {
    case ELF::R_X86_64_PC32:
    case ELF::R_X86_64_PLT32:
      if (At + 4 > Image.Bytes.size() || !isInt<32>(Relative))
        return createStringError("a relocation leaves the image");
      support::endian::write32le(&Image.Bytes[At], uint32_t(Relative));
      return Error::success();
    case ELF::R_X86_64_PC64:
      if (At + 8 > Image.Bytes.size())
        return createStringError("a relocation leaves the image");
      support::endian::write64le(&Image.Bytes[At], uint64_t(Relative));
      return Error::success();
    default: {
      SmallString<32> Type;
      Relocation.getTypeName(Type);
      return createStringError("relocation %s is not relative: host code must "
                               "be position independent",
                               Type.c_str());
    }
    }
  }

  LinkedImage Image;
  std::vector<std::unique_ptr<object::ObjectFile>> Files;
  std::vector<Offsets> Placed;
};

} // namespace

Expected<LinkedImage> linkHostImage(ArrayRef<StringRef> Objects) {
  Linker Linker;
  for (auto [Number, Object] : enumerate(Objects))
    if (Error E = Linker.add(Object, Number))
      return std::move(E);
  if (Error E = Linker.finish())
    return std::move(E);
  return Linker.take();
}

} // namespace kpc::codegen
