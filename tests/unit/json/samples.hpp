// samples: documents and helpers shared by the JSON tests.
#pragma once

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <pillion/json.hpp>

#include "base/arena.hpp"
#include "base/byte_buffer.hpp"
#include "base/chunk.hpp"
#include "json/document.hpp"
#include "json/parser.hpp"
#include "json/writer.hpp"

namespace pillion::json::test {

inline constexpr std::string_view samples[] = {
    R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather","arguments":)"
    R"({"city":"Troms\u00f8","days":3,"units":["metric",null,true,false],"at":-12.5e-1}}})",
    "[ 1 , 2.50 , -0 , 1e5 , \"\\ud83d\\ude00 \\\"q\\\" \\\\ \\/ \\b\\f\\n\\r\\t\" ]\r\n\t ",
    "{\"na\xC3\xAFve\":\"\xE2\x82\xAC\xF0\x9F\x98\x80 text that is longer than one block\"}",
    "\"only a string, long enough for more than one vector of thirty-two bytes\"",
    R"([[[[[[]]]],{}],{"a":{"b":{"c":[{}]}}}])",
};

// The implementations that this machine can run.
inline std::vector<scan_variant> variants() {
    std::vector<scan_variant> all;
    for (const auto v : {scan_variant::portable, scan_variant::sse2, scan_variant::avx2}) {
        if (available(v)) {
            all.push_back(v);
        }
    }
    return all;
}

// What a parser made of an input.
struct judgement {
    parse_error::code error;
    std::size_t offset;
    std::string written;
    friend bool operator==(const judgement&, const judgement&) = default;
};

// Parses a copy that sits at the very end of a heap block (but for the padding), so that the
// address sanitizer sees every read too far. The padding tempts a parser to go on.
class padded {
 public:
    explicit padded(std::string_view text, char filler = '"')
        : size_(text.size()), bytes_(new char[text.size() + limits::padding]) {
        if (!text.empty()) {
            std::memcpy(bytes_.get(), text.data(), text.size());
        }
        std::memset(bytes_.get() + size_, filler, limits::padding);
    }
    padded(const padded&) = delete;
    padded& operator=(const padded&) = delete;
    ~padded() { memory_.release(); }

    parse_result parse(const parse_limits& bounds = {}) {
        return json::parse(bytes_.get(), size_, memory_, bounds);
    }
    parse_result parse(scan_variant v, const parse_limits& bounds = {},
                       object_memo* memo = nullptr) {
        return json::parse(bytes_.get(), size_, memory_, bounds, v, memo);
    }
    const char* data() const { return bytes_.get(); }

 private:
    std::size_t size_;
    std::unique_ptr<char[]> bytes_;
    base::chunk_pool pool_;
    base::arena memory_{pool_};
};

inline std::string written(view v) {
    base::chunk_pool pool;
    base::byte_buffer out(pool);
    writer(out).value(v);
    return std::string(out.view());
}

// The folder of shared data: $PILLION_SHARED, else beside the source tree.
inline std::filesystem::path shared_data() {
    if (const char* set = std::getenv("PILLION_SHARED")) {
        return std::filesystem::path(set) / "data";
    }
    return std::filesystem::path(__FILE__).parent_path() / "../../../../shared/data";
}

}  // namespace pillion::json::test
