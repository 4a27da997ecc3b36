# SPDX-License-Identifier: Apache-2.0
#
# With CMAKE_UNITY_BUILD, compiles up to `size` files of a folder of `target`
# together: most of what a file costs are its headers. Files of two folders never
# meet, so a name in an unnamed namespace has to be unique in its folder alone.
function(ctxfs_compile_by_folder target size)
  get_target_property(sources ${target} SOURCES)
  set(previous "")
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    cmake_path(GET source PARENT_PATH folder)
    if(NOT folder STREQUAL previous)
      set(previous ${folder})
      set(count 0)
      cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
      string(MAKE_C_IDENTIFIER ${folder} name)
    endif()
    math(EXPR part "${count} / ${size}")
    math(EXPR count "${count} + 1")
    set_source_files_properties(${source} TARGET_DIRECTORY ${target}
      PROPERTIES UNITY_GROUP ${name}_${part})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()
