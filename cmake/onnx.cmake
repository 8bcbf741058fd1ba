# SPDX-License-Identifier: Apache-2.0
# ONNX models to graphs and back: the library tessera_onnx, and the module tessera_onnx.so that the command
# loads for .onnx files. Nothing else links libonnx and protobuf.

set(TESSERA_ONNX AUTO CACHE STRING "Build the ONNX import: ON, OFF, or AUTO (where libonnx is found)")
set_property(CACHE TESSERA_ONNX PROPERTY STRINGS AUTO ON OFF)
if(TESSERA_ONNX STREQUAL "OFF" OR NOT library_sources MATCHES "tessera/graph/")
  return()
endif()

# A small program is compiled and linked, so that a broken libonnx counts as missing. A failure is not
# cached: the next run tries again.
include(CheckCXXSourceCompiles)
find_library(TESSERA_LIBONNX onnx)
find_library(TESSERA_LIBONNX_PROTO onnx_proto)
find_library(TESSERA_LIBPROTOBUF protobuf)
set(onnx_libraries ${TESSERA_LIBONNX} ${TESSERA_LIBONNX_PROTO} ${TESSERA_LIBPROTOBUF})
set(onnx_definitions ONNX_NAMESPACE=onnx ONNX_ML=1)
if(NOT "${onnx_libraries}" MATCHES "NOTFOUND")
  set(CMAKE_REQUIRED_QUIET ON)
  set(CMAKE_REQUIRED_LIBRARIES ${onnx_libraries})
  set(CMAKE_REQUIRED_DEFINITIONS -DONNX_NAMESPACE=onnx -DONNX_ML=1)
  check_cxx_source_compiles("#include <onnx/checker.h>
    int main() { onnx::ModelProto model; onnx::checker::check_model(model); }" TESSERA_HAS_ONNX)
  unset(CMAKE_REQUIRED_LIBRARIES)
  unset(CMAKE_REQUIRED_DEFINITIONS)
endif()
if(NOT TESSERA_HAS_ONNX)
  unset(TESSERA_HAS_ONNX CACHE)
  if(TESSERA_ONNX STREQUAL "ON")
    message(FATAL_ERROR "libonnx, libonnx_proto and libprotobuf are needed (libonnx-dev, libprotobuf-dev)")
  endif()
  list(APPEND TESSERA_LEFT_OUT "ONNX (tessera graph model.onnx)")
  return()
endif()

file(GLOB onnx_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tessera/onnx/*.cc)
list(FILTER onnx_sources EXCLUDE REGEX "_test\\.cc$|/module\\.cc$")
add_library(tessera_onnx STATIC ${onnx_sources})
target_compile_options(tessera_onnx PRIVATE -fno-exceptions)
# libonnx throws; this file turns exceptions into errors.
set_source_files_properties(${PROJECT_SOURCE_DIR}/tessera/onnx/model_shim.cc PROPERTIES
  COMPILE_OPTIONS -fexceptions)
target_compile_definitions(tessera_onnx PUBLIC ${onnx_definitions})
target_link_libraries(tessera_onnx PUBLIC tessera PRIVATE ${onnx_libraries})

tessera_add_module(onnx)
