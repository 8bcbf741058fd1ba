# SPDX-License-Identifier: Apache-2.0
# Other libraries that `tessera bench` measures beside Tessera: modules that the command loads from
# its own folder when they are there. Nothing links them, and they are not installed.
#
# Each library is found by its header and its file, never by its package file for CMake: that of
# oneDNN requires OpenCL headers that nothing here uses, and a peer must never stop a build.

find_path(TESSERA_ONEDNN_INCLUDE dnnl.hpp)
find_library(TESSERA_ONEDNN dnnl)
find_path(TESSERA_EIGEN_INCLUDE Eigen/Core PATH_SUFFIXES eigen3)
find_library(TESSERA_SCALAPACK scalapack-openmpi)
find_package(OpenMP QUIET COMPONENTS CXX)

add_custom_target(peers)  # also where there is none to build

# tessera_add_peer_module(NAME SOURCE): a module beside the command, optimised whatever the preset.
function(tessera_add_peer_module name source)
  add_library(${name} MODULE ${source})
  set_target_properties(${name} PROPERTIES PREFIX ""
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} CXX_VISIBILITY_PRESET hidden)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE -O3)
  target_compile_definitions(${name} PRIVATE NDEBUG)
  add_dependencies(peers ${name})
endfunction()

set(peers_missing "")
tessera_add_peer_module(tessera_bench_peers tools/peers/list.cc)
target_link_libraries(tessera_bench_peers PRIVATE Threads::Threads)
if(TESSERA_ONEDNN AND TESSERA_ONEDNN_INCLUDE AND TARGET OpenMP::OpenMP_CXX)
  target_sources(tessera_bench_peers PRIVATE tools/peers/onednn.cc)
  target_compile_definitions(tessera_bench_peers PRIVATE TESSERA_PEER_ONEDNN)
  target_include_directories(tessera_bench_peers SYSTEM PRIVATE ${TESSERA_ONEDNN_INCLUDE})
  target_link_libraries(tessera_bench_peers PRIVATE ${TESSERA_ONEDNN} OpenMP::OpenMP_CXX)
else()
  list(APPEND peers_missing oneDNN)
endif()
if(TESSERA_EIGEN_INCLUDE)
  target_sources(tessera_bench_peers PRIVATE tools/peers/eigen.cc)
  target_compile_definitions(tessera_bench_peers PRIVATE TESSERA_PEER_EIGEN)
  target_include_directories(tessera_bench_peers SYSTEM PRIVATE ${TESSERA_EIGEN_INCLUDE})
else()
  list(APPEND peers_missing Eigen)
endif()

# What `tessera bench mpi` measures beside Tessera: bare MPI, and ScaLAPACK where it is.
if(TARGET tessera_mpi_module)
  tessera_add_peer_module(tessera_bench_mpi tools/peers/mpi_floor.cc)
  target_link_libraries(tessera_bench_mpi PRIVATE MPI::MPI_CXX)
  if(TESSERA_SCALAPACK)
    target_sources(tessera_bench_mpi PRIVATE tools/peers/mpi_scalapack.cc)
    target_compile_definitions(tessera_bench_mpi PRIVATE TESSERA_PEER_SCALAPACK)
    target_link_libraries(tessera_bench_mpi PRIVATE ${TESSERA_SCALAPACK})
  else()
    list(APPEND peers_missing ScaLAPACK)
  endif()
endif()

if(peers_missing)
  list(JOIN peers_missing ", " peers_missing)
  message(STATUS "Left out of `tessera bench`: ${peers_missing} (make bench installs them)")
endif()
