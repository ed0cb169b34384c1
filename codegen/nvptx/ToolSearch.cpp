//===- ToolSearch.cpp - Programs of the CUDA toolkit ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/nvptx/ToolSearch.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace kpc::nvptx {

bool isProgram(const std::string &Path) {
  std::error_code Code;
  return std::filesystem::is_regular_file(Path, Code) &&
         ::access(Path.c_str(), X_OK) == 0;
}

std::vector<std::string> toolPlaces(std::string_view Name) {
  std::vector<std::string> Places;
  std::string Tool(Name);
  for (const char *Variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *Root = std::getenv(Variable); Root && *Root)
      Places.push_back(std::string(Root) + "/bin/" + Tool);
  if (const char *Text = std::getenv("PATH")) {
    std::string_view Rest = Text;
    while (!Rest.empty()) {
      std::string_view Folder = Rest.substr(0, Rest.find(':'));
      Rest.remove_prefix(std::min(Rest.size(), Folder.size() + 1));
      if (!Folder.empty())
        Places.push_back(std::string(Folder) + "/" + Tool);
    }
  }
  Places.push_back("/usr/local/cuda/bin/" + Tool);
  return Places;
}

} // namespace kpc::nvptx
