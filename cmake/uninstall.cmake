# SPDX-License-Identifier: Apache-2.0
#
# The `uninstall` target: removes the files that the manifests in ${binary_dir}
# list, below $DESTDIR if that is set, and the directories of ctxfs if that
# leaves them empty.
file(GLOB manifests "${binary_dir}/install_manifest*.txt")
if(NOT manifests)
  message(FATAL_ERROR "no install manifest in ${binary_dir}: not installed")
endif()
set(folders)
foreach(manifest ${manifests})
  file(STRINGS "${manifest}" files)
  foreach(file ${files})
    set(path "$ENV{DESTDIR}${file}")
    if(EXISTS "${path}" OR IS_SYMLINK "${path}")
      message(STATUS "Removing: ${path}")
      file(REMOVE "${path}")
    endif()
    cmake_path(GET path PARENT_PATH folder)
    list(APPEND folders "${folder}")
  endforeach()
  file(REMOVE "${manifest}")
endforeach()

foreach(folder ${folders})
  while(folder MATCHES "/ctxfs(/|$)" AND IS_DIRECTORY "${folder}")
    file(GLOB contents LIST_DIRECTORIES TRUE "${folder}/*" "${folder}/.*")
    if(contents)
      break()
    endif()
    file(REMOVE_RECURSE "${folder}")
    cmake_path(GET folder PARENT_PATH folder)
  endwhile()
endforeach()
