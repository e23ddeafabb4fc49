// A text with the readable bytes behind it that the head parsers ask for.
#pragma once

#include <string>
#include <string_view>

#include "base/limits.hpp"

namespace pillion::http::testing {

class padded {
 public:
    explicit padded(std::string_view text) : bytes_(text), size_(text.size()) {
        bytes_.append(limits::padding, '\n');
    }
    char* data() { return bytes_.data(); }
    std::size_t size() const { return size_; }

 private:
    std::string bytes_;
    std::size_t size_;
};

}  // namespace pillion::http::testing
