#include "app/introspection_desk.hpp"

#include <utility>

#include "base/log.hpp"

namespace pillion::app {

namespace {

constexpr std::int64_t answer_timeout_ms = 5000;
constexpr std::int64_t quiet_ns = 1'000'000'000;

}  // namespace

introspection_desk::introspection_desk(io::reactor& loop, io::offload& helpers, const settings& set)
    : loop_(loop), agent_(loop, helpers) {
    change(set);
}

bool introspection_desk::ask(std::shared_ptr<const auth::introspection_rules> rules,
                             std::string_view token, told then) {
    std::string fault;
    auto where = client::parse_url(rules->endpoint, fault);
    // It was tried when the settings were made.
    if (closed_ || !where || agent_.full()) {
        return false;
    }
    client::question what;
    what.to = std::move(*where);
    what.post = true;
    what.authorization = rules->authorization;
    what.content_type = "application/x-www-form-urlencoded";
    what.body = auth::introspection_form(token);
    what.timeout_ms = answer_timeout_ms;
    what.answer_bytes_max = auth::introspection_rules::answer_bytes_max;
    agent_.ask(std::move(what), [this, rules = std::move(rules),
                                 then = std::move(then)](const client::answer& said) mutable {
        auth::introspection_answer out;
        if (said.fault.empty() && said.status == 200) {
            out = auth::read_introspection(said.body, *rules, loop_.unix_ms() / 1000);
        }
        if (!out.understood) {
            note_failure(!said.fault.empty()  ? said.fault
                         : said.status != 200 ? "it refuses to answer"
                                              : "its answer cannot be understood",
                         said.status);
        }
        then(std::move(out));
    });
    return true;
}

void introspection_desk::close() noexcept {
    if (!std::exchange(closed_, true)) {
        agent_.close();
    }
}

void introspection_desk::note_failure(std::string_view reason, std::uint16_t status) {
    if (loop_.now_ns() >= quiet_until_ns_) {
        quiet_until_ns_ = loop_.now_ns() + quiet_ns;
        log::warn("auth.introspection_failed",
                  {log::kv("reason", reason), log::kv("status", status)});
    }
}

}  // namespace pillion::app
