// task_desk: the tasks of one shard: those that run here, and the requests here that wait for news
// of tasks anywhere. The records themselves are in the store that all shards share
// (task_store.hpp).
//
// Thread: its shard.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "base/intrusive_list.hpp"
#include "mcp/request.hpp"
#include "mcp/task_run.hpp"
#include "mcp/task_store.hpp"

namespace pillion::mcp {

struct fault;

// Somebody who wants to hear about tasks. One watcher for each task.
class task_watcher : public base::list_hook<> {
 public:
    // The task has changed; null: it has expired. Must not add or remove other watchers.
    virtual void on_task(const task_ref& now) noexcept = 0;

 protected:
    ~task_watcher() = default;
};

// A tasks/result that waits here.
class desk_call {
 public:
    // A message of the task for this call's stream.
    virtual void on_task_message(std::string_view message) noexcept = 0;
    // There is another one for the task now.
    virtual void on_newer_call() noexcept = 0;

 protected:
    ~desk_call() = default;
};

class task_desk {
 public:
    explicit task_desk(engine& of) noexcept : engine_(of) {}
    task_desk(const task_desk&) = delete;
    task_desk& operator=(const task_desk&) = delete;
    // Asserts that no task runs here.
    ~task_desk();

    // Makes the call `r` a task: keeps a record, answers with it, and lets the handler go on.
    // False with a fault when no more tasks are taken. REQUIRES: `r` has not been answered.
    bool begin(request& r, fault& why);
    // The handler has ended.
    void end(task_run& run) noexcept;
    // Tells those here whose client waits for questions that nobody is listened to any more.
    void give_up_questions() noexcept;

    // ---- from any shard, through service::post_to ----
    void take_answers(std::string_view id,
                      const std::vector<std::pair<std::string, std::string>>& answers) noexcept;
    void cancel(std::string_view id) noexcept;
    void attach(std::string_view id, desk_caller caller);
    void detach(std::string_view id, std::size_t shard, std::uint64_t number) noexcept;
    void pass_on(std::uint64_t call_number, std::string_view message) noexcept;
    void give_way(std::uint64_t call_number) noexcept;
    // A task anywhere has changed.
    void tell(const task_ref& now) noexcept;

    // ---- requests that wait here ----
    void watch(std::string_view id, task_watcher& by);
    void unwatch(std::string_view id, task_watcher& by) noexcept;
    std::uint64_t add_call(desk_call& by);
    void remove_call(std::uint64_t number) noexcept { calls_.erase(number); }

    // Wakes those who wait for a task that has expired.
    void sweep() noexcept;
    std::size_t running() const noexcept { return runs_.size(); }

 private:
    template <class T>
    using by_id = std::unordered_map<std::string, T, base::bytes_hash, std::equal_to<>>;

    std::string new_id() const;
    task_record record_of(const request& r) const;

    engine& engine_;
    base::intrusive_list<request, detail::in_flight_tag> requests_;
    by_id<task_run*> runs_;
    by_id<base::intrusive_list<task_watcher>> watchers_;
    std::unordered_map<std::uint64_t, desk_call*> calls_;
    std::uint64_t call_numbers_ = 0;
};

}  // namespace pillion::mcp
