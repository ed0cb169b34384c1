//===- BenchPage.cpp - What bench found, as one page of HTML --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/BenchPage.h"

#include "compiler/target/Target.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace kpc::cli {

/// Below this a kernel's time, by events, is mostly that of its launch:
/// microseconds.
constexpr double ShortLaunch = 4;
/// A part of a peak rate that is called near.
constexpr double Near = 0.7;

static std::string escaped(const std::string &Text) {
  std::string Out;
  for (char C : printable(Text, 4096))
    switch (C) {
    case '<':
      Out += "&lt;";
      break;
    case '>':
      Out += "&gt;";
      break;
    case '&':
      Out += "&amp;";
      break;
    case '"':
      Out += "&quot;";
      break;
    default:
      Out += C;
    }
  return Out;
}

static std::string number(double Value) {
  return Value == 0    ? "0"
         : Value < 1   ? fmt::format("{:.3f}", Value)
         : Value < 100 ? fmt::format("{:.2f}", Value)
                       : fmt::format("{:.0f}", Value);
}

static std::string countText(int64_t Value) {
  const char *Units[] = {"", " K", " M", " G", " T"};
  auto Amount = static_cast<double>(Value);
  size_t Unit = 0;
  for (; Amount >= 1000 && Unit < 4; ++Unit)
    Amount /= 1000;
  return Unit ? fmt::format("{:.3g}{}", Amount, Units[Unit])
              : std::to_string(Value);
}

namespace {
/// A step with what the artifact says of its kernel.
struct Row {
  const StepTime *Time = nullptr;
  const KernelFacts *Kernel = nullptr; ///< none: a copy or a fill
  double Memory = 0, Compute = 0;      ///< microseconds at the peak rates
};
} // namespace

/// Kernels on tensor cores are named after the schedule that built them.
static bool usesTensorCores(const KernelFacts *K) {
  if (!K)
    return false;
  for (const char *Family :
       {"gemm ", "mmasync ", "gemv ", "conv ", "attention ", "decode "})
    if (K->Family.starts_with(Family))
      return true;
  return false;
}

static std::vector<Row> rowsOf(const PageSide &Side) {
  // The chip's peak rates are none of the emulator's.
  const target::Target *T =
      Side.Result.Emulated ? nullptr : target::findTarget(Side.Result.Target);
  bool Known = T && T->Cost.DramGBps > 0 && T->Cost.Fp32 > 0;
  std::vector<Row> Rows;
  size_t Launch = 0;
  for (const StepTime &S : Side.Result.Steps) {
    Row R;
    R.Time = &S;
    if (S.IsLaunch && Launch < Side.Facts.Launches.size())
      R.Kernel = &Side.Facts.Kernels[Side.Facts.Launches[Launch++].Kernel];
    if (Known) {
      double Peak = usesTensorCores(R.Kernel) && T->Cost.Fp16 > 0
                        ? T->Cost.Fp16
                        : T->Cost.Fp32;
      R.Memory = static_cast<double>(S.Bytes) / (T->Cost.DramGBps * 1e3);
      R.Compute =
          static_cast<double>(std::max<int64_t>(S.Flops, 0)) / (Peak * 1e6);
    }
    Rows.push_back(R);
  }
  return Rows;
}

/// Why a kernel takes the time that it takes, as far as the figures tell.
static std::string reason(const Row &R) {
  double Time = R.Time->Microseconds, Least = std::max(R.Memory, R.Compute);
  bool ByMemory = R.Memory >= R.Compute;
  if (Least == 0 || Time <= 0)
    return "no peak rates to compare with";
  if (Least / Time >= Near)
    return ByMemory ? "near the memory's rate" : "near the arithmetic's rate";
  if (Time < ShortLaunch)
    return "short: mostly its launch";
  if (R.Kernel && R.Kernel->SpillBytes > 0)
    return fmt::format("spills {} bytes of registers", R.Kernel->SpillBytes);
  if (!R.Kernel)
    return "moves data alone";
  if (!ByMemory && !usesTensorCores(R.Kernel))
    return "arithmetic without tensor cores";
  if (R.Time->Flops <= 0)
    return "moves data; too few bytes in flight for the memory's rate";
  return ByMemory ? "waits for memory: too few bytes in flight, or read again"
                  : "waits: too few blocks for the chip, or steps in a row";
}

