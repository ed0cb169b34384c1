//===- Sampling.cpp - Import of GridSample --------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Sampling.h"
#include "compiler/import/onnx/Rules.h"

using namespace kpc::graph;

namespace kpc::onnx {

static void importGridSample(NodeImport &N) {
  std::string Mode = N.stringAttribute("mode", "linear");
  std::string Pads = N.stringAttribute("padding_mode", "zeros");
  bool Align = N.flagAttribute("align_corners");
  N.expectInputs(2, 2);
  Value X = N.input(0), Grid = N.input(1);
  if (N.bad())
    return;
  bool Nearest = Mode == "nearest";
  bool Cubic = Mode == "bicubic" || Mode == "cubic";
  bool Linear = Mode == "bilinear" || Mode == "linear";
  frontend::Sampling S;
  S.AlignCorners = Align;
  S.Mode = Nearest ? frontend::SampleMode::Nearest
           : Cubic ? frontend::SampleMode::Cubic
                   : frontend::SampleMode::Linear;
  S.Padding = Pads == "border"       ? frontend::SamplePadding::Border
              : Pads == "reflection" ? frontend::SamplePadding::Reflection
                                     : frontend::SamplePadding::Zeros;
  bool Known = Pads == "zeros" || Pads == "border" || Pads == "reflection";
  if (!Known || !(Nearest || Cubic || Linear)) {
    N.fail(Code::ImportAttributeValue, "mode '" + printable(Mode) +
                                           "' with padding_mode '" +
                                           printable(Pads) + "'");
    return;
  }
  int64_t Space = N.rank(X) - 2;
  if ((Space != 2 && Space != 3) || N.rank(Grid) != N.rank(X) ||
      !N.unify(N.dims(Grid).back(), Expr(Space))) {
    N.unsupported("samples " + dimsText(N.dims(X)) + " by a grid of " +
                  dimsText(N.dims(Grid)) +
                  "; kpc samples two and three dimensions");
    return;
  }
  N.unifyDims(X, 0, Grid, 0);
  if (llvm::is_contained(N.dims(X).drop_front(2), Expr(0))) {
    N.fail(Code::ImportShape, "samples an image of " + dimsText(N.dims(X)) +
                                  ", which has no elements");
    return;
  }
  N.result(0, frontend::sampleGrid(N, X, Grid, S));
}

ArrayRef<Rule> samplingRules() {
  static const Rule Rows[] = {
      {"", "GridSample", 16, Newest, importGridSample,
       "two and three dimensions"},
  };
  return Rows;
}

} // namespace kpc::onnx
