# SPDX-License-Identifier: Apache-2.0
# The Exchange of MPI processes: the library tessera_mpi (tessera::mpi), and the module
# tessera_mpi.so that the command loads for `--mpi`. Nothing else links MPI.

set(TESSERA_MPI AUTO CACHE STRING "Build tessera::mpi: ON, OFF, or AUTO (where MPI is found)")
set_property(CACHE TESSERA_MPI PROPERTY STRINGS AUTO ON OFF)
if(TESSERA_MPI STREQUAL "OFF" OR NOT library_sources MATCHES "tessera/exchange/")
  return()
endif()

# FindMPI compiles and links a program each time, so a broken MPI counts as missing.
# Only the C interface is used, from C++: MPI has removed the C++ interface.
set(MPI_CXX_SKIP_MPICXX TRUE)
if(TESSERA_MPI STREQUAL "AUTO")
  find_package(MPI 3.0 QUIET COMPONENTS CXX)
else()
  find_package(MPI 3.0 REQUIRED COMPONENTS CXX)
endif()
if(NOT MPI_CXX_FOUND)
  list(APPEND TESSERA_LEFT_OUT "MPI (tessera reshard --mpi, tessera bench mpi)")
  # Clear FindMPI's cached results for a broken MPI, so that the next run finds a repaired one.
  get_cmake_property(cached CACHE_VARIABLES)
  list(FILTER cached INCLUDE REGEX "^MPI_(CXX_LIB_NAMES|CXX_HEADER_DIR|.*_LIBRARY)$")
  foreach(variable IN LISTS cached)
    unset(${variable} CACHE)
  endforeach()
  return()
endif()

file(GLOB mpi_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tessera/mpi/*.cc)
list(FILTER mpi_sources EXCLUDE REGEX "_test\\.cc$|/module\\.cc$")
add_library(tessera_mpi STATIC ${mpi_sources})
add_library(tessera::mpi ALIAS tessera_mpi)
set_target_properties(tessera_mpi PROPERTIES EXPORT_NAME mpi)
target_compile_options(tessera_mpi PRIVATE -fno-exceptions)
target_link_libraries(tessera_mpi PUBLIC tessera PRIVATE MPI::MPI_CXX)

tessera_add_module(mpi)
