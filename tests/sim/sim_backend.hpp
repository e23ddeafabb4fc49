// sim_backend: the network as a program. A backend with a virtual clock and a seeded generator, in
// which tests decide what arrives when, in which pieces, what fails and who wins races.
//
// Sockets have made-up descriptors that no system call knows. The test holds the other end as a
// sim_peer. turn() jumps the clock to the next event when nothing else is to do, so virtual hours
// cost milliseconds. The same seed and options give the same run. Thread: one.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/backend.hpp"

namespace pillion::sim {

// How the simulated system behaves; may be changed at any time during a run.
struct sim_options {
    std::uint64_t seed = 1;
    // Receive buffers there are, and their size (padding included).
    std::size_t recv_buffers = 16;
    std::size_t recv_buffer_bytes = 4096;
    // A receive delivers at most so many bytes (0: what fits a buffer).
    std::size_t receive_max = 0;
    // Receives and sends move a random number of bytes, at least one.
    bool random_sizes = false;
    // A send takes at most so many bytes (0: all).
    std::size_t send_max = 0;
    // The completions of a turn come in random order (those of one op keep theirs).
    bool shuffle = false;
    // A cancelled op ends with its own result if it can (the cancel loses the race); random:
    // either.
    bool cancel_loses = false;
    bool cancel_random = false;
    // One receive in so many finds all buffers lent (0: only when they are).
    std::size_t no_buffer_one_in = 0;
};

class sim_backend;

// The test's end of a simulated connection. A handle: copy it freely.
class sim_peer {
 public:
    sim_peer() = default;
    sim_peer(sim_backend& in, int fd) : sim_(&in), fd_(fd) {}

    // The server's descriptor of the connection.
    int fd() const { return fd_; }

    // Bytes for the server, now or at a virtual time from now.
    void send(std::string_view bytes);
    void send_after(std::int64_t delay_ns, std::string_view bytes);
    // Receives end exactly at these offsets of the whole inbound stream, besides other limits.
    void split_at(std::vector<std::size_t> offsets);
    // Half-closes towards the server (end of stream behind what was sent).
    void finish();
    // Breaks the connection: pending and later operations fail with ECONNRESET, unread bytes go.
    void reset();
    // Stops and restarts taking the server's bytes: its sends block meanwhile.
    void block(bool on);

    // The connection breaks when the server has sent so many more bytes.
    void reset_after(std::size_t bytes);

    // Everything the server sent so far, or since the last take().
    const std::string& received() const;
    std::string take();
    // The server half-closed / closed its end.
    bool saw_eof() const;
    bool closed() const;
    // The server has taken it from its listener.
    bool accepted() const;

 private:
    sim_backend* sim_ = nullptr;
    int fd_ = -1;
};

class sim_backend final : public io::backend {
 public:
    explicit sim_backend(const sim_options& options = {});
    ~sim_backend() override;

    // What a test turns while it runs.
    sim_options options;

    // A listening descriptor.
    int listen();
    // A client connects to it (it is accepted in a later turn).
    sim_peer connect(int listen_fd);
    // A connected descriptor without a listener.
    sim_peer open();
    // The next `times` accepts fail with -os_errno.
    void fail_accepts(int os_errno, int times);
    // What connect() operations end with: 0 or -errno.
    void connect_result(int res) { connect_res_ = res; }
    // Runs `what` at a virtual time from now, before the completions of that moment.
    void at(std::int64_t delay_ns, std::function<void()> what);

    // Several backends (shards) live by one clock, in which nobody's waiting makes time pass.
    void share_clock(const sim_backend& of) { clock_ = of.clock_; }
    // Time passes: while nothing moves, or under the feet of whoever runs (a stall).
    void advance(std::int64_t ns) { *clock_ += ns; }
    // Closes the connections that nobody has accepted, as the system does with those of a listener
    // that is gone.
    void turn_away(int listen_fd);
    // A descriptor that the server has closed and the test has done with.
    void forget(int fd);

    // The last turn() had nothing to do and nothing to wait for.
    bool idle() const { return idle_; }
    // Descriptors (not counting listeners) that the server has not closed.
    std::size_t open_sockets() const;
    std::mt19937_64& random() { return random_; }

