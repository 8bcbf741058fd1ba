// SPDX-License-Identifier: Apache-2.0
#include "tools/targets/fit_target.h"

#include <cmath>
#include <filesystem>
#include <ostream>

#include "tessera/base/text.h"
#include "tessera/fabric/calibration/calibrate.h"
#include "tessera/fabric/calibration/relative_fit.h"
#include "tessera/target/number_text.h"
#include "tools/files/mapped_file.h"
#include "tools/files/text_file.h"
#include "tools/json/json.h"
#include "tools/targets/measurement_table.h"
#include "tools/targets/read_target.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

using fabric::CalibratedPart;
using fabric::CalibratedTerm;
using fabric::Calibration;
using fabric::ErrorSummary;

Result<Machine> machine_for(const Request& request, const std::string& table) {
  if (request.has("target")) return read_target(request.text("target"));
  const std::string name = std::filesystem::path(table).stem().string();
  const Result<const Machine*> machine = find_machine(name);
  if (machine) return **machine;
  return Error{ErrorCode::kUsage,
               cat("--fit ", quote(table), ": which machine was measured is not given"),
               std::nullopt,
               cat("name it after the table: a built-in machine, or the path of a description. "
                   "There is no machine called ",
                   quote(name))};
}

/// The name of a far memory as in tables.
std::string memory_name(const Machine& machine, const fabric::FarMemory& far) {
  for (const fabric::FarMemoryName& name : fabric::far_memory_names(machine)) {
    if (name.memory == far) return name.name;
  }
  return "";
}

void add_errors(const ErrorSummary& errors, Json& json) {
  json["rows"] = errors.rows;
  json["median"] = errors.median;
  json["p90"] = errors.p90;
  json["worst"] = errors.worst;
}

bool is_fitted(const Calibration& calibration) {
  for (const std::vector<CalibratedPart>* const parts :
       {&calibration.mechanisms, &calibration.networks}) {
    for (const CalibratedPart& part : *parts) {
      for (const CalibratedTerm& term : part.terms) {
        if (term.is_fitted) return true;
      }
    }
  }
  return false;
}

/// Why no figure was fitted; empty if one was.
std::string why_not_fitted(const Calibration& calibration) {
  if (is_fitted(calibration)) return "";
  return cat("no figure was fitted to ", count_of(calibration.fitted_rows, "row"),
             " with one master: each takes at least ", fabric::kLeastRows,
             " rows that depend on it. The errors are those of the machine as it was");
}

Json part_json(const CalibratedPart& part) {
  Json json;
  json["name"] = part.name;
  Json before = Json::object();
  Json fitted = Json::array();
  Json kept = Json::array();
  for (const CalibratedTerm& term : part.terms) {
    json[term.name] = term.value;
    before[term.name] = term.before;
    (term.is_fitted ? fitted : kept).push_back(term.name);
  }
  json["before"] = before;
  json["fitted"] = fitted;
  json["kept"] = kept;
  return json;
}

Json calibration_json(const Calibration& calibration, const std::string& out) {
  Json json;
  json["target"] = calibration.machine.name;
  add_errors(calibration.all, json);
  json["fitted_rows"] = calibration.fitted_rows;
  json["mechanisms"] = Json::array();
  for (const CalibratedPart& part : calibration.mechanisms) {
    Json mechanism = part_json(part);
    mechanism["network"] = part.network;
    mechanism["added"] = part.is_added;
    add_errors(part.errors, mechanism);
    json["mechanisms"].push_back(std::move(mechanism));
  }
  json["networks"] = Json::array();
  for (const CalibratedPart& part : calibration.networks) {
    json["networks"].push_back(part_json(part));
  }
  json["errors"] = Json::array();
  for (const fabric::GroupErrors& group : calibration.groups) {
    Json errors;
    errors["mechanism"] = fabric::method_name(group.method);
    errors["pattern"] = fabric::pattern_name(group.pattern);
    errors["memory"] = memory_name(calibration.machine, group.far);
    add_errors(group.errors, errors);
    json["errors"].push_back(std::move(errors));
  }
  json["out"] = out.empty() ? Json() : Json(out);
  json["warnings"] = Json::array();
  if (const std::string why = why_not_fitted(calibration); !why.empty()) {
    json["warnings"].push_back({{"code", "nothing_fitted"}, {"message", why}});
  }
  return json;
}

