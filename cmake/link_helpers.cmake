# SPDX-License-Identifier: Apache-2.0
#
# Runs in `cmake --install`: makes the links mount.ctxfs and fsck.ctxfs in
# ${links}. They are relative if the helpers are installed below the prefix, so
# that a tree can be moved. Otherwise they are absolute: /sbin is a link to
# /usr/sbin on some systems and a directory on others, and a relative link from
# there is right on one of them only.
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_PREFIX NORMALIZE OUTPUT_VARIABLE prefix)
cmake_path(ABSOLUTE_PATH bin_dir BASE_DIRECTORY "${prefix}" NORMALIZE)
cmake_path(ABSOLUTE_PATH helper_dir BASE_DIRECTORY "${prefix}" NORMALIZE)
set(target "${bin_dir}/ctxfs")
cmake_path(IS_PREFIX prefix "${helper_dir}" is_below)
if(is_below)
  cmake_path(RELATIVE_PATH target BASE_DIRECTORY "${helper_dir}")
endif()
file(MAKE_DIRECTORY "${links}")
foreach(name mount.ctxfs fsck.ctxfs)
  file(CREATE_LINK "${target}" "${links}/${name}" SYMBOLIC)
endforeach()
