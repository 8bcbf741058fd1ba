# SPDX-License-Identifier: Apache-2.0
# The installed tree: command, library, headers, find_package(tessera [COMPONENTS mpi]) and
# tessera.pc.
# It contains no absolute path of the prefix, so it may be moved.
include(CMakePackageConfigHelpers)

# The public interface: what tessera/tessera.h includes, and what these include in turn. Every header
# of the set compiles alone (target all_verify_interface_header_sets); nothing else is installed.
set(TESSERA_CORE_HEADERS
    tessera/tessera.h
    tessera/base/array.h tessera/base/dtype.h tessera/base/result.h tessera/base/shape.h
    tessera/base/thread_pool.h
    tessera/check/check.h
    tessera/fabric/mesh.h
    tessera/layout/device_map.h tessera/layout/form.h tessera/layout/layout.h
    tessera/layout/locator.h tessera/layout/placement.h tessera/layout/regions.h
    tessera/layout/runs.h tessera/layout/view.h
    tessera/memory/problem.h tessera/memory/solve.h tessera/memory/validate.h
    tessera/notation/convert.h tessera/notation/same_places.h tessera/notation/tensor.h
    tessera/relayout/plan.h tessera/relayout/program.h tessera/relayout/rounding.h
    tessera/relayout/verify.h
    tessera/reshard/reshard.h tessera/reshard/transfers.h
    tessera/target/fit.h tessera/target/machine.h)
# Ranks that exchange data: for tessera::mpi, and for users' own transports.
set(TESSERA_EXCHANGE_HEADERS
    tessera/exchange/agreement.h tessera/exchange/exchange.h tessera/exchange/resharder.h)
# The interface of PyFlame programs.
set(TESSERA_PYFLAME_HEADERS
    tessera/memory/advice.h tessera/memory/liveness.h tessera/memory/mesh/place_sizes.h
    tessera/memory/mesh_plan.h
    tessera/notation/pyflame/pyflame.h
    tessera/pyflame/ir_graph.h tessera/pyflame/layout_planner.h
    tessera/pyflame/layout_transform.h tessera/pyflame/mesh_layout.h
    tessera/pyflame/pe_memory_planner.h)
# Models.
set(TESSERA_GRAPH_HEADERS
    tessera/graph/builder.h tessera/graph/data.h tessera/graph/graph.h tessera/graph/graph_json.h
    tessera/graph/op.h tessera/graph/program.h)
# Which layouts an op allows.
set(TESSERA_OPS_HEADERS
    tessera/ops/kernels.h tessera/ops/loops.h tessera/ops/machines/propagate_on.h
    tessera/ops/machines/restrictions.h tessera/ops/propagate.h tessera/ops/scratch.h
    tessera/ops/shares.h tessera/ops/supply.h tessera/ops/work_map.h)
# Lazy tensors that run on a machine.
set(TESSERA_FRONTEND_HEADERS tessera/frontend/eval.h tessera/frontend/tensor.h)
# Tensors in the memories of a machine.
set(TESSERA_DEVICE_HEADERS
    tessera/device/device.h tessera/device/mover.h tessera/device/transfer_manager.h)

set_target_properties(tessera PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
foreach(set core exchange pyflame graph ops frontend device)
  string(TOUPPER ${set} SET)
  list(TRANSFORM TESSERA_${SET}_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE headers)
  target_sources(tessera PUBLIC FILE_SET ${set} TYPE HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}
                 FILES ${headers})
endforeach()
target_sources(tessera PUBLIC FILE_SET generated TYPE HEADERS
  BASE_DIRS ${PROJECT_BINARY_DIR}/generated FILES ${PROJECT_BINARY_DIR}/generated/tessera/version.h)
install(TARGETS tessera EXPORT tessera-targets
        FILE_SET core FILE_SET exchange FILE_SET pyflame FILE_SET graph FILE_SET ops
        FILE_SET frontend FILE_SET device FILE_SET generated)
if(TARGET tessera-cli)
  install(TARGETS tessera-cli)
endif()
if(TARGET tessera_mpi)
  # A separate export: only users of the component `mpi` need MPI.
  target_sources(tessera_mpi PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}
                 FILES ${PROJECT_SOURCE_DIR}/tessera/mpi/mpi_exchange.h)
  install(TARGETS tessera_mpi EXPORT tessera-mpi-targets FILE_SET HEADERS)
  install(TARGETS tessera_mpi_module DESTINATION ${CMAKE_INSTALL_LIBDIR}/tessera)
endif()
if(TARGET tessera_onnx_module)
  install(TARGETS tessera_onnx_module DESTINATION ${CMAKE_INSTALL_LIBDIR}/tessera)
endif()
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
