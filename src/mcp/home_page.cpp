#include "mcp/home_page.hpp"

namespace pillion::mcp {

namespace {

// Its hash stands in home_page_headers.
constexpr std::string_view style =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:40em;margin:4em auto;padding:0 1em}"
    "code{background:#eee;padding:.1em .3em}";

// As text or as the value of an attribute in double quotes.
void append_escaped(base::byte_buffer& to, std::string_view text) {
    for (const char c : text) {
        switch (c) {
            case '&':
                to.append("&amp;");
                break;
            case '<':
                to.append("&lt;");
                break;
            case '>':
                to.append("&gt;");
                break;
            case '"':
                to.append("&quot;");
                break;
            default:
                to.append(c);
        }
    }
}

void append_link(base::byte_buffer& to, std::string_view url, std::string_view words) {
    to.append("<a href=\"");
    append_escaped(to, url);
    to.append("\">");
    append_escaped(to, words);
    to.append("</a>");
}

}  // namespace

void write_home_page(base::byte_buffer& to, const detail::implementation_info& info,
                     std::string_view endpoint) {
    const std::string_view title = info.title.empty() ? info.name : info.title;
    to.append("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
    append_escaped(to, title);
    to.append("</title><style>");
    to.append(style);
    to.append("</style></head>\n<body><h1>");
    append_escaped(to, title);
    to.append("</h1>\n<p>");
    append_escaped(to, info.description);
    to.append(
        "</p>\n<p>This is a server of the Model Context Protocol (MCP), for programs and not for "
        "browsers. Its endpoint is <code>");
    append_escaped(to, endpoint);
    to.append("</code>.</p>\n<p>");
    // Only what a browser opens as a page: a link must not run anything.
    if (info.website.starts_with("https://") || info.website.starts_with("http://")) {
        to.append("About this server: ");
        append_link(to, info.website, info.website);
        to.append(". ");
    }
    to.append("About the protocol: ");
    append_link(to, "https://modelcontextprotocol.io", "modelcontextprotocol.io");
    to.append(".</p></body></html>\n");
}

}  // namespace pillion::mcp
