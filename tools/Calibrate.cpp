//===- Calibrate.cpp - the command `tessera calibrate` --------------------===//
//
//  1. Describe the machine: processors, caches, memory.
//  2. Measure the rate of multiply-adds and the bandwidth of copies, with all threads and with one.
//  3. Compile models of known work, run each for a second, and read the time of each kernel.
//  4. Fit the figures of the model of costs to these times, and write the description.
//
// With `--from`, the times are those of profiles, and the description that `--on` names is refined.
//
// Several ranks first measure the links between them (CalibratedLinks.h); then the first one goes on alone.
//
//===----------------------------------------------------------------------===//

#include "tools/Calibrate.h"
#include "codegen/cpu/object/CpuTarget.h"
#include "ir/program/DeviceFields.h"
#include "ir/program/DeviceText.h"
#include "ir/program/SystemError.h"
#include "passes/OutputFile.h"
#include "runtime/machine/MachineLimits.h"
#include "runtime/machine/MachineMemory.h"
#include "runtime/ranks/Agreement.h"
#include "runtime/ranks/RankShare.h"
#include "runtime/ranks/World.h"
#include "tools/CalibratedLinks.h"
#include "tools/CalibrationModels.h"
#include "tools/Messages.h"
#include "tools/OutputConflicts.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <chrono>
#include <ctime>
#include <random>
#include <sys/resource.h>
#include <unistd.h>

using namespace mlir;
using namespace tessera;

/// What a program runs for after it was seen how long a step takes, and the steps that it makes at least and at most.
static constexpr double measuredSeconds = 1.2;
static constexpr int64_t fewestSteps = 4, mostSteps = 400;
/// The profile of the first steps, which say how many to measure.
static constexpr int64_t firstSteps = 2;
/// With more other work than this part of the processors' time, the figures are wrong.
static constexpr double mostOtherLoad = 0.05;
/// Token ids of the data, which are random: below the vocabularies of all models.
static constexpr int tokenCount = 1 << 18, tokenIds = 300;

static int refuse(const llvm::Twine &problem) {
  printError(problem);
  return ExitInput;
}

//===----------------------------------------------------------------------===//
// 1. The machine
//===----------------------------------------------------------------------===//

static std::string firstLineOf(const llvm::Twine &path) {
  auto buffer = llvm::MemoryBuffer::getFileAsStream(path);
  return buffer ? (*buffer)->getBuffer().split('\n').first.trim().str() : "";
}

/// "48K" in bytes.
static std::optional<int64_t> parseCacheSize(StringRef text) {
  int64_t unit = text.consume_back("K") ? 1 << 10 : text.consume_back("M") ? 1 << 20 : 1, size;
  if (text.getAsInteger(10, size) || size < 1) return std::nullopt;
  return size * unit;
}

/// How many processors a list such as "0-3,8" names.
static int64_t countListed(StringRef list) {
  int64_t count = 0;
  SmallVector<StringRef> parts;
  list.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    int64_t first, last;
    auto [from, to] = part.split('-');
    if (from.getAsInteger(10, first) || (!to.empty() && to.getAsInteger(10, last))) return 0;
    count += to.empty() ? 1 : last - first + 1;
  }
  return count;
}

/// The caches of the first processor, as Linux lists them.
static void readCaches(CpuFigures &cpu) {
  for (int index = 0; index < 8; ++index) {
    std::string folder = llvm::formatv("/sys/devices/system/cpu/cpu0/cache/index{0}/", index);
    std::string type = firstLineOf(folder + "type"), level = firstLineOf(folder + "level");
    std::optional<int64_t> size = parseCacheSize(firstLineOf(folder + "size"));
    if (!size || type == "Instruction") continue;
    if (level == "1") cpu.l1Bytes = size;
    if (level == "2") cpu.l2Bytes = size;
    if (level != "3") continue;
    cpu.l3Bytes = size;
    if (int64_t sharing = countListed(firstLineOf(folder + "shared_cpu_list")); sharing > 0) cpu.l3Cores = sharing;
  }
}

