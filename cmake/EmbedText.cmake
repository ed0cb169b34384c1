# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Writes a file as a C++ string literal.
#
#   cmake -DIN=operator.h -DNAME=OperatorHeader -DOUT=OperatorHeader.inc -P EmbedText.cmake

file(READ ${IN} text)
file(WRITE ${OUT}.new "// Written by cmake/EmbedText.cmake.\n#include <string_view>\nstatic constexpr std::string_view ${NAME} =\nR\"kpc-file(${text})kpc-file\";\n")
file(RENAME ${OUT}.new ${OUT})
