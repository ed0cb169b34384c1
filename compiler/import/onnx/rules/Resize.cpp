//===- Resize.cpp - Import of Resize and Upsample -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Axes are resized one after another. Along an axis each output element is a
/// sum of few input elements ("taps"). Where the sizes are numbers, taps and
/// weights are computed here; where they are symbols, by the graph.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

namespace {
struct ResizeOptions {
  std::string Mode, Coordinates, Nearest;
  double CubicA = -0.75, Extrapolation = 0;
  bool ExcludeOutside = false, Antialias = false;
};

struct AxisResize {
  Expr In, Out;
  /// The factor that coordinates are computed with; none if it depends on
  /// sizes known only at run time.
  std::optional<double> Scale;
  /// The resized length: In * Scale, not rounded, where scales are given.
  double Length = 0;
  /// The factor as a scalar, where it is an input of the model.
  Value ScaleInput;
  double RoiStart = 0, RoiEnd = 1;
};

/// Taps of one axis: `Count` for each output element, clamped indices.
struct Taps {
  size_t Count = 0;
  std::vector<int64_t> Index; ///< [tap][output]
  std::vector<float> Weight;
  std::vector<bool> Outside; ///< crop_and_resize: takes the extrapolation value
};
} // namespace

//===----------------------------------------------------------------------===//
// Taps as numbers
//===----------------------------------------------------------------------===//

static double sourceCoordinate(const ResizeOptions &O, const AxisResize &A,
                               int64_t X) {
  auto In = static_cast<double>(*A.In.asConstant());
  auto At = static_cast<double>(X);
  double Scale = *A.Scale;
  double Out = A.Length;
  const std::string &Mode = O.Coordinates;
  if (Mode == "align_corners")
    return Out == 1 ? 0 : At * (In - 1) / (Out - 1);
  if (Mode == "asymmetric")
    return At / Scale;
  if (Mode == "tf_half_pixel_for_nn")
    return (At + 0.5) / Scale;
  if (Mode == "pytorch_half_pixel")
    return Out > 1 ? (At + 0.5) / Scale - 0.5 : 0;
  if (Mode == "tf_crop_and_resize")
    return Out > 1 ? A.RoiStart * (In - 1) +
                         At * (A.RoiEnd - A.RoiStart) * (In - 1) / (Out - 1)
                   : 0.5 * (A.RoiStart + A.RoiEnd) * (In - 1);
  double Half = (At + 0.5) / Scale - 0.5;
  if (Mode == "half_pixel_symmetric")
    return In / 2 * (1 - static_cast<double>(*A.Out.asConstant()) / Out) + Half;
  return Half;
}

static double nearestIndex(const std::string &Mode, double X) {
  if (Mode == "floor")
    return std::floor(X);
  if (Mode == "ceil")
    return std::ceil(X);
  if (Mode == "round_prefer_ceil")
    return std::floor(X + 0.5);
  return std::ceil(X - 0.5);
}

/// The interpolation kernel at distance `X`.
static double kernelAt(const ResizeOptions &O, double X) {
  X = std::abs(X);
  if (O.Mode == "linear")
    return std::max(0.0, 1 - X);
  double A = O.CubicA;
  if (X <= 1)
    return ((A + 2) * X - (A + 3)) * X * X + 1;
  return X < 2 ? (((X - 5) * X + 8) * X - 4) * A : 0;
}

/// Shrinking with antialias widens the kernel so that no element is skipped.
static double kernelStretch(const ResizeOptions &O, const AxisResize &A) {
  return O.Antialias && *A.Scale < 1 ? 1 / *A.Scale : 1;
}

static double kernelSupport(const ResizeOptions &O) {
  return O.Mode == "nearest" ? 0 : O.Mode == "linear" ? 1 : 2;
}

/// Elements that one output element is made of; 0 where that is absurd.
static size_t tapCount(const ResizeOptions &O, const AxisResize &A) {
  if (O.Mode == "nearest")
    return 1;
  double Stretch = kernelStretch(O, A);
  double Count =
      std::ceil(2 * kernelSupport(O) * Stretch) + (Stretch > 1 ? 1 : 0);
  return Count <= 1024 ? static_cast<size_t>(Count) : 0;
}

