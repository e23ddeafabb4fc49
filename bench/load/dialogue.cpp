#include "dialogue.hpp"

#include <algorithm>
#include <cmath>

#include "base/clock.hpp"
#include "sample_value.hpp"

namespace pillion::load {

namespace {

using base::ns_per_ms;
constexpr std::int64_t poll_ms = 500;  // where a server says nothing
constexpr std::int64_t poll_ms_max = 24 * 3600 * std::int64_t{1000};

// One call whose progress is told.
class progress_dialogue final : public dialogue {
 public:
    explicit progress_dialogue(const scenario& what) : what_(what) {}

    void begin(const question& asked) override {
        asked_ = &asked;
        events_ = 0;
        last_ = -INFINITY;
        told_ = false;
        wrong_ = false;
    }
    void hear(json::view message) override {
        const json::view params = message["params"];
        if (message["method"].str() != "notifications/progress" ||
            params["progressToken"].str() != progress_token) {
            return;
        }
        const double now = params["progress"].num(-INFINITY);
        wrong_ = wrong_ || !(now > last_);
        last_ = now;
        told_ = true;
        ++events_;
    }
    verdict take(json::view result) override {
        const verdict how = answer_check::judge_shape(result, asked_->what, what_.modern());
        return how.what != fault::none ? how
               : wrong_                ? verdict{fault::wrong_shape}
               : told_                 ? how
                                       : verdict{fault::incomplete};
    }
    const question* next() override { return nullptr; }

 private:
    const scenario& what_;
    const question* asked_ = nullptr;
    double last_ = 0;
    bool told_ = false;
    bool wrong_ = false;
};

// A call that becomes a task, which is looked at until it has ended. 2025-11-25: the client says
// so, and the result is asked for; 2026-07-28: the server says so, and it comes with the last look.
class task_dialogue final : public dialogue {
 public:
    task_dialogue(const scenario& what, std::int64_t poll_ns) : what_(what), poll_ns_(poll_ns) {}

    void begin(const question& asked) override {
        events_ = 0;
        look_ = {};
        now_ = asked.what;
        goes_on_ = false;
    }
    void hear(json::view) override {}
    verdict take(json::view result) override {
        goes_on_ = false;
        const bool modern = what_.modern();
        if (now_ == action::tools_call) {
            const json::view task = modern ? result : result["task"];
            const std::string_view id = task["taskId"].str();
            if (id.empty() || (modern && result["resultType"].str() != "task")) {
                return {fault::incomplete};
            }
            look_.name = id;
            return look_at(task);
        }
        if (now_ == action::tasks_get) {
            const verdict how = answer_check::judge_shape(result, now_, modern);
            return how.what == fault::none ? look_at(result) : how;
        }
        return answer_check::judge_shape(result, now_, modern);
    }
    bool is_over() const noexcept override { return !goes_on_; }
    const question* next() override {
        events_ += goes_on_ ? 1 : 0;
        return goes_on_ ? &look_ : nullptr;
    }
    std::int64_t pause_ns() const noexcept override {
        return now_ == action::tasks_result ? 0 : pause_ns_;
    }

 private:
    verdict look_at(json::view task) {
        const bool modern = what_.modern();
        const std::string_view state = task["status"].str();
        const json::view own = task[modern ? "pollIntervalMs" : "pollInterval"];
        const std::int64_t said_ms = own.i64().value_or(poll_ms);
        pause_ns_ = poll_ns_ >= 0 ? poll_ns_
                                  : std::clamp(said_ms, std::int64_t{0}, poll_ms_max) * ns_per_ms;
        goes_on_ = true;
        if (state == "working") {
            now_ = look_.what = action::tasks_get;
            return {};
        }
        // What a failed one of 2025-11-25 came to, its result says.
        if (!modern && (state == "completed" || state == "failed")) {
            now_ = look_.what = action::tasks_result;
            return {};
        }
        goes_on_ = false;
        if (state == "completed") {
            return answer_check::judge_shape(task["result"], action::tools_call, modern);
        }
        if (state == "failed") {
            return {fault::rpc_error, task["error"]["code"].i64().value_or(0)};
        }
        return {state == "cancelled" ? fault::tool_error : fault::wrong_shape};
    }

    const scenario& what_;
    std::int64_t poll_ns_;
    question look_;
    action now_ = action::tools_call;
    bool goes_on_ = false;
    std::int64_t pause_ns_ = 0;
};

// A call of 2026-07-28 that needs to know things: the user's answers are made up, and it is asked
// again with them (REVISIONS §10).
class rounds_dialogue final : public dialogue {
 public:
    void begin(const question& asked) override {
        again_ = asked;
        events_ = 0;
        rounds_ = 0;
        goes_on_ = false;
    }
    void hear(json::view) override {}
    verdict take(json::view result) override {
        goes_on_ = result["resultType"].str() == "input_required";
        if (!goes_on_) {
            const verdict how = answer_check::judge_shape(result, again_.what, true);
            return how.what == fault::none && rounds_ == 0 ? verdict{fault::incomplete} : how;
        }
        constexpr int rounds_max = 100;
        constexpr std::size_t answers_bytes_max = std::size_t{16} << 20U;
        const json::view state = result["requestState"];
        if (!result["inputRequests"].is_object() && !state.is_string()) {
            goes_on_ = false;
            return {fault::wrong_shape};
        }
        if (++rounds_ > rounds_max) {
            goes_on_ = false;
            return {fault::incomplete};
        }
        json::builder b;
        b.begin_object();
        for (const auto& [key, asked] : result["inputRequests"].members()) {
            b.key(key);
            answer(b, asked);
            ++events_;
            if (b.text().size() > answers_bytes_max) {
                goes_on_ = false;
                return {fault::incomplete};
            }
        }
        b.end_object();
        again_.more = ",\"inputResponses\":";
        again_.more += b.text();
        if (state.is_string()) {
            json::builder s;
            s.value(state);
            again_.more += ",\"requestState\":";
            again_.more += s.text();
        }
        return {};
    }
    bool is_over() const noexcept override { return !goes_on_; }
    const question* next() override { return goes_on_ ? &again_ : nullptr; }

 private:
    static void answer(json::builder& b, json::view asked) {
        const std::string_view method = asked["method"].str();
        b.begin_object();
        if (method == "elicitation/create") {
            const json::view form = asked["params"]["requestedSchema"];
            std::uint64_t seed = 0;
            b.member("action", "accept");
            b.key("content").raw(sample_value(form, seed).value_or("{}"));
        } else if (method == "roots/list") {
            b.key("roots").begin_array().end_array();
        } else {
            b.member("role", "assistant").member("model", "pillion-bench");
            b.key("content").begin_object().member("type", "text").member("text", "Paris");
            b.end_object();
        }
        b.end_object();
    }

    question again_;
    int rounds_ = 0;
    bool goes_on_ = false;
};

}  // namespace

std::unique_ptr<dialogue> make_dialogue(const scenario& what, std::int64_t poll_ns) {
    switch (what.how) {
        case pattern::progress:
            return std::make_unique<progress_dialogue>(what);
        case pattern::tasks:
            return std::make_unique<task_dialogue>(what, poll_ns);
        case pattern::rounds:
            return std::make_unique<rounds_dialogue>();
        default:
            return nullptr;
    }
}

}  // namespace pillion::load
