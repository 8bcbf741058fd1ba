# SPDX-License-Identifier: Apache-2.0
# The `tessera` command: tools/main.cc on top of tessera_tools, which holds all the other files so
# that the tests below tools/ can link them.

file(GLOB_RECURSE TESSERA_TOOL_SOURCES CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
     ${PROJECT_SOURCE_DIR}/tools/*.cc)
list(FILTER TESSERA_TOOL_SOURCES EXCLUDE REGEX "^tools/(bench/peers|testdata)/")  # modules
set(tool_sources ${TESSERA_TOOL_SOURCES})
list(FILTER tool_sources EXCLUDE REGEX "_test\\.cc$|^tools/main\\.cc$")

if(tool_sources)
  find_package(nlohmann_json 3 REQUIRED)
  find_package(ZLIB REQUIRED)  # tools/files/gzip.cc
  tessera_join(compiled_sources command ${tool_sources})
  add_library(tessera_tools STATIC ${compiled_sources})
  target_link_libraries(tessera_tools PUBLIC tessera $<TARGET_NAME_IF_EXISTS:tessera_bench>
                        PRIVATE nlohmann_json::nlohmann_json  # only the parser in tools/json/json.cc
                                ZLIB::ZLIB)
  tessera_precompile(tessera_tools ${PROJECT_SOURCE_DIR}/tools/command/arguments.h
                     ${PROJECT_SOURCE_DIR}/tools/json/json.h)
else()
  add_library(tessera_tools INTERFACE)
  target_link_libraries(tessera_tools INTERFACE tessera)
endif()

if("tools/main.cc" IN_LIST TESSERA_TOOL_SOURCES)
  add_executable(tessera-cli tools/main.cc)
  set_target_properties(tessera-cli PROPERTIES OUTPUT_NAME tessera)
  target_link_libraries(tessera-cli PRIVATE tessera_tools)
  add_dependencies(product tessera-cli)
endif()

# The command prints its own completions and manual page. These files are made at build time by
# running it, provided that tools/command/completion.cc and tools/command/man.cc exist.
function(tessera_printed_by_command file destination)
  set(path ${PROJECT_BINARY_DIR}/printed/${file})
  cmake_path(GET path PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${path} COMMAND tessera-cli ${ARGN} > ${path} VERBATIM)
  set_property(GLOBAL APPEND PROPERTY TESSERA_PRINTED ${path})
  install(FILES ${path} DESTINATION ${destination})
endfunction()

if(TARGET tessera-cli AND "tools/command/completion.cc" IN_LIST TESSERA_TOOL_SOURCES)
  set(share ${CMAKE_INSTALL_DATAROOTDIR})
  tessera_printed_by_command(bash/tessera ${share}/bash-completion/completions completion bash)
  tessera_printed_by_command(zsh/_tessera ${share}/zsh/site-functions completion zsh)
  tessera_printed_by_command(fish/tessera.fish ${share}/fish/vendor_completions.d completion fish)
endif()
if(TARGET tessera-cli AND "tools/command/man.cc" IN_LIST TESSERA_TOOL_SOURCES)
  tessera_printed_by_command(man/tessera.1 ${CMAKE_INSTALL_MANDIR}/man1 man)
endif()
get_property(printed GLOBAL PROPERTY TESSERA_PRINTED)
add_custom_target(printed ALL DEPENDS ${printed})
add_dependencies(product printed)

# The page of `tessera view`, where `make explorer` has made it.
install(FILES ${PROJECT_SOURCE_DIR}/build/explorer/explorer.html OPTIONAL
        DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera)