static Taps numericTaps(const ResizeOptions &O, const AxisResize &A) {
  auto In = *A.In.asConstant(), Out = *A.Out.asConstant();
  double Support = kernelSupport(O), Stretch = kernelStretch(O, A);
  Taps T;
  T.Count = tapCount(O, A);
  size_t Columns = static_cast<size_t>(Out);
  T.Index.resize(T.Count * Columns);
  T.Weight.resize(T.Count * Columns, 1);
  T.Outside.resize(Columns, false);
  for (size_t X = 0; X < Columns; ++X) {
    double Source = sourceCoordinate(O, A, static_cast<int64_t>(X));
    if (O.Coordinates == "tf_crop_and_resize")
      T.Outside[X] = Source < 0 || Source > static_cast<double>(In - 1);
    double First = O.Mode == "nearest"
                       ? nearestIndex(O.Nearest, Source)
                       : std::floor(Source - Support * Stretch) + 1;
    double Sum = 0;
    for (size_t K = 0; K < T.Count; ++K) {
      double At = First + static_cast<double>(K);
      double Weight =
          O.Mode == "nearest" ? 1 : kernelAt(O, (At - Source) / Stretch);
      bool Beyond = At < 0 || At > static_cast<double>(In - 1);
      if (O.ExcludeOutside && Beyond && O.Mode != "nearest")
        Weight = 0;
      Sum += Weight;
      T.Weight[K * Columns + X] = static_cast<float>(Weight);
      T.Index[K * Columns + X] = static_cast<int64_t>(std::clamp(
          At, 0.0, static_cast<double>(std::max<int64_t>(In, 1) - 1)));
    }
    if ((O.ExcludeOutside || Stretch > 1) && Sum != 0)
      for (size_t K = 0; K < T.Count; ++K)
        T.Weight[K * Columns + X] =
            static_cast<float>(T.Weight[K * Columns + X] / Sum);
  }
  return T;
}

/// Indices and weights are tables of the output's length.
static constexpr int64_t LongestAxis = 1 << 20;

/// A vector as it broadcasts along `Axis`.
static Value along(NodeImport &N, Value V, int64_t Axis, int64_t Rank) {
  if (!V)
    return {};
  Dims Sizes(static_cast<size_t>(Rank), Expr(1));
  Sizes[static_cast<size_t>(Axis)] = N.dims(V)[0];
  return N.reshape(V, Sizes);
}

static Value resizeByNumbers(NodeImport &N, Value X, int64_t Axis,
                             const ResizeOptions &O, const AxisResize &A) {
  auto Out = *A.Out.asConstant();
  if (tapCount(O, A) == 0 || Out > LongestAxis)
    return N.unsupported("resizes " + A.In.str() + " to " + A.Out.str());
  Taps T = numericTaps(O, A);
  auto Columns = static_cast<size_t>(Out);
  std::string Suffix = std::to_string(Axis) + ".";
  Value Sum;
  for (size_t K = 0; K < T.Count; ++K) {
    std::string Name = Suffix + std::to_string(K);
    std::vector<int64_t> Index(T.Index.begin() + K * Columns,
                               T.Index.begin() + (K + 1) * Columns);
    Value Tap = N.gather(
        X, N.data(Tensor::ofIntegers("index" + Name, {Out}, Index)), Axis);
    if (T.Count > 1) {
      std::vector<float> Weight(T.Weight.begin() + K * Columns,
                                T.Weight.begin() + (K + 1) * Columns);
      Value W = N.data(Tensor::ofFloats("weight" + Name, {Out}, Weight));
      Tap = N.mul(Tap, N.cast(along(N, W, Axis, N.rank(X)), N.element(X)));
    }
    Sum = Sum ? N.add(Sum, Tap) : Tap;
  }
  bool AnyOutside = llvm::is_contained(T.Outside, true);
  if (!AnyOutside)
    return Sum;
  std::vector<int64_t> Flags(T.Outside.begin(), T.Outside.end());
  Value Outside =
      N.compare(Predicate::ne,
                N.data(Tensor::ofIntegers("outside" + Suffix, {Out}, Flags)),
                N.scalarInt(0, N.i64()));
  return N.select(along(N, Outside, Axis, N.rank(X)),
                  N.like(O.Extrapolation, X), Sum);
}

