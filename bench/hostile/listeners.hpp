// listeners: well-behaved event streams, and the client whose calls make the changes they hear of.
//
// Half are subscriptions/listen, half GET streams of sessions. Every change must reach every stream
// once; when the server ends, every stream must end by its last chunk. Thread: the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "wire.hpp"

namespace hostile {

struct listen_report {
    std::uint64_t changes = 0;    // made and acknowledged
    std::uint64_t heard_max = 0;  // by the one that heard most…
    std::uint64_t heard_min = 0;  // …and least
    std::size_t ended = 0;        // by their last chunk
    std::size_t broken = 0;       // without it
};

class listeners {
 public:
    // A change of `uri` as often as `changes_per_s`; 0: none.
    listeners(int port, int streams, double changes_per_s, std::string uri);
    ~listeners();
    listeners(const listeners&) = delete;
    listeners& operator=(const listeners&) = delete;

    // Reads what is there; makes a change when one is due and `publishing`.
    void step(std::int64_t now, bool publishing);
    bool all_ended() const { return report_.ended + report_.broken == all_.size(); }
    listen_report report() const;

 private:
    struct stream {
        int fd = -1;
        std::uint64_t heard = 0;
        std::string tail;
    };

    void add(int fd);
    void read(stream& s);
    void end(stream& s, bool reset);

    int port_;
    double period_ns_;
    std::string change_;  // the call
    std::int64_t next_ns_ = 0;
    bool asked_ = false;
    int control_ = -1;
    int epoll_ = -1;
    answer_reader answers_;
    std::vector<stream> all_;
    listen_report report_;
};

}  // namespace hostile
