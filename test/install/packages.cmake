# Makes the packages and uses what is in them.
#
#   cmake -DBUILD=… -DSOURCE=… -DSTATIC=ON|OFF -DREADELF=… -DC_COMPILER=… -DCXX_COMPILER=… -P packages.cmake
#
# A tree without the shared LLVM (preset release) must need nothing but glibc, libstdc++ and libgcc.
cmake_policy(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
set(work ${BUILD}/test/packages)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})
find_program(dpkg_deb dpkg-deb)
find_program(dpkg_shlibdeps dpkg-shlibdeps)
if(NOT dpkg_deb OR NOT dpkg_shlibdeps)
  message("SKIPPED: dpkg-deb and dpkg-shlibdeps (package dpkg-dev) are not installed")
  return()
endif()
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
file(STRINGS ${BUILD}/CPackConfig.cmake version REGEX "CPACK_PACKAGE_VERSION \"")
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" version "${version}")
string(REGEX MATCH "^[0-9]+\\.[0-9]+" soversion ${version})
get_filename_component(cpack ${CMAKE_COMMAND} DIRECTORY)
# Compression takes most of the time of this test; what is shipped is made of the tree `release`.
set(compression)
if(NOT STATIC)
  set(compression -D CPACK_DEBIAN_COMPRESSION_TYPE=none)
endif()
run(${cpack}/cpack --config ${BUILD}/CPackConfig.cmake -B ${work} -D CPACK_THREADS=${cores} ${compression})

# The archive holds everything, below one folder.
file(GLOB archive ${work}/kpc-${version}-*.tar.gz)
file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${work}/archive)
file(GLOB unpacked ${work}/archive/*)

# Each Debian package holds its part, and depends on what that needs.
set(root ${work}/root)
function(check_package name)
  cmake_parse_arguments(arg "" "" "HAS;DEPENDS" ${ARGN})
  file(GLOB file ${work}/${name}_${version}_*.deb)
  if(NOT file)
    message(FATAL_ERROR "there is no package ${name}")
  endif()
  run(${dpkg_deb} --field ${file} Depends)
  string(STRIP "${out}" depends)
  file(SIZE ${file} size)
  message("${name}: ${size} bytes, depends on ${depends}")
  foreach(need ${arg_DEPENDS})
    if(NOT depends MATCHES "(^|, )${need}")
      message(FATAL_ERROR "${name} does not depend on ${need}")
    endif()
  endforeach()
  if(STATIC AND depends MATCHES "llvm|mlir|protobuf|fmt|zstd")
    message(FATAL_ERROR "${name} needs a library that should be linked statically")
  endif()
  run(${dpkg_deb} --extract ${file} ${root})
  run(${dpkg_deb} --contents ${file})
  foreach(path ${arg_HAS} usr/share/doc/${name}/LICENSE usr/share/doc/${name}/THIRD-PARTY-NOTICES.md
          usr/share/doc/${name}/copyright)
    if(NOT out MATCHES "\\./${path}[\n ]")
      message(FATAL_ERROR "${name} has no ${path}:\n${out}")
    endif()
    if(NOT path MATCHES "share/doc")
      string(REGEX REPLACE "^usr/" "" below ${path})
      if(NOT EXISTS ${unpacked}/${below})
        message(FATAL_ERROR "${archive} has no ${below}")
      endif()
    endif()
  endforeach()
endfunction()
check_package(libkpc-runtime${soversion} HAS usr/lib/libkpc_runtime.so.${version} usr/lib/libkpc_runtime.so.${soversion}
  DEPENDS libc6 "libstdc\\+\\+6" libgcc-s1)
check_package(libkpc-dev DEPENDS "libkpc-runtime${soversion} \\(= ${version}\\)"
  HAS usr/lib/libkpc_runtime.so usr/lib/libkpc_runtime.a usr/include/kpc/runtime.h usr/include/kpc/runtime.hpp
      usr/lib/cmake/kpc/kpcConfig.cmake usr/lib/pkgconfig/kpc-runtime.pc)
check_package(kpc HAS usr/bin/kpc usr/bin/kpc-opt usr/bin/kpc-lsp-server usr/bin/kpc-emulate usr/lib/kpc/libkpc_emulator_driver.so
  usr/share/man/man1/kpc.1 usr/share/man/man1/kpc-compile.1 usr/share/bash-completion/completions/kpc
  DEPENDS libc6 "libstdc\\+\\+6" libgcc-s1)

# What the programs load.
foreach(program bin/kpc bin/kpc-opt bin/kpc-lsp-server bin/kpc-emulate lib/kpc/libkpc_emulator_driver.so
        lib/libkpc_runtime.so.${version})
  run(${READELF} --dynamic --wide ${root}/usr/${program})
  if(STATIC AND out MATCHES "RPATH|RUNPATH")
    message(FATAL_ERROR "${program} has a search path:\n${out}")
  endif()
  string(REGEX MATCHALL "NEEDED[^\n]*" needed "${out}")
  set(names "")
  foreach(line ${needed})
    string(REGEX MATCH "\\[(.*)\\]" line "${line}")
    list(APPEND names ${CMAKE_MATCH_1})
    if(STATIC AND NOT CMAKE_MATCH_1 MATCHES "^(libc|libm|libstdc\\+\\+|libgcc_s|ld-linux-x86-64)\\.so\\.[0-9]+$")
      message(FATAL_ERROR "${program} needs ${CMAKE_MATCH_1}")
    endif()
  endforeach()
  run(${READELF} --sections --wide ${root}/usr/${program})
  if(out MATCHES "\\.debug_info|\\.symtab")
    message(FATAL_ERROR "${program} is not stripped")
  endif()
  file(SIZE ${root}/usr/${program} size)
  message("${program}: ${size} bytes, loads ${names}")
endforeach()

# From an exported model to an application that is built with the packages: nothing of the source tree but the example.
set(digits ${SOURCE}/examples/digits)
set(ENV{LD_LIBRARY_PATH} ${root}/usr/lib)
run(${root}/usr/bin/kpc compile ${digits}/digits.onnx --arch host --no-cache --quiet -o ${work}/digits.kpc)
run(${root}/usr/bin/kpc compile ${digits}/digits.onnx --arch portable --no-cache --quiet -o ${work}/portable.kpc)
run(${root}/usr/bin/kpc run ${work}/portable.kpc -i random --dim batch=2 --device emulate:sm_80)
run(${CMAKE_COMMAND} -S ${digits} -B ${work}/digits -DCMAKE_PREFIX_PATH=${root}/usr
    -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER})
run(${CMAKE_COMMAND} --build ${work}/digits)
run(${work}/digits/digits ${work}/digits.kpc ${digits}/images.npy ${digits}/labels.npy)
message("${out}")
