//===- Nvrtc.cpp - NVIDIA's compiler of CUDA C++ --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/nvptx/Nvrtc.h"

#include <cctype>
#include <charconv>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

namespace kpc::nvptx {

namespace {

/// The functions of nvrtc.h that are used, as it declares them.
struct Api {
  using Program = void *;
  int (*Version)(int *Major, int *Minor) = nullptr;
  const char *(*ErrorString)(int) = nullptr;
  int (*Create)(Program *, const char *Source, const char *Name, int Headers,
                const char *const *Contents,
                const char *const *Names) = nullptr;
  int (*Destroy)(Program *) = nullptr;
  int (*Compile)(Program, int Count, const char *const *Options) = nullptr;
  int (*LogSize)(Program, size_t *) = nullptr;
  int (*Log)(Program, char *) = nullptr;
  int (*PtxSize)(Program, size_t *) = nullptr;
  int (*Ptx)(Program, char *) = nullptr;
  int (*AddName)(Program, const char *) = nullptr;
  int (*LoweredName)(Program, const char *, const char **) = nullptr;

  /// Empty: all functions are there.
  std::string open(const std::string &Path);
};

std::string Api::open(const std::string &Path) {
  void *Library = ::dlopen(Path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!Library)
    return ::dlerror();
  std::string Missing;
  auto Load = [&](auto &Function, const char *Name) {
    Function = reinterpret_cast<std::remove_reference_t<decltype(Function)>>(
        ::dlsym(Library, Name));
    if (!Function)
      Missing = "'" + Path + "' lacks " + Name;
  };
  Load(Version, "nvrtcVersion");
  Load(ErrorString, "nvrtcGetErrorString");
  Load(Create, "nvrtcCreateProgram");
  Load(Destroy, "nvrtcDestroyProgram");
  Load(Compile, "nvrtcCompileProgram");
  Load(LogSize, "nvrtcGetProgramLogSize");
  Load(Log, "nvrtcGetProgramLog");
  Load(PtxSize, "nvrtcGetPTXSize");
  Load(Ptx, "nvrtcGetPTX");
  Load(AddName, "nvrtcAddNameExpression");
  Load(LoweredName, "nvrtcGetLoweredName");
  return Missing;
}

constexpr const char *Install =
    "; install the CUDA toolkit 12.0 or newer (on Debian and Ubuntu, from "
    "NVIDIA's repository: apt-get install cuda-nvrtc-13-0 "
    "cuda-cudart-dev-13-0; "
    "or: pip install nvidia-cuda-nvrtc), or name the library with --nvrtc";

/// Where toolkits have the headers of a library.
std::string headersBeside(const std::string &Library) {
  namespace fs = std::filesystem;
  std::error_code Code;
  for (fs::path Folder = fs::path(Library).parent_path();
       Folder.has_relative_path(); Folder = Folder.parent_path()) {
    fs::path Headers = Folder / "include";
    if (fs::exists(Headers / "cuda_fp16.h", Code))
      return Headers.string();
    // lib, lib64, targets/x86_64-linux/lib
    if (Folder.filename() == "cuda" || Folder == Folder.root_path())
      break;
  }
  return {};
}

Nvrtc tryLibrary(const std::string &Path) {
  Api Functions;
  Nvrtc Found;
  Found.Missing = Functions.open(Path);
  if (!Found.Missing.empty())
    return Found;
  int Major = 0, Minor = 0;
  if (Functions.Version(&Major, &Minor) != 0) {
    Found.Missing = "'" + Path + "' does not tell its version";
    return Found;
  }
  Found.Version = Major * 1000 + Minor * 10;
  Found.Path = Path;
  Dl_info Info{};
  if (::dladdr(reinterpret_cast<void *>(Functions.Version), &Info) &&
      Info.dli_fname)
    Found.Path = Info.dli_fname;
  Found.Headers = headersBeside(Found.Path);
  return Found;
}

} // namespace

Nvrtc findNvrtc(std::string_view Option) {
  namespace fs = std::filesystem;
  std::vector<std::string> Folders, Places;
  if (!Option.empty()) {
    Folders.emplace_back(Option);
    Places.emplace_back(Option);
  } else {
    for (const char *Variable : {"CUDA_HOME", "CUDA_PATH"})
      if (const char *Root = std::getenv(Variable); Root && *Root)
        Folders.emplace_back(Root);
    Folders.emplace_back("/usr/local/cuda");
  }
  std::error_code Code;
  for (const std::string &Folder : Folders)
    for (const char *Within :
         {"/", "/lib64/", "/lib/", "/targets/x86_64-linux/lib/"})
      for (const char *Name :
           {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"})
        Places.push_back(Folder + Within + Name);
  std::string Why;
  for (const std::string &Path : Places) {
    if (!fs::is_regular_file(Path, Code))
      continue;
    Nvrtc Found = tryLibrary(Path);
    if (Found)
      return Found;
    Why = Found.Missing;
  }
  if (Option.empty())
    for (const char *Name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
      if (Nvrtc Found = tryLibrary(Name))
        return Found;
  if (Why.empty())
    Why = Option.empty() ? "NVRTC (libnvrtc.so) was not found (CUDA_HOME, "
                           "/usr/local/cuda, the system's loader)"
                         : "no libnvrtc.so at '" + std::string(Option) +
                               "', which --nvrtc names";
  return {{}, {}, 0, Why + Install};
}

CudaCode compileCuda(const Nvrtc &Library, const CudaSource &Source,
                     const target::Target &T) {
  CudaCode Out;
  Api Functions;
  Out.Error = Library ? Functions.open(Library.Path) : Library.Missing;
  if (!Out.ok())
    return Out;
  std::vector<const char *> Contents, Names;
  for (const auto &[Name, Text] : Source.Headers) {
    Names.push_back(Name.c_str());
    Contents.push_back(Text.c_str());
  }
  Api::Program Program = nullptr;
  auto Failed = [&](int Code, const char *What) {
    Out.Error = std::string("NVRTC cannot ") + What + ": " +
                Functions.ErrorString(Code);
    Functions.Destroy(&Program);
    return Out;
  };
  if (int Code =
          Functions.Create(&Program, Source.Text.c_str(), Source.File.c_str(),
                           int(Names.size()), Contents.data(), Names.data()))
    return Failed(Code, "take the source");
  if (int Code = Functions.AddName(Program, Source.Function.c_str()))
    return Failed(Code, "take the function's name");
  std::string Architecture(T.LlvmChip);
  Architecture = "--gpu-architecture=compute_" +
                 Architecture.substr(Architecture.find('_') + 1);
  std::vector<std::string> All = {Architecture, "--std=c++17",
                                  "--device-as-default-execution-space"};
  if (!Library.Headers.empty())
    All.push_back("--include-path=" + Library.Headers);
  for (const auto &[Name, Value] : Source.Macros) {
    std::string Define = "--define-macro=" + Name;
    Define += "=" + Value;
    All.push_back(std::move(Define));
  }
  All.insert(All.end(), Source.Options.begin(), Source.Options.end());
  std::vector<const char *> Options;
  Options.reserve(All.size());
  for (const std::string &Option : All)
    Options.push_back(Option.c_str());
  int Code = Functions.Compile(Program, int(Options.size()), Options.data());
  if (Code != 0) {
    size_t Size = 0;
    std::string Log;
    if (Functions.LogSize(Program, &Size) == 0 && Size > 1) {
      Log.resize(Size);
      Functions.Log(Program, Log.data());
      Log.resize(Size - 1);
      while (!Log.empty() && Log.back() == '\n')
        Log.pop_back();
    }
    if (Log.empty())
      return Failed(Code, "compile it");
    Out.Error = Log;
    Functions.Destroy(&Program);
    return Out;
  }
  const char *Lowered = nullptr;
  if (int Wrong =
          Functions.LoweredName(Program, Source.Function.c_str(), &Lowered))
    return Failed(Wrong, "tell the function's name");
  Out.Entry = Lowered;
  size_t Size = 0;
  if (int Wrong = Functions.PtxSize(Program, &Size))
    return Failed(Wrong, "tell the size of the PTX");
  Out.Ptx.resize(Size);
  if (int Wrong = Functions.Ptx(Program, Out.Ptx.data()))
    return Failed(Wrong, "give the PTX");
  while (!Out.Ptx.empty() && Out.Ptx.back() == '\0')
    Out.Ptx.pop_back();
  Functions.Destroy(&Program);
  return Out;
}

std::vector<unsigned> entryParameters(std::string_view Ptx,
                                      std::string_view Entry, bool &Found) {
  std::vector<unsigned> Bytes;
  std::string Start = ".entry " + std::string(Entry) + "(";
  size_t At = Ptx.find(Start);
  Found = At != std::string_view::npos;
  if (!Found)
    return Bytes;
  std::string_view List = Ptx.substr(At + Start.size());
  List = List.substr(0, List.find(')'));
  // ".param .u64 .ptr .align 1 silu_param_0", ".param .align 8 .b8 p[24]"
  while (true) {
    size_t Next = List.find(".param ");
    if (Next == std::string_view::npos)
      return Bytes;
    std::string_view One = List.substr(Next + 7);
    List = One;
    One = One.substr(0, One.find(','));
    unsigned Width = 0, Count = 1;
    for (size_t Dot = One.find('.'); Dot != std::string_view::npos;
         Dot = One.find('.', Dot + 1)) {
      const char *Digits = One.data() + Dot + 2, *End = One.data() + One.size();
      if (Digits < End &&
          std::string_view("usbf").find(Digits[-1]) != std::string_view::npos)
        std::from_chars(Digits, End, Width);
    }
    if (size_t Open = One.find('['); Open != std::string_view::npos)
      std::from_chars(One.data() + Open + 1, One.data() + One.size(), Count);
    Bytes.push_back(Width / 8 * Count);
  }
}

} // namespace kpc::nvptx
