// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tools/testing/command_testing.h"
#include "tools/testing/folder_testing.h"
#include "tools/view/page_file.h"

namespace tessera::tools {
namespace {

const std::string kPage = "<body><script type=\"application/json\"><!--OPENED--></script></body>";

/// The state that a page holds, as the page reads it.
Json state_in(const std::string& page) {
  const std::size_t from = page.find("json\">") + 6;
  return parsed(page.substr(from, page.find("</script>") - from));
}

TEST(View, PutsTextsIntoThePageAsData) {
  for (const std::string text :
       {"tensor<4xf32, strided<[1]>>", "</script><script>alert(1)</script>", "<!--", "\"\\\n\t'&",
        "\xC3\xA9\xE2\x86\x94"}) {
    const Result<std::string> page = page_with(kPage, {{"v", "explorer"}, {"t", text}});
    ASSERT_TRUE(page.ok());
    EXPECT_EQ(state_in(*page)["t"].get<std::string>(), text);
    EXPECT_EQ(std::count(page->begin(), page->end(), '<'),
              std::count(kPage.begin(), kPage.end(), '<') - 1);
  }
  EXPECT_EQ(page_with("<body></body>", {}).error().code, ErrorCode::kContradiction);
}

class ViewFiles : public ::testing::Test, protected TestFolder {
 protected:
  ViewFiles() { write("page.html", kPage); }
  Answer view(std::vector<std::string> args) {
    args.insert(args.begin(), "view");
    for (const std::string& word : {std::string("--page"), page_, std::string("--out"), out_}) {
      args.push_back(word);
    }
    args.emplace_back("--json");
    return run(args);
  }
  Json written() const { return state_in(read("view.html")); }
  std::string page_ = path("page.html");
  std::string out_ = path("view.html");
};

TEST_F(ViewFiles, OneTensorIsExploredTwoAreCompared) {
  EXPECT_EQ(view({}).status, 0);
  EXPECT_EQ(written(), Json::object());
  const Answer one = view({kRowMajor});
  EXPECT_EQ(one.status, 0) << one.out;
  EXPECT_EQ(one.json()["file"].get<std::string>(), out_);
  EXPECT_EQ(written()["t"].get<std::string>(), kRowMajor);
  EXPECT_EQ(view({kRowMajor, kColumnMajor}).status, 0);
  EXPECT_EQ(written()["v"].get<std::string>(), "compare");
  EXPECT_EQ(written()["b"].get<std::string>(), kColumnMajor);
}

TEST_F(ViewFiles, ShowsTracesAndPlans) {
  const std::string trace = R"({"displayTimeUnit":"ns","traceEvents":[]})";
  write("t.json", trace);
  EXPECT_EQ(view({path("t.json")}).status, 0);
  EXPECT_EQ(written()["v"].get<std::string>(), "trace");
  EXPECT_EQ(written()["trace"].get<std::string>(), trace);
  write("p.json", R"({"tessera_plan":1,"note":"<!--"})");
  EXPECT_EQ(view({path("p.json")}).status, 0);
  EXPECT_EQ(written()["v"].get<std::string>(), "model");
  write("x.json", R"({"traceEvents":3})");
  EXPECT_EQ(view({path("x.json")}).error_code(), "syntax");
  write("deep.json", R"({"traceEvents":[)" + std::string(1000, '['));
  EXPECT_EQ(view({path("deep.json")}).error_code(), "syntax");
}

TEST_F(ViewFiles, RefusesWhatIsNoTensor) {
  EXPECT_EQ(view({"tensor<4xf32, strided<[1"}).status, 2);
  EXPECT_EQ(view({kRowMajor, kRowMajor, kRowMajor}).error_code(), "usage");
  EXPECT_EQ(run({"view", "--page", path("none.html"), "--out", out_, "--json"}).error_code(), "io");
  EXPECT_EQ(run({"view", "--page", page_, "--out", "", "--json"}).error_code(), "usage");
  EXPECT_EQ(run({"view", "--page", page_, "--out", path("no/such.html"), "--json"}).error_code(),
            "io");
}

}  // namespace
}  // namespace tessera::tools
