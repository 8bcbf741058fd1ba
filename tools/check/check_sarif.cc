// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <ostream>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/version.h"
#include "tools/check/check_printer.h"
#include "tools/json/json.h"

// SARIF 2.1.0, the OASIS standard for the results of static analysis:
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/sarif-v2.1.0-errata01-os.html
namespace tessera::tools {
namespace {

constexpr std::string_view kSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// UTF-16 code units before each byte of a text, which is what SARIF's columns count here: two for
/// a code point of four bytes, otherwise one. A byte that is not valid UTF-8 counts as one
/// character.
class Utf16Units {
 public:
  explicit Utf16Units(std::string_view text) : text_(text) {
    std::int64_t units = 0;
    for (std::size_t at = 0; at < text.size(); at += kStep) {
      before_step_.push_back(units);
      units += count(text.substr(at, kStep));
    }
    before_step_.push_back(units);
  }

  std::int64_t before(std::size_t byte) const {
    const std::size_t step = byte / kStep;
    return before_step_[step] + count(text_.substr(step * kStep, byte % kStep));
  }

 private:
  static constexpr std::size_t kStep = 1024;  // bounds the cost of a query

  static std::int64_t count(std::string_view text) {
    std::int64_t units = 0;
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if ((byte & 0xC0) != 0x80) units += byte >= 0xF0 ? 2 : 1;
    }
    return units;
  }

  std::string_view text_;
  std::vector<std::int64_t> before_step_;
};

/// A path as a URI reference: relative to where the command ran, or file:///.. when absolute.
std::string uri_of(std::string_view path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') ||
                          std::string_view("/-._~").find(c) != std::string_view::npos;
    if (is_plain) {
      out += c;
    } else {
      out += cat("%", kHex[byte >> 4], kHex[byte & 15]);
    }
  }
  return out;
}

Json text_json(std::string_view text) { return {{"text", text}}; }

/// A file as SARIF's locations name it.
class SarifFile {
 public:
  explicit SarifFile(const CheckedText& file)
      : file_(file), units_(file.text), uri_(uri_of(file.name)) {}

  const std::string& uri() const { return uri_; }

  Json region(Span span) const {
    const Span known = file_.inside(span);
    const Region bytes = file_.region(span);
    Json json;
    json["startLine"] = bytes.from.line;
    json["startColumn"] = column(known.from, bytes.from);
    json["endLine"] = bytes.to.line;
    json["endColumn"] = column(known.to, bytes.to);
    return json;
  }

  Json place(Span span) const {
    Json json;
    json["artifactLocation"] = {{"uri", uri_}};
    json["region"] = region(span);
    return json;
  }

 private:
  std::int64_t column(std::int64_t byte, const check::LineColumn& at) const {
    const std::int64_t line_begin = byte - (at.column - 1);
    return 1 + units_.before(static_cast<std::size_t>(byte)) -
           units_.before(static_cast<std::size_t>(line_begin));
  }

  const CheckedText& file_;
  Utf16Units units_;
  std::string uri_;
};

class Sarif : public CheckPrinter {
 public:
  explicit Sarif(Console& console) : console_(console) {
    // Results are printed as they arrive; the rules that they name follow when all are known.
    console_.out << "{\n\"$schema\": \"" << kSchema << "\",\n\"version\": \"2.1.0\",\n"
                 << "\"runs\": [{\n\"columnKind\": \"utf16CodeUnits\",\n\"results\": [";
  }

  void found(const CheckedText& file, const std::vector<check::Diagnostic>& diagnostics) override {
    const SarifFile places(file);
    for (const check::Diagnostic& diagnostic : diagnostics) {
      console_.out << (has_results_ ? ",\n" : "\n") << dump(result_json(places, diagnostic));
      has_results_ = true;
    }
  }

  void fixed(const std::string&, const Fixed&) override {}
  void kept(const std::string&, const std::string&) override {}

  void failed(const std::string& name, const Error& error) override {
    console_.err << render(error, "");
    Json notification;
    notification["level"] = "error";
    notification["message"] = text_json(error.message);
    notification["descriptor"] = {{"id", code_name(error.code)}};
    notification["locations"] =
        Json::array({{{"physicalLocation", {{"artifactLocation", {{"uri", uri_of(name)}}}}}}});
    notifications_.push_back(std::move(notification));
  }

  void finish(const CheckTotals&) override {
    Json driver;
    driver["name"] = "tessera";
    driver["version"] = kVersion;
    driver["rules"] = Json::array();
    for (const auto& [code, severity] : rules_) {
      Json rule;
      rule["id"] = code;
      rule["shortDescription"] = text_json(code_meaning(code));
      rule["defaultConfiguration"] = {{"level", severity_name(severity)}};
      driver["rules"].push_back(std::move(rule));
    }
    Json tool;
    tool["driver"] = std::move(driver);
    Json invocation;
    invocation["executionSuccessful"] = notifications_.empty();
    invocation["toolExecutionNotifications"] = notifications_;
    console_.out << "\n],\n\"tool\": " << dump(tool) << ",\n\"invocations\": [" << dump(invocation)
                 << "]\n}]\n}\n";
  }

 private:
  Json result_json(const SarifFile& file, const check::Diagnostic& diagnostic) {
    Json result;
    result["ruleId"] = diagnostic.code;
    result["ruleIndex"] = rule(diagnostic);
    result["level"] = severity_name(diagnostic.severity);
    result["message"] =
        text_json(diagnostic.help.empty() ? diagnostic.message
                                          : cat(diagnostic.message, " (", diagnostic.help, ")"));
    result["locations"] = Json::array({{{"physicalLocation", file.place(diagnostic.span)}}});
    if (diagnostic.tensor) {
      Json related;
      related["id"] = 1;
      related["physicalLocation"] = file.place(*diagnostic.tensor);
      related["message"] = text_json("the tensor");
      result["relatedLocations"] = Json::array({std::move(related)});
    }
    if (diagnostic.fix) {
      Json replacement;
      replacement["deletedRegion"] = file.region(diagnostic.fix->span);
      replacement["insertedContent"] = text_json(diagnostic.fix->text);
      Json change;
      change["artifactLocation"] = {{"uri", file.uri()}};
      change["replacements"] = Json::array({std::move(replacement)});
      Json fix;
      fix["description"] = text_json(cat("write ", diagnostic.fix->text));
      fix["artifactChanges"] = Json::array({std::move(change)});
      result["fixes"] = Json::array({std::move(fix)});
    }
    return result;
  }

  std::size_t rule(const check::Diagnostic& diagnostic) {
    const auto at = std::find_if(rules_.begin(), rules_.end(),
                                 [&](const auto& rule) { return rule.first == diagnostic.code; });
    if (at != rules_.end()) return static_cast<std::size_t>(at - rules_.begin());
    rules_.emplace_back(diagnostic.code, diagnostic.severity);
    return rules_.size() - 1;
  }

  Console& console_;
  bool has_results_ = false;
  std::vector<std::pair<std::string, check::Severity>> rules_;
  Json notifications_ = Json::array();
};

}  // namespace

std::unique_ptr<CheckPrinter> check_sarif(Console& console) {
  return std::make_unique<Sarif>(console);
}

}  // namespace tessera::tools
