// field_memo: verdicts on field values that clients send again with every request (Accept,
// Content-Type, Host), found by their bytes instead of parsed anew.
//
// A few entries by the value's length and last byte; the newest wins, long values are not kept. Its
// memory is fixed. Thread: its owner's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace pillion::http {

// REQUIRES: `judge` gives the same verdict on the same value until clear().
template <class Verdict>
class field_memo {
 public:
    template <class Judge>
    Verdict get(std::string_view value, Judge&& judge) {
        if (value.empty() || value.size() > bytes_max) {
            return judge(value);
        }
        const auto last = static_cast<unsigned char>(value.back());
        entry& e = entries_[(value.size() ^ last) % entries];
        if (e.size != value.size() || std::memcmp(e.text, value.data(), value.size()) != 0) {
            e.verdict = judge(value);
            e.size = static_cast<std::uint8_t>(value.size());
            std::memcpy(e.text, value.data(), value.size());
        }
        return e.verdict;
    }

    // The rules have changed.
    void clear() noexcept {
        for (entry& e : entries_) {
            e.size = 0;
        }
    }

 private:
    static constexpr std::size_t entries = 8;
    static constexpr std::size_t bytes_max = 96;
    struct entry {
        std::uint8_t size = 0;
        Verdict verdict{};
        char text[bytes_max];
    };
    entry entries_[entries];
};

}  // namespace pillion::http
