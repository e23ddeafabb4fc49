// What every task_store promises. Another implementation joins by a line in
// INSTANTIATE_TEST_SUITE_P.
#include <functional>

#include <gtest/gtest.h>

#include "mcp/memory_task_store.hpp"

namespace pillion::mcp {
namespace {

struct small_caps {
    std::size_t tasks = 100;
    std::size_t per_owner = 3;
    std::size_t bytes = 1 << 20;
};

using factory = std::function<std::unique_ptr<task_store>(const small_caps&)>;

std::unique_ptr<task_store> in_memory(const small_caps& given) {
    memory_task_store::caps most;
    most.tasks = given.tasks;
    most.tasks_per_owner = given.per_owner;
    most.bytes = given.bytes;
    return std::make_unique<memory_task_store>(most);
}

task_record record(std::string id, std::string session = "s", std::int64_t created_ms = 1000) {
    task_record r;
    r.id = std::move(id);
    r.session = std::move(session);
    r.tool = "tool";
    r.created_ms = r.updated_ms = created_ms;
    r.ttl_ms = 500;
    r.poll_ms = 10;
    return r;
}

class task_stores : public ::testing::TestWithParam<factory> {
 public:
    std::unique_ptr<task_store> store = GetParam()(small_caps());

    task_status status(std::string_view id, std::int64_t now_ms = 1100) const {
        return store->find(id, now_ms)->status;
    }
    bool set(std::string_view id, task_status to, std::int64_t now_ms = 1100) const {
        auto edit = [to](task_record& t) {
            t.status = to;
            return true;
        };
        return store->change(id, now_ms, edit).changed;
    }
};

TEST_P(task_stores, keeps_what_it_was_given) {
    task_record given = record("a");
    given.owner = "owner";
    given.rev = revision::r2025_11_25;
    given.shard = 3;
    const task_ref kept = store->insert(given);
    ASSERT_NE(kept, nullptr);
    EXPECT_GT(kept->number, 0U);
    const task_ref found = store->find("a", 1000);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->id, "a");
    EXPECT_EQ(found->owner, "owner");
    EXPECT_EQ(found->session, "s");
    EXPECT_EQ(found->tool, "tool");
    EXPECT_EQ(found->rev, revision::r2025_11_25);
    EXPECT_EQ(found->shard, 3U);
    EXPECT_EQ(found->created_ms, 1000);
    EXPECT_EQ(found->ttl_ms, 500);
    EXPECT_EQ(found->poll_ms, 10);
    EXPECT_EQ(found->status, task_status::working);
    EXPECT_EQ(store->find("b", 1000), nullptr);
}

TEST_P(task_stores, a_change_makes_a_new_record_and_leaves_the_old_one_alone) {
    const task_ref before = store->insert(record("a"));
    auto edit = [](task_record& t) {
        t.status = task_status::input_required;
        t.message = "hm";
        t.questions.push_back({"k", "{}"});
        return true;
    };
    const auto done = store->change("a", 1200, edit);
    ASSERT_TRUE(done.changed);
    EXPECT_EQ(done.now->updated_ms, 1200);
    EXPECT_EQ(done.now->questions.size(), 1U);
    EXPECT_EQ(store->find("a", 1200)->message, "hm");
    EXPECT_EQ(before->status, task_status::working);
    EXPECT_TRUE(before->questions.empty());
    EXPECT_EQ(done.now->number, before->number);
}

TEST_P(task_stores, an_edit_that_says_no_changes_nothing) {
    store->insert(record("a"));
    auto edit = [](task_record& t) {
        t.message = "never";
        return false;
    };
    const auto done = store->change("a", 1200, edit);
    EXPECT_FALSE(done.changed);
    EXPECT_EQ(done.now->message, "");
    EXPECT_EQ(store->find("a", 1200)->updated_ms, 1000);
    EXPECT_EQ(store->change("b", 1200, edit).now, nullptr);
}

TEST_P(task_stores, what_has_ended_never_changes) {
    int n = 0;
    for (const task_status end :
         {task_status::completed, task_status::failed, task_status::cancelled}) {
        const std::string id(1, static_cast<char>('a' + n++));
        store->insert(record(id));
        EXPECT_TRUE(set(id, end));
        for (const task_status next :
             {task_status::working, task_status::input_required, task_status::completed,
              task_status::failed, task_status::cancelled}) {
            EXPECT_FALSE(set(id, next));
            EXPECT_EQ(status(id), end);
        }
    }
}

TEST_P(task_stores, an_expired_task_does_not_exist) {
    store->insert(record("a"));
    EXPECT_NE(store->find("a", 1499), nullptr);
    EXPECT_EQ(store->find("a", 1500), nullptr);
    EXPECT_FALSE(set("a", task_status::completed, 1500));
    EXPECT_TRUE(store->list("s", 0, 10, 1500).empty());
    EXPECT_EQ(store->size(), 1U);
    EXPECT_EQ(store->expire(1499), 0U);
    EXPECT_EQ(store->expire(1500), 1U);
    EXPECT_EQ(store->size(), 0U);
    EXPECT_EQ(store->bytes(), 0U);
}

TEST_P(task_stores, caps_hold_and_are_given_back) {
    for (const char* id : {"a", "b", "c"}) {
        EXPECT_NE(store->insert(record(id)), nullptr);
    }
    EXPECT_EQ(store->insert(record("d")), nullptr);
    // Another's share is its own; so is an owner's, whatever the session.
    EXPECT_NE(store->insert(record("e", "t")), nullptr);
    task_record owned = record("f");
    owned.owner = "o";
    EXPECT_NE(store->insert(owned), nullptr);
    // Who cannot be told apart has the whole.
    for (const char* id : {"g", "h", "i", "j"}) {
        EXPECT_NE(store->insert(record(id, "")), nullptr);
    }
    EXPECT_EQ(store->expire(1500), 9U);
    EXPECT_NE(store->insert(record("d", "s", 1500)), nullptr);
}

TEST_P(task_stores, the_whole_has_caps_too) {
    small_caps tight;
    tight.tasks = 2;
    auto few = GetParam()(tight);
    EXPECT_NE(few->insert(record("a", "")), nullptr);
    EXPECT_NE(few->insert(record("b", "")), nullptr);
    EXPECT_EQ(few->insert(record("c", "")), nullptr);

    tight.tasks = 100;
    tight.bytes = 4096;
    auto narrow = GetParam()(tight);
    EXPECT_NE(narrow->insert(record("a", "")), nullptr);
    auto fill = [](task_record& t) {
        t.outcome.assign(5000, 'x');
        t.status = task_status::completed;
        return true;
    };
    // A result is kept in any case; new tasks are refused until it has gone.
    EXPECT_TRUE(narrow->change("a", 1100, fill).changed);
    EXPECT_GT(narrow->bytes(), 5000U);
    EXPECT_EQ(narrow->insert(record("b", "")), nullptr);
    narrow->expire(1500);
    EXPECT_NE(narrow->insert(record("b", "", 1500)), nullptr);
}

TEST_P(task_stores, lists_a_session_in_order_and_in_pages) {
    const task_ref a = store->insert(record("a"));
    store->insert(record("x", "t"));
    const task_ref b = store->insert(record("b"));
    const task_ref c = store->insert(record("c"));
    const auto first = store->list("s", 0, 2, 1100);
    ASSERT_EQ(first.size(), 2U);
    EXPECT_EQ(first[0]->id, "a");
    EXPECT_EQ(first[1]->id, "b");
    const auto rest = store->list("s", first[1]->number, 2, 1100);
    ASSERT_EQ(rest.size(), 1U);
    EXPECT_EQ(rest[0]->id, "c");
    EXPECT_LT(a->number, b->number);
    EXPECT_LT(b->number, c->number);
    // The list shows the state of now.
    set("a", task_status::failed);
    EXPECT_EQ(store->list("s", 0, 1, 1100)[0]->status, task_status::failed);
}

INSTANTIATE_TEST_SUITE_P(all, task_stores, ::testing::Values(factory(&in_memory)),
                         [](const auto&) { return "memory"; });

}  // namespace
}  // namespace pillion::mcp
