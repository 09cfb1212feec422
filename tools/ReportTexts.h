//===- ReportTexts.h - the texts that a report is made of -----------------===//
//
// Files of tools/report/, and the library Chart.js, as text inside of the binary (EmbedReport.cmake).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_REPORTTEXTS_H
#define TESSERA_TOOLS_REPORTTEXTS_H

namespace tessera::reportTexts {

extern const char *const page;   ///< HTML; `{{name}}` is replaced (Report.cpp)
extern const char *const style;  ///< CSS
extern const char *const script; ///< JavaScript
extern const char *const chart;  ///< Chart.js

} // namespace tessera::reportTexts

#endif // TESSERA_TOOLS_REPORTTEXTS_H
