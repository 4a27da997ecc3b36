# SPDX-License-Identifier: Apache-2.0
#
# With CMAKE_UNITY_BUILD, compiles up to `size` files of a room of `target`
# together: most of what a file costs are its headers. A room is a folder with
# those below it that have no CMakeLists.txt, of tests each folder of tests/unit.
# Files of two rooms never meet, so a name in an unnamed namespace has to be
# unique in its room alone.
function(ctxfs_compile_by_room target size)
  get_target_property(sources ${target} SOURCES)
  set(previous "")
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    cmake_path(GET source PARENT_PATH room)
    cmake_path(GET room PARENT_PATH above)
    while(NOT EXISTS ${room}/CMakeLists.txt AND NOT room STREQUAL above
        AND NOT above STREQUAL ${PROJECT_SOURCE_DIR}/tests/unit)
      set(room ${above})
      cmake_path(GET room PARENT_PATH above)
    endwhile()
    if(NOT room STREQUAL previous)
      set(previous ${room})
      set(count 0)
      cmake_path(RELATIVE_PATH room BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
      string(MAKE_C_IDENTIFIER ${room} name)
    endif()
    math(EXPR part "${count} / ${size}")
    math(EXPR count "${count} + 1")
    set_source_files_properties(${source} TARGET_DIRECTORY ${target}
      PROPERTIES UNITY_GROUP ${name}_${part})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()
