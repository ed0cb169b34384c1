//===- Resize.cpp - Import of Resize and Upsample -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Axes are resized one after another.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/ResizeAxis.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

//===----------------------------------------------------------------------===//
// The node
//===----------------------------------------------------------------------===//

static ResizeOptions options(NodeImport &N) {
  ResizeOptions O;
  O.Mode = N.stringAttribute("mode", "nearest");
  O.Coordinates =
      N.stringAttribute("coordinate_transformation_mode", "half_pixel");
  O.Nearest = N.stringAttribute("nearest_mode", "round_prefer_floor");
  O.CubicA = N.floatAttribute("cubic_coeff_a", -0.75);
  O.Extrapolation = N.floatAttribute("extrapolation_value", 0);
  O.ExcludeOutside = N.flagAttribute("exclude_outside");
  O.Antialias = N.flagAttribute("antialias");
  auto OneOf = [&](std::string_view Name, const std::string &Value,
                   std::initializer_list<std::string_view> List) {
    if (!llvm::is_contained(List, std::string_view(Value)))
      N.fail(Code::ImportAttributeValue, "attribute '" + std::string(Name) +
                                             "' is '" + printable(Value) + "'");
  };
  OneOf("mode", O.Mode, {"nearest", "linear", "cubic"});
  OneOf("coordinate_transformation_mode", O.Coordinates,
        {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
         "align_corners", "asymmetric", "tf_half_pixel_for_nn",
         "tf_crop_and_resize"});
  OneOf("nearest_mode", O.Nearest,
        {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"});
  return O;
}

/// floor(n * Scale) for a size that may be a symbol: Scale is then written as
/// a fraction of small numbers.
static std::optional<Expr> scaledSize(const Expr &In, double Scale) {
  if (std::optional<int64_t> Size = In.asConstant()) {
    double Out = std::floor(static_cast<double>(*Size) * Scale);
    if (!(Out >= 0 && Out < 1e15))
      return std::nullopt;
    return Expr(static_cast<int64_t>(Out));
  }
  for (int64_t Divisor = 1; Divisor <= 64; ++Divisor) {
    double Times = Scale * static_cast<double>(Divisor);
    if (Times == std::floor(Times) && Times >= 1 && Times < 1e9)
      return (In * static_cast<int64_t>(Times)).floorDiv(Divisor);
  }
  return std::nullopt;
}

/// The size of an axis of so many elements, rounded as ONNX does.
static double resizedBy(double Factor, const AxisResize &A) {
  return std::floor(static_cast<double>(*A.In.asConstant()) * Factor + 0.5);
}

/// The same where the run knows the sizes: the length In * To / From, a half
/// rounded up, is least or greatest with the factor that is.
static void keepAspectOfSizes(NodeImport &N, std::vector<AxisResize> &Axes,
                              bool Least) {
  auto Better = [&](const Expr &A, const Expr &C) {
    return Least ? Expr::min(A, C) : Expr::max(A, C);
  };
  Value Factor;
  Dims Lengths;
  for (const AxisResize &A : Axes) {
    Expr From = Expr::max(A.In, 1);
    Value Own =
        N.div(N.sizeScalar(A.Out, N.f32()), N.sizeScalar(From, N.f32()));
    Factor = !Factor ? Own : Least ? N.min(Factor, Own) : N.max(Factor, Own);
    for (size_t I = 0; I < Axes.size(); ++I) {
      Expr Length = (Axes[I].In * A.Out * 2 + From).floorDiv(From * 2);
      if (I == Lengths.size())
        Lengths.push_back(Length);
      else
        Lengths[I] = Better(Lengths[I], Length);
    }
  }
  for (auto [A, Length] : llvm::zip_equal(Axes, Lengths)) {
    A.Scale.reset();
    A.ScaleInput = Factor;
    A.Out = N.importer().facts().simplify(Length);
  }
}

/// Sizes after keep_aspect_ratio_policy, which takes one factor for all axes.
static bool keepAspect(NodeImport &N, std::vector<AxisResize> &Axes) {
  std::string Policy = N.stringAttribute("keep_aspect_ratio_policy", "stretch");
  // It says what sizes mean. Scales are taken as they are.
  if (Policy == "stretch")
    return true;
  if (Policy != "not_larger" && Policy != "not_smaller") {
    N.fail(Code::ImportAttributeValue,
           "attribute 'keep_aspect_ratio_policy' is '" + printable(Policy) +
               "'");
    return false;
  }
  bool Known = llvm::all_of(Axes, [](const AxisResize &A) {
    return A.Scale && A.In.isConstant() && A.Out.isConstant();
  });
  if (!Known && llvm::none_of(Axes, [](const AxisResize &A) {
        return A.ScaleInput != nullptr;
      })) {
    keepAspectOfSizes(N, Axes, Policy == "not_larger");
    return !N.bad();
  }
  std::optional<double> Factor;
  for (const AxisResize &A : Axes) {
    if (!A.Scale) {
      N.unsupported("keep_aspect_ratio_policy on scales known only at run "
                    "time");
      return false;
    }
    bool Better = Factor && (Policy == "not_larger" ? *A.Scale > *Factor
                                                    : *A.Scale < *Factor);
    if (!Better)
      Factor = A.Scale;
  }
  if (!Factor)
    return true;
  for (AxisResize &A : Axes) {
    A.Scale = Factor;
    double Out = resizedBy(*Factor, A);
    if (!(Out >= 0 && Out < 1e15)) {
      N.unsupported("a scale of " + std::to_string(*Factor) + " on the size " +
                    A.In.str());
      return false;
    }
    A.Out = Expr(static_cast<int64_t>(Out));
    A.Length = static_cast<double>(*A.Out.asConstant());
  }
  return true;
}

/// The greatest f32 that is an i32.
static constexpr int64_t GreatestLength = 2147483520;

/// floor(In * Scale) in f32, as onnxruntime computes it.
static Value scaledLength(NodeImport &N, const AxisResize &A) {
  Value Length = N.mul(N.sizeScalar(A.In, N.f32()), A.ScaleInput);
  if (!Length)
    return {};
  Length = N.unary<FloorOp>(N.max(Length, N.like(0, Length)));
  Length = N.min(Length, N.like(double(GreatestLength), Length));
  return N.cast(Length, N.i64());
}

/// Lets runs check that a length that only they know is the one that the model
/// declares. False after a report.
static bool checkDeclared(NodeImport &N, Value Length, const Expr &Declared,
                          int64_t Axis, const std::string &By) {
  Importer &I = N.importer();
  std::string What = "resizes axis " + std::to_string(Axis) + " by its " + By +
                     " to the declared size";
  if (I.isInBody()) {
    I.forbid(N,
             N.compare(Predicate::ne, Length, N.sizeScalar(Declared, N.i64())),
             What + " " + Declared.str() + ", got another size");
    return !N.bad();
  }
  std::optional<Expr> Size =
      I.decideSize(N, Length, Expr(GreatestLength), /*Axis=*/SIZE_MAX);
  if (!Size)
    return false;
  if (I.require(*Size, true, Declared, What, N))
    return true;
  N.fail(Code::ImportShape, "resizes axis " + std::to_string(Axis) + " to " +
                                Size->str() + ", but the model declares " +
                                Declared.str());
  return false;
}

/// Element `I` of a vector.
static Value element(NodeImport &N, Value V, size_t I) {
  return N.reshape(N.sliceAxis(V, 0, static_cast<int64_t>(I), 1), {});
}

/// Element `I` of a vector of reals, where that part of it is a constant.
static std::optional<double> knownElement(Value V, int64_t I) {
  if (auto Concat = V.getDefiningOp<ConcatOp>()) {
    for (Value Part : Concat->getOperands()) {
      std::optional<int64_t> Count = Emitter::dims(Part)[0].asConstant();
      if (!Count)
        return std::nullopt;
      if (I < *Count)
        return knownElement(Part, I);
      I -= *Count;
    }
    return std::nullopt;
  }
  auto Constant = V.getDefiningOp<ConstantOp>();
  auto Elements = Constant
                      ? dyn_cast<mlir::DenseFPElementsAttr>(Constant.getValue())
                      : mlir::DenseFPElementsAttr();
  if (!Elements || I >= Elements.getNumElements())
    return std::nullopt;
  return Elements.getValues<llvm::APFloat>()[static_cast<uint64_t>(I)]
      .convertToDouble();
}

/// Scales that only the run knows. The sizes are those that the model declares,
/// or else the run decides them.
static std::optional<std::vector<AxisResize>>
runTimeScales(NodeImport &N, Value X, ArrayRef<int64_t> Axes,
              const std::optional<Dims> &Declared) {
  std::vector<AxisResize> Result;
  Value Scales = N.input(2);
  if (!Scales || N.rank(Scales) != 1 ||
      !N.unify(N.dims(Scales)[0], Expr(static_cast<int64_t>(Axes.size())))) {
    if (Scales)
      N.fail(Code::ImportShape, "scales is " + dimsText(N.dims(Scales)) +
                                    " for " + std::to_string(Axes.size()) +
                                    " axes");
    return std::nullopt;
  }
  for (size_t I = 0; I < Axes.size(); ++I) {
    auto Axis = static_cast<size_t>(Axes[I]);
    AxisResize A;
    A.In = N.dims(X)[Axis];
    if (knownElement(Scales, static_cast<int64_t>(I)) == 1.0) {
      A.Out = A.In;
      A.Scale = 1;
      Result.push_back(A);
      continue;
    }
    A.ScaleInput = N.cast(element(N, Scales, I), N.f32());
    // Not "at most 0", so that NaN is forbidden as well.
    N.importer().forbid(N,
                        N.notOf(N.compare(Predicate::gt, A.ScaleInput,
                                          N.like(0, A.ScaleInput))),
                        "has scales[" + std::to_string(I) +
                            "] of 0, below or no number, expected more than 0");
    if (N.bad())
      return std::nullopt;
    Value Length = scaledLength(N, A);
    if (!Length)
      return std::nullopt;
    if (Declared) {
      A.Out = (*Declared)[Axis];
      if (!checkDeclared(N, Length, A.Out, Axes[I], "scales"))
        return std::nullopt;
    } else {
      std::optional<Expr> Out =
          N.decideSize(Length, Expr(GreatestLength), Axis);
      if (!Out)
        return std::nullopt;
      A.Out = *Out;
    }
    Result.push_back(A);
  }
  return Result;
}

/// What `sizes` says. Inside of loops and branches the declared sizes stand for
/// what only the run knows; elsewhere runs check those.
static std::optional<std::vector<Expr>>
wantedSizes(NodeImport &N, ArrayRef<int64_t> Axes,
            const std::optional<Dims> &Declared) {
  if (!Declared || !N.hasInput(3) || N.contents(3) ||
      N.stringAttribute("keep_aspect_ratio_policy", "stretch") != "stretch")
    return N.knownSizes(3, "sizes");
  std::vector<Expr> Sizes;
  if (!N.importer().isInBody()) {
    std::optional<std::vector<Expr>> Known = N.knownSizes(3, "sizes");
    for (size_t I = 0; Known && I < Known->size() && I < Axes.size(); ++I) {
      const Expr &Wanted = (*Declared)[static_cast<size_t>(Axes[I])];
      bool Same =
          N.importer().require((*Known)[I], true, Wanted,
                               "resizes axis " + std::to_string(Axes[I]) +
                                   " by its sizes to the declared size",
                               N);
      (*Known)[I] = Same ? Wanted : (*Known)[I];
    }
    return Known;
  }
  Value Given = N.input(3);
  if (!Given || N.rank(Given) != 1 ||
      !N.unify(N.dims(Given)[0], Expr(static_cast<int64_t>(Axes.size()))))
    return N.knownSizes(3, "sizes");
  for (size_t I = 0; I < Axes.size(); ++I) {
    Sizes.push_back((*Declared)[static_cast<size_t>(Axes[I])]);
    if (!checkDeclared(N, N.cast(element(N, Given, I), N.i64()), Sizes.back(),
                       Axes[I], "sizes"))
      return std::nullopt;
  }
  return Sizes;
}

static std::optional<std::vector<AxisResize>>
axisResizes(NodeImport &N, Value X, ArrayRef<int64_t> Axes) {
  std::vector<AxisResize> Result;
  const Contents *Scales = N.contents(2);
  bool UseScales = N.hasInput(2) && !(Scales && Scales->count() == 0);
  std::optional<std::vector<double>> Factors;
  std::optional<std::vector<Expr>> Sizes;
  std::optional<Dims> Declared = N.declaredSizes(0);
  if (Declared && Declared->size() != N.dims(X).size())
    Declared.reset();
  if (UseScales && !Scales && (Declared || !N.importer().isInBody()))
    return runTimeScales(N, X, Axes, Declared);
  if (UseScales)
    Factors = N.knownReals(2, "scales");
  else
    Sizes = wantedSizes(N, Axes, Declared);
  if (N.bad())
    return std::nullopt;
  size_t Given = UseScales ? Factors->size() : Sizes->size();
  if (Given != Axes.size()) {
    N.fail(Code::ImportShape, std::to_string(Given) + " scales or sizes for " +
                                  std::to_string(Axes.size()) + " axes");
    return std::nullopt;
  }
  for (size_t I = 0; I < Axes.size(); ++I) {
    AxisResize A;
    A.In = N.dims(X)[static_cast<size_t>(Axes[I])];
    if (UseScales) {
      A.Scale = (*Factors)[I];
      std::optional<Expr> Out;
      if (*A.Scale > 0)
        Out = scaledSize(A.In, *A.Scale);
      if (!Out) {
        std::string What = "a scale of " + std::to_string(*A.Scale);
        if (A.In.isConstant())
          N.unsupported(What + " on the size " + A.In.str());
        else
          N.unsupportedOn(What, A.In,
                          "; whole numbers and fractions by 64 at most, such "
                          "as 0.75, work");
        return std::nullopt;
      }
      A.Out = *Out;
      A.Length = static_cast<double>(A.In.asConstant().value_or(0)) * *A.Scale;
    } else {
      A.Out = (*Sizes)[I];
      std::optional<int64_t> In = A.In.asConstant(), Out = A.Out.asConstant();
      if (Out && *Out < 0) {
        N.fail(Code::ImportShape, "sizes has " + std::to_string(*Out) +
                                      " for axis " + std::to_string(Axes[I]) +
                                      "; a size is 0 or more");
        return std::nullopt;
      }
      if (In == 0 && Out.value_or(1) > 0) {
        N.fail(Code::ImportShape, "resizes axis " + std::to_string(Axes[I]) +
                                      ", which has no elements, to " +
                                      A.Out.str());
        return std::nullopt;
      }
      A.Length = static_cast<double>(Out.value_or(0));
      if (In && Out && *In > 0)
        A.Scale = static_cast<double>(*Out) / static_cast<double>(*In);
      else if (A.In == A.Out)
        A.Scale = 1;
    }
    Result.push_back(A);
  }
  return Result;
}

static bool readRoi(NodeImport &N, std::vector<AxisResize> &Axes) {
  auto Count = static_cast<int64_t>(Axes.size());
  if (N.hasInput(1) && !N.contents(1)) {
    Value Roi = N.input(1);
    if (!Roi || N.rank(Roi) != 1 || !N.unify(N.dims(Roi)[0], Expr(Count * 2))) {
      if (Roi)
        N.fail(Code::ImportShape, "roi is " + dimsText(N.dims(Roi)) +
                                      ", but should have " +
                                      std::to_string(Count * 2) + " numbers");
      return false;
    }
    auto Number = [&](int64_t I) {
      return N.reshape(N.cast(N.sliceAxis(Roi, 0, I, 1), N.f32()), {});
    };
    for (int64_t I = 0; I < Count; ++I) {
      Axes[static_cast<size_t>(I)].RoiStartInput = Number(I);
      Axes[static_cast<size_t>(I)].RoiEndInput = Number(I + Count);
    }
    return !N.bad();
  }
  std::optional<std::vector<double>> Roi = N.knownReals(1, "roi");
  if (!Roi)
    return false;
  if (Roi->size() != Axes.size() * 2) {
    N.fail(Code::ImportShape, "roi has " + std::to_string(Roi->size()) +
                                  " numbers, but should have " +
                                  std::to_string(Axes.size() * 2));
    return false;
  }
  for (size_t I = 0; I < Axes.size(); ++I) {
    Axes[I].RoiStart = (*Roi)[I];
    Axes[I].RoiEnd = (*Roi)[I + Axes.size()];
  }
  return true;
}

static void importResize(NodeImport &N) {
  ResizeOptions O = options(N);
  std::optional<Ints> Given = N.intsAttribute("axes");
  Value X = N.input(0);
  if (N.bad())
    return;
  Ints Axes = llvm::to_vector(llvm::seq<int64_t>(0, N.rank(X)));
  if (Given) {
    Axes.clear();
    for (int64_t A : *Given)
      Axes.push_back(N.frontAxis(A, N.rank(X)));
  }
  if (N.bad())
    return;
  std::optional<std::vector<AxisResize>> Resizes = axisResizes(N, X, Axes);
  if (!Resizes || !keepAspect(N, *Resizes))
    return;
  bool Crops = O.Coordinates == "tf_crop_and_resize";
  if (Crops && !readRoi(N, *Resizes))
    return;
  // Interpolated integers are rounded in f32.
  Type Stored = N.element(X);
  bool Widen = O.Mode != "nearest" && !Stored.isF32() && !Stored.isF64();
  if (Widen)
    X = N.cast(X, N.f32());
  for (size_t I = 0; I < Axes.size() && X; ++I) {
    const AxisResize &A = (*Resizes)[I];
    if (A.In == A.Out && A.Scale == 1.0 && !Crops)
      continue;
    bool Numbers =
        A.In.isConstant() && A.Out.isConstant() && A.Scale && !A.RoiStartInput;
    X = Numbers ? resizeByNumbers(N, X, Axes[I], O, A)
                : resizeBySizes(N, X, Axes[I], O, A);
  }
  N.result(0, X ? N.cast(X, Stored) : X);
}

ArrayRef<Rule> resizeRules() {
  static const Rule Rows[] = {
      {"", "Resize", 10, Newest, importResize,
       "where only the run knows scales or sizes inside a loop or branch, the "
       "model must declare the result's sizes; where a size is known only at "
       "run time, scales that are constants are fractions by 64 at most, and "
       "antialias does not compile"},
      {"", "Upsample", 1, 9, importResize,
       "scales must be known when compiling"},
  };
  return Rows;
}

} // namespace kpc::onnx
