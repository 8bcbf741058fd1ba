# SPDX-License-Identifier: Apache-2.0
# Tests are found by name; a new file needs no edit here:
#   tessera/<room>/**/*_test.cc       <room>_test          gtest
#   tessera/<room>/**/*_threads_test.cc
#                                     <room>_threads_test  gtest, label `threads`, also run under tsan
#   tessera/<room>/**/x_sweep.cc      <room>_x_sweep       own main(); `--quick` carries the label
#                                                          `quick`, `--full` the label `long`
#   tools/**/*_test.cc                tools_test           gtest; TESSERA_COMMAND is the command's path
#   tessera/mpi/x_mpi_test.cc         x_mpi_test           gtest with its own main(), run by mpirun
#                                                          with 2 and 4 ranks, label `mpi`
#   tools/**/*_mpi_test.cc            tools_mpi_test       gtest, where there is MPI; TESSERA_MPIRUN
#   examples/x.cc, examples/cpp/x.cc  example_x            passes when it returns 0
#   python/tests/test_*.py            python_test          pytest, where the Python package is built
# Tests run in the root of the source tree, where they find their data files.
#
# A long executable is split into n parts that run in parallel by a line such as
#   set(TESSERA_SHARDS_layout_test 4)

# Tests are compiled more often than they run: -O1 takes a fifth less time than the preset's -O2.
add_library(tessera_test_options INTERFACE)
if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  target_compile_options(tessera_test_options INTERFACE -O1)
endif()

find_package(GTest REQUIRED)
find_package(rapidcheck REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(ISL REQUIRED IMPORTED_TARGET isl)  # an independent reference for layout algebra
find_package(nlohmann_json 3 REQUIRED)               # and for the text of JSON

add_custom_target(threads_tests)  # what the tsan preset builds

set(testing_sources ${TESSERA_SOURCES})
list(FILTER testing_sources INCLUDE REGEX "^tessera/testing/")
list(FILTER testing_sources EXCLUDE REGEX "_(test|sweep)\\.cc$")
set(testing_libraries tessera $<TARGET_NAME_IF_EXISTS:tessera_bench> GTest::gtest rapidcheck rapidcheck_gtest PkgConfig::ISL)
if(testing_sources)
  tessera_join(compiled_sources testing ${testing_sources})
  add_library(tessera_testing STATIC ${compiled_sources})
  target_link_libraries(tessera_testing PUBLIC ${testing_libraries})
  tessera_precompile(tessera_testing <gtest/gtest.h> ${PROJECT_SOURCE_DIR}/tessera/testing/laws.h)
else()
  add_library(tessera_testing INTERFACE)
  target_link_libraries(tessera_testing INTERFACE ${testing_libraries})
endif()

function(tessera_add_test name labels)
  add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "${labels}")
endfunction()

