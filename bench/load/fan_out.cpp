#include "fan_out.hpp"

#include <algorithm>

namespace pillion::load {

// One stream. Its request is never answered while all is well: what comes are messages.
struct fan_out::listener final : answer_taker {
    listener(fan_out& f, connection_plan& plan) : owner(f), client(plan) {
        client.give_results_to(*this);
    }
    void hear(json::view message) override { owner.heard(*this, message); }
    verdict take(json::view) override { return {fault::closed}; }

    fan_out& owner;
    connection client;
    bool ready = false;
    std::uint64_t round = 0;  // of which it has heard
};

fan_out::fan_out(const connection_plan& like, const scenario& listening, std::size_t listeners,
                 fan_out_watcher& watcher)
    : plan_(like), watcher_(watcher) {
    plan_.watcher = this;
    plan_.what = &listening;
    plan_.is_patient = true;
    plan_.prepare();
    for (std::size_t i = 0; i < listeners; ++i) {
        all_.push_back(std::make_unique<listener>(*this, plan_));
    }
}

fan_out::~fan_out() = default;

void fan_out::open() {
    for (const auto& one : all_) {
        one->client.open();
    }
}

void fan_out::begin_round() noexcept {
    ++round_;
    missing_ = all_.size();
}

void fan_out::heard(listener& who, json::view message) noexcept {
    const std::string_view method = message["method"].str();
    const json::view stream = message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    if (stream.u64() != who.client.id()) {
        return watcher_.on_stream_failed({fault::wrong_id}, stream.number_text());
    }
    if (method == "notifications/subscriptions/acknowledged") {
        ready_ += who.ready ? 0 : 1;
        who.ready = true;
        return;
    }
    const bool change = method.ends_with("/list_changed") || method.ends_with("/updated");
    if (change && who.ready && who.round != round_) {
        who.round = round_;
        --missing_;
        watcher_.on_change(plan_.loop->now_ns());
    }
}

void fan_out::on_free(connection& c) noexcept {
    for (const auto& one : all_) {
        if (&one->client == &c && one->ready) {
            // It has ended, and begins again.
            one->ready = false;
            --ready_;
        }
    }
    if (!leaving_) {
        c.ask(plan_.loop->now_ns());
    }
}

// The end of a stream, whatever it says.
void fan_out::on_answer(std::int64_t, std::int64_t, const verdict& how,
                        std::string_view example) noexcept {
    if (!leaving_) {
        watcher_.on_stream_failed(how, example);
    }
}

void fan_out::on_unasked(const verdict& how, std::string_view example) noexcept {
    watcher_.on_stream_failed(how, example);
}

void fan_out::on_failed(const verdict& how, std::string_view example) noexcept {
    watcher_.on_stream_failed(how, example);
}

void fan_out::on_bytes(std::size_t in, std::size_t out) noexcept { watcher_.on_bytes(in, out); }

void fan_out::look_at_clock() noexcept {
    for (const auto& one : all_) {
        one->client.look_at_clock();
    }
}

void fan_out::leave() noexcept {
    leaving_ = true;
    for (const auto& one : all_) {
        one->client.leave();
    }
}

bool fan_out::is_gone() const noexcept {
    return std::all_of(all_.begin(), all_.end(),
                       [](const auto& one) { return one->client.is_gone(); });
}

}  // namespace pillion::load