static std::string kernelRow(const Row &R, double All,
                             const std::map<std::string, double> *Beside) {
  const StepTime &S = *R.Time;
  double Least = std::max(R.Memory, R.Compute);
  auto Rate = [&](double Amount) {
    return S.Microseconds > 0 && Amount > 0
               ? number(Amount / S.Microseconds / 1e3)
               : std::string("-");
  };
  double Share = All > 0 ? S.Microseconds / All * 100 : 0;
  std::string Out = fmt::format(
      "<tr><td>{}<div class=n>{}</div></td><td>{}</td><td>{}</td>"
      "<td class=r>{}</td><td class=b><i style=\"width:{:.1f}%\"></i>{:.1f} %"
      "</td><td class=r>{}</td><td>{}</td><td class=r>{}</td><td class=r>{}"
      "</td><td class=r>{}</td><td class=r>{}</td>",
      escaped(S.Name), escaped(S.Nodes),
      R.Kernel ? escaped(R.Kernel->Family) : "copy",
      R.Kernel ? escaped(R.Kernel->Precision) : "", number(S.Microseconds),
      Share, Share,
      Least > 0 && S.Microseconds > 0
          ? fmt::format("{:.0f} %", Least / S.Microseconds * 100)
          : "-",
      reason(R), countText(S.Bytes), S.Flops >= 0 ? countText(S.Flops) : "-",
      Rate(static_cast<double>(S.Bytes)), Rate(static_cast<double>(S.Flops)));
  if (Beside) {
    auto Other = Beside->find(S.Nodes);
    Out += Other == Beside->end()
               ? "<td class=r>-</td><td class=r>-</td>"
               : fmt::format("<td class=r>{}</td><td class=r>{:.2f}</td>",
                             number(Other->second),
                             Other->second / std::max(S.Microseconds, 1e-3));
  }
  return Out + "</tr>\n";
}

static std::string kernelTable(const std::vector<PageSide> &Sides, size_t At) {
  std::vector<Row> Rows = rowsOf(Sides[At]);
  double All = 0;
  for (const Row &R : Rows)
    All += R.Time->Microseconds;
  std::map<std::string, double> Other;
  bool Beside = Sides.size() > 1;
  if (Beside)
    for (const StepTime &S : Sides[1 - At].Result.Steps)
      Other[S.Nodes] += S.Microseconds;
  // Equal ones in the plan's order: pointers into one array are ordered.
  std::sort(Rows.begin(), Rows.end(), [](const Row &A, const Row &B) {
    return A.Time->Microseconds != B.Time->Microseconds
               ? A.Time->Microseconds > B.Time->Microseconds
               : A.Time < B.Time;
  });
  std::string Out = fmt::format(
      "<h2>Kernels of {}, one by one: {} us in all</h2>\n<table><tr>"
      "<th>kernel, nodes<th>what it is<th>types<th>us<th>share<th>of roofline"
      "<th>why<th>bytes<th>FLOP<th>GB/s<th>GFLOP/s{}</tr>\n",
      escaped(Sides[At].Options.Artifact), number(All),
      Beside ? "<th>us beside<th>beside / here" : "");
  for (const Row &R : Rows)
    Out += kernelRow(R, All, Beside ? &Other : nullptr);
  return Out + "</table>\n";
}

