#include "mcp/id_scanner.hpp"

namespace pillion::mcp {

void id_scanner::feed(std::string_view bytes) noexcept {
    for (const char c : bytes) {
        if (quoted_) {
            in_string(c);
        } else {
            structure(c);
        }
    }
}

void id_scanner::capture(char c) noexcept {
    if (value_size_ == sizeof value_) {
        overlong_ = true;
    } else {
        value_[value_size_++] = c;
    }
}

void id_scanner::in_string(char c) noexcept {
    const bool closes = c == '"' && !escaped_;
    escaped_ = c == '\\' && !escaped_;
    quoted_ = !closes;
    if (depth_ != 1) {
        return;
    }
    if (place_ == place::key) {
        if (closes) {
            place_ = place::colon;
        } else {
            // Only the length beyond "id" matters.
            if (key_size_ < sizeof key_) {
                key_[key_size_] = c;
            }
            ++key_size_;
        }
    } else if (place_ == place::value && is_id_) {
        capture(c);
        if (closes) {
            place_ = place::rest;
        }
    }
}

void id_scanner::structure(char c) noexcept {
    switch (c) {
        case ' ':
        case '\t':
        case '\r':
        case '\n':
            if (place_ == place::value && is_id_ && depth_ == 1 && value_size_ > 0) {
                place_ = place::rest;
            }
            return;
        case '{':
        case '[':
            ++depth_;
            if (depth_ == 1 && c == '{') {
                place_ = place::key;
                key_size_ = 0;
            } else if (depth_ == 2) {
                place_ = place::rest;
            }
            return;
        case '}':
        case ']':
            depth_ -= depth_ > 0 ? 1 : 0;
            return;
        case ',':
            if (depth_ == 1) {
                place_ = place::key;
                key_size_ = 0;
            }
            return;
        case ':':
            if (depth_ == 1 && place_ == place::colon) {
                is_id_ = key_size_ == 2 && key_[0] == 'i' && key_[1] == 'd';
                place_ = place::value;
                // As elsewhere the last of duplicates wins.
                if (is_id_) {
                    value_size_ = 0;
                    overlong_ = false;
                }
            }
            return;
        case '"':
            quoted_ = true;
            break;
        default:
            break;
    }
    if (place_ == place::value && is_id_ && depth_ == 1) {
        capture(c);
    }
}

}  // namespace pillion::mcp
