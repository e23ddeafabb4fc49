// Any bytes: parse, write, parse again, compare. All implementations of the scans must agree.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.hpp"
#include "base/byte_buffer.hpp"
#include "base/chunk.hpp"
#include "base/utf8.hpp"
#include "json/escape.hpp"
#include "json/object_memo.hpp"
#include "json/parser.hpp"
#include "json/pointer.hpp"
#include "json/string_scan.hpp"
#include "json/writer.hpp"

using namespace pillion;

namespace {

void require(bool fact) {
    if (!fact) {
        std::abort();
    }
}

// A copy with readable padding, whose bytes depend on the input so that they are hostile too.
std::unique_ptr<char[]> padded(std::string_view text) {
    std::unique_ptr<char[]> bytes(new char[text.size() + limits::padding]);
    if (!text.empty()) {
        std::memcpy(bytes.get(), text.data(), text.size());
    }
    std::memset(bytes.get() + text.size(), text.empty() ? '"' : text.back(), limits::padding);
    return bytes;
}

void compare_scans(std::string_view text) {
    const auto bytes = padded(text);
    const char* const at = bytes.get();
    const char* const end = at + text.size();
    const auto base_run = json::find_string_end(at, end, json::scan_variant::portable);
    const char* const base_token = json::find_token(at, end, json::scan_variant::portable);
    std::vector<char> copy(text.size());
    const char* const base_plain =
        json::copy_plain(at, end, copy.data(), json::scan_variant::portable);
    for (const auto v : {json::scan_variant::sse2, json::scan_variant::avx2}) {
        if (json::available(v)) {
            const auto run = json::find_string_end(at, end, v);
            require(run.end == base_run.end && run.non_ascii == base_run.non_ascii);
            require(json::find_token(at, end, v) == base_token);
            require(json::copy_plain(at, end, copy.data(), v) == base_plain);
            require(std::equal(at, base_plain, copy.data()));
        }
    }
    if (base::utf8::available(base::utf8::variant::avx2)) {
        require(base::utf8::valid_prefix(text, base::utf8::variant::avx2) ==
                base::utf8::valid_prefix(text, base::utf8::variant::scalar));
    }
}

// Every value can be read, and the pointer of one of them leads back to it.
std::size_t walk(json::view v) {
    std::size_t sum = v.str().size() + v.number_text().size() + (v.f64() ? 1 : 0);
    require(!v.i64() || v.integral() == v.i64());
    for (const json::view e : v.elements()) {
        sum += walk(e);
    }
    for (const json::member m : v.members()) {
        require(v[m.key].exists());
        sum += m.key.size() + walk(m.value);
    }
    return sum;
}

// The first member that is an object, anywhere.
json::member object_in(json::view v) {
    for (const json::view e : v.elements()) {
        if (const json::member found = object_in(e); found.value.exists()) {
            return found;
        }
    }
    for (const json::member m : v.members()) {
        if (m.value.is_object()) {
            return m;
        }
        if (const json::member found = object_in(m.value); found.value.exists()) {
            return found;
        }
    }
    return {};
}

// What is found by its bytes is what is parsed.
void compare_with_memo(std::string_view text, json::view parsed, base::arena& memory) {
    const std::string name(object_in(parsed).key);
    json::object_memo memo(name);
    for (int time = 0; time < 2; ++time) {
        const auto bytes = padded(text);
        const json::parse_result again = json::parse(bytes.get(), text.size(), memory, {}, &memo);
        require(again.ok && json::equal(again.root, parsed));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    compare_scans(text);
    base::chunk_pool pool;
    base::arena memory(pool);
    const auto first_bytes = padded(text);
    const json::parse_result first = json::parse(first_bytes.get(), size, memory);
    base::byte_buffer out(pool);
    json::writer(out).string_lossy(text);
    {
        const auto lossy = padded(out.view());
        require(json::parse(lossy.get(), out.size(), memory).ok);
        require(out.view().find('\n') == std::string_view::npos);
    }
    if (!first.ok) {
        require(first.error.offset <= size && first.error.kind != json::parse_error::code::none);
        return 0;
    }
    walk(first.root);
    compare_with_memo(text, first.root, memory);
    out.clear();
    json::writer(out).value(first.root);
    require(out.view().find('\n') == std::string_view::npos);
    const auto second_bytes = padded(out.view());
    const json::parse_result second = json::parse(second_bytes.get(), out.size(), memory);
    require(second.ok);
    require(json::equal(first.root, second.root));
    base::byte_buffer again(pool);
    json::writer(again).value(second.root);
    require(again.view() == out.view());
    return 0;
}
