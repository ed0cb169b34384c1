# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Writes the page, the style and the scripts of a report as C++ string literals.
#
#   cmake -DPAGE=page.html;style.css -DSCRIPTS=a.js;b.js -DOUT=ReportFiles.inc -P EmbedReport.cmake

# A literal may hold 64 KiB at least; long texts become several, which the compiler joins.
function(literal name)
  set(all "")
  foreach(file ${ARGN})
    file(READ ${file} text)
    string(APPEND all "R\"kpc-file(${text})kpc-file\"\n")
  endforeach()
  file(APPEND ${OUT}.new "constexpr std::string_view ${name} =\n${all};\n")
endfunction()

file(WRITE ${OUT}.new "// Written by cmake/EmbedReport.cmake.\n#include <string_view>\nnamespace kpc::cli::report_files {\n")
list(GET PAGE 0 page)
list(GET PAGE 1 style)
literal(PageHtml ${page})
literal(StyleCss ${style})
literal(Scripts ${SCRIPTS})
file(APPEND ${OUT}.new "} // namespace kpc::cli::report_files\n")
file(RENAME ${OUT}.new ${OUT})
