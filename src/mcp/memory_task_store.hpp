// memory_task_store: tasks in the memory of this process (task_store.hpp). They end with it.
//
// Thread-safety: one lock; what it guards is moved, not computed.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/hash.hpp"
#include "base/limits.hpp"
#include "mcp/task_store.hpp"

namespace pillion::mcp {

class memory_task_store final : public task_store {
 public:
    struct caps {
        std::size_t tasks = limits::tasks_max;
        std::size_t tasks_per_owner = limits::tasks_per_owner_max;
        std::size_t bytes = limits::task_bytes_max;

        caps() noexcept {}  // NOLINT(modernize-use-equals-default): no aggregate
    };
    explicit memory_task_store(const caps& most = caps()) noexcept : caps_(most) {}

    task_ref insert(task_record made) override;
    task_ref find(std::string_view id, std::int64_t now_ms) const override;
    change_result change(std::string_view id, std::int64_t now_ms,
                         base::function_ref<bool(task_record&)> edit) override;
    std::vector<task_ref> list(std::string_view session, std::uint64_t after, std::size_t max,
                               std::int64_t now_ms) const override;
    std::size_t expire(std::int64_t now_ms) override;
    bool has_room() const override;
    std::size_t size() const override;
    std::size_t bytes() const override;

 private:
    template <class T>
    using by_text = std::unordered_map<std::string, T, base::bytes_hash, std::equal_to<>>;

    // Whose share a task counts for: its principal's, else its session's.
    static const std::string& payer(const task_record& r) noexcept {
        return r.owner.empty() ? r.session : r.owner;
    }
    void forget(const task_ref& gone);

    const caps caps_;
    mutable std::mutex mutex_;  // guards what follows
    by_text<task_ref> tasks_;
    std::map<std::uint64_t, task_ref> in_order_;
    by_text<std::size_t> paid_by_;
    std::uint64_t numbers_ = 0;
    std::size_t bytes_ = 0;
};

}  // namespace pillion::mcp
