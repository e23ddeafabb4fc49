// call: one request of an agent: take a connection that rests, or look the host up and connect to
// one of its addresses after the other; ask, read the answer. Owned by its agent; deletes itself
// when nothing of it is in flight any more. Thread: its loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/intrusive_list.hpp"
#include "client/agent.hpp"
#include "client/answer_reader.hpp"
#include "client/connection.hpp"
#include "client/lookup.hpp"
#include "io/op.hpp"
#include "io/timer_wheel.hpp"

namespace pillion::client {

class call final : public base::list_hook<>, private connection_user {
 public:
    call(agent& of, std::uint64_t number, question what, agent::receiver then);
    call(const call&) = delete;
    call& operator=(const call&) = delete;

    std::uint64_t number() const noexcept { return number_; }
    // `may`: false ends it at once, since there are too many.
    void start(bool may);
    // Ends it; nobody hears.
    void abandon() noexcept;

 private:
    // What is in flight.
    enum class stage : std::uint8_t { waiting, looking_up, connecting, talking, over };
    struct findings;
    struct connect_op : io::transfer_op {
        explicit connect_op(call& c) noexcept : transfer_op(&call::on_connect), owner(&c) {}
        call* owner;
    };

    ~call() = default;
    void on_ready() noexcept override { send_request(); }
    void on_data(char* data, std::size_t bytes) noexcept override;
    void on_eof() noexcept override;
    void on_lost(std::string_view fault) noexcept override;
    static void on_connect(io::op& self, const io::completion& what) noexcept;
    static void on_timer(io::timer& self, void* owner) noexcept;
    static void on_attempt(io::timer& self, void* owner) noexcept;

    bool take_resting();
    void look_up();
    void found(findings& what);
    void connect_next() noexcept;
    void connected(std::int32_t res) noexcept;
    void fail_soon(std::string_view fault) noexcept;
    void open(int fd);
    void send_request();
    bool again() noexcept;
    void take(answer_reader::state how);
    bool pass_on();
    void let_go(bool good) noexcept;
    answer head_of();
    void finish(std::string_view fault);
    void end() noexcept;

    agent& agent_;
    const std::uint64_t number_;
    question what_;
    agent::receiver then_;  // empty once it has heard, or must not
    answer_reader reader_;
    address_list addresses_;
    std::size_t next_address_ = 0;
    std::shared_ptr<tls::client_context> context_;
    int fd_ = -1;  // while connecting
    connect_op connect_{*this};
    connection* connection_ = nullptr;  // while talking
    io::timer timer_{&call::on_timer, this};
    io::timer attempt_{&call::on_attempt, this};
    std::string_view pending_;  // what the timer will say
    stage stage_ = stage::waiting;
    bool sent_ = false;
    bool heard_ = false;   // something of the answer
    bool reused_ = false;  // the connection has served another call
    bool head_told_ = false;
    bool* gone_ = nullptr;  // told when this is destroyed while it calls the sink
};

}  // namespace pillion::client
