# SPDX-License-Identifier: Apache-2.0
# cmake -DOUT=... -DTEMPLATE=... -DSTYLE=... -DSCRIPT=... -DLIBRARY=... -P embed.cmake
# Writes a C++ file that holds these files as arrays. Its content follows from theirs alone.

set(text "// Written by embed.cmake.\n#include \"report/report_assets.h\"\n\nnamespace {\n")
foreach(part IN ITEMS Template Style Script Library)
  string(TOUPPER ${part} variable)
  file(READ "${${variable}}" hex HEX)
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
