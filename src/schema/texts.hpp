// texts: what a refused step is called towards the client. All texts are constants.
//
// Thread-safety: constants; any thread.
#pragma once

#include <string_view>

#include "schema/program.hpp"

namespace pillion::schema_check {

struct op_text {
    std::string_view keyword;
    std::string_view reason;
    std::string_view message;
    std::string_view detail{};  // between the message and values of the schema
};

// The texts of `code`.
const op_text& text_of(op code) noexcept;

}  // namespace pillion::schema_check
