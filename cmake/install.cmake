# SPDX-License-Identifier: Apache-2.0
#
# The rules of `cmake --install`, and the `uninstall` target. Components:
# runtime (the program, its helpers and manuals), library (libctxfs.so.1 and the
# program that fetches URLs for it),
# development (libctxfs.a, headers) and license; cmake/package.cmake makes
# packages of them.
include(CMakePackageConfigHelpers)

# mount(8) and fsck(8) look for helpers only in /sbin, which is /usr/sbin on a
# system with merged /usr.
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(default_helper_dir sbin)
else()
  set(default_helper_dir /sbin)
endif()
set(CTXFS_HELPER_DIR ${default_helper_dir} CACHE STRING
  "Directory of mount.ctxfs and fsck.ctxfs: absolute, or below the prefix")

install(TARGETS ctxfs RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  COMPONENT runtime)

# The prefix is known only when installing (--prefix), so the links are made
# then. They are installed as files, which puts them into the manifest.
set(links ${PROJECT_BINARY_DIR}/helpers)
install(CODE "
  set(bin_dir \"${CMAKE_INSTALL_BINDIR}\")
  set(helper_dir \"${CTXFS_HELPER_DIR}\")
  set(links \"${links}\")
  include(\"${PROJECT_SOURCE_DIR}/cmake/link_helpers.cmake\")"
  COMPONENT runtime)
install(FILES ${links}/mount.ctxfs ${links}/fsck.ctxfs
  DESTINATION ${CTXFS_HELPER_DIR} COMPONENT runtime)

include(cmake/manuals.cmake)
ctxfs_install_manuals(${CMAKE_INSTALL_MANDIR} runtime)
# zsh looks in vendor-completions for packages, in site-functions for /usr/local.
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(zsh_dir vendor-completions)
else()
  set(zsh_dir site-functions)
endif()
ctxfs_install_completions(${CMAKE_INSTALL_DATAROOTDIR} ${zsh_dir} runtime)

install(DIRECTORY packaging/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT runtime PATTERN systemd EXCLUDE)
# Units name the program by its absolute path, which depends on the prefix.
set(units ${PROJECT_BINARY_DIR}/units)
install(CODE "
  set(bin_dir \"${CMAKE_INSTALL_BINDIR}\")
  set(configured_prefix \"${CMAKE_INSTALL_PREFIX}\")
  set(from \"${PROJECT_SOURCE_DIR}/packaging/examples/systemd\")
  set(to \"${units}/systemd\")
  include(\"${PROJECT_SOURCE_DIR}/cmake/write_units.cmake\")"
  COMPONENT runtime)
install(DIRECTORY ${units}/systemd DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples
  COMPONENT runtime)
# With the same places, links from one to another lead there.
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT runtime PATTERN man EXCLUDE)
install(FILES README.md ARCHITECTURE.md CONTRIBUTING.md SECURITY.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
install(FILES LICENSE NOTICE.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT license)

# libctxfs: find_package(ctxfs), `pkg-config ctxfs` for C (the shared library)
# and `pkg-config ctxfs++` for C++ (the static one).
set(headers_dir ${CMAKE_INSTALL_INCLUDEDIR}/ctxfs)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ctxfs)
set(pkg_config_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(TARGETS libctxfs EXPORT ctxfsTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  INCLUDES DESTINATION ${headers_dir})
if(TARGET libctxfs_shared)
  install(TARGETS libctxfs_shared EXPORT ctxfsTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
    NAMELINK_COMPONENT development
    INCLUDES DESTINATION ${headers_dir})
endif()
if(CTXFS_REMOTE)
  install(TARGETS ctxfs_fetch
    RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/libctxfs1 COMPONENT library)
endif()
install(EXPORT ctxfsTargets NAMESPACE ctxfs:: DESTINATION ${config_dir}
  COMPONENT development)
file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
  core/*.h)
list(FILTER headers EXCLUDE REGEX "^core/(cache|remote|api/handles.h$)")
foreach(header ${headers})
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${header} DESTINATION ${headers_dir}/${folder}
    COMPONENT development)
endforeach()

if(CTXFS_REMOTE)
  set(CTXFS_REMOTE_MODULE expat)
  set(CTXFS_REMOTE_LIBRARY EXPAT=expat)
endif()
configure_package_config_file(cmake/ctxfsConfig.cmake.in
  ${PROJECT_BINARY_DIR}/ctxfsConfig.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ctxfsConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ctxfsConfig.cmake
  ${PROJECT_BINARY_DIR}/ctxfsConfigVersion.cmake
  DESTINATION ${config_dir} COMPONENT development)

cmake_path(ABSOLUTE_PATH pkg_config_dir BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}
  OUTPUT_VARIABLE absolute_dir)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${absolute_dir}
  OUTPUT_VARIABLE CTXFS_PREFIX_FROM_PC)
foreach(name ctxfs ctxfs++)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${pkg_config_dir}
    COMPONENT development)
endforeach()

add_custom_target(uninstall
  COMMAND ${CMAKE_COMMAND} -D binary_dir=${PROJECT_BINARY_DIR}
          -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake
  COMMENT "Removing the files of the last cmake --install")
