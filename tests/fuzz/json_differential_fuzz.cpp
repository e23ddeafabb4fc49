// Any bytes through our parser on every kind of vectors, simdjson and nlohmann-json: all must agree
// on what is JSON and on every value of it.
//
// Where they may differ: we refuse byte order marks (nlohmann-json skips one), NUL behind a value
// (where nlohmann-json stops reading), every lone surrogate (simdjson 3.0 lets low ones pass) and
// what goes beyond our limits; we keep numbers that have no
// double and integers of any size, which simdjson refuses and nlohmann-json rounds or refuses.
#include <simdjson.h>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/arena.hpp"
#include "base/byte_buffer.hpp"
#include "base/chunk.hpp"
#include "json/parser.hpp"
#include "json/writer.hpp"

using namespace pillion;

namespace {

using code = json::parse_error::code;
using json::scan_variant;

void require(bool fact) {
    if (!fact) {
        std::abort();
    }
}

std::unique_ptr<char[]> padded(std::string_view text) {
    std::unique_ptr<char[]> bytes(new char[text.size() + limits::padding]);
    if (!text.empty()) {
        std::memcpy(bytes.get(), text.data(), text.size());
    }
    std::memset(bytes.get() + text.size(), text.empty() ? '"' : text.back(), limits::padding);
    return bytes;
}

// Whether all numbers below `v` have a value that fits a double, and all integers 64 bits.
bool fits(json::view v) {
    if (v.is_number() && (!v.f64() || (v.is_integer() && !v.i64() && !v.u64()))) {
        return false;
    }
    for (const json::view e : v.elements()) {
        if (!fits(e)) {
            return false;
        }
    }
    for (const json::member m : v.members()) {
        if (!fits(m.value)) {
            return false;
        }
    }
    return true;
}

void compare(json::view ours, simdjson::dom::element theirs) {
    using type = simdjson::dom::element_type;
    switch (theirs.type()) {
        case type::OBJECT: {
            require(ours.is_object());
            auto at = ours.members().begin();
            for (const auto field : simdjson::dom::object(theirs)) {
                require(at != ours.members().end() && (*at).key == field.key);
                compare((*at).value, field.value);
                ++at;
            }
            require(at == ours.members().end());
            return;
        }
        case type::ARRAY: {
            require(ours.is_array());
            auto at = ours.elements().begin();
            for (const auto element : simdjson::dom::array(theirs)) {
                require(at != ours.elements().end());
                compare(*at, element);
                ++at;
            }
            require(at == ours.elements().end());
            return;
        }
        case type::STRING:
            return require(ours.is_string() && ours.str() == std::string_view(theirs));
        case type::INT64:
            return require(ours.is_integer() && ours.i64() == std::int64_t(theirs));
        case type::UINT64:
            return require(ours.is_integer() && ours.u64() == std::uint64_t(theirs));
        case type::DOUBLE:
            return require(ours.is_number() && !ours.is_integer() && ours.f64() == double(theirs));
        case type::BOOL:
            return require(ours.is_bool() && ours.boolean() == bool(theirs));
        case type::NULL_VALUE:
            return require(ours.is_null());
    }
}

// `theirs` keeps the last of members of the same name.
void compare(json::view ours, const nlohmann::json& theirs) {
    using type = nlohmann::json::value_t;
    switch (theirs.type()) {
        case type::object:
            require(ours.is_object() && theirs.size() <= ours.size());
            for (const json::member m : ours.members()) {
                require(theirs.contains(std::string(m.key)));
            }
            for (const auto& [key, value] : theirs.items()) {
                compare(ours[key], value);
            }
            return;
        case type::array: {
            require(ours.is_array() && theirs.size() == ours.size());
            auto at = ours.elements().begin();
            for (const auto& element : theirs) {
                compare(*at, element);
                ++at;
            }
            return;
        }
        case type::string:
            return require(ours.is_string() && ours.str() == theirs.get_ref<const std::string&>());
        case type::number_integer:
            return require(ours.i64() == theirs.get<std::int64_t>());
        case type::number_unsigned:
            return require(ours.u64() == theirs.get<std::uint64_t>());
        case type::number_float:
            return require(ours.is_number() && ours.f64() == theirs.get<double>());
        case type::boolean:
            return require(ours.is_bool() && ours.boolean() == theirs.get<bool>());
        case type::null:
            return require(ours.is_null());
        default:
            return require(false);
    }
}

// The verdict of one implementation, and what it made of the input.
struct verdict {
    json::parse_error error;
    std::string written;
};

verdict judge(std::string_view text, scan_variant v, base::chunk_pool& pool) {
    base::arena memory(pool);
    const auto bytes = padded(text);
    const json::parse_result parsed = json::parse(bytes.get(), text.size(), memory, {}, v);
    base::byte_buffer out(pool);
    if (parsed.ok) {
        json::writer(out).value(parsed.root);
    }
    return {parsed.error, std::string(out.view())};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    base::chunk_pool pool;
    const verdict portable = judge(text, scan_variant::portable, pool);
    for (const auto v : {scan_variant::sse2, scan_variant::avx2}) {
        if (json::available(v)) {
            const verdict other = judge(text, v, pool);
            require(other.error.kind == portable.error.kind);
            require(other.error.offset == portable.error.offset);
            require(other.written == portable.written);
        }
    }
    base::arena memory(pool);
    const auto bytes = padded(text);
    const json::parse_result ours = json::parse(bytes.get(), size, memory);
    require(ours.error.kind == portable.error.kind);

    static simdjson::dom::parser parser;
    simdjson::dom::element first;
    // simdjson copies from the pointer, which must not be null even for nothing.
    const char* const begin = size == 0 ? "" : text.data();
    const bool first_ok = parser.parse(begin, size).get(first) == simdjson::SUCCESS;
    const nlohmann::json second = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
    if (!ours.ok) {
        const code kind = ours.error.kind;
        const bool limit = kind == code::depth || kind == code::nodes;
        require(!first_ok || limit || kind == code::lone_surrogate);
        const bool nul = kind == code::trailing_bytes && text[ours.error.offset] == '\0';
        require(second.is_discarded() || limit || nul || kind == code::byte_order_mark);
        return 0;
    }
    const bool ordinary = fits(ours.root);
    require(first_ok || !ordinary);
    require(!second.is_discarded() || !ordinary);
    if (first_ok) {
        compare(ours.root, first);
    }
    if (!second.is_discarded()) {
        compare(ours.root, second);
    }
    return 0;
}