//===----------------------------------------------------------------------===//
// Taps computed when the model runs
//===----------------------------------------------------------------------===//

static Value coordinates(NodeImport &N, const ResizeOptions &O,
                         const AxisResize &A) {
  Value At = N.iota({A.Out}, 0, N.f32());
  Value In = N.sizeScalar(A.In, N.f32()), Out = N.sizeScalar(A.Out, N.f32());
  Value Scale = A.Scale        ? N.scalar(*A.Scale, N.f32())
                : A.ScaleInput ? A.ScaleInput
                               : N.div(Out, In);
  if (O.Coordinates == "align_corners") {
    Value Steps = N.addScalar(N.mul(In, Scale), -1);
    // One output element sits at 0, which 0 * anything finite is.
    Value Zero = N.scalar(0, N.f32());
    Steps = N.select(N.compare(Predicate::eq, Steps, Zero),
                     N.scalar(1, N.f32()), Steps);
    return N.div(N.mul(At, N.addScalar(In, -1)), Steps);
  }
  if (O.Coordinates == "asymmetric")
    return N.div(At, Scale);
  Value Half = N.div(N.addScalar(At, 0.5), Scale);
  if (O.Coordinates == "tf_half_pixel_for_nn")
    return Half;
  return N.addScalar(Half, -0.5);
}

static Value resizeBySizes(NodeImport &N, Value X, int64_t Axis,
                           const ResizeOptions &O, const AxisResize &A) {
  bool Simple = O.Coordinates == "half_pixel" ||
                O.Coordinates == "asymmetric" ||
                O.Coordinates == "align_corners" ||
                O.Coordinates == "tf_half_pixel_for_nn" ||
                O.Coordinates == "pytorch_half_pixel";
  if (O.Mode == "cubic" || O.Antialias || O.ExcludeOutside || !Simple)
    return N.unsupportedOn("mode " + O.Mode + " with " + O.Coordinates, A.In);
  if (O.Coordinates == "pytorch_half_pixel") {
    // One output element is taken from 0; whether there is one must be known.
    if (!A.Out.isConstant())
      return N.unsupported("pytorch_half_pixel to a size of " + A.Out.str() +
                           ", which is known only at run time");
    if (A.Out == Expr(1))
      return N.sliceAxis(X, Axis, 0, 1);
  }
  Value Source = coordinates(N, O, A);
  Value Last = N.sizeScalar(A.In - 1, N.i64());
  auto Clamp = [&](Value V) {
    return N.min(N.max(N.cast(V, N.i64()), N.scalarInt(0, N.i64())), Last);
  };
  if (O.Mode == "nearest") {
    Value Index;
    if (O.Nearest == "floor")
      Index = N.unary<FloorOp>(Source);
    else if (O.Nearest == "ceil")
      Index = N.unary<CeilOp>(Source);
    else if (O.Nearest == "round_prefer_ceil")
      Index = N.unary<FloorOp>(N.addScalar(Source, 0.5));
    else
      Index = N.unary<CeilOp>(N.addScalar(Source, -0.5));
    return N.gather(X, Clamp(Index), Axis);
  }
  Value Low = N.unary<FloorOp>(Source);
  Value Part =
      N.cast(along(N, N.sub(Source, Low), Axis, N.rank(X)), N.element(X));
  Value A0 = N.gather(X, Clamp(Low), Axis);
  Value A1 = N.gather(X, Clamp(N.addScalar(Low, 1)), Axis);
  return N.add(A0, N.mul(N.sub(A1, A0), Part));
}

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

