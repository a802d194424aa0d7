# VOXCYCLE_PYTHON_MODULE = AUTO | ON | OFF: whether `import voxcycle` (src/python) is built. It needs a
# Python with its headers and nanobind: .venv's after ./dev setup, or -DPython_EXECUTABLE=...
#
# Results: VOXCYCLE_HAS_PYTHON, VOXCYCLE_PYTHON_REASON (for people). Everything is then compiled as
# position-independent code, of which a shared library has to be made.
set(VOXCYCLE_PYTHON_MODULE AUTO CACHE STRING "Python module: AUTO (where nanobind is found), ON or OFF")
set_property(CACHE VOXCYCLE_PYTHON_MODULE PROPERTY STRINGS AUTO ON OFF)

set(VOXCYCLE_HAS_PYTHON FALSE)
if(NOT VOXCYCLE_PYTHON_MODULE MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "VOXCYCLE_PYTHON_MODULE=${VOXCYCLE_PYTHON_MODULE} is unknown. Choose AUTO, ON or OFF.")
elseif(VOXCYCLE_PYTHON_MODULE STREQUAL OFF OR VOXCYCLE_SANITIZE)
  set(VOXCYCLE_PYTHON_REASON "no (VOXCYCLE_PYTHON_MODULE=OFF, or sanitizers)")
else()
  if(NOT Python_EXECUTABLE AND EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python3)
    set(Python_EXECUTABLE ${PROJECT_SOURCE_DIR}/.venv/bin/python3)
  endif()
  set(_nanobind_status 1)
  if(Python_EXECUTABLE)
    execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
      OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE _nanobind_status)
  endif()
  if(_nanobind_status EQUAL 0)
    find_package(Python 3.10 QUIET COMPONENTS Interpreter Development.Module)
  endif()
  if(_nanobind_status EQUAL 0 AND Python_Development.Module_FOUND)
    find_package(nanobind CONFIG REQUIRED)
    set(VOXCYCLE_HAS_PYTHON TRUE)
    set(VOXCYCLE_PYTHON_REASON "for Python ${Python_VERSION}")
    # Calls within a module cost as before. (CMake's own property gives programs -fPIE, and a precompiled
    # header takes one of the two.)
    add_compile_options(-fPIC -fno-semantic-interposition)
  elseif(VOXCYCLE_PYTHON_MODULE STREQUAL ON)
    message(FATAL_ERROR "VOXCYCLE_PYTHON_MODULE=ON, but there is no Python with its headers and nanobind. "
      "Type ./dev python, or name one: -DPython_EXECUTABLE=.../bin/python3")
  else()
    set(VOXCYCLE_PYTHON_REASON "no (no Python with headers and nanobind was found; ./dev python gets them)")
  endif()
endif()

# voxcycle_python_package(): the target voxcycle_python. <build>/python is what a wheel unpacks to.
function(voxcycle_python_package)
  set(folder ${CMAKE_BINARY_DIR}/python)
  nanobind_add_module(voxcycle_python NB_STATIC NOMINSIZE
    ${PROJECT_SOURCE_DIR}/src/python/module.cpp
    ${PROJECT_SOURCE_DIR}/src/python/surrogate.cpp
    ${PROJECT_SOURCE_DIR}/src/python/tensors.cpp)
  target_include_directories(voxcycle_python PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_include_directories(voxcycle_python SYSTEM PRIVATE ${nanobind_ROOT}/../include)
  target_link_libraries(voxcycle_python PRIVATE voxcycle_config)
  # Of our libraries nothing is seen outside; torch's lie beside the package.
  target_link_options(voxcycle_python PRIVATE -Wl,--exclude-libs,ALL)
  voxcycle_warnings(voxcycle_python)
  set_target_properties(voxcycle_python PROPERTIES
    OUTPUT_NAME _core LIBRARY_OUTPUT_DIRECTORY ${folder}/voxcycle
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../torch/lib")
  configure_file(${PROJECT_SOURCE_DIR}/src/python/voxcycle/__init__.py ${folder}/voxcycle/__init__.py COPYONLY)
  set(tag cp${Python_VERSION_MAJOR}${Python_VERSION_MINOR})
  set(info ${folder}/voxcycle-${PROJECT_VERSION}.dist-info)
  file(CONFIGURE OUTPUT ${info}/METADATA CONTENT [[
Metadata-Version: 2.1
Name: voxcycle
Version: @PROJECT_VERSION@
Summary: -div(nu grad u) = f on voxels: a solver with a proven error, and trained networks
License: BSD-3-Clause
Requires-Python: ==@Python_VERSION_MAJOR@.@Python_VERSION_MINOR@.*
Requires-Dist: torch==2.11.0
Requires-Dist: numpy
]] @ONLY)
  file(CONFIGURE OUTPUT ${info}/WHEEL CONTENT [[
Wheel-Version: 1.0
Generator: voxcycle
Root-Is-Purelib: false
Tag: @tag@-@tag@-linux_@CMAKE_SYSTEM_PROCESSOR@
]] @ONLY)
endfunction()
