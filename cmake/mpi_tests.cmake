# SPDX-License-Identifier: Apache-2.0
# Tests under mpirun: every tessera/mpi/x_mpi_test.cc with 2 and 4 ranks, every examples/mpi/x.cc
# with 4. Ranks wait for each other, possibly on few processors, so one test runs at a time, and a
# test that hangs is ended by a timeout.
#
# Not under the sanitizers: Open MPI leaks memory when it ends, and is not instrumented itself. The
# code around it is tested with them: the in-process exchange has the same contract and the same mailbox.
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  return()
endif()

# Settings for Open MPI: root may run it, ranks may outnumber processors, and waiting ranks yield.
set(TESSERA_MPI_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1)
set(TESSERA_MPI_SECONDS 600)  # a busy machine may need ten times the usual time

# tessera_add_mpi_test(NAME RANKS STATUS COMMAND..): COMMAND on RANKS ranks ends with STATUS.
function(tessera_add_mpi_test name ranks status)
  math(EXPR patience "${TESSERA_MPI_SECONDS} - 10")
  tessera_add_test(${name} mpi sh -c "\"$@\" && exit ${status} || test $? -eq ${status}" sh
    timeout -k 5 ${patience} ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${ARGN})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${TESSERA_MPI_ENVIRONMENT}"
    TIMEOUT ${TESSERA_MPI_SECONDS} RESOURCE_LOCK mpi PROCESSORS 2)
endfunction()

file(GLOB mpi_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tessera/mpi/*_mpi_test.cc)
foreach(test IN LISTS mpi_tests)
  cmake_path(GET test STEM name)
  add_executable(${name} ${test})
  target_link_libraries(${name} PRIVATE tessera_test_options tessera_testing tessera_mpi
                        MPI::MPI_CXX)
  target_compile_definitions(${name} PRIVATE
                             TESSERA_MPI_MODULE="$<TARGET_FILE:tessera_mpi_module>")
  add_dependencies(${name} tessera_mpi_module)
  foreach(ranks 2 4)
    tessera_add_mpi_test(${name}.${ranks} ${ranks} 0 $<TARGET_FILE:${name}>)
  endforeach()
endforeach()

# A rank that aborts ends the others, and its status becomes that of mpirun.
tessera_add_mpi_test(abandon_mpi_test 3 7 $<TARGET_FILE:own_mpi_test> --abandon)

# Reshards also with other numbers of ranks: odd ones, and a single rank.
foreach(ranks 1 3 6)
  tessera_add_mpi_test(resharder_mpi_test.${ranks} ${ranks} 0
    $<TARGET_FILE:resharder_mpi_test> --gtest_filter=ResharderMpi.*Pairs*:ResharderMpi.Notations*)
endforeach()

file(GLOB mpi_examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/mpi/*.cc)
foreach(example IN LISTS mpi_examples)
  cmake_path(GET example STEM stem)
  add_executable(example_mpi_${stem} ${example})
  target_link_libraries(example_mpi_${stem} PRIVATE tessera_mpi)
  tessera_add_mpi_test(example_mpi_${stem} 4 0 $<TARGET_FILE:example_mpi_${stem}>)
endforeach()

# The steps of docs/mpi.md, as a reader would run them.
if(TARGET tessera-cli)
  math(EXPR patience "${TESSERA_MPI_SECONDS} - 10")
  tessera_add_test(mpi_page_steps mpi timeout -k 5 ${patience}
    ${PROJECT_SOURCE_DIR}/scripts/run_page_steps.sh docs/mpi.md $<TARGET_FILE_DIR:tessera-cli>)
  set_tests_properties(mpi_page_steps PROPERTIES ENVIRONMENT "${TESSERA_MPI_ENVIRONMENT}"
    TIMEOUT ${TESSERA_MPI_SECONDS} RESOURCE_LOCK mpi PROCESSORS 2)
endif()
