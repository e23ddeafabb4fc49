// survey: what has to be known of a server before it is put under load: the revision that it
// speaks, arguments that a tool takes, and what there is to be read.
//
// Each question is asked on a connection of its own. Thread: the one that runs the load; allocates.
#pragma once

#include <optional>
#include <string>

#include "connection.hpp"
#include "json/document.hpp"
#include "options.hpp"

namespace pillion::load {

class survey final : private connection_watcher, private answer_taker {
 public:
    survey(io::reactor& loop, run_options& how) : loop_(loop), how_(how) {}
    survey(const survey&) = delete;
    survey& operator=(const survey&) = delete;

    // Finds what `how` leaves open, and completes it. False, with `fault` set, when that cannot be
    // had.
    bool run(std::string& fault);

 private:
    void on_free(connection& c) noexcept override;
    void on_answer(std::int64_t, std::int64_t, const verdict& how,
                   std::string_view example) noexcept override;
    void on_unasked(const verdict&, std::string_view) noexcept override {}
    void on_failed(const verdict& how, std::string_view example) noexcept override;
    void on_reconnect() noexcept override {}
    void on_bytes(std::size_t, std::size_t) noexcept override {}
    void hear(json::view) override {}
    verdict take(json::view result) override;

    std::optional<json::document> ask(const question& what);
    bool find_revision();
    bool find_tool(std::string& fault);
    // The members of all pages of a list.
    bool list(action of, const char* member, std::vector<json::document>& pages);
    // Makes a mix of the calls and of what there is beside them.
    void mix();
    void add_resource();
    void add_prompt();

    io::reactor& loop_;
    run_options& how_;
    question asked_;
    bool sent_ = false;
    bool over_ = false;
    verdict came_to_;
    std::string example_;
    std::string result_;
    // What the server said to initialize, when that was another revision than it was asked for.
    std::string negotiated_;
};

}  // namespace pillion::load
