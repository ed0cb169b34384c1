# LLVM and MLIR 22 from the distribution's packages.
#
#   kpc_add_mlir_library(NAME SOURCES … [LINK …] [DEPENDS …] [PRECOMPILED kpc_graph_pch])
#                                                              a library on MLIR, with a shared precompiled header
#   kpc_add_mlir_precompiled(NAME header)                      such a header
#   kpc_add_mlir_executable(NAME SOURCES … [LINK …])
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
if(KPC_STATIC)
  file(GLOB KPC_MLIR_ARCHIVES ${KPC_LLVM_PREFIX}/lib/libMLIR*.a)
  list(FILTER KPC_MLIR_ARCHIVES EXCLUDE REGEX "libMLIR(CAPI|Test|.*Test|ExecutionEngine|JitRunner).*\\.a$")
  execute_process(COMMAND ${KPC_LLVM_CONFIG} --link-static --libfiles x86 nvptx passes asmparser bitreader bitwriter irreader frontendopenmp textapi supportlsp
                  OUTPUT_VARIABLE KPC_LLVM_ARCHIVES OUTPUT_STRIP_TRAILING_WHITESPACE)
  separate_arguments(KPC_LLVM_ARCHIVES)
  target_link_libraries(kpc_mlir INTERFACE -Wl,--start-group ${KPC_MLIR_ARCHIVES} ${KPC_LLVM_ARCHIVES} -Wl,--end-group
                        -l:libz.a -l:libzstd.a pthread dl m)
  target_link_options(kpc_mlir INTERFACE -Wl,--gc-sections)
else()
  target_link_libraries(kpc_mlir INTERFACE -L${KPC_LLVM_PREFIX}/lib MLIR LLVM -Wl,-rpath,${KPC_LLVM_PREFIX}/lib)
endif()

# A library of nothing but a precompiled header, for targets with REUSE_FROM.
function(kpc_add_mlir_precompiled target header)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${target}.cpp CONTENT "")
  add_library(${target} OBJECT ${PROJECT_BINARY_DIR}/${target}.cpp)
  target_link_libraries(${target} PUBLIC kpc_mlir)
  kpc_target_defaults(${target})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC "SHELL:-Xclang -fno-pch-timestamp")
  target_precompile_headers(${target} PRIVATE ${header})
endfunction()

# MLIR's own headers, for all files on MLIR: 0.4–1.4 s a file instead of 7. Files on the graph dialect take kpc_graph_pch,
# which has its 1.1 MB of generated declarations, too: they are another second.
kpc_add_mlir_precompiled(kpc_mlir_pch ${PROJECT_SOURCE_DIR}/cmake/MlirPrecompiled.h)

function(kpc_mlir_defaults target precompiled)
  kpc_target_defaults(${target})
  # An executable would be compiled with -fPIE, which the header's -fPIC does not match.
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC)
  target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
endfunction()

function(kpc_add_mlir_library target)
  cmake_parse_arguments(arg "" "PRECOMPILED" "SOURCES;LINK;DEPENDS" ${ARGN})
  if(NOT arg_PRECOMPILED)
    set(arg_PRECOMPILED kpc_mlir_pch)
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
  kpc_mlir_defaults(${target} kpc_mlir_pch)
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
