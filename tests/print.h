// doctest printers for standard types that it would show as {?}.
#pragma once

#include <doctest/doctest.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::test {

template <class Range>
std::string show(const Range& items) {
  std::string out = "[";
  for (const auto& item : items) {
    if (out.size() > 1) out += ", ";
    out += doctest::toString(item).c_str();
  }
  return out + "]";
}

}  // namespace lockstep::test

namespace doctest {

template <class T>
struct StringMaker<std::vector<T>> {
  static String convert(const std::vector<T>& v) { return lockstep::test::show(v).c_str(); }
};
template <class T, std::size_t N>
struct StringMaker<std::span<T, N>> {
  static String convert(const std::span<T, N>& v) { return lockstep::test::show(v).c_str(); }
};
template <class T>
struct StringMaker<std::optional<T>> {
  static String convert(const std::optional<T>& v) { return v ? toString(*v) : String("nothing"); }
};
template <>
struct StringMaker<std::string_view> {
  static String convert(const std::string_view& v) { return std::string(v).c_str(); }
};

}  // namespace doctest
