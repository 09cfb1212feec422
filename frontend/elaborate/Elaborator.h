//===- Elaborator.h - checks a program and builds its IR, in one walk ------===//
//
// Functions are templates over axes and are expanded at each call. The walk
// keeps a stack of frames (the calls that it is inside of) and a stack of
// repeat levels (the regions that it builds into). A value knows the level it
// was made at; reading it deeper inside imports it as an invariant.
//
// Once for each entry function: `step` first, which finds the parameters,
// then `evaluate`, `predict` and `init`.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_FRONTEND_ELABORATOR_H
#define TESSERA_FRONTEND_ELABORATOR_H

#include "frontend/Frontend.h"
#include "frontend/elaborate/Values.h"
#include "frontend/names/Scope.h"
#include "ir/dialect/GraphBuilder.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

namespace tessera {

/// A call that the walk is inside of, or the training description, or a file's top level.
struct Frame {
  const ast::Function *function = nullptr;
  const FileScope *file = nullptr;
  Frame *caller = nullptr;
  Span callSite;
  std::optional<mlir::Location> callLocation;  ///< of the call, for call-site locations
  std::string path;                            ///< "h.attn"; empty in a model's body
  unsigned expansion = 0;                      ///< counts the expansions of the model; 0 outside
  bool mayHaveParameters = false;              ///< inside a model
  bool isTraining = false;                     ///< the training description itself
  bool isKept = false;                         ///< what is computed here stays in f32
  llvm::StringMap<AxisRef> axes;               ///< axis parameters and local dims by the names used here
  llvm::StringMap<std::vector<AxisRef>> rests; ///< `r..`
  llvm::StringMap<AxisRef> locals;             ///< local dims by their name in the IR
  std::vector<llvm::StringMap<Value>> scopes;
  llvm::StringMap<Span> labels; ///< of calls in this body
};

/// A parameter of the model.
struct Parameter {
  std::string path;
  ast::ParamKind kind = ast::ParamKind::Weight;
  NamedTensorType type;                     ///< with the axes of enclosing repeats
  llvm::SmallVector<llvm::StringRef> order; ///< its axes as declared, those of enclosing repeats in front
  llvm::StringRef distribution = "";        ///< "normal", "uniform", or empty for a constant
  double low = 0, high = 0;                 ///< constant: low; normal: 0 and deviation; uniform: bounds
  Span declared;
};

/// How the number of a batch comes about from those of its parts, under accumulation.
enum class OfParts { Mean, Sum, Neither };

/// A value that a reduction over `batch` made; or another use of its rows' places, without a value.
struct BatchReduction {
  mlir::Value value;
  OfParts parts = OfParts::Mean;
  Span span;
  bool isLogged = false; ///< a loss or metric is this value, or a sum of such values with factors
};

/// A mean over rows that weigh differently, and what all of them weigh.
struct WeightedMean {
  mlir::Value value, count;
  mlir::Value weights; ///< those that the model file gives; null: only whole rows are left out
};

/// A named scalar: a loss or a metric.
struct LogEntry {
  std::string name;
  bool isLoss = true;
  mlir::Value value;
  mlir::Value count; ///< its weight; null for the number of rows
  Span span;
  Span call;              ///< of the function that it stands in
  Span modelCall;         ///< of the model that it stands in
  unsigned expansion = 0; ///< which expansion of the model that is; 0 outside
  OfParts parts = OfParts::Mean;
};

/// A region being built: the body of a repeat.
struct Level {
  AxisRef axis;
  bool isMicro = false; ///< the loop over micro-batches, which stacks no parameters
  mlir::Block *block = nullptr;
  std::vector<mlir::Value> carried, sliced, invariants; ///< operands of the repeat
  llvm::DenseMap<mlir::Value, mlir::Value> captured;
  llvm::StringMap<mlir::Value> parameters;
  std::vector<LogEntry> logs;
  mlir::Value induction() const { return block->getArgument(0); }
};

/// A field of a data source.
struct DataField {
  std::string name;
  bool isInteger = false;
  std::vector<AxisRef> axes;    ///< without the batch
  std::optional<int64_t> below; ///< integers are less than this
  std::optional<int64_t> column;
  std::vector<std::string> train, val;
  Span span;
};

struct DataSource {
  std::string name, format;
  int64_t batch = 0, seq = 0;
  int64_t width = 0; ///< bits of a token; 0: the file says
  std::vector<std::string> train, val;
  double valFraction = 0;
  bool shuffle = true;
  std::vector<DataField> fields;
  Span span;
};

/// The rule for a selection of parameters.
struct OptimizeRule {
  const ast::OptimizeItem *item = nullptr;
  std::string rule;
  bool nesterov = false;
  std::vector<std::pair<std::string, Value>> hypers;
};

/// Where the value of a setting comes from: the model file or `--set`.
struct Setting {
  std::string group, name;
  Value value;
  Span span;
};

class Elaborator {
public:
  Elaborator(mlir::MLIRContext &context, const SourceProgram &program, const FrontendOptions &options,
             DiagnosticEngine &diagnostics);

