# Writes the commit of a checkout as a C string to OUT, if that has changed:  cmake -DSOURCE=… -DOUT=… -P WriteCommit.cmake
# Empty where it is not known, as in the sources of a release.
find_package(Git QUIET)
set(commit "")
if(GIT_FOUND AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "\"${commit}\"\n")
