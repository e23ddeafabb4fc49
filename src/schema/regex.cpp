#include "schema/regex.hpp"

#include <re2/re2.h>
#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "schema/ecma_pattern.hpp"
#include "schema/plain_pattern.hpp"

namespace pillion::schema_check {

namespace {

constexpr std::size_t pattern_bytes_max = 64 * 1024;
// Bytes that a step of the validator pays for, and what one is in time.
constexpr std::size_t plain_bytes_per_step = 8;
constexpr std::size_t automaton_bytes_per_step = 4;
constexpr std::int64_t ns_per_step = 5;
// A piece of a text that is tried alone, about a quarter of all steps at worst.
constexpr std::size_t piece_steps = 1'000'000;
constexpr std::size_t piece_bytes_min = 512;

// What a text pays for at most by the cheap clock, which also goes while the thread is interrupted.
constexpr std::size_t interrupted_steps = 20'000;

}  // namespace

// What was spent since it was made.
class regex::stopwatch {
 public:
    explicit stopwatch(bool exact) noexcept : exact_(exact), from_ns_(now_ns()) {}
    std::size_t steps() const noexcept {
        const std::int64_t spent_ns = std::max<std::int64_t>(0, now_ns() - from_ns_);
        return static_cast<std::size_t>(spent_ns / ns_per_step);
    }

 private:
    std::int64_t now_ns() const noexcept {
        return exact_ ? base::thread_now_ns() : base::monotonic_now_ns();
    }
    const bool exact_;
    const std::int64_t from_ns_;
};

struct regex::engine {
    std::optional<plain_pattern> plain;
    std::optional<re2::RE2> re2;
};

regex::regex(std::unique_ptr<engine> made) noexcept : engine_(std::move(made)) {}
regex::~regex() = default;

std::unique_ptr<regex> regex::compile(std::string_view pattern, std::string& fault) {
    translation spelt;
    if (pattern.size() > pattern_bytes_max) {
        fault = "is too long";
        return nullptr;
    }
    if (!translate_pattern(pattern, spelt, fault)) {
        return nullptr;
    }
    auto made = std::make_unique<engine>();
    made->plain = plain_pattern::make(spelt);
    std::unique_ptr<regex> out(new regex(std::move(made)));
    out->weight_ = out->engine_->plain ? 0 : spelt.weight;
    if (out->engine_->plain) {
        return out;
    }
    if (spelt.too_large) {
        fault = "repeats too much";
        return nullptr;
    }
    re2::RE2::Options how;
    how.set_log_errors(false);
    how.set_max_mem(memory_bytes_max);
    how.set_never_capture(true);
    const re2::RE2& re2 = out->engine_->re2.emplace(spelt.re2, how);
    if (!re2.ok()) {
        fault = re2.error_code() == re2::RE2::ErrorPatternTooLarge ? "needs too much memory"
                : re2.error_code() == re2::RE2::ErrorRepeatSize    ? "repeats too much"
                                                                : "has no RE2 form: " + re2.error();
        return nullptr;
    }
    out->program_size_ = static_cast<std::size_t>(re2.ProgramSize());
    // The automaton's own memory is taken now, not by the first value.
    out->matches({});
    return out;
}

bool regex::matches(std::string_view text) const noexcept {
    if (engine_->plain) {
        return engine_->plain->matches(text);
    }
    const re2::StringPiece all(text.data(), text.size());
    return engine_->re2->Match(all, 0, text.size(), re2::RE2::UNANCHORED, nullptr, 0);
}

// Longer texts are refused without a look. Small programs mostly have an automaton that fits,
// which the square stands for. Of large ones only those positions cost that are alive: few in a
// class repeated from the start, however many names of Unicode it has.
std::size_t regex::steps_at_least(std::size_t bytes) const noexcept {
    const std::size_t squared = program_size_ * program_size_ / 64;
    return bytes * std::min(squared, weight_ * 10 + program_size_) / 64;
}

// Measured: all positions alive and no automaton.
std::size_t regex::steps_at_most(std::size_t bytes) const noexcept {
    return 1 + bytes * (64 + weight_ * 2 + program_size_ / 48);
}

// Where all of the text could be too much, its pieces are tried alone, and tell how fast it goes.
bool regex::affordable(std::string_view text, const step_budget& budget,
                       const stopwatch& spent) const noexcept {
    if (steps_at_least(text.size()) > budget.left()) {
        return false;
    }
    if (steps_at_most(text.size()) <= budget.left()) {
        return true;
    }
    const std::size_t piece = std::max(piece_bytes_min, piece_steps / steps_at_most(1));
    for (std::size_t at = 0; at + piece < text.size(); at += piece) {
        matches(text.substr(at, piece));
        // The whole takes as long once more.
        if (spent.steps() > budget.left() / 2) {
            return false;
        }
    }
    return true;
}

bool regex::matches(std::string_view text, step_budget& budget) const noexcept {
    if (engine_->plain) {
        return budget.spend(1 + text.size() / plain_bytes_per_step) && matches(text);
    }
    const std::size_t most = steps_at_most(text.size());
    const stopwatch spent(most > interrupted_steps);
    if (!affordable(text, budget, spent)) {
        budget.exhaust();
        return false;
    }
    const bool found = matches(text);
    const std::size_t least = 1 + text.size() / automaton_bytes_per_step;
    // Twice, for the pieces.
    return budget.spend(std::clamp(spent.steps(), least, std::max(least, 2 * most))) && found;
}

}  // namespace pillion::schema_check
