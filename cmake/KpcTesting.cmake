# GoogleTest binaries and lit suites, each one ctest test.
#
#   kpc_add_unit_test(NAME SOURCES … [LINK …] [TIER tier] [COST n])   plain C++
#   kpc_add_lit_suite(NAME FOLDER [TIER tier] [COST n])               *.mlir / *.test under FOLDER, run by lit
#   kpc_set_tier(NAME tier [COST n] [LABELS …])                       any other test
#
# A tier is smoke, presubmit or nightly, and each holds the one before: `ctest -L presubmit` runs smoke tests too.
# CONTRIBUTING.md has the table, which the test style.tiers compares with the labels. COST is in seconds of one
# processor. ctest starts the longest tests first, and knows no times in a fresh tree.

function(kpc_set_tier name tier)
  cmake_parse_arguments(arg "" "COST" "LABELS" ${ARGN})
  set(tiers nightly)
  if(tier STREQUAL "presubmit")
    set(tiers presubmit nightly)
  elseif(tier STREQUAL "smoke")
    set(tiers smoke presubmit nightly)
  elseif(NOT tier STREQUAL "nightly")
    message(FATAL_ERROR "the test ${name} has the tier '${tier}'; expected smoke, presubmit or nightly")
  endif()
  set_property(TEST ${name} PROPERTY LABELS ${arg_LABELS} ${tiers})
  if(arg_COST)
    set_property(TEST ${name} PROPERTY COST ${arg_COST})
  endif()
endfunction()

find_package(GTest REQUIRED)

# One precompiled header for all tests in plain C++: GoogleTest's are most of what a file of tests reads.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/test/gtest-pch.cpp CONTENT "")
add_library(kpc_gtest_pch OBJECT ${PROJECT_BINARY_DIR}/test/gtest-pch.cpp)
kpc_target_defaults(kpc_gtest_pch)
target_link_libraries(kpc_gtest_pch PRIVATE GTest::gmock)
# As executables are compiled, which must match.
set_target_properties(kpc_gtest_pch PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(kpc_gtest_pch PRIVATE -fPIE "SHELL:-Xclang -fno-pch-timestamp" ${KPC_COLD_OPTIONS})
target_precompile_headers(kpc_gtest_pch PRIVATE <gmock/gmock.h>)

# MLIR: its files include MLIR's headers. OPTIMISED: what it computes by itself takes long.
function(kpc_add_unit_test target)
  cmake_parse_arguments(arg "MLIR;OPTIMISED" "TIER;COST" "SOURCES;LINK" ${ARGN})
  if(NOT arg_TIER)
    set(arg_TIER smoke)
  endif()
  add_executable(${target} ${arg_SOURCES})
  if(arg_MLIR AND arg_OPTIMISED)
    kpc_mlir_defaults(${target} kpc_dialects_pch)
  elseif(arg_MLIR)
    kpc_mlir_defaults(${target} kpc_import_pch)
  else()
    kpc_target_defaults(${target})
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp" ${KPC_COLD_OPTIONS})
    target_precompile_headers(${target} REUSE_FROM kpc_gtest_pch)
  endif()
  target_link_libraries(${target} PRIVATE ${arg_LINK} GTest::gmock GTest::gtest_main)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/bin)
  add_test(NAME ${target} COMMAND ${target})
  set_tests_properties(${target} PROPERTIES TIMEOUT 300)
  kpc_set_tier(${target} ${arg_TIER} COST ${arg_COST} LABELS unit)
endfunction()

find_program(KPC_LIT NAMES lit llvm-lit HINTS /usr/lib/llvm-22/bin NO_DEFAULT_PATH)

function(kpc_add_lit_suite target folder)
  cmake_parse_arguments(arg "" "TIER;COST" "" ${ARGN})
  if(NOT arg_TIER)
    set(arg_TIER smoke)
  endif()
  add_test(NAME ${target}
    COMMAND ${KPC_LIT} -sv --param kpc_bin=${PROJECT_BINARY_DIR}/bin --param kpc_llvm_bin=/usr/lib/llvm-22/bin
            --param kpc_test_out=${PROJECT_BINARY_DIR}/test/lit --param kpc_source=${PROJECT_SOURCE_DIR} ${folder})
  set_tests_properties(${target} PROPERTIES TIMEOUT 900)
  kpc_set_tier(${target} ${arg_TIER} COST ${arg_COST} LABELS lit)
endfunction()

# Test runners written in Python; they end with 77 where something that they compare kpc with is not installed.
#
#   kpc_add_python_test(NAME SCRIPT file.py TIER tier [COST n] [ARGUMENTS …] [LABELS …] [TIMEOUT seconds] [PROCESSORS n])
#
# PROCESSORS 2 is for scripts that keep two processors busy from the first second to the last. ctest runs two of the others
# at a time. KPC_JOBS=0: kpc compiles in one process, without the start of a worker for each core, which is a quarter to a third
# of what a model of one node takes. lit_cli has workers.

set(KPC_TEST_PYTHON "" CACHE FILEPATH "Python for test runners; empty: the system's python3")

function(kpc_add_python_test name)
  cmake_parse_arguments(arg "" "SCRIPT;TIER;COST;TIMEOUT;PROCESSORS" "ARGUMENTS;LABELS" ${ARGN})
  set(python ${KPC_TEST_PYTHON})
  if(NOT python)
    set(python python3)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()
  add_test(NAME ${name} COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/${arg_SCRIPT} ${arg_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${arg_TIMEOUT} PROCESSORS ${arg_PROCESSORS}
    ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1;PYTHONUNBUFFERED=1;KPC_STRICT_FAMILIES=1;KPC_VERIFY_KERNELS=1;KPC_JOBS=0")
  kpc_set_tier(${name} "${arg_TIER}" COST ${arg_COST} LABELS ${arg_LABELS})
endfunction()
