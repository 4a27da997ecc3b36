# SPDX-License-Identifier: Apache-2.0
#
# `cpack` in a build of the preset `package` makes ctxfs_VERSION_ARCH.deb,
# libctxfs1_... and libctxfs-dev_... (for the Debian that it runs on) and a .tar.gz
# of the whole installation (scripts/package.sh).
# Who makes the packages, as Debian's tools learn it; there is no address to write
# to but the forms that SECURITY.md names.
if(DEFINED ENV{DEBEMAIL} AND DEFINED ENV{DEBFULLNAME})
  set(default_maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
else()
  set(default_maintainer "ctxfs maintainers <maintainers@ctxfs.invalid>")
endif()
set(CTXFS_MAINTAINER "${default_maintainer}" CACHE STRING
  "Maintainer of the packages, as in Debian's control file")

# The packages of a later Debian are newer, so that upgrading it replaces them.
cmake_host_system_information(RESULT os QUERY DISTRIB_INFO)
set(CTXFS_DEBIAN_SUITE "${os_VERSION_CODENAME}")
set(CTXFS_DEBIAN_RELEASE "1+deb${os_VERSION_ID}")
set(CTXFS_DEBIAN_VERSION "${PROJECT_VERSION}-${CTXFS_DEBIAN_RELEASE}")

# Files that only Debian packages have. Debian policy 12.5 and 12.7 name them.
set(debian ${PROJECT_BINARY_DIR}/debian)
string(TIMESTAMP CTXFS_PACKAGE_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(packaging/debian/changelog.in ${debian}/changelog @ONLY)
ctxfs_gzip(${debian}/changelog ${debian}/changelog.Debian.gz)
ctxfs_gzip(${PROJECT_SOURCE_DIR}/CHANGES.md ${debian}/changelog.gz)
foreach(package ctxfs libctxfs1 libctxfs-dev)
  install(FILES packaging/debian/copyright ${debian}/changelog.Debian.gz
    ${debian}/changelog.gz
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package}
    COMPONENT debian-${package} EXCLUDE_FROM_ALL)
endforeach()
install(FILES packaging/debian/libctxfs1.lintian-overrides
  DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/lintian/overrides RENAME libctxfs1
  COMPONENT debian-libctxfs1 EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_CONTACT "${CTXFS_MAINTAINER}")
set(CPACK_PACKAGE_VENDOR ctxfs)
set(CPACK_PACKAGE_FILE_NAME
  ctxfs-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_ERROR_ON_ABSOLUTE_INSTALL_DESTINATION ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
  WORLD_READ WORLD_EXECUTE)

# A .deb per group of components; the .tar.gz is what `cmake --install` installs.
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL
  runtime debian-ctxfs library debian-libctxfs1 development debian-libctxfs-dev)
set(CPACK_COMPONENT_RUNTIME_GROUP ctxfs)
set(CPACK_COMPONENT_DEBIAN-CTXFS_GROUP ctxfs)
set(CPACK_COMPONENT_LIBRARY_GROUP libctxfs1)
set(CPACK_COMPONENT_DEBIAN-LIBCTXFS1_GROUP libctxfs1)
set(CPACK_COMPONENT_DEVELOPMENT_GROUP libctxfs-dev)
set(CPACK_COMPONENT_DEBIAN-LIBCTXFS-DEV_GROUP libctxfs-dev)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
if(CMAKE_CROSSCOMPILING)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()
set(CPACK_DEBIAN_PACKAGE_RELEASE "${CTXFS_DEBIAN_RELEASE}")
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_CTXFS_PACKAGE_NAME ctxfs)
set(CPACK_DEBIAN_CTXFS_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_CTXFS_PACKAGE_SHLIBDEPS ON)
# What its libraries do not tell. fusermount3 mounts for users that are not root;
# mount.fuse serves the type fuse.ctxfs. libcurl is loaded when it is needed.
set(depends)
if(CTXFS_FUSE)
  list(APPEND depends fuse3)
endif()
if(CTXFS_REMOTE)
  list(APPEND depends libcurl4)
endif()
list(JOIN depends ", " CPACK_DEBIAN_CTXFS_PACKAGE_DEPENDS)
set(CPACK_DEBIAN_CTXFS_PACKAGE_CONTROL_EXTRA
  ${PROJECT_SOURCE_DIR}/packaging/debian/postrm)
set(CPACK_DEBIAN_CTXFS_DESCRIPTION
"mount machine-learning containers as read-only files
ctxfs shows every entry of a model, data set or episode container as a
file, decompressed and verified against its checksum when it is first
read, so that ordinary tools work on it and nothing has to be extracted.
Further files show the same data for numpy, safetensors, pandas and others.

It reads safetensors, GGUF, PyTorch checkpoints, ONNX, NPZ, ZIP and tar,
Shard v2 and its profiles (ModelShard, SampleShard, ColumnShard, WShard),
MCF, CVC, MEM8, MegaContext, Cowrie and SJGN.")

set(CPACK_DEBIAN_LIBCTXFS1_PACKAGE_NAME libctxfs1)
set(CPACK_DEBIAN_LIBCTXFS1_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBCTXFS1_PACKAGE_SHLIBDEPS ON)
# For dpkg-shlibdeps of other packages, and to have ldconfig run as policy asks;
# cpack adds scripts that run it once more.
file(WRITE ${debian}/shlibs "libctxfs 1 libctxfs1 (>= ${PROJECT_VERSION})\n")
if(CTXFS_REMOTE)
  set(CPACK_DEBIAN_LIBCTXFS1_PACKAGE_RECOMMENDS libcurl4)  # as above; for URLs
endif()
file(WRITE ${debian}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBCTXFS1_PACKAGE_CONTROL_EXTRA
  ${debian}/shlibs ${debian}/triggers)
set(CPACK_DEBIAN_LIBCTXFS1_DESCRIPTION
"library that reads machine-learning containers
libctxfs opens the containers that ctxfs mounts and gives programs their
entries and arrays, verified, without a mount.

This package contains the shared library, with an interface for C, and the
program that fetches URLs for it.")

set(CPACK_DEBIAN_LIBCTXFS-DEV_PACKAGE_NAME libctxfs-dev)
set(CPACK_DEBIAN_LIBCTXFS-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBCTXFS-DEV_PACKAGE_DEPENDS "libctxfs1 (= ${CTXFS_DEBIAN_VERSION}), \
libbrotli-dev, libbz2-dev, libexpat1-dev, libfmt-dev, libisal-dev, \
liblz4-dev, liblzma-dev, libssl-dev, libxxhash-dev, libzstd-dev, nlohmann-json3-dev, zlib1g-dev")
set(CPACK_DEBIAN_LIBCTXFS-DEV_DESCRIPTION
"library that reads machine-learning containers (development files)
libctxfs opens the containers that ctxfs mounts: their entries, arrays and
the tree of files of a mount, without FUSE.

This package contains the static library for C++, what programs in C need to
link the shared one, headers, and files for find_package of CMake and for
pkg-config.")

include(CPack)
