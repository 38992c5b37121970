# What `make install` puts where: library, headers, command, pkg-config and CMake package files.
# Both package files find themselves, so an installed tree may be moved or staged.
# SPDX-License-Identifier: BSD-3-Clause
include(CMakePackageConfigHelpers)

# One search path of libraries, built and installed. Otherwise CMake ends the first with an empty entry, so that it can be replaced
# by the second: the loader takes that for the current folder.
foreach(target lathe lathe_command lathe_bench mpi_openmpi mpi_mpich)
    if(TARGET ${target})
        set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)
    endif()
endforeach()

install(TARGETS lathe lathe_static EXPORT lathe-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lathe DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lathe)
install(EXPORT lathe-targets NAMESPACE lathe:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/lathe-config.cmake.in
    ${PROJECT_BINARY_DIR}/lathe-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lathe-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lathe-config.cmake ${PROJECT_BINARY_DIR}/lathe-config-version.cmake
    DESTINATION ${package_dir})

file(RELATIVE_PATH LT_PC_PREFIX "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
get_property(libs GLOBAL PROPERTY LT_STATIC_LIBS)
list(TRANSFORM libs PREPEND -l)
list(JOIN libs " " LT_PC_LIBS_PRIVATE)
configure_file(${CMAKE_CURRENT_LIST_DIR}/lathe.pc.in ${PROJECT_BINARY_DIR}/lathe.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/lathe.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# All that is installed, without tests, examples and benchmarks (decision 440).
add_custom_target(lathe_product)
foreach(target lathe lathe_static lathe_command lathe_ampl lathe_manual mpi_openmpi mpi_mpich)
    if(TARGET ${target})
        add_dependencies(lathe_product ${target})
    endif()
endforeach()
