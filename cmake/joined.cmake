# SPDX-License-Identifier: Apache-2.0
# Joined sources: up to eight files of a folder are compiled as one, through a generated file that
# includes them. Most of the time to compile a file goes to the headers, which neighbours share; this
# halves a cold build. So the files of a folder share a scope: no two of their functions or types in
# unnamed namespaces have the same name. `make check` compiles every file alone.
#
#   tessera_join(RESULT NAME SOURCE..)   RESULT: what a target compiles in place of SOURCE..;
#                                        NAME tells apart targets that use the same folder

option(TESSERA_JOIN "Compile up to eight sources of a folder as one" ON)
set(TESSERA_JOINED_FILES 8)
# Files that use a name which a neighbour uses otherwise; one per line, compiled alone.
file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/compiled_alone.txt TESSERA_COMPILED_ALONE REGEX "^[^#]")

function(tessera_join result name)
  if(NOT TESSERA_JOIN)
    set(${result} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(sources "")
  set(folders "")
  set(generated "")
  foreach(source IN LISTS ARGN)
    cmake_path(GET source PARENT_PATH folder)
    # Highway compiles such a file once per instruction set, by including it again.
    file(STRINGS ${PROJECT_SOURCE_DIR}/${source} again REGEX "define HWY_TARGET_INCLUDE" LIMIT_COUNT 1)
    get_source_file_property(options ${PROJECT_SOURCE_DIR}/${source} COMPILE_OPTIONS)
    if(again OR options OR source IN_LIST TESSERA_COMPILED_ALONE)
      list(APPEND sources ${source})
    else()
      list(APPEND folders ${folder})
      list(APPEND files_of_${folder} ${source})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    set(files ${files_of_${folder}})
    list(LENGTH files count)
    math(EXPR parts "(${count} + ${TESSERA_JOINED_FILES} - 1) / ${TESSERA_JOINED_FILES}")
    foreach(part RANGE 1 ${parts})
      math(EXPR from "${count} * (${part} - 1) / ${parts}")
      math(EXPR length "${count} * ${part} / ${parts} - ${from}")
      list(SUBLIST files ${from} ${length} joined)
      if(length EQUAL 1)
        list(APPEND sources ${joined})
        continue()
      endif()
      list(TRANSFORM joined REPLACE "(.+)" "#include \"\\1\"\n")
      list(JOIN joined "" joined)
      set(file ${PROJECT_BINARY_DIR}/joined/${folder}/${name}_${part}.cc)
      file(GENERATE OUTPUT ${file} CONTENT "${joined}")
      list(APPEND generated ${file})
    endforeach()
  endforeach()
  # A name of one file may be that of a parameter in the next, and g++ takes the included files for headers.
  set_property(SOURCE ${generated} APPEND PROPERTY COMPILE_OPTIONS -Wno-shadow
    $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  set(${result} ${sources} ${generated} PARENT_SCOPE)
endfunction()
