//===- SystemCompiler.cpp - The system's C++ compiler ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/host/SystemCompiler.h"
#include "codegen/host/OperatorHeader.inc"
#include "compiler/workers/Subprocess.h"

#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace kpc::codegen {

static bool isProgram(const std::string &Path) {
  std::error_code Code;
  return std::filesystem::is_regular_file(Path, Code) &&
         ::access(Path.c_str(), X_OK) == 0;
}

/// The program along PATH; empty: there is none.
static std::string alongPath(const std::string &Name) {
  if (Name.find('/') != std::string::npos)
    return isProgram(Name) ? Name : std::string();
  const char *Text = std::getenv("PATH");
  std::string_view Rest = Text ? Text : "";
  while (!Rest.empty()) {
    std::string_view Folder = Rest.substr(0, Rest.find(':'));
    Rest.remove_prefix(std::min(Rest.size(), Folder.size() + 1));
    std::string Path = std::string(Folder) + "/" + Name;
    if (!Folder.empty() && isProgram(Path))
      return Path;
  }
  return {};
}

static SystemCompiler tryProgram(const std::string &Path) {
  ProcessResult R = runProcess({Path, "--version"}, {}, {.Seconds = 20});
  if (R.ok())
    return {Path, R.Out, {}};
  return {{}, {}, "'" + Path + "' does not run: " + R.describe()};
}

SystemCompiler findSystemCompiler(std::string_view Option) {
  constexpr const char *Install =
      "; install a C++ compiler (on Debian and Ubuntu: apt-get install g++), "
      "or name it with --cxx";
  if (!Option.empty()) {
    std::string Path = alongPath(std::string(Option));
    return Path.empty() ? SystemCompiler{{},
                                         {},
                                         "no program '" + std::string(Option) +
                                             "', which --cxx names"}
                        : tryProgram(Path);
  }
  const char *Variable = std::getenv("CXX");
  for (const char *Name : {Variable ? Variable : "", "c++", "g++", "clang++"})
    if (std::string Path = *Name ? alongPath(Name) : ""; !Path.empty())
      if (SystemCompiler Found = tryProgram(Path))
        return Found;
  return {
      {}, {}, std::string("no C++ compiler was found (CXX, PATH)") + Install};
}

/// What the compiler printed, without the temporary folder's name.
static std::string withoutFolder(std::string Text, const std::string &Folder) {
  for (size_t At; (At = Text.find(Folder + "/")) != std::string::npos;)
    Text.erase(At, Folder.size() + 1);
  while (!Text.empty() && Text.back() == '\n')
    Text.pop_back();
  return Text;
}

SharedObject compileSharedObject(const SystemCompiler &Compiler,
                                 const HostSource &Source,
                                 std::string_view Chip) {
  namespace fs = std::filesystem;
  SharedObject Out;
  TemporaryFolder Folder;
  Out.Error = Compiler ? Folder.error() : Compiler.Missing;
  // A file outside the manifest's folder is put next to the others by its name.
  auto Put = [&](const fs::path &Name, std::string_view Text) {
    fs::path Plain = Name.lexically_normal();
    if (Plain.is_absolute() || Plain.begin()->string() == "..")
      Plain = Plain.filename();
    fs::path Path = fs::path(Folder.path()) / Plain;
    std::error_code Code;
    fs::create_directories(Path.parent_path(), Code);
    if (Out.ok())
      writeFile(Path.string(), Text, Out.Error);
    return Path.string();
  };
  if (!Out.ok())
    return Out;
  Put("include/kpc/operator.h", OperatorHeader);
  for (const auto &[Name, Text] : Source.Headers)
    Put(Name, Text);
  std::string In = Put(Source.File, Source.Text),
              Object = Folder.path() + "/operator.so";
  if (!Out.ok())
    return Out;
  std::vector<std::string> Command = {
      Compiler.Path, "-std=c++20", "-O3", "-shared", "-fPIC",
      "-march=" + std::string(Chip),
      // Equal input gives equal bytes.
      "-ffile-prefix-map=" + Folder.path() + "=.", "-Wl,--build-id=none",
      "-I" + Folder.path() + "/include", "-I" + Folder.path()};
  for (const auto &[Name, Value] : Source.Macros) {
    std::string Define = "-D" + Name;
    Define += "=" + Value;
    Command.push_back(std::move(Define));
  }
  Command.insert(Command.end(), {"-x", "c++", In, "-o", Object});
  Command.insert(Command.end(), Source.Options.begin(), Source.Options.end());
  ProcessResult R = runProcess(Command, {}, {.Seconds = 120});
  if (!R.ok()) {
    Out.Error =
        withoutFolder(R.Err.empty() ? R.describe() : R.Err, Folder.path());
    return Out;
  }
  if (std::optional<std::string> Bytes = readFile(Object, Out.Error))
    Out.Bytes = std::move(*Bytes);
  return Out;
}

} // namespace kpc::codegen
