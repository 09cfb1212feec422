//===- DeviceTextTest.cpp - descriptions of devices, from text and back ---===//

#include "ir/program/DeviceText.h"
#include "ir/program/DeviceFields.h"
#include "ir/program/Program.h"
#include "mlir/Parser/Parser.h"
#include <fstream>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace tessera;

namespace {

/// Files by their paths, as the parser asks for them.
using Files = std::map<std::string, std::string>;

struct Outcome {
  std::optional<Target> target;
  std::string problem;
};

Outcome parse(StringRef text, const Files &files = {}, StringRef path = "my.device") {
  Outcome outcome;
  auto read = [&](const std::string &file, std::string &problem) -> std::optional<std::string> {
    auto found = files.find(file);
    if (found != files.end()) return found->second;
    return problem = "no such file", std::nullopt;
  };
  outcome.target = parseDevice(text, path, read, outcome.problem);
  EXPECT_EQ(outcome.target.has_value(), outcome.problem.empty());
  return outcome;
}

/// The message about `lines` in a description of the kind.
std::string problemOf(StringRef kind, StringRef lines) {
  return parse(("name = mine\nbase = " + kind + "\n" + lines + "\n").str()).problem;
}

void expectSame(const Target &a, const Target &b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.name(), b.name());
  EXPECT_EQ(knownFields(a), knownFields(b));
}

/// A description with a value for each field, as `calibrate` could measure it.
Target fullTarget(Target::Kind kind) {
  Target target = Target::ofKind(kind);
  target.called = "full";
  std::mt19937_64 random(7);
  for (const DeviceField &field : deviceFields()) {
    if (field.kind && field.kind != kind) continue;
    double share = std::uniform_real_distribution<double>()(random), value = field.least + share * 1e-4 * field.most;
    if (field.most <= 100) value = field.least + share * (field.most - field.least);
    std::string entry = field.key == "barrier." ? "16" : "exp";
    FieldKey key{&field, entry};
    if (typeOf(field) == DeviceValue(int64_t(0)).index()) assign(target, key, DeviceValue(int64_t(value)));
    if (typeOf(field) == DeviceValue(0.0).index()) assign(target, key, DeviceValue(value));
  }
  target.figures.source = "calibrated", target.figures.calibrated = "2026-11-24, by tessera calibrate";
  (kind == Target::Kind::Cpu ? target.figures.cpu.march : target.figures.gpu.architecture) =
      kind == Target::Kind::Cpu ? "znver5" : "sm_90a";
  return target;
}

TEST(DeviceText, PresetsAndFullDescriptionsReadBackAsTheyWereWritten) {
  std::vector<Target> targets = Target::presets().vec();
  for (Target::Kind kind : {Target::Kind::Cpu, Target::Kind::Gpu}) targets.push_back(fullTarget(kind));
  for (const Target &target : targets) {
    std::string text = describe(target);
    Outcome again = parse(text);
    ASSERT_TRUE(again.target) << again.problem;
    expectSame(*again.target, target);
    EXPECT_EQ(describe(*again.target), text);
  }
}

TEST(DeviceText, AFullDescriptionHasEveryFieldOfItsKind) {
  for (Target::Kind kind : {Target::Kind::Cpu, Target::Kind::Gpu}) {
    size_t count = llvm::count_if(deviceFields(), [&](auto &field) { return !field.kind || field.kind == kind; });
    EXPECT_EQ(knownFields(fullTarget(kind)).size(), count);
  }
}

TEST(DeviceText, PresetsDifferFromTheirKindInFieldsOnly) {
  for (const Target &preset : Target::presets()) {
    Target common = Target::ofKind(preset.kind);
    for (auto &[key, value] : knownFields(preset)) assign(common, findDeviceField(key), value);
    expectSame(common.preferring(Preference::Speed), [&] {
      Target same = preset;
      same.device = common.device;
      return same;
    }());
    EXPECT_EQ(common.leastChunkedBytes, preset.leastChunkedBytes);
    EXPECT_EQ(common.library.fp8Multiple, preset.library.fp8Multiple);
  }
}

