// tls_stream: io::stream over TLS over a connected socket, at either end of it.
//
// Received bytes go from the loop's lent buffer straight into the library, which keeps an
// unfinished record to itself; a finished one is decrypted into memory that all streams of the loop
// share, and lent to the reader from there. What is written waits until the end of the turn, so
// that the small answers of a turn are one record; more than a record's worth is encrypted at once,
// as far as the peer takes it.
//
// The library's memory (about 36 KiB) exists from the first received byte on, not from the accept;
// the larger part of it goes back to the system while nothing comes or goes.
// A handshake has limits::tls_handshake_timeout_ms. Who speaks plain HTTP gets an answer in it,
// which the maker provides, and is closed. Thread: its shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "crypto/mbedtls_compat.hpp"
#include "io/reactor.hpp"
#include "io/stream.hpp"
#include "io/tcp_stream.hpp"
#include "io/timer_wheel.hpp"
#include "tls/context.hpp"
#include "tls/loop_share.hpp"

namespace pillion::tls {

// Hears of the end of a client's handshake.
class handshake_listener {
 public:
    // Established. Not called when it fails: on_closed() says so, with EPROTO.
    virtual void on_handshake(bool resumed) noexcept = 0;

 protected:
    ~handshake_listener() = default;
};

class tls_stream final : public io::stream,
                         private io::stream_reader,
                         private io::flushable,
                         private handshake_waiter {
 public:
    // The answer for whoever speaks plain HTTP.
    using plain_answer = std::string (*)();

    // Takes ownership of `fd`. `refusal` and `listener` may be null.
    tls_stream(loop_share& of, std::shared_ptr<context> with, int fd, const io::peer_name& peer,
               plain_answer refusal, handshake_listener* listener = nullptr) noexcept;
    tls_stream(const tls_stream&) = delete;
    tls_stream& operator=(const tls_stream&) = delete;
    ~tls_stream() override;

    void start(io::stream_reader& reader) noexcept override;
    void pause_reading() noexcept override;
    void resume_reading() noexcept override;
    bool write(base::chunk* bytes) noexcept override;
    bool write_static(std::string_view bytes) noexcept override;
    std::size_t queued_bytes() const noexcept override {
        return queue_.bytes() + inner_.queued_bytes();
    }
    bool congested() const noexcept override { return inner_.congested(); }
    void shutdown_write() noexcept override;
    void close(bool flush) noexcept override;
    bool close_if_quiet() noexcept override;
    std::string_view peer() const noexcept override { return inner_.peer(); }
    std::string_view peer_address() const noexcept override { return inner_.peer_address(); }
    // Whom the client's certificate names, once the handshake is over.
    std::string_view peer_principal() const noexcept override { return principal_; }

    bool established() const noexcept { return state_ == state::established; }
    // Why the handshake or the connection was given up; empty when it was not.
    const std::string& fault() const noexcept { return fault_; }

 private:
    enum class state : std::uint8_t {
        fresh,        // nothing has come yet
        handshake,    //
        established,  //
        refused,      // an alert or a refusal is on its way: what still comes is dropped
        closed,       // close() was called, or the stream broke
    };

    void on_data(char* data, std::size_t bytes) noexcept override;
    void on_eof() noexcept override;
    void on_drained() noexcept override;
    void on_closed(int os_errno) noexcept override;
    void flush() noexcept override;
    void handshake_turn() noexcept override;
    static void on_timer(io::timer& self, void* owner) noexcept;

    bool begin() noexcept;
    void take_in() noexcept;
    bool make_progress() noexcept;
    bool step() noexcept;
    bool step_ended(int code) noexcept;
    bool end_handshake() noexcept;
    bool read_record() noexcept;
    void hold() noexcept;
    void take_held() noexcept;
    void give_held() noexcept;
    void tell_eof() noexcept;
    bool blocked() const noexcept { return paused_ || waiting_; }
    void let_in() noexcept;
    state leave(state to) noexcept;
    void note_use() noexcept;
    void rest() noexcept;
    void refuse_plain() noexcept;
    void refuse(std::string why) noexcept;
    void break_off(int code) noexcept;
    // close(true): bytes of the peer are of no interest any more.
    bool only_sends() const noexcept { return flushing_ && state_ == state::established; }
    // Whether bytes of the peer are of interest.
    bool hears() const noexcept { return state_ < state::refused && !eof_told_ && !only_sends(); }
    bool wrote() noexcept;
    void send_on() noexcept;
    void encrypt() noexcept;
    void end_output() noexcept;
    static int receive(void* self, unsigned char* to, std::size_t bytes) noexcept;
    static int send(void* self, const unsigned char* from, std::size_t bytes) noexcept;

    loop_share& share_;
    std::shared_ptr<context> context_;
    io::tcp_stream inner_;
    io::stream_reader* reader_ = nullptr;
    handshake_listener* listener_;
    plain_answer plain_refusal_;

    mbedtls_ssl_context ssl_;
    const char* in_ = nullptr;  // received bytes that the library has not asked for yet
    std::size_t in_bytes_ = 0;
    base::chunk* held_ = nullptr;  // the same, kept while reading is paused or a handshake waits
    io::out_queue queue_;          // plain text
    io::timer timer_{&tls_stream::on_timer, this};
    std::string principal_;
    std::string fault_;

    state state_ = state::fresh;
    bool paused_ = false;    // by the reader
    bool waiting_ = false;   // for time for a step of the handshake
    bool again_ = false;     // reading was resumed: look at what is held
    bool noted_ = false;     // see context::take_note()
    bool eof_ = false;       // the peer finished…
    bool eof_told_ = false;  // … and the reader knows
    bool shut_ = false;      // shutdown_write(), and the queue is still to be sent
    bool flushing_ = false;  // close(true), and the queue is still to be sent
    bool output_ended_ = false;
    bool used_ = false;        // since the timer was armed
    bool resting_ = false;     // … which it is not: the buffers have gone back
    std::uint8_t spared_ = 0;  // how often close_if_quiet() met the same part of a record
};

}  // namespace pillion::tls
