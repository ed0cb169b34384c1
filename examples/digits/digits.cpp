//===- digits.cpp - Reads handwritten digits with a compiled model --------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   digits digits.kpc images.npy labels.npy [cuda:N]
///
/// Runs the model on all images at once, says how many it read right and how
/// long it took, and draws a few with their answers. What an application needs
/// of kpc is `readDigits`; the rest reads files and draws.
///
//===----------------------------------------------------------------------===//
#include <kpc/runtime.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

constexpr int64_t Side = 8; // pixels

/// The most likely digit of each image.
kpc::Result<std::vector<int>> readDigits(kpc::Session &Session,
                                         std::vector<float> &Pixels) {
  int64_t Count = int64_t(Pixels.size()) / (Side * Side);
  auto Out =
      Session.run({{"image", kpc::tensor(Pixels, {Count, 1, Side, Side})}});
  if (!Out)
    return Out.error();
  std::span<const float> Scores = (*Out)["scores"].values<const float>();
  std::vector<int> Digits;
  for (int64_t I = 0; I < Count; ++I) {
    auto First = Scores.begin() + I * 10;
    Digits.push_back(int(std::max_element(First, First + 10) - First));
  }
  return Digits;
}

/// The elements of an .npy file of this type ("<f4", "<i8"); empty if it is
/// something else.
template <class T> std::vector<T> readNpy(const char *Path, const char *Type) {
  std::ifstream File(Path, std::ios::binary);
  std::string Bytes{std::istreambuf_iterator<char>(File), {}};
  if (Bytes.size() < 10 || Bytes.compare(0, 6, "\x93NUMPY") != 0)
    return {};
  size_t Header = uint8_t(Bytes[8]) | uint8_t(Bytes[9]) << 8;
  size_t Start = 10 + Header;
  if (Start > Bytes.size() ||
      Bytes.substr(10, Header).find(Type) == std::string::npos)
    return {};
  std::vector<T> Values((Bytes.size() - Start) / sizeof(T));
  std::memcpy(Values.data(), Bytes.data() + Start, Values.size() * sizeof(T));
  return Values;
}

const char *shade(float Ink) {
  static const char *const Shades[] = {"  ", "░░", "▒▒", "▓▓", "██"};
  return Shades[std::clamp(int(Ink * 5), 0, 4)];
}

/// The chosen images side by side, what was read below each.
void draw(const std::vector<float> &Pixels, const std::vector<size_t> &Chosen,
          const std::vector<int> &Digits, const std::vector<int64_t> &Labels) {
  for (int64_t Row = 0; Row < Side; ++Row) {
    for (size_t Image : Chosen) {
      std::printf("  ");
      for (int64_t Column = 0; Column < Side; ++Column)
        std::printf("%s",
                    shade(Pixels[Image * Side * Side + Row * Side + Column]));
    }
    std::printf("\n");
  }
  for (size_t Image : Chosen) {
    std::string Text = "read " + std::to_string(Digits[Image]);
    if (Digits[Image] != Labels[Image])
      Text += ", is " + std::to_string(Labels[Image]);
    std::printf("  %-16s", Text.c_str());
  }
  std::printf("\n");
}

/// Median microseconds of a run on the first `Count` images.
double timeRuns(kpc::Session &Session, const std::vector<float> &Pixels,
                size_t Count, int Repeats) {
  std::vector<float> Some(Pixels.begin(), Pixels.begin() + Count * Side * Side);
  std::vector<double> Times;
  for (int I = 0; I < Repeats; ++I) {
    auto Start = std::chrono::steady_clock::now();
    (void)readDigits(Session, Some);
    std::chrono::duration<double, std::micro> Took =
        std::chrono::steady_clock::now() - Start;
    Times.push_back(Took.count());
  }
  std::sort(Times.begin(), Times.end());
  return Times[Times.size() / 2];
}

int fail(const std::string &Text) {
  std::fprintf(stderr, "digits: %s\n", Text.c_str());
  return 1;
}

} // namespace

int main(int Argc, char **Argv) {
  if (Argc < 4)
    return fail("usage: digits digits.kpc images.npy labels.npy [cuda:N]");
  auto Pixels = readNpy<float>(Argv[2], "'<f4'");
  auto Labels = readNpy<int64_t>(Argv[3], "'<i8'");
  if (Labels.empty() || Pixels.size() != Labels.size() * Side * Side)
    return fail("images and labels do not belong together");

  auto Model = kpc::Model::load(Argv[1]);
  if (!Model)
    return fail(Model.error().text());
  kpc::SessionOptions Options;
  if (Argc > 4 && std::strncmp(Argv[4], "cuda:", 5) == 0)
    Options.device = kpc::cuda(std::atoi(Argv[4] + 5));
  auto Session = Model->session(Options);
  if (!Session)
    return fail(Session.error().text());
  auto Digits = readDigits(*Session, Pixels);
  if (!Digits)
    return fail(Digits.error().text());

  size_t Right = 0, Count = Labels.size();
  std::vector<size_t> Chosen; // mistakes first: they are the interesting ones
  for (size_t I = 0; I < Count; ++I) {
    if ((*Digits)[I] == Labels[I])
      ++Right;
    else if (Chosen.size() < 2)
      Chosen.push_back(I);
  }
  for (size_t I = 0; I < Count && Chosen.size() < 5; I += 7)
    if ((*Digits)[I] == Labels[I])
      Chosen.push_back(I);
  draw(Pixels, Chosen, *Digits, Labels);

  std::printf("\non %s: %zu of %zu held-out images right (%.1f %%)\n",
              Session->target(), Right, Count,
              100.0 * double(Right) / double(Count));
  std::printf(
      "one image %.0f us, all %zu at once %.0f us (median of 101 runs)\n",
      timeRuns(*Session, Pixels, 1, 101), Count,
      timeRuns(*Session, Pixels, Count, 101));
  return Right * 100 >= Count * 97 ? 0 : fail("less than 97 % right");
}
