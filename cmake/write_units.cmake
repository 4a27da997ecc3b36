# SPDX-License-Identifier: Apache-2.0
#
# Runs in `cmake --install`: writes the units of systemd in ${from} to ${to},
# with the path that the program is installed at.
set(prefix "${CMAKE_INSTALL_PREFIX}")
if(prefix MATCHES "/_CPack_Packages/")
  set(prefix "${configured_prefix}")  # cpack installs into a staging directory
endif()
cmake_path(ABSOLUTE_PATH bin_dir BASE_DIRECTORY "${prefix}" NORMALIZE)
file(GLOB units "${from}/*")
foreach(unit ${units})
  file(READ "${unit}" text)
  string(REPLACE "/usr/bin/ctxfs" "${bin_dir}/ctxfs" text "${text}")
  cmake_path(GET unit FILENAME name)
  file(WRITE "${to}/${name}" "${text}")
endforeach()
