// Judging a token by what others say (methods of mcp/http_transport.hpp), and who waits for it.
#include "mcp/http_waiting.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "crypto/key_ring.hpp"
#include "mcp/http_client.hpp"
#include "mcp/http_transport.hpp"

namespace pillion::mcp {

namespace {

// When to come back where nobody knows: a fetch is tried again within this time.
constexpr std::uint32_t retry_s = 5;

}  // namespace

token_question::~token_question() { crypto::wipe(token.data(), token.size()); }

void token_wait::leave() noexcept {
    if (linked()) {
        unlink();
        --in_->count_;
    }
}

bool token_waiters::add(std::unique_ptr<token_wait>& one, const http::exchange& of) {
    if (count_ >= count_max) {
        return false;
    }
    if (one == nullptr) {
        one = std::make_unique<token_wait>();
    }
    ++count_;
    one->of_ = &of;
    one->in_ = this;
    one->failed_ = false;
    ++one->rounds_;
    all_.push_back(*one);
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
                                              const auth::authenticator::answer& found,
                                              std::string_view token) {
    const bool may_wait = c.waiting == nullptr || c.waiting->may_wait();
    if (found.why == auth::token_fault::unknown_key && may_wait &&
        authenticator_->want_keys(found.issuer, engine_.loop().now_ns())) {
        if (waiting_for_keys_.add(c.waiting, ex)) {
            return undecided;
        }
        return refuse_for_now(ex, "too many wait for keys", "Too many requests wait for keys");
    }
    if (found.why == auth::token_fault::unasked) {
        return ask_about(ex, c, token);
    }
    c.waiting = nullptr;
    if (found.why == auth::token_fault::no_keys) {
        return refuse_for_now(ex, words_of(found.why),
                              "The keys of the token's issuer cannot be had at present");
    }
    return refuse_access(ex, 401, "invalid_token", words_of(found.why));
}

std::uint16_t http_transport::ask_about(const http::exchange& ex, http_client& c,
                                        std::string_view token) {
    constexpr safe_text away = "The authorization server does not answer at present";
    constexpr safe_text crowd = "Too many tokens are being looked up";
    const bool again = c.waiting != nullptr;
    if (options_.asks == nullptr || (again && (c.waiting->failed() || !c.waiting->may_wait()))) {
        c.waiting = nullptr;
        return refuse_for_now(ex, "the authorization server does not answer", away);
    }
    const auto same = [token](const auto& one) { return crypto::same_secret(one->token, token); };
    auto at = std::find_if(questions_.begin(), questions_.end(), same);
    if (at == questions_.end()) {
        auto fresh = std::make_shared<token_question>(token);
        const auto then =
            [this, asked = std::weak_ptr<token_question>(fresh)](auth::introspection_answer said) {
                // Gone: the rules have changed since.
                if (const auto one = asked.lock()) {
                    told_about(*one, std::move(said));
                }
            };
        if (questions_.size() >= token_question::count_max ||
            !options_.asks->ask(options_.access->introspection, token, then)) {
            c.waiting = nullptr;
            return refuse_for_now(ex, "too many tokens are looked up", crowd);
        }
        at = questions_.insert(questions_.end(), std::move(fresh));
    }
    if (!(*at)->waiting.add(c.waiting, ex)) {
        c.waiting = nullptr;
        return refuse_for_now(ex, "too many wait for one token", crowd);
    }
    return undecided;
}

void http_transport::told_about(const token_question& one, auth::introspection_answer said) {
    const auto at = std::find_if(questions_.begin(), questions_.end(),
                                 [&one](const auto& q) { return q.get() == &one; });
    const bool understood = said.understood;
    if (understood) {
        authenticator_->learn(one.token, std::move(said), engine_.loop().unix_ms() / 1000);
    }
    const std::shared_ptr<token_question> ended = std::move(*at);
    questions_.erase(at);
    ended->waiting.wake_all(!understood);
}

// Others judge from now on: whoever waits is judged by them.
void http_transport::forget_waits() noexcept {
    waiting_for_keys_.wake_all();
    for (const auto& one : questions_) {
        one->waiting.wake_all();
    }
    questions_.clear();
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
