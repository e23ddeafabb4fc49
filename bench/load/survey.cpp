#include "survey.hpp"

#include <algorithm>
#include <utility>

#include "sample_value.hpp"

namespace pillion::load {

namespace {

constexpr std::int64_t answer_patience_ns = 5'000'000'000;
constexpr std::int64_t farewell_patience_ns = 2'000'000'000;
constexpr std::int64_t slice_ns = 20'000'000;
// Different arguments that are made up for a tool.
constexpr int variants = 16;

}  // namespace

void survey::on_free(connection& c) noexcept {
    if (!std::exchange(sent_, true)) {
        c.ask(loop_.now_ns());
    }
}

void survey::on_answer(std::int64_t, std::int64_t, const verdict& how,
                       std::string_view example) noexcept {
    over_ = true;
    came_to_ = how;
    example_ = example;
}

void survey::on_failed(const verdict& how, std::string_view example) noexcept {
    over_ = true;
    came_to_ = how;
    example_ = example;
}

verdict survey::take(json::view result) {
    json::builder b;
    b.value(result);
    result_ = b.text();
    return answer_check::judge_shape(result, asked_.what, how_.what.modern());
}

std::optional<json::document> survey::ask(const question& what) {
    asked_ = what;
    sent_ = over_ = false;
    came_to_ = {fault::timeout};
    example_.clear();
    result_.clear();
    negotiated_.clear();
    scenario once;
    once.rev = how_.what.rev;
    once.questions = {what};
    once.headers = how_.what.headers;
    answer_check check(loop_.chunks(), {});
    connection_plan plan;
    plan.loop = &loop_;
    plan.watcher = this;
    plan.to = &how_.to;
    plan.what = &once;
    plan.check = &check;
    plan.taker = this;
    plan.timeout_ns = std::min(how_.timeout_ns, answer_patience_ns);
    plan.answer_bytes_max = how_.answer_bytes_max;
    plan.prepare();
    connection client(plan);
    client.open();
    const std::int64_t until = loop_.ops().now_ns() + 2 * plan.timeout_ns;
    while (!over_ && loop_.now_ns() < until) {
        loop_.run_one(slice_ns);
        client.look_at_clock();
    }
    if (client.speaks_otherwise()) {
        negotiated_ = check.negotiated();
    }
    client.leave();
    const std::int64_t last = loop_.ops().now_ns() + farewell_patience_ns;
    while (!client.is_gone() && loop_.now_ns() < last) {
        loop_.run_one(slice_ns);
        client.look_at_clock();
    }
    auto parsed = json::document::parse(result_);
    if (!over_ || came_to_.what != fault::none || !parsed) {
        return std::nullopt;
    }
    return std::move(*parsed);
}

// As REVISIONS §2.5 and §4 have it: the stateless revision first, then a handshake in which the
// server may name another one, then HTTP+SSE.
bool survey::find_revision() {
    revision& rev = how_.what.rev;
    rev = revision::r2026_07_28;
    if (const std::optional<json::document> found = ask({action::ping})) {
        std::optional<revision> newest;
        for (const json::view one : found->root()["supportedVersions"].elements()) {
            const std::optional<revision> known = parse_revision(one.str());
            newest = known && (!newest || *known > *newest) ? known : newest;
        }
        rev = newest.value_or(rev);
        return newest.has_value();
    }
    rev = revision::r2025_11_25;
    if (ask({action::ping})) {
        return true;
    }
    const std::optional<revision> named = parse_revision(negotiated_);
    rev = named.value_or(revision::r2024_11_05);
    // A server of 2024-11-05 that takes POST as well is not one for HTTP+SSE at the same path.
    return (named || !how_.to.is_command()) && ask({action::ping}).has_value();
}

bool survey::list(action of, const char* member, std::vector<json::document>& pages) {
    constexpr std::size_t pages_max = 1000;
    question next{of};
    while (pages.size() < pages_max) {
        std::optional<json::document> page = ask(next);
        if (!page || !page->root()[member].is_array()) {
            return false;
        }
        pages.push_back(std::move(*page));
        const json::view cursor = pages.back().root()["nextCursor"];
        if (!cursor.is_string()) {
            return true;
        }
        json::builder b;
        b.value(cursor);
        next.more = ",\"cursor\":" + std::string(b.text());
    }
    return true;
}

bool survey::find_tool(std::string& fault) {
    question& call = how_.what.questions[0];
    std::vector<json::document> pages;
    if (!list(action::tools_list, "tools", pages)) {
        fault = "no list of tools: " + std::string(name_of(came_to_.what));
        return false;
    }
    json::view schema;
    for (const json::document& page : pages) {
        for (const json::view tool : page.root()["tools"].elements()) {
            schema = tool["name"].str() == call.name ? tool["inputSchema"] : schema;
        }
    }
    if (!schema.exists()) {
        fault = "the server has no tool \"" + call.name + "\"";
        return false;
    }
    std::uint64_t seed = how_.seed;
    std::vector<question> all(variants, call);
    for (question& one : all) {
        std::string why;
        const std::optional<std::string> made = sample_value(schema, seed, &why);
        if (!made || !made->starts_with('{')) {
            fault = "no arguments can be made up for \"" + call.name + "\"" +
                    (why.empty() ? "" : " (" + why + ")") + "; give --arguments";
            return false;
        }
        one.arguments = *made;
    }
    how_.what.questions = std::move(all);
    return true;
}

// The first that there is, and nothing where there is none.
void survey::add_resource() {
    const std::optional<json::document> found = ask({action::resources_list});
    const std::string_view uri =
        found ? found->root()["resources"][std::size_t{0}]["uri"].str() : std::string_view();
    if (!uri.empty() && ask({action::resources_read, std::string(uri)})) {
        how_.what.questions.push_back({action::resources_read, std::string(uri)});
    }
}

void survey::add_prompt() {
    const std::optional<json::document> found = ask({action::prompts_list});
    const json::view prompt = found ? found->root()["prompts"][std::size_t{0}] : json::view();
    json::builder b;
    b.begin_object();
    for (const json::view argument : prompt["arguments"].elements()) {
        if (argument["required"].boolean()) {
            b.member(argument["name"].str(), "x");
        }
    }
    b.end_object();
    const question get{action::prompts_get, std::string(prompt["name"].str()),
                       std::string(b.text())};
    if (!get.name.empty() && ask(get)) {
        how_.what.questions.push_back(get);
    }
}

bool survey::run(std::string& fault) {
    if (how_.finds_revision && !find_revision()) {
        fault = "the server speaks no revision that is known here: " +
                std::string(name_of(came_to_.what)) +
                (example_.empty() ? "" : " (" + example_ + ")");
        return false;
    }
    if (std::exchange(how_.finds_revision, false)) {
        fault = check_scenario(how_);
        if (!fault.empty()) {
            return false;
        }
    }
    if (how_.makes_arguments && !find_tool(fault)) {
        return false;
    }
    if (how_.what.how == pattern::tasks && !how_.what.modern()) {
        // There the client says so.
        for (question& one : how_.what.questions) {
            one.more = R"(,"task":{})";
        }
    }
    if (how_.what.name == "mixed") {
        mix();
    }
    return true;
}

void survey::mix() {
    // As an agent does: it looks what there is, calls a few times, reads, and begins from a prompt.
    std::vector<question> calls = std::move(how_.what.questions);
    how_.what.questions = {{action::tools_list}};
    add_resource();
    add_prompt();
    const std::vector<question> others = std::move(how_.what.questions);
    how_.what.questions.clear();
    constexpr std::size_t calls_between = 2;
    std::size_t next = 0;
    const std::size_t rounds = std::max<std::size_t>(calls.size() / calls_between, 1);
    for (std::size_t round = 0; round < rounds; ++round) {
        for (const question& other : others) {
            how_.what.questions.push_back(other);
            for (std::size_t i = 0; i < calls_between; ++i) {
                how_.what.questions.push_back(calls[next++ % calls.size()]);
            }
        }
    }
}

}  // namespace pillion::load
