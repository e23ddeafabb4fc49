// The readers of json::view.
#include <cstring>

#include <pillion/json.hpp>

#include "base/number.hpp"
#include "json/node.hpp"
#include "json/swar.hpp"

namespace pillion::json {

namespace {

// Names are short: words that overlap are cheaper than a call.
bool same(const node* key, std::string_view text) noexcept {
    const std::size_t size = text.size();
    if (key->size != size) {
        return false;
    }
    const char* const a = key->text;
    const char* const b = text.data();
    if (size > 16) {
        return std::memcmp(a, b, size) == 0;
    }
    if (size >= 8) {
        return swar::load<std::uint64_t>(a) == swar::load<std::uint64_t>(b) &&
               swar::load<std::uint64_t>(a + size - 8) == swar::load<std::uint64_t>(b + size - 8);
    }
    if (size >= 4) {
        return swar::load<std::uint32_t>(a) == swar::load<std::uint32_t>(b) &&
               swar::load<std::uint32_t>(a + size - 4) == swar::load<std::uint32_t>(b + size - 4);
    }
    for (std::size_t i = 0; i < size; ++i) {
        if (a[i] != b[i]) {
            return false;
        }
    }
    return true;
}

bool has_type(const node* n, kind type) noexcept { return n != nullptr && n->type == type; }

}  // namespace

kind view::type() const noexcept { return node_ == nullptr ? kind::missing : node_->type; }

bool view::is_integer() const noexcept { return has_type(node_, kind::number) && node_->flag; }

std::string_view view::str(std::string_view fallback) const noexcept {
    return has_type(node_, kind::string) ? node_->view_text() : fallback;
}

bool view::boolean(bool fallback) const noexcept {
    return has_type(node_, kind::boolean) ? node_->flag : fallback;
}

std::optional<std::int64_t> view::i64() const noexcept {
    return is_integer() ? base::parse_i64(node_->view_text()) : std::nullopt;
}

std::optional<std::uint64_t> view::u64() const noexcept {
    return is_integer() ? base::parse_u64(node_->view_text()) : std::nullopt;
}

std::optional<std::int64_t> view::integral() const noexcept {
    return is_number() ? base::parse_integral(node_->view_text()) : std::nullopt;
}

std::optional<double> view::f64() const noexcept {
    return is_number() ? base::parse_f64(node_->view_text()) : std::nullopt;
}

double view::num(double fallback) const noexcept { return f64().value_or(fallback); }

std::string_view view::number_text() const noexcept {
    return is_number() ? node_->view_text() : std::string_view{};
}

view view::operator[](std::string_view key) const noexcept {
    if (!is_object()) {
        return {};
    }
    const node* found = nullptr;
    const node* at = node_ + 1;
    for (std::uint32_t left = node_->size; left > 0; --left) {
        if (same(at, key)) {
            found = at + 1;
        }
        at = next(at + 1);
    }
    return view(found);
}

view view::operator[](std::size_t index) const noexcept {
    if (!is_array() || index >= node_->size) {
        return {};
    }
    const node* at = node_ + 1;
    for (; index > 0; --index) {
        at = next(at);
    }
    return view(at);
}

std::size_t view::size() const noexcept {
    return node_ != nullptr && is_container(node_) ? node_->size : 0;
}

element_range view::elements() const noexcept {
    return is_array() ? element_range(node_ + 1, next(node_)) : element_range(nullptr, nullptr);
}

member_range view::members() const noexcept {
    return is_object() ? member_range(node_ + 1, next(node_)) : member_range(nullptr, nullptr);
}

element_iterator& element_iterator::operator++() noexcept {
    at_ = next(at_);
    return *this;
}

member member_iterator::operator*() const noexcept { return {at_->view_text(), view(at_ + 1)}; }

member_iterator& member_iterator::operator++() noexcept {
    at_ = next(at_ + 1);
    return *this;
}

bool has_duplicate_key(view object, std::string_view key) noexcept {
    if (!object.is_object()) {
        return false;
    }
    bool seen = false;
    const node* at = object.raw() + 1;
    for (std::uint32_t left = object.raw()->size; left > 0; --left) {
        if (same(at, key)) {
            if (seen) {
                return true;
            }
            seen = true;
        }
        at = next(at + 1);
    }
    return false;
}

}  // namespace pillion::json
