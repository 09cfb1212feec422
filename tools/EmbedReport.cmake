# Writes the texts of the report into a C++ file:
# cmake -DOUTPUT=… -DPAGE=… -DSTYLE=… -DSCRIPTS=a;b -DCHART=… -P EmbedReport.cmake

set(text "// Made by EmbedReport.cmake from tools/report/ and Chart.js.\n#include \"tools/ReportTexts.h\"\n\n")

# add_text(NAME FILE...): a string of several files, one after the other.
function(add_text name)
  set(literal "")
  foreach(file IN LISTS ARGN)
    file(READ "${file}" content)
    # The element of the page that contains the text would end there, or the text be taken for a comment.
    if(NOT name STREQUAL "page" AND content MATCHES "</script|</style|<!--")
      message(FATAL_ERROR "${file} cannot be part of a page: it contains ${CMAKE_MATCH_0}")
    endif()
    string(APPEND literal "\n    R\"TSRREPORT(${content})TSRREPORT\"")
  endforeach()
  set(text "${text}const char *const tessera::reportTexts::${name} =${literal};\n\n" PARENT_SCOPE)
endfunction()

add_text(page "${PAGE}")
add_text(style "${STYLE}")
add_text(script ${SCRIPTS})
add_text(chart "${CHART}")
file(WRITE "${OUTPUT}" "${text}")
