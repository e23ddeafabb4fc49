// json_samples: the documents of json_bench, made the same way on every run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace pillion::bench {

// A `tools/call` of `echo` with 190 bytes of text (290 bytes in all).
inline std::string call_300() {
    std::string text;
    for (int i = 0; i < 190; ++i) {
        text += static_cast<char>('a' + i % 26);
    }
    return R"({"jsonrpc":"2.0","id":100001,"method":"tools/call","params":{"name":"echo",)"
           R"("arguments":{"text":")" +
           text + "\"}}}";
}

// A `tools/call` of 2026-07-28 of about the same size with short values in place of one long one.
inline std::string call_dense() {
    return R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{)"
           R"("progressToken":"p7","io.modelcontextprotocol/protocolVersion":"2026-07-28"},)"
           R"("name":"find_flights","arguments":{"from":"OSL","to":"TOS","adults":2,"bags":[1,1],)"
           R"("price_max":149.5,"direct":true,"return":null,"class":"economy"}}})";
}

// A `tools/list` result of 40 tools, about 10 KB.
inline std::string list_10k() {
    std::string text = R"({"jsonrpc":"2.0","id":2,"result":{"tools":[)";
    for (int i = 0; i < 40; ++i) {
        const std::string number = std::to_string(i);
        text += i == 0 ? "" : ",";
        text += R"({"name":"tool_)" + number + R"(","description":"Does the thing number )" +
                number +
                R"( and says how it went.","inputSchema":{"type":"object","properties":{"city":)"
                R"({"type":"string","maxLength":64},"days":{"type":"integer","minimum":1}},)"
                R"("required":["city"]}})";
    }
    return text + "]}}";
}

// Rows of short strings, numbers, arrays, literals and an escape, just below 1 MiB.
inline std::string mixed_1m() {
    std::string text =
        R"({"jsonrpc":"2.0","id":100001,"method":"tools/call","params":{"name":"echo",)"
        R"("arguments":{"rows":[)";
    for (int i = 0; text.size() < (std::size_t{1} << 20) - 200; ++i) {
        const std::string number = std::to_string(i);
        text += i == 0 ? "" : ",";
        text += R"({"id":)" + number + R"(,"name":"product number )" + number + R"(","price":)" +
                std::to_string(i % 1000) +
                R"(.25,"tags":["new","caf\u00e9","sale"],"stock":true,"note":null})";
    }
    return text + R"(],"text":"end"}}})";
}

// An object whose names have lengths that nothing foretells, with short numbers.
inline std::string map_64k() {
    std::string text = "{";
    for (std::uint32_t i = 0, random = 1; text.size() < 64 * 1024; ++i) {
        random = random * 1664525 + 1013904223;
        text += (i == 0 ? "\"" : ",\"") + std::string(2 + (random >> 28), 'k') +
                "\":" + std::to_string(i % 1000);
    }
    return text + "}";
}

// A `tools/call` whose one argument is `text`, which is JSON already.
inline std::string call_with(const std::string& text) {
    return R"({"jsonrpc":"2.0","id":100001,"method":"tools/call","params":{"name":"echo",)"
           R"("arguments":{"text":")" +
           text + "\"}}}";
}

// `piece` again and again up to `bytes`, never cut.
inline std::string repeated(const std::string& piece, std::size_t bytes) {
    std::string text;
    while (text.size() + piece.size() <= bytes) {
        text += piece;
    }
    return text;
}

inline std::string string_32k() { return call_with(std::string(32 * 1024, 'x')); }
inline std::string cyrillic_32k() {
    return call_with(repeated("\xD0\x9F\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82 ", 32 * 1024));
}
// A log or source file: an escape every 40 bytes.
inline std::string lines_32k() {
    return call_with(repeated(R"(    const int value = next(\"thing\");\n)", 32 * 1024));
}

}  // namespace pillion::bench
