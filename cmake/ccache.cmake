# SPDX-License-Identifier: Apache-2.0
#
# With CTXFS_CCACHE, compiles through ccache, if it is installed and no other
# launcher is set. ccache takes nothing that was compiled with a precompiled
# header unless it is told to ignore the times and macros that such a header
# hides.
if(CTXFS_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(CTXFS_CCACHE_PROGRAM ccache)
  if(CTXFS_CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      ${CTXFS_CCACHE_PROGRAM})
    if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
      # A time in the header would be another one at every build.
      add_compile_options(
        "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
    endif()
  endif()
endif()
