//===- Npy.cpp - numpy's format for one array -----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The format is described in numpy/lib/format.py: a magic string, a version,
/// the length of a header, the header (a Python literal), the elements.
///
//===----------------------------------------------------------------------===//
#include "tools/kpc/tensorfile/TensorFile.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace kpc::tensorfile {

static constexpr std::string_view Magic("\x93NUMPY", 6);

namespace {
/// The Python dict of a header, as far as numpy writes it.
struct Header {
  std::string Descr;
  bool Fortran = false;
  std::vector<int64_t> Shape;
};

class HeaderReader {
public:
  explicit HeaderReader(std::string_view Text) : Text(Text) {}

  bool read(Header &H, std::string &Error) {
    bool Descr = false, Order = false, Shape = false;
    if (!take('{'))
      return fail(Error);
    while (!take('}')) {
      std::string Key;
      if (!quoted(Key) || !take(':'))
        return fail(Error);
      bool Good = false;
      if (Key == "descr") {
        if (peek() == '[') {
          Error = "it holds records, not numbers";
          return false;
        }
        Good = Descr = quoted(H.Descr);
      } else if (Key == "fortran_order") {
        Good = Order = boolean(H.Fortran);
      } else if (Key == "shape") {
        Good = Shape = tuple(H.Shape);
      }
      if (!Good)
        return fail(Error);
      take(',');
    }
    return (Descr && Order && Shape) || fail(Error);
  }

private:
  static bool fail(std::string &Error) {
    Error = "its header is damaged";
    return false;
  }
  void skip() {
    while (!Text.empty() && (Text[0] == ' ' || Text[0] == '\n'))
      Text.remove_prefix(1);
  }
  char peek() {
    skip();
    return Text.empty() ? '\0' : Text[0];
  }
  bool take(char C) {
    if (peek() != C)
      return false;
    Text.remove_prefix(1);
    return true;
  }
  bool quoted(std::string &Out) {
    char Quote = peek();
    if (Quote != '\'' && Quote != '"')
      return false;
    size_t End = Text.find(Quote, 1);
    if (End == std::string_view::npos)
      return false;
    Out = Text.substr(1, End - 1);
    Text.remove_prefix(End + 1);
    return true;
  }
  bool boolean(bool &Out) {
    skip();
    for (bool Value : {false, true}) {
      std::string_view Word = Value ? "True" : "False";
      if (!Text.starts_with(Word))
        continue;
      Text.remove_prefix(Word.size());
      Out = Value;
      return true;
    }
    return false;
  }
  bool tuple(std::vector<int64_t> &Out) {
    if (!take('('))
      return false;
    while (!take(')')) {
      skip();
      int64_t Value;
      auto [End, Code] =
          std::from_chars(Text.data(), Text.data() + Text.size(), Value);
      if (Code != std::errc() || Value < 0 || Out.size() == 64)
        return false;
      Out.push_back(Value);
      Text.remove_prefix(static_cast<size_t>(End - Text.data()));
      if (Text.starts_with("L")) // Python 2
        Text.remove_prefix(1);
      if (!take(',') && peek() != ')')
        return false;
    }
    return true;
  }

  std::string_view Text;
};

struct Spelling {
  std::string_view Descr; ///< without the byte order
  ElementType Type;
};
} // namespace

static constexpr Spelling Spellings[] = {
    {"f4", ElementType::F32}, {"f8", ElementType::F64},
    {"f2", ElementType::F16}, {"i1", ElementType::I8},
    {"i2", ElementType::I16}, {"i4", ElementType::I32},
    {"i8", ElementType::I64}, {"u1", ElementType::U8},
    {"u2", ElementType::U16}, {"u4", ElementType::U32},
    {"u8", ElementType::U64}, {"b1", ElementType::Bool},
    {"c8", ElementType::C64}, {"c16", ElementType::C128}};

/// Fills type and void size of `T`; true if the elements are big endian.
static bool readDescr(std::string_view Descr, HostTensor &T, bool &BigEndian,
                      std::string &Error) {
  std::string_view Kind = Descr;
  if (!Kind.empty() &&
      std::string_view("<>|=").find(Kind[0]) != std::string_view::npos)
    Kind.remove_prefix(1);
  BigEndian = Descr.starts_with(">");
  for (const Spelling &S : Spellings)
    if (S.Descr == Kind) {
      T.Type = S.Type;
      return true;
    }
  // How ml_dtypes spells bfloat16 and the 8-bit floats.
  if (Kind == "V1" || Kind == "V2" || Kind == "f1") {
    T.VoidBytes = Kind[1] - '0';
    return true;
  }
  if (Kind.starts_with("U") || Kind.starts_with("S") || Kind.starts_with("O"))
    Error = "it holds text or Python objects, not numbers";
  else
    Error = "its type '" + std::string(Descr.substr(0, 20)) +
            "' is none that kpc knows";
  return false;
}

static void swapBytes(uint8_t *Data, size_t Size, size_t Unit) {
  for (size_t I = 0; I + Unit <= Size; I += Unit)
    std::reverse(Data + I, Data + I + Unit);
}

