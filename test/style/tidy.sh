#!/usr/bin/env bash
# clang-tidy finds nothing in the libraries that do without MLIR.   tidy.sh CLANG_TIDY SOURCE BUILD
# With MLIR's headers a file takes ten times as long; neither those files nor the commands of tools/kpc are checked.
set -euo pipefail
if [[ ! -x "$1" ]]; then
  echo "SKIPPED: clang-tidy-22 is not installed"
  exit 77
fi
tidy="$1" build="$3"
cd "$2"
mapfile -t files < <(git ls-files 'dialects/shape/*.cpp' 'runtime/*.cpp' 'compiler/target/*.cpp' \
  'compiler/diagnostics/*.cpp' 'compiler/cache/*.cpp' 'compiler/workers/*.cpp' 'compiler/import/onnx/model/*.cpp' \
  'codegen/artifact/*.cpp' 'codegen/nvptx/Ptxas.cpp' 'tools/kpc/tensorfile/*.cpp')
compiled=()
for file in "${files[@]}"; do
  if grep -q "$PWD/$file\"" "$build/compile_commands.json"; then compiled+=("$file"); fi
done
echo "${#compiled[@]} files"
printf '%s\0' "${compiled[@]}" | xargs -0 -P 2 -n 1 "$tidy" -p "$build" --quiet --header-filter "^$PWD/(dialects|codegen|compiler|runtime/(src|format)|tools)/"