/// The bytes of intermediate values that live at each step.
static std::string memoryPlot(const PageSide &Side) {
  const std::vector<uint64_t> &Live = Side.Facts.LiveByStep;
  double Most = static_cast<double>(Side.Result.Memory.arena_bytes);
  for (uint64_t L : Live)
    Most = std::max(Most, static_cast<double>(L));
  if (Live.empty() || Most == 0)
    return "";
  constexpr double Width = 960, Height = 160;
  double Step = Width / static_cast<double>(Live.size());
  auto Y = [&](double Bytes) { return Height - Bytes / Most * Height; };
  std::string Path = fmt::format("M0 {:.1f}", Height);
  for (size_t I = 0; I < Live.size(); ++I)
    Path += fmt::format("V{:.1f}H{:.1f}", Y(static_cast<double>(Live[I])),
                        static_cast<double>(I + 1) * Step);
  return fmt::format(
      "<h2>Memory of {} over its {} steps</h2>\n<p>Workspace {}, at least {}; "
      "without reuse {}; weights {}.</p>\n<svg viewBox=\"0 0 {:.0f} {:.0f}\" "
      "preserveAspectRatio=none><path d=\"{}V{:.1f}Z\"/><line x1=0 x2={:.0f} "
      "y1={:.1f} y2={:.1f} /></svg>\n",
      escaped(Side.Options.Artifact), Live.size(),
      bytesText(Side.Result.Memory.arena_bytes),
      bytesText(Side.Result.Memory.live_bytes),
      bytesText(Side.Result.Memory.value_bytes),
      bytesText(Side.Result.Memory.weight_bytes), Width, Height, Path, Height,
      Width, Y(static_cast<double>(Side.Result.Memory.arena_bytes)),
      Y(static_cast<double>(Side.Result.Memory.arena_bytes)));
}

/// From which step to which the largest values live, one below the other.
static std::string intervalPlot(const PageSide &Side) {
  constexpr size_t Most = 32;
  constexpr double Width = 960, Row = 10;
  std::vector<ValueFacts> Values = Side.Facts.Values;
  std::sort(Values.begin(), Values.end(),
            [](const ValueFacts &A, const ValueFacts &B) {
              return std::tie(B.Bytes, A.FirstStep, A.Name) <
                     std::tie(A.Bytes, B.FirstStep, B.Name);
            });
  size_t Others = Values.size() - std::min(Values.size(), Most);
  Values.resize(Values.size() - Others);
  if (Values.empty() || Side.Facts.Steps == 0)
    return "";
  std::sort(Values.begin(), Values.end(),
            [](const ValueFacts &A, const ValueFacts &B) {
              return std::tie(A.FirstStep, A.LastStep, A.Name) <
                     std::tie(B.FirstStep, B.LastStep, B.Name);
            });
  double Step = Width / static_cast<double>(Side.Facts.Steps);
  double Height = Row * static_cast<double>(Values.size());
  std::string Out = fmt::format(
      "<p>Its values, by the steps between which they live{}:</p>\n<svg "
      "style=\"height:{:.0f}px\" viewBox=\"0 0 {:.0f} {:.0f}\" "
      "preserveAspectRatio=none>",
      Others ? fmt::format(", the {} largest of {}", Most, Most + Others) : "",
      Height, Width, Height);
  for (size_t I = 0; I < Values.size(); ++I) {
    const ValueFacts &V = Values[I];
    Out += fmt::format(
        "<rect x={:.1f} y={:.0f} width={:.1f} height={:.0f}><title>{}: {}, "
        "steps {} to {}</title></rect>\n",
        static_cast<double>(V.FirstStep) * Step, static_cast<double>(I) * Row,
        static_cast<double>(V.LastStep + 1 - V.FirstStep) * Step, Row - 1,
        escaped(V.Name), bytesText(V.Bytes), V.FirstStep, V.LastStep);
  }
  return Out + "</svg>\n";
}

