#include "mcp/home_page.hpp"

#include <string>

#include <gtest/gtest.h>

namespace pillion::mcp {
namespace {

std::string page_of(const detail::implementation_info& info, std::string_view endpoint = "/mcp") {
    base::chunk_pool pool;
    base::byte_buffer out(pool);
    write_home_page(out, info, endpoint);
    return std::string(out.view());
}

TEST(home_page, says_what_it_is_and_where_to_read_on) {
    detail::implementation_info info;
    info.name = "notes";
    info.version = "9.8.7";
    info.title = "My notes";
    info.description = "Keeps notes.";
    info.website = "https://notes.example/";
    const std::string page = page_of(info, "/rpc");
    for (const char* part :
         {"<!doctype html>", "<title>My notes</title>", "Keeps notes.", "<code>/rpc</code>",
          "href=\"https://notes.example/\"", "href=\"https://modelcontextprotocol.io\""}) {
        EXPECT_NE(page.find(part), std::string::npos) << part;
    }
    EXPECT_EQ(page.find("9.8.7"), std::string::npos);
    EXPECT_EQ(page.find("<script"), std::string::npos);
}

TEST(home_page, names_are_text_and_links_are_pages) {
    detail::implementation_info info;
    info.name = "<b>&\"name\"</b>";
    info.website = "javascript:alert(1)";
    const std::string page = page_of(info);
    EXPECT_NE(page.find("<h1>&lt;b&gt;&amp;&quot;name&quot;&lt;/b&gt;</h1>"), std::string::npos);
    EXPECT_EQ(page.find("javascript:"), std::string::npos);
    info.website = "https://x/\"><script>";
    EXPECT_EQ(page_of(info).find("<script>"), std::string::npos);
}

}  // namespace
}  // namespace pillion::mcp