const std::pair<StringRef, DeviceUnit> units[] = {
    {"none", DeviceUnit::None},  {"bandwidth", DeviceUnit::Bandwidth}, {"rate", DeviceUnit::Rate},
    {"time", DeviceUnit::Time},  {"frequency", DeviceUnit::Frequency}, {"percent", DeviceUnit::Percent},
    {"price", DeviceUnit::Price}};

TEST(DeviceText, EveryNumberReadsBackExactly) {
  std::mt19937_64 random(11);
  for (auto [name, unit] : units)
    for (int i = 0; i < 3000; ++i) {
      double value = std::bit_cast<double>(random() >> 1);
      if (!std::isfinite(value)) continue;
      TextProblem problem;
      std::string text = formatReal(value, unit);
      EXPECT_EQ(parseReal(text, unit, problem), value) << name.str() << " " << text << " " << problem.message;
    }
  for (int i = 0; i < 3000; ++i) {
    int64_t value = static_cast<int64_t>(random() >> (1 + random() % 63));
    if (i % 2) value = (value >> 45) << (random() % 45);
    TextProblem problem;
    std::string text = formatWhole(value, DeviceUnit::Bytes);
    if (text.size() > 20) continue; // more than the 18 digits that are read
    EXPECT_EQ(parseWhole(text, DeviceUnit::Bytes, problem), value) << text << " " << problem.message;
  }
}