/// 0.0123 is "1.2 %".
std::string percent(double share) {
  return cat(target::number_text(std::round(share * 1000) / 10), " %");
}

std::string errors_text(const ErrorSummary& errors) {
  return cat(count_of(errors.rows, "row"), ": median ", percent(errors.median), ", 90 % within ",
             percent(errors.p90), ", worst ", percent(errors.worst));
}

std::string term_text(const CalibratedTerm& term) {
  const auto text = [](const std::optional<double>& figure) {
    return figure ? target::number_text(*figure) : std::string("not given");
  };
  if (term.is_fitted) {
    return cat(term.name, " ", text(term.value), " (before: ", text(term.before), ")");
  }
  const std::string why = term.rows < fabric::kLeastRows
                              ? cat(term.rows == 0 ? "no" : "too few", " rows depend on it")
                              : "the rows cannot tell it from other figures";
  return cat(term.name, " ", text(term.value), ": kept, ", why);
}

std::string calibration_text(const Calibration& calibration, const Terminal& terminal) {
  const auto heading = [&](std::string_view text) {
    const std::string lines = wrap(text, terminal, "", "  ");
    return cat(paint(terminal, Paint::kHeading, lines.substr(0, lines.size() - 1)), "\n");
  };
  const auto paragraph = [&](std::string_view text) { return wrap(text, terminal, "  ", "    "); };
  const auto terms = [&](const CalibratedPart& part) {
    std::string out;
    for (const CalibratedTerm& term : part.terms) out += paragraph(term_text(term));
    return out;
  };
  std::string out =
      heading(cat(calibration.machine.name, " fitted to ",
                  count_of(calibration.fitted_rows, "measurement"), " of ", calibration.all.rows));
  if (const std::string why = why_not_fitted(calibration); !why.empty()) out += paragraph(why);
  for (const CalibratedPart& part : calibration.mechanisms) {
    const std::string network = part.network.empty() ? "" : cat(" over ", part.network);
    out += heading(cat(part.name, network, part.is_added ? " (added)" : ""));
    out += terms(part);
    out += paragraph(cat("errors of ", errors_text(part.errors)));
  }
  for (const CalibratedPart& part : calibration.networks) {
    out += heading(part.name.empty() ? "network" : part.name);
    out += terms(part);
  }
  out += heading("errors");
  for (const fabric::GroupErrors& group : calibration.groups) {
    out += paragraph(
        cat(fabric::method_name(group.method), " ", fabric::pattern_name(group.pattern), " ",
            memory_name(calibration.machine, group.far), ", ", errors_text(group.errors)));
  }
  out += paragraph(cat("all, ", errors_text(calibration.all)));
  return out;
}

}  // namespace

Result<Verdict> fit_target(const Request& request, Console& console) {
  const std::string& table = request.text(kFitFlag);
  const std::string out = request.has(kOutFlag) ? request.text(kOutFlag) : "";
  TESSERA_TRY(const Machine machine, machine_for(request, table));
  if (!out.empty()) TESSERA_CHECK_OK(check_folder_of(out));
  TESSERA_TRY(const std::string text, read_text_file(table, kMostTableBytes));
  const Result<std::vector<fabric::Measurement>> rows = read_measurements(text, machine);
  if (!rows) return located(rows.error(), table, text);
  const Result<Calibration> calibration = fabric::calibrate(machine, *rows);
  if (!calibration) {
    const Error& error = calibration.error();
    return error.span ? located(error, table, text) : error;
  }
  if (!out.empty() && !is_fitted(*calibration)) {
    return Error{ErrorCode::kNotSupported, why_not_fitted(*calibration), std::nullopt,
                 "measure more transfers, or omit --out to see the errors"};
  }
  if (!out.empty()) {
    TESSERA_CHECK_OK(write_whole(out, target::to_json(calibration->machine)));
  }
  console.out << (console.json ? dump(calibration_json(*calibration, out)) + "\n"
                               : calibration_text(*calibration, console.terminal));
  if (!console.json && !out.empty()) {
    console.out << wrap(cat("written to ", quote(out)), console.terminal, "", "  ");
  }
  return Verdict::kYes;
}

}  // namespace tessera::tools
