//===- BuiltinNumbers.cpp - Numbers and truths of a program ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Arithmetic as Python has it. Integers may be sizes with names; where a
/// comparison then depends on the run, it is unsettled, and only what branches
/// on it fails.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/torchscript/Evaluator.h"
#include "compiler/import/torchscript/Types.h"

#include "llvm/ADT/StringMap.h"

#include <cmath>
#include <numeric>

namespace kpc::torchscript {

using llvm::StringRef;
using Kind = Datum::Kind;
using shape::Expr;

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

std::optional<bool> Evaluator::same(const Datum &A, const Datum &B,
                                    unsigned Level) {
  if (A.isNumber() && B.isNumber()) {
    if (A.Is != Kind::Float && B.Is != Kind::Float)
      return Into.facts().isEqual(A.Int, B.Int);
    std::optional<double> X = A.asReal(), Y = B.asReal();
    return X && Y ? std::optional(*X == *Y) : std::nullopt;
  }
  if (A.Is != B.Is)
    return false;
  if (A.isSequence()) {
    if (A.Items->size() != B.Items->size())
      return false;
    // A list may hold itself, or one other many times over.
    if (!charge(1) || Level > DeepestLists) {
      fail(Code::ImportTooDeep, DeepLists);
      return std::nullopt;
    }
    for (size_t I = 0; I < A.Items->size(); ++I) {
      std::optional<bool> Equal = same((*A.Items)[I], (*B.Items)[I], Level + 1);
      if (!Equal || !*Equal)
        return Equal;
    }
    return true;
  }
  // All tensors lie on one device.
  if (A.Is == Kind::Device || A.Is == Kind::None)
    return true;
  if (A.Is == Kind::Object)
    return A.Object == B.Object;
  return A.Text == B.Text;
}

static std::string shown(const Datum &V, unsigned Level = 0) {
  constexpr unsigned MostLevels = 3;
  if (V.isSequence()) {
    if (Level == MostLevels)
      return "[...]";
    std::string Out;
    for (size_t I = 0; I < V.Items->size() && I < 20; ++I)
      Out += (I ? ", " : "") + shown((*V.Items)[I], Level + 1);
    return "[" + Out + (V.Items->size() > 20 ? ", ...]" : "]");
  }
  if (V.Is == Datum::Kind::Text)
    return "'" + V.Text + "'";
  if (V.Is == Kind::Float)
    return std::to_string(V.Float);
  return V.Is == Kind::Int || V.Is == Kind::Bool ? V.Int.str() : V.kindText();
}

Datum Evaluator::compare(const std::string &Name, const Datum &A,
                         const Datum &B) {
  std::optional<bool> Result;
  if (Name == "eq" || Name == "ne") {
    Result = same(A, B);
    if (Result && Name == "ne")
      Result = !*Result;
  } else if (A.Is == Kind::Text && B.Is == Kind::Text) {
    int Order = A.Text.compare(B.Text);
    Result = Name == "lt"   ? Order < 0
             : Name == "le" ? Order <= 0
             : Name == "gt" ? Order > 0
                            : Order >= 0;
  } else if (!A.isNumber() || !B.isNumber()) {
    return fail(Code::ImportUnsupported,
                "compares " + A.kindText() + " with " + B.kindText());
  } else if (A.Is == Kind::Float || B.Is == Kind::Float) {
    std::optional<double> X = A.asReal(), Y = B.asReal();
    if (X && Y)
      Result = Name == "lt"   ? *X < *Y
               : Name == "le" ? *X <= *Y
               : Name == "gt" ? *X > *Y
                              : *X >= *Y;
  } else {
    // a < b is a + 1 <= b of integers.
    const shape::Facts &F = Into.facts();
    Expr X = A.Int, Y = B.Int;
    if (Name == "gt" || Name == "ge")
      std::swap(X, Y);
    bool Strict = Name == "lt" || Name == "gt";
    Result = F.isLessOrEqual(Strict ? X + 1 : X, Y);
  }
  if (Result)
    return Datum::ofBool(*Result);
  Datum Open =
      Datum::ofText("it compares the sizes " + shown(A) + " and " + shown(B),
                    Kind::Unsettled);
  if (A.Is == Kind::Int && B.asInt() == 0) {
    Open.Int = A.Int;
    Open.About = Name == "eq"                   ? Datum::Asks::Empty
                 : Name == "ne" || Name == "gt" ? Datum::Asks::NotEmpty
                                                : Datum::Asks::Else;
  }
  if (A.isNumber() && B.isNumber())
    Open.Decider =
        callAten(Name, {{"", scalarTensor(A)}, {"", scalarTensor(B)}}).Text;
  return Open;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

static int64_t floorOf(int64_t A, int64_t B) {
  int64_t Q = A / B;
  return Q - (A % B != 0 && (A < 0) != (B < 0));
}

/// None where both are whole and a step of it is not known.
static std::optional<Expr> whole(StringRef Name, const Expr &A, const Expr &B) {
  std::optional<int64_t> X = A.asConstant(), Y = B.asConstant();
  if (Name == "add")
    return A + B;
  if (Name == "sub")
    return A - B;
  if (Name == "mul")
    return A * B;
  if (Name == "min" || Name == "minimum")
    return Expr::min(A, B);
  if (Name == "max" || Name == "maximum")
    return Expr::max(A, B);
  if (Name == "pow" && Y && *Y >= 0 && *Y < 64) {
    Expr Power(1);
    for (int64_t I = 0; I < *Y; ++I)
      Power = Power * A;
    return Power;
  }
  // The quotient of the least number by -1 has no place.
  if (X && Y && *X == INT64_MIN && *Y == -1)
    return std::nullopt;
  if (Name == "floordiv" || Name == "floor_divide") {
    if (X && Y && *Y != 0)
      return Expr(floorOf(*X, *Y));
    return Y && *Y > 0 ? std::optional(A.floorDiv(B)) : std::nullopt;
  }
  if (Name == "remainder") {
    if (X && Y && *Y != 0) {
      // As Python has it: of the divisor's sign.
      int64_t Rest = *X % *Y;
      return Expr(Rest && (Rest < 0) != (*Y < 0) ? Rest + *Y : Rest);
    }
    return Y && *Y > 0 ? std::optional(A.mod(B)) : std::nullopt;
  }
  if (!X || !Y)
    return std::nullopt;
  if (Name == "__and__" || Name == "bitwise_and")
    return Expr(*X & *Y);
  if (Name == "__or__" || Name == "bitwise_or")
    return Expr(*X | *Y);
  if (Name == "__xor__" || Name == "bitwise_xor")
    return Expr(*X ^ *Y);
  if (Name == "__lshift__" && *Y >= 0 && *Y < 62)
    return A * Expr(int64_t(1) << *Y);
  if (Name == "__rshift__" && *Y >= 0 && *Y < 63)
    return Expr(*X >> *Y);
  if (Name == "gcd" && *X != INT64_MIN && *Y != INT64_MIN)
    return Expr(std::gcd(*X, *Y));
  return std::nullopt;
}

static std::optional<double> real(StringRef Name, double A, double B) {
  if (Name == "add")
    return A + B;
  if (Name == "sub")
    return A - B;
  if (Name == "mul")
    return A * B;
  if (Name == "div" || Name == "true_divide")
    return B != 0 ? std::optional(A / B) : std::nullopt;
  if (Name == "floordiv" || Name == "floor_divide")
    return B != 0 ? std::optional(std::floor(A / B)) : std::nullopt;
  if (Name == "remainder")
    return B != 0 ? std::optional(A - std::floor(A / B) * B) : std::nullopt;
  if (Name == "fmod")
    return B != 0 ? std::optional(std::fmod(A, B)) : std::nullopt;
  if (Name == "pow")
    return std::pow(A, B);
  if (Name == "atan2")
    return std::atan2(A, B);
  if (Name == "copysign")
    return std::copysign(A, B);
  if (Name == "hypot")
    return std::hypot(A, B);
  if (Name == "mathremainder")
    return B != 0 ? std::optional(std::remainder(A, B)) : std::nullopt;
  if (Name == "ldexp" && std::fabs(B) < 1e6)
    return std::ldexp(A, static_cast<int>(B));
  if (Name == "log")
    return std::log(A) / std::log(B);
  if (Name == "min" || Name == "minimum")
    return std::min(A, B);
  if (Name == "max" || Name == "maximum")
    return std::max(A, B);
  return std::nullopt;
}

/// A real that comes of sizes is a tensor of no dimensions: the run computes
/// it. Of a size over or times a number it stays known what the whole part is.
Datum Evaluator::openReal(const std::string &Name,
                          const std::vector<Datum> &Of) {
  PassedList Given;
  for (const Datum &D : Of) {
    // Operators take a known number behind a tensor.
    bool Stays = D.isTensor() || (D.asReal() && !Given.empty());
    Datum Real = D;
    if (!Stays)
      Real = callAten(
          "scalar_tensor",
          {{"", D},
           {"dtype", Datum::ofInt(numberOf(torch::ScalarType::Float))}});
    if (!Stays && D.Is == Kind::Int && !Bad)
      Ratios.insert_or_assign(Real.Text, Ratio{D.Int, 1});
    Given.push_back({"", Real});
  }
  return Bad || Name.empty() ? Given.front().Value : callAten(Name, Given);
}

/// `Of` times `By`, or over it, for factors that are whole numbers over powers
/// of two.
std::optional<Evaluator::Ratio> Evaluator::scaled(const Ratio &Of, double By,
                                                  bool Over) const {
  constexpr double Most = 1 << 20;
  if (!(By > 0) || By > Most || Of.Below == 0)
    return std::nullopt;
  int64_t Below = 1;
  while (By != std::floor(By) && Below < (1 << 20))
    By *= 2, Below *= 2;
  if (By != std::floor(By) || By > Most)
    return std::nullopt;
  auto Whole = static_cast<int64_t>(By);
  Ratio R{Of.Above * (Over ? Below : Whole), Of.Below * (Over ? Whole : Below)};
  return R.Below <= (1 << 20) ? std::optional(R) : std::nullopt;
}

/// The whole part of a tensor that is a size over a number.
std::optional<Datum> Evaluator::wholePart(StringRef Name, const Datum &Tensor) {
  auto It = Ratios.find(Tensor.Text);
  if (It == Ratios.end() || It->second.Below == 0)
    return std::nullopt;
  const auto &[Above, Below] = It->second;
  const shape::Facts &F = Into.facts();
  if (Name == "ceil")
    return Datum::ofInt(F.simplify(Above.ceilDiv(Expr(Below))));
  if (Name == "floor" || F.range(Above).Min >= 0)
    return Datum::ofInt(F.simplify(Above.floorDiv(Expr(Below))));
  return std::nullopt;
}

Datum Evaluator::arithmetic(const std::string &Name, const Datum &A,
                            const Datum &B) {
  static constexpr StringRef OfReals[] = {
      "div",   "true_divide",   "atan2", "fmod", "copysign",
      "hypot", "mathremainder", "ldexp", "log"};
  bool Reals = A.Is == Kind::Float || B.Is == Kind::Float ||
               llvm::is_contained(OfReals, StringRef(Name));
  if (!Reals && Name == "pow" && B.asInt().value_or(0) < 0)
    Reals = true;
  if (!Reals) {
    std::optional<Expr> E = whole(Name, A.Int, B.Int);
    if (E && E->overflowed())
      return fail(Code::ImportTooLarge, "a number leaves 64 bits", FewerRounds);
    if (!E)
      return unknownNumber("'" + Name + "' of " + shown(A) + " and " +
                           shown(B) + " is none");
    bool Truths = A.Is == Kind::Bool && B.Is == Kind::Bool &&
                  StringRef(Name).starts_with("_");
    Datum Result = Datum::ofInt(Into.facts().simplify(*E));
    if (Truths)
      Result.Is = Kind::Bool;
    return Result;
  }
  std::optional<double> X = A.asReal(), Y = B.asReal();
  std::optional<double> V = X && Y ? real(Name, *X, *Y) : std::nullopt;
  if (!X || !Y)
    return openReal(Name, {A, B});
  if (!V)
    return unknownNumber("'" + Name + "' of " + shown(A) + " and " + shown(B) +
                         " is none");
  return Datum::ofFloat(*V);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Functions of one real.
static std::optional<double> function(StringRef Name, double V) {
  using Function = double (*)(double);
  static const llvm::StringMap<Function> Table = {
      {"sqrt", std::sqrt},
      {"exp", std::exp},
      {"log", std::log},
      {"log2", std::log2},
      {"log10", std::log10},
      {"log1p", std::log1p},
      {"sin", std::sin},
      {"cos", std::cos},
      {"tan", std::tan},
      {"asin", std::asin},
      {"acos", std::acos},
      {"atan", std::atan},
      {"sinh", std::sinh},
      {"cosh", std::cosh},
      {"tanh", std::tanh},
      {"expm1", std::expm1},
      {"fabs", std::fabs},
      {"erf", std::erf},
      {"erfc", std::erfc},
      {"asinh", std::asinh},
      {"acosh", std::acosh},
      {"atanh", std::atanh},
      {"lgamma", std::lgamma},
      {"gamma", std::tgamma},
      {"degrees", [](double V) { return V * 180 / M_PI; }},
      {"radians", [](double V) { return V * M_PI / 180; }}};
  auto It = Table.find(Name);
  return It == Table.end() ? std::nullopt : std::optional(It->second(V));
}

Datum Evaluator::convert(const std::string &Type, const Datum &V) {
  if (Type == "bool") {
    if (V.Is == Kind::Unsettled)
      return V;
    if (std::optional<bool> T = truth(V))
      return Datum::ofBool(*T);
    Datum Open =
        Datum::ofText(V.isTensor() ? "the data of a tensor decides it"
                                   : "the size " + shown(V) + " decides it",
                      Kind::Unsettled);
    if (V.isTensor())
      Open.Decider = V.Text;
    return Open;
  }
  if (Type == "str")
    return Datum::ofText(V.Is == Kind::Text ? V.Text : shown(V));
  Datum N = V;
  if (V.isTensor()) {
    if (Ratios.count(V.Text) && Type == "float")
      return V;
    if (std::optional<Datum> Whole = wholePart("trunc", V);
        Whole && Type == "int")
      return *Whole;
    std::optional<Datum> Held = computedNumber(V);
    if (!Held)
      return unknownNumber("the data of a tensor decides it");
    N = *Held;
  }
  // float("-inf"), int("12")
  if (N.Is == Kind::Text) {
    double Real = 0;
    int64_t Whole = 0;
    if (Type == "float" && !StringRef(N.Text).getAsDouble(Real))
      return Datum::ofFloat(Real);
    if (Type == "int" && !StringRef(N.Text).trim().getAsInteger(10, Whole))
      return Datum::ofInt(Whole);
  }
  if (!N.isNumber())
    return fail(Code::ImportUnsupported, "makes a number of " + N.kindText());
  if (Type == "int") {
    if (N.Is != Kind::Float)
      return Datum::ofInt(N.Int);
    if (!(std::fabs(N.Float) < 9e18))
      return fail(Code::ImportTooLarge, "makes an integer of " + shown(N),
                  FewerRounds);
    return Datum::ofInt(static_cast<int64_t>(N.Float));
  }
  if (std::optional<double> Real = N.asReal())
    return Datum::ofFloat(*Real);
  return openReal("", {N});
}

std::optional<Datum> Evaluator::callNumber(const std::string &Name,
                                           PassedList &A) {
  auto At = [&](size_t I) -> const Datum & { return A[I].Value; };
  size_t Count = A.size();
  // `and` and `or` of a truth and a number that a loop carries.
  if (Count == 2 && (Name == "__and__" || Name == "__or__") &&
      (At(0).Is == Kind::Unsettled || At(1).Is == Kind::Unsettled ||
       At(0).Is == Kind::Bool))
    for (Passed &P : A)
      if (P.Value.isTensor())
        P.Value = convert("bool", P.Value);
  if (Count == 1 && At(0).isTensor() &&
      (Name == "floor" || Name == "ceil" || Name == "trunc"))
    return wholePart(Name, At(0));
  static constexpr StringRef NumberFirst[] = {"add", "sub", "mul", "div",
                                              "floordiv"};
  if (Count == 2 && At(0).isNumber() && At(1).isTensor() &&
      Ratios.count(At(1).Text) &&
      llvm::is_contained(NumberFirst, StringRef(Name)))
    return openReal(Name, {At(0), At(1)});
  bool Numbers =
      Count > 0 && std::all_of(A.begin(), A.end(), [](const Passed &P) {
        return P.Value.isNumber() || P.Value.Is == Kind::Unsettled;
      });
  if (Name == "__not__" && Count == 1) {
    if (std::optional<bool> T = truth(At(0)))
      return Datum::ofBool(!*T);
    Datum Open = At(0).Is == Kind::Unsettled ? At(0) : convert("bool", At(0));
    if (!Open.Decider.empty())
      Open.Decider =
          callAten("logical_not", {{"", tensorNamed(Open.Decider)}}).Text;
    return Open;
  }
  if ((Name == "__is__" || Name == "__isnot__") && Count == 2) {
    std::optional<bool> Same = At(0).isNone() && At(1).isNone();
    if (!At(0).isNone() && !At(1).isNone())
      Same = same(At(0), At(1));
    return Same ? Datum::ofBool(*Same == (Name == "__is__"))
                : Datum::ofText("it asks whether two sizes are one",
                                Kind::Unsettled);
  }
  if (Name == "eq" || Name == "ne" || Name == "lt" || Name == "le" ||
      Name == "gt" || Name == "ge") {
    if (Count != 2 || At(0).isTensor() || At(1).isTensor())
      return std::nullopt;
    return compare(Name, At(0), At(1));
  }
  if (!Numbers)
    return std::nullopt;
  // `and` and `or` of what one side settles.
  bool AnyOpen = std::any_of(A.begin(), A.end(), [](const Passed &P) {
    return P.Value.Is == Kind::Unsettled;
  });
  if (AnyOpen) {
    if (Count != 2 || (Name != "__and__" && Name != "__or__"))
      return std::nullopt;
    bool Settles = Name == "__or__";
    for (const Passed &P : A)
      if (truth(P.Value) == Settles)
        return Datum::ofBool(Settles);
    // The other side says nothing, or data decides both.
    Datum Open = At(0).Is == Kind::Unsettled ? At(0) : At(1);
    if (At(0).Is == Kind::Unsettled && At(1).Is == Kind::Unsettled) {
      bool Both = !At(0).Decider.empty() && !At(1).Decider.empty();
      Open.Decider.clear();
      if (Both)
        Open.Decider = callAten(Settles ? "logical_or" : "logical_and",
                                {{"", tensorNamed(At(0).Decider)},
                                 {"", tensorNamed(At(1).Decider)}})
                           .Text;
    }
    return Open;
  }
  if (Count == 1) {
    if (Name == "neg")
      return At(0).Is == Kind::Float ? Datum::ofFloat(-At(0).Float)
                                     : Datum::ofInt(Expr(0) - At(0).Int);
    if (Name == "abs") {
      if (At(0).Is == Kind::Float)
        return Datum::ofFloat(std::fabs(At(0).Float));
      return Datum::ofInt(
          Into.facts().simplify(Expr::max(At(0).Int, Expr(0) - At(0).Int)));
    }
    if (Name == "floor" || Name == "ceil" || Name == "trunc" ||
        Name == "round") {
      if (At(0).Is != Kind::Float)
        return At(0);
      double V = At(0).Float;
      V = Name == "floor"   ? std::floor(V)
          : Name == "ceil"  ? std::ceil(V)
          : Name == "trunc" ? std::trunc(V)
                            : std::nearbyint(V);
      // math.floor and math.ceil give integers, round a float.
      return Name == "round" ? Datum::ofFloat(V)
                             : convert("int", Datum::ofFloat(V));
    }
    if (Name == "Int" || Name == "IntImplicit")
      return convert("int", At(0));
    if (Name == "Float" || Name == "FloatImplicit")
      return convert("float", At(0));
    if (Name == "Bool")
      return convert("bool", At(0));
    std::optional<double> V = At(0).asReal();
    if (V && (Name == "isnan" || Name == "isinf" || Name == "isfinite"))
      return Datum::ofBool(Name == "isnan"   ? std::isnan(*V)
                           : Name == "isinf" ? std::isinf(*V)
                                             : std::isfinite(*V));
    if (std::optional<int64_t> N = At(0).asInt();
        Name == "factorial" && N && *N >= 0 && *N <= 20) {
      int64_t All = 1;
      for (int64_t I = 2; I <= *N; ++I)
        All *= I;
      return Datum::ofInt(All);
    }
    if (V && (Name == "modf" || Name == "frexp")) {
      double Whole = 0;
      int Exponent = 0;
      Datum Part = Datum::ofFloat(Name == "modf" ? std::modf(*V, &Whole)
                                                 : std::frexp(*V, &Exponent));
      return Datum::ofList({Part, Name == "modf" ? Datum::ofFloat(Whole)
                                                 : Datum::ofInt(Exponent)},
                           Kind::Tuple);
    }
    if (!V && function(Name, 1))
      return openReal(Name, {At(0)});
    std::optional<double> Y = V ? function(Name, *V) : std::nullopt;
    return Y ? std::optional(Datum::ofFloat(*Y)) : std::nullopt;
  }
  static constexpr StringRef Binary[] = {
      "add",      "sub",          "mul",       "div",        "true_divide",
      "floordiv", "floor_divide", "remainder", "fmod",       "pow",
      "__and__",  "__or__",       "__xor__",   "__lshift__", "__rshift__",
      "min",      "max",          "atan2",     "minimum",    "maximum",
      "gcd",      "copysign",     "hypot",     "ldexp",      "mathremainder",
      "log"};
  if (Count == 2 && Name == "divmod") {
    Datum Quotient = arithmetic("floordiv", At(0), At(1)),
          Rest = arithmetic("remainder", At(0), At(1));
    return Datum::ofList({Quotient, Rest}, Kind::Tuple);
  }
  if (Count == 2 && llvm::is_contained(Binary, StringRef(Name)))
    return arithmetic(Name, At(0), At(1));
  return std::nullopt;
}

} // namespace kpc::torchscript