TEST(DeviceText, NumbersAreWrittenInTheNearestUnit) {
  EXPECT_EQ(formatReal(3.35e12, DeviceUnit::Bandwidth), "3.35 TB/s");
  EXPECT_EQ(formatReal(0.35e-9, DeviceUnit::Time), "0.35 ns");
  EXPECT_EQ(formatReal(2.5e-6, DeviceUnit::Time), "2.5 us");
  EXPECT_EQ(formatReal(0, DeviceUnit::Time), "0 ns");
  EXPECT_EQ(formatReal(62.5, DeviceUnit::Percent), "62.5 %");
  EXPECT_EQ(formatReal(1e-12, DeviceUnit::None), "1e-12");
  EXPECT_EQ(formatWhole(80'000'000'000, DeviceUnit::Bytes), "80 GB");
  EXPECT_EQ(formatWhole(640 << 20, DeviceUnit::Bytes), "640 MiB");
  EXPECT_EQ(formatWhole(0, DeviceUnit::Bytes), "0 B");
  EXPECT_EQ(formatWhole(1001, DeviceUnit::Bytes), "1001 B");
}

TEST(DeviceText, AFileTakesWhatItDoesNotSayFromItsBase) {
  Outcome mine = parse("name = mine # a comment\r\n\n  base=h100  \nmemory\t=\t0.5 TiB\nlink_latency.nvlink = 2us\n");
  ASSERT_TRUE(mine.target) << mine.problem;
  EXPECT_EQ(mine.target->name(), "mine");
  EXPECT_EQ(mine.target->device, "h100");
  EXPECT_EQ(mine.target->figures.memoryBytes, int64_t(1) << 39);
  EXPECT_EQ(mine.target->figures.linkLatencies.at("nvlink"), 2e-6);
  EXPECT_EQ(mine.target->gpu.multiprocessors, 132);
  EXPECT_EQ(mine.target->figures.copyBandwidth, 3.35e12);
}

TEST(DeviceText, BasesAreFilesToo) {
  Files files{{"shop/one.device", "name = one\nbase = parts/two.device\nclock = 1 GHz\n"},
              {"shop/parts/two.device", "name = two\nbase = a100-40gb\nclock = 2 GHz\nprice = 1.5 USD/h\n"}};
  Outcome mine = parse("name = mine\nbase = shop/one.device\n", files);
  ASSERT_TRUE(mine.target) << mine.problem;
  EXPECT_EQ(mine.target->device, "a100-40gb");
  EXPECT_EQ(mine.target->figures.gpu.clock, 1e9);
  EXPECT_EQ(mine.target->figures.price, 1.5);
  files["shop/parts/two.device"] = "name = two\nbase = ../../my.device\n";
  EXPECT_EQ(parse("name = mine\nbase = shop/one.device\n", files).problem,
            "shop/parts/two.device:2:8: cannot read the base `shop/parts/../../my.device`: no such file");
  files["shop/parts/two.device"] = "name = two\nbase = ./two.device\n";
  EXPECT_EQ(parse("name = mine\nbase = shop/one.device\n", files).problem,
            "shop/parts/two.device:2:8: the base leads back to a description that needs it: my.device -> "
            "shop/one.device -> shop/parts/two.device -> shop/parts/two.device");
  files["shop/parts/two.device"] = "name = two\nbase = h100\nclok = 2 GHz\n";
  EXPECT_EQ(parse("name = mine\nbase = shop/one.device\n", files).problem,
            "shop/parts/two.device:3:1: `clok` is not a field of a device; did you mean `clock`?");
}

TEST(DeviceText, AChainOfBasesEnds) {
  Files files;
  for (int i = 0; i < 40; ++i)
    files["f" + std::to_string(i) + ".device"] = "name = f\nbase = f" + std::to_string(i + 1) + ".device\n";
  EXPECT_EQ(parse("name = mine\nbase = f0.device\n", files).problem,
            "f15.device:2:8: expected at most 16 bases, one of another");
}

TEST(DeviceText, WhatIsWrongWithAFile) {
  EXPECT_EQ(parse("").problem, "my.device:1:1: expected a description of a device, got an empty file");
  EXPECT_EQ(parse("# nothing\n").problem,
            "my.device:1:1: expected `kind = cpu`, `kind = gpu` or `base = NAME` in the description");
  EXPECT_EQ(parse("name = x\nbase = h100").problem,
            "my.device:2:12: expected a newline at the end of the last line; is the file complete?");
  EXPECT_EQ(parse(StringRef("\x7f"
                            "ELF\0",
                            5))
                .problem,
            "my.device:1:1: expected text in UTF-8, got the byte 0x7f");
  EXPECT_EQ(parse("# ü\xff\n").problem, "my.device:1:4: expected text in UTF-8, got the byte 0xff");
  EXPECT_EQ(parse("name = x\nbase = h100\rkind = gpu\n").problem,
            "my.device:2:12: expected text in UTF-8, got the byte 0x0d");
  EXPECT_EQ(parse(std::string(mostDeviceText + 1, '\n')).problem,
            "my.device:1:1: expected at most 64 KiB, got a larger file");
  EXPECT_EQ(parse("name = x\nkind = tpu\n").problem, "my.device:2:8: expected `cpu` or `gpu`, got `tpu`");
  EXPECT_EQ(parse("kind = cpu\n").problem, "my.device:1:1: expected `name = NAME` in the description");
  EXPECT_EQ(parse("name = a b\nkind = cpu\n").problem,
            "my.device:1:8: expected a name of at most 64 letters, digits, `-`, `_` and `.`, got `a b`");
  EXPECT_EQ(parse("name = x\nbase = h10\n").problem,
            "my.device:2:8: no description is called `h10`; did you mean `h100`?");
  EXPECT_EQ(parse("name = x\nbase = zzzzzzzz\n").problem.substr(0, 70),
            "my.device:2:8: no description is called `zzzzzzzz`; there are x86, zen");
  EXPECT_EQ(parse("name = x\nkind = gpu\nbase = zen\n").problem, "my.device:2:8: the base describes a CPU");
  EXPECT_EQ(parse("name = x\nkind = gpu\narchitecture = sm_90a\n").problem,
            "my.device:4:1: expected `multiprocessors = …`, or a base that has it");
}

TEST(DeviceText, WhatIsWrongWithALine) {
  EXPECT_EQ(problemOf("h100", "memory"), "my.device:3:1: expected `key = value`, got `memory`");
  EXPECT_EQ(problemOf("h100", " = 3"), "my.device:3:2: expected a key before `=`");
  EXPECT_EQ(problemOf("h100", "clock = # later"), "my.device:3:8: expected a value for `clock`");
  EXPECT_EQ(problemOf("h100", "clock = 1 GHz\nclock = 2 GHz"), "my.device:4:1: `clock` has a value already, in line 3");
  EXPECT_EQ(problemOf("h100", "momory = 3 GB"),
            "my.device:3:1: `momory` is not a field of a device; did you mean `memory`?");
  EXPECT_EQ(problemOf("zen", "function_exp = 1 ns"),
            "my.device:3:1: `function_exp` is not a field of a device; did you mean `function.NAME`?");
  EXPECT_EQ(problemOf("zen", "functon. = 1 ns"),
            "my.device:3:1: `functon.` is not a field of a device; did you mean `function.NAME`?");
  EXPECT_EQ(problemOf("h100", "colour = red"), "my.device:3:1: `colour` is not a field of a device");
  EXPECT_EQ(problemOf("h100", "cores = 8"), "my.device:3:1: `cores` is a field of a CPU, and this describes a GPU");
  EXPECT_EQ(problemOf("zen", "clock = 3 GHz"), "my.device:3:1: `clock` is a field of a GPU, and this describes a CPU");
  EXPECT_EQ(problemOf("h100", "memory = 80"),
            "my.device:3:10: `memory`: expected a number and a unit, B, KB, KiB, MB, MiB, GB, GiB, TB, TiB, got `80`");
  EXPECT_EQ(problemOf("h100", "memory = 80 GB/s"),
            "my.device:3:13: `memory`: expected a number and a unit, B, KB, KiB, MB, MiB, GB, GiB, TB, TiB, got `80 "
            "GB/s`");
  EXPECT_EQ(problemOf("h100", "multiprocessors = 80 GB"),
            "my.device:3:22: `multiprocessors`: expected a number without a unit, got `80 GB`");
  EXPECT_EQ(problemOf("h100", "multiprocessors = 0"),
            "my.device:3:19: `multiprocessors`: expected from 1 to 2^40, got `0`");
  EXPECT_EQ(problemOf("h100", "multiprocessors = 1.5"),
            "my.device:3:19: `multiprocessors`: expected a whole number below 2^63, got `1.5`");
  EXPECT_EQ(problemOf("h100", "memory = -1 GB").substr(0, 48), "my.device:3:10: `memory`: expected a number and ");
  EXPECT_EQ(problemOf("h100", "sustained = 130 %"),
            "my.device:3:13: `sustained`: expected from 1 % to 100 %, got `130 %`");
  EXPECT_EQ(problemOf("h100", "gelu_epilogues = true"),
            "my.device:3:18: `gelu_epilogues`: expected `yes` or `no`, got `true`");
  EXPECT_EQ(problemOf("h100", "source = hearsay"),
            "my.device:3:10: `source`: expected `data sheet` or `calibrated`, got `hearsay`");
  EXPECT_EQ(problemOf("h100", "architecture = 90"),
            "my.device:3:16: `architecture`: expected an architecture, such as sm_90a, got `90`");
  EXPECT_EQ(problemOf("zen", "contraction_speeds = arm"),
            "my.device:3:22: `contraction_speeds`: expected `intel` or `amd`, got `arm`");
  EXPECT_EQ(problemOf("zen", "barrier.0 = 1 us"),
            "my.device:3:1: `barrier.0` needs after `barrier.` a number of threads, from 1 to 4096");
  EXPECT_EQ(problemOf("zen", "barrier.2 = 1e999 us"),
            "my.device:3:13: `barrier.2`: expected a number and a unit, ns, us, ms, s, got `1e999 us`");
  EXPECT_EQ(problemOf("zen", "barrier.2 = 1e-390 us"),
            "my.device:3:13: `barrier.2`: expected a number that a 64-bit float holds, got `1e-390 us`");
}

TEST(DeviceText, FunctionsAreOpsThatComputeInKernels) {
  for (StringRef op : {"exp", "mul", "select", "cast", "random", "reduce", "stochastic_round"})
    EXPECT_EQ(problemOf("zen", "function." + op.str() + " = 0.35 ns"), "") << op.str();
  EXPECT_EQ(problemOf("zen", "function.exq = 1 ns"),
            "my.device:3:1: `function.exq` needs after `function.` an op that computes in kernels, such as exp; did "
            "you mean `function.exp`?");
  for (StringRef op : {"", "constant", "transpose", "contract"})
    EXPECT_NE(problemOf("zen", "function." + op.str() + " = 1 ns"), "") << op.str();
}

/// Whatever the bytes are: a description that reads back, or a message with the file's name.
void expectAnswer(StringRef text) {
  Outcome outcome = parse(text);
  if (!outcome.target) {
    EXPECT_TRUE(StringRef(outcome.problem).starts_with("my.device:")) << outcome.problem;
    return;
  }
  Outcome again = parse(describe(*outcome.target));
  ASSERT_TRUE(again.target) << again.problem;
  expectSame(*again.target, *outcome.target);
}

TEST(DeviceText, TheLargestFileIsRead) {
  std::string text = "name = mine\nbase = zen\n";
  for (size_t i = 0; text.size() < mostDeviceText - 20; ++i) text += "gemm." + std::to_string(i) + "=1\n";
  Outcome large = parse(text);
  EXPECT_EQ(large.problem, "");
  EXPECT_GT(large.target->figures.gemm.size(), 5000u);
}

TEST(DeviceText, EveryTruncatedFileHasAnAnswer) {
  for (const DevicePreset &preset : devicePresets())
    for (size_t size = 0; size <= preset.text.size(); ++size) expectAnswer(preset.text.take_front(size));
}

TEST(DeviceText, RandomBytesHaveAnAnswer) {
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    std::string text(random() % 200, ' ');
    for (char &c : text) c = static_cast<char>(random());
    expectAnswer(text + "\n");
  }
}

/// A text with some bytes replaced, removed, inserted or copied from elsewhere.
std::string mutated(std::string text, std::mt19937 &random) {
  static constexpr StringLiteral likely = "=#.\n \t0123456789eE+-%/_\r\xc3\xbc\xff";
  for (unsigned count = 1 + random() % 4; count > 0 && !text.empty(); --count) {
    size_t at = random() % text.size(), from = random() % text.size(), length = random() % 12;
    if (unsigned what = random() % 4; what == 0)
      text[at] = likely[random() % likely.size()];
    else if (what == 1)
      text.erase(at, length);
    else if (what == 2)
      text.insert(at, 1, likely[random() % likely.size()]);
    else
      text.insert(at, text.substr(from, length));
  }
  return text;
}

TEST(DeviceText, MutatedFilesHaveAnAnswer) {
  std::mt19937 random(5);
  std::vector<std::string> texts;
  for (const DevicePreset &preset : devicePresets()) texts.push_back(preset.text.str());
  for (Target::Kind kind : {Target::Kind::Cpu, Target::Kind::Gpu}) texts.push_back(describe(fullTarget(kind)));
  for (int i = 0; i < 6000; ++i) expectAnswer(mutated(texts[i % texts.size()], random));
}

TEST(DeviceText, AModuleRecordsAFile) {
  MLIRContext context;
  context.loadDialect<TsrDialect>();
  for (const Target &target : {fullTarget(Target::Kind::Cpu), fullTarget(Target::Kind::Gpu),
                               *parse("name = mine\nbase = h200\nprice = 2.5 USD/h\n").target}) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
    target.record(*module);
    std::string text;
    llvm::raw_string_ostream(text) << *module;
    OwningOpRef<ModuleOp> again = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(again);
    FailureOr<Target> read = Target::read(*again);
    ASSERT_TRUE(succeeded(read)) << text;
    EXPECT_EQ(read->device, target.device);
    expectSame(*read, target);
  }
}

