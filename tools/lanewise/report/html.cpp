#include "report/html.h"

#include <fmt/format.h>

#include "report/text.h"

namespace lanewise::program::report {

std::string table_html(const Table& table) {
  if (table.rows.empty()) return {};
  std::string out = "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>";
  const auto css = [&](std::size_t column) { return column < table.words ? "" : " class=\"n\""; };
  for (std::size_t i = 0; i < table.heads.size(); ++i) {
    out += fmt::format("<th scope=\"col\"{}>{}</th>", css(i), escape(table.heads[i]));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) out += fmt::format("<td{}>{}</td>", css(i), escape(row[i]));
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table></div>\n";
}

std::string folded_table_html(const Table& table, const std::string& what) {
  if (table.rows.empty()) return {};
  return fmt::format("<details><summary>{} ({} {})</summary>\n{}</details>\n", escape(what), table.rows.size(),
                     table.rows.size() == 1 ? "row" : "rows", table_html(table));
}

std::string figure_html(const Figure& figure) {
  constexpr double wide = 960;
  constexpr double narrow = 360;
  return fmt::format(
      "<figure id=\"{0}\">\n<figcaption><h3>{1}</h3><p>{2}</p></figcaption>\n<div class=\"wide\">\n{3}</div>\n"
      "<div class=\"narrow\">\n{4}</div>\n{5}</figure>\n",
      escape(figure.id), escape(figure.title), escape(figure.about), figure.draw({figure.id + "-w", wide, false}),
      figure.draw({figure.id + "-n", narrow, true}), folded_table_html(figure.table, "The figures as a table"));
}

std::string note_html(const std::string& text) { return fmt::format("<p class=\"note\">{}</p>\n", escape(text)); }

}  // namespace lanewise::program::report
