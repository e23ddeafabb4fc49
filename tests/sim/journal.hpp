// journal: what happened in a simulation, as a hash that tells two runs apart, and on demand as
// lines to read. Also how a broken invariant is reported.
//
// Thread: one.
#pragma once

#include <cstdint>
#include <cstdio>
#include <deque>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/hash.hpp"

namespace pillion::sim {

// The server, or the simulation itself, did what it must not.
struct violation : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class journal {
 public:
    explicit journal(bool printed) : printed_(printed) {}

    // `text` is hashed whole and shown in part.
    void note(std::int64_t now_ns, std::string_view who, std::string_view what,
              std::string_view text = {}) {
        hash_ = base::siphash13(text, {hash_ ^ static_cast<std::uint64_t>(now_ns), hash_});
        hash_ = base::siphash13(what, {hash_, base::siphash13(who, {hash_, 0})});
        if (printed_) {
            print(now_ns, who, what, text);
        }
    }
    std::uint64_t hash() const { return hash_; }

 private:
    static void print(std::int64_t now_ns, std::string_view who, std::string_view what,
                      std::string_view text) {
        constexpr std::size_t shown_max = 1000;
        std::string line;
        for (const char c : text.substr(0, shown_max)) {
            line += c == '\r' ? std::string() : c == '\n' ? std::string("⏎") : std::string(1, c);
        }
        std::printf("%12.3f ms %-10.*s %-8.*s %s%s\n", static_cast<double>(now_ns) / 1e6,
                    static_cast<int>(who.size()), who.data(), static_cast<int>(what.size()),
                    what.data(), line.c_str(), text.size() > shown_max ? "…" : "");
    }

    bool printed_;
    std::uint64_t hash_ = 0;
};

}  // namespace pillion::sim
