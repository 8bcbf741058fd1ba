# SPDX-License-Identifier: Apache-2.0
# Other libraries that `tessera bench` compares with Tessera: modules that the command loads from its
# own folder if they exist. Nothing links them, and they are not installed.
#
# Each library is found by its header and its file, never by its package file for CMake: that of
# oneDNN requires OpenCL headers that nothing here uses, and a peer must never stop a build. A small
# program is compiled with it, so that a library that does not work is left out like a missing one.
include(CheckCXXSourceCompiles)

find_path(TESSERA_ONEDNN_INCLUDE dnnl.hpp)
find_library(TESSERA_ONEDNN dnnl)
find_path(TESSERA_EIGEN_INCLUDE Eigen/Core PATH_SUFFIXES eigen3)
find_library(TESSERA_SCALAPACK scalapack-openmpi)
find_package(OpenMP QUIET COMPONENTS CXX)

add_custom_target(peers)  # exists even when there is no peer to build

# tessera_add_peer_module(NAME SOURCE): a module in the command's folder, optimised in every preset.
function(tessera_add_peer_module name source)
  add_library(${name} MODULE ${source})
  set_target_properties(${name} PROPERTIES PREFIX ""
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} CXX_VISIBILITY_PRESET hidden)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE -O3)
  target_compile_definitions(${name} PRIVATE NDEBUG)
  add_dependencies(peers ${name})
endfunction()

# tessera_try_peer(NAME LIBRARIES INCLUDES CODE): sets TESSERA_HAS_NAME when a program with CODE can be
# compiled and linked, or adds NAME to TESSERA_LEFT_OUT. A failure is not cached: the next run tries again.
function(tessera_try_peer name libraries includes code)
  set(has TESSERA_HAS_${name})
  if(NOT "${libraries};${includes}" MATCHES "NOTFOUND")
    set(CMAKE_REQUIRED_QUIET ON)
    set(CMAKE_REQUIRED_LIBRARIES ${libraries})
    set(CMAKE_REQUIRED_INCLUDES ${includes})
    check_cxx_source_compiles("${code}" ${has})
  endif()
  if(NOT ${has})
    unset(${has} CACHE)
    set(TESSERA_LEFT_OUT ${TESSERA_LEFT_OUT} ${name} PARENT_SCOPE)
  endif()
endfunction()

tessera_add_peer_module(tessera_bench_peers tools/bench/peers/list.cc)
target_link_libraries(tessera_bench_peers PRIVATE Threads::Threads)
set(openmp OpenMP::OpenMP_CXX)
if(NOT TARGET ${openmp})
  set(openmp OpenMP-NOTFOUND)
endif()
tessera_try_peer(oneDNN "${TESSERA_ONEDNN};${openmp}" "${TESSERA_ONEDNN_INCLUDE}"
  "#include <dnnl.h>\n#include <omp.h>\nint main() { return dnnl_version()->major + omp_get_max_threads(); }")
if(TESSERA_HAS_oneDNN)
  target_sources(tessera_bench_peers PRIVATE tools/bench/peers/onednn.cc tools/bench/peers/onednn_conv.cc)
  target_compile_definitions(tessera_bench_peers PRIVATE TESSERA_PEER_ONEDNN)
  target_include_directories(tessera_bench_peers SYSTEM PRIVATE ${TESSERA_ONEDNN_INCLUDE})
  target_link_libraries(tessera_bench_peers PRIVATE ${TESSERA_ONEDNN} OpenMP::OpenMP_CXX)
endif()
tessera_try_peer(Eigen "" "${TESSERA_EIGEN_INCLUDE}"
  "#include <unsupported/Eigen/CXX11/Tensor>\nint main() { return EIGEN_MAJOR_VERSION; }")
if(TESSERA_HAS_Eigen)
  target_sources(tessera_bench_peers PRIVATE tools/bench/peers/eigen.cc)
  target_compile_definitions(tessera_bench_peers PRIVATE TESSERA_PEER_EIGEN)
  target_include_directories(tessera_bench_peers SYSTEM PRIVATE ${TESSERA_EIGEN_INCLUDE})
endif()

# What `tessera bench mpi` compares with Tessera: bare MPI, and ScaLAPACK where it is installed.
if(TARGET tessera_mpi_module)
  tessera_add_peer_module(tessera_bench_mpi tools/bench/peers/mpi_floor.cc)
  target_link_libraries(tessera_bench_mpi PRIVATE MPI::MPI_CXX)
  tessera_try_peer(ScaLAPACK "${TESSERA_SCALAPACK};MPI::MPI_CXX" ""
    "extern \"C\" void Cblacs_gridexit(int); int main() { Cblacs_gridexit(0); }")
  if(TESSERA_HAS_ScaLAPACK)
    target_sources(tessera_bench_mpi PRIVATE tools/bench/peers/mpi_scalapack.cc)
    target_compile_definitions(tessera_bench_mpi PRIVATE TESSERA_PEER_SCALAPACK)
    target_link_libraries(tessera_bench_mpi PRIVATE ${TESSERA_SCALAPACK})
  endif()
endif()
