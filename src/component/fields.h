// Reading a map key by key; shared by groups and components.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/component/read.h"

namespace lockstep {

/// A struct whose fields a map may set.
struct Target {
  std::span<const Field> fields;
  void* value;
};

/// Reads the keys of `n` (null: none) into the targets. Keys in `beside` are another's and skipped; `at` is where a
/// missing key is reported. Keys that nobody knows are errors with the nearest name.
bool read_fields(std::span<const Target> targets, const Node* n, const Origin& at,
                 std::span<const std::string_view> beside, Reader& r);

/// Sets the reader's path and section for the life of the object.
class AtKey {
 public:
  AtKey(Reader& r, std::string_view key) : r_(r), path_(r.path), section_(r.section) { r.path = key_path(r.path, key); }
  ~AtKey() {
    r_.path = path_;
    r_.section = section_;
  }
  AtKey(const AtKey&) = delete;
  AtKey& operator=(const AtKey&) = delete;

 private:
  Reader& r_;
  std::string path_, section_;
};

/// `a, b, c`, cut after some.
std::string word_list(std::span<const std::string> words);

/// How a field's value prints on one line.
std::string value_text(const Type& type, const void* value);

}  // namespace lockstep
