// task_run: a tool call that goes on as a task. The caller has its answer (the task's id); what the
// handler says from here on goes to the task's record instead of a connection, so a task_run takes
// the place of the request's reply_channel.
//
// Questions: clients of 2026-07-28 find them in tasks/get and answer with tasks/update. Earlier
// ones get them as requests, on the stream of a tasks/result that waits (a *desk call*, perhaps on
// another shard); so they get progress and log messages.
//
// Owned by its request. Thread: the request's shard.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/intrusive_list.hpp"
#include "coro/sync.hpp"
#include "io/timer_wheel.hpp"
#include "json/writer.hpp"
#include "mcp/client_call.hpp"
#include "mcp/reply_channel.hpp"
#include "mcp/task_store.hpp"

namespace pillion::mcp {

// A tasks/result that waits, by the shard it waits on.
struct desk_caller {
    std::size_t shard = 0;
    std::uint64_t number = 0;  // on that shard
    session_ref session;
};

class task_run final : public reply_channel {
 public:
    task_run(request& r, std::string id) : request_(r), id_(std::move(id)), says_(&on_say, this) {}
    task_run(const task_run&) = delete;
    task_run& operator=(const task_run&) = delete;
    ~task_run() = default;

    const std::string& id() const noexcept { return id_; }
    request& of() noexcept { return request_; }

    // ---- what the handler says ----
    bool notify(request& r, base::byte_buffer message) noexcept override;
    void reply(request& r, base::byte_buffer message, std::uint16_t http_status) noexcept override;
    void drop(request& /*r*/) noexcept override {}
    // The task's message; not more often than limits::task_message_ms, the last one stays.
    void say(std::string_view text) noexcept;

    // ---- questions ----
    // Asks a client of 2026-07-28 and waits.
    task<result<json::view>> ask(const asking& what);
    // Clients up to 2025-11-25: `message` is the request to send. close() when it needs no answer.
    void open(client_call& call, std::string_view message) noexcept;
    void close(client_call& call) noexcept;
    // Answers from tasks/update: keys and JSON.
    void take_answers(const std::vector<std::pair<std::string, std::string>>& answers) noexcept;
    // Nobody is listened to any more.
    void give_up_questions() noexcept;

    // ---- tasks/result calls that wait ----
    void attach(desk_caller caller);
    void detach(std::size_t shard, std::uint64_t number) noexcept;

    // tasks/cancel: the record says so already.
    void cancelled() noexcept;

 private:
    // One question that waits; lives in the frame of ask().
    struct pending : base::list_hook<> {
        std::string key;
        coro::event answered;
        json::view answer;
        bool gone = false;
    };
    struct sent_question {
        client_call* call;
        std::string message;
        bool under_way = false;
        std::size_t shard = 0;  // of the caller that carried it
        std::uint64_t number = 0;
    };

    static void on_say(io::timer& self, void* owner) noexcept;
    std::string unused_key(std::string_view wanted);
    void put_question(std::string_view key, std::string_view method, std::string_view params);
    void drop_question(std::string_view key) noexcept;
    void deliver(sent_question& one) noexcept;
    // Changes the record and tells whoever watches it.
    void change(base::function_ref<bool(task_record&)> edit) noexcept;

    request& request_;
    const std::string id_;
    std::vector<std::string> keys_;  // that were ever used
    base::intrusive_list<pending> pending_;
    std::vector<sent_question> sent_;
    std::vector<desk_caller> callers_;
    std::string unsaid_;
    std::int64_t said_ns_ = INT64_MIN;
    io::timer says_;
};

// `,"_meta":{"io.modelcontextprotocol/related-task":…}` for what belongs to a task of 2025-11-25;
// nothing for other requests.
void write_related_task(request& r, json::writer& w);

}  // namespace pillion::mcp
