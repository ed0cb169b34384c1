//===- Samples.cpp - Data that a model is calibrated with -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Samples.h"

#include "tools/kpc/tensorfile/TensorFile.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>

namespace kpc::cli {

using tensorfile::HostTensor;
namespace fs = std::filesystem;

static void refuse(Diagnostics &Diags, const std::string &Why) {
  Diags.error(Code::CalibrationData).message(Why);
}

/// The tensors' file is at fault, not the model.
static void refuseFile(Diagnostics &Diags, const std::string &Why) {
  std::string Model = Diags.file();
  Diags.setFile("");
  Diags.error(Code::TensorFile).message(Why);
  Diags.setFile(Model);
}

static const kpc_port *portNamed(const std::vector<kpc_port> &Ports,
                                 const std::string &Name) {
  auto It = std::find_if(Ports.begin(), Ports.end(),
                         [&](const kpc_port &P) { return Name == P.name; });
  return It == Ports.end() ? nullptr : &*It;
}

/// "'a', 'b'"
static std::string inputNames(const std::vector<kpc_port> &Ports) {
  std::string Text;
  for (const kpc_port &P : Ports)
    Text += (Text.empty() ? "'" : ", '") + printable(P.name) + "'";
  return Text;
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

/// Each array is what an input is, with the axis of samples in front; or the
/// first dim of the input itself is that axis, one element a sample.
bool Samples::openArrays(const Model &M, Diagnostics &Diags) {
  std::string Error;
  auto Read = tensorfile::readTensors(Path, Error);
  if (!Read) {
    refuseFile(Diags, Error);
    return false;
  }
  std::vector<kpc_port> Ports = M.inputs();
  Arrays = std::move(*Read);
  if (Arrays.size() == 1 && Ports.size() == 1 && Arrays[0].Name.empty())
    Arrays[0].Name = Ports[0].name;
  for (const HostTensor &T : Arrays) {
    const kpc_port *Port = portNamed(Ports, T.Name);
    std::string What =
        fmt::format("array '{}' of '{}' is {}", printable(T.Name),
                    printable(Path), tensorfile::typeAndDims(T));
    if (!Port) {
      refuse(Diags, fmt::format("{}, and the model has no such input; its "
                                "inputs are {}",
                                What, inputNames(Ports)));
      continue;
    }
    auto Rank = static_cast<size_t>(Port->rank);
    bool Own = T.Dims.size() == Rank + 1;
    if (!Own && (T.Dims.size() != Rank || Rank == 0)) {
      refuse(Diags, fmt::format("{}; expected an axis of samples in front of "
                                "the input, which is {}",
                                What, portText(*Port)));
      continue;
    }
    if (&T != Arrays.data() && T.Dims[0] != Count)
      refuse(Diags, fmt::format("{}: {} samples, and '{}' has {}", What,
                                T.Dims[0], printable(Arrays[0].Name), Count));
    if (&T == Arrays.data())
      Count = T.Dims[0];
    HasOwnAxis.push_back(Own);
  }
  if (!Diags.hasErrors() && Count == 0)
    refuse(Diags, fmt::format("'{}' holds no samples", printable(Path)));
  return !Diags.hasErrors();
}

bool Samples::openFolder(const Model &M, Diagnostics &Diags) {
  std::error_code Failed;
  for (fs::directory_iterator It(Path, Failed), End; !Failed && It != End;
       It.increment(Failed)) {
    fs::path Extension = It->path().extension();
    std::error_code Ignored;
    if (Extension == ".npz" || Extension == ".npy" || It->is_directory(Ignored))
      Files.push_back(It->path().filename());
  }
  if (Failed) {
    refuse(Diags, fmt::format("the folder '{}' cannot be read: {}",
                              printable(Path), Failed.message()));
    return false;
  }
  std::sort(Files.begin(), Files.end());
  Count = static_cast<int64_t>(Files.size());
  if (Count == 0)
    refuse(Diags, fmt::format("the folder '{}' holds no .npz, .npy or folder "
                              "of .npy files",
                              printable(Path)));
  return Count != 0;
}

std::optional<Samples> Samples::open(const std::string &Path, const Model &M,
                                     Diagnostics &Diags) try {
  Samples Opened;
  Opened.Path = Path;
  std::error_code Ignored;
  bool Good = fs::is_directory(Path, Ignored) ? Opened.openFolder(M, Diags)
                                              : Opened.openArrays(M, Diags);
  return Good ? std::optional(std::move(Opened)) : std::nullopt;
} catch (const std::bad_alloc &) {
  Diags.error(Code::RuntimeOutOfMemory)
      .message(
          fmt::format("there is not enough memory for '{}'", printable(Path)))
      .hint("give a folder with a file for each sample: one is in memory at a "
            "time");
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// One sample
//===----------------------------------------------------------------------===//

std::string Samples::name(int64_t I) const {
  return Files.empty() ? fmt::format("{}, sample {}", Path, I)
                       : Path + "/" + Files[static_cast<size_t>(I)];
}

/// Element `I` of the first dim, which stays as 1 where the input has it.
static std::optional<HostTensor> sliceOf(const HostTensor &T, int64_t I,
                                         bool HasOwnAxis) {
  std::vector<int64_t> Dims(T.Dims.begin() + (HasOwnAxis ? 1 : 0),
                            T.Dims.end());
  if (!HasOwnAxis)
    Dims[0] = 1;
  if (bitWidth(T.Type) < 8 && T.Type != ElementType::Undefined)
    return std::nullopt;
  std::optional<HostTensor> Slice =
      tensorfile::makeTensor(T.Name, T.Type, std::move(Dims));
  if (!Slice)
    return std::nullopt;
  size_t Size = Slice->Data.size();
  if (Size)
    std::memcpy(Slice->Data.data(),
                T.Data.data() + static_cast<size_t>(I) * Size, Size);
  return Slice;
}

std::optional<std::vector<HostTensor>>
Samples::tensors(int64_t I, const Model &M, std::string &Why) const {
  std::vector<HostTensor> All;
  if (Files.empty()) {
    for (size_t A = 0; A < Arrays.size(); ++A) {
      auto Slice = sliceOf(Arrays[A], I, HasOwnAxis[A]);
      if (!Slice) {
        Why = fmt::format("array '{}' of '{}' has elements of a type that "
                          "cannot be cut into samples: {}",
                          printable(Arrays[A].Name), printable(Path),
                          tensorfile::typeName(Arrays[A].Type));
        return std::nullopt;
      }
      All.push_back(std::move(*Slice));
    }
    return All;
  }
  std::string File = name(I);
  std::error_code Ignored;
  if (!fs::is_directory(File, Ignored)) {
    auto Read = tensorfile::readTensors(File, Why);
    std::vector<kpc_port> Ports = M.inputs();
    if (Read && Read->size() == 1 && Ports.size() == 1)
      Read->front().Name = Ports[0].name;
    return Read;
  }
  for (const kpc_port &Port : M.inputs()) {
    std::string Of = File + "/" + tensorfile::fileNameFor(Port.name) + ".npy";
    auto Read = tensorfile::readTensors(Of, Why);
    if (!Read || Read->size() != 1)
      return std::nullopt;
    Read->front().Name = Port.name;
    All.push_back(std::move(Read->front()));
  }
  return All;
}

std::optional<Inputs> Samples::read(int64_t I, const Model &M,
                                    Diagnostics &Diags) const try {
  std::string Why;
  auto Read = tensors(I, M, Why);
  if (!Read) {
    refuseFile(Diags, Why);
    return std::nullopt;
  }
  return makeInputs(M, std::move(*Read), name(I), Diags);
} catch (const std::bad_alloc &) {
  Diags.error(Code::RuntimeOutOfMemory)
      .message(fmt::format("there is not enough memory for '{}'",
                           printable(name(I))));
  return std::nullopt;
}

} // namespace kpc::cli
