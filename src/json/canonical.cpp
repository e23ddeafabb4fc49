#include "json/canonical.hpp"

#include <algorithm>
#include <functional>

#include "json/writer.hpp"

namespace pillion::json {

namespace {

void write(writer& w, view value, base::arena& memory) noexcept;

void write_number(writer& w, view value) noexcept {
    if (const auto whole = value.integral()) {
        w.integer(*whole);
    } else if (const auto big = value.u64()) {
        w.unsigned_integer(*big);
    } else if (const auto real = value.f64(); real && !value.is_integer()) {
        w.number(*real);
    } else {
        // Beyond every type: its own text is all there is.
        w.raw(value.number_text());
    }
}

void write_object(writer& w, view value, base::arena& memory) noexcept {
    member* const sorted = memory.array<member>(value.size());
    std::size_t count = 0;
    for (const member m : value.members()) {
        sorted[count++] = m;
    }
    // Of equal names the last one stays last: nodes lie in the order of the input.
    std::sort(sorted, sorted + count, [](const member& a, const member& b) {
        return a.key != b.key ? a.key < b.key : std::less<>()(a.value.raw(), b.value.raw());
    });
    w.begin_object();
    for (std::size_t i = 0; i < count; ++i) {
        if (i + 1 < count && sorted[i].key == sorted[i + 1].key) {
            continue;
        }
        w.key(sorted[i].key);
        write(w, sorted[i].value, memory);
    }
    w.end_object();
}

void write(writer& w, view value, base::arena& memory) noexcept {
    switch (value.type()) {
        case kind::object:
            return write_object(w, value, memory);
        case kind::array:
            w.begin_array();
            for (const view element : value.elements()) {
                write(w, element, memory);
            }
            return w.end_array();
        case kind::number:
            return write_number(w, value);
        default:
            return w.value(value);
    }
}

}  // namespace

void write_canonical(view value, base::byte_buffer& out, base::arena& memory) noexcept {
    writer w(out);
    write(w, value, memory);
}

}  // namespace pillion::json
