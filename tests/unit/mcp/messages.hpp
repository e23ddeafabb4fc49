// What clients of the tests say and hear: requests as text, and a reader of HTTP replies that takes
// truncated ones as they are. Independent of the server's own parsers on purpose.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "json/document.hpp"

namespace pillion::mcp::testing {

struct http_reply {
    int status = 0;
    std::map<std::string, std::string> headers;  // names in lower case
    std::string body;                            // chunks joined
    std::vector<std::string> events;             // data of an event stream
    bool complete = false;

    bool streamed() const {
        const auto at = headers.find("content-type");
        return at != headers.end() && at->second.starts_with("text/event-stream");
    }
    // The one message of a plain reply, the last one of a stream.
    std::string message() const {
        return !streamed() ? body : events.empty() ? std::string() : events.back();
    }
};

// Of every revision.
inline constexpr const char* all_versions[] = {"2024-11-05", "2025-03-26", "2025-06-18",
                                               "2025-11-25", "2026-07-28"};

namespace detail {

// Takes the chunks that are complete off `rest`; true at the last one.
inline bool read_chunks(std::string_view& rest, std::string& body) {
    while (true) {
        const std::size_t line = rest.find("\r\n");
        if (line == rest.npos) {
            return false;
        }
        const auto bytes = static_cast<std::size_t>(
            std::strtoul(std::string(rest.substr(0, line)).c_str(), nullptr, 16));
        if (rest.size() < line + 2 + bytes + 2) {
            return false;
        }
        body += rest.substr(line + 2, bytes);
        rest.remove_prefix(line + 2 + bytes + 2);
        if (bytes == 0) {
            return true;
        }
    }
}

// The data of events; comments, ids and the empty event that primes a stream are left out.
inline std::vector<std::string> read_events(std::string_view body) {
    std::vector<std::string> events;
    for (std::size_t end = body.find('\n'); end != body.npos; end = body.find('\n')) {
        const std::string_view line = body.substr(0, end);
        body.remove_prefix(end + 1);
        if (line.starts_with("data: ") && line.size() > 6) {
            events.emplace_back(line.substr(6));
        }
    }
    return events;
}

inline void read_head(std::string_view head, http_reply& r) {
    r.status = std::atoi(std::string(head.substr(9, 3)).c_str());
    head.remove_prefix(head.find("\r\n") + 2);
    while (!head.empty()) {
        const std::size_t end = head.find("\r\n");
        const std::size_t colon = head.find(": ");
        std::string name(head.substr(0, colon));
        std::transform(name.begin(), name.end(), name.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        r.headers[name] = std::string(head.substr(colon + 2, end - colon - 2));
        head.remove_prefix(end + 2);
    }
}

}  // namespace detail

// Splits what a connection received into replies; the last one may be incomplete.
inline std::vector<http_reply> read_replies(std::string_view rest) {
    std::vector<http_reply> all;
    while (!rest.empty()) {
        http_reply r;
        const std::size_t end = rest.find("\r\n\r\n");
        if (end == rest.npos) {
            all.push_back(r);
            break;
        }
        detail::read_head(rest.substr(0, end + 2), r);
        rest.remove_prefix(end + 4);
        if (r.headers.contains("content-length")) {
            const std::size_t bytes = std::stoul(r.headers["content-length"]);
            r.complete = rest.size() >= bytes;
            r.body = std::string(rest.substr(0, bytes));
            rest.remove_prefix(r.body.size());
        } else if (r.headers.contains("transfer-encoding")) {
            r.complete = detail::read_chunks(rest, r.body);
            r.events = detail::read_events(r.body);
        } else {
            r.complete = true;
        }
        const bool cut = !r.complete;
        all.push_back(std::move(r));
        if (cut) {
            break;
        }
    }
    return all;
}

// ---- requests ----

using header_list = std::vector<std::pair<std::string, std::string>>;

inline std::string http_request(std::string_view verb, const header_list& headers,
                                std::string_view body, std::string_view path = "/mcp") {
    std::string out(verb);
    out.append(" ").append(path).append(" HTTP/1.1\r\nHost: localhost:8080\r\n");
    for (const auto& [name, value] : headers) {
        out.append(name).append(": ").append(value).append("\r\n");
    }
    if (verb == "POST") {
        out += "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
        out += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    }
    return out.append("\r\n").append(body);
}

// `"_meta":{…}` of 2026-07-28 with further members.
inline std::string modern_meta(std::string_view more = {}) {
    std::string out = R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                      R"("io.modelcontextprotocol/clientCapabilities":{})";
    if (!more.empty()) {
        out.append(",").append(more);
    }
    return out + "}";
}

// A message; `params` are the members of the object, `id` is JSON ("" for a notification).
inline std::string message(std::string_view id, std::string_view method, std::string_view params) {
    std::string out = R"({"jsonrpc":"2.0",)";
    if (!id.empty()) {
        out.append(R"("id":)").append(id).append(",");
    }
    out.append(R"("method":")").append(method).append(R"(","params":{)").append(params);
    return out + "}}";
}

// In `_meta` of a request of 2026-07-28: log messages are wanted.
inline constexpr const char* log_level_info = R"("io.modelcontextprotocol/logLevel":"info")";
inline constexpr const char* progress_token = R"("progressToken":1)";

inline std::string joined(std::string_view a, std::string_view b) {
    std::string out(a);
    return a.empty() || b.empty() ? out.append(b) : out.append(",").append(b);
}

// A request of 2026-07-28; `name` is what Mcp-Name mirrors ("": the header is left out).
inline std::string modern_body(std::string_view id, std::string_view method,
                               std::string_view params = {}, std::string_view meta = {}) {
    return message(id, method, joined(modern_meta(meta), params));
}
inline std::string modern_post(std::string_view method, std::string_view name,
                               std::string_view body, header_list more = {}) {
    more.emplace_back("MCP-Protocol-Version", "2026-07-28");
    more.emplace_back("Mcp-Method", std::string(method));
    if (!name.empty()) {
        more.emplace_back("Mcp-Name", std::string(name));
    }
    return http_request("POST", more, body);
}
inline std::string call_params(std::string_view tool, std::string_view arguments) {
    return R"("name":")" + std::string(tool) + R"(","arguments":)" + std::string(arguments);
}
inline std::string modern_call(std::string_view id, std::string_view tool,
                               std::string_view arguments = "{}", std::string_view meta = {}) {
    return modern_post("tools/call", tool,
                       modern_body(id, "tools/call", call_params(tool, arguments), meta));
}

inline std::string legacy_post(std::string_view session, std::string_view body) {
    header_list h;
    h.emplace_back("Mcp-Session-Id", std::string(session));
    return http_request("POST", h, body);
}
inline std::string call_body(std::string_view id, std::string_view tool,
                             std::string_view arguments = "{}", std::string_view meta = {}) {
    std::string params = call_params(tool, arguments);
    if (!meta.empty()) {
        params.append(R"(,"_meta":{)").append(meta).append("}");
    }
    return message(id, "tools/call", params);
}
inline std::string legacy_call(std::string_view session, std::string_view id, std::string_view tool,
                               std::string_view arguments = "{}", std::string_view meta = {}) {
    return legacy_post(session, call_body(id, tool, arguments, meta));
}
inline std::string initialize_body(std::string_view version, std::string_view id = "0") {
    return message(id, "initialize",
                   R"("protocolVersion":")" + std::string(version) +
                       R"(","capabilities":{},"clientInfo":{"name":"t","version":"1"})");
}

// ---- replies ----

// A parsed message; anything that is not JSON on one line is reported as an empty document.
class parsed {
 public:
    explicit parsed(std::string_view text) : text_(text), document_(json::document::parse(text)) {}
    json::view operator[](std::string_view key) const { return root()[key]; }
    json::view root() const { return document_ ? document_->root() : json::view{}; }
    bool good() const { return document_.ok() && text_.find('\n') == text_.npos; }
    int code() const { return static_cast<int>(root()["error"]["code"].i64().value_or(0)); }
    std::string id() const {
        const json::view v = root()["id"];
        return v.is_string() ? "\"" + std::string(v.str()) + "\"" : std::string(v.number_text());
    }
    // The text of the first content of a tool's result.
    std::string text() const {
        return std::string(root()["result"]["content"][std::size_t{0}]["text"].str());
    }
    const std::string& raw() const { return text_; }

 private:
    std::string text_;
    result<json::document> document_;
};

}  // namespace pillion::mcp::testing
