#!/usr/bin/env bash
# Every C++ file of the tree is laid out as .clang-format says.   format.sh CLANG_FORMAT SOURCE
set -euo pipefail
if [[ ! -x "$1" ]]; then
  echo "SKIPPED: clang-format-22 is not installed"
  exit 77
fi
cd "$2"
mapfile -t files < <(git ls-files --cached --others --exclude-standard '*.h' '*.hpp' '*.cpp' '*.c')
echo "${#files[@]} files"
printf '%s\0' "${files[@]}" | xargs -0 -P 2 -n 40 "$1" --dry-run --Werror
