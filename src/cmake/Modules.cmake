# voxcycle_module(name DEPENDS module... LIBRARIES target...)
#   A static library from the sources below src/<name>, but those in folders that voxcycle_kernel and
#   voxcycle_device compile, or src/CMakeLists.txt itself; DEPENDS are modules, LIBRARIES the third parties it owns.
#   The allowed DEPENDS are the table in tests/style/layers.py, which checks the includes themselves.

# Torch's headers cost 7 s a file: they are compiled once and reused, ATen by what computes on tensors,
# torch's modules and autograd as well by the network itself. GCC instantiates what a precompiled header
# left pending again in every file that uses it: for ATen 1 s, with modules 3 s, for <torch/torch.h> 8 s.
function(voxcycle_precompile name)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  add_library(voxcycle_pch_${name} OBJECT ${PROJECT_SOURCE_DIR}/src/cmake/pch.cpp)
  target_link_libraries(voxcycle_pch_${name} PUBLIC TorchWheel::torch)
  target_precompile_headers(voxcycle_pch_${name} PRIVATE ${ARGN})
  target_compile_options(voxcycle_pch_${name} PRIVATE -fpch-preprocess -Wall -Wextra -Wpedantic -Wshadow)
endfunction()
voxcycle_precompile(tensors <ATen/ATen.h>)
voxcycle_precompile(network
  <ATen/ATen.h> <torch/nn/module.h> <torch/csrc/autograd/autograd.h> <torch/csrc/autograd/custom_function.h>)

# voxcycle_use_pch(target module): `module` is the target's or the one that it tests.
function(voxcycle_use_pch target module)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  target_compile_options(${target} PRIVATE -fpch-preprocess)
  set(name tensors)
  if(module STREQUAL "network")
    set(name network)
  endif()
  target_precompile_headers(${target} REUSE_FROM voxcycle_pch_${name})
endfunction()

function(voxcycle_warnings target)
  if(VOXCYCLE_FUZZ) # Clang's are others
    return()
  endif()
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Werror)
  # GCC 12 misreads "text" + std::string (bugs 105329, 105651).
  target_compile_options(${target} PRIVATE
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict;-Wno-stringop-overflow;-Wno-array-bounds>)
endfunction()

