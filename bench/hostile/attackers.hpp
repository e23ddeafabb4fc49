// attackers: slow senders (from 127.0.0.2), readers that never read (.3), a flood of requests to be
// refused (.4), and senders of large requests that wait for no answer (.5). Whoever is cut comes
// back at once. Thread: the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "wire.hpp"

namespace hostile {

struct attack_plan {
    int port = 0;
    int slow = 0;            // connections that send a byte a second: half heads, half bodies
    int stalled = 0;         // event streams that are never read
    double flood_per_s = 0;  // requests to be refused, over flood_connections
    int flood_connections = 64;
    int uploads = 0;            // connections that send large requests, as much as they may
    std::string kind = "rate";  // of refusal: rate (handshakes), path, origin, size, session
    std::string uri;            // what the streams subscribe to
};

struct attack_report {
    std::uint64_t drips = 0;
    std::uint64_t slow_cut = 0;
    std::uint64_t stalled_cut = 0;
    std::uint64_t flood_sent = 0;
    std::uint64_t flood_refused = 0;  // answered with the status that the kind has
    std::uint64_t flood_other = 0;    // answered with any other
    std::uint64_t flood_late = 0;     // not sent in time: every connection waited for its answer
    std::uint64_t uploaded = 0;       // large requests
};

class attackers {
 public:
    explicit attackers(const attack_plan& plan);
    ~attackers();
    attackers(const attackers&) = delete;
    attackers& operator=(const attackers&) = delete;

    void step(std::int64_t now);
    const attack_report& report() const { return report_; }

 private:
    enum class role : std::uint8_t { slow, stalled, flood, upload };
    struct one {
        role what = role::slow;
        int fd = -1;
        bool busy = false;        // flood: waits for its answer
        std::size_t at = 0;       // slow, upload: bytes sent
        std::int64_t due_ns = 0;  // slow: the next byte
        answer_reader answers;
    };

    void open(std::size_t i);
    void ended(std::size_t i);
    void drip(std::int64_t now);
    void flood(std::int64_t now);
    void upload();
    void event(std::size_t i);

    attack_plan plan_;
    attack_report report_;
    std::string request_;  // of the flood
    int status_ = 0;       // that refuses it
    std::string slow_head_;
    std::string slow_body_;
    std::string large_;
    std::vector<one> all_;
    std::vector<std::size_t> free_;  // of the flood
    std::int64_t flood_from_ns_ = 0;
    std::uint64_t flooded_ = 0;  // due so far
    int epoll_ = -1;
};

}  // namespace hostile
