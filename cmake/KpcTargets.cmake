# Functions that every folder's CMakeLists.txt builds its targets with.
#
#   kpc_add_library(NAME SOURCES a.cpp … [LINK lib …])     plain C++, no MLIR
#   kpc_add_mlir_library(NAME SOURCES … [LINK …] [DEPENDS tablegen …])
#   kpc_precompile(TARGET [header …])                      a large library's headers, read once
#   kpc_group_sources()                                    with KPC_UNITY: which files of each target are compiled as one
#
# Includes are written from the repository root: #include "dialects/shape/Expr.h".

function(kpc_target_defaults target)
  set_property(GLOBAL APPEND PROPERTY KPC_TARGETS ${target})
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

# Most of what a file costs are the templates and inline functions of headers, which a group of files compiles once.
function(kpc_group_sources)
  set(lines "")
  get_property(targets GLOBAL PROPERTY KPC_TARGETS)
  foreach(target ${targets})
    get_target_property(folder ${target} SOURCE_DIR)
    get_target_property(sources ${target} SOURCES)
    string(APPEND lines "${target}")
    foreach(source ${sources})
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder})
      string(APPEND lines "\t${source}")
    endforeach()
    string(APPEND lines "\n")
  endforeach()
  file(WRITE ${PROJECT_BINARY_DIR}/unity-targets.txt "${lines}")
  execute_process(COMMAND python3 ${PROJECT_SOURCE_DIR}/cmake/unity-batches.py ${PROJECT_BINARY_DIR}/unity-targets.txt
                  ${PROJECT_BINARY_DIR}/unity-batches.cmake COMMAND_ERROR_IS_FATAL ANY)
  include(${PROJECT_BINARY_DIR}/unity-batches.cmake)
endfunction()
