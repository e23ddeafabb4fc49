// ready_follower: asks the services beside us whether they are well, again and again, so that
// readiness follows theirs: whoever balances load sends nobody here while a call could only fail.
//
// A place is an http or https URL, or unix:/path.sock with :/what to ask for behind it. An answer
// of 2xx within the time is good; before the first one nobody is. /ready reads what was heard last
// and asks nothing itself. One for a process. Thread: the loop it is started on; the checks are
// read by any.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/agent.hpp"
#include "io/timer_wheel.hpp"
#include "mcp/service.hpp"

namespace pillion::app {

class ready_follower {
 public:
    // Whether it is such a place.
    static bool is_place(std::string_view text);

    // REQUIRES: each is a place.
    ready_follower(const std::vector<std::string>& places, std::int64_t interval_ms);
    ready_follower(const ready_follower&) = delete;
    ready_follower& operator=(const ready_follower&) = delete;
    // REQUIRES: not started, or idle().
    ~ready_follower();

    // One for each place: "follow PLACE".
    std::vector<mcp::ready_check> checks() const;

    // Asks from now on. `authorities`: whom https believes (PEM); null: whom this
    // machine does.
    void start(io::reactor& loop, io::offload& helpers,
               std::shared_ptr<const std::string> authorities);
    void close() noexcept;
    bool idle() const noexcept { return agent_ == nullptr || agent_->idle(); }

 private:
    struct place;
    static void on_timer(io::timer& self, void* owner) noexcept;
    void ask(place& one);
    void heard(place& one, const client::answer& said);

    std::int64_t interval_ms_;
    std::vector<std::unique_ptr<place>> places_;
    io::reactor* loop_ = nullptr;
    std::unique_ptr<client::agent> agent_;
};

}  // namespace pillion::app
