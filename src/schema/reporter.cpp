#include "schema/reporter.hpp"

#include <algorithm>
#include <utility>

#include "base/number.hpp"
#include "base/utf8.hpp"
#include "schema/texts.hpp"

namespace pillion::schema_check {

namespace {

constexpr std::string_view ellipsis = " \xE2\x80\xA6";

constexpr std::pair<type_bit, std::string_view> shown_names[] = {
    {bit_null, "null"},       {bit_boolean, "boolean"}, {bit_object, "object"},
    {bit_array, "array"},     {bit_number, "number"},   {bit_string, "string"},
    {bit_integer, "integer"},
};

// A text of at most message_bytes_max bytes, cut between characters and marked when it was longer.
class bounded_text {
 public:
    explicit bounded_text(base::arena& memory) noexcept
        : memory_(memory), text_(static_cast<char*>(memory.allocate(message_bytes_max, 1))) {}

    void add(std::string_view more) noexcept {
        const std::size_t room = message_bytes_max - ellipsis.size() - size_;
        if (cut_) {
            return;
        }
        if (more.size() > room) {
            more = more.substr(0, room);
            more = more.substr(0, base::utf8::valid_prefix(more));
            cut_ = true;
        }
        append(more);
        if (cut_) {
            append(ellipsis);
        }
    }
    void add(std::uint64_t number) noexcept {
        char digits[base::integer_text_max];
        const char* const end = base::format(digits, number);
        add(std::string_view(digits, static_cast<std::size_t>(end - digits)));
    }
    // Scalars as they are in JSON, but for escapes; containers by their kind.
    void add(json::view value) noexcept {
        switch (value.type()) {
            case json::kind::string:
                add("\"");
                add(value.str());
                return add("\"");
            case json::kind::number:
                return add(value.number_text());
            case json::kind::boolean:
                return add(value.boolean() ? "true" : "false");
            case json::kind::object:
                return add("an object");
            case json::kind::array:
                return add("an array");
            default:
                return add("null");
        }
    }
    bool cut() const noexcept { return cut_; }
    std::string_view finish() noexcept {
        memory_.trim(text_ + size_, text_ + message_bytes_max);
        return {text_, size_};
    }

 private:
    void append(std::string_view more) noexcept {
        std::copy(more.begin(), more.end(), text_ + size_);
        size_ += more.size();
    }

    base::arena& memory_;
    char* text_;
    std::size_t size_ = 0;
    bool cut_ = false;
};

void list_types(bounded_text& out, std::uint32_t mask) noexcept {
    bool first = true;
    for (const auto& [bit, name] : shown_names) {
        // A number may be an integer, so only the former is said.
        if ((mask & bit) == 0 || (bit == bit_integer && (mask & bit_number) != 0)) {
            continue;
        }
        out.add(first ? "" : " or ");
        out.add(name);
        first = false;
    }
}

void list_names(bounded_text& out, const program& from, const object_rule& rule) noexcept {
    bool first = true;
    for (std::uint32_t i = 0; i < rule.count && !out.cut(); ++i) {
        const property& one = from.properties[rule.first + i];
        if (one.declared && !from.blocks[one.block].never) {
            out.add(first ? "" : ", ");
            out.add(one.name);
            first = false;
        }
    }
    if (first) {
        out.add("none");
    }
}

// What the schema says beside the keyword.
void describe(bounded_text& out, const program& from, const step& one) noexcept {
    switch (one.code) {
        case op::type:
            return list_types(out, one.a);
        case op::enumeration:
        case op::constant:
            for (std::uint32_t i = one.a; i < one.a + one.b && !out.cut(); ++i) {
                out.add(i == one.a ? "" : ", ");
                out.add(from.values[i]);
            }
            return;
        case op::minimum:
        case op::maximum:
        case op::exclusive_minimum:
        case op::exclusive_maximum:
            return out.add(from.bounds[one.a].text);
        case op::multiple_of:
            return out.add(from.divisors[one.a].text);
        case op::pattern:
            return out.add(from.patterns[one.a].text);
        case op::format:
            return out.add(from.formats[one.a].name);
        case op::dependent_required:
            return out.add(from.names[one.c]);
        case op::properties:
            return list_names(out, from, from.objects[one.a]);
        case op::contains: {
            out.add("at least: ");
            out.add(from.counts[one.b]);
            if (from.counts[one.b + 1] != UINT64_MAX) {
                out.add(", at most: ");
                out.add(from.counts[one.b + 1]);
            }
            return;
        }
        default:
            return out.add(from.counts[one.a]);
    }
}

}  // namespace

void reporter::add(const step& one, const frame* at) noexcept {
    if (full()) {
        return;
    }
    failure& out = errors_[count_++];
    const op_text& text = text_of(one.code);
    out.keyword = text.keyword;
    out.reason = text.reason;
    out.message = text.message;
    if (!text.detail.empty()) {
        bounded_text message(memory_);
        message.add(text.message);
        message.add(text.detail);
        describe(message, from_, one);
        out.message = message.finish();
    }
    render_path(at, out);
}

bool reporter::of_another_kind(std::size_t count, const frame* at) const noexcept {
    std::size_t depth = 0;
    for (const frame* f = at; f != nullptr; f = f->parent) {
        ++depth;
    }
    return std::any_of(
        errors_.begin() + static_cast<std::ptrdiff_t>(count),
        errors_.begin() + static_cast<std::ptrdiff_t>(count_), [depth](const failure& one) {
            const auto below =
                static_cast<std::size_t>(std::count(one.path.begin(), one.path.end(), '/'));
            return (one.reason == "type" && below <= depth) ||
                   (one.reason == "enum" && below <= depth + 1);
        });
}

void reporter::limit(std::string_view message) noexcept {
    count_ = 1;
    errors_[0] = failure();
    errors_[0].reason = "limit";
    errors_[0].message = message;
}

void reporter::render_path(const frame* at, failure& out) noexcept {
    // Written from the end to the front; escapes at most double a name.
    std::size_t size_max = 0;
    for (const frame* f = at; f != nullptr; f = f->parent) {
        size_max += 1 + (f->in_object ? 2 * std::min(f->key.size(), path_name_bytes_max)
                                      : base::integer_text_max);
    }
    char* const start = static_cast<char*>(memory_.allocate(size_max, 1));
    char* const end = start + size_max;
    char* to = end;
    const char* declared_end = end;
    for (const frame* f = at; f != nullptr; f = f->parent) {
        if (f->in_object && f->key.size() > path_name_bytes_max) {
            to = end;
            declared_end = end;
            continue;
        }
        if (f->in_object) {
            for (std::size_t i = f->key.size(); i > 0; --i) {
                const char c = f->key[i - 1];
                if (c == '~' || c == '/') {
                    *--to = c == '~' ? '0' : '1';
                    *--to = '~';
                } else {
                    *--to = c;
                }
            }
        } else {
            char digits[base::integer_text_max];
            const char* const last = base::format(digits, static_cast<std::uint64_t>(f->index));
            to -= last - digits;
            std::copy(static_cast<const char*>(digits), last, to);
        }
        *--to = '/';
        declared_end = f->declared ? declared_end : to;
    }
    out.path = {to, static_cast<std::size_t>(end - to)};
    out.declared_path = {to, static_cast<std::size_t>(declared_end - to)};
}

}  // namespace pillion::schema_check
