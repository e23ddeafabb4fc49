#include "client/agent.hpp"

#include <utility>

#include "base/assert.hpp"
#include "client/call.hpp"
#include "client/connection.hpp"
#include "crypto/key_ring.hpp"

namespace pillion::client {

question::~question() {
    crypto::wipe(authorization.data(), authorization.size());
    crypto::wipe(body.data(), body.size());
    for (auto& one : headers) {
        crypto::wipe(one.second.data(), one.second.size());
    }
}

agent::~agent() { PILLION_ASSERT(idle()); }

void agent::trust(std::shared_ptr<const std::string> authorities) {
    if (authorities_ != authorities) {
        authorities_ = std::move(authorities);
        hosts_.clear();
    }
}

std::uint64_t agent::ask(question what, receiver then) {
    PILLION_ASSERT(!closed_);
    // Frees itself at its end.
    auto* const one = new call(*this, ++last_, std::move(what), std::move(then));
    one->start(calls_ <= calls_max);
    return last_;
}

void agent::cancel(std::uint64_t number) noexcept {
    for (call& one : all_) {
        if (one.number() == number) {
            return one.abandon();
        }
    }
}

void agent::close() noexcept {
    closed_ = true;
    // A call leaves the list when it has ended, in a later turn.
    base::intrusive_list<call> told;
    while (call* const one = all_.pop_front()) {
        told.push_back(*one);
        one->abandon();
    }
    all_.splice_back(told);
    while (connection* const one = resting_.pop_front()) {
        --rests_;
        one->close();
    }
    while (connection* const one = parting_.pop_front()) {
        one->cut();
    }
}

connection* agent::take_resting(const question& what, bool repeatable) noexcept {
    const std::int64_t now_ns = loop_.clock_ns();
    for (connection& one : resting_) {
        if (one.takes(repeatable, now_ns) && one.leads_to(what)) {
            drop(one);
            return &one;
        }
    }
    return nullptr;
}

bool agent::keep(connection& one) noexcept {
    if (closed_ || rests_ >= resting_max) {
        return false;
    }
    ++rests_;
    resting_.push_front(one);
    return true;
}

void agent::drop(connection& one) noexcept {
    if (one.linked()) {
        one.unlink();
        rests_ -= one.parting() ? 0U : 1U;
    }
}

std::shared_ptr<tls::client_context> agent::known(const std::string& host) const noexcept {
    for (const known_host& one : hosts_) {
        if (one.host == host) {
            return one.with;
        }
    }
    return nullptr;
}

void agent::learn(const std::string& host, std::shared_ptr<tls::client_context> with) {
    if (known(host) != nullptr) {
        return;
    }
    if (hosts_.size() >= hosts_max) {
        hosts_.erase(hosts_.begin());
    }
    hosts_.push_back({host, std::move(with)});
}

}  // namespace pillion::client
