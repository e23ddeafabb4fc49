// result_store: results that were too large for their answer, kept whole for a while, so that the
// client can read the rest by a link.
//
// They are immutable and shared by all shards. The store is bounded in bytes: the oldest goes
// first. What is handed out lives on with its holder. Thread-safety: any thread; one lock, which
// only results that were cut and reads of them take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace pillion::mcp {

// A content of the result, in order: text, or bytes that travel as base64.
struct kept_piece {
    std::string mime_type;
    std::string bytes;
    bool binary = false;
};

struct kept_result {
    std::string id;       // unguessable: 160 random bits
    std::string owner;    // the principal that got it; empty: nobody has to say who they are
    std::string session;  // the session that got it; empty: none
    std::int64_t expires_ms = 0;
    std::vector<kept_piece> pieces;
    // Where each part begins: they fit into an answer each. A part ends where the next begins.
    struct place {
        std::size_t piece = 0;
        std::size_t offset = 0;
    };
    std::vector<place> parts;

    std::size_t bytes() const noexcept;
};

using kept_ref = std::shared_ptr<const kept_result>;

class result_store {
 public:
    explicit result_store(std::size_t bytes_max) noexcept : bytes_max_(bytes_max) {}

    // Whether one of so many bytes may be kept at all.
    bool takes(std::size_t bytes) const noexcept { return bytes <= bytes_max_; }
    // Keeps it under a new id, which it returns. REQUIRES: takes(result.bytes()).
    std::string keep(kept_result result, std::int64_t now_ms);
    // Null when there is none (any more).
    kept_ref find(std::string_view id, std::int64_t now_ms) const;
    // Drops what has expired.
    void expire(std::int64_t now_ms);

    std::size_t count() const;
    std::size_t bytes() const;

 private:
    void drop_oldest();

    const std::size_t bytes_max_;
    mutable std::mutex mutex_;     // guards the two below
    std::deque<kept_ref> oldest_;  // first
    std::size_t bytes_ = 0;
};

}  // namespace pillion::mcp