    const char* name() const noexcept override { return "sim"; }
    std::int64_t now_ns() const noexcept override { return *clock_; }
    bool has_virtual_time() const noexcept override { return true; }
    std::int64_t unix_ms() const noexcept override;
    void accept(io::op& target, int listen_fd) noexcept override;
    void receive(io::op& target, int fd) noexcept override;
    void await_hangup(io::op& target, int fd) noexcept override;
    std::ptrdiff_t send_at_once(int fd, const char* from, std::size_t bytes) noexcept override;
    void send(io::transfer_op& target, int fd, const iovec* parts,
              std::size_t count) noexcept override;
    void read(io::transfer_op& target, int fd, char* to, std::size_t bytes) noexcept override;
    void write(io::transfer_op& target, int fd, const char* from,
               std::size_t bytes) noexcept override;
    void connect(io::transfer_op& target, int fd, const void* address,
                 std::size_t bytes) noexcept override;
    void cancel(io::op& target) noexcept override;
    void shutdown(int fd, int how) noexcept override;
    std::size_t unread_bytes(int fd) noexcept override { return at_fd(fd).unread(); }
    void close(int fd) noexcept override;
    void turn(std::int64_t wait_ns, std::vector<io::completion>& out) noexcept override;
    void give_back(std::uint32_t buffer_id) noexcept override;
    void wake() noexcept override { woken_.store(true); }
    std::size_t in_flight() const noexcept override { return in_flight_; }
    std::size_t buffers_lent() const noexcept override { return buffers_.size() - free_.size(); }
    std::uint64_t system_calls() const noexcept override { return turns_; }
    // Completions handed out so far: when it stands still over turns, nothing moves.
    std::uint64_t completions() const { return handed_out_; }

 private:
    friend class sim_peer;

    struct socket {
        std::string inbound;  // sent by the peer; not yet received what is behind `taken`
        std::size_t taken = 0;
        std::size_t delivered = 0;  // bytes received before
        std::vector<std::size_t> cuts;
        std::string outbound;  // what the peer got
        bool peer_finished = false;
        bool broken = false;
        bool blocked = false;
        std::size_t break_in = SIZE_MAX;  // bytes that are still sent
        bool write_shut = false;
        bool read_shut = false;
        bool closed = false;
        bool accepted = false;
        io::op* in = nullptr;
        io::op* out = nullptr;
        bool in_cancelled = false;
        bool out_cancelled = false;

        std::size_t unread() const { return inbound.size() - taken; }
        void drop_inbound() {
            inbound.clear();
            taken = 0;
        }
    };
    struct listening {
        std::deque<int> waiting;
        io::op* acceptor = nullptr;
        bool cancelled = false;
    };
    struct event {
        std::int64_t due_ns;
        std::uint64_t order;
        std::function<void()> run;
        bool operator<(const event& other) const {
            return due_ns != other.due_ns ? due_ns > other.due_ns : order > other.order;
        }
    };

    socket& at_fd(int fd);
    void begin(io::op& target, int kind, int fd, io::op*& slot);
    void end(io::op*& slot, std::int32_t res);
    void run_due_events();
    void progress();
    void progress_listener(listening& l);
    void progress_in(socket& s);
    std::size_t take_outbound(socket& s, std::string_view bytes);
    void progress_receive(socket& s);
    void progress_read(socket& s);
    void progress_out(socket& s);
    std::size_t chunk_of(const socket& s, std::size_t room);
    std::size_t share_of(std::size_t bytes, std::size_t most);
    std::string take_inbound(socket& s, std::size_t bytes);
    bool cancel_wins();
    void hand_out(std::vector<io::completion>& out);

    std::mt19937_64 random_;
    std::shared_ptr<std::int64_t> clock_ = std::make_shared<std::int64_t>(1'000'000'000);
    std::uint64_t order_ = 0;
    int next_fd_ = 1 << 24;  // far above any descriptor a process can have
    std::unordered_map<int, std::unique_ptr<socket>>
        sockets_;                // closed ones stay, for their peers to read
    std::vector<socket*> open_;  // the others, in the order of their making
    std::map<int, listening> listeners_;
    std::priority_queue<event> events_;
    std::vector<std::unique_ptr<char[]>> buffers_;
    std::vector<std::uint32_t> free_;
    std::vector<io::completion> done_;
    std::size_t in_flight_ = 0;
    std::uint64_t turns_ = 0;
    std::uint64_t handed_out_ = 0;
    int accept_errno_ = 0;
    int accept_failures_ = 0;
    int connect_res_ = 0;
    bool idle_ = false;
    std::atomic<bool> woken_{false};
};

}  // namespace pillion::sim
