//===- Nvdisasm.cpp - NVIDIA's disassembler -------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/nvptx/Nvdisasm.h"
#include "codegen/nvptx/ToolSearch.h"
#include "compiler/workers/Subprocess.h"

namespace kpc::nvptx {

Nvdisasm findNvdisasm(std::string_view Ptxas) {
  std::vector<std::string> Places = toolPlaces("nvdisasm");
  if (size_t Slash = Ptxas.rfind('/'); Slash != std::string_view::npos)
    Places.insert(Places.begin(),
                  std::string(Ptxas.substr(0, Slash)) + "/nvdisasm");
  for (const std::string &Path : Places)
    if (isProgram(Path))
      return {
          Path, runProcess({Path, "--version"}, {}, {.Seconds = 20}).Out, {}};
  return {{},
          {},
          "nvdisasm was not found (beside ptxas, CUDA_HOME, PATH, "
          "/usr/local/cuda), and machine code cannot be shown without it"};
}

Disassembly disassemble(const Nvdisasm &Program, std::string_view Cubin,
                        double LimitSeconds) {
  Disassembly D;
  TemporaryFolder Folder;
  std::string In = Folder.path() + "/kernel.cubin";
  D.Error = Folder.error();
  if (!D.Error.empty() || !writeFile(In, Cubin, D.Error))
    return D;
  ProcessResult R = runProcess({Program.Path, "--print-code", In}, {},
                               {.Seconds = LimitSeconds});
  if (R.ok()) {
    D.Text = std::move(R.Out);
    return D;
  }
  D.Error = "nvdisasm: " + R.describe() + (R.Err.empty() ? "" : ":\n") + R.Err;
  while (!D.Error.empty() && D.Error.back() == '\n')
    D.Error.pop_back();
  return D;
}

} // namespace kpc::nvptx
