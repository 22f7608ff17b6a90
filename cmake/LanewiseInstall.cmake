# Installing the library: headers, archive or shared object, what find_package(lanewise) and pkg-config read. All of it is
# the component `lanewise`.
include(CMakePackageConfigHelpers)

set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lanewise)
install(TARGETS lanewise EXPORT lanewise_targets COMPONENT lanewise
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lanewise DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT lanewise)
install(EXPORT lanewise_targets NAMESPACE lanewise:: DESTINATION ${cmake_dir} FILE lanewiseTargets.cmake
  COMPONENT lanewise)

get_target_property(lanewise_type lanewise TYPE)
set(lanewise_needs_cudart OFF)
if(LANEWISE_CUDA_ON AND lanewise_type STREQUAL STATIC_LIBRARY)
  set(lanewise_needs_cudart ON)
endif()

# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/lanewiseConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/lanewiseConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/lanewiseConfig.cmake INSTALL_DESTINATION ${cmake_dir})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lanewiseConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/lanewiseConfigVersion.cmake
  DESTINATION ${cmake_dir} COMPONENT lanewise)

# A static archive leaves the libraries it needs to whoever links it. pkg-config is asked for them without --static too
# often to hide them in Libs.private where there is no shared object to choose.
set(pc_needs "-lstdc++ -lm -pthread")
if(LANEWISE_CUDA_ON)
  set(pc_needs "-L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt ${pc_needs}")
endif()
if(lanewise_type STREQUAL SHARED_LIBRARY)
  set(pc_libs "")
  set(pc_libs_private "${pc_needs}")
else()
  set(pc_libs " ${pc_needs}")
  set(pc_libs_private "")
endif()
# Relative to the .pc file, so that the tree can be moved; but absolute directories stay what they are.
set(pc_dir ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH pc_up ${pc_dir} ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" pc_up "${pc_up}")
  set(pc_prefix "\${pcfiledir}/${pc_up}")
endif()
foreach(kind LIB INCLUDE)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${kind}DIR}")
    set(pc_${kind}DIR "${CMAKE_INSTALL_${kind}DIR}")
  else()
    set(pc_${kind}DIR "\${prefix}/${CMAKE_INSTALL_${kind}DIR}")
  endif()
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/cmake/lanewise.pc.in ${CMAKE_CURRENT_BINARY_DIR}/lanewise.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lanewise.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT lanewise)
