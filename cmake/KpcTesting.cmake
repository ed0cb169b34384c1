# GoogleTest binaries and lit suites, each one ctest test.
#
#   kpc_add_unit_test(NAME SOURCES … [LINK …])          plain C++
#   kpc_add_lit_suite(NAME FOLDER)                       *.mlir / *.test under FOLDER, run by lit

find_package(GTest REQUIRED)

function(kpc_add_unit_test target)
  cmake_parse_arguments(arg "MLIR" "" "SOURCES;LINK" ${ARGN})
  add_executable(${target} ${arg_SOURCES})
  if(arg_MLIR)
    kpc_mlir_defaults(${target})
  else()
    kpc_target_defaults(${target})
  endif()
  target_link_libraries(${target} PRIVATE ${arg_LINK} GTest::gmock GTest::gtest_main)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/bin)
  add_test(NAME ${target} COMMAND ${target})
  set_tests_properties(${target} PROPERTIES TIMEOUT 300 LABELS unit)
endfunction()

find_program(KPC_LIT NAMES lit llvm-lit HINTS /usr/lib/llvm-22/bin NO_DEFAULT_PATH)

function(kpc_add_lit_suite target folder)
  add_test(NAME ${target}
    COMMAND ${KPC_LIT} -sv --param kpc_bin=${PROJECT_BINARY_DIR}/bin --param kpc_llvm_bin=/usr/lib/llvm-22/bin
            --param kpc_test_out=${PROJECT_BINARY_DIR}/test/lit --param kpc_source=${PROJECT_SOURCE_DIR} ${folder})
  set_tests_properties(${target} PROPERTIES TIMEOUT 900 LABELS lit)
endfunction()
