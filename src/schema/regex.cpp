#include "schema/regex.hpp"

#include <re2/re2.h>
#include <optional>
#include <utility>

#include "schema/ecma_pattern.hpp"
#include "schema/plain_pattern.hpp"

namespace pillion::schema_check {

namespace {

constexpr std::size_t pattern_bytes_max = 64 * 1024;
// Bytes that a step of the validator pays for.
constexpr std::size_t plain_bytes_per_step = 8;
// RE2 takes 2 ns a byte while its automaton fits, and as long as its program when it does not. That
// is the likelier the longer the program is, hence the square.
constexpr std::size_t squares_per_step = 4096;

}  // namespace

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

std::size_t regex::cost(std::size_t bytes) const noexcept {
    return 1 + (engine_->plain ? bytes / plain_bytes_per_step
                               : bytes * program_size_ * program_size_ / squares_per_step);
}

}  // namespace pillion::schema_check
