# SPDX-License-Identifier: Apache-2.0
# Machine descriptions: targets/*.json are compiled into the library, so that it needs no files at run
# time, and installed as examples for users' own.

file(GLOB target_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/targets/*.json)
set(target_texts "")
foreach(target_file IN LISTS target_files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${target_file})
  file(READ ${target_file} target_text)
  string(APPEND target_texts "    R\"json(${target_text})json\",\n")
endforeach()
set(target_source ${PROJECT_BINARY_DIR}/generated/tessera/target/built_in_texts.cc)
configure_file(${PROJECT_SOURCE_DIR}/cmake/built_in_texts.cc.in ${target_source} @ONLY)
target_sources(tessera PRIVATE ${target_source})
install(FILES ${target_files} DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera/targets)
