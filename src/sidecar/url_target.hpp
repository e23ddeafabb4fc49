// url_target: path and query of a request from templates and arguments, so that no argument can be
// anything but what stands in its place: every byte that is not unreserved is percent-encoded (RFC
// 3986 §2.1), and what could be taken for another path is refused.
//
// Thread-safety: immutable once parsed.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pillion/json.hpp>

#include "sidecar/text_template.hpp"

namespace pillion::sidecar {

// Appends the text with everything but A-Z, a-z, 0-9, "-", ".", "_" and "~" encoded.
void append_encoded(std::string_view text, std::string& to);

// Renders a template whose places hold plain values; each value is handed to `add`, which appends
// it to `to` and says whether it may be there.
using place_writer = bool (*)(std::string_view value, std::string& to);
bool render(const text_template& from, json::view arguments, place_writer add, std::string& to,
            std::string& fault);

// A value of a header field: visible characters, blanks and tabs (RFC 9110 §5.5).
bool add_field_text(std::string_view value, std::string& to);

class url_target {
 public:
    static constexpr std::size_t bytes_max = 16 * 1024;

    // `base` stands before the path: "/v1", or nothing.
    static bool parse(std::string_view base, std::string_view path,
                      const std::vector<std::pair<std::string, std::string>>& query, url_target& to,
                      std::string& fault);

    // False with a fault in words that names an argument.
    bool render(json::view arguments, std::string& to, std::string& fault) const;

 private:
    bool add_parameter(const std::string& name, const text_template& value, json::view arguments,
                       std::string& to, std::string& fault) const;

    std::string base_;
    std::vector<text_template> segments_;                       // of the path, between its slashes
    std::vector<std::pair<std::string, text_template>> query_;  // names are encoded
};

}  // namespace pillion::sidecar
