// key_keeper: fetches the key sets of issuers from where they publish them, before they are too old
// and when a token names a key that nobody knows, and puts them on the board of the process.
//
// One for a process. Thread: the loop that it is made on; wanted fetches come from any, by the
// board.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/settings.hpp"
#include "auth/key_board.hpp"
#include "auth/key_schedule.hpp"
#include "client/agent.hpp"

namespace pillion::app {

class key_keeper {
 public:
    // `tell` is called whenever the board has news.
    key_keeper(io::reactor& loop, io::offload& helpers, std::shared_ptr<auth::key_board> board,
               std::function<void()> tell);
    key_keeper(const key_keeper&) = delete;
    key_keeper& operator=(const key_keeper&) = delete;
    // REQUIRES: idle().
    ~key_keeper();

    // Keeps the keys of the issuers of these settings from now on.
    void change(const settings& to);

    // Gives up; who waits for keys is told. The keeper may go when it is idle.
    void close();
    bool idle() const noexcept { return agent_.idle() && posted_.load() == 0; }

 private:
    struct source;
    using source_ref = std::shared_ptr<source>;

    static void on_timer(io::timer& self, void* owner) noexcept;
    void look_after(const source_ref& one);
    void watch(source& one) noexcept;
    void fetch(const source_ref& one);
    void discover(const source_ref& one, std::size_t attempt);
    void discovered(const source_ref& one, std::size_t attempt, const client::answer& said);
    void fetch_set(const source_ref& one, std::string_view from);
    void fetched(const source_ref& one, client::answer said);
    void failed(const source_ref& one, std::string_view reason, std::uint16_t status = 0);
    void serve_wanted();

    io::reactor& loop_;
    std::shared_ptr<auth::key_board> board_;
    std::function<void()> tell_;
    client::agent agent_;
    std::vector<source_ref> all_;
    bool with_secrets_ = false;
    bool closed_ = false;
    std::atomic<int> posted_{0};  // jobs that serve what is wanted, and have not run
};

}  // namespace pillion::app
