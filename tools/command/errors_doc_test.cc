// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tessera/base/host_allocator.h"
#include "tessera/base/host_memory_pool.h"
#include "tessera/exchange/agreement.h"
#include "tessera/exchange/exchange.h"
#include "tessera/exchange/resharder.h"
#include "tessera/graph/builder.h"
#include "tessera/graph/graph_json.h"
#include "tessera/layout/placement.h"
#include "tessera/layout/view.h"
#include "tessera/notation/morello/morello.h"
#include "tessera/notation/notation.h"
#include "tessera/reshard/feasible.h"
#include "tessera/target/machine.h"
#include "tessera/testing/exchange/faulty_exchange.h"
#include "tessera/testing/pages/doc_examples.h"
#include "tools/testing/command_testing.h"
#include "tools/testing/page_snippets.h"

/// docs/errors.md: every code is on the page, and every example gives that code and prints what the
/// page shows. Examples are command lines, lines of a batch, and C++ for errors that only the
/// library can return.
namespace tessera::tools {
namespace {

using namespace std::chrono_literals;

constexpr const char* kPage = "docs/errors.md";
constexpr const char* kThisFile = "tools/command/errors_doc_test.cc";

/// Examples in C++, each with the error that it returns. The page shows exactly these lines.
const std::map<std::string, std::function<std::string()>>& api_examples() {
  static const std::map<std::string, std::function<std::string()>> examples = {
      {"bad_pieces",
       [] {
         const Shape four = *Shape::make({4});
         const Layout first = *Layout::strided(four, DType::kF32, {1});
         const Layout second = *Layout::strided(four, DType::kF32, {1}, /*offset=*/4);
         const Result<Piecewise> ten = Piecewise::make(
             *Shape::make({10}), {{Box{{0}, {4}}, first}, {Box{{6}, {10}}, second}});
         return render(ten.error(), "");
       }},
      {"view_leaves_form",
       [] {
         const Tensor tensor = *parse_tensor(
             "tensor<2x2x3xf32, native<{d0} / (1 -> mem*8),"
             "                         {3*d1 + d2} / (4 -> mem, 1 -> mem*2)>>");
         const Result<View> merged = View::of(tensor.layout()).merge(0, 2);
         return render(merged.error(), "");
       }},
      {"bad_view",
       [] {
         const Layout layout = *Layout::row_major(*Shape::make({4, 6}), DType::kF32);
         const Result<View> columns = View::of(layout).slice(1, 4, 3);
         return render(columns.error(), "");
       }},
      {"not_supported",
       [] {
         const Tensor tensor = *parse_tensor("tensor<4x6xf32, strided<[8, 1]>>");
         const Result<notation::MorelloLayout> words = notation::raise_morello(tensor.layout());
         return render(words.error(), "");
       }},
      {"does_not_fit",
       [] {
         const Machine& wafer = **find_machine("wse2");
         const Tensor grid = *parse_tensor("tensor<1024x1024xf32, pyflame.Grid(32, 32)>");
         const Tensor one = *parse_tensor("tensor<1024x1024xf32, pyflame.SinglePE()>");
         const reshard::Reshard gather = *reshard::Reshard::make(grid.placement, one.placement,
                                                                 *reshard::PhysicalMesh::of(wafer));
         return render(reshard::feasible(gather, wafer).error(), "");
       }},
      {"bad_graph",
       [] {
         const std::string text =
             R"({"tessera_graph": 1, "nodes": [{"op": "relu", "inputs": ["x"], "outputs": ["y"]}]})";
         return render(graph::parse_graph(text).error(), text);
       }},
      {"bad_node",
       [] {
         graph::GraphBuilder builder;
         const graph::ValueId x = *builder.input("x", {2, 3});
         return render(builder.add("softmax", {x}, {{"axis", 2}}, "p").error(), "");
       }},
      {"plans_differ",
       [] {
         const auto ranks = exchange::in_process_exchange(2);
         const auto make = [&](exchange::Exchange& exchange, const std::string& layout) {
           const Tensor a = *parse_tensor("tensor<64x64xf32, pyflame.SinglePE()>");
           const Tensor b = *parse_tensor("tensor<64x64xf32, " + layout + ">");
           const reshard::PhysicalMesh physical =
               *reshard::PhysicalMesh::around(a.placement, b.placement);
           const reshard::Reshard reshard =
               *reshard::Reshard::make(a.placement, b.placement, physical);
           const exchange::RankMap map =
               *exchange::RankMap::blocks(physical.mesh.elements(), exchange.ranks());
           return exchange::Resharder::make(exchange, reshard, map, map);
         };
         std::thread other([&] { (void)make(*ranks[1], "pyflame.BlockCyclic(2, 1, 8, 64)"); });
         const Result<exchange::Resharder> resharder =
             make(*ranks[0], "pyflame.BlockCyclic(2, 1, 4, 64)");
         other.join();
         return render(resharder.error(), "");
       }},
      {"bad_packet",
       [] {
         auto ranks = exchange::in_process_exchange(2);
         test::Faults faults;
         faults.cut_packets = {{.to = 0, .at = 0, .bytes = 5}};  // the end of the packet is lost
         ranks[1] = std::make_unique<test::FaultyExchange>(std::move(ranks[1]), faults);
         const Tensor a = *parse_tensor("tensor<64x64xf32, pyflame.Grid(2, 1)>");
         const Tensor b = *parse_tensor("tensor<64x64xf32, pyflame.BlockCyclic(2, 1, 8, 64)>");
         const reshard::PhysicalMesh physical =
             *reshard::PhysicalMesh::around(a.placement, b.placement);
         const reshard::Reshard reshard =
             *reshard::Reshard::make(a.placement, b.placement, physical);
         const exchange::RankMap map = *exchange::RankMap::blocks(physical.mesh.elements(), 2);
         const auto run = [&](exchange::Exchange& exchange) {
           exchange::Resharder resharder = *exchange::Resharder::make(exchange, reshard, map, map);
           const std::vector<std::byte> from(static_cast<std::size_t>(resharder.from().bytes()));
           std::vector<std::byte> to(static_cast<std::size_t>(resharder.to().bytes()));
           return resharder.run(from, to);
         };
         std::thread other([&] { (void)run(*ranks[1]); });
         const Status moved = run(*ranks[0]);
         other.join();
         return render(moved.error(), "");
       }},
      {"rank_silent",
       [] {
         auto ranks = exchange::in_process_exchange(2);
         ranks[1].reset();  // it ends while rank 0 still needs it
         exchange::Agreement agreement(*ranks[0],
                                       exchange::Timeouts{.silence = 20ms, .answer = 50ms});
         return render(agreement.settle(ok_status()).error(), "");
       }},
      {"out_of_memory",
       [] {
         const Result<void*> block = HostAllocator::allocate(std::size_t{1} << 60);
         return render(block.error(), "");
       }},
      {"bad_alignment",
       [] {
         const Result<void*> block = HostAllocator::allocate(4096, /*alignment=*/48);
         return render(block.error(), "");
       }},
      {"bad_block",
       [] {
         HostMemoryPool pool = *HostMemoryPool::make(/*block_size=*/4096);
         void* const foreign = reinterpret_cast<void*>(0x1000);
         return render(pool.release(foreign).error(), "");
       }},
      {"text_too_long",
       [] {
         const std::string text = "tensor<" + std::string(std::size_t{16} << 20, '9');
         const Result<Tensor> tensor = parse_tensor(text);
         return render(tensor.error(), text);
       }},
      {"bad_target",
       [] {
         const std::string text = R"({"name": "mine", "mesh": [4, 4]})";
         const Result<Machine> machine = parse_machine(text);
         return render(machine.error(), text);
       }},
  };
  return examples;
}

/// The text between ``` and ```.
struct Fence {
  std::size_t line = 0;  ///< in the page, from 1
  std::string code;      ///< of the section that contains it; empty outside
  std::string language;
  std::vector<std::string> lines;
};

struct Page {
  std::map<std::string, int> sections;  ///< how often each code is a heading
  std::set<std::string> fixes;          ///< codes whose section explains how to fix it
  std::vector<Fence> fences;
  std::string text;
};

Page read_page() {
  Page page;
  std::string code;
  bool inside = false;
  std::size_t number = 0;
  for (const std::string& line : lines_of(kPage)) {
    ++number;
    page.text += line + "\n";
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) page.fences.push_back({number, code, line.substr(3), {}});
    } else if (inside) {
      page.fences.back().lines.push_back(line);
    } else if (line.starts_with("### `") && line.ends_with("`")) {
      code = line.substr(5, line.size() - 6);
      ++page.sections[code];
    } else if (line.starts_with("## ")) {
      code.clear();
    } else if (line.starts_with("**Fix.** ")) {
      page.fixes.insert(code);
    }
  }
  return page;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string where(std::size_t line) { return std::string(kPage) + ":" + std::to_string(line); }

/// `$ echo 'REQUEST' | tessera VERB --batch` as arguments and input; nothing for any other line.
std::vector<std::string> batch_of(const std::string& line, std::string& input) {
  const std::string open = "$ echo '";
  const std::string pipe = "' | tessera ";
  const std::size_t end = line.find(pipe);
  std::vector<std::string> args;
  if (!line.starts_with(open) || end == std::string::npos) return args;
  input = line.substr(open.size(), end - open.size()) + "\n";
  std::istringstream words(line.substr(end + pipe.size()));
  for (std::string word; words >> word;) args.push_back(word);
  return args;
}

TEST(ErrorsPage, HasEveryCodeOnceWithItsFix) {
  const Page page = read_page();
  std::set<std::string> codes;
  for (const ErrorCode code : all_error_codes()) codes.insert(std::string(code_name(code)));
  for (const std::string& code : codes) {
    EXPECT_EQ(page.sections.contains(code) ? page.sections.at(code) : 0, 1) << code;
    EXPECT_TRUE(page.fixes.contains(code)) << code;
  }
  for (const auto& [code, times] : page.sections) EXPECT_TRUE(codes.contains(code)) << code;
}

/// The output is what the page shows below `above`. With TESSERA_UPDATE_DOCS set, the page is
/// rewritten instead, as tools/command/docs_test.cc does for commands.
void expect_shown(const std::string& above, const std::string& shown, const std::string& printed,
                  std::size_t line) {
  if (std::getenv("TESSERA_UPDATE_DOCS") == nullptr) {
    EXPECT_EQ(printed, shown) << where(line);
    return;
  }
  std::string text = joined(lines_of(kPage));
  const std::size_t at = text.find(above + shown);
  ASSERT_NE(at, std::string::npos) << where(line);
  std::ofstream(kPage) << text.replace(at, above.size() + shown.size(), above + printed);
}

TEST(ErrorsPage, EveryExampleGivesTheCodeOfItsSection) {
  const Page page = read_page();
  std::map<std::string, int> examples;
  for (const DocExample& example : doc_examples(page.text)) {
    const auto line = static_cast<std::size_t>(example.line);
    std::string code;  // of the fence that contains the example
    for (const Fence& fence : page.fences) {
      if (fence.line < line) code = fence.code;
    }
    if (code.empty()) continue;  // the introduction
    const Answer answer = run(example.args);
    EXPECT_EQ(answer.status, 2) << where(line);
    EXPECT_TRUE(answer.err.starts_with("error[" + code + "]: ")) << where(line) << "\n"
                                                                 << answer.err;
    ++examples[code];  // its output is checked with the commands of all pages
  }
  for (const Fence& fence : page.fences) {
    for (std::size_t i = 0; i + 1 < fence.lines.size(); ++i) {
      std::string input;
      const std::vector<std::string> args = batch_of(fence.lines[i], input);
      if (args.empty()) continue;
      const Answer answer = run(args, input);
      EXPECT_EQ(answer.error_code(), fence.code) << where(fence.line) << "\n" << answer.out;
      expect_shown(fence.lines[i] + "\n", fence.lines[i + 1] + "\n", answer.out, fence.line);
      ++examples[fence.code];
    }
  }
  for (std::size_t i = 0; i + 1 < page.fences.size(); ++i) {
    const Fence& fence = page.fences[i];
    if (fence.language != "cpp") continue;
    ASSERT_TRUE(api_examples().contains(fence.code)) << where(fence.line);
    EXPECT_TRUE(stands_in(fence.lines, lines_of(kThisFile)))
        << where(fence.line) << " is not the code that runs";
    const std::string text = api_examples().at(fence.code)();
    EXPECT_TRUE(text.starts_with("error[" + fence.code + "]: ")) << where(fence.line) << text;
    expect_shown(joined(fence.lines) + "```\n\n```\n", joined(page.fences[i + 1].lines), text,
                 fence.line);
    ++examples[fence.code];
  }
  for (const ErrorCode code : all_error_codes()) {
    EXPECT_GT(examples[std::string(code_name(code))], 0) << code_name(code) << " has no example";
  }
}

}  // namespace
}  // namespace tessera::tools
