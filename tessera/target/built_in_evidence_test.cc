// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tessera/base/text.h"
#include "tessera/target/built_in_texts.h"
#include "tessera/target/json_tree.h"
#include "tessera/target/machine.h"

// Every figure of a built-in machine says how it is known, and every note is about a field that
// exists.
namespace tessera::target {
namespace {

const Machine& machine(std::string_view name) { return **find_machine(name); }

/// The paths of all numbers of a description but those of its notes.
void add_figures(const JsonNode& node, const std::string& path, std::vector<std::string>& out) {
  if (node.kind == JsonNode::Kind::kInteger || node.kind == JsonNode::Kind::kOtherNumber) {
    out.push_back(path);
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const std::string step = node.keys.empty() ? std::to_string(i) : node.keys[i];
    if (path.empty() && step == "notes") continue;
    add_figures(node.items[i], cat(path, "/", step), out);
  }
}

/// The field at a path of the text, or null.
const JsonNode* field(const JsonNode& root, std::string_view path) {
  const JsonNode* node = &root;
  while (node != nullptr && !path.empty()) {
    path.remove_prefix(1);
    const std::string step(path.substr(0, path.find('/')));
    path.remove_prefix(step.size());
    const JsonNode* next = nullptr;
    for (std::size_t i = 0; i < node->items.size(); ++i) {
      if ((node->keys.empty() ? std::to_string(i) : node->keys[i]) == step) next = &node->items[i];
    }
    node = next;
  }
  return node;
}

TEST(BuiltInEvidence, NotesAreAboutFieldsOfTheText) {
  for (const std::string_view text : built_in_texts()) {
    const JsonNode root = *parse_json_tree(text);
    const Machine each = *parse_machine(text);
    for (const Note& note : each.notes) {
      EXPECT_NE(field(root, note.about), nullptr) << each.name << " " << note.about;
      EXPECT_TRUE(note.evidence || !note.text.empty()) << each.name << " " << note.about;
      // A figure is not known because its whole machine is.
      if (note.evidence) {
        EXPECT_TRUE(note.about != "/" && note.about != "/mesh" && note.about != "/memory")
            << each.name << " " << note.about;
      }
    }
  }
}

TEST(BuiltInEvidence, EveryFigureSaysHowItIsKnown) {
  std::size_t figures = 0;
  for (const std::string_view text : built_in_texts()) {
    std::vector<std::string> paths;
    add_figures(*parse_json_tree(text), "", paths);
    const Machine each = *parse_machine(text);
    for (const std::string& path : paths) {
      EXPECT_TRUE(each.evidence(path).has_value()) << each.name << " " << path;
      // The same, by comparing texts: shorten the path until a note is about it.
      std::string prefix = path;
      const Note* found = nullptr;
      while (!prefix.empty() && found == nullptr) {
        for (const Note& note : each.notes) {
          if (note.evidence && note.about == prefix) found = &note;
        }
        prefix.resize(prefix.rfind('/'));
      }
      ASSERT_NE(found, nullptr) << path;
      EXPECT_EQ(each.evidence(path), found->evidence) << each.name << " " << path;
    }
    figures += paths.size();
  }
  EXPECT_GT(figures, 550U);
}

/// What the sources of the figures say of them. Everything else was read in makers' documents.
TEST(BuiltInEvidence, WhatIsNotPublished) {
  const std::map<std::string, std::vector<std::pair<std::string, Evidence>>> expected = {
      {"wormhole",
       {{"/mesh/0/routers/places/0/3", Evidence::kAssumed},
        {"/mesh/0/mechanisms/0/overhead_cycles", Evidence::kFitted},
        {"/mesh/0/mechanisms/1/bytes_per_cycle", Evidence::kFitted},
        {"/mesh/0/mechanisms/3/receiver_cycles", Evidence::kFitted},
        {"/memory/2/read/bytes_per_second", Evidence::kMeasured},
        {"/op_gap_seconds", Evidence::kMeasured}}},
      {"wormhole-n300",
       {{"/mesh/0/links/bytes_per_second", Evidence::kMeasured},
        {"/mesh/0/links/hop_seconds", Evidence::kMeasured},
        {"/mesh/0/gateways/1/routers/0/1", Evidence::kAssumed},
        {"/memory/2/write/bytes_per_second", Evidence::kMeasured}}},
      {"wormhole-8",
       {{"/mesh/0/links/links", Evidence::kAssumed},
        {"/memory/2/at/0/3/1", Evidence::kAssumed},
        {"/memory/2/read/bytes_per_second", Evidence::kAssumed}}},
      {"blackhole",
       {{"/mesh/0/routers/extents/1", Evidence::kAssumed},
        {"/mesh/0/routers/places/1/12", Evidence::kAssumed},
        {"/mesh/0/mechanisms/0/issue_cycles", Evidence::kFitted},
        {"/mesh/0/mechanisms/2/receiver_cycles", Evidence::kAssumed},
        {"/memory/2/read/bytes_per_second", Evidence::kMeasured},
        {"/memory/2/at/0/0/1", Evidence::kAssumed}}},
      {"spyre",
       {{"/clock_hz", Evidence::kAssumed},
        {"/memory/0/read/bytes_per_cycle", Evidence::kAssumed},
        {"/memory/1/mixed/bytes_per_second", Evidence::kMeasured},
        {"/memory/1/at/0/31/0", Evidence::kAssumed},
        {"/memory/2/read/bytes_per_second", Evidence::kAssumed},
        {"/memory/2/at/0/0/0", Evidence::kAssumed},
        {"/mesh/0/links/hop_cycles", Evidence::kAssumed},
        {"/compute/1/per_cycle", Evidence::kMeasured}}},
      {"wse2",
       {{"/memory/1/read/bytes_per_second", Evidence::kAssumed},
        {"/memory/1/at/0/7/0", Evidence::kAssumed}}},
      {"wse3",
       {{"/clock_hz", Evidence::kAssumed},
        {"/memory/1/write/bytes_per_second", Evidence::kAssumed}}},
  };
  EXPECT_EQ(expected.size(), machines().size());
  for (const auto& [name, figures] : expected) {
    for (const auto& [path, evidence] : figures) {
      EXPECT_EQ(machine(name).evidence(path), evidence) << name << " " << path;
    }
  }
  const std::map<std::string, std::vector<std::string>> published = {
      {"wormhole",
       {"/mesh/0/networks/0/hop_cycles", "/mesh/0/networks/1/bits_per_cycle", "/clock_hz",
        "/memory/0/read/bytes_per_cycle", "/memory/1/read/bytes_per_second", "/memory/1/at/4/0/0",
        "/compute/0/per_cycle", "/mesh/0/routers/extents/0", "/memory/2/at/0/0/0"}},
      {"wormhole-n300", {"/mesh/0/links/links"}},
      {"blackhole", {"/clock_hz", "/memory/1/banks", "/memory/1/read/bytes_per_second"}},
      {"spyre",
       {"/mesh/0/links/bits_per_cycle", "/compute/0/per_cycle", "/rules/span_limit_bytes"}},
      {"wse2", {"/clock_hz", "/memory/0/read/bytes_per_cycle", "/compute/0/per_cycle"}},
  };
  for (const auto& [name, paths] : published) {
    for (const std::string& path : paths) {
      EXPECT_EQ(machine(name).evidence(path), Evidence::kPublished) << name << " " << path;
    }
  }
}

}  // namespace
}  // namespace tessera::target