  /// Builds the module; null after errors.
  mlir::OwningOpRef<mlir::ModuleOp> run();

private:
  friend struct FrameScope;
  friend class NameCheck;

  //===--- Messages (Elaborator.cpp) -------------------------------------===//
  DiagnosticBuilder error(DiagnosticCode code, Span span, const llvm::Twine &message);
  Value failed(DiagnosticCode code, Span span, const llvm::Twine &message) {
    return error(code, span, message), Value();
  }
  Value unsupported(Span span, const llvm::Twine &what);
  bool checkElements(NamedTensorType type, Span span);
  void noteDims(DiagnosticBuilder &message, llvm::ArrayRef<AxisAttr> axes);
  mlir::Location locate(Span span);
  std::vector<llvm::StringRef> visibleNames() const;
  std::vector<llvm::StringRef> visibleAxes() const;

  //===--- Hypers, dims, lets (Globals.cpp) ------------------------------===//
  void resolveHypers();
  void applyOverride(const std::string &name, const std::string &text, const ast::Bind *bind);
  bool parseOverride(llvm::StringRef name, llvm::StringRef text, Number &number);
  void resolveSets();
  void hypersOf(const ast::Expr &expr, std::vector<llvm::StringRef> &hypers, llvm::StringSet<> &seen) const;
  std::optional<int64_t> dimSize(llvm::StringRef name, Span use);
  std::optional<int64_t> computeDimSize(const DimDecl &decl, Span use);
  std::optional<int64_t> checkedSize(const Value &value, Span span, llvm::StringRef name);
  Value globalLet(const FileScope &file, llvm::StringRef name, const LetDecl &let);
  std::optional<Number> closed(const ast::Expr &expr, const llvm::Twine &what, llvm::StringRef otherwise = "");
  Value evalIn(Frame &frame, const ast::Expr &expr);

  /// Checks what no entry has used (NameCheck.cpp).
  void checkUnused();

  //===--- Names and axes (Elaborator.cpp) -------------------------------===//
  Value lookup(const ast::Name &name);
  Value lookupGlobal(const ast::Name &name);
  Value lookupTrainLet(llvm::StringRef name, bool &found);
  std::optional<AxisRef> resolveAxis(const ast::Name &name);
  /// The axes of a list; `..` stands for the axes of `all` not named, where `all` is given.
  std::optional<std::vector<AxisRef>> resolveAxes(const ast::Axes &axes, const Tensor *all = nullptr);
  bool define(const ast::Name &name, Value value);
  void defineAsWrong(llvm::ArrayRef<ast::Name> names);
  bool declareLocalDim(const ast::DimSize &dim);
  std::string uniqueAxisName(llvm::StringRef name, int64_t size, bool isRows);

  //===--- Expressions (Expressions.cpp, Operators.cpp, Indexing.cpp) ----===//
  Value eval(const ast::Expr &expr);
  Value dispatch(const ast::Expr &expr);
  Value evalBlock(const ast::Block &block);
  bool evalStatement(const ast::Stmt &stmt);
  bool evalLet(const ast::LetStmt &let);
  bool bindDefinition(const ast::Definition &definition, Value value);
  bool evalLog(const ast::LogStmt &log);
  bool addLog(LogEntry entry);
  Value evalRef(const ast::RefExpr &expr);
  Value evalField(const ast::FieldExpr &expr);
  Value evalTuple(const ast::TupleExpr &expr);
  Value evalIf(const ast::IfExpr &expr);
  Value evalRepeat(const ast::RepeatExpr &expr);
  bool evalCarried(const ast::RepeatExpr &expr, std::vector<Value> &initial);
  Value finishRepeat(const ast::RepeatExpr &expr, Value result);
  Value evalUnary(const ast::UnaryExpr &expr);
  Value evalBinary(const ast::BinaryExpr &expr);
  Value evalLogic(const ast::BinaryExpr &expr);
  Value binary(ast::BinaryOp op, Span opSpan, Span lhsSpan, Span rhsSpan, const Value &a, const Value &b);
  mlir::Value buildArithmetic(ast::BinaryOp op, const Value &a, const Value &b);
  mlir::Value buildPower(const Value &a, const Value &b);
  Value evalAs(const ast::AsExpr &expr);
  Tensor applyRenaming(Tensor x, const ast::Renaming &renaming);
  Value evalIndex(const ast::IndexExpr &expr);
  struct Position;
  bool evalPositions(const ast::IndexExpr &expr, const Tensor &x, std::vector<Position> &positions);
  std::optional<Value> readShifted(const Tensor &x, const Position &position, const Value &otherwise);
  Value readAt(const Tensor &x, llvm::ArrayRef<Position> positions, const Value &otherwise, Span span);
  /// Whether a result may have these operands' axes (docs/language.md: "No silent outer products"); says why not.
  bool checkAxes(llvm::ArrayRef<std::pair<const Value *, Span>> operands, llvm::StringRef what);
  bool checkAlike(const Tensor &a, const Tensor &b, Span span);
  mlir::Type commonType(llvm::ArrayRef<const Value *> values, bool isFloat = false);
  mlir::Value materialize(const Value &value, mlir::Type element);
  Tensor here(Tensor tensor);