/// What is known of this machine without measuring.
static FailureOr<Target> describeMachine(const CommandOptions &options) {
  FailureOr<CpuTarget> processor = CpuTarget::get(options.codegen.march, messages());
  if (failed(processor)) return failure();
  Target target = Target::forProcessor(processor->cpu);
  CpuFigures &cpu = target.figures.cpu;
  cpu.march = processor->cpu;
  cpu.cores = runtime::availableCores();
  target.figures.memoryBytes = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  readCaches(cpu);
  return target;
}

//===----------------------------------------------------------------------===//
// 2. Rates
//===----------------------------------------------------------------------===//

/// Of all cores together and of one, whatever number of threads programs have.
static void measureRates(Target &target) {
  DeviceFigures &figures = target.figures;
  int threads = runtime::availableCores();
  runtime::Threads all(threads);
  if (auto limits = runtime::measureLimits(all)) {
    figures.rates.f32 = limits->flops;
    figures.copyBandwidth = limits->copyBytes;
  }
  if (threads == 1) return;
  runtime::Threads one(1);
  if (auto limits = runtime::measureLimits(one)) {
    figures.cpu.thread.f32 = limits->flops;
    figures.cpu.threadCopyBandwidth = limits->copyBytes;
  }
}

namespace {
/// Watches how busy the machine is with other work.
class OtherLoad {
public:
  OtherLoad() : began(now()), busy(busySeconds()), own(ownSeconds()) {}

  /// The part of all processors' time that others have had since, from 0 to 1.
  double share() const {
    double passed = (now() - began) * double(sysconf(_SC_NPROCESSORS_ONLN));
    double others = (busySeconds() - busy) - (ownSeconds() - own);
    return passed > 0 ? std::clamp(others / passed, 0.0, 1.0) : 0;
  }

private:
  static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  /// Of all processors: in processes, in the kernel, or taken by other virtual machines.
  static double busySeconds() {
    SmallVector<StringRef> fields;
    std::string line = firstLineOf("/proc/stat"); // cpu user nice system idle iowait irq softirq steal …
    StringRef(line).split(fields, ' ', -1, /*KeepEmpty=*/false);
    double ticks = 0;
    for (size_t i : {1, 2, 3, 6, 7, 8}) {
      int64_t value = 0;
      if (i < fields.size() && !fields[i].getAsInteger(10, value)) ticks += double(value);
    }
    return ticks / double(sysconf(_SC_CLK_TCK));
  }
  static double ownSeconds() {
    double seconds = 0;
    for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
      rusage usage = {};
      getrusage(who, &usage);
      for (const timeval &time : {usage.ru_utime, usage.ru_stime})
        seconds += double(time.tv_sec) + 1e-6 * double(time.tv_usec);
    }
    return seconds;
  }

  double began, busy, own;
};
} // namespace

//===----------------------------------------------------------------------===//
// 3. Programs
//===----------------------------------------------------------------------===//

namespace {
/// A folder that is removed at the end.
class ScratchFolder {
public:
  ScratchFolder() { error = llvm::sys::fs::createUniqueDirectory("tessera-calibrate", path); }
  ~ScratchFolder() {
    if (!error) llvm::sys::fs::remove_directories(path);
  }
  std::string operator/(const llvm::Twine &name) const { return (path + "/" + name).str(); }
  std::error_code error;

private:
  SmallString<128> path;
};

/// Compiles and runs the models.
class Measurement {
public:
  Measurement(const CommandOptions &options, ScratchFolder &folder) : options(options), folder(folder) {}

  /// Writes the models and the data. Returns what went wrong, or an empty text.
  std::string prepare();
  /// Measures one program. None if it does not compile or run here: then it is left out, with a warning.
  std::optional<MeasuredProfile> measure(const CalibrationRun &run, StringRef type, unsigned number);

private:
  /// Runs a command in the folder; what it prints goes to a file. Returns what went wrong, or an empty text.
  std::string execute(const std::string &program, ArrayRef<std::string> arguments) const;
  std::string train(int64_t steps) const;

  const CommandOptions &options;
  ScratchFolder &folder;
};
} // namespace