/// The factor that sizes were made with, where only the results are known: it
/// is that of one axis, and gives the sizes of all. None if no axis has it.
static std::optional<double> factorBehind(ArrayRef<AxisResize> Axes) {
  for (const AxisResize &A : Axes)
    if (llvm::all_of(Axes, [&](const AxisResize &Other) {
          return resizedBy(*A.Scale, Other) ==
                 static_cast<double>(*Other.Out.asConstant());
        }))
      return A.Scale;
  return std::nullopt;
}

/// Sizes after keep_aspect_ratio_policy, which takes one factor for all axes.
static bool keepAspect(NodeImport &N, std::vector<AxisResize> &Axes) {
  std::string Policy = N.stringAttribute("keep_aspect_ratio_policy", "stretch");
  if (Policy == "stretch")
    return true;
  if (Policy != "not_larger" && Policy != "not_smaller") {
    N.fail(Code::ImportAttributeValue,
           "attribute 'keep_aspect_ratio_policy' is '" + printable(Policy) +
               "'");
    return false;
  }
  std::optional<double> Factor;
  for (const AxisResize &A : Axes) {
    if (!A.Scale) {
      N.unsupported("keep_aspect_ratio_policy on sizes known only at run "
                    "time");
      return false;
    }
    bool Better = Factor && (Policy == "not_larger" ? *A.Scale > *Factor
                                                    : *A.Scale < *Factor);
    if (!Better)
      Factor = A.Scale;
  }
  // The declared output has the sizes that the policy gave.
  if (N.hasInput(3) && !N.contents(3))
    Factor = factorBehind(Axes);
  if (!Factor) {
    N.unsupported("keep_aspect_ratio_policy on sizes known only at run time");
    return false;
  }
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

/// Scales that are an input of the model; the sizes are then the declared ones.
static std::optional<std::vector<AxisResize>>
runTimeScales(NodeImport &N, Value X, ArrayRef<int64_t> Axes,
              ArrayRef<Expr> Declared) {
  std::vector<AxisResize> Result;
  Value Scales = N.input(2);
  if (!Scales || N.rank(Scales) != 1)
    return std::nullopt;
  for (size_t I = 0; I < Axes.size(); ++I) {
    AxisResize A;
    A.In = N.dims(X)[static_cast<size_t>(Axes[I])];
    A.Out = Declared[static_cast<size_t>(Axes[I])];
    A.ScaleInput = N.reshape(
        N.cast(N.sliceAxis(Scales, 0, static_cast<int64_t>(I), 1), N.f32()),
        {});
    Result.push_back(A);
  }
  return Result;
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
  if (UseScales && !Scales && Declared)
    return runTimeScales(N, X, Axes, *Declared);
  if (!UseScales && !N.contents(3) && Declared && N.hasInput(3)) {
    Sizes.emplace();
    for (int64_t A : Axes)
      Sizes->push_back((*Declared)[static_cast<size_t>(A)]);
  } else if (UseScales) {
    Factors = N.knownReals(2, "scales");
  } else {
    Sizes = N.knownSizes(3, "sizes");
  }
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
          N.unsupportedOn(What, A.In);
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
    bool Numbers = A.In.isConstant() && A.Out.isConstant() && A.Scale;
    X = Numbers ? resizeByNumbers(N, X, Axes[I], O, A)
                : resizeBySizes(N, X, Axes[I], O, A);
  }
  N.result(0, X ? N.cast(X, Stored) : X);
}

ArrayRef<Rule> resizeRules() {
  static const Rule Rows[] = {
      {"", "Resize", 10, Newest, importResize,
       "scales must follow from constants and sizes, sizes also from elements "
       "of small inputs; where a size is "
       "known only at run time, scales are fractions by 64 at most, and cubic, "
       "antialias, exclude_outside, keep_aspect_ratio_policy, "
       "half_pixel_symmetric, tf_crop_and_resize and, to a size that is not "
       "known, pytorch_half_pixel do not compile"},
      {"", "Upsample", 1, 9, importResize,
       "scales must be known when compiling"},
  };
  return Rows;
}

} // namespace kpc::onnx
