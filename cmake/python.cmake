# SPDX-License-Identifier: Apache-2.0
# The Python package `tessera`: the module tessera._native on top of the library and of the parts of the
# command (python/src/), beside the package's own files (python/tessera/), in python/ of the build tree, and beside
# it the package `pyflame` (python/pyflame/). setup.py makes a wheel of both. Nothing else needs Python.

set(TESSERA_PYTHON OFF CACHE STRING "Build the Python package: ON, OFF, or AUTO (where pybind11 and NumPy are found)")
set_property(CACHE TESSERA_PYTHON PROPERTY STRINGS ON OFF AUTO)
if(TESSERA_PYTHON STREQUAL "OFF" OR TESSERA_ROOMS)
  return()
endif()
set(needed "")
if(TESSERA_PYTHON STREQUAL "ON")
  set(needed REQUIRED)
endif()

# pybind11 and NumPy of Debian belong to Debian's interpreter, which need not be the first on the PATH.
if(NOT DEFINED Python_EXECUTABLE AND EXISTS /usr/bin/python3)
  set(Python_EXECUTABLE /usr/bin/python3)
endif()
find_package(Python 3.9 ${needed} QUIET COMPONENTS Interpreter Development.Module)
set(PYBIND11_NOPYTHON ON)
find_package(pybind11 2.10 ${needed} QUIET CONFIG)
if(Python_FOUND AND pybind11_FOUND)
  execute_process(COMMAND ${Python_EXECUTABLE} -c "import numpy" RESULT_VARIABLE numpy_missing ERROR_QUIET)
endif()
if(NOT Python_FOUND OR NOT pybind11_FOUND OR numpy_missing)
  list(APPEND TESSERA_LEFT_OUT "Python (the package tessera and its tests)")
  return()
endif()

file(GLOB python_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/src/*.cc)
python_add_library(tessera_python MODULE WITH_SOABI ${python_sources})
set(python_folder ${PROJECT_BINARY_DIR}/python/tessera)
set_target_properties(tessera_python PROPERTIES OUTPUT_NAME _native LIBRARY_OUTPUT_DIRECTORY ${python_folder}
  CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON EXCLUDE_FROM_ALL ON BUILD_RPATH "$ORIGIN")
target_link_libraries(tessera_python PRIVATE tessera_tools tessera pybind11::headers)
# The module has its own copy of the library: its symbols must not clash with those of other modules.
target_link_options(tessera_python PRIVATE -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,--as-needed
                    $<$<CONFIG:Release>:-s>)
if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  target_compile_options(tessera_python PRIVATE -O1)  # as for tests
endif()

# A wheel must not need a package of the system beside Python: Highway is linked statically where there
# is such a library (Debian has none), and otherwise its shared library lies beside the module.
find_library(TESSERA_STATIC_HWY libhwy.a)
mark_as_advanced(TESSERA_STATIC_HWY)
if(TESSERA_STATIC_HWY)
  target_link_libraries(tessera_python PRIVATE ${TESSERA_STATIC_HWY})
else()
  find_library(TESSERA_SHARED_HWY hwy REQUIRED)
  mark_as_advanced(TESSERA_SHARED_HWY)
  add_custom_command(TARGET tessera_python POST_BUILD VERBATIM
    COMMAND sh -c "cp -fL \"$1\" \"$2/$(basename \"$(ls \"$1\".[0-9] | head -n 1)\")\"" sh
            ${TESSERA_SHARED_HWY} ${python_folder})
endif()

# ONNX files are read by a module that is loaded on request (tools/files/module_file.cc).
if(TARGET tessera_onnx_module)
  add_dependencies(tessera_python tessera_onnx_module)
  file(MAKE_DIRECTORY ${python_folder}/modules)
  add_custom_command(TARGET tessera_python POST_BUILD VERBATIM
    COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE:tessera_onnx_module>
            ${python_folder}/modules/tessera_onnx.so)
endif()

# The files in Python are linked, so that the package in the build tree is the one that is edited.
file(GLOB_RECURSE python_files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/python
     ${PROJECT_SOURCE_DIR}/python/tessera/*.py ${PROJECT_SOURCE_DIR}/python/tessera/*.pyi
     ${PROJECT_SOURCE_DIR}/python/tessera/py.typed
     ${PROJECT_SOURCE_DIR}/python/pyflame/*.py ${PROJECT_SOURCE_DIR}/python/pyflame/py.typed)
foreach(file IN LISTS python_files)
  cmake_path(GET file PARENT_PATH folder)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/python/${folder})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python/${file} ${PROJECT_BINARY_DIR}/python/${file} SYMBOLIC)
endforeach()
