// Changes of one task from several threads, and what its watchers hear; also run under TSan.
#include <chrono>
#include <latch>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "mcp/memory_task_store.hpp"
#include "mcp/task_desk.hpp"
#include "unit/mcp/world.hpp"

namespace pillion::mcp {
namespace {

using testing::world;
using testing::world_options;

// Keeps who changes a task to "working" from going on until somebody has ended it, or cannot.
class slow_store final : public task_store {
 public:
    change_result change(std::string_view id, std::int64_t now_ms,
                         base::function_ref<bool(task_record&)> edit) override {
        change_result done = in_.change(id, now_ms, edit);
        if (done.changed && done.now->status == task_status::working) {
            changed.count_down();
            (void)ended.try_acquire_for(std::chrono::milliseconds(200));
        }
        return done;
    }
    task_ref insert(task_record made) override { return in_.insert(std::move(made)); }
    task_ref find(std::string_view id, std::int64_t now_ms) const override {
        return in_.find(id, now_ms);
    }
    std::vector<task_ref> list(std::string_view session, std::uint64_t after, std::size_t max,
                               std::int64_t now_ms) const override {
        return in_.list(session, after, max, now_ms);
    }
    std::size_t expire(std::int64_t now_ms) override { return in_.expire(now_ms); }
    bool has_room() const override { return in_.has_room(); }
    std::size_t size() const override { return in_.size(); }
    std::size_t bytes() const override { return in_.bytes(); }

    std::latch changed{1};
    std::binary_semaphore ended{0};

 private:
    memory_task_store in_;
};

struct ear final : task_watcher {
    void on_task(const task_ref& now) noexcept override { heard.push_back(now->status); }
    std::vector<task_status> heard;
};

// A task was stored and told of in two steps: who was cancelled between them was told to be working
// last, and its client waited.
TEST(task_changes_threads, what_is_told_last_is_what_the_task_came_to) {
    world_options options;
    const auto store = std::make_shared<slow_store>();
    options.tasks = store;
    world w(options);
    task_record made;
    made.id = "t";
    made.status = task_status::input_required;
    made.created_ms = w.net.loop().unix_ms();
    made.ttl_ms = 60'000;
    ASSERT_NE(store->insert(made), nullptr);
    ear one;
    w.engine->tasks().watch("t", one);
    const auto become = [&](task_status next) {
        auto edit = [next](task_record& t) {
            t.status = next;
            return true;
        };
        return w.service->change_task("t", made.created_ms, edit).changed;
    };
    std::thread works([&] { EXPECT_TRUE(become(task_status::working)); });
    store->changed.wait();
    EXPECT_TRUE(become(task_status::cancelled));
    store->ended.release();
    works.join();
    w.settle();
    EXPECT_EQ(one.heard, (std::vector{task_status::working, task_status::cancelled}));
    w.engine->tasks().unwatch("t", one);
}

}  // namespace
}  // namespace pillion::mcp
