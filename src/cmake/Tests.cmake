set(voxcycle_test_timeout 240)
if(VOXCYCLE_SANITIZE)
  set(voxcycle_test_timeout 900)
endif()

# voxcycle_mpi_test(name target ranks): the program on so many ranks, as mpi<ranks>.<name>.
function(voxcycle_mpi_test name target ranks)
  set(test mpi${ranks}.${name})
  add_test(NAME ${test} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} $<TARGET_FILE:${target}>)
  set_tests_properties(${test} PROPERTIES LABELS mpi TIMEOUT ${voxcycle_test_timeout} PROCESSORS 2
    ENVIRONMENT "OMP_NUM_THREADS=1;OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1;OMPI_MCA_hwloc_base_binding_policy=none;OMPI_MCA_btl_vader_single_copy_mechanism=none;OMPI_MCA_mpi_yield_when_idle=1;ASAN_OPTIONS=detect_leaks=0")
endfunction()

# voxcycle_test_directory(DIRECTORY dir PREFIX prefix MAIN target... RANKS n...)
#   One program a *_test.cpp below dir/<module>; names are <prefix>.<module>.<x>; a status of 77 is
#   Skipped. MAIN: what holds main(), and what else is to be linked in front of the modules. With
#   RANKS each is run through mpiexec once a count, as mpi<N>.<module>.<x>. With LIKE the objects of the
#   tests of that prefix are linked again, to another MAIN. With VOXCYCLE_UNITY a module's unit tests are
#   one program, unit.<module>.all, six files compiled at once (so each file has a namespace of its own);
#   with sanitizers, where linking takes long, the others as well.
function(voxcycle_test_directory)
  cmake_parse_arguments(ARG "" "DIRECTORY;PREFIX;LIKE" "MAIN;RANKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${ARG_DIRECTORY}/*/*_test.cpp)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM stem)
    cmake_path(GET source PARENT_PATH parent)
    cmake_path(GET parent FILENAME module)
    string(REGEX REPLACE "_test$" "" name ${stem})
    if(VOXCYCLE_SANITIZE OR (VOXCYCLE_UNITY AND ARG_PREFIX STREQUAL "unit"))
      set(name all)
    endif()
    set(target ${ARG_PREFIX}_${module}_${name})
    if(TARGET ${target})
      target_sources(${target} PRIVATE ${source})
      continue()
    endif()
    set(scratch ${CMAKE_CURRENT_BINARY_DIR}/scratch/${target})
    if(ARG_LIKE)
      add_executable(${target} $<TARGET_OBJECTS:${ARG_LIKE}_${module}_${name}>)
      set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
    else()
      add_executable(${target} ${source})
      target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src) # for what modules keep to themselves
      target_compile_definitions(${target} PRIVATE VOXCYCLE_TEST_SCRATCH="${scratch}")
      voxcycle_use_pch(${target} ${module})
      voxcycle_warnings(${target})
      # Tests spend their time in the modules; compiling them like these takes half as long again.
      target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
    if(name STREQUAL "all")
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
    endif()
    target_link_libraries(${target} PRIVATE voxcycle_${module} GTest::gtest GTest::gmock TorchWheel::torch)
    target_link_libraries(${target} PRIVATE ${ARG_MAIN})
    if(NOT ARG_RANKS)
      add_test(NAME ${ARG_PREFIX}.${module}.${name} COMMAND ${target})
      set_tests_properties(${ARG_PREFIX}.${module}.${name} PROPERTIES
        LABELS ${ARG_PREFIX} TIMEOUT ${voxcycle_test_timeout} SKIP_RETURN_CODE 77
        ENVIRONMENT "OMP_NUM_THREADS=1;VOXCYCLE_TEST_SCRATCH=${scratch}")
    else()
      foreach(ranks IN LISTS ARG_RANKS)
        voxcycle_mpi_test(${module}.${name} ${target} ${ranks})
      endforeach()
    endif()
  endforeach()
endfunction()

# voxcycle_test_needs(module library test...): links a library above the module to unit tests of it.
function(voxcycle_test_needs module library)
  foreach(test IN LISTS ARGN)
    if(NOT TARGET unit_${module}_${test})
      set(test all)
    endif()
    target_link_libraries(unit_${module}_${test} PRIVATE ${library})
  endforeach()
endfunction()
