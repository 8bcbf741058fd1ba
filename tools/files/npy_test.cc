// SPDX-License-Identifier: Apache-2.0
#include "tools/files/npy.h"

#include <gtest/gtest.h>

#include <random>

#include "tessera/base/text.h"
#include "tools/testing/message_facts.h"

namespace tessera::tools {
namespace {

Result<NpyHeader> read(const std::string& file) {
  return read_npy_header(std::as_bytes(std::span(file)));
}

std::string with_dictionary(const std::string& dictionary, char version = 1) {
  std::string file = "\x93NUMPY";
  file += version;
  file += '\0';
  for (std::size_t i = 0; i < (version == 1 ? 2U : 4U); ++i) {
    file += static_cast<char>(dictionary.size() >> (8 * i) & 0xFF);
  }
  return file + dictionary;
}

// The bytes that NumPy 1.24 writes for numpy.save(f, numpy.zeros((2, 3), 'f4')).
TEST(Npy, HeaderOfNumpy) {
  const std::string dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  const std::string expected = std::string("\x93NUMPY\x01\x00v\x00", 10) + dictionary +
                               std::string(118 - dictionary.size() - 1, ' ') + "\n";
  EXPECT_EQ(write_npy_header({'f', 4}, false, {2, 3}), expected);
  const auto header = read(expected);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->type, (NpyType{'f', 4, false}));
  EXPECT_FALSE(header->fortran_order);
  EXPECT_EQ(header->shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(header->data_offset, 128);
  EXPECT_EQ(header->data_bytes, 24);
}

TEST(Npy, ReadsWhatItWrites) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 500; ++i) {
    const NpyType type{"fiubV" [random() % 5], std::int64_t { 1 } << random() % 4};
    std::vector<std::int64_t> shape(random() % 65);
    for (auto& extent : shape) extent = static_cast<std::int64_t>(random() % 3);
    if (!shape.empty()) shape[0] = 123456789;
    if (shape.size() > 3) shape.back() = 0;
    const bool fortran = random() % 2 == 0;
    const std::string text = write_npy_header(type, fortran, shape);
    EXPECT_EQ(text.size() % 64, 0U);
    const auto header = read(text);
    ASSERT_TRUE(header) << header.error().message << "\n" << text;
    EXPECT_EQ(header->type, type);
    EXPECT_EQ(header->fortran_order, fortran);
    EXPECT_EQ(header->shape, shape);
    EXPECT_EQ(header->data_offset, static_cast<std::int64_t>(text.size()));
  }
}

TEST(Npy, SpellingsThatPythonAllows) {
  for (const std::string dictionary :
       {"{\"shape\":(2,3,),\"descr\":\"<f4\",\"fortran_order\":True}",
        " {'fortran_order' : True , 'shape' : ( 2L , 3L ) , 'descr' : '=f4' , } \n",
        "{'descr': 'f4', 'fortran_order': True, 'shape': (2, 3)}\n"}) {
    for (const char version : {'\1', '\2', '\3'}) {
      const auto header = read(with_dictionary(dictionary, version));
      ASSERT_TRUE(header) << dictionary << ": " << header.error().message;
      EXPECT_TRUE(header->fortran_order);
      EXPECT_EQ(header->shape, (std::vector<std::int64_t>{2, 3}));
      EXPECT_EQ(header->type, (NpyType{'f', 4}));
    }
  }
  EXPECT_TRUE(
      read(with_dictionary("{'descr': '>i2', 'fortran_order': False, 'shape': ()}"))->type.swapped);
  const auto empty =
      read(with_dictionary("{'descr': '<i8', 'fortran_order': False, 'shape': "
                           "(9223372036854775807, 9223372036854775807, 0)}"));
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_EQ(empty->elements, 0);
}

struct Bad {
  std::string dictionary;
  ErrorCode code;
  std::string facts;  ///< of the message
};

