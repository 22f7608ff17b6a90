// lanewise.hpp without exceptions: the functions that take an lw_error remain.
#include <lanewise/lanewise.hpp>

lw_status header_no_exceptions(const char* path);
lw_status header_no_exceptions(const char* path) {
  lw_error error = lw::make_error();
  const lw::Model model = lw::Model::open(path, error);
  return model ? LW_OK : error.code;
}
