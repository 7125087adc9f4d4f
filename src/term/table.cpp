// Tables of text with aligned columns.
#include "lockstep/term/table.h"

#include <algorithm>

#include "lockstep/term/text_width.h"

namespace lockstep {

void Table::row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = one_line(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<int> widths;
  bool header = false;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    int width = text_width(columns_[c].name);
    for (const auto& row : rows_) width = std::max(width, text_width(row[c]));
    widths.push_back(width);
    header = header || !columns_[c].name.empty();
  }
  std::string out;
  const auto line = [&](const auto& cell) {
    std::string text;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string& word = cell(c);
      const std::string pad(static_cast<std::size_t>(widths[c] - text_width(word)), ' ');
      if (c > 0) text += "  ";
      text += columns_[c].align == Align::right ? pad + word : word + pad;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  if (header) line([&](std::size_t c) -> const std::string& { return columns_[c].name; });
  for (const auto& row : rows_) line([&](std::size_t c) -> const std::string& { return row[c]; });
  return out;
}

}  // namespace lockstep
