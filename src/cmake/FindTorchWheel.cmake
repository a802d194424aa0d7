# Finds LibTorch inside an installed torch wheel without asking for a CUDA toolkit, which torch's own
# TorchConfig.cmake does. Set TORCH_WHEEL to the package directory (.../site-packages/torch); without
# it the project's own environment (.venv) is searched.
#
# Targets: TorchWheel::torch (c10, torch_cpu). libtorch.so itself is left out: it would load
# libtorch_cuda.so and all CUDA libraries of the full wheel.

if(NOT TORCH_WHEEL)
  file(GLOB _candidates ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch)
  if(_candidates)
    list(GET _candidates 0 TORCH_WHEEL)
  endif()
endif()
set(TORCH_WHEEL "${TORCH_WHEEL}" CACHE PATH "torch package directory of the wheel")

if(EXISTS ${TORCH_WHEEL}/version.py)
  file(STRINGS ${TORCH_WHEEL}/version.py _line REGEX "^__version__")
  string(REGEX REPLACE ".*'([^']+)'.*" "\\1" TorchWheel_VERSION "${_line}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  TorchWheel
  REQUIRED_VARS TORCH_WHEEL TorchWheel_VERSION
  VERSION_VAR TorchWheel_VERSION
  REASON_FAILURE_MESSAGE "no torch wheel found. Run ./dev setup, or pass -DTORCH_WHEEL=.../site-packages/torch")

if(TorchWheel_FOUND AND NOT TARGET TorchWheel::torch)
  foreach(_lib c10 torch_cpu)
    add_library(TorchWheel::${_lib}_lib SHARED IMPORTED)
    set_target_properties(TorchWheel::${_lib}_lib PROPERTIES
      IMPORTED_LOCATION ${TORCH_WHEEL}/lib/lib${_lib}.so
      IMPORTED_NO_SONAME TRUE)
  endforeach()
  add_library(TorchWheel::torch INTERFACE IMPORTED)
  target_include_directories(TorchWheel::torch SYSTEM INTERFACE
    ${TORCH_WHEEL}/include ${TORCH_WHEEL}/include/torch/csrc/api/include)
  target_link_libraries(TorchWheel::torch INTERFACE
    TorchWheel::torch_cpu_lib TorchWheel::c10_lib)
  # The wheel resolves its own companions (libcudart, libcupti) through RPATHs of its libraries.
  target_link_options(TorchWheel::torch INTERFACE -Wl,--allow-shlib-undefined)
endif()
