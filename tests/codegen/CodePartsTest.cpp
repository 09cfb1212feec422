//===- CodePartsTest.cpp - code that is cut for several threads -----------===//

#include "codegen/cpu/object/CodeParts.h"
#include "KernelHarness.h"
#include "codegen/cpu/object/Link.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {

constexpr int functions = 12;

/// Functions `f0(x)` to `f11(x)`, long enough for several parts. Each calls `helper`, which no other module may see,
/// and adds 1 a hundred times; `helper(x)` adds `own`, a constant of this module. `table` has all their addresses.
std::string moduleText() {
  std::string text = "llvm.mlir.global private constant @own(1000 : i64) : i64\n";
  for (int i = 0; i < functions; ++i) {
    text += "llvm.func @f" + std::to_string(i) + "(%x: i64) -> i64 {\n  %one = llvm.mlir.constant(1 : i64) : i64\n" +
            "  %0 = llvm.call @helper(%x) : (i64) -> i64\n";
    for (int n = 1; n <= 100; ++n)
      text += "  %" + std::to_string(n) + " = llvm.add %" + std::to_string(n - 1) + ", %one : i64\n";
    text += "  llvm.return %100 : i64\n}\n";
  }
  text += "llvm.func internal @helper(%x: i64) -> i64 {\n  %own = llvm.mlir.addressof @own : !llvm.ptr\n"
          "  %n = llvm.load %own : !llvm.ptr -> i64\n  %y = llvm.add %x, %n : i64\n  llvm.return %y : i64\n}\n";
  std::string type = "!llvm.array<" + std::to_string(functions) + " x ptr>";
  text += "llvm.mlir.global external constant @table() : " + type + " {\n  %t0 = llvm.mlir.undef : " + type + "\n";
  for (int i = 0; i < functions; ++i) {
    std::string n = std::to_string(i);
    text += "  %a" + n + " = llvm.mlir.addressof @f" + n + " : !llvm.ptr\n  %t" + std::to_string(i + 1) +
            " = llvm.insertvalue %a" + n + ", %t" + n + "[" + n + "] : " + type + "\n";
  }
  return text + "  llvm.return %t" + std::to_string(functions) + " : " + type + "\n}\n";
}

class CodeParts : public testing::Test {
protected:
  CodeParts() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<LLVM::LLVMDialect>();
    module = parseSourceString<ModuleOp>(moduleText(), &context);
  }

  std::vector<std::string> compile(int threads, std::string *text = nullptr) {
    FailureOr<CpuTarget> target = CpuTarget::get("native", llvm::errs());
    FailureOr<std::vector<std::string>> objects = compileToObjects(*module, *target, threads, text);
    return succeeded(objects) ? *objects : std::vector<std::string>();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(CodeParts, EachDefinitionIsInOnePart) {
  ASSERT_TRUE(module);
  std::vector<CodePart> parts = divideCode(*module);
  EXPECT_GE(parts.size(), 2u);
  llvm::StringMap<int> definitions;
  for (const CodePart &part : parts)
    for (Operation *op : part) ++definitions[SymbolTable::getSymbolName(op).getValue()];
  EXPECT_EQ(definitions.size(), functions + 3u);
  for (auto &entry : definitions) EXPECT_EQ(entry.second, 1) << entry.first().str();
}

TEST_F(CodeParts, BytesDoNotDependOnThreads) {
  std::vector<std::string> alone = compile(1);
  EXPECT_GE(alone.size(), 2u);
  EXPECT_EQ(compile(4), alone);
}

TEST_F(CodeParts, TextIsOfTheWhole) {
  std::string text;
  compile(2, &text);
  for (int i = 0; i < functions; ++i)
    EXPECT_NE(text.find("define i64 @f" + std::to_string(i) + "("), std::string::npos) << i;
  EXPECT_NE(text.find("define internal i64 @helper("), std::string::npos);
}

TEST_F(CodeParts, PartsFindEachOtherAndHideWhatIsTheirOwn) {
  std::string error;
  FailureOr<std::string> shared = linkSharedObject(compile(2), llvm::errs());
  ASSERT_TRUE(succeeded(shared));
  void *library = loadLibrary(*shared, error);
  ASSERT_TRUE(library) << error;
  auto table = static_cast<int64_t (**)(int64_t)>(dlsym(library, "table"));
  ASSERT_TRUE(table);
  for (int i = 0; i < functions; ++i) {
    EXPECT_EQ(reinterpret_cast<void *>(table[i]), dlsym(library, ("f" + std::to_string(i)).c_str()));
    EXPECT_EQ(table[i](i), 1100 + i);
  }
  EXPECT_FALSE(dlsym(library, "helper"));
  EXPECT_FALSE(dlsym(library, "own"));
  dlclose(library);
}

} // namespace
