#!/usr/bin/env bash
# clang-tidy finds nothing in C++ files of the tree.
#   tidy.sh CLANG_TIDY SOURCE BUILD changed|plain|mlir STATES
# `changed` are those that differ from origin/main, or from the commit before where that is origin/main; `plain`
# those of the libraries that do without MLIR; `mlir` all others, which take ten times as long each.
# STATES is how many states of one function the static analyzer looks at (its own limit is 225000, and takes three to
# ten times as long as 10000).
set -euo pipefail
if [[ ! -x "$1" ]]; then
  echo "SKIPPED: clang-tidy-22 is not installed"
  exit 77
fi
tidy="$1" build="$3" which="$4" states="$5"
folder="$(cd "$(dirname "$0")" && pwd)"
cd "$2"
plain=('dialects/shape/*.cpp' 'dialects/layout/*.cpp' 'passes/schedule/*.cpp' 'emulator/*.cpp' 'runtime/*.cpp'
  'compiler/target/*.cpp' 'compiler/diagnostics/*.cpp' 'compiler/cache/*.cpp' 'compiler/workers/*.cpp'
  'compiler/import/onnx/model/*.cpp' 'codegen/artifact/*.cpp' 'codegen/nvptx/Ptxas.cpp' 'tools/kpc/tensorfile/*.cpp')
# The commit that a change is compared with: where it left origin/main, else the one before.
changed_since() {
  local base
  if base="$(git merge-base HEAD origin/main 2>/dev/null)" && [[ "$base" != "$(git rev-parse HEAD)" ]]; then
    echo "$base"
  else
    git rev-parse --verify -q HEAD~1
  fi
}
# Nothing to compare with is no success: a clone without history has tested nothing.
if [[ "$which" == changed ]] && ! changed_since >/dev/null; then
  echo "SKIPPED: expected origin/main or a commit before HEAD to compare with, got a clone without history"
  exit 77
fi
chosen() {
  case "$which" in
  changed)
    local base
    base="$(changed_since)"
    # A file takes 9 seconds, and a change of everything would take hours: of many files those with most new lines.
    git diff --numstat --no-renames --diff-filter=d "$base" -- '*.cpp' ':!test' | sort -k1,1nr -k3,3 |
      awk -F'\t' -v most=8 'NR <= most { print $3 } END { if (NR > most) print NR - most " files are left to tidy-plain and tidy-mlir" > "/dev/stderr" }'
    ;;
  plain) git ls-files "${plain[@]}" ;;
  mlir) git ls-files '*.cpp' ':!test' ':!examples' "${plain[@]/#/:!}" ;;
  esac
}
commands="$build/tidy-$which"
"$folder/commands.py" --self-test >/dev/null
"$folder/commands.py" "$build" "$commands"
compiled=()
while read -r file; do
  if grep -q "$PWD/$file\"" "$commands/alone/compile_commands.json"; then compiled+=("$file"); fi
done < <(chosen | sort -u)
echo "${#compiled[@]} files"
[[ ${#compiled[@]} -gt 0 ]] || exit 0
run_tidy() { # alone|precompiled FILE [OPTION …]
  "$tidy" -p "$commands/$1" --quiet "${@:3}" --extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg="max-nodes=$states" \
    --header-filter "^$PWD/(dialects|codegen|compiler|emulator|passes|runtime/(src|format)|tools)/" "$2" 2>&1
}
# A file that needs what its precompiled header includes is the business of the tree `checked`.
check() { # FILE
  local said failed=0
  said="$(run_tidy alone "$1" --extra-arg=-ferror-limit=1)" || failed=$?
  if [[ "$said" == *"[clang-diagnostic-error]"* ]]; then
    failed=0
    said="$(run_tidy precompiled "$1")" || failed=$?
  fi
  [[ -z "$said" ]] || printf '%s\n' "$said"
  return "$failed"
}
export -f run_tidy check
export tidy commands states
printf '%s\0' "${compiled[@]}" | xargs -0 -r -P 2 -n 1 bash -c 'check "$1"' tidy
