# SPDX-License-Identifier: Apache-2.0
#
# Writes ${output}, C++ that defines the texts of core/report/page_parts.h.
# ${parts} is a list of NAME=FILE[,FILE...], the files of a text in its order.
# A text is an array of short literals: compilers warn of long ones, and take a
# minute for an array of as many characters.
set(piece_size 8192)  # hex digits
set(code "// Made by cmake/embed.cmake.\n#include \"core/report/page_parts.h\"\n
namespace ctxfs {\n")
foreach(part ${parts})
  string(REGEX MATCH "^([A-Za-z]+)=(.*)$" matched "${part}")
  set(name ${CMAKE_MATCH_1})
  string(REPLACE "," ";" files "${CMAKE_MATCH_2}")
  set(hex "")
  foreach(file ${files})
    file(READ "${file}" bytes HEX)
    string(APPEND hex "${bytes}")
  endforeach()
  string(APPEND code "namespace {\nconstexpr std::string_view ${name}Pieces[] = {\n")
  string(LENGTH "${hex}" length)
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${hex}" ${at} ${piece_size} piece)
    string(LENGTH "${piece}" digits)
    math(EXPR bytes "${digits} / 2")
    string(REGEX REPLACE "(..)" "\\\\x\\1" escapes "${piece}")
    string(APPEND code "{\"${escapes}\", ${bytes}},\n")
    math(EXPR at "${at} + ${piece_size}")
  endwhile()
  string(APPEND code "};\n}\nconst PagePart ${name}(${name}Pieces);\n")
endforeach()
string(APPEND code "}  // namespace ctxfs\n")
file(WRITE "${output}" "${code}")
