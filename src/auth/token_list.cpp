#include "auth/token_list.hpp"

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "crypto/key_ring.hpp"
#include "crypto/public_key.hpp"

namespace pillion::auth {

namespace {

constexpr std::size_t name_bytes_max = 128;

// The next word of a line; empty at its end.
std::string_view next_word(std::string_view& line) {
    const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    const std::string_view word = line.substr(0, end);
    line.remove_prefix(end);
    return word;
}

bool read_digest(std::string_view text, std::array<unsigned char, 32>& to) {
    if (text.size() != 2 * to.size()) {
        return false;
    }
    for (std::size_t i = 0; i < to.size(); ++i) {
        const int high = base::hex_digit(text[2 * i]);
        const int low = base::hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        to[i] = static_cast<unsigned char>(high * 16 + low);
    }
    return true;
}

// RFC 6749 §3.3: visible, and neither a quotation mark nor a backslash.
bool is_listed_scope(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return c > ' ' && c < '\x7f' && c != '"' && c != '\\'; });
}

// Null, or what is wrong with the line.
const char* read_line(std::string_view line, opaque_token& to) {
    to.name = next_word(line);
    if (to.name.size() > name_bytes_max || !is_listed_scope(to.name)) {
        return "the name is too long, or not of visible ASCII";
    }
    if (!read_digest(next_word(line), to.digest)) {
        return "behind the name stands no SHA-256 of 64 hexadecimal digits";
    }
    while (true) {
        const std::string_view scope = next_word(line);
        if (scope.empty()) {
            return nullptr;
        }
        if (!is_listed_scope(scope)) {
            return "a scope is not of visible ASCII";
        }
        to.scopes.emplace_back(scope);
    }
}

}  // namespace

std::optional<token_list> token_list::parse(std::string_view text, std::string& fault) {
    token_list made;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.ends_with('\r')) {
            line.remove_suffix(1);
        }
        if (line.find_first_not_of(" \t") == line.npos || line.starts_with('#')) {
            continue;
        }
        opaque_token one;
        const char* wrong = made.all_.size() == tokens_max ? "there are more than 10000 tokens"
                                                           : read_line(line, one);
        const bool twin = std::any_of(made.all_.begin(), made.all_.end(), [&](const auto& other) {
            return other.digest == one.digest;
        });
        wrong = wrong == nullptr && twin ? "the same token stands above" : wrong;
        if (wrong != nullptr) {
            fault = "line " + std::to_string(number) + ": " + wrong;
            return std::nullopt;
        }
        made.all_.push_back(std::move(one));
    }
    if (made.all_.empty()) {
        fault = "there is no token in it";
        return std::nullopt;
    }
    return made;
}

const opaque_token* token_list::find(std::string_view token) const noexcept {
    const auto digest = crypto::sha256(token);
    const std::string_view wanted(reinterpret_cast<const char*>(digest.data()), digest.size());
    const opaque_token* found = nullptr;
    for (const opaque_token& one : all_) {
        const std::string_view other(reinterpret_cast<const char*>(one.digest.data()),
                                     one.digest.size());
        found = crypto::same_secret(wanted, other) ? &one : found;
    }
    return token.size() < token_bytes_min ? nullptr : found;
}

}  // namespace pillion::auth
