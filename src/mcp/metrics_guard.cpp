#include "mcp/metrics_guard.hpp"

#include <array>
#include <string>
#include <utility>

#include "base/ascii.hpp"
#include "base/base64.hpp"
#include "base/log.hpp"
#include "crypto/key_ring.hpp"
#include "crypto/public_key.hpp"
#include "mcp/limit_tables.hpp"
#include "mcp/replies.hpp"

namespace pillion::mcp {

namespace {

using digest = std::array<unsigned char, 32>;

constexpr std::size_t remembered_max = 8;
constexpr std::size_t credentials_bytes_max = 1024;
constexpr std::int64_t busy_wait_ns = 1'000'000'000;
constexpr double looks_per_second = 0.1;
constexpr std::int64_t looks_at_once = 5;
constexpr std::string_view challenge = R"(Basic realm="metrics", charset="UTF-8")";

std::string_view bytes_of(const digest& bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// "NAME:PASSWORD" of "Basic …"; empty for anything else. The caller wipes it.
std::string credentials_of(const http::request_head& head) {
    constexpr std::string_view scheme = "Basic ";
    const std::string_view value = head.get(http::header_id::authorization);
    if (head.count(http::header_id::authorization) != 1 || value.size() > credentials_bytes_max ||
        !base::equals_ignore_case(value.substr(0, scheme.size()), scheme)) {
        return {};
    }
    const std::string_view coded = base::trim_ows(value.substr(scheme.size()));
    std::string out(base::base64::decoded_size_max(coded.size()), '\0');
    const auto bytes = base::base64::decode(coded, out.data());
    out.resize(bytes.value_or(0));
    return out;
}

}  // namespace

// Shared with the looks under way.
struct metrics_guard::state {
    std::shared_ptr<const auth::user_list> users;
    std::array<digest, remembered_max> good{};  // of credentials; of nothing: all zero
    std::size_t next = 0;                       // replaced next
    bool busy = false;
    bucket_table addresses{64};
    const bucket_rate rate = bucket_rate::of(looks_per_second, looks_at_once);

    // In a time that says nothing of what is remembered.
    bool remembers(const digest& wanted) const noexcept {
        bool found = false;
        for (const digest& one : good) {
            found = crypto::same_secret(bytes_of(one), bytes_of(wanted)) || found;
        }
        return found;
    }
    void remember(const digest& one) noexcept {
        good[next] = one;
        next = (next + 1) % good.size();
    }
};

// One password that is looked at. Kept alive by its job; what comes after the client has gone is
// dropped.
class metrics_guard::look final : private http::exchange_listener {
 public:
    look(engine& e, std::shared_ptr<state> shared, http::exchange& ex, std::string credentials,
         metrics_guard::next go_on)
        : engine_(e),
          state_(std::move(shared)),
          users_(state_->users),
          exchange_(&ex),
          credentials_(std::move(credentials)),
          go_on_(go_on) {
        ex.listen(this);
    }
    look(const look&) = delete;
    look& operator=(const look&) = delete;
    ~look() { crypto::wipe(credentials_.data(), credentials_.size()); }

    // Thread: a helper's.
    void work() {
        const std::size_t colon = credentials_.find(':');
        good_ = colon != std::string::npos &&
                users_->knows(std::string_view(credentials_).substr(0, colon),
                              std::string_view(credentials_).substr(colon + 1));
    }

    void done(const digest& of) {
        state_->busy = false;
        if (good_ && users_ == state_->users) {
            state_->remember(of);
        }
        if (exchange_ == nullptr) {
            return;
        }
        http::exchange& ex = *exchange_;
        ex.listen(nullptr);
        if (good_) {
            go_on_(engine_, ex);
        } else {
            refuse(ex, "wrong name or password");
        }
    }

    void give_up() {
        state_->busy = false;
        exchange_->listen(nullptr);
    }

 private:
    // Whoever half-closes still reads.
    void on_peer_eof() noexcept override {}
    void on_drained() noexcept override {}
    void on_gone() noexcept override { exchange_ = nullptr; }

    engine& engine_;
    std::shared_ptr<state> state_;
    std::shared_ptr<const auth::user_list> users_;
    http::exchange* exchange_;  // null: the client is gone
    std::string credentials_;
    metrics_guard::next go_on_;
    bool good_ = false;
};

metrics_guard::metrics_guard(engine& e) : engine_(e), state_(std::make_shared<state>()) {}

void metrics_guard::change(std::shared_ptr<const auth::user_list> users) {
    if (users != state_->users) {
        state_->users = std::move(users);
        state_->good.fill({});
    }
}

void metrics_guard::refuse(http::exchange& ex, const char* reason) {
    log::info("auth.refused", {log::kv("request_id", ex.request_id()), log::kv("peer", ex.peer()),
                               log::kv("status", 401), log::kv("reason", reason)});
    const http::extra_header extra[] = {{"WWW-Authenticate", challenge},
                                        {"Cache-Control", "no-store"}};
    ex.respond_empty(401, extra, 2);
}

void metrics_guard::put_off(http::exchange& ex, std::uint16_t status, std::int64_t wait_ns) {
    char seconds[16];
    const http::extra_header extra[] = {
        {"Retry-After", write_seconds(retry_seconds(wait_ns), seconds)}};
    ex.respond_empty(status, extra, 1);
}

void metrics_guard::admit(http::exchange& ex, next go_on) {
    if (state_->users == nullptr) {
        return go_on(engine_, ex);
    }
    std::string credentials = credentials_of(ex.head());
    if (credentials.empty()) {
        return refuse(ex, "no password");
    }
    const digest of = crypto::sha256(credentials);
    if (state_->remembers(of)) {
        crypto::wipe(credentials.data(), credentials.size());
        return go_on(engine_, ex);
    }
    const std::int64_t wait_ns =
        state_->busy ? 0
                     : state_->addresses.take(caller::at(ex.peer_address()).address, state_->rate,
                                              engine_.loop().now_ns());
    if (state_->busy || wait_ns > 0) {
        crypto::wipe(credentials.data(), credentials.size());
        return put_off(ex, state_->busy ? 503 : 429, state_->busy ? busy_wait_ns : wait_ns);
    }
    state_->busy = true;
    const auto one = std::make_shared<look>(engine_, state_, ex, std::move(credentials), go_on);
    if (!engine_.shared().blocking().submit(
            engine_.loop(), [one] { one->work(); }, [one, of] { one->done(of); })) {
        one->give_up();
        put_off(ex, 503, busy_wait_ns);
    }
}

}  // namespace pillion::mcp
