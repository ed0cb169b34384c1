//===- KernelText.cpp - Writes kernels in linalg form ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "KernelText.h"

#include <algorithm>
#include <cctype>

namespace kpc::testing {

static bool isNumber(const std::string &Dim) {
  return std::isdigit(static_cast<unsigned char>(Dim[0]));
}

static std::string join(const std::vector<std::string> &Parts) {
  std::string Text;
  for (const std::string &P : Parts)
    Text += (Text.empty() ? "" : ", ") + P;
  return Text;
}

void KernelText::addSizes(const std::vector<std::string> &Dims) {
  for (const std::string &D : Dims)
    if (!isNumber(D) && std::find(Sizes.begin(), Sizes.end(), D) == Sizes.end())
      Sizes.push_back(D);
}

KernelText &KernelText::input(std::string Buffer, std::string Type,
                              std::vector<std::string> Dims) {
  addSizes(Dims);
  Tensors[Buffer] = {Type, Dims};
  Buffers.push_back({Buffer, Type, Dims, false});
  return *this;
}

KernelText &KernelText::output(std::string Buffer, std::string Type,
                               std::vector<std::string> Dims) {
  input(Buffer, Type, Dims);
  Buffers.back().IsOutput = true;
  return *this;
}

KernelText &KernelText::fact(std::string Size, std::string Text) {
  std::string &F = Facts[Size];
  F += (F.empty() ? "" : ", ") + Text;
  return *this;
}

std::string KernelText::tensorType(const std::string &Type,
                                   const std::vector<std::string> &Dims) const {
  std::string Text = "tensor<";
  for (const std::string &D : Dims)
    Text += (isNumber(D) ? D : "?") + std::string("x");
  return Text + Type + ">";
}

std::string
KernelText::dynamicSizes(const std::vector<std::string> &Dims) const {
  std::vector<std::string> Names;
  for (const std::string &D : Dims)
    if (!isNumber(D))
      Names.push_back("%" + D);
  return join(Names);
}

KernelText &
KernelText::generic(std::string Result, std::vector<std::string> Maps,
                    std::string Kinds, std::vector<std::string> Inputs,
                    std::string Code, std::string Yield, std::string Init,
                    std::string Type, std::vector<std::string> Dims) {
  if (Type.empty())
    std::tie(Type, Dims) = Tensors.at(Result);
  Tensors[Result] = {Type, Dims};
  std::string Out = tensorType(Type, Dims), R = "%" + Result;
  std::string Start = R + "_empty";
  Body += "  " + Start + " = tensor.empty(" + dynamicSizes(Dims) +
          ") : " + Out + "\n";
  if (!Init.empty()) {
    Body += "  " + R + "_init = arith.constant " + Init +
            (Type == "i1" ? "" : " : " + Type) + "\n";
    Body += "  " + R + "_fill = linalg.fill ins(" + R + "_init : " + Type +
            ") outs(" + Start + " : " + Out + ") -> " + Out + "\n";
    Start = R + "_fill";
  }
  std::vector<std::string> Affine, Iterators, Values, Types, Arguments;
  for (const std::string &M : Maps)
    Affine.push_back("affine_map<" + M + ">");
  for (char C : Kinds)
    Iterators.push_back(C == 'p' ? "\"parallel\"" : "\"reduction\"");
  for (const std::string &I : Inputs) {
    Values.push_back("%" + I + "_t");
    auto &[ElementType, InputDims] = Tensors.at(I);
    Types.push_back(tensorType(ElementType, InputDims));
    Arguments.push_back("%" + I + ": " + ElementType);
  }
  Arguments.push_back(R + ": " + Type);
  Body += "  " + R + "_t = linalg.generic {indexing_maps = [" + join(Affine) +
          "], iterator_types = [" + join(Iterators) + "]}";
  if (!Inputs.empty())
    Body += " ins(" + join(Values) + " : " + join(Types) + ")";
  Body += " outs(" + Start + " : " + Out + ") {\n  ^bb0(" + join(Arguments) +
          "):\n" + Code + "\n    linalg.yield " + Yield + " : " + Type +
          "\n  } -> " + Out + "\n";
  return *this;
}

std::string KernelText::widened(const std::string &Input) {
  auto [Type, Dims] = Tensors.at(Input);
  if (Type == "f32")
    return Input;
  std::string Letters;
  for (size_t I = 0; I < Dims.size(); ++I)
    Letters += (I ? "," : "") + std::string(1, char('a' + I));
  std::string Map = "(" + Letters + ")->(" + Letters + ")";
  generic(Input + "_wide", {Map, Map}, std::string(Dims.size(), 'p'), {Input},
          "%r = arith.extf %" + Input + " : " + Type + " to f32", "%r", "",
          "f32", Dims);
  return Input + "_wide";
}

std::string KernelText::started(const std::string &Result,
                                const std::vector<std::string> &Dims,
                                bool Zeros) {
  std::string Out = tensorType("f32", Dims), Empty = "%" + Result + "_empty",
              Fill = "%" + Result + "_fill";
  Tensors[Result] = {"f32", Dims};
  Body += "  " + Empty + " = tensor.empty(" + dynamicSizes(Dims) +
          ") : " + Out + "\n";
  if (!Zeros)
    return Empty;
  Body += "  " + Fill + "_zero = arith.constant 0.0 : f32\n  " + Fill +
          " = linalg.fill ins(" + Fill + "_zero : f32) outs(" + Empty + " : " +
          Out + ") -> " + Out + "\n";
  return Fill;
}

KernelText &KernelText::pad(std::string Result, std::string Input,
                            int64_t Around, std::string Outside) {
  Input = widened(Input);
  std::vector<std::string> From = Tensors.at(Input).second, Dims = From;
  for (size_t D : {1, 2})
    Dims[D] = std::to_string(std::stoll(From[D]) + 2 * Around);
  std::string Start = started(Result, Dims, /*Zeros=*/false),
              Some = std::to_string(Around),
              List = "[0, " + Some + ", " + Some + ", 0]";
  Body += "  %" + Result + "_t = kernel.pad %" + Input + "_t low " + List +
          " high " + List + " outside " + Outside + " : f32 into " + Start +
          " : " + tensorType("f32", From) + " into " + tensorType("f32", Dims) +
          "\n";
  return *this;
}

KernelText &KernelText::conv(std::string Result, std::string X, std::string W,
                             int64_t Stride, std::vector<std::string> Dims,
                             int64_t Groups) {
  X = widened(X);
  W = widened(W);
  std::string Start = started(Result, Dims, /*Zeros=*/true);
  std::vector<std::string> Strides(Dims.size() - 2, std::to_string(Stride)),
      Ones(Dims.size() - 2, "1");
  std::string Out = tensorType("f32", Dims);
  Body += "  %" + Result + "_t = kernel.conv %" + X + "_t, %" + W +
          "_t strides [" + join(Strides) + "] dilations [" + join(Ones) + "]" +
          (Groups > 1 ? " groups " + std::to_string(Groups) : "") + " into " +
          Start + " : (" + tensorType("f32", Tensors.at(X).second) + ", " +
          tensorType("f32", Tensors.at(W).second) + ", " + Out + ") -> " + Out +
          "\n";
  return *this;
}

std::string KernelText::text() const {
  std::vector<std::string> Arguments, Reads, Writes;
  std::string Views, Stores;
  for (const BufferText &B : Buffers) {
    (B.IsOutput ? Writes : Reads).push_back(std::to_string(Arguments.size()));
    Arguments.push_back("%" + B.Name + "_p: memref<" + B.Type + ">");
    // Strides from the inside out: numbers while the sizes are.
    std::vector<std::string> Strides(B.Dims.size()), Static(B.Dims.size());
    std::string Stride = "1";
    for (size_t D = B.Dims.size(); D-- > 0;) {
      Strides[D] = Stride;
      Static[D] = isNumber(Stride) ? Stride : "?";
      if (isNumber(Stride) && isNumber(B.Dims[D])) {
        Stride = std::to_string(std::stoll(Stride) * std::stoll(B.Dims[D]));
      } else if (D != 0) {
        std::string Name = "%" + B.Name + "_s" + std::to_string(D), Operands[2];
        int I = 0;
        for (const std::string &V : {Stride, B.Dims[D]}) {
          std::string Operand = isNumber(V)   ? Name + "_" + std::to_string(I)
                                : V[0] == '%' ? V
                                              : "%" + V;
          if (isNumber(V))
            Views += "  " + Operand + " = arith.constant " + V + " : index\n";
          Operands[I++] = Operand;
        }
        Views += "  " + Name + " = arith.muli " + Operands[0] + ", " +
                 Operands[1] + " : index\n";
        Stride = Name;
      }
    }
    std::string Shape;
    std::vector<std::string> Mixed;
    for (const std::string &D : B.Dims) {
      Shape += (isNumber(D) ? D : "?") + std::string("x");
      Mixed.push_back(isNumber(D) ? D : "%" + D);
    }
    std::string Type =
        "memref<" + Shape + B.Type + ", strided<[" + join(Static) + "]>>";
    std::string Tensor = tensorType(B.Type, B.Dims);
    Views += "  %" + B.Name + "_m = memref.reinterpret_cast %" + B.Name +
             "_p to offset: [0], sizes: [" + join(Mixed) + "], strides: [" +
             join(Strides) + "] : memref<" + B.Type + "> to " + Type + "\n";
    if (B.IsOutput)
      Stores += "  bufferization.materialize_in_destination %" + B.Name +
                "_t in restrict writable %" + B.Name + "_m : (" + Tensor +
                ", " + Type + ") -> ()\n";
    else
      Views += "  %" + B.Name + "_t = bufferization.to_tensor %" + B.Name +
               "_m restrict : " + Type + " to " + Tensor + "\n";
  }
  for (const std::string &S : Sizes) {
    auto Known = Facts.find(S);
    Arguments.push_back(
        "%" + S + ": index" +
        (Known == Facts.end()
             ? ""
             : " {kernel.size = #kernel.size<" + Known->second + ">}"));
  }
  return "func.func @" + Name + "(" + join(Arguments) +
         ") attributes {kernel.buffers = #kernel.buffers<reads = [" +
         join(Reads) + "], writes = [" + join(Writes) + "]>} {\n" + Views +
         Body + Stores + "  return\n}\n";
}

} // namespace kpc::testing