  //===--- Calls (Calls.cpp, Builtins.cpp, Sums.cpp) ---------------------===//
  Value evalCall(const ast::CallExpr &call);
  Value callFunction(const FunctionValue &function, const ast::CallExpr &call);
  bool bindAxes(const FunctionValue &function, const ast::CallExpr &call, Frame &frame);
  bool bindArguments(llvm::ArrayRef<ast::Param> params, const ast::CallExpr &call, std::vector<Value> &values);
  bool bindParam(const ast::Param &param, Value value, Span span, Frame &frame);
  bool matchAxes(const ast::Param &param, const Tensor &tensor, Span span, Frame &frame);
  bool matchRange(const ast::Param &param, Tensor &tensor, Span span, int64_t below);
  bool escapes(const Value &value, const Frame &frame, Span span);
  Value callBuiltin(llvm::StringRef name, const ast::CallExpr &call, const std::optional<std::vector<AxisRef>> &axes);
  Value callModel(const ast::CallExpr &call);
  Value expandModel(std::vector<Value> arguments, const ast::CallExpr *call);
  Value builtinUnary(llvm::StringRef name, const ast::CallExpr &call);
  Value builtinCast(llvm::StringRef name, const ast::CallExpr &call);
  Value builtinExtremum(llvm::StringRef name, const ast::CallExpr &call);
  Value builtinWhere(const ast::CallExpr &call);
  Value builtinOver(const ast::CallExpr &call);
  Value position(llvm::ArrayRef<AxisRef> axes, const ast::RefExpr &expr);
  Value builtinRandom(llvm::StringRef name, const ast::CallExpr &call);
  Value builtinReduce(llvm::StringRef name, const ast::CallExpr &call,
                      const std::optional<std::vector<AxisRef>> &given);
  Value reduceMean(const Tensor &x, llvm::ArrayRef<llvm::StringRef> over, const Value *mask, Span span);
  Value sumOfProduct(const ast::CallExpr &call, llvm::ArrayRef<const ast::Expr *> factors);
  std::optional<std::vector<Value>> evalArguments(const ast::CallExpr &call, unsigned min, unsigned max,
                                                  llvm::ArrayRef<llvm::StringRef> names = {});
  mlir::Value applyUnary(llvm::StringRef name, mlir::Value x);

  //===--- Parameters and state (Parameters.cpp) -------------------------===//
  bool declareParameters(const ast::ParamStmt &stmt);
  bool buildParameters(const ast::ParamStmt &stmt);
  bool parameterInit(const ast::ParamStmt &stmt, Parameter &parameter);
  Value parameterValue(const Parameter &parameter, unsigned level);
  mlir::Value stateArgument(llvm::StringRef path, NamedTensorType type);
  mlir::Value inputArgument(llvm::StringRef name, NamedTensorType type, mlir::DictionaryAttr attr);
  mlir::DictionaryAttr plainInput(llvm::StringRef name);
  mlir::Value counter(llvm::StringRef name);
  mlir::Value import(mlir::Value value, unsigned fromLevel);
  llvm::SmallVector<mlir::Value> salts();
  int32_t nextSite();
  unsigned level() const { return Levels.size(); }
  void pushLevel(AxisRef axis, bool isMicro);
  /// Ends the region: yields `next` and the logs, builds the repeat, returns its carried results.
  std::vector<mlir::Value> popLevel(llvm::ArrayRef<mlir::Value> next);
  void continueAtLevel();

