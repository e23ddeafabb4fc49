// reply_reader: reads what a server sends over one connection, byte by byte if need be: replies
// with bodies, and event streams. Independent of the server's own parsers on purpose.
//
// Thread: one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace pillion::sim {

struct reply_head {
    int status = 0;
    std::map<std::string, std::string, std::less<>> fields;  // names in lower case

    std::string_view get(std::string_view name) const {
        const auto at = fields.find(name);
        return at == fields.end() ? std::string_view() : std::string_view(at->second);
    }
    bool streamed() const { return get("content-type").starts_with("text/event-stream"); }
};

struct stream_event {
    std::string id;
    std::string name;
    std::string data;
    bool has_data = false;
};

class reply_sink {
 public:
    virtual void on_head(const reply_head& head) = 0;
    virtual void on_event(const stream_event& event) = 0;
    // The reply is over; `body` is empty for event streams.
    virtual void on_end(const reply_head& head, const std::string& body) = 0;

 protected:
    ~reply_sink() = default;
};

class reply_reader {
 public:
    explicit reply_reader(reply_sink& to) : to_(to) {}

    // False when the bytes are no replies; fault() says why.
    bool feed(std::string_view bytes);
    // The connection has ended; false in the middle of a reply.
    bool finish();
    // Between two replies.
    bool idle() const { return state_ == state::head && rest_.empty(); }
    const char* fault() const { return fault_; }

 private:
    enum class state : std::uint8_t { head, sized, chunk_size, chunk, chunk_end, last, to_end };
    bool step();
    bool read_head(std::string_view text);
    bool begin_body();
    bool read_chunk_size();
    void take_body(std::string_view bytes);
    void take_line(std::string_view line);
    bool end_reply();
    bool bad(const char* why) {
        fault_ = why;
        return false;
    }

    reply_sink& to_;
    state state_ = state::head;
    reply_head head_;
    std::string rest_;
    std::string body_;
    std::string line_;
    stream_event event_;
    std::size_t left_ = 0;
    const char* fault_ = nullptr;
};

}  // namespace pillion::sim
