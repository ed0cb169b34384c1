//===- Archive.h - What torch.jit.save wrote --------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The zip archive of a TorchScript program: its objects (data.pkl), its tensor
/// constants (constants.pkl), the raw storages of both, and its source, which
/// is parsed file by file as names are looked up.
///
///   std::string Why;
///   auto Script = Archive::open("model.pt", Why);
///   if (!Script) …                                // `Why` says what is wrong
///   Archive::Found F = Script->find("__torch__.Net", Why);
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCHSCRIPT_ARCHIVE_H
#define KPC_COMPILER_IMPORT_TORCHSCRIPT_ARCHIVE_H

#include "compiler/import/torch/Pickle.h"
#include "compiler/import/torch/Program.h"
#include "compiler/import/torch/Zip.h"
#include "compiler/import/torchscript/Source.h"

#include <map>
#include <memory>

namespace kpc::torchscript {

using torch::Pickle;
using torch::PickleValue;

/// One file of source, and where its lines come from.
struct ScriptFile {
  std::string Name; ///< "code/__torch__/model.py"
  SourceFile Source;
  /// By line of the file: "model.py:12: y = self.linear(x)".
  std::map<unsigned, std::string> Places;

  /// The user's line behind a line of the file, or the file's line itself where
  /// the archive does not say.
  std::string place(unsigned Line) const;
};

class Archive {
public:
  /// Null with the reason in `Why`.
  static std::unique_ptr<Archive> open(const std::string &Path,
                                       std::string &Why);

  /// The module that was saved: an object.
  const PickleValue &top() const { return Top->root(); }
  /// `CONSTANTS.cN`; null if there is none.
  const PickleValue *constant(size_t N) const;

  /// A class or a function by its whole name; the other one is null, and both
  /// are where there is none.
  struct Found {
    const ScriptFile *File = nullptr;
    const Class *TheClass = nullptr;
    const Function *TheFunction = nullptr;
  };
  Found find(const std::string &Name, std::string &Why);
  /// The class of the module that was saved; without one `Why` has the reason.
  Found findTop(std::string &Why);

  /// A tensor and where its bytes are; none with the reason in `Why`.
  std::optional<torch::Payload> payload(const PickleValue &Tensor,
                                        bool OfConstant, std::string &Why);

private:
  const ScriptFile *file(const std::string &Name, std::string &Why);
  void readPlaces(ScriptFile &F, std::string_view Text);

  std::shared_ptr<const torch::ZipArchive> Zip;
  std::string Root; ///< "model/"
  std::optional<Pickle> Top, Constants;
  std::map<std::string, std::unique_ptr<ScriptFile>> Files;
};

/// Whether a zip archive holds TorchScript: told by its entries.
bool isScript(const std::string &Path);

} // namespace kpc::torchscript

#endif // KPC_COMPILER_IMPORT_TORCHSCRIPT_ARCHIVE_H
