# SPDX-License-Identifier: Apache-2.0
#
# Completion for fish. `ctxfs __complete` has the candidates.

function __ctxfs_complete
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    set -l current (string unescape -- (commandline --cut-at-cursor --current-token))
    test -n "$current"; or set current ""
    set -l lines (ctxfs __complete (string replace -r '.*/' '' -- $words[1]) $words[2..-1] "$current" 2>/dev/null)
    if test "$lines[1]" = ":files"
        __fish_complete_path "$current"
    else
        printf '%s\n' $lines
    end
end

for program in ctxfs mount.ctxfs fsck.ctxfs
    complete --command $program --no-files --arguments '(__ctxfs_complete)'
end
