// Framing cases from RFC 9112 and from what is known of request smuggling: one table for the parser
// tests here and for tests that throw the same bytes over a real socket.
//
// A case is what one client sends on one connection. The tables are in framing_cases_head.hpp
// (request line and field syntax) and framing_cases_body.hpp (Host, body framing, smuggling).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pillion::http::testing {

struct framing_case {
    const char* name;
    std::string raw;
    int status;    // of the refusal; 0: nothing is refused
    int requests;  // complete requests (head and body) before the end or the refusal
};

// A string with embedded NULs kept: from a literal.
template <std::size_t Size>
std::string bytes(const char (&literal)[Size]) {
    return std::string(literal, Size - 1);
}

// `count` times `text`.
inline std::string times(std::size_t count, std::string_view text) {
    std::string all;
    for (std::size_t i = 0; i < count; ++i) {
        all += text;
    }
    return all;
}

// A GET with the request target `target`.
inline std::string get(std::string_view target) {
    return "GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n\r\n";
}

// A GET with the request line `line`.
inline std::string with_line(std::string_view line) {
    return std::string(line) + "\r\nHost: a\r\n\r\n";
}

// A GET with the field lines `lines`, each with its line end, beside Host.
inline std::string with_fields(std::string_view lines) {
    return "GET / HTTP/1.1\r\nHost: a\r\n" + std::string(lines) + "\r\n";
}

// A POST with the framing fields `fields` (with line ends) and the bytes `body` behind the head.
inline std::string post(std::string_view fields, std::string_view body) {
    return "POST /mcp HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n" + std::string(body);
}

// A chunked POST with the encoded body `body`.
inline std::string chunked(std::string_view body) {
    return post("Transfer-Encoding: chunked\r\n", body);
}

}  // namespace pillion::http::testing

#include "framing_cases_body.hpp"
#include "framing_cases_head.hpp"

namespace pillion::http::testing {

// All cases.
inline std::vector<framing_case> framing_cases() {
    std::vector<framing_case> all = request_line_cases();
    for (auto part : {field_cases(), host_cases(), length_cases(), transfer_coding_cases(),
                      chunk_cases(), connection_cases()}) {
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}

}  // namespace pillion::http::testing