/// What reading a module with that `tsr.device` says.
std::string recordProblem(StringRef kind, StringRef device) {
  MLIRContext context;
  context.loadDialect<TsrDialect>();
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  std::string text = ("module attributes {" + kind + "tsr.device = " + device + "} {}").str();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module && failed(Target::read(*module))) << text;
  return message;
}

TEST(DeviceText, WhatIsWrongWithAModule) {
  StringRef cuda = "tsr.target = \"cuda\", ";
  EXPECT_EQ(recordProblem(cuda, "{name = \"h100\", multiprocessors = 0}"),
            "`tsr.device`: expected from 1 to 2^40 (i64) for `multiprocessors`, got 0 : i64");
  EXPECT_EQ(recordProblem(cuda, "{name = \"h100\", multiprocessors = 1 : i32}"),
            "`tsr.device`: expected a value (i64) for `multiprocessors`, got 1 : i32");
  EXPECT_EQ(recordProblem(cuda, "{name = \"h100\", memory = \"80 GB\"}"),
            "`tsr.device`: expected a value (i64) for `memory`, got \"80 GB\"");
  EXPECT_EQ(recordProblem(cuda, "{name = \"h100\", cores = 1}"),
            "`tsr.device`: `cores` is a field of a CPU, and this describes a GPU");
  EXPECT_EQ(recordProblem(cuda, "{name = \"gpu\"}"), "`tsr.device`: expected a value for `architecture`");
  EXPECT_EQ(recordProblem(cuda, "{name = \"h100\", called = 3}"),
            "`tsr.device`: expected `called` to be the name of a description");
  EXPECT_EQ(recordProblem("", "{name = \"h100\"}"),
            "expected `tsr.device` to name a description of the target: x86 zen");
  EXPECT_EQ(recordProblem("", "\"cpu\""), "expected `tsr.device` to name a description of the target: x86 zen");
}

