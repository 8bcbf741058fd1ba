# SPDX-License-Identifier: Apache-2.0
# The library: every .cc below tessera/ that is not a test, a sweep, a fuzz target or a benchmark.

# All sources below tessera/, relative to the root; cmake/tests.cmake selects the tests from this list.
file(GLOB_RECURSE TESSERA_SOURCES CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
     ${PROJECT_SOURCE_DIR}/tessera/*.cc)
if(TESSERA_ROOMS)
  # Of testing/, what all rooms share and what is for these.
  string(REPLACE ";" "|" rooms "${TESSERA_ROOMS}")
  list(FILTER TESSERA_SOURCES INCLUDE REGEX
       "^tessera/(${rooms})/|^tessera/testing/[^/]*$|^tessera/testing/(${rooms}|pages|source)/")
endif()

set(library_sources ${TESSERA_SOURCES})
list(FILTER library_sources EXCLUDE REGEX "_(test|sweep|fuzz|bench)\\.cc$|^tessera/(testing|mpi|onnx)/")

# Workers of a pool convert std::bad_alloc to an error. Precompiled headers need the same options.
set_source_files_properties(${PROJECT_SOURCE_DIR}/tessera/base/thread_pool.cc PROPERTIES
  COMPILE_OPTIONS -fexceptions SKIP_PRECOMPILE_HEADERS ON)
tessera_join(compiled_sources library ${library_sources})

find_package(Threads REQUIRED)
add_library(tessera ${compiled_sources})
add_library(tessera::tessera ALIAS tessera)
target_compile_features(tessera PUBLIC cxx_std_20)
target_compile_options(tessera PRIVATE -fno-exceptions)  # errors are values
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False positive for a copied std::optional<std::vector> under -O3, gcc.gnu.org/PR80635. clang and the
  # sanitizers still check this.
  target_compile_options(tessera PRIVATE -Wno-maybe-uninitialized)
endif()
target_include_directories(tessera PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(tessera PUBLIC Threads::Threads)
tessera_precompile(tessera ${PROJECT_SOURCE_DIR}/tessera/layout/placement.h)
set(measured_sources ${compiled_sources})
list(FILTER measured_sources INCLUDE REGEX "(^|/joined/)tessera/(layout|relayout|fabric|reshard|memory|plan|run/kernels)/")
set_property(SOURCE ${measured_sources} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)
if(library_sources MATCHES "tessera/target/")
  find_package(nlohmann_json 3 REQUIRED)  # reads machine descriptions; not used in headers
  target_link_libraries(tessera PRIVATE $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
  include(targets)
endif()

if(library_sources MATCHES "tessera/relayout/")
  # Vector code for every instruction set, chosen at run time; not used in headers.
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
  target_link_libraries(tessera PRIVATE $<BUILD_INTERFACE:PkgConfig::HWY> $<INSTALL_INTERFACE:hwy>)
endif()

# Inputs of benchmarks and tests: generated problems, not stored files.
file(GLOB bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.cc)
if(bench_sources AND library_sources MATCHES "tessera/memory/")
  add_library(tessera_bench STATIC ${bench_sources})
  target_link_libraries(tessera_bench PUBLIC tessera)
endif()

# What `make build` builds and `make install` installs; tools.cmake adds the command.
add_custom_target(product DEPENDS tessera)

# tessera_add_module(NAME): tessera/NAME/module.cc with the library tessera_NAME as tessera_NAME.so, which the
# command loads on request.
function(tessera_add_module name)
  set(module tessera_${name}_module)
  add_library(${module} MODULE ${PROJECT_SOURCE_DIR}/tessera/${name}/module.cc)
  set_target_properties(${module} PROPERTIES PREFIX "" OUTPUT_NAME tessera_${name}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} CXX_VISIBILITY_PRESET hidden)
  target_compile_options(${module} PRIVATE -fno-exceptions)
  target_link_libraries(${module} PRIVATE tessera_${name})
  # The module has its own copy of the library: its symbols must not clash with those of the program.
  target_link_options(${module} PRIVATE -Wl,--exclude-libs,ALL)
  add_dependencies(product ${module})
endfunction()
