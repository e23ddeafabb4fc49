// listener: accepts connections on one shard and hands the descriptors to a sink.
//
// Many who come at once come in portions, one a turn, so that those who are here already are served
// in between; when very many wait, the system keeps the rest of them.
//
// Out of descriptors (EMFILE, ENFILE) a reserve descriptor is spent to refuse the waiting
// connection politely, and accepting rests for 100 ms instead of spinning. Closing goes on
// accepting for a moment, and while handshakes are half-way, and then takes all that the system has
// queued: closing the descriptor resets those who are connected and not accepted (handshakes.hpp).
// Life: start() … close() … on_listener_closed(), after which it may be destroyed. Thread: its
// shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "coro/ready_queue.hpp"
#include "io/op.hpp"
#include "io/reactor.hpp"

namespace pillion::io {

// Receives what a listener accepts.
class connection_sink {
 public:
    // A new connection (non-blocking, close-on-exec); the sink owns the descriptor.
    virtual void on_connection(int fd) noexcept = 0;
    // Asked before each on_connection: false refuses it (the connection cap is reached).
    virtual bool wants_connection() noexcept { return true; }
    // The listener has no operation in flight any more. It may be destroyed in this call.
    virtual void on_listener_closed() noexcept {}

 protected:
    ~connection_sink() = default;
};

class listener {
 public:
    // Does not own `listen_fd`, which must stay open until on_listener_closed().
    listener(reactor& on, int listen_fd, connection_sink& sink) noexcept;
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;
    ~listener();

    // Starts accepting. Once.
    void start() noexcept;
    // Stops accepting after `last_ms` more, or after up to `most_ms` while handshakes are under
    // way, once the queue is empty; on_listener_closed() follows from a later turn, exactly once,
    // and the descriptor should be closed in it. A second call is for less time. `alone`: the
    // socket is nobody else's, and may be made deaf before the queue is emptied; who is half-way
    // then has up to `last_ms` again.
    void close(std::int64_t last_ms, std::int64_t most_ms = 0, bool alone = false) noexcept;

    // Somebody has connected within limits::listener_busy_ms.
    bool busy() const noexcept;

    // Connections handed to the sink, refused at the cap, and failures of accept so far.
    std::uint64_t accepted() const noexcept { return accepted_; }
    std::uint64_t refused() const noexcept { return refused_; }
    std::uint64_t failed() const noexcept { return failed_; }

 private:
    static void on_accept(op& self, const completion& what) noexcept;
    static void on_timer(timer& self, void* owner) noexcept;
    void handle(std::int32_t res, bool more) noexcept;
    void arm() noexcept;
    void came(int fd) noexcept;
    void take(int fd) noexcept;
    void take_waiting(std::size_t most) noexcept;
    void next_portion() noexcept;
    void end() noexcept;
    void finish() noexcept;
    bool is_waited_for() noexcept;
    void take_rest() noexcept;
    void spend_reserve() noexcept;

    struct accept_op : op {
        explicit accept_op(listener& l) noexcept : op(&listener::on_accept), owner(&l) {}
        listener* owner;
    };

    // Runs once a turn while somebody waits.
    struct portion_node : coro::ready_node {
        explicit portion_node(listener& l) noexcept : owner(&l) {}
        listener* owner;
        bool queued = false;
    };

    static constexpr std::size_t portion = 32;
    // Accepting pauses when so many wait. What is on its way then has room as well: it is at most
    // what a backend reports in one turn.
    static constexpr std::size_t waiting_pause = 1024;
    static constexpr std::size_t waiting_max = 4096;
    static constexpr std::int64_t rest_ms = 100;
    static constexpr std::int64_t half_way_look_ms = 10;
    static constexpr std::int64_t deaf_look_ms = 1;  // what comes meanwhile is not heard
    // More than any queue of the system holds.
    static constexpr int rest_max = 65'536;

    reactor& reactor_;
    connection_sink& sink_;
    int listen_fd_;
    int reserve_fd_ = -1;
    accept_op accept_{*this};
    timer timer_{&listener::on_timer, this};
    portion_node portion_{*this};
    std::vector<int> waiting_;          // accepted, in order
    std::size_t waiting_from_ = 0;      // those before it have been taken
    std::int64_t last_ns_ = INT64_MIN;  // when somebody came last
    std::uint64_t turn_ = 0;
    std::size_t taken_ = 0;  // in that turn
    bool paused_ = false;
    bool finished_ = false;
    bool closing_ = false;            // close() was called …
    bool alone_ = false;              // … for a socket that is nobody else's …
    std::int64_t most_ns_ = 0;        // … and gave handshakes time until then
    std::int64_t last_ms_ = 0;        // … and others
    bool ending_ = false;             // … and its time is over
    bool deaf_ = false;               // nobody new connects …
    std::int64_t deaf_until_ns_ = 0;  // … and who is half-way has so long
    std::uint64_t accepted_ = 0;
    std::uint64_t refused_ = 0;
    std::uint64_t failed_ = 0;
};

}  // namespace pillion::io
