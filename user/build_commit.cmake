# SPDX-License-Identifier: Apache-2.0
# Writes OUT, a C++ source that defines delaycc::version_text: VERSION and, where SOURCE is a git
# tree of its own, the commit.  A text that has not changed leaves the file alone.
# usage: cmake -DSOURCE=DIR -DVERSION=TEXT -DOUT=FILE -P build_commit.cmake
cmake_minimum_required(VERSION 3.25)
set(text "delaycc ${VERSION}")
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-prefix
                OUTPUT_VARIABLE prefix RESULT_VARIABLE no_tree ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
# Below the top of another tree the commit would be that tree's.
if(NOT no_tree AND prefix STREQUAL "")
  execute_process(COMMAND git -C ${SOURCE} --no-optional-locks describe --always --abbrev=12 --exclude * --dirty=\ and\ changes
                  OUTPUT_VARIABLE commit RESULT_VARIABLE no_commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT no_commit)
    string(APPEND text " (commit ${commit})")
  endif()
endif()
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT
"// Written by build_commit.cmake.
#include \"version.h\"

namespace delaycc {
const char* const version_text = \"@text@\";
}
")
