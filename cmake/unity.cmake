# SPDX-License-Identifier: Apache-2.0
#
# With CMAKE_UNITY_BUILD, compiles up to `size` files of a room of `target`
# together: most of what a file costs are its headers. Rooms are the folders of
# core and tests/unit; the families of formats are one, since each has a namespace
# of its own. Files elsewhere are one room of their target. Files of two rooms
# never meet, so a name in an unnamed namespace has to be unique in its room alone.
function(ctxfs_compile_by_room target size)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    set(room ${target})
    if(source MATCHES "^core/formats/[^/]+/")
      set(room core/formats/families)
    elseif(source MATCHES "^core/views/list/")  # a floor of its own
      set(room core/views/list)
    elseif(source MATCHES "^(core|tests/unit)/[^/]+/")
      set(room ${CMAKE_MATCH_0})
    endif()
    string(MAKE_C_IDENTIFIER ${room} room)
    list(APPEND rooms ${room})
    list(APPEND files_of_${room} ${PROJECT_SOURCE_DIR}/${source})
  endforeach()
  list(REMOVE_DUPLICATES rooms)
  foreach(room ${rooms})
    list(LENGTH files_of_${room} count)
    # All parts of a room are of about one size.
    math(EXPR parts "(${count} + ${size} - 1) / ${size}")
    set(index 0)
    foreach(source ${files_of_${room}})
      math(EXPR part "${index} * ${parts} / ${count}")
      math(EXPR index "${index} + 1")
      set_source_files_properties(${source} TARGET_DIRECTORY ${target}
        PROPERTIES UNITY_GROUP ${room}_${part})
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()
