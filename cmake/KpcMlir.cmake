# LLVM and MLIR 22 from the distribution's packages.
#
#   kpc_add_mlir_library(NAME SOURCES … [LINK …] [DEPENDS …] [PRECOMPILED kpc_import_pch])
#                                                              a library on MLIR, with a shared precompiled header
#   kpc_add_mlir_precompiled(NAME header [option …])           such a header
#   kpc_add_mlir_executable(NAME SOURCES … [LINK …])
#   kpc_link_tool_statically(NAME)                             with KPC_STATIC_TOOLS this program takes LLVM's archives
#   kpc_add_dialect(NAME DIALECT name TD Ops.td [PREFIX file])  TableGen for a dialect; target NAME
#   kpc_tablegen(OUT file TD file GENERATOR -gen-…)
#
# The exported CMake targets of the packages are not used: they pull in the shared LLVM even where archives are
# asked for, and name a zstd target that is not packaged.

find_program(KPC_LLVM_CONFIG NAMES llvm-config-22 HINTS /usr/lib/llvm-22/bin REQUIRED)
execute_process(COMMAND ${KPC_LLVM_CONFIG} --prefix OUTPUT_VARIABLE KPC_LLVM_PREFIX OUTPUT_STRIP_TRAILING_WHITESPACE)
find_program(KPC_MLIR_TBLGEN NAMES mlir-tblgen HINTS ${KPC_LLVM_PREFIX}/bin NO_DEFAULT_PATH REQUIRED)
set(KPC_LLVM_INCLUDE ${KPC_LLVM_PREFIX}/include)

add_library(kpc_mlir INTERFACE)
target_include_directories(kpc_mlir SYSTEM INTERFACE ${KPC_LLVM_INCLUDE})
target_compile_definitions(kpc_mlir INTERFACE _GNU_SOURCE __STDC_CONSTANT_MACROS __STDC_FORMAT_MACROS __STDC_LIMIT_MACROS)
# Archives of LLVM, for trees and programs that are linked statically.
function(kpc_link_llvm_archives target)
  file(GLOB mlir ${KPC_LLVM_PREFIX}/lib/libMLIR*.a)
  list(FILTER mlir EXCLUDE REGEX "libMLIR(CAPI|Test|.*Test|ExecutionEngine|JitRunner).*\\.a$")
  execute_process(COMMAND ${KPC_LLVM_CONFIG} --link-static --libfiles x86 nvptx passes asmparser bitreader bitwriter irreader frontendopenmp textapi supportlsp
                  OUTPUT_VARIABLE llvm OUTPUT_STRIP_TRAILING_WHITESPACE)
  separate_arguments(llvm)
  target_link_libraries(${target} INTERFACE -Wl,--start-group ${mlir} ${llvm} -Wl,--end-group -l:libz.a -l:libzstd.a pthread dl m)
  target_link_options(${target} INTERFACE -Wl,--gc-sections)
endfunction()

if(KPC_STATIC)
  kpc_link_llvm_archives(kpc_mlir)
else()
  add_library(kpc_mlir_shared INTERFACE)
  target_link_libraries(kpc_mlir_shared INTERFACE -L${KPC_LLVM_PREFIX}/lib MLIR LLVM -Wl,-rpath,${KPC_LLVM_PREFIX}/lib)
  add_library(kpc_mlir_archives INTERFACE)
  if(KPC_STATIC_TOOLS)
    kpc_link_llvm_archives(kpc_mlir_archives)
  endif()
  target_link_libraries(kpc_mlir INTERFACE $<IF:$<BOOL:$<TARGET_PROPERTY:KPC_STATIC_MLIR>>,kpc_mlir_archives,kpc_mlir_shared>)
endif()

# A program that tests start thousands of times. The loader looks for 47,000 symbols of the shared libraries each time, which is
# three quarters of a start: `kpc --version` takes 37 ms of a processor with them and 11 ms without.
function(kpc_link_tool_statically target)
  set_target_properties(${target} PROPERTIES KPC_STATIC_MLIR ${KPC_STATIC_TOOLS})
endfunction()

# A library of nothing but a precompiled header, for targets with REUSE_FROM. kpc_dialects_pch has MLIR's own headers and
# those of all dialects: 0.4–1.4 s a file instead of 9. Front ends take kpc_import_pch. What a file does not use of a header
# costs it nothing: clang reads a declaration when it is named. Options are also those of each file that takes the header.
function(kpc_add_mlir_precompiled target header)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${target}.cpp CONTENT "")
  add_library(${target} OBJECT ${PROJECT_BINARY_DIR}/${target}.cpp)
  target_link_libraries(${target} PUBLIC kpc_mlir)
  kpc_target_defaults(${target})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC "SHELL:-Xclang -fno-pch-timestamp" ${ARGN})
  set_property(GLOBAL PROPERTY ${target}_options ${ARGN})
  target_precompile_headers(${target} PRIVATE ${header})
endfunction()

function(kpc_mlir_defaults target precompiled)
  kpc_target_defaults(${target})
  # An executable would be compiled with -fPIE, which the header's -fPIC does not match.
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  get_property(options GLOBAL PROPERTY ${precompiled}_options)
  target_compile_options(${target} PRIVATE -fPIC "SHELL:-Xclang -fno-pch-timestamp" ${options})
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
endfunction()

function(kpc_add_mlir_library target)
  cmake_parse_arguments(arg "" "PRECOMPILED" "SOURCES;LINK;DEPENDS" ${ARGN})
  if(NOT arg_PRECOMPILED)
    set(arg_PRECOMPILED kpc_dialects_pch)
  endif()
  add_library(${target} STATIC ${arg_SOURCES})
  kpc_mlir_defaults(${target} ${arg_PRECOMPILED})
  target_link_libraries(${target} PUBLIC ${arg_LINK} kpc_mlir)
  if(arg_DEPENDS)
    add_dependencies(${target} ${arg_DEPENDS})
  endif()
endfunction()

function(kpc_add_mlir_executable target)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${target} ${arg_SOURCES})
  kpc_mlir_defaults(${target} kpc_dialects_pch)
  target_link_libraries(${target} PRIVATE ${arg_LINK} kpc_mlir)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endfunction()

# kpc_tablegen(OUT Ops.h.inc TD Ops.td GENERATOR -gen-op-decls [EXTRA …]); appends the output to KPC_TABLEGEN_OUTPUTS.
function(kpc_tablegen)
  cmake_parse_arguments(arg "" "OUT;TD;GENERATOR" "EXTRA" ${ARGN})
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${arg_OUT})
  set(td ${CMAKE_CURRENT_SOURCE_DIR}/${arg_TD})
  add_custom_command(OUTPUT ${out}
    COMMAND ${KPC_MLIR_TBLGEN} ${arg_GENERATOR} ${arg_EXTRA} -I ${PROJECT_SOURCE_DIR} -I ${KPC_LLVM_INCLUDE} ${td}
            --write-if-changed -o ${out} -d ${out}.d
    DEPENDS ${td} DEPFILE ${out}.d COMMENT "TableGen ${arg_OUT}")
  set(KPC_TABLEGEN_OUTPUTS ${KPC_TABLEGEN_OUTPUTS} ${out} PARENT_SCOPE)
endfunction()
