// What the writer and the builder make of any strings and numbers reads back as the same values.
//
// An input is a program: each byte chooses a step, and strings and numbers are the bytes behind it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.hpp"
#include "base/byte_buffer.hpp"
#include "base/chunk.hpp"
#include "base/utf8.hpp"
#include "json/parser.hpp"
#include "json/writer.hpp"

using namespace pillion;

namespace {

void require(bool fact) {
    if (!fact) {
        std::abort();
    }
}

class input {
 public:
    input(const std::uint8_t* data, std::size_t size)
        : rest_(reinterpret_cast<const char*>(data), size) {}
    bool done() const { return rest_.empty(); }
    std::string_view bytes(std::size_t count) {
        const std::string_view taken = rest_.substr(0, count);
        rest_.remove_prefix(taken.size());
        return taken;
    }
    std::uint8_t byte() { return done() ? 0 : static_cast<std::uint8_t>(bytes(1)[0]); }
    // A heap block of its exact size, so that every read outside is seen.
    std::vector<char> text() {
        const std::string_view taken = bytes(byte());
        return {taken.begin(), taken.end()};
    }
    template <class Number>
    Number number() {
        Number value{};
        const std::string_view taken = bytes(sizeof(value));
        std::memcpy(&value, taken.data(), taken.size());
        return value;
    }

 private:
    std::string_view rest_;
};

std::string repaired(std::string_view text) {
    std::string out;
    base::utf8::sanitize(text, out);
    return out;
}

// One value as it was asked for, to compare with what is read back.
struct expected {
    enum class what : std::uint8_t { string, integer, unsigned_integer, number, boolean, null };
    what type;
    std::string text = {};
    std::int64_t integer = 0;
    std::uint64_t unsigned_integer = 0;
    double number = 0;
};

expected write_step(json::writer& w, json::builder& b, input& in) {
    switch (in.byte() % 6) {
        case 0: {
            const std::vector<char> raw = in.text();
            const std::string_view text(raw.data(), raw.size());
            const std::string good = repaired(text);
            // Valid text must come out of both forms alike.
            if (good == text) {
                w.string(text);
            } else {
                w.string_lossy(text);
            }
            b.value(text);
            return {.type = expected::what::string, .text = good};
        }
        case 1: {
            const auto value = in.number<std::int64_t>();
            w.integer(value);
            b.value(value);
            return {.type = expected::what::integer, .integer = value};
        }
        case 2: {
            const auto value = in.number<std::uint64_t>();
            w.unsigned_integer(value);
            b.value(value);
            return {.type = expected::what::unsigned_integer, .unsigned_integer = value};
        }
        case 3: {
            const auto value = in.number<double>();
            w.number(value);
            b.value(value);
            return std::isfinite(value) ? expected{.type = expected::what::number, .number = value}
                                        : expected{.type = expected::what::null};
        }
        case 4: {
            const bool truth = in.byte() % 2 == 0;
            w.boolean(truth);
            b.value(truth);
            return {.type = expected::what::boolean, .integer = truth ? 1 : 0};
        }
        default:
            w.null();
            b.value(nullptr);
            return {.type = expected::what::null};
    }
}

void compare(json::view v, const expected& e) {
    switch (e.type) {
        case expected::what::string:
            return require(v.is_string() && v.str() == e.text);
        case expected::what::integer:
            return require(v.i64() == e.integer);
        case expected::what::unsigned_integer:
            return require(v.u64() == e.unsigned_integer);
        case expected::what::number: {
            const double read = v.f64().value_or(std::nan(""));
            return require(std::memcmp(&read, &e.number, sizeof(read)) == 0);
        }
        case expected::what::boolean:
            return require(v.is_bool() && v.boolean() == (e.integer == 1));
        case expected::what::null:
            return require(v.is_null());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    input in(data, size);
    base::chunk_pool pool;
    base::arena memory(pool);
    base::byte_buffer out(pool);
    json::writer w(out);
    json::builder b;
    std::vector<expected> all;
    w.begin_array();
    b.begin_array();
    while (!in.done()) {
        all.push_back(write_step(w, b, in));
        // Some values become members, under a name of any bytes.
        if (all.back().type == expected::what::string) {
            w.begin_object();
            w.key(all.back().text);
            w.null();
            w.end_object();
            b.begin_object().key(all.back().text).value(nullptr).end_object();
        }
    }
    w.end_array();
    b.end_array();
    const std::string text(out.view());
    require(text == b.text());
    require(text.find_first_of("\r\n") == std::string::npos && base::utf8::validate(text));

    std::string bytes = text + std::string(limits::padding, '\\');
    const json::parse_result parsed = json::parse(bytes.data(), text.size(), memory);
    require(parsed.ok);
    auto at = parsed.root.elements().begin();
    for (const expected& e : all) {
        require(at != parsed.root.elements().end());
        compare(*at++, e);
        if (e.type == expected::what::string) {
            require((*at).is_object() && (*at).size() == 1 && (*at)[e.text].is_null());
            ++at;
        }
    }
    require(at == parsed.root.elements().end());
    // The tree written again is the text it came from.
    out.clear();
    json::writer(out).value(parsed.root);
    require(out.view() == text);
    return 0;
}
