//===- Declarations.cpp - reads the files, collects their declarations ------===//

#include "frontend/names/Declarations.h"
#include "frontend/diagnostics/ForeignNames.h"
#include "frontend/syntax/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

namespace {

class Loader {
public:
  Loader(StringRef path, DiagnosticEngine &diagnostics)
      : diagnostics(diagnostics), folder(llvm::sys::path::parent_path(path)) {}

  void loadMain(unsigned file);
  void checkFunctions();
  Declarations loaded;

private:
  FileScope &addFile(unsigned file, bool isLibrary);
  void collect(FileScope &scope);
  void collect(FileScope &scope, const ast::Hyper &hyper);
  void collect(FileScope &scope, const ast::DimStmt &dims);
  void collect(FileScope &scope, const ast::LetStmt &let);
  void collect(FileScope &scope, const ast::Function &function);
  void collect(FileScope &scope, const ast::Preset &preset);
  void collect(FileScope &scope, const ast::Model &model);
  void collect(FileScope &scope, const ast::Train &train);
  void checkParams(const FileScope &scope, const std::vector<ast::Param> &params, const ast::Axes *axes);
  void resolveUses(FileScope &scope);
  void useLibrary(FileScope &scope, const ast::Use &use);
  void useFile(FileScope &scope, const ast::Use &use);
  FileScope *loadUsed(const ast::Use &use, StringRef fromName);
  void take(FileScope &scope, const ast::Name &name, FunctionDecl found, llvm::ArrayRef<StringRef> offered,
            StringRef from);
  bool declare(FileScope &scope, const ast::Name &name);
  bool onlyInMain(FileScope &scope, Span span, StringRef what);

  DiagnosticEngine &diagnostics;
  StringRef folder;
  bool isFile = false;
  llvm::StringMap<FileScope *> filesByPath; ///< used files by their real path
  std::vector<FileScope *> loading;
  std::vector<FileScope *> libraryFiles;
  llvm::DenseMap<const FileScope *, llvm::StringMap<Span>> names; ///< declared in each file
};
} // namespace

FileScope &Loader::addFile(unsigned file, bool isLibrary) {
  loaded.files.push_back(std::make_unique<FileScope>());
  FileScope &scope = *loaded.files.back();
  scope.isLibrary = isLibrary;
  scope.tree = parseFile(file, diagnostics);
  return scope;
}

bool Loader::declare(FileScope &scope, const ast::Name &name) {
  auto [entry, isNew] = names[&scope].try_emplace(name.text, name.span);
  if (!isNew)
    diagnostics.error(DiagnosticCode::E0202, name.span, "`" + name.text + "` is declared twice")
        .label(name.span, "declared again")
        .label(entry->second, "first declared here");
  return isNew;
}

bool Loader::onlyInMain(FileScope &scope, Span span, StringRef what) {
  if (&scope == loaded.files.front().get()) return true;
  diagnostics.error(DiagnosticCode::E0806, span, "a used file cannot hold " + what)
      .help("only the file that is compiled describes a model and its training");
  return false;
}

void Loader::collect(FileScope &scope, const ast::Hyper &hyper) {
  for (const ast::Bind &bind : hyper.binds)
    if (declare(scope, bind.name) && !loaded.hypers.insert({bind.name.text, {&bind, &scope}}).second)
      diagnostics.error(DiagnosticCode::E0202, bind.name.span, "two files declare the hyper `" + bind.name.text + "`")
          .label(bind.name.span, "declared again")
          .label(loaded.hypers[bind.name.text].bind->name.span, "first declared here");
}

void Loader::collect(FileScope &scope, const ast::DimStmt &dims) {
  for (const ast::DimSize &size : dims.sizes) {
    if (!declare(scope, size.name)) continue;
    scope.dims.insert(size.name.text);
    auto [entry, isNew] = loaded.dims.insert({size.name.text, {&size, &scope}});
    if (isNew || size.kind == ast::DimSize::Kind::FromInputs) continue;
    // A used file may leave a dim's size to the model file, not the other way round.
    if (entry->second.size->kind == ast::DimSize::Kind::FromInputs)
      entry->second = {&size, &scope};
    else
      diagnostics.error(DiagnosticCode::E0202, size.name.span, "two files give the dim `" + size.name.text + "` a size")
          .label(size.name.span, "declared again")
          .label(entry->second.size->name.span, "first declared here")
          .help("write `dim " + size.name.text + "` without a size in the used file");
  }
}

void Loader::collect(FileScope &scope, const ast::LetStmt &let) {
  for (const ast::Definition &definition : let.definitions)
    for (unsigned i = 0; i < definition.names.size(); ++i)
      if (declare(scope, definition.names[i])) scope.lets[definition.names[i].text] = {&definition, i};
}

