# cmake --install: the program, the libraries, the headers, and what find_package(voxcycle) reads.
# Users link voxcycle::voxcycle; tests/install/ holds an example.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

add_library(voxcycle_library INTERFACE)
set_target_properties(voxcycle_library PROPERTIES EXPORT_NAME voxcycle)
target_link_libraries(voxcycle_library INTERFACE voxcycle_cli)
target_include_directories(voxcycle_library INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(voxcycle_library INTERFACE cxx_std_20)

# The wheel lies where the build found it.
set_target_properties(voxcycle PROPERTIES INSTALL_RPATH ${TORCH_WHEEL}/lib)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/voxcycle)
install(TARGETS voxcycle)
install(TARGETS voxcycle_library fftw hdf5 cudart EXPORT voxcycle)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/voxcycle DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
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
