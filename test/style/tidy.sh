#!/usr/bin/env bash
# clang-tidy finds nothing in the libraries that do without MLIR, nor in files that differ from origin/main.
#   tidy.sh CLANG_TIDY SOURCE BUILD STATES
# STATES is how many states of one function the static analyzer looks at (its own limit is 225000, and takes three to
# ten times as long as 10000). With MLIR's headers a file takes ten times as long: of those, and of the commands of
# tools/kpc, only changed ones.
set -euo pipefail
if [[ ! -x "$1" ]]; then
  echo "SKIPPED: clang-tidy-22 is not installed"
  exit 77
fi
tidy="$1" build="$3" states="$4"
cd "$2"
changed() {
  local base
  base="$(git merge-base HEAD origin/main 2>/dev/null)" || return 0
  git diff --name-only --diff-filter=d "$base" -- '*.cpp' ':!test'
}
mapfile -t files < <({ git ls-files 'dialects/shape/*.cpp' 'dialects/layout/*.cpp' 'passes/schedule/*.cpp' \
  'emulator/*.cpp' 'runtime/*.cpp' 'compiler/target/*.cpp' \
  'compiler/diagnostics/*.cpp' 'compiler/cache/*.cpp' 'compiler/workers/*.cpp' 'compiler/import/onnx/model/*.cpp' \
  'codegen/artifact/*.cpp' 'codegen/nvptx/Ptxas.cpp' 'tools/kpc/tensorfile/*.cpp'; changed; } | sort -u)
compiled=()
for file in "${files[@]}"; do
  if grep -q "$PWD/$file\"" "$build/compile_commands.json"; then compiled+=("$file"); fi
done
echo "${#compiled[@]} files"
printf '%s\0' "${compiled[@]}" | xargs -0 -P 2 -n 1 "$tidy" -p "$build" --quiet \
  --extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg="max-nodes=$states" \
  --header-filter "^$PWD/(dialects|codegen|compiler|emulator|passes|runtime/(src|format)|tools)/"
