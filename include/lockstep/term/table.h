// Tables of text with aligned columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

enum class Align : std::uint8_t { left, right };

/// Two blanks between columns, no trailing blanks, a header line when any column has a name.
class Table {
 public:
  struct Column {
    std::string name;
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Adds a row; missing cells are empty, and more cells than columns are dropped. Cells are shown as one_line().
  void row(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  /// Every line ended by a newline.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace lockstep
