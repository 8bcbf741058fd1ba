// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tools/testing/command_testing.h"
#include "tools/testing/message_facts.h"

namespace tessera::tools {
namespace {

/// One answer per line, each of them JSON; the stream was read, so the status is 0.
std::vector<Json> batch(const std::string& verb, const std::string& input) {
  const Answer answer = run({verb, "--batch"}, input);
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.err, "");
  std::vector<Json> answers;
  for (const std::string& line : answer.lines()) answers.push_back(parsed(line));
  return answers;
}

std::string code_of(const Json& answer) {
  return answer.contains("error") ? answer["error"]["code"].get<std::string>() : "none";
}

std::string request(const std::string& rest) {
  return R"({"tensor": ")" + kRowMajor + R"(", )" + rest + "}\n";
}

TEST(Batch, AnswersAreThoseOfJson) {
  const auto answers =
      batch("locate", request(R"("index": [2, 3])") + request(R"("index": "2,3")") +
                          request(R"("place": [], "slot": 15)") + request(R"("all": true)") +
                          request(R"("all": false, "index": [0, 0], "json": true)"));
  ASSERT_EQ(answers.size(), 5U);
  const Json element = parsed(R"({"index": [2, 3], "places": [[]], "slot": 15, "byte": 60})");
  EXPECT_EQ(answers[0], element);
  EXPECT_EQ(answers[1], element);
  EXPECT_EQ(answers[2], parsed(R"({"place": [], "slot": 15, "index": [2, 3]})"));
  EXPECT_EQ(answers[3]["elements"].size(), 24U);
  EXPECT_EQ(answers[4]["slot"], 0);
  const auto shown = batch("show", R"({"tensor": ")" + kTiled + "\"}");  // no newline at the end
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0], run({"show", kTiled, "--json"}).json());
  const auto compared =
      batch("diff", R"({"a": ")" + kRowMajor + R"(", "b": ")" + kColumnMajor + "\"}\r\n");
  ASSERT_EQ(compared.size(), 1U);
  EXPECT_EQ(compared[0]["moved_elements"], 22);
}

TEST(Batch, AScalarsIndexIsTheEmptyList) {
  const auto answers = batch("locate", R"({"tensor": "tensor<f32, strided<[]>>", "index": []})"
                                       "\n");
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0], parsed(R"({"index": [], "places": [[]], "slot": 0, "byte": 0})"));
}

TEST(Batch, EmptyLinesAreSkipped) {
  EXPECT_EQ(batch("locate", "\n  \n\r\n" + request(R"("index": [0, 0])") + "\n").size(), 1U);
  EXPECT_EQ(batch("locate", "").size(), 0U);
}

TEST(Batch, ABadRequestIsAnsweredAndTheNextOneRead) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"nonsense\n", "bad_json"},
      {"[1, 2]\n", "bad_json"},
      {"17\n", "bad_json"},
      {"{\n", "bad_json"},
      {"{} trailing\n", "bad_json"},
      {"{}\n", "usage"},  // tensor is missing
      {"{\"tensor\": \"\xff\"}\n", "bad_json"},
      {R"({"tensor": 5, "all": true})"
       "\n",
       "bad_json"},
      {R"({"tensor": null, "all": true})"
       "\n",
       "bad_json"},
      {R"({"tensor": "tensor<4xf32", "all": true})"
       "\n",
       "syntax"},
      {R"({"tensor": "-", "all": true})"
       "\n",
       "syntax"},  // texts stand for themselves
      {R"({"tensor": "@/etc/passwd", "all": true})"
       "\n",
       "syntax"},
      {request(R"("indx": [1, 2])"), "unknown_name"},
      {request(R"("batch": true)"), "unknown_name"},
      {request(R"("help": true)"), "unknown_name"},
      {request(R"("index": [1, 2], "index": [2, 3])"), "bad_json"},
      {request(R"("index": [1, "2"])"), "bad_json"},
      {request(R"("index": [1, 2.5])"), "bad_json"},
      {request(R"("index": [1, 18446744073709551615])"), "bad_json"},
      {request(R"("index": [1, 1e999])"), "bad_json"},
      {request(R"("index": "1,x")"), "bad_number"},
      {request(R"("index": {"a": 1})"), "bad_json"},
      {request(R"("index": [9, 9])"), "out_of_range"},
      {request(R"("place": [], "slot": true)"), "bad_json"},
      {request(R"("place": [], "slot": 24)"), "out_of_range"},
      {request(R"("all": 1)"), "bad_json"},
      {request(R"("all": "true")"), "bad_json"},
      {request(R"("all": true, "slots": true)"), "usage"},
  };
  std::string input;
  for (const auto& [line, code] : bad) input += line + request(R"("index": [2, 3])");
  const auto answers = batch("locate", input);
  ASSERT_EQ(answers.size(), 2 * bad.size());
  for (std::size_t i = 0; i < bad.size(); ++i) {
    EXPECT_EQ(code_of(answers[2 * i]), bad[i].second) << bad[i].first << answers[2 * i];
    EXPECT_EQ(answers[2 * i + 1]["slot"], 15);
    const Json& error = answers[2 * i]["error"];
    EXPECT_EQ(error.size(), 4U);
    EXPECT_TRUE(error["message"].is_string() && error["help"].is_string());
    EXPECT_TRUE(error["span"].is_null() || error["span"].size() == 2);
  }
}

TEST(Batch, SpansCountInTheTensorsText) {
  const auto answers = batch("show", R"({"tensor": "tensor<4x6xf32, strided<[6, x]>>"})"
                                     "\n");
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0]["error"]["span"], Json({28, 29}));
}

TEST(Batch, UnknownKeysGetASuggestion) {
  const auto answers = batch("locate", request(R"("indx": [1, 2])"));
  EXPECT_EQ(facts_in(answers.at(0)["error"]["help"].get<std::string>()), "'index'");
}

TEST(Batch, HostileLinesAreRefused) {
  const std::size_t size = std::size_t{1} << 20;
  std::string keys;
  for (int i = 0; i < 100000; ++i) keys += "\"k" + std::to_string(i) + "\":1,";
  const std::vector<std::string> hostile = {
      std::string(size, '['),
      "{\"tensor\":" + std::string(size, '['),
      "{\"tensor\":" + std::string(size, '{'),
      "{\"a\":[" + std::string(size, ','),
      "{" + keys + "\"z\":1}",
      "{\"tensor\": \"" + std::string(size, 'x') + "\", \"all\": true}",
      "{\"" + std::string(size, 'k') + "\": 1}",
      "{\"tensor\": \"" + std::string((std::size_t{16} << 20) + 5, 'x') + "\"}",
      std::string(size, '\0'),
      std::string(size, '\xff'),
      "\"" + std::string(size, '\\'),
  };
  for (const std::string& line : hostile) {
    const auto answers = batch("locate", line + "\n" + request(R"("index": [2, 3])"));
    ASSERT_EQ(answers.size(), 2U) << line.substr(0, 40);
    EXPECT_NE(code_of(answers[0]), "none") << line.substr(0, 40);
    EXPECT_LT(dump(answers[0]).size(), 2000U);
    EXPECT_EQ(answers[1]["slot"], 15);
  }
}

}  // namespace
}  // namespace tessera::tools
