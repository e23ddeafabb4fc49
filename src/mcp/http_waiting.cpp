// Judging a token by what others say (methods of mcp/http_transport.hpp), and who waits for it.
#include "mcp/http_waiting.hpp"

#include "base/log.hpp"
#include "mcp/http_client.hpp"
#include "mcp/http_transport.hpp"

namespace pillion::mcp {

namespace {

// When to come back where nobody knows: a fetch is tried again within this time.
constexpr std::uint32_t retry_s = 5;

}  // namespace

void token_wait::leave() noexcept {
    if (linked()) {
        unlink();
        --in_->count_;
    }
}

bool token_waiters::add(token_wait& one, const http::exchange& of) noexcept {
    if (count_ >= count_max) {
        return false;
    }
    ++count_;
    one.of_ = &of;
    one.in_ = this;
    ++one.rounds_;
    all_.push_back(one);
    return true;
}

void token_waiters::wake_all(bool failed) noexcept {
    while (token_wait* const one = all_.front()) {
        one->leave();
        one->failed_ = failed;
        one->of_->admit_again();
    }
}

void http_transport::take_keys() {
    if (authenticator_ == nullptr) {
        return;
    }
    if (authenticator_->take_keys()) {
        // What connections remember may have been said by a key that is gone.
        ++accesses_;
    }
    waiting_for_keys_.wake_all();
}

// Nobody was found: refuses, or, where others may know better, says `undecided`.
std::uint16_t http_transport::judge_elsewhere(const http::exchange& ex, http_client& c,
                                              const auth::authenticator::answer& found) {
    const bool may_wait = c.waiting.may_wait();
    if (found.why == auth::token_fault::unknown_key && may_wait &&
        authenticator_->want_keys(found.issuer, engine_.loop().now_ns())) {
        if (waiting_for_keys_.add(c.waiting, ex)) {
            return undecided;
        }
        return refuse_for_now(ex, "too many wait for keys", "Too many requests wait for keys");
    }
    c.waiting.over();
    if (found.why == auth::token_fault::no_keys) {
        return refuse_for_now(ex, words_of(found.why),
                              "The keys of the token's issuer cannot be had at present");
    }
    return refuse_access(ex, 401, "invalid_token", words_of(found.why));
}

// It may be good: whoever sends it should come back, and not ask for another.
std::uint16_t http_transport::refuse_for_now(const http::exchange& ex, std::string_view why,
                                             safe_text said) {
    log::info("auth.refused", {log::kv("request_id", ex.request_id()), log::kv("peer", ex.peer()),
                               log::kv("status", 503), log::kv("reason", why)});
    retry_after_s_ = retry_s;
    refusal_text_ = said;
    return 503;
}

}  // namespace pillion::mcp