/// Elements in column-major order, put in row-major order.
static AlignedBytes rowMajor(const uint8_t *From,
                             const std::vector<int64_t> &Dims, size_t Unit,
                             size_t Bytes) {
  AlignedBytes Out(Bytes);
  std::vector<size_t> Strides(Dims.size());
  size_t Stride = Unit;
  for (size_t D = 0; D < Dims.size(); ++D) {
    Strides[D] = Stride;
    Stride *= static_cast<size_t>(Dims[D]);
  }
  std::vector<int64_t> Index(Dims.size(), 0);
  size_t Source = 0;
  for (size_t To = 0; To < Bytes; To += Unit) {
    std::memcpy(Out.data() + To, From + Source, Unit);
    for (size_t D = Dims.size(); D-- > 0;) {
      Source += Strides[D];
      if (++Index[D] < Dims[D])
        break;
      Source -= Strides[D] * static_cast<size_t>(Dims[D]);
      Index[D] = 0;
    }
  }
  return Out;
}

std::optional<HostTensor> readNpy(std::span<const uint8_t> Bytes,
                                  std::string &Error) {
  std::string_view All(reinterpret_cast<const char *>(Bytes.data()),
                       Bytes.size());
  if (!All.starts_with(Magic) || All.size() < 10) {
    Error = "it is not a numpy array";
    return std::nullopt;
  }
  uint8_t Major = Bytes[6];
  size_t Start = Major == 1 ? 10 : 12;
  if (Major < 1 || Major > 3 || All.size() < Start) {
    Error = "its format version " + std::to_string(Major) + " is unknown";
    return std::nullopt;
  }
  size_t Length = Bytes[8] | Bytes[9] << 8;
  if (Major > 1)
    Length |= size_t(Bytes[10]) << 16 | size_t(Bytes[11]) << 24;
  if (Length > All.size() - Start) {
    Error = "it is cut short";
    return std::nullopt;
  }
  Header H;
  HostTensor T;
  bool BigEndian;
  if (!HeaderReader(All.substr(Start, Length)).read(H, Error) ||
      !readDescr(H.Descr, T, BigEndian, Error))
    return std::nullopt;
  ElementType Stored = T.VoidBytes == 2   ? ElementType::U16
                       : T.VoidBytes == 1 ? ElementType::U8
                                          : T.Type;
  std::optional<size_t> Needed = tensorBytes(Stored, H.Shape);
  size_t There = All.size() - Start - Length;
  if (!Needed || *Needed > There) {
    Error = "it is cut short: " + typeAndDims(Stored, H.Shape) + " needs " +
            (Needed ? std::to_string(*Needed) : "more than 2^63") +
            " bytes of elements, " + std::to_string(There) + " are there";
    return std::nullopt;
  }
  const uint8_t *From = Bytes.data() + Start + Length;
  size_t Unit = static_cast<size_t>(bitWidth(Stored)) / 8;
  if (H.Fortran && H.Shape.size() > 1 && *Needed) {
    T.Data = rowMajor(From, H.Shape, Unit, *Needed);
  } else {
    T.Data = AlignedBytes(*Needed);
    std::memcpy(T.Data.data(), From, *Needed);
  }
  if (BigEndian) {
    bool Complex = Stored == ElementType::C64 || Stored == ElementType::C128;
    swapBytes(T.Data.data(), *Needed, Complex ? Unit / 2 : Unit);
  }
  if (T.Type == ElementType::Bool)
    for (size_t I = 0; I < *Needed; ++I)
      T.Data.data()[I] = T.Data.data()[I] != 0;
  T.Dims = std::move(H.Shape);
  return T;
}

/// How a .npy file spells a type; one that numpy lacks by its bits.
static std::string descrOf(ElementType Type) {
  for (const Spelling &S : Spellings)
    if (S.Type == Type)
      return (bitWidth(Type) == 8 ? "|" : "<") + std::string(S.Descr);
  if (Type == ElementType::BF16)
    return "<u2";
  return Type == ElementType::I4 || Type == ElementType::I2 ? "|i1" : "|u1";
}

std::string npyHeader(ElementType Type, std::span<const int64_t> Dims) {
  std::string Text =
      "{'descr': '" + descrOf(Type) + "', 'fortran_order': False, 'shape': (";
  for (size_t I = 0; I < Dims.size(); ++I)
    Text += (I ? ", " : "") + std::to_string(Dims[I]);
  Text += Dims.size() == 1 ? ",), }" : "), }";
  // Elements start at a multiple of 64 bytes; the header ends in a newline.
  while ((Text.size() + 11) % 64)
    Text += ' ';
  Text += '\n';
  std::string Out(Magic);
  Out += {'\x01', '\x00', static_cast<char>(Text.size() & 255),
          static_cast<char>(Text.size() >> 8)};
  return Out + Text;
}

std::span<const uint8_t> npyElements(ElementType Type, int64_t Count,
                                     std::span<const uint8_t> Data,
                                     std::vector<uint8_t> &Unpacked) {
  int Bits = bitWidth(Type);
  if (Bits == 0 || Bits >= 8) // strings and undefined types have no width
    return Data;
  bool Signed = Type == ElementType::I4 || Type == ElementType::I2;
  int64_t PerByte = 8 / Bits;
  Unpacked.resize(static_cast<size_t>(Count));
  for (int64_t I = 0; I < Count; ++I) {
    int Value = Data[I / PerByte] >> (I % PerByte * Bits) & ((1 << Bits) - 1);
    if (Signed && Value >> (Bits - 1))
      Value -= 1 << Bits;
    Unpacked[I] = static_cast<uint8_t>(Value);
  }
  return Unpacked;
}

} // namespace kpc::tensorfile
