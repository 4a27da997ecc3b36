# SPDX-License-Identifier: Apache-2.0
#
# Completion of ctxfs, mount.ctxfs and fsck.ctxfs for bash. `ctxfs __complete`
# has the candidates; this gives it the words, and bash its answer.

_ctxfs() {
  local line=${COMP_LINE:0:COMP_POINT} cur
  local -a words lines
  # bash splits words at COMP_WORDBREAKS, which has '=' and ':', so the line is
  # split again. Without -r, read undoes backslashes.
  if [[ $line == *[\"\']* ]]; then
    words=("${COMP_WORDS[@]:0:COMP_CWORD+1}")
    words[COMP_CWORD]=${words[COMP_CWORD]#[\"\']}
  else
    # shellcheck disable=SC2162
    read -a words <<<"$line"
    if [[ $line == *[[:space:]] && $line != *\\[[:space:]] ]]; then
      words+=("")
    fi
  fi
  cur=${words[-1]}
  COMPREPLY=()
  mapfile -t lines < <(ctxfs __complete "${words[0]}" "${words[@]:1}" 2>/dev/null)
  if [[ ${lines[0]-} == :files ]]; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    return
  fi
  # bash replaces what follows the last of these, so the rest is cut off.
  local breaks=${COMP_WORDBREAKS//[^=:]/} before="" line_
  if [[ -n $breaks && $line != *[\"\']* ]]; then
    before=${cur%"${cur##*[$breaks]}"}
  fi
  for line_ in "${lines[@]}"; do
    line_=${line_%%$'\t'*}
    COMPREPLY+=("${line_#"$before"}")
  done
  # Names are quoted as those of files are; options are not.
  [[ $cur == *//* ]] && compopt -o filenames
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/=] ]]; then
    compopt -o nospace
  fi
}

complete -F _ctxfs ctxfs mount.ctxfs fsck.ctxfs
