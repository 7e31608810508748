# SPDX-License-Identifier: Apache-2.0
# cmake -DOUT=... -DTEMPLATE=... -DSTYLE=... -DSCRIPTS=... -DLIBRARY=... -P embed.cmake
# Writes a C++ file that holds these files as arrays. Its content follows from theirs alone.
# SCRIPTS: JavaScript modules, separated by commas, each behind those that it imports from. They become
# one script, as a page from file:// may not load modules: in one scope, without their import lines and
# the word "export". An import is one line, and no two modules may name a thing of theirs alike.

string(REPLACE "," ";" modules "${SCRIPTS}")
set(script "(() => {\n'use strict';\n")
foreach(module IN LISTS modules)
  file(READ "${module}" source)
  string(REGEX REPLACE "\nimport {[^}\n]*} from '\\./[a-z_]+\\.js';" "" source "${source}")
  string(REGEX REPLACE "\nexport " "\n" source "${source}")
  if(source MATCHES "\n(import|export)[^\n]*")
    message(FATAL_ERROR "${module}: not a one-line import of names, or not an export of a declaration: ${CMAKE_MATCH_0}")
  endif()
  string(APPEND script "${source}")
endforeach()
string(APPEND script "})();\n")

set(text "// Written by embed.cmake.\n#include \"report/report_assets.h\"\n\nnamespace {\n")
foreach(part IN ITEMS Template Style Script Library)
  string(TOUPPER ${part} variable)
  if(part STREQUAL "Script")
    string(HEX "${script}" hex)
  else()
    file(READ "${${variable}}" hex HEX)
  endif()
  if(hex STREQUAL "")
    message(FATAL_ERROR "${${variable}}: empty or unreadable")
  endif()
  # 32 bytes a line: a line of its own for each byte or for all is slow to compile or to look at.
  string(REGEX REPLACE "(................................................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  string(APPEND text "const unsigned char ${part}[] = {\n${hex}};\n")
endforeach()
string(APPEND text "}  // namespace\n\nnamespace delaycc::report_assets {\n")
foreach(part IN ITEMS Template Style Script Library)
  string(APPEND text
    "const std::string_view k${part}(reinterpret_cast<const char*>(${part}), sizeof(${part}));\n")
endforeach()
string(APPEND text "}  // namespace delaycc::report_assets\n")
file(WRITE "${OUT}" "${text}")
