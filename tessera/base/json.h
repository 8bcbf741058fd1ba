// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tessera {

/// A JSON value: null, a boolean, a number, a text, an array, or an object whose members keep the
/// order in which they were added. Small enough to be included anywhere. It has no parser; see for
/// instance tools/json/json.h.
///
///     Json json;                                  // null, which the first key makes an object
///     json["shape"] = std::vector{53, 63};
///     json["tile"] = std::optional<int>();        // nothing is null
///     json["fill"] = Json::array();
///     json["fill"].push_back({{"axis", 0}, {"kind", "fixed"}});
///     dump(json)  ==  {"shape":[53,63],"tile":null,"fill":[{"axis":0,"kind":"fixed"}]}
///
/// Reading never fails: a missing key, index or member is null. Only `get` and the functions that
/// change a value have a precondition, which is asserted.
class Json {
 public:
  struct Member;

  Json();
  Json(std::nullptr_t) : Json() {}
  /// Integers are stored exactly; one that fits std::int64_t has the same value for every source
  /// type.
  template <std::integral T>
  Json(T value) : Json() {
    if constexpr (std::same_as<T, bool>) {
      set_boolean(value);
    } else if (std::in_range<std::int64_t>(value)) {
      set_integer(static_cast<std::int64_t>(value));
    } else {
      set_large_integer(static_cast<std::uint64_t>(value));
    }
  }
  template <std::floating_point T>
  Json(T value) : Json() {
    set_real(static_cast<double>(value));
  }
  template <std::convertible_to<std::string_view> T>
  Json(const T& text) : Json() {
    set_text(text);
  }
  template <typename T>
  Json(const std::vector<T>& items) : Json() {
    set_array(items.size());
    for (const T& item : items) push_back(item);
  }
  template <typename T>
  Json(const std::optional<T>& value) : Json() {
    if (value) *this = Json(*value);
  }
  /// An object if every item is an array of two items of which the first is a text, else an array.
  /// Example: Json{{"a", 1}, {"b", 2}} is {"a":1,"b":2}, and Json{1, 2} is [1,2].
  /// `array` makes an array of anything.
  Json(std::initializer_list<Json> items);

  static Json array(std::initializer_list<Json> items = {});
  static Json object();

  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  bool is_null() const;
  bool is_boolean() const;
  bool is_integer() const;  ///< a number that was given as an integer and fits std::int64_t
  bool is_string() const;
  bool is_array() const;
  bool is_object() const;
  /// "null", "boolean", "number", "string", "array" or "object".
  std::string_view kind_name() const;

  /// The value as bool, an integer type, double, std::string, or a vector of those. It must be of
  /// that kind and in that range; a double may be read from any number.
  template <typename T>
  T get() const {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::same_as<T, bool>) {
      return boolean();
    } else if constexpr (std::signed_integral<T>) {
      return static_cast<T>(integer(Limits::min(), Limits::max()));
    } else if constexpr (std::unsigned_integral<T>) {
      return static_cast<T>(natural(Limits::max()));
    } else if constexpr (std::same_as<T, double>) {
      return real();
    } else if constexpr (std::same_as<T, std::string>) {
      return text();
    } else {
      assert(is_array());
      T list;
      for (const Json& item : *this) list.push_back(item.get<typename T::value_type>());
      return list;
    }
  }

  /// The size of an array or an object; 0 for other kinds.
  std::size_t size() const;
  bool empty() const { return size() == 0; }

  /// The value of a key, or a null pointer.
  const Json* find(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  const Json& operator[](std::string_view key) const;
  /// Adds the key if it is missing. This must be an object, or null, which becomes one. The
  /// reference is valid until the next key is added.
  Json& operator[](std::string_view key);
  /// The members of an object in order; none for other kinds.
  /// Example: for (const auto& [key, value] : json.members()) ..
  const std::vector<Member>& members() const;

  const Json& operator[](std::size_t index) const;
  Json& operator[](std::size_t index);  ///< of an array that is longer than `index`
  /// This must be an array, or null, which becomes one.
  void push_back(Json item);
  /// The items of an array; none for other kinds.
  const Json* begin() const;
  const Json* end() const;

  /// Same kind, same value, same order of keys. 1 and 1.0 differ, like their texts.
  friend bool operator==(const Json& a, const Json& b);
  friend std::ostream& operator<<(std::ostream& out, const Json& json);
  friend void dump(const Json& json, std::string& out);

 private:
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;

  static const Json& null();

  void set_boolean(bool value);
  void set_integer(std::int64_t value);
  void set_large_integer(std::uint64_t value);  ///< one that does not fit std::int64_t
  void set_real(double value);
  void set_text(std::string_view value);
  void set_array(std::size_t reserved);

  // What `get` reads. If asserts are off, a value of another kind reads as false, 0, "" or an empty
  // list.
  bool boolean() const;
  std::int64_t integer(std::int64_t least, std::int64_t most) const;
  std::uint64_t natural(std::uint64_t most) const;
  double real() const;
  const std::string& text() const;

  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Array,
               Object>
      value_;
};

struct Json::Member {
  std::string key;
  Json value;

  bool operator==(const Member&) const = default;
};

/// The text of a value, in one line without spaces. A real number is printed with the fewest digits
/// that read back as the same value, and with a point or an exponent; a number that is not finite
/// prints as null. Bytes that are not UTF-8 print as U+FFFD.
/// Example: dump(Json{1, 2.0, 1e300, "a\n"}) is [1,2.0,1e+300,"a\n"].
std::string dump(const Json& json);
/// Appends the same text to `out`.
void dump(const Json& json, std::string& out);

}  // namespace tessera
