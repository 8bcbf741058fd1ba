# SPDX-License-Identifier: Apache-2.0
# One executable for each fuzz/*_fuzz.cc. The preset instruments the library as well; only the
# targets link libFuzzer's main().

file(GLOB fuzz_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*_fuzz.cc)
foreach(source IN LISTS fuzz_sources)
  cmake_path(GET source STEM name)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE tessera)
  if(TARGET tessera_tools)
    target_link_libraries(${name} PRIVATE tessera_tools)
  endif()
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endforeach()
