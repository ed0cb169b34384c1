# Functions that every folder's CMakeLists.txt builds its targets with.
#
#   kpc_add_library(NAME SOURCES a.cpp … [LINK lib …])     plain C++, no MLIR
#   kpc_add_mlir_library(NAME SOURCES … [LINK …] [DEPENDS tablegen …])
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
