//===- DiagnosticBridge.cpp - MLIR's diagnostics as kpc's ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/DiagnosticBridge.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Remarks/Remark.h"

using namespace kpc;
using namespace mlir;

ModelPlace kpc::placeOf(Location Loc) {
  ModelPlace Place;
  if (auto Name = Loc->findInstanceOf<NameLoc>()) {
    Place.Node = Name.getName().str();
    if (auto Inner = dyn_cast<NameLoc>(Name.getChildLoc()))
      Place.Op = Inner.getName().str();
  } else if (auto File = Loc->findInstanceOf<FileLineColLoc>()) {
    Place.File = File.getFilename().str() + ":" +
                 std::to_string(File.getLine()) + ":" +
                 std::to_string(File.getColumn());
  }
  return Place;
}

DiagnosticBridge::DiagnosticBridge(MLIRContext &Context, Diagnostics &Diags,
                                   Code As)
    : TheCode(As), Handler(&Context, [this, &Diags](mlir::Diagnostic &D) {
        if (D.getSeverity() != DiagnosticSeverity::Error)
          return success();
        Diags.error(TheCode).at(placeOf(D.getLocation())).message(D.str());
        return success();
      }) {}

namespace {

class RemarkCollector : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit RemarkCollector(std::vector<kpc::Remark> &Remarks)
      : Remarks(Remarks) {}

  void streamOptimizationRemark(const remark::detail::Remark &R) override {
    std::string Text;
    for (const auto &Argument : R.getArgs())
      Text += Argument.val;
    // Many a sentence does not say which node it is of. A place without an
    // operator is the model itself.
    ModelPlace Place = placeOf(R.getLocation());
    std::string Quoted = "'" + Place.Node + "'";
    if (!Place.Op.empty() && Text.find(Quoted) == std::string::npos)
      Text.insert(0, Quoted + " (" + Place.Op + "): ");
    Remarks.push_back({R.getRemarkType() == llvm::remarks::Type::Passed,
                       R.getCategoryName().str(), R.getRemarkName().str(),
                       Place.Node, Text, /*Plan=*/{}});
  }

private:
  std::vector<kpc::Remark> &Remarks;
};

} // namespace

void kpc::collectRemarks(MLIRContext &Context, std::vector<Remark> &Remarks) {
  // `all` is only joined with the filters of the kinds that are given.
  remark::RemarkCategories Everything;
  Everything.passed = Everything.missed = ".*";
  (void)remark::enableOptimizationRemarks(
      Context, std::make_unique<RemarkCollector>(Remarks),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), Everything);
}
