# SPDX-License-Identifier: Apache-2.0
# Settings for every target: language, warnings, compiler cache.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # the library also ends up in a Python module

# A separate folder, so that the command `tessera` does not collide with a folder of that name.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/cmake/ccache.sh)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  endif()
endif()

# -O3 is for the folders that are measured (library.cmake); for the others it takes a fifth more time
# to compile and gains nothing.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_FLAGS_RELEASE STREQUAL "-O3 -DNDEBUG")
  set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
endif()

# Extents are int64_t and index containers, so sign conversions are everywhere and harmless after
# the checked arithmetic; clang counts them under -Wconversion, g++ does not.
add_compile_options(-Wall -Wextra -Wconversion -Wno-sign-conversion -Wshadow)
if(TESSERA_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False positives inside std::string, gcc.gnu.org/PR105651. Those of the last two are suppressed only
  # while g++ treats the header as a system header, which it does not when that is precompiled.
  add_compile_options(-Wno-restrict -Wno-array-bounds -Wno-stringop-overflow
                      -Wno-stringop-overread)
endif()

configure_file(${PROJECT_SOURCE_DIR}/cmake/version.h.in
               ${PROJECT_BINARY_DIR}/generated/tessera/version.h @ONLY)

include(precompiled)
include(joined)
