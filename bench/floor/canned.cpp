#include "canned.hpp"

#include <strings.h>
#include <charconv>

namespace pillion::floor {

std::string make_answer(std::size_t bytes) {
    std::string head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ";
    constexpr std::string_view end_of_head = "\r\n\r\n";
    const std::size_t fixed = head.size() + end_of_head.size();
    // A body is a JSON string. Its size takes more or fewer digits; blanks before it are allowed
    // (RFC 9110 §5.5), so that any size of the whole can be had.
    for (std::size_t digits = 1; bytes >= fixed + digits + 2; ++digits) {
        const std::size_t body = bytes - fixed - digits;
        const std::string number = std::to_string(body);
        if (number.size() <= digits) {
            head.append(digits - number.size(), ' ').append(number).append(end_of_head);
            return head + '"' + std::string(body - 2, 'a') + '"';
        }
    }
    return {};
}

std::size_t request_bytes(std::string_view text) noexcept {
    constexpr std::string_view name = "\r\ncontent-length:";
    const std::size_t end = text.find("\r\n\r\n");
    if (end == std::string_view::npos) {
        return 0;
    }
    std::size_t body = 0;
    for (std::size_t at = 0; (at = text.find("\r\n", at)) < end; at += 2) {
        if (::strncasecmp(text.data() + at, name.data(), name.size()) == 0) {
            const char* number = text.data() + at + name.size();
            number += *number == ' ' ? 1 : 0;
            std::from_chars(number, text.data() + end, body);
        }
    }
    return end + 4 + body;
}

}  // namespace pillion::floor