void Loader::collect(FileScope &scope, const ast::Function &function) {
  if (declare(scope, function.name)) scope.functions[function.name.text] = {&function, &scope};
}

void Loader::collect(FileScope &scope, const ast::Preset &preset) {
  if (onlyInMain(scope, preset.name.span, "a preset") && !loaded.presets.insert({preset.name.text, &preset}).second)
    diagnostics.error(DiagnosticCode::E0202, preset.name.span,
                      "the preset `" + preset.name.text + "` is declared twice");
}

void Loader::collect(FileScope &scope, const ast::Model &model) {
  if (!onlyInMain(scope, model.name.span, "a model") || !declare(scope, model.name)) return;
  if (loaded.model)
    diagnostics.error(DiagnosticCode::E0202, model.name.span, "a file describes one model")
        .label(model.name.span, "a second one")
        .label(loaded.model->name.span, "the first one");
  else
    loaded.model = &model;
}

void Loader::collect(FileScope &scope, const ast::Train &train) {
  if (!onlyInMain(scope, train.span, "a training description")) return;
  if (loaded.train)
    diagnostics.error(DiagnosticCode::E0202, train.model.span, "a file describes one training")
        .label(train.model.span, "a second one")
        .label(loaded.train->model.span, "the first one");
  else
    loaded.train = &train;
}

void Loader::collect(FileScope &scope) {
  for (ast::Declaration &declaration : scope.tree.declarations) {
    if (auto *hyper = std::get_if<ast::Hyper>(&declaration.node))
      collect(scope, *hyper);
    else if (auto *preset = std::get_if<ast::Preset>(&declaration.node))
      collect(scope, *preset);
    else if (auto *dims = std::get_if<ast::DimStmt>(&declaration.node))
      collect(scope, *dims);
    else if (auto *let = std::get_if<ast::LetStmt>(&declaration.node))
      collect(scope, *let);
    else if (auto *function = std::get_if<ast::Function>(&declaration.node))
      collect(scope, *function);
    else if (auto *model = std::get_if<ast::Model>(&declaration.node))
      collect(scope, *model);
    else if (auto *train = std::get_if<ast::Train>(&declaration.node))
      collect(scope, *train);
  }
}

void Loader::take(FileScope &scope, const ast::Name &name, FunctionDecl found, llvm::ArrayRef<StringRef> offered,
                  StringRef from) {
  if (found.function) {
    if (declare(scope, name)) scope.functions[name.text] = found;
    return;
  }
  auto message = diagnostics.error(DiagnosticCode::E0802, name.span, from + " has no function `" + name.text + "`");
  if (StringRef advice = adviceOnForeignName(name.text); !advice.empty())
    message.help("write " + advice);
  else if (StringRef nearest = nearestName(name.text, offered); !nearest.empty())
    message.help("did you mean `" + nearest + "`?");
}

void Loader::useLibrary(FileScope &scope, const ast::Use &use) {
  if (use.library.text != ast::libraryName) {
    diagnostics.error(DiagnosticCode::E0801, use.source, "unknown library `" + use.library.text + "`")
        .help("the library is called `nn`; a file is named in quotes: `use \"" + use.library.text + ".tsr\": …`");
    return;
  }
  if (libraryFiles.empty())
    for (const LibraryFile &file : nnLibrary()) {
      FileScope &library = addFile(diagnostics.sources().add(file.text, file.name, /*isLibrary=*/true), true);
      collect(library);
      libraryFiles.push_back(&library);
    }
  std::vector<StringRef> offered;
  llvm::StringMap<FunctionDecl> functions;
  for (FileScope *library : libraryFiles)
    for (auto &entry : library->functions) {
      offered.push_back(entry.first());
      functions[entry.first()] = entry.second;
    }
  llvm::sort(offered);
  for (const ast::Name &name : use.names) take(scope, name, functions.lookup(name.text), offered, "`nn`");
}