static std::string summary(const std::vector<PageSide> &Sides) {
  std::string Out = "<table class=s>\n";
  auto Line = [&](const char *Name, auto Text) {
    Out += fmt::format("<tr><th>{}</th>", Name);
    for (const PageSide &S : Sides)
      Out += "<td>" + Text(S) + "</td>";
    Out += "</tr>\n";
  };
  Line("artifact",
       [](const PageSide &S) { return escaped(S.Options.Artifact); });
  Line("target", [](const PageSide &S) { return escaped(S.Result.Target); });
  Line("device", [](const PageSide &S) {
    return escaped(S.Result.Device + " " + S.Result.Speed.Device);
  });
  Line("dims",
       [](const PageSide &S) { return escaped(dimsText(S.Result.Dims)); });
  Line("latency p50, p90, p99", [](const PageSide &S) {
    return fmt::format("{}, {}, {} us", number(S.Result.percentile(50) * 1e3),
                       number(S.Result.percentile(90) * 1e3),
                       number(S.Result.percentile(99) * 1e3));
  });
  Line("throughput", [](const PageSide &S) {
    return number(S.Result.runsPerSecond() *
                  static_cast<double>(S.Result.Batch)) +
           " samples/s";
  });
  Line("steps", [](const PageSide &S) {
    return fmt::format("{}, of {} kernels", S.Result.Steps.size(),
                       S.Facts.Kernels.size());
  });
  Line("binding a shape", [](const PageSide &S) {
    const HostCost &H = S.Result.Host;
    std::string Text = number(H.bindMicroseconds()) + " us";
    if (H.graphMicroseconds() > 0)
      Text += ", its graph " + number(H.graphMicroseconds()) + " us";
    if (H.SamePointers)
      Text += ", a call " + number(*H.SamePointers) + " us";
    return Text;
  });
  return Out + "</table>\n";
}

static std::string remarkList(const char *Title,
                              const std::vector<std::string> &List) {
  std::string Out = fmt::format("<details><summary>{} ({})</summary><ul>\n",
                                Title, List.size());
  for (const std::string &Text : List)
    Out += "<li>" + escaped(Text) + "</li>\n";
  return Out + "</ul></details>\n";
}

static std::string remarkLists(const PageSide &Side) {
  const RemarkFacts &R = Side.Remarks;
  std::string Out =
      fmt::format("<h2>Fusion in {}</h2>\n", escaped(Side.Options.Artifact));
  if (R.Made.empty() && R.Refused.empty())
    return Out + "<p>The artifact says nothing of it: there was nothing to "
                 "fuse, or it was compiled with <code>--strip</code> or from a "
                 "plan. Each kernel above names the nodes that it "
                 "computes.</p>\n";
  return Out + remarkList("fused", R.Made) +
         remarkList("not fused, and why", R.Refused);
}

std::string benchPage(const std::vector<PageSide> &Sides) {
  std::string Out =
      "<!doctype html>\n<html lang=en><meta charset=utf-8>\n<title>kpc "
      "bench: " +
      escaped(Sides.front().Options.Artifact) +
      "</title>\n<style>\n"
      "body{font:14px/1.4 system-ui,sans-serif;margin:2em;color:#222}\n"
      "table{border-collapse:collapse}th,td{padding:2px 8px;text-align:left;"
      "border-bottom:1px solid #ddd;vertical-align:top}\n"
      ".r{text-align:right;font-variant-numeric:tabular-nums}\n"
      ".n{color:#777;font-size:12px;max-width:32em;overflow-wrap:anywhere}\n"
      ".b{min-width:7em;position:relative}.b "
      "i{position:absolute;left:0;top:2px;"
      "bottom:2px;background:#9cf;z-index:-1}\n"
      "svg{width:100%;max-width:960px;height:160px;background:#f6f6f6}"
      "path,rect{fill:#9cf}line{stroke:#c33;vector-effect:non-scaling-stroke}\n"
      "</style>\n<h1>kpc bench</h1>\n";
  Out += summary(Sides);
  for (size_t I = 0; I < Sides.size(); ++I)
    Out += kernelTable(Sides, I);
  for (const PageSide &S : Sides)
    Out += memoryPlot(S) + intervalPlot(S);
  for (const PageSide &S : Sides)
    Out += remarkLists(S);
  return Out + "</html>\n";
}

} // namespace kpc::cli
