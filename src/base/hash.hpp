// hash: keyed hashing of bytes that come from a peer (SipHash-1-3, Aumasson and Bernstein).
//
// Without the key nobody can choose names that collide in our tables. The key of the process is
// drawn once from the kernel. Values differ from run to run: never store or send them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/short_text.hpp"

namespace pillion::base {

struct hash_key {
    std::uint64_t k0 = 0;
    std::uint64_t k1 = 0;
};

// The SipHash-1-3 of `bytes` under `key`.
std::uint64_t siphash13(std::string_view bytes, const hash_key& key) noexcept;

// The key of this process; drawn from os_random at the first call. Any thread.
const hash_key& process_hash_key() noexcept;

// The hash of `bytes` under the key of the process.
inline std::uint64_t hash_bytes(std::string_view bytes) noexcept {
    return siphash13(bytes, process_hash_key());
}

// For unordered containers that are searched by string_view.
struct bytes_hash {
    using is_transparent = void;
    // The hash of `bytes`.
    std::size_t operator()(std::string_view bytes) const noexcept {
        return static_cast<std::size_t>(hash_bytes(bytes));
    }
};

// For names of our own that strangers look up: they may know it and cannot choose what is in the
// table, so that it needs no key. Values are those of this program's run only.
struct name_hash {
    using is_transparent = void;
    // The hash of `name`: a multiplication for each eight bytes.
    std::size_t operator()(std::string_view name) const noexcept {
        constexpr std::uint64_t odd = 0x9E3779B97F4A7C15U;
        std::uint64_t sum = name.size() * odd;
        const char* at = name.data();
        for (std::size_t left = name.size(); left > 0;) {
            const std::size_t bytes = left < 8 ? left : 8;
            sum = (sum ^ short_word(at, bytes)) * odd;
            sum ^= sum >> 32U;
            at += bytes;
            left -= bytes;
        }
        return static_cast<std::size_t>(sum);
    }
};

}  // namespace pillion::base
