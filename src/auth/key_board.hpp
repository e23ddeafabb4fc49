// key_board: key sets that are fetched from elsewhere, as the loops of a process know them: one
// keeper fetches and publishes, every loop takes over what is new, and asks for a fetch when a
// token names a key that it does not know (STANDARD row 53).
//
// Thread-safety: any thread; a lock, which no remembered token meets.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace pillion::auth {

struct auth_options;

// Which set: whose it is, and where it comes from.
struct key_source {
    std::string issuer;
    std::string from;  // a URL, or key_source::discovered

    // The issuer says where its keys are (OpenID Connect Discovery 1.0 §4, RFC 8414).
    static constexpr std::string_view discovered = "discover";
    bool operator==(const key_source&) const = default;
};

class key_board {
 public:
    using text = std::shared_ptr<const std::string>;

    // How long may pass between two fetches that tokens with unknown keys ask for.
    static constexpr std::int64_t refetch_pause_ns = 30'000'000'000;

    // ---- the keeper's side ----
    // From now on these are kept; what is known of those that stay is kept, too.
    void keep(const std::vector<key_source>& sources);
    // Hears, under the lock, that a fetch is wanted. It may post, and nothing else. Empty: nobody.
    void on_wanted(std::function<void()> told);
    // Those whose fetch somebody waits for.
    std::vector<key_source> wanted() const;
    // A fetch has ended: with this set, or, null, without one; then what was there stays.
    void settle(const key_source& of, text keys, std::int64_t now_ns);
    // What is there is too old.
    void expire(const key_source& of);

    // ---- the loops' side ----
    // The set as it is now; null: there is none yet, or none any more.
    text keys(const key_source& of) const;
    // A token names a key that is not in `held`. True: a fetch is under way or has just brought
    // others, so that it is worth waiting for what comes; false: somebody has asked a short while
    // ago.
    bool want(const key_source& of, const text& held, std::int64_t now_ns);
    // There are keys of everybody.
    bool complete() const;

 private:
    struct entry {
        key_source source;
        text keys;
        std::int64_t next_refetch_ns = INT64_MIN;
        bool wanted = false;  // and not settled yet
    };
    entry* find(const key_source& of) noexcept;
    const entry* find(const key_source& of) const noexcept;

    mutable std::mutex mutex_;  // guards all of it
    std::vector<entry> all_;
    std::function<void()> told_;
};

// Where the keys of these issuers are fetched from.
std::vector<key_source> sources_of(const auth_options& options);

}  // namespace pillion::auth