  //===--- Data (Data.cpp) -----------------------------------------------===//
  void describeData();
  void describeSource(const ast::DataItem &item);
  void warnOfOverlaps(const DataSource &source);
  bool sourceArgument(DataSource &source, const ast::Argument &arg);
  bool sourceNumber(DataSource &source, llvm::StringRef name, const Value &value, Span span);
  bool pathsOf(const ast::Expr &expr, std::vector<std::string> &paths);
  bool describeField(DataSource &source, const ast::Argument &arg);
  bool fieldArgument(DataSource &source, DataField &field, const ast::Argument &arg);
  void giveSize(llvm::StringRef dim, int64_t size, Span span);
  Value dataField(const Value &data, const ast::Name &field, Span span);
  Value dataInput(DataSource &source, unsigned data, unsigned field);
  mlir::ArrayAttr dataAttribute();

  //===--- Training (Training.cpp, Settings.cpp, Entries.cpp) ------------===//
  void readSettings();
  void readSetting(const ast::CallExpr &call);
  void addSetting(llvm::StringRef group, llvm::StringRef name, const ast::Expr &value);
  std::vector<std::string> settingAddresses() const;
  bool checkSetting(llvm::StringRef group, llvm::StringRef name, const Value &value, Span span);
  std::pair<Value, Span> settingValue(llvm::StringRef group, llvm::StringRef name, const ast::Expr &value);
  const Setting *findSetting(llvm::StringRef group, llvm::StringRef name) const;
  bool hasLowType() const;
  std::vector<llvm::StringRef> keptNames() const;
  bool isKeptName(llvm::StringRef name);
  void checkKeptNames();
  mlir::DictionaryAttr settingsAttribute();
  bool isRowAxis(llvm::StringRef name) const { return name == "batch" || RowAxes.contains(name); }
  bool hasRowAxis(llvm::ArrayRef<llvm::StringRef> axes) const {
    return llvm::any_of(axes, [&](llvm::StringRef axis) { return isRowAxis(axis); });
  }
  mlir::Value leastOf(ReduceKind kind, mlir::Value like);
  mlir::Value rowWeightsAlong(llvm::ArrayRef<llvm::StringRef> axes);
  mlir::Value countOf(mlir::Value value, const ast::Bind &bind);
  void noteBatchUse(llvm::StringRef axis, Span span);
  void noteBatchReduction(mlir::Value value, llvm::ArrayRef<llvm::StringRef> over, OfParts parts, Span span);
  OfParts partsOf(mlir::Value value);
  OfParts partsOfLog(mlir::Value value, const ast::Bind &bind);
  void warnOfBatchReductions();
  void scaleLogs(std::vector<LogEntry> &logs);
  void evalTrainLets(const ast::Expr &expr);
  void evalTrainItems(bool isTraining);
  bool giveRuleArgument(OptimizeRule &rule, llvm::StringRef name, const Value &value, Span span);
  bool readRule(const ast::OptimizeItem &item, OptimizeRule &rule);
  bool selects(const ast::PathPattern &pattern, const Parameter &parameter);
  std::vector<OptimizeRule *> assignRules(std::vector<OptimizeRule> &rules);
  void checkMomentNames();
  bool matches(llvm::ArrayRef<ast::Name> pattern, llvm::ArrayRef<llvm::StringRef> path);

  void beginEntry(llvm::StringRef name, bool training);
  void finishEntry();
  void buildStep();
  void buildMicroBatches(std::vector<mlir::Value> &gradients);
  std::vector<mlir::Value> lossGradients();
  mlir::Value totalLoss(llvm::ArrayRef<LogEntry> logs);
  void buildUpdates(llvm::ArrayRef<mlir::Value> gradients);
  void buildEvaluate();
  void buildPredict();
  void buildInit();
  void addOutput(mlir::Value value, llvm::StringRef name, llvm::StringRef role,
                 const std::optional<std::vector<AxisRef>> &order = std::nullopt);
  mlir::ArrayAttr axisNameList(llvm::ArrayRef<AxisRef> axes);
  void addStateResult(mlir::Value value, llvm::StringRef path);
  std::vector<LogEntry> &logs() { return Levels.empty() ? EntryLogs : Levels.back().logs; }

  //===--- The program ---------------------------------------------------===//
  const SourceProgram &Program;
  const FrontendOptions &Options;
  DiagnosticEngine &Engine;
  mlir::MLIRContext &Context;
  mlir::OwningOpRef<mlir::ModuleOp> Module;
  GraphBuilder B;
  mlir::Type F32, I32, I64, I1;

