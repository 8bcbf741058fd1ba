# SPDX-License-Identifier: Apache-2.0
# One executable for each fuzz/*_fuzz.cc. The preset instruments the library as well; only the
# targets link libFuzzer's main().

file(GLOB fuzz_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*_fuzz.cc)
# The references for comparison: moves by loops over elements, plans by trying all orders. The rest of
# tessera/testing needs the libraries of the tests.
set(TESSERA_FUZZ_REFERENCES exchange/exchange_runs.cc generate.cc memory/families.cc memory/naive_alloc.cc naive.cc plan/naive_choose.cc
    naive_slots.cc reshard/naive_reshard.cc)
list(TRANSFORM TESSERA_FUZZ_REFERENCES PREPEND ${PROJECT_SOURCE_DIR}/tessera/testing/)
add_library(fuzz_references STATIC EXCLUDE_FROM_ALL ${TESSERA_FUZZ_REFERENCES})
target_link_libraries(fuzz_references PUBLIC tessera)

foreach(source IN LISTS fuzz_sources)
  cmake_path(GET source STEM name)
  if(name STREQUAL "onnx_fuzz")
    if(NOT TARGET tessera_onnx)
      continue()
    endif()
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE tessera_onnx)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    continue()
  endif()
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE fuzz_references tessera)
  if(TARGET tessera_tools)
    target_link_libraries(${name} PRIVATE tessera_tools)
  endif()
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endforeach()
