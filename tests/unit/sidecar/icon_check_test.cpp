#include "sidecar/icon_check.hpp"

#include <gtest/gtest.h>

namespace pillion::sidecar {
namespace {

TEST(icon_check, sources_are_on_the_web_or_in_the_text) {
    for (const char* const good :
         {"https://x.example/i.png", "http://localhost:8080/i.svg?a=b",
          "data:image/png;base64,AAAA", "data:image/svg+xml;base64,PHN2Zy8+",
          "data:image/svg+xml;charset=utf-8;base64,PA=="}) {
        EXPECT_TRUE(is_icon_source(good)) << good;
    }
    for (const char* const bad :
         {"", "i.png", "/i.png", "file:///i.png", "javascript:alert(1)", "https://",
          "ftp://x/i.png", "https://a b/i.png", "https://user@x/i.png", "data:,x",
          "data:image/png,AAAA", "data:image/png;base64,", "data:image/png;base64,A*AA",
          "data:image/;base64,AAAA", "data:text/html;base64,AAAA", "data:image/png\";base64,AAAA",
          "DATA:image/png;base64,AAAA"}) {
        EXPECT_FALSE(is_icon_source(bad)) << bad;
    }
}

TEST(icon_check, a_source_that_is_cut_anywhere_is_none) {
    const std::string_view whole = "data:image/png;base64,AAA=";
    for (std::size_t i = 0; i < whole.size(); ++i) {
        EXPECT_FALSE(is_icon_source(whole.substr(0, i))) << whole.substr(0, i);
    }
    EXPECT_TRUE(is_icon_source(whole));
}

TEST(icon_check, sizes_and_themes) {
    for (const char* const good : {"48x48", "1x10000", "any"}) {
        EXPECT_TRUE(is_icon_size(good)) << good;
    }
    for (const char* const bad :
         {"", "x", "48", "48x", "x48", "048x48", "48x48x48", "48X48", "48x-1", "Any", "48 x 48"}) {
        EXPECT_FALSE(is_icon_size(bad)) << bad;
    }
    EXPECT_TRUE(is_icon_theme("light") && is_icon_theme("dark"));
    EXPECT_FALSE(is_icon_theme("") || is_icon_theme("Dark") || is_icon_theme("grey"));
}

}  // namespace
}  // namespace pillion::sidecar
