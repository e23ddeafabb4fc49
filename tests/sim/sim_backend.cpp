#include "sim/sim_backend.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "base/limits.hpp"

namespace pillion::sim {

namespace {

io::transfer_op& transfer_of(io::op* of) { return static_cast<io::transfer_op&>(*of); }

enum kind : int { k_accept, k_receive, k_hangup, k_read, k_send, k_write, k_connect };

}  // namespace

void sim_peer::send(std::string_view bytes) { sim_->at_fd(fd_).inbound += bytes; }

void sim_peer::send_after(std::int64_t delay_ns, std::string_view bytes) {
    sim_->at(delay_ns, [peer = *this, text = std::string(bytes)]() mutable { peer.send(text); });
}

void sim_peer::split_at(std::vector<std::size_t> offsets) {
    sim_->at_fd(fd_).cuts = std::move(offsets);
}

void sim_peer::finish() { sim_->at_fd(fd_).peer_finished = true; }

void sim_peer::reset() {
    auto& s = sim_->at_fd(fd_);
    s.broken = true;
    s.drop_inbound();
}

void sim_peer::block(bool on) { sim_->at_fd(fd_).blocked = on; }

void sim_peer::reset_after(std::size_t bytes) { sim_->at_fd(fd_).break_in = bytes; }

std::string sim_peer::take() { return std::exchange(sim_->at_fd(fd_).outbound, std::string()); }

const std::string& sim_peer::received() const { return sim_->at_fd(fd_).outbound; }

bool sim_peer::saw_eof() const { return sim_->at_fd(fd_).write_shut || sim_->at_fd(fd_).closed; }

bool sim_peer::closed() const { return sim_->at_fd(fd_).closed; }

bool sim_peer::accepted() const { return sim_->at_fd(fd_).accepted; }

sim_backend::sim_backend(const sim_options& with) : options(with), random_(with.seed) {
    for (std::size_t i = 0; i < with.recv_buffers; ++i) {
        // Blocks of their own, so that a sanitizer sees every byte read behind the padding.
        buffers_.push_back(std::make_unique<char[]>(with.recv_buffer_bytes));
        free_.push_back(static_cast<std::uint32_t>(i));
    }
}

sim_backend::~sim_backend() {
    for (const io::completion& c : done_) {
        c.target->in_flight = false;
    }
    for (auto& [fd, s] : sockets_) {
        for (io::op* const o : {s->in, s->out}) {
            if (o != nullptr) {
                o->in_flight = false;
            }
        }
    }
    for (auto& [fd, l] : listeners_) {
        if (l.acceptor != nullptr) {
            l.acceptor->in_flight = false;
        }
    }
}

int sim_backend::listen() {
    const int fd = next_fd_++;
    listeners_[fd];
    return fd;
}

sim_peer sim_backend::open() {
    const int fd = next_fd_++;
    open_.push_back((sockets_[fd] = std::make_unique<socket>()).get());
    return {*this, fd};
}

sim_peer sim_backend::connect(int listen_fd) {
    sim_peer peer = open();
    listeners_.at(listen_fd).waiting.push_back(peer.fd());
    return peer;
}

void sim_backend::fail_accepts(int os_errno, int times) {
    accept_errno_ = os_errno;
    accept_failures_ = times;
}

void sim_backend::turn_away(int listen_fd) {
    for (const int fd : std::exchange(listeners_.at(listen_fd).waiting, {})) {
        at_fd(fd).broken = true;
        close(fd);
    }
}

void sim_backend::forget(int fd) {
    PILLION_ASSERT(at_fd(fd).closed);
    sockets_.erase(fd);
}

void sim_backend::at(std::int64_t delay_ns, std::function<void()> what) {
    events_.push({now_ns() + delay_ns, order_++, std::move(what)});
}

std::size_t sim_backend::open_sockets() const {
    return static_cast<std::size_t>(std::count_if(sockets_.begin(), sockets_.end(),
                                                  [](const auto& s) { return !s.second->closed; }));
}

std::int64_t sim_backend::unix_ms() const noexcept {
    constexpr std::int64_t epoch_ms = 1'800'000'000'000;
    return epoch_ms + now_ns() / 1'000'000;
}

sim_backend::socket& sim_backend::at_fd(int fd) {
    const auto found = sockets_.find(fd);
    PILLION_ASSERT(found != sockets_.end());
    return *found->second;
}

void sim_backend::begin(io::op& target, int kind, int fd, io::op*& slot) {
    PILLION_ASSERT(!target.in_flight && slot == nullptr);
    target.in_flight = true;
    target.kind = static_cast<std::uint8_t>(kind);
    target.fd = fd;
    slot = &target;
    ++in_flight_;
}

void sim_backend::end(io::op*& slot, std::int32_t res) {
    io::completion what;
    what.target = std::exchange(slot, nullptr);
    what.res = res;
    done_.push_back(what);
}

void sim_backend::accept(io::op& target, int listen_fd) noexcept {
    listening& l = listeners_.at(listen_fd);
    begin(target, k_accept, listen_fd, l.acceptor);
    l.cancelled = false;
}

void sim_backend::receive(io::op& target, int fd) noexcept {
    socket& s = at_fd(fd);
    PILLION_ASSERT(!s.closed);
    begin(target, k_receive, fd, s.in);
    s.in_cancelled = false;
}

void sim_backend::await_hangup(io::op& target, int fd) noexcept {
    socket& s = at_fd(fd);
    PILLION_ASSERT(!s.closed);
    begin(target, k_hangup, fd, s.in);
    s.in_cancelled = false;
}

void sim_backend::send(io::transfer_op& target, int fd, const iovec* parts,
                       std::size_t count) noexcept {
    socket& s = at_fd(fd);
    PILLION_ASSERT(!s.closed);
    begin(target, k_send, fd, s.out);
    s.out_cancelled = false;
    target.memory = reinterpret_cast<std::uintptr_t>(parts);
    target.size = count;
}

void sim_backend::read(io::transfer_op& target, int fd, char* to, std::size_t bytes) noexcept {
    socket& s = at_fd(fd);
    begin(target, k_read, fd, s.in);
    s.in_cancelled = false;
    target.memory = reinterpret_cast<std::uintptr_t>(to);
    target.size = bytes;
}

void sim_backend::write(io::transfer_op& target, int fd, const char* from,
                        std::size_t bytes) noexcept {
    socket& s = at_fd(fd);
    begin(target, k_write, fd, s.out);
    s.out_cancelled = false;
    target.memory = reinterpret_cast<std::uintptr_t>(from);
    target.size = bytes;
}

void sim_backend::connect(io::transfer_op& target, int fd, const void*, std::size_t) noexcept {
    socket& s = at_fd(fd);
    begin(target, k_connect, fd, s.out);
    s.out_cancelled = false;
}

void sim_backend::cancel(io::op& target) noexcept {
    if (!target.in_flight) {
        return;
    }
    if (target.kind == k_accept) {
        listening& l = listeners_.at(target.fd);
        l.cancelled = l.cancelled || l.acceptor == &target;
        return;
    }
    socket& s = at_fd(target.fd);
    s.in_cancelled = s.in_cancelled || s.in == &target;
    s.out_cancelled = s.out_cancelled || s.out == &target;
}

void sim_backend::shutdown(int fd, int how) noexcept {
    socket& s = at_fd(fd);
    s.write_shut = s.write_shut || how != SHUT_RD;
    s.read_shut = s.read_shut || how != SHUT_WR;
}

void sim_backend::close(int fd) noexcept {
    socket& s = at_fd(fd);
    PILLION_ASSERT(s.in == nullptr && s.out == nullptr && !s.closed);
    s.closed = true;
    std::erase(open_, &s);
}

void sim_backend::give_back(std::uint32_t buffer_id) noexcept {
    // A use after the return shows.
    std::memset(buffers_[buffer_id].get(), 0xdb, options.recv_buffer_bytes);
    free_.push_back(buffer_id);
}

bool sim_backend::cancel_wins() {
    return options.cancel_random ? random_() % 2 == 0 : !options.cancel_loses;
}

std::size_t sim_backend::share_of(std::size_t bytes, std::size_t most) {
    std::size_t share = most == 0 ? bytes : std::min(bytes, most);
    if (options.random_sizes && share > 1) {
        share = 1 + random_() % share;
    }
    return share;
}

std::size_t sim_backend::chunk_of(const socket& s, std::size_t room) {
    std::size_t bytes = share_of(std::min(room, s.unread()), options.receive_max);
    for (const std::size_t cut : s.cuts) {
        if (cut > s.delivered) {
            bytes = std::min(bytes, cut - s.delivered);
        }
    }
    return bytes;
}

std::string sim_backend::take_inbound(socket& s, std::size_t bytes) {
    std::string taken = s.inbound.substr(s.taken, bytes);
    s.taken += bytes;
    s.delivered += bytes;
    if (s.taken > s.inbound.size() / 2) {  // seldom: much may lie here and go in small pieces
        s.inbound.erase(0, std::exchange(s.taken, 0));
    }
    return taken;
}

void sim_backend::progress_listener(listening& l) {
    if (l.acceptor != nullptr && l.cancelled && (l.waiting.empty() || cancel_wins())) {
        return end(l.acceptor, -ECANCELED);
    }
    while (l.acceptor != nullptr && !l.waiting.empty()) {
        if (accept_failures_ > 0) {
            --accept_failures_;
            return end(l.acceptor, -accept_errno_);
        }
        io::completion what;
        what.target = l.acceptor;
        what.res = l.waiting.front();
        what.more = true;
        l.waiting.pop_front();
        at_fd(what.res).accepted = true;
        done_.push_back(what);
    }
    if (l.acceptor != nullptr && l.cancelled) {
        end(l.acceptor, -ECANCELED);
    }
}

void sim_backend::progress_in(socket& s) {
    if (s.in_cancelled && cancel_wins()) {
        return end(s.in, -ECANCELED);
    }
    switch (s.in->kind) {
        case k_receive:
            progress_receive(s);
            break;
        case k_read:
            progress_read(s);
            break;
        default:
            if (s.broken) {
                return end(s.in, POLLRDHUP | POLLERR | POLLHUP);
            }
            if (s.peer_finished || s.read_shut) {
                return end(s.in, POLLRDHUP);
            }
            break;
    }
    if (s.in != nullptr && s.in_cancelled) {
        end(s.in, -ECANCELED);
    }
}

void sim_backend::progress_receive(socket& s) {
    if (s.broken) {
        return end(s.in, -ECONNRESET);
    }
    if (s.unread() == 0) {
        if (s.peer_finished || s.read_shut) {
            end(s.in, 0);
        }
        return;
    }
    const bool none = options.no_buffer_one_in > 0 && random_() % options.no_buffer_one_in == 0;
    if (none || free_.empty()) {
        return end(s.in, -ENOBUFS);
    }
    const std::size_t room = options.recv_buffer_bytes - limits::padding;
    const std::string bytes = take_inbound(s, chunk_of(s, room));
    io::completion what;
    what.target = s.in;
    what.res = static_cast<std::int32_t>(bytes.size());
    what.more = true;
    what.buffer_id = free_.back();
    free_.pop_back();
    what.data = buffers_[what.buffer_id].get();
    std::memcpy(what.data, bytes.data(), bytes.size());
    done_.push_back(what);
}

void sim_backend::progress_read(socket& s) {
    if (s.broken) {
        return end(s.in, -EIO);
    }
    if (s.unread() == 0) {
        if (s.peer_finished) {
            end(s.in, 0);
        }
        return;
    }
    const std::string bytes =
        take_inbound(s, chunk_of(s, static_cast<std::size_t>(transfer_of(s.in).size)));
    std::memcpy(reinterpret_cast<void*>(transfer_of(s.in).memory), bytes.data(), bytes.size());
    end(s.in, static_cast<std::int32_t>(bytes.size()));
}

void sim_backend::progress_out(socket& s) {
    if (s.out->kind == k_connect) {
        return end(s.out, s.out_cancelled ? -ECANCELED : connect_res_);
    }
    if (s.out_cancelled && (s.blocked || cancel_wins())) {
        return end(s.out, -ECANCELED);
    }
    if (s.broken || s.write_shut) {
        return end(s.out, s.out->kind == k_send && !s.write_shut ? -ECONNRESET : -EPIPE);
    }
    if (s.blocked) {
        return;
    }
    std::string bytes;
    if (s.out->kind == k_write) {
        bytes.assign(reinterpret_cast<const char*>(transfer_of(s.out).memory),
                     static_cast<std::size_t>(transfer_of(s.out).size));
    } else {
        const auto* parts = reinterpret_cast<const iovec*>(transfer_of(s.out).memory);
        for (std::size_t i = 0; i < transfer_of(s.out).size; ++i) {
            bytes.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
        }
    }
    const std::size_t taken = take_outbound(s, bytes);
    if (taken == 0 && s.broken) {
        return end(s.out, s.out->kind == k_send ? -ECONNRESET : -EPIPE);
    }
    end(s.out, static_cast<std::int32_t>(taken));
}

// How many of these the peer gets, who may break off behind them.
std::size_t sim_backend::take_outbound(socket& s, std::string_view bytes) {
    bytes = bytes.substr(0, std::min(share_of(bytes.size(), options.send_max), s.break_in));
    s.outbound += bytes;
    if (s.break_in != SIZE_MAX && (s.break_in -= bytes.size()) == 0) {
        s.broken = true;
        s.drop_inbound();
    }
    return bytes.size();
}

std::ptrdiff_t sim_backend::send_at_once(int fd, const char* from, std::size_t bytes) noexcept {
    socket& s = at_fd(fd);
    PILLION_ASSERT(!s.closed && s.out == nullptr);
    if (s.broken || s.write_shut) {
        return s.write_shut ? -EPIPE : -ECONNRESET;
    }
    if (s.blocked) {
        return -EAGAIN;
    }
    const std::size_t taken = take_outbound(s, {from, bytes});
    return taken == 0 && s.broken ? -ECONNRESET : static_cast<std::ptrdiff_t>(taken);
}

void sim_backend::progress() {
    for (auto& [fd, l] : listeners_) {
        progress_listener(l);
    }
    for (socket* const s : open_) {
        // Most wait for their peer, in tests of many connections hundreds of them at every turn.
        if (s->in != nullptr &&
            (s->in_cancelled || s->unread() > 0 || s->broken || s->peer_finished || s->read_shut)) {
            progress_in(*s);
        }
        if (s->out != nullptr) {
            progress_out(*s);
        }
    }
}

void sim_backend::run_due_events() {
    while (!events_.empty() && events_.top().due_ns <= now_ns()) {
        const std::function<void()> run = events_.top().run;
        events_.pop();
        run();
    }
}

void sim_backend::turn(std::int64_t wait_ns, std::vector<io::completion>& out) noexcept {
    ++turns_;
    idle_ = false;
    run_due_events();
    progress();
    if (done_.empty() && wait_ns != 0 && !woken_.load()) {
        const bool has_event = !events_.empty();
        if (wait_ns < 0 && !has_event) {
            idle_ = true;  // a real backend would sleep for ever
            return;
        }
        std::int64_t to = wait_ns < 0 ? INT64_MAX : now_ns() + wait_ns;
        if (has_event) {
            to = std::min(to, events_.top().due_ns);
        }
        *clock_ = std::max(now_ns(), to);
        run_due_events();
        progress();
    }
    woken_.store(false);
    hand_out(out);
}

void sim_backend::hand_out(std::vector<io::completion>& out) {
    if (options.shuffle && done_.size() > 1) {
        std::vector<io::completion> mixed = done_;
        std::shuffle(mixed.begin(), mixed.end(), random_);
        // The completions of one op keep their order, as from a kernel.
        std::map<io::op*, std::deque<io::completion>> in_order;
        for (const io::completion& c : done_) {
            in_order[c.target].push_back(c);
        }
        for (io::completion& c : mixed) {
            auto& queue = in_order[c.target];
            c = queue.front();
            queue.pop_front();
        }
        done_.swap(mixed);
    }
    for (const io::completion& c : done_) {
        in_flight_ -= c.more ? 0 : 1;
        out.push_back(c);
        ++handed_out_;
    }
    done_.clear();
}

}  // namespace pillion::sim
