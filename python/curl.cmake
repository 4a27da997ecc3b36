# SPDX-License-Identifier: Apache-2.0
#
# Copies libcurl to curl/libcurl.so.4, for a wheel. Debian's loads libraries for RTMP
# and LDAP, which ctxfs never lets it use (core/remote/fetcher/transfer.cc), and these
# load a second TLS library: 2.3 MB of a wheel. Libraries with their names take
# their places; what they define ends the process.
file(REAL_PATH ${CTXFS_CURL} curl)
set(copy ${CMAKE_CURRENT_BINARY_DIR}/curl/libcurl.so.4)
configure_file(${curl} ${copy} COPYONLY)
find_program(CTXFS_PATCHELF patchelf)
if(NOT CTXFS_PATCHELF)
  return()  # this is for this machine alone, which has those libraries
endif()
execute_process(COMMAND ${CTXFS_PATCHELF} --print-needed ${copy}
  OUTPUT_VARIABLE needed COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_NM} -D --undefined-only ${copy}
  OUTPUT_VARIABLE used COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "lib(rtmp|ldap|lber)[^\n]*" left_out "${needed}")
foreach(name ${left_out})
  find_library(CTXFS_LEFT_OUT_${name} NAMES ${name} REQUIRED)
  execute_process(
    COMMAND ${CMAKE_NM} -D --defined-only ${CTXFS_LEFT_OUT_${name}}
    OUTPUT_VARIABLE defined COMMAND_ERROR_IS_FATAL ANY)
  set(code "#include <cstdlib>\n")
  set(symbols "")
  set(version "")
  # As in "ldap_init@OPENLDAP_2.200".
  string(REGEX MATCHALL " U [A-Za-z0-9_]+[@A-Za-z0-9_.]*" symbols_used "${used}")
  foreach(symbol ${symbols_used})
    string(REGEX MATCH "^ U ([A-Za-z0-9_]+)@*(.*)$" matched "${symbol}")
    set(function ${CMAKE_MATCH_1})
    set(function_version "${CMAKE_MATCH_2}")
    if(defined MATCHES " [TDB] ${function}(@|\n)")
      set(version "${function_version}")
      string(APPEND symbols "${function};")
      string(APPEND code
        "extern \"C\" void ${function}();\nvoid ${function}() { std::abort(); }\n")
    endif()
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/curl/${name})
  file(CONFIGURE OUTPUT ${source}.cc CONTENT "${code}" @ONLY)
  # One version for all of them, or none: "VERSION { global: A; B; local: *; };".
  file(CONFIGURE OUTPUT ${source}.map
    CONTENT "${version} { global: ${symbols} local: *; };\n" @ONLY)
  string(MAKE_C_IDENTIFIER ${name} target)
  add_library(${target} SHARED ${source}.cc)
  set_target_properties(${target} PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME ${name}
    NO_SONAME ON)
  target_link_options(${target} PRIVATE LINKER:-soname,${name} LINKER:--as-needed
    LINKER:--version-script=${source}.map)
  add_dependencies(ctxfs_python ${target})
  install(TARGETS ${target} LIBRARY DESTINATION ctxfs/lib COMPONENT python)
endforeach()
execute_process(COMMAND ${CTXFS_PATCHELF} --set-rpath $ORIGIN ${copy}
  COMMAND_ERROR_IS_FATAL ANY)
