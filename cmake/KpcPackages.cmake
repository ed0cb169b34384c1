# What is installed, and the packages made of it: `cpack -G TGZ`, `cpack -G DEB` in a build tree.
#
#   component   Debian package      what
#   runtime     libkpc-runtimeX.Y   the shared library: what a program needs where it runs
#   dev         libkpc-dev          static library, headers, CMake package, pkg-config file, an example
#   tools       kpc                 kpc, kpc-opt, kpc-lsp-server, the emulator; not in trees without the compiler
#
# The libraries themselves are installed by runtime/CMakeLists.txt.

set(KPC_SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(KPC_RUNTIME_PACKAGE libkpc-runtime${KPC_SOVERSION})

if(KPC_COMPILER)
  install(TARGETS kpc kpc-opt kpc-lsp-server kpc-emulate RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  # Where kpc looks for it, whatever the name of the system's folder for libraries is.
  set(manual ${PROJECT_BINARY_DIR}/tools/kpc/man)
  install(DIRECTORY ${manual}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools FILES_MATCHING PATTERN "*.1")
  install(FILES ${manual}/kpc.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT tools RENAME kpc)
  install(FILES ${manual}/kpc.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT tools RENAME _kpc)
  install(FILES ${manual}/kpc.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT tools)
  install(TARGETS kpc_emulator_driver LIBRARY DESTINATION lib/kpc COMPONENT tools)
endif()
install(DIRECTORY examples/embed DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libkpc-dev/examples COMPONENT dev)

# Every package carries the licences of what is in it.
file(WRITE ${PROJECT_BINARY_DIR}/copyright
"kpc ${PROJECT_VERSION}: Apache License 2.0 with LLVM exception, the text is in the file LICENSE beside this one.
Libraries that are linked in: THIRD-PARTY-NOTICES.md beside this one.
")
function(kpc_install_licences component package)
  install(FILES LICENSE THIRD-PARTY-NOTICES.md ${PROJECT_BINARY_DIR}/copyright
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
endfunction()
kpc_install_licences(runtime ${KPC_RUNTIME_PACKAGE})
kpc_install_licences(dev libkpc-dev)
if(KPC_COMPILER)
  kpc_install_licences(tools kpc)
endif()

set(CPACK_PACKAGE_NAME kpc)
set(CPACK_PACKAGE_VENDOR "the kpc project")
set(CPACK_PACKAGE_CONTACT "the kpc project")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_COMPONENTS_ALL runtime dev)
if(KPC_COMPILER)
  list(APPEND CPACK_COMPONENTS_ALL tools)
endif()

# One archive of everything; a Debian package for each component, which depend on what their programs are linked with.
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${KPC_RUNTIME_PACKAGE})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "Runs models that kpc compiled")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libkpc-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_DESCRIPTION "Headers and static library of the runtime of kpc")
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${KPC_RUNTIME_PACKAGE} (= ${PROJECT_VERSION}), libc6-dev")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME kpc)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "${PROJECT_DESCRIPTION}")
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS "libkpc-dev, nvidia-cuda-toolkit")
include(CPack)
