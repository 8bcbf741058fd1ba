# SPDX-License-Identifier: Apache-2.0
# Other libraries that `tessera bench relayout` measures: a module that the command loads from its
# own folder when it is there. Nothing links it, and it is not installed.

find_package(dnnl 2 QUIET)
find_package(Eigen3 3.4 QUIET)
find_package(OpenMP QUIET COMPONENTS CXX)

add_custom_target(peers)  # also where there is none to build
if(TARGET Eigen3::Eigen OR (TARGET DNNL::dnnl AND TARGET OpenMP::OpenMP_CXX))
  add_library(tessera_bench_peers MODULE tools/peers/list.cc)
  set_target_properties(tessera_bench_peers PROPERTIES PREFIX ""
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} CXX_VISIBILITY_PRESET hidden)
  target_include_directories(tessera_bench_peers PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(tessera_bench_peers PRIVATE -O3)  # whatever the preset: they are measured
  target_compile_definitions(tessera_bench_peers PRIVATE NDEBUG)
  target_link_libraries(tessera_bench_peers PRIVATE Threads::Threads)
  if(TARGET DNNL::dnnl AND TARGET OpenMP::OpenMP_CXX)
    target_sources(tessera_bench_peers PRIVATE tools/peers/onednn.cc)
    target_compile_definitions(tessera_bench_peers PRIVATE TESSERA_PEER_ONEDNN)
    target_link_libraries(tessera_bench_peers PRIVATE DNNL::dnnl OpenMP::OpenMP_CXX)
  endif()
  if(TARGET Eigen3::Eigen)
    target_sources(tessera_bench_peers PRIVATE tools/peers/eigen.cc)
    target_compile_definitions(tessera_bench_peers PRIVATE TESSERA_PEER_EIGEN)
    target_link_libraries(tessera_bench_peers PRIVATE Eigen3::Eigen)
  endif()
  add_dependencies(peers tessera_bench_peers)
endif()

# What `tessera bench mpi` measures beside Tessera: bare MPI, and ScaLAPACK where it is.
find_library(TESSERA_SCALAPACK scalapack-openmpi)
if(TARGET tessera_mpi_module)
  add_library(tessera_bench_mpi MODULE tools/peers/mpi_floor.cc)
  set_target_properties(tessera_bench_mpi PROPERTIES PREFIX ""
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} CXX_VISIBILITY_PRESET hidden)
  target_include_directories(tessera_bench_mpi PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(tessera_bench_mpi PRIVATE -O3)
  target_compile_definitions(tessera_bench_mpi PRIVATE NDEBUG)
  target_link_libraries(tessera_bench_mpi PRIVATE MPI::MPI_CXX)
  if(TESSERA_SCALAPACK)
    target_sources(tessera_bench_mpi PRIVATE tools/peers/mpi_scalapack.cc)
    target_compile_definitions(tessera_bench_mpi PRIVATE TESSERA_PEER_SCALAPACK)
    target_link_libraries(tessera_bench_mpi PRIVATE ${TESSERA_SCALAPACK})
  endif()
  add_dependencies(peers tessera_bench_mpi)
endif()
