# cmake --install: the program, the libraries, the headers that users need, and what
# find_package(voxcycle) reads. Users link voxcycle::voxcycle; tests/install/ holds an example.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

add_library(voxcycle_library INTERFACE)
set_target_properties(voxcycle_library PROPERTIES EXPORT_NAME voxcycle)
target_link_libraries(voxcycle_library INTERFACE voxcycle_config)
target_include_directories(voxcycle_library INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(voxcycle_library INTERFACE cxx_std_20)

# The wheel lies where the build found it.
set_target_properties(voxcycle PROPERTIES INSTALL_RPATH ${TORCH_WHEEL}/lib)

set(modules core grid field io report comm poisson network solver dataset optim cycle train evaluate config)
list(TRANSFORM modules PREPEND voxcycle_)
set(headers
  comm/communicator.hpp
  comm/space.hpp
  config/load_model.hpp
  core/error.hpp
  grid/grid3.hpp
  grid/slab.hpp
  poisson/boundary.hpp
  poisson/energy.hpp
  poisson/face_flow.hpp
  poisson/finite_volume.hpp
  solver/conductivity.hpp
  solver/pcg.hpp
  solver/periodic_tensor.hpp
  solver/solve_method.hpp
  solver/solver.hpp)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/voxcycle)
install(TARGETS voxcycle)
foreach(library fftw hdf5 cudart)
  set_target_properties(voxcycle_${library} PROPERTIES EXPORT_NAME ${library})
endforeach()
install(TARGETS voxcycle_library voxcycle_fftw voxcycle_hdf5 voxcycle_cudart ${modules} EXPORT voxcycle)
foreach(header IN LISTS headers)
  cmake_path(GET header PARENT_PATH module)
  install(FILES ${PROJECT_SOURCE_DIR}/include/voxcycle/${header}
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/voxcycle/${module})
endforeach()
install(EXPORT voxcycle NAMESPACE voxcycle:: DESTINATION ${package} FILE voxcycle-targets.cmake)
configure_package_config_file(${PROJECT_SOURCE_DIR}/src/cmake/voxcycle-config.cmake.in
  ${PROJECT_BINARY_DIR}/voxcycle-config.cmake INSTALL_DESTINATION ${package})
# Versions below 1.0 promise nothing to each other.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/voxcycle-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/voxcycle-config.cmake
  ${PROJECT_BINARY_DIR}/voxcycle-config-version.cmake
  ${PROJECT_SOURCE_DIR}/src/cmake/FindTorchWheel.cmake
  DESTINATION ${package})
