# SPDX-License-Identifier: Apache-2.0
# The installed tree: command, library, headers, find_package(tessera [COMPONENTS mpi]) and
# tessera.pc.
# Nothing in it names the prefix, so it may be moved.
include(CMakePackageConfigHelpers)

install(TARGETS tessera EXPORT tessera-targets)
if(TARGET tessera-cli)
  install(TARGETS tessera-cli)
endif()
if(TARGET tessera_mpi)
  # A set of its own: only who asks for the component `mpi` needs MPI.
  install(TARGETS tessera_mpi EXPORT tessera-mpi-targets)
  install(TARGETS tessera_mpi_module DESTINATION ${CMAKE_INSTALL_LIBDIR}/tessera)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/tessera ${PROJECT_BINARY_DIR}/generated/tessera
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "testing" EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tessera-config.cmake.in
  ${PROJECT_BINARY_DIR}/tessera-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tessera-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(EXPORT tessera-targets NAMESPACE tessera:: DESTINATION ${package_dir})
if(TARGET tessera_mpi)
  install(EXPORT tessera-mpi-targets NAMESPACE tessera:: DESTINATION ${package_dir})
endif()
install(FILES ${PROJECT_BINARY_DIR}/tessera-config.cmake
              ${PROJECT_BINARY_DIR}/tessera-config-version.cmake DESTINATION ${package_dir})

set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_to_prefix /prefix/${pc_dir} /prefix)
string(REGEX REPLACE "/$" "" pc_to_prefix ${pc_to_prefix})
configure_file(${PROJECT_SOURCE_DIR}/cmake/tessera.pc.in ${PROJECT_BINARY_DIR}/tessera.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tessera.pc DESTINATION ${pc_dir})
