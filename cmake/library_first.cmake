# SPDX-License-Identifier: Apache-2.0
#
# Links the whole of libctxfs before the objects of a test: of two instantiations
# of a template, the first is taken, and that of the library is optimised. Without
# this, the library takes up to five times as long in tests as elsewhere.
function(ctxfs_link_library_first program)
  if(NOT CTXFS_SANITIZE)  # which optimises neither
    target_link_options(${program} PRIVATE
      "SHELL:LINKER:--whole-archive $<TARGET_FILE:libctxfs> LINKER:--no-whole-archive")
  endif()
endfunction()
