//===- StepReport.cpp - the results of a step -----------------------------===//

#include "runtime/train/StepReport.h"

#include "runtime/train/Metrics.h"

#include <cmath>

namespace tessera::runtime {

StepReport readReport(const LoadedProgram &program, const EntryFunction &entry, int64_t step) {
  StepReport report;
  report.step = step;
  for (const ValueSpec &value : entry.outputs) {
    double number = program.readScalar(value);
    if (value.role == "loss")
      report.losses.emplace_back(value.name, number);
    else if (value.role == "metric")
      report.metrics.emplace_back(value.name, number);
    else if (value.role == "total")
      report.total = number;
    else if (value.role == "rate")
      report.rate = number, report.hasRate = true;
    else if (value.role == "grad_norm")
      report.gradNorm = number, report.hasGradNorm = true;
    else if (value.role == "finite")
      report.finite = number != 0;
    else if (value.role == "loss_scale")
      report.lossScale = number;
    else if (value.role == "skipped")
      report.skipped = static_cast<int64_t>(number);
  }
  if (!entry.output("total"))
    for (const auto &[name, value] : report.losses) report.total += value;
  // The program looks at the gradients only, and there are losses that are NaN while their gradients are finite.
  report.finite &= std::isfinite(report.total);
  return report;
}

Json namedNumbers(const NamedValues &values) {
  Json json = Json::object();
  for (const auto &[name, value] : values) json[name] = jsonNumber(value);
  return json;
}

Json recordOf(const StepReport &report) {
  Json json = {{"step", report.step},
               {"split", "train"},
               {"losses", namedNumbers(report.losses)},
               {"metrics", namedNumbers(report.metrics)},
               {"total", jsonNumber(report.total)}};
  if (report.hasRate) json["rate"] = jsonNumber(report.rate);
  if (report.hasGradNorm) json["grad_norm"] = jsonNumber(report.gradNorm);
  json["finite"] = report.finite;
  if (report.lossScale) json["loss_scale"] = *report.lossScale, json["skipped"] = report.skipped;
  return json;
}

std::string lossThatIsNotFinite(const NamedValues &losses) {
  for (const auto &[name, value] : losses)
    if (!std::isfinite(value)) return name;
  return "";
}

std::string whatIsNotFinite(const StepReport &report) {
  bool hasFiniteNorm = report.hasGradNorm && std::isfinite(report.gradNorm);
  if (std::string loss = lossThatIsNotFinite(report.losses); !loss.empty())
    return fmt::format("in the loss '{}'{}", loss, hasFiniteNorm ? ", though the gradients are finite" : "");
  return report.hasGradNorm && !hasFiniteNorm ? "in the norm of the gradients" : "in a gradient";
}

} // namespace tessera::runtime
