# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs a command, prints all that it says, and succeeds if its exit code is the one expected. A shell starts in a tenth
# of the time that Python takes, and the tests of the command line do this some 300 times.
#
#   sh expect.sh CODE COMMAND...

code=$1
shift
timeout 120 "$@" 2>&1
got=$?
if [ "$got" != "$code" ]; then
  echo "exit code $got, expected $code"
  exit 1
fi