  llvm::StringMap<Number> Hypers;
  std::vector<std::pair<std::string, std::string>> SettingOverrides; ///< "evaluate.every" and its text
  llvm::StringSet<> UsedOverrides;
  std::vector<Setting> Settings;
  std::vector<DataSource> Data;
  llvm::MapVector<llvm::StringRef, std::pair<int64_t, Span>> DataSizes; ///< sizes of dims that the data gives
  llvm::StringMap<int64_t> SizeOverrides;                               ///< of the entry: batch in `predict`
  llvm::StringMap<std::optional<int64_t>> DimSizes;
  llvm::StringSet<> SizesInProgress;
  llvm::DenseMap<const ast::Definition *, Value> Lets;
  llvm::DenseSet<const ast::Definition *> LetsInProgress;
  llvm::StringMap<int64_t> LocalSizes; ///< sizes under which names of local dims are taken
  llvm::MapVector<llvm::StringRef, std::unique_ptr<Parameter>> Parameters;
  std::vector<OptimizeRule> Rules;
  std::vector<OptimizeRule *> RuleOf; ///< of each parameter, in order; null if frozen

  //===--- The walk ------------------------------------------------------===//
  Frame *Current = nullptr;
  std::string CurrentName; ///< what ops are called: the path and the name of the `let`
  unsigned KeptDepth = 0;  ///< of `f32(…)`
  llvm::StringSet<> MetKeptNames;
  Span Here; ///< of the expression being evaluated
  unsigned Depth = 0, Steps = 0;
  bool GaveUp = false;

  //===--- The entry function being built --------------------------------===//
  mlir::func::FuncOp Entry;
  mlir::Block *EntryBlock = nullptr;
  bool Training = false;
  bool IsPredict = false;
  bool IsEvaluate = false;
  std::vector<Level> Levels;
  std::vector<LogEntry> EntryLogs;
  llvm::StringMap<mlir::Value> StateArguments, InputArguments;
  std::vector<mlir::NamedAttrList> ArgumentAttrs;
  std::vector<mlir::Value> Results;
  std::vector<mlir::NamedAttrList> ResultAttrs;
  llvm::MapVector<const ast::Param *, bool> ModelIntegers; ///< whether the training gives it integers
  unsigned Expansions = 0;
  /// Where a parameter is declared, and the calls that lead there, the outermost first.
  struct Declared {
    Span span;
    std::vector<std::pair<Span, llvm::StringRef>> calls;
  };
  llvm::StringMap<Declared> DeclaredPaths; ///< in this expansion of the model
  llvm::StringMap<unsigned> DrawsAt;       ///< random draws so far at each path
  mlir::Value RowWeights;                  ///< in `evaluate`
  llvm::StringSet<> RowAxes;               ///< that are declared like `batch`
  std::vector<WeightedMean> WeightedMeans; ///< in `evaluate`
  llvm::StringMap<std::pair<const ast::Definition *, unsigned>> TrainLets;
  std::vector<llvm::DenseMap<const ast::Definition *, Value>> TrainLetValues; ///< by level
  unsigned MicroBatches = 1;
  std::vector<BatchReduction> BatchReductions; ///< of this entry, under accumulation
  bool BatchSizeRead = false;                  ///< the size of `batch` has been used as a number
};

/// Enters a frame for as long as it lives.
struct FrameScope {
  FrameScope(Elaborator &elaborator, Frame &frame)
      : E(elaborator), Saved(elaborator.Current), SavedName(elaborator.CurrentName) {
    E.Current = &frame;
    E.CurrentName = frame.path;
  }
  ~FrameScope() {
    E.Current = Saved;
    E.CurrentName = SavedName;
  }
  Elaborator &E;
  Frame *Saved;
  std::string SavedName;
};

/// What the axis of the parts that `accumulate` makes is called: no dim has the name.
std::string microAxis(const SourceProgram &program);

/// The names of all axes that the program's text declares, in canonical order.
std::vector<std::string> canonicalAxisOrder(const SourceProgram &program);

/// Whether an argument of a data source is a number, which `--set SOURCE.NAME=…` reaches.
bool isSourceNumber(const DataSource &source, llvm::StringRef name);

/// Names of built-in functions, for suggestions.
llvm::ArrayRef<llvm::StringRef> builtinNames();
bool isBuiltin(llvm::StringRef name);

/// A number for a path that stays the same when other parameters come and go (FNV-1a, 31 bits).
int32_t stableHash(llvm::StringRef text);

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATOR_H