/// "perceptron.tsr with hidden=600 rows=1024 in f32"
static std::string programName(const CalibrationRun &run, StringRef type) {
  std::string settings = llvm::join(run.settings, " ");
  return llvm::formatv("{0}{1}{2} in {3}", run.model, settings.empty() ? "" : " with ", settings, type);
}

std::string Measurement::prepare() {
  for (const CalibrationModel &model : calibrationModels())
    if (std::string problem = writeOutputFile(folder / model.name, model.text); !problem.empty()) return problem;
  std::mt19937 random(1);
  std::string tokens;
  for (int i = 0; i < tokenCount; ++i) {
    uint32_t id = random() % tokenIds;
    tokens += static_cast<char>(id & 255), tokens += static_cast<char>(id >> 8);
  }
  return writeOutputFile(folder / "tokens.bin", tokens);
}

std::string Measurement::execute(const std::string &program, ArrayRef<std::string> arguments) const {
  std::string said = folder / "said", problem;
  SmallVector<StringRef> words{program};
  words.append(arguments.begin(), arguments.end());
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(said), StringRef(said)};
  std::vector<std::string> environment = runtime::environmentOfOneRank();
  SmallVector<StringRef> variables(environment.begin(), environment.end());
  int status = llvm::sys::ExecuteAndWait(program, words, ArrayRef<StringRef>(variables), redirects, 0, 0, &problem);
  if (status == 0) return "";
  if (!problem.empty()) return problem;
  auto text = llvm::MemoryBuffer::getFile(said);
  return text ? (*text)->getBuffer().trim().rsplit('\n').second.str() : "status " + std::to_string(status);
}

std::string Measurement::train(int64_t steps) const {
  return execute(folder / "program",
                 {"train", "--quiet", "--data", folder / "tokens.bin", "--steps", std::to_string(steps), "--profile",
                  folder / "profile.json", "--threads", std::to_string(options.codegen.threads)});
}

std::optional<MeasuredProfile> Measurement::measure(const CalibrationRun &run, StringRef type, unsigned number) {
  std::string self = llvm::sys::fs::getMainExecutable(nullptr, reinterpret_cast<void *>(&runCalibrate));
  std::vector<std::string> command{"compile",          folder / run.model, "-o",
                                   folder / "program", "--threads",        std::to_string(options.codegen.threads),
                                   "--precision",      type.str(),         "--no-cache"};
  for (StringRef setting : run.settings) command.push_back("--set"), command.push_back(setting.str());
  if (!options.target.empty()) command.push_back("--target=" + options.target);
  std::string problem = execute(self, command);
  if (problem.empty()) problem = train(firstSteps);
  std::optional<MeasuredProfile> profile;
  if (problem.empty()) profile = readProfile(folder / "profile.json", number, problem);
  if (profile) {
    problem = train(std::clamp(int64_t(measuredSeconds / profile->seconds), fewestSteps, mostSteps));
    profile.reset();
    if (problem.empty()) profile = readProfile(folder / "profile.json", number, problem);
  }
  if (!profile) messages() << "warning: " << programName(run, type) << " is left out: " << problem << "\n";
  return profile;
}

//===----------------------------------------------------------------------===//
// 4. The description
//===----------------------------------------------------------------------===//

static std::string describeThreads(int threads) {
  return threads == 1 ? "one thread" : std::to_string(threads) + " threads";
}

/// "2026-11-24, tessera 0.1.0, 2 threads"
static std::string describeCalibration(const std::string &what) {
  std::time_t now = std::time(nullptr);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%d", std::localtime(&now));
  return std::string(date) + ", tessera " TESSERA_VERSION ", " + what;
}

/// The name of a description in a file: the file's, without characters that a name cannot have.
static std::string nameFor(const std::string &path) {
  std::string name = llvm::sys::path::stem(path).str();
  for (char &c : name)
    if (!isDeviceName("x" + std::string(1, c))) c = '-';
  return isDeviceName(name) ? name : "device";
}

