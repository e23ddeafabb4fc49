// The readers of json::view.
#include <pillion/json.hpp>

#include "base/number.hpp"
#include "base/short_text.hpp"
#include "json/node.hpp"

namespace pillion::json {

namespace {

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
        if (base::short_equal(at->view_text(), key)) {
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
        if (base::short_equal(at->view_text(), key)) {
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
