// description_source: which server a description from a URL means.
#include "app/description_source.hpp"

#include <gtest/gtest.h>

namespace pillion::app {
namespace {

TEST(description_source, a_server_may_be_a_path_where_the_description_is) {
    const std::string at = "https://api.example:8443/docs/openapi.json?v=3";
    EXPECT_EQ(server_of_description(at, ""), "https://api.example:8443");
    EXPECT_EQ(server_of_description(at, "/v3"), "https://api.example:8443/v3");
    EXPECT_EQ(server_of_description(at, "v3"), "https://api.example:8443/docs/v3");
    EXPECT_EQ(server_of_description(at, "https://other.example/v3"), "https://other.example/v3");
    EXPECT_EQ(server_of_description("http://127.0.0.1:80/openapi.json", "/api"),
              "http://127.0.0.1:80/api");
}

TEST(description_source, what_leads_elsewhere_by_itself_is_none) {
    const std::string at = "https://api.example/docs/openapi.json";
    for (const char* said : {"//other.example/v3", "../v3", "./v3", "/v 3"}) {
        EXPECT_EQ(server_of_description(at, said), "") << said;
    }
}

TEST(description_source, in_the_clear_nobody_is_believed) {
    for (const char* said : {"", "/v3", "https://other.example", "http://api.example/v3"}) {
        EXPECT_EQ(server_of_description("http://api.example/openapi.json", said), "") << said;
    }
}

TEST(description_source, nobody_there_is_a_fault_in_words) {
    std::string text;
    std::string fault;
    EXPECT_FALSE(fetch_description("http://127.0.0.1:1/openapi.json", nullptr, text, fault));
    EXPECT_FALSE(fault.empty());
    EXPECT_FALSE(fetch_description("ftp://127.0.0.1/", nullptr, text, fault));
    EXPECT_EQ(fault, "it is no http:// or https:// URL");
}

}  // namespace
}  // namespace pillion::app