TEST(Npy, MalformedHeadersAreErrors) {
  const std::string rest = "'fortran_order': False, 'shape': (2,)}";
  const std::string whole = "{'descr': '<f4', 'fortran_order': False, 'shape': ";
  std::string many = whole + "(";
  for (int i = 0; i < 65; ++i) many += "1, ";
  const std::vector<Bad> cases = {
      {"", ErrorCode::kSyntax, ""},
      {"[1]", ErrorCode::kSyntax, "'['"},
      {"{}", ErrorCode::kSyntax, "'descr'"},
      {"{'descr': '<f4', " + rest + "x", ErrorCode::kSyntax, ""},
      {"{'descr': '<f4', 'descr': '<f4', " + rest, ErrorCode::kSyntax, "'descr'"},
      {"{'desc': '<f4', " + rest, ErrorCode::kSyntax, "'desc'"},
      {"{'descr' '<f4', " + rest, ErrorCode::kSyntax, "':' ''"},
      {"{'descr': '<f4' " + rest, ErrorCode::kSyntax, "',' '}' ''"},
      {"{'descr", ErrorCode::kSyntax, ""},
      {"{'de\\x73cr': '<f4', " + rest, ErrorCode::kSyntax, ""},
      {"{'descr': '<c8', " + rest, ErrorCode::kNotSupported, "'<c8'"},
      {"{'descr': '|O', " + rest, ErrorCode::kNotSupported, "'|O'"},
      {"{'descr': '<f', " + rest, ErrorCode::kNotSupported, "'<f'"},
      {"{'descr': '<f99', " + rest, ErrorCode::kNotSupported, "'<f99'"},
      {"{'descr': [('a', '<f4')], " + rest, ErrorCode::kNotSupported, ""},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", ErrorCode::kSyntax, "'0'"},
      {"{'descr': '<f4', 'fortran_order': False}", ErrorCode::kSyntax, "'shape'"},
      {"{'descr': '<f4', 'shape': ()}", ErrorCode::kSyntax, "'fortran_order'"},
      {whole + "[2, 3]}", ErrorCode::kSyntax, "'['"},
      {whole + "(2)}", ErrorCode::kSyntax, "2"},
      {whole + "(2 3)}", ErrorCode::kSyntax, "',' ')' '3'"},
      {whole + "(,)}", ErrorCode::kSyntax, "','"},
      {whole + "(2, -3)}", ErrorCode::kBadNumber, "-3"},
      {whole + "(02, 3)}", ErrorCode::kBadNumber, "0"},
      {whole + "(9223372036854775808,)}", ErrorCode::kBadNumber, ""},
      {whole + "(4294967296, 4294967296)}", ErrorCode::kOverflow, ""},
      {whole + "(4611686018427387904,)}", ErrorCode::kOverflow, ""},
      {many + ")}", ErrorCode::kRankTooLarge, "64"},
  };
  for (const Bad& bad : cases) {
    const auto header = read(with_dictionary(bad.dictionary));
    ASSERT_FALSE(header) << bad.dictionary;
    EXPECT_EQ(header.error().code, bad.code) << bad.dictionary;
    EXPECT_EQ(facts_in(header.error().message), bad.facts)
        << bad.dictionary << ": " << header.error().message;
    EXPECT_FALSE(header.error().help.empty());
  }
}

TEST(Npy, FilesThatAreNone) {
  const auto facts = [](const std::string& file, ErrorCode code) {
    const Error error = read(file).error();
    EXPECT_EQ(code_name(error.code), code_name(code)) << error.message;
    return facts_in(error.message);
  };
  EXPECT_EQ(facts("", ErrorCode::kSyntax), "");
  EXPECT_EQ(facts("PK\x03\x04", ErrorCode::kSyntax), "");
  EXPECT_EQ(facts(std::string("\x93NUMPY\x04\x00\x01\x00", 10), ErrorCode::kNotSupported), "4.0");
  EXPECT_EQ(facts(std::string("\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF", 12), ErrorCode::kTextTooLong),
            "4294967295");
  EXPECT_EQ(facts(std::string("\x93NUMPY\x01\x00\xFF\x00{", 11), ErrorCode::kSyntax), "255");
}

/// Every prefix of a file, and every file with one byte changed, is accepted or refused without a
/// crash.
TEST(Npy, NoFileOfAnyBytesIsTooMuch) {
  const std::string file = write_npy_header({'f', 4}, true, {53, 63});
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(read(file.substr(0, size))) << size;
  }
  int read_anyway = 0;
  for (std::size_t i = 0; i < file.size(); ++i) {
    for (const char c : {'\0', '\xFF', '9', '\'', '(', ',', ' ', '\\'}) {
      std::string changed = file;
      changed[i] = c;
      read_anyway += read(changed) ? 1 : 0;
    }
  }
  EXPECT_GT(read_anyway, 0);  // blanks for blanks, other digits
}

}  // namespace
}  // namespace tessera::tools
