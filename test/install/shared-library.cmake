# What libkpc_runtime.so needs, exports and weighs.
cmake_policy(VERSION 3.25)

# The stripped size when this was written, in bytes, rounded up (clang 22, x86-64,
# 2026-11; 17,000 of it for sizes that are elements of inputs, 40,000 for sizes
# that data decides, less 30,000 since validation is compiled with -Os). Growing
# past it is a decision: change the number.
set(limit 500000)

function(output variable)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE out COMMAND_ERROR_IS_FATAL ANY)
  set(${variable} "${out}" PARENT_SCOPE)
endfunction()

output(ignored ${STRIP} -o ${OUT}/stripped.so ${LIBRARY})
file(SIZE ${OUT}/stripped.so size)
message("stripped: ${size} bytes of at most ${limit}")
if(size GREATER limit)
  message(FATAL_ERROR "libkpc_runtime.so has grown to ${size} bytes, the limit is ${limit}")
endif()

output(dynamic ${READELF} -d ${LIBRARY})
string(REGEX MATCHALL "NEEDED[^\n]*" needed "${dynamic}")
foreach(line ${needed})
  if(NOT line MATCHES "\\[(libc|libm|libstdc\\+\\+|libgcc_s|libdl|libpthread|ld-linux-x86-64|ld-linux-aarch64)\\.so\\.[0-9]+\\]")
    message(FATAL_ERROR "libkpc_runtime.so needs ${line}")
  endif()
endforeach()
if(NOT dynamic MATCHES "SONAME[^\n]*libkpc_runtime\\.so\\.[0-9]+\\.[0-9]+")
  message(FATAL_ERROR "libkpc_runtime.so has no versioned SONAME:\n${dynamic}")
endif()
if(dynamic MATCHES "TEXTREL|RPATH|RUNPATH")
  message(FATAL_ERROR "libkpc_runtime.so has text relocations or a search path:\n${dynamic}")
endif()

# Nothing but the C interface is visible, and every function of it has a version.
output(symbols ${NM} -D --defined-only ${LIBRARY})
string(REGEX MATCHALL "[^\n]+" lines "${symbols}")
set(exported "")
foreach(line ${lines})
  if(line MATCHES " A KPC_")
    continue() # the version itself
  endif()
  if(NOT line MATCHES " T (kpc_[a-z_]+)@@KPC_[0-9.]+$")
    message(FATAL_ERROR "libkpc_runtime.so exports ${line}")
  endif()
  list(APPEND exported ${CMAKE_MATCH_1})
endforeach()
list(LENGTH exported count)
message("${count} functions exported")
file(READ ${CMAKE_CURRENT_LIST_DIR}/../../runtime/include/kpc/runtime.h header)
string(REGEX MATCHALL "(kpc_[a-z_]+)\\(" declared "${header}")
foreach(name ${exported})
  if(NOT "${name}(" IN_LIST declared)
    message(FATAL_ERROR "${name} is exported and not in kpc/runtime.h")
  endif()
endforeach()
