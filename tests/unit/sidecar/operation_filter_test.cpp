#include "sidecar/operation_filter.hpp"

#include <gtest/gtest.h>

#include "json/document.hpp"

namespace pillion::sidecar {
namespace {

const json::document& tags() {
    static const json::document one =
        std::move(*json::document::parse(R"(["users","admin/all",1])"));
    return one;
}

operation_id get_user() { return {"GET", "/users/{id}", "users/get-one", tags().root()}; }

bool takes(std::vector<std::string> include, std::vector<std::string> exclude) {
    operation_filter filter;
    std::string fault;
    EXPECT_TRUE(operation_filter::parse(include, exclude, filter, fault)) << fault;
    return filter.takes(get_user());
}

TEST(operation_filter, what_is_included) {
    EXPECT_TRUE(takes({}, {}));
    EXPECT_TRUE(takes({"users/*"}, {}));
    EXPECT_TRUE(takes({"users*"}, {}));
    EXPECT_FALSE(takes({"user"}, {}));
    EXPECT_TRUE(takes({"GET /users/{id}"}, {}));
    EXPECT_TRUE(takes({"get  /users/*"}, {}));
    EXPECT_TRUE(takes({"* /users/**"}, {}));
    EXPECT_TRUE(takes({"* **"}, {}));
    EXPECT_FALSE(takes({"POST /users/*"}, {}));
    EXPECT_FALSE(takes({"GET /*"}, {}));
    EXPECT_TRUE(takes({"tag:users"}, {}));
    EXPECT_TRUE(takes({"tag:admin*"}, {}));
    EXPECT_FALSE(takes({"tag:user"}, {}));
    EXPECT_TRUE(takes({"nothing", "users/get-one"}, {}));
}

TEST(operation_filter, what_is_excluded_wins) {
    EXPECT_FALSE(takes({}, {"users/*"}));
    EXPECT_FALSE(takes({"users/get-one"}, {"tag:users"}));
    EXPECT_TRUE(takes({"users/get-one"}, {"DELETE /**"}));
}

TEST(operation_filter, an_operation_without_id_has_no_pattern_of_ids) {
    operation_filter filter;
    std::string fault;
    ASSERT_TRUE(operation_filter::parse({"*"}, {}, filter, fault));
    EXPECT_FALSE(filter.takes({"GET", "/x", {}, {}}));
}

TEST(operation_filter, patterns_of_no_use) {
    operation_filter filter;
    std::string fault;
    ASSERT_TRUE(operation_filter::parse({"users/*", "repos/*"}, {"tag:old"}, filter, fault));
    filter.takes(get_user());
    EXPECT_EQ(filter.unused(), (std::vector<std::string>{"repos/*", "tag:old"}));
}

TEST(operation_filter, what_is_no_pattern) {
    for (const std::string text :
         {"", "/users", "tag:", "GET users", "GET", "G3T /x", "a b", "GET "}) {
        operation_filter filter;
        std::string fault;
        const bool is_id = text == "GET";
        EXPECT_EQ(operation_filter::parse({text}, {}, filter, fault), is_id) << text;
        EXPECT_EQ(fault.empty(), is_id) << text;
    }
    operation_filter filter;
    std::string fault;
    EXPECT_FALSE(operation_filter::parse({}, {std::string(600, 'a')}, filter, fault));
}

}  // namespace
}  // namespace pillion::sidecar