/// Fits the figures of `target` and writes it. `programs`: the names of those that were measured.
static int fitAndWrite(Target target, int threads, ArrayRef<TimedCall> calls, ArrayRef<std::string> programs,
                       double freedom, const std::string &how, const CommandOptions &options) {
  CostModel model(target, threads);
  FitResult fit = fitFigures(model, calls, freedom);
  if (options.verbose)
    for (auto [program, ratio] : llvm::zip(programs, fit.ratios))
      results() << llvm::formatv("{0}: predicted {1:f3} of the measured time\n", program, ratio);
  for (const std::string &key : fit.keys) {
    FieldKey found = findDeviceField(key);
    if (checkValue(*found.field, model.get(key)).empty()) assign(target, found, model.get(key));
  }
  target.called = nameFor(options.output);
  target.figures.source = "calibrated";
  target.figures.calibrated = describeCalibration(how);
  std::string problem = writeOutputFile(options.output, describe(target));
  if (!problem.empty()) return refuse(problem);
  results() << llvm::formatv(
      "wrote {0}: {1} figures from {2} kernels; predicted times of the programs are off by {3:f1} % "
      "in the median, {4:f1} % at most\n",
      options.output, fit.keys.size(), calls.size(), 100 * fit.medianError, 100 * fit.largestError);
  results() << "use it with --on=" << (StringRef(options.output).contains('/') ? "" : "./") << options.output << "\n";
  return ExitDone;
}

/// Programs with fewer threads than there are cores do not show what all cores reach together.
static void warnOfIdleCores(int threads, const CpuFigures &cpu) {
  if (threads == 0 || !cpu.cores || threads >= *cpu.cores) return;
  messages() << "warning: " << describeThreads(threads) << (threads == 1 ? " was" : " were") << " measured, of "
             << *cpu.cores << " cores: what all of them reach is extrapolated; for programs with " << *cpu.cores
             << " threads, take profiles of such programs\n";
}

/// Enters what several ranks measured of the links between them. Returns what is added to how it was calibrated.
static std::string enterLinks(const std::optional<CalibratedLinks> &links, Target &target) {
  if (!links) return "";
  links->enter(target);
  return ", " + links->ranks();
}

static int calibrateFromProfiles(const CommandOptions &options, const std::optional<CalibratedLinks> &links) {
  std::vector<TimedCall> calls;
  std::vector<std::string> programs;
  std::optional<int> threads;
  for (const std::string &path : options.profiles) {
    std::string problem;
    auto number = static_cast<unsigned>(&path - options.profiles.data());
    std::optional<MeasuredProfile> profile = readProfile(path, number, problem);
    if (!profile) return refuse(problem);
    if (threads && *threads != profile->threads)
      return refuse(path + ": was measured with " + std::to_string(profile->threads) + " threads, and " +
                    options.profiles.front() + " with " + std::to_string(*threads) +
                    "; calibrate from profiles of one number of threads");
    threads = profile->threads;
    llvm::append_range(calls, profile->calls);
    programs.push_back(path);
  }
  FailureOr<Target> target = options.device ? FailureOr<Target>(options.device->target) : describeMachine(options);
  if (failed(target)) return ExitUsage;
  bool isOnGpu = *threads == 0;
  if (isOnGpu != target->isGpu())
    return refuse(options.profiles.front() + ": was measured on " + (isOnGpu ? "a GPU" : "a CPU") + ", and " +
                  target->name() + " is " + nameOf(target->kind) +
                  (options.on.empty() ? "; name the device with --on" : "; name the device of the profile with --on"));
  bool isRefined = target->figures.source == "calibrated";
  std::string how = programs.size() == 1 ? "from a profile" : "from " + std::to_string(programs.size()) + " profiles";
  if (!isOnGpu) how += " of " + describeThreads(*threads);
  how += enterLinks(links, *target);
  warnOfIdleCores(*threads, target->figures.cpu);
  return fitAndWrite(*target, std::max(1, *threads), calls, programs, isRefined ? 0.3 : 1.0, how, options);
}

