//===- Error.h - errors of a training program -----------------------------===//
//
// Every failure of the runtime is an `Error`: a message that says what is wrong and what to do, and the exit status.
// Only `runLauncher` prints it and returns the status. What is printed may quote files: it is escaped here, once.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_BASE_ERROR_H
#define TESSERA_RUNTIME_BASE_ERROR_H

#include "runtime/base/Printable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace tessera::runtime {

/// Exit status of a training program.
enum class ExitStatus : int {
  Done = 0,
  Fault = 1,    ///< the data, checkpoint or option is at fault
  Usage = 2,    ///< the command line is at fault
  Diverged = 3, ///< not finite for too many steps
  RankLost = 4, ///< another rank has died, does not answer, or is late (runtime/ranks/Watchdog.h)
  Stopped = 75  ///< stopped and saved
};

class Error : public std::runtime_error {
public:
  explicit Error(std::string message, ExitStatus code = ExitStatus::Fault)
      : std::runtime_error(std::move(message)), code(code) {}
  ExitStatus exitStatus() const { return code; }

private:
  ExitStatus code;
};

/// Bytes of an argument of a message that are shown. A name in a file of a stranger may have megabytes.
inline constexpr size_t longestArgument = 10'000;

/// An argument of a message. Text may be a name from a file or the command line, so it is made printable.
template <typename Arg> decltype(auto) messageArgument(const Arg &arg) {
  if constexpr (std::is_convertible_v<const Arg &, std::string_view>)
    return printable(arg, longestArgument);
  else
    return (arg);
}

template <typename... Args> std::string formatMessage(fmt::string_view format, const Args &...args) {
  return fmt::vformat(format, fmt::make_format_args(args...));
}

/// Throws an Error with status 1. Line breaks are those of the format: in arguments they are escaped.
template <typename... Args> [[noreturn]] void fail(fmt::format_string<Args...> format, Args &&...args) {
  throw Error(formatMessage(format, messageArgument(args)...));
}

/// Throws an Error with status 2.
template <typename... Args> [[noreturn]] void failUsage(fmt::format_string<Args...> format, Args &&...args) {
  throw Error(formatMessage(format, messageArgument(args)...), ExitStatus::Usage);
}

/// Prints a line to a stream, control characters escaped. Failures of the write are ignored.
inline void printLine(std::FILE *stream, std::string_view text) {
  std::string line = printableLines(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stream);
}

/// The same to standard error.
inline void printError(std::string_view text) { printLine(stderr, text); }

/// Of several processes that run one program the first one speaks. Warnings of the others go to standard output, which
/// is a log of theirs. Set once, at the start.
inline bool speaks = true;

/// Prints a warning or a note.
template <typename... Args> void warn(fmt::format_string<Args...> format, Args &&...args) {
  printLine(speaks ? stderr : stdout, fmt::format(format, std::forward<Args>(args)...));
  if (!speaks) std::fflush(stdout); // the process may be killed
}

/// Prints to standard output, control characters escaped. A failed write shows in the state of the stream.
template <typename... Args> void printText(fmt::format_string<Args...> format, Args &&...args) {
  std::string text = printableLines(fmt::format(format, std::forward<Args>(args)...));
  std::fwrite(text.data(), 1, text.size(), stdout);
}

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_BASE_ERROR_H
