//===- DiagnosticsTest.cpp - Rendering and limits of diagnostics ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/diagnostics/Diagnostics.h"

#include <gtest/gtest.h>
#include <set>

using namespace kpc;

TEST(Diagnostics, TextNamesNodeOpOpsetFileAndHint) {
  Diagnostics D;
  D.setFile("resnet50.onnx");
  D.error(Code::ImportUnknownOp)
      .at({.Node = "Conv_12", .Op = "Conv", .Opset = 17})
      .message("kpc has no rule for this operator");
  EXPECT_EQ(D.text(), "error[KPC-I0007]: 'Conv_12' (Conv, opset 17) in "
                      "resnet50.onnx: kpc has no rule for this operator\n"
                      "  hint: `kpc ops` lists what imports\n");
  EXPECT_TRUE(D.hasErrors());
}

TEST(Diagnostics, JsonQuotesWhatModelsContain) {
  Diagnostics D;
  D.setFile("a\"b.onnx");
  D.error(Code::ImportUnknownOp)
      .at({.Node = "n\n\xff", .Op = "Op"})
      .target("sm_90a")
      .message("m")
      .hint("h");
  EXPECT_EQ(D.json(), "[{\"code\":\"KPC-I0007\",\"severity\":\"error\","
                      "\"file\":\"a\\\"b.onnx\",\"node\":\"n\\n\xEF\xBF\xBD\","
                      "\"op\":\"Op\",\"target\":\"sm_90a\",\"message\":\"m\","
                      "\"hint\":\"h\"}]");
}

TEST(Diagnostics, OneCodeIsKeptAHundredTimes) {
  Diagnostics D;
  for (int I = 0; I < 250; ++I)
    D.error(Code::ImportUnknownOp).message("x").hint("");
  EXPECT_EQ(D.all().size(), Diagnostics::KeptPerCode);
  EXPECT_EQ(D.errorCount(), 250u);
  EXPECT_NE(D.text().find("note: 150 more of KPC-I0007 were left out\n"),
            std::string::npos);
}

TEST(Diagnostics, CodesAreUniqueAndDescribed) {
  std::set<std::string_view> Seen;
  for (const CodeInfo &Info : allCodes()) {
    EXPECT_TRUE(Seen.insert(Info.Text).second) << Info.Text;
    EXPECT_FALSE(Info.Title.empty()) << Info.Text;
    EXPECT_EQ(&codeInfo(Info.Id), &Info);
  }
}

TEST(Diagnostics, PrintableIsBoundedAndClean) {
  EXPECT_EQ(printable("a\tb\xC3\xA9\xFF"), "a?b\xC3\xA9?");
  EXPECT_EQ(printable(std::string(300, 'x')), std::string(200, 'x') + "...");
  // CSI in one character, and text turned from right to left.
  EXPECT_EQ(printable("a\xC2\x9B"
                      "31mb"),
            "a?31mb");
  EXPECT_EQ(printable("a\xE2\x80\xAE.b\xE2\x81\xA7\xE2\x80\x8F\xD8\x9C"),
            "a?.b???");
  EXPECT_EQ(printable("\xC2\xA0\xE2\x80\x93\xE2\x82\xAC"),
            "\xC2\xA0\xE2\x80\x93\xE2\x82\xAC");
}

TEST(Diagnostics, NearestSuggestsOnlyWhatIsNear) {
  std::vector<std::string_view> Names = {"Conv", "ConvTranspose", "Relu"};
  EXPECT_EQ(nearest("conv", Names), "Conv");
  EXPECT_EQ(nearest("Rellu", Names), "Relu");
  EXPECT_EQ(nearest("Quantize", Names), "");
  EXPECT_EQ(nearest("Covn", Names), "Conv"); // neighbours changed places
  EXPECT_EQ(nearest("convtran", Names), "ConvTranspose"); // the beginning of it
  EXPECT_EQ(nearest("Re", Names), "");
}

TEST(Diagnostics, TypesOfTheGraphAreWrittenForUsers) {
  EXPECT_EQ(withUserTypes("computes !graph.tensor<[4], f32>"),
            "computes f32[4]");
  EXPECT_EQ(withUserTypes("joins '!graph.tensor<[batch, \"n*2 + 1\"], ui8>' "
                          "and '!graph.tensor<[], i1>'"),
            "joins u8[batch,n*2+1] and bool[]");
  EXPECT_EQ(withUserTypes("'graph.relu' op operand #0 must be symbolic tensor "
                          "of floats, but got '!graph.tensor<[4], i1>'"),
            "operand 0 must be a tensor of floats, but is bool[4]");
  // What is no type stays, however far it looks like one.
  for (const char *Text :
       {"", "!graph.tensor<[4", "'!graph.tensor<[4], f32", "plain text",
        "!graph.tensor<[4]>", "'plan.view' op joins buffers"})
    EXPECT_EQ(withUserTypes(Text), Text);
  Diagnostics D;
  D.error(Code::ImportShape).message("is !graph.tensor<[4], f32>").hint("");
  D.error(Code::GraphText).message("is !graph.tensor<[4], f32>").hint("");
  EXPECT_EQ(D.text(), "error[KPC-I0026]: is f32[4]\n"
                      "error[KPC-G0001]: is !graph.tensor<[4], f32>\n");
}
