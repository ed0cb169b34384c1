//===- KernelText.h - Kernels in their linalg form, as text -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TEST_UNIT_HOST_KERNELTEXT_H
#define KPC_TEST_UNIT_HOST_KERNELTEXT_H

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace kpc::testing {

/// A dimension: a number, or -1 for the kernel's size argument `%n`.
using Dims = std::vector<int64_t>;

/// Writes a kernel: buffers first, then one size `%n` if any dim is dynamic.
class KernelText {
public:
  explicit KernelText(std::string Name) : Name(std::move(Name)) {}

  static std::string shape(const Dims &D, const std::string &Element) {
    std::string Text;
    for (int64_t Size : D)
      Text += (Size < 0 ? "?" : std::to_string(Size)) + "x";
    return Text + Element;
  }
  static std::string tensor(const Dims &D, const std::string &Element) {
    return "tensor<" + shape(D, Element) + ">";
  }

  void input(const std::string &Arg, const Dims &D,
             const std::string &Element) {
    view(Arg, D, Element);
    Body << "  %" << Arg << "t = bufferization.to_tensor %" << Arg
         << "m restrict : " << memref(D, Element) << " to "
         << tensor(D, Element) << "\n";
  }
  void output(const std::string &Arg, const Dims &D,
              const std::string &Element) {
    view(Arg, D, Element);
  }
  void store(const std::string &Value, const std::string &Arg, const Dims &D,
             const std::string &Element) {
    Body << "  bufferization.materialize_in_destination " << Value
         << " in restrict writable %" << Arg << "m : (" << tensor(D, Element)
         << ", " << memref(D, Element) << ") -> ()\n";
  }
  /// `%Name = tensor.empty`.
  void empty(const std::string &Value, const Dims &D,
             const std::string &Element) {
    Body << "  " << Value << " = tensor.empty(" << dynamic(D)
         << ") : " << tensor(D, Element) << "\n";
  }
  void fill(const std::string &Value, const std::string &Constant,
            const Dims &D, const std::string &Element) {
    empty(Value + "e", D, Element);
    Body << "  " << Value << "c = arith.constant " << Constant << " : "
         << Element << "\n  " << Value << " = linalg.fill ins(" << Value
         << "c : " << Element << ") outs(" << Value
         << "e : " << tensor(D, Element) << ") -> " << tensor(D, Element)
         << "\n";
  }
  struct Operand {
    std::string Value;
    Dims D;
    std::string Element;
    std::string Map; ///< "(a, b) -> (a)"
  };
  /// `Value = linalg.generic` with one result; `Code` is the body.
  void generic(const std::string &Value, const std::vector<Operand> &Ins,
               const Operand &Out, const std::string &Iterators,
               const std::string &Arguments, const std::string &Code) {
    Body << "  " << Value << " = linalg.generic {indexing_maps = [";
    for (const Operand &In : Ins)
      Body << "affine_map<" << In.Map << ">, ";
    Body << "affine_map<" << Out.Map << ">], iterator_types = [";
    for (size_t I = 0; I < Iterators.size(); ++I)
      Body << (I ? ", " : "")
           << (Iterators[I] == 'p' ? "\"parallel\"" : "\"reduction\"");
    Body << "]}";
    if (!Ins.empty()) {
      Body << " ins(";
      for (size_t I = 0; I < Ins.size(); ++I)
        Body << (I ? ", " : "") << Ins[I].Value;
      Body << " : ";
      for (size_t I = 0; I < Ins.size(); ++I)
        Body << (I ? ", " : "") << tensor(Ins[I].D, Ins[I].Element);
      Body << ")";
    }
    Body << " outs(" << Out.Value << " : " << tensor(Out.D, Out.Element)
         << ") {\n  ^bb0(" << Arguments << "):\n"
         << Code << "  } -> " << tensor(Out.D, Out.Element) << "\n";
  }
  void raw(const std::string &Code) { Body << Code; }

  std::string str() const {
    return "func.func @" + Name + "(" + Arguments +
           (Dynamic ? ", %n: index" : "") + ") {\n" + Body.str() +
           "  return\n}\n";
  }

private:
  /// A dynamic dim is the first, or the last of two: `Size` is the stride then.
  static std::string strides(const Dims &D, const std::string &Size) {
    if (D.size() == 2 && D[1] < 0)
      return Size + ", 1";
    std::string Text;
    int64_t Stride = 1;
    for (size_t I = D.size(); I-- > 0;) {
      Text = std::to_string(Stride) + (Text.empty() ? "" : ", ") + Text;
      if (D[I] >= 0)
        Stride *= D[I];
    }
    return Text;
  }
  static std::string memref(const Dims &D, const std::string &Element) {
    return "memref<" + shape(D, Element) + ", strided<[" + strides(D, "?") +
           "]>>";
  }
  static std::string dynamic(const Dims &D) {
    for (int64_t Size : D)
      if (Size < 0)
        return "%n";
    return "";
  }
  void view(const std::string &Arg, const Dims &D, const std::string &Element) {
    Arguments +=
        (Arguments.empty() ? "%" : ", %") + Arg + ": memref<" + Element + ">";
    Body << "  %" << Arg << "m = memref.reinterpret_cast %" << Arg
         << " to offset: [0], sizes: [";
    for (size_t I = 0; I < D.size(); ++I) {
      Dynamic |= D[I] < 0;
      Body << (I ? ", " : "") << (D[I] < 0 ? "%n" : std::to_string(D[I]));
    }
    Body << "], strides: [" << strides(D, "%n") << "] : memref<" << Element
         << "> to " << memref(D, Element) << "\n";
  }

  std::string Name, Arguments;
  std::ostringstream Body;
  bool Dynamic = false;
};

/// A convolution, channels last. `N` may be -1.
struct Conv {
  int64_t N, H, W, C, O;
  int64_t KH = 1, KW = 1, Stride = 1, Pad = 0, Dilation = 1;
  bool Depthwise = false; ///< O is C, one filter for each channel
  bool BiasRelu = true;
  /// x goes through a relu first; without padding only.
  bool ReluBefore = false;

  int64_t oh() const {
    return (H + 2 * Pad - Dilation * (KH - 1) - 1) / Stride + 1;
  }
  int64_t ow() const {
    return (W + 2 * Pad - Dilation * (KW - 1) - 1) / Stride + 1;
  }

  /// Buffers: x, w, b, y.
  std::string text() const {
    KernelText K("conv");
    Dims X{N, H, W, C}, P{N, H + 2 * Pad, W + 2 * Pad, C};
    Dims Wt = Depthwise ? Dims{KH, KW, C} : Dims{KH, KW, C, O};
    Dims Y{N, oh(), ow(), O};
    K.input("x", X, "f32");
    K.input("w", Wt, "f32");
    K.input("b", {O}, "f32");
    K.output("y", Y, "f32");
    std::string Source = "%xt";
    const std::string Id = "(a, b, c, d) -> (a, b, c, d)";
    if (ReluBefore) {
      K.empty("%xre", X, "f32");
      K.generic("%xr", {{Source, X, "f32", Id}}, {"%xre", X, "f32", Id}, "pppp",
                "%e: f32, %o: f32",
                "    %z = arith.constant 0.0 : f32\n"
                "    %m = arith.maximumf %e, %z : f32\n"
                "    linalg.yield %m : f32\n");
      Source = "%xr";
    }
    if (Pad > 0) {
      K.empty("%pe", P, "f32");
      std::ostringstream Code;
      Code << "    %zero = arith.constant 0.0 : f32\n"
              "    %c0 = arith.constant 0 : index\n"
              "    %p = arith.constant "
           << Pad
           << " : index\n"
              "    %hh = arith.constant "
           << H
           << " : index\n"
              "    %ww = arith.constant "
           << W
           << " : index\n"
              "    %i0 = linalg.index 0 : index\n"
              "    %i1 = linalg.index 1 : index\n"
              "    %i2 = linalg.index 2 : index\n"
              "    %i3 = linalg.index 3 : index\n"
              "    %h = arith.subi %i1, %p : index\n"
              "    %v = arith.subi %i2, %p : index\n"
              "    %1 = arith.cmpi sge, %h, %c0 : index\n"
              "    %2 = arith.cmpi slt, %h, %hh : index\n"
              "    %3 = arith.cmpi sge, %v, %c0 : index\n"
              "    %4 = arith.cmpi slt, %v, %ww : index\n"
              "    %5 = arith.andi %1, %2 : i1\n"
              "    %6 = arith.andi %3, %4 : i1\n"
              "    %7 = arith.andi %5, %6 : i1\n"
              "    %8 = scf.if %7 -> (f32) {\n"
              "      %e = tensor.extract %xt[%i0, %h, %v, %i3] : "
           << KernelText::tensor(X, "f32")
           << "\n      scf.yield %e : f32\n    } else {\n"
              "      scf.yield %zero : f32\n    }\n"
              "    linalg.yield %8 : f32\n";
      K.generic("%pad", {}, {"%pe", P, "f32", Id}, "pppp", "%o: f32",
                Code.str());
      Source = "%pad";
    }
    K.fill("%init", "0.0", Y, "f32");
    auto Window = [&](const char *Out, const char *Tap) {
      return std::string(Out) + " * " + std::to_string(Stride) + " + " + Tap +
             " * " + std::to_string(Dilation);
    };
    const std::string Mac = "    %1 = arith.mulf %p, %q : f32\n"
                            "    %2 = arith.addf %acc, %1 : f32\n"
                            "    linalg.yield %2 : f32\n";
    if (Depthwise)
      K.generic("%s",
                {{Source, P, "f32",
                  "(n, oh, ow, o, kh, kw) -> (n, " + Window("oh", "kh") + ", " +
                      Window("ow", "kw") + ", o)"},
                 {"%wt", Wt, "f32", "(n, oh, ow, o, kh, kw) -> (kh, kw, o)"}},
                {"%init", Y, "f32", "(n, oh, ow, o, kh, kw) -> (n, oh, ow, o)"},
                "pppprr", "%p: f32, %q: f32, %acc: f32", Mac);
    else
      K.generic(
          "%s",
          {{Source, P, "f32",
            "(n, oh, ow, o, kh, kw, c) -> (n, " + Window("oh", "kh") + ", " +
                Window("ow", "kw") + ", c)"},
           {"%wt", Wt, "f32", "(n, oh, ow, o, kh, kw, c) -> (kh, kw, c, o)"}},
          {"%init", Y, "f32", "(n, oh, ow, o, kh, kw, c) -> (n, oh, ow, o)"},
          "pppprrr", "%p: f32, %q: f32, %acc: f32", Mac);
    if (BiasRelu) {
      K.empty("%re", Y, "f32");
      K.generic(
          "%r",
          {{"%s", Y, "f32", Id}, {"%bt", {O}, "f32", "(a, b, c, d) -> (d)"}},
          {"%re", Y, "f32", Id}, "pppp", "%p: f32, %q: f32, %o: f32",
          "    %zero = arith.constant 0.0 : f32\n"
          "    %1 = arith.addf %p, %q : f32\n"
          "    %2 = arith.maximumf %1, %zero : f32\n"
          "    linalg.yield %2 : f32\n");
    }
    K.store(BiasRelu ? "%r" : "%s", "y", Y, "f32");
    return K.str();
  }
};

/// C[batch, M, N] = A[batch, M, K] * B; M may be -1.
struct Matmul {
  int64_t Batch, M, N, K;
  bool SharedB = true;      ///< B[K, N] instead of B[batch, K, N]
  bool TransposedB = false; ///< B[…, N, K]
  std::string Element = "f32", Accumulator = "f32";

  Dims b() const {
    Dims D = TransposedB ? Dims{N, K} : Dims{K, N};
    if (!SharedB)
      D.insert(D.begin(), Batch);
    return D;
  }

  /// Buffers: a, b, c.
  std::string text() const {
    KernelText T("matmul");
    Dims A{Batch, M, K}, C{Batch, M, N};
    T.input("a", A, Element);
    T.input("b", b(), Element);
    T.output("c", C, Accumulator);
    bool Float = Accumulator[0] == 'f';
    T.fill("%init", Float ? "0.0" : "0", C, Accumulator);
    std::string Code;
    std::string P = "%p", Q = "%q";
    if (Element != Accumulator) {
      std::string Op = Float ? "arith.extf" : "arith.extsi";
      Code += "    %pe = " + Op + " %p : " + Element + " to " + Accumulator +
              "\n    %qe = " + Op + " %q : " + Element + " to " + Accumulator +
              "\n";
      P = "%pe";
      Q = "%qe";
    }
    std::string F = Float ? "f" : "i";
    Code += "    %1 = arith.mul" + F + " " + P + ", " + Q + " : " +
            Accumulator + "\n    %2 = arith.add" + F +
            " %acc, %1 : " + Accumulator +
            "\n    linalg.yield %2 : " + Accumulator + "\n";
    std::string BMap = TransposedB ? "n, k" : "k, n";
    if (!SharedB)
      BMap = "b, " + BMap;
    T.generic("%s",
              {{"%at", A, Element, "(b, m, n, k) -> (b, m, k)"},
               {"%bt", b(), Element, "(b, m, n, k) -> (" + BMap + ")"}},
              {"%init", C, Accumulator, "(b, m, n, k) -> (b, m, n)"}, "pppr",
              "%p: " + Element + ", %q: " + Element + ", %acc: " + Accumulator,
              Code);
    T.store("%s", "c", C, Accumulator);
    return T.str();
  }
};

} // namespace kpc::testing

#endif // KPC_TEST_UNIT_HOST_KERNELTEXT_H