function(tessera_add_gtest name labels)
  tessera_join(compiled_sources ${name} ${ARGN})
  add_executable(${name} ${compiled_sources})
  target_link_libraries(${name} PRIVATE tessera_test_options tessera_testing GTest::gtest_main)
  list(LENGTH ARGN files)
  if(files GREATER 3)
    tessera_precompile(${name} <gtest/gtest.h>
                       ${PROJECT_SOURCE_DIR}/tessera/notation/notation.h
                       ${PROJECT_SOURCE_DIR}/tessera/testing/laws.h)
  endif()
  set(shards ${TESSERA_SHARDS_${name}})
  if(NOT shards)
    tessera_add_test(${name} "${labels}" ${name})
    return()
  endif()
  math(EXPR last "${shards} - 1")
  foreach(shard RANGE ${last})
    tessera_add_test(${name}.${shard} "${labels}" ${name})
    set_tests_properties(${name}.${shard} PROPERTIES
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()

set(rooms ${TESSERA_SOURCES})
list(TRANSFORM rooms REPLACE "^tessera/([^/]*)/.*" "\\1")
list(REMOVE_DUPLICATES rooms)
list(REMOVE_ITEM rooms mpi)  # its tests are started by mpirun
if(NOT TARGET tessera_onnx)
  list(REMOVE_ITEM rooms onnx)
endif()
foreach(room IN LISTS rooms)
  set(tests ${TESSERA_SOURCES})
  list(FILTER tests INCLUDE REGEX "^tessera/${room}/.*_test\\.cc$")
  set(threads_tests ${tests})
  list(FILTER threads_tests INCLUDE REGEX "_threads_test\\.cc$")
  list(FILTER tests EXCLUDE REGEX "_threads_test\\.cc$")
  if(tests)
    tessera_add_gtest(${room}_test unit ${tests})
    if(room STREQUAL "base")
      target_link_libraries(base_test PRIVATE nlohmann_json::nlohmann_json)
    endif()
    if(room STREQUAL "onnx")
      target_link_libraries(onnx_test PRIVATE tessera_onnx ${onnx_libraries})
    endif()
  endif()
  if(threads_tests)
    tessera_add_gtest(${room}_threads_test "unit;threads" ${threads_tests})
    add_dependencies(threads_tests ${room}_threads_test)
  endif()

  set(sweeps ${TESSERA_SOURCES})
  list(FILTER sweeps INCLUDE REGEX "^tessera/${room}/.*_sweep\\.cc$")
  foreach(sweep IN LISTS sweeps)
    cmake_path(GET sweep STEM stem)
    set(name ${room}_${stem})
    add_executable(${name} ${sweep})
    target_link_libraries(${name} PRIVATE tessera_testing)
    tessera_add_test(${name}.quick quick ${name} --quick)
    tessera_add_test(${name}.full long ${name} --full)
    set_tests_properties(${name}.full PROPERTIES TIMEOUT 14400)
  endforeach()
endforeach()

if(TARGET tessera_mpi AND NOT MPIEXEC_EXECUTABLE)
  list(APPEND TESSERA_LEFT_OUT "tests under mpirun")
elseif(TARGET tessera_mpi)
  include(mpi_tests)
endif()

if(TESSERA_ROOMS)
  return()
endif()

set(tools_tests ${TESSERA_TOOL_SOURCES})
list(FILTER tools_tests INCLUDE REGEX "_test\\.cc$")
set(tools_mpi_tests ${tools_tests})
list(FILTER tools_mpi_tests INCLUDE REGEX "_mpi_test\\.cc$")
list(FILTER tools_tests EXCLUDE REGEX "_mpi_test\\.cc$")
if(tools_tests AND TARGET tessera-cli)
  tessera_add_gtest(tools_test unit ${tools_tests})
  target_link_libraries(tools_test PRIVATE tessera_tools ZLIB::ZLIB)  # makes compressed files
  add_library(other_mpi_module MODULE tools/testdata/other_mpi_module.cc)  # of another version
  target_link_libraries(other_mpi_module PRIVATE tessera)
  add_library(foreign_module MODULE tools/testdata/foreign_module.cc)  # not a module of Tessera
  target_compile_definitions(tools_test PRIVATE TESSERA_COMMAND="$<TARGET_FILE:tessera-cli>"
    TESSERA_OTHER_MPI_MODULE="$<TARGET_FILE:other_mpi_module>"
    TESSERA_FOREIGN_MODULE="$<TARGET_FILE:foreign_module>")
  add_dependencies(tools_test tessera-cli other_mpi_module foreign_module)
endif()
# Not under the sanitizers, which Open MPI does not support.
if(tools_mpi_tests AND TARGET tessera-cli AND TARGET tessera_mpi_module AND MPIEXEC_EXECUTABLE AND
   NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  tessera_add_gtest(tools_mpi_test mpi ${tools_mpi_tests})
  target_link_libraries(tools_mpi_test PRIVATE tessera_tools)
  add_library(stop_at_output MODULE tools/testdata/stop_at_output.cc)
  target_link_libraries(stop_at_output PRIVATE ${CMAKE_DL_LIBS})
  add_library(stop_at_end MODULE tools/testdata/stop_at_end.cc)
  target_compile_definitions(tools_mpi_test PRIVATE
    TESSERA_COMMAND="$<TARGET_FILE:tessera-cli>" TESSERA_MPIRUN="${MPIEXEC_EXECUTABLE}"
    TESSERA_STOP_AT_OUTPUT="$<TARGET_FILE:stop_at_output>"
    TESSERA_STOP_AT_END="$<TARGET_FILE:stop_at_end>")
  add_dependencies(tools_mpi_test tessera-cli tessera_mpi_module tessera_bench_mpi stop_at_output
                   stop_at_end)
  set_tests_properties(tools_mpi_test PROPERTIES TIMEOUT 900 RESOURCE_LOCK mpi
    PROCESSORS 2)
endif()

# Questions with their answers, for tests of the module that the page uses: `make test-explorer`.
if(TARGET tessera-cli)
  add_executable(web_requests EXCLUDE_FROM_ALL web/tests/requests.cc)
  target_link_libraries(web_requests PRIVATE tessera_testing tessera_tools)
endif()

# What the page's module consists of compiles and links as WebAssembly: once, without optimisation, which takes a third of
# the time that the module takes. Its answers are compared by `make test-explorer`.
find_program(TESSERA_WASM_CLANG clang++-19)
find_file(TESSERA_WASM_LIBRARY libc++.a PATHS /usr/lib/wasm32-wasi NO_DEFAULT_PATH)
mark_as_advanced(TESSERA_WASM_CLANG TESSERA_WASM_LIBRARY)
if(NOT TESSERA_WASM_CLANG OR NOT TESSERA_WASM_LIBRARY)
  list(APPEND TESSERA_LEFT_OUT "the build of the page's module (packages/explorer.txt)")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  tessera_add_test(web_module unit ${CMAKE_CTEST_COMMAND} --build-and-test ${PROJECT_SOURCE_DIR}/web
    ${PROJECT_BINARY_DIR}/web --build-generator Ninja --build-options
    -DCMAKE_TOOLCHAIN_FILE=${PROJECT_SOURCE_DIR}/cmake/wasm_toolchain.cmake -DTESSERA_WEB_OPTIMISE=-O0)
  set_tests_properties(web_module PROPERTIES PROCESSORS 2 TIMEOUT 1800)
endif()

# A second opinion about runs, skipped where ONNXRUNTIME_NODE names no folder of onnxruntime-node.
find_program(NODE_COMMAND node)
if(NODE_COMMAND AND TARGET tessera-cli AND TARGET tessera_onnx_module)
  tessera_add_test(onnxruntime_opinion unit ${NODE_COMMAND} scripts/onnxruntime_opinion.mjs ""
                   $<TARGET_FILE:tessera-cli>)
  set_tests_properties(onnxruntime_opinion PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
else()
  list(APPEND TESSERA_LEFT_OUT "the comparison of runs with ONNX Runtime (node)")
endif()

# One translation unit that includes every header: two that define the same name differently, or that
# cannot stand side by side, do not compile.
file(GLOB_RECURSE all_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
     ${PROJECT_SOURCE_DIR}/tessera/*.h ${PROJECT_SOURCE_DIR}/tools/*.h ${PROJECT_SOURCE_DIR}/bench/*.h)
if(NOT TARGET tessera_mpi)
  list(FILTER all_headers EXCLUDE REGEX "^tessera/mpi/|mpi_peer\\.h$")
endif()
if(NOT TARGET tessera_onnx)
  list(FILTER all_headers EXCLUDE REGEX "^tessera/onnx/(model_shim|node_view|node_writer)\\.h$|/onnx_model_files\\.h$")
endif()
list(TRANSFORM all_headers REPLACE "(.+)" "#include \"\\1\"\n")
list(JOIN all_headers "" all_headers)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/generated/all_headers.cc CONTENT "${all_headers}")
add_library(tessera_all_headers OBJECT ${PROJECT_BINARY_DIR}/generated/all_headers.cc)
target_link_libraries(tessera_all_headers PRIVATE tessera_testing tessera_tools PkgConfig::HWY
                      $<TARGET_NAME_IF_EXISTS:MPI::MPI_CXX>)
target_compile_definitions(tessera_all_headers PRIVATE TESSERA_COMMAND="" ${onnx_definitions})
target_compile_options(tessera_all_headers PRIVATE -O0 -Wno-shadow)  # of names in other headers

file(GLOB examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.cc
     ${PROJECT_SOURCE_DIR}/examples/cpp/*.cc)
foreach(example IN LISTS examples)
  cmake_path(GET example STEM stem)
  add_executable(example_${stem} ${example})
  target_link_libraries(example_${stem} PRIVATE tessera)
  tessera_add_test(example_${stem} example example_${stem})
endforeach()

# The installed tree must work for an external project, through CMake and through pkg-config.
tessera_add_test(consumer install ${PROJECT_SOURCE_DIR}/cmake/consumer/check.sh
  ${PROJECT_BINARY_DIR} ${CMAKE_INSTALL_LIBDIR} ${CMAKE_CXX_COMPILER} "${CMAKE_CXX_FLAGS}")

# Every public header compiles alone.
tessera_add_test(public_headers install ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR}
  --target all_verify_interface_header_sets)

# Optional scripts: their libraries may be missing, but their syntax must be valid.
find_package(Python3 QUIET COMPONENTS Interpreter)
if(Python3_FOUND)
  foreach(script bench_peers bench_table)
    tessera_add_test(${script}_syntax unit ${Python3_EXECUTABLE} -c
      "compile(open('scripts/${script}.py').read(), '${script}.py', 'exec')")
  endforeach()
endif()

if(TARGET tessera_python)
  execute_process(COMMAND ${Python_EXECUTABLE} -c "import pytest, hypothesis" RESULT_VARIABLE pytest_missing ERROR_QUIET)
  execute_process(COMMAND ${Python_EXECUTABLE} -c "import build, venv, ensurepip, wheel, setuptools"
                  RESULT_VARIABLE build_missing ERROR_QUIET)
  set_target_properties(tessera_python PROPERTIES EXCLUDE_FROM_ALL OFF)
  if(pytest_missing)
    list(APPEND TESSERA_LEFT_OUT "tests of the Python package (pytest, hypothesis)")
  else()
    tessera_add_test(python_test unit ${PROJECT_SOURCE_DIR}/python/tests/run.sh ${Python_EXECUTABLE} ${PROJECT_BINARY_DIR})
  endif()
  if(build_missing)
    list(APPEND TESSERA_LEFT_OUT "the test of the wheel (python3-build, python3-venv)")
  else()
    tessera_add_test(python_wheel install ${PROJECT_SOURCE_DIR}/python/tests/wheel.sh ${Python_EXECUTABLE}
      ${PROJECT_BINARY_DIR})
  endif()
endif()