function(voxcycle_module name)
  cmake_parse_arguments(ARG "NO_TORCH" "" "DEPENDS;LIBRARIES;SOURCES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/(kernels|device|nccl|threads|torch_device)/")
  set(target voxcycle_${name})
  add_library(${target} STATIC ${sources} ${ARG_SOURCES})
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE ${ARG_LIBRARIES})
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(${target} PUBLIC voxcycle_${dependency})
  endforeach()
  if(NOT ARG_NO_TORCH)
    target_link_libraries(${target} PUBLIC TorchWheel::torch)
    voxcycle_use_pch(${target} ${name})
    if(VOXCYCLE_UNITY)
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
      target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
    endif()
  endif()
  voxcycle_warnings(${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
endfunction()

# voxcycle_kernel(module file): compiles src/<module>/kernels/<file>.cpp once per instruction set
# with VOXCYCLE_ISA naming its namespace; the module picks one at run time. The objects of wider sets
# are listed in the global property VOXCYCLE_WIDE_KERNELS.
function(voxcycle_kernel module file)
  set(source ${PROJECT_SOURCE_DIR}/src/${module}/kernels/${file}.cpp)
  foreach(isa baseline avx2 avx512)
    set(target voxcycle_${module}_${file}_${isa})
    add_library(${target} OBJECT ${source})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(${target} PRIVATE VOXCYCLE_ISA=${isa})
    target_compile_options(${target} PRIVATE -O3 -fopenmp-simd -fno-math-errno -fno-trapping-math)
    voxcycle_warnings(${target})
    target_sources(voxcycle_${module} PRIVATE $<TARGET_OBJECTS:${target}>)
  endforeach()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(voxcycle_${module}_${file}_avx2 PRIVATE -mavx2 -mfma -mf16c)
    target_compile_options(voxcycle_${module}_${file}_avx512 PRIVATE
      -mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma -mf16c -mprefer-vector-width=512)
    foreach(isa avx2 avx512)
      set_property(GLOBAL APPEND PROPERTY VOXCYCLE_WIDE_KERNELS $<TARGET_OBJECTS:voxcycle_${module}_${file}_${isa}>)
    endforeach()
  endif()
endfunction()

# voxcycle_device(module kernel...): what the module does on GPUs, behind one header. With CUDA that
# is src/<module>/device/cuda.cpp and the kernels src/<module>/kernels/<kernel>.cu; without it
# src/<module>/device/none.cpp, which refuses.
function(voxcycle_device module)
  if(NOT VOXCYCLE_HAS_CUDA)
    target_sources(voxcycle_${module} PRIVATE ${PROJECT_SOURCE_DIR}/src/${module}/device/none.cpp)
    return()
  endif()
  target_sources(voxcycle_${module} PRIVATE ${PROJECT_SOURCE_DIR}/src/${module}/device/cuda.cpp)
  target_link_libraries(voxcycle_${module} PRIVATE voxcycle_cudart)
  if(VOXCYCLE_CUDA_VERSION VERSION_GREATER_EQUAL 13) # older drivers do not know what 12.8 compresses
    set(small --compress-mode=size) # the kernels are in many tests, and those in bundles
  endif()
  if(CMAKE_POSITION_INDEPENDENT_CODE)
    set(pic -Xcompiler -fPIC)
  endif()
  foreach(kernel IN LISTS ARGN)
    set(source ${PROJECT_SOURCE_DIR}/src/${module}/kernels/${kernel}.cu)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${module}_${kernel}.cu.o)
    # -fmad=false: a GPU rounds as the CPU does, so that tests on a CPU say what a GPU computes. The
    # kernels wait for memory, not for arithmetic.
    add_custom_command(OUTPUT ${object}
      COMMAND ${_ccache} ${voxcycle_nvcc} -O3 -fmad=false ${small} ${pic} -Werror all-warnings -Xcompiler -Wall,-Wextra
        -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src
        -MD -MF ${object}.d -c ${source} -o ${object}
      DEPENDS ${source} DEPFILE ${object}.d VERBATIM COMMENT "Building CUDA object ${module}/kernels/${kernel}.cu")
    target_sources(voxcycle_${module} PRIVATE ${object})
  endforeach()
endfunction()

# voxcycle_python(module): embeds src/<module>/python/*.py, see src/<module>/script/python_files.hpp.
function(voxcycle_python module)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${module}/python/*.py)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  foreach(file IN LISTS files)
    file(READ ${file} text)
    cmake_path(GET file FILENAME name)
    string(APPEND entries "{\"${name}\", R\"py(${text})py\"},\n")
  endforeach()
  set(generated ${CMAKE_BINARY_DIR}/generated/${module}_python.cpp)
  file(CONFIGURE OUTPUT ${generated} CONTENT [[
#include "@module@/script/python_files.hpp"

namespace voxcycle {

std::vector<PythonFile> python_files() {
  return {
@entries@  };
}

}  // namespace voxcycle
]] @ONLY)
  target_sources(voxcycle_${module} PRIVATE ${generated})
endfunction()

# voxcycle_build_info(module): version, commit and compiler as constants, renewed at every build.
function(voxcycle_build_info module)
  set(generated ${CMAKE_BINARY_DIR}/generated/build_info.cpp)
  add_custom_target(voxcycle_commit
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${generated} -DSOURCE=${PROJECT_SOURCE_DIR}
      -DVERSION=${PROJECT_VERSION} "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
      -DGIT=${GIT_EXECUTABLE} -P ${PROJECT_SOURCE_DIR}/src/cmake/BuildInfo.cmake
    BYPRODUCTS ${generated} VERBATIM)
  add_library(voxcycle_build_info OBJECT ${generated})
  target_include_directories(voxcycle_build_info PRIVATE ${PROJECT_SOURCE_DIR}/include)
  add_dependencies(voxcycle_build_info voxcycle_commit)
  target_sources(voxcycle_${module} PRIVATE $<TARGET_OBJECTS:voxcycle_build_info>)
endfunction()
