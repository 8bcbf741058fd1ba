// SPDX-License-Identifier: Apache-2.0
#include "tools/files/npy.h"

#include <gtest/gtest.h>

#include <random>

#include "tessera/base/text.h"

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
  std::string message;
};

TEST(Npy, MalformedHeadersAreTold) {
  const std::string rest = "'fortran_order': False, 'shape': (2,)}";
  const std::string whole = "{'descr': '<f4', 'fortran_order': False, 'shape': ";
  std::string many = whole + "(";
  for (int i = 0; i < 65; ++i) many += "1, ";
  const std::vector<Bad> cases = {
      {"", ErrorCode::kSyntax, "expected a dictionary, found the end of the header"},
      {"[1]", ErrorCode::kSyntax, "expected a dictionary, found '['"},
      {"{}", ErrorCode::kSyntax, "the header has no 'descr'"},
      {"{'descr': '<f4', " + rest + "x", ErrorCode::kSyntax, "something follows the dictionary"},
      {"{'descr': '<f4', 'descr': '<f4', " + rest, ErrorCode::kSyntax,
       "the key 'descr' stands twice"},
      {"{'desc': '<f4', " + rest, ErrorCode::kSyntax, "there is a key 'desc' in the header"},
      {"{'descr' '<f4', " + rest, ErrorCode::kSyntax, "expected ':', found '''"},
      {"{'descr': '<f4' " + rest, ErrorCode::kSyntax, "expected ',' or '}', found '''"},
      {"{'descr", ErrorCode::kSyntax, "a text has no closing quote"},
      {"{'de\\x73cr': '<f4', " + rest, ErrorCode::kSyntax, "a text has a backslash"},
      {"{'descr': '<c8', " + rest, ErrorCode::kNotSupported, "the elements are of the type '<c8'"},
      {"{'descr': '|O', " + rest, ErrorCode::kNotSupported, "the elements are of the type '|O'"},
      {"{'descr': '<f', " + rest, ErrorCode::kNotSupported, "the elements are of the type '<f'"},
      {"{'descr': '<f99', " + rest, ErrorCode::kNotSupported,
       "the elements are of the type '<f99'"},
      {"{'descr': [('a', '<f4')], " + rest, ErrorCode::kNotSupported,
       "the elements are records of several fields"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", ErrorCode::kSyntax,
       "expected True or False, found '0'"},
      {"{'descr': '<f4', 'fortran_order': False}", ErrorCode::kSyntax, "the header has no 'shape'"},
      {"{'descr': '<f4', 'shape': ()}", ErrorCode::kSyntax, "the header has no 'fortran_order'"},
      {whole + "[2, 3]}", ErrorCode::kSyntax, "expected a tuple of extents, found '['"},
      {whole + "(2)}", ErrorCode::kSyntax, "(2) is a number, not a tuple"},
      {whole + "(2 3)}", ErrorCode::kSyntax, "expected ',' or ')', found '3'"},
      {whole + "(,)}", ErrorCode::kSyntax, "expected an extent, found ','"},
      {whole + "(2, -3)}", ErrorCode::kBadNumber, "the extent -3 is negative"},
      {whole + "(02, 3)}", ErrorCode::kBadNumber, "an extent begins with 0"},
      {whole + "(9223372036854775808,)}", ErrorCode::kBadNumber,
       "an extent does not fit a signed 64-bit integer"},
      {whole + "(4294967296, 4294967296)}", ErrorCode::kOverflow,
       "the number of elements of the array does not fit a signed 64-bit integer"},
      {whole + "(4611686018427387904,)}", ErrorCode::kOverflow,
       "the number of bytes of the array does not fit a signed 64-bit integer"},
      {many + ")}", ErrorCode::kRankTooLarge, "the array has more than 64 dims"},
  };
  for (const Bad& bad : cases) {
    const auto header = read(with_dictionary(bad.dictionary));
    ASSERT_FALSE(header) << bad.dictionary;
    EXPECT_EQ(header.error().code, bad.code) << bad.dictionary;
    EXPECT_EQ(header.error().message, bad.message) << bad.dictionary;
    EXPECT_FALSE(header.error().help.empty());
  }
}

TEST(Npy, FilesThatAreNone) {
  EXPECT_EQ(read("").error().message, "the file does not begin like a .npy file");
  EXPECT_EQ(read("PK\x03\x04").error().message, "the file does not begin like a .npy file");
  EXPECT_EQ(read(std::string("\x93NUMPY\x04\x00\x01\x00", 10)).error().message,
            "the file has the .npy version 4.0");
  EXPECT_EQ(read(std::string("\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF", 12)).error().message,
            "the header is 4294967295 bytes long");
  EXPECT_EQ(read(std::string("\x93NUMPY\x01\x00\xFF\x00{", 11)).error().message,
            "the file ends inside its header of 255 bytes");
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
