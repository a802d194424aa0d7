# Every third-party library, with its one reason and its one owner (a module of src/).
#
#   torch wheel 2.11.0   tensors, convolutions, autograd        (all modules; torch/nn: network)
#   Open MPI             processes on many machines             (comm)
#   HDF5                 shards, references, checkpoints        (io)
#   libpng               slices in reports                      (io)
#   libtiff              images of users                        (io)
#   zlib                 checksums, zip archives                (io)
#   FFTW 3               spectra of errors, fast Poisson solver   (solver)
#   Boost                Sobol sequences; program options       (field; cli)
#   muParser             formulas of sources                    (field)
#   spdlog               log lines                              (core)
#   nlohmann-json        JSON files                             (core)
#   CUDA toolkit         GPU kernels; optional, see Cuda.cmake   (core; kernels/*.cu)
#   nanobind             Python module; optional, see PythonModule.cmake (python)
#   GoogleTest           tests
find_package(TorchWheel 2.11.0 EXACT REQUIRED)
find_package(Threads REQUIRED)
find_package(MPI 3.0 REQUIRED COMPONENTS C)
# mpi.h otherwise pulls in the removed C++ bindings.
target_compile_definitions(MPI::MPI_C INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
set(HDF5_PREFER_PARALLEL OFF)
find_package(HDF5 1.10 REQUIRED COMPONENTS C)
find_package(PNG REQUIRED)
find_package(TIFF REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS program_options)
find_package(muparser REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(GTest REQUIRED)
find_package(Git)

find_path(FFTW_INCLUDE_DIR fftw3.h REQUIRED)
find_library(FFTW_LIBRARY fftw3 REQUIRED)
find_library(FFTW_THREADS_LIBRARY fftw3_threads REQUIRED)
add_library(voxcycle_fftw INTERFACE)
target_include_directories(voxcycle_fftw SYSTEM INTERFACE ${FFTW_INCLUDE_DIR})
target_link_libraries(voxcycle_fftw INTERFACE ${FFTW_THREADS_LIBRARY} ${FFTW_LIBRARY} Threads::Threads)

add_library(voxcycle_hdf5 INTERFACE)
target_include_directories(voxcycle_hdf5 SYSTEM INTERFACE ${HDF5_INCLUDE_DIRS})
target_link_libraries(voxcycle_hdf5 INTERFACE ${HDF5_LIBRARIES})
# From 1.12 on, names without a number (H5O_info_t) otherwise mean newer types, which the functions of
# 1.10 (H5Ovisit2) do not take.
target_compile_definitions(voxcycle_hdf5 INTERFACE H5_USE_110_API)

# A change then costs more: it is for builds from nothing, as CI's are.
option(VOXCYCLE_UNITY "Compile a dozen files of a module at once, in a third of the time" OFF)
option(VOXCYCLE_SANITIZE "AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
if(VOXCYCLE_SANITIZE)
  # What they find ends a test. Checks of virtual tables want what torch does not export; GCC 12 takes
  # its own std::function for uninitialised.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all
    -fno-omit-frame-pointer -Wno-maybe-uninitialized)
  add_link_options(-fsanitize=address,undefined)
endif()

option(VOXCYCLE_FUZZ "Build tests/fuzz alone, with Clang: see ./dev fuzz" OFF)
if(VOXCYCLE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=vptr,function
    -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # Precompiled headers need these relaxations to hit.
  set(_ccache ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${_ccache})
endif()
