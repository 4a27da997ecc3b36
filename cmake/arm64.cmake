# SPDX-License-Identifier: Apache-2.0
#
# Compiles for arm64 on another machine, against the tree of Debian's packages
# that scripts/install.sh arm64 makes; scripts/arm64/emulate runs what was built,
# by qemu.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CTXFS_TARGET_TREE ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-tree)
cmake_path(NORMAL_PATH CTXFS_TARGET_TREE)

set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_SYSROOT ${CTXFS_TARGET_TREE})
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR
  ${CMAKE_CURRENT_LIST_DIR}/../scripts/arm64/emulate)
cmake_path(NORMAL_PATH CMAKE_CROSSCOMPILING_EMULATOR)

# Programs are those of this machine, all else is in the tree.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CTXFS_TARGET_TREE})
set(ENV{PKG_CONFIG_LIBDIR}
  ${CTXFS_TARGET_TREE}/usr/lib/aarch64-linux-gnu/pkgconfig:${CTXFS_TARGET_TREE}/usr/share/pkgconfig)
