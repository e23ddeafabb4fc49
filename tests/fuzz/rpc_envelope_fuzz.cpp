// Fuzzes the classification of messages: what is called a request, a notification or a response is
// one by the rules, read independently here; an id survives being written and is the same as
// itself; and what was classified is classified the same when it is written anew.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/arena.hpp"
#include "base/limits.hpp"
#include "json/parser.hpp"
#include "json/writer.hpp"
#include "rpc/envelope.hpp"

namespace {

using pillion::json::view;
using pillion::rpc::envelope;
using pillion::rpc::message_kind;

void check(bool holds) {
    if (!holds) {
        std::abort();
    }
}

struct document {
    pillion::base::chunk_pool pool;
    pillion::base::arena memory{pool};
    view root;
    bool good = false;

    explicit document(std::string_view text) {
        char* copy = static_cast<char*>(memory.allocate(text.size() + pillion::limits::padding, 1));
        text.copy(copy, text.size());
        const auto parsed = pillion::json::parse(copy, text.size(), memory);
        good = parsed.ok;
        root = parsed.ok ? parsed.root : view{};
    }
};

bool good_id(view id) { return id.is_string() || id.is_integer(); }

void check_kind(const envelope& e, view root) {
    if (e.kind == message_kind::invalid) {
        check(e.fault != nullptr && *e.fault != '\0' && e.code != 0);
        check(!e.id.exists() || good_id(e.id));
        return;
    }
    check(root.is_object() && root["jsonrpc"].str() == "2.0");
    check(!e.params.exists() || e.params.is_object());
    const bool has_outcome = root["result"].exists() || root["error"].exists();
    if (e.kind == message_kind::response) {
        // An error may belong to a message whose id nobody could read.
        check(good_id(e.id) || (!e.id.exists() && root["error"].exists()));
        check(root["result"].exists() != root["error"].exists());
        return;
    }
    check(root["method"].is_string() && e.method == root["method"].str() && !has_outcome);
    check(root["id"].exists() == (e.kind == message_kind::request));
    check(e.kind != message_kind::request || good_id(e.id));
}

std::string text_of(view value) {
    pillion::base::chunk_pool pool;
    pillion::base::byte_buffer out(pool);
    pillion::json::writer(out).value(value);
    return std::string(out.view());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const document first(std::string_view(reinterpret_cast<const char*>(data), size));
    if (!first.good) {
        return 0;
    }
    const envelope e = pillion::rpc::classify(first.root);
    check_kind(e, first.root);
    const document second(text_of(first.root));
    check(second.good);
    const envelope again = pillion::rpc::classify(second.root);
    check(again.kind == e.kind && again.method == e.method && again.code == e.code);
    check(again.id.exists() == e.id.exists());
    if (e.id.exists()) {
        check(pillion::rpc::same_id(e.id, again.id) && pillion::rpc::same_id(e.id, e.id));
        pillion::base::chunk_pool pool;
        pillion::base::byte_buffer out(pool);
        pillion::json::writer w(out);
        pillion::rpc::write_id(w, e.id);
        const document id(out.view());
        check(id.good && pillion::rpc::same_id(id.root, e.id));
    }
    return 0;
}
