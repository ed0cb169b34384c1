# Installs the runtime, builds examples/embed against it, runs both programs.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
set(work ${BUILD}/test/install)
set(prefix ${work}/prefix)
file(REMOVE_RECURSE ${work}/prefix ${work}/embed)
file(MAKE_DIRECTORY ${work})

foreach(component runtime dev)
  run(${CMAKE_COMMAND} --install ${BUILD} --component ${component} --prefix ${prefix})
endforeach()
run(${CMAKE_COMMAND} -S ${SOURCE}/examples/embed -B ${work}/embed -DCMAKE_PREFIX_PATH=${prefix}
    -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER})
run(${CMAKE_COMMAND} --build ${work}/embed)
run(${SAMPLE} ${work}/sample.kpc)
foreach(program embed_c embed_cpp)
  run(${work}/embed/${program} ${work}/sample.kpc)
  if(NOT out STREQUAL "z: f32[1, 1] 0\ntotal: f32[1] 0\ntail: f32[1] 0\n")
    message(FATAL_ERROR "${program} printed:\n${out}")
  endif()
endforeach()

# What goes wrong is said, whichever compiler made the program.
find_program(gxx g++)
foreach(compiler IN ITEMS ${CXX_COMPILER} ${gxx})
  if(compiler)
    run(${compiler} -std=c++20 -o ${work}/errors ${CMAKE_CURRENT_LIST_DIR}/errors.cpp -I${prefix}/include
        -L${prefix}/${LIBDIR} -lkpc_runtime -Wl,-rpath,${prefix}/${LIBDIR})
    run(${work}/errors ${work}/sample.kpc)
    if(NOT out MATCHES "^the model has no dim 'bach'[^\n]*\nthe dims of 'x' need 4000000 bytes, and its memory has 4\n$")
      message(FATAL_ERROR "errors, by ${compiler}, printed:\n${out}")
    endif()
  endif()
endforeach()

# pkg-config finds the same, and a C program needs nothing else.
find_program(pkg_config pkg-config)
if(pkg_config)
  set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
  run(${pkg_config} --cflags --libs kpc-runtime)
  string(STRIP "${out}" flags)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(${C_COMPILER} -o ${work}/embed/by_pkg_config ${SOURCE}/examples/embed/embed.c ${flags}
      -Wl,-rpath,${prefix}/${LIBDIR})
  run(${work}/embed/by_pkg_config ${work}/sample.kpc)
else()
  message("SKIPPED: pkg-config is not installed, its file was not tried")
endif()
message("embed_c and embed_cpp built out of tree and ran")
