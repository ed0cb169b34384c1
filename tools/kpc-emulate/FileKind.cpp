//===- FileKind.cpp - What a file is that is no PTX -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/kpc-emulate/FileKind.h"

namespace kpc::emulator::tool {

static constexpr const char *OfACubin =
    "is a cubin, machine code of a GPU; the emulator runs PTX, which `kpc "
    "compile --emit ptx`, `nvcc -ptx` and `cuobjdump -ptx` write";
static constexpr const char *OfAnElf =
    "is an ELF file; the emulator runs PTX text";
static constexpr const char *OfAnArtifact =
    "is a kpc artifact: `kpc run FILE --device emulate:sm_90a` runs it; `kpc "
    "compile MODEL --arch sm_90a --emit ptx` writes PTX";
static constexpr const char *OfAModel =
    "looks like an ONNX model: `kpc compile FILE --arch sm_90a --emit ptx` "
    "writes its kernels as PTX";
static constexpr const char *OfAFatBinary =
    "is a fat binary of CUDA's: `cuobjdump -ptx FILE` prints the PTX in it, if "
    "there is any";

/// ELF files for GPUs have the machine number 190 (EM_CUDA), at byte 18.
static bool isCubin(std::string_view Elf) {
  return Elf.size() > 19 && Elf[18] == char(190) && Elf[19] == 0;
}

/// A ModelProto, as exporters write it, begins with its version (field 1, a
/// small number), then the producer or the graph: fields of bytes.
static bool looksLikeOnnx(std::string_view Content) {
  if (Content.size() < 4 || Content[0] != 0x08 || Content[1] <= 0 ||
      Content[1] > 32)
    return false;
  return Content[2] == 0x12 || Content[2] == 0x1A || Content[2] == 0x3A ||
         Content[2] == 0x42;
}

std::string reasonAgainstPtx(std::string_view Content) {
  if (Content.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return "is empty";
  if (Content.starts_with("\x7F"
                          "ELF"))
    return isCubin(Content) ? OfACubin : OfAnElf;
  if (Content.starts_with("\x8BKPC\r\n\x1A\n"))
    return OfAnArtifact;
  if (Content.starts_with("\x50\xED\x55\xBA"))
    return OfAFatBinary;
  if (looksLikeOnnx(Content))
    return OfAModel;
  // PTX that a program wrote may end in zeros.
  size_t Zero = Content.find('\0');
  if (Zero != std::string_view::npos &&
      Content.find_first_not_of('\0', Zero) != std::string_view::npos)
    return "is no text; the emulator runs PTX text";
  return {};
}

} // namespace kpc::emulator::tool
