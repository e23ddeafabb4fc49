// id_scanner: finds the id of a message that is too large to be kept.
//
// A client whose oversize request is refused without its id waits for ever, and most clients write
// the id behind the params. So the bytes that are thrown away pass through here: only nesting and
// strings are followed, and the top-level member "id" is captured. What it finds may be malformed
// (the rest of the message is never checked) and is parsed before it is used. Thread: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/limits.hpp"

namespace pillion::mcp {

class id_scanner {
 public:
    // Takes the next bytes of the message.
    void feed(std::string_view bytes) noexcept;
    // The JSON text of the id; empty when there was none or it was too long.
    std::string_view text() const noexcept {
        return overlong_ ? std::string_view{} : std::string_view{value_, value_size_};
    }
    // Forgets everything for the next message.
    void reset() noexcept { *this = id_scanner{}; }

 private:
    enum class place : std::uint8_t { key, colon, value, rest };

    void structure(char c) noexcept;
    void in_string(char c) noexcept;
    void capture(char c) noexcept;

    char value_[limits::rpc_id_bytes_max + 2] = {};
    std::size_t value_size_ = 0;
    char key_[4] = {};
    std::size_t key_size_ = 0;
    std::uint32_t depth_ = 0;
    place place_ = place::rest;  // inside the outermost object
    bool quoted_ = false;        // inside a string
    bool escaped_ = false;       // behind a backslash
    bool is_id_ = false;         // the member at hand is "id"
    bool overlong_ = false;
};

}  // namespace pillion::mcp
