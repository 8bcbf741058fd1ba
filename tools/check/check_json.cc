// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "tools/check/check_printer.h"
#include "tools/json/json.h"

namespace tessera::tools {
namespace {

Json region_json(const Region& region) {
  return {{"line", region.from.line},
          {"column", region.from.column},
          {"end_line", region.to.line},
          {"end_column", region.to.column}};
}

class JsonLines : public CheckPrinter {
 public:
  JsonLines(Console& console, bool fixing) : console_(console), fixing_(fixing) {}

  void found(const CheckedText& file, const std::vector<check::Diagnostic>& diagnostics) override {
    for (const check::Diagnostic& diagnostic : diagnostics) {
      const std::optional<check::Edit>& fix = diagnostic.fix;
      const std::optional<Span>& tensor = diagnostic.tensor;
      Json json = diagnostic_json(file.name, diagnostic, file.region(diagnostic.span));
      json["fix_region"] = fix ? region_json(file.region(fix->span)) : Json();
      json["tensor"] = tensor ? region_json(file.region(*tensor)) : Json();
      print(std::move(json), /*fixed=*/false);
    }
  }

  void fixed(const std::string& name, const Fixed& fixed) override {
    Json json = diagnostic_json(name, fixed.diagnostic, fixed.where);
    json["fix_region"] = region_json(fixed.edit);
    json["tensor"] = nullptr;
    print(std::move(json), /*fixed=*/true);
  }

  void kept(const std::string&, const std::string&) override {}

  void failed(const std::string& name, const Error& error) override {
    Json json = error_json(error);
    json["file"] = name;
    console_.out << dump(json) << '\n';
  }

  void finish(const CheckTotals&) override {}

 private:
  static Json diagnostic_json(const std::string& name, const check::Diagnostic& diagnostic,
                              const Region& where) {
    Json json;
    json["file"] = name;
    json["line"] = where.from.line;
    json["column"] = where.from.column;
    json["severity"] = severity_name(diagnostic.severity);
    json["code"] = diagnostic.code;
    json["message"] = diagnostic.message;
    json["fix"] = diagnostic.fix ? Json(diagnostic.fix->text) : Json();
    json["help"] = diagnostic.help;
    json["end_line"] = where.to.line;
    json["end_column"] = where.to.column;
    json["distinct"] = diagnostic.occurrences;
    return json;
  }

  void print(Json json, bool fixed) {
    if (fixing_) json["fixed"] = fixed;
    console_.out << dump(json) << '\n';
  }

  Console& console_;
  bool fixing_;
};

}  // namespace

std::unique_ptr<CheckPrinter> check_json(Console& console, bool fixing) {
  return std::make_unique<JsonLines>(console, fixing);
}

}  // namespace tessera::tools
