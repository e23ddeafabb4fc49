// caller: a well-behaved client with many connections. Open loop: call i is due at begin + i/rate
// and its latency counts from then, whatever held it up, on either side. Rate 0 is a closed loop:
// each connection calls again as soon as it is answered.
//
// Thread: the one that calls run().
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "wire.hpp"

namespace hostile {

struct call_plan {
    int port = 0;
    int connections = 16;
    double rate = 500;
    double seconds = 5;
    double warm_up_s = 0.5;  // not counted
    // Calls of `echo`, or (deadline_ms_max > 0) calls that wait longer than the deadline they ask
    // for by X-Request-Timeout-Ms, random from 1 to this; -1: the deadline is the server's own.
    int deadline_ms_max = 0;
    int deadline_ms_server = 0;
    // When > 0, the server gets SIGTERM in the middle, and the calls end with it.
    int kill_pid = 0;
};

struct call_report {
    std::uint64_t sent = 0;
    std::uint64_t answered = 0;
    std::uint64_t wrong = 0;       // answers that are not what was asked for
    std::uint64_t unanswered = 0;  // sent, and then the connection ended or nothing came
    std::uint64_t refused = 0;     // not sent: the connection had ended (after SIGTERM)
    std::int64_t killed_ns = 0;    // when SIGTERM was sent
    double cpu_s = 0;
    double wall_s = 0;
    std::vector<std::int64_t> latency_ns;  // sorted; with deadlines: how late the answer was
};

class caller {
 public:
    explicit caller(const call_plan& plan);
    ~caller();
    caller(const caller&) = delete;
    caller& operator=(const caller&) = delete;
    call_report run();

 private:
    struct connection {
        int fd = -1;
        bool busy = false;
        bool measured = false;
        std::int64_t due_ns = 0;
        std::string token;  // what the answer must hold
        answer_reader answers;
    };

    bool open(connection& c);
    void lose(connection& c);
    void start_due(std::int64_t now);
    void send_next(connection& c, std::int64_t due);
    void read(connection& c);
    void take_answer(connection& c);
    void kill_when_due(std::int64_t now);
    void arm_timer(std::int64_t at_ns) const;

    call_plan plan_;
    call_report report_;
    std::vector<std::unique_ptr<connection>> all_;
    std::deque<connection*> idle_;
    int epoll_ = -1;
    int timer_ = -1;
    std::uint64_t next_ = 0;  // calls begun or due
    std::uint64_t serial_ = 0;
    std::uint64_t dice_ = 88172645463325252ULL;
    std::int64_t begin_ns_ = 0;
    std::int64_t count_from_ns_ = 0;
    std::int64_t end_ns_ = 0;
    bool gone_ = false;  // the server accepts nobody any more
};

}  // namespace hostile
