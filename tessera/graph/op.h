// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The table of ops. An op is one entry: its name, how many inputs and outputs it has, its
/// attributes with their defaults, its type rule and its arithmetic. Everything else (checking,
/// JSON, printing, documentation, import) reads the table, so a new op is one new entry.
///
/// Law: the types of a node's outputs are a function of the types of its inputs and of its
/// attributes, never of data. What decides a shape in other formats as data (the shape of a
/// reshape, the axes of a reduction, k of top-k) is an attribute here.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/base/result.h"
#include "tessera/base/shape.h"

namespace tessera::graph {

/// A constant of a node: a number, a text or a list of numbers. Booleans are 0 and 1, element types
/// are texts ("f32").
using Attribute =
    std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>>;

/// The alternatives of Attribute, in its order.
enum class AttributeKind : std::uint8_t { kInteger, kReal, kText, kIntegers, kReals };

AttributeKind kind_of(const Attribute& attribute);
/// "an integer", "a number", "a text", "a list of integers", "a list of numbers".
std::string_view kind_text(AttributeKind kind);
/// As printed: 3, 1e-05, "f32", [1, 1].
std::string to_string(const Attribute& attribute);
/// Equal kinds and bits, so that a NaN equals itself and 0.0 differs from -0.0, as in JSON and in
/// hashes.
bool is_same(const Attribute& a, const Attribute& b);

/// The attributes of a node by name, in the order of names, so that equal sets are equal lists.
/// Example: Attributes{{"axis", std::int64_t{1}}, {"to", "f16"}}.
class Attributes {
 public:
  using Item = std::pair<std::string, Attribute>;

  Attributes() = default;
  Attributes(std::initializer_list<Item> items);

  /// Adds an attribute, or replaces the one of this name.
  void set(std::string_view name, Attribute value);
  /// The attribute of this name; null without one.
  const Attribute* find(std::string_view name) const;

  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

  friend bool operator==(const Attributes& a, const Attributes& b);

 private:
  std::vector<Item> items_;
};

/// What a value is, without its elements.
struct TensorType {
  Shape shape;
  DType dtype = DType::kF32;

  /// "f32[2, 3]".
  std::string to_string() const;
  /// Bytes of all elements. `check` has made sure that they fit an int64.
  std::int64_t bytes() const;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};
using Types = std::vector<TensorType>;

/// What a group of ops does; drawings and pages are sorted by it.
enum class Family : std::uint8_t {
  kElementwise,  ///< element x of the output needs only the elements of its inputs at x
  kReduction,
  kContraction,
  kNormalization,
  kWindow,
  kMovement,  ///< elements change places, not values
  kCreation,
  kOther,
};
std::string_view family_name(Family family);

/// Between `least` and `most` inputs or outputs.
struct Arity {
  std::size_t least = 1;
  std::size_t most = 1;
};
inline constexpr std::size_t kAnyNumber = SIZE_MAX;

struct AttributeRule {
  std::string_view name;
  AttributeKind kind = AttributeKind::kInteger;
  bool required = false;
  std::optional<Attribute> otherwise = {};  ///< the default; nullopt: the rule says what it means
};

class Call;

struct OpRule {
  std::string_view name;  ///< lower case with underscores, as in JSON
  Family family = Family::kOther;
  Arity inputs;
  Arity outputs;
  std::vector<AttributeRule> attributes;
  Result<Types> (*infer)(const Call& call) = nullptr;
  /// Operations on numbers: a multiplication and an addition are two. Null: `per_element` for each
  /// element of the first output.
  std::int64_t (*flops)(const Call& call, const Types& outputs) = nullptr;
  std::int64_t per_element = 0;
  bool is_view = false;  ///< the output has the elements of input 0 in the same order
  bool is_open = false;  ///< accepts attributes that `attributes` does not list
};

/// A reference to an entry of the table; cheap to copy.
class Op {
 public:
  /// The op of this name; nullopt if the table has none.
  static std::optional<Op> find(std::string_view name);

  const OpRule& rule() const { return *rule_; }
  std::string_view name() const { return rule_->name; }
  bool is(std::string_view name) const { return rule_->name == name; }
  /// By name: a module that is loaded has a table of its own.
  friend bool operator==(Op a, Op b) {
    return a.rule_ == b.rule_ || a.rule_->name == b.rule_->name;
  }

 private:
  explicit Op(const OpRule* rule) : rule_(rule) {}
  const OpRule* rule_;
};

/// Every entry, by family and name.
const std::vector<OpRule>& all_ops();

/// One use of an op: what a rule sees.
class Call {
 public:
  /// `inputs` has null pointers for inputs that are left out. `declared` are the types that a file
  /// states for the outputs, if any; only ops without a rule of their own use them.
  Call(Op op, std::span<const TensorType* const> inputs, const Attributes& attributes,
       std::size_t outputs, std::span<const TensorType* const> declared = {})
      : op_(op),
        inputs_(inputs),
        attributes_(&attributes),
        outputs_(outputs),
        declared_(declared) {}

  Op op() const { return op_; }
  const Attributes& attributes() const { return *attributes_; }
  std::size_t inputs() const { return inputs_.size(); }
  std::size_t outputs() const { return outputs_; }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  const TensorType& type(std::size_t i) const { return *inputs_[i]; }
  const Shape& shape(std::size_t i) const { return inputs_[i]->shape; }
  DType dtype(std::size_t i) const { return inputs_[i]->dtype; }
  std::span<const TensorType* const> declared() const { return declared_; }

  /// Attributes, or their defaults, or 0, "" and {}. `check_call` has checked their kinds.
  bool given(std::string_view name) const { return attribute(name) != nullptr; }
  std::int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  std::string_view text(std::string_view name) const;
  const std::vector<std::int64_t>& integers(std::string_view name) const;
  const std::vector<double>& reals(std::string_view name) const;

 private:
  const Attribute* attribute(std::string_view name) const;

  Op op_;
  std::span<const TensorType* const> inputs_;
  const Attributes* attributes_;
  std::size_t outputs_;
  std::span<const TensorType* const> declared_;
};

/// The types of a call's outputs. Errors name the op: kBadNode for wrong numbers of inputs or
/// outputs, inputs that are left out but needed, attributes that are unknown, missing, of another
/// kind or out of range; kShapeMismatch with both shapes; kBadDType; kOverflow and kRankTooLarge
/// for outputs that are too large.
/// Example: matmul of f32[2, 3] and f32[3, 4] is f32[2, 4].
Result<Types> infer(const Call& call);

/// The arithmetic of a call whose outputs have these types, INT64_MAX if it does not fit.
std::int64_t flops_of(const Call& call, const Types& outputs);

}  // namespace tessera::graph
