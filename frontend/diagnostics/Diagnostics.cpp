//===- Diagnostics.cpp - collecting messages -------------------------------===//

#include "frontend/diagnostics/Diagnostics.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

static const DiagnosticCodeInfo Codes[] = {
#define DIAGNOSTIC(CODE, TITLE, TEXT) {#CODE, TITLE, TEXT},
#include "frontend/diagnostics/DiagnosticCodes.def"
};

llvm::ArrayRef<DiagnosticCodeInfo> tessera::allDiagnosticCodes() { return Codes; }

const DiagnosticCodeInfo &tessera::diagnosticCodeInfo(DiagnosticCode code) {
  return Codes[static_cast<unsigned>(code)];
}

const DiagnosticCodeInfo *tessera::findDiagnosticCode(StringRef name) {
  for (const DiagnosticCodeInfo &info : Codes)
    if (info.name.equals_insensitive(name)) return &info;
  return nullptr;
}

DiagnosticBuilder &DiagnosticBuilder::label(Span span, const Twine &text) {
  for (DiagnosticLabel &existing : diagnostic.labels)
    if (existing.span == span && existing.text.empty()) return existing.text = text.str(), *this;
  diagnostic.labels.push_back({span, text.str()});
  return *this;
}

DiagnosticBuilder DiagnosticEngine::report(Diagnostic diagnostic) {
  bool isError = diagnostic.severity == Severity::Error;
  // A function is checked once for each call: its own mistakes are told once.
  for (const Diagnostic &earlier : messages) {
    bool sameCode = earlier.code == diagnostic.code && earlier.message == diagnostic.message;
    if (sameCode && !earlier.labels.empty() && !diagnostic.labels.empty() &&
        earlier.labels[0].span == diagnostic.labels[0].span)
      return DiagnosticBuilder(dropped = std::move(diagnostic));
  }
  if (isFull()) {
    errors += isError;
    return DiagnosticBuilder(dropped = std::move(diagnostic));
  }
  errors += isError;
  messages.push_back(std::move(diagnostic));
  return DiagnosticBuilder(messages.back());
}

void DiagnosticEngine::helpSince(size_t count, const Twine &text) {
  for (size_t i = count; i < messages.size(); ++i) DiagnosticBuilder(messages[i]).help(text);
}

bool DiagnosticEngine::blamesCommandLine() const {
  // Texts of options are sources of their own; messages on hypers and presets without a place are about options too.
  auto isOfOption = [&](const Diagnostic &message) {
    return message.labels.empty() ? diagnosticCodeInfo(message.code).name.starts_with("E05")
                                  : files[message.labels[0].span.file].name().starts_with("<--");
  };
  return hasErrors() && llvm::all_of(messages, [&](const Diagnostic &message) {
           return message.severity == Severity::Warning || isOfOption(message);
         });
}

DiagnosticBuilder DiagnosticEngine::error(DiagnosticCode code, Span span, const Twine &message) {
  return report({Severity::Error, code, message.str(), {{span, ""}}, {}, {}});
}

DiagnosticBuilder DiagnosticEngine::warning(DiagnosticCode code, Span span, const Twine &message) {
  return report({Severity::Warning, code, message.str(), {{span, ""}}, {}, {}});
}

DiagnosticBuilder DiagnosticEngine::error(DiagnosticCode code, const Twine &message) {
  return report({Severity::Error, code, message.str(), {}, {}, {}});
}

/// Whether two words differ by two letters next to each other that have changed places.
static bool isSwapped(StringRef a, StringRef b) {
  if (a.size() != b.size()) return false;
  size_t at = 0;
  while (at < a.size() && a[at] == b[at]) ++at;
  return at + 1 < a.size() && a[at] == b[at + 1] && a[at + 1] == b[at] && a.substr(at + 2) == b.substr(at + 2);
}

StringRef tessera::nearestName(StringRef name, llvm::ArrayRef<StringRef> candidates) {
  StringRef best;
  unsigned bestDistance = std::max<unsigned>(1, (name.size() + 1) / 3) + 1;
  if (name.size() > 64) return best;
  for (StringRef candidate : candidates) {
    if (candidate == name || candidate.size() > 64) continue;
    unsigned distance = name.edit_distance_insensitive(candidate, /*AllowReplacements=*/true, bestDistance);
    if (isSwapped(name, candidate)) distance = 1;
    if (distance < bestDistance && distance < std::max(name.size(), candidate.size())) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best;
}
