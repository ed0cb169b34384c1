# Functions that every folder's CMakeLists.txt builds its targets with.
#
#   kpc_add_library(NAME SOURCES a.cpp … [LINK lib …])     plain C++, no MLIR
#   kpc_add_mlir_library(NAME SOURCES … [LINK …] [DEPENDS tablegen …])
#   kpc_precompile(TARGET [header …])                      a large library's headers, read once
#
# Includes are written from the repository root: #include "dialects/shape/Expr.h".

function(kpc_target_defaults target)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wno-unused-parameter -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
  if(KPC_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${KPC_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${KPC_SANITIZE})
  endif()
endfunction()

function(kpc_add_library target)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(${target} STATIC ${arg_SOURCES})
  kpc_target_defaults(${target})
  target_link_libraries(${target} PUBLIC ${arg_LINK})
endfunction()

# The standard headers that most files read, and those named: a quarter to a half of the time of a file without MLIR.
function(kpc_precompile target)
  target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  target_precompile_headers(${target} PRIVATE <algorithm> <cmath> <cstdint> <cstring> <functional> <map> <memory> <optional>
    <set> <string> <string_view> <variant> <vector> ${ARGN})
endfunction()
