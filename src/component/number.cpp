// Numbers as a config writes them.
#include "component/number.h"

#include <fmt/core.h>

#include "lockstep/base/text.h"

namespace lockstep {
namespace {

struct Decimal {
  bool negative = false;
  std::string digits;      // without the point
  std::int64_t shift = 0;  // the value is digits * 10^shift
};

/// `[+-] digits [. digits] [e [+-] digits]`, with a digit somewhere before the exponent.
bool scan(std::string_view t, Decimal& d) {
  std::size_t i = 0;
  const auto digit = [&] { return i < t.size() && t[i] >= '0' && t[i] <= '9'; };
  if (i < t.size() && (t[i] == '+' || t[i] == '-')) d.negative = t[i++] == '-';
  while (digit()) d.digits += t[i++];
  if (i < t.size() && t[i] == '.') {
    for (++i; digit(); --d.shift) d.digits += t[i++];
  }
  if (d.digits.empty()) return false;
  if (i < t.size() && (t[i] == 'e' || t[i] == 'E')) {
    ++i;
    bool minus = false;
    if (i < t.size() && (t[i] == '+' || t[i] == '-')) minus = t[i++] == '-';
    if (!digit()) return false;
    std::int64_t exponent = 0;
    for (; digit(); ++i) exponent = exponent > 100000 ? exponent : exponent * 10 + (t[i] - '0');
    d.shift += minus ? -exponent : exponent;
  }
  return i == t.size();
}

}  // namespace

bool parse_config_double(std::string_view text, double& out, std::string& why) {
  Decimal d;
  if (!scan(text, d)) {
    why = "digits, '.', an exponent (1e-3) and a sign make a number";
    return false;
  }
  const auto value = parse_double(text);
  if (!value) {
    why = "a 64-bit float cannot hold it";
    return false;
  }
  out = *value;
  return true;
}

bool parse_config_int(std::string_view text, std::int64_t& out, std::string& why) {
  Decimal d;
  if (!scan(text, d)) {
    why = "digits and a sign make an integer";
    return false;
  }
  while (d.digits.size() > 1 && d.digits.front() == '0') d.digits.erase(0, 1);
  while (d.digits.size() > 1 && d.digits.back() == '0') {
    d.digits.pop_back();
    ++d.shift;
  }
  if (d.digits == "0") d.shift = 0;
  if (d.shift < 0) {
    why = "it has a fraction";
    return false;
  }
  if (d.shift > 19 || d.digits.size() + static_cast<std::size_t>(d.shift) > 19) {
    why = "an integer has 64 bits";
    return false;
  }
  const auto value = parse_int((d.negative ? "-" : "") + d.digits + std::string(static_cast<std::size_t>(d.shift), '0'));
  if (!value) {
    why = "an integer has 64 bits";
    return false;
  }
  out = *value;
  return true;
}

}  // namespace lockstep