static int calibrateMachine(const CommandOptions &options, const std::optional<CalibratedLinks> &links) {
  FailureOr<Target> target = options.device ? FailureOr<Target>(options.device->target) : describeMachine(options);
  if (failed(target)) return ExitUsage;
  ScratchFolder folder;
  if (folder.error) return refuse("cannot make a folder for temporary files: " + folder.error.message());
  OtherLoad load;
  Measurement measurement(options, folder);
  if (std::string problem = measurement.prepare(); !problem.empty()) return refuse(problem);
  if (!target->isGpu()) measureRates(*target);
  std::vector<TimedCall> calls;
  std::vector<std::string> programs;
  for (const CalibrationRun &run : calibrationRuns())
    for (StringRef type : run.types)
      if (std::optional<MeasuredProfile> profile =
              measurement.measure(run, type, static_cast<unsigned>(programs.size()))) {
        llvm::append_range(calls, profile->calls);
        programs.push_back(llvm::formatv("{0}, {1:f2} ms a step", programName(run, type), 1e3 * profile->seconds));
      }
  if (double share = load.share(); share > mostOtherLoad)
    messages() << llvm::formatv(
        "warning: other work has had {0:f0} % of the processors' time meanwhile, so the machine "
        "seems slower than it is; calibrate again when it is quiet\n",
        100 * share);
  if (programs.empty()) return refuse("no program could be measured");
  std::string how = describeThreads(options.codegen.threads) + enterLinks(links, *target);
  return fitAndWrite(*target, options.codegen.threads, calls, programs, 1, how, options);
}

/// Checks, before anything is measured, that the description can be written where `-o` says.
static int checkOutput(const CommandOptions &options) {
  std::vector<UsedFile> used{{"/proc/self/exe", "this compiler"}};
  for (const std::string &profile : options.profiles) used.push_back({profile, "a profile that --from names"});
  if (options.device)
    for (const std::string &file : options.device->files) used.push_back({file, "a description that --on names"});
  if (std::string problem = findOutputConflict({NamedOutput{"-o", options.output}}, used); !problem.empty()) {
    printError(problem);
    return ExitUsage;
  }
  std::string problem = findUnwritable(options.output);
  return problem.empty() ? ExitDone : refuse(problem);
}

static int calibrate(const CommandOptions &options, const std::optional<CalibratedLinks> &links) {
  return options.profiles.empty() ? calibrateMachine(options, links) : calibrateFromProfiles(options, links);
}

/// A collective. Each rank has its processors while links are measured, as in a program.
static CalibratedLinks measureLinks(runtime::HostCommunicator &world) {
  runtime::Processors all = runtime::allowedProcessors();
  runtime::restrictTo(runtime::agreeOnShare(world, all, 0).processors);
  CalibratedLinks links = calibrateLinks(world);
  runtime::restrictTo(all);
  return links;
}

/// As one of several ranks.
static int calibrateOnRanks(const runtime::RankLaunch &launch, const CommandOptions &options) {
  if (options.device && options.device->target.isGpu()) {
    printError(
        "ranks measure the links between processors; start one rank, with profiles of a program on several GPUs");
    return ExitUsage;
  }
  std::unique_ptr<runtime::HostCommunicator> world = runtime::openWorld(launch);
  int status = world->rank() == 0 ? checkOutput(options) : ExitDone;
  world->broadcast("the output", &status, sizeof(status), 0);
  std::optional<CalibratedLinks> links;
  bool isFirst = world->rank() == 0;
  try {
    if (status == ExitDone) links = measureLinks(*world);
  } catch (const runtime::RankError &error) {
    if (isFirst) printError(error.what());
    status = static_cast<int>(error.exitStatus());
  }
  world->finish(); // the others would wait in vain
  if (status != ExitDone || !isFirst) return status;
  results() << links->describe();
  return calibrate(options, links);
}

int tessera::runCalibrate(const CommandOptions &options) {
  try {
    runtime::RankLaunch launch = runtime::findRankLaunch();
    if (launch.size > 1) return calibrateOnRanks(launch, options);
  } catch (const runtime::Error &error) {
    printError(error.what());
    return static_cast<int>(error.exitStatus());
  }
  if (int status = checkOutput(options)) return status;
  return calibrate(options, std::nullopt);
}
