// Matrices of a model, as the commands name and print them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "formats/matrix_view.h"
#include "gguf/escape.h"
#include "gguf/reader.h"

namespace lanewise::program {

/// Where an input lies that an argument names: "-" is the standard input.
inline std::string input_path(const std::string& name) { return name == "-" ? "/dev/stdin" : name; }
/// gguf::Model::open of an input_path(), with the path in every message; its files are inputs (note_input).
Result<gguf::Model> open_model(const std::string& name);
/// "NAME" or "NAME[i]".
Result<MatrixView> find_matrix(const gguf::Model& model, std::string_view name);
/// Calls visit(name, matrix) for every matrix of weights in the order of the file, those of a tensor of several as
/// "NAME[i]"; tensors of no elements have none. Stops where it gives false.
void for_each_matrix(const gguf::Model& model, const std::function<bool(const std::string&, const MatrixView&)>& visit);
/// A name of a file, safe to print.
inline std::string printable(std::string_view name) { return gguf::escape_for_terminal(name, 200); }

}  // namespace lanewise::program