const std::pair<DeviceUnit, StringRef> unitWords[] = {
    {DeviceUnit::None, "none"},       {DeviceUnit::Bytes, "bytes"}, {DeviceUnit::Bandwidth, "bandwidth"},
    {DeviceUnit::Rate, "rate"},       {DeviceUnit::Time, "time"},   {DeviceUnit::Frequency, "frequency"},
    {DeviceUnit::Percent, "percent"}, {DeviceUnit::Price, "price"}};

/// The row of a field in the reference.
std::string rowOf(const DeviceField &field) {
  std::string key = field.key.str() + (field.isMap() ? "*" : "");
  StringRef kind = !field.kind ? "both" : *field.kind == Target::Kind::Gpu ? "GPU" : "CPU";
  StringRef unit = llvm::find_if(unitWords, [&](auto &word) { return word.first == field.unit; })->second;
  std::string row =
      ("| `" + key + "` | " + kind + " | " + unit + " | ").str() + rangeOf(field) + " | " + field.meaning.str();
  if (field.isMap()) row += "; `*` is " + field.form->expected.str();
  return row + (field.isRequired ? " (required)" : "") + " |";
}

TEST(DeviceText, TheReferenceListsTheFields) {
  std::ifstream file(DEVICE_REFERENCE);
  std::vector<std::string> rows, expected;
  for (std::string line; std::getline(file, line);)
    if (StringRef(line).starts_with("| `")) rows.push_back(line);
  for (auto [unit, word] : ArrayRef(unitWords).drop_front())
    expected.push_back(("| `" + word + "` | " + unitNames(unit) + " |").str());
  for (const DeviceField &field : deviceFields()) expected.push_back(rowOf(field));
  std::string text;
  for (const std::string &row : expected) text += row + "\n";
  EXPECT_EQ(rows, expected) << "the table should be:\n" << text;
}

} // namespace