/// Finds the file of a `use`: below the model's folder, also when links are followed.
FileScope *Loader::loadUsed(const ast::Use &use, StringRef fromName) {
  auto refuse = [&](DiagnosticCode code, const Twine &message) {
    diagnostics.error(code, use.source, message);
    return nullptr;
  };
  namespace path = llvm::sys::path;
  if (!isFile) return refuse(DiagnosticCode::E0804, "a text that is in no file cannot use files");
  llvm::SmallVector<StringRef> parts;
  StringRef(use.file).split(parts, '/');
  if (path::is_absolute(use.file) || llvm::is_contained(parts, ".."))
    return refuse(DiagnosticCode::E0803, "`" + use.file + "` is outside the model's folder");
  llvm::SmallString<256> full(folder), real, realFolder;
  path::append(full, use.file);
  if (llvm::sys::fs::real_path(full, real) || llvm::sys::fs::real_path(folder.empty() ? "." : folder, realFolder))
    return refuse(DiagnosticCode::E0804, "cannot find `" + use.file + "`");
  if (!real.str().starts_with((realFolder + "/").str()))
    return refuse(DiagnosticCode::E0803, "`" + use.file + "` is outside the model's folder");
  if (FileScope *known = filesByPath.lookup(real)) {
    if (llvm::is_contained(loading, known))
      return refuse(DiagnosticCode::E0805, "`" + use.file + "` uses this file, directly or through others");
    return known;
  }
  std::string problem;
  std::unique_ptr<llvm::MemoryBuffer> buffer = readTextFile(full, MaxFileSize + 1, problem);
  if (!buffer) return refuse(DiagnosticCode::E0804, "cannot read `" + use.file + "`: " + problem);
  if (filesByPath.size() >= 64) return refuse(DiagnosticCode::E0804, "more than 64 files are used");
  FileScope &scope = addFile(diagnostics.sources().add(std::move(buffer), full), false);
  filesByPath[real] = &scope;
  loading.push_back(&scope);
  collect(scope);
  resolveUses(scope);
  loading.pop_back();
  return &scope;
}

void Loader::useFile(FileScope &scope, const ast::Use &use) {
  FileScope *used = loadUsed(use, "");
  if (!used) return;
  std::vector<StringRef> offered;
  for (auto &entry : used->functions) offered.push_back(entry.first());
  llvm::sort(offered);
  for (const ast::Name &name : use.names)
    take(scope, name, used->functions.lookup(name.text), offered, "`" + use.file + "`");
}

void Loader::resolveUses(FileScope &scope) {
  for (ast::Declaration &declaration : scope.tree.declarations)
    if (auto *use = std::get_if<ast::Use>(&declaration.node))
      use->file.empty() && !use->library.text.empty() ? useLibrary(scope, *use) : useFile(scope, *use);
}

void Loader::loadMain(unsigned file) {
  isFile = diagnostics.sources()[file].isOnDisk();
  FileScope &scope = addFile(file, false);
  llvm::SmallString<256> real;
  if (isFile && !llvm::sys::fs::real_path(diagnostics.sources()[file].name(), real)) {
    filesByPath[real] = &scope;
    loading.push_back(&scope);
  }
  collect(scope);
  resolveUses(scope);
}

/// A function's names, whether or not it is called: each once, and none that hides a dim of its file.
void Loader::checkParams(const FileScope &scope, const std::vector<ast::Param> &params, const ast::Axes *axes) {
  llvm::StringMap<Span> seen;
  auto check = [&](const ast::Name &name, bool mayRepeat) {
    if (name.text.empty()) return;
    if (scope.dims.contains(name.text)) {
      diagnostics
          .error(DiagnosticCode::E0203, name.span, "`" + name.text + "` is a dim, and nothing may hide a dim's name")
          .label(name.span, "this would hide it")
          .label(loaded.dims.find(name.text)->second.size->name.span, "the dim")
          .help("choose another name");
      return;
    }
    auto [entry, isNew] = seen.try_emplace(name.text, name.span);
    if (!isNew && !mayRepeat)
      diagnostics.error(DiagnosticCode::E0202, name.span, "`" + name.text + "` is declared twice")
          .label(name.span, "declared again")
          .label(entry->second, "first declared here");
  };
  if (axes)
    for (const ast::AxisItem &axis : axes->list) check(axis.name, false);
  for (const ast::Param &param : params) check(param.name, false);
  // Several parameters may have the rest `r..`.
  for (const ast::Param &param : params)
    if (param.axes)
      for (const ast::AxisItem &axis : param.axes->list)
        if (axis.isRest) check(axis.name, true);
}

void Loader::checkFunctions() {
  for (auto &file : loaded.files) {
    if (file->isLibrary) continue;
    for (const ast::Declaration &declaration : file->tree.declarations) {
      if (auto *function = std::get_if<ast::Function>(&declaration.node))
        checkParams(*file, function->params, function->axes ? &*function->axes : nullptr);
      if (auto *model = std::get_if<ast::Model>(&declaration.node)) checkParams(*file, model->params, nullptr);
    }
  }
}

Declarations tessera::loadProgram(unsigned file, StringRef path, DiagnosticEngine &diagnostics) {
  Loader loader(path, diagnostics);
  loader.loadMain(file);
  loader.checkFunctions();
  return std::move(loader.loaded);
}
