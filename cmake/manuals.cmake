# SPDX-License-Identifier: Apache-2.0
#
# The rules that install manuals and completions, for packages and wheels.

# Writes the gzip-compressed contents of `file` to `output`, without a time.
find_program(CTXFS_GZIP gzip REQUIRED)
function(ctxfs_gzip file output)
  execute_process(COMMAND ${CTXFS_GZIP} -9nc ${file} OUTPUT_FILE ${output}
    COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND
    PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
endfunction()

# The manuals, each from one source in docs/man, below `directory`.
find_program(CTXFS_SCDOC scdoc REQUIRED)
function(ctxfs_install_manuals directory component)
  set(sources ${PROJECT_SOURCE_DIR}/docs/man)
  set(manuals ${PROJECT_BINARY_DIR}/man)
  foreach(page ctxfs.1 ctxfs.5 mount.ctxfs.8 fsck.ctxfs.8)
    configure_file(${sources}/${page}.scd ${manuals}/${page}.scd @ONLY)
    execute_process(COMMAND ${CTXFS_SCDOC} INPUT_FILE ${manuals}/${page}.scd
      OUTPUT_FILE ${manuals}/${page} COMMAND_ERROR_IS_FATAL ANY)
    ctxfs_gzip(${manuals}/${page} ${manuals}/${page}.gz)
    string(REGEX MATCH "[0-9]$" section ${page})
    install(FILES ${manuals}/${page}.gz
      DESTINATION ${directory}/man${section} COMPONENT ${component})
  endforeach()
endfunction()

# Completions below `share`, where each shell of the distribution looks for them.
function(ctxfs_install_completions share zsh_dir component)
  set(completions ${PROJECT_SOURCE_DIR}/packaging/completions)
  foreach(name ctxfs mount.ctxfs fsck.ctxfs)
    # bash loads the file with the name of the command.
    install(FILES ${completions}/ctxfs.bash
      DESTINATION ${share}/bash-completion/completions
      RENAME ${name} COMPONENT ${component})
  endforeach()
  install(FILES ${completions}/_ctxfs DESTINATION ${share}/zsh/${zsh_dir}
    COMPONENT ${component})
  install(FILES ${completions}/ctxfs.fish
    DESTINATION ${share}/fish/vendor_completions.d COMPONENT ${component})
endfunction()
