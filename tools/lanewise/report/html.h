// Parts of the page: a plot in two sizes with its figures as a table beside it.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace lanewise::program::report {

/// What a plot is drawn for. Each is drawn twice, and the style sheet shows the one that the window has room for: text
/// that shrinks with a drawing can't be read on a telephone.
struct Canvas {
  std::string id;
  double width;
  bool narrow;
};

struct Table {
  std::vector<std::string> heads;
  std::vector<std::vector<std::string>> rows;
  std::size_t words = 1;  ///< so many columns from the left are text; the rest figures, flush right
};
/// Empty where there are no rows.
std::string table_html(const Table& table);
/// The same, folded away under a line that says how many rows there are.
std::string folded_table_html(const Table& table, const std::string& what);

struct Figure {
  std::string id;  ///< unique on the page
  std::string title;
  std::string about;  ///< a sentence or two under the title: what is seen, and how it was measured
  std::function<std::string(const Canvas&)> draw;
  Table table;
};
std::string figure_html(const Figure& figure);

/// <p class="note">, escaped.
std::string note_html(const std::string& text);

}  // namespace lanewise::program::report
