#include "mcp/method.hpp"

#include <string>

#include <gtest/gtest.h>

namespace pillion::mcp {
namespace {

struct row {
    const char* name;
    method_id id;
    bool legacy;
    bool modern;
    bool before_2025_11_25 = true;  // of the legacy ones
};

constexpr row rows[] = {
    {"initialize", method_id::initialize, true, false},
    {"ping", method_id::ping, true, false},
    {"server/discover", method_id::discover, false, true},
    {"tools/list", method_id::tools_list, true, true},
    {"tools/call", method_id::tools_call, true, true},
    {"resources/list", method_id::resources_list, true, true},
    {"resources/templates/list", method_id::resources_templates_list, true, true},
    {"resources/read", method_id::resources_read, true, true},
    {"resources/subscribe", method_id::resources_subscribe, true, false},
    {"resources/unsubscribe", method_id::resources_unsubscribe, true, false},
    {"prompts/list", method_id::prompts_list, true, true},
    {"prompts/get", method_id::prompts_get, true, true},
    {"completion/complete", method_id::completion_complete, true, true},
    {"logging/setLevel", method_id::logging_set_level, true, false},
    {"subscriptions/listen", method_id::subscriptions_listen, false, true},
    {"tasks/get", method_id::tasks_get, true, true, false},
    {"tasks/list", method_id::tasks_list, true, false, false},
    {"tasks/result", method_id::tasks_result, true, false, false},
    {"tasks/update", method_id::tasks_update, false, true},
    {"tasks/cancel", method_id::tasks_cancel, true, true, false},
};

// STANDARD rows 60, 61
TEST(method, every_name_is_found_and_exists_in_its_eras) {
    for (const row& r : rows) {
        SCOPED_TRACE(r.name);
        EXPECT_EQ(find_method(r.name), r.id);
        EXPECT_EQ(name_of(r.id), r.name);
        for (std::size_t i = 0; i < revisions; ++i) {
            const auto rev = static_cast<revision>(i);
            const bool legacy = r.legacy && (r.before_2025_11_25 || rev == revision::r2025_11_25);
            EXPECT_EQ(exists_in(r.id, rev), is_modern(rev) ? r.modern : legacy);
        }
    }
}

TEST(method, unknown_exists_nowhere) {
    for (std::size_t i = 0; i < revisions; ++i) {
        EXPECT_FALSE(exists_in(method_id::unknown, static_cast<revision>(i)));
    }
}

// STANDARD row 61
TEST(method, near_misses_are_unknown) {
    for (const row& r : rows) {
        const std::string name(r.name);
        for (std::size_t i = 0; i < name.size(); ++i) {
            std::string other = name;
            other[i] = static_cast<char>(other[i] ^ 0x20);  // the other case, or another sign
            EXPECT_EQ(find_method(other), method_id::unknown) << other;
            EXPECT_EQ(find_method(name.substr(0, i)), method_id::unknown);
            EXPECT_EQ(find_method(name.substr(i + 1)), method_id::unknown);
            other = name;
            other.insert(i, 1, '\0');
            EXPECT_EQ(find_method(other), method_id::unknown);
        }
        EXPECT_EQ(find_method(name + "s"), method_id::unknown);
        EXPECT_EQ(find_method(name + " "), method_id::unknown);
    }
    for (std::size_t size = 0; size < 64; ++size) {
        EXPECT_EQ(find_method(std::string(size, 'x')), method_id::unknown);
    }
    for (const char* name :
         {"tasks/create", "notifications/initialized", "sampling/createMessage"}) {
        EXPECT_EQ(find_method(name), method_id::unknown);
    }
}

}  // namespace
}  // namespace pillion::mcp
